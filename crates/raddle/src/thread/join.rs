//! Threads that can be waited for.

use super::{Result, Thread};
use runtime::Place;
use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc as Real, Mutex as RealMutex, MutexGuard, PoisonError};

/// What a thread runs, and the value that it leaves for whoever joins it, in one piece of memory.
struct Packet<F, T> {
    body: UnsafeCell<Option<F>>,
    value: UnsafeCell<Option<T>>,
}

impl<F: FnOnce() -> T, T> runtime::Body for Packet<F, T> {
    fn run(&self) {
        // SAFETY: the runtime calls `run` or `discard`, once, on the OS thread on which everything happens; the reference ends
        // before the body runs.
        let Some(body) = (unsafe { (*self.body.get()).take() }) else { return };
        let value = body();
        // SAFETY: nobody reads it before this thread has ended. What was there is `None`, so nothing is dropped.
        unsafe { *self.value.get() = Some(value) };
    }

    fn discard(&self) {
        // SAFETY: as in `run`; the reference ends before the body is dropped.
        let body = unsafe { (*self.body.get()).take() };
        drop(body);
    }
}

/// Where the value of a thread is.
trait Slot<T> {
    /// # Safety
    ///
    /// The thread has ended, or will never run again.
    unsafe fn take(&self) -> Option<T>;
}

impl<F, T> Slot<T> for Packet<F, T> {
    unsafe fn take(&self) -> Option<T> {
        // SAFETY: by the contract the thread does not write it any more; the reference ends here.
        unsafe { (*self.value.get()).take() }
    }
}

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
    value: Real<dyn Slot<T>>,
    /// Kept apart only where a scope wants to know it too.
    outcome: Option<Real<Outcome>>,
}

// SAFETY: the value is written before the thread ends and taken after that by one that saw the end (`T: Send`); the body in the
// packet is not reached from here, and gone by then.
unsafe impl<T: Send> Send for JoinInner<T> {}
// SAFETY: as above; a shared reference does not reach the value.
unsafe impl<T: Send> Sync for JoinInner<T> {}

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
        let packet = Packet { body: UnsafeCell::new(Some(f)), value: UnsafeCell::new(None) };
        let packet: *const Packet<F, T> = Real::into_raw(Real::new(packet));
        // SAFETY: two references to one packet, each made from the one raw pointer, with the count to match. Only the lifetimes
        // change. The caller says that what the closure borrows outlives the thread, and when the thread has ended, or is
        // discarded, the closure is gone from the packet; what `T` borrows is in the type of the handle.
        let (body, value) = unsafe {
            Real::increment_strong_count(packet);
            let body: *const (dyn runtime::Body + '_) = packet;
            let value: *const (dyn Slot<T> + '_) = packet;
            type Erased<T> = *const (dyn Slot<T> + 'static);
            (
                Real::from_raw(std::mem::transmute::<
                    *const (dyn runtime::Body + '_),
                    *const (dyn runtime::Body + 'static),
                >(body)),
                Real::from_raw(std::mem::transmute::<*const (dyn Slot<T> + '_), Erased<T>>(value)),
            )
        };
        let thread_name = name.as_deref().map(Real::from);
        let id = runtime::spawn(name, stack_size, place, body);
        JoinInner { thread: Thread { id, name: thread_name }, value, outcome: None }
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
        // SAFETY: the thread has ended, or its execution is given up.
        let value = unsafe { self.value.take() };
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

// SAFETY: the value is written before the thread ends and taken after that, and every way to make a handle demands
// `T: Send`; the body in the packet is not reached through the handle, and gone by then. std says the same.
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
