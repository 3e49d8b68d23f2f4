//! Signals that the program's own mistakes raise, and loops that never come by.
//!
//! The handler runs on a stack of its own. It makes the interrupted thread go on in a function that reports the failure, on the
//! thread's own stack, as if the faulting instruction had called it; the search goes on from there.

use crate::shim;
use explore::FailureKind;
use runtime::Place;

/// What happened, for the function in which the thread goes on.
#[derive(Clone, Copy)]
struct Crash {
    signal: libc::c_int,
    address: usize,
    at: usize,
    code: libc::c_int,
}

static mut CRASH: Crash = Crash { signal: 0, address: 0, at: 0, code: 0 };

const SIGNALS: [libc::c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT];

/// What the watchdog sends to the thread on which the program runs.
const STUCK: libc::c_int = libc::SIGUSR2;

static mut MAIN: libc::pthread_t = 0;

/// Installs the handlers. The runtime's own, for stacks that are too small, come in front of them later.
pub(crate) fn install() {
    // SAFETY: zero is a valid `sigaction`; the handler has the signature that `SA_SIGINFO` asks for.
    unsafe {
        MAIN = libc::pthread_self();
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        for signal in SIGNALS.into_iter().chain([STUCK]) {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// The running thread takes no step any more.
pub(crate) fn stuck() {
    // SAFETY: the thread lives as long as the process.
    unsafe { libc::pthread_kill(MAIN, STUCK) };
}

unsafe extern "C" fn handler(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: called by the kernel with valid pointers, on the thread that runs the program or one that parks for ever.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let address = (*info).si_addr() as usize;
        if matches!(signal, libc::SIGSEGV | libc::SIGBUS)
            && (image::snapshot::on_fault(address) || crate::start::output_fault(address))
        {
            return;
        }
        let at = registers[libc::REG_RIP as usize] as usize;
        if !runtime::in_program() {
            if signal == STUCK {
                return;
            }
            let mut default: libc::sigaction = std::mem::zeroed();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &default, std::ptr::null_mut());
            return;
        }
        CRASH = Crash { signal, address, at, code: (*info).si_code };
        // Below the red zone, aligned as after a call.
        let stack = (registers[libc::REG_RSP as usize] as usize - 128) & !15;
        registers[libc::REG_RSP as usize] = (stack - 8) as i64;
        registers[libc::REG_RIP as usize] = crashed as *const () as i64;
    }
}

/// Where a thread goes on that has crashed.
extern "C" fn crashed() -> ! {
    // SAFETY: written by the handler just now.
    let Crash { signal, address, at, code } = unsafe { CRASH };
    // An address is a place as a return address is: just behind the instruction.
    let inside = matches!(
        crate::modules::owner(at),
        Some(crate::modules::Owner::Raddle | crate::modules::Owner::Libc | crate::modules::Owner::System)
            | None
    );
    let place = Place::at(if inside { shim::return_address() } else { at + 1 });
    if signal == STUCK {
        runtime::fail(
            FailureKind::Livelock,
            "the thread goes on for ever without any operation that others could see: a loop without an end, or one that \
             waits for a variable that the compiler keeps in a register"
                .to_owned(),
            place,
        );
    }
    runtime::fail(FailureKind::Signal, describe(signal, address, code), place)
}

fn describe(signal: libc::c_int, address: usize, code: libc::c_int) -> String {
    match signal {
        libc::SIGSEGV if address == 0 => "SIGSEGV: a null pointer is dereferenced".to_owned(),
        libc::SIGSEGV if address < 4096 => {
            format!("SIGSEGV: a null pointer is dereferenced (at offset {address})")
        }
        libc::SIGSEGV if code == 128 => "SIGSEGV: an address that no memory can have".to_owned(),
        libc::SIGSEGV => format!("SIGSEGV: there is no such memory: {address:#x}"),
        libc::SIGBUS => format!("SIGBUS: bad memory access at {address:#x}"),
        libc::SIGFPE if code == 1 => "SIGFPE: an integer is divided by zero".to_owned(),
        libc::SIGFPE => "SIGFPE: arithmetic error".to_owned(),
        libc::SIGILL => "SIGILL: an instruction that does not exist".to_owned(),
        libc::SIGTRAP => "SIGTRAP: a trap".to_owned(),
        libc::SIGABRT => "SIGABRT was raised".to_owned(),
        n => format!("signal {n}"),
    }
}
