//! A `Box` whose memory comes from [`raddle::alloc`](crate::alloc).

use runtime::Place;
use std::alloc::{Layout, handle_alloc_error};
use std::borrow::{Borrow, BorrowMut};
use std::cmp;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// std's `Box`, for values with a size that is known: its memory is checked, and its address may come back, as
/// [`raddle::alloc`](crate::alloc) describes.
///
/// The compiler lets only std's box be taken apart by `*`: use [`into_inner`](Box::into_inner) to move the value out.
///
/// ```
/// use raddle::boxed::Box;
///
/// raddle::check(|| {
///     let mut b = Box::new(1);
///     *b += 1;
///     let p = Box::into_raw(b);
///     // SAFETY: it comes from `into_raw`, once.
///     assert_eq!(Box::into_inner(unsafe { Box::from_raw(p) }), 2);
/// });
/// ```
pub struct Box<T> {
    pointer: NonNull<T>,
    /// Where it was made.
    place: Place,
    owns: PhantomData<T>,
}

// SAFETY: a box owns its value, as a field would.
unsafe impl<T: Send> Send for Box<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Box<T> {}

impl<T> Box<T> {
    /// Allocates memory and puts the value there.
    #[track_caller]
    pub fn new(value: T) -> Box<T> {
        let place = Place::caller();
        let layout = Layout::new::<T>();
        if layout.size() == 0 {
            std::mem::forget(value);
            return Box { pointer: NonNull::dangling(), place, owns: PhantomData };
        }
        // SAFETY: the size is not 0.
        let memory = unsafe { runtime::allocate(layout, false, place) }.cast::<T>();
        let Some(pointer) = NonNull::new(memory) else { handle_alloc_error(layout) };
        // SAFETY: the memory is new and has the layout of a `T`.
        unsafe { pointer.write(value) };
        Box { pointer, place, owns: PhantomData }
    }

    /// Allocates memory and puts the value there, which will not be moved.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Box<T>> {
        Box::into_pin(Box::new(value))
    }

    /// Pins the value where it is.
    pub fn into_pin(b: Box<T>) -> Pin<Box<T>> {
        // SAFETY: the value has an address of its own, which the box keeps until the value is dropped, and nothing moves it out of a pinned box.
        unsafe { Pin::new_unchecked(b) }
    }

    /// Allocates memory for a value.
    #[track_caller]
    pub fn new_uninit() -> Box<MaybeUninit<T>> {
        Box::new(MaybeUninit::uninit())
    }

    /// Allocates memory for a value, with all bytes 0.
    #[track_caller]
    pub fn new_zeroed() -> Box<MaybeUninit<T>> {
        Box::new(MaybeUninit::zeroed())
    }

    /// The pointer, which [`from_raw`](Box::from_raw) takes back.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(b: Box<T>) -> *mut T {
        ManuallyDrop::new(b).pointer.as_ptr()
    }

    /// Takes a pointer back.
    ///
    /// # Safety
    ///
    /// `raw` comes from [`into_raw`](Box::into_raw), and is taken back once.
    #[track_caller]
    pub unsafe fn from_raw(raw: *mut T) -> Box<T> {
        // SAFETY: a pointer of `into_raw` is not null.
        let pointer = unsafe { NonNull::new_unchecked(raw) };
        Box { pointer, place: Place::caller(), owns: PhantomData }
    }

    /// A reference that lives as long as one likes. The memory is reported as a leak unless it is freed.
    pub fn leak<'a>(b: Box<T>) -> &'a mut T
    where
        T: 'a,
    {
        // SAFETY: the value is initialised, and nobody else refers to it.
        unsafe { &mut *Box::into_raw(b) }
    }

    /// A pointer to the value.
    #[must_use]
    pub fn as_ptr(b: &Box<T>) -> *const T {
        b.pointer.as_ptr()
    }

    /// A pointer to the value.
    pub fn as_mut_ptr(b: &mut Box<T>) -> *mut T {
        b.pointer.as_ptr()
    }

    /// The value; the memory is freed.
    pub fn into_inner(b: Box<T>) -> T {
        let b = ManuallyDrop::new(b);
        // SAFETY: the value is initialised; it is moved out, and the box is not used again.
        let value = unsafe { b.pointer.read() };
        b.free();
        value
    }

    fn free(&self) {
        let layout = Layout::new::<T>();
        if layout.size() != 0 {
            // SAFETY: the memory was allocated with this layout in `new`, as `from_raw` demands, and the box is not used again.
            unsafe { runtime::free(self.pointer.as_ptr().cast(), layout, self.place) };
        }
    }
}

impl<T> Box<MaybeUninit<T>> {
    /// Takes the value for initialised.
    ///
    /// # Safety
    ///
    /// It is.
    pub unsafe fn assume_init(self) -> Box<T> {
        let b = ManuallyDrop::new(self);
        Box { pointer: b.pointer.cast(), place: b.place, owns: PhantomData }
    }

    /// Writes a value, and takes it for initialised.
    pub fn write(mut boxed: Self, value: T) -> Box<T> {
        (*boxed).write(value);
        // SAFETY: it was just written.
        unsafe { boxed.assume_init() }
    }
}

// The value stays where it is when the box moves.
impl<T> Unpin for Box<T> {}

impl<F: Future + Unpin> Future for Box<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        Pin::new(&mut **self).poll(context)
    }
}

impl<I: Iterator> Iterator for Box<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        (**self).next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (**self).size_hint()
    }
}

impl<T> From<Box<T>> for Pin<Box<T>> {
    fn from(b: Box<T>) -> Self {
        Box::into_pin(b)
    }
}

impl<T> fmt::Pointer for Box<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.pointer, f)
    }
}

impl<T> Drop for Box<T> {
    fn drop(&mut self) {
        // SAFETY: the value is initialised, and nobody uses it any more.
        unsafe { self.pointer.drop_in_place() };
        self.free();
    }
}

impl<T> Deref for Box<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value is initialised, and borrowed as long as the box is.
        unsafe { self.pointer.as_ref() }
    }
}

impl<T> DerefMut for Box<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the box is borrowed alone.
        unsafe { self.pointer.as_mut() }
    }
}

impl<T> AsRef<T> for Box<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T> AsMut<T> for Box<T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T> Borrow<T> for Box<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T> BorrowMut<T> for Box<T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: Clone> Clone for Box<T> {
    #[track_caller]
    fn clone(&self) -> Box<T> {
        Box::new(T::clone(self))
    }
}

impl<T: Default> Default for Box<T> {
    #[track_caller]
    fn default() -> Box<T> {
        Box::new(T::default())
    }
}

impl<T> From<T> for Box<T> {
    #[track_caller]
    fn from(value: T) -> Box<T> {
        Box::new(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for Box<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

impl<T: fmt::Display> fmt::Display for Box<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

impl<T: PartialEq> PartialEq for Box<T> {
    fn eq(&self, other: &Box<T>) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Box<T> {}

impl<T: PartialOrd> PartialOrd for Box<T> {
    fn partial_cmp(&self, other: &Box<T>) -> Option<cmp::Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: Ord> Ord for Box<T> {
    fn cmp(&self, other: &Box<T>) -> cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Hash> Hash for Box<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
