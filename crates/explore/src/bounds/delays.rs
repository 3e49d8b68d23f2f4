//! Delays: how often a deterministic scheduler is told to move on (Emmi, Qadeer, Rakamaric, POPL 2011).
//!
//! The scheduler goes round: it stays with a thread until that blocks, ends or yields, and then takes the next one. A delay
//! makes it move on by one enabled thread. So to run the k-th thread from where it stands takes k delays, as for `delta`, of
//! which this is the same measure but for yields: after a yield the scheduler moves on by itself.

use super::Measure;
use super::delta::passed_over;
use crate::explorer::View;
use crate::ids::ThreadId;
use crate::op::OpKind;
use crate::search::Core;

/// Counts delays. Holds the count and where the scheduler stands at each node.
#[derive(Default)]
pub(crate) struct Delays {
    at: Vec<(u32, u16)>,
}

impl Measure for Delays {
    fn enter(&mut self, core: &Core, _view: &View<'_>) {
        let i = core.trace.len();
        self.at.truncate(i);
        let state = i.checked_sub(1).map_or((0, 0), |k| {
            let (e, (value, stands)) = (core.trace.event(k), self.at[k]);
            let moves_on = (e.op.kind == OpKind::Yield) as u16;
            (value + passed_over(&core.nodes[k].enabled, stands, e.thread), e.thread.0 + moves_on)
        });
        self.at.push(state);
    }

    fn value(&self, core: &Core) -> u32 {
        self.at[core.trace.len()].0
    }

    fn with(&mut self, core: &Core, view: &View<'_>, t: ThreadId) -> u32 {
        let (value, stands) = self.at[core.trace.len()];
        value + passed_over(&view.enabled, stands, t)
    }
}
