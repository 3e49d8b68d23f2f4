//! Cells whose accesses are checked for data races, and std's other cells.
//!
//! An access is not a step: it is checked against every earlier access of another thread, and the check fails when nothing
//! orders the two and one of them writes.

use runtime::{Class, Handle, Place};
use std::cmp;
use std::fmt;
use std::mem;

pub use std::cell::{BorrowError, BorrowMutError, LazyCell, OnceCell, Ref, RefCell, RefMut};

/// std's `UnsafeCell`, with accesses checked for data races.
///
/// [`with`](UnsafeCell::with) and [`with_mut`](UnsafeCell::with_mut) say what they do. [`get`](UnsafeCell::get) hands out a
/// `*mut T`: it counts as a read, and as a write if the value has changed when the thread comes to its next operation.
///
/// ```
/// use raddle::cell::UnsafeCell;
///
/// raddle::check(|| {
///     let cell = UnsafeCell::new(1);
///     // SAFETY: nobody else has the cell.
///     cell.with_mut(|p| unsafe { *p += 1 });
///     assert_eq!(cell.into_inner(), 2);
/// });
/// ```
pub struct UnsafeCell<T: ?Sized> {
    handle: CellHandle,
    value: std::cell::UnsafeCell<T>,
}

/// The identity of a cell, which tells the runtime when the memory of the cell is given up.
struct CellHandle(Handle);

impl Drop for CellHandle {
    #[inline]
    fn drop(&mut self) {
        if runtime::active() {
            runtime::cell_ends(&mut self.0);
        }
    }
}

impl<T> UnsafeCell<T> {
    /// Makes one with this value.
    #[inline]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell { handle: CellHandle(Handle::new()), value: std::cell::UnsafeCell::new(value) }
    }

    /// The value, at the end of its life.
    #[inline]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Notes an access and gives the place where this execution keeps the value.
    #[inline]
    fn access(&self, write: bool, place: Place) -> *mut T {
        runtime::cell_access(&self.handle.0, write, place);
        runtime::data(&self.handle.0, Class::Cell, self.value.get())
    }

    /// A pointer to the value. Counts as a read now, and as a write if the value differs when the thread comes to its next
    /// operation. If the thread keeps the pointer, later writes through it are found in the same way. Later reads are not seen: the
    /// report has a caveat if another thread writes the cell meanwhile. [`with`](UnsafeCell::with) and
    /// [`with_mut`](UnsafeCell::with_mut) leave nothing to guess.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> *mut T {
        let value = runtime::data(&self.handle.0, Class::Cell, self.value.get());
        runtime::cell_lend(&self.handle.0, value.cast(), size_of_val(&self.value), Place::caller());
        value
    }

    /// The value, for one who owns it alone.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Notes an access that lasts as long as a call. If the thread takes steps meanwhile, it may access the value before and after them.
    #[inline]
    fn access_during<R>(&self, write: bool, place: Place, f: impl FnOnce(*mut T) -> R) -> R {
        let value = self.access(write, place);
        let before = runtime::steps_taken();
        let result = f(value);
        if runtime::steps_taken() != before {
            runtime::cell_access(&self.handle.0, write, place);
        }
        result
    }

    /// Reads through a pointer that is good during the call. Counts as a read, from the beginning of the call to its end.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.access_during(false, Place::caller(), |p| f(p.cast_const()))
    }

    /// Writes through a pointer that is good during the call. Counts as a write, from the beginning of the call to its end.
    #[inline]
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.access_during(true, Place::caller(), f)
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> Self {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> Self {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

/// std's `Cell`, with accesses checked for data races: `get` reads, all others write.
///
/// Safe code cannot race on it, since it is not `Sync`; a type that says it is, wrongly, can.
///
/// ```
/// let n = raddle::cell::Cell::new(1);
/// raddle::check(|| {
///     let n = raddle::cell::Cell::new(1);
///     n.set(n.get() + 1);
///     assert_eq!(n.replace(5), 2);
/// });
/// assert_eq!(n.into_inner(), 1);
/// ```
pub struct Cell<T: ?Sized> {
    cell: UnsafeCell<T>,
}

impl<T> Cell<T> {
    /// Makes one with this value.
    #[inline]
    pub const fn new(value: T) -> Cell<T> {
        Cell { cell: UnsafeCell::new(value) }
    }

    /// Writes it; the old value is dropped.
    #[inline]
    #[track_caller]
    pub fn set(&self, val: T) {
        drop(self.replace(val));
    }

    /// Swaps the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Cell<T>) {
        if std::ptr::eq(self, other) {
            return;
        }
        let place = Place::caller();
        let (a, b) = (self.cell.access(true, place), other.cell.access(true, place));
        // SAFETY: both point to live values that nobody else refers to: a cell never gives out references to its content, and
        // no other controlled thread runs between here and the end of the call. The cells are different objects, so
        // their values do not overlap.
        unsafe { std::ptr::swap_nonoverlapping(a, b, 1) };
    }

    /// Writes it and gives the old value.
    #[inline]
    #[track_caller]
    pub fn replace(&self, val: T) -> T {
        // SAFETY: the pointer is good during the call, and a cell never gives out references to its content.
        self.cell.with_mut(|p| unsafe { mem::replace(&mut *p, val) })
    }

    /// The value, at the end of its life.
    #[inline]
    pub fn into_inner(self) -> T {
        self.cell.into_inner()
    }
}

impl<T: Copy> Cell<T> {
    /// Reads it.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> T {
        // SAFETY: the pointer is good during the call, and the value is `Copy`.
        self.cell.with(|p| unsafe { *p })
    }

    /// Writes what `f` makes of the value.
    #[inline]
    #[track_caller]
    pub fn update(&self, f: impl FnOnce(T) -> T) {
        let old = self.get();
        self.set(f(old));
    }
}

impl<T: Default> Cell<T> {
    /// Takes the value and leaves the default.
    #[inline]
    #[track_caller]
    pub fn take(&self) -> T {
        self.replace(T::default())
    }
}

impl<T: ?Sized> Cell<T> {
    /// A pointer to the value, which counts as [`UnsafeCell::get`] does.
    #[inline]
    #[track_caller]
    pub fn as_ptr(&self) -> *mut T {
        self.cell.get()
    }

    /// The value, for one who owns it alone.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.cell.get_mut()
    }
}

impl<T: Default> Default for Cell<T> {
    fn default() -> Self {
        Cell::new(T::default())
    }
}

impl<T> From<T> for Cell<T> {
    fn from(value: T) -> Self {
        Cell::new(value)
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Cell::new(self.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("value", &self.get()).finish()
    }
}

impl<T: Copy + PartialEq> PartialEq for Cell<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Copy + Eq> Eq for Cell<T> {}

impl<T: Copy + PartialOrd> PartialOrd for Cell<T> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Copy + Ord> Ord for Cell<T> {
    #[track_caller]
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        self.get().cmp(&other.get())
    }
}
