//! The data of a lock with its poison flag, kept together so that both start afresh in each execution.

use runtime::{Class, Handle};
use std::cell::Cell;

/// What a lock guards.
pub(super) struct Guarded<T: ?Sized> {
    poisoned: Cell<bool>,
    pub(super) value: T,
}

impl<T> Guarded<T> {
    pub(super) const fn new(value: T) -> Guarded<T> {
        Guarded { poisoned: Cell::new(false), value }
    }
}

impl<T: ?Sized> Guarded<T> {
    /// The flag of the data behind `this`, without touching the value beside it.
    ///
    /// # Safety
    ///
    /// `this` points to live data that stays where it is during `'a`.
    #[inline]
    pub(super) unsafe fn flag<'a>(this: *const Guarded<T>) -> Flag<'a> {
        // SAFETY: the caller says that the data lives; the reference covers the flag alone.
        Flag(unsafe { &(*this).poisoned })
    }

    /// Where this execution keeps what a lock guards.
    #[inline]
    pub(super) fn data(lock: &Handle, class: Class, inline: *mut Guarded<T>) -> *mut Guarded<T> {
        // SAFETY: `inline` points to the data of a lock that is alive; nothing is read.
        let flag = unsafe { &raw mut (*inline).poisoned };
        runtime::data_of_lock(lock, class, inline, flag)
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.poisoned.get()
    }
}

/// A poison flag.
#[derive(Clone, Copy)]
pub(super) struct Flag<'a>(&'a Cell<bool>);

impl Flag<'_> {
    /// Whether whoever takes the lock now is told. Nobody is while an execution is given up: the destructors that run then
    /// must not meet errors that the program did not make.
    #[inline]
    pub(super) fn get(self) -> bool {
        self.0.get() && !runtime::tearing_down()
    }

    /// At the end of a guard: the lock is poisoned if a panic began while it was held. Says whether it is now.
    #[inline]
    pub(super) fn done(self, panicking_at_lock: bool) -> bool {
        let poisons = !panicking_at_lock && runtime::panicking() && !runtime::tearing_down();
        if poisons {
            self.0.set(true);
        }
        poisons
    }

    pub(super) fn clear(self) {
        self.0.set(false);
    }
}
