//! What a step touches, kept apart from any trace: the members of sleep sets and wakeup trees.

use crate::ids::{ObjectId, ThreadId};
use crate::op::{Access, Mode, Op, OpKind};
use crate::semantics;
use crate::trace::{Link, Trace};

/// What one step of a thread did, or would do, to its objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footprint {
    pub(crate) thread: ThreadId,
    pub(crate) cause: u64,
    op: Op,
    links: [(ObjectId, Access); 2],
    count: u8,
    /// It touches more than fits: taken to conflict with everything.
    wide: bool,
}

impl Footprint {
    /// Of an event that has run.
    pub(crate) fn of(trace: &Trace, i: usize) -> Footprint {
        let e = trace.event(i);
        let mut f = Footprint::nothing(e.thread, e.cause(), e.op);
        for l in trace.links_of(i) {
            f.add(l.object, l.access);
        }
        f
    }

    /// The operation.
    pub(crate) fn op(&self) -> &Op {
        &self.op
    }

    /// Of a step that touches nothing.
    pub(crate) fn nothing(thread: ThreadId, cause: u64, op: Op) -> Footprint {
        Footprint { thread, cause, op, links: [(ObjectId::NONE, Access::LOCAL); 2], count: 0, wide: false }
    }

    /// Adds one object.
    pub(crate) fn add(&mut self, object: ObjectId, access: Access) {
        if access.mode == Mode::Local || !object.is_some() {
        } else if (self.count as usize) < self.links.len() {
            self.links[self.count as usize] = (object, access);
            self.count += 1;
        } else {
            self.wide = true;
        }
    }

    /// The objects and what is done to them.
    #[inline]
    pub(crate) fn links(&self) -> &[(ObjectId, Access)] {
        &self.links[..self.count as usize]
    }

    /// Whether its thread learns nothing by it, so that what the thread does next does not depend on when it was taken. A
    /// value that was read is not enough to tell: what it was read for may lie in memory that the search does not see.
    pub(crate) fn teaches_nothing(&self) -> bool {
        use OpKind::*;
        matches!(
            self.op.kind,
            Store
                | Fence
                | Unlock
                | ReadUnlock
                | WriteUnlock
                | Wait
                | NotifyOne
                | NotifyAll
                | AddSender
                | DropSender
                | DropReceiver
                | Unpark
                | CountUp
                | Yield
        )
    }

    /// Whether it is a weak compare-exchange that succeeds, so that it might as well fail.
    pub(crate) fn can_fail_spuriously(&self) -> bool {
        self.op.kind == OpKind::CompareExchangeWeak && self.links[0].1.mode == Mode::Write
    }

    /// Makes it fail.
    pub(crate) fn fail_spuriously(&mut self) {
        self.links[0].1 = Access::new(Mode::Read);
    }

    /// Puts other object numbers in place of these: the same step as another execution numbers it.
    pub(crate) fn renamed(mut self, objects: impl Iterator<Item = ObjectId>) -> Footprint {
        for (l, o) in self.links[..self.count as usize].iter_mut().zip(objects) {
            l.0 = o;
        }
        self.op.object = self.links[0].0;
        self
    }

    /// Whether it conflicts with links of another thread's step named `cause`.
    #[inline]
    pub(crate) fn conflicts_with(&self, links: &[Link], cause: u64) -> bool {
        self.wide && !links.is_empty()
            || links.iter().any(|l| {
                self.links().iter().any(|(o, a)| *o == l.object && a.conflicts(self.cause, &l.access, cause))
            })
    }

    /// What it was, if it may become something else by steps that it does not conflict with one by one: to arrive early, or
    /// not to take the last reference, holds only while enough others are still to come.
    #[inline]
    pub(crate) fn depends_on_count(&self) -> Option<(ObjectId, Mode)> {
        let (o, a) = self.links[0];
        (self.count > 0 && a.depends_on_count()).then_some((o, a.mode))
    }

    /// What it does when its object's word is `word`.
    pub(crate) fn mode_at(&self, word: u64) -> Mode {
        semantics::apply(&self.op, word, self.thread, 0).access.mode
    }

    /// The word of `object` after it.
    pub(crate) fn word_after(&self, object: ObjectId, word: u64) -> u64 {
        if self.op.object == object { semantics::apply(&self.op, word, self.thread, 0).word } else { word }
    }

    /// Whether it conflicts with the event `i` that has just run, or is no longer what it was after it.
    #[inline]
    pub(crate) fn woken_by(&self, trace: &Trace, i: usize) -> bool {
        let e = trace.event(i);
        if self.conflicts_with(trace.links_of(i), e.cause()) {
            return true;
        }
        match self.depends_on_count() {
            Some((o, mode)) if o == e.op.object => {
                self.mode_at(semantics::apply(&e.op, e.before, e.thread, e.option).word) != mode
            }
            _ => false,
        }
    }

    /// Whether it conflicts with another footprint.
    pub(crate) fn conflicts(&self, other: &Footprint) -> bool {
        (self.wide && other.count > 0)
            || (other.wide && self.count > 0)
            || self.links().iter().any(|(o, a)| {
                other.links().iter().any(|(p, b)| o == p && a.conflicts(self.cause, b, other.cause))
            })
    }
}
