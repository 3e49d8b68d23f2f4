//! Signals of the program: what it wants done about them.
//!
//! Actions are kept here and never told to the kernel: signals from outside are not the program's.

use crate::crash;
use crate::modules::{self, Owner};
use crate::real::real;
use crate::shim::{Call, call, export, return_address};
use explore::{CaveatKind, FailureKind};
use std::ffi::c_int;

/// One more than the highest number of a signal.
const MOST: usize = 65;

/// What is done about a signal.
#[derive(Clone, Copy)]
struct Action {
    handler: usize,
    flags: c_int,
    mask: u64,
}

const DEFAULT: Action = Action { handler: libc::SIG_DFL, flags: 0, mask: 0 };

struct Signals {
    actions: [Action; MOST],
    /// The same before `main`.
    before: [Action; MOST],
    /// Some action has changed in this execution.
    changed: bool,
}

static mut SIGNALS: Signals = Signals { actions: [DEFAULT; MOST], before: [DEFAULT; MOST], changed: false };

fn signals() -> &'static mut Signals {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut SIGNALS) }
}

/// Called before the first execution.
pub(crate) fn prepare() {
    let all = signals();
    all.before = all.actions;
}

/// An execution begins.
#[inline]
pub(crate) fn begin() {
    let all = signals();
    if all.changed {
        all.changed = false;
        all.actions = all.before;
    }
}

/// Whether the call that has just come in is one of the program, in an execution or before `main`.
fn of_program() -> bool {
    match modules::owner(return_address()) {
        Some(Owner::Program) => true,
        Some(Owner::Raddle | Owner::Libc) | None => false,
        Some(Owner::System) => runtime::in_execution(),
    }
}

/// The first word of a set of signals has all that there are.
fn bits(set: &libc::sigset_t) -> u64 {
    // SAFETY: a set is an array of words.
    unsafe { std::ptr::from_ref(set).cast::<u64>().read() }
}

fn set_bits(set: &mut libc::sigset_t, bits: u64) {
    // SAFETY: as above; all zero is the empty set.
    unsafe {
        std::ptr::from_mut(set).write_bytes(0, 1);
        std::ptr::from_mut(set).cast::<u64>().write(bits);
    }
}

/// Sets an action; gives the one before.
fn set(signal: c_int, action: Action) -> Action {
    let all = signals();
    let entry = &mut all.actions[signal as usize];
    let old = *entry;
    *entry = action;
    if runtime::in_execution() {
        all.changed = true;
        if action.handler > libc::SIG_IGN && !is_synchronous(signal) {
            let text = format!("the handler of {} is not run", name(signal));
            runtime::caveat_at(CaveatKind::Signal, text, call().place);
        }
    }
    old
}

/// Whether a signal comes from what a thread does itself. A fault is a failure of the execution before its handler would run, and
/// [`broken_pipe`] runs the handler of SIGPIPE: nothing is left out.
fn is_synchronous(signal: c_int) -> bool {
    crash::SIGNALS.contains(&signal) || matches!(signal, libc::SIGSYS | libc::SIGPIPE)
}

fn is_valid(signal: c_int) -> bool {
    (1..MOST as c_int).contains(&signal)
}

/// A handler of the program for a signal that its own mistakes raise is not called: the failure is reported instead.
extern "C" fn set_action(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if !of_program() {
        return real!(sigaction(signal, new, old): fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    }
    if !is_valid(signal) || !new.is_null() && matches!(signal, libc::SIGKILL | libc::SIGSTOP) {
        return crate::sync::with_errno(libc::EINVAL);
    }
    let before = signals().actions[signal as usize];
    // SAFETY: the program hands in an action or nothing.
    if let Some(new) = unsafe { new.as_ref() } {
        let action = Action { handler: new.sa_sigaction, flags: new.sa_flags, mask: bits(&new.sa_mask) };
        set(signal, action);
    }
    // SAFETY: the program hands in a place or nothing.
    unsafe {
        if !old.is_null() {
            old.write_bytes(0, 1);
            (*old).sa_sigaction = before.handler;
            (*old).sa_flags = before.flags;
            set_bits(&mut (*old).sa_mask, before.mask);
        }
    }
    0
}

extern "C" fn set_handler(signal: c_int, handler: usize) -> usize {
    if !of_program() {
        return real!(signal(signal, handler): fn(c_int, usize) -> usize);
    }
    if !is_valid(signal) || matches!(signal, libc::SIGKILL | libc::SIGSTOP) {
        crate::sync::with_errno(libc::EINVAL);
        return libc::SIG_ERR;
    }
    set(signal, Action { handler, flags: libc::SA_RESTART, mask: 0 }).handler
}

/// What a signal is called.
pub(crate) fn name(signal: c_int) -> String {
    let known = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGCHLD, "SIGCHLD"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGVTALRM, "SIGVTALRM"),
        (libc::SIGPROF, "SIGPROF"),
    ];
    known.iter().find(|k| k.0 == signal).map_or_else(|| format!("signal {signal}"), |k| k.1.to_owned())
}

/// The running thread writes to a pipe that nobody can read: it gets a signal, which ends the process unless it is ignored.
pub(crate) fn broken_pipe(call: Call) {
    match signals().actions[libc::SIGPIPE as usize].handler {
        libc::SIG_IGN => {}
        libc::SIG_DFL => {
            runtime::settle();
            let message =
                "SIGPIPE ends the program: it writes to a pipe that nobody can read any more".to_owned();
            runtime::fail(FailureKind::Signal, message, call.place);
        }
        handler => {
            // SAFETY: the program has set this handler; the signal comes from what its own thread does.
            unsafe {
                crate::threads::run_handler(handler as *const std::ffi::c_void, libc::SIGPIPE as usize, 0)
            };
        }
    }
}

/// The running thread sends itself a signal, and its handler runs at once.
extern "C" fn raise_here(signal: c_int) -> c_int {
    let by_mistake =
        [libc::SIGABRT, libc::SIGSEGV, libc::SIGFPE, libc::SIGILL, libc::SIGBUS, libc::SIGTRAP, libc::SIGSYS];
    if !runtime::in_execution() || !of_program() || !is_valid(signal) || by_mistake.contains(&signal) {
        return real!(raise(signal): fn(c_int) -> c_int);
    }
    let harmless = [libc::SIGCHLD, libc::SIGURG, libc::SIGWINCH, libc::SIGCONT].contains(&signal);
    match signals().actions[signal as usize].handler {
        libc::SIG_IGN => {}
        libc::SIG_DFL if harmless => {}
        libc::SIG_DFL => {
            let call = call();
            runtime::settle();
            let message = format!("{} ends the program, which raises it", name(signal));
            runtime::fail(FailureKind::Signal, message, call.place);
        }
        handler => {
            // SAFETY: the program has set this handler; the signal comes from what its own thread does.
            unsafe { crate::threads::run_handler(handler as *const std::ffi::c_void, signal as usize, 0) };
        }
    }
    0
}

export! {
    raise => raise_here;
    sigaction => set_action;
    signal => set_handler;
}
