//! Giving way: a thread whose loop sees nothing new lets the others run first.
//!
//! # The rule
//!
//! A *look* is a step that left its object as it was: a load, a failed compare-exchange or `try_lock`, a yield. A *turn* leads from one
//! look to the next one at the same place on the same object. A turn is *fruitless* if every look in it saw what it saw in the turn
//! before, or what the thread itself has written since. A thread may count its turns and write to other words meanwhile: so its local
//! state differs each time, and [`crate::spin`] does not apply. After a number of fruitless turns in a row the thread *gives way*: at the
//! next look of the loop it announces an [`explore::OpKind::Await`] on the words that it has looked at.
//!
//! The wait ends when one of the words differs, or when no other thread can run. The second is a *release*: the step comes after
//! everything before it, as a timeout does when time passes, and the thread gets as many turns again.
//!
//! # What it leaves out
//!
//! Whether a thread gives way is decided by what it has seen itself, so reductions stay exact for the executions that are left: those
//! with at most so many fruitless turns in a row. Executions with more are not explored. Where a thread gave way while another one
//! could run, the session notes a caveat with the place of the loop. The search is then repeated with more turns while that is cheap
//! (see [`crate::driver`]).

use crate::execution::Execution;
use crate::record;
use explore::semantics::Applied;
use explore::{CaveatKind, ObjectId, Op, OpKind, Site};

/// The most looks and words that are remembered.
const MOST: usize = 32;

const fn bit(kind: OpKind) -> u64 {
    1 << kind as u8
}

/// Kinds that are looks if they leave the word as it was.
const LOOKS: u64 = bit(OpKind::Load)
    | bit(OpKind::Rmw)
    | bit(OpKind::CompareExchange)
    | bit(OpKind::CompareExchangeWeak)
    | bit(OpKind::TryLock)
    | bit(OpKind::TryReadLock)
    | bit(OpKind::TryWriteLock)
    | bit(OpKind::SemTryWait)
    | bit(OpKind::TrySend)
    | bit(OpKind::TryRecv)
    | bit(OpKind::IsFinished)
    | bit(OpKind::CountRead)
    | bit(OpKind::Yield);

/// Kinds that see a word and change it.
const CHANGES: u64 = bit(OpKind::Rmw)
    | bit(OpKind::CompareExchange)
    | bit(OpKind::CompareExchangeWeak)
    | bit(OpKind::SemTryWait);

/// Kinds that tell the thread nothing new.
const NEUTRAL: u64 = bit(OpKind::Store)
    | bit(OpKind::Fence)
    | bit(OpKind::Lock)
    | bit(OpKind::Unlock)
    | bit(OpKind::TryLock)
    | bit(OpKind::ReadLock)
    | bit(OpKind::TryReadLock)
    | bit(OpKind::ReadUnlock)
    | bit(OpKind::WriteLock)
    | bit(OpKind::TryWriteLock)
    | bit(OpKind::WriteUnlock)
    | bit(OpKind::NotifyOne)
    | bit(OpKind::NotifyAll)
    | bit(OpKind::Wait)
    | bit(OpKind::Choose)
    | bit(OpKind::Await);

/// A look in a loop.
struct Look {
    site: Site,
    object: ObjectId,
    kind: OpKind,
    /// What it saw last.
    word: u64,
    /// How many fruitless turns in a row have ended with it.
    turns: u32,
}

/// What a thread has seen since it last saw something new.
#[derive(Default)]
pub(crate) struct Turns {
    looks: Vec<Look>,
    /// Words that the thread itself has written, and what it has left there.
    own: Vec<(ObjectId, u64)>,
    /// One of the looks has reached the limit.
    pub(crate) due: bool,
}

impl Turns {
    pub(crate) fn clear(&mut self) {
        self.looks.clear();
        self.own.clear();
        self.due = false;
    }

    /// The thread has seen something new.
    fn saw_change(&mut self) {
        self.looks.iter_mut().for_each(|l| l.turns = 0);
        self.due = false;
    }

    fn own_word(&self, object: ObjectId) -> Option<u64> {
        self.own.iter().find(|o| o.0 == object).map(|o| o.1)
    }

    fn wrote(&mut self, object: ObjectId, word: u64) {
        match self.own.iter_mut().find(|o| o.0 == object) {
            Some(own) => own.1 = word,
            None => {
                if self.own.len() == MOST {
                    self.own.remove(0);
                }
                self.own.push((object, word));
            }
        }
    }

    fn look(&mut self, op: &Op, site: Site, word: u64, limit: u32) {
        let found =
            self.looks.iter_mut().find(|l| l.site == site && l.object == op.object && l.kind == op.kind);
        match found {
            Some(look) => {
                let last = std::mem::replace(&mut look.word, word);
                if last == word {
                    look.turns += 1;
                    self.due |= look.turns >= limit;
                } else if self.own_word(op.object) == Some(word) {
                    if let Some(look) =
                        self.looks.iter_mut().find(|l| l.site == site && l.object == op.object)
                    {
                        look.turns += 1;
                        self.due |= look.turns >= limit;
                    }
                } else {
                    self.saw_change();
                }
            }
            None => {
                if self.looks.len() == MOST {
                    self.looks.remove(0);
                }
                self.saw_change();
                self.looks.push(Look { site, object: op.object, kind: op.kind, word, turns: 0 });
            }
        }
    }
}

/// Notes a step of the running thread.
#[inline(always)]
pub(crate) fn after_step(ex: &mut Execution, op: &Op, site: Site, before: u64, applied: &Applied) {
    let looks = LOOKS >> op.kind as u8 & 1 == 1 && applied.word == before;
    let turns = &ex.threads[ex.current.index()].turns;
    if looks || !turns.looks.is_empty() {
        note(ex, *op, site, before, applied.word, looks, applied.ok);
    }
}

#[inline(never)]
fn note(ex: &mut Execution, op: Op, site: Site, before: u64, after: u64, looks: bool, ok: bool) {
    let limit = ex.turns;
    let turns = &mut ex.threads[ex.current.index()].turns;
    if looks {
        turns.look(&op, site, before, limit);
    } else if CHANGES >> op.kind as u8 & 1 == 1 {
        if turns.own_word(op.object) != Some(before) {
            turns.saw_change();
        }
        turns.wrote(op.object, after);
    } else if op.kind == OpKind::Store {
        turns.wrote(op.object, after);
    } else if matches!(op.kind, OpKind::Wake | OpKind::Park) && !ok {
        // A wait that ended with no notification is a look as well.
        turns.look(&op, site, 0, limit);
    } else if NEUTRAL >> op.kind as u8 & 1 == 0 {
        turns.saw_change();
    }
    ex.due = turns.due;
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
    let is_due = |l: &Look| l.turns >= limit && l.site == site && l.object == op.object && l.kind == op.kind;
    if !turns.looks.iter().any(is_due) {
        return false;
    }
    let mut seen = std::mem::take(&mut ex.seen);
    seen.clear();
    for look in turns.looks.iter().filter(|l| l.turns > 0 && l.object.is_some()) {
        match seen.iter_mut().find(|s| s.0 == look.object) {
            Some(known) => known.1 = look.word,
            None => seen.push((look.object, look.word)),
        }
    }
    // What the thread itself has written since is no news.
    for (object, word) in &mut seen {
        *word = turns.own_word(*object).unwrap_or(*word);
    }
    turns.saw_change();
    ex.due = false;
    ex.threads[t.index()].window.clear();
    ex.looking = false;
    ex.repeat = None;
    let mut others = ex.enabled;
    others.remove(t);
    if !others.is_empty() {
        ex.gave_way = true;
        if let Some(place) = record::place_of(site) {
            let text =
                format!("a loop was not explored beyond {limit} turns in a row that saw no change (--turns)");
            ex.caveats.add(CaveatKind::Turns, text.into(), place);
        }
    }
    ex.announce_await(&seen, GIVES_WAY, site);
    ex.seen = seen;
    true
}

/// How a thread awaits that gives way: the wait also ends when no other thread can run.
pub(crate) const GIVES_WAY: u64 = 8;
