//! Local depth: how many steps the last step of a thread can have seen, itself included, taken over all threads (Coons 2013,
//! definition 7.7).
//!
//! It is the sum of a step's happens-before clock. It depends on happens-before alone, so it is stable; a step that is
//! independent of others changes nobody's price, so it is extensible, and partial-order reduction needs no point that it
//! would not need without a bound. Local states within a local depth are exactly those within that depth.
//!
//! Erratum: the definition as printed keeps, for the readers of a variable, only each reader's own component, so that a later
//! writer is not charged for what the readers had seen. Here clocks are those of happens-before.

use super::prices::Prices;
use super::{Measure, joined};
use crate::explorer::View;
use crate::ids::ThreadId;
use crate::op::{Access, Mode, Op, OpKind};
use crate::search::Core;

/// The most steps that a step can have seen. Holds that at each node.
#[derive(Default)]
pub(crate) struct LocalDepth {
    at: Vec<u32>,
    prices: Prices,
    row: Vec<u32>,
    /// Readers are charged for as printed.
    printed: bool,
}

impl LocalDepth {
    pub(crate) fn new(printed: bool) -> LocalDepth {
        LocalDepth { printed, ..LocalDepth::default() }
    }

    /// The clocks of what the next step of `t` comes after, were it to run now.
    fn past(printed: bool, core: &Core, view: &View<'_>, t: ThreadId, row: &mut Vec<u32>) {
        let trace = &core.trace;
        let op = &view.pending[t.index()].op;
        trace.past_of_next(t, row);
        if matches!(op.kind, OpKind::Wake | OpKind::Park | OpKind::Await) && op.a & Op::TIME_PASSES != 0 {
            // Comes after everything.
            for e in (0..trace.threads()).filter_map(|u| trace.last_of(ThreadId(u as u16))) {
                joined(row, trace.clock(e));
            }
        }
        let cause = Access::cause(t, u32::MAX);
        trace.accesses_of_next(t, op, view.awaited_by(t), |object, access| {
            for (e, a) in trace.history(object) {
                let event = trace.event(e);
                if event.thread != t && a.conflicts(event.cause(), &access, cause) {
                    if printed && a.mode == Mode::Read {
                        row[event.thread.index()] = row[event.thread.index()].max(event.seq);
                    } else {
                        joined(row, trace.clock(e));
                    }
                }
                if a.is_total() {
                    break;
                }
            }
        });
    }
}

impl Measure for LocalDepth {
    fn enter(&mut self, core: &Core, view: &View<'_>) {
        let i = core.trace.len();
        self.prices.enter(core, view);
        self.at.truncate(i);
        let value = i.checked_sub(1).and_then(|k| self.after(core, k)).unwrap_or(0);
        self.at.push(value);
    }

    fn value(&self, core: &Core) -> u32 {
        self.at[core.trace.len()]
    }

    fn with(&mut self, core: &Core, view: &View<'_>, t: ThreadId) -> u32 {
        let (row, printed) = (&mut self.row, self.printed);
        let seen = self.prices.of(t, || {
            Self::past(printed, core, view, t, row);
            row.iter().sum::<u32>() + 1
        });
        self.at[core.trace.len()].max(seen)
    }

    fn after(&mut self, core: &Core, f: usize) -> Option<u32> {
        let seen = if self.printed { 0 } else { core.trace.clock(f).iter().sum() };
        Some(self.at[f].max(seen))
    }
}
