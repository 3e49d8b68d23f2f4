//! Bounds, one file each: functions from executions to numbers, and a limit for each.
//!
//! A bound is *monotonic* if a longer execution never costs less: only then does a search that gives up what is too expensive
//! see everything that is not. It is *stable* if equivalent executions cost the same, and *extensible* if a step that is
//! independent of others never makes them dearer (Coons 2013, definitions 2.6, 4.4, 4.5). A bound that is all three needs no
//! more than the points of unbounded partial-order reduction; the others need more, see [`crate::reductions::bpor`].
//!
//! A measure keeps what it needs for each node of the stack, so that a step is priced without looking back at the execution.
//! Local bounds look back once, when a step is announced or its object touched, and as far as the last write.

mod contexts;
mod delays;
mod delta;
mod depth;
mod fair;
pub(crate) mod iterative;
mod local_contexts;
mod local_depth;
mod options;
mod preemptions;
mod prices;
mod thread_contexts;

pub use iterative::{Round, mistaken};
pub use options::Optimisations;

use crate::explorer::View;
use crate::ids::{ThreadId, ThreadSet};
use crate::plan::{BoundKind, Limit};
use crate::search::{Core, Promise};

/// What is counted along an execution.
pub(crate) trait Measure {
    /// A node was added to the stack: the state after the events of the trace.
    fn enter(&mut self, core: &Core, view: &View<'_>);

    /// What the execution costs with one more step, of the enabled thread `t`. The node was entered.
    fn with(&mut self, core: &Core, view: &View<'_>, t: ThreadId) -> u32;

    /// What the execution costs at the node that was entered last.
    fn value(&self, core: &Core) -> u32;

    /// Which threads a search should take first: those with the lowest number. Usually the price.
    fn rank(&mut self, core: &Core, view: &View<'_>, t: ThreadId) -> u32 {
        self.with(core, view, t)
    }

    /// What the execution costs after event `f`, if that could not be known for certain before it ran.
    fn after(&mut self, _core: &Core, _f: usize) -> Option<u32> {
        None
    }
}

/// What a bound is like: which rules of partial-order reduction hold for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// A longer execution never costs less.
    pub monotonic: bool,
    /// Equivalent executions cost the same.
    pub stable: bool,
    /// An independent step never makes others dearer.
    pub extensible: bool,
}

impl BoundKind {
    /// What the bound is like.
    ///
    /// ```
    /// use explore::BoundKind;
    /// assert!(BoundKind::all().all(|k| k.properties().monotonic));
    /// assert!(!BoundKind::Preemptions.properties().stable);
    /// ```
    pub fn properties(self) -> Properties {
        use BoundKind::*;
        let (stable, extensible) = match self {
            Depth => (true, false),
            LocalDepth | LocalContexts => (true, true),
            Contexts | Preemptions | Delta | Delays | Fair | ThreadContexts => (false, false),
        };
        Properties { monotonic: true, stable, extensible }
    }
}

/// The mistakes that the definitions as printed invite; tests show what each would lose.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Unbounded partial-order reduction that merely leaves out what is over the bound.
    Naive,
    /// A thread that came to a state asleep answers a race there.
    SleeperAnswers,
    /// Whether a dependence is transitive is asked at the acquire to which the point of a release was moved.
    TransitiveAtAcquire,
    /// No point is left where that of a release was moved away.
    NoPointAtRelease,
    /// Steps sleep although what is below them was not all seen.
    AlwaysSleeps,
    /// Steps sleep unless they were explored for the bound alone (section 6.5); a later point that was not clears that.
    SleepsAsPrinted,
    /// The same, but nothing clears it.
    SleepsAsPrintedForGood,
    /// A block that sleeps is woken only by steps that ran.
    NextDoesNotWake,
    /// A fair search begins with any thread within the bound.
    AnyFairThread,
    /// The yields of the printed fair bound.
    FairAsPrinted,
    /// The readers of the printed local depth.
    LocalDepthAsPrinted,
    /// The reads of the printed local context.
    LocalContextsAsPrinted,
    /// The points of the base algorithms exactly as printed: right, but more than are needed.
    PointsAsPrinted,
    /// The start of a thread is taken to be enabled together with a join of it: right, but more than is needed.
    StartMeetsJoin,
    /// There is hardly room for steps that wait for the next round: right, but rounds begin anew.
    LittleRoom,
    /// A depth bound sleeps as if it were not stable: right, but less than it could.
    DepthAsUnstable,
}

/// A measure with its limit.
struct Bound {
    kind: BoundKind,
    limit: u32,
    measure: Box<dyn Measure>,
}

/// All bounds of a search: an execution must be within each.
pub(crate) struct Bounds {
    list: Vec<Bound>,
}

/// The enabled threads of a node that are over a bound.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Over {
    /// Over any.
    pub(crate) any: ThreadSet,
    /// Over a fair bound.
    pub(crate) fair: ThreadSet,
    /// Over the first bound.
    pub(crate) first: ThreadSet,
}

/// One limit for each kind, with no ranges.
pub(crate) type Limits = Vec<(BoundKind, u32)>;

/// The first of each range.
pub(crate) fn first_of(bounds: &[Limit]) -> Limits {
    bounds.iter().map(|l| (l.kind, l.first)).collect()
}

impl Bounds {
    pub(crate) fn new(limits: &Limits, mistake: Option<Mistake>) -> Bounds {
        let fair = limits.iter().any(|l| l.0 == BoundKind::Fair);
        let is = |m: Mistake| mistake == Some(m);
        let list = limits
            .iter()
            .map(|(kind, limit)| {
                let measure: Box<dyn Measure> = match kind {
                    BoundKind::Depth => Box::new(depth::Depth),
                    BoundKind::Contexts => Box::<contexts::Contexts>::default(),
                    BoundKind::Preemptions => Box::new(preemptions::Preemptions::new(fair)),
                    BoundKind::Delta => Box::<delta::Delta>::default(),
                    BoundKind::Delays => Box::<delays::Delays>::default(),
                    BoundKind::Fair => Box::new(fair::Fair::new(is(Mistake::FairAsPrinted))),
                    BoundKind::LocalDepth => {
                        Box::new(local_depth::LocalDepth::new(is(Mistake::LocalDepthAsPrinted)))
                    }
                    BoundKind::LocalContexts => {
                        Box::new(local_contexts::LocalContexts::new(is(Mistake::LocalContextsAsPrinted)))
                    }
                    BoundKind::ThreadContexts => Box::<thread_contexts::ThreadContexts>::default(),
                };
                Bound { kind: *kind, limit: *limit, measure }
            })
            .collect();
        Bounds { list }
    }

    /// The kinds, in the order in which they were given.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = BoundKind> + '_ {
        self.list.iter().map(|b| b.kind)
    }

    /// Whether each has this.
    pub(crate) fn all(&self, property: impl Fn(Properties) -> bool) -> bool {
        self.list.iter().all(|b| property(b.kind.properties()))
    }

    /// A node was added to the stack: who is over a bound there. `rank`, by thread, says who should go first as bound number
    /// `main` sees it.
    pub(crate) fn enter(&mut self, core: &Core, view: &View<'_>, main: usize, rank: &mut [u32]) -> Over {
        let mut over = Over::default();
        for (k, b) in self.list.iter_mut().enumerate() {
            b.measure.enter(core, view);
            for t in view.enabled.iter() {
                if b.measure.with(core, view, t) > b.limit {
                    over.any.insert(t);
                    if b.kind == BoundKind::Fair {
                        over.fair.insert(t);
                    }
                    if k == 0 {
                        over.first.insert(t);
                    }
                }
                if k == main && !rank.is_empty() {
                    rank[t.index()] = b.measure.rank(core, view, t);
                }
            }
        }
        over
    }

    /// Whether event `f` took the execution over a bound after all.
    pub(crate) fn is_over_after(&mut self, core: &Core, f: usize) -> bool {
        self.list.iter_mut().any(|b| b.measure.after(core, f).is_some_and(|v| v > b.limit))
    }

    /// What a refused step of `t` costs by one kind of bound, if that is the only one it is over.
    pub(crate) fn refused_by_only(
        &mut self,
        core: &Core,
        view: &View<'_>,
        t: ThreadId,
        kind: BoundKind,
    ) -> Option<u32> {
        let mut cost = None;
        for b in &mut self.list {
            let with = b.measure.with(core, view, t);
            if b.kind == kind {
                cost = Some(with);
            } else if with > b.limit {
                return None;
            }
        }
        cost
    }

    /// The same for an event that was found to be over a bound after it ran.
    pub(crate) fn over_after_only(&mut self, core: &Core, f: usize, kind: BoundKind) -> Option<u32> {
        let mut cost = None;
        for b in &mut self.list {
            match b.measure.after(core, f) {
                after if b.kind == kind => cost = after,
                Some(after) if after > b.limit => return None,
                _ => {}
            }
        }
        cost
    }

    /// Whether the execution that has ended here costs as much as the first bound allows.
    pub(crate) fn is_spent(&mut self, core: &Core, view: &View<'_>) -> bool {
        self.list.first_mut().is_some_and(|b| {
            b.measure.enter(core, view);
            b.measure.value(core) >= b.limit
        })
    }

    /// What a search within the bounds promises.
    pub(crate) fn promise(&self, core: &Core) -> Promise {
        if core.refused { Promise::Within(self.say()) } else { Promise::Everything }
    }

    /// Raises the limit of the first bound.
    pub(crate) fn raise(&mut self, limit: u32) {
        self.list[0].limit = limit;
    }

    /// The bounds in words.
    pub(crate) fn say(&self) -> String {
        self.list.iter().map(|b| b.kind.say(b.limit)).collect::<Vec<_>>().join(" and ")
    }
}

/// The thread that took the step before node `i`.
fn last_thread(core: &Core, i: usize) -> Option<ThreadId> {
    i.checked_sub(1).map(|k| core.trace.event(k).thread)
}

/// Takes the greater of each entry.
fn joined(into: &mut [u32], from: &[u32]) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}
