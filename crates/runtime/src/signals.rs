//! More stack than there is, and a process that ends itself.

use crate::context;
use crate::emergency;
use crate::execution::{Execution, Phase};
use crate::fiber::Exit;
#[cfg(target_os = "linux")]
use crate::limits;
use explore::FailureKind;
use std::sync::{Once, OnceLock};

/// Installs the handlers: of signals and of exits once a process, the alternate stack once an OS thread.
pub(crate) fn install() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // SAFETY: `on_exit` has the signature that is asked for.
        unsafe { libc::atexit(on_exit) };
        previous::install();
        crate::spin::prepare();
    });
    thread_local! {
        static HAS_STACK: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }
    // A check may take less than a microsecond: it makes no system call.
    if !HAS_STACK.replace(true) {
        alternate_stack();
    }
}

/// What is said when a fiber has no more stack.
pub(crate) fn overflow_message(ex: &Execution) -> String {
    format!(
        "stack overflow: {} needs more than its {} KiB of stack; raise Config::stack_size / RADDLE_STACK_SIZE, or look for \
         a recursion without an end",
        ex.thread_label(ex.current),
        ex.threads[ex.current.index()].stack_size / 1024
    )
}

/// Whether calls of `abort` lead to [`crate::crash`].
pub(crate) fn sees_aborts() -> bool {
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    return crate::crash::hooks::sees_aborts();
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
    false
}

/// The test called `std::process::exit`, or something of its kind.
extern "C" fn on_exit() {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: the execution on this OS thread is valid, and the code that called `exit` never comes back.
    unsafe {
        if (*ex).in_fiber {
            emergency::write(&emergency::report(&*ex, FailureKind::ExitCode, crate::crash::ENDED_PROCESS));
            emergency::leave();
        }
    }
}

/// Makes sure that this OS thread has a stack for signal handlers. Threads of Rust's standard library have one.
fn alternate_stack() {
    const SIZE: usize = 64 * 1024;
    // SAFETY: `sigaltstack` reads and writes the structures that are handed in; the memory that is given as the stack is
    // leaked, so it outlives the thread.
    unsafe {
        let mut old: libc::stack_t = std::mem::zeroed();
        if libc::sigaltstack(std::ptr::null(), &mut old) == 0 && old.ss_flags & libc::SS_DISABLE != 0 {
            let memory = Vec::<u8>::with_capacity(SIZE).leak().as_mut_ptr();
            let new = libc::stack_t { ss_sp: memory.cast(), ss_flags: 0, ss_size: SIZE };
            libc::sigaltstack(&new, std::ptr::null_mut());
        }
    }
}

/// The signal that makes an OS thread leave the code of the test.
///
/// A real-time signal that neither the C library nor, commonly, a program uses.
#[cfg(target_os = "linux")]
const INTERRUPT: libc::c_int = 61;

/// Interrupts the session of an OS thread, which has to stop and takes no step.
pub(crate) fn interrupt(thread: libc::pthread_t) {
    #[cfg(target_os = "linux")]
    // SAFETY: the thread has a session, so it is alive, and the handler of the signal was installed with it.
    unsafe {
        libc::pthread_kill(thread, INTERRUPT);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = thread;
}

/// A process of Rust tests was asked to end: its checks stop and report. Without a check it ends as it would have.
#[cfg(target_os = "linux")]
unsafe extern "C" fn asked_to_end(signal: libc::c_int) {
    // SAFETY: zero is a valid `sigaction`, the default action; these calls may be made in a handler.
    unsafe {
        if limits::stopped_by_signal().is_some() || !limits::has_checks() {
            let default: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &default, std::ptr::null_mut());
            libc::raise(signal);
            return;
        }
    }
    limits::stop_for_signal(signal);
}

mod previous {
    use super::*;

    static PREVIOUS: OnceLock<[libc::sigaction; 5]> = OnceLock::new();
    /// The first two also raise the signals that stacks and watched pages need. A front end handles the others itself.
    const SIGNALS: [libc::c_int; 5] =
        [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
    const OURS: usize = 2;

    /// Makes the fiber that runs return to the loop that resumes fibers, if it is in code of the test. What it has on its stack leaks.
    ///
    /// It may hold a lock of the C library's allocator: so it is interrupted in code of the executable, or in a system call.
    #[cfg(target_os = "linux")]
    unsafe extern "C" fn interrupted(
        _signal: libc::c_int,
        _info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        let ex = context::current();
        if ex.is_null() {
            return;
        }
        // SAFETY: the execution on this OS thread is valid. The watchdog has seen no step for a while, so user code was interrupted,
        // and no reference into the execution is alive.
        unsafe {
            if !(*ex).in_fiber || !(*ex).in_user_code() || (*ex).phase != Phase::Running {
                return;
            }
            if (*ex).stop_requested().is_none() {
                return;
            }
            let Some(fiber) = &(&(*ex).threads)[(*ex).current.index()].fiber else { return };
            let trap = fiber.trap_handler();
            let (Some(sp), Some(at)) = (stack_pointer(context), instruction(context)) else { return };
            if trap.stack_ptr_in_bounds(sp) && may_leave(at) {
                set_registers(context, trap.setup_trap_handler(|| Exit::Interrupted));
            }
        }
    }

    /// Whether the code at this address holds no lock of the C library: it is the executable's own, or just behind a system call.
    ///
    /// # Safety
    ///
    /// Code runs at this address.
    #[cfg(target_os = "linux")]
    unsafe fn may_leave(at: usize) -> bool {
        let of_executable = CODE.get().is_some_and(|code| code.contains(&at));
        // SAFETY: by the contract.
        of_executable || unsafe { is_system_call(at) }
    }

    /// Whether this instruction is the executable's own, or one of the functions of the C library that copy and compare memory: no lock of the
    /// allocator is held.
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    fn is_outside_allocator(at: usize) -> bool {
        const MOST: usize = 4096;
        CODE.get().is_some_and(|code| code.contains(&at))
            || COPIES.get().is_some_and(|all| all.iter().any(|f| (*f..*f + MOST).contains(&at)))
    }

    /// Where the functions are that copy and compare memory, as the C library has chosen them for this processor.
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    static COPIES: OnceLock<Vec<usize>> = OnceLock::new();

    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    fn find_copies() -> Vec<usize> {
        let names = [c"memcpy", c"memmove", c"memset", c"memcmp", c"bcmp", c"strlen", c"memchr"];
        // SAFETY: the names are strings of C.
        let found = names.map(|n| unsafe { libc::dlsym(libc::RTLD_DEFAULT, n.as_ptr()) }.addr());
        found.into_iter().filter(|f| *f != 0).collect()
    }

    /// Where the code of the executable is.
    #[cfg(target_os = "linux")]
    static CODE: OnceLock<std::ops::Range<usize>> = OnceLock::new();

    #[cfg(target_os = "linux")]
    fn find_code() -> std::ops::Range<usize> {
        unsafe extern "C" fn visit(
            info: *mut libc::dl_phdr_info,
            _size: usize,
            data: *mut libc::c_void,
        ) -> libc::c_int {
            // SAFETY: `dl_iterate_phdr` hands in a valid `info` and our range. The executable comes first.
            unsafe {
                let code = &mut *data.cast::<std::ops::Range<usize>>();
                let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize);
                let base = (*info).dlpi_addr as usize;
                for h in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0) {
                    let start = base + h.p_vaddr as usize;
                    *code = code.start.min(start)..code.end.max(start + h.p_memsz as usize);
                }
            }
            1
        }
        let mut code = std::ops::Range { start: usize::MAX, end: 0 };
        // SAFETY: `visit` has the signature that is asked for, and gets a pointer to a live range.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut code).cast()) };
        code
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe fn is_system_call(at: usize) -> bool {
        // SAFETY: by the contract of `may_leave`.
        unsafe { [at, at - 2].iter().any(|p| (*p as *const [u8; 2]).read_unaligned() == [0x0f, 0x05]) }
    }

    #[cfg(all(target_os = "linux", not(target_arch = "x86_64")))]
    unsafe fn is_system_call(_at: usize) -> bool {
        false
    }

    pub(super) fn install() {
        // SAFETY: zero is a valid `sigaction`; `handler` has the signature that `SA_SIGINFO` asks for. The actions that
        // were there before are read first, so that the handler finds them from the moment it is in place.
        unsafe {
            let old = SIGNALS.map(|signal| {
                let mut old: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut old);
                old
            });
            let _ = PREVIOUS.set(old);
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = handler as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            let handled = if crate::front::front().is_some() { OURS } else { SIGNALS.len() };
            for signal in SIGNALS.into_iter().take(handled) {
                libc::sigaction(signal, &new, std::ptr::null_mut());
            }
            #[cfg(target_os = "linux")]
            if crate::front::front().is_none() {
                CODE.get_or_init(find_code);
                #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
                COPIES.get_or_init(find_copies);
                new.sa_sigaction = interrupted as *const () as usize;
                new.sa_flags |= libc::SA_RESTART;
                libc::sigaction(INTERRUPT, &new, std::ptr::null_mut());
                new.sa_sigaction = asked_to_end as *const () as usize;
                for signal in limits::SIGNALS {
                    let mut old: libc::sigaction = std::mem::zeroed();
                    libc::sigaction(signal, std::ptr::null(), &mut old);
                    // A program with a handler of its own knows what to do.
                    if old.sa_sigaction == libc::SIG_DFL {
                        libc::sigaction(signal, &new, std::ptr::null_mut());
                    }
                }
            }
        }
    }

    unsafe extern "C" fn handler(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: called by the kernel with valid pointers.
        unsafe {
            let is_fault = matches!(signal, libc::SIGSEGV | libc::SIGBUS);
            if is_fault && overflow(info, context) {
                return;
            }
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            if is_fault && steps::watched(info, context) {
                return;
            }
            #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
            if crate::crash::hooks::interrupts(signal, info, context, is_outside_allocator) {
                return;
            }
            let Some(index) = SIGNALS.iter().position(|s| *s == signal) else { return };
            let Some(old) = PREVIOUS.get().map(|p| p[index]) else { return };
            match old.sa_sigaction {
                libc::SIG_DFL | libc::SIG_IGN => {
                    let mut default: libc::sigaction = std::mem::zeroed();
                    default.sa_sigaction = libc::SIG_DFL;
                    libc::sigaction(signal, &default, std::ptr::null_mut());
                }
                f if old.sa_flags & libc::SA_SIGINFO != 0 => {
                    // SAFETY: with this flag the action is a function of this type.
                    let f: unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                        std::mem::transmute(f);
                    f(signal, info, context);
                }
                f => {
                    // SAFETY: without the flag it is a function of this one.
                    let f: unsafe extern "C" fn(libc::c_int) = std::mem::transmute(f);
                    f(signal);
                }
            }
        }
    }

    /// If the running fiber hit the end of its stack: makes it return to the loop that resumes fibers.
    ///
    /// # Safety
    ///
    /// Called in a signal handler with the kernel's arguments.
    unsafe fn overflow(info: *mut libc::siginfo_t, context: *mut libc::c_void) -> bool {
        let ex = context::current();
        if ex.is_null() {
            return false;
        }
        // SAFETY: the execution on this OS thread is valid. User code was interrupted, so no reference into it is alive.
        unsafe {
            if !(*ex).in_fiber {
                return false;
            }
            let Some(fiber) = &(&(*ex).threads)[(*ex).current.index()].fiber else { return false };
            let trap = fiber.trap_handler();
            let address = (*info).si_addr() as usize;
            // The fault is at, or just below, the stack pointer, in the lowest pages of the stack.
            let Some(sp) = stack_pointer(context) else { return false };
            if !trap.stack_ptr_in_bounds(address) || !trap.stack_ptr_in_bounds(sp) {
                return false;
            }
            let user = (*ex).in_user_code();
            if !user || (*ex).phase != Phase::Running {
                emergency::write(&emergency::report(&*ex, FailureKind::Signal, &overflow_message(&*ex)));
                emergency::leave();
            }
            // What the fiber has on its stack is lost, and leaks. It was in user code, not in the search.
            set_registers(context, trap.setup_trap_handler(|| Exit::StackOverflow));
            true
        }
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe fn instruction(context: *mut libc::c_void) -> Option<usize> {
        // SAFETY: the kernel hands in a `ucontext_t`.
        Some(unsafe {
            (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] as usize
        })
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe fn stack_pointer(context: *mut libc::c_void) -> Option<usize> {
        // SAFETY: the kernel hands in a `ucontext_t`.
        Some(unsafe {
            (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RSP as usize] as usize
        })
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe fn set_registers(context: *mut libc::c_void, regs: corosensei::trap::TrapHandlerRegs) {
        // SAFETY: the kernel hands in a `ucontext_t`, and goes on from what is left in it.
        unsafe {
            let gregs = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            gregs[libc::REG_RIP as usize] = regs.rip as i64;
            gregs[libc::REG_RSP as usize] = regs.rsp as i64;
            gregs[libc::REG_RBP as usize] = regs.rbp as i64;
            gregs[libc::REG_RDI as usize] = regs.rdi as i64;
            gregs[libc::REG_RSI as usize] = regs.rsi as i64;
        }
    }

    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    unsafe fn instruction(context: *mut libc::c_void) -> Option<usize> {
        // SAFETY: the kernel hands in a `ucontext_t`.
        Some(unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc as usize })
    }

    #[cfg(all(target_os = "linux", not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    unsafe fn instruction(_context: *mut libc::c_void) -> Option<usize> {
        None
    }

    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    unsafe fn stack_pointer(context: *mut libc::c_void) -> Option<usize> {
        // SAFETY: the kernel hands in a `ucontext_t`.
        Some(unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.sp as usize })
    }

    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    unsafe fn set_registers(context: *mut libc::c_void, regs: corosensei::trap::TrapHandlerRegs) {
        // SAFETY: the kernel hands in a `ucontext_t`, and goes on from what is left in it.
        unsafe {
            let machine = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
            machine.pc = regs.pc;
            machine.sp = regs.sp;
            machine.regs[29] = regs.x29;
            machine.regs[30] = regs.lr;
            machine.regs[0] = regs.x0;
            machine.regs[1] = regs.x1;
        }
    }

    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    unsafe fn stack_pointer(_context: *mut libc::c_void) -> Option<usize> {
        None
    }

    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    unsafe fn set_registers(_context: *mut libc::c_void, _regs: corosensei::trap::TrapHandlerRegs) {}
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use steps::trap_steps;

/// Accesses to watched pages, which are executed one instruction at a time.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod steps {
    use super::*;
    use crate::watch;

    static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();
    /// The flag by which the processor traps after one instruction.
    const TRAP: i64 = 0x100;
    /// The bit of the error code of a page fault that says that it is a write.
    const WRITE: i64 = 2;
    /// The bit that says that it is the fetch of an instruction.
    const FETCH: i64 = 16;

    /// Installs the handler of traps, once a process.
    pub(crate) fn trap_steps() {
        PREVIOUS.get_or_init(|| {
            // SAFETY: zero is a valid `sigaction`; `trapped` has the signature that `SA_SIGINFO` asks for.
            unsafe {
                let (mut old, mut new): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
                new.sa_sigaction = trapped as *const () as usize;
                new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(libc::SIGTRAP, &new, &mut old);
                old
            }
        });
    }

    /// Lets an access to a watched page go on.
    ///
    /// # Safety
    ///
    /// Called in a signal handler with the kernel's arguments.
    pub(super) unsafe fn watched(info: *mut libc::siginfo_t, context: *mut libc::c_void) -> bool {
        // SAFETY: the kernel hands in a `siginfo_t` and a `ucontext_t`, and the instruction at the counter has faulted.
        unsafe {
            let gregs = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            // A call of a null pointer faults at an instruction that nobody can read.
            if gregs[libc::REG_ERR as usize] & FETCH != 0 {
                return false;
            }
            let write = gregs[libc::REG_ERR as usize] & WRITE != 0;
            let size = watch::size_of_access(gregs[libc::REG_RIP as usize] as usize);
            match watch::fault((*info).si_addr() as usize, write, size) {
                None => false,
                Some(traps) => {
                    if traps {
                        gregs[libc::REG_EFL as usize] |= TRAP;
                    }
                    true
                }
            }
        }
    }

    unsafe extern "C" fn trapped(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: called by the kernel with valid pointers; the previous action has the type that its flag says.
        unsafe {
            let gregs = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            if watch::trapped() {
                gregs[libc::REG_EFL as usize] &= !TRAP;
                return;
            }
            let Some(old) = PREVIOUS.get() else { return };
            match old.sa_sigaction {
                libc::SIG_IGN => {}
                libc::SIG_DFL => {
                    libc::sigaction(signal, old, std::ptr::null_mut());
                    libc::raise(signal);
                }
                f if old.sa_flags & libc::SA_SIGINFO != 0 => {
                    let f: unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                        std::mem::transmute(f);
                    f(signal, info, context);
                }
                f => {
                    let f: unsafe extern "C" fn(libc::c_int) = std::mem::transmute(f);
                    f(signal);
                }
            }
        }
    }
}
