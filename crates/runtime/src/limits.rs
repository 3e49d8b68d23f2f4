//! Hard limits: the time limit of a check, Ctrl-C, SIGTERM, and the limit on CPU time.
//!
//! A limit stops the search in the middle of an execution. Each session has a *stop word*, which is 0 until somebody asks the session to
//! stop: its watchdog when the time is up, or a signal handler. The running thread looks at the word before each step. If it takes no
//! step, the watchdog interrupts it: it leaves its code without unwinding, as after a stack overflow. If that does not help either,
//! because the process is stuck in raddle itself or in the kernel, the process writes what it has covered and ends
//! ([`set_last_words`]).

use crate::front;
use explore::{Stop, StopReason};
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

/// Values of a stop word. Those of signals are the number of the signal.
pub(crate) const TIME: u8 = 255;
/// A thread computed for the limit of the watchdog without a step.
pub(crate) const COMPUTES: u8 = 254;
/// A thread waited in the kernel for the limit of the watchdog.
pub(crate) const WAITS: u8 = 253;

/// The signal that asked the process to end, or 0.
static SIGNAL: AtomicU8 = AtomicU8::new(0);

/// How many sessions of Rust tests there are.
pub(crate) static CHECKS: AtomicUsize = AtomicUsize::new(0);

/// Whether a check runs. May be called by signal handlers.
pub(crate) fn has_checks() -> bool {
    CHECKS.load(Ordering::Relaxed) > 0
}

/// The stop word of a process with a front end, which has one check at a time.
pub(crate) static OF_FRONT: AtomicU8 = AtomicU8::new(0);

/// How long a session may take to stop by itself before its thread is interrupted, and then until the process ends with its last words.
pub const INTERRUPT_AFTER: Duration = Duration::from_millis(60);
/// See [`INTERRUPT_AFTER`].
pub const END_AFTER: Duration = Duration::from_millis(900);

/// The signals that ask a search to stop.
pub const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGXCPU];

/// Asks every search of this process to stop because of a signal. May be called by signal handlers.
pub fn stop_for_signal(signal: libc::c_int) {
    let signal = signal as u8;
    SIGNAL.store(signal, Ordering::Relaxed);
    OF_FRONT.store(signal, Ordering::Relaxed);
}

/// Asks the search of a process with a front end to stop because its time is up. May be called by signal handlers.
pub fn stop_for_time() {
    let _ = OF_FRONT.compare_exchange(0, TIME, Ordering::Relaxed, Ordering::Relaxed);
}

/// Whether the search of a process with a front end was asked to stop.
pub fn is_stopping() -> bool {
    OF_FRONT.load(Ordering::Relaxed) != 0
}

/// The signal that asked this process to end.
pub fn stopped_by_signal() -> Option<libc::c_int> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => None,
        n => Some(libc::c_int::from(n)),
    }
}

/// What the stop word of a new session is.
pub(crate) fn first_word(stop_at: Option<std::time::Instant>) -> u8 {
    match SIGNAL.load(Ordering::Relaxed) {
        0 if stop_at.is_some_and(|at| std::time::Instant::now() >= at) => TIME,
        signal => signal,
    }
}

/// What a stop word means.
pub(crate) fn stop_of(word: u8) -> Stop {
    let (reason, text) = match libc::c_int::from(word) {
        libc::SIGXCPU => (StopReason::CpuLimit, "the limit on CPU time (SIGXCPU)"),
        libc::SIGINT => (StopReason::Interrupt, "an interrupt (SIGINT)"),
        libc::SIGTERM => (StopReason::Interrupt, "a request to end (SIGTERM)"),
        _ => (StopReason::Time, "the time limit"),
    };
    Stop { reason, text: text.to_owned(), location: None, thread: None, replay: String::new() }
}

/// What writes the last words of the process; see [`set_last_words`].
type LastWords = *mut (dyn Fn(&Stop) + 'static);

static LAST_WORDS: AtomicPtr<LastWords> = AtomicPtr::new(std::ptr::null_mut());

/// Calls `f` with `words` set as what the process writes if it must end because the search does not stop. `words` is called at most
/// once, on another OS thread or in a signal handler, while the search is stuck.
///
/// Only a process with a front end has last words of its own: a process of Rust tests may have several checks at once.
pub fn set_last_words<T>(words: &dyn Fn(&Stop), f: impl FnOnce() -> T) -> T {
    if front::front().is_none() {
        return f();
    }
    // SAFETY: the pointer is used only until the guard below is dropped.
    let mut words: LastWords =
        unsafe { std::mem::transmute::<*const (dyn Fn(&Stop) + '_), LastWords>(std::ptr::from_ref(words)) };
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            LAST_WORDS.store(std::ptr::null_mut(), Ordering::Relaxed);
        }
    }
    LAST_WORDS.store(&raw mut words, Ordering::Relaxed);
    let _guard = Guard;
    f()
}

/// Writes the last words, if there are any. The caller ends the process then.
///
/// # Safety
///
/// The search of this process does not run at the same time: it is stuck, or this is a signal handler on its OS thread.
pub unsafe fn write_last_words() {
    let words = LAST_WORDS.swap(std::ptr::null_mut(), Ordering::Relaxed);
    if !words.is_null() {
        // SAFETY: set by `set_last_words`, which has not returned yet.
        unsafe { (**words)(&stop_of(OF_FRONT.load(Ordering::Relaxed))) };
    }
}

/// Writes the report of a check that was asked to end, past any capture of a test harness, and ends the process: exit code 3. Other
/// checks of the process get a moment to do the same.
pub fn end_process(report: &str) -> ! {
    crate::emergency::write(report);
    let start = std::time::Instant::now();
    while has_checks() && start.elapsed() < Duration::from_millis(300) {
        std::thread::sleep(Duration::from_millis(5));
    }
    crate::emergency::leave_with(3)
}
