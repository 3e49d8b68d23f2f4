//! Sleep sets in another form: go on only while the execution is the least of its class (Qadeer's lectures, "Eliminating the
//! HB-cache").
//!
//! Executions are ordered as words over thread numbers. If the execution so far is the least of its class, then with one
//! more step of thread `t` it still is, unless `t` is smaller than the thread of some step after the last one that happens
//! before the new one: then the new step could have come before that one. No state is kept at all.

use crate::explorer::View;
use crate::ids::ThreadId;
use crate::search::{Core, Reduction};

/// Cuts an execution that is not the least representative of its class.
pub(crate) struct LeastRepresentative;

impl Reduction for LeastRepresentative {
    fn sleeps(&self) -> bool {
        false
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let n = core.nodes.last_mut()?;
        n.backtrack = view.enabled;
        view.enabled.first()
    }

    fn ran(&mut self, core: &mut Core, f: usize) {
        let t = core.trace.event(f).thread;
        core.prune = (0..f)
            .rev()
            .take_while(|e| !core.trace.happens_before(*e, f))
            .any(|e| core.trace.event(e).thread > t);
    }
}
