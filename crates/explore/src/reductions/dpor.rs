//! Dynamic partial-order reduction as first published (Flanagan and Godefroid, POPL 2005, figures 3 to 5), with and without
//! sleep sets.
//!
//! When a step of thread `p` runs, take the last event `i` that is dependent with it, may be co-enabled with it, and does not
//! happen before `p`'s earlier steps. If `p` was enabled before `i`, explore it there; else one of the threads that lead to
//! it; else all. (Co-enabled is taken in the strict sense: the step could run if the event were not there. For locks with
//! several holders the paper's static test would pick an event before which the step is blocked for another reason.) What is explored from each state is then a persistent set. Reads are kept apart from writes, as the
//! paper suggests.
//!
//! Erratum (Coons et al.; the authors' addendum of 2011): with sleep sets, a thread that came to the state asleep is no
//! answer to the race, because it will not be taken: then all enabled threads are needed.

use crate::explorer::{End, View};
use crate::ids::{ObjectId, ThreadId};
use crate::op::{Op, OpKind};
use crate::search::{Core, Reduction};

/// Persistent sets by backtracking to the last dependent event.
pub(crate) struct Dpor {
    sleep: bool,
    awaited: Vec<ObjectId>,
}

impl Dpor {
    pub(crate) fn new(sleep: bool) -> Dpor {
        Dpor { sleep, awaited: Vec::new() }
    }

    /// Finds the last event that may conflict with `op` of `p`, which comes after `past`, and answers the race.
    fn race(&self, core: &mut Core, p: ThreadId, past: Option<usize>, op: &Op, end: usize) {
        let mut before = end;
        while before > 0 {
            let last = core.trace.last_possible_conflict(p, op, &self.awaited, before, |trace, e| {
                !past.is_some_and(|i| trace.happens_before(e, i))
            });
            let Some(e) = last else { return };
            if !op.may_block() || core.trace.runs_without(e, op, p, past, end) {
                return self.add(core, e, p, past);
            }
            before = e;
        }
    }

    /// Answers a race at event `i` with a step of `p` that comes after `past`.
    fn add(&self, core: &mut Core, i: usize, p: ThreadId, past: Option<usize>) {
        let trace = &core.trace;
        let node = &core.nodes[i];
        let leads_to_p = |q: ThreadId| {
            q == p
                || past.is_some_and(|last| {
                    (i + 1..=last).any(|j| trace.event(j).thread == q && trace.happens_before(j, last))
                })
        };
        let candidates = node.enabled.iter().filter(|q| leads_to_p(*q) && !(self.sleep && node.inherited.contains(*q)));
        let mut pick = None;
        for q in candidates {
            if node.backtrack.contains(q) {
                return;
            }
            if pick.is_none() || q == p {
                pick = Some(q);
            }
        }
        let node = &mut core.nodes[i];
        match pick {
            Some(q) => {
                node.backtrack.insert(q);
            }
            None => node.backtrack = node.backtrack.or(&node.enabled),
        }
    }
}

impl Reduction for Dpor {
    fn sleeps(&self) -> bool {
        self.sleep
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let n = core.nodes.last_mut()?;
        let t = Core::default_thread(view, view.enabled.minus(&n.asleep))?;
        n.backtrack.insert(t);
        Some(t)
    }

    fn ran(&mut self, core: &mut Core, f: usize) {
        let e = *core.trace.event(f);
        self.awaited.clear();
        if e.op.kind == OpKind::Await {
            self.awaited.extend(core.trace.links_of(f).iter().map(|l| l.object));
        }
        self.race(core, e.thread, core.trace.previous(f), &e.op, f);
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, end: End) {
        for t in Core::stuck(view, end).iter() {
            self.awaited.clear();
            self.awaited.extend_from_slice(view.awaited_by(t));
            self.race(core, t, core.trace.last_of(t), &view.pending[t.index()].op, core.trace.len());
        }
    }
}
