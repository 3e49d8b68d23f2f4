//! Dynamic partial-order reduction in Coons' form (Coons 2013, algorithm 7), the base of bounded partial-order reduction.
//!
//! In every state, for every thread `u`, enabled or not, and every other thread `v`: take the last event of `v` that is
//! dependent with `u`'s next step and explore `u` before it, or all enabled threads where `u` was not enabled. No
//! happens-before, no co-enabledness, no sleep sets: those are optimisations of the bounded search.

use crate::explorer::{End, View};
use crate::ids::{ThreadId, ThreadSet};
use crate::search::{Core, Reduction};

/// Backtracks to the last dependent event of each thread.
pub(crate) struct DporPerThread;

impl DporPerThread {
    fn all_races(core: &mut Core, view: &View<'_>) {
        for u in view.live.iter() {
            let op = view.pending[u.index()].op;
            let mut left = view.live.minus(&ThreadSet::single(u));
            (0..core.trace.threads()).for_each(|t| {
                left.insert(ThreadId(t as u16));
            });
            left.remove(u);
            for v in left.iter() {
                let end = core.trace.len();
                let i = core.trace.last_possible_conflict(u, &op, view.awaited_by(u), end, |trace, e| {
                    trace.event(e).thread == v
                });
                if let Some(i) = i {
                    let node = &mut core.nodes[i];
                    if node.enabled.contains(u) {
                        node.backtrack.insert(u);
                    } else {
                        node.backtrack = node.enabled;
                    }
                }
            }
        }
    }
}

impl Reduction for DporPerThread {
    fn sleeps(&self) -> bool {
        false
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        Self::all_races(core, view);
        let t = Core::default_thread(view, view.enabled)?;
        core.nodes.last_mut()?.backtrack.insert(t);
        Some(t)
    }

    fn ended(&mut self, core: &mut Core, view: &View<'_>, _end: End) {
        Self::all_races(core, view);
    }
}
