//! Steps that are not interpreted again.
//!
//! What a thread does depends on nothing but what it did and read before, and a step that meets the word that it met before does what it
//! did then; if its thread does not learn the word it does so whichever it meets. A search that lets a thread go on for a while
//! ([`explore::Explorer::goes_on`]) often lets it go the same way in one execution after the other, past other steps that it has nothing
//! to do with. So its way is noted, with its locals after each step. While the words on it are the same, the search is told of the steps,
//! and memory gets what they wrote; what the thread itself has come to is taken over where the way is left. A thread that comes back to
//! the way with the same locals, after as many steps, goes on along it.

use super::{Candidate, Machine, Runner};
use crate::code::Code;
use crate::program::{LocationId, ThreadId};
use crate::state::Step;
use explore::{Access, Executed, Explorer, Mode, Op, OpKind, Pending, Site, semantics};

/// The longest way that is noted.
const LONGEST: usize = 1 << 12;

/// How many steps of automata are kept for it, of which some may be of no more use.
const MOST_STEPS: usize = 1 << 16;

/// One step on it.
#[derive(Clone, Copy)]
struct Done {
    /// It is known. Otherwise the way has a gap there.
    known: bool,
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
    /// What it writes, if its thread does not learn which word it meets.
    blind: Option<Code>,
    /// The steps of the automaton, and the edges that the thread may take next.
    steps: (u32, u32),
    candidates: (u32, u32),
}

impl Done {
    /// Whether it did more than look.
    fn writes(&self) -> bool {
        self.access.mode != Mode::Read
    }
}

/// The way of one thread that was noted last, by how many steps the thread has taken. What is known need not be known from the beginning.
#[derive(Default)]
pub(super) struct Course {
    done: Vec<Done>,
    /// Where it stood before the first step and after each.
    locations: Vec<LocationId>,
    /// Its locals there.
    locals: Vec<u64>,
    steps: Vec<Step>,
    candidates: Vec<Candidate>,
}

impl Course {
    /// A step of which nothing is known but that it was one to begin after.
    const GAP: Done = Done {
        known: false,
        op: Op::local(OpKind::Yield),
        site: Site(0),
        access: Access::new(Mode::Write),
        value: 0,
        ok: false,
        cell: 0,
        before: 0,
        after: 0,
        next: (Op::local(OpKind::Yield), Site(0)),
        blind: None,
        steps: (0, 0),
        candidates: (0, 0),
    };

    /// Begins where the thread is. What comes later is a way that it may come to.
    fn begin(&mut self, m: &Machine<'_, '_>, t: ThreadId, at: usize) {
        if at > self.done.len() {
            self.done.resize(at, Course::GAP);
            self.locations.resize(at, LocationId(0));
            self.locals.resize(at * m.run.locals[t.index()].len(), 0);
        }
        if let Some(last) = at.checked_sub(1) {
            self.done[last] = Course::GAP;
        }
        if self.locations.len() == at { self.stand(m, t) } else { self.stand_at(m, t, at) }
    }

    /// Puts where the thread is in the place of what was there.
    fn stand_at(&mut self, m: &Machine<'_, '_>, t: ThreadId, at: usize) {
        let cells = &m.run.locals[t.index()];
        self.locations[at] = m.state.locations[t.index()];
        for (v, c) in self.locals[at * cells.len()..].iter_mut().zip(cells) {
            *v = m.state.values[*c];
        }
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
        let at = m.events[t.index()] as usize;
        let known = self.done.get(at).is_some_and(|d| d.known)
            || at == self.done.len() && self.done.last().is_some_and(|d| d.known);
        (known && self.joins(m, t, at)).then_some(at)
    }

    /// Whether the way goes on from where the thread is, after so many steps.
    fn joins(&self, m: &Machine<'_, '_>, t: ThreadId, at: usize) -> bool {
        let looked = at.checked_sub(1).is_some_and(|last| !self.done[last].writes());
        !looked && !Course::is_looking(m, t) && self.is_at(m, t, at)
    }

    /// Whether the thread stands where the way was after so many steps, with the same locals.
    fn is_at(&self, m: &Machine<'_, '_>, t: ThreadId, at: usize) -> bool {
        let cells = &m.run.locals[t.index()];
        self.locations[at] == m.state.locations[t.index()]
            && self.locals[at * cells.len()..].iter().zip(cells).all(|(v, c)| *v == m.state.values[*c])
    }

    /// The same; begins there if it is elsewhere and can. Says also whether what was noted later is another way.
    pub(super) fn find(&mut self, m: &Machine<'_, '_>, t: ThreadId) -> Option<(usize, bool)> {
        if let Some(at) = self.position(m, t) {
            return Some((at, false));
        }
        let at = m.events[t.index()] as usize;
        if at >= LONGEST || Course::is_looking(m, t) {
            return None;
        }
        self.begin(m, t, at);
        Some((at, at < self.done.len()))
    }

    /// The thread has gone another way up to here, and not come back to this one.
    pub(super) fn part(&mut self, at: usize) {
        if let Some(d) = self.done.get_mut(at) {
            d.known = false;
        }
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
    /// The thread knows which edge it takes.
    sure: bool,
    steps: usize,
}

impl Before {
    /// Of the next step of a thread, if it is one to be noted.
    pub(super) fn of(m: &Machine<'_, '_>, t: ThreadId) -> Option<Before> {
        let Pending { op, site, .. } = m.pending[t.index()];
        let cell = m.run.only_cell(&op)?;
        let sure = m.candidates[t.index()].len() == 1;
        Some(Before { op, site, cell, word: m.state.values[cell], sure, steps: m.trace.len() })
    }
}

impl Course {
    /// Notes a step that was taken after `at` steps of the way, in place of what was there. Says whether the rest of the way, if there is
    /// one, goes on from where the thread is now; or `None` if it did not note it.
    pub(super) fn note(
        &mut self,
        m: &Machine<'_, '_>,
        t: ThreadId,
        before: &Before,
        at: usize,
    ) -> Option<bool> {
        debug_assert!(at <= self.done.len());
        let Pending { op: next, site, .. } = m.pending[t.index()];
        let taken = &m.trace[before.steps..];
        let edges = &m.run.edges[t.index()];
        let edge = |s: &Step| &edges[s.transition.index()];
        let plain = taken.iter().all(|s| s.thread == t && edge(s).plain);
        if at == LONGEST || !plain || m.run.only_cell(&next).is_none() || m.stuck[t.index()] {
            return None;
        }
        if self.steps.len() >= MOST_STEPS {
            *self = Course::default();
            return None;
        }
        let (mut op, after) = (before.op, m.state.values[before.cell]);
        if matches!(op.kind, OpKind::Rmw | OpKind::Store) {
            op.a = after;
        }
        let done = semantics::apply(&op, before.word, t, 0);
        let (steps, candidates) = (self.steps.len() as u32, self.candidates.len() as u32);
        self.steps.extend_from_slice(taken);
        self.candidates.extend_from_slice(&m.candidates[t.index()]);
        let done = Done {
            known: true,
            op,
            site: before.site,
            access: done.access,
            value: done.value,
            ok: done.ok,
            cell: before.cell as u32,
            before: before.word,
            after,
            next: (next, site),
            blind: taken.first().filter(|_| before.sure).and_then(|s| edge(s).blind),
            steps: (steps, self.steps.len() as u32),
            candidates: (candidates, self.candidates.len() as u32),
        };
        if at == self.done.len() {
            self.done.push(done);
            self.stand(m, t);
            return Some(true);
        }
        // Where the step that was there led.
        let joins = self.joins(m, t, at + 1);
        self.done[at] = done;
        if !joins {
            self.stand_at(m, t, at + 1);
        }
        Some(joins || at + 1 == self.done.len())
    }
}

/// How a thread left the way that was noted of it.
pub(super) enum Left {
    /// The search does not let it go on by itself.
    Stopped,
    /// It is to go on, and is at the end of the way, or where the next step meets another word.
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
            let at = from + gone;
            let Some(d) = self.done.get_mut(at).filter(|d| d.known) else { break Left::GoesOn };
            if gone == pause {
                break Left::Paused;
            }
            let word = m.state.values[d.cell as usize];
            if word != d.before {
                let Some(writes) = d.blind else { break Left::GoesOn };
                let cells = &m.run.locals[t.index()];
                for (c, v) in cells.iter().zip(&self.locals[at * cells.len()..]) {
                    m.state.values[*c] = *v;
                }
                d.before = word;
                d.after = m.run.codes.eval(writes, &m.state.values, &mut m.scratch.stack);
                d.op.a = d.after;
                let done = semantics::apply(&d.op, word, t, 0);
                (d.access, d.value, d.ok) = (done.access, done.value, done.ok);
            }
            m.state.values[d.cell as usize] = d.after;
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
        for d in &self.done[from..to] {
            m.trace.extend_from_slice(&self.steps[d.steps.0 as usize..d.steps.1 as usize]);
        }
        let candidates = self.done[to - 1].candidates;
        m.candidates[k].clear();
        m.candidates[k].extend_from_slice(&self.candidates[candidates.0 as usize..candidates.1 as usize]);
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
