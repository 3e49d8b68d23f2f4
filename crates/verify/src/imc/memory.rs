//! What a schedule remembers: who has had a turn in this round, and who went last.
//!
//! A thread goes on until it jumps back (the end of a loop's body), so that the bodies of loops look atomic where that is possible; then
//! comes who had no turn yet. A round is over when everybody had one who can go.

use model::{Action, LocationId, LocationKind, Program, ThreadId};
use std::collections::HashSet;

/// The memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    /// Bit by bit: who has taken a step in this round. For a ranked schedule: whose turn it is.
    pub(crate) served: u128,
    /// Who went last.
    pub(crate) last: ThreadId,
    /// Whether it should go on.
    pub(crate) goes_on: bool,
}

impl Memory {
    pub(crate) const FIRST: Memory = Memory { served: 0, last: ThreadId(0), goes_on: true };

    pub(crate) fn is_served(&self, t: ThreadId) -> bool {
        self.served >> (t.index() % 128) & 1 == 1
    }

    /// After a step.
    pub(crate) fn after(mut self, thread: ThreadId, back: bool) -> Memory {
        self.served |= 1 << (thread.index() % 128);
        self.last = thread;
        self.goes_on = !back;
        self
    }
}

/// Whether a transition jumps back: to the head of a loop from inside.
pub(crate) fn jumps_back(p: &Program, thread: ThreadId, from: LocationId, to: LocationId) -> bool {
    let t = p.thread(thread);
    if !t.location(to).loop_head {
        return false;
    }
    let (mut seen, mut stack) = (HashSet::from([to]), vec![to]);
    while let Some(l) = stack.pop() {
        if l == from {
            return true;
        }
        stack.extend(t.from(l).map(|(_, e)| e.to).filter(|l| seen.insert(*l)));
    }
    false
}

/// Whether all that a thread can do next is to end the program.
pub(crate) fn only_exits(p: &Program, thread: ThreadId, at: LocationId) -> bool {
    let t = p.thread(thread);
    t.from(at).all(|(_, e)| matches!(t.location(e.to).kind, LocationKind::Exit))
}

/// Whether a thread can end the program, from a location on, without waiting for the end of another one.
pub(crate) fn may_exit_before(p: &Program, thread: ThreadId, at: LocationId, other: ThreadId) -> bool {
    let t = p.thread(thread);
    let (mut seen, mut stack) = (HashSet::from([at]), vec![at]);
    while let Some(l) = stack.pop() {
        if matches!(t.location(l).kind, LocationKind::Exit | LocationKind::Halt) {
            return true;
        }
        let goes_on = t.from(l).filter(|(_, e)| e.action != Action::Join(other));
        stack.extend(goes_on.map(|(_, e)| e.to).filter(|l| seen.insert(*l)));
    }
    false
}
