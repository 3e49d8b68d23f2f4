//! Steps that are not interpreted again.
//!
//! What a thread does depends on nothing but what it did and read before, and a step that meets the word that it met before does what it
//! did then. A search that lets a thread go on for a while ([`explore::Explorer::goes_on`]) often lets it go the same way in one
//! execution after the other, past other steps that it has nothing to do with. So its way is noted, with its locals after each step. While
//! the words on it are the same, the search is told of the steps, and memory gets what they wrote; what the thread itself has come to is
//! taken over where the way is left.

use super::{Candidate, Machine, Runner};
use crate::program::{LocationId, ThreadId};
use crate::state::Step;
use explore::{Access, Executed, Explorer, Mode, Op, OpKind, Pending, Site, semantics};

/// The longest way that is noted.
const LONGEST: usize = 1 << 12;

/// One step on it.
#[derive(Clone, Copy)]
struct Done {
    op: Op,
    site: Site,
    access: Access,
    value: u64,
    ok: bool,
    /// The cell that it is on, with its words before and after.
    cell: u32,
    before: u64,
    after: u64,
    /// What the thread does next.
    next: (Op, Site),
    /// How many steps of the automaton led here from the beginning of the way, and how many edges it may have taken next on it.
    steps: u32,
    candidates: u32,
}

impl Done {
    /// Whether it did more than look.
    fn writes(&self) -> bool {
        self.access.mode != Mode::Read
    }
}

/// The way of one thread that was noted last.
#[derive(Default)]
pub(super) struct Course {
    /// How many steps the thread had taken before.
    first: u32,
    done: Vec<Done>,
    /// Where it stood before the first step and after each.
    locations: Vec<LocationId>,
    /// Its locals there.
    locals: Vec<u64>,
    steps: Vec<Step>,
    candidates: Vec<Candidate>,
}

impl Course {
    /// Begins where the thread is.
    fn begin(&mut self, m: &Machine<'_, '_>, t: ThreadId) {
        self.first = m.events[t.index()];
        self.done.clear();
        self.locations.clear();
        self.locals.clear();
        self.steps.clear();
        self.candidates.clear();
        self.stand(m, t);
    }

    fn stand(&mut self, m: &Machine<'_, '_>, t: ThreadId) {
        self.locations.push(m.state.locations[t.index()]);
        self.locals.extend(m.run.locals[t.index()].iter().map(|c| m.state.values[*c]));
    }

    /// Whether the thread has only read since it was here or there: then it may be about to go round in circles, and what it looks out
    /// for is not noted.
    fn is_looking(m: &Machine<'_, '_>, t: ThreadId) -> bool {
        let past = &m.past[t.index()];
        past.seen.len() != 1 || !past.reads.is_empty()
    }

    /// Where on the way the thread is, if it is there for sure.
    #[inline]
    pub(super) fn position(&self, m: &Machine<'_, '_>, t: ThreadId) -> Option<usize> {
        let at = m.events[t.index()].checked_sub(self.first)? as usize;
        if self.done.len() < at.max(1) || Course::is_looking(m, t) {
            return None;
        }
        if at > 0 && !self.done[at - 1].writes() {
            return None;
        }
        let cells = &m.run.locals[t.index()];
        let same = self.locations[at] == m.state.locations[t.index()]
            && self.locals[at * cells.len()..].iter().zip(cells).all(|(v, c)| *v == m.state.values[*c]);
        same.then_some(at)
    }

    /// The same; begins anew if it is elsewhere and can.
    pub(super) fn find(&mut self, m: &Machine<'_, '_>, t: ThreadId) -> Option<usize> {
        let at = self.position(m, t);
        if at.is_none() && !Course::is_looking(m, t) {
            self.begin(m, t);
            return Some(0);
        }
        at
    }

    /// How many steps of the automaton, and candidates, belong to the first steps.
    fn ends(&self, len: usize) -> (usize, usize) {
        len.checked_sub(1).map_or((0, 0), |d| (self.done[d].steps as usize, self.done[d].candidates as usize))
    }

    /// Forgets all but the first steps.
    fn truncate(&mut self, len: usize, cells: usize) {
        self.done.truncate(len);
        self.locations.truncate(len + 1);
        self.locals.truncate((len + 1) * cells);
        let (steps, candidates) = self.ends(len);
        self.steps.truncate(steps);
        self.candidates.truncate(candidates);
    }
}

impl Runner<'_> {
    /// The one cell that a step of this kind is on, if what it does there depends on nothing else that is shared.
    fn only_cell(&self, op: &Op) -> Option<usize> {
        use OpKind::{CompareExchange, Load, Rmw, Store};
        if !matches!(op.kind, Load | Store | Rmw | CompareExchange) {
            return None;
        }
        match self.members.get(op.object.index()).map(Vec::as_slice) {
            Some([cell]) => Some(*cell as usize),
            _ => None,
        }
    }
}

/// A step about to be taken: what is known of it before.
pub(super) struct Before {
    op: Op,
    site: Site,
    cell: usize,
    word: u64,
    steps: usize,
}

impl Before {
    /// Of the next step of a thread, if it is one to be noted.
    pub(super) fn of(m: &Machine<'_, '_>, t: ThreadId) -> Option<Before> {
        let Pending { op, site, .. } = m.pending[t.index()];
        let cell = m.run.only_cell(&op)?;
        Some(Before { op, site, cell, word: m.state.values[cell], steps: m.trace.len() })
    }
}

impl Course {
    /// Notes a step that was taken after `at` steps of the way; or at its beginning, where it begins anew. Says whether it did.
    pub(super) fn note(&mut self, m: &Machine<'_, '_>, t: ThreadId, before: &Before, at: usize) -> bool {
        debug_assert_eq!(at, self.done.len());
        let Pending { op: next, site, .. } = m.pending[t.index()];
        let taken = &m.trace[before.steps..];
        let edges = &m.run.edges[t.index()];
        let plain = taken.iter().all(|s| s.thread == t && edges[s.transition.index()].plain);
        if at == LONGEST || !plain || m.run.only_cell(&next).is_none() || m.stuck[t.index()] {
            return false;
        }
        let (mut op, after) = (before.op, m.state.values[before.cell]);
        if matches!(op.kind, OpKind::Rmw | OpKind::Store) {
            op.a = after;
        }
        let done = semantics::apply(&op, before.word, t, 0);
        self.steps.extend_from_slice(taken);
        self.candidates.extend_from_slice(&m.candidates[t.index()]);
        self.done.push(Done {
            op,
            site: before.site,
            access: done.access,
            value: done.value,
            ok: done.ok,
            cell: before.cell as u32,
            before: before.word,
            after,
            next: (next, site),
            steps: self.steps.len() as u32,
            candidates: self.candidates.len() as u32,
        });
        self.stand(m, t);
        true
    }
}

/// How a thread left the way that was noted of it.
pub(super) enum Left {
    /// The search does not let it go on by itself.
    Stopped,
    /// It is to go on, and is at the end of the way, or where the next step meets another word: the rest is forgotten.
    GoesOn,
    /// It is to go on, along the way, but was not to go any further for now.
    Paused,
}

impl Course {
    /// Goes along the way after `from` of its steps: `pause` steps, if it can, or until there are `most`. The search has said that the
    /// thread takes its next step, and is asked whether it goes on. Says how many steps there were.
    pub(super) fn follow(
        &mut self,
        m: &mut Machine<'_, '_>,
        t: ThreadId,
        from: usize,
        (pause, most): (usize, usize),
        explorer: &mut (impl Explorer + ?Sized),
    ) -> (usize, Left) {
        let mut gone = 0;
        let left = loop {
            let Some(d) = self.done.get(from + gone) else { break Left::GoesOn };
            let word = &mut m.state.values[d.cell as usize];
            if *word != d.before {
                self.truncate(from + gone, m.run.locals[t.index()].len());
                break Left::GoesOn;
            }
            if gone == pause {
                break Left::Paused;
            }
            *word = d.after;
            gone += 1;
            explorer.executed(Executed {
                thread: t,
                op: d.op,
                access: d.access,
                before: d.before,
                value: d.value,
                ok: d.ok,
                site: d.site,
                awaited: &[],
            });
            let next = Pending { op: d.next.0, site: d.next.1, awaited: (0, 0) };
            if gone == most || !explorer.goes_on(&next) {
                break Left::Stopped;
            }
        };
        if gone > 0 {
            self.arrive(m, t, from, from + gone);
        }
        (gone, left)
    }

    /// The thread has gone from one place of the way to another: what it has come to itself.
    fn arrive(&self, m: &mut Machine<'_, '_>, t: ThreadId, from: usize, to: usize) {
        let (k, cells) = (t.index(), &m.run.locals[t.index()]);
        let locals = |at: usize| &self.locals[at * cells.len()..][..cells.len()];
        m.events[k] += (to - from) as u32;
        m.state.locations[k] = self.locations[to];
        for (c, v) in cells.iter().zip(locals(to)) {
            m.state.values[*c] = *v;
        }
        (m.pending[k].op, m.pending[k].site) = self.done[to - 1].next;
        m.trace.extend_from_slice(&self.steps[self.ends(from).0..self.ends(to).0]);
        m.candidates[k].clear();
        m.candidates[k].extend_from_slice(&self.candidates[self.ends(to - 1).1..self.ends(to).1]);
        // Only what it has read since it last wrote.
        let since = self.done[from..to].iter().rposition(Done::writes).map_or(from, |w| from + w);
        for (d, at) in self.done[since..to].iter().zip(since + 1..) {
            let past = &mut m.past[k];
            if d.writes() {
                past.forget();
            } else {
                past.reads.push((d.op.object, d.before));
            }
            past.seen.push((self.locations[at], past.reads.len()));
            past.locals.extend_from_slice(locals(at));
        }
    }
}
