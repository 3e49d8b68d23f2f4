//! Dynamic partial-order reduction as first published (Flanagan and Godefroid, POPL 2005, figures 3 to 5), with and without
//! sleep sets.
//!
//! In every state, for the next step of every thread `p`, blocked ones too: take the last event `i` that is dependent with it,
//! may be co-enabled with it, and does not happen before `p`. If `p` was enabled before `i`, explore it there; else one of the
//! threads that lead to it; else all. What is explored from each state is then a persistent set. Reads are kept apart from
//! writes, as the paper suggests. Dependence is taken as it may be in any state, not as it turned out: a persistent set must
//! hold for all that can come.
//!
//! Erratum (Coons et al.; the authors' addendum of 2011): with sleep sets, a thread that came to the state asleep is no
//! answer to the race, because it will not be taken: then all enabled threads are needed.

use crate::explorer::{End, View};
use crate::ids::ThreadId;
use crate::search::{Core, Reduction};

/// Persistent sets by backtracking to the last dependent event.
pub(crate) struct Dpor {
    sleep: bool,
    past: Vec<u32>,
}

impl Dpor {
    pub(crate) fn new(sleep: bool) -> Dpor {
        Dpor { sleep, past: Vec::new() }
    }

    /// Finds the last event that races with the next step of each of these threads, and answers it.
    fn races(&mut self, core: &mut Core, view: &View<'_>) {
        let end = core.trace.len();
        for p in view.live.iter() {
            let op = &view.pending[p.index()].op;
            core.trace.past_of_next(p, &mut self.past);
            let past = &self.past;
            let last = core.trace.last_possible_conflict(p, op, view.awaited_by(p), end, |trace, e| {
                !trace.in_past(e, past) && op.may_be_coenabled(&trace.event(e).op)
            });
            if let Some(e) = last {
                self.add(core, e, p);
            }
        }
    }

    /// Answers a race at event `i` with a step of `p`.
    fn add(&self, core: &mut Core, i: usize, p: ThreadId) {
        let trace = &core.trace;
        let node = &core.nodes[i];
        let leads_to_p = |q: ThreadId| {
            q == p || (i + 1..trace.len()).any(|j| trace.event(j).thread == q && trace.in_past(j, &self.past))
        };
        let candidates =
            node.enabled.iter().filter(|q| leads_to_p(*q) && !(self.sleep && node.inherited.contains(*q)));
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
        self.races(core, view);
        let n = core.nodes.last_mut()?;
        let t = Core::default_thread(view, view.enabled.minus(&n.asleep))?;
        n.backtrack.insert(t);
        Some(t)
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, _end: End) {
        self.races(core, view);
    }
}
