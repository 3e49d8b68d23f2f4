//! Threads that can be waited for.

use super::{Result, Thread, memory};
use crate::object::Step;
use explore::{MemoryOrder, OpKind};
use runtime::{Class, Handle, Place};
use std::alloc::Layout;
use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc as Real, Mutex as RealMutex, MutexGuard, PoisonError};

/// What a thread runs, and the value that it leaves for whoever joins it, in one piece of memory with two owners: the runtime
/// and the handle.
#[repr(C)]
struct Packet<F, T> {
    /// It comes first, so that it is found without knowing the types.
    owners: Owners,
    body: UnsafeCell<Option<F>>,
    value: UnsafeCell<Option<T>>,
}

/// The two owners of a packet.
struct Owners {
    /// One of them has left.
    left: AtomicBool,
    /// There is a value, and it has a destructor.
    has_value: AtomicBool,
    /// How many there are, for the search; see [`runtime::owners_leave`].
    count: Handle,
    /// Where the thread was made.
    made: Place,
}

impl Owners {
    /// The step by which an owner leaves.
    #[cold]
    fn leave(&self) {
        let step = Step::new(OpKind::CountDown, &self.count, Class::Arc, self.made).initial(2);
        step.operands(1, 0).order(MemoryOrder::AcqRel).run();
    }

    /// Not part of the generic code around a closure: that is searched for uses of std's types (see the runtime's `alien`).
    #[inline]
    fn have_value(&self, has: bool) {
        self.has_value.store(has, Ordering::Relaxed);
    }
}

/// What one of the owners does last. The second one to do so drops the packet.
///
/// # Safety
///
/// `packet` points to a [`Packet`] made by [`JoinInner::spawn`]; each owner calls this once.
unsafe fn leave<P: ?Sized>(packet: NonNull<P>) {
    /// Gives the memory back also when the value panics as it is dropped.
    struct Free(NonNull<u8>, Layout);
    impl Drop for Free {
        fn drop(&mut self) {
            // SAFETY: made by `memory::take` with this layout; what was there is gone.
            unsafe { memory::give(self.0, self.1) }
        }
    }
    // SAFETY: by the contract the packet is valid until the second owner has left, and begins with the owners.
    unsafe {
        let owners = packet.cast::<Owners>().as_ref();
        if owners.left.load(Ordering::Acquire) || owners.left.swap(true, Ordering::AcqRel) {
            if owners.has_value.load(Ordering::Relaxed) {
                runtime::value_dropped();
            }
            let _free = Free(packet.cast(), Layout::for_value(packet.as_ref()));
            packet.as_ptr().drop_in_place();
        }
    }
}

impl<F: FnOnce() -> T, T> runtime::Body for Packet<F, T> {
    fn run(&self) {
        // SAFETY: the runtime calls `run` or `discard`, once, on the OS thread on which everything happens; the reference ends
        // before the body runs.
        let Some(body) = (unsafe { (*self.body.get()).take() }) else { return };
        let value = body();
        // SAFETY: nobody reads it before this thread has ended. What was there is `None`, so nothing is dropped.
        unsafe { *self.value.get() = Some(value) };
        if std::mem::needs_drop::<T>() {
            self.owners.have_value(true);
            if runtime::owners_leave() {
                self.owners.leave();
            }
        }
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
        self.owners.have_value(false);
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
    /// See [`leave`].
    value: NonNull<dyn Slot<T>>,
    /// Kept apart only where a scope wants to know it too.
    outcome: Option<Real<Outcome>>,
    /// The thread has ended, and this handle knows: it is the last owner.
    joined: bool,
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
        scoped: bool,
        f: F,
        place: Place,
    ) -> JoinInner<T>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let owners = Owners {
            left: AtomicBool::new(false),
            has_value: AtomicBool::new(false),
            count: Handle::new(),
            made: place,
        };
        let packet = Packet { owners, body: UnsafeCell::new(Some(f)), value: UnsafeCell::new(None) };
        let there = memory::take(Layout::new::<Packet<F, T>>()).cast::<Packet<F, T>>();
        type Erased<T> = NonNull<dyn Slot<T> + 'static>;
        // SAFETY: the memory is large enough and nobody else's. Only lifetimes change. The caller says that what the closure
        // borrows outlives the thread, and when the thread has ended, or is discarded, the closure is gone from the packet;
        // what `T` borrows is in the type of the handle. The two owners are the task and the handle.
        let (task, value) = unsafe {
            there.write(packet);
            let body: NonNull<dyn runtime::Body + '_> = there;
            let value: NonNull<dyn Slot<T> + '_> = there;
            let body = std::mem::transmute::<
                NonNull<dyn runtime::Body + '_>,
                NonNull<dyn runtime::Body + 'static>,
            >(body);
            let value = std::mem::transmute::<NonNull<dyn Slot<T> + '_>, Erased<T>>(value);
            (runtime::Task::new(body, leave::<dyn runtime::Body>), value)
        };
        let thread_name = name.as_deref().map(Real::from);
        let task = if scoped { task.of_scope() } else { task };
        let id = runtime::spawn(name, stack_size, place, task);
        JoinInner { thread: Thread { id, name: thread_name }, value, outcome: None, joined: false }
    }

    /// How the thread ends, for its scope.
    pub(super) fn outcome(&mut self) -> Real<Outcome> {
        let new = || Real::new(Outcome { panic: RealMutex::new(None), joined_by: RealMutex::new(None) });
        self.outcome.get_or_insert_with(new).clone()
    }

    pub(super) fn join(mut self, place: Place) -> Result<T> {
        let mut panic = runtime::join(self.thread.id, place).err();
        self.joined = true;
        if let Some(outcome) = &self.outcome {
            if let Some(panic) = panic.take() {
                outcome.keep(panic);
            }
            *Outcome::lock(&outcome.joined_by) = Some(runtime::current());
            panic = Outcome::lock(&outcome.panic).take();
        }
        // SAFETY: the thread has ended, or its execution is given up; the packet is there until this handle is dropped.
        let value = unsafe { self.value.as_ref().take() };
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

impl<T> Drop for JoinInner<T> {
    fn drop(&mut self) {
        // The scope waits for its threads.
        if !self.joined && self.outcome.is_none() {
            runtime::detached(self.thread.id);
        }
        if std::mem::needs_drop::<T>() && !self.joined && runtime::owners_leave() {
            // SAFETY: the packet begins with its owners, and is there until this handle has left.
            unsafe { self.value.cast::<Owners>().as_ref() }.leave();
        }
        // SAFETY: the handle is one of the two owners.
        unsafe { leave(self.value) }
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
        self.0.join(Place::caller())
    }

    /// Whether the thread has ended; does not wait.
    #[inline(always)]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished(Place::caller())
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}
