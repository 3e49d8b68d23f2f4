//! Data races on cells: accesses that nothing orders.
//!
//! Order is that of C11: program order, plus *synchronises-with*. A load with acquire order synchronises with the store it
//! reads from if that has release order, also through a release sequence of read-modify-writes, also through fences;
//! relaxed accesses do not synchronise. Unlock and lock, notify and wake, send and receive, barrier, unpark and park, spawn
//! and start, end and join, and the last drop of a counted reference synchronise.
//!
//! This is *not* the dependence of the search, by which any two accesses of an atomic are ordered. A schedule in which two
//! accesses of a cell come one after the other, ordered by a relaxed atomic only, is a race; the search need not run
//! them side by side.
//!
//! The clocks are computed only in executions that touch a cell, from the short record of every step, up to the step at
//! which the cell is touched.

use crate::context;
use crate::execution::{Execution, Phase};
use crate::memory::Touching;
use crate::objects::Handle;
use crate::record::Logged;
use crate::{Class, Place, spin, sync};
use explore::{CaveatKind, FailureKind, MemoryOrder, Mode, ObjectId, OpKind, ThreadId};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether accesses that are not atomic, and are steps, order what comes before and after them.
static PLAIN_ORDERS: AtomicBool = AtomicBool::new(false);

/// From now on accesses that are not atomic, and are steps, count as sequentially consistent ones: what a plain flag orders is ordered.
pub fn let_plain_accesses_order() {
    PLAIN_ORDERS.store(true, Ordering::Relaxed);
}

/// Whether a release sequence goes on with stores of the thread that began it, whatever their order is: so it is in C, and was in C++
/// before C++20.
static OWN_STORES_GO_ON: AtomicBool = AtomicBool::new(false);

/// From now on a store of the thread that began a release sequence goes on with it.
pub fn let_own_stores_go_on() {
    OWN_STORES_GO_ON.store(true, Ordering::Relaxed);
}

/// A vector clock: how many steps of each thread are known.
type Clock = Vec<u32>;

fn join(into: &mut Clock, from: &Clock) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

fn assign(into: &mut Clock, from: &Clock) {
    into.clear();
    into.extend_from_slice(from);
}

fn get(clock: &Clock, t: ThreadId) -> u32 {
    clock.get(t.index()).copied().unwrap_or(0)
}

/// The clocks of one thread.
#[derive(Default)]
struct OfThread {
    now: Clock,
    /// As of its last release fence.
    released: Clock,
    /// What an acquire fence would learn: the release clocks of what relaxed loads have read.
    readable: Clock,
}

/// The clocks of one object: what its last release published, and a second one whose meaning depends on the object (what
/// readers of a lock, the end of a thread, odd generations of a barrier, the receiver published).
#[derive(Default)]
struct OfObject {
    first: Clock,
    second: Clock,
    /// What the release sequences publish that go on.
    begun: Begun,
    /// For a channel: of each message, what its sender and its receiver published.
    messages: Vec<(Clock, Clock)>,
}

/// By thread: what the release sequences of an object publish that it has begun and that go on. Kept only where [`OWN_STORES_GO_ON`].
#[derive(Default)]
struct Begun {
    /// Those behind `count` are memory for more.
    sequences: Vec<(ThreadId, Clock)>,
    count: usize,
}

impl Begun {
    /// A thread writes: a store ends the release sequences that other threads have begun. Returns what those of this thread publish.
    fn go_on(&mut self, t: ThreadId, is_rmw: bool, published: &Clock) -> &Clock {
        let mut at = self.sequences[..self.count].iter().position(|(u, _)| *u == t);
        if !is_rmw {
            if let Some(i) = at {
                self.sequences.swap(0, i);
                at = Some(0);
            }
            self.count = at.map_or(0, |_| 1);
        }
        let i = at.unwrap_or_else(|| self.begin(t));
        join(&mut self.sequences[i].1, published);
        &self.sequences[i].1
    }

    fn begin(&mut self, t: ThreadId) -> usize {
        if self.count == self.sequences.len() {
            self.sequences.push((t, Clock::new()));
        }
        let (thread, clock) = &mut self.sequences[self.count];
        *thread = t;
        clock.clear();
        self.count += 1;
        self.count - 1
    }
}

/// One access of a cell.
#[derive(Clone, Copy)]
pub(crate) struct Touch {
    pub(crate) thread: ThreadId,
    /// How many steps its thread had taken.
    pub(crate) at: u32,
    pub(crate) place: Place,
    /// It is what a pointer was handed out for, or a change that was found later: when it happens is not known exactly.
    pub(crate) lent: bool,
}

/// An atomic access of a cell: it races only with those that are not.
#[derive(Clone, Copy)]
struct AtomicTouch {
    touch: Touch,
    write: bool,
}

#[derive(Default)]
struct Cell {
    write: Option<Touch>,
    reads: Vec<Touch>,
    /// The last read and the last write of each thread.
    atomics: Vec<AtomicTouch>,
}

/// The cell of something whose accesses are no steps: unlike an object it has no number that the search sees, so that the numbers of objects
/// do not depend on what is known of such accesses.
pub struct CellHandle {
    /// The number of the execution in the upper half, the index of its cell in the lower.
    cached: AtomicU64,
}

impl CellHandle {
    /// The handle of a cell that no execution has met.
    pub const fn new() -> CellHandle {
        CellHandle { cached: AtomicU64::new(0) }
    }

    #[inline]
    fn index(&self, epoch: u32) -> Option<usize> {
        let cached = self.cached.load(Ordering::Relaxed);
        ((cached >> 32) as u32 == epoch).then_some(cached as u32 as usize)
    }
}

impl Default for CellHandle {
    fn default() -> Self {
        CellHandle::new()
    }
}

impl std::fmt::Debug for CellHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CellHandle")
    }
}

/// The order of the execution, as far as it has been computed, and the cells.
#[derive(Default)]
pub(crate) struct Races {
    /// How many records have been looked at.
    done: usize,
    threads: Vec<OfThread>,
    objects: Vec<OfObject>,
    cells: Vec<Cell>,
    used_cells: usize,
    /// The lock of blocks that nobody may interrupt: the steps that hold it for reading order nothing.
    pub(crate) blocks: Option<ObjectId>,
    /// Objects that are only ours: no step on them orders anything in the program.
    pub(crate) silent: Vec<ObjectId>,
    /// Accesses that are not atomic order nothing, whatever was said of them; see [`let_plain_accesses_order`].
    only_atomics: bool,
}

impl Races {
    /// Forgets everything but the memory.
    pub(crate) fn reset(&mut self) {
        self.blocks = None;
        self.silent.clear();
        if self.used_cells == 0 && self.done == 0 {
            return;
        }
        self.done = 0;
        for t in &mut self.threads {
            t.now.clear();
            t.released.clear();
            t.readable.clear();
        }
        for o in &mut self.objects {
            o.first.clear();
            o.second.clear();
            o.begun.count = 0;
            o.messages.clear();
        }
        for c in &mut self.cells[..self.used_cells] {
            c.write = None;
            c.reads.clear();
            c.atomics.clear();
        }
        self.used_cells = 0;
    }

    fn new_cell(&mut self) -> usize {
        if self.used_cells == self.cells.len() {
            self.cells.push(Cell::default());
        }
        self.used_cells += 1;
        self.used_cells - 1
    }

    /// The index of a cell, which this execution may not have met.
    #[inline]
    fn cell_of(&mut self, epoch: u32, handle: &CellHandle) -> usize {
        match handle.index(epoch) {
            Some(index) => index,
            None => {
                let index = self.new_cell();
                handle.cached.store((epoch as u64) << 32 | index as u64, Ordering::Relaxed);
                index
            }
        }
    }

    /// Notes the last write and the last reads of a cell, as they were known elsewhere.
    pub(crate) fn adopt(
        &mut self,
        epoch: u32,
        handle: &CellHandle,
        write: Option<Touch>,
        reads: impl Iterator<Item = Touch>,
    ) {
        let index = self.cell_of(epoch, handle);
        let cell = &mut self.cells[index];
        cell.write = write;
        cell.reads.clear();
        cell.reads.extend(reads);
    }

    /// Nothing yet, of an execution in which the same objects order nothing.
    pub(crate) fn like(other: &Races) -> Races {
        Races { blocks: other.blocks, silent: other.silent.clone(), ..Races::default() }
    }

    /// Takes in the steps that are new.
    pub(crate) fn take_steps(&mut self, log: &[Logged], threads: usize, objects: usize) {
        self.advance(log, threads, objects);
    }

    /// Takes the steps in that have run since the last call.
    #[inline]
    fn advance(&mut self, log: &[Logged], threads: usize, objects: usize) {
        if self.done < log.len() || self.threads.len() < threads {
            self.take_all(log, threads, objects);
        }
    }

    #[inline(never)]
    fn take_all(&mut self, log: &[Logged], threads: usize, objects: usize) {
        if self.threads.len() < threads {
            self.threads.resize_with(threads, OfThread::default);
        }
        if self.objects.len() < objects {
            self.objects.resize_with(objects, OfObject::default);
        }
        for l in &log[self.done..] {
            self.take(l);
        }
        self.done = log.len();
    }

    fn take(&mut self, l: &Logged) {
        use OpKind::*;
        let plain = l.order == MemoryOrder::None && matches!(l.kind, Load | Store | Rmw);
        let l = if plain && !self.only_atomics && PLAIN_ORDERS.load(Ordering::Relaxed) {
            &Logged { order: MemoryOrder::SeqCst, ..*l }
        } else {
            l
        };
        let t = l.thread;
        let thread = &mut self.threads[t.index()];
        if thread.now.len() <= t.index() {
            thread.now.resize(t.index() + 1, 0);
        }
        thread.now[t.index()] += 1;
        if plain && self.only_atomics {
            return;
        }
        let acquires = matches!(l.order, MemoryOrder::Acquire | MemoryOrder::AcqRel | MemoryOrder::SeqCst);
        let releases = matches!(l.order, MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst);
        if l.kind == Fence {
            if acquires {
                join(&mut thread.now, &thread.readable);
            }
            if releases {
                assign(&mut thread.released, &thread.now);
            }
            return;
        }
        if matches!(l.kind, Spawn | Join) {
            return self.take_thread(t, l.kind, ThreadId(l.aux as u16));
        }
        if !self.silent.is_empty() && self.silent.contains(&l.object) {
            return;
        }
        if l.kind == Wait {
            assign(&mut self.objects[l.other.index()].first, &thread.now);
        }
        if !l.object.is_some() || Some(l.object) == self.blocks && matches!(l.kind, ReadLock | ReadUnlock) {
            return;
        }
        let object = &mut self.objects[l.object.index()];
        match l.kind {
            Load | CompareExchange | CompareExchangeWeak | Rmw | Store | Transfer | TryTransfer => {
                let reads = l.kind != Store;
                let writes = l.mode == Mode::Write;
                if reads {
                    let learns = if acquires { &mut thread.now } else { &mut thread.readable };
                    join(learns, &object.first);
                }
                if writes {
                    let published = if releases { &thread.now } else { &thread.released };
                    let OfObject { first, begun, .. } = object;
                    let own =
                        OWN_STORES_GO_ON.load(Ordering::Relaxed).then(|| begun.go_on(t, reads, published));
                    if reads {
                        // A read-modify-write goes on with the release sequence of what it read.
                        join(first, published);
                    } else {
                        assign(first, own.unwrap_or(published));
                    }
                }
            }
            Lock | TryLock | ReadLock | TryReadLock if l.ok => join(&mut thread.now, &object.first),
            WriteLock | TryWriteLock if l.ok => {
                join(&mut thread.now, &object.first);
                join(&mut thread.now, &object.second);
            }
            Unlock | WriteUnlock => assign(&mut object.first, &thread.now),
            ReadUnlock => join(&mut object.second, &thread.now),
            NotifyOne | NotifyAll | Unpark | SemPost => join(&mut object.first, &thread.now),
            Wake | Park | SemWait | SemTryWait if l.ok => join(&mut thread.now, &object.first),
            // A receiver finds a channel with room for messages closed by a relaxed load, as in std.
            Recv | TryRecv if l.mode == Mode::FoundClosed && l.aux != 0 => {
                join(&mut thread.readable, &object.first);
            }
            Send | TrySend | SendDone | RecvReady | Recv | TryRecv | AddSender | DropSender
            | DropReceiver => {
                channel(l, &mut thread.now, object);
            }
            Arrive => {
                let (arrived, generation) = (l.aux & 0xffff_ffff, l.aux >> 32);
                let clock = if generation & 1 == 0 { &mut object.first } else { &mut object.second };
                if arrived == 0 {
                    clock.clear();
                }
                join(clock, &thread.now);
                if l.ok {
                    join(&mut thread.now, clock);
                }
            }
            Pass => {
                let clock = if l.aux & 1 == 0 { &object.first } else { &object.second };
                join(&mut thread.now, clock);
            }
            // Whoever asks whether it has ended is not ordered after it, as in std.
            End => assign(&mut object.second, &thread.now),
            CountDown => {
                join(&mut object.first, &thread.now);
                if l.aux == 0 {
                    join(&mut thread.now, &object.first);
                }
            }
            CountUp if releases => join(&mut object.first, &thread.now),
            CountRead => {
                let learns = if acquires { &mut thread.now } else { &mut thread.readable };
                join(learns, &object.first);
            }
            _ => {}
        }
    }
}

impl Races {
    /// A thread knows what its parent did before it, and whoever joins it knows all of it.
    fn take_thread(&mut self, t: ThreadId, kind: OpKind, other: ThreadId) {
        let mut theirs = std::mem::take(&mut self.threads[other.index()].now);
        let mine = &mut self.threads[t.index()].now;
        if kind == OpKind::Spawn {
            assign(&mut theirs, mine);
        } else {
            if theirs.len() <= other.index() {
                theirs.resize(other.index() + 1, 0);
            }
            // The end, which publishes what came after the last step.
            theirs[other.index()] += 1;
            join(mine, &theirs);
        }
        self.threads[other.index()].now = theirs;
    }
}

fn channel(l: &Logged, now: &mut Clock, object: &mut OfObject) {
    let message = (l.aux & 0xffff_ffff) as usize;
    let mut slot = |i: usize| {
        if object.messages.len() <= i {
            object.messages.resize_with(i + 1, Default::default);
        }
        i
    };
    match (l.kind, l.mode) {
        (OpKind::Send | OpKind::TrySend, Mode::Sent) => {
            let i = slot(message);
            if let Some(room) = (l.aux >> 32).checked_sub(1) {
                let room = slot(room as usize);
                join(now, &object.messages[room].1);
            }
            assign(&mut object.messages[i].0, now);
        }
        (OpKind::TrySend, Mode::Write) => {
            let i = slot(message);
            join(now, &object.second);
            assign(&mut object.messages[i].0, now);
        }
        (_, Mode::Received) => {
            let i = slot(message);
            join(now, &object.messages[i].0);
            assign(&mut object.messages[i].1, now);
        }
        (_, Mode::Delivered) => {
            let i = slot(message);
            join(now, &object.messages[i].1);
        }
        (OpKind::DropSender, _) => join(&mut object.first, now),
        (_, Mode::FoundClosed) => join(now, &object.first),
        (OpKind::DropReceiver | OpKind::RecvReady, _) => join(&mut object.second, now),
        (_, Mode::SendRefused) => join(now, &object.second),
        _ => {}
    }
}

impl Execution {
    /// Brings the order up to date with the steps that have run.
    #[inline]
    pub(crate) fn order_steps(&mut self) {
        self.races.advance(&self.log, self.threads.len(), self.objects.len());
    }
}

/// The last accesses to a variable: by whom, and as which step of that thread.
#[derive(Clone, Default)]
struct LastAccesses {
    write: Option<(ThreadId, u32)>,
    reads: Vec<(ThreadId, u32)>,
}

impl Execution {
    /// Where accesses that are not atomic are steps: a variable with a data race in this execution, once in a search. What such a program
    /// does was explored as if they were sequentially consistent.
    pub(crate) fn note_plain_race(&mut self) {
        if !PLAIN_ORDERS.load(Ordering::Relaxed) || self.plain_race_noted {
            return;
        }
        if let Some(id) = self.plain_race() {
            self.plain_race_noted = true;
            let name = self.object_name(id).unwrap_or_else(|| "a variable".to_owned());
            let text = format!(
                "`{name}` is accessed in a data race, which C leaves undefined; its accesses were explored as sequentially consistent"
            );
            let place = self.objects[id.index()].place.unwrap_or(Place(0));
            self.caveats.add(CaveatKind::MemoryOrder, text.into(), place);
        }
    }

    fn plain_race(&self) -> Option<ObjectId> {
        let is_plain = |l: &Logged| {
            let access = matches!(l.kind, OpKind::Load | OpKind::Store | OpKind::Rmw);
            access && l.order == MemoryOrder::None && self.objects[l.object.index()].class == Class::Variable
        };
        let mut order = Races { only_atomics: true, ..Races::like(&self.races) };
        let mut last = vec![LastAccesses::default(); self.objects.len()];
        for (i, l) in self.log.iter().enumerate() {
            order.advance(&self.log[..=i], self.threads.len(), self.objects.len());
            if !is_plain(l) || self.races.silent.contains(&l.object) {
                continue;
            }
            let now = &order.threads[l.thread.index()].now;
            let unordered = |other: &(ThreadId, u32)| other.0 != l.thread && get(now, other.0) < other.1;
            let (writes, here) = (l.mode == Mode::Write, (l.thread, get(now, l.thread)));
            let accesses = &mut last[l.object.index()];
            if accesses.write.is_some_and(|w| unordered(&w)) || writes && accesses.reads.iter().any(unordered)
            {
                return Some(l.object);
            }
            if writes {
                *accesses = LastAccesses { write: Some(here), reads: Vec::new() };
            } else {
                accesses.reads.retain(|r| r.0 != l.thread);
                accesses.reads.push(here);
            }
        }
        None
    }
}

impl Races {
    /// How many steps of each thread happen before the next one of this thread, as of the last [`Execution::order_steps`].
    #[inline]
    pub(crate) fn steps_known_to(&self, t: ThreadId) -> &[u32] {
        self.threads.get(t.index()).map_or(&[], |t| &t.now)
    }
}

/// Notes an access to a cell and reports a data race if another access is not ordered with it. Not a step.
pub fn cell_access(object: &Handle, write: bool, place: Place) {
    let ex = context::for_operation("a cell", place);
    // SAFETY: a current execution is valid; the borrow ends before `fail`, which suspends.
    let race = unsafe {
        if (*ex).phase != Phase::Running {
            return;
        }
        let ex = &mut *ex;
        let id = ex.resolve(object, Class::Cell, 0, place);
        if write && ex.looking {
            spin::changed(ex);
        }
        if write && !ex.lent.is_empty() {
            crate::lent::written(ex, id);
        }
        check(ex, id, Touching { write, atomic: false, elsewhere: true }, place)
            .and_then(|race| race.unless_watched(ex, false))
    };
    // SAFETY: as above.
    if let Some(fault) = unsafe { (*ex).heap.fault.take() } {
        sync::fail(FailureKind::UseAfterFree, fault.0, place);
    }
    // SAFETY: as above.
    let drops = unsafe { (&(*ex).threads)[(*ex).current.index()].arc_drops };
    // An `Arc` of std's orders what was done with its other references before the drop of its value, which is not seen.
    if let Some(message) = race
        && !crate::callers::in_arc_of_std(drops)
    {
        sync::fail(FailureKind::DataRace, message, place);
    }
}

/// How many steps the running thread has taken and how many threads it has made: what can order something after what it did.
#[inline]
pub fn steps_taken() -> u64 {
    let ex = context::current();
    if ex.is_null() {
        return 0;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        let thread = &(&(*ex).threads)[(*ex).current.index()];
        u64::from(thread.seq) | (thread.spawned as u64) << 32
    }
}

/// Races of a native program that a search with [`Settings::keep_going`](crate::Settings::keep_going) has reported, by the places of both
/// accesses. Executions continue after them, because other races may lie behind them.
static REPORTED: Mutex<Vec<[Place; 2]>> = Mutex::new(Vec::new());

fn reported() -> MutexGuard<'static, Vec<[Place; 2]>> {
    REPORTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Executions continue after this race from now on.
pub(crate) fn continue_after(race: [Place; 2]) {
    reported().push(race);
}

/// The races and other failures that an execution has met.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// The races after which its racing thread has continued, each once.
    passed: Vec<[Place; 2]>,
    /// How many other failures there were after which the other threads have continued.
    failed: u32,
    /// The race at which it has failed.
    pub(crate) last: Option<[Place; 2]>,
    /// Later failures of this execution do not count: the search starts again, and executions continue after the last race, at which the
    /// racing thread has stopped here.
    closed: bool,
}

impl Met {
    pub(crate) fn clear(&mut self) {
        self.passed.clear();
        (self.failed, self.last, self.closed) = (0, None, false);
    }

    /// After how many failures it has continued.
    pub(crate) fn passed(&self) -> u32 {
        self.passed.len() as u32 + self.failed
    }

    /// A thread stops at a failure, and the others continue.
    pub(crate) fn count_failure(&mut self) {
        self.failed += 1;
    }

    /// Whether a thread has stopped at a failure.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed > 0
    }

    /// A failure is noted. Says whether it counts.
    pub(crate) fn note(&mut self, kind: FailureKind) -> bool {
        let counts = !self.closed;
        self.closed |= kind == FailureKind::DataRace && self.last.is_some();
        counts
    }
}

/// Whether two accesses that are not ordered are a failure: the execution does not continue after their race.
#[cold]
pub(crate) fn is_new(ex: &Execution, a: Place, b: Place) -> bool {
    if ex.front.is_none() {
        return true;
    }
    let is_one = |r: &[Place; 2]| *r == [a, b] || *r == [b, a];
    let mut met = ex.met_races.borrow_mut();
    let is_passed = met.passed.iter().any(is_one);
    if is_passed || met.passed() < ex.passes || reported().iter().any(is_one) {
        if !is_passed {
            met.passed.push([a, b]);
        }
        return false;
    }
    if !met.closed {
        met.last = Some([a, b]);
    }
    true
}

/// Whether this execution has met a cell.
pub fn is_met(handle: &CellHandle) -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    !ex.is_null() && handle.index(unsafe { (*ex).epoch }).is_some()
}

/// Whether an access of the running thread is not ordered with one that was noted. Notes nothing.
pub fn is_unordered(handle: &CellHandle, write: bool) -> bool {
    let ex = context::current();
    if ex.is_null() {
        return false;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let ex = unsafe { &mut *ex };
    let Some(index) = handle.index(ex.epoch) else { return false };
    ex.races.advance(&ex.log, ex.threads.len(), ex.objects.len());
    let now = &ex.races.threads[ex.current.index()].now;
    let unordered = |other: &Touch| other.thread != ex.current && get(now, other.thread) <= other.at;
    let cell = &ex.races.cells[index];
    cell.write.is_some_and(|w| unordered(&w)) || write && cell.reads.iter().any(unordered)
}

/// Forgets the accesses to a cell: the memory that it stands for begins another life.
pub fn forget_cell(handle: &CellHandle) {
    handle.cached.store(0, Ordering::Relaxed);
}

/// Notes an access to a variable, by its cell and by the name that the front end has for it, and gives what is to be said if another one is
/// not ordered with it. Not a step.
#[inline]
pub fn touch_cell(handle: &CellHandle, name: u64, how: Touching, place: Place) -> Option<String> {
    let ex = context::for_operation("a variable", place);
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if !(*ex).is_running() {
            return None;
        }
        let ex = &mut *ex;
        if how.write && how.elsewhere && ex.looking {
            spin::changed(ex);
        }
        let index = ex.races.cell_of(ex.epoch, handle);
        let (other, wrote) = compare(ex, index, how, place)?;
        let name = ex.front.and_then(|f| f.object(name, Class::Variable)).unwrap_or_default();
        Some(message(ex, &name, how.write, place, &other, wrote))
    }
}

/// A data race on a cell.
pub(crate) struct Race {
    pub(crate) message: String,
    /// The earlier access was made through a pointer that was lent.
    lent: bool,
}

impl Race {
    /// What is to be said of it. Nothing if one of the accesses, the earlier one or the one that `is_lent`, was made through a pointer and can
    /// be watched: then the search starts again and sees when it happens.
    pub(crate) fn unless_watched(self, ex: &mut Execution, is_lent: bool) -> Option<String> {
        if (self.lent || is_lent) && crate::lent::watch_soon(ex) { None } else { Some(self.message) }
    }
}

/// Notes an access to a cell. Gives the race with an earlier one that is not ordered with it.
pub(crate) fn check(ex: &mut Execution, id: ObjectId, how: Touching, place: Place) -> Option<Race> {
    if ex.objects[id.index()].cell == 0 {
        ex.objects[id.index()].cell = ex.races.new_cell() as u32 + 1;
    }
    let index = ex.objects[id.index()].cell as usize - 1;
    let found = compare(ex, index, how, place);
    let (other, wrote) = if found.is_none() && !ex.watch.is_empty() {
        crate::watch::conflict(ex, id, how.write)?
    } else {
        found?
    };
    let name = ex.object_name(id).unwrap_or_default();
    Some(Race { message: message(ex, &name, how.write, place, &other, wrote), lent: other.lent })
}

/// The last access that the running thread has noted is one through a pointer that was lent.
pub(crate) fn mark_lent(ex: &mut Execution, id: ObjectId, write: bool) {
    let Some(index) = (ex.objects[id.index()].cell as usize).checked_sub(1) else { return };
    let cell = &mut ex.races.cells[index];
    let touch = if write { cell.write.as_mut() } else { cell.reads.last_mut() };
    if let Some(touch) = touch {
        touch.lent = true;
    }
}

/// Whether another thread has a pointer to the cell, and nothing orders what it does with it before the running thread. The order is up to date.
pub(crate) fn lent_to_others(ex: &Execution, id: ObjectId) -> bool {
    let Some(index) = (ex.objects[id.index()].cell as usize).checked_sub(1) else { return false };
    ex.races.cells[index].reads.iter().any(|r| r.lent && is_concurrent(ex, r))
}

/// An access that the running thread makes now. The order is up to date.
pub(crate) fn touch_now(ex: &Execution, place: Place) -> Touch {
    let thread = ex.current;
    Touch { thread, at: get(&ex.races.threads[thread.index()].now, thread), place, lent: false }
}

/// Whether nothing orders an access of another thread before the running thread. The order is up to date.
pub(crate) fn is_concurrent(ex: &Execution, other: &Touch) -> bool {
    let now = &ex.races.threads[ex.current.index()].now;
    other.thread != ex.current && get(now, other.thread) <= other.at
}

/// An access to a whole cell that conflicts with one of the running thread. The order is up to date.
pub(crate) fn announced(ex: &Execution, id: ObjectId, write: bool) -> Option<(Touch, bool)> {
    let index = (ex.objects[id.index()].cell as usize).checked_sub(1)?;
    let cell = &ex.races.cells[index];
    let wrote = cell.write.filter(|w| is_concurrent(ex, w)).map(|w| (w, true));
    let read = || cell.reads.iter().copied().find(|r| write && is_concurrent(ex, r)).map(|r| (r, false));
    wrote.or_else(read)
}

/// Notes an access to a cell. Gives an earlier one that is not ordered with it, and whether that wrote.
fn compare(ex: &mut Execution, index: usize, how: Touching, place: Place) -> Option<(Touch, bool)> {
    let Touching { write, atomic, elsewhere } = how;
    let thread = ex.current;
    ex.races.advance(&ex.log, ex.threads.len(), ex.objects.len());
    let now = &ex.races.threads[thread.index()].now;
    // An atomic access is a step, and has been taken: it publishes itself.
    let is_step = atomic && !elsewhere;
    let touch = Touch { thread, at: get(now, thread) - is_step as u32, place, lent: false };
    // An access is published by a later step of its thread, so it is known to those who know more steps than it had.
    let unordered = |other: &Touch| {
        other.thread != thread && get(now, other.thread) <= other.at && is_new(ex, place, other.place)
    };
    let cell = &ex.races.cells[index];
    let found = cell.write.filter(unordered).map(|w| (w, true));
    let found =
        found.or_else(|| cell.reads.iter().copied().find(|r| write && unordered(r)).map(|r| (r, false)));
    let with_atomic = |a: &&AtomicTouch| !atomic && (write || a.write) && unordered(&a.touch);
    let found = found.or_else(|| cell.atomics.iter().find(with_atomic).map(|a| (a.touch, a.write)));
    let cell = &mut ex.races.cells[index];
    if atomic {
        cell.atomics.retain(|a| a.touch.thread != thread || a.write != write);
        cell.atomics.push(AtomicTouch { touch, write });
    } else if write {
        cell.write = Some(touch);
        cell.reads.clear();
    } else {
        cell.reads.retain(|r| r.thread != thread);
        cell.reads.push(touch);
    }
    found
}

/// What is to be said of two accesses to a variable, one of the running thread and an earlier one.
#[cold]
pub(crate) fn message(
    ex: &Execution,
    name: &str,
    write: bool,
    place: Place,
    other: &Touch,
    wrote: bool,
) -> String {
    let kind = |w| if w { "write" } else { "read" };
    format!(
        "data race on {name}: {} by {} at {place}, and {} by {} at {}, with nothing that orders them",
        kind(write),
        ex.thread_label(ex.current),
        kind(wrote),
        ex.thread_label(other.thread),
        other.place
    )
}
