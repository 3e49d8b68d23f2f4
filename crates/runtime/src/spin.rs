//! Spin loops: a thread that can only look again at what it has seen waits until that changes.
//!
//! # The rule
//!
//! A *look* is a step that left its object as it was: a load, a yield, a failed compare-exchange or `try_lock`, a store
//! or read-modify-write of the value that was there already. A thread that announces an operation in exactly the local
//! state in which it announced it before, and has done nothing but look since, with every look at a word seeing the same, is in a
//! cycle: as long as the words are what it saw it would take the same steps with the same results for ever. So it waits ([`explore::OpKind::Await`]) until one of
//! these words differs.
//!
//! # Why it loses nothing
//!
//! The steps of one more turn of the cycle change no object, no local state, and no other thread's steps. Any execution in
//! which the thread goes round again before a word changes has the same final states, and the same results in all
//! other steps, as the one without that turn. When a word differs the thread may go on, whether or not it differs for long:
//! the search decides when it runs, so every value that the thread could have seen is still seen in some execution. Turns that
//! can be told apart are not cut: the counter of `for _ in 0..3` is local state, so all three turns are seen. If nobody
//! ever changes a word, all threads that are left wait: that is a livelock, and it is reported.
//!
//! # The local state, and what it does not see
//!
//! It is a 64-bit hash of the place in the machine code, of the thread's stack from the frame that calls the operation
//! down to the bottom, and of the registers that a call preserves. Data on the heap, in statics and in thread-locals that the thread changes *without our
//! operations* is not in it: a loop that counts its turns in a `Box` looks as if it repeated itself. Two things soften
//! that: a write to one of our cells ends the cycle, and a loop without a yield or spin hint must come back to its
//! state twice before it is cut. Two different states could have the same hash; with 64 bits we accept that.
//!
//! For loops that take a lock in each turn see [`crate::polling`].
//!
//! Frames between the loop and the operation are set up anew in each turn, on top of whatever the last turn left there,
//! and that includes frames of the search. So the stack below an operation is wiped when a look returns; then what a turn
//! leaves behind depends on the turn alone. Frames may also have parts that the program has not written yet, and what lies there is left from
//! before the loop. So the search starts again when a state is first taken: from then on stacks are wiped where threads start, and below
//! every operation of our types, as far down as states were compared, or 2 KiB. The turn at which a loop is cut then does not differ from one run of a schedule to the next, as a rule.
//! Where a thread does something else than the first time all the same, the search starts again once more, and wipes stacks below all
//! operations ([`crate::polling::Modes::clean_stacks`]). On processors for which the state cannot be taken nothing is cut.

use crate::context;
use crate::cycles;
use crate::execution::{Execution, Phase};
use crate::memory::LocalState;
use crate::objects::Handle;
use crate::polling::Restart;
use crate::time::CLOCK;
use crate::{Place, sync, turns};
use explore::semantics::Applied;
use explore::{Mode, ObjectId, Op, OpKind, Site, ThreadId};

/// The most looks that are remembered.
const WINDOW: usize = 64;

pub(crate) const fn bit(kind: OpKind) -> u64 {
    1 << kind as u8
}

/// Kinds that are looks if they leave the word as it was.
pub(crate) const LOOKS: u64 = bit(OpKind::Load)
    | bit(OpKind::Store)
    | bit(OpKind::Rmw)
    | bit(OpKind::CompareExchange)
    | bit(OpKind::CompareExchangeWeak)
    | bit(OpKind::Fence)
    | bit(OpKind::TryLock)
    | bit(OpKind::TryReadLock)
    | bit(OpKind::TryWriteLock)
    | bit(OpKind::SemTryWait)
    | bit(OpKind::TryTransfer)
    | bit(OpKind::TrySend)
    | bit(OpKind::TryRecv)
    | bit(OpKind::IsFinished)
    | bit(OpKind::CountRead)
    | bit(OpKind::Yield);

/// What is done to locks.
pub(crate) const LOCKS: u64 = bit(OpKind::Lock)
    | bit(OpKind::TryLock)
    | bit(OpKind::Unlock)
    | bit(OpKind::ReadLock)
    | bit(OpKind::TryReadLock)
    | bit(OpKind::ReadUnlock)
    | bit(OpKind::WriteLock)
    | bit(OpKind::TryWriteLock)
    | bit(OpKind::WriteUnlock);

/// What makes two operations the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) site: Site,
    pub(crate) object: ObjectId,
    pub(crate) kind: OpKind,
    pub(crate) a: u64,
    pub(crate) b: u64,
}

impl Key {
    /// That of an operation that has run. What may change from one time to the next does not count.
    pub(crate) fn of(op: &Op, site: Site) -> Key {
        let (a, b) = match op.kind {
            OpKind::Rmw | OpKind::Wake | OpKind::Park => (0, 0),
            OpKind::Choose if op.b == CLOCK => (0, CLOCK),
            OpKind::Store if op.order == explore::MemoryOrder::None => (0, 0),
            _ => (op.a, op.b),
        };
        Key { site, object: op.object, kind: strong(op.kind), a, b }
    }
}

/// The kind of the operation, whether or not it may fail spuriously.
pub(crate) fn strong(kind: OpKind) -> OpKind {
    if kind == OpKind::CompareExchangeWeak { OpKind::CompareExchange } else { kind }
}

/// One look.
#[derive(Clone, Copy)]
struct Look {
    key: Key,
    /// The object whose word it saw: that of the key, or for a lock the version of what it guards.
    on: ObjectId,
    /// What it saw.
    word: u64,
    /// The local state in which it was announced, if that was taken.
    state: Option<u64>,
    /// How often in a row the thread came back to that state here, and saw each word in one form only.
    repeats: u8,
    /// How often in a row it came back to that state.
    returns: u8,
    /// Its place in the log.
    at: usize,
}

/// The looks of a thread since its last step that was none.
#[derive(Default)]
pub(crate) struct Window {
    looks: Vec<Look>,
    /// The state of the look that is about to run.
    next: Option<(u64, u8, u8)>,
}

impl Window {
    pub(crate) fn clear(&mut self) {
        self.looks.clear();
        self.next = None;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.looks.is_empty()
    }

    #[inline(never)]
    fn push(&mut self, key: Key, on: ObjectId, word: u64, at: usize) {
        if self.looks.len() == WINDOW {
            self.looks.drain(..WINDOW / 2);
        }
        let next = self.next.take();
        let (state, repeats, returns) = next.map_or((None, 0, 0), |n| (Some(n.0), n.1, n.2));
        self.looks.push(Look { key, on, word, state, repeats, returns, at });
    }
}

/// The operation that is about to run was done before: in the state `state`, and, when the same state was found `from`
/// some look on, with nothing changed since.
#[derive(Clone, Copy)]
pub(crate) struct Repeat {
    state: u64,
    repeats: u8,
    returns: u8,
    await_from: Option<usize>,
    /// The thread has closed a cycle that can be removed; see [`crate::cycles`].
    pub(crate) stops: bool,
}

/// An operation that is about to run.
pub(crate) struct Probe<'a> {
    pub(crate) kind: OpKind,
    pub(crate) on: On<'a>,
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) place: Place,
}

/// To be called before the first execution of the process.
pub(crate) fn prepare() {
    machine::prepare();
}

/// What an operation is on.
pub(crate) enum On<'a> {
    Object(&'a Handle),
    LifeOf(ThreadId),
    Nothing,
}

/// To be called first in an operation, from the caller's frame.
///
/// Nothing that changes from turn to turn may come back into that frame: it would be part of the next state. So this
/// is a test and one call without a result, whatever comes out of it.
///
/// The operation is described only if somebody looks: most threads are in no loop.
#[inline(always)]
pub(crate) fn watch<'a>(kind: OpKind, probe: impl FnOnce() -> Probe<'a>) {
    // A weak compare-exchange that fails spuriously may be tried again in the same local state.
    if !looking() && (kind != OpKind::CompareExchangeWeak || context::current().is_null()) {
        return;
    }
    let probe = probe();
    // SAFETY: the probe is alive; `seen_before` gives an end only on a fiber, whose frames reach up to there.
    unsafe { machine::watch((&raw const probe).cast()) };
}

/// To be called last in an operation, from the caller's frame: wipes what a look left on the stack.
#[inline(always)]
pub(crate) fn leave() {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    if ex.is_null() || unsafe { !((*ex).looking | (*ex).modes.wipes_stacks) } {
        return;
    }
    // SAFETY: as above; the operation has just checked that far more stack than that is left.
    unsafe {
        let bytes = if (*ex).modes.wiped_depth == 0 { LEFT_BY_OPERATION } else { left_by_operation(&*ex) };
        machine::wipe(bytes);
    };
}

/// How far below an operation of the running thread the stack is wiped, where states were compared in deep frames: an operation in
/// such a frame must not find there what one in a frame above has left.
#[inline(never)]
fn left_by_operation(ex: &Execution) -> usize {
    let here = 0u8;
    let thread = &ex.threads[ex.current.index()];
    let to = thread.frames_end.saturating_sub(ex.modes.wiped_depth).max(thread.stack_floor);
    // Frames of ours lie between the operation and here.
    let left = (std::ptr::from_ref(&here) as usize).saturating_sub(to).next_multiple_of(128) + 256;
    left.clamp(LEFT_BY_OPERATION, MOST_WIPED)
}

/// A state is compared in a frame that is deeper in its stack than those so far.
#[cold]
fn compares_deeper(ex: &mut Execution, depth: usize) {
    ex.modes.wiped_depth = depth.next_multiple_of(LEFT_BY_OPERATION).min(MOST_WIPED);
    if !ex.settings.samples {
        ex.restart.get_or_insert(Restart::ComparesStates);
    }
}

/// How far below an operation the stack is wiped at least.
const LEFT_BY_OPERATION: usize = 2048;
/// And at most.
const MOST_WIPED: usize = 32 * 1024;
/// The same for a thread that starts.
const LEFT_BY_THREAD: usize = 2 * 1024;
/// The same where a thread has done something else than the first time.
const LEFT_BY_DEEP_THREAD: usize = 16 * 1024;

/// A thread starts, on a stack that reaches down to `floor`: wipes what earlier executions left there.
#[inline]
pub(crate) fn start(ex: &Execution, floor: usize) {
    if ex.modes.wipes_stacks | ex.modes.clean_stacks {
        let least = if ex.modes.clean_stacks { LEFT_BY_DEEP_THREAD } else { LEFT_BY_THREAD };
        wipe_stack(least.max(ex.modes.wiped_depth), floor);
    }
}

#[cold]
fn wipe_stack(bytes: usize, floor: usize) {
    let here = 0u8;
    let left = (std::ptr::from_ref(&here) as usize).saturating_sub(floor);
    // SAFETY: so much stack is left.
    unsafe { machine::wipe(bytes.min(left / 2) & !7) };
}

/// Whether the running thread has looked at something.
#[inline(always)]
fn looking() -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    !ex.is_null() && unsafe { (*ex).looking }
}

/// If the operation was done before, in the window: where the frames of the thread end. Otherwise 0.
///
/// # Safety
///
/// `probe` points to a live [`Probe`].
#[cfg(all(target_arch = "x86_64", unix))]
unsafe extern "sysv64" fn seen_before(probe: *const ()) -> usize {
    // SAFETY: by the contract; `looking` said that there is an execution, which is valid. The borrow ends here.
    let (probe, ex) = unsafe { (&*probe.cast::<Probe<'_>>(), &mut *context::current()) };
    if ex.has_lent() && ex.phase == Phase::Running {
        crate::lent::look(ex);
    }
    let object = match probe.on {
        On::Object(handle) => ex.find(handle),
        On::LifeOf(thread) => ex.threads.get(thread.index()).and_then(|t| t.seldom().life),
        On::Nothing => Some(ObjectId::NONE),
    };
    let Some(object) = object else { return 0 };
    let Probe { kind, a, b, place, .. } = *probe;
    let key = Key { site: sync::site(place), object, kind: strong(kind), a, b };
    if wants_state(ex, key) || kind == OpKind::CompareExchangeWeak && may_fail(ex, key) {
        let (end, here) = (ex.threads[ex.current.index()].frames_end, 0u8);
        // Close below the frames of which the state is taken.
        let depth = end.saturating_sub(std::ptr::from_ref(&here) as usize);
        if depth > ex.modes.wiped_depth.max(LEFT_BY_OPERATION) && ex.modes.wiped_depth < MOST_WIPED {
            compares_deeper(ex, depth);
        }
        end
    } else {
        0
    }
}

/// Whether the local state is wanted for the operation that is about to be announced.
#[inline(always)]
fn wants_state(ex: &mut Execution, key: Key) -> bool {
    if ex.is_fair() {
        (ex.repeat, ex.arriving) = (None, None);
        return ex.phase == Phase::Running;
    }
    let is_look = find(ex, key);
    let wanted = cycles::wants_state(ex, &key);
    ex.arriving = wanted.then_some(key);
    if (is_look || wanted) && !ex.modes.wipes_stacks && !ex.modes.clean_stacks {
        ex.restart.get_or_insert(Restart::ComparesStates);
    }
    is_look || wanted
}

/// Whether the weak compare-exchange that is about to be announced may fail spuriously; its local state is taken then. Whether its word is
/// as expected by now says nothing of that, as others may change it before its turn comes.
fn may_fail(ex: &mut Execution, key: Key) -> bool {
    let may = ex.settings.spurious_cas
        && ex.settings.spurious > 0
        && ex.settings.spin_loops
        && ex.phase == Phase::Running
        && !ex.is_fair();
    ex.arriving = may.then_some(key);
    may
}

/// Whether the running thread has the look in its window; notes where.
#[inline(always)]
fn find(ex: &mut Execution, key: Key) -> bool {
    if ex.phase != Phase::Running {
        return false;
    }
    let looks = &ex.threads[ex.current.index()].window.looks;
    let found = looks.iter().rposition(|l| l.key == key);
    ex.repeat = found.map(|i| Repeat { state: 0, repeats: 0, returns: 0, await_from: Some(i), stops: false });
    found.is_some()
}

/// Compares the state with that of the look that was found.
#[cfg(all(target_arch = "x86_64", unix))]
extern "sysv64" fn compare(state: u64) {
    // SAFETY: called after `seen_before` found an execution, which is valid; the borrow ends here.
    compare_in(unsafe { &mut *context::current() }, state);
}

/// The same for a reading of the clock that says where its local state is.
pub(crate) fn compare_clock(ex: &mut Execution, site: Site, state: LocalState) {
    if ex.looking {
        let key = Key { site, object: ObjectId::NONE, kind: OpKind::Choose, a: 0, b: CLOCK };
        compare_at(ex, key, state);
    }
}

/// The same for an operation that says where its local state is.
#[cold]
pub(crate) fn compare_at(ex: &mut Execution, key: Key, state: LocalState) {
    if state != LocalState::UNKNOWN && wants_state(ex, key) {
        let state = word_of(ex, state);
        compare_in(ex, state);
    }
}

/// A word for a local state of the running thread.
pub(crate) fn word_of(ex: &Execution, state: LocalState) -> u64 {
    let thread = &ex.threads[ex.current.index()];
    match state.address() {
        Some(from) if (thread.stack_floor..thread.frames_end).contains(&from) => {
            let more = machine_state();
            (hash(from, thread.frames_end) ^ more).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29)
        }
        _ => state.word(),
    }
}

/// What a thread of a program in machine code has of its own besides its stack and its registers: `errno`, and how floating-point
/// operations round and what they have raised.
fn machine_state() -> u64 {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    {
        let (mut vectors, mut x87) = (0u32, 0u16);
        // SAFETY: both instructions store a control word; every thread has its own `errno`.
        let errno = unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut vectors, options(nostack, preserves_flags));
            std::arch::asm!("fnstcw [{}]", in(reg) &raw mut x87, options(nostack, preserves_flags));
            *libc::__errno_location()
        };
        u64::from(vectors) << 48 ^ u64::from(x87) << 32 ^ u64::from(errno as u32)
    }
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    0
}

/// A hash of the words from one address to another, on the running thread's stack. Each is taken in as in `machine::watch`.
fn hash(from: usize, end: usize) -> u64 {
    debug_assert!(from.is_multiple_of(8) && end.is_multiple_of(8));
    const ODD: u64 = 0xFF51_AFD7_ED55_8CCD;
    // SAFETY: all of it is stack in use. It may hold what was never written, so the compiler must not look at it as a value of ours.
    let word = |at: usize| unsafe { (at as *const u64).read_volatile() };
    let taken_in = |h: u64, word: u64| (h ^ word).wrapping_mul(ODD).rotate_left(29);
    // The processor computes several hashes at once in the time of one.
    let mut hashes = [0x9E37_79B9_7F4A_7C15u64, 1, 2, 3];
    let whole = from + (end.saturating_sub(from) & !31);
    for at in (from..whole).step_by(32) {
        for (i, h) in hashes.iter_mut().enumerate() {
            *h = taken_in(*h, word(at + 8 * i));
        }
    }
    let rest = (whole..end).step_by(8).map(word);
    let [first, others @ ..] = hashes;
    others.into_iter().chain(rest).fold(first, taken_in)
}

fn compare_in(ex: &mut Execution, state: u64) {
    if ex.is_fair() {
        return ex.note_fair_state(state);
    }
    let arriving = ex.arriving.take();
    ex.compared_states = true;
    if let Some(from) = compare_looks(ex, state) {
        watch_looks(ex, from);
        let at = ex.threads[ex.current.index()].window.looks[from].at;
        // Others whose changes it saw in the cycle can do without its looks.
        cycles::note_idle(ex, at);
        cycles::stops_idle(ex, at);
        ex.same_as_earlier = false;
        ex.repeat = Some(Repeat { state, repeats: 0, returns: 0, await_from: None, stops: true });
        return;
    }
    let awaits = ex.repeat.is_some_and(|r| r.await_from.is_some());
    let Some(key) = arriving else { return };
    let closes = cycles::arrive(ex, key, state);
    if cycles::has_waited(ex, key, state) {
        ex.same_as_earlier = false;
        ex.repeat = Some(Repeat { state, repeats: 0, returns: 0, await_from: None, stops: true });
        return;
    }
    // A thread that would wait for a change goes on when there is one, so a livelock is seen.
    if closes {
        if awaits {
            ex.same_as_earlier = false;
        } else {
            ex.repeat = Some(Repeat { state, repeats: 0, returns: 0, await_from: None, stops: true });
        }
    } else if ex.modes.eager && ex.repeat.is_none() {
        // The first look of a cycle has a state as well, so that the thread is found to be back when it first comes there again.
        ex.repeat = Some(Repeat { state, repeats: 0, returns: 0, await_from: None, stops: false });
    }
}

/// Compares the state with that of the look that was found. If the thread has to be stopped: the first look of the cycle.
///
/// A cycle in which a word was seen in two forms would go another way while the words stay what they are, so there is nothing to wait for.
/// The execution without it shows all that can follow.
fn compare_looks(ex: &mut Execution, state: u64) -> Option<usize> {
    let Some(Repeat { await_from: Some(i), .. }) = ex.repeat else { return None };
    let cycle = &ex.threads[ex.current.index()].window.looks[i..];
    // Whether the words are still what was seen does not matter here: what a thread announces must be decided by what it has
    // seen itself. If one differs already, the wait is over at once.
    let back = cycle[0].state == Some(state);
    let steady = back && is_steady(cycle);
    let repeats = if steady { cycle[0].repeats + 1 } else { 0 };
    let returns = if back { cycle[0].returns.saturating_add(1) } else { 0 };
    let yields = cycle.iter().any(|l| l.key.kind == OpKind::Yield);
    let wanted = if yields || ex.modes.eager { 1 } else { 2 };
    let await_from = (repeats >= wanted).then_some(i);
    ex.repeat = Some(Repeat { state, repeats, returns, await_from, stops: false });
    // Under a bound, to remove a cycle may cost a preemption where the thread gave way of its own accord.
    let most = if yields && ex.settings.bounded { 2 } else { wanted };
    let removable = back && !steady && ex.settings.rule != crate::cycles::Rule::LooksOnly;
    (removable && returns >= most && cycle.iter().all(|l| l.key.kind != OpKind::Choose)).then_some(i)
}

/// The steps of the running thread are kept from now on, with those since that look.
fn watch_looks(ex: &mut Execution, from: usize) {
    let t = ex.current.index();
    if ex.threads[t].cycles.is_empty() {
        for i in from..ex.threads[t].window.looks.len() {
            let Look { key, on, word, state, at, .. } = ex.threads[t].window.looks[i];
            let state = state.map(|s| ex.with_time(s));
            ex.threads[t].cycles.looked(key, state, at, (on, word));
        }
    }
}

/// Whether a cycle saw each word in one form only. If not, it would not go the same way again while the words stay what they are.
fn is_steady(cycle: &[Look]) -> bool {
    let differ = |a: &Look, b: &Look| a.on.is_some() && a.on == b.on && a.word != b.word;
    cycle.iter().enumerate().all(|(k, a)| cycle[..k].iter().all(|b| !differ(a, b)))
}

/// Announces that the thread waits for a change, if that is how the comparison came out; says whether it did.
pub(crate) fn announce(ex: &mut Execution, site: Site) -> bool {
    let Some(repeat) = ex.repeat.take() else { return false };
    let t = ex.current.index();
    let Some(from) = repeat.await_from else {
        ex.threads[t].window.next = Some((repeat.state, repeat.repeats, repeat.returns));
        return false;
    };
    let polls_clock = ex.threads[t].window.looks[from..].iter().any(|l| l.key.kind == OpKind::Choose);
    if polls_clock || ex.threads[t].seldom().polls_clock {
        ex.threads[t].seldom_mut().polls_clock = polls_clock;
    }
    let mut seen = std::mem::take(&mut ex.seen);
    seen.clear();
    for look in &ex.threads[t].window.looks[from..] {
        let object = look.on;
        if object.is_some() && seen.iter().all(|s| s.0 != object) {
            seen.push((object, look.word));
        }
    }
    let key = ex.threads[t].window.looks[from].key;
    watch_looks(ex, from);
    if cycles::awaits_again(ex, key, repeat.state, &seen) {
        ex.seen = seen;
        ex.repeat = Some(Repeat { stops: true, ..repeat });
        return false;
    }
    ex.threads[t].window.clear();
    ex.looking = ex.tracking || ex.modes.clean_stacks;
    if ex.modes.versions {
        seen.iter().for_each(|s| ex.has_polled(s.0));
    }
    ex.announce_await(&seen, 0, site);
    ex.seen = seen;
    true
}

/// Notes a step that has run.
#[inline(always)]
pub(crate) fn after_step(
    ex: &mut Execution,
    op: &Op,
    site: Site,
    before: u64,
    applied: &Applied,
    option: u32,
) {
    // A signal that does not come is nothing.
    if op.kind == OpKind::Choose && op.b == sync::SIGNAL && option == 0 {
        return;
    }
    // A reading of the clock that finds that no time has passed is a look.
    let clock = op.kind == OpKind::Choose && op.b == CLOCK && option == 0;
    let is_look = (LOOKS >> op.kind as u8 & 1 == 1 || clock) && applied.word == before;
    let spurious = fails_spuriously(op, option);
    cycles::after_step(ex, op, site, before, applied, option, is_look && !spurious);
    let t = ex.current.index();
    if LOCKS >> op.kind as u8 & 1 == 1 && ex.modes.versions && after_lock(ex, *op, site, before, applied) {
        return;
    }
    if is_look && !spurious && ex.settings.spin_loops {
        let (a, b) = match op.kind {
            OpKind::Rmw => (0, 0),
            OpKind::Choose => (0, CLOCK),
            _ => (op.a, op.b),
        };
        let key = Key { site, object: op.object, kind: strong(op.kind), a, b };
        let at = ex.log.len() - 1;
        ex.threads[t].window.push(key, op.object, before, at);
        ex.looking = true;
    } else if ex.looking {
        forget_looks(ex);
    }
}

/// Whether a compare-exchange of an object, or of a part of one, failed spuriously. No other read-modify-write has options.
#[inline(always)]
pub(crate) fn fails_spuriously(op: &Op, option: u32) -> bool {
    option == 1 && matches!(op.kind, OpKind::CompareExchangeWeak | OpKind::Rmw)
}

/// The running thread took a step that is not a look.
#[cold]
fn forget_looks(ex: &mut Execution) {
    ex.threads[ex.current.index()].window.clear();
    ex.looking = ex.tracking || ex.modes.clean_stacks;
}

/// The same for locks that have versions; says whether that was all. To take one is a look at its version, to give it back is
/// nothing; to try one in vain is a look like others. A thread that tries one with success has also seen that it was free: it goes
/// another way when somebody holds it.
#[cold]
fn after_lock(ex: &mut Execution, op: Op, site: Site, before: u64, applied: &Applied) -> bool {
    use OpKind::*;
    let tries = matches!(op.kind, TryLock | TryReadLock | TryWriteLock);
    if tries {
        ex.has_tried(op.object, applied.ok && applied.access.mode == Mode::ReadTaken);
    }
    if !applied.ok {
        return false;
    }
    if !matches!(op.kind, Unlock | ReadUnlock | WriteUnlock) {
        let version = ex.version_of(op.object);
        let word = ex.word(version);
        let key = Key { site, object: op.object, kind: op.kind, a: op.a, b: op.b };
        let at = ex.log.len() - 1;
        let window = &mut ex.threads[ex.current.index()].window;
        window.push(key, version, word, at);
        if tries {
            // No operation has this key, so a cycle starts with the look before.
            window.push(Key { kind: Await, ..key }, op.object, before, at);
        } else {
            turns::saw_version(ex, &op, site, version);
        }
        ex.looking = true;
    }
    true
}

/// The running thread changed something, or learned something, that is in none of its steps.
#[cold]
pub(crate) fn changed(ex: &mut Execution) {
    ex.threads[ex.current.index()].window.clear();
    cycles::forget(ex);
    ex.looking = ex.modes.clean_stacks || ex.is_fair();
}

#[cfg(all(target_arch = "x86_64", unix))]
mod machine {
    use std::sync::atomic::{AtomicBool, Ordering};

    /// If the operation was done before: hands a hash of the state to `compare`. The state is where the caller goes on,
    /// its stack up to the end of the thread's frames, and the registers that calls preserve. A loop that the compiler has
    /// unrolled keeps its counter in the first of these.
    ///
    /// # Safety
    ///
    /// As for `seen_before`; the end it gives lies above the caller's frame on the running stack.
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn watch(probe: *const ()) {
        // Each word is taken in by `h = rotate((h ^ word) * odd)`, which loses nothing of `h`. The first word on the stack
        // is the return address.
        std::arch::naked_asm!(
            "sub rsp, 8",
            "call {seen_before}",
            "add rsp, 8",
            "test rax, rax",
            "jz 3f",
            "mov rsi, rax",
            "movabs rdi, 0x9E3779B97F4A7C15",
            "movabs rcx, 0xFF51AFD7ED558CCD",
            "xor rdi, rbx",
            "imul rdi, rcx",
            "rol rdi, 29",
            "xor rdi, rbp",
            "imul rdi, rcx",
            "rol rdi, 29",
            "xor rdi, r12",
            "imul rdi, rcx",
            "rol rdi, 29",
            "xor rdi, r13",
            "imul rdi, rcx",
            "rol rdi, 29",
            "xor rdi, r14",
            "imul rdi, rcx",
            "rol rdi, 29",
            "xor rdi, r15",
            "imul rdi, rcx",
            "rol rdi, 29",
            "mov rdx, rsp",
            "2:",
            "xor rdi, [rdx]",
            "imul rdi, rcx",
            "rol rdi, 29",
            "add rdx, 8",
            "cmp rdx, rsi",
            "jb 2b",
            "jmp {compare}",
            "3:",
            "ret",
            seen_before = sym super::seen_before,
            compare = sym super::compare,
        )
    }

    /// Whether the processor has vectors of 32 bytes: they clear memory in half the time.
    static HAS_AVX: AtomicBool = AtomicBool::new(false);

    /// Looks what the processor has.
    pub(super) fn prepare() {
        HAS_AVX.store(std::is_x86_feature_detected!("avx"), Ordering::Relaxed);
    }

    /// Clears so many bytes, a multiple of 8, of the stack below the caller's frame.
    ///
    /// # Safety
    ///
    /// That much stack must be left, and 64 bytes more.
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn wipe(bytes: usize) {
        std::arch::naked_asm!(
            "cmp byte ptr [rip + {has_avx}], 0",
            "je 3f",
            "test rdi, 127",
            "jne 3f",
            "test rdi, rdi",
            "je 3f",
            "vpxor xmm0, xmm0, xmm0",
            // What lies above the last multiple of 64, and from there on whole lines.
            "vmovdqu [rsp - 32], ymm0",
            "vmovdqu [rsp - 64], ymm0",
            "mov rcx, rsp",
            "and rcx, -64",
            "neg rdi",
            "add rdi, rcx",
            "2:",
            "vmovdqa [rcx - 32], ymm0",
            "vmovdqa [rcx - 64], ymm0",
            "vmovdqa [rcx - 96], ymm0",
            "vmovdqa [rcx - 128], ymm0",
            "sub rcx, 128",
            "cmp rcx, rdi",
            "jne 2b",
            "vzeroupper",
            "ret",
            "3:",
            "mov rcx, rdi",
            "shr rcx, 3",
            "neg rdi",
            "add rdi, rsp",
            "xor eax, eax",
            "cld",
            "rep stosq",
            "ret",
            has_avx = sym HAS_AVX,
        )
    }
}

#[cfg(not(all(target_arch = "x86_64", unix)))]
mod machine {
    /// # Safety
    ///
    /// None is needed.
    pub(super) unsafe fn watch(_probe: *const ()) {}

    pub(super) fn prepare() {}

    /// # Safety
    ///
    /// None is needed.
    pub(super) unsafe fn wipe(_bytes: usize) {}
}
