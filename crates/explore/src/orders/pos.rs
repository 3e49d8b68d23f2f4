//! Partial order sampling (Yuan, Yang, Gu, CAV 2018).
//!
//! Every step that a thread is about to take draws a random priority, and the enabled thread whose step has the highest
//! one runs. Then the steps that race with the one taken draw again. Two orders of a race are so about as likely
//! whatever else goes on, and executions spread over happens-before classes rather than over interleavings: each class
//! has a probability of its own, for which the paper gives a bound by the number of races.

use super::may_conflict;
use super::random::any_of;
use super::rng::Rng;
use super::sampling::Policy;
use crate::explorer::{Executed, View};
use crate::ids::ThreadId;
use crate::op::{Access, Op};

/// Picks by priorities of steps.
#[derive(Default)]
pub(crate) struct Pos {
    /// By thread: the priority of its next step; 0 has not been drawn.
    priorities: Vec<u64>,
    last: Option<(ThreadId, Op, Access)>,
}

impl Policy for Pos {
    fn begin(&mut self, _rng: &mut Rng) {
        self.priorities.clear();
        self.last = None;
    }

    fn pick(&mut self, view: &View<'_>, rng: &mut Rng) -> ThreadId {
        self.priorities.resize(view.pending.len(), 0);
        for t in view.live.iter() {
            let again = self.last.as_ref().is_some_and(|(by, op, access)| {
                *by == t || may_conflict(&view.pending[t.index()].op, op, access)
            });
            let p = &mut self.priorities[t.index()];
            if again || *p == 0 {
                *p = rng.next() | 1;
            }
        }
        let best = view.enabled.iter().max_by_key(|t| self.priorities[t.index()]);
        best.unwrap_or_else(|| any_of(&view.enabled, rng))
    }

    fn ran(&mut self, event: &Executed<'_>) {
        self.last = Some((event.thread, event.op, event.access));
    }

    fn says(&self, _executions: u64) -> String {
        "partial order sampling: random priorities of steps, drawn again where steps race; what was not drawn is not \
         known"
            .into()
    }

    fn forget(&mut self) {
        *self = Pos::default();
    }
}
