//! Depth-first search within bounds (Coons 2013, algorithm 3): every interleaving that costs no more than the limits, the oracle
//! of bounded partial-order reduction.
//!
//! From every state it takes every enabled thread whose step is within the bounds; since bounds are monotonic, nothing within
//! them lies behind a step that is not. It may begin with a given prefix, and may note the steps that it refuses, each with
//! the prefix that leads to it: a search within the next limit then goes on from those alone (as in iterative context bounding,
//! Musuvathi and Qadeer, PLDI 2007, algorithm 1).

use crate::bounds::{Bounds, Limits, Mistake};
use crate::explorer::{Divergence, End, View};
use crate::ids::ThreadId;
use crate::plan::BoundKind;
use crate::search::{ANY, Core, Promise, Reduction};
use std::collections::BTreeMap;

/// A step of a prefix: the thread, and its outcome if there were several. `None` leaves the outcome open.
pub(crate) type Choice = (ThreadId, Option<u32>);

/// Steps that were refused, by what they cost.
pub(crate) struct Frontier {
    /// The bound that grows.
    kind: BoundKind,
    /// How far it has grown.
    limit: u32,
    /// Prefixes that end with the refused step, by what they cost.
    steps: BTreeMap<u32, Vec<Box<[Choice]>>>,
    /// How many choices they hold in all, and how many they may.
    size: usize,
    room: usize,
    /// There were more than there was room for: the next round must begin anew.
    pub(crate) full: bool,
    /// A step was refused by a bound that does not grow.
    pub(crate) elsewhere: bool,
}

impl Frontier {
    pub(crate) fn new((kind, limit): (BoundKind, u32), room: usize) -> Frontier {
        Frontier { kind, limit, steps: BTreeMap::new(), size: 0, room, full: false, elsewhere: false }
    }

    fn note(&mut self, core: &Core, cost: u32, last: Option<ThreadId>) {
        let events = core.trace.events();
        self.size += events.len() + 1;
        if self.full || self.size > self.room {
            // Those that this round is still to take stay.
            self.full = true;
            self.steps.retain(|cost, _| *cost <= self.limit);
            return;
        }
        let taken = events.iter().map(|e| (e.thread, (e.options > 1).then_some(e.option)));
        self.steps.entry(cost).or_default().push(taken.chain(last.map(|t| (t, None))).collect());
    }

    /// How many steps wait.
    pub(crate) fn len(&self) -> usize {
        self.steps.values().map(Vec::len).sum()
    }

    /// Whether steps wait for a greater limit, and whether some were refused for another reason.
    pub(crate) fn left(&self) -> (bool, bool) {
        (self.full || !self.steps.is_empty(), self.elsewhere)
    }

    /// A step that this round may take.
    pub(crate) fn next(&mut self) -> Option<Box<[Choice]>> {
        let mut least = self.steps.first_entry().filter(|e| *e.key() <= self.limit)?;
        let prefix = least.get_mut().pop()?;
        if least.get().is_empty() {
            least.remove();
        }
        self.size -= prefix.len();
        Some(prefix)
    }
}

/// Everything within the bounds.
pub(crate) struct WithinBounds {
    pub(crate) bounds: Bounds,
    /// What every execution begins with.
    pub(crate) prefix: Box<[Choice]>,
    /// Where refused steps are noted.
    pub(crate) frontier: Option<Frontier>,
    /// Complete executions that cost as much as the limit of the bound that grows.
    pub(crate) dearest: u64,
}

impl WithinBounds {
    pub(crate) fn new(limits: &Limits, mistake: Option<Mistake>) -> WithinBounds {
        WithinBounds {
            bounds: Bounds::new(limits, mistake),
            prefix: Box::default(),
            frontier: None,
            dearest: 0,
        }
    }
}

impl WithinBounds {
    /// Lets the first bound grow.
    pub(crate) fn raise(&mut self, limit: u32) {
        self.bounds.raise(limit);
        self.dearest = 0;
        if let Some(frontier) = &mut self.frontier {
            frontier.limit = limit;
        }
    }
}

impl Reduction for WithinBounds {
    fn sleeps(&self) -> bool {
        false
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let i = core.trace.len();
        let over = self.bounds.enter(core, view, 0, &mut []).any;
        if let Some((t, outcome)) = self.prefix.get(i) {
            let n = core.nodes.last_mut()?;
            n.backtrack.insert(*t);
            n.fixed = outcome.unwrap_or(ANY);
            if !view.enabled.contains(*t) {
                let found = view.pending.get(t.index()).filter(|_| view.live.contains(*t));
                let found = found.map(|p| (p.op, p.site));
                core.strayed = Some(Divergence { step: i, thread: *t, expected: None, found, ended: false });
                return None;
            }
            return Some(*t);
        }
        if !over.is_empty() {
            core.refused = true;
            if let Some(frontier) = &mut self.frontier {
                for t in over.iter() {
                    match self.bounds.refused_by_only(core, view, t, frontier.kind) {
                        Some(cost) => frontier.note(core, cost, Some(t)),
                        None => frontier.elsewhere = true,
                    }
                }
            }
        }
        let within = view.enabled.minus(&over);
        let n = core.nodes.last_mut()?;
        n.backtrack = within;
        core.over_bound = within.is_empty();
        Core::default_thread(view, within)
    }

    fn ran(&mut self, core: &mut Core, f: usize) {
        if self.bounds.is_over_after(core, f) {
            (core.prune, core.over_bound, core.refused) = (true, true, true);
            if let Some(frontier) = &mut self.frontier {
                match self.bounds.over_after_only(core, f, frontier.kind) {
                    Some(cost) => frontier.note(core, cost, None),
                    None => frontier.elsewhere = true,
                }
            }
        }
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, end: End) {
        self.dearest += (end == End::Complete && !core.prune && self.bounds.is_spent(core, view)) as u64;
    }

    fn promise(&self, core: &Core) -> Promise {
        self.bounds.promise(core)
    }
}
