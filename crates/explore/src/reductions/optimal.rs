//! Optimal-DPOR (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014 / JACM 2017): one execution for each happens-before class, and
//! none that is cut.
//!
//! Instead of a set of threads, each node keeps a *wakeup tree*: sequences to explore from there, in order. At the end of an
//! execution, each race of an event `e` with a later one `f` is turned round: `v` is what does not happen after `e`, then `f`.
//! If no sleeping step before `e` is a weak initial of `v`, it goes into the tree there. Because `v` wakes everything that
//! sleeps, following it never ends with all threads asleep. That is asserted where objects have numbers that all executions
//! share; where they do not, and now and then where steps have several outcomes, a sequence may be tried that was not needed, and
//! the execution is counted as blocked.
//!
//! A race of a prefix that stays is turned round again in each execution: with what comes after it, the sequence is another one.
//! For a source set the first branch would be enough, but a sleeping step that is not in a sequence covers it only because
//! whatever comes later and conflicts with that step is found elsewhere and leads back here by a sequence of its own. Only
//! where a step sleeps that every such sequence can begin with there is nothing more to be done.
//!
//! Within a bound on preemptions ([`PreemptionBound`]) the same search cuts executions whose class is too far over it. What a
//! class costs is the same for all its executions, so sleep sets and trees stand, and there are never more executions than
//! without the bound. Within one bound after the other it keeps what it cuts, and goes on from there ([`Postponed`]).

use crate::explorer::{Divergence, End, View};
use crate::ids::{ObjectId, ThreadId};
use crate::least_preemptions::PreemptionBound;
use crate::op::OpKind;
use crate::reductions::postponed::Postponed;
use crate::reductions::wakeup::{Covered, Forest, Later, Sequence};
use crate::search::{Core, Node, Promise, Reduction};
use std::collections::BTreeMap;

/// Wakeup trees.
pub(crate) struct Optimal {
    forest: Forest,
    sequence: Sequence,
    /// What is to be explored below the branch taken last.
    below: u32,
    pending: Vec<usize>,
    awaited: Vec<(ObjectId, u64)>,
    bound: Option<PreemptionBound>,
    /// What is kept for the next bound, if there is to be one.
    kept: Option<Kept>,
}

/// What a search within a bound keeps for the next.
///
/// With what is cut kept, nothing is lost by cutting an execution as soon as it needs more preemptions than the *level* at hand.
/// So the classes that need few come first; and what is within a limit is complete when the level is above it by the slack
/// of [`PreemptionBound`].
struct Kept {
    postponed: Postponed,
    /// Executions by how many preemptions they need.
    ended: BTreeMap<u32, u64>,
    /// The most threads that ran in one execution.
    threads: usize,
}

impl Default for Optimal {
    fn default() -> Self {
        let (forest, sequence) = Default::default();
        let (pending, awaited) = Default::default();
        Optimal { forest, sequence, below: u32::MAX, pending, awaited, bound: None, kept: None }
    }
}

impl Optimal {
    /// The same within a bound on the least number of preemptions of a class, if there is one.
    pub(crate) fn within(preemptions: Option<u32>) -> Optimal {
        Optimal { bound: preemptions.map(PreemptionBound::new), ..Optimal::default() }
    }

    /// Begins with this level, and keeps what it puts off for the next one, if there is room for so many steps.
    pub(crate) fn growing(level: u32, room: usize) -> Optimal {
        let kept = Kept { postponed: Postponed::with_room(room), ended: BTreeMap::new(), threads: 0 };
        let forest = Forest::with_some_put_off();
        let bound = Some(PreemptionBound::at_once(level));
        Optimal { kept: Some(kept), bound, forest, ..Optimal::default() }
    }

    /// How many branches wait: for this level, and for the next.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        self.kept.as_ref().map_or((0, 0), |k| k.postponed.waiting())
    }

    /// There was no room for all that was put off.
    pub(crate) fn must_begin_anew(&self) -> bool {
        self.kept.as_ref().is_none_or(|k| k.postponed.is_full())
    }

    /// The limit that is complete now that the level is; `None` while there is none. Nothing left is complete for any.
    pub(crate) fn complete_within(&self) -> Option<u32> {
        let (Some(kept), Some(bound)) = (&self.kept, &self.bound) else { return None };
        if self.waiting().1 == 0 && !self.must_begin_anew() {
            return Some(u32::MAX);
        }
        bound.limit().checked_sub(PreemptionBound::slack(kept.threads))
    }

    /// How many executions need at most so many preemptions.
    pub(crate) fn within_limit(&self, limit: u32) -> u64 {
        self.kept.as_ref().map_or(0, |k| k.ended.range(..=limit).map(|e| e.1).sum())
    }

    /// The most preemptions that an execution needs.
    pub(crate) fn most_needed(&self) -> u32 {
        self.kept.as_ref().and_then(|k| k.ended.last_key_value()).map_or(0, |e| *e.0)
    }

    /// The level.
    pub(crate) fn level(&self) -> u32 {
        self.bound.as_ref().map_or(0, PreemptionBound::limit)
    }

    /// Goes to the next level.
    pub(crate) fn raise(&mut self) {
        let level = self.level() + 1;
        self.bound.iter_mut().for_each(|b| b.raise(level));
        self.kept.iter_mut().for_each(|k| k.postponed.raise());
    }

    /// Makes ready to go on from a branch that was put off; says whether there is one.
    pub(crate) fn take_up(&mut self) -> bool {
        debug_assert_eq!(self.below, u32::MAX);
        self.kept.as_mut().is_some_and(|k| k.postponed.take_up())
    }

    /// Turns the race of event `e` with `op` of `thread` round, and adds the sequence where it is new. `at` is where the later
    /// step ran, if it did. Says whether it need not be done again for other executions in which the race stands.
    #[inline(never)]
    fn reverse(
        &mut self,
        core: &mut Core,
        e: usize,
        later: &Later<'_>,
        at: Option<usize>,
        view: &View<'_>,
    ) -> bool {
        let end = core.trace.len();
        let s = &mut self.sequence;
        if !s.reverse(&core.trace, e, later, end) {
            return false;
        }
        at.into_iter().for_each(|f| s.ran_at(f));
        // A weak compare-exchange that would succeed has two outcomes that conflict with different steps.
        let weak = s.split_spurious(false);
        let covered = s.covered_by_sleep(core);
        if covered == Covered::No {
            self.forest.insert(core, s, view);
        }
        if weak
            && s.reverse(&core.trace, e, later, end)
            && s.split_spurious(true)
            && s.conflicts_with(&core.trace, e)
            && s.covered_by_sleep(core) == Covered::No
        {
            self.forest.insert(core, s, view);
        }
        covered == Covered::ForGood && !weak && at.is_some_and(|f| !s.becomes_another(&core.trace, e, f))
    }
}

impl Optimal {
    /// Turns the `k`-th race of the trace round.
    #[inline(never)]
    fn reverse_taken(&mut self, core: &mut Core, k: usize, view: &View<'_>) {
        let race = core.trace.races()[k];
        let (e, f) = (race.first.index(), race.second.index());
        let event = core.trace.event(f);
        let (thread, seq, op) = (event.thread, event.seq, event.op);
        core.trace.awaited_of(f, &mut self.awaited);
        core.trace.past_of(f, &mut self.sequence.past);
        let awaited = std::mem::take(&mut self.awaited);
        let later = Later { thread, seq, op: &op, awaited: &awaited };
        if self.reverse(core, e, &later, Some(f), view) {
            core.trace.settle(k);
        }
        self.awaited = awaited;
    }

    /// Turns the races round of the step that a thread stands at and never took.
    #[inline(never)]
    fn reverse_untaken(&mut self, core: &mut Core, t: ThreadId, view: &View<'_>) {
        let mut pending = std::mem::take(&mut self.pending);
        let later = self.sequence.stand_at(&mut core.trace, t, view, &mut pending);
        for e in &pending {
            self.reverse(core, *e, &later, None, view);
        }
        self.pending = pending;
    }
}

impl Reduction for Optimal {
    fn sleeps(&self) -> bool {
        true
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        if let Some(kept) = &mut self.kept
            && let Some(step) = kept.postponed.enter(core, view)
        {
            let (t, below) = step.map_err(|d| core.strayed = Some(d)).ok()?;
            self.below = below;
            return Some(t);
        }
        let n = core.nodes.last_mut()?;
        n.tree = std::mem::replace(&mut self.below, u32::MAX);
        while let Some(taken) = self.forest.take_first(&mut n.tree) {
            // Whether a thread that waits for one of several words may go on is not always told exactly beforehand.
            let waits = view.pending[taken.thread.index()].awaited.1 > 1;
            // A wakeup sequence can be run, and wakes what it runs, where the same steps lead to the same state.
            let runs = view.enabled.contains(taken.thread) && !n.asleep.contains(taken.thread);
            if cfg!(debug_assertions) && !runs && !waits {
                let expected = view.pending.get(taken.thread.index()).map(|p| (p.op, p.site));
                let (step, thread) = (core.trace.len(), taken.thread);
                core.strayed = Some(Divergence { step, thread, expected, found: None, ended: false });
                return None;
            }
            if view.enabled.contains(taken.thread) {
                n.guided = true;
                n.fixed = taken.fixed;
                self.below = taken.below;
                return Some(taken.thread);
            }
            self.forest.discard(taken.below);
        }
        let t = Core::default_thread(view, view.enabled.minus(&n.asleep));
        let named = n.objects == u32::MAX;
        // Among several threads, outcomes of a weak compare-exchange may lead to a sequence that was not needed. So do, now and then,
        // barriers at which more threads arrive than they take: nothing is missed, and why is not known (3 of 20,396 executions of a
        // random program).
        let odd = |e: &crate::trace::Event| e.options > 1 || e.op.kind == OpKind::Arrive;
        debug_assert!(
            t.is_some() || !named || self.kept.is_some() || core.trace.events().iter().any(odd),
            "an optimal search is never blocked"
        );
        t
    }

    #[inline]
    fn ran(&mut self, core: &mut Core, f: usize) {
        if let Some(bound) = &mut self.bound {
            bound.ran(core, f);
        }
    }

    fn over_bound(&mut self, core: &Core, view: &View<'_>, end: End) -> bool {
        let Some(bound) = &mut self.bound else { return false };
        let Some(kept) = &mut self.kept else { return bound.exceeded(core, view, end) };
        kept.threads = kept.threads.max(core.trace.threads_that_ran());
        let cut = core.over_bound && end == End::Stopped;
        if cut {
            let below = std::mem::replace(&mut self.below, u32::MAX);
            kept.postponed.put_off(core, below, &mut self.forest);
        } else if end != End::Stopped {
            // Perhaps over the level, but with the step that took it there it was at its end.
            let needed = bound.needed(core, view, end);
            *kept.ended.entry(needed).or_default() += 1;
        }
        cut
    }

    #[inline]
    fn finished(&mut self, core: &mut Core, i: usize) -> bool {
        if let Some(kept) = &mut self.kept {
            kept.postponed.finished(core, i);
        }
        true
    }

    fn promise(&self, core: &Core) -> Promise {
        self.bound.as_ref().map_or(Promise::Everything, |b| b.promise(core))
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, how: End) {
        // An execution may end before its sequence does: cut, or by a failure.
        self.forest.discard(std::mem::replace(&mut self.below, u32::MAX));
        for k in 0..core.trace.races().len() {
            let race = core.trace.races()[k];
            let (e, f) = (race.first.index(), race.second.index());
            if race.settled {
                continue;
            }
            if core.trace.next_after(e, f) {
                if core.nodes[e].asleep.contains(core.trace.event(f).thread) {
                    core.trace.settle(k);
                    continue;
                }
                if self.forest.plant_alone(core, e, f, view) {
                    continue;
                }
            }
            self.reverse_taken(core, k, view);
        }
        for t in Core::stuck(view, how).iter() {
            self.reverse_untaken(core, t, view);
        }
    }

    fn next_branch(&mut self, core: &mut Core) -> Option<ThreadId> {
        let n = core.nodes.last_mut()?;
        while let Some(taken) = self.forest.take_first(&mut n.tree) {
            if n.enabled.contains(taken.thread) {
                n.fixed = taken.fixed;
                self.below = taken.below;
                return Some(taken.thread);
            }
            self.forest.discard(taken.below);
        }
        None
    }

    #[inline]
    fn has_open(&self, node: &Node) -> bool {
        node.tree != u32::MAX
    }

    fn open(&self, _core: &Core, node: &Node) -> u64 {
        self.forest.width(node.tree)
    }
}
