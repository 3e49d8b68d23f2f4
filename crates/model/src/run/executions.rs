//! The executions of automata under a search, one after the other.
//!
//! An execution mostly repeats the beginning of the one before. The states of automata are values, so that beginning is not run again:
//! every few steps what there is is kept, and an execution begins at the last of these that it has in common with the one before
//! ([`Explorer::script`]).

use super::course::{Before, Course, Left};
use super::{CannotRun, Machine, Runner};
use crate::program::ThreadId;
use crate::state::{State, Step, Wrong};
use explore::{Decision, End, Explorer, ObjectId, OpKind, Progress, Stats, ThreadSet, View};
use std::collections::BTreeSet;

/// How one execution ended.
#[derive(Clone, Debug)]
pub struct Execution<'s> {
    /// How.
    pub end: End,
    /// Its steps, the local ones included.
    pub run: &'s [Step],
    /// The state at the end.
    pub state: &'s State,
    /// What is wrong there; also `Deadlock` for threads that wait for ever for a value to change.
    pub wrong: Option<Wrong>,
    /// Whether the search asks for another one.
    pub again: bool,
    /// Whether a thread could have woken up for no reason once more than [`Runner::most_spurious`] allows.
    pub limited: bool,
}

/// What a search saw.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Its numbers.
    pub stats: Stats,
    /// Whether it saw everything that it promised.
    pub finished: bool,
    /// What is wrong, each with the first run that showed it.
    pub failures: Vec<(Wrong, Vec<Step>)>,
    /// The different states in which executions ended.
    pub finals: BTreeSet<State>,
    /// How many executions were cut for their length.
    pub cut: u64,
}

/// After so many steps what there is is kept; in long executions after more.
const KEPT_EVERY: usize = 8;

/// How often in one execution.
const MOST_KEPT: usize = 128;

/// The way of a thread is noted once it has gone on by itself for so many steps.
const NOTED_AFTER: usize = 4;

/// What there is after some steps of the execution at hand.
struct Kept<'r, 'p> {
    steps: usize,
    current: Option<ThreadId>,
    machine: Machine<'r, 'p>,
    /// How many steps of automata, and how many orders, led there.
    run: usize,
    orders: usize,
}

/// Runs executions, all of them for one search.
pub struct Executions<'r, 'p> {
    machine: Machine<'r, 'p>,
    /// The orders that spawns and joins made, each with how many steps there were.
    orders: Vec<(usize, ThreadId, ThreadId)>,
    /// The first so many are of the last execution, each later than the one before. The first of all is the beginning.
    kept: Vec<Kept<'r, 'p>>,
    used: usize,
    every: usize,
    awaited: Vec<(ObjectId, u64)>,
    /// By thread.
    courses: Vec<Course>,
    /// One of them is of a thread that went on by itself; searches that never let one have none.
    noted: bool,
}

impl<'r, 'p> Executions<'r, 'p> {
    fn new(run: &'r Runner<'p>) -> Executions<'r, 'p> {
        Executions {
            machine: Machine::new(run),
            orders: Vec::new(),
            kept: Vec::new(),
            used: 0,
            every: KEPT_EVERY,
            awaited: Vec::new(),
            courses: run.program().threads.iter().map(|_| Course::default()).collect(),
            noted: false,
        }
    }

    /// Runs the next one. Every call is to be made with the same search.
    pub fn next(&mut self, explorer: &mut (impl Explorer + ?Sized)) -> Result<Execution<'_>, CannotRun> {
        let run = self.machine.run;
        explorer.begin();
        let same = explorer.script().len();
        // A search that never says what comes again has no use for what is kept.
        let keep = same > 0 || self.used == 0;
        let (mut steps, mut current) = self.begin(explorer, same)?;
        let mut moved = true;
        let (end, wrong, again) = loop {
            if keep && steps >= self.next_keep() {
                self.keep(steps, current);
            }
            let m = &mut self.machine;
            let live = m.alive;
            let (mut enabled, mut may_block) = (ThreadSet::EMPTY, false);
            for t in live.iter() {
                let blocks = m.pending[t.index()].op.may_block();
                may_block |= blocks;
                if !blocks || m.does_not_block(t) {
                    enabled.insert(t);
                }
            }
            // Few wait for a word to change, and most of the time nobody does.
            let waits = may_block && live.iter().any(|t| m.pending[t.index()].op.kind == OpKind::Await);
            if waits || moved || !self.awaited.is_empty() {
                moved = false;
                self.awaited.clear();
                for (p, w) in m.pending.iter_mut().zip(&m.awaiting) {
                    p.awaited = (self.awaited.len() as u32, w.len() as u32);
                    self.awaited.extend_from_slice(w);
                }
            }
            let view = View {
                pending: &m.pending,
                live,
                enabled,
                current,
                yielded: ThreadSet::EMPTY,
                objects: u32::MAX,
                names: &[],
                awaited: &self.awaited,
            };
            let (end, over) = if enabled.is_empty() || steps == run.longest {
                let end = match (enabled.is_empty(), m.assumed) {
                    (false, _) => End::Cut,
                    (true, true) => End::Assumed,
                    (true, false) => End::Complete,
                };
                (end, true)
            } else {
                match explorer.next_thread(&view) {
                    Decision::Run(t) => {
                        current = Some(t);
                        steps = self.run_on(t, steps, (keep, !may_block), explorer)?;
                        continue;
                    }
                    Decision::Stop => {
                        if let Some(d) = explorer.divergence() {
                            let says = format!("a step did not come again as it was: {d:?}");
                            return Err(CannotRun::NoOperation(says));
                        }
                        (End::Stopped, false)
                    }
                }
            };
            let again = explorer.end(end, &view);
            let stuck = over && !live.is_empty() && !run.interpreter.is_over(&m.state);
            let wrong = run.interpreter.error(&m.state).filter(|_| over);
            break (end, wrong.or(stuck.then_some(Wrong::Deadlock)), again);
        };
        let m = &self.machine;
        debug_assert!(
            m.trace.len() > 1000
                || run.interpreter.replay(&m.trace).is_ok_and(|all| all.last() == Some(&m.state)),
            "what was kept is where the steps lead that are not run again"
        );
        Ok(Execution { end, run: &m.trace, state: &m.state, wrong, again, limited: m.limited })
    }

    /// Thread `t` takes its next step, after so many steps, and goes on for as long as the search lets it do so by itself; says how many
    /// steps there are then. That is asked only where nobody can block (`free`): who cannot is enabled whatever happens.
    fn run_on(
        &mut self,
        t: ThreadId,
        mut steps: usize,
        (keep, free): (bool, bool),
        explorer: &mut (impl Explorer + ?Sized),
    ) -> Result<usize, CannotRun> {
        let (longest, live) = (self.machine.run.longest, self.machine.alive);
        // How many steps of the way that is noted of it lie behind it, and whether it has parted from what comes after on it.
        let (mut along, mut parted) = (None, false);
        if self.noted && free {
            along = self.courses[t.index()].position(&self.machine, t);
        }
        for taken in 0.. {
            if along.is_none()
                && taken >= NOTED_AFTER
                && let Some((at, elsewhere)) = self.courses[t.index()].find(&self.machine, t)
            {
                (along, parted) = (Some(at), elsewhere);
                self.noted = true;
            }
            if let Some(at) = along.filter(|_| !parted) {
                let pause = if keep { self.next_keep().saturating_sub(steps) } else { usize::MAX };
                let (m, course) = (&mut self.machine, &mut self.courses[t.index()]);
                let (gone, left) = course.follow(m, t, at, (pause, longest - steps), explorer);
                steps += gone;
                along = Some(at + gone);
                if matches!(left, Left::Stopped) {
                    break;
                }
                if keep && steps >= self.next_keep() {
                    self.keep(steps, Some(t));
                }
                if matches!(left, Left::Paused) {
                    continue;
                }
            }
            let before = along.and_then(|_| Before::of(&self.machine, t));
            steps += 1;
            self.machine.step(t, explorer)?;
            self.tell(steps, explorer);
            let m = &self.machine;
            let next = &m.pending[t.index()];
            // When threads begin or end it is asked again who can run.
            let same = free && m.alive == live && !next.op.may_block();
            if !same || steps == longest || !explorer.goes_on(next) {
                break;
            }
            if let Some(at) = along {
                let course = &mut self.courses[t.index()];
                let joins = before.and_then(|before| course.note(m, t, &before, at));
                if joins.is_none() && parted {
                    course.part(at);
                }
                along = joins.map(|_| at + 1);
                parted = joins == Some(false);
            }
            if keep && steps >= self.next_keep() {
                self.keep(steps, Some(t));
            }
        }
        if let Some(at) = along.filter(|_| parted) {
            self.courses[t.index()].part(at);
        }
        Ok(steps)
    }

    /// After how many steps what there is is kept next.
    fn next_keep(&self) -> usize {
        self.kept[self.used - 1].steps + self.every
    }

    /// Goes to the last of what is kept that is not after step `same`; says how many steps there were, and whose was the last.
    fn begin(
        &mut self,
        explorer: &mut (impl Explorer + ?Sized),
        same: usize,
    ) -> Result<(usize, Option<ThreadId>), CannotRun> {
        if self.used == 0 {
            return self.first(explorer);
        }
        while self.kept[self.used - 1].steps > same {
            self.used -= 1;
        }
        let from = &self.kept[self.used - 1];
        self.machine.copy(&from.machine);
        self.machine.trace.truncate(from.run);
        self.orders.truncate(from.orders);
        let mut told = 0;
        for (steps, before, after) in &self.orders {
            explorer.skip(steps - told);
            told = *steps;
            explorer.ordered(*before, *after);
        }
        explorer.skip(from.steps - told);
        Ok((from.steps, from.current))
    }

    /// The beginning of all executions.
    fn first(
        &mut self,
        explorer: &mut (impl Explorer + ?Sized),
    ) -> Result<(usize, Option<ThreadId>), CannotRun> {
        let m = &mut self.machine;
        let p = m.program();
        for t in p.thread_ids() {
            if m.run.interpreter.is_live(&m.state, t) {
                m.born(t);
            }
        }
        for t in p.thread_ids() {
            m.announce(t)?;
        }
        self.tell(0, explorer);
        // Where one thread alone is there from the start, it has run so far.
        let mut first = p.thread_ids().filter(|t| p.thread(*t).life.is_none());
        let current = first.next().filter(|_| first.next().is_none());
        self.keep(0, current);
        Ok((0, current))
    }

    fn tell(&mut self, steps: usize, explorer: &mut (impl Explorer + ?Sized)) {
        for (before, after) in self.machine.orders.drain(..) {
            explorer.ordered(before, after);
            self.orders.push((steps, before, after));
        }
    }

    /// Keeps what there is.
    fn keep(&mut self, steps: usize, current: Option<ThreadId>) {
        if self.used == MOST_KEPT {
            for k in 1..MOST_KEPT / 2 {
                self.kept.swap(k, 2 * k);
            }
            self.used = MOST_KEPT / 2;
            self.every *= 2;
        }
        if self.used == self.kept.len() {
            let machine = Machine::new(self.machine.run);
            self.kept.push(Kept { steps, current, machine, run: 0, orders: 0 });
        }
        let to = &mut self.kept[self.used];
        to.machine.copy(&self.machine);
        (to.steps, to.current, to.run, to.orders) =
            (steps, current, self.machine.trace.len(), self.orders.len());
        self.used += 1;
    }
}

impl<'p> Runner<'p> {
    /// Executions of the program.
    pub fn executions(&self) -> Executions<'_, 'p> {
        Executions::new(self)
    }

    /// Runs a search to its end, or for at most so many executions.
    pub fn search(&self, search: &mut dyn Progress, most: u64) -> Result<Explored, CannotRun> {
        let mut seen = Explored::default();
        let mut executions = self.executions();
        loop {
            let before = search.stats().executions;
            let done = executions.next(search)?;
            // An execution may be found redundant at its very last step.
            if done.end == End::Complete && search.stats().executions > before {
                if self.keep_finals {
                    seen.finals.insert(done.state.clone());
                }
                if let Some(wrong) = done.wrong
                    && !seen.failures.iter().any(|f| f.0 == wrong)
                {
                    seen.failures.push((wrong, done.run.to_vec()));
                }
            } else if let (End::Assumed, Some(wrong @ Wrong::Error { .. })) = (done.end, &done.wrong) {
                // What went wrong would have done so without the last step of whoever assumed too much.
                if !seen.failures.iter().any(|f| f.0 == *wrong) {
                    seen.failures.push((wrong.clone(), done.run.to_vec()));
                }
            } else if done.end == End::Cut {
                seen.cut += 1;
            }
            let stats = search.stats();
            if !done.again || stats.executions + stats.blocked >= most {
                seen.stats = stats;
                seen.finished = search.finished() && seen.cut == 0;
                return Ok(seen);
            }
        }
    }
}
