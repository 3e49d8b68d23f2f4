//! Preemptions: how often another thread runs although the last one could have gone on (Musuvathi and Qadeer, PLDI 2007; Coons
//! 2013, definition 2.9).
//!
//! Only the program decides whether a thread could have gone on: one that another bound holds back could. To leave a thread
//! that is blocked or has ended is free. Together with a fair bound, to leave a thread right after it yielded is free too:
//! then the price depends on nothing but the thread's own last step, which partial-order reduction can follow.

use super::{Measure, last_thread};
use crate::explorer::View;
use crate::ids::{ThreadId, ThreadSet};
use crate::op::OpKind;
use crate::search::Core;

/// Counts preemptions. Holds the count at each node.
#[derive(Default)]
pub(crate) struct Preemptions {
    at: Vec<u32>,
    /// To leave a thread that has just yielded is free.
    yields_are_free: bool,
}

impl Preemptions {
    pub(crate) fn new(yields_are_free: bool) -> Preemptions {
        Preemptions { yields_are_free, ..Preemptions::default() }
    }

    /// Whether a step of `t` at node `i` preempts the thread that ran before.
    fn preempts(&self, core: &Core, i: usize, enabled: &ThreadSet, t: ThreadId) -> bool {
        let yielded = || i > 0 && core.trace.event(i - 1).op.kind == OpKind::Yield;
        // A thread may have run before the first step.
        let last = if i == 0 { core.nodes.first().and_then(|n| n.current) } else { last_thread(core, i) };
        last.is_some_and(|last| last != t && enabled.contains(last) && !(self.yields_are_free && yielded()))
    }
}

impl Measure for Preemptions {
    fn enter(&mut self, core: &Core, _view: &View<'_>) {
        let i = core.trace.len();
        self.at.truncate(i);
        let value = i.checked_sub(1).map_or(0, |k| {
            let t = core.trace.event(k).thread;
            self.at[k] + self.preempts(core, k, &core.nodes[k].enabled, t) as u32
        });
        self.at.push(value);
    }

    fn value(&self, core: &Core) -> u32 {
        self.at[core.trace.len()]
    }

    fn with(&mut self, core: &Core, view: &View<'_>, t: ThreadId) -> u32 {
        let i = core.trace.len();
        self.at[i] + self.preempts(core, i, &view.enabled, t) as u32
    }
}
