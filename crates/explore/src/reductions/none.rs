//! No reduction: every interleaving, the oracle of all the others.

use crate::explorer::View;
use crate::ids::ThreadId;
use crate::search::{Core, Reduction};

/// Explores every enabled thread from every state.
pub(crate) struct Everything;

impl Everything {
    pub(crate) fn new() -> Everything {
        Everything
    }
}

impl Reduction for Everything {
    fn sleeps(&self) -> bool {
        false
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let n = core.nodes.last_mut()?;
        n.backtrack = view.enabled;
        Core::default_thread(view, view.enabled)
    }
}
