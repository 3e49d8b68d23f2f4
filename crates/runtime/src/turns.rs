//! Giving way: a thread whose loop sees nothing new lets the others run first.
//!
//! # The rule
//!
//! A *look* is a step that left its object as it was: a load, a failed compare-exchange or `try_lock`, a yield, a reading of the clock, a
//! wait that ended without a notification. A `try_lock` that succeeds is one too, since it has seen that the lock was free, and so is
//! taking a lock that has a version (see [`crate::polling`]), which is what it has seen. A *turn* leads from one look to the next one at the same place on the same object. A turn is
//! *fruitless* if every look in it saw what it saw in the turn before, or what the thread itself has written since. A thread may
//! count its turns and write to other words meanwhile: so its local state differs each time, and [`crate::spin`] does not apply. After
//! a number of fruitless turns in a row the thread *gives way*: at the next look of the loop it announces an
//! [`explore::OpKind::Await`] on the words that it has looked at.
//!
//! The wait ends when one of the words differs, or when no other thread can run. The second is a *release*: the step comes after
//! everything before it, as a timeout does when time passes, and the thread gets as many turns again. Of several threads that gave
//! way, the one that was released least recently is released. So every release is decided by the steps before it.
//!
//! # What it leaves out
//!
//! Whether a thread gives way is decided by what it has seen itself, so reductions stay exact for the executions that are left: those
//! with at most so many fruitless turns in a row. Executions with more are not explored. Where a thread gave way while another one
//! could run, the session notes a caveat with the place of the loop. The search is then repeated with more turns while that is cheap
//! (see [`crate::driver`]).

use crate::cycles;
use crate::execution::Execution;
use crate::record;
use crate::spin::{self, bit, strong};
use crate::sync::{CHANCE, LIMIT};
use crate::time::CLOCK;
use explore::semantics::Applied;
use explore::{Access, CaveatKind, Mode, ObjectId, Op, OpKind, Site, ThreadId, ThreadSet};

/// The most looks that are remembered.
const MOST: usize = 64;

/// A thread may be released so often in a row while another one waits for its time limit, or was stopped because it repeats itself. Other
/// executions show what that thread does then.
const MOST_RELEASES: u32 = 3;

/// Kinds that are looks if they leave the word as it was. A store or a fence tells the thread nothing.
const LOOKS: u64 = spin::LOOKS & !(bit(OpKind::Store) | bit(OpKind::Fence));

/// Kinds that are looks also if they succeed: the thread has seen that nobody was in its way.
pub(crate) const TRIES: u64 =
    bit(OpKind::TryLock) | bit(OpKind::TryReadLock) | bit(OpKind::TryWriteLock) | bit(OpKind::SemTryWait);

/// Kinds by which a thread gets something from another one.
const NEWS: u64 = bit(OpKind::Wake)
    | bit(OpKind::Park)
    | bit(OpKind::Recv)
    | bit(OpKind::TryRecv)
    | bit(OpKind::SemWait)
    | bit(OpKind::Transfer)
    | bit(OpKind::TryTransfer)
    | bit(OpKind::Pass)
    | bit(OpKind::SendDone)
    | bit(OpKind::Join);

/// A look in a loop.
struct Look {
    site: Site,
    /// The object of the operation.
    at: ObjectId,
    /// The object whose word it saw, if any: as a rule that of the operation.
    object: ObjectId,
    kind: OpKind,
    /// What it saw last.
    word: u64,
    /// The last word of the object that the thread has seen or written; it is kept in the first look at the object.
    known: u64,
    /// Which look is the first one at the object.
    first: u8,
    /// How many fruitless turns in a row have ended with it, if it is of this stretch.
    turns: u32,
    stretch: u32,
}

/// What a thread has seen in its loops.
#[derive(Default)]
pub(crate) struct Turns {
    looks: Vec<Look>,
    /// Where the next look is put when there is no more room.
    next: usize,
    /// Which look may come next: the one after the last.
    expected: usize,
    /// The number of the stretch of steps since the thread last saw something new.
    stretch: u32,
    /// One of the looks has reached the limit.
    pub(crate) due: bool,
    /// The loop in which the thread gave way reads the clock: it ends when the thread is late, which is explored where it reads it.
    reads_clock: bool,
    /// How often the thread was released since it last saw something new.
    releases: u32,
    /// So many steps of the execution are known to happen before what the thread does next.
    ordered: usize,
    /// When it was released last, as the number of steps then.
    released: u64,
}

impl Turns {
    #[inline]
    pub(crate) fn clear(&mut self) {
        // Most threads are in no loop.
        if !self.looks.is_empty() || self.stretch != 0 {
            self.clear_all();
        }
    }

    fn clear_all(&mut self) {
        self.looks.clear();
        (self.next, self.expected, self.stretch, self.due) = (0, 0, 0, false);
        (self.releases, self.released, self.reads_clock) = (0, 0, false);
        self.ordered = 0;
    }

    /// The thread has seen something new.
    pub(crate) fn saw_change(&mut self) {
        self.start_again();
        self.releases = 0;
    }

    /// Turns are counted from 0 again.
    fn start_again(&mut self) {
        self.stretch += 1;
        self.due = false;
    }

    /// Nothing is remembered.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.looks.is_empty()
    }

    /// The first look at an object.
    fn first_at(&self, object: ObjectId) -> Option<usize> {
        if object.is_some() { self.looks.iter().position(|l| l.object == object) } else { None }
    }

    /// The last word of an object that the thread has seen or written.
    fn known(&self, look: &Look) -> u64 {
        self.looks[look.first as usize].known
    }

    /// The thread has written a word.
    fn wrote(&mut self, object: ObjectId, word: u64) {
        if let Some(i) = self.first_at(object) {
            self.looks[i].known = word;
        }
    }

    fn look(&mut self, kind: OpKind, object: ObjectId, site: Site, word: u64, limit: u32) {
        self.look_at(kind, object, object, site, word, limit);
    }

    /// The same for an operation on the object `at` that saw the word of another one.
    #[inline(always)]
    fn look_at(&mut self, kind: OpKind, at: ObjectId, object: ObjectId, site: Site, word: u64, limit: u32) {
        let same = |l: &Look| l.site == site && l.at == at && l.kind == kind;
        // Loops come to the same looks in the same order.
        let found = match self.looks.get(self.expected) {
            Some(l) if same(l) => Some(self.expected),
            _ => self.looks.iter().position(same),
        };
        let Some(i) = found else { return self.add(kind, at, object, site, word) };
        self.expected = if i + 1 < self.looks.len() { i + 1 } else { 0 };
        let first = match &self.looks[i] {
            l if l.object == object => object.is_some().then_some(l.first as usize),
            _ => self.first_at(object),
        };
        let known = first.map(|f| std::mem::replace(&mut self.looks[f].known, word));
        let look = &mut self.looks[i];
        if std::mem::replace(&mut look.word, word) == word || known == Some(word) {
            look.turns = if look.stretch == self.stretch { look.turns + 1 } else { 1 };
            look.stretch = self.stretch;
            self.due |= look.turns >= limit;
        } else {
            self.saw_change();
        }
    }

    /// Adds a look at a place where the thread was not before, or so long ago that it is forgotten.
    fn add(&mut self, kind: OpKind, at: ObjectId, object: ObjectId, site: Site, word: u64) {
        let i = if self.looks.len() < MOST { self.looks.len() } else { self.next % MOST };
        let first = self.first_at(object).unwrap_or(i);
        let stretch = self.stretch + 1;
        let look = Look { site, at, object, kind, word, known: word, first: first as u8, turns: 0, stretch };
        if first != i {
            self.looks[first].known = word;
        }
        if i == self.looks.len() {
            self.looks.push(look);
        } else {
            self.replace(i, look);
            self.next += 1;
        }
        self.expected = 0;
        self.saw_change();
    }

    /// Replaces a look. It may have been the first one at its object.
    #[cold]
    fn replace(&mut self, i: usize, look: Look) {
        let (object, known) = (self.looks[i].object, self.known(&self.looks[i]));
        self.looks[i] = look;
        for (object, known) in [(object, known), (self.looks[i].object, self.looks[i].word)] {
            let Some(first) = self.first_at(object) else { continue };
            self.looks[first].known = known;
            self.looks.iter_mut().filter(|l| l.object == object).for_each(|l| l.first = first as u8);
        }
        if !self.looks[i].object.is_some() {
            self.looks[i].first = i as u8;
        }
    }
}

/// Notes a step of the running thread.
#[inline(always)]
pub(crate) fn after_step(
    ex: &mut Execution,
    op: &Op,
    site: Site,
    before: u64,
    applied: &Applied,
    option: u32,
) {
    if LOOKS >> op.kind as u8 & 1 == 1 && applied.word == before {
        return note_look(ex, strong(op.kind), op.object, site, before);
    }
    let looks = (TRIES | bit(OpKind::Choose)) >> op.kind as u8 & 1 == 1;
    if looks || !ex.threads[ex.current.index()].turns.is_empty() {
        note(ex, *op, site, before, applied.word, applied.ok, option);
    }
}

/// The running thread has looked at an object.
#[inline(never)]
fn note_look(ex: &mut Execution, kind: OpKind, object: ObjectId, site: Site, word: u64) {
    let limit = ex.turns;
    if limit == u32::MAX {
        return;
    }
    let turns = &mut ex.threads[ex.current.index()].turns;
    turns.look_at(kind, object, object, site, word, limit);
    ex.due = turns.due;
    ex.attend |= turns.due;
}

#[inline(never)]
fn note(ex: &mut Execution, op: Op, site: Site, before: u64, after: u64, ok: bool, option: u32) {
    let limit = ex.turns;
    if limit == u32::MAX {
        return;
    }
    let turns = &mut ex.threads[ex.current.index()].turns;
    match op.kind {
        OpKind::Choose if op.b == CLOCK => match option {
            0 => turns.look(op.kind, ObjectId::NONE, site, 0, limit),
            _ => turns.saw_change(),
        },
        // How a wait ends. The notification, if it waits for one, is another step.
        OpKind::Choose if op.b & (CHANCE | LIMIT) != 0 && option != 0 => {
            turns.look(op.kind, ObjectId::NONE, site, option as u64, limit);
        }
        OpKind::Wake | OpKind::Park if !ok => turns.look(op.kind, op.object, site, 0, limit),
        kind if TRIES >> kind as u8 & 1 == 1 => {
            // Readers that come and go are independent of one that gets in, so it has seen no word.
            let (object, word) = match kind {
                OpKind::TryReadLock => (ObjectId::NONE, 0),
                _ => (op.object, before),
            };
            turns.look_at(kind, op.object, object, site, word, limit);
            turns.wrote(op.object, after);
        }
        kind if NEWS >> kind as u8 & 1 == 1 => turns.saw_change(),
        _ if after != before => turns.wrote(op.object, after),
        _ => {}
    }
    ex.due = turns.due;
    ex.attend |= ex.due;
}

/// The running thread has taken a lock, and so seen the version of what it guards.
pub(crate) fn saw_version(ex: &mut Execution, op: &Op, site: Site, version: ObjectId) {
    let (limit, word) = (ex.turns, ex.word(version));
    if limit != u32::MAX {
        let turns = &mut ex.threads[ex.current.index()].turns;
        turns.look_at(op.kind, op.object, version, site, word, limit);
        ex.due = turns.due;
        ex.attend |= ex.due;
    }
}

/// Something new has happened to the running thread besides its steps.
pub(crate) fn saw_change(ex: &mut Execution) {
    ex.threads[ex.current.index()].turns.saw_change();
    ex.due = false;
}

/// Announces that the running thread gives way, if it has to at this operation; says whether it did.
#[cold]
pub(crate) fn announce(ex: &mut Execution, op: &Op, site: Site) -> bool {
    let (t, limit) = (ex.current, ex.turns);
    let turns = &mut ex.threads[t.index()].turns;
    let of_stretch = |l: &&Look| l.stretch == turns.stretch && l.turns > 0;
    let is_due =
        |l: &Look| l.turns >= limit && l.site == site && l.at == op.object && l.kind == strong(op.kind);
    if !turns.looks.iter().filter(of_stretch).any(is_due) {
        return false;
    }
    let mut seen = std::mem::take(&mut ex.seen);
    seen.clear();
    for look in turns.looks.iter().filter(of_stretch).filter(|l| l.object.is_some()) {
        if seen.iter().all(|s| s.0 != look.object) {
            seen.push((look.object, turns.known(look)));
        }
    }
    let reads_clock = turns.looks.iter().filter(of_stretch).any(|l| l.kind == OpKind::Choose);
    turns.reads_clock = reads_clock;
    turns.start_again();
    ex.due = false;
    ex.threads[t.index()].window.clear();
    ex.looking = ex.tracking || ex.modes.clean_stacks;
    ex.repeat = None;
    let mut others = ex.enabled;
    others.remove(t);
    if !others.is_empty() {
        note_caveat(ex, site);
    }
    ex.yielded.insert(t);
    ex.announce_await(&seen, GIVES_WAY, site);
    ex.seen = seen;
    true
}

/// Whether there is such a caveat about a place.
fn is_noted(ex: &Execution, site: Site) -> bool {
    record::place_of(site).is_none_or(|place| ex.caveats.is_noted(CaveatKind::Turns, place))
}

/// Notes that more turns of the loop at this place were not explored.
fn note_caveat(ex: &mut Execution, site: Site) {
    note_turns(ex, site, "of a loop that saw no change");
}

/// Notes that more rounds of the loop at this place were not explored; see [`crate::cycles`].
#[cold]
pub(crate) fn note_rounds(ex: &mut Execution, site: Site) {
    ex.bounded_rounds = true;
    note_turns(ex, site, "of a loop that took its changes back");
}

fn note_turns(ex: &mut Execution, site: Site, which: &str) {
    ex.gave_way = true;
    if let Some(place) = record::place_of(site)
        && !ex.caveats.is_noted(CaveatKind::Turns, place)
    {
        let limit = ex.turns;
        let turns = if limit == 1 { "turn" } else { "turns" };
        let text =
            format!("more than {limit} {turns} in a row {which} were not explored (--turns, Config::turns)");
        ex.caveats.add(CaveatKind::Turns, text.into(), place);
    }
}

/// How a thread awaits that gives way: the wait also ends when no other thread can run.
pub(crate) const GIVES_WAY: u64 = 8;

impl Execution {
    /// Whether another thread has taken a step that does not happen before the last step of this one.
    fn has_concurrent_steps(&mut self, t: ThreadId) -> bool {
        let mut accesses = std::mem::take(&mut self.accesses);
        accesses.clear();
        let any = self.finds_concurrent_step(t, &mut accesses);
        self.accesses = accesses;
        if !any {
            self.threads[t.index()].turns.ordered = self.log.len();
        }
        any
    }

    fn finds_concurrent_step(&self, t: ThreadId, accesses: &mut Vec<(ObjectId, Access)>) -> bool {
        // Threads of which a step that comes later in the log happens before, and the accesses of such steps.
        let mut before = ThreadSet::single(t);
        let known = self.threads[t.index()].turns.ordered.min(self.log.len());
        for l in self.log[known..].iter().rev() {
            let own = [(l.object, Access { mode: l.mode, aux: l.aux }), (l.other, Access::new(Mode::Write))];
            let own = own.iter().filter(|(o, _)| o.is_some());
            match l.kind {
                OpKind::Spawn => {
                    if before.contains(ThreadId(l.aux as u16)) {
                        before.insert(l.thread);
                    }
                    continue;
                }
                OpKind::Join => {
                    if before.contains(l.thread) {
                        before.insert(ThreadId(l.aux as u16));
                    }
                    continue;
                }
                _ if l.mode == Mode::Local => continue,
                _ => {}
            }
            if !before.contains(l.thread) {
                let conflicts = own.clone().any(|(o, a)| {
                    accesses.iter().any(|(object, later)| object == o && cycles::conflicts(a, later))
                });
                if !conflicts {
                    return true;
                }
                before.insert(l.thread);
            }
            for access in own {
                if !accesses.iter().any(|a| a.0 == access.0 && a.1.mode == access.1.mode) {
                    accesses.push(*access);
                }
            }
        }
        false
    }

    /// Whether a thread stands where it gave way to the others.
    pub(crate) fn gives_way(&self, t: ThreadId) -> bool {
        let op = &self.pending[t.index()].op;
        op.kind == OpKind::Await && op.a & GIVES_WAY != 0
    }

    /// Nobody can run: a thread that gave way continues. Says whether there is one.
    ///
    /// Where another thread waits for its time limit or was stopped (`others_may_run`), a thread continues a few times only.
    #[cold]
    pub(crate) fn release(&mut self, others_may_run: bool) -> bool {
        let waits = self.live.iter().filter(|t| self.gives_way(*t));
        let Some(t) = waits.min_by_key(|t| self.threads[t.index()].turns.released) else { return false };
        let now = self.steps;
        let site = self.pending[t.index()].site;
        let turns = &self.threads[t.index()].turns;
        if (others_may_run || turns.reads_clock) && turns.releases >= MOST_RELEASES {
            note_caveat(self, site);
            return false;
        }
        // The release comes after all steps so far, so no reversal lets the thread continue before one of them.
        if !is_noted(self, site) && self.has_concurrent_steps(t) {
            note_caveat(self, site);
        }
        let turns = &mut self.threads[t.index()].turns;
        turns.releases += 1;
        turns.released = now + 1;
        self.pending[t.index()].op.a |= Op::TIME_PASSES;
        self.enabled.insert(t);
        true
    }
}
