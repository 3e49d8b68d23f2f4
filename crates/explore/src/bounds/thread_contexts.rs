//! Contexts of each thread: how often the thread that is scheduled most often gets to run (Qadeer's lectures, "Context-bounded
//! reachability": every thread has at most c contexts; Lal, Reps).
//!
//! Neither stable nor extensible. To let the running thread go on is free, and every other choice opens a context of the thread
//! chosen whatever the running thread did before: that is all that the conservative points of a context bound use.

use super::{Measure, last_thread};
use crate::explorer::View;
use crate::ids::ThreadId;
use crate::search::Core;

/// The most contexts of one thread. Holds, at each node, that and the contexts of each thread.
#[derive(Default)]
pub(crate) struct ThreadContexts {
    at: Vec<u32>,
    /// One row for each node.
    counts: Vec<u32>,
    width: usize,
}

impl ThreadContexts {
    /// The contexts of `t` once it has taken a step at node `i`.
    fn count(&self, core: &Core, i: usize, t: ThreadId) -> u32 {
        self.counts[i * self.width + t.index()] + (last_thread(core, i) != Some(t)) as u32
    }

    #[cold]
    fn widen(&mut self, width: usize) {
        let mut wider = vec![0; self.at.len() * width];
        for i in 0..self.at.len() {
            wider[i * width..i * width + self.width]
                .copy_from_slice(&self.counts[i * self.width..(i + 1) * self.width]);
        }
        (self.counts, self.width) = (wider, width);
    }
}

impl Measure for ThreadContexts {
    fn enter(&mut self, core: &Core, view: &View<'_>) {
        let i = core.trace.len();
        if view.pending.len() > self.width {
            self.widen(view.pending.len().next_power_of_two());
        }
        self.at.truncate(i);
        self.counts.truncate(i * self.width);
        let Some(k) = i.checked_sub(1) else {
            self.at.push(0);
            self.counts.resize(self.width, 0);
            return;
        };
        let t = core.trace.event(k).thread;
        let count = self.count(core, k, t);
        self.at.push(self.at[k].max(count));
        self.counts.extend_from_within(k * self.width..);
        self.counts[i * self.width + t.index()] = count;
    }

    fn value(&self, core: &Core) -> u32 {
        self.at[core.trace.len()]
    }

    fn with(&mut self, core: &Core, _view: &View<'_>, t: ThreadId) -> u32 {
        let i = core.trace.len();
        self.at[i].max(self.count(core, i, t))
    }
}
