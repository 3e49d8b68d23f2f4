//! A cache of happens-before graphs (Qadeer's lectures, "A partial-order reduction algorithm"; CHESS): it extends each graph once.
//!
//! A graph is named by the sum of the hashes of its events, each with its past, so that it does not depend on the order in
//! which they ran. The cache grows with the number of graphs.

use crate::explorer::View;
use crate::ids::ThreadId;
use crate::search::{Core, Reduction};
use std::collections::HashSet;

/// Cuts an execution whose happens-before graph was met before.
#[derive(Default)]
pub(crate) struct HbCache {
    seen: HashSet<u64>,
    /// The name of the graph after each event of the execution at hand.
    names: Vec<u64>,
}

impl Reduction for HbCache {
    fn sleeps(&self) -> bool {
        false
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let n = core.nodes.last_mut()?;
        n.backtrack = view.enabled;
        Core::default_thread(view, view.enabled)
    }

    fn ran(&mut self, core: &mut Core, f: usize) {
        self.names.truncate(f);
        let before = self.names.last().copied().unwrap_or(0);
        let name = before.wrapping_add(core.trace.event_hash(f));
        self.names.push(name);
        core.prune = !self.seen.insert(name);
    }
}
