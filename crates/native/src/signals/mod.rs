//! Signals and timers of the program.
//!
//! Actions, masks and pending signals are kept here and never told to the kernel: signals from outside are not the program's.
//!
//! # Handlers
//!
//! A handler runs as part of the thread that it interrupts, on its stack and with its locks. Before each of its steps, and before each
//! access to memory that a handler accesses too, a thread decides as a choice whether a signal interrupts it there. If so, it waits
//! until it has a signal that it does not block, takes it, and runs the handler. If not, nothing happens: the place is not
//! ordered with the sender. An execution in which the signal never comes is not counted, as the one in which the thread does not wait
//! for it has all of its behaviour. So the search finds every place at which a signal can arrive, each once.
//!
//! A thread that waits for ever with a signal that it could take is no deadlock: it takes the signal in another execution.
//!
//! The choice is offered only while more signals can come to the thread: how many are sent to it, and to the process, in one execution is
//! learned. An execution with more of them makes the search start again. An execution in which more signals are waited for than can come is
//! given up. What is offered depends on what the thread itself has done, so masks need no steps.
//!
//! Each thread has an object for the signals that are sent to it, and the process has one: any thread takes from both. Pending
//! signals are bits, so two of a kind are one. An action is an object, too.
//!
//! A handler that runs right before an access of its thread, and accesses the same memory, could as well run in the middle of that
//! access: that is a data race, unless both are volatile accesses to a `sig_atomic_t`, or atomic operations.
//!
//! # Timers and the outside
//!
//! Timers are threads: one that sends a signal, or calls the function of `SIGEV_THREAD`, at any time after it was set, unless the timer was
//! stopped. Signals from outside do not come, unless all threads wait for ever in a program that handles or awaits one that it never sends:
//! then the search starts again, with a thread that sends it once.
//!
//! `calls` has the functions that a program calls for signals, `timers` those for timers. `safety` looks for calls of functions that are
//! not async-signal-safe. The model is in this file.
//!
//! All this is done only in programs that have a handler and send a signal or set a timer. That is learned; then the search starts again.

mod calls;
pub(crate) mod safety;
mod timers;

use timers::{NO_TIMER, TIMERS, Timer};

use crate::crash;
use crate::modules::{self, Owner};
use crate::options::{Races, options};
use crate::shim::{self, Call, call, return_address};
use crate::sync::{On, not_modelled};
use crate::threads;
use explore::{CaveatKind, FailureKind, MAX_THREADS, MemoryOrder, OpKind, ThreadId};
use runtime::{Class, LocalState, Place, Request};
use std::ffi::{c_int, c_void};

/// One more than the highest number of a signal.
const MOST: usize = 65;
/// The same for those that are modelled.
const STANDARD: c_int = 32;

/// What is done about a signal.
#[derive(Clone, Copy)]
struct Action {
    handler: usize,
    flags: c_int,
    mask: u64,
}

const DEFAULT: Action = Action { handler: libc::SIG_DFL, flags: 0, mask: 0 };

/// An access of a thread to memory that handlers access, too.
#[derive(Clone, Copy)]
struct Access {
    address: usize,
    bytes: usize,
    write: bool,
    /// To a variable that may be a `volatile sig_atomic_t`.
    volatile: bool,
}

impl Access {
    fn races_with(&self, other: &Access) -> bool {
        let overlaps =
            self.address < other.address + other.bytes && other.address < self.address + self.bytes;
        overlaps && (self.write || other.write) && !(self.volatile && other.volatile)
    }
}

/// What is kept of each thread, for one execution.
#[derive(Clone, Copy)]
struct Of {
    mask: u64,
    pending: u64,
    /// How many handlers it is in.
    depth: u32,
    /// How many signals it has taken.
    taken: u32,
    /// What it does now is no place for signals.
    busy: bool,
    /// It is a timer: it gets no signals.
    is_timer: bool,
    /// What it waits for in a call that does nothing else.
    awaited: u64,
    /// How often it has decided that a signal comes.
    decided: u32,
    /// The access that the innermost handler has interrupted.
    interrupted: Option<Access>,
    /// The call of a function that is not async-signal-safe that the innermost handler has interrupted.
    inside: Option<&'static safety::Function>,
    /// The signal whose handler the thread runs.
    handled: c_int,
    /// Where it has accessed memory of handlers without a step in between, and how often.
    turns: (Option<Place>, u32),
    /// Its alternate stack for handlers: the lowest address and the size, 0 for none, and its flags.
    stack: (usize, usize, c_int),
    /// It runs a handler that is to run on the alternate stack. It runs on that of the thread.
    on_stack: bool,
}

const NOTHING: Of = Of {
    mask: 0,
    pending: 0,
    depth: 0,
    taken: 0,
    busy: false,
    is_timer: false,
    awaited: 0,
    decided: 0,
    interrupted: None,
    inside: None,
    handled: 0,
    turns: (None, 0),
    stack: (0, 0, 0),
    on_stack: false,
};

/// So often in a row a thread may be interrupted at one access without a step in between.
const TURNS: u32 = 4;
/// After so many turns a loop does more than look.
const MANY_TURNS: u32 = 16;

struct Signals {
    actions: [Action; MOST],
    /// The same before `main`.
    before: [Action; MOST],
    threads: [Of; MAX_THREADS + 1],
    timers: [Timer; TIMERS],
    /// The program has a handler now.
    has_handler: bool,
    /// How often signals were sent to each thread and to the process,
    direct: [u32; MAX_THREADS + 1],
    /// and in all.
    sent: u32,
    /// Signals from outside that have a sender.
    outside: u64,
    /// Signals that are waited for.
    awaited: u64,
    /// How each signal was sent last (`si_code`), and the value of the timer that sent it.
    codes: [(c_int, usize); MOST],
    /// Something of all this has changed in this execution.
    changed: bool,
    /// [`ACTIVE`] is what it is before the first step of an execution.
    known: bool,
}

static mut SIGNALS: Signals = Signals {
    actions: [DEFAULT; MOST],
    before: [DEFAULT; MOST],
    threads: [NOTHING; MAX_THREADS + 1],
    timers: [NO_TIMER; TIMERS],
    has_handler: false,
    direct: [0; MAX_THREADS + 1],
    sent: 0,
    outside: 0,
    awaited: 0,
    codes: [(0, 0); MOST],
    changed: false,
    known: false,
};

/// What is learned of the program. It is allocated, so that processes share it where executions have their own.
struct Learned {
    /// It sends signals or sets timers.
    sends: bool,
    /// Which signals it sends.
    sent: u64,
    /// The most signals that are sent in one execution to each thread, and to the process,
    direct: [u32; MAX_THREADS + 1],
    /// and in all.
    most: u32,
    /// Signals that a thread does not block at some time.
    free: [u64; MAX_THREADS],
    /// Signals that come from outside, once in each execution.
    outside: u64,
    /// The hidden state that functions use that are not async-signal-safe and that handlers call.
    used_by_handlers: u32,
    /// Memory that handlers access, by granules of eight bytes, in order.
    memory: Vec<usize>,
    /// A handler writes `errno`, or a function that it calls does and the handler does not restore it.
    changes_errno: bool,
}

static mut LEARNED: *mut Learned = std::ptr::null_mut();

/// Whether a thread may be interrupted before its steps.
pub(crate) static mut ACTIVE: bool = false;
/// The access that is announced is to a volatile variable.
pub(crate) static mut VOLATILE: bool = false;

/// The process, among threads.
const PROCESS: usize = MAX_THREADS;
/// The addresses that stand for the pending signals of threads and of the process, for timers, and for actions.
static PLACE: [u64; MAX_THREADS + 1 + TIMERS + MOST] = [0; MAX_THREADS + 1 + TIMERS + MOST];

fn signals() -> &'static mut Signals {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut SIGNALS) }
}

fn learned() -> &'static mut Learned {
    // SAFETY: as above; `prepare` was called before the first execution.
    unsafe { &mut *LEARNED }
}

fn is_active() -> bool {
    // SAFETY: as in `signals`.
    unsafe { ACTIVE }
}

/// The signals that the running thread blocks.
pub(crate) fn blocked() -> u64 {
    of(me()).mask
}

/// Called before the first execution.
pub(crate) fn prepare() {
    let all = signals();
    all.before = all.actions;
    let nothing = Learned {
        sends: false,
        sent: 0,
        direct: [0; MAX_THREADS + 1],
        most: 0,
        free: [0; MAX_THREADS],
        outside: 0,
        used_by_handlers: 0,
        memory: Vec::new(),
        changes_errno: false,
    };
    // SAFETY: nothing else runs yet.
    unsafe { LEARNED = Box::leak(Box::new(nothing)) };
}

/// An execution begins.
#[inline]
pub(crate) fn begin() {
    let all = signals();
    if all.changed {
        all.changed = false;
        all.actions = all.before;
        all.threads = [NOTHING; MAX_THREADS + 1];
        all.timers = [NO_TIMER; TIMERS];
        all.direct = [0; MAX_THREADS + 1];
        all.sent = 0;
        (all.outside, all.awaited) = (0, 0);
        all.codes = [(0, 0); MOST];
        all.known = false;
    }
    // Whether there is a handler, and a signal for it, changes with the above.
    if all.known {
        if is_active() {
            runtime::have_interrupts(true);
        }
    } else {
        update();
        all.known = true;
    }
}

/// Whether the action for a signal is a handler that can run at any time.
fn has_handler(signal: usize) -> bool {
    let signal = signal as c_int;
    signals().actions[signal as usize].handler > libc::SIG_IGN && !is_fault(signal)
}

/// Whether there is such a handler.
pub(crate) fn has_handlers() -> bool {
    signals().has_handler
}

fn update() {
    let all = signals();
    all.has_handler = (1..MOST).any(has_handler);
    let active = all.has_handler && learned().sends;
    // SAFETY: as in `signals`.
    unsafe { ACTIVE = active };
    crate::access::watch();
    runtime::have_interrupts(active);
}

/// A thread begins: it has the mask of the one that makes it.
#[inline]
pub(crate) fn fresh(t: ThreadId) {
    if signals().changed | learned().sends {
        begin_thread(t);
    }
}

#[cold]
fn begin_thread(t: ThreadId) {
    let all = signals();
    let mask = if runtime::in_execution() { all.threads[runtime::current().index()].mask } else { 0 };
    // All threads have nothing until something changes.
    if all.changed {
        all.threads[t.index()] = Of { mask, ..NOTHING };
    }
    if learned().sends {
        is_free(t.index(), mask);
    }
}

/// A thread does not block the signals that are not in this mask.
fn is_free(i: usize, mask: u64) {
    let free = !mask & learned().sent;
    if learned().free[i] & free != free {
        learned().free[i] |= free;
        runtime::restart_soon();
    }
}

/// What stands for something is called this in reports.
pub(crate) fn name_of(address: usize) -> Option<String> {
    let i = address.checked_sub(&raw const PLACE as usize)? / size_of::<u64>();
    match i {
        i if i < PROCESS => Some(format!("signals of {}", runtime::label(ThreadId(i as u16)))),
        PROCESS => Some("signals of the process".to_owned()),
        i if i <= PROCESS + TIMERS => Some(format!("timer #{}", i - PROCESS)),
        i if i < PLACE.len() => Some(format!("action for {}", name((i - PROCESS - TIMERS - 1) as c_int))),
        _ => None,
    }
}

fn me() -> usize {
    runtime::current().index()
}

/// What is known of a thread. It may be changed.
fn of(i: usize) -> &'static mut Of {
    signals().changed = true;
    &mut signals().threads[i]
}

/// The program sends a signal or sets a timer.
fn sends(signal: c_int) {
    signals().changed = true;
    let sent = if is_valid(signal) { bit(signal) } else { 0 };
    if !learned().sends || learned().sent & sent != sent {
        learned().sends = true;
        learned().sent |= sent;
        // What was said before this was known may not hold.
        runtime::forget_caveats(CaveatKind::Signal);
        runtime::restart_soon();
    }
}

/// A signal is sent to a thread or to the process, which does not take it at once.
fn count_sent(to: usize) {
    let (all, learned) = (signals(), learned());
    all.direct[to] += 1;
    all.sent += 1;
    if all.direct[to] > learned.direct[to] || all.sent > learned.most {
        learned.direct[to] = learned.direct[to].max(all.direct[to]);
        learned.most = learned.most.max(all.sent);
        runtime::restart_soon();
    }
}

/// Whether there can be signals for all threads that have decided that one comes, and one more for this thread.
///
/// That depends on the number of these decisions alone. What is pending, or was taken otherwise, does not count: it may be different in
/// another order of the same steps, and executions of all orders are found from each other.
pub(crate) fn can_come(t: ThreadId) -> bool {
    let (all, learned) = (signals(), learned());
    let (mut total, mut from_process) = (1, 0);
    for (i, of) in all.threads[..MAX_THREADS].iter().enumerate() {
        let decided = of.decided + u32::from(i == t.index());
        total += of.decided;
        from_process += decided.saturating_sub(learned.direct[i]);
    }
    total <= learned.most && from_process <= learned.direct[PROCESS]
}

/// A local state that is that of no other call: a look for signals alone is never what a loop repeats.
fn unique() -> LocalState {
    static mut CALLS: usize = 0;
    // SAFETY: one OS thread alone runs code of the program.
    unsafe {
        CALLS += 1;
        LocalState::number(CALLS)
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

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// The first word of a set of signals has all that there are.
fn bits(set: *const libc::sigset_t) -> u64 {
    // SAFETY: a set is an array of words; the program hands in one.
    unsafe { set.cast::<u64>().read() }
}

fn set_bits(set: *mut libc::sigset_t, bits: u64) {
    // SAFETY: as above. The kernel's part of a set is its first word.
    unsafe { set.cast::<u64>().write(bits) };
}

fn object(i: usize, class: Class) -> On {
    On::new(&raw const PLACE[i] as usize, class)
}

/// The pending signals of a thread or of the process.
fn queue(i: usize) -> On {
    object(i, Class::Channel)
}

fn timer_object(i: usize) -> On {
    object(PROCESS + 1 + i, Class::Once)
}

fn action_object(signal: c_int) -> On {
    object(PROCESS + 1 + TIMERS + signal as usize, Class::Once)
}

/// Does something that is no place for signals.
pub(crate) fn quietly<T>(f: impl FnOnce() -> T) -> T {
    if !is_active() {
        return f();
    }
    let i = me();
    let busy = std::mem::replace(&mut of(i).busy, true);
    let result = f();
    of(i).busy = busy;
    result
}

/// A step that changes the word of an object; gives what it was.
fn change(on: &On, call: Call, change: impl FnOnce(u64) -> u64) -> u64 {
    let object = &on.entry().handle;
    let (kind, class, order) = (OpKind::Transfer, on.class, MemoryOrder::AcqRel);
    let request = Request { kind, object, class, initial: 0, a: 0, b: 0, order, place: call.place };
    let mut before = 0;
    quietly(|| {
        runtime::transfer(&request, unique(), |old| {
            before = old;
            change(old)
        })
    });
    before
}

/// A step that looks at the word of an object.
fn look(on: &On, call: Call) -> u64 {
    let call = Call { state: unique(), ..call };
    quietly(|| on.step_with(OpKind::Load, 0, 0, MemoryOrder::Acquire, call).value)
}

/// Whether a signal comes from what a thread does itself. A fault is a failure of the execution before its handler would run, and
/// [`broken_pipe`] runs the handler of SIGPIPE: nothing is left out.
fn is_synchronous(signal: c_int) -> bool {
    is_fault(signal) || signal == libc::SIGPIPE
}

fn is_fault(signal: c_int) -> bool {
    crash::SIGNALS.contains(&signal) || signal == libc::SIGSYS
}

/// Sets an action; gives the one before.
fn set(signal: c_int, action: Action) -> Action {
    if runtime::in_execution() {
        signals().changed = true;
        let call = call();
        if learned().sends {
            runtime::settle();
            change(&action_object(signal), call, |old| old + 1);
        }
        let before = std::mem::replace(&mut signals().actions[signal as usize], action);
        if learned().sends && is_ignored(signal) {
            forget(signal, call);
        }
        // Processes that end send SIGCHLD, and there are none.
        let comes = !is_synchronous(signal) && signal != libc::SIGCHLD && signal < STANDARD;
        if action.handler > libc::SIG_IGN && comes {
            from_outside(bit(signal), call);
            let sent = learned().sent | learned().outside;
            if sent & bit(signal) == 0 {
                let text = format!(
                    "the handler of {} is not run: the program does not send this signal",
                    name(signal)
                );
                runtime::caveat_at(CaveatKind::Signal, text, call.place);
            }
        } else if action.handler > libc::SIG_IGN && signal >= STANDARD {
            let text = format!("the handler of {}, a real-time signal, is not run", name(signal));
            runtime::caveat_at(CaveatKind::Signal, text, call.place);
        }
        update();
        before
    } else {
        std::mem::replace(&mut signals().actions[signal as usize], action)
    }
}

fn is_valid(signal: c_int) -> bool {
    (1..MOST as c_int).contains(&signal)
}

/// The running thread blocks these signals from now on. What it does not block and is pending comes at once.
fn put_mask(mask: u64, call: Call) {
    let i = me();
    signals().changed = true;
    if learned().sends && mask & !of(i).mask & learned().sent != 0 {
        // Before this step, a signal that nothing handles ends the program.
        look(&queue(PROCESS), call);
    }
    of(i).mask = mask;
    let nothing_comes = learned().direct[i] == 0 && learned().direct[PROCESS] == 0;
    if learned().sent & !mask == 0 || nothing_comes {
        if learned().sends {
            is_free(i, mask);
        }
        return;
    }
    runtime::settle();
    is_free(i, mask);
    while let Some(signal) = pending(call) {
        act(signal, call);
    }
}

/// A signal is ignored from now on: where it is pending, it is so no longer.
fn forget(signal: c_int, call: Call) {
    for i in (0..=PROCESS).filter(|i| learned().direct[*i] > 0) {
        change(&queue(i), call, |word| {
            of(i).pending = word & !bit(signal);
            of(i).pending
        });
    }
}

/// Takes a signal that is pending now for the running thread, and that it does not block.
fn pending(call: Call) -> Option<c_int> {
    let [own, all] = queues(me());
    for q in std::iter::once(own).chain((all != own).then_some(all)) {
        if look(&queue(q), call) & !of(me()).mask != 0
            && let Some(signal) = take_from(q, !of(me()).mask, call)
        {
            return Some(signal);
        }
    }
    None
}

/// Takes the pending signal with the lowest number that is in a set.
fn take_from(q: usize, set: u64, call: Call) -> Option<c_int> {
    let mut signal = None;
    change(&queue(q), call, |word| {
        let here = word & set;
        if here == 0 {
            return word;
        }
        signal = Some(here.trailing_zeros() as c_int + 1);
        of(q).pending = word & !(here & here.wrapping_neg());
        of(q).pending
    });
    of(me()).taken += u32::from(signal.is_some());
    signal
}

/// Waits until there is a signal of this set for the running thread, and takes it. If `optional`, an execution in which none
/// comes is not counted.
fn wait_for(set: u64, optional: bool, call: Call) -> c_int {
    let i = me();
    let mut seen = [0, 0];
    of(i).awaited = if optional { 0 } else { set };
    // One word is waited for where the other one never changes.
    let used = queues(i);
    loop {
        let objects = [(queue(used[0]), seen[0]), (queue(used[1]), seen[1])];
        let objects = objects.iter().map(|(on, word)| (&on.entry().handle, *word));
        quietly(|| runtime::wait_for_signal(objects, optional, call.place));
        for (k, q) in used.into_iter().enumerate() {
            seen[k] = queue(q).word();
            if seen[k] & set != 0 {
                if let Some(signal) = take_from(q, set, call) {
                    of(i).awaited = 0;
                    return signal;
                }
                seen[k] = queue(q).word();
            }
        }
    }
}

/// The queues from which a thread gets signals: its own, then that of the process. If only one is ever used, it is both.
fn queues(i: usize) -> [usize; 2] {
    match (learned().direct[i], learned().direct[PROCESS]) {
        (0, 1..) => [PROCESS; 2],
        (1.., 0) => [i; 2],
        _ => [i, PROCESS],
    }
}

/// Whether the running thread may be interrupted here.
fn is_offered() -> bool {
    let (all, learned, i) = (signals(), learned(), me());
    let Of { mask, taken, busy, is_timer, depth, .. } = all.threads[i];
    is_active()
        && !busy
        && !is_timer
        && depth < 8
        && learned.sent & !mask != 0
        && taken < learned.direct[i] + learned.direct[PROCESS]
}

/// Decides whether a signal comes now, as a choice.
fn decide(place: Place) -> bool {
    let comes = runtime::choose_signal(place);
    if comes {
        if !can_come(runtime::current()) {
            runtime::prune();
        }
        of(me()).decided += 1;
    }
    comes
}

/// A place at which the running thread can be interrupted.
#[cold]
pub(crate) fn point(place: Place) {
    if !is_active() || !runtime::in_execution() || !is_offered() {
        return;
    }
    if runtime::has_blocks() {
        let text = "handlers of signals are not run in a program with atomic blocks";
        return runtime::caveat_at(CaveatKind::Signal, text, place);
    }
    let call = Call { place, state: LocalState::UNKNOWN };
    shim::undisturbed(|| {
        while is_offered() && decide(place) {
            let signal = wait_for(!of(me()).mask, true, call);
            act(signal, call);
        }
    });
}

/// The running thread is about to take a step.
pub(crate) fn before_step(place: Place) {
    if !of(me()).busy {
        of(me()).turns = (None, 0);
        point(place);
    }
}

/// The same before an operation that has effects of its own before its first step.
#[inline]
pub(crate) fn point_before(call: Call) {
    if is_active() {
        runtime::settle();
        point(call.place);
    }
}

/// The running thread is about to end.
pub(crate) fn point_at_end() {
    if is_active() {
        point_before(Call {
            place: runtime::last_place().unwrap_or(Place::at(0)),
            state: LocalState::UNKNOWN,
        });
    }
}

/// The running thread is about to wait in a call that a signal may interrupt. Says whether one does, and the call fails with
/// `EINTR`. `waits` says, as a step, whether the call would wait; `always` that it fails also where the handler asks for another attempt.
pub(crate) fn is_interrupted(always: bool, waits: impl Fn() -> bool, call: Call) -> bool {
    if !is_active() || !is_offered() || runtime::has_blocks() {
        return false;
    }
    let fails = |signal: usize| {
        let action = &signals().actions[signal];
        action.handler > libc::SIG_IGN && (always || action.flags & libc::SA_RESTART == 0)
    };
    let taken = learned().sent & !of(me()).mask;
    if !(1..STANDARD as usize).any(|s| taken & bit(s as c_int) != 0 && fails(s)) {
        return false;
    }
    runtime::settle();
    shim::undisturbed(|| {
        if !decide(call.place) {
            return false;
        }
        runtime::assume(quietly(&waits), call.place);
        let signal = wait_for(!of(me()).mask, true, call);
        // What it waits for may have come before the signal.
        runtime::assume(quietly(&waits), call.place);
        let fails = fails(signal as usize);
        act(signal, call);
        // A call that is made again is one that the signal has come before.
        runtime::assume(fails, call.place);
        true
    })
}

/// Whether a thread that waits for ever would take a signal that is pending.
pub(crate) fn has_signal(t: ThreadId) -> bool {
    let Of { mask, is_timer, pending, .. } = *of(t.index());
    let pending = (pending | of(PROCESS).pending) & !mask;
    let handled =
        |s: &c_int| pending & bit(*s) != 0 && signals().actions[*s as usize].handler > libc::SIG_IGN;
    is_active() && !is_timer && (1..STANDARD).any(|s| handled(&s))
}

/// All threads wait for ever: a signal from outside may help, if the program handles or awaits one that it does not send.
pub(crate) fn stuck() -> bool {
    let all = signals();
    let handled = (1..STANDARD).filter(|s| has_handler(*s as usize) && !is_synchronous(*s));
    let handled = handled.filter(|s| *s != libc::SIGCHLD).fold(all.awaited, |set, s| set | bit(s));
    let new = handled & !(learned().sent | learned().outside);
    if new == 0 {
        // It may come once more.
        return all.threads.iter().any(|t| t.awaited & learned().outside != 0);
    }
    learned().outside |= new;
    runtime::forget_caveats(CaveatKind::Signal);
    runtime::restart_soon();
    true
}

/// Signals of this set may come from outside from now on, if that is to be explored.
fn from_outside(set: u64, call: Call) {
    let new = set & learned().outside & !signals().outside;
    signals().outside |= new;
    for signal in (1..STANDARD).filter(|s| new & bit(*s) != 0) {
        let text = format!("{} from outside is explored as coming at most once", name(signal));
        runtime::caveat_at(CaveatKind::Signal, text, call.place);
        sends(signal);
        let t = threads::start(outside, signal as usize as *mut c_void, true, None, call.place);
        runtime::name_thread(t, format!("{} from outside", name(signal)));
        *of(t.index()) = Of { is_timer: true, mask: u64::MAX, ..NOTHING };
    }
}

/// Sends a signal from outside.
unsafe extern "C" fn outside(signal: *mut c_void) -> *mut c_void {
    let call = Call { place: runtime::last_place().unwrap_or(Place::at(0)), state: LocalState::UNKNOWN };
    send_to_process(signal as usize as c_int, call);
    std::ptr::null_mut()
}

/// What the running thread does about a signal that it gets. Says whether a handler ran.
fn act(signal: c_int, call: Call) -> bool {
    if learned().sends {
        look(&action_object(signal), call);
    }
    let action = signals().actions[signal as usize];
    match action.handler {
        libc::SIG_IGN => false,
        libc::SIG_DFL => {
            by_default(signal, call);
            false
        }
        _ => {
            handle(signal, action, call);
            true
        }
    }
}

fn is_ignored(signal: c_int) -> bool {
    match signals().actions[signal as usize].handler {
        libc::SIG_IGN => true,
        libc::SIG_DFL => matches!(signal, libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT),
        _ => false,
    }
}

fn by_default(signal: c_int, call: Call) {
    if !is_ignored(signal) {
        runtime::settle();
        let message = format!("{} ends the program: nothing handles it", name(signal));
        runtime::fail(FailureKind::Signal, message, call.place);
    }
}

/// By thread: what a handler is told.
static mut INFO: [[u64; 16]; MAX_THREADS] = [[0; 16]; MAX_THREADS];
static mut CONTEXT: [u64; 128] = [0; 128];

/// Fills in the `siginfo_t` that the receiver of a signal gets.
///
/// # Safety
///
/// There is a place for that.
unsafe fn fill(info: *mut libc::siginfo_t, signal: c_int) {
    const KERNEL: c_int = 0x80;
    const TIMER: c_int = -2;
    let (code, value) = signals().codes[signal as usize];
    // SAFETY: by the contract. Behind the number, an error and the code come the sender, or the timer and how often it has expired, and the
    // value.
    unsafe {
        info.write_bytes(0, 1);
        (*info).si_signo = signal;
        (*info).si_code = code;
        let words = info.cast::<u32>();
        if code != KERNEL && code != TIMER {
            words.add(4).write(libc::getpid() as u32);
            words.add(5).write(libc::getuid());
        }
        info.cast::<usize>().add(3).write(value);
    }
}

/// A handler changes `errno`: a thread that reads it may be interrupted before that.
fn learn_errno() {
    if !learned().changes_errno {
        learned().changes_errno = true;
        runtime::restart_soon();
    }
}

/// A thread accesses its `errno`. It belongs to one thread, and a handler may save and restore it, so two accesses are no data race.
fn accessed_errno(write: bool, call: Call) {
    let i = me();
    if of(i).depth > 0 && write {
        learn_errno();
    }
    if write || !learned().changes_errno || of(i).busy || !is_offered() {
        return;
    }
    runtime::settle();
    let turns = match of(i).turns {
        (Some(place), n) if place == call.place => n + 1,
        _ => 1,
    };
    of(i).turns = (Some(call.place), turns);
    if turns <= TURNS {
        point(call.place);
    }
}

fn handle(signal: c_int, action: Action, call: Call) {
    let i = me();
    runtime::settle();
    signals().changed = true;
    if action.flags & libc::SA_RESETHAND != 0 {
        signals().actions[signal as usize] = DEFAULT;
    }
    let saved = *of(i);
    let own = if action.flags & libc::SA_NODEFER != 0 { 0 } else { bit(signal) };
    of(i).mask |= action.mask | own;
    of(i).depth += 1;
    of(i).busy = false;
    of(i).handled = signal;
    if action.flags & libc::SA_ONSTACK != 0 && of(i).stack.1 > 0 {
        of(i).on_stack = true;
        crate::touch::forget_ranges();
        crate::touch::forget_variables();
    }
    let errno = crate::libc::errno();
    // SAFETY: the program has set this handler to be called so.
    unsafe {
        let info = (&raw mut INFO[i]).cast::<c_void>();
        fill(info.cast(), signal);
        shim::undisturbed(|| {
            threads::run_signal_handler(
                action.handler as *const c_void,
                signal,
                info,
                (&raw mut CONTEXT).cast(),
            );
        });
    }
    if crate::libc::errno() != errno {
        learn_errno();
    }
    of(i).depth -= 1;
    of(i).interrupted = saved.interrupted;
    of(i).inside = saved.inside;
    of(i).handled = saved.handled;
    of(i).on_stack = saved.on_stack;
    of(i).busy = saved.busy;
    runtime::end_looking();
    put_mask(saved.mask, call);
}

/// Sets the alternate stack of the running thread, and gives the one before: the lowest address, the size, and the flags.
pub(crate) fn alternate_stack(new: Option<(usize, usize, c_int)>) -> Result<(usize, usize, c_int), c_int> {
    /// A stack must have room for what the kernel puts there.
    const LEAST: usize = libc::MINSIGSTKSZ;
    /// `SS_AUTODISARM`.
    const AUTODISARM: c_int = c_int::MIN;
    let thread = of(me());
    let before = match (thread.stack, thread.on_stack) {
        ((_, 0, _), _) => (0, 0, libc::SS_DISABLE),
        ((start, size, flags), on) => {
            (start, size, flags & AUTODISARM | if on { libc::SS_ONSTACK } else { 0 })
        }
    };
    if let Some((start, size, flags)) = new {
        if thread.on_stack {
            return Err(libc::EPERM);
        }
        thread.stack = match flags & !AUTODISARM {
            libc::SS_DISABLE => (0, 0, 0),
            0 | libc::SS_ONSTACK if size < LEAST => return Err(libc::ENOMEM),
            0 | libc::SS_ONSTACK => (start, size, flags),
            _ => return Err(libc::EINVAL),
        };
        signals().changed = true;
    }
    Ok(before)
}

/// Whether the running thread compares the address of a local variable with its alternate stack, in a handler that is to run there.
pub(crate) fn sees_its_stack(a: usize, b: usize) -> bool {
    let Of { on_stack, stack: (start, size, _), .. } = *of(me());
    let is_there = |x: usize| (start..=start + size).contains(&x);
    on_stack && (runtime::on_own_stack(a) && is_there(b) || runtime::on_own_stack(b) && is_there(a))
}

/// Whether the running thread runs a handler that is to run on the alternate stack.
pub(crate) fn is_on_alternate_stack() -> bool {
    of(me()).on_stack
}

/// Memory is accessed: by a handler, or by a thread that a handler may interrupt there.
#[cold]
pub(crate) fn accessed(address: usize, bytes: usize, write: bool, call: Call) {
    if !runtime::in_execution() || runtime::on_own_stack(address) {
        return;
    }
    // SAFETY: asks for an address.
    if address == unsafe { libc::__errno_location() } as usize {
        return accessed_errno(write, call);
    }
    let i = me();
    // SAFETY: one OS thread alone runs code of the program.
    let volatile = unsafe { VOLATILE } && bytes == 4;
    let access = Access { address, bytes, write, volatile };
    let granule = address & !7;
    let known = learned().memory.binary_search(&granule);
    if of(i).depth > 0 {
        if let Err(at) = known {
            learned().memory.insert(at, granule);
            runtime::restart_soon();
        }
        if let Some(other) = of(i).interrupted
            && options().races == Races::Report
            && access.races_with(&other)
        {
            race(&access, &other, call);
        }
    }
    if known.is_err() || of(i).busy || !is_offered() {
        return;
    }
    runtime::settle();
    let turns = match of(i).turns {
        (Some(place), n) if place == call.place => n + 1,
        _ => 1,
    };
    of(i).turns = (Some(call.place), turns);
    if turns > TURNS {
        return turn_again(turns, access, call);
    }
    let outer = of(i).interrupted.replace(access);
    point(call.place);
    of(i).interrupted = outer;
}

/// The running thread comes again and again to this access with no step in between: it may wait for a handler to change what is
/// there. So the access is a step, by which such a loop is recognized.
fn turn_again(turns: u32, access: Access, call: Call) {
    if turns == MANY_TURNS {
        let text =
            format!("a signal that interrupts a loop without steps was explored in its first {TURNS} turns");
        runtime::caveat_at(CaveatKind::Signal, text, call.place);
    }
    if !access.write && turns < MANY_TURNS {
        quietly(|| crate::access::look(access.address, access.bytes, call));
    }
}

fn race(handler: &Access, interrupted: &Access, call: Call) {
    let name = crate::access::name(handler.address, handler.bytes);
    let what = |a: &Access| if a.write { "writes" } else { "reads" };
    let message = format!(
        "data race on {name}: a handler of a signal {} it while the thread that it interrupts {} it, and it is neither atomic nor a \
         `volatile sig_atomic_t`",
        what(handler),
        what(interrupted),
    );
    runtime::fail(FailureKind::DataRace, message, call.place);
}

/// Sends a signal to a thread.
fn send(signal: c_int, to: usize, call: Call) {
    runtime::settle();
    look(&action_object(signal), call);
    let blocked = of(to).mask & bit(signal) != 0;
    if is_ignored(signal) && !blocked {
        return;
    }
    if to == me() && !blocked {
        act(signal, call);
        return;
    }
    put(signal, to, call);
}

/// Makes a signal pending.
fn put(signal: c_int, to: usize, call: Call) {
    change(&queue(to), call, |word| {
        count_sent(to);
        of(to).pending = word | bit(signal);
        of(to).pending
    });
}

/// Sends a signal to the process: any thread that does not block it may take it. If that is the running thread alone it does so at
/// once.
fn send_to_process(signal: c_int, call: Call) {
    runtime::settle();
    look(&action_object(signal), call);
    let i = me();
    let takes = |t: &ThreadId| {
        let i = t.index();
        i != me() && !of(i).is_timer && !threads::is_joined(*t) && learned().free[i] & bit(signal) != 0
    };
    let here = !of(i).is_timer && of(i).mask & bit(signal) == 0;
    let others = threads::made().any(|t| takes(&t));
    if is_ignored(signal) && (here || others) {
        return;
    }
    if here && !others {
        act(signal, call);
        return;
    }
    let is_unblocked = |t: ThreadId| !of(t.index()).is_timer && of(t.index()).mask & bit(signal) == 0;
    put(signal, PROCESS, call);
    if signals().actions[signal as usize].handler == libc::SIG_DFL && threads::alive().any(is_unblocked) {
        by_default(signal, call);
    }
}

/// Refuses signals that are not modelled.
fn check(signal: c_int, call: Call) {
    match signal {
        libc::SIGCHLD => not_modelled("SIGCHLD", call),
        libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU | libc::SIGCONT => {
            not_modelled(&format!("{}, by which processes are stopped and continued,", name(signal)), call)
        }
        s if s >= STANDARD => not_modelled("a real-time signal", call),
        _ => {}
    }
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
        (libc::SIGSTOP, "SIGSTOP"),
        (libc::SIGTSTP, "SIGTSTP"),
        (libc::SIGCONT, "SIGCONT"),
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
    let action = signals().actions[libc::SIGPIPE as usize];
    if action.handler == libc::SIG_DFL {
        runtime::settle();
        let message =
            "SIGPIPE ends the program: it writes to a pipe that nobody can read any more".to_owned();
        runtime::fail(FailureKind::Signal, message, call.place);
    }
    if of(me()).mask & bit(libc::SIGPIPE) == 0 {
        act(libc::SIGPIPE, call);
    }
}
