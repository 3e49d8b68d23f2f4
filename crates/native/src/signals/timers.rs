//! Timers: `alarm`, `setitimer` and `timer_create`.
//!
//! A timer that is set is a thread. It expires at any time after it was set, unless it was stopped before. Then it sends a signal to
//! the process, or it calls the function of `SIGEV_THREAD`.

use super::{
    NOTHING, Of, change, check, is_valid, look, of, point_before, send_to_process, sends, signals,
    timer_object,
};
use crate::real::real;
use crate::shim::{Call, call, export};
use crate::sync::{not_modelled, with_errno};
use crate::threads;
use explore::CaveatKind;
use runtime::{LocalState, Place};
use std::ffi::{c_int, c_uint, c_void};

/// A timer of the running execution.
#[derive(Clone, Copy)]
pub(super) struct Timer {
    used: bool,
    /// The signal that it sends, or 0.
    signal: c_int,
    /// The function that it calls with `value`, or 0.
    function: usize,
    value: usize,
    /// How often it was set or stopped.
    version: u64,
    interval: bool,
}

/// The number of timers that a process can have at once.
pub(super) const TIMERS: usize = 32;
pub(super) const NO_TIMER: Timer =
    Timer { used: false, signal: 0, function: 0, value: 0, version: 0, interval: false };
/// The timer of `alarm` and `setitimer`; others come after it.
const ALARM: usize = 0;
/// How often a timer with an interval expires.
const EXPIRATIONS: u32 = 2;

/// Sets or stops a timer, as a step. Says whether it was set before.
fn set_timer(i: usize, is_set: bool, interval: bool, call: Call) -> bool {
    signals().changed = true;
    runtime::settle();
    point_before(call);
    if is_set {
        sends(signals().timers[i].signal);
    }
    let timer = &mut signals().timers[i];
    timer.version += 1;
    timer.interval = interval;
    let version = timer.version;
    let by_function = timer.function != 0;
    let before = change(&timer_object(i), call, |_| version << 1 | u64::from(is_set));
    if !is_set {
        return before & 1 != 0;
    }
    if interval {
        let text = format!("a timer with an interval was explored with up to {EXPIRATIONS} expirations");
        runtime::caveat_at(CaveatKind::Signal, text, call.place);
    }
    // A function runs in a thread of its own each time.
    let times = if interval && by_function { EXPIRATIONS } else { 1 };
    for _ in 0..times {
        let argument = (i as u64 | version << 8) as usize as *mut c_void;
        let t = threads::start(clock, argument, true, None, call.place);
        runtime::name_thread(t, "timer".to_owned());
        // It starts when the running thread takes its next step.
        *of(t.index()) = Of { is_timer: true, mask: u64::MAX, ..NOTHING };
    }
    before & 1 != 0
}

/// What a timer does when it expires.
unsafe extern "C" fn clock(argument: *mut c_void) -> *mut c_void {
    let (i, version) = (argument as usize & 0xff, argument as u64 >> 8);
    let call = Call { place: runtime::last_place().unwrap_or(Place::at(0)), state: LocalState::UNKNOWN };
    let Timer { signal, function, value, interval, .. } = signals().timers[i];
    let expected = version << 1 | 1;
    let after = if interval { expected } else { version << 1 };
    let times = if interval && function == 0 { EXPIRATIONS } else { 1 };
    for _ in 0..times {
        let before = change(&timer_object(i), call, |old| if old == expected { after } else { old });
        if before != expected {
            break;
        }
        if function != 0 {
            // SAFETY: the program asked for this function to be called with this value.
            unsafe { threads::run_handler(function as *const c_void, value, 0) };
        } else {
            const KERNEL: c_int = 0x80;
            const TIMER: c_int = -2;
            signals().codes[signal as usize] = if i == ALARM { (KERNEL, 0) } else { (TIMER, value) };
            send_to_process(signal, call);
        }
    }
    std::ptr::null_mut()
}

extern "C" fn alarm_here(seconds: c_uint) -> c_uint {
    if !runtime::in_execution() || !super::of_program() {
        return real!(alarm(seconds): fn(c_uint) -> c_uint);
    }
    let call = call();
    signals().timers[ALARM].signal = libc::SIGALRM;
    c_uint::from(set_timer(ALARM, seconds > 0, false, call))
}

extern "C" fn ualarm_here(first: c_uint, interval: c_uint) -> c_uint {
    if !runtime::in_execution() || !super::of_program() {
        return real!(ualarm(first, interval): fn(c_uint, c_uint) -> c_uint);
    }
    let call = call();
    signals().timers[ALARM].signal = libc::SIGALRM;
    c_uint::from(set_timer(ALARM, first > 0, interval > 0, call))
}

extern "C" fn setitimer_here(which: c_int, new: *const libc::itimerval, old: *mut libc::itimerval) -> c_int {
    if !runtime::in_execution() || !super::of_program() {
        return real!(setitimer(which, new, old): fn(c_int, *const libc::itimerval, *mut libc::itimerval) -> c_int);
    }
    let call = call();
    if !(libc::ITIMER_REAL..=libc::ITIMER_PROF).contains(&which) {
        return with_errno(libc::EINVAL);
    }
    if which != libc::ITIMER_REAL {
        not_modelled("a timer of CPU time", call);
    }
    if new.is_null() {
        return with_errno(libc::EFAULT);
    }
    // SAFETY: the program hands in a time.
    let new = unsafe { *new };
    let is = |t: libc::timeval| t.tv_sec != 0 || t.tv_usec != 0;
    let is_valid = |t: libc::timeval| t.tv_sec >= 0 && (0..1_000_000).contains(&t.tv_usec);
    if !is_valid(new.it_value) || !is_valid(new.it_interval) {
        return with_errno(libc::EINVAL);
    }
    signals().timers[ALARM].signal = libc::SIGALRM;
    let was_set = set_timer(ALARM, is(new.it_value), is(new.it_interval), call);
    if !old.is_null() {
        crate::access::access(old as usize, size_of::<libc::itimerval>(), true, call);
        // SAFETY: the program hands in a place for a time.
        unsafe {
            old.write_bytes(0, 1);
            (*old).it_value.tv_usec = i64::from(was_set);
        }
    }
    0
}

extern "C" fn timer_create_here(
    kind: libc::clockid_t,
    event: *const libc::sigevent,
    out: *mut usize,
) -> c_int {
    if !runtime::in_execution() || !super::of_program() {
        return real!(timer_create(kind, event, out): fn(libc::clockid_t, *const libc::sigevent, *mut usize) -> c_int);
    }
    let call = call();
    runtime::settle();
    if !crate::time::is_clock(kind) {
        return with_errno(libc::EINVAL);
    }
    if !crate::time::has_sleeps(kind) {
        return with_errno(libc::EOPNOTSUPP);
    }
    if matches!(kind, libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID) {
        not_modelled("a timer of CPU time", call);
    }
    let Some(i) = (1..TIMERS).find(|i| !signals().timers[*i].used) else {
        not_modelled("more than 31 timers", call);
    };
    let mut timer = Timer { used: true, signal: libc::SIGALRM, ..NO_TIMER };
    // SAFETY: the program hands in an event or nothing. The value comes first, then the number and the kind, then the function.
    unsafe {
        if !event.is_null() {
            let words = event.cast::<usize>();
            timer.value = words.read();
            timer.signal = (*event).sigev_signo;
            match (*event).sigev_notify {
                libc::SIGEV_SIGNAL if !is_valid(timer.signal) => return with_errno(libc::EINVAL),
                libc::SIGEV_SIGNAL => {}
                libc::SIGEV_NONE => timer.signal = 0,
                libc::SIGEV_THREAD => (timer.function, timer.signal) = (words.add(2).read(), 0),
                libc::SIGEV_THREAD_ID => not_modelled("a timer that sends a signal to one thread", call),
                _ => return with_errno(libc::EINVAL),
            }
        }
    }
    if timer.function == 0 && timer.signal != 0 {
        if !is_valid(timer.signal) {
            return with_errno(libc::EINVAL);
        }
        check(timer.signal, call);
    }
    signals().changed = true;
    timer.version = signals().timers[i].version;
    signals().timers[i] = timer;
    crate::access::access(out as usize, 8, true, call);
    // SAFETY: the program hands in a place.
    unsafe { out.write(i) };
    0
}

fn timer_of(id: usize) -> Option<usize> {
    (1..TIMERS).contains(&id).then_some(id).filter(|i| signals().timers[*i].used)
}

extern "C" fn timer_settime_here(
    id: usize,
    flags: c_int,
    new: *const libc::itimerspec,
    old: *mut libc::itimerspec,
) -> c_int {
    if !runtime::in_execution() || !super::of_program() {
        return real!(timer_settime(id, flags, new, old):
            fn(usize, c_int, *const libc::itimerspec, *mut libc::itimerspec) -> c_int);
    }
    let call = call();
    let Some(i) = timer_of(id).filter(|_| !new.is_null()) else { return with_errno(libc::EINVAL) };
    // SAFETY: the program hands in a time.
    let new = unsafe { *new };
    let is = |t: libc::timespec| t.tv_sec != 0 || t.tv_nsec != 0;
    let is_valid = |t: libc::timespec| t.tv_sec >= 0 && (0..1_000_000_000).contains(&t.tv_nsec);
    if !is_valid(new.it_value) || !is_valid(new.it_interval) {
        return with_errno(libc::EINVAL);
    }
    let quiet = signals().timers[i].signal == 0 && signals().timers[i].function == 0;
    let was_set = set_timer(i, is(new.it_value) && !quiet, is(new.it_interval), call);
    if !old.is_null() {
        crate::access::access(old as usize, size_of::<libc::itimerspec>(), true, call);
        // SAFETY: the program hands in a place for a time.
        unsafe {
            old.write_bytes(0, 1);
            (*old).it_value.tv_nsec = i64::from(was_set);
        }
    }
    0
}

extern "C" fn timer_gettime_here(id: usize, out: *mut libc::itimerspec) -> c_int {
    if !runtime::in_execution() || !super::of_program() {
        return real!(timer_gettime(id, out): fn(usize, *mut libc::itimerspec) -> c_int);
    }
    let call = call();
    let Some(i) = timer_of(id) else { return with_errno(libc::EINVAL) };
    let is_set = look(&timer_object(i), call) & 1 != 0;
    crate::access::access(out as usize, size_of::<libc::itimerspec>(), true, call);
    // SAFETY: the program hands in a place for a time.
    unsafe {
        out.write_bytes(0, 1);
        (*out).it_value.tv_nsec = i64::from(is_set);
    }
    0
}

extern "C" fn timer_overrun_here(id: usize) -> c_int {
    if !runtime::in_execution() || !super::of_program() {
        return real!(timer_getoverrun(id): fn(usize) -> c_int);
    }
    if timer_of(id).is_some() { 0 } else { with_errno(libc::EINVAL) }
}

extern "C" fn timer_delete_here(id: usize) -> c_int {
    if !runtime::in_execution() || !super::of_program() {
        return real!(timer_delete(id): fn(usize) -> c_int);
    }
    let call = call();
    let Some(i) = timer_of(id) else { return with_errno(libc::EINVAL) };
    set_timer(i, false, false, call);
    signals().timers[i].used = false;
    0
}

export! {
    alarm => alarm_here;
    ualarm => ualarm_here;
    setitimer => setitimer_here;
    timer_create => timer_create_here;
    timer_settime => timer_settime_here;
    timer_gettime => timer_gettime_here;
    timer_getoverrun => timer_overrun_here;
    timer_delete => timer_delete_here;
}
