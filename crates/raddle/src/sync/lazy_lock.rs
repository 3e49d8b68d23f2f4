//! A value that is made when it is first used.

use super::once::{Once, Stage};
use runtime::{Class, Place};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

/// std's `LazyLock`. In a static it is made anew in each execution.
///
/// ```
/// use raddle::sync::LazyLock;
///
/// static TABLE: LazyLock<Vec<u32>> = LazyLock::new(|| (0..10).collect());
///
/// raddle::check(|| {
///     let other = raddle::thread::spawn(|| TABLE.len());
///     assert_eq!(TABLE[3], 3);
///     assert_eq!(other.join().unwrap(), 10);
/// });
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    state: UnsafeCell<State<T, F>>,
}

enum State<T, F> {
    Unmade(F),
    Made(T),
    Poisoned,
}

// SAFETY: the value is given to other threads as `&T`, made by one thread and dropped by another (`T: Sync + Send`). The function
// is called by whichever thread comes first (`F: Send`), and nobody gets a reference to it. Both are written only by the one
// initialiser that the once lets run.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}

impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

#[cold]
fn panic_poisoned(place: Place) -> ! {
    panic!("LazyLock instance has previously been poisoned (at {place})")
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Makes one whose value `f` will make.
    #[inline]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock { once: Once::new(), state: UnsafeCell::new(State::Unmade(f)) }
    }

    /// The value, made now if it has not been.
    ///
    /// # Panics
    ///
    /// Panics if the function panicked before.
    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        let place = Place::caller();
        this.once.call(this.initial(), true, place, |once| {
            if once.is_poisoned() {
                panic_poisoned(place);
            }
            this.make(place);
        });
        if this.value().is_none() {
            // The execution is being given up, and a destructor wants the value.
            this.make(place);
        }
        this.value().unwrap_or_else(|| panic_poisoned(place))
    }

    /// Calls the function and keeps what it gives.
    fn make(&self, place: Place) {
        let state = self.data();
        // SAFETY: only the one initialiser that the once lets run comes here, or a destructor of an execution that is given up, in
        // which one thread runs to the end at a time. No value has been made, so nobody has a reference to it. The reference
        // to the state does not live while the function runs.
        let State::Unmade(f) = std::mem::replace(unsafe { &mut *state }, State::Poisoned) else {
            panic_poisoned(place)
        };
        let value = f();
        // SAFETY: as above; the state is `Poisoned`, which nobody refers into.
        unsafe { *state = State::Made(value) };
    }

    /// The value, for one who owns it alone, made now if it has not been.
    ///
    /// # Panics
    ///
    /// Panics if the function panicked before.
    #[inline]
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        let place = Place::caller();
        if matches!(this.state.get_mut(), State::Unmade(_)) {
            // A new once: the state of the old one, which this execution may know, says that nothing was made.
            this.once = Once::new();
            let State::Unmade(f) = std::mem::replace(this.state.get_mut(), State::Poisoned) else {
                unreachable!("it was just looked at")
            };
            *this.state.get_mut() = State::Made(f());
        }
        match this.state.get_mut() {
            State::Made(value) => value,
            _ => panic_poisoned(place),
        }
    }
}

impl<T, F> LazyLock<T, F> {
    /// What the state of the once is if this execution has not met it.
    #[inline]
    fn initial(&self) -> Stage {
        // SAFETY: a look at the bytes. They are written by the initialiser only; no other controlled thread runs now, and no reference to
        // the state as a whole lives across a step.
        match unsafe { &*self.data() } {
            State::Unmade(_) => Stage::Incomplete,
            State::Made(_) => Stage::Complete,
            State::Poisoned => Stage::Poisoned,
        }
    }

    /// Where this execution keeps the value.
    #[inline]
    fn data(&self) -> *mut State<T, F> {
        runtime::data(self.once.handle(), Class::Once, self.state.get())
    }

    /// The value if it is there. The caller has seen that it is complete, or does not care.
    #[inline]
    fn value(&self) -> Option<&T> {
        // SAFETY: the data lives as long as the cell or the execution. A value, once made, is not written again while `self` is
        // borrowed.
        match unsafe { &*self.data() } {
            State::Made(value) => Some(value),
            _ => None,
        }
    }

    /// The value, for one who owns it alone, if it has been made.
    #[inline]
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        match this.state.get_mut() {
            State::Made(value) => Some(value),
            _ => None,
        }
    }

    /// The value, if it has been made.
    #[inline]
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        match this.once.stage(this.initial(), Place::caller()) {
            Stage::Complete => this.value(),
            _ => None,
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[inline]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_tuple("LazyLock");
        let value = if runtime::active() { LazyLock::get(self) } else { self.value() };
        match value {
            Some(value) => d.field(value),
            None => d.field(&format_args!("<uninit>")),
        };
        d.finish()
    }
}
