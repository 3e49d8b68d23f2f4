//! The way from an operation to the execution it belongs to.

use crate::Place;
use crate::execution::Execution;
use std::cell::Cell;
use std::ptr::null_mut;

thread_local! {
    static CURRENT: Cell<*mut Execution> = const { Cell::new(null_mut()) };
}

/// The execution that runs on this OS thread, or null.
#[inline]
pub(crate) fn current() -> *mut Execution {
    CURRENT.with(|c| c.get())
}

/// The same, where it may be asked while the OS thread ends.
pub(crate) fn current_if_any() -> *mut Execution {
    CURRENT.try_with(|c| c.get()).unwrap_or(null_mut())
}

/// Sets it, where thread-local storage was switched under us: a compiler that sees both sides of the switch takes the variable to be
/// where it was.
#[inline(never)]
pub(crate) fn enter(ex: *mut Execution) {
    CURRENT.with(|c| c.set(ex));
}

/// Sets it for as long as the value lives.
pub(crate) struct Entered;

impl Entered {
    pub(crate) fn new(ex: *mut Execution) -> Entered {
        enter(ex);
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|c| c.set(null_mut()));
    }
}

/// The execution, or a panic that says that there is none.
#[inline]
pub(crate) fn required(what: &str, place: Place) -> *mut Execution {
    let ex = current();
    if ex.is_null() {
        outside(what, place);
    }
    ex
}

#[cold]
fn outside(what: &str, place: Place) -> ! {
    panic!(
        "{what} of raddle was used at {place}, outside `raddle::check`: raddle's types work only in the closure that is \
         checked and in the threads it spawns"
    );
}
