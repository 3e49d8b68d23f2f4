//! The functions that a program calls to set actions and masks, to send signals and to wait for them.

use super::{
    Action, PROCESS, STANDARD, act, bit, bits, by_default, check, decide, from_outside, has_handler,
    is_fault, is_free, is_interrupted, is_valid, learned, look, me, of, of_program, point, point_before,
    put_mask, queue, send, send_to_process, sends, set, set_bits, signals, take_from, wait_for,
};
use crate::crash;
use crate::real::real;
use crate::shim::{Call, call, export};
use crate::sync::{not_modelled, with_errno};
use crate::threads;
use explore::CaveatKind;
use std::ffi::c_int;

/// Whether a program may set the action for a signal: the C library keeps two for itself.
fn has_action(signal: c_int) -> bool {
    is_valid(signal) && !matches!(signal, 32 | 33)
}

/// A handler of the program for a signal that its own mistakes raise is not called: the failure is reported instead.
extern "C" fn set_action(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if !of_program() {
        return real!(sigaction(signal, new, old): fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    }
    if !has_action(signal) || !new.is_null() && matches!(signal, libc::SIGKILL | libc::SIGSTOP) {
        return with_errno(libc::EINVAL);
    }
    let mut before = signals().actions[signal as usize];
    // SAFETY: the program hands in an action or nothing.
    if let Some(new) = unsafe { new.as_ref() } {
        let action =
            Action { handler: new.sa_sigaction, flags: new.sa_flags, mask: bits(&raw const new.sa_mask) };
        before = set(signal, action);
    }
    // SAFETY: the program hands in a place or nothing.
    unsafe {
        if !old.is_null() {
            old.write_bytes(0, 1);
            (*old).sa_sigaction = before.handler;
            (*old).sa_flags = before.flags;
            set_bits(&raw mut (*old).sa_mask, before.mask);
        }
    }
    0
}

extern "C" fn set_handler(signal: c_int, handler: usize) -> usize {
    if !of_program() {
        return real!(signal(signal, handler): fn(c_int, usize) -> usize);
    }
    if !has_action(signal) || handler == libc::SIG_ERR || matches!(signal, libc::SIGKILL | libc::SIGSTOP) {
        with_errno(libc::EINVAL);
        return libc::SIG_ERR;
    }
    set(signal, Action { handler, flags: libc::SA_RESTART, mask: 0 }).handler
}

/// What the program asks for before `main`: signals that are ours are never blocked.
fn set_real_mask(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    let mut allowed: libc::sigset_t;
    let mut set = set;
    if of_program() && !set.is_null() && how != libc::SIG_UNBLOCK {
        // SAFETY: the program hands in a set, of which this is a copy.
        unsafe {
            allowed = *set;
            crash::SIGNALS.iter().for_each(|s| {
                libc::sigdelset(&mut allowed, *s);
            });
        }
        set = &raw const allowed;
    }
    real!(pthread_sigmask(how, set, old): fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int)
}

extern "C" fn set_mask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    with_errno(set_thread_mask(how, new, old))
}

extern "C" fn set_thread_mask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    if !of_program() || !runtime::in_execution() {
        return set_real_mask(how, new, old);
    }
    let call = call();
    let before = of(me()).mask;
    let mut mask = before;
    if !new.is_null() {
        let asked = bits(new) & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP));
        mask = match how {
            libc::SIG_BLOCK => before | asked,
            libc::SIG_UNBLOCK => before & !asked,
            libc::SIG_SETMASK => asked,
            _ => return libc::EINVAL,
        };
    }
    if !old.is_null() {
        crate::access::access(old as usize, 8, true, call);
        set_bits(old, before);
    }
    if !new.is_null() {
        // A signal that comes before this call is handled before it.
        runtime::settle();
        point(call.place);
        put_mask(mask, call);
    }
    0
}

extern "C" fn raise_here(signal: c_int) -> c_int {
    let is_handled = is_valid(signal) && signals().actions[signal as usize].handler != libc::SIG_DFL;
    if !runtime::in_execution() || !of_program() || is_fault(signal) && !is_handled {
        return real!(raise(signal): fn(c_int) -> c_int);
    }
    let call = call();
    with_errno(send_here(signal, me(), call))
}

/// How `pthread_kill` and `raise` send a signal.
const SI_TKILL: c_int = -6;

/// Sends a signal to a thread; gives the number of an error.
fn send_here(signal: c_int, to: usize, call: Call) -> c_int {
    if signal == 0 {
        return 0;
    }
    if !is_valid(signal) {
        return libc::EINVAL;
    }
    check(signal, call);
    point_before(call);
    sends(signal);
    signals().codes[signal as usize] = (SI_TKILL, 0);
    if to != me() && of(to).mask & bit(signal) == 0 {
        by_default_now(signal, call);
    }
    send(signal, to, call);
    0
}

/// A signal for another thread that nothing handles ends the program.
fn by_default_now(signal: c_int, call: Call) {
    if signals().actions[signal as usize].handler == libc::SIG_DFL {
        by_default(signal, call);
    }
}

pub(crate) extern "C" fn pthread_kill_here(thread: libc::pthread_t, signal: c_int) -> c_int {
    if !runtime::in_execution() {
        return real!(pthread_kill(thread, signal): fn(libc::pthread_t, c_int) -> c_int);
    }
    let call = call();
    let t = threads::used(thread, call);
    send_here(signal, t.index(), call)
}

extern "C" fn kill_here(process: libc::pid_t, signal: c_int) -> c_int {
    if !runtime::in_execution() || !of_program() {
        return real!(kill(process, signal): fn(libc::pid_t, c_int) -> c_int);
    }
    let call = call();
    // SAFETY: asks for a number.
    if process != unsafe { libc::getpid() } {
        not_modelled("a signal to another process", call);
    }
    if signal == 0 {
        return 0;
    }
    if !is_valid(signal) {
        return with_errno(libc::EINVAL);
    }
    check(signal, call);
    point_before(call);
    sends(signal);
    signals().codes[signal as usize] = (libc::SI_USER, 0);
    send_to_process(signal, call);
    0
}

/// The running thread waits for signals of this set. Those that the program does not send come from outside, or not at all.
fn awaits(set: u64, call: Call) {
    signals().changed = true;
    signals().awaited |= set & ((1 << (STANDARD - 1)) - 1);
    from_outside(set, call);
    if set & (learned().sent | learned().outside) == 0 {
        let text = "the program waits for a signal that it does not send itself: what it does after that is not explored";
        runtime::caveat_at(CaveatKind::Signal, text, call.place);
    }
}

/// Waits for a handler to run; gives `EINTR`.
fn pause_in(call: Call) -> c_int {
    let handled = (1..STANDARD).filter(|s| has_handler(*s as usize)).fold(0, |set, s| set | bit(s));
    let mask = of(me()).mask;
    // What ends the program by default does not end the wait.
    awaits(handled & !mask, call);
    loop {
        let signal = wait_for(!mask, false, call);
        if act(signal, call) {
            return with_errno(libc::EINTR);
        }
    }
}

extern "C" fn pause_here() -> c_int {
    if !runtime::in_execution() {
        return real!(pause(): fn() -> c_int);
    }
    let call = call();
    runtime::settle();
    // A signal that comes before the wait does not end it.
    point(call.place);
    pause_in(call)
}

extern "C" fn sigsuspend_here(mask: *const libc::sigset_t) -> c_int {
    if !runtime::in_execution() {
        return real!(sigsuspend(mask): fn(*const libc::sigset_t) -> c_int);
    }
    let call = call();
    runtime::settle();
    point(call.place);
    let i = me();
    let before = of(i).mask;
    of(i).mask = bits(mask) & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP));
    if learned().sends {
        is_free(i, of(i).mask);
    }
    let code = pause_in(call);
    put_mask(before, call);
    code
}

/// Takes a signal of a set, or waits for one.
fn receive(set: u64, call: Call) -> c_int {
    runtime::settle();
    point(call.place);
    awaits(set, call);
    wait_for(set, false, call)
}

fn write_info(info: *mut c_int, signal: c_int, call: Call) {
    if !info.is_null() {
        crate::access::access(info as usize, size_of::<libc::siginfo_t>(), true, call);
        // SAFETY: the program hands in a place for what is known of the signal, which starts with its number.
        unsafe {
            super::fill(info.cast(), signal);
        }
    }
}

extern "C" fn sigwait_here(set: *const libc::sigset_t, out: *mut c_int) -> c_int {
    if !runtime::in_execution() {
        return real!(sigwait(set, out): fn(*const libc::sigset_t, *mut c_int) -> c_int);
    }
    let call = call();
    let signal = receive(bits(set), call);
    crate::access::access(out as usize, 4, true, call);
    // SAFETY: the program hands in a place for the number.
    unsafe { out.write(signal) };
    0
}

extern "C" fn sigwaitinfo_here(set: *const libc::sigset_t, info: *mut c_int) -> c_int {
    if !runtime::in_execution() {
        return real!(sigwaitinfo(set, info): fn(*const libc::sigset_t, *mut c_int) -> c_int);
    }
    let call = call();
    if is_interrupted(true, || true, call) {
        return with_errno(libc::EINTR);
    }
    let signal = receive(bits(set), call);
    write_info(info, signal, call);
    signal
}

/// Waits for a signal until a limit: it comes in time, or not.
extern "C" fn sigtimedwait_here(
    set: *const libc::sigset_t,
    info: *mut c_int,
    limit: *const libc::timespec,
) -> c_int {
    if !runtime::in_execution() {
        return real!(sigtimedwait(set, info, limit):
            fn(*const libc::sigset_t, *mut c_int, *const libc::timespec) -> c_int);
    }
    if limit.is_null() {
        return sigwaitinfo_here(set, info);
    }
    if !crate::time::may_be_limit(limit) {
        return with_errno(libc::EINVAL);
    }
    let call = call();
    if is_interrupted(true, || true, call) {
        return with_errno(libc::EINTR);
    }
    runtime::settle();
    point(call.place);
    let set = bits(set);
    signals().changed = true;
    from_outside(set, call);
    // SAFETY: the program hands in a time.
    let (seconds, nanoseconds) = unsafe { ((*limit).tv_sec, (*limit).tv_nsec) };
    let waits = seconds > 0 || nanoseconds > 0;
    let comes = learned().sent & set != 0;
    if comes && waits && decide(call.place) {
        let signal = wait_for(set, true, call);
        write_info(info, signal, call);
        return signal;
    }
    let nanoseconds = (seconds as u64).saturating_mul(1_000_000_000).saturating_add(nanoseconds as u64);
    let passed = waits && runtime::clock_sleep_patiently(nanoseconds, call.place);
    if comes {
        for q in [me(), PROCESS] {
            if look(&queue(q), call) & set == 0 {
                continue;
            }
            if waits {
                // It is taken in another execution.
                runtime::assume(false, call.place);
            }
            if let Some(signal) = take_from(q, set, call) {
                write_info(info, signal, call);
                return signal;
            }
        }
    } else if set & !learned().sent != 0 {
        let text = "the program waits for a signal that it does not send itself: what it does after that is not explored";
        runtime::caveat_at(CaveatKind::Signal, text, call.place);
    }
    if !passed {
        crate::time::pass(nanoseconds);
    }
    with_errno(libc::EAGAIN)
}

extern "C" fn sigpending_here(out: *mut libc::sigset_t) -> c_int {
    if !runtime::in_execution() || !of_program() {
        return real!(sigpending(out): fn(*mut libc::sigset_t) -> c_int);
    }
    let call = call();
    runtime::settle();
    let mut all = 0;
    if learned().sends {
        all = look(&queue(me()), call) | look(&queue(PROCESS), call);
    }
    crate::access::access(out as usize, 8, true, call);
    set_bits(out, all);
    0
}

/// A jump may leave a handler.
extern "C" fn jump(buffer: usize, value: c_int) -> c_int {
    if runtime::in_execution() {
        if of(me()).depth > 0 {
            not_modelled("`longjmp` or `siglongjmp` in a handler of a signal", call());
        }
        let call = call();
        crate::leaving::check_jump(buffer, call);
        if let Some(mask) = crate::leaving::saved_mask(buffer).filter(|mask| *mask != of(me()).mask) {
            // A signal that comes before the jump is handled before it.
            runtime::settle();
            point(call.place);
            put_mask(mask, call);
        }
    }
    real!(siglongjmp(buffer, value): fn(usize, c_int) -> c_int)
}

export! {
    sigaction => set_action;
    signal => set_handler;
    sigprocmask => set_mask;
    pthread_sigmask => set_thread_mask;
    raise => raise_here;
    pthread_kill => pthread_kill_here;
    kill => kill_here;
    pause => pause_here;
    sigsuspend => sigsuspend_here;
    sigwait => sigwait_here;
    sigwaitinfo => sigwaitinfo_here;
    sigtimedwait => sigtimedwait_here;
    sigpending => sigpending_here;
    longjmp => jump;
    _longjmp => jump;
    siglongjmp => jump;
    __longjmp_chk => jump;
}
