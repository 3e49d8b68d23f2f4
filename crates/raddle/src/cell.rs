//! std's cells, with accesses checked for data races.
//!
//! An access is not a step: it is checked against every earlier access of another thread, and the check fails when nothing
//! orders the two and one of them writes.

use runtime::{Class, Handle, Place};
use std::cmp;
use std::fmt;
use std::mem;

use std::ops::Deref;

pub use std::cell::{BorrowError, BorrowMutError, Ref, RefMut};

/// std's `UnsafeCell`, with accesses checked for data races.
///
/// [`with`](UnsafeCell::with) and [`with_mut`](UnsafeCell::with_mut) say what they do. [`get`](UnsafeCell::get) hands out a
/// `*mut T`: the access happens where the pointer is used.
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

impl CellHandle {
    /// Notes an access, if it is one inside of a check.
    #[inline]
    fn touch(&self, write: bool, place: Place) {
        if runtime::active() {
            runtime::cell_access(&self.0, write, place);
        }
    }
}

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
    pub fn into_inner(mut self) -> T {
        if runtime::active() {
            runtime::cell_ends(&mut self.handle.0);
        }
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Notes an access and gives the place where this execution keeps the value.
    #[inline]
    fn access(&self, write: bool, place: Place) -> *mut T {
        let value = runtime::cell_data(&self.handle.0, &self.value, place);
        runtime::cell_access(&self.handle.0, write, place);
        value
    }

    /// A pointer to the value. Not an access: accesses through the pointer count where they happen, byte by byte.
    ///
    /// Where they can make a difference, the search starts again and watches them by the protection of memory, on x86-64 Linux.
    /// Elsewhere, and for cells that are made outside of the check, the call counts as a read, and as a write if the value differs when the
    /// thread comes to its next operation; the report has a caveat if the thread may keep the pointer while another one writes the
    /// cell. [`with`](UnsafeCell::with) and [`with_mut`](UnsafeCell::with_mut) are exact everywhere, and faster.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> *mut T {
        let value = runtime::cell_data(&self.handle.0, &self.value, Place::caller());
        let place = Place::caller();
        runtime::cell_lend(&self.handle.0, value.cast(), size_of_val(&self.value), place);
        if has_elements::<T>() {
            runtime::cell_lends_elements(&self.handle.0, place);
        }
        value
    }

    /// As [`get`](UnsafeCell::get), from a pointer to the cell. The cell must have a value and be alive, although std asks for less.
    #[inline]
    #[track_caller]
    #[allow(clippy::not_unsafe_ptr_arg_deref)] // It is safe in std.
    pub fn raw_get(this: *const UnsafeCell<T>) -> *mut T {
        // SAFETY: std allows dangling pointers here, but nobody has them: the result could not be used.
        unsafe { &*this }.get()
    }

    /// The value, for one who owns it alone. Counts as a write.
    #[inline]
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        if !runtime::active() {
            return self.value.get_mut();
        }
        // SAFETY: the place of the value in this execution, which nobody else uses while the cell is borrowed mutably.
        unsafe { &mut *self.access(true, Place::caller()) }
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

/// Whether a type is a list whose elements lie elsewhere, with nothing of ours in them that would see accesses.
#[inline]
fn has_elements<T: ?Sized>() -> bool {
    const LISTS: [&str; 3] =
        ["alloc::vec::Vec<", "alloc::boxed::Box<[", "alloc::collections::vec_deque::VecDeque<"];
    mem::needs_drop::<T>() && {
        let name = std::any::type_name::<T>();
        LISTS.iter().any(|list| name.starts_with(list)) && !name.contains("raddle::")
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
    #[track_caller]
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

/// std's `RefCell`, with accesses checked for data races: every borrow counts as a write, since it changes the state of the cell.
///
/// Safe code cannot race on it, since it is not `Sync`; a type that says it is, wrongly, can.
///
/// ```
/// raddle::check(|| {
///     let n = raddle::cell::RefCell::new(1);
///     *n.borrow_mut() += 1;
///     assert_eq!(*n.borrow(), 2);
/// });
/// ```
pub struct RefCell<T: ?Sized> {
    handle: CellHandle,
    cell: std::cell::RefCell<T>,
}

impl<T> RefCell<T> {
    /// Makes one with this value.
    #[inline]
    pub const fn new(value: T) -> RefCell<T> {
        RefCell { handle: CellHandle(Handle::new()), cell: std::cell::RefCell::new(value) }
    }

    /// The value, at the end of its life.
    #[inline]
    pub fn into_inner(self) -> T {
        self.cell.into_inner()
    }

    /// Writes it and gives the old value.
    ///
    /// # Panics
    ///
    /// If it is borrowed.
    #[track_caller]
    pub fn replace(&self, t: T) -> T {
        self.access(Place::caller()).replace(t)
    }

    /// Writes what `f` makes of the value, and gives the old one.
    ///
    /// # Panics
    ///
    /// If it is borrowed.
    #[track_caller]
    pub fn replace_with<F: FnOnce(&mut T) -> T>(&self, f: F) -> T {
        self.access(Place::caller()).replace_with(f)
    }

    /// Swaps the values of two cells.
    ///
    /// # Panics
    ///
    /// If one of them is borrowed.
    #[track_caller]
    pub fn swap(&self, other: &RefCell<T>) {
        let place = Place::caller();
        self.access(place).swap(other.access(place));
    }
}

impl<T: ?Sized> RefCell<T> {
    /// Notes an access and gives the cell of this execution.
    #[inline]
    fn access(&self, place: Place) -> &std::cell::RefCell<T> {
        self.handle.touch(true, place);
        let cell = (&raw const self.cell).cast_mut();
        // SAFETY: it is the field, or a copy of it that lives as long as the execution, in which the caller runs.
        unsafe { &*runtime::data(&self.handle.0, Class::Cell, cell) }
    }

    /// Borrows the value.
    ///
    /// # Panics
    ///
    /// If it is borrowed mutably.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        self.access(Place::caller()).borrow()
    }

    /// Borrows the value, unless it is borrowed mutably.
    ///
    /// # Errors
    ///
    /// If it is.
    #[track_caller]
    pub fn try_borrow(&self) -> Result<Ref<'_, T>, BorrowError> {
        self.access(Place::caller()).try_borrow()
    }

    /// Borrows the value mutably.
    ///
    /// # Panics
    ///
    /// If it is borrowed.
    #[track_caller]
    pub fn borrow_mut(&self) -> RefMut<'_, T> {
        self.access(Place::caller()).borrow_mut()
    }

    /// Borrows the value mutably, unless it is borrowed.
    ///
    /// # Errors
    ///
    /// If it is.
    #[track_caller]
    pub fn try_borrow_mut(&self) -> Result<RefMut<'_, T>, BorrowMutError> {
        self.access(Place::caller()).try_borrow_mut()
    }

    /// Borrows the value without a guard.
    ///
    /// # Safety
    ///
    /// As for std's: nobody borrows it mutably while the reference is alive.
    ///
    /// # Errors
    ///
    /// If it is borrowed mutably.
    #[track_caller]
    pub unsafe fn try_borrow_unguarded(&self) -> Result<&T, BorrowError> {
        // SAFETY: as the caller says.
        unsafe { self.access(Place::caller()).try_borrow_unguarded() }
    }

    /// A pointer to the value. Counts as a write.
    #[track_caller]
    pub fn as_ptr(&self) -> *mut T {
        self.access(Place::caller()).as_ptr()
    }

    /// The value, for one who owns it alone.
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        self.handle.touch(true, Place::caller());
        self.cell.get_mut()
    }
}

impl<T: Default> RefCell<T> {
    /// Takes the value and leaves the default.
    #[track_caller]
    pub fn take(&self) -> T {
        self.replace(T::default())
    }
}

impl<T: Default> Default for RefCell<T> {
    fn default() -> Self {
        RefCell::new(T::default())
    }
}

impl<T> From<T> for RefCell<T> {
    fn from(value: T) -> Self {
        RefCell::new(value)
    }
}

impl<T: Clone> Clone for RefCell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        RefCell::new(self.borrow().clone())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RefCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.access(Place::caller()).fmt(f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for RefCell<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        *self.borrow() == *other.borrow()
    }
}

impl<T: ?Sized + Eq> Eq for RefCell<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for RefCell<T> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        self.borrow().partial_cmp(&*other.borrow())
    }
}

impl<T: ?Sized + Ord> Ord for RefCell<T> {
    #[track_caller]
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        self.borrow().cmp(&*other.borrow())
    }
}

/// std's `OnceCell`, with accesses checked for data races: to set it is a write, to look at it a read.
///
/// ```
/// raddle::check(|| {
///     let n = raddle::cell::OnceCell::new();
///     assert_eq!(n.get_or_init(|| 1), &1);
///     assert_eq!(n.set(2), Err(2));
/// });
/// ```
pub struct OnceCell<T> {
    handle: CellHandle,
    cell: std::cell::OnceCell<T>,
}

impl<T> OnceCell<T> {
    /// Makes one without a value.
    #[inline]
    #[must_use]
    pub const fn new() -> OnceCell<T> {
        OnceCell { handle: CellHandle(Handle::new()), cell: std::cell::OnceCell::new() }
    }

    /// Notes an access and gives the cell of this execution.
    fn access(&self, write: bool, place: Place) -> &std::cell::OnceCell<T> {
        self.handle.touch(write, place);
        let cell = (&raw const self.cell).cast_mut();
        // SAFETY: as in `RefCell::access`.
        unsafe { &*runtime::data(&self.handle.0, Class::Cell, cell) }
    }

    /// The value, if there is one.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        self.access(false, Place::caller()).get()
    }

    /// The value, for one who owns it alone.
    #[track_caller]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.handle.touch(true, Place::caller());
        self.cell.get_mut()
    }

    /// Sets the value.
    ///
    /// # Errors
    ///
    /// Gives it back if there is one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let place = Place::caller();
        match self.access(false, place).get() {
            Some(_) => Err(value),
            None => self.access(true, place).set(value),
        }
    }

    /// The value; if there is none, what `f` gives is set first.
    ///
    /// # Panics
    ///
    /// If `f` sets it.
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
        let place = Place::caller();
        if let Some(value) = self.access(false, place).get() {
            return value;
        }
        let value = f();
        assert!(self.access(true, place).set(value).is_ok(), "reentrant init");
        self.get().expect("it was set")
    }

    /// The value, at the end of its life.
    pub fn into_inner(self) -> Option<T> {
        self.cell.into_inner()
    }

    /// Takes the value.
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        self.handle.touch(true, Place::caller());
        self.cell.take()
    }
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        OnceCell::new()
    }
}

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        OnceCell { handle: CellHandle(Handle::new()), cell: std::cell::OnceCell::from(value) }
    }
}

impl<T: Clone> Clone for OnceCell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.get().map_or_else(OnceCell::new, |value| OnceCell::from(value.clone()))
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.access(false, Place::caller()).fmt(f)
    }
}

impl<T: PartialEq> PartialEq for OnceCell<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

/// std's `LazyCell`, with accesses checked for data races: the first use is a write, the others are reads.
///
/// ```
/// raddle::check(|| {
///     let n = raddle::cell::LazyCell::new(|| 1);
///     assert_eq!(*n, 1);
/// });
/// ```
pub struct LazyCell<T, F = fn() -> T> {
    cell: OnceCell<T>,
    /// Used by whoever sets the cell.
    init: std::cell::Cell<Option<F>>,
}

impl<T, F: FnOnce() -> T> LazyCell<T, F> {
    /// Makes one whose value is what `f` gives at the first use.
    #[inline]
    pub const fn new(f: F) -> LazyCell<T, F> {
        LazyCell { cell: OnceCell::new(), init: std::cell::Cell::new(Some(f)) }
    }

    /// The value, which is made if this is the first use.
    ///
    /// # Panics
    ///
    /// If the initialiser panicked before.
    #[track_caller]
    pub fn force(this: &LazyCell<T, F>) -> &T {
        match this.cell.get() {
            Some(value) => value,
            None => this.cell.get_or_init(|| {
                let init = this.init.take();
                init.unwrap_or_else(|| panic!("LazyCell instance has previously been poisoned"))()
            }),
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyCell<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyCell::force(self)
    }
}

impl<T: Default> Default for LazyCell<T> {
    fn default() -> Self {
        LazyCell::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyCell<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cell.get() {
            Some(value) => f.debug_tuple("LazyCell").field(value).finish(),
            None => f.write_str("LazyCell(<uninit>)"),
        }
    }
}
