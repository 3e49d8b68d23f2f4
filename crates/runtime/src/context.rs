//! The way from an operation to the execution it belongs to.
//!
//! Every operation goes it several times. In a shared library the way to a thread-local variable is a call of the dynamic linker, unless the
//! compiler is told that the library is there from the start, which Rust has no way to say. So on x86-64 Linux the variable is
//! reached by hand.

use crate::execution::{Execution, Phase};
use crate::{Place, sync};
use std::ptr::null_mut;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod slot {
    use super::Execution;
    use std::arch::{asm, global_asm};

    // Weak, as a program may have this crate in it twice: both are built alike.
    global_asm!(
        ".pushsection .tbss.raddle_current_execution, \"awT\", @nobits",
        ".weak raddle_current_execution",
        ".hidden raddle_current_execution",
        ".type raddle_current_execution, @object",
        ".balign 8",
        "raddle_current_execution:",
        ".zero 8",
        ".size raddle_current_execution, 8",
        ".popsection",
    );

    #[inline(always)]
    pub(super) fn get() -> *mut Execution {
        let current;
        // SAFETY: it reads the variable above, which each thread has. Whatever changes the FS base may change all memory, for all the compiler
        // knows, so it does not take a value from before that.
        unsafe {
            asm!(
                "mov {current}, qword ptr [rip + raddle_current_execution@GOTTPOFF]",
                "mov {current}, fs:[{current}]",
                current = out(reg) current,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        current
    }

    #[inline(always)]
    pub(super) fn set(ex: *mut Execution) {
        // SAFETY: it writes the variable above.
        unsafe {
            asm!(
                "mov {offset}, qword ptr [rip + raddle_current_execution@GOTTPOFF]",
                "mov fs:[{offset}], {ex}",
                offset = out(reg) _,
                ex = in(reg) ex,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod slot {
    use super::{Execution, null_mut};
    use std::cell::Cell;

    thread_local! {
        static CURRENT: Cell<*mut Execution> = const { Cell::new(null_mut()) };
    }

    #[inline(always)]
    pub(super) fn get() -> *mut Execution {
        CURRENT.try_with(|c| c.get()).unwrap_or(null_mut())
    }

    #[inline(never)]
    pub(super) fn set(ex: *mut Execution) {
        CURRENT.with(|c| c.set(ex));
    }
}

/// The execution that runs on this OS thread, or null.
#[inline]
pub(crate) fn current() -> *mut Execution {
    slot::get()
}

/// Sets it, also where thread-local storage was switched under us.
#[inline]
pub(crate) fn enter(ex: *mut Execution) {
    slot::set(ex);
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
        slot::set(null_mut());
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

/// The execution, for an operation on an object. Threads whose start was deferred come to their first operations before that.
#[inline]
pub(crate) fn for_operation(what: &str, place: Place) -> *mut Execution {
    let ex = required(what, place);
    // SAFETY: a current execution is valid, and our callers hold no reference into it.
    unsafe {
        if (*ex).deferred {
            start_deferred(ex, place);
        }
    }
    ex
}

/// Lets the threads that the running one has spawned come to their first operations.
///
/// # Safety
///
/// `ex` is the current execution, and the caller holds no reference into it.
#[cold]
#[inline(never)]
pub(crate) unsafe fn start_deferred(ex: *mut Execution, place: Place) {
    // SAFETY: by the contract.
    unsafe {
        if (*ex).phase == Phase::Running && (*ex).in_fiber {
            (*ex).run_on_after_children(sync::site(place));
            sync::suspend(ex);
        }
    }
}

#[cold]
fn outside(what: &str, place: Place) -> ! {
    panic!(
        "{what} of raddle was used at {place}, outside `raddle::check`: raddle's types work only in the closure that is \
         checked and in the threads it spawns"
    );
}
