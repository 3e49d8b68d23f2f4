//! Mutual exclusion.

use super::poison::{Flag, Guarded};
use super::{LockResult, PoisonError, TryLockError, TryLockResult};
use crate::object::{Live, Step};
use explore::{MemoryOrder, OpKind};
use runtime::{Class, Done, Handle, Place};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

/// std's `Mutex`: poisoned when a thread panics while it holds it, and a deadlock when a thread locks it twice.
///
/// ```
/// use raddle::sync::Mutex;
///
/// static TOTAL: Mutex<u32> = Mutex::new(0);
///
/// raddle::check(|| {
///     let adder = raddle::thread::spawn(|| *TOTAL.lock().unwrap() += 2);
///     *TOTAL.lock().unwrap() += 3;
///     adder.join().unwrap();
///     assert_eq!(*TOTAL.lock().unwrap(), 5);
/// });
/// ```
pub struct Mutex<T: ?Sized> {
    handle: Live,
    guarded: UnsafeCell<Guarded<T>>,
}

// SAFETY: the mutex owns the value; as for std's.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: `&Mutex` gives access to the value only to the one thread that holds the lock, which may be any: `T: Send` is what
// that needs. The poison flag is touched by the holder, and by threads whose step on the mutex is the only one running.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    /// Makes a free one.
    #[inline]
    pub const fn new(t: T) -> Mutex<T> {
        Mutex { handle: Live::new(), guarded: UnsafeCell::new(Guarded::new(t)) }
    }
}

impl<T: ?Sized> Mutex<T> {
    #[inline(always)]
    fn step(&self, kind: OpKind, place: Place) -> Done {
        Step::new(kind, &self.handle, Class::Mutex, place).run()
    }

    /// Where this execution keeps the value.
    #[inline(always)]
    fn data(&self) -> *mut Guarded<T> {
        Guarded::data(&self.handle, Class::Mutex, self.guarded.get())
    }

    fn flag(&self) -> Flag<'_> {
        // SAFETY: the data belongs to the mutex or to the execution, and both outlive the borrow of `self` by a running thread.
        unsafe { Guarded::flag(self.data()) }
    }

    /// The guard of a lock that was just taken.
    #[inline(always)]
    fn guard(&self, place: Place) -> LockResult<MutexGuard<'_, T>> {
        let (data, panicking, changed) = (self.data(), runtime::panicking(), Cell::new(false));
        let guard = MutexGuard { lock: self, data, panicking, changed, place };
        if guard.flag().get() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// Takes the lock; waits while another thread has it, and for ever if this one has.
    ///
    /// # Errors
    ///
    /// Fails, with the guard, if a thread panicked while it held the lock.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let place = Place::caller();
        self.step(OpKind::Lock, place);
        self.guard(place)
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    ///
    /// Fails if it is taken or poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let place = Place::caller();
        if self.step(OpKind::TryLock, place).ok {
            Ok(self.guard(place)?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    /// Whether a thread panicked while it held the lock. A step, since it looks at what lock holders do.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        self.step(OpKind::Load, Place::caller());
        self.flag().get()
    }

    /// Forgets the poison.
    #[track_caller]
    pub fn clear_poison(&self) {
        // A step that writes the word it read: ordered with every other step on the mutex.
        runtime::rmw(&self.handle, 0, MemoryOrder::Relaxed, Place::caller(), |word| word);
        self.flag().clear();
        runtime::changed(&self.handle, Class::Mutex, Place::caller());
    }

    /// The value, at the end of the mutex's life.
    ///
    /// # Errors
    ///
    /// Fails, with the value, if the mutex is poisoned.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        runtime::object_owned(&self.handle, Place::caller());
        let guarded = self.guarded.into_inner();
        if guarded.is_poisoned() { Err(PoisonError::new(guarded.value)) } else { Ok(guarded.value) }
    }

    /// The value, for one who owns the mutex alone.
    ///
    /// # Errors
    ///
    /// Fails, with the value, if the mutex is poisoned.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        runtime::object_owned(&self.handle, Place::caller());
        let guarded = self.guarded.get_mut();
        let poisoned = guarded.is_poisoned();
        if poisoned { Err(PoisonError::new(&mut guarded.value)) } else { Ok(&mut guarded.value) }
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(t: T) -> Self {
        Mutex::new(t)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_struct("Mutex");
        if !runtime::active() {
            return d.finish_non_exhaustive();
        }
        match self.try_lock() {
            Ok(guard) => d.field("data", &&*guard),
            Err(TryLockError::Poisoned(err)) => d.field("data", &&**err.get_ref()),
            Err(TryLockError::WouldBlock) => d.field("data", &"<locked>"),
        };
        d.field("poisoned", &self.flag().get());
        d.finish_non_exhaustive()
    }
}

/// Gives the lock back when it is dropped. Not `Send`, as std's.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    lock: &'a Mutex<T>,
    data: *mut Guarded<T>,
    panicking: bool,
    /// The value was lent as `&mut` since the lock was taken.
    changed: Cell<bool>,
    place: Place,
}

// SAFETY: sharing the guard shares `&T`, no more. (It is not `Send` because of the raw pointer in it.)
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T: ?Sized> UnwindSafe for MutexGuard<'_, T> {}
impl<T: ?Sized> RefUnwindSafe for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    #[inline]
    pub(super) fn flag(&self) -> Flag<'a> {
        // SAFETY: as for `Mutex::flag`.
        unsafe { Guarded::flag(self.data) }
    }

    /// Whether the value was lent as `&mut` since the lock was taken; from now on it was not.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.take()
    }

    pub(super) fn handle(&self) -> &'a Handle {
        &self.lock.handle
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock, so every reference to the value comes from this guard; the data lives as long as
        // the mutex or the execution.
        unsafe { &(*self.data).value }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.changed.set(true);
        // SAFETY: as above, and the guard is borrowed alone.
        unsafe { &mut (*self.data).value }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let poisoned = self.flag().done(self.panicking);
        let change = self.changed.get() || poisoned;
        runtime::unlock(&self.lock.handle, Class::Mutex, OpKind::Unlock, change, self.place);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
