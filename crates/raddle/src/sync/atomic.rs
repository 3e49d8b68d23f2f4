//! Atomics with std's names and signatures. Every access is one step of the execution.
//!
//! The search is sequentially consistent for now: the memory order of an access is checked as std checks it, recorded and
//! shown in reports, and orders nothing by itself.
//!
//! ```
//! use raddle::sync::atomic::{AtomicU32, Ordering};
//!
//! static TICKETS: AtomicU32 = AtomicU32::new(0);
//!
//! raddle::check(|| {
//!     // Each execution finds the static as it was written.
//!     assert_eq!(TICKETS.fetch_add(1, Ordering::Relaxed), 0);
//! });
//! ```

use super::{mirror, pointer};
use crate::object::{Live, Step};
use explore::{CaveatKind, MemoryOrder, OpKind};
use runtime::{Class, Place};
use std::fmt;
use std::panic::RefUnwindSafe;

pub use std::sync::atomic::Ordering;

/// A value that fits the word which the runtime keeps for an atomic. Equal values have equal words.
trait AsWord: Copy {
    fn to_word(self) -> u64;
    fn from_word(word: u64) -> Self;
    /// The word of a value that an atomic was made with.
    fn initial_word(self) -> u64 {
        self.to_word()
    }
    /// The address that it is, or looks like, without tags. 0 for others.
    fn address(self) -> usize {
        0
    }
}

macro_rules! integers_are_words {
    ($($int:ty)*) => {$(
        impl AsWord for $int {
            #[inline(always)]
            fn to_word(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn from_word(word: u64) -> $int {
                word as $int
            }
        }
    )*};
}
integers_are_words!(u8 u16 u32 i8 i16 i32);

/// Integers that can hold an address: those that look like one are named as pointers are.
macro_rules! integers_may_be_addresses {
    ($($int:ty)*) => {$(
        impl AsWord for $int {
            #[inline(always)]
            fn to_word(self) -> u64 {
                let n = self as u64;
                if pointer::is_like_an_address(n) { pointer::number_to_word(n) } else { n }
            }
            #[inline(always)]
            fn from_word(word: u64) -> $int {
                (if pointer::is_like_an_address(word) { pointer::word_to_number(word) } else { word }) as $int
            }
            #[inline(always)]
            fn initial_word(self) -> u64 {
                let n = self as u64;
                if pointer::is_like_an_address(n) { pointer::initial_number_to_word(n) } else { n }
            }
            #[inline(always)]
            fn address(self) -> usize {
                let n = self as u64;
                if pointer::is_like_an_address(n) { pointer::without_tags(n) } else { 0 }
            }
        }
    )*};
}
integers_may_be_addresses!(u64 usize i64 isize);

impl AsWord for bool {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self as u64
    }
    #[inline(always)]
    fn from_word(word: u64) -> bool {
        word != 0
    }
}

impl<T> AsWord for *mut T {
    #[inline(always)]
    fn to_word(self) -> u64 {
        pointer::name(self.expose_provenance())
    }
    #[inline(always)]
    fn from_word(word: u64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(pointer::address(word))
    }
    #[inline(always)]
    fn initial_word(self) -> u64 {
        pointer::initial_name(self.expose_provenance())
    }
    #[inline(always)]
    fn address(self) -> usize {
        self.addr()
    }
}

/// What every atomic is: the identity of an object, and the value it starts with. While an execution knows the object, the
/// runtime holds its current value.
struct Atom<V> {
    handle: Live,
    value: V,
    /// The test may have a pointer to the value, in this execution or an earlier one; see [`mirror`].
    mirrored: mirror::Flag,
}

impl<V: AsWord> Atom<V> {
    const fn new(value: V) -> Atom<V> {
        Atom { handle: Live::new(), value, mirrored: mirror::Flag::new() }
    }

    #[inline(always)]
    fn step(&self, kind: OpKind, order: MemoryOrder, place: Place) -> Step<'_> {
        Step::new(kind, &self.handle, Class::Atomic, place).initial(self.value.initial_word()).order(order)
    }

    #[inline(always)]
    fn load(&self, order: Ordering, place: Place) -> V {
        self.note(order, place);
        self.peek(order, place)
    }

    /// A load of ours, which is not one that the program wrote.
    #[inline(always)]
    fn peek(&self, order: Ordering, place: Place) -> V {
        V::from_word(self.step(OpKind::Load, load_order(order, place), place).run().value)
    }

    /// A pointer to memory that has the value.
    fn as_ptr(&self, place: Place) -> *mut V {
        if !runtime::active() {
            return (&raw const self.value).cast_mut();
        }
        runtime::caveat_at(CaveatKind::Races, mirror::UNSEEN, place);
        let memory = mirror::memory_of(&self.mirrored).unwrap_or_else(|| {
            let value = bytes_of(self.peek(Ordering::Relaxed, place));
            // Another thread may have asked for it meanwhile.
            mirror::memory_of(&self.mirrored)
                .unwrap_or_else(|| mirror::add(&self.mirrored, None, value, size_of::<V>()))
        });
        memory.cast()
    }

    /// Stands for memory of the test, which has this value.
    fn mirror_at(&self, memory: *mut V, place: Place) {
        runtime::caveat_at(CaveatKind::Races, mirror::UNSEEN, place);
        mirror::add(&self.mirrored, Some(memory.cast()), bytes_of(self.value), size_of::<V>());
    }

    /// Takes what was written through a pointer.
    #[cold]
    fn take_written(&self, place: Place) {
        match mirror::written(&self.mirrored) {
            Err(()) => self.mirrored.clear(),
            Ok(None) => {}
            Ok(Some(bytes)) => {
                // SAFETY: the bytes of a value of this type, as the test has left them: which a wrong test may do wrong.
                let value: V = unsafe { std::mem::transmute_copy(&bytes) };
                self.step(OpKind::Store, MemoryOrder::Relaxed, place).operands(value.to_word(), 0).run();
            }
        }
    }

    /// An operation has changed the value.
    #[inline(always)]
    fn changed(&self, place: Place) {
        if self.mirrored.is_set() {
            self.show_changed(place);
        }
    }

    /// Brings the memory up to date that pointers lead to.
    #[cold]
    fn show_changed(&self, place: Place) {
        let value = bytes_of(self.peek(Ordering::Relaxed, place));
        mirror::update(&self.mirrored, value);
    }

    /// An operation with this order is about to run.
    #[inline(always)]
    fn note(&self, order: Ordering, place: Place) {
        if self.mirrored.is_set() {
            self.take_written(place);
        }
        runtime::ordered_step(&self.handle, || self.value.initial_word(), any_order(order), place);
    }

    #[inline(always)]
    fn store(&self, value: V, order: Ordering, place: Place) {
        self.note(order, place);
        self.step(OpKind::Store, store_order(order, place), place).operands(value.to_word(), 0).run();
        self.changed(place);
    }

    #[inline(always)]
    fn rmw(&self, order: Ordering, place: Place, f: impl FnOnce(V) -> V) -> V {
        let change = |word| f(V::from_word(word)).to_word();
        self.note(order, place);
        let old = runtime::rmw(&self.handle, self.value.initial_word(), any_order(order), place, change);
        self.changed(place);
        V::from_word(old)
    }

    #[inline(always)]
    fn compare_exchange(
        &self,
        kind: OpKind,
        (current, new): (V, V),
        (success, failure): (Ordering, Ordering),
        place: Place,
    ) -> Result<V, V> {
        failure_order(failure, place);
        let address = current.address();
        if address != 0 && !runtime::is_allocated(address) {
            // It may be the address of something else by now.
            runtime::compares_freed(place);
        }
        self.note(if success == Ordering::SeqCst { failure } else { success }, place);
        let done =
            self.step(kind, any_order(success), place).operands(current.to_word(), new.to_word()).run();
        if done.ok {
            self.changed(place);
            return Ok(V::from_word(done.value));
        }
        if failure != success {
            runtime::only_read(any_order(failure));
        }
        Err(V::from_word(done.value))
    }

    fn try_update(
        &self,
        (set, fetch): (Ordering, Ordering),
        place: Place,
        mut f: impl FnMut(V) -> Option<V>,
    ) -> Result<V, V> {
        let mut seen = self.load(fetch, place);
        while let Some(next) = f(seen) {
            match self.compare_exchange(OpKind::CompareExchangeWeak, (seen, next), (set, fetch), place) {
                Ok(old) => return Ok(old),
                Err(now) => seen = now,
            }
        }
        Err(seen)
    }

    /// Brings the current value back inline.
    #[inline]
    fn get_mut(&mut self, place: Place) -> &mut V {
        runtime::object_owned(&self.handle, place);
        if self.mirrored.is_set()
            && let Ok(Some(bytes)) = mirror::written(&self.mirrored)
        {
            runtime::take_word(&mut self.handle);
            // SAFETY: as in `take_written`.
            self.value = unsafe { std::mem::transmute_copy(&bytes) };
            self.mirrored = mirror::Flag::new();
            return &mut self.value;
        }
        self.mirrored = mirror::Flag::new();
        if let Some(word) = runtime::take_word(&mut self.handle) {
            self.value = V::from_word(word);
        }
        &mut self.value
    }

    /// For `Debug`: the current value inside an execution, the initial one outside.
    fn show(&self, place: Place) -> V {
        if runtime::active() { self.peek(Ordering::Relaxed, place) } else { self.value }
    }
}

/// The bytes of a value, as [`mirror`] has them.
fn bytes_of<V: AsWord>(value: V) -> mirror::Bytes {
    const { assert!(size_of::<V>() <= size_of::<mirror::Bytes>()) };
    let mut bytes = mirror::Bytes::default();
    // SAFETY: values of our types have no padding, and fit.
    unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping((&raw const value).cast(), size_of::<V>()) };
    bytes
}

#[inline(always)]
fn any_order(order: Ordering) -> MemoryOrder {
    match order {
        Ordering::Relaxed => MemoryOrder::Relaxed,
        Ordering::Acquire => MemoryOrder::Acquire,
        Ordering::Release => MemoryOrder::Release,
        Ordering::AcqRel => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

#[inline(always)]
#[track_caller]
fn load_order(order: Ordering, place: Place) -> MemoryOrder {
    match order {
        Ordering::Release => refuse("there is no such thing as a release load", place),
        Ordering::AcqRel => refuse("there is no such thing as an acquire-release load", place),
        order => any_order(order),
    }
}

#[inline(always)]
fn store_order(order: Ordering, place: Place) -> MemoryOrder {
    match order {
        Ordering::Acquire => refuse("there is no such thing as an acquire store", place),
        Ordering::AcqRel => refuse("there is no such thing as an acquire-release store", place),
        order => any_order(order),
    }
}

#[inline(always)]
fn failure_order(order: Ordering, place: Place) {
    match order {
        Ordering::Release => refuse("there is no such thing as a release failure ordering", place),
        Ordering::AcqRel => refuse("there is no such thing as an acquire-release failure ordering", place),
        _ => {}
    }
}

/// Panics as std does. The place of the panic is in this file, so the message names the user's.
#[cold]
fn refuse(message: &str, place: Place) -> ! {
    panic!("{message} (at {place})")
}

/// What all atomics have: made from the public name, the value type and its generics.
macro_rules! common {
    ([$($generics:tt)*] $name:ty, $value:ty) => {
        impl<$($generics)*> $name {
            /// Makes one with this value.
            #[inline(always)]
            pub const fn new(v: $value) -> Self {
                Self { atom: Atom::new(v) }
            }

            /// Reads it.
            ///
            /// # Panics
            ///
            /// Panics if `order` is `Release` or `AcqRel`, as std's does.
            #[inline(always)]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                self.atom.load(order, Place::caller())
            }

            /// Writes it.
            ///
            /// # Panics
            ///
            /// Panics if `order` is `Acquire` or `AcqRel`, as std's does.
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, val: $value, order: Ordering) {
                self.atom.store(val, order, Place::caller());
            }

            /// Writes it and gives the old value.
            #[inline(always)]
            #[track_caller]
            pub fn swap(&self, val: $value, order: Ordering) -> $value {
                self.atom.rmw(order, Place::caller(), |_| val)
            }

            /// Writes `new` if the value is `current`; gives the old value either way.
            ///
            /// # Panics
            ///
            /// Panics if `failure` is `Release` or `AcqRel`, as std's does.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let place = Place::caller();
                self.atom.compare_exchange(OpKind::CompareExchange, (current, new), (success, failure), place)
            }

            /// The same, but it may fail although the value is `current`; both are explored.
            ///
            /// # Panics
            ///
            /// Panics if `failure` is `Release` or `AcqRel`, as std's does.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let place = Place::caller();
                self.atom.compare_exchange(OpKind::CompareExchangeWeak, (current, new), (success, failure), place)
            }

            /// Tries until nobody comes between, or `f` says no. A load, then weak compare-exchanges, as in std.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                self.atom.try_update((set_order, fetch_order), Place::caller(), f)
            }

            /// The newer name of [`fetch_update`](Self::fetch_update).
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.atom.try_update((set_order, fetch_order), Place::caller(), f)
            }

            /// Tries until nobody comes between; gives the old value.
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                let orders = (set_order, fetch_order);
                match self.atom.try_update(orders, Place::caller(), |v| Some(f(v))) {
                    Ok(old) | Err(old) => old,
                }
            }

            /// A pointer to the value. What is done through it is not seen, which is a caveat: the atomic takes what was written
            /// there before its next operation.
            #[track_caller]
            pub fn as_ptr(&self) -> *mut $value {
                self.atom.as_ptr(Place::caller())
            }

            /// An atomic that stands for the value behind the pointer: one for each address, type and execution. What is done through
            /// the pointer is not seen, which is a caveat. Atomics of different types for one address take each other's values.
            ///
            /// # Safety
            ///
            /// As for std's; and the result is used during the execution at hand.
            #[track_caller]
            pub unsafe fn from_ptr<'a>(ptr: *mut $value) -> &'a Self {
                // SAFETY: as the caller says, the pointer is good for reads.
                let make = || Box::into_raw(Box::new(Self::new(unsafe { ptr.read() }))).cast::<()>();
                if !runtime::active() {
                    // SAFETY: it was just made, and leaks.
                    return unsafe { &*make().cast() };
                }
                let of_type = std::any::type_name::<Self>();
                // SAFETY: what was made is dropped as what it is. It lives as long as the execution.
                unsafe {
                    let drop = |made: *mut ()| drop(Box::from_raw(made.cast::<Self>()));
                    let (made, is_new) = mirror::made_at(ptr.addr(), of_type, make, drop);
                    let made = &*made.cast::<Self>();
                    if is_new {
                        made.atom.mirror_at(ptr, Place::caller());
                    }
                    made
                }
            }

            /// The value, for one who owns it alone. Not a step.
            #[inline(always)]
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $value {
                self.atom.get_mut(Place::caller())
            }

            /// The value, at the end of its life. Not a step.
            #[inline(always)]
            #[track_caller]
            pub fn into_inner(mut self) -> $value {
                *self.atom.get_mut(Place::caller())
            }
        }

        impl<$($generics)*> From<$value> for $name {
            #[inline(always)]
            fn from(v: $value) -> Self {
                Self::new(v)
            }
        }

        impl<$($generics)*> fmt::Debug for $name {
            #[track_caller]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.atom.show(Place::caller()), f)
            }
        }

        impl<$($generics)*> RefUnwindSafe for $name {}
    };
}

/// A read-modify-write that std has under this name.
macro_rules! fetch {
    ($value:ty: $($(#[$doc:meta])* $method:ident($old:ident, $val:ident) = $new:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $method(&self, $val: $value, order: Ordering) -> $value {
            self.atom.rmw(order, Place::caller(), |$old| $new)
        }
    )*};
}

macro_rules! integer {
    ($($name:ident $int:ident)*) => {$(
        #[doc = concat!("An atomic `", stringify!($int), "`: std's, each access a step.")]
        ///
        /// ```
        #[doc = concat!("use raddle::sync::atomic::{", stringify!($name), ", Ordering};")]
        ///
        /// raddle::check(|| {
        #[doc = concat!("    let n = ", stringify!($name), "::new(5);")]
        ///     assert_eq!(n.fetch_add(2, Ordering::SeqCst), 5);
        ///     assert_eq!(n.into_inner(), 7);
        /// });
        /// ```
        pub struct $name {
            atom: Atom<$int>,
        }

        common!([] $name, $int);

        impl $name {
            fetch! { $int:
                /// Adds, wrapping around; gives the old value.
                fetch_add(old, val) = old.wrapping_add(val);
                /// Subtracts, wrapping around; gives the old value.
                fetch_sub(old, val) = old.wrapping_sub(val);
                /// Bitwise *and*; gives the old value.
                fetch_and(old, val) = old & val;
                /// Bitwise *not-and*; gives the old value.
                fetch_nand(old, val) = !(old & val);
                /// Bitwise *or*; gives the old value.
                fetch_or(old, val) = old | val;
                /// Bitwise *exclusive or*; gives the old value.
                fetch_xor(old, val) = old ^ val;
                /// The greater of the two; gives the old value.
                fetch_max(old, val) = old.max(val);
                /// The smaller of the two; gives the old value.
                fetch_min(old, val) = old.min(val);
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }
    )*};
}

integer! {
    AtomicI8 i8 AtomicU8 u8 AtomicI16 i16 AtomicU16 u16 AtomicI32 i32 AtomicU32 u32 AtomicI64 i64 AtomicU64 u64
    AtomicIsize isize AtomicUsize usize
}

/// An atomic `bool`: std's, each access a step.
///
/// ```
/// use raddle::sync::atomic::{AtomicBool, Ordering};
///
/// raddle::check(|| {
///     let flag = AtomicBool::new(false);
///     assert!(!flag.swap(true, Ordering::AcqRel));
///     assert!(flag.load(Ordering::Acquire));
/// });
/// ```
pub struct AtomicBool {
    atom: Atom<bool>,
}

common!([] AtomicBool, bool);

impl AtomicBool {
    fetch! { bool:
        /// Logical *and*; gives the old value.
        fetch_and(old, val) = old & val;
        /// Logical *not-and*; gives the old value.
        fetch_nand(old, val) = !(old & val);
        /// Logical *or*; gives the old value.
        fetch_or(old, val) = old | val;
        /// Logical *exclusive or*; gives the old value.
        fetch_xor(old, val) = old ^ val;
    }

    /// Turns it round; gives the old value.
    #[inline(always)]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.atom.rmw(order, Place::caller(), |old| !old)
    }
}

impl Default for AtomicBool {
    fn default() -> Self {
        Self::new(false)
    }
}

/// An atomic pointer: std's, each access a step.
///
/// The runtime keeps it as a number, the same in all executions that are equivalent, so its provenance is exposed when it is
/// stored and taken from what is exposed when it is read.
///
/// ```
/// use raddle::sync::atomic::{AtomicPtr, Ordering};
///
/// raddle::check(|| {
///     let mut value = 1;
///     let p = AtomicPtr::new(std::ptr::null_mut());
///     p.store(&mut value, Ordering::Release);
///     assert!(!p.load(Ordering::Acquire).is_null());
/// });
/// ```
pub struct AtomicPtr<T> {
    atom: Atom<*mut T>,
}

common!([T] AtomicPtr<T>, *mut T);

// SAFETY: the pointer is only a value here; sending it or sharing the atomic accesses nothing behind it. Dereferencing is the
// caller's `unsafe`. The inline value changes only through `&mut`, everything else is in the runtime. std says the same.
unsafe impl<T> Send for AtomicPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for AtomicPtr<T> {}

impl<T> AtomicPtr<T> {
    /// Moves it forward by `val` elements, wrapping around; gives the old pointer.
    #[track_caller]
    pub fn fetch_ptr_add(&self, val: usize, order: Ordering) -> *mut T {
        self.atom.rmw(order, Place::caller(), |old| old.wrapping_add(val))
    }

    /// Moves it back by `val` elements, wrapping around; gives the old pointer.
    #[track_caller]
    pub fn fetch_ptr_sub(&self, val: usize, order: Ordering) -> *mut T {
        self.atom.rmw(order, Place::caller(), |old| old.wrapping_sub(val))
    }

    /// Moves it forward by `val` bytes, wrapping around; gives the old pointer.
    #[track_caller]
    pub fn fetch_byte_add(&self, val: usize, order: Ordering) -> *mut T {
        self.atom.rmw(order, Place::caller(), |old| old.wrapping_byte_add(val))
    }

    /// Moves it back by `val` bytes, wrapping around; gives the old pointer.
    #[track_caller]
    pub fn fetch_byte_sub(&self, val: usize, order: Ordering) -> *mut T {
        self.atom.rmw(order, Place::caller(), |old| old.wrapping_byte_sub(val))
    }

    /// Bitwise *or* of the address, for tags; gives the old pointer.
    #[track_caller]
    pub fn fetch_or(&self, val: usize, order: Ordering) -> *mut T {
        self.atom.rmw(order, Place::caller(), |old| old.map_addr(|a| a | val))
    }

    /// Bitwise *and* of the address, for tags; gives the old pointer.
    #[track_caller]
    pub fn fetch_and(&self, val: usize, order: Ordering) -> *mut T {
        self.atom.rmw(order, Place::caller(), |old| old.map_addr(|a| a & val))
    }

    /// Bitwise *exclusive or* of the address, for tags; gives the old pointer.
    #[track_caller]
    pub fn fetch_xor(&self, val: usize, order: Ordering) -> *mut T {
        self.atom.rmw(order, Place::caller(), |old| old.map_addr(|a| a ^ val))
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.atom.show(Place::caller()), f)
    }
}

/// A fence. Under the sequentially consistent search it is a step that orders nothing.
///
/// # Panics
///
/// Panics if `order` is `Relaxed`, as std's does.
#[track_caller]
pub fn fence(order: Ordering) {
    let place = Place::caller();
    if order == Ordering::Relaxed {
        refuse("there is no such thing as a relaxed fence", place);
    }
    runtime::ordered_fence(any_order(order), place);
    runtime::local_step(OpKind::Fence, any_order(order), place);
}

/// A fence for the compiler alone: not a step, since each controlled access happens where it is written.
///
/// # Panics
///
/// Panics if `order` is `Relaxed`, as std's does.
#[track_caller]
pub fn compiler_fence(order: Ordering) {
    if order == Ordering::Relaxed {
        refuse("there is no such thing as a relaxed compiler fence", Place::caller());
    }
    std::sync::atomic::compiler_fence(order);
}

/// The old name of [`hint::spin_loop`](crate::hint::spin_loop).
#[deprecated(since = "0.1.0", note = "use raddle::hint::spin_loop instead, as with std's")]
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}
