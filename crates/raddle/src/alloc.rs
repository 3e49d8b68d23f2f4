//! Memory whose life is part of what is checked.
//!
//! [`alloc`] and [`dealloc`] have std's signatures, and [`Box`](crate::boxed::Box) is built on them. For memory that comes from here a check
//!
//! - reports what is freed twice, freed by another address or layout than it was allocated with, and never freed,
//! - reports an operation on one of raddle's atomics, cells and locks that lies in freed memory, and one that nothing orders
//!   before the free,
//! - explores that an allocation gets the address of memory that was freed before, by any thread. So the ABA problem is found, where
//!   a compare-exchange takes a new node for an old one at the same address. Memory of std's `Box` and `Arc` comes from the allocator of
//!   the process: a compare-exchange of such an address has the caveat `reuse`.
//!
//! Accesses through plain pointers are not seen. Freed memory keeps its address until it is given out again and is filled with the byte
//! `0xde`, new memory with `0xcd`.
//!
//! A stack that frees its nodes at once, as many do in their first version:
//!
//! ```
//! use raddle::boxed::Box;
//! use raddle::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
//! use raddle::{Config, FailureKind, Verdict, sync::Arc, thread};
//! use std::ptr::null_mut;
//!
//! struct Node { next: AtomicPtr<Node> }
//!
//! fn pop(head: &AtomicPtr<Node>) -> *mut Node {
//!     loop {
//!         let top = head.load(SeqCst);
//!         if top.is_null() {
//!             return top;
//!         }
//!         // SAFETY: wrong! Another thread may have freed the node by now.
//!         let next = unsafe { &(*top).next }.load(SeqCst);
//!         if head.compare_exchange(top, next, SeqCst, SeqCst).is_ok() {
//!             return top;
//!         }
//!     }
//! }
//!
//! let report = Config::new().quiet(true).run(|| {
//!     let node = Box::into_raw(Box::new(Node { next: AtomicPtr::new(null_mut()) }));
//!     let head = Arc::new(AtomicPtr::new(node));
//!     let threads = [0, 1].map(|_| {
//!         let head = head.clone();
//!         thread::spawn(move || {
//!             let node = pop(&head);
//!             if !node.is_null() {
//!                 // SAFETY: it was taken off the stack, so nobody else frees it.
//!                 drop(unsafe { Box::from_raw(node) });
//!             }
//!         })
//!     });
//!     threads.into_iter().for_each(|t| t.join().unwrap());
//! });
//! assert_eq!(report.failures[0].kind, FailureKind::UseAfterFree);
//! ```

use runtime::{Place, Tracked};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

pub use std::alloc::{Layout, LayoutError, handle_alloc_error};

/// Allocates memory, as [`std::alloc::alloc`] does. Its bytes are `0xcd` inside of a check.
///
/// # Safety
///
/// As for std's: the size of the layout is not 0.
#[track_caller]
#[must_use = "losing the pointer will leak memory"]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: as the caller says.
    unsafe { runtime::allocate(layout, false, Place::caller()) }
}

/// Allocates memory that is filled with zeros, as [`std::alloc::alloc_zeroed`] does.
///
/// # Safety
///
/// As for std's: the size of the layout is not 0.
#[track_caller]
#[must_use = "losing the pointer will leak memory"]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: as the caller says.
    unsafe { runtime::allocate(layout, true, Place::caller()) }
}

/// Frees memory, as [`std::alloc::dealloc`] does.
///
/// # Safety
///
/// As for std's: `ptr` comes from [`alloc`] or [`alloc_zeroed`] with this layout, in the same execution, and was not freed since. A check
/// reports where that does not hold.
#[track_caller]
pub unsafe fn dealloc(ptr: *mut u8, layout: Layout) {
    // SAFETY: as the caller says.
    unsafe { runtime::free(ptr, layout, Place::caller()) }
}

/// A value that must be dropped before the execution ends; otherwise the check reports a leak.
///
/// ```
/// use raddle::alloc::Track;
/// use raddle::{Config, FailureKind};
///
/// let report = Config::new().quiet(true).run(|| std::mem::forget(Track::new(5)));
/// assert_eq!(report.failures[0].kind, FailureKind::Leak);
/// ```
pub struct Track<T> {
    tracked: Tracked,
    value: T,
}

impl<T> Track<T> {
    /// Tracks this value.
    #[track_caller]
    pub fn new(value: T) -> Track<T> {
        Track { tracked: runtime::track(Place::caller()), value }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value, for one who owns it alone.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value, which is not tracked any more.
    pub fn into_inner(self) -> T {
        runtime::untrack(self.tracked);
        let this = ManuallyDrop::new(self);
        // SAFETY: the value is read once, and `this` is neither dropped nor used again.
        unsafe { std::ptr::read(&this.value) }
    }
}

impl<T> Drop for Track<T> {
    fn drop(&mut self) {
        runtime::untrack(self.tracked);
    }
}

impl<T> Deref for Track<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Track<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Track<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
