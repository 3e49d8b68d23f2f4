//! Fairness: by how many yields a thread may be ahead of another one that could run (Coons 2013, definition 2.11).
//!
//! A step of `t` costs `t`'s yields so far less the fewest yields of an enabled thread; an execution costs the most that one
//! of its steps did. So a thread that spins and yields is held back until the others have caught up, and a search of a program
//! whose threads yield whenever they get nowhere ends.
//!
//! Erratum: the definition is printed with the two terms of the difference the wrong way round. A spinning thread would then
//! always be free, and the search would not end.

use super::Measure;
use crate::explorer::View;
use crate::ids::ThreadId;
use crate::op::OpKind;
use crate::search::Core;

/// The most that a thread was ahead. Holds, at each node, that and the yields of each thread.
#[derive(Default)]
pub(crate) struct Fair {
    at: Vec<u32>,
    /// One row for each node.
    yields: Vec<u32>,
    width: usize,
    /// The definition as printed.
    printed: bool,
}

impl Fair {
    pub(crate) fn new(printed: bool) -> Fair {
        Fair { printed, ..Fair::default() }
    }

    fn yields(&self, i: usize, t: ThreadId) -> u32 {
        self.yields[i * self.width + t.index()]
    }

    /// How far `t` is ahead at node `i`.
    fn ahead(&self, core: &Core, i: usize, t: ThreadId) -> u32 {
        let (own, others) = (self.yields(i, t), core.nodes[i].enabled.iter().map(|w| self.yields(i, w)));
        if self.printed {
            others.map(|w| w.saturating_sub(own)).max().unwrap_or(0)
        } else {
            own - others.min().unwrap_or(own).min(own)
        }
    }

    #[cold]
    fn widen(&mut self, width: usize) {
        let mut wider = vec![0; self.at.len() * width];
        for i in 0..self.at.len() {
            wider[i * width..i * width + self.width]
                .copy_from_slice(&self.yields[i * self.width..(i + 1) * self.width]);
        }
        (self.yields, self.width) = (wider, width);
    }
}

impl Measure for Fair {
    fn enter(&mut self, core: &Core, view: &View<'_>) {
        let i = core.trace.len();
        if view.pending.len() > self.width {
            self.widen(view.pending.len().next_power_of_two());
        }
        self.at.truncate(i);
        self.yields.truncate(i * self.width);
        let Some(k) = i.checked_sub(1) else {
            self.at.push(0);
            self.yields.resize(self.width, 0);
            return;
        };
        let e = core.trace.event(k);
        self.at.push(self.at[k].max(self.ahead(core, k, e.thread)));
        self.yields.extend_from_within(k * self.width..);
        self.yields[i * self.width + e.thread.index()] += (e.op.kind == OpKind::Yield) as u32;
    }

    fn value(&self, core: &Core) -> u32 {
        self.at[core.trace.len()]
    }

    fn with(&mut self, core: &Core, _view: &View<'_>, t: ThreadId) -> u32 {
        let i = core.trace.len();
        self.at[i].max(self.ahead(core, i, t))
    }

    /// A step that is no more expensive than the execution so far is not equal to another such step: who yielded less goes first.
    fn rank(&mut self, core: &Core, _view: &View<'_>, t: ThreadId) -> u32 {
        self.yields(core.trace.len(), t)
    }
}
