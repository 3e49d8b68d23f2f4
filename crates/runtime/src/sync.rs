//! Steps: what our types call for each operation.

use crate::context;
use crate::cycles::{self, Waiting};
use crate::execution::{Execution, Phase};
use crate::fiber::{Abandoned, Resume, Said};
use crate::objects::Handle;
use crate::panics;
use crate::polling;
use crate::session;
use crate::spin::{self, Key, On, Probe};
use crate::{Class, Done, Place, Request};
use explore::{End, FailureKind, MemoryOrder, Op, OpKind, Site, semantics};
use std::time::Duration;

/// After so many operations a destructor of an abandoned fiber is taken to loop for ever.
const MOST_TEARDOWN_OPS: u32 = 100_000;

/// Whether a controlled thread runs on this OS thread.
#[inline]
pub fn active() -> bool {
    !context::current().is_null()
}

/// Whether the execution is being given up: destructors run, and operations do nothing.
pub fn tearing_down() -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    !ex.is_null() && unsafe { (*ex).phase == Phase::TearingDown }
}

/// The place as the search sees it.
#[inline]
pub(crate) fn site(place: Place) -> Site {
    Site(place.0)
}

/// Announces an operation of the running thread and returns when it is its turn. Says `false` if the execution was given
/// up meanwhile and the thread, which was unwinding already, must get through its destructors: the operation does not run.
///
/// # Safety
///
/// `ex` is the current execution, in the phase `Running`; the caller is one of its fibers and holds no reference into
/// it.
#[inline(never)]
pub(crate) unsafe fn turn(ex: *mut Execution, op: Op, site: Site) -> bool {
    // SAFETY: by the contract.
    unsafe { turn_here(ex, op, site) }
}

/// The same, for where most steps come from.
///
/// # Safety
///
/// As for [`turn`].
#[inline(always)]
pub(crate) unsafe fn turn_here(ex: *mut Execution, op: Op, site: Site) -> bool {
    // SAFETY: by the contract; the borrow of `announce` ends before the suspension.
    unsafe {
        let marker = 0u8;
        if (std::ptr::from_ref(&marker) as usize) < (*ex).stack_floor {
            out_of_stack(ex, site);
        }
        if (*ex).attend && !prepare_turn(ex, op, site) {
            return false;
        }
        (*ex).announce(op, site) || suspend(ex)
    }
}

/// What comes before some turns: the end of a panic, the use of cells that were lent, a signal, giving way. Says `false` as [`turn`] does. Each of these sets
/// [`Execution::attend`], which is tested in all turns.
///
/// # Safety
///
/// As for [`turn`].
#[cold]
#[inline(never)]
unsafe fn prepare_turn(ex: *mut Execution, op: Op, site: Site) -> bool {
    // SAFETY: by the contract.
    unsafe {
        if (*ex).any_panicking {
            panics::still_panicking(&mut *ex);
        }
        if let Some(fault) = (*ex).heap.fault.take() {
            let (message, place) = *fault;
            fail(FailureKind::UseAfterFree, message, place);
        }
        if (*ex).has_lent() {
            crate::lent::settle(ex);
        }
        if (*ex).weak.waits() {
            crate::orders::about_to_step(&mut *ex, op.object, op.order);
        }
        if (*ex).interrupts {
            interrupt(ex, op.kind, site);
        }
        let watching = (*ex).owners.watching && (*ex).front.is_none();
        if watching {
            crate::owners::look(&mut *ex, site);
        }
        let turn = !(*ex).due || give_way(ex, &op, site);
        let waits = (*ex).has_lent() | (*ex).weak.waits() | (*ex).interrupts | (*ex).due | watching;
        (*ex).attend = waits | (*ex).any_panicking;
        turn
    }
}

/// Lets the others run first, if the running thread has to at this operation. Says `false` as [`turn`] does.
#[cold]
unsafe fn give_way(ex: *mut Execution, op: &Op, site: Site) -> bool {
    // SAFETY: our callers hand on the contract of `turn`.
    unsafe {
        if !crate::turns::announce(&mut *ex, op, site) {
            return true;
        }
        if (*ex).next != Some((*ex).current) && !suspend(ex) {
            return false;
        }
        let op = (&(*ex).pending)[(*ex).current.index()].op;
        (*ex).finish(op, 0);
        true
    }
}

/// A signal may come before the step.
///
/// What releases a lock, and waits, is left to the front: it has notes of its own about who holds what. A thread in the queue of a
/// condition variable cannot be notified while it does something else.
///
/// # Safety
///
/// As for [`turn`].
#[cold]
unsafe fn interrupt(ex: *mut Execution, kind: OpKind, site: Site) {
    use OpKind::*;
    if matches!(kind, Choose | Unlock | ReadUnlock | WriteUnlock | Wait | Wake | Assume | End) {
        return;
    }
    // SAFETY: by the contract no reference into the execution is alive; what a handler does are steps of this thread.
    unsafe {
        if let Some(front) = (*ex).front {
            front.interrupt(crate::record::place_of(site).unwrap_or(Place(0)));
        }
    }
}

/// Ends the execution where the running thread has used up its stack, as its next operation would.
///
/// # Safety
///
/// As for [`turn`].
pub(crate) unsafe fn check_stack(ex: *mut Execution) {
    // SAFETY: by the contract.
    unsafe {
        let marker = 0u8;
        if (*ex).in_fiber && (std::ptr::from_ref(&marker) as usize) < (*ex).stack_floor {
            let site = (&(*ex).pending)[(*ex).current.index()].site;
            out_of_stack(ex, site);
        }
    }
}

#[cold]
unsafe fn out_of_stack(ex: *mut Execution, site: Site) -> ! {
    // SAFETY: as for `turn`, our caller.
    unsafe {
        let message = crate::signals::overflow_message(&*ex);
        stop_at_failure(ex, FailureKind::Signal, message, crate::record::place_of(site))
    }
}

/// Suspends the running fiber; returns when it is its turn again, or with `false` as [`turn`] does.
///
/// # Safety
///
/// As for [`turn`], and `next` is set.
pub(crate) unsafe fn suspend(ex: *mut Execution) -> bool {
    // SAFETY: by the contract. The yielder lives at the bottom of this fiber's own stack.
    unsafe {
        if (*ex).swaps_locals {
            crate::seldom();
            crate::std_locals::suspend(&mut *ex);
        }
        let how = session::go_on_with_next(ex);
        if (*ex).swaps_locals {
            crate::seldom();
            crate::std_locals::resume(&mut *ex);
        }
        match how {
            Resume::Go => (*ex).phase == Phase::Running,
            Resume::Unwind | Resume::Retire => std::panic::resume_unwind(Box::new(Abandoned)),
        }
    }
}

/// Ends the execution here; the fiber is unwound.
///
/// # Safety
///
/// As for [`turn`].
pub(crate) unsafe fn give_up(ex: *mut Execution) -> ! {
    // SAFETY: by the contract. With no next thread the loop that resumes fibers only comes back to unwind this one, or
    // in the phase `TearingDown`, when this fiber was unwinding from a panic of its own and must not get a second one.
    unsafe {
        (*ex).end = Some(End::Cut);
        (*ex).next = None;
        suspend(ex);
        leave_for_good(ex)
    }
}

/// Notes a failure of the running thread, which stops there. With [`Settings::keep_going`](crate::Settings::keep_going) the other threads
/// continue.
///
/// # Safety
///
/// As for [`turn`].
pub(crate) unsafe fn stop_at_failure(
    ex: *mut Execution,
    kind: FailureKind,
    message: String,
    place: Option<Place>,
) -> ! {
    // SAFETY: by the contract. The operation is never enabled, so the fiber is only resumed to be unwound.
    unsafe {
        if !(*ex).passes_failure(kind) {
            let t = (*ex).current;
            (*ex).note_failure(kind, message, place, Some(t));
            if !(*ex).continues_after(kind) {
                (*ex).note_end_at_failure(place);
                give_up(ex)
            }
        }
        (*ex).met_races.get_mut().count_failure();
        crate::memory::exit_process();
        if (*ex).front.is_some() {
            crate::memory::leave_thread();
        }
        let at = (&(*ex).pending)[(*ex).current.index()].site;
        if (*ex).announce(Op::local(OpKind::Assume).with(cycles::FAILED, 0), at) || suspend(ex) {
            debug_assert!(false, "a thread continues after its failure");
        }
        leave_for_good(ex)
    }
}

/// Suspends the running fiber and asks not to be resumed: what is on its stack leaks.
///
/// # Safety
///
/// As for [`turn`], in the phase `TearingDown`.
pub(crate) unsafe fn leave_for_good(ex: *mut Execution) -> ! {
    // SAFETY: by the contract; see `suspend`.
    unsafe {
        let yielder = (&(*ex).threads)[(*ex).current.index()].yielder;
        loop {
            let _ = (*yielder).suspend(Said::Waits);
        }
    }
}

/// What every operation does while the execution is given up: nothing, but a fiber that has caught the unwinding is
/// unwound further, and one that loops is left alone.
///
/// # Safety
///
/// `ex` is the current execution in the phase `TearingDown`, and the caller holds no reference into it.
pub(crate) unsafe fn given_up(ex: *mut Execution) {
    // SAFETY: by the contract.
    unsafe {
        if !(*ex).in_fiber {
            return;
        }
        let unwinds = std::thread::panicking();
        // A loop that catches panics and tries again would go on for ever, and each round takes long.
        (*ex).teardown_ops += if unwinds { 1 } else { MOST_TEARDOWN_OPS / 100 };
        if (*ex).teardown_ops > MOST_TEARDOWN_OPS {
            leave_for_good(ex);
        }
        if !unwinds {
            std::panic::resume_unwind(Box::new(Abandoned));
        }
    }
}

/// A step on an object that is known already.
///
/// # Safety
///
/// `ex` is the current execution, and the caller holds no reference into it.
#[inline(never)]
pub(crate) unsafe fn step_on(ex: *mut Execution, op: Op, place: Place) -> Done {
    // SAFETY: by the contract.
    unsafe { step_here(ex, op, place) }
}

/// The same, for where most steps come from. An operation that goes through memory to another function is read there before
/// it has arrived.
///
/// # Safety
///
/// As for [`step_on`].
#[inline(always)]
unsafe fn step_here(ex: *mut Execution, op: Op, place: Place) -> Done {
    // SAFETY: by the contract.
    unsafe {
        if (*ex).phase != Phase::Running {
            return step_given_up(ex, op);
        }
        let site = site(place);
        if (*ex).repeat.is_some() && !await_change(ex, site) || !turn_here(ex, op, site) {
            return step_given_up(ex, op);
        }
        let option = (*ex).option(&op);
        (*ex).finish_here(op, option)
    }
}

#[cold]
unsafe fn step_given_up(ex: *mut Execution, op: Op) -> Done {
    // SAFETY: our callers hand on the contract of `given_up`.
    unsafe {
        given_up(ex);
        let word = (*ex).word(op.object);
        match op.kind {
            OpKind::Recv | OpKind::TryRecv => Done { value: 1, ok: false },
            // Counts stay right, so that what is released now is not taken for a leak; and what a destructor does to atomics
            // holds, so that it does not release the same thing twice.
            OpKind::CountUp
            | OpKind::CountDown
            | OpKind::Store
            | OpKind::CompareExchange
            | OpKind::CompareExchangeWeak => {
                let applied = semantics::apply(&op, word, (*ex).current, 0);
                (&mut (*ex).objects)[op.object.index()].word = applied.word;
                Done { value: applied.value, ok: applied.ok }
            }
            _ => Done { value: word, ok: true },
        }
    }
}

/// The thread is where it was before and would only look again at what it has seen: it waits for a change first.
#[cold]
pub(crate) unsafe fn await_change(ex: *mut Execution, site: Site) -> bool {
    // SAFETY: our callers hand on the contract of `turn`.
    unsafe {
        let stops = |ex: *mut Execution| (*ex).repeat.is_some_and(|r| r.stops);
        if stops(ex) || !spin::announce(&mut *ex, site) {
            let stops = stops(ex);
            (*ex).repeat = None;
            return !stops || cycles::stop(ex, site);
        }
        if (*ex).next != Some((*ex).current) && !suspend(ex) {
            return false;
        }
        let op = (&(*ex).pending)[(*ex).current.index()].op;
        (*ex).finish(op, 0);
        true
    }
}

/// One step on one object. Outside an execution it panics with a message that says so; while an execution is given up it
/// returns at once, as if it had succeeded, and changes nothing.
// Inlined so that the frame in which the local state is taken (see `spin`) is that of the caller, and holds nothing of ours
// that changes from call to call.
#[inline(always)]
pub fn step(request: Request<'_>) -> Done {
    let Request { kind, object, a, b, place, .. } = request;
    spin::watch(kind, || Probe { kind, on: On::Object(object), a, b, place });
    let done = run(&request);
    spin::leave();
    done
}

#[inline(never)]
fn run(request: &Request<'_>) -> Done {
    let ex = context::for_operation(name(request.class), request.place);
    // SAFETY: a current execution is valid, and no reference into it is held over `step_on`.
    unsafe {
        let object = (*ex).resolve(request.object, request.class, request.initial, request.place);
        let mut kind = request.kind;
        if kind == OpKind::CompareExchangeWeak && !(*ex).may_fail_spuriously(object, request.place) {
            kind = OpKind::CompareExchange;
        }
        let op = Op::new(kind, object).with(request.a, request.b).ordered(request.order);
        let done = step_here(ex, op, request.place);
        still_there(ex, request.object, object, request.place);
        done
    }
}

/// Reports a step on an object that was not at its address any more when the step was taken.
///
/// # Safety
///
/// `ex` is the current execution, and the caller holds no reference into it.
#[inline(always)]
unsafe fn still_there(ex: *mut Execution, handle: &Handle, object: explore::ObjectId, place: Place) {
    // SAFETY: by the contract; the borrow ends before `fail`, which suspends.
    unsafe {
        if (*ex).heap.fault.is_some() | ((*ex).known(handle) != Some(object)) {
            not_there(ex, handle, object, place);
        }
    }
}

/// Reports the step if the memory of the object was freed or has other contents.
///
/// # Safety
///
/// As for [`still_there`].
#[cold]
#[inline(never)]
unsafe fn not_there(ex: *mut Execution, handle: &Handle, object: explore::ObjectId, place: Place) {
    // SAFETY: by the contract; the borrow ends before `fail`, which suspends.
    unsafe {
        // Another thread freed or moved the object after the operation was announced, and has not come to a step of its own.
        if (*ex).phase == Phase::Running
            && let Some(fault) = (*ex).heap.fault.take()
        {
            let (message, place) = *fault;
            fail(FailureKind::UseAfterFree, message, place);
        }
        if (*ex).unjoined > 0
            && (*ex).front.is_none()
            && (*ex).known(handle) != Some(object)
            && let Some(message) = (*ex).overwritten_meanwhile(handle, object)
        {
            fail(FailureKind::DataRace, message, place);
        }
    }
}

fn name(class: Class) -> &'static str {
    match class {
        Class::Atomic => "an atomic",
        Class::Mutex => "a `Mutex`",
        Class::RwLock => "an `RwLock`",
        Class::Condvar => "a `Condvar`",
        Class::Channel => "a channel",
        Class::Barrier => "a `Barrier`",
        Class::Arc => "an `Arc`",
        Class::Cell => "a cell",
        Class::Once => "a `Once`",
        Class::Thread | Class::Token => "a thread",
        Class::Version => "a lock",
        Class::Semaphore => "a semaphore",
        Class::Variable => "a variable",
        Class::Heap => "the heap",
    }
}

/// A read-modify-write: gives the old value.
#[inline(always)]
pub fn rmw(
    object: &Handle,
    initial: u64,
    order: MemoryOrder,
    place: Place,
    f: impl FnOnce(u64) -> u64,
) -> u64 {
    spin::watch(OpKind::Rmw, || Probe { kind: OpKind::Rmw, on: On::Object(object), a: 0, b: 0, place });
    let old = run_rmw(object, initial, order, place, f);
    spin::leave();
    old
}

#[inline(never)]
fn run_rmw(
    object: &Handle,
    initial: u64,
    order: MemoryOrder,
    place: Place,
    f: impl FnOnce(u64) -> u64,
) -> u64 {
    let ex = context::for_operation("an atomic", place);
    // SAFETY: a current execution is valid, and no reference into it is held over the suspension or over `f`.
    unsafe {
        let handle = object;
        let object = (*ex).resolve(handle, Class::Atomic, initial, place);
        let site = site(place);
        if (*ex).phase != Phase::Running
            || (*ex).repeat.is_some() && !await_change(ex, site)
            || !turn_here(ex, Op::new(OpKind::Rmw, object).ordered(order), site)
        {
            given_up(ex);
            let old = (*ex).word(object);
            let new = f(old);
            (&mut (*ex).objects)[object.index()].word = new;
            return old;
        }
        let new = f((*ex).word(object));
        let old = (*ex).finish_here(Op::new(OpKind::Rmw, object).ordered(order).with(new, 0), 0).value;
        still_there(ex, handle, object, place);
        old
    }
}

/// A fence, a yield, or another step on no object.
#[inline(always)]
pub fn local_step(kind: OpKind, order: MemoryOrder, place: Place) {
    spin::watch(kind, || Probe { kind, on: On::Nothing, a: 0, b: 0, place });
    run_local(kind, order, place);
    spin::leave();
}

#[inline(never)]
fn run_local(kind: OpKind, order: MemoryOrder, place: Place) {
    let ex = context::for_operation("an operation", place);
    // SAFETY: a current execution is valid.
    unsafe { step_on(ex, Op::local(kind).ordered(order), place) };
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By a notification, or by the token.
    Notified,
    /// Spuriously.
    Spuriously,
    /// By its time limit.
    TimedOut,
}

/// Releases the mutex (`change` says whether what it guards may have changed), waits for a notification, or until `limit`, and takes
/// the mutex again.
///
/// How the wait ends is decided when it is called: by a notification, spuriously, or by the limit. A wait that ends
/// spuriously or by its limit never touches the condition variable: it releases the mutex and takes it again.
// Inlined for the sake of the local state, as `step`.
#[inline(always)]
pub fn wait(condvar: &Handle, mutex: &Handle, change: bool, limit: Option<Duration>, place: Place) -> Ended {
    spin::watch(OpKind::Choose, || Probe {
        kind: OpKind::Choose,
        on: On::Object(condvar),
        a: 0,
        b: 0,
        place,
    });
    let ended = run_wait(condvar, mutex, change, limit, place);
    spin::leave();
    ended
}

#[inline(never)]
pub(crate) fn run_wait(
    condvar: &Handle,
    mutex: &Handle,
    change: bool,
    limit: Option<Duration>,
    place: Place,
) -> Ended {
    let ex = context::for_operation("a `Condvar`", place);
    if change {
        polling::changed(mutex, Class::Mutex, place);
    }
    // SAFETY: a current execution is valid, and no reference into it is held over a suspension.
    unsafe {
        if (*ex).phase != Phase::Running {
            given_up(ex);
            return Ended::Notified;
        }
        let condvar = (*ex).resolve(condvar, Class::Condvar, 0, place);
        let mutex = (*ex).resolve(mutex, Class::Mutex, 0, place);
        let key = Key { site: site(place), object: condvar, kind: OpKind::Choose, a: 0, b: 0 };
        let Some((waiting, how)) = decide_end(ex, condvar, key, limit, place) else {
            return Ended::Notified;
        };
        let site = site(place);
        if how == Ended::Notified {
            if !wait_in_queue(ex, condvar, mutex, site) {
                return Ended::Notified;
            }
        } else {
            let unlock = Op::new(OpKind::Unlock, mutex);
            if !turn(ex, unlock, site) {
                return how;
            }
            (*ex).finish(unlock, 0);
        }
        let timed_out = how == Ended::Notified && take_timed_out(ex);
        let ended = if timed_out { Ended::TimedOut } else { how };
        if waiting.takes(&mut *ex, mutex, ended) && !cycles::stop(ex, site) {
            return how;
        }
        let lock = Op::new(OpKind::Lock, mutex);
        if turn(ex, lock, site) {
            (*ex).finish(lock, 0);
        }
        waiting.ended(&mut *ex);
        if timed_out { Ended::TimedOut } else { how }
    }
}

/// Releases the mutex and waits in the queue of a condition variable, in one step, until it is notified, or, where timeouts are
/// patient, until nothing else can run. Says `false` where the execution is given up.
///
/// # Safety
///
/// As for [`turn`].
pub(crate) unsafe fn wait_in_queue(
    ex: *mut Execution,
    condvar: explore::ObjectId,
    mutex: explore::ObjectId,
    site: Site,
) -> bool {
    // SAFETY: by the contract.
    unsafe {
        let t = (*ex).current;
        let wait = Op { other: mutex, ..Op::new(OpKind::Wait, condvar) };
        if !turn(ex, wait, site) {
            return false;
        }
        (*ex).finish(wait, 0);
        if !turn(ex, Op::new(OpKind::Wake, condvar), site) {
            return false;
        }
        // Who notified it was written into the announced operation.
        let wake = (&(*ex).pending)[t.index()].op;
        let woken = (*ex).finish(wake, 0).ok;
        (&mut (*ex).threads)[t.index()].seldom_mut().time_passed = !woken;
        true
    }
}

/// Whether the wait that has just ended was ended by its limit, because nothing else could run.
///
/// # Safety
///
/// As for [`turn`].
pub(crate) unsafe fn take_timed_out(ex: *mut Execution) -> bool {
    // SAFETY: the callers hand on the contract of `turn`.
    unsafe {
        let t = (*ex).current.index();
        std::mem::take(&mut (&mut (*ex).threads)[t].seldom_mut().time_passed)
    }
}

/// Whether a wait of this length is one that does not time out.
pub fn is_for_ever(limit: Duration, place: Place) -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        let for_ever = !ex.is_null()
            && (*ex).settings.patient == Some(crate::driver::CENTURY)
            && limit >= crate::driver::CENTURY;
        if for_ever {
            (*ex).caveats.add(explore::CaveatKind::Patient, crate::time::FOR_EVER.into(), place);
        }
        for_ever
    }
}

/// Decides how a wait of the running thread will end, as a step of its own where there is a choice. `None` where the execution is given
/// up, or the thread is stopped because it repeats itself.
///
/// The choice is made beforehand because nobody can rely on a spurious end: in the executions in which the wait does not end so,
/// nothing but a notification helps, so lost notifications are seen.
///
/// # Safety
///
/// As for [`turn`].
pub(crate) unsafe fn decide_end(
    ex: *mut Execution,
    object: explore::ObjectId,
    key: Key,
    limit: Option<Duration>,
    place: Place,
) -> Option<(Waiting, Ended)> {
    // SAFETY: by the contract.
    unsafe {
        if (*ex).repeat.take().is_some_and(|r| r.stops) && !cycles::stop(ex, site(place)) {
            return None;
        }
        let settings = &(*ex).settings;
        let patient = settings.patient.is_some_and(|least| limit.is_some_and(|l| l >= least));
        let (wakes, most) = (settings.spurious_wakeups, settings.spurious);
        let waiting = Waiting::new(&mut *ex, object, key);
        if patient {
            let text = (*ex).patience();
            (*ex).caveats.add(explore::CaveatKind::Patient, text.into(), place);
        }
        let on = wakes && most > 0;
        let is_fair = (*ex).is_fair();
        if !on && !(*ex).noted_off.0 && !is_fair {
            (*ex).note_off(true, place);
        }
        let spurious = on && !is_fair && waiting.may_take(&mut *ex, most, place);
        let times_out =
            limit.is_some() && !patient && !is_fair && waiting.may_take(&mut *ex, most.max(1), place);
        // Where the bound does not let it time out, it still does when nothing else can run.
        let t = (*ex).current.index();
        if limit.is_some() || (&(*ex).threads)[t].seldom().timed.is_some() {
            let until = limit.map(|l| ((*ex).limit_after(l), !times_out));
            (&mut (*ex).threads)[t].seldom_mut().timed = until;
        }
        let options = match (spurious, times_out) {
            (false, false) => &[Ended::Notified][..],
            (true, false) => &[Ended::Notified, Ended::Spuriously],
            (false, true) => &[Ended::Notified, Ended::TimedOut],
            (true, true) => &[Ended::Notified, Ended::TimedOut, Ended::Spuriously],
        };
        let mut how = Ended::Notified;
        if options.len() > 1 {
            let kind = if spurious { CHANCE } else { 0 } | if times_out { LIMIT } else { 0 };
            let op = Op::local(OpKind::Choose).with(options.len() as u64, kind);
            how = options[step_on(ex, op, place).value as usize % options.len()];
            if (*ex).phase != Phase::Running {
                given_up(ex);
                return None;
            }
        }
        waiting.decided(&mut *ex, how != Ended::Notified, how == Ended::TimedOut);
        Some((waiting, how))
    }
}

/// Wakes one waiter, any of them, or all.
pub fn notify(condvar: &Handle, all: bool, place: Place) {
    let kind = if all { OpKind::NotifyAll } else { OpKind::NotifyOne };
    let class = Class::Condvar;
    run(&Request { kind, object: condvar, class, initial: 0, a: 0, b: 0, order: MemoryOrder::None, place });
}

/// The value of an object that the caller owns alone, and the end of its entry: the next step on it enters it anew.
/// `None` when this execution has not met it.
pub fn take_word(object: &mut Handle) -> Option<u64> {
    let ex = context::current();
    if ex.is_null() {
        object.forget();
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let word = unsafe {
        (*ex).find(object).map(|id| {
            let entry = &mut (&mut (*ex).objects)[id.index()];
            entry.counted = false;
            entry.word
        })
    };
    object.forget();
    word
}

/// Enters a counted object with count 1, to be reported as a leak when its count is not 0 at the end.
pub fn enter_count(object: &Handle, place: Place) {
    let ex = context::for_operation("an `Arc`", place);
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        let id = (*ex).resolve(object, Class::Arc, 1, place);
        if (*ex).phase == Phase::Running {
            (&mut (*ex).objects)[id.index()].counted = true;
        }
    }
}

/// Operand `b` of a choice: it is how a wait ends, and it may end spuriously,
pub(crate) const CHANCE: u64 = 1;
/// or by its limit.
pub(crate) const LIMIT: u64 = 4;

/// Operand `b` of a choice: whether a signal interrupts the thread here.
pub(crate) const SIGNAL: u64 = 16;

/// Whether a signal interrupts the running thread here, as a choice. Loops that only look do not end by a signal that does not come.
pub fn choose_signal(place: Place) -> bool {
    let ex = context::for_operation("a signal", place);
    // SAFETY: a current execution is valid.
    unsafe {
        if (*ex).phase != Phase::Running {
            return false;
        }
        step_on(ex, Op::local(OpKind::Choose).with(2, SIGNAL), place).value == 1
    }
}

/// One of the numbers below `n`; each is explored.
// Inlined for the sake of the local state, as `step`.
#[inline(always)]
pub fn choose(n: u32, place: Place) -> u32 {
    spin::watch(OpKind::Choose, || Probe { kind: OpKind::Choose, on: On::Nothing, a: n as u64, b: 0, place });
    let chosen = run_choose(n, place);
    spin::leave();
    chosen
}

#[inline(never)]
fn run_choose(n: u32, place: Place) -> u32 {
    let ex = context::for_operation("`choose`", place);
    // SAFETY: a current execution is valid.
    unsafe {
        if (*ex).phase != Phase::Running {
            given_up(ex);
            return 0;
        }
        assert!(n > 0, "`choose(0)`: there is nothing to choose from");
        step_on(ex, Op::local(OpKind::Choose).with(n as u64, 0), place).value as u32
    }
}

/// Gives this execution up quietly unless `condition` holds.
pub fn assume(condition: bool, place: Place) {
    let ex = context::for_operation("`assume`", place);
    if condition {
        return;
    }
    // SAFETY: a current execution is valid; an `Assume` is never enabled, so `turn` comes back only by unwinding, or
    // when the fiber was unwinding already.
    unsafe {
        if (*ex).phase != Phase::Running {
            return given_up(ex);
        }
        turn(ex, Op::local(OpKind::Assume), site(place));
    }
}

/// Stops the running thread for the rest of the execution, while the others continue: since it was last in its present local state it has only
/// looked, so an execution without these looks shows the same. See the module `cycles`.
pub fn stop_repeating(place: Place) {
    let ex = context::for_operation("a lock", place);
    // SAFETY: as in `assume`.
    unsafe {
        if (*ex).phase != Phase::Running {
            return given_up(ex);
        }
        cycles::stop(ex, site(place));
    }
}

/// Reports that a lock was used against its rules, or another misuse, and ends the execution.
pub fn fail(kind: FailureKind, message: String, place: Place) -> ! {
    let ex = context::for_operation("`fail`", place);
    // SAFETY: a current execution is valid, and no reference into it is held over the suspension.
    unsafe {
        if (*ex).phase == Phase::Running && (*ex).in_fiber {
            stop_at_failure(ex, kind, message, Some(place))
        }
        given_up(ex);
        if (*ex).in_fiber {
            leave_for_good(ex);
        }
        panic!("{message}")
    }
}

/// Gives the execution up: none that continues like this counts. Executions in which the latest choices come out otherwise have all else
/// that can happen from here.
pub fn prune() {
    let ex = context::for_operation("a signal", Place(0));
    // SAFETY: a current execution is valid, and no reference into it is held over the suspension.
    unsafe {
        if (*ex).phase == Phase::Running && (*ex).in_fiber {
            (*ex).end = Some(End::Pruned);
            (*ex).next = None;
            suspend(ex);
            leave_for_good(ex)
        }
    }
}

/// The search has to stop and the running thread took no step: the execution ends here.
pub fn stop_here(place: Place) -> ! {
    let ex = context::for_operation("a limit", place);
    // SAFETY: a current execution is valid, and no reference into it is held over the suspension.
    unsafe {
        if (*ex).phase == Phase::Running && (*ex).in_fiber {
            (*ex).stop_for_limit();
            give_up(ex)
        }
        leave_for_good(ex)
    }
}
