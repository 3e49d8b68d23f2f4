//! Executions in processes of their own, for programs whose state is not all in memory that is put back: files, the C library's
//! own variables, other libraries.
//!
//! The process that was started never runs the program. For each execution it makes a copy of itself and waits. The memory of the
//! search is shared (see `own_heap`), everything else goes with the copy.

use runtime::Crashed;
use std::sync::atomic::{AtomicI32, Ordering};

/// The exit code of a process that has reported an internal error of raddle.
const INTERNAL_ERROR: libc::c_int = 173;

/// Whether this process is one that was made for an execution.
static mut IS_COPY: bool = false;

/// Ends the process after an internal error was reported. A copy tells the process that made it.
pub(crate) fn leave_after_error() -> ! {
    // SAFETY: one OS thread alone runs here; `exit_group` has no preconditions.
    unsafe {
        if IS_COPY {
            libc::syscall(libc::SYS_exit_group, INTERNAL_ERROR);
        }
    }
    crate::report_out::leave(3)
}

/// Runs `f` in a process of its own. Gives how that ended, if it did not come to the end of `f`.
pub(crate) fn run(f: &mut dyn FnMut()) -> Result<(), Crashed> {
    crate::names::share();
    // SAFETY: the one other thread that could hold a lock, the watchdog, is not started where memory is shared; the donors park.
    unsafe {
        match libc::syscall(libc::SYS_fork) as libc::pid_t {
            -1 => crate::start::die("no more processes can be made"),
            0 => {
                IS_COPY = true;
                CHILD.store(0, Ordering::Relaxed);
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                crate::crash::arm();
                f();
                libc::syscall(libc::SYS_exit_group, 0);
                unreachable!("the process has ended")
            }
            child => {
                CHILD.store(child, Ordering::Relaxed);
                let ended = wait(child);
                CHILD.store(0, Ordering::Relaxed);
                ended
            }
        }
    }
}

/// The process that runs an execution just now.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// The search has to stop: ends the process that runs an execution. May be called in a handler.
pub(crate) fn interrupt() {
    let child = CHILD.load(Ordering::Relaxed);
    if child > 0 {
        // SAFETY: the child has not been waited for, so the number is still its own.
        unsafe { libc::syscall(libc::SYS_kill, child, libc::SIGKILL) };
    }
}

/// # Safety
///
/// `child` is a child of this process.
unsafe fn wait(child: libc::pid_t) -> Result<(), Crashed> {
    let mut status = 0;
    // SAFETY: by the contract.
    unsafe {
        while libc::syscall(libc::SYS_wait4, child, &raw mut status, 0, 0) < 0 {
            if *libc::__errno_location() != libc::EINTR {
                return Err(Crashed("its process is gone".to_owned()));
            }
        }
    }
    if libc::WIFSIGNALED(status) {
        return Err(Crashed(format!("its process was killed by signal {}", libc::WTERMSIG(status))));
    }
    match libc::WEXITSTATUS(status) {
        0 => Ok(()),
        INTERNAL_ERROR => crate::report_out::leave(3),
        code => Err(Crashed(format!("its process ended with code {code} behind raddle's back"))),
    }
}
