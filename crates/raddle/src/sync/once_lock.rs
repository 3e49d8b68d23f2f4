//! A value that is written once.

use super::once::{Once, Stage};
use runtime::{Class, Place};
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// std's `OnceLock`. In a static it is empty again in each execution.
///
/// ```
/// use raddle::sync::OnceLock;
///
/// static NAME: OnceLock<String> = OnceLock::new();
///
/// raddle::check(|| {
///     assert!(NAME.get().is_none());
///     let other = raddle::thread::spawn(|| NAME.set("one".into()).is_ok());
///     let here = NAME.set("two".into()).is_ok();
///     assert_ne!(here, other.join().unwrap());
///     assert!(NAME.get().is_some());
/// });
/// ```
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is given to other threads as `&T` (`T: Sync`), and may be made by one and dropped by another (`T: Send`). It
// is written only by the one initialiser that the once lets run, before anybody is given a reference.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: the cell owns its value; the handles are `Send`.
unsafe impl<T: Send> Send for OnceLock<T> {}

impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// Makes an empty one.
    #[inline]
    #[must_use]
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), value: UnsafeCell::new(None) }
    }

    /// What the state of the once is if this execution has not met it: one that was made with a value is complete.
    #[inline]
    fn initial(&self) -> Stage {
        // SAFETY: a look at the bytes. They are written by the initialiser only, without a step in between; no other controlled thread runs
        // now.
        if unsafe { &*self.data() }.is_some() { Stage::Complete } else { Stage::Incomplete }
    }

    /// Where this execution keeps the value.
    #[inline]
    fn data(&self) -> *mut Option<T> {
        runtime::data(self.once.handle(), Class::Once, self.value.get())
    }

    /// The value if it is there. The caller has seen that it is complete, or does not care.
    #[inline]
    fn value(&self) -> Option<&T> {
        // SAFETY: the data lives as long as the cell or the execution. It is written once, in `fill`, when it is `None` and
        // nobody has a reference to what is in it.
        unsafe { &*self.data() }.as_ref()
    }

    /// Writes the value if there is none.
    fn fill(&self, value: T) {
        let data = self.data();
        // SAFETY: only the one initialiser that the once lets run comes here, or a destructor of an execution that is given up,
        // in which one thread runs to the end at a time. There is nothing in it, so nobody has a reference to what is in it.
        unsafe {
            debug_assert!((*data).is_none());
            *data = Some(value);
        }
    }

    /// The value, if it is there.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        match self.once.stage(self.initial(), Place::caller()) {
            Stage::Complete => self.value(),
            _ => None,
        }
    }

    /// The value, for one who owns the cell alone. Not a step.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Waits until another thread has written the value.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_for(self.initial(), true, Place::caller());
        self.value().expect("the execution is given up while a thread waits for a value")
    }

    /// Writes the value unless there is one.
    ///
    /// # Errors
    ///
    /// Gives the value back if there was one already.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.init(Place::caller(), || value.take().expect("an initialiser runs once"));
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    /// The value; `f` makes it if there is none. Others that come meanwhile wait.
    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        self.init(Place::caller(), f)
    }

    fn init(&self, place: Place, f: impl FnOnce() -> T) -> &T {
        let mut f = Some(f);
        // A panic of the initialiser leaves the cell empty, and the next one may try: poison is forgiven.
        self.once.call(self.initial(), true, place, |_| {
            let f = f.take().expect("an initialiser runs once");
            self.fill(f());
        });
        if let Some(value) = self.value() {
            return value;
        }
        // The execution is being given up, and a destructor wants the value.
        let f = f.take().expect("a once that ran its initialiser has a value");
        self.fill(f());
        self.value().expect("it was just written")
    }

    /// The value, at the end of the cell's life.
    #[inline]
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value and leaves the cell empty.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        OnceLock { once: Once::new(), value: UnsafeCell::new(Some(value)) }
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> OnceLock<T> {
        self.get().cloned().map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[track_caller]
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_tuple("OnceLock");
        let value = if runtime::active() { self.get() } else { self.value() };
        match value {
            Some(value) => d.field(value),
            None => d.field(&format_args!("<uninit>")),
        };
        d.finish()
    }
}
