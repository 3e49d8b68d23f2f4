//! Sleep sets for a preemption bound (Coons 2013, section 6.5, the aggressive rule, corrected).
//!
//! A branch below which something was refused must not sleep as usual: what was refused may be had for less by way of another
//! branch. But it was refused after a switch away from the block of steps that the branch begins. So the thread may sleep
//! while nothing is dependent with any step of the block, up to and with the one at which it blocked; the running thread, which
//! costs nothing to go on with, while nothing is dependent with its one step.
//!
//! Erratum: as printed the thread is woken by steps that ran. What the thread that ran last will do next wakes it, too: whether
//! that is enabled decides what a switch costs (definition 4.10 asks for the same).

use crate::explorer::View;
use crate::ids::ThreadId;
use crate::op::{Access, Mode, Op, OpKind};
use crate::search::Core;
use crate::trace::strongest;

/// Steps of one thread that sleep together, for the rule that lets a block sleep.
#[derive(Clone, Copy, Debug)]
struct Sleeping {
    thread: ThreadId,
    /// Objects with lower numbers than this are the same in every execution that comes here.
    objects: u32,
    from: u32,
    to: u32,
}

/// The blocks that sleep at a node. Entries of nodes further up are named by node and place.
#[derive(Default)]
struct Blocks {
    /// The steps of the thread taken here until it blocked, and what it blocked at; empty if that is not known.
    run: Vec<Op>,
    /// Was put to sleep here.
    own: Vec<Sleeping>,
    ops: Vec<Op>,
    /// Still sleeps here.
    inherited: Vec<(u32, u32)>,
}

/// Blocks that sleep, at each node of the stack.
pub(crate) struct BlockSleep {
    nodes: Vec<Blocks>,
    next_wakes: bool,
}

impl BlockSleep {
    /// `next_wakes`: what a thread will do next wakes, too.
    pub(crate) fn new(next_wakes: bool) -> BlockSleep {
        BlockSleep { nodes: Vec::new(), next_wakes }
    }

    /// What still sleeps at the new node `i` of the blocks that slept at the one before.
    pub(crate) fn enter(&mut self, core: &mut Core, view: &View<'_>, i: usize) {
        if self.nodes.len() <= i {
            self.nodes.resize_with(i + 1, Blocks::default);
        }
        let mut here = std::mem::take(&mut self.nodes[i]);
        here.run.clear();
        here.own.clear();
        here.ops.clear();
        here.inherited.clear();
        if let Some(k) = i.checked_sub(1) {
            let e = core.trace.event(k);
            let next = view.live.contains(e.thread).then(|| &view.pending[e.thread.index()].op);
            let own = (0..self.nodes[k].own.len()).map(|p| (k as u32, p as u32));
            for (node, place) in self.nodes[k].inherited.iter().copied().chain(own) {
                let from = &self.nodes[node as usize];
                let s = &from.own[place as usize];
                let woken = s.thread == e.thread
                    || from.ops[s.from as usize..s.to as usize].iter().any(|op| {
                        let by_next =
                            self.next_wakes && next.is_some_and(|next| may_conflict(op, next, s.objects));
                        let by_end = next.is_none() && op.kind == OpKind::Join;
                        may_conflict(op, &e.op, s.objects) || by_next || by_end
                    });
                if !woken {
                    here.inherited.push((node, place));
                    let n = &mut core.nodes[i];
                    n.asleep.insert(s.thread);
                    n.inherited.insert(s.thread);
                }
            }
        }
        self.nodes[i] = here;
    }

    /// If the thread that ran last cannot go on, notes what it did since its block began at `start`. The first time that is the
    /// whole block: a search goes on with the running thread while it can.
    pub(crate) fn note_run(&mut self, core: &Core, view: &View<'_>, start: usize) {
        let events = &core.trace.events()[start..];
        let t = events[0].thread;
        let run = &mut self.nodes[start].run;
        if run.is_empty() && !view.enabled.contains(t) && events.iter().all(|e| e.options == 1) {
            run.extend(events.iter().map(|e| e.op));
            run.extend(view.live.contains(t).then(|| view.pending[t.index()].op));
        }
    }

    /// The branch taken at node `i` is finished. If it is to sleep, although something below it was refused: its thread does until
    /// something is dependent with its step, or with the whole block if it was not the running thread.
    pub(crate) fn finished(&mut self, core: &mut Core, i: usize, sleeps: bool) {
        let e = *core.trace.event(i);
        let b = &mut self.nodes[i];
        let from = b.ops.len() as u32;
        if sleeps && e.options == 1 {
            if core.nodes[i].current == Some(e.thread) {
                b.ops.push(e.op);
            } else {
                b.ops.extend_from_slice(&b.run);
            }
            let to = b.ops.len() as u32;
            if to > from {
                let objects = core.nodes[i].objects;
                b.own.push(Sleeping { thread: e.thread, objects, from, to });
                core.nodes[i].asleep.insert(e.thread);
            }
        }
        b.run.clear();
    }
}

/// Whether two steps of different threads, which may be of different executions, may conflict in some state. A step that waits
/// for several objects may conflict with whatever changes anything; objects that executions number as they meet them, here
/// those from `objects` on, may be one.
fn may_conflict(a: &Op, b: &Op, objects: u32) -> bool {
    let (x, y) = (strongest(a), strongest(b));
    if a.kind == OpKind::Await || b.kind == OpKind::Await {
        return ![x, y].iter().any(|m| m.mode == Mode::Local) && [x, y].iter().any(|m| m.mode != Mode::Read);
    }
    let links = |op: &Op, first: Access| {
        [(op.object, first), (op.other, Access::new(Mode::Write))].into_iter().filter(|l| l.0.is_some())
    };
    links(a, x)
        .any(|(o, m)| links(b, y).any(|(p, n)| (o == p || o.0.min(p.0) >= objects) && m.conflicts(0, &n, 0)))
}
