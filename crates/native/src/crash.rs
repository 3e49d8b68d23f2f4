//! Signals that the program's own mistakes raise, and loops that never come by.
//!
//! The handler runs on a stack of its own. It makes the interrupted thread go on in a function that reports the failure, on the
//! thread's own stack, as if the faulting instruction had called it; the search goes on from there.

use crate::{report_out, shim};
use explore::FailureKind;
use runtime::Place;
use std::time::{Duration, Instant};

/// What happened, for the function in which the thread goes on.
#[derive(Clone, Copy)]
struct Crash {
    signal: libc::c_int,
    address: usize,
    at: usize,
    code: libc::c_int,
    /// Where the stack ends.
    stack: usize,
    /// Why the watchdog interrupted it, if it did.
    why: Option<Stuck>,
}

static mut CRASH: Crash = Crash { signal: 0, address: 0, at: 0, code: 0, stack: 0, why: None };

pub(crate) const SIGNALS: [libc::c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT];

/// What the timer sends to the thread on which the program runs.
///
/// A real-time signal that neither the C library nor, commonly, a program uses.
const TICK: libc::c_int = 60;
/// The command sends signals that it gets with this added to their number, as the value of a tick: the program may have a handler for them.
const HANDED_ON: usize = 1000;
/// How many ticks there are in the limit of the watchdog.
const TICKS: u32 = 8;
/// How far ticks are apart while the search stops.
const STOPPING: Duration = Duration::from_millis(5);

/// What the watchdog has seen.
struct Seen {
    /// The steps at the last tick.
    steps: u64,
    /// How many ticks in a row found so many.
    ticks: u32,
    /// The CPU time of the thread at the first of these, in nanoseconds.
    cpu: u64,
    /// How many ticks while the search stops have found no step since.
    stopping: u32,
    /// When the search was first seen to be stopping, in nanoseconds, or 0.
    since: u64,
}

static mut SEEN: Seen = Seen { steps: u64::MAX, ticks: 0, cpu: 0, stopping: 0, since: 0 };

/// What sessions want to be stopped by: the limit of the watchdog, and when the time is up, in nanoseconds of the monotonic clock. The
/// last one holds: a session that records a failure runs inside the one that has found it.
static mut WATCHES: Vec<(Option<Duration>, Option<u64>)> = Vec::new();

/// The timers of this process: of the watchdog, and of the end of the time. A copy of the process has none.
static mut TIMERS: (libc::pid_t, [libc::timer_t; 2]) = (0, [std::ptr::null_mut(); 2]);

/// A real clock, in nanoseconds. In an execution the C library's function shows the clock of the search.
fn real_clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the system call writes one `timespec` to the address given, which is that of a live local of this type.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_clock_gettime => _,
            in("rdi") i64::from(clock),
            in("rsi") &raw mut time,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Installs the handlers. The runtime's own, for stacks that are too small, come in front of them later.
pub(crate) fn install() {
    // SAFETY: zero is a valid `sigaction`; the handler has the signature that `SA_SIGINFO` asks for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
        // An owner is looked up in the handler, which must not allocate.
        crate::modules::owner(0);
        for signal in SIGNALS.into_iter().chain([TICK]).chain(runtime::STOP_SIGNALS) {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// From now on a thread that computes for so long without a step is stopped, and the search when the time is up.
pub(crate) fn watch(limit: Option<Duration>, stop_at: Option<Instant>) {
    let left = stop_at.map(|at| at.saturating_duration_since(Instant::now()));
    let at = left.map(|l| real_clock(libc::CLOCK_MONOTONIC).saturating_add(l.as_nanos() as u64));
    // SAFETY: no thread of the program runs.
    unsafe { (*(&raw mut WATCHES)).push((limit, at)) };
    arm();
}

/// A session has ended.
pub(crate) fn unwatch() {
    // SAFETY: no thread of the program runs.
    unsafe { (*(&raw mut WATCHES)).pop() };
    arm();
}

/// Starts the timers of this process for the innermost session.
pub(crate) fn arm() {
    // SAFETY: the timers and what they are set to are valid; they send to the calling thread, which lives as long as the process.
    unsafe {
        let process = libc::getpid();
        if TIMERS.0 != process {
            for (i, timer) in (*(&raw mut TIMERS)).1.iter_mut().enumerate() {
                let mut event: libc::sigevent = std::mem::zeroed();
                event.sigev_notify = libc::SIGEV_THREAD_ID;
                event.sigev_signo = TICK;
                event.sigev_value.sival_ptr = i as *mut libc::c_void;
                event.sigev_notify_thread_id = libc::gettid();
                if libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, timer) != 0 {
                    return;
                }
            }
            TIMERS.0 = process;
        }
        SEEN = Seen { steps: u64::MAX, ticks: 0, cpu: 0, stopping: 0, since: 0 };
        let (limit, at) = (*(&raw const WATCHES)).last().copied().unwrap_or((None, None));
        let pause = limit.map_or(Duration::ZERO, |l| (l / TICKS).max(Duration::from_millis(10)));
        set_timer(0, pause, pause);
        match (runtime::is_stopping() && !(*(&raw const WATCHES)).is_empty(), at) {
            (true, _) => set_timer(1, STOPPING, STOPPING),
            (false, None) => set_timer(1, Duration::ZERO, Duration::ZERO),
            (false, Some(at)) => {
                let left = at.saturating_sub(real_clock(libc::CLOCK_MONOTONIC)).max(1);
                set_timer(1, Duration::from_nanos(left), STOPPING);
            }
        }
    }
}

/// Sets a timer; zero turns it off. May be called in a handler.
///
/// # Safety
///
/// The timer has been made.
unsafe fn set_timer(which: usize, first: Duration, then: Duration) {
    let time = |d: Duration| libc::timespec {
        tv_sec: d.as_secs() as libc::time_t,
        tv_nsec: d.subsec_nanos() as libc::c_long,
    };
    let every = libc::itimerspec { it_interval: time(then), it_value: time(first) };
    // SAFETY: by the contract.
    unsafe { libc::timer_settime(TIMERS.1[which], 0, &every, std::ptr::null_mut()) };
}

/// What a division by zero is reported as.
pub(crate) const DIVISION_BY_ZERO: &str = "SIGFPE: an integer is divided by zero";

/// Why the running thread is made to leave its code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stuck {
    /// It has computed for the limit of the watchdog without a step.
    Computes,
    /// It has waited in the kernel for as long.
    Waits,
    /// The search has to stop, and the thread takes no step.
    Stops,
}

/// Whether the running thread has used the limit of the watchdog without a step.
///
/// # Safety
///
/// Called by the handler of ticks; `at` is where the thread was interrupted.
unsafe fn is_stuck(at: usize) -> Option<Stuck> {
    // SAFETY: by the contract nothing else uses this.
    unsafe {
        let limit = (*(&raw const WATCHES)).last().and_then(|w| w.0)?.as_nanos() as u64;
        let cpu = real_clock(libc::CLOCK_THREAD_CPUTIME_ID);
        match runtime::steps_in_program() {
            Some(steps) if steps == SEEN.steps => SEEN.ticks += 1,
            steps => {
                (SEEN.steps, SEEN.ticks, SEEN.cpu) = (steps.unwrap_or(u64::MAX), 0, cpu);
            }
        }
        let computed = cpu - SEEN.cpu;
        if SEEN.ticks > 0 && computed >= limit && may_leave(at, SEEN.ticks > 2 * TICKS) {
            return Some(Stuck::Computes);
        }
        let waited = u64::from(SEEN.ticks) * limit / u64::from(TICKS);
        (waited >= limit && computed < waited / 8 && is_system_call(at)).then_some(Stuck::Waits)
    }
}

/// Whether a thread that was interrupted here can leave its code: it holds no lock of the C library's allocator, and is not in the
/// middle of a change of ours. `anywhere` takes any code that is not ours.
fn may_leave(at: usize, anywhere: bool) -> bool {
    match crate::modules::owner(at) {
        Some(crate::modules::Owner::Program) => true,
        Some(crate::modules::Owner::Raddle) => false,
        _ => anywhere,
    }
}

/// The search has to stop: says whether the running thread has to be made to. Ends the process if nothing else helps.
///
/// # Safety
///
/// As for [`is_stuck`].
unsafe fn has_to_stop(at: usize) -> Option<Stuck> {
    // SAFETY: by the contract nothing else uses this.
    unsafe {
        let now = real_clock(libc::CLOCK_MONOTONIC);
        if !runtime::is_stopping() {
            let until = (*(&raw const WATCHES)).last().and_then(|w| w.1)?;
            if now < until {
                return None;
            }
            runtime::stop_for_time();
        }
        if SEEN.since == 0 {
            SEEN.since = now;
        }
        crate::isolate::interrupt();
        let asked = Duration::from_nanos(now - SEEN.since);
        if asked >= runtime::END_AFTER {
            report_out::last_words();
        }
        match runtime::steps_in_program() {
            Some(steps) if steps == SEEN.steps => SEEN.stopping += 1,
            steps => (SEEN.steps, SEEN.stopping) = (steps.unwrap_or(u64::MAX), 0),
        }
        let waits = SEEN.stopping >= 4 && is_system_call(at);
        let leaves = waits || SEEN.stopping >= 2 && may_leave(at, SEEN.stopping >= 60);
        (leaves && asked >= runtime::INTERRUPT_AFTER).then_some(Stuck::Stops)
    }
}

/// The process was asked to end, or has used its CPU time.
///
/// # Safety
///
/// Called by the handler of signals.
unsafe fn asked_to_end(signal: libc::c_int) {
    // SAFETY: zero is the default action; these calls may be made in a handler.
    unsafe {
        if (*(&raw const WATCHES)).is_empty() {
            let default: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &default, std::ptr::null_mut());
            libc::raise(signal);
            return;
        }
        let now = real_clock(libc::CLOCK_MONOTONIC);
        if runtime::stopped_by_signal().is_some() {
            // A terminal sends it to us and to the command, which hands it on. Whoever asks again means at once.
            if SEEN.since != 0 && now - SEEN.since > 300_000_000 {
                report_out::last_words();
            }
            return;
        }
        SEEN.since = now;
        runtime::stop_for_signal(signal);
        set_timer(1, STOPPING, STOPPING);
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
        if runtime::STOP_SIGNALS.contains(&signal) {
            return asked_to_end(signal);
        }
        let mut why = None;
        if signal == TICK {
            let value = (*info).si_value().sival_ptr as usize;
            if value >= HANDED_ON {
                return asked_to_end((value - HANDED_ON) as libc::c_int);
            }
            let of_stop = value == 1;
            why = if of_stop || runtime::is_stopping() { has_to_stop(at) } else { is_stuck(at) };
            if why.is_none() {
                return;
            }
        }
        if !runtime::in_program() {
            let mut default: libc::sigaction = std::mem::zeroed();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &default, std::ptr::null_mut());
            return;
        }
        let stack = registers[libc::REG_RSP as usize] as usize;
        CRASH = Crash { signal, address, at, code: (*info).si_code, stack, why };
        // Below the red zone, aligned as after a call.
        let stack = (registers[libc::REG_RSP as usize] as usize - 128) & !15;
        registers[libc::REG_RSP as usize] = (stack - 8) as i64;
        registers[libc::REG_RIP as usize] = crashed as *const () as i64;
    }
}

/// Where a thread goes on that has crashed.
extern "C" fn crashed() -> ! {
    // SAFETY: written by the handler just now.
    let Crash { signal, address, at, code, stack, why } = unsafe { CRASH };
    // An address is a place as a return address is: just behind the instruction.
    let inside = matches!(
        crate::modules::owner(at),
        Some(crate::modules::Owner::Raddle | crate::modules::Owner::Libc | crate::modules::Owner::System)
            | None
    );
    let place = Place::at(if inside { shim::return_address() } else { at + 1 });
    match why {
        None => {}
        Some(Stuck::Stops) => runtime::stop_here(place),
        Some(Stuck::Waits) => {
            let message = "the thread waits in the kernel for something from outside, such as input, a connection or another process. \
                           Input and output that blocks is not modelled: give the program what it waits for (a file, `< /dev/null`), or \
                           check it with a function of your own in the place of that call";
            runtime::fail(FailureKind::Limit, message.to_owned(), caller(stack).unwrap_or(place));
        }
        Some(Stuck::Computes) => {
            // Where it is just now differs from run to run.
            let place = runtime::last_place().unwrap_or(place);
            let message = "the thread computes for longer than the watchdog allows without any operation that others could see. If the \
                           computation ends, allow it more (--watchdog SECONDS, RADDLE_WATCHDOG; 0 for no limit). A loop that waits for \
                           a variable which the compiler keeps in a register does not end";
            runtime::fail(FailureKind::Limit, message.to_owned(), place);
        }
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
        libc::SIGSEGV if code == 128 => "SIGSEGV: an address that no memory can have".to_owned(),
        libc::SIGSEGV if address == 0 => "SIGSEGV: a null pointer is dereferenced".to_owned(),
        libc::SIGSEGV if address < 4096 => {
            format!("SIGSEGV: a null pointer is dereferenced (at offset {address})")
        }
        libc::SIGSEGV => format!("SIGSEGV: there is no such memory: {address:#x}"),
        libc::SIGBUS => format!("SIGBUS: bad memory access at {address:#x}"),
        libc::SIGFPE if code == 1 => DIVISION_BY_ZERO.to_owned(),
        libc::SIGFPE => "SIGFPE: arithmetic error".to_owned(),
        libc::SIGILL => "SIGILL: an instruction that does not exist".to_owned(),
        libc::SIGTRAP => "SIGTRAP: a trap".to_owned(),
        libc::SIGABRT => "SIGABRT was raised".to_owned(),
        n => format!("signal {n}"),
    }
}
