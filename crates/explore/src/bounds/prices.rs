//! What local bounds remember: the price of a step that nothing has touched since it was announced is what it was.

use crate::explorer::View;
use crate::ids::{ObjectId, ThreadId};
use crate::op::OpKind;
use crate::search::Core;

#[derive(Clone, Copy)]
struct Price {
    kind: OpKind,
    object: ObjectId,
    price: Option<u32>,
}

/// The prices of the steps that threads have announced, one row for each node.
#[derive(Default)]
pub(crate) struct Prices {
    rows: Vec<Price>,
    starts: Vec<u32>,
}

impl Prices {
    /// A node was added to the stack: takes over the prices that still hold.
    pub(crate) fn enter(&mut self, core: &Core, view: &View<'_>) {
        let i = core.trace.len();
        if let Some(start) = self.starts.get(i) {
            self.rows.truncate(*start as usize);
            self.starts.truncate(i);
        }
        let (before, start) = (self.starts.last().map(|s| *s as usize), self.rows.len());
        self.starts.push(start as u32);
        for (t, p) in view.pending.iter().enumerate() {
            let old = before.and_then(|b| self.rows[b..start].get(t)).copied();
            let price = old.and_then(|old| {
                let t = ThreadId(t as u16);
                let last = core.trace.event(i - 1);
                let holds = last.thread != t
                    && (old.kind, old.object) == (p.op.kind, p.op.object)
                    && !matches!(old.kind, OpKind::Await | OpKind::Wait | OpKind::Wake | OpKind::Park)
                    && core.trace.links_of(i - 1).iter().all(|l| l.object != old.object)
                    && core.trace.waiting_edges_of(t).next().is_none();
                old.price.filter(|_| holds)
            });
            self.rows.push(Price { kind: p.op.kind, object: p.op.object, price });
        }
    }

    /// The price of the next step of `t` at the last node: as remembered, or else as `find` says.
    pub(crate) fn of(&mut self, t: ThreadId, find: impl FnOnce() -> u32) -> u32 {
        let start = self.starts.last().map_or(0, |s| *s as usize);
        let entry = &mut self.rows[start + t.index()];
        *entry.price.get_or_insert_with(find)
    }
}
