//! Counted references.
//!
//! An [`Arc`] is std's, for the value and the real counts, together with the objects that the search sees, shared by all
//! references: the strong count, the weak count, and how often the value was downgraded. The real counts and the words of those objects
//! move in lockstep: each method takes its step first and then does the real thing *in the same turn*, that is before its next
//! step, so no other controlled thread runs in between.
//!
//! What decides something is one step:
//!
//! | method | step |
//! |---|---|
//! | `clone` | count up: commutes with other clones and drops |
//! | `drop` | count down; who takes the last one matters only if dropping the value does something |
//! | `Weak::upgrade` | read-modify-write: up unless it is 0 |
//! | `try_unwrap`, `make_mut` | read-modify-write: 1 becomes 0 |
//! | `into_inner` | read-modify-write: down |
//! | `strong_count`, `weak_count` | a look |
//!
//! | `increment_strong_count` | read-modify-write: up; it is a failure if it is 0 |
//! | `from_raw` | a look; it is a failure if it is 0 |
//!
//! The last two are steps because a pointer does not keep its value alive: another thread may drop the last reference first.
//!
//! `get_mut` must see two counts, which std does under a lock inside the weak count. Here it is a few looks that agree with one
//! moment; see [`Arc::is_unique`].

use super::raw;
use crate::object::{Counted, Step, live};
use explore::{CaveatKind, FailureKind, MemoryOrder, OpKind};
use runtime::{Class, Done, Handle, Place};
use std::any::Any;
use std::borrow::{Borrow, Cow};
use std::cmp;
use std::error::Error;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::ptr;
use std::sync::Arc as Real;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the search sees of a counted value; shared by all references to it.
pub(super) struct Counts {
    strong: Counted,
    weak: Handle,
    /// Counts downgrades, never down: tells [`Arc::is_unique`] that no weak reference came from nowhere meanwhile.
    downgrades: Handle,
    /// There are, or were, pointers to the value that a reference can be made from.
    has_pointers: AtomicBool,
}

/// One reference's way to the counts, and where the reference was made: what a report shows when it is dropped, since the place
/// of a drop is not known.
struct Control {
    counts: Real<Counts>,
    made: Place,
    /// The value of its reference is being dropped, right before this.
    drops_value: AtomicBool,
}

impl Drop for Control {
    #[inline]
    fn drop(&mut self) {
        if *self.drops_value.get_mut() {
            runtime::arc_drops_value(false);
        }
    }
}

impl Control {
    fn of(counts: Real<Counts>, made: Place) -> Control {
        Control { counts, made, drops_value: AtomicBool::new(false) }
    }

    fn new(made: Place) -> Control {
        let has_pointers = AtomicBool::new(false);
        let counts =
            Counts { strong: Counted::new(), weak: Handle::new(), downgrades: Handle::new(), has_pointers };
        Control::of(Real::new(counts), made)
    }

    /// For a value with one reference, which is to be given back before the execution ends.
    fn entered(made: Place) -> Control {
        let control = Control::new(made);
        if live() {
            runtime::enter_count(&control.strong, made);
        }
        control
    }

    /// For a value of std's, which may have other references.
    fn of_std<T: ?Sized>(value: &Real<T>, made: Place) -> Control {
        if Real::strong_count(value) == 1 { Control::entered(made) } else { Control::new(made) }
    }

    /// The value becomes a pointer.
    fn enter_pointer(&self, address: usize) {
        self.has_pointers.store(true, Ordering::Relaxed);
        raw::enter(address, &self.counts);
    }

    #[inline]
    fn has_pointers(&self) -> bool {
        self.has_pointers.load(Ordering::Relaxed)
    }

    /// For another reference to the same value.
    fn another(&self, made: Place) -> Control {
        Control::of(self.counts.clone(), made)
    }
}

impl Deref for Control {
    type Target = Counts;

    #[inline]
    fn deref(&self) -> &Counts {
        &self.counts
    }
}

/// One step on a count.
#[inline(always)]
fn count(kind: OpKind, object: &Handle, now: usize, matters: bool, order: MemoryOrder, place: Place) -> u64 {
    count_step(kind, object, now, matters, order, place).value
}

#[inline(always)]
fn count_step(
    kind: OpKind,
    object: &Handle,
    now: usize,
    matters: bool,
    order: MemoryOrder,
    place: Place,
) -> Done {
    let step = Step::new(kind, object, Class::Arc, place).initial(now as u64);
    step.operands(matters as u64, 0).order(order).run()
}

/// A pointer is used whose value has been dropped.
#[cold]
fn fail_gone(what: &str, place: Place) -> ! {
    let message = format!("`{what}` is called for a value whose last reference was dropped before");
    runtime::fail(FailureKind::UseAfterFree, message, place)
}

/// A reference is released that had been released before.
#[cold]
fn fail_released(what: &str, place: Place) -> ! {
    let message =
        format!("a reference of this {what} is released that does not exist: its count was 0 before");
    runtime::fail(FailureKind::DoubleFree, message, place)
}

/// The real count, if the execution needs it because it has not met the object. What other threads have done to it by now must not be in the
/// frames of a thread that looks at it in a loop: its local state would not be decided by its own steps.
#[inline(always)]
fn unless_met(object: &Handle, now: impl FnOnce() -> usize) -> usize {
    if runtime::class_of(object).is_some() { 0 } else { now() }
}

/// A step on a count that decides something; gives the old count.
#[inline(always)]
fn decide(object: &Handle, now: impl FnOnce() -> usize, place: Place, f: impl FnOnce(u64) -> u64) -> u64 {
    runtime::rmw(object, unless_met(object, now) as u64, MemoryOrder::AcqRel, place, f)
}

/// std's `Arc`, with its counts as part of the execution: who drops the last reference, whether `try_unwrap` or
/// `Weak::upgrade` succeeds, and what the counts are is explored, and a value that is never dropped is reported as a leak.
///
/// One made outside of a check works there as std's does, without steps.
///
/// ```
/// use raddle::sync::Arc;
///
/// raddle::check(|| {
///     let a = Arc::new(5);
///     let b = a.clone();
///     let other = raddle::thread::spawn(move || Arc::into_inner(b));
///     let here = Arc::into_inner(a);
///     // Exactly one of the two gets the value.
///     assert_ne!(here.is_some(), other.join().unwrap().is_some());
/// });
/// ```
///
/// Unlike std's it does not become an `Arc<dyn Trait>` by itself, since the trait for that is unstable; see
/// [`coerce`](Arc::coerce). Nor can it be the type of `self`.
pub struct Arc<T: ?Sized> {
    value: Real<T>,
    control: Control,
}

/// std's `Weak`: a reference that does not keep its value alive.
///
/// ```
/// use raddle::sync::Arc;
///
/// raddle::check(|| {
///     let strong = Arc::new(5);
///     let weak = Arc::downgrade(&strong);
///     let other = raddle::thread::spawn(move || drop(strong));
///     // Both outcomes are explored.
///     assert!(matches!(weak.upgrade().as_deref(), None | Some(5)));
///     other.join().unwrap();
///     assert!(weak.upgrade().is_none());
/// });
/// ```
pub struct Weak<T: ?Sized> {
    value: std::sync::Weak<T>,
    /// None for one that never had a value.
    control: Option<Control>,
}

impl<T> Arc<T> {
    /// Makes the first reference to a value.
    #[inline]
    #[track_caller]
    pub fn new(data: T) -> Arc<T> {
        Arc::enter(Real::new(data), Place::caller())
    }

    /// Makes a value that knows weak references to itself.
    #[track_caller]
    pub fn new_cyclic<F>(data_fn: F) -> Arc<T>
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let place = Place::caller();
        let control = Control::entered(place);
        // Until the value is there, there is no strong reference, and upgrades fail.
        if live() {
            decide(&control.strong, || 1, place, |_| 0);
            // The weak references that `data_fn` makes come from nowhere, as after a downgrade.
            count(OpKind::CountUp, &control.downgrades, 0, false, MemoryOrder::Relaxed, place);
        }
        let value = Real::new_cyclic(|weak: &std::sync::Weak<T>| {
            // SAFETY: a second copy of the caller's reference, which lives until this closure returns. It is never dropped, so it
            // is not counted; `ManuallyDrop` sees to that also if `data_fn` panics.
            let value = unsafe { ptr::read(weak) };
            let mut lent = ManuallyDrop::new(Weak { value, control: Some(control.another(place)) });
            let data = data_fn(&lent);
            // Only the control block is given back.
            lent.control = None;
            data
        });
        if live() {
            decide(&control.strong, || 0, place, |_| 1);
        }
        Arc { value, control }
    }

    /// Makes room for a value.
    #[track_caller]
    #[must_use]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::enter(Real::new_uninit(), Place::caller())
    }

    /// Makes room for a value, all bytes 0.
    #[track_caller]
    #[must_use]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        Arc::enter(Real::new(MaybeUninit::zeroed()), Place::caller())
    }

    /// Makes the first reference to a value that is not to move.
    #[track_caller]
    pub fn pin(data: T) -> Pin<Arc<T>> {
        // SAFETY: nobody moves a value out of an `Arc` through a pinned one: it is reached through `&T` only, and the methods that
        // take it out need the `Arc` itself.
        unsafe { Pin::new_unchecked(Arc::enter(Real::new(data), Place::caller())) }
    }

    /// The value, if this is the only reference.
    ///
    /// # Errors
    ///
    /// Gives the reference back if there is another.
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        if !this.take_last(Place::caller()) {
            return Err(this);
        }
        this.goes();
        let (value, control) = Arc::into_parts(this);
        Real::try_unwrap(value).map_err(|value| Arc { value, control })
    }

    /// The value, if this was the last reference. Of several threads that do this, exactly one gets it.
    #[track_caller]
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        let place = Place::caller();
        if live() {
            let now = || Real::strong_count(&this.value);
            match decide(&this.control.strong, now, place, |n| n.saturating_sub(1)) {
                0 => fail_released("`Arc`", place),
                1 => {}
                // As in std, only the last one is ordered after the others.
                _ => runtime::had_order(MemoryOrder::Release),
            }
        } else {
            this.count_down(place);
        }
        this.goes();
        Real::into_inner(Arc::into_parts(this).0)
    }

    /// The value, cloned if there is another reference.
    #[track_caller]
    pub fn unwrap_or_clone(this: Arc<T>) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|arc| (*arc).clone())
    }

    /// The value for writing; if there is another reference, this one gets a clone of it first. Weak references lose it.
    #[track_caller]
    pub fn make_mut(this: &mut Arc<T>) -> &mut T
    where
        T: Clone,
    {
        let place = Place::caller();
        if this.take_last(place) {
            // Nobody can get a strong reference any more through the old control block. If weak references exist, std moves the
            // value away from them below; if not, nobody else has the block.
            let had_pointers = this.control.has_pointers();
            this.control = Control::entered(place);
            if had_pointers && Real::weak_count(&this.value) == 0 {
                this.control.enter_pointer(Real::as_ptr(&this.value).addr());
            }
        } else {
            // The clone may take steps, so what std's method does must be done by hand: the old reference is given up, by our
            // `drop`, only when the clone is there.
            *this = Arc::enter(Real::new((**this).clone()), place);
        }
        Real::make_mut(&mut this.value)
    }
}

impl<T> Arc<[T]> {
    /// Makes room for values.
    #[track_caller]
    #[must_use]
    pub fn new_uninit_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::enter(Real::new_uninit_slice(len), Place::caller())
    }

    /// Makes room for values, all bytes 0.
    #[track_caller]
    #[must_use]
    pub fn new_zeroed_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::enter((0..len).map(|_| MaybeUninit::zeroed()).collect(), Place::caller())
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// Says that the value is there.
    ///
    /// # Safety
    ///
    /// It is.
    #[must_use]
    pub unsafe fn assume_init(self) -> Arc<T> {
        let (value, control) = Arc::into_parts(self);
        // SAFETY: as the caller says.
        Arc { value: unsafe { value.assume_init() }, control }
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// Says that the values are there.
    ///
    /// # Safety
    ///
    /// They are.
    #[must_use]
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        let (value, control) = Arc::into_parts(self);
        // SAFETY: as the caller says.
        Arc { value: unsafe { value.assume_init() }, control }
    }
}

impl<T: ?Sized> Arc<T> {
    /// Wraps the only reference to a value.
    #[inline]
    fn enter(value: Real<T>, place: Place) -> Arc<T> {
        Arc { value, control: Control::entered(place) }
    }

    /// Takes the two apart without a step.
    fn into_parts(this: Arc<T>) -> (Real<T>, Control) {
        let this = ManuallyDrop::new(this);
        // SAFETY: each field is read once, and `this` is neither dropped nor used again.
        unsafe { (ptr::read(&this.value), ptr::read(&this.control)) }
    }

    /// Wraps a reference of std's. Not in std.
    ///
    /// It should be the only one: other std references to the value, or wraps of them, are not seen by the search.
    #[track_caller]
    pub fn from_std(value: Real<T>) -> Arc<T> {
        let control = Control::of_std(&value, Place::caller());
        Arc { value, control }
    }

    /// Gives std's reference; the search forgets about it. Not in std.
    #[track_caller]
    pub fn into_std(this: Arc<T>) -> Real<T> {
        this.count_down(Place::caller());
        Arc::into_parts(this).0
    }

    /// Changes the type of the reference, not the value: what the compiler does for std's `Arc` by itself. Not in std.
    ///
    /// # Panics
    ///
    /// Panics if `f` gives a reference to another value.
    ///
    /// ```
    /// use raddle::sync::Arc;
    ///
    /// raddle::check(|| {
    ///     let five = Arc::new(5);
    ///     let shown = Arc::coerce(five, |a| a as std::sync::Arc<dyn std::fmt::Display + Send + Sync>);
    ///     assert_eq!(shown.to_string(), "5");
    /// });
    /// ```
    #[track_caller]
    pub fn coerce<U: ?Sized>(this: Arc<T>, f: impl FnOnce(Real<T>) -> Real<U>) -> Arc<U> {
        let (value, control) = Arc::into_parts(this);
        let before = Real::as_ptr(&value).addr();
        let value = f(value);
        assert_eq!(Real::as_ptr(&value).addr(), before, "Arc::coerce: this is another value");
        Arc { value, control }
    }

    /// One step that makes 0 of a strong count of 1. Says whether it did.
    fn take_last(&self, place: Place) -> bool {
        if live() {
            let now = || Real::strong_count(&self.value);
            let taken = decide(&self.control.strong, now, place, |n| if n == 1 { 0 } else { n }) == 1;
            if !taken {
                // As in std, drops of other references are not ordered before.
                runtime::only_read(MemoryOrder::Relaxed);
            }
            return taken;
        }
        let is_last = Real::strong_count(&self.value) == 1;
        if is_last {
            self.count_down(place);
        }
        is_last
    }

    /// The step before a reference is given up. Also while an execution is given up: what is released then is no leak.
    #[inline]
    fn count_down(&self, place: Place) {
        let pointers = self.control.has_pointers();
        if runtime::active() {
            let now = Real::strong_count(&self.value);
            let matters = mem::needs_drop::<T>() || pointers;
            let order = MemoryOrder::AcqRel;
            let done = count_step(OpKind::CountDown, &self.control.strong, now, matters, order, place);
            if !done.ok && live() {
                fail_released("`Arc`", place);
            }
        }
    }

    /// The reference is about to go, and its step has been taken.
    #[inline]
    fn goes(&self) {
        if self.control.has_pointers() && Real::strong_count(&self.value) == 1 {
            self.keep_memory();
        }
    }

    /// The value, to which there are pointers, is about to go.
    #[cold]
    fn keep_memory(&self) {
        if runtime::active() {
            raw::keep(Real::downgrade(&self.value));
        } else {
            raw::remove(Real::as_ptr(&self.value).addr());
        }
    }

    /// Turns a reference that was made by [`into_raw`](Arc::into_raw) back.
    ///
    /// # Safety
    ///
    /// As for std's: `ptr` comes from `into_raw`, and is turned back once for each.
    #[track_caller]
    pub unsafe fn from_raw(ptr: *const T) -> Arc<T> {
        let place = Place::caller();
        // SAFETY: as the caller says; our `into_raw` gives what std's gives. If the value was dropped, its memory is still there.
        let (value, control) = unsafe { Arc::peek_raw(ptr, place) };
        if live() {
            let now = Real::strong_count(&value);
            let seen = count(OpKind::CountRead, &control.strong, now, false, MemoryOrder::Relaxed, place);
            if seen == 0 {
                fail_gone("Arc::from_raw", place);
            }
        }
        Arc { value: ManuallyDrop::into_inner(value), control }
    }

    /// A reference that is not counted, from a pointer.
    ///
    /// # Safety
    ///
    /// As for [`from_raw`](Arc::from_raw). A value that was dropped in this execution is allowed.
    unsafe fn peek_raw(ptr: *const T, place: Place) -> (ManuallyDrop<Real<T>>, Control) {
        let counts = raw::counts(ptr.addr());
        // SAFETY: by the contract. The memory of a value that was dropped is kept until its execution ends.
        let value = ManuallyDrop::new(unsafe { Real::from_raw(ptr) });
        let control = match counts {
            Some(counts) => Control::of(counts, place),
            None => {
                if Real::strong_count(&value) > 1 {
                    runtime::caveat_at(
                        CaveatKind::ForeignTypes,
                        "the other references of an `Arc` from a pointer that `Arc::into_raw` did not return",
                        place,
                    );
                }
                let control = Control::of_std(&value, place);
                control.enter_pointer(ptr.addr());
                control
            }
        };
        (value, control)
    }

    /// Turns the reference into a pointer to the value. The count stays.
    pub fn into_raw(this: Arc<T>) -> *const T {
        let (value, control) = Arc::into_parts(this);
        let ptr = Real::into_raw(value);
        control.enter_pointer(ptr.addr());
        ptr
    }

    /// One more reference to what `ptr` points to.
    ///
    /// # Safety
    ///
    /// As for std's: `ptr` comes from [`into_raw`](Arc::into_raw) and has not been turned back.
    #[track_caller]
    pub unsafe fn increment_strong_count(ptr: *const T) {
        let place = Place::caller();
        // SAFETY: as the caller says.
        let (value, control) = unsafe { Arc::peek_raw(ptr, place) };
        if live() {
            let now = Real::strong_count(&value) as u64;
            let up = |n: u64| if n == 0 { 0 } else { n + 1 };
            if runtime::rmw(&control.strong, now, MemoryOrder::Relaxed, place, up) == 0 {
                fail_gone("Arc::increment_strong_count", place);
            }
        } else if runtime::active() {
            count(OpKind::CountUp, &control.strong, 0, false, MemoryOrder::Relaxed, place);
        }
        mem::forget(Real::clone(&value));
    }

    /// One reference fewer to what `ptr` points to.
    ///
    /// # Safety
    ///
    /// As for std's: `ptr` comes from [`into_raw`](Arc::into_raw) and has not been turned back.
    #[track_caller]
    pub unsafe fn decrement_strong_count(ptr: *const T) {
        // SAFETY: as the caller says.
        let (value, control) = unsafe { Arc::peek_raw(ptr, Place::caller()) };
        drop(Arc { value: ManuallyDrop::into_inner(value), control });
    }

    /// A pointer to the value.
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        let ptr = Real::as_ptr(&this.value);
        this.control.enter_pointer(ptr.addr());
        ptr
    }

    /// Makes a weak reference.
    #[track_caller]
    #[must_use = "this returns a new `Weak` pointer, without modifying the original `Arc`"]
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        let place = Place::caller();
        let now = Real::weak_count(&this.value);
        if live() {
            count(OpKind::CountUp, &this.control.weak, now, false, MemoryOrder::Relaxed, place);
        }
        let value = Real::downgrade(&this.value);
        if live() {
            // Second, so that who sees this count sees the weak one; see `is_unique`.
            count(OpKind::CountUp, &this.control.downgrades, now, false, MemoryOrder::Relaxed, place);
        }
        Weak { value, control: Some(this.control.another(place)) }
    }

    /// How many weak references there are.
    #[track_caller]
    #[must_use]
    pub fn weak_count(this: &Arc<T>) -> usize {
        this.look(&this.control.weak, || Real::weak_count(&this.value), Place::caller())
    }

    /// How many strong references there are.
    #[track_caller]
    #[must_use]
    pub fn strong_count(this: &Arc<T>) -> usize {
        this.look(&this.control.strong, || Real::strong_count(&this.value), Place::caller())
    }

    fn look(&self, object: &Handle, now: impl FnOnce() -> usize, place: Place) -> usize {
        self.look_with(MemoryOrder::Relaxed, object, now, place)
    }

    fn look_with(
        &self,
        order: MemoryOrder,
        object: &Handle,
        now: impl FnOnce() -> usize,
        place: Place,
    ) -> usize {
        if !live() {
            return now();
        }
        let initial = unless_met(object, now);
        count(OpKind::CountRead, object, initial, false, order, place) as usize
    }

    /// Whether two references refer to one value.
    #[must_use]
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        Real::ptr_eq(&this.value, &other.value)
    }

    /// The value for writing, if there is no other reference, strong or weak.
    #[inline]
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        if this.is_unique(Place::caller()) { Real::get_mut(&mut this.value) } else { None }
    }

    /// Whether there was a moment, during the call, in which this was the only reference; a *no* also tells of one moment.
    ///
    /// * The strong count is not 1: no.
    /// * It is 1, and after that nothing has ever been downgraded: when it was 1 there was no weak reference. Yes.
    /// * Otherwise look at downgrades, weak, strong, downgrades. If the weak count was 0, the strong count then 1, and no downgrade
    ///   was noted in between, then the weak count was still 0 when the strong was 1: a downgrade raises the weak count before
    ///   it is noted, and who is between the two holds a strong reference. Yes.
    /// * If not, there was a weak reference, or another strong one, at the moment of the look that says so. No.
    ///
    /// And after a *yes* nobody else can get a reference: there is nothing to clone, downgrade or upgrade from.
    ///
    /// Whoever dropped another reference is ordered before, as in std.
    fn is_unique(&self, place: Place) -> bool {
        const ACQUIRE: MemoryOrder = MemoryOrder::Acquire;
        let real_strong = || Real::strong_count(&self.value);
        let real_weak = || Real::weak_count(&self.value);
        let strong = || self.look_with(ACQUIRE, &self.control.strong, real_strong, place);
        let weak = || self.look_with(ACQUIRE, &self.control.weak, real_weak, place);
        let downgrades = || self.look(&self.control.downgrades, real_weak, place);
        if !live() {
            return strong() == 1 && weak() == 0;
        }
        if strong() != 1 {
            return false;
        }
        let before = downgrades();
        before == 0 || (weak() == 0 && strong() == 1 && downgrades() == before)
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// The reference, if the value is of this type.
    ///
    /// # Errors
    ///
    /// Gives the reference back if it is not.
    pub fn downcast<T>(self) -> Result<Arc<T>, Self>
    where
        T: Any + Send + Sync,
    {
        let (value, control) = Arc::into_parts(self);
        match value.downcast::<T>() {
            Ok(value) => Ok(Arc { value, control }),
            Err(value) => Err(Arc { value, control }),
        }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        let place = Place::caller();
        if runtime::active() {
            let now = Real::strong_count(&self.value);
            let up = count(OpKind::CountUp, &self.control.strong, now, false, MemoryOrder::Relaxed, place);
            if up == 1 && live() {
                fail_gone("Arc::clone", place);
            }
        }
        Arc { value: self.value.clone(), control: self.control.another(place) }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[inline]
    fn drop(&mut self) {
        // The real reference goes right after this, in the same turn: it is a field.
        self.count_down(self.control.made);
        self.goes();
        if mem::needs_drop::<T>() && Real::strong_count(&self.value) == 1 {
            *self.control.drops_value.get_mut() = true;
            runtime::arc_drops_value(true);
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.value, f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Arc<T>) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Arc<T>) -> Option<cmp::Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Arc<T>) -> cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + Error> Error for Arc<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (**self).source()
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl Default for Arc<str> {
    #[track_caller]
    fn default() -> Arc<str> {
        Arc::from("")
    }
}

impl Default for Arc<CStr> {
    #[track_caller]
    fn default() -> Arc<CStr> {
        Arc::from(c"")
    }
}

impl<T> Default for Arc<[T]> {
    #[track_caller]
    fn default() -> Arc<[T]> {
        Arc::from(Vec::new())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(t: T) -> Arc<T> {
        Arc::new(t)
    }
}

/// Conversions for which std's makes a new value with one reference.
macro_rules! from {
    ($([$($generics:tt)*] $from:ty => $to:ty;)*) => {$(
        impl<$($generics)*> From<$from> for Arc<$to> {
            #[track_caller]
            fn from(v: $from) -> Arc<$to> {
                Arc::enter(Real::from(v), Place::caller())
            }
        }
    )*};
}
from! {
    [T: ?Sized] Box<T> => T;
    [T] Vec<T> => [T];
    [T: Clone] &[T] => [T];
    [T: Clone] &mut [T] => [T];
    [T, const N: usize] [T; N] => [T];
    [] &str => str;
    [] &mut str => str;
    [] String => str;
    [] &CStr => CStr;
    [] &mut CStr => CStr;
    [] CString => CStr;
    [] &OsStr => OsStr;
    [] &mut OsStr => OsStr;
    [] OsString => OsStr;
    [] &Path => Path;
    [] &mut Path => Path;
    [] PathBuf => Path;
}

impl<'a, B: ?Sized + ToOwned> From<Cow<'a, B>> for Arc<B>
where
    Arc<B>: From<&'a B> + From<B::Owned>,
{
    #[track_caller]
    fn from(cow: Cow<'a, B>) -> Arc<B> {
        match cow {
            Cow::Borrowed(b) => Arc::from(b),
            Cow::Owned(b) => Arc::from(b),
        }
    }
}

impl From<Arc<str>> for Arc<[u8]> {
    fn from(arc: Arc<str>) -> Arc<[u8]> {
        let (value, control) = Arc::into_parts(arc);
        Arc { value: Real::from(value), control }
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(arc: Arc<[T]>) -> Result<Arc<[T; N]>, Arc<[T]>> {
        let (value, control) = Arc::into_parts(arc);
        match Real::try_from(value) {
            Ok(value) => Ok(Arc { value, control }),
            Err(value) => Err(Arc { value, control }),
        }
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Arc<[T]> {
        let values: Real<[T]> = iter.into_iter().collect();
        Arc::enter(values, Place::caller())
    }
}

impl<T> Weak<T> {
    /// Makes one without a value.
    #[inline]
    #[must_use]
    pub const fn new() -> Weak<T> {
        Weak { value: std::sync::Weak::new(), control: None }
    }
}

impl<T: ?Sized> Weak<T> {
    /// Turns a reference that was made by [`into_raw`](Weak::into_raw) back.
    ///
    /// # Safety
    ///
    /// As for std's: `ptr` comes from `into_raw`, and is turned back once for each.
    #[track_caller]
    pub unsafe fn from_raw(ptr: *const T) -> Weak<T> {
        let place = Place::caller();
        let control = raw::counts(ptr.addr()).map(|counts| Control::of(counts, place));
        // SAFETY: as the caller says; our `into_raw` gives what std's gives.
        Weak { value: unsafe { std::sync::Weak::from_raw(ptr) }, control }
    }

    /// Turns the reference into a pointer. The count stays.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(self) -> *const T {
        let this = ManuallyDrop::new(self);
        // SAFETY: each field is read once, and `this` is neither dropped nor used again.
        let (value, control) = unsafe { (ptr::read(&this.value), ptr::read(&this.control)) };
        let ptr = value.into_raw();
        if let Some(control) = control {
            control.enter_pointer(ptr.addr());
        }
        ptr
    }

    /// A pointer to the value, if there still is one.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.value.as_ptr()
    }

    /// A strong reference, if the value is still there.
    #[track_caller]
    #[must_use = "this returns a new `Arc`, without modifying the original weak pointer"]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let place = Place::caller();
        let control = self.control.as_ref()?;
        if live() {
            let up = |n: u64| if n == 0 { 0 } else { n + 1 };
            if decide(&control.strong, || self.value.strong_count(), place, up) == 0 {
                // std has found the count with a relaxed load: the drop of the value is not ordered before.
                runtime::only_read(MemoryOrder::Relaxed);
                return None;
            }
        }
        let value = self.value.upgrade()?;
        if runtime::active() && !live() {
            count(OpKind::CountUp, &control.strong, 0, false, MemoryOrder::Relaxed, place);
        }
        Some(Arc { value, control: control.another(place) })
    }

    /// How many strong references there are.
    #[track_caller]
    #[must_use]
    pub fn strong_count(&self) -> usize {
        let order = MemoryOrder::Relaxed;
        self.look(|control| &control.strong, || self.value.strong_count(), order, Place::caller())
    }

    /// How many weak references there are; 0 if there is no strong one.
    #[track_caller]
    #[must_use]
    pub fn weak_count(&self) -> usize {
        let place = Place::caller();
        if !live() {
            return self.value.weak_count();
        }
        match self.look(|control| &control.strong, || self.value.strong_count(), MemoryOrder::Relaxed, place)
        {
            0 => 0,
            _ => self.look(|control| &control.weak, || self.value.weak_count(), MemoryOrder::Acquire, place),
        }
    }

    fn look(
        &self,
        object: impl FnOnce(&Counts) -> &Handle,
        now: impl FnOnce() -> usize,
        order: MemoryOrder,
        place: Place,
    ) -> usize {
        match &self.control {
            Some(control) if live() => {
                let object = object(control);
                let initial = unless_met(object, now);
                count(OpKind::CountRead, object, initial, false, order, place) as usize
            }
            _ => now(),
        }
    }

    /// Whether two references refer to one value.
    #[must_use]
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.value.ptr_eq(&other.value)
    }

    /// Nobody sees who drops the last weak reference, so it does not matter.
    fn step(&self, kind: OpKind, control: &Control, place: Place) {
        if live() {
            // Without a value std does not tell how many there are; this one is.
            let now = self.value.weak_count().max((kind == OpKind::CountDown) as usize);
            if !count_step(kind, &control.weak, now, false, MemoryOrder::Relaxed, place).ok {
                // The memory is that of the references that are left: std's drop, which follows, must not free it.
                mem::forget(self.value.clone());
                fail_released("`Weak`", place);
            }
        }
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Weak<T> {
        let place = Place::caller();
        let control = self.control.as_ref().map(|control| {
            self.step(OpKind::CountUp, control, place);
            control.another(place)
        });
        Weak { value: self.value.clone(), control }
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    fn drop(&mut self) {
        if let Some(control) = &self.control {
            self.step(OpKind::CountDown, control, control.made);
        }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Weak<T> {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(Weak)")
    }
}
