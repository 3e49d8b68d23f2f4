//! Many readers or one writer.

use super::poison::{Flag, Guarded};
use super::{LockResult, PoisonError, TryLockError, TryLockResult};
use crate::object::{Live, Step};
use explore::semantics::RwWord;
use explore::{MemoryOrder, Op, OpKind};
use runtime::{Class, Done, Handle, Place};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

/// std's `RwLock`. If several threads wait, each order in which they get the lock is explored.
///
/// A writer that waits holds up new readers, as with std's lock on Linux. A thread that already has a read lock and takes another
/// one deadlocks if a writer comes between, and [`try_read`](RwLock::try_read) fails while a writer waits.
///
/// ```
/// use raddle::sync::RwLock;
///
/// raddle::check(|| {
///     let lock = RwLock::new(5);
///     {
///         let (a, b) = (lock.read().unwrap(), lock.read().unwrap());
///         assert_eq!(*a + *b, 10);
///     }
///     *lock.write().unwrap() += 1;
///     assert_eq!(lock.into_inner().unwrap(), 6);
/// });
/// ```
pub struct RwLock<T: ?Sized> {
    handle: Live,
    guarded: UnsafeCell<Guarded<T>>,
}

// SAFETY: the lock owns the value; as for std's.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: `&RwLock` gives `&T` to several threads at once (`T: Sync`), or `&mut T` to one, which may be any (`T: Send`). The
// poison flag is written by a writer, and by threads whose step on the lock is the only one running.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

#[inline(always)]
fn step(handle: &Handle, kind: OpKind, attempt: u64, place: Place) -> Done {
    Step::new(kind, handle, Class::RwLock, place).operands(attempt, 0).run()
}

/// Takes the lock, with further attempts where the first one does not block; see `runtime::rwlock`.
#[inline(always)]
fn take(handle: &Handle, kind: OpKind, place: Place) {
    let attempt = runtime::rw_attempt();
    if !step(handle, kind, attempt, place).ok {
        wait(handle, kind, place);
    }
}

#[cold]
fn wait(handle: &Handle, kind: OpKind, place: Place) {
    while !step(handle, kind, Op::HAS_WAITED, place).ok {}
}

impl<T> RwLock<T> {
    /// Makes a free one.
    #[inline]
    pub const fn new(t: T) -> RwLock<T> {
        RwLock { handle: Live::new(), guarded: UnsafeCell::new(Guarded::new(t)) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Where this execution keeps the value.
    #[inline]
    fn data(&self) -> NonNull<Guarded<T>> {
        let data = Guarded::data(&self.handle, Class::RwLock, self.guarded.get());
        NonNull::new(data).expect("the data of a lock has an address")
    }

    fn flag(&self) -> Flag<'_> {
        // SAFETY: the data belongs to the lock or to the execution, and both outlive the borrow of `self` by a running thread.
        unsafe { Guarded::flag(self.data().as_ptr()) }
    }

    #[inline]
    fn reader(&self, place: Place) -> LockResult<RwLockReadGuard<'_, T>> {
        runtime::rw_reads(true);
        let guard = RwLockReadGuard { data: self.data(), handle: &self.handle, place, value: PhantomData };
        if self.flag().get() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    #[inline]
    fn writer(&self, place: Place) -> LockResult<RwLockWriteGuard<'_, T>> {
        let (data, panicking) = (self.data(), runtime::panicking());
        let guard = RwLockWriteGuard { lock: self, data, panicking, changed: false, place };
        if self.flag().get() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// Takes the lock for reading; waits while a writer has it, or waits for it.
    ///
    /// # Errors
    ///
    /// Fails, with the guard, if a writer panicked.
    #[inline(always)]
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let place = Place::caller();
        take(&self.handle, OpKind::ReadLock, place);
        self.reader(place)
    }

    /// Takes the lock for reading if no writer has it or waits for it.
    ///
    /// # Errors
    ///
    /// Fails if a writer has it or waits for it, or if it is poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let place = Place::caller();
        runtime::rw_tries_to_read();
        if step(&self.handle, OpKind::TryReadLock, runtime::rw_attempt(), place).ok {
            Ok(self.reader(place)?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    /// Takes the lock for writing; waits while anybody has it.
    ///
    /// # Errors
    ///
    /// Fails, with the guard, if a writer panicked.
    #[inline(always)]
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let place = Place::caller();
        runtime::rw_writes();
        take(&self.handle, OpKind::WriteLock, place);
        self.writer(place)
    }

    /// Takes the lock for writing if nobody has it.
    ///
    /// # Errors
    ///
    /// Fails if anybody has it, or if it is poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let place = Place::caller();
        if step(&self.handle, OpKind::TryWriteLock, 0, place).ok {
            Ok(self.writer(place)?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    /// Whether a writer panicked. A step, since it looks at what writers do.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        step(&self.handle, OpKind::Load, 0, Place::caller());
        self.flag().get()
    }

    /// Forgets the poison.
    #[track_caller]
    pub fn clear_poison(&self) {
        // A step that writes the word it read: ordered with every other step on the lock.
        runtime::rmw(&self.handle, 0, MemoryOrder::Relaxed, Place::caller(), |word| word);
        self.flag().clear();
        runtime::changed(&self.handle, Class::RwLock, Place::caller());
    }

    /// The value, at the end of the lock's life.
    ///
    /// # Errors
    ///
    /// Fails, with the value, if the lock is poisoned.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        runtime::object_owned(&self.handle, Place::caller());
        let guarded = self.guarded.into_inner();
        if guarded.is_poisoned() { Err(PoisonError::new(guarded.value)) } else { Ok(guarded.value) }
    }

    /// The value, for one who owns the lock alone.
    ///
    /// # Errors
    ///
    /// Fails, with the value, if the lock is poisoned.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        runtime::object_owned(&self.handle, Place::caller());
        let guarded = self.guarded.get_mut();
        let poisoned = guarded.is_poisoned();
        if poisoned { Err(PoisonError::new(&mut guarded.value)) } else { Ok(&mut guarded.value) }
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(t: T) -> Self {
        RwLock::new(t)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_struct("RwLock");
        if !runtime::active() {
            return d.finish_non_exhaustive();
        }
        match self.try_read() {
            Ok(guard) => d.field("data", &&*guard),
            Err(TryLockError::Poisoned(err)) => d.field("data", &&**err.get_ref()),
            Err(TryLockError::WouldBlock) => d.field("data", &format_args!("<locked>")),
        };
        d.field("poisoned", &self.flag().get());
        d.finish_non_exhaustive()
    }
}

/// Gives a read lock back when it is dropped. Not `Send`, as std's.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    data: NonNull<Guarded<T>>,
    handle: &'a Handle,
    place: Place,
    value: PhantomData<&'a T>,
}

// SAFETY: sharing the guard shares `&T`, no more. (It is not `Send` because of the raw pointer in it.)
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<T: ?Sized + RefUnwindSafe> UnwindSafe for RwLockReadGuard<'_, T> {}
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for RwLockReadGuard<'_, T> {}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: while a reader has the lock no writer does, so there is no `&mut`; the data lives as long as the lock or the
        // execution.
        unsafe { &(*self.data.as_ptr()).value }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        runtime::rw_reads(false);
        step(self.handle, OpKind::ReadUnlock, runtime::rw_attempt(), self.place);
        runtime::unchanged(self.handle, Class::RwLock, self.place);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Gives a write lock back when it is dropped. Not `Send`, as std's.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    lock: &'a RwLock<T>,
    data: NonNull<Guarded<T>>,
    panicking: bool,
    /// The value was lent as `&mut`.
    changed: bool,
    place: Place,
}

// SAFETY: sharing the guard shares `&T`, no more. (It is not `Send` because of the raw pointer in it.)
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T: ?Sized> UnwindSafe for RwLockWriteGuard<'_, T> {}
impl<T: ?Sized> RefUnwindSafe for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Turns the write lock into a read lock in one step: no other writer comes between.
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let place = Place::caller();
        let writer = ManuallyDrop::new(s);
        let handle = &writer.lock.handle;
        if writer.changed {
            runtime::changed(handle, Class::RwLock, place);
        }
        runtime::rmw(handle, 0, MemoryOrder::AcqRel, place, |word| RwWord(word).downgraded());
        runtime::rw_reads(true);
        RwLockReadGuard { data: writer.data, handle, place, value: PhantomData }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock for writing, so every reference to the value comes from this guard; the data
        // lives as long as the lock or the execution.
        unsafe { &(*self.data.as_ptr()).value }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.changed = true;
        // SAFETY: as above, and the guard is borrowed alone.
        unsafe { &mut (*self.data.as_ptr()).value }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let change = self.lock.flag().done(self.panicking) || self.changed;
        runtime::unlock(&self.lock.handle, Class::RwLock, OpKind::WriteUnlock, change, self.place);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
