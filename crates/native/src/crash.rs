//! Signals that the program's own mistakes raise, and loops that never come by.
//!
//! The handler runs on a stack of its own. It makes the interrupted thread go on in a function that reports the failure, on the
//! thread's own stack, as if the faulting instruction had called it; the search goes on from there.

use crate::shim;
use explore::FailureKind;
use runtime::Place;
use std::time::Duration;

/// What happened, for the function in which the thread goes on.
#[derive(Clone, Copy)]
struct Crash {
    signal: libc::c_int,
    address: usize,
    at: usize,
    code: libc::c_int,
    /// Where the stack ends.
    stack: usize,
}

static mut CRASH: Crash = Crash { signal: 0, address: 0, at: 0, code: 0, stack: 0 };

pub(crate) const SIGNALS: [libc::c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT];

/// What the timer sends to the thread on which the program runs.
///
/// A real-time signal that neither the C library nor, commonly, a program uses.
const TICK: libc::c_int = 60;
/// How many ticks in a row must find the program at the same step.
const TICKS: u32 = 8;

/// What the last tick found, and how often in a row.
static mut SEEN: (u64, u32) = (0, 0);
/// How far ticks are apart; zero for none.
static mut PAUSE: Duration = Duration::ZERO;

/// Whether a signal is one that we must get.
pub(crate) fn is_ours(signal: libc::c_int) -> bool {
    SIGNALS.contains(&signal) || signal == TICK
}

/// Installs the handlers. The runtime's own, for stacks that are too small, come in front of them later.
pub(crate) fn install() {
    // SAFETY: zero is a valid `sigaction`; the handler has the signature that `SA_SIGINFO` asks for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
        for signal in SIGNALS.into_iter().chain([TICK]) {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// From now on a thread that takes no step for so long is stopped.
pub(crate) fn watch(limit: Option<Duration>) {
    // SAFETY: no thread of the program runs.
    unsafe { PAUSE = limit.map_or(Duration::ZERO, |l| (l / TICKS).max(Duration::from_millis(10))) };
    arm();
}

/// Starts the timer of this process. A copy of the process has none.
pub(crate) fn arm() {
    // SAFETY: the timer and what it is set to are valid; it sends to the calling thread, which lives as long as the process.
    unsafe {
        static mut TIMER: (libc::pid_t, libc::timer_t) = (0, std::ptr::null_mut());
        let process = libc::getpid();
        if TIMER.0 != process {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = TICK;
            event.sigev_notify_thread_id = libc::gettid();
            if libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &raw mut TIMER.1) != 0 {
                return;
            }
            TIMER.0 = process;
        }
        let pause = PAUSE;
        let pause = libc::timespec {
            tv_sec: pause.as_secs() as libc::time_t,
            tv_nsec: pause.subsec_nanos() as libc::c_long,
        };
        let every = libc::itimerspec { it_interval: pause, it_value: pause };
        libc::timer_settime(TIMER.1, 0, &every, std::ptr::null_mut());
    }
}

/// Whether the running thread takes no step any more.
///
/// # Safety
///
/// Called by the handler of ticks.
unsafe fn is_stuck() -> bool {
    // SAFETY: by the contract nothing else uses this.
    unsafe {
        match runtime::steps_in_program() {
            Some(steps) if steps == SEEN.0 => SEEN.1 += 1,
            steps => SEEN = (steps.unwrap_or(u64::MAX), 0),
        }
        let stuck = SEEN.1 >= TICKS;
        if stuck {
            SEEN = (u64::MAX, 0);
        }
        stuck
    }
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
        if signal == TICK && !is_stuck() {
            return;
        }
        if !runtime::in_program() {
            let mut default: libc::sigaction = std::mem::zeroed();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &default, std::ptr::null_mut());
            return;
        }
        let stack = registers[libc::REG_RSP as usize] as usize;
        CRASH = Crash { signal, address, at, code: (*info).si_code, stack };
        // Below the red zone, aligned as after a call.
        let stack = (registers[libc::REG_RSP as usize] as usize - 128) & !15;
        registers[libc::REG_RSP as usize] = (stack - 8) as i64;
        registers[libc::REG_RIP as usize] = crashed as *const () as i64;
    }
}

/// Where a thread goes on that has crashed.
extern "C" fn crashed() -> ! {
    // SAFETY: written by the handler just now.
    let Crash { signal, address, at, code, stack } = unsafe { CRASH };
    // An address is a place as a return address is: just behind the instruction.
    let inside = matches!(
        crate::modules::owner(at),
        Some(crate::modules::Owner::Raddle | crate::modules::Owner::Libc | crate::modules::Owner::System)
            | None
    );
    let place = Place::at(if inside { shim::return_address() } else { at + 1 });
    // SAFETY: the thread ran there just now.
    if signal == TICK && inside && unsafe { is_system_call(at) } {
        let message = "the thread waits in the kernel for something from outside, such as input, a connection or another process. Real \
                       input and output that blocks is not modelled: give the program what it waits for (a file, `< /dev/null`), or \
                       check it with a function of your own in the place of that call";
        runtime::fail(FailureKind::Limit, message.to_owned(), caller(stack).unwrap_or(place));
    }
    if signal == TICK {
        // Where it is just now differs from run to run.
        let place = runtime::last_place().unwrap_or(place);
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

/// Whether a thread that was interrupted here is in a system call, or about to make one again.
///
/// # Safety
///
/// There is code here, and before it.
unsafe fn is_system_call(at: usize) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    // SAFETY: by the contract.
    unsafe { [at, at - 2].into_iter().any(|p| (p as *const [u8; 2]).read_unaligned() == SYSCALL) }
}

/// Where the program has called the C library that is waiting now: the first return address on the stack that lies in the program's
/// code, behind a call. The C library keeps no frame pointers.
fn caller(stack: usize) -> Option<Place> {
    let words = (stack..runtime::frames_end()).step_by(8);
    let found = words.map(|w| {
        // SAFETY: between the stack pointer and the end of the thread's frames.
        unsafe { (w as *const usize).read() }
    });
    let is_return = |site: &usize| {
        crate::modules::owner(*site) == Some(crate::modules::Owner::Program)
            // SAFETY: it lies in code, and the start of a program's code is not called from.
            && unsafe { ((*site - 5) as *const u8).read() == 0xe8 || ((*site - 6) as *const u8).read() == 0xff }
    };
    found.into_iter().find(is_return).map(Place::at)
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
