//! One limit after the other: `preemptions=0..` searches within none, then one, and so on, until nothing is refused (Coons 2013,
//! section 2.1; iterative context bounding, Musuvathi and Qadeer, PLDI 2007).
//!
//! A search of every interleaving goes on at `k + 1` with the steps that were refused at `k`: bounds are monotonic, so what lies
//! behind such a step costs more than `k` and was not run before, and what lies before it need not be run to its end again. When
//! there are too many of them to keep, the next round begins anew. So it is with `optimal` and preemptions: what a class costs
//! is the same for all its executions, so a branch that was cut is one to take within the next limit, and nothing else changes
//! ([`crate::reductions::optimal`]). It runs what needs few preemptions first, and says of a limit that it is complete when
//! it is some way past it; what it ran by then is not run again, and counted when its limit comes.
//!
//! With the other reductions a round begins anew always: what `bpor` explores from a state depends on what was refused below it,
//! and so on the limit; which of the branches of round `k` are still the ones to take at `k + 1` is known only after
//! running them.
//!
//! An interrupted search promises what the last complete round does.

use super::{Limits, first_of};
use crate::bounds::Mistake;
use crate::budget::{Meter, Spent};
use crate::explorer::{Decision, Divergence, End, Executed, Explorer, Options, View};
use crate::ids::ThreadId;
use crate::outcome::Stats;
use crate::plan::{BadPlan, BoundKind, Limit, Plan};
use crate::reductions::bounded::{Frontier, WithinBounds};
use crate::reductions::bpor::Bpor;
use crate::reductions::optimal::Optimal;
use crate::schedule::Schedule;
use crate::search::{Progress, Promise, Search};
use serde::Serialize;

/// What was done within one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Round {
    /// The limit.
    pub limit: u32,
    /// Complete executions within the limit: those of this round, and those of earlier ones that were over the limit then.
    pub executions: u64,
    /// All that are known to be within the limit: those, and where the round went on with what the one before had left, those of
    /// that one.
    pub covered: u64,
    /// Those of them that cost more than the round before allowed.
    pub new: u64,
    /// Executions that were cut because every way on is over the bound, or ended over it.
    pub over_bound: u64,
    /// Whether the round was run to its end.
    pub complete: bool,
}

/// How many choices the steps kept for the next round may hold in all: 128 MB.
const ROOM: usize = 8 << 20;

/// The search of one round.
enum Inner {
    Everything(Search<WithinBounds>),
    Reduced(Search<Bpor>),
    /// Each class once, within a limit on preemptions.
    Classes(Box<Search<Optimal>>),
    /// Another one that takes a limit on preemptions.
    Other(Box<dyn Progress>),
}

impl Inner {
    fn progress(&self) -> &dyn Progress {
        match self {
            Inner::Everything(s) => s,
            Inner::Reduced(s) => s,
            Inner::Classes(s) => &**s,
            Inner::Other(s) => &**s,
        }
    }

    fn progress_mut(&mut self) -> &mut dyn Progress {
        match self {
            Inner::Everything(s) => s,
            Inner::Reduced(s) => s,
            Inner::Classes(s) => &mut **s,
            Inner::Other(s) => &mut **s,
        }
    }

    /// What the round promises, now that it is complete, and whether a greater limit would let more through.
    fn outcome(&self) -> (Promise, bool) {
        match self {
            Inner::Everything(s) => {
                let r = s.reduction();
                let (left, elsewhere) = r.frontier.as_ref().map_or((false, false), Frontier::left);
                let promise =
                    if left || elsewhere { Promise::Within(r.bounds.say()) } else { Promise::Everything };
                (promise, left)
            }
            Inner::Reduced(s) => (s.promise(), s.reduction().refused_first),
            Inner::Classes(s) => (s.promise(), s.reduction().waiting().1 > 0),
            Inner::Other(s) => (s.promise(), matches!(s.promise(), Promise::Within(_))),
        }
    }
}

/// Searches within one limit after the other.
pub(crate) struct Iterative {
    plan: Plan,
    /// The bound that grows comes first.
    limits: Limits,
    first: u32,
    last: Option<u32>,
    /// How many choices the steps kept for the next round may hold.
    room: usize,
    inner: Inner,
    meter: Meter,
    /// The numbers of searches that are over.
    past: Stats,
    /// The numbers when this round began.
    begin: Stats,
    rounds: Vec<Round>,
    /// What the rounds before covered that this one goes on from.
    base: u64,
    /// Of the last complete round.
    promise: Option<Promise>,
    finished: bool,
}

/// The limits of a plan, the one that grows first.
fn limits(plan: &Plan) -> Result<(Limits, Option<Option<u32>>), BadPlan> {
    let mut bounds = plan.bounds.clone();
    for (i, b) in bounds.iter().enumerate() {
        if bounds[..i].iter().any(|other| other.kind == b.kind) {
            return Err(BadPlan(format!("there are two bounds on {}: leave `{b}` out", b.kind.name())));
        }
    }
    bounds.sort_by_key(|b| !b.is_iterative());
    match &bounds[..] {
        [a, b, ..] if b.is_iterative() => {
            Err(BadPlan(format!("only one bound can be a range: give `{a}` or `{b}` a single limit")))
        }
        [a, ..] if a.is_iterative() => Ok((first_of(&bounds), Some(a.last))),
        _ => Ok((first_of(&bounds), None)),
    }
}

/// A search by `none`, `bpor` or `bpor-base` within the bounds of the plan.
pub(crate) fn search(name: &str, plan: &Plan, meter: Meter) -> Result<Box<dyn Progress>, BadPlan> {
    let (limits, range) = limits(plan)?;
    let mut plan = plan.clone();
    if name == "bpor-base" {
        plan.optimisations = super::Optimisations::NONE;
    }
    if let Some(last) = range {
        return Ok(Box::new(Iterative::new(name, plan, limits, last, ROOM, meter)));
    }
    let on = plan.optimisations;
    Ok(match name {
        "none" => Box::new(Search::new(move || WithinBounds::new(&limits, None), meter)),
        _ => Box::new(Search::new(move || Bpor::new(&limits, on, None), meter)),
    })
}

/// A search by an algorithm that takes a limit on preemptions alone, if it is one.
fn other(plan: &Plan, limits: &Limits) -> Option<Box<dyn Progress>> {
    let [(BoundKind::Preemptions, limit)] = limits[..] else { return None };
    if matches!(plan.algorithm().name, "none" | "bpor" | "bpor-base") {
        return None;
    }
    let plan = Plan { bounds: vec![Limit::at(BoundKind::Preemptions, limit)], ..plan.clone() };
    plan.algorithm().build(&plan, Meter::unlimited()).ok()
}

/// A search by another algorithm within one limit on preemptions after the other.
pub(crate) fn preemptions(name: &str, plan: &Plan, meter: Meter) -> Result<Box<dyn Progress>, BadPlan> {
    let (limits, range) = limits(plan)?;
    Ok(Box::new(Iterative::new(name, plan.clone(), limits, range.flatten(), ROOM, meter)))
}

/// A search with a mistake in it.
#[doc(hidden)]
pub fn mistaken(plan: &Plan, mistake: Mistake) -> Result<Box<dyn Progress>, BadPlan> {
    let (limits, range) = limits(plan)?;
    let (name, on) = (plan.algorithm().name, plan.optimisations);
    if let Some(last) = range {
        let room = if mistake == Mistake::LittleRoom { 40 } else { ROOM };
        return Ok(Box::new(Iterative::new(name, plan.clone(), limits, last, room, Meter::unlimited())));
    }
    Ok(match name {
        "none" => {
            Box::new(Search::new(move || WithinBounds::new(&limits, Some(mistake)), Meter::unlimited()))
        }
        _ => Box::new(Search::new(move || Bpor::new(&limits, on, Some(mistake)), Meter::unlimited())),
    })
}

impl Iterative {
    fn new(
        name: &str,
        plan: Plan,
        limits: Limits,
        last: Option<u32>,
        room: usize,
        meter: Meter,
    ) -> Iterative {
        let plan = Plan { algorithm: crate::algorithms::algorithm(name).ok(), ..plan };
        let mut out = Iterative {
            inner: Self::inner(&plan, &limits, room),
            room,
            first: limits[0].1,
            plan,
            limits,
            last,
            meter,
            past: Stats::default(),
            begin: Stats::default(),
            rounds: Vec::new(),
            base: 0,
            promise: None,
            finished: false,
        };
        out.open_round();
        out
    }

    /// A search of the whole program within these limits.
    fn inner(plan: &Plan, limits: &Limits, room: usize) -> Inner {
        let (limits, on) = (limits.clone(), plan.optimisations);
        if plan.algorithm().name == "optimal" {
            return Self::classes(limits[0].1, room);
        }
        if let Some(other) = other(plan, &limits) {
            return Inner::Other(other);
        }
        if plan.algorithm().name == "none" {
            let make = move || WithinBounds {
                frontier: Some(Frontier::new(limits[0], room)),
                ..WithinBounds::new(&limits, None)
            };
            Inner::Everything(Search::new(make, Meter::unlimited()))
        } else {
            Inner::Reduced(Search::new(move || Bpor::new(&limits, on, None), Meter::unlimited()))
        }
    }

    /// A search for classes, beginning with this level.
    fn classes(level: u32, room: usize) -> Inner {
        // A step of a class is some twenty choices large.
        let make = move || Optimal::growing(level, room / 16);
        Inner::Classes(Box::new(Search::new(make, Meter::unlimited())))
    }

    fn open_round(&mut self) {
        self.begin = self.total();
        let limit = self.limits[0].1;
        self.rounds.push(Round { limit, executions: 0, covered: 0, new: 0, over_bound: 0, complete: false });
    }

    /// The numbers of all rounds: executions and steps are those that were run, however often; the longest is the longest.
    fn total(&self) -> Stats {
        let (a, b) = (&self.past, self.inner.progress().stats());
        Stats {
            executions: a.executions + b.executions,
            blocked: a.blocked + b.blocked,
            assumed: a.assumed + b.assumed,
            pruned: a.pruned + b.pruned,
            over_bound: a.over_bound + b.over_bound,
            steps: a.steps + b.steps,
            longest: a.longest.max(b.longest),
            races: a.races + b.races,
            open: b.open,
            threads: a.threads.max(b.threads),
            race_checks: a.race_checks + b.race_checks,
            dependency_checks: a.dependency_checks + b.dependency_checks,
            unsatisfiable: a.unsatisfiable + b.unsatisfiable,
        }
    }

    /// Writes down how far the round at hand is.
    fn note(&mut self) {
        let now = self.total();
        let dearest = match &self.inner {
            // What a search ran after its first round could not have been run in that.
            Inner::Everything(s) => s.reduction().dearest,
            Inner::Reduced(s) => s.reduction().dearest,
            Inner::Classes(_) => return self.note_classes(),
            // Each class once, and all of those that the round before had.
            Inner::Other(s) => match self.rounds[..] {
                [.., before, _] => s.stats().executions.saturating_sub(before.executions),
                _ => 0,
            },
        };
        let first = self.rounds.len() == 1;
        let round = self.rounds.last_mut().expect("there is a round");
        round.executions = now.executions - self.begin.executions;
        round.covered = self.base + round.executions;
        round.over_bound = now.over_bound - self.begin.over_bound;
        round.new = if first { round.executions } else { dearest };
    }

    /// The same for classes. What was run past the limit is over it.
    fn note_classes(&mut self) {
        let Inner::Classes(s) = &self.inner else { return };
        let before = self.rounds.iter().rev().nth(1).map_or(0, |r| r.covered);
        let stats = s.stats();
        if let Some(round) = self.rounds.last_mut() {
            round.covered = s.reduction().within_limit(round.limit);
            round.executions = round.covered.saturating_sub(before);
            round.new = round.executions;
            // A branch that was cut and taken up again since is not over any more.
            let (now, later) = s.reduction().waiting();
            round.over_bound =
                stats.executions + stats.assumed + stats.pruned - round.covered + (now + later) as u64;
        }
    }

    /// A level of the search for classes is done: whether there is more to do. If so, sets it up.
    fn go_on_with_classes(&mut self) -> bool {
        loop {
            let Inner::Classes(s) = &mut self.inner else { return false };
            if s.reduction_mut().take_up() {
                s.go_on(|_| ());
                return true;
            }
            let complete = s.reduction().complete_within();
            let (all, most) = (complete == Some(u32::MAX), s.reduction().most_needed());
            while complete.is_some_and(|k| self.limits[0].1 <= k) {
                let limit = self.limits[0].1;
                self.note_classes();
                self.rounds.last_mut().expect("there is a round").complete = true;
                let within = BoundKind::Preemptions.say(limit);
                self.promise = Some(if all { Promise::Everything } else { Promise::Within(within) });
                if self.last == Some(limit) || all && limit >= most || limit == u32::MAX {
                    self.finished = true;
                    return false;
                }
                self.limits[0].1 += 1;
                self.open_round();
            }
            let Inner::Classes(s) = &mut self.inner else { return false };
            if s.reduction().must_begin_anew() {
                let level = s.reduction().level() + 1;
                self.past = self.total();
                self.inner = Self::classes(level, self.room);
                return true;
            }
            s.reduction_mut().raise();
        }
    }

    /// The search at hand has nothing more to run: whether there is more to do. If so, sets it up.
    fn go_on(&mut self) -> bool {
        if matches!(self.inner, Inner::Classes(_)) {
            return self.go_on_with_classes();
        }
        loop {
            let limit = self.limits[0].1;
            if let Inner::Everything(s) = &mut self.inner
                && let Some(prefix) = s.reduction_mut().frontier.as_mut().and_then(Frontier::next)
            {
                s.go_on(|r| r.prefix = prefix);
                return true;
            }
            self.note();
            self.rounds.last_mut().expect("there is a round").complete = true;
            let (promise, can_grow) = self.inner.outcome();
            self.promise = Some(promise);
            if !can_grow || self.last == Some(limit) || limit == u32::MAX {
                self.finished = true;
                return false;
            }
            self.limits[0].1 += 1;
            let next = self.limits[0].1;
            match &mut self.inner {
                Inner::Everything(s) if s.reduction().frontier.as_ref().is_some_and(|f| !f.full) => {
                    s.reduction_mut().raise(next);
                    self.base = self.rounds.last().map_or(0, |r| r.covered);
                    self.open_round();
                }
                _ => {
                    self.past = self.total();
                    self.base = 0;
                    self.inner = Self::inner(&self.plan, &self.limits, self.room);
                    self.open_round();
                    return true;
                }
            }
        }
    }
}

impl Explorer for Iterative {
    fn begin(&mut self) {
        self.inner.progress_mut().begin();
    }

    #[inline]
    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        match &mut self.inner {
            Inner::Everything(s) => s.next_thread(view),
            Inner::Reduced(s) => s.next_thread(view),
            Inner::Classes(s) => s.next_thread(view),
            Inner::Other(s) => s.next_thread(view),
        }
    }

    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        self.inner.progress_mut().ordered(before, after);
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        self.inner.progress_mut().next_option(options)
    }

    #[inline]
    fn executed(&mut self, event: Executed<'_>) {
        match &mut self.inner {
            Inner::Everything(s) => s.executed(event),
            Inner::Reduced(s) => s.executed(event),
            Inner::Classes(s) => s.executed(event),
            Inner::Other(s) => s.executed(event),
        }
    }

    fn differs_in_outcome(&self) -> bool {
        self.inner.progress().differs_in_outcome()
    }

    fn end(&mut self, end: End, view: &View<'_>) -> bool {
        let more = self.inner.progress_mut().end(end, view);
        if self.inner.progress().divergence().is_some() {
            return false;
        }
        // Whoever drives the search may stop here, at a failure: the round says how far it came.
        self.note();
        let more = more || self.go_on();
        more && self.meter.another()
    }

    fn divergence(&self) -> Option<&Divergence> {
        self.inner.progress().divergence()
    }
}

impl Progress for Iterative {
    fn stats(&self) -> Stats {
        let stats = self.total();
        if self.meter.spent().is_none() {
            return stats;
        }
        let waiting = match &self.inner {
            Inner::Everything(s) => s.reduction().frontier.as_ref().map_or(0, |f| f.len() as u64),
            Inner::Classes(s) => {
                let (now, later) = s.reduction().waiting();
                (now + later) as u64
            }
            Inner::Reduced(_) | Inner::Other(_) => 0,
        };
        Stats { open: self.inner.progress().stats().open + waiting, ..stats }
    }

    fn finished(&self) -> bool {
        self.finished
    }

    /// Also when it was interrupted: what the last complete round promises.
    fn promise(&self) -> Promise {
        self.promise.clone().unwrap_or_else(|| Promise::Nothing("no round was complete".into()))
    }

    fn restart(&mut self) {
        self.limits[0].1 = self.first;
        self.inner = Self::inner(&self.plan, &self.limits, self.room);
        (self.past, self.promise, self.finished) = (Stats::default(), None, false);
        self.rounds.clear();
        self.base = 0;
        self.open_round();
    }

    fn spent(&self) -> Option<Spent> {
        self.meter.spent()
    }

    /// Of the round at hand and those before: nothing is known of those to come.
    fn estimate(&self) -> Option<f64> {
        if matches!(self.inner, Inner::Classes(_)) && self.rounds.len() > 1 {
            return None;
        }
        let past = self.past.executions
            + self.past.blocked
            + self.past.assumed
            + self.past.pruned
            + self.past.over_bound;
        self.inner.progress().estimate().map(|e| e + past as f64)
    }

    fn schedule(&self) -> Schedule {
        self.inner.progress().schedule()
    }

    fn rounds(&self) -> &[Round] {
        &self.rounds
    }
}
