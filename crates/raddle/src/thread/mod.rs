//! Threads with std's names and signatures. They are fibers: all run on the OS thread that called the check, one at a time.
//!
//! ```
//! use raddle::thread;
//!
//! raddle::check(|| {
//!     let good = thread::spawn(|| 5);
//!     let bad = thread::spawn(|| if true { panic!("no") });
//!     assert_eq!(good.join().unwrap(), 5);
//!     assert!(bad.join().is_err());
//! });
//! ```

mod join;
mod local;
mod memory;
mod scoped;

use explore::{MemoryOrder, OpKind};
use runtime::Place;
use std::fmt;
use std::io;
use std::num::NonZero;
use std::sync::Arc as Real;
use std::time::Duration;

pub use crate::thread_local;
pub use join::JoinHandle;
pub use local::{AccessError, LocalKey};
pub use scoped::{Scope, ScopedJoinHandle, scope};

use join::JoinInner;

/// What [`JoinHandle::join`] gives: the thread's value, or what it panicked with.
pub type Result<T> = std::result::Result<T, Box<dyn std::any::Any + Send + 'static>>;

/// Makes a thread.
///
/// Unlike in std, a panic of a thread that nobody joins fails the check, and so does a thread that never ends
/// ([`Config::leaks`](crate::Config::leaks)): an execution is complete when all of its threads have ended.
///
/// ```
/// raddle::check(|| {
///     let thread = raddle::thread::spawn(|| 1 + 1);
///     assert_eq!(thread.join().unwrap(), 2);
/// });
/// ```
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    JoinHandle(Builder::new().start(f, Place::caller()))
}

/// Makes a thread with a name or a stack size.
///
/// ```
/// use raddle::thread;
///
/// raddle::check(|| {
///     let thread = thread::Builder::new().name("worker".into()).spawn(|| {
///         assert_eq!(thread::current().name(), Some("worker"));
///     });
///     thread.unwrap().join().unwrap();
/// });
/// ```
#[must_use = "must eventually spawn the thread"]
#[derive(Debug)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// Makes one without a name, with the configured stack size.
    #[expect(clippy::new_without_default, reason = "std's has none")]
    pub fn new() -> Builder {
        Builder { name: None, stack_size: None }
    }

    /// Gives a name; reports show it.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// Sets the stack size in bytes.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// Makes the thread.
    ///
    /// # Errors
    ///
    /// Never fails: more threads than the limit end the execution with a report.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Ok(JoinHandle(self.start(f, Place::caller())))
    }

    /// Makes a thread that may borrow from anywhere.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Builder::spawn).
    ///
    /// # Safety
    ///
    /// As for std's: what the thread borrows must outlive it.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        // SAFETY: as the caller says.
        Ok(JoinHandle(unsafe { self.start_unchecked(false, f, Place::caller()) }))
    }

    /// Makes a thread of a scope.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Builder::spawn).
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Ok(scope.start(self, f, Place::caller()))
    }

    fn start<F, T>(self, f: F, place: Place) -> JoinInner<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: what is `'static` outlives every thread.
        unsafe { self.start_unchecked(false, f, place) }
    }

    /// # Safety
    ///
    /// What `f` and `T` borrow must outlive the thread.
    unsafe fn start_unchecked<F, T>(self, scoped: bool, f: F, place: Place) -> JoinInner<T>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let name = self.name.as_deref().unwrap_or_default();
        assert!(!name.contains('\0'), "thread name may not contain interior null bytes (at {place})");
        // SAFETY: as the caller says.
        unsafe { JoinInner::spawn(self.name, self.stack_size, scoped, f, place) }
    }
}

/// A name for a thread of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(explore::ThreadId);

/// A thread, as one refers to it.
#[derive(Clone)]
pub struct Thread {
    id: explore::ThreadId,
    name: Option<Real<str>>,
}

impl Thread {
    fn of(id: explore::ThreadId) -> Thread {
        let name = runtime::thread_name(id);
        let main = || (id == explore::ThreadId::MAIN).then(|| "main".to_owned());
        Thread { id, name: name.or_else(main).map(Real::from) }
    }

    /// Gives the thread its token: its next [`park`], or the one it is in, returns.
    #[inline]
    #[track_caller]
    pub fn unpark(&self) {
        runtime::unpark(self.id, Place::caller());
    }

    /// Its identity, stable over executions.
    #[inline]
    #[must_use]
    pub fn id(&self) -> ThreadId {
        ThreadId(self.id)
    }

    /// Its name, if it was given one. The thread that runs the test is `main`.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The running thread.
#[must_use]
pub fn current() -> Thread {
    Thread::of(runtime::current())
}

/// Lets other threads run.
#[inline(always)]
#[track_caller]
pub fn yield_now() {
    runtime::local_step(OpKind::Yield, MemoryOrder::None, Place::caller());
}

/// Lets other threads run: any of their steps may happen meanwhile, or none, however long the time is (unless
/// [`Config::timeouts`](crate::Config::timeouts) is patient). The clock of this thread ([`time`](crate::time)) moves on by the time.
#[inline(always)]
#[track_caller]
pub fn sleep(dur: Duration) {
    let nanoseconds = crate::time::nanoseconds(dur);
    if !runtime::clock_sleep_patiently(nanoseconds, Place::caller()) {
        runtime::clock_pass(nanoseconds);
        yield_now();
    }
}

/// The old form of [`sleep`].
#[deprecated(since = "0.1.0", note = "replaced by `raddle::thread::sleep`, as in std")]
#[track_caller]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(u64::from(ms)));
}

/// Waits for this thread's token, and takes it. It may also return spuriously, which is explored.
///
/// ```
/// use raddle::thread;
///
/// raddle::check(|| {
///     let waiter = thread::spawn(thread::park);
///     waiter.thread().unpark();
///     waiter.join().unwrap();
/// });
/// ```
#[inline(always)]
#[track_caller]
pub fn park() {
    runtime::park(None, Place::caller());
}

/// Waits for this thread's token or for the time to run out: both are explored, however long the time is.
#[inline(always)]
#[track_caller]
pub fn park_timeout(dur: Duration) {
    runtime::clock_start_wait(crate::time::nanoseconds(dur));
    if runtime::park(Some(dur), Place::caller()) == runtime::Ended::TimedOut {
        runtime::clock_end_wait();
    }
}

/// The old form of [`park_timeout`].
#[deprecated(since = "0.1.0", note = "replaced by `raddle::thread::park_timeout`, as in std")]
#[track_caller]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(u64::from(ms)));
}

/// Whether the running thread is unwinding from a panic.
#[inline]
#[must_use]
pub fn panicking() -> bool {
    if runtime::active() { runtime::panicking() } else { std::thread::panicking() }
}

/// How many threads to use: always 4, so that a test is the same on every machine.
///
/// # Errors
///
/// Never fails.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    const FOUR: NonZero<usize> = NonZero::new(4).unwrap();
    Ok(FOUR)
}
