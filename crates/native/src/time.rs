//! Time, as programs read it: the clock of the search (`runtime::time`).
//!
//! A sleep is a yield that moves the clock of its thread on: how long it takes says nothing about what others do meanwhile. A wait that
//! times out moves it to its limit. A reading gives the same time as before, or a late one. Clocks of CPU time are
//! the same clock: a thread may have run for as long as it likes.

use crate::real::real;
use crate::shim::{call, export, export_past};
use crate::sync::with_errno;

const SECOND: u64 = 1_000_000_000;
/// When executions begin, on the clock of the world.
const EPOCH: u64 = 1_700_000_000 * SECOND;
/// And on clocks that count from the start of the machine.
const BOOT: u64 = 1_000_000 * SECOND;

fn base(clock: libc::clockid_t) -> u64 {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => EPOCH,
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => 0,
        _ => BOOT,
    }
}

/// Reads a clock.
fn read(clock: libc::clockid_t) -> u64 {
    let call = call();
    runtime::settle();
    if crate::std_locks::asks_for_a_limit() {
        return base(clock);
    }
    if let Some(passed) = crate::std_locks::time_in_wait() {
        return base(clock).saturating_add(passed);
    }
    if crate::rust_tests::is_in_harness() {
        // How long a test takes is nothing to it.
        return base(clock).saturating_add(now());
    }
    if base(clock) == EPOCH && crate::rust_tests::is_rust() {
        note_date(call.place);
    }
    base(clock).saturating_add(runtime::clock_read_in(call.place, call.state))
}

/// The execution in which the clock of the world was read last.
static mut DATED: u64 = 0;

/// A Rust test reads the clock of the world. It never goes back here, which a program can tell that reads it twice.
fn note_date(place: runtime::Place) {
    let now = crate::threads::execution();
    // SAFETY: one OS thread alone runs code of the program.
    if unsafe { std::mem::replace(&mut *(&raw mut DATED), now) } == now {
        let text =
            "SystemTime never goes back, although the clock of the world can be set between two readings";
        runtime::caveat_at(explore::CaveatKind::Clock, text, place);
    }
}

fn nanoseconds(t: &libc::timespec) -> Option<u64> {
    let valid = t.tv_sec >= 0 && (0..SECOND as i64).contains(&t.tv_nsec);
    valid.then(|| (t.tv_sec as u64).saturating_mul(SECOND).saturating_add(t.tv_nsec as u64))
}

fn timespec(n: u64) -> libc::timespec {
    libc::timespec { tv_sec: (n / SECOND) as i64, tv_nsec: (n % SECOND) as i64 }
}

/// Whether the nanoseconds of a time limit are valid. Calls that wait fail with `EINVAL` otherwise.
pub(crate) fn is_valid(until: *const libc::timespec) -> bool {
    // SAFETY: the program hands in a time or nothing.
    unsafe { until.as_ref() }.is_none_or(|t| (0..SECOND as i64).contains(&t.tv_nsec))
}

/// Whether a time is a duration: not negative, and with valid nanoseconds.
pub(crate) fn is_duration(time: &libc::timespec) -> bool {
    nanoseconds(time).is_some()
}

/// Whether a time limit of the kernel is valid, or there is none.
pub(crate) fn may_be_limit(time: *const libc::timespec) -> bool {
    // SAFETY: the program hands in a time or nothing.
    unsafe { time.as_ref() }.is_none_or(is_duration)
}

/// Whether the kernel has timers and sleeps by a clock that exists.
pub(crate) fn has_sleeps(clock: libc::clockid_t) -> bool {
    !matches!(clock, libc::CLOCK_MONOTONIC_RAW | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_MONOTONIC_COARSE)
}

/// The time limit of the running thread is over.
pub(crate) fn reach(clock: libc::clockid_t, until: *const libc::timespec) {
    // SAFETY: the program hands in a time or nothing.
    let Some(until) = (unsafe { until.as_ref() }).and_then(nanoseconds) else { return };
    runtime::clock_reach(until.saturating_sub(base(clock)));
}

/// The time of the running thread, in nanoseconds since the execution began.
pub(crate) fn now() -> u64 {
    runtime::clock_now()
}

/// When a time limit is over: after a duration, or at a time of a clock.
pub(crate) fn due(time: &libc::timespec, clock: Option<libc::clockid_t>) -> u64 {
    let n = nanoseconds(time).unwrap_or(0);
    match clock {
        Some(clock) => n.saturating_sub(base(clock)),
        None => now().saturating_add(n),
    }
}

/// It is this late at least, for the running thread.
pub(crate) fn at_least(time: u64) {
    runtime::clock_reach(time);
}

/// Others may run while the running thread waits for the time alone.
pub(crate) fn let_others_run(call: crate::shim::Call) {
    runtime::yield_in(call.place, call.state);
}

/// How long it is from now, on the running thread's clock, until a time limit.
pub(crate) fn left(clock: libc::clockid_t, until: *const libc::timespec) -> std::time::Duration {
    // SAFETY: the program hands in a time or nothing.
    let until = unsafe { until.as_ref() };
    if until.is_some_and(|t| t.tv_sec < 0) {
        // A time before the clock began is over.
        return std::time::Duration::ZERO;
    }
    let Some(until) = until.and_then(nanoseconds) else { return std::time::Duration::MAX };
    let now = base(clock).saturating_add(now());
    std::time::Duration::from_nanos(until.saturating_sub(now))
}

/// A call with a limit: `attempt` gives `busy` where it would have to wait, and `wait` waits for ever. Where limits are patient, the call
/// waits, or it times out when nothing else can run. Otherwise it times out whenever the search lets it run too early.
pub(crate) fn within(
    left: std::time::Duration,
    busy: libc::c_int,
    call: crate::shim::Call,
    wait: impl FnOnce() -> libc::c_int,
    attempt: impl FnOnce() -> libc::c_int,
) -> libc::c_int {
    let nanoseconds = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
    match runtime::clock_decide_patiently(nanoseconds, call.place) {
        runtime::Patience::Impatient => attempt(),
        runtime::Patience::Waits => {
            let code = wait();
            runtime::clock_wait_ended();
            code
        }
        runtime::Patience::TimesOut => {
            let code = attempt();
            if code != busy {
                // A call that gets what it needs has waited for it in another execution.
                runtime::prune();
            }
            code
        }
    }
}

/// How long after the beginning of the execution a time is.
pub(crate) fn since_start(clock: libc::clockid_t, time: *const libc::timespec) -> std::time::Duration {
    // SAFETY: the program hands in a time or nothing.
    let time = unsafe { time.as_ref() };
    let is_over = time.is_some_and(|t| t.tv_sec < 0);
    let time = if is_over { 0 } else { time.and_then(nanoseconds).unwrap_or(u64::MAX) };
    std::time::Duration::from_nanos(time.saturating_sub(base(clock)))
}

/// The running thread lets time pass.
pub(crate) fn pass(nanoseconds: u64) {
    runtime::clock_pass(nanoseconds);
}

/// Sleeps. Says whether a signal has ended it before its time.
fn sleep_for(nanoseconds: u64) -> bool {
    let call = call();
    runtime::settle();
    if nanoseconds > 0 && crate::signals::is_interrupted(true, || true, call) {
        return true;
    }
    if !runtime::clock_sleep_patiently(nanoseconds, call.place) {
        pass(nanoseconds);
        runtime::yield_in(call.place, call.state);
    }
    false
}

/// Writes how much of a sleep is left: all of it.
fn write_left(left: *mut libc::timespec, time: u64) {
    if !left.is_null() {
        // SAFETY: the program hands in a place for the time.
        unsafe { left.write(timespec(time)) };
    }
}

extern "C" fn sleep_here(seconds: libc::c_uint) -> libc::c_uint {
    if !runtime::in_execution() {
        return real!(sleep(seconds): fn(libc::c_uint) -> libc::c_uint);
    }
    if sleep_for(seconds as u64 * SECOND) { seconds } else { 0 }
}

extern "C" fn usleep_here(micros: libc::c_uint) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(usleep(micros): fn(libc::c_uint) -> libc::c_int);
    }
    with_errno(if sleep_for(micros as u64 * 1000) { libc::EINTR } else { 0 })
}

extern "C" fn nanosleep_here(time: *const libc::timespec, left: *mut libc::timespec) -> libc::c_int {
    if !runtime::in_execution() {
        return nanosleep_inside(time, left);
    }
    // SAFETY: the program hands in a time.
    match unsafe { time.as_ref() }.and_then(nanoseconds) {
        Some(n) if sleep_for(n) => {
            write_left(left, n);
            with_errno(libc::EINTR)
        }
        Some(_) => 0,
        None => with_errno(libc::EINVAL),
    }
}

extern "C" fn nanosleep_inside(time: *const libc::timespec, left: *mut libc::timespec) -> libc::c_int {
    real!(nanosleep(time, left): fn(*const libc::timespec, *mut libc::timespec) -> libc::c_int)
}

extern "C" fn clock_nanosleep_here(
    clock: libc::clockid_t,
    flags: libc::c_int,
    time: *const libc::timespec,
    rest: *mut libc::timespec,
) -> libc::c_int {
    if !runtime::in_execution() {
        return clock_nanosleep_inside(clock, flags, time, rest);
    }
    if !is_clock(clock) || clock == libc::CLOCK_THREAD_CPUTIME_ID {
        return libc::EINVAL;
    }
    if !has_sleeps(clock) {
        return libc::EOPNOTSUPP;
    }
    // SAFETY: the program hands in a time.
    let Some(n) = unsafe { time.as_ref() }.and_then(nanoseconds) else { return libc::EINVAL };
    if flags & libc::TIMER_ABSTIME != 0 {
        if crate::signals::is_interrupted(true, || true, call()) {
            return libc::EINTR;
        }
        let left = u64::try_from(left(clock, time).as_nanos()).unwrap_or(u64::MAX);
        if !runtime::clock_sleep_patiently(left, call().place) {
            reach(clock, time);
            sleep_for(0);
        }
    } else if sleep_for(n) {
        write_left(rest, n);
        return libc::EINTR;
    }
    0
}

extern "C" fn clock_nanosleep_inside(
    clock: libc::clockid_t,
    flags: libc::c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> libc::c_int {
    real!(clock_nanosleep(clock, flags, time, left):
        fn(libc::clockid_t, libc::c_int, *const libc::timespec, *mut libc::timespec) -> libc::c_int)
}

extern "C" fn clock_gettime_here(clock: libc::clockid_t, out: *mut libc::timespec) -> libc::c_int {
    if !runtime::in_execution() {
        return clock_gettime_inside(clock, out);
    }
    if !is_clock(clock) {
        return with_errno(libc::EINVAL);
    }
    // SAFETY: the program hands in a place for the time.
    unsafe { out.write(timespec(read(clock))) };
    0
}

/// Whether a wait for an object of threads may have a limit by this clock.
pub(crate) fn is_clock_of_waits(clock: libc::clockid_t) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC)
}

/// Whether there is a clock with this number.
pub(crate) fn is_clock(clock: libc::clockid_t) -> bool {
    let mut scratch = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    (0..=libc::CLOCK_BOOTTIME).contains(&clock)
        || crate::libc::keeping_errno(|| clock_gettime_inside(clock, &mut scratch)) == 0
}

extern "C" fn clock_gettime_inside(clock: libc::clockid_t, out: *mut libc::timespec) -> libc::c_int {
    real!(clock_gettime(clock, out): fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int)
}

extern "C" fn gettimeofday_here(out: *mut libc::timeval, zone: *mut libc::c_void) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(gettimeofday(out, zone): fn(*mut libc::timeval, *mut libc::c_void) -> libc::c_int);
    }
    let now = read(libc::CLOCK_REALTIME);
    if !out.is_null() {
        let time = libc::timeval { tv_sec: (now / SECOND) as i64, tv_usec: (now % SECOND / 1000) as i64 };
        // SAFETY: the program hands in a place for the time.
        unsafe { out.write(time) };
    }
    0
}

extern "C" fn time_here(out: *mut libc::time_t) -> libc::time_t {
    if !runtime::in_execution() {
        return real!(time(out): fn(*mut libc::time_t) -> libc::time_t);
    }
    let now = (read(libc::CLOCK_REALTIME) / SECOND) as libc::time_t;
    if !out.is_null() {
        // SAFETY: the program hands in a place for the time.
        unsafe { out.write(now) };
    }
    now
}

extern "C" fn timespec_get_here(out: *mut libc::timespec, base: libc::c_int) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(timespec_get(out, base): fn(*mut libc::timespec, libc::c_int) -> libc::c_int);
    }
    if base != 1 {
        return 0;
    }
    // SAFETY: the program hands in a place for the time.
    unsafe { out.write(timespec(read(libc::CLOCK_REALTIME))) };
    base
}

extern "C" fn clock_here() -> libc::clock_t {
    if !runtime::in_execution() {
        return real!(clock(): fn() -> libc::clock_t);
    }
    (read(libc::CLOCK_PROCESS_CPUTIME_ID) / 1000) as libc::clock_t
}

extern "C" fn times_here(out: *mut libc::tms) -> libc::clock_t {
    if !runtime::in_execution() {
        return real!(times(out): fn(*mut libc::tms) -> libc::clock_t);
    }
    const TICK: u64 = SECOND / 100;
    let now = read(libc::CLOCK_PROCESS_CPUTIME_ID);
    let ticks = |n: u64| (n / TICK) as libc::clock_t;
    if !out.is_null() {
        let of_user = libc::tms { tms_utime: ticks(now), tms_stime: 0, tms_cutime: 0, tms_cstime: 0 };
        // SAFETY: the program hands in a place for the times.
        unsafe { out.write(of_user) };
    }
    ticks(BOOT + now)
}

extern "C" fn usage_here(of: libc::c_int, out: *mut libc::rusage) -> libc::c_int {
    let done = real!(getrusage(of, out): fn(libc::c_int, *mut libc::rusage) -> libc::c_int);
    if runtime::in_execution() && done == 0 && of != libc::RUSAGE_CHILDREN {
        let now = read(libc::CLOCK_PROCESS_CPUTIME_ID);
        let time = libc::timeval { tv_sec: (now / SECOND) as i64, tv_usec: (now % SECOND / 1000) as i64 };
        // SAFETY: the C library has written all of it.
        unsafe {
            (*out).ru_utime = time;
            (*out).ru_stime = libc::timeval { tv_sec: 0, tv_usec: 0 };
        }
    }
    done
}

extern "C" fn give_way() -> libc::c_int {
    if !runtime::in_execution() {
        return give_way_inside();
    }
    let call = call();
    runtime::yield_in(call.place, call.state);
    0
}

extern "C" fn give_way_inside() -> libc::c_int {
    real!(sched_yield(): fn() -> libc::c_int)
}

/// `thrd_sleep` of C11: 0, or a negative number for an error.
extern "C" fn thrd_sleep_here(time: *const libc::timespec, left: *mut libc::timespec) -> libc::c_int {
    let before = crate::libc::errno();
    let code = match nanosleep_here(time, left) {
        0 => 0,
        _ if crate::libc::errno() == libc::EINTR => -1,
        _ => -2,
    };
    crate::libc::set_errno(before);
    code
}

extern "C" fn thrd_yield_here() {
    give_way();
}

export_past! {
    nanosleep => nanosleep_here, nanosleep_inside;
    clock_nanosleep => clock_nanosleep_here, clock_nanosleep_inside;
    clock_gettime => clock_gettime_here, clock_gettime_inside;
    sched_yield => give_way, give_way_inside;
}

export! {
    sleep => sleep_here;
    usleep => usleep_here;
    gettimeofday => gettimeofday_here;
    time => time_here;
    timespec_get => timespec_get_here;
    clock => clock_here;
    times => times_here;
    getrusage => usage_here;
    pthread_yield => give_way;
    thrd_sleep => thrd_sleep_here;
    thrd_yield => thrd_yield_here;
}
