//! Local contexts: how many changes of the running thread the last step of a thread can have seen, taken over all threads (Coons
//! 2013, definition 7.9).
//!
//! Each step has a clock whose entry for thread `v` says how often `v` must have been left. A thread's own steps leave its
//! clock alone. A step takes over the clock of every earlier step on its object that it conflicts with, with the entry of that
//! step's thread one higher: to come here that thread was left. Its own last write counts so only if another thread has
//! looked at the object since. The measure depends on happens-before alone: it is stable and extensible, and partial-order
//! reduction needs no further points. It may charge less than `contexts` does, never more.
//!
//! Errata: the first step costs 0, not 1. A read skips the join if its own thread wrote last, whoever has read since: as
//! printed, two reads, which are independent, would change each other's price, and states are lost.

use super::Measure;
use super::prices::Prices;
use crate::explorer::View;
use crate::ids::{ObjectId, ThreadId};
use crate::op::{Access, Mode};
use crate::search::Core;

/// The most changes that a step can have seen. Holds that at each node, and a clock for each event.
#[derive(Default)]
pub(crate) struct LocalContexts {
    at: Vec<u32>,
    prices: Prices,
    /// One row for each event.
    clocks: Vec<u32>,
    width: usize,
    row: Vec<u32>,
    /// Events of others that were met on the way.
    others: Vec<usize>,
    /// The condition for reads as printed.
    printed: bool,
}

impl LocalContexts {
    pub(crate) fn new(printed: bool) -> LocalContexts {
        LocalContexts { printed, ..LocalContexts::default() }
    }

    /// The row of what a step of `t` comes after without its objects: its own last event before `f`, spawns and joins.
    fn begin(&mut self, core: &Core, t: ThreadId, f: usize, edges: impl Iterator<Item = usize>) {
        let trace = &core.trace;
        let mut last = trace.last_of(t);
        while let Some(e) = last.filter(|e| *e >= f) {
            last = trace.previous(e);
        }
        self.row.clear();
        match last {
            Some(e) => self.row.extend_from_slice(&self.clocks[e * self.width..(e + 1) * self.width]),
            None => self.row.resize(self.width, 0),
        }
        for e in edges {
            self.take(core, e, None);
        }
    }

    /// Takes over the clock of event `e`, after which its thread was left.
    fn take(&mut self, core: &Core, e: usize, without: Option<ThreadId>) {
        let left = core.trace.event(e).thread.index();
        for (v, c) in self.clocks[e * self.width..(e + 1) * self.width].iter().enumerate() {
            if without.is_none_or(|u| u.index() != v) {
                self.row[v] = self.row[v].max(c + (v == left) as u32);
            }
        }
    }

    /// What the object adds to the row of a step of `t` that comes after the first `f` events.
    fn add(&mut self, core: &Core, t: ThreadId, f: usize, object: ObjectId, access: &Access) {
        let trace = &core.trace;
        let cause = Access::cause(t, u32::MAX);
        self.others.clear();
        let mut read_since = false;
        for (e, a) in trace.history(object).filter(|(e, _)| *e < f) {
            let event = trace.event(e);
            read_since |= event.thread != t;
            if event.thread == t {
                let printed = self.printed && access.mode == Mode::Read && read_since;
                let came_between = self.others.iter().any(|g| trace.happens_before(e, *g));
                if a.mode != Mode::Read && (came_between || printed) {
                    self.take(core, e, None);
                }
            } else if a.conflicts(event.cause(), access, cause) {
                self.others.push(e);
                self.take(core, e, (a.mode == Mode::Read).then_some(t));
            }
            if a.is_total() {
                break;
            }
        }
    }

    fn sum(&self) -> u32 {
        self.row.iter().sum()
    }

    fn fit(&mut self, width: usize) {
        if width > self.width {
            let events = self.clocks.len().checked_div(self.width).unwrap_or(0);
            let mut wider = vec![0; events * width];
            for i in 0..events {
                wider[i * width..i * width + self.width]
                    .copy_from_slice(&self.clocks[i * self.width..(i + 1) * self.width]);
            }
            (self.clocks, self.width) = (wider, width);
        }
    }
}

impl Measure for LocalContexts {
    fn enter(&mut self, core: &Core, view: &View<'_>) {
        let i = core.trace.len();
        self.prices.enter(core, view);
        self.fit(core.trace.width().max(view.pending.len().next_multiple_of(8)));
        self.at.truncate(i);
        let Some(k) = i.checked_sub(1) else { return self.at.push(0) };
        let value = self.after(core, k).unwrap_or(0);
        self.at.push(value);
    }

    fn value(&self, core: &Core) -> u32 {
        self.at[core.trace.len()]
    }

    fn with(&mut self, core: &Core, view: &View<'_>, t: ThreadId) -> u32 {
        let i = core.trace.len();
        let mut prices = std::mem::take(&mut self.prices);
        let seen = prices.of(t, || {
            self.begin(core, t, i, core.trace.waiting_edges_of(t));
            let op = &view.pending[t.index()].op;
            core.trace.accesses_of_next(t, op, view.awaited_by(t), |object, access| {
                self.add(core, t, i, object, &access)
            });
            self.sum()
        });
        self.prices = prices;
        self.at[i].max(seen)
    }

    fn after(&mut self, core: &Core, f: usize) -> Option<u32> {
        self.fit(core.trace.width());
        let t = core.trace.event(f).thread;
        self.begin(core, t, f, core.trace.edges_of(f));
        for l in core.trace.links_of(f) {
            self.add(core, t, f, l.object, &l.access);
        }
        self.clocks.truncate(f * self.width);
        self.clocks.extend_from_slice(&self.row);
        Some(self.at[f].max(self.sum()))
    }
}
