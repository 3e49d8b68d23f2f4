//! Lazy-BPOR (Sachinoglou, section 7.1, algorithms 18 to 22): source-DPOR within a bound on the least number of preemptions over
//! all executions of a class.
//!
//! What a class costs does not depend on the execution that shows it, so no conservative branches are needed: an execution
//! is cut when its class is over the bound. Sachinoglou cuts at once. That loses classes: one within the bound may be known
//! only by a race in an execution that is over it (a test keeps one). So executions go on a little longer, as far as
//! [`PreemptionBound`] says, and those that end over the bound are counted apart.
//!
//! The paper also gives two ways to count less than the least, by happens-before alone (algorithms 20 and 21): a switch is
//! needed where an event of another thread comes between two of a thread. Both are kept, with what they print wrong put right:
//!
//! - Algorithm 20 looks back to the *first* block of the thread, each time anew, and so counts one switch again for every
//!   later block. Here the look back ends at the last switch that was counted.
//! - Algorithm 21 looks back to the block before, and lets any event of the two blocks stand for them. Two pairs of blocks may
//!   then share a switch. Here the two events are neighbours in their thread.
//! - Before a step that can block the thread may be left for nothing, so neither counts there.

use crate::explorer::{End, View};
use crate::ids::ThreadId;
use crate::least_preemptions::PreemptionBound;
use crate::reductions::source::SourceSets;
use crate::search::{Core, Promise, Reduction};
use crate::trace::Trace;

/// What is held against the bound.
enum Count {
    /// The least number of preemptions.
    Exact,
    /// Disjoint stretches of a thread that need a switch.
    Stretches,
    /// Neighbours in a thread that need a switch between them.
    Neighbours,
}

/// Source sets within a bound on the preemptions of classes.
pub(crate) struct LazyBpor {
    source: SourceSets,
    bound: PreemptionBound,
    count: Count,
    /// By event: how many switches the approximation counts up to it.
    counted: Vec<u32>,
    /// By event: where its thread's last counted switch ended.
    since: Vec<u32>,
}

impl LazyBpor {
    fn new(limit: u32, count: Count) -> LazyBpor {
        let (source, bound) = (SourceSets::default(), PreemptionBound::new(limit));
        LazyBpor { source, bound, count, counted: Vec::new(), since: Vec::new() }
    }

    /// With the exact count.
    pub(crate) fn exact(limit: u32) -> LazyBpor {
        LazyBpor::new(limit, Count::Exact)
    }

    /// With algorithm 20.
    pub(crate) fn approx_1(limit: u32) -> LazyBpor {
        LazyBpor::new(limit, Count::Stretches)
    }

    /// With algorithm 21.
    pub(crate) fn approx_2(limit: u32) -> LazyBpor {
        LazyBpor::new(limit, Count::Neighbours)
    }

    /// Counts the switches that event `f` needs, and says how many there are up to it.
    fn approximate(&mut self, trace: &Trace, f: usize) -> u32 {
        self.counted.truncate(f);
        self.since.truncate(f);
        let before = self.counted.last().copied().unwrap_or(0);
        let previous = trace.previous(f);
        let from = match self.count {
            Count::Neighbours => previous,
            _ => previous.map(|p| self.since[p] as usize),
        };
        let blocks = trace.event(f).op.may_block() || trace.edges_of(f).next().is_some();
        let needed = !blocks
            && from.is_some_and(|from| {
                let t = trace.event(from).thread;
                (from + 1..f).any(|e| {
                    trace.event(e).thread != t && trace.happens_before(from, e) && trace.happens_before(e, f)
                })
            });
        self.counted.push(before + needed as u32);
        self.since.push(if blocks || needed { f } else { from.unwrap_or(f) } as u32);
        before + needed as u32
    }
}

impl Reduction for LazyBpor {
    fn sleeps(&self) -> bool {
        true
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        self.source.enter(core, view)
    }

    fn ran(&mut self, core: &mut Core, f: usize) {
        self.source.ran(core, f);
        match self.count {
            Count::Exact => self.bound.ran(core, f),
            _ => {
                let count = self.approximate(&core.trace, f);
                self.bound.ran_with(core, count);
            }
        }
    }

    fn over_bound(&mut self, core: &Core, view: &View<'_>, end: End) -> bool {
        match self.count {
            Count::Exact => self.bound.exceeded(core, view, end),
            _ => {
                let count = core.trace.len().checked_sub(1).map_or(0, |f| self.counted[f]);
                core.over_bound || end != End::Stopped && self.bound.is_below(count)
            }
        }
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, end: End) {
        self.source.ended(core, view, end);
    }

    fn promise(&self, core: &Core) -> Promise {
        self.bound.promise(core)
    }
}
