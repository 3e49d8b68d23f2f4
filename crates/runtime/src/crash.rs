//! Code of a Rust test that cannot continue: a null pointer is dereferenced, or the process is about to end.
//!
//! The handler of the signal makes the thread continue in [`crashed`], on its own stack, as if the instruction at fault had called it. The calls of `abort` and
//! `exit` in the executable lead here by its table of addresses. The thread notes the failure and leaves its fiber, as one does that has no
//! more stack: what it has on its stack leaks, and the search reports the failure with its trace.
//!
//! Where that is not possible, because the thread may hold a lock of the C library's allocator or the execution is already given up, a
//! short report is written before the process ends ([`crate::emergency`]).

use crate::context;
use crate::emergency;
use crate::execution::{Execution, Phase};
use crate::fiber::Exit;
use crate::{callers, record};
use explore::FailureKind;

/// The message of a test that calls `exit`.
pub(crate) const ENDED_PROCESS: &str = "the test ended its own process, which a checked program must not do";

/// Whether a thread of a Rust test runs in its own code, so that it can leave its fiber.
///
/// # Safety
///
/// `ex` is null or the current execution.
pub(crate) unsafe fn can_leave(ex: *const Execution) -> bool {
    // SAFETY: by the contract.
    unsafe {
        !ex.is_null()
            && (*ex).in_fiber
            && (*ex).front.is_none()
            && (*ex).phase == Phase::Running
            && (*ex).in_user_code()
    }
}

/// Notes a failure of the running thread, and leaves its fiber for good.
///
/// # Safety
///
/// As [`can_leave`] says; the caller runs on the fiber and holds no reference into the execution, and no lock of the C library.
#[cold]
pub(crate) unsafe fn leave(ex: *mut Execution, kind: FailureKind, message: String) -> ! {
    // SAFETY: by the contract: references end before the fiber is left.
    unsafe {
        (*ex).leave_user_code();
        let t = (*ex).current;
        let last = record::place_of((&(*ex).pending)[t.index()].site);
        if !(*ex).passes_failure(kind) {
            (*ex).note_failure(kind, message, last, Some(t));
            let here = callers::outside_std_here();
            if let (Some(at), Some(failure)) = (here.first(), (*ex).last_noted()) {
                failure.location = Some(at.clone());
            }
        }
        let Some(fiber) = &(&(*ex).threads)[t.index()].fiber else { emergency::leave() };
        fiber.trap_handler().leave(Exit::Crashed)
    }
}

/// What a signal says.
pub(crate) fn describe(signal: libc::c_int, address: usize, code: libc::c_int) -> String {
    /// The kernel knows no address.
    const GENERAL_PROTECTION: libc::c_int = 128;
    const DIVISION: libc::c_int = 1;
    match signal {
        libc::SIGSEGV if code == GENERAL_PROTECTION => {
            "SIGSEGV: an address that no memory can have".to_owned()
        }
        libc::SIGSEGV if address == 0 => "SIGSEGV: a null pointer is dereferenced".to_owned(),
        libc::SIGSEGV if address < 4096 => {
            format!("SIGSEGV: a null pointer is dereferenced (at offset {address})")
        }
        libc::SIGSEGV => format!("SIGSEGV: there is no such memory: {address:#x}"),
        libc::SIGBUS => format!("SIGBUS: bad memory access at {address:#x}"),
        libc::SIGFPE if code == DIVISION => "SIGFPE: an integer is divided by zero".to_owned(),
        libc::SIGFPE => "SIGFPE: arithmetic error".to_owned(),
        libc::SIGILL => {
            "SIGILL: an instruction that does not exist, or the end of a function that must not return"
                .to_owned()
        }
        libc::SIGABRT => "SIGABRT was raised: the process aborts".to_owned(),
        n => format!("signal {n}"),
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub(crate) mod hooks {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The functions of the C library, set before the first call leads here.
    static ABORT: AtomicUsize = AtomicUsize::new(0);
    static EXIT: AtomicUsize = AtomicUsize::new(0);

    /// What is said when `abort` was called, with the panic that has led to it.
    fn called_abort(ex: &Execution) -> String {
        let thread = &ex.threads[ex.current.index()];
        let noted = thread.seldom().noted.as_ref().filter(|_| std::thread::panicking());
        let after = noted.map_or_else(String::new, |(message, at)| {
            format!(" after the panic `{message}` at {}", at.as_deref().unwrap_or("an unknown place"))
        });
        format!("the process aborts: `abort` was called{after}")
    }

    unsafe extern "C" fn abort() -> ! {
        let ex = context::current();
        // SAFETY: a current execution is valid, and its test called us. The function of that name in the C library.
        unsafe {
            if can_leave(ex) {
                let words = (*ex).last_words.take();
                let message = words.unwrap_or_else(|| called_abort(&*ex));
                leave(ex, FailureKind::Abort, message)
            }
            let real = ABORT.load(Ordering::Acquire);
            std::mem::transmute::<usize, unsafe extern "C" fn() -> !>(real)()
        }
    }

    /// Lets other threads, and this one again, call std's `exit`, which remembers the first thread that has called it. Says whether that is done.
    ///
    /// # Safety
    ///
    /// This thread has called std's `exit`, if any.
    unsafe fn allow_exit() -> bool {
        // Such a thread is known by the address of its `errno`.
        let Some(exiting) = crate::alien::variable(&["std", "unique_thread_exit", "EXITING_THREAD_ID"])
        else {
            return false;
        };
        // SAFETY: a word of the executable that std accesses as an atomic.
        unsafe {
            let exiting = AtomicUsize::from_ptr(exiting);
            let me = libc::__errno_location().addr();
            exiting.compare_exchange(me, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        }
    }

    unsafe extern "C" fn exit(code: libc::c_int) -> ! {
        let ex = context::current();
        // SAFETY: as above.
        unsafe {
            if can_leave(ex) && allow_exit() {
                leave(ex, FailureKind::ExitCode, ENDED_PROCESS.to_owned())
            }
            let real = EXIT.load(Ordering::Acquire);
            std::mem::transmute::<usize, unsafe extern "C" fn(libc::c_int) -> !>(real)(code)
        }
    }

    pub(crate) fn sees_aborts() -> bool {
        ABORT.load(Ordering::Acquire) != 0
    }

    /// Where a call of an imported function is to lead, if it ends the process.
    pub(crate) fn replacement(name: &str) -> Option<usize> {
        let (real, ours) = match name {
            "abort" => (&ABORT, abort as *const () as usize),
            "exit" => (&EXIT, exit as *const () as usize),
            _ => return None,
        };
        let symbol = std::ffi::CString::new(name).ok()?;
        // SAFETY: the name is a string of C.
        let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
        if function.is_null() {
            return None;
        }
        real.store(function.addr(), Ordering::Release);
        Some(ours)
    }

    /// What the handler of a signal has seen.
    #[derive(Clone, Copy)]
    struct Crash {
        signal: libc::c_int,
        address: usize,
        code: libc::c_int,
    }

    std::thread_local! {
        static CRASH: std::cell::Cell<Crash> = const { std::cell::Cell::new(Crash { signal: 0, address: 0, code: 0 }) };
    }

    /// A signal has interrupted the running thread. Makes it continue in [`crashed`], if that is possible.
    ///
    /// # Safety
    ///
    /// Called in a signal handler with the kernel's arguments; `may_leave` says that the instruction holds no lock of the C library.
    pub(crate) unsafe fn interrupts(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
        may_leave: impl Fn(usize) -> bool,
    ) -> bool {
        let ex = context::current();
        if ex.is_null() {
            return false;
        }
        // SAFETY: the execution on this OS thread is valid. The kernel hands in a `ucontext_t`, and goes on from what is left in it.
        unsafe {
            if !(*ex).in_fiber || (*ex).front.is_some() {
                return false;
            }
            let Some(fiber) = &(&(*ex).threads)[(*ex).current.index()].fiber else { return false };
            let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            let (at, stack) =
                (registers[libc::REG_RIP as usize] as usize, registers[libc::REG_RSP as usize] as usize);
            if !fiber.trap_handler().stack_ptr_in_bounds(stack) {
                return false;
            }
            let crash = Crash { signal, address: (*info).si_addr() as usize, code: (*info).si_code };
            // A call of a null pointer: the caller's place is on the stack.
            let called_nothing = at < 4096;
            if can_leave(ex) && (may_leave(at) || called_nothing) {
                CRASH.set(crash);
                // As if the instruction had called us: what unwinds the stack finds the caller right above.
                let mut to = stack;
                if !called_nothing {
                    to -= 8;
                    (to as *mut u64).write(at as u64 + 1);
                }
                registers[libc::REG_RSP as usize] = to as i64;
                registers[libc::REG_RIP as usize] = raddle_crashed as *const () as i64;
                return true;
            }
            // The allocator may be locked: then the report ends the process another way.
            libc::alarm(5);
            let text = describe(crash.signal, crash.address, crash.code);
            let kind = if signal == libc::SIGABRT { FailureKind::Abort } else { FailureKind::Signal };
            emergency::write(&emergency::report(&*ex, kind, &text));
            libc::alarm(0);
            false
        }
    }

    // Where a thread continues that has crashed, with any alignment of its stack.
    std::arch::global_asm!(
        ".pushsection .text.raddle_crashed,\"ax\",@progbits",
        ".type {entry}, @function",
        ".hidden {entry}",
        ".globl {entry}",
        "{entry}:",
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "and rsp, -16",
        "call {crashed}",
        "ud2",
        ".cfi_endproc",
        ".size {entry}, . - {entry}",
        ".popsection",
        entry = sym raddle_crashed,
        crashed = sym crashed,
    );

    unsafe extern "C" {
        fn raddle_crashed() -> !;
    }

    /// Where a thread continues that has crashed.
    extern "C" fn crashed() -> ! {
        let Crash { signal, address, code } = CRASH.get();
        let ex = context::current();
        // SAFETY: `interrupts` found that the thread can leave.
        unsafe { leave(ex, FailureKind::Signal, describe(signal, address, code)) }
    }
}
