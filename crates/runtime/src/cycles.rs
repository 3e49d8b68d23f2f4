//! Threads that repeat themselves although they change something, or because a wait ended spuriously.
//!
//! # The rule
//!
//! A thread that announces an operation in exactly the local state in which it announced it before has gone round a *cycle*.
//! The cycle is *removable* if no other thread can tell that it was there: for every object that the thread changed in it, the word is as if
//! the thread had not changed it whenever another thread accesses it in conflict with these changes, and at the end. So a lock that is
//! taken and released is nothing, unless somebody tried it meanwhile. A look of another thread does not count if that thread has come back to
//! where it was with it: such a look can be removed first. Objects that the thread only looked at do not matter. A thread that closes a removable cycle is stopped for the rest of the execution,
//! and all others continue, as after an assumption that does not hold ([`explore::End::Pruned`]).
//!
//! # Why it loses nothing
//!
//! The execution without the cycle is an execution of the program: the other threads see the same values, the thread is in the
//! same local state, and all words are the same. So every state is reached by an execution without removable cycles. Whether
//! a thread is stopped is decided by its own steps and by accesses that conflict with them, so it is the same in
//! all orders of independent steps, and every reduction that copes with assumptions copes with it.
//!
//! Cycles of looks alone, in which no option was taken, belong to [`crate::spin`]: there the thread waits for a change, which makes
//! livelocks visible. Only a thread that is woken in vain again and again, with the same words each time, is stopped here.
//!
//! # What is remembered
//!
//! Nothing, until a thread takes an option (a spurious end of a wait, a timeout, a spurious failure), waits for a change, or
//! comes a third time to a place where it takes a change back. From then on the steps of the thread are kept in a window. The
//! local state is taken where an operation is met again. A step that is forgotten, or whose state was not taken, costs
//! executions and loses none. Where there are many executions, the search starts again and watches all threads from their beginning
//! ([`crate::polling::Modes::eager`]): each step costs more, and there are fewer.
//!
//! # Threads that see each other's rounds
//!
//! Where others have seen the changes of a cycle, it cannot be removed, and two threads that step back from each other can do so for ever.
//! There the number of such rounds in a row is bounded, as that of turns that see nothing new is ([`crate::turns`]), and the report says
//! so. It is decided by the thread's own steps alone; see `rounds`.
//!
//! # Programs that tell infinitely many apart
//!
//! Where the local state differs each time (the program counts its failures), no cycle closes. There, the options that are
//! taken *in a row* are bounded: by one thread, on one object, without a look in between that saw another value. Only options
//! in a state that the thread was not in before count. A thread that comes to the bound gets no more options, and the report
//! says so ([`crate::Settings::spurious`]).

use crate::Place;
use crate::execution::Execution;
use crate::memory::PART;
use crate::polling::Restart;
use crate::record::Logged;
use crate::spin::{self, Key};
use crate::sync::{Ended, leave_for_good, suspend, turn};
use crate::time::CLOCK;
use crate::turns;
use explore::semantics::{Applied, RwWord};
use explore::{Access, CaveatKind, End, Mode, ObjectId, Op, OpKind, Pending, Site, ThreadId};

/// The most steps of a thread that are remembered.
const WINDOW: usize = 64;
/// Places are told apart by their lowest bits, which do not depend on where the program is loaded.
const PLACES: usize = 32;
/// So many changes are looked at to see whether the thread takes one back.
const RECENT: usize = 4;
/// A thread that comes so often to a place where it takes a change back may be in a loop.
const ROUNDS: u8 = 3;
/// Options that a thread may take in a row where it was before. The rule ends such loops, so this is only reached where threads observe
/// each other's temporary changes.
const MOST_KNOWN: u32 = 32;
/// So often in a row a thread may wait for the same words to differ from the same values, in the same state.
const MOST_AWAITS: usize = 3;

/// When a thread that repeats itself is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// When it closes a removable cycle: the rule above.
    #[default]
    Removable,
    /// The same, with threads that are watched from their beginning, which happens otherwise after many executions.
    Eager,
    /// The same, and rounds whose changes others have seen are counted by place with any local state, which happens otherwise where one
    /// such round leaves very many executions.
    RoundsByPlace,
    /// Never, and options are taken at most once in a row.
    OneInARow,
    /// Never: only loops that look are stopped.
    LooksOnly,
    /// At the same place, in any local state.
    SamePlace,
    /// Whatever it changed.
    OwnChangesIgnored,
    /// If its changes are undone, whoever looked meanwhile.
    LooksOfOthersIgnored,
    /// At the phase of a wait in which it was before, however the wait ends.
    PhaseIgnored,
    /// Rightly, but the execution ends there for all threads.
    EndsExecution,
    /// Rightly, but the execution ends there as if it had not been run, whatever the cycle consists of.
    UndoesCycles,
    /// As `Eager`, and the execution ends for all threads where the states of all threads and all words are as they were before.
    RepeatedState,
}

/// Operand `a` of an [`OpKind::Assume`]: the thread was stopped by the rule above.
pub(crate) const STOPPED: u64 = 1;

/// The operand of the `Assume` at which a thread stands that has stopped at a failure.
pub(crate) const FAILED: u64 = 2;

/// A step of a thread.
#[derive(Clone, Copy)]
struct Visit {
    key: Key,
    /// The local state in which it was announced, if that was taken.
    state: Option<u64>,
    /// Its place in the log, or that of the next step of the execution when it was announced.
    at: usize,
    /// The object that was seen, and its word before the step.
    seen: (ObjectId, u64),
    /// It took an option that the thread cannot rely on.
    option: bool,
    /// That is a spurious failure.
    failed: bool,
    /// The state was taken when the thread came there for the first time; see [`fails`].
    first: bool,
    /// The option was that a wait ends by its time limit.
    timeout: bool,
    /// How many rounds in a row have led the thread here, each with its own changes taken back; see [`rounds`].
    rounds: u32,
}

/// A change of an object by the thread.
#[derive(Clone, Copy)]
struct Change {
    at: usize,
    object: ObjectId,
    before: u64,
    after: u64,
    access: Access,
}

/// Options taken in a row on one object.
#[derive(Clone, Copy)]
struct Row {
    object: ObjectId,
    /// In states that the thread was not in before.
    fresh: u32,
    /// In states that it was in.
    known: u32,
}

/// What is known of the operation that is about to be announced.
#[derive(Clone, Copy)]
struct Arrival {
    state: u64,
    /// The thread was in this state here before, or it cannot be told yet.
    known: bool,
    /// The thread was not here before, as far as its window tells.
    first: bool,
    /// As in [`Visit`].
    rounds: u32,
}

/// A cycle that can be removed.
struct Cycle {
    options: bool,
    /// Options other than timeouts.
    spurious: bool,
    changes: bool,
    free_switch: bool,
}

/// What the runtime remembers of one thread's way.
#[derive(Default)]
pub(crate) struct Cycles {
    visits: Vec<Visit>,
    changes: Vec<Change>,
    rows: Vec<Row>,
    /// How often the thread has changed something at a place, by the place's lowest bits.
    rounds: [u8; PLACES],
    /// The last objects that it changed, each with its word before the change, as a number, and where the next one goes.
    recent: [u64; RECENT],
    next: u32,
    /// Something is remembered besides these changes and the arrival.
    used: bool,
    arrival: Option<Arrival>,
    /// Where the thread has waited for a change.
    awaits: Vec<Awaited>,
    /// Stretches of steps that only looked, after each of which the thread was where it was before: the first and the last step of each.
    idle: Vec<(usize, usize)>,
    /// Looks that lead the thread back to where it was, with nothing but yields in between.
    returns: Vec<Return>,
    /// Where the thread comes next besides yields, as far as is known.
    expected: Option<(Key, u64)>,
    /// It is inside a wait, which notes its phases itself.
    in_wait: bool,
    /// Why it was stopped, if it was.
    stopped: Option<Box<Stopped>>,
}

/// A wait of a thread for a change of words that it saw.
#[derive(Clone, Copy)]
struct Awaited {
    /// The operation before which it waited, and the local state there.
    key: Key,
    state: u64,
    /// The words, as a hash.
    words: u64,
    /// How many steps the execution had then.
    at: usize,
}

/// A look after which a thread comes back to it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Return {
    key: Key,
    /// The local state in which it was announced.
    state: u64,
    /// What it saw.
    seen: (ObjectId, u64),
}

/// Why a thread was stopped.
struct Stopped {
    /// The local state, if it was taken.
    state: u64,
    /// How many steps the execution had then.
    at: usize,
    /// An option other than a timeout was taken in the cycle: the thread may go another way.
    spurious: bool,
    /// A wait in the cycle ended by its time limit.
    timeouts: bool,
    /// What it saw in the cycle, for reports.
    seen: Vec<(ObjectId, u64)>,
    /// The words that it left where it changed something in the cycle.
    left: Vec<(ObjectId, u64)>,
    /// The locks that it read in the cycle, together with others or not: a writer that holds one now would hold it up, or be seen.
    read: Vec<ObjectId>,
    /// What it changed in the cycle.
    changed: Vec<ObjectId>,
    /// It only looked, and took no option.
    looks: bool,
    /// Nobody else changed these objects during the cycle as far as it could tell: alone, the thread would see the same again.
    steady: bool,
}

/// An object and a word of it, as one number. Few others have the same, and a thread that seems to take a change back is only watched.
#[inline(always)]
fn change(object: ObjectId, word: u64) -> u64 {
    word ^ (object.0 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Cycles {
    pub(crate) fn reset(&mut self) {
        if std::mem::take(&mut self.next) != 0 {
            self.rounds = [0; PLACES];
            self.recent = [u64::MAX; RECENT];
        }
        self.arrival = None;
        if std::mem::take(&mut self.used) {
            self.visits.clear();
            self.changes.clear();
            self.rows.clear();
            self.awaits.clear();
            self.idle.clear();
            self.returns.clear();
            self.expected = None;
            self.in_wait = false;
            self.stopped = None;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.visits.is_empty()
    }

    /// Whether something was remembered besides the last changes.
    #[inline(always)]
    pub(crate) fn is_used(&self) -> bool {
        self.used
    }

    /// The thread, which is in no known loop, changes the word of an object. Says whether it comes again and again to this place and takes a
    /// change back.
    #[inline(always)]
    pub(crate) fn comes_again(&mut self, object: ObjectId, before: u64, after: u64, site: Site) -> bool {
        let takes_back = self.recent.contains(&change(object, after));
        self.recent[self.next as usize % RECENT] = change(object, before);
        self.next = self.next.wrapping_add(1);
        takes_back && self.counts_round(site)
    }

    #[cold]
    fn counts_round(&mut self, site: Site) -> bool {
        let place = &mut self.rounds[(site.0 >> 3 & 0xfff) % PLACES];
        *place = place.saturating_add(1);
        *place >= ROUNDS
    }

    /// The local state of the operation that has just run is of no more use.
    #[inline(always)]
    pub(crate) fn forget_arrival(&mut self) {
        self.arrival = None;
    }

    fn forget(&mut self) {
        self.visits.clear();
        self.changes.clear();
        self.awaits.clear();
        self.returns.clear();
        self.expected = None;
        self.arrival = None;
    }

    fn push(&mut self, visit: Visit) {
        self.used = true;
        if self.visits.len() == WINDOW {
            self.visits.drain(..WINDOW / 2);
            let from = self.visits[0].at;
            self.changes.retain(|c| c.at >= from);
            self.awaits.retain(|a| a.at >= from);
        }
        self.visits.push(visit);
    }
}

impl Cycles {
    /// The local state in which the thread was stopped, or waits for a change; 0 if it was neither.
    pub(crate) fn last_state(&self) -> u64 {
        match (&self.stopped, self.awaits.last()) {
            (Some(stopped), _) => stopped.state,
            (None, Some(awaited)) => awaited.state,
            (None, None) => 0,
        }
    }

    /// The thread only looked from one step of the execution to another, and is, or certainly will be, where it was.
    fn was_idle(&mut self, from: usize, last: usize) {
        if self.idle.len() == WINDOW {
            self.idle.drain(..WINDOW / 2);
        }
        self.idle.push((from, last));
    }

    /// Adds a look of the thread from before it was watched.
    pub(crate) fn looked(&mut self, key: Key, state: Option<u64>, at: usize, seen: (ObjectId, u64)) {
        let (option, failed, first, timeout, rounds) = (false, false, false, false, 0);
        self.push(Visit { key, state, at, seen, option, failed, first, timeout, rounds });
    }

    /// Whether the thread found an object, from that step of the execution on, always as it had seen or left it last, and at first as
    /// it left it at the end. Only the bits of the word from `bits` on count.
    fn is_steady(&self, from: usize, object: ObjectId, bits: u32) -> bool {
        let own = || self.changes.iter().filter(|c| c.at >= from && c.object == object);
        let looks = self.visits.iter().filter(|v| v.at >= from && v.seen.0 == object);
        let looks = looks.filter(|v| own().all(|c| c.at != v.at)).map(|v| (v.at, v.seen.1, v.seen.1));
        let mut steps: Vec<_> = own().map(|c| (c.at, c.before, c.after)).chain(looks).collect();
        steps.sort_by_key(|s| s.0);
        let Some(last) = steps.last() else { return true };
        let mut word = last.2;
        steps.iter().all(|(_, before, after)| std::mem::replace(&mut word, *after) >> bits == before >> bits)
    }
}

/// The running thread changed something that is not a step: its steps so far are in no cycle that can be removed.
pub(crate) fn forget(ex: &mut Execution) {
    ex.threads[ex.current.index()].cycles.forget();
    ex.tracking = ex.modes.eager;
    ex.note_hidden_change();
}

/// Whether the local state is wanted for an operation of the running thread that is about to be announced.
///
/// It is, where the thread did the operation before. When it does so for the first time, its frames may have parts that it has not written
/// yet, and what lies there is left from an earlier execution.
#[inline(always)]
pub(crate) fn wants_state(ex: &Execution, key: &Key) -> bool {
    ex.tracking
        && ex.settings.spin_loops
        && (ex.modes.eager || ex.threads[ex.current.index()].cycles.visits.iter().any(|v| v.key == *key))
}

/// The running thread is about to announce an operation in this state. Says whether it is stopped instead.
pub(crate) fn arrive(ex: &mut Execution, key: Key, state: u64) -> bool {
    let state = ex.with_time(state);
    arrive_in(ex, key, state)
}

fn arrive_in(ex: &mut Execution, key: Key, state: u64) -> bool {
    let t = ex.current;
    let state = if ex.settings.rule == Rule::SamePlace { 0 } else { state };
    let visits = &ex.threads[t.index()].cycles.visits;
    let here = visits.iter().filter(|v| v.key == key);
    let (mut met, mut taken) = (false, false);
    for v in here.clone() {
        met = true;
        taken |= v.state.is_some() && !v.first;
    }
    let mut same = false;
    // Under a bound, to remove a cycle may cost a preemption where the thread gave way of its own accord.
    let wanted = |c: &Cycle| 1 + (ex.settings.bounded && c.free_switch) as u32;
    let (mut closed, mut stop, mut idle) = (0, None, None);
    let stops = !matches!(ex.settings.rule, Rule::OneInARow | Rule::LooksOnly);
    for v in here.rev().filter(|v| v.state == Some(state)) {
        same = true;
        if !stops {
            break;
        }
        if v.first && !may_undo(ex, v.at) {
            continue;
        }
        let Some(cycle) = removable(ex, t, v.at) else { continue };
        if !cycle.options && !cycle.changes {
            idle = idle.or(Some(v.at));
        } else {
            closed += 1;
            if closed >= wanted(&cycle) {
                stop = Some((v.at, cycle));
                break;
            }
        }
    }
    if let Some(from) = idle {
        note_idle(ex, from);
    }
    let known = same || met && !taken;
    let back = same || met && ex.modes.rounds_by_place;
    let round = if stops && back && stop.is_none() { rounds(ex, key, state) } else { None };
    let first = !met && !ex.modes.clean_stacks;
    let rounds = round.as_ref().map_or(0, |r| r.0);
    ex.threads[t.index()].cycles.arrival = Some(Arrival { state, known, first, rounds });
    match (stop, round) {
        (Some((from, cycle)), _) => {
            note_stop(ex, from, &cycle);
            ex.same_as_earlier = may_undo(ex, from) || ex.settings.rule == Rule::UndoesCycles;
            true
        }
        _ if ex.settings.rule == Rule::RepeatedState && ex.was_in_state() => {
            stops_idle(ex, ex.log.len());
            ex.same_as_earlier = false;
            true
        }
        (None, Some((n, from))) if n >= ex.turns => {
            let cycle = contents(&ex.threads[t.index()].cycles, from);
            note_stop(ex, from, &cycle);
            ex.same_as_earlier = false;
            turns::note_rounds(ex, key.site);
            true
        }
        _ => false,
    }
}

/// How many rounds in a row have led the running thread to this operation, in this state, and where the last of them began.
///
/// A round takes all changes back that the thread made in it, as a cycle that can be removed does, but others have seen them: two threads
/// that each take a lock, fail to take the other one, and release the first, can keep each other from both locks for ever. Nothing is
/// removed there without a loss, so the rounds are bounded, as turns of a loop that sees nothing new are ([`crate::turns`]).
///
/// The answer depends only on steps of the thread itself and on words that it saw in them. So it is the same in all orders of independent
/// steps, and reductions are exact for the executions that are left: those in which no thread goes through more rounds in a row.
///
/// A loop may leave something behind that it never looks at again, such as the result of a call in a part of its frame. Then a thread comes
/// back to a state only after several rounds, and there may be very many executions before that. Where there are, the place alone
/// counts ([`crate::polling::Modes::rounds_by_place`]). Which executions are left is then not always the same in all orders of independent
/// steps: every outcome that is found is real, but the caveat `turns` may stand for more than the number of rounds that it names.
fn rounds(ex: &Execution, key: Key, state: u64) -> Option<(u32, usize)> {
    let cycles = &ex.threads[ex.current.index()].cycles;
    // What a state is that was taken at the first visit may differ from one execution to the next; see [`fails`].
    let by_place = ex.modes.rounds_by_place;
    let known = |v: &&Visit| v.key == key && (by_place || v.state == Some(state) && !v.first);
    let mut same = cycles.visits.iter().rev().filter(known);
    same.find_map(|v| {
        let first = cycles.changes.iter().position(|c| c.at >= v.at)?;
        let own = &cycles.changes[first..];
        let first_of = |k: usize| own[..k].iter().all(|c| c.object != own[k].object);
        let takes_back = |k: usize| {
            let mut of_object = own[k..].iter().filter(|c| c.object == own[k].object);
            let sum = of_object.clone().fold(0u64, |sum, c| sum.wrapping_add(c.after.wrapping_sub(c.before)));
            sum == 0 || of_object.next_back().is_some_and(|last| last.after == own[k].before)
        };
        let all = (0..own.len()).filter(|k| first_of(*k)).all(takes_back);
        all.then_some((v.rounds + 1, v.at))
    })
}

/// The running thread has only looked since that step of the execution, and is where it was then.
pub(crate) fn note_idle(ex: &mut Execution, from: usize) {
    let (t, last) = (ex.current, ex.log.len() - 1);
    if ex.log[last].thread != t {
        return;
    }
    let cycles = &mut ex.threads[t.index()].cycles;
    let mut since = cycles.visits.iter().filter(|v| v.at >= from);
    if let Some(Visit { key, state: Some(state), seen, .. }) = since.next().copied()
        && key.kind != OpKind::Yield
        && since.all(|v| v.key.kind == OpKind::Yield)
        && cycles.returns.len() < WINDOW
    {
        let learned = Return { key, state, seen };
        if !cycles.returns.contains(&learned) {
            cycles.returns.push(learned);
        }
    }
    cycles.was_idle(from, last);
}

/// A weak compare-exchange of the running thread is about to fail spuriously, in this local state, which was not asked for before. A thread
/// that only tries again is in the same state then, so its first failure closes a cycle already.
///
/// The frames of the thread may have parts that it has not written yet; see [`wants_state`]. If it writes them before it tries again, the
/// cycle closes one failure later. What lies there is left from an earlier execution, so whether it closes may differ from one execution to
/// the next. So such a cycle only ends executions that nothing else depends on ([`may_undo`]): the search never offers the failure again there.
#[cold]
#[inline(never)]
pub(crate) fn fails(ex: &mut Execution, key: Key, state: u64) {
    if ex.settings.spin_loops && ex.threads[ex.current.index()].cycles.arrival.is_none() {
        arrive(ex, key, state);
    }
}

/// Whether the steps of the running thread since that step of the execution are a single spurious failure, and the search can do without
/// this execution.
fn may_undo(ex: &Execution, from: usize) -> bool {
    is_single_failure(ex, from) && !ex.settings.samples && ex.differs_in_outcome()
}

/// Whether the steps of the running thread since that step of the execution are a single spurious failure. The execution in which the step
/// succeeds has all that can follow, and it was explored before: outcomes of a step are taken in their order.
fn is_single_failure(ex: &Execution, from: usize) -> bool {
    let mut since = ex.threads[ex.current.index()].cycles.visits.iter().filter(|v| v.at >= from);
    let first = since.next();
    first.is_some_and(|v| v.option && v.failed) && since.next().is_none()
}

/// Notes why the running thread is stopped.
fn note_stop(ex: &mut Execution, from: usize, cycle: &Cycle) {
    let cycles = &mut ex.threads[ex.current.index()].cycles;
    let mut seen: Vec<(ObjectId, u64)> = Vec::new();
    for v in cycles.visits.iter().filter(|v| v.at >= from && v.seen.0.is_some()) {
        if !seen.contains(&v.seen) {
            seen.push(v.seen);
        }
    }
    let (mut left, mut read, mut changed): (Vec<(ObjectId, u64)>, Vec<ObjectId>, Vec<ObjectId>) =
        Default::default();
    for c in cycles.changes.iter().filter(|c| c.at >= from) {
        left.retain(|l| l.0 != c.object);
        // Others may have joined it there, and have left since.
        let shared =
            matches!(c.access.mode, Mode::ReadTaken | Mode::ReadGiven | Mode::CountedUp | Mode::CountedDown);
        if !shared {
            left.push((c.object, c.after));
        } else if c.access.mode == Mode::ReadTaken {
            read.push(c.object);
        }
        changed.push(c.object);
    }
    // What it changed itself is as it was, and says nothing of the others.
    seen.retain(|s| !changed.contains(&s.0));
    let timeouts = cycle.options && !cycle.spurious;
    let spurious = cycle.spurious;
    let steady = left.iter().all(|l| cycles.is_steady(from, l.0, 0))
        && read.iter().all(|o| cycles.is_steady(from, *o, RwWord::WRITER_FROM));
    let at = ex.log.len();
    cycles.used = true;
    let looks = changed.is_empty() && !cycle.options;
    let state = cycles.arrival.map_or(0, |a| a.state);
    let stopped = Stopped { state, at, spurious, timeouts, seen, left, read, changed, looks, steady };
    cycles.stopped = Some(Box::new(stopped));
    ex.any_stopped = true;
}

/// Whether the steps of a thread since that step of the execution can be removed; says what there is in them.
fn removable(ex: &Execution, t: ThreadId, from: usize) -> Option<Cycle> {
    let cycles = &ex.threads[t.index()].cycles;
    let first = cycles.changes.iter().position(|c| c.at >= from).unwrap_or(cycles.changes.len());
    let own = &cycles.changes[first..];
    let mut observed = Vec::new();
    for (k, first) in own.iter().enumerate() {
        if own[..k].iter().any(|c| c.object == first.object) {
            continue;
        }
        if !leaves_no_trace(ex, t, &own[k..], &mut observed) {
            return None;
        }
    }
    if !observed.is_empty() && !are_idle(ex, &mut observed) {
        return None;
    }
    Some(contents(cycles, from))
}

/// What there is in the steps of a thread since that step of the execution.
fn contents(cycles: &Cycles, from: usize) -> Cycle {
    let since = || cycles.visits.iter().filter(|v| v.at >= from);
    let switches = |v: &Visit| matches!(v.key.kind, OpKind::Yield | OpKind::Choose);
    Cycle {
        options: since().any(|v| v.option),
        spurious: since().any(|v| v.option && !v.timeout),
        changes: cycles.changes.iter().any(|c| c.at >= from),
        free_switch: since().any(switches),
    }
}

/// Whether nobody can tell that a thread made the changes of the first object among these: whenever another thread accessed the object in
/// conflict with them, and after the last one, it was as if there had been none. Accesses at other times are added to `observed`.
fn leaves_no_trace(ex: &Execution, t: ThreadId, own: &[Change], observed: &mut Vec<usize>) -> bool {
    let object = own[0].object;
    if ex.settings.rule == Rule::OwnChangesIgnored {
        return true;
    }
    let all = || own.iter().filter(|c| c.object == object);
    let accessed = |l: &Logged| {
        let access = if l.object == object {
            Access { mode: l.mode, aux: l.aux }
        } else if l.other == object {
            Access::new(Mode::Write)
        } else {
            return false;
        };
        l.thread != t
            && all().any(|c| conflicts(&access, &c.access))
            && ex.settings.rule != Rule::LooksOfOthersIgnored
    };
    let mut group: Vec<&Change> = Vec::new();
    for change in all() {
        if let Some(last) = group.last() {
            let between = last.at + 1..change.at;
            let in_between = ex.log.get(between.clone()).unwrap_or_default();
            if in_between.iter().any(accessed) {
                if leaves_unchanged(&group) {
                    group.clear();
                } else {
                    let seen = between.zip(in_between).filter(|(_, l)| accessed(l));
                    observed.extend(seen.map(|(i, _)| i));
                }
            }
        }
        group.push(change);
    }
    leaves_unchanged(&group)
}

/// Whether these steps can be removed as well, because each belongs to steps of its thread that only look and lead back to where the thread
/// was. Stretches of steps that overlap cannot be removed together.
///
/// Only stretches that end with one of the steps count, so the answer depends on these steps and what their threads did before.
fn are_idle(ex: &Execution, steps: &mut [usize]) -> bool {
    steps.sort_unstable_by(|a, b| b.cmp(a));
    // By thread: from where on its steps are removed.
    let mut removed: Vec<(ThreadId, usize)> = Vec::new();
    steps.iter().all(|step| {
        let u = ex.log[*step].thread;
        let entry = removed.iter().position(|r| r.0 == u);
        if entry.is_some_and(|i| removed[i].1 <= *step) {
            return true;
        }
        let idle = || ex.threads[u.index()].cycles.idle.iter().filter(|(_, last)| last == step);
        // After a single look yields may follow, which are removed as well.
        let yields = entry.is_some_and(|i| ex.log[removed[i].1].kind == OpKind::Yield);
        let single = idle().find(|(from, last)| from == last && !yields);
        let Some((from, _)) = single.or(idle().next_back().filter(|(from, last)| from != last)) else {
            return false;
        };
        match entry {
            Some(i) => removed[i].1 = *from,
            None => removed.push((u, *from)),
        }
        true
    })
}

/// Whether these changes of one object by one thread leave it as it was.
fn leaves_unchanged(all: &[&Change]) -> bool {
    // Others may come and go meanwhile: the thread's own contributions count.
    let contribution = |c: &Change| match c.access.mode {
        Mode::ReadTaken | Mode::CountedUp => Some(1i64),
        Mode::ReadGiven | Mode::CountedDown => Some(-1),
        _ => None,
    };
    match all.iter().try_fold(0, |sum, c| contribution(c).map(|n| sum + n)) {
        Some(sum) => sum == 0,
        None => all.first().map(|c| c.before) == all.last().map(|c| c.after),
    }
}

/// Whether an access from the log conflicts with a change. The log has other numbers than the search for some modes.
pub(crate) fn conflicts(theirs: &Access, own: &Access) -> bool {
    use Mode::*;
    match (theirs.mode, own.mode) {
        (WokenBy | Notified | ArrivedEarly | ArrivedLast | Passed, _) => true,
        _ => theirs.conflicts(0, own, 0),
    }
}

/// Notes a step of the running thread that has run: its window is in use, or the thread comes again and again to a place where it
/// changes something, or it took an option.
#[inline(always)]
pub(crate) fn after_step(
    ex: &mut Execution,
    op: &Op,
    site: Site,
    before: u64,
    applied: &Applied,
    option: u32,
    is_look: bool,
) {
    let exchanges = match op.kind {
        OpKind::CompareExchange | OpKind::CompareExchangeWeak => true,
        OpKind::Rmw => op.b == PART,
        _ => false,
    };
    if !ex.tracking && exchanges && option == 0 {
        ex.threads[ex.current.index()].cycles.arrival = None;
    }
    if !is_look && !ex.tracking {
        let cycles = &mut ex.threads[ex.current.index()].cycles;
        if !spin::fails_spuriously(op, option) && !cycles.comes_again(op.object, before, applied.word, site) {
            return;
        }
    }
    if op.kind == OpKind::Choose && op.b == CLOCK && option != 0 {
        // The clock is not in the local state.
        return forget(ex);
    }
    if ex.tracking || !is_look {
        let op = *op;
        keep(ex, op, site, before, applied, option);
    }
}

#[cold]
#[inline(never)]
pub(crate) fn keep(ex: &mut Execution, op: Op, site: Site, before: u64, applied: &Applied, option: u32) {
    if !ex.settings.spin_loops {
        return;
    }
    let at = ex.log.len() - 1;
    let spurious = spin::fails_spuriously(&op, option);
    let t = ex.current;
    if let Some(last) = ex.threads[t.index()].cycles.rows.last()
        && !(spurious && last.object == op.object)
    {
        let succeeded = match op.kind {
            OpKind::CompareExchange | OpKind::CompareExchangeWeak => applied.ok,
            OpKind::Rmw => op.b == PART && applied.word != before,
            _ => false,
        };
        end_rows(ex, op.object, before, succeeded);
    }
    let cycles = &mut ex.threads[t.index()].cycles;
    cycles.used = true;
    if applied.word != before {
        let change = Change { at, object: op.object, before, after: applied.word, access: applied.access };
        cycles.changes.push(change);
    }
    if op.kind == OpKind::Wait {
        let before = t.0 as u64 + 1;
        let change = Change { at, object: op.other, before, after: 0, access: Access::new(Mode::Write) };
        cycles.changes.push(change);
    }
    if op.kind == OpKind::Await || cycles.in_wait {
        return;
    }
    let arrival = cycles.arrival.take();
    let option = spurious || op.kind == OpKind::Choose && op.b != CLOCK;
    let seen = (op.object, before);
    let key = Key::of(&op, site);
    let state = arrival.map(|a| a.state);
    if key.kind != OpKind::Yield {
        // What a thread does in a state is decided by the state, unless it looks at memory that is not part of it.
        if cycles.expected.take().is_some_and(|(k, s)| k != key || state.is_some_and(|state| state != s)) {
            ex.restart = Some(Restart::NoPredictions);
        }
        if let Some(state) = state
            && !option
            && applied.word == before
            && !ex.modes.no_predictions
            && cycles.returns.contains(&Return { key, state, seen })
        {
            cycles.was_idle(at, at);
            cycles.expected = Some((key, state));
        }
    }
    cycles.push(Visit {
        key,
        state,
        at,
        seen,
        option,
        failed: spurious,
        first: arrival.is_some_and(|a| a.first),
        timeout: false,
        rounds: arrival.map_or(0, |a| a.rounds),
    });
    if spurious {
        took(ex, op.object, arrival.is_some_and(|a| a.known));
    }
    ex.tracking = true;
    ex.looking = true;
}

/// The running thread saw this word of an object. If it saw another one last, or has got what it wanted there, options that it takes from now on
/// are not in a row with those before.
fn end_rows(ex: &mut Execution, object: ObjectId, word: u64, done: bool) {
    let cycles = &mut ex.threads[ex.current.index()].cycles;
    if !object.is_some() {
        return;
    }
    let last = cycles.visits.iter().rev().find(|v| v.seen.0 == object);
    if last.is_some_and(|v| v.seen.1 != word) && !cycles.changes.iter().any(|c| c.object == object) {
        cycles.rows.clear();
    } else if done {
        cycles.rows.retain(|r| r.object != object);
    }
}

/// Whether the running thread, which is about to do an operation on this object, may take an option that it cannot rely on. `most`
/// is the bound on such options in a row.
fn may_take(ex: &mut Execution, object: ObjectId, known: bool, most: u32, place: Place) -> bool {
    let rows = &ex.threads[ex.current.index()].cycles.rows;
    let Some(row) = rows.iter().find(|r| r.object == object) else { return most > 0 };
    if if ex.settings.rule == Rule::OneInARow {
        row.known + row.fresh < 1
    } else if known {
        row.known < MOST_KNOWN
    } else {
        row.fresh < most
    } {
        return true;
    }
    ex.refused_option = true;
    let (many, s, were) =
        if most == 1 { ("one".to_owned(), "", "was") } else { (most.to_string(), "s", "were") };
    let text = format!(
        "more than {many} spurious wake-up{s}, spurious failure{s} or timeout{s} in a row {were} not explored (--spurious, \
         Config::spurious)"
    );
    ex.caveats.add(CaveatKind::Spurious, text.into(), place);
    false
}

/// The same for a compare-exchange that may fail spuriously.
pub(crate) fn may_fail(ex: &mut Execution, object: ObjectId, place: Place) -> bool {
    let known = ex.threads[ex.current.index()].cycles.arrival.is_some_and(|a| a.known);
    let most = ex.settings.spurious;
    may_take(ex, object, known, most, place)
}

/// The running thread took such an option on an object, in a state that is known or not.
fn took(ex: &mut Execution, object: ObjectId, known: bool) {
    let cycles = &mut ex.threads[ex.current.index()].cycles;
    cycles.used = true;
    let rows = &mut cycles.rows;
    let i = rows.iter().position(|r| r.object == object).unwrap_or_else(|| {
        rows.push(Row { object, fresh: 0, known: 0 });
        rows.len() - 1
    });
    if known {
        rows[i].known += 1;
    } else {
        rows[i].fresh += 1;
    }
}

/// A wait of the running thread on an object: the phases of it are visits, all in the local state in which the wait was called.
pub(crate) struct Waiting {
    object: ObjectId,
    arrival: Option<Arrival>,
    key: Key,
}

/// What stands for a phase of a wait in its key.
const IN_WAIT: u64 = u64::MAX;

impl Waiting {
    /// The running thread begins to wait on an object; `key` is that of the call.
    pub(crate) fn new(ex: &mut Execution, object: ObjectId, key: Key) -> Waiting {
        let cycles = &mut ex.threads[ex.current.index()].cycles;
        (cycles.used, cycles.in_wait) = (true, true);
        Waiting { object, arrival: cycles.arrival.take(), key }
    }

    /// Whether the wait may end in a way that the thread cannot rely on.
    pub(crate) fn may_take(&self, ex: &mut Execution, most: u32, place: Place) -> bool {
        let known = self.arrival.is_some_and(|a| a.known);
        may_take(ex, self.object, known, most, place)
    }

    /// It is over.
    pub(crate) fn ended(self, ex: &mut Execution) {
        ex.threads[ex.current.index()].cycles.in_wait = false;
    }

    /// It has decided how the wait will end.
    pub(crate) fn decided(&self, ex: &mut Execution, option: bool, timeout: bool) {
        if option {
            took(ex, self.object, self.arrival.is_some_and(|a| a.known));
        } else {
            ex.threads[ex.current.index()].cycles.rows.retain(|r| r.object != self.object);
        }
        if ex.settings.spin_loops && (option || ex.tracking) {
            self.visit(ex, self.key, option, timeout, self.arrival.map_or(0, |a| a.rounds));
        }
    }

    /// It is about to take the mutex again, after it ended so. Says whether it is stopped instead.
    pub(crate) fn takes(&self, ex: &mut Execution, mutex: ObjectId, how: Ended) -> bool {
        if !ex.tracking || !ex.settings.spin_loops || ex.is_fair() {
            return false;
        }
        let how = if ex.settings.rule == Rule::PhaseIgnored { Ended::Notified } else { how };
        let key = Key { object: mutex, kind: OpKind::Lock, a: IN_WAIT, b: how as u64, ..self.key };
        let mut rounds = 0;
        if let Some(arrival) = self.arrival {
            let stop = arrive_in(ex, key, arrival.state);
            rounds = ex.threads[ex.current.index()].cycles.arrival.take().map_or(0, |a| a.rounds);
            if stop {
                return true;
            }
        }
        self.visit(ex, key, false, false, rounds);
        false
    }

    fn visit(&self, ex: &mut Execution, key: Key, option: bool, timeout: bool, rounds: u32) {
        let at = ex.log.len();
        let state = self.arrival.map(|a| a.state);
        let cycles = &mut ex.threads[ex.current.index()].cycles;
        cycles.push(Visit {
            key,
            state,
            at,
            seen: (ObjectId::NONE, 0),
            option,
            failed: false,
            first: false,
            timeout,
            rounds,
        });
        ex.tracking = true;
        ex.looking = true;
    }
}

/// The running thread is about to announce an operation in this local state. Says whether it is stopped instead: it waited there for a change
/// before, there was one, and it has come back with nothing done that others could tell.
pub(crate) fn has_waited(ex: &mut Execution, key: Key, state: u64) -> bool {
    let t = ex.current;
    if ex.threads[t.index()].cycles.awaits.is_empty() {
        return false;
    }
    let state = ex.with_time(state);
    let awaits = ex.threads[t.index()].cycles.awaits.iter().rev();
    let mut same = awaits.filter(|a| a.key == key && a.state == state).map(|a| a.at);
    let Some((from, cycle)) = same.find_map(|from| removable(ex, t, from).map(|cycle| (from, cycle))) else {
        return false;
    };
    note_stop(ex, from, &cycle);
    true
}

/// The running thread is stopped: it has only looked since that step of the execution, and is where it was then.
pub(crate) fn stops_idle(ex: &mut Execution, from: usize) {
    note_stop(ex, from, &Cycle { options: false, spurious: false, changes: false, free_switch: false });
}

/// The running thread is about to wait before this operation until one of these words differs. Says whether it is stopped
/// instead: it was woken in vain again and again.
pub(crate) fn awaits_again(ex: &mut Execution, key: Key, state: u64, seen: &[(ObjectId, u64)]) -> bool {
    let mut words = 0;
    for (object, word) in seen {
        for w in [object.0 as u64, *word] {
            words = (words ^ w).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29);
        }
    }
    let state = ex.with_time(state);
    let (t, at) = (ex.current, ex.log.len());
    let awaits = &ex.threads[t.index()].cycles.awaits;
    let same = || awaits.iter().rev().filter(|a| a.key == key && a.state == state && a.words == words);
    if same().count() + 1 >= MOST_AWAITS
        && let Some((from, cycle)) = same().find_map(|a| removable(ex, t, a.at).map(|cycle| (a.at, cycle)))
    {
        note_stop(ex, from, &cycle);
        return true;
    }
    let cycles = &mut ex.threads[t.index()].cycles;
    if cycles.awaits.len() >= WINDOW {
        cycles.awaits.drain(..WINDOW / 2);
    }
    cycles.used = true;
    cycles.awaits.push(Awaited { key, state, words, at });
    ex.tracking = true;
    false
}

/// Stops the running thread for the rest of the execution. Comes back with `false` where the execution is given up, and with `true` where it
/// is continued because a livelock is suspected.
///
/// # Safety
///
/// As for [`turn`].
#[cold]
pub(crate) unsafe fn stop(ex: *mut Execution, site: Site) -> bool {
    // SAFETY: by the contract. The operation is never enabled.
    unsafe {
        if (*ex).same_as_earlier {
            end_execution(ex, End::Undone);
        }
        if matches!((*ex).settings.rule, Rule::EndsExecution | Rule::RepeatedState) {
            end_execution(ex, End::Pruned);
        }
        turn(ex, Op::local(OpKind::Assume).with(STOPPED, 0), site)
    }
}

/// Ends the execution for all threads.
///
/// # Safety
///
/// As for [`turn`].
unsafe fn end_execution(ex: *mut Execution, end: End) -> ! {
    // SAFETY: by the contract. The fiber is only resumed to be unwound.
    unsafe {
        (*ex).end = Some(end);
        (*ex).next = None;
        suspend(ex);
        leave_for_good(ex)
    }
}

impl Execution {
    /// Whether all threads and all words were as they are now, at an operation of this execution. It is noted that they were.
    fn was_in_state(&mut self) -> bool {
        let mix = |h: u64, word: u64| (h ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29);
        let states = self.live.iter().map(|t| self.threads[t.index()].cycles.arrival.map_or(0, |a| a.state));
        let words = self.objects.iter().map(|o| o.word);
        let now = states.chain(words).fold(self.live.len() as u64, mix);
        let was = self.states.contains(&now);
        self.states.push(now);
        was
    }

    /// Whether a thread was stopped because it repeats itself.
    pub(crate) fn is_stopped(&self, t: ThreadId) -> bool {
        let op = &self.pending[t.index()].op;
        op.kind == OpKind::Assume && op.a == STOPPED
    }

    /// Whether all threads that were stopped would go round for ever: none of them took an option other than a timeout, all words that they
    /// saw, and those that they left, are as they were, and so is what the locks guard that they took. Each of them alone would do the same
    /// again, so there is an execution that never ends. A thread whose cycle needs changes by others would only if others repeat themselves too.
    pub(crate) fn stopped_in_place(&self) -> bool {
        let as_it_was = |(object, word): &(ObjectId, u64)| self.word(*object) == *word;
        let main_ended = !self.live.contains(ThreadId::MAIN);
        let repeats = |u: ThreadId| {
            self.is_stopped(u) || matches!(self.pending[u.index()].op, Op { kind: OpKind::Await, a: 0, .. })
        };
        let several = self.live.iter().filter(|u| repeats(*u)).count() > 1;
        self.live.iter().filter(|t| self.is_stopped(*t)).all(|t| {
            self.threads[t.index()].cycles.stopped.as_ref().is_some_and(|s| {
                // A thread that is left over when the program is done may look again now and then.
                !(s.spurious || s.timeouts && main_ended)
                    && (s.steady || several)
                    && s.seen.iter().all(as_it_was)
                    && s.left.iter().all(as_it_was)
                    && s.read.iter().all(|o| RwWord(self.word(*o)).writer() == 0)
                    && !self.changed_under.iter().any(|(lock, at)| *at >= s.at && s.changed.contains(lock))
            })
        })
    }

    /// Whether no thread that is blocked, or that only looks again and again, waits for something that one of the stopped threads changes
    /// in its cycle.
    pub(crate) fn cycles_leave_others_blocked(&self) -> bool {
        let stopped =
            |t: ThreadId| self.threads[t.index()].cycles.stopped.as_deref().filter(|_| self.is_stopped(t));
        let changes =
            |o: ObjectId| o.is_some() && self.live.iter().filter_map(stopped).any(|s| s.changed.contains(&o));
        self.live.iter().all(|u| match stopped(u) {
            Some(s) => !s.looks || !s.seen.iter().any(|seen| changes(seen.0)),
            None => {
                let Pending { op, awaited: (from, n), .. } = self.pending[u.index()];
                let awaited = &self.awaited[from as usize..(from + n) as usize];
                !changes(op.object) && !awaited.iter().any(|a| changes(a.0))
            }
        })
    }

    /// What a thread that was stopped saw last, for reports.
    pub(crate) fn stopped_at_words(&self, t: ThreadId) -> &[(ObjectId, u64)] {
        self.threads[t.index()].cycles.stopped.as_ref().map_or(&[], |s| &s.seen)
    }
}
