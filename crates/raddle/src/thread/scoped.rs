//! Threads that borrow.

use super::join::{JoinInner, Outcome};
use super::{Builder, Result, Thread};
use runtime::Place;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc as Real, Mutex as RealMutex, PoisonError};

/// Where threads are made that may borrow what outlives the scope.
pub struct Scope<'scope, 'env: 'scope> {
    threads: RealMutex<Vec<Started>>,
    /// One for each thread, which its handle has as well.
    handles: RealMutex<Vec<Real<()>>>,
    /// Invariant over 'scope, as std's: else it could shrink, and threads would not outlive it.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A thread that the scope must see end.
#[derive(Clone)]
struct Started {
    id: explore::ThreadId,
    outcome: Real<Outcome>,
}

/// Makes a scope, and waits at its end for the closures of all threads made in it.
///
/// As with std, destructors of thread-locals may still run when the scope has ended; [`ScopedJoinHandle::join`] waits for them.
///
/// # Panics
///
/// Panics if a thread panicked that was not joined.
///
/// ```
/// use raddle::{sync::atomic::{AtomicU32, Ordering}, thread};
///
/// raddle::check(|| {
///     let n = AtomicU32::new(0);
///     thread::scope(|s| {
///         s.spawn(|| n.fetch_add(1, Ordering::Relaxed));
///         s.spawn(|| n.fetch_add(1, Ordering::Relaxed));
///     });
///     assert_eq!(n.into_inner(), 2);
/// });
/// ```
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let place = Place::caller();
    let scope = Scope {
        threads: RealMutex::default(),
        handles: RealMutex::default(),
        scope: PhantomData,
        env: PhantomData,
    };
    /// Waits also when the closure panics: the threads may borrow what unwinding drops next.
    struct End<'a, 'scope, 'env>(&'a Scope<'scope, 'env>, Place);
    impl Drop for End<'_, '_, '_> {
        fn drop(&mut self) {
            self.0.wait_for_all(self.1);
        }
    }
    let end = End(&scope, place);
    let value = f(&scope);
    std::mem::forget(end);
    if scope.wait_for_all(place) {
        panic!("a scoped thread panicked");
    }
    value
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Makes a thread that may borrow what outlives the scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.start(Builder::new(), f, Place::caller())
    }

    pub(super) fn start<F, T>(
        &'scope self,
        builder: Builder,
        f: F,
        place: Place,
    ) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: what is borrowed outlives 'scope, and the scope does not end before the thread: `scope` waits for it also when its
        // closure panics, and no thread is made after that, since all who hold the scope have ended.
        let mut inner = unsafe { builder.start_unchecked(true, f, place) };
        self.threads().push(Started { id: inner.thread.id, outcome: inner.outcome() });
        let alive = Real::new(());
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).push(alive.clone());
        ScopedJoinHandle { inner, _alive: alive, scope: PhantomData }
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<Started>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for every thread, also for those that threads make meanwhile. Says whether one panicked that nobody joined.
    fn wait_for_all(&self, place: Place) -> bool {
        let me = runtime::current();
        let mut ended = 0;
        // Not while the execution is given up: the runtime unwinds the threads of a scope before the one that made it.
        while !runtime::tearing_down() {
            let Some(thread) = self.threads().get(ended).cloned() else { break };
            ended += 1;
            // Those that another thread joined are waited for as well: whether that has happened yet depends on the schedule, and
            // the steps of a thread must not depend on what it did not see in a step.
            if thread.outcome.joined_by() != Some(me)
                && let Err(panic) = runtime::closure_ended(thread.id, place)
            {
                thread.outcome.keep(panic);
            }
        }
        // A handle keeps the result of its thread, and std waits until the result is dropped. Nothing that could drop the handle is left.
        let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let is_kept = handles.iter().any(|h| Real::strong_count(h) > 1);
        drop(handles);
        if is_kept && !runtime::tearing_down() && !std::thread::panicking() {
            let message = "the scope waits for ever: the handle of one of its threads was forgotten, and keeps the result of the thread";
            runtime::fail(explore::FailureKind::Deadlock, message.to_owned(), place);
        }
        // Only now: a thread of the scope may have joined another one after we did.
        let threads = self.threads();
        let unseen = threads.iter().filter(|thread| thread.outcome.unseen());
        unseen.map(|thread| runtime::panic_passed_on(thread.id)).count() > 0
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("threads", &self.threads().len()).finish_non_exhaustive()
    }
}

/// Waits for a thread of a scope. Dropped, it leaves that to the scope.
pub struct ScopedJoinHandle<'scope, T> {
    inner: JoinInner<T>,
    /// The scope looks whether the handle is still there.
    _alive: Real<()>,
    scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.inner.thread
    }

    /// Waits for the thread to end.
    ///
    /// # Errors
    ///
    /// Fails, with what it panicked with, if it panicked.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.inner.join(Place::caller())
    }

    /// Whether the thread has ended; does not wait.
    #[inline(always)]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.inner.is_finished(Place::caller())
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
