//! Threads that can be waited for.

use super::{Result, Thread};
use runtime::Place;
use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc as Real, Mutex as RealMutex, MutexGuard, PoisonError};

/// The value that a thread leaves for whoever joins it.
struct Packet<T>(UnsafeCell<Option<T>>);

// SAFETY: the value is written by the thread before it ends and taken by one that saw the end (`T: Send`). It is touched only
// between two steps of one controlled thread; no other one runs then.
unsafe impl<T: Send> Sync for Packet<T> {}
// SAFETY: it owns what it holds.
unsafe impl<T: Send> Send for Packet<T> {}

/// How a thread ended, for whoever joins it and for its scope.
pub(super) struct Outcome {
    panic: RealMutex<Option<Box<dyn Any + Send>>>,
    joined_by: RealMutex<Option<explore::ThreadId>>,
}

impl Outcome {
    fn lock<T>(mutex: &RealMutex<T>) -> MutexGuard<'_, T> {
        // Never held over a step, so it is always free; and nothing panics while it is held.
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what the thread panicked with; of several who wait for its end, the first is told.
    pub(super) fn keep(&self, panic: Box<dyn Any + Send>) {
        let mut kept = Outcome::lock(&self.panic);
        if kept.is_none() && self.joined_by().is_none() {
            *kept = Some(panic);
        }
    }

    /// Whether the thread panicked and nobody was told.
    pub(super) fn unseen(&self) -> bool {
        Outcome::lock(&self.panic).is_some()
    }

    /// Who joined it through its handle.
    pub(super) fn joined_by(&self) -> Option<explore::ThreadId> {
        *Outcome::lock(&self.joined_by)
    }
}

/// What the handles of scoped and other threads share.
pub(super) struct JoinInner<T> {
    pub(super) thread: Thread,
    value: Real<Packet<T>>,
    /// Kept apart only where a scope wants to know it too.
    outcome: Option<Real<Outcome>>,
}

impl<T> JoinInner<T> {
    /// # Safety
    ///
    /// What `f` and `T` borrow must outlive the thread.
    pub(super) unsafe fn spawn<F>(
        name: Option<String>,
        stack_size: Option<usize>,
        f: F,
        place: Place,
    ) -> JoinInner<T>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let packet = Real::new(Packet(UnsafeCell::new(None)));
        let theirs = packet.clone();
        let body: Box<dyn FnOnce() + '_> = Box::new(move || {
            let value = f();
            // SAFETY: see `Sync` of `Packet`; nobody reads it before this thread has ended.
            unsafe { *theirs.0.get() = Some(value) };
        });
        // SAFETY: only the lifetime changes. The caller says that what the closure borrows outlives the thread, and the runtime
        // keeps the closure no longer than the thread.
        let body =
            unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce() + 'static>>(body) };
        let thread_name = name.as_deref().map(Real::from);
        let id = runtime::spawn(name, stack_size, place, body);
        JoinInner { thread: Thread { id, name: thread_name }, value: packet, outcome: None }
    }

    /// How the thread ends, for its scope.
    pub(super) fn outcome(&mut self) -> Real<Outcome> {
        let new = || Real::new(Outcome { panic: RealMutex::new(None), joined_by: RealMutex::new(None) });
        self.outcome.get_or_insert_with(new).clone()
    }

    pub(super) fn join(self, place: Place) -> Result<T> {
        let mut panic = runtime::join(self.thread.id, place).err();
        if let Some(outcome) = &self.outcome {
            if let Some(panic) = panic.take() {
                outcome.keep(panic);
            }
            *Outcome::lock(&outcome.joined_by) = Some(runtime::current());
            panic = Outcome::lock(&outcome.panic).take();
        }
        // SAFETY: the thread has ended, and no reference into the packet lives across a step; see `Sync` of `Packet`.
        let value = unsafe { (*self.value.0.get()).take() };
        match (value, panic) {
            // A destructor of a thread-local may panic after the value was made; std gives the value then.
            (Some(value), _) => Ok(value),
            (None, Some(panic)) => Err(panic),
            (None, None) => Err(Box::new("the execution was given up before the thread finished")),
        }
    }

    #[inline(always)]
    pub(super) fn is_finished(&self, place: Place) -> bool {
        runtime::is_finished(self.thread.id, place)
    }
}

/// Waits for a thread. Dropped, it lets the thread go on alone.
pub struct JoinHandle<T>(pub(super) JoinInner<T>);

// SAFETY: the packet is `Send` and `Sync` if `T: Send`, which every way to make a handle demands; std says the same.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above; `&JoinHandle` does not reach the value.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.0.thread
    }

    /// Waits for the thread to end.
    ///
    /// # Errors
    ///
    /// Fails, with what it panicked with, if it panicked.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join(Location::caller())
    }

    /// Whether the thread has ended; does not wait.
    #[inline(always)]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished(Location::caller())
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}
