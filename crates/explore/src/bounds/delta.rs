//! Delta: how many enabled threads are passed over (Coons 2013, definition 2.10, section 2.7.4).
//!
//! Threads sit on a ring, and the one that ran last is on top. To run another, the ring is turned: each enabled thread that is
//! passed costs one, so in every state each enabled thread has a price of its own, and exactly one is free.

use super::Measure;
use crate::explorer::View;
use crate::ids::{ThreadId, ThreadSet};
use crate::search::Core;

/// How many members come before `t` on the ring that begins at `top`.
pub(crate) fn passed_over(enabled: &ThreadSet, top: u16, t: ThreadId) -> u32 {
    let place = |u: ThreadId| (u.0 < top, u.0);
    enabled.iter().filter(|u| place(*u) < place(t)).count() as u32
}

/// Counts threads passed over. Holds the count and the top of the ring at each node.
#[derive(Default)]
pub(crate) struct Delta {
    at: Vec<(u32, u16)>,
}

impl Measure for Delta {
    fn enter(&mut self, core: &Core, _view: &View<'_>) {
        let i = core.trace.len();
        self.at.truncate(i);
        let state = i.checked_sub(1).map_or((0, 0), |k| {
            let (t, (value, top)) = (core.trace.event(k).thread, self.at[k]);
            (value + passed_over(&core.nodes[k].enabled, top, t), t.0)
        });
        self.at.push(state);
    }

    fn value(&self, core: &Core) -> u32 {
        self.at[core.trace.len()].0
    }

    fn with(&mut self, core: &Core, view: &View<'_>, t: ThreadId) -> u32 {
        let (value, top) = self.at[core.trace.len()];
        value + passed_over(&view.enabled, top, t)
    }
}
