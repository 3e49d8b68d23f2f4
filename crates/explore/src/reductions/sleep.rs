//! Sleep sets (Godefroid 1996) alone: every interleaving, but never one that only swaps independent steps of another.
//!
//! After a step was explored from a state it sleeps there, and in the states below until a dependent step runs; a
//! sleeping step is not taken. Every happens-before class keeps exactly one complete execution; the rest are cut when all
//! enabled threads sleep.

use crate::explorer::View;
use crate::ids::ThreadId;
use crate::search::{Core, Reduction};

/// All enabled threads, less those asleep.
pub(crate) struct SleepSets;

impl Reduction for SleepSets {
    fn sleeps(&self) -> bool {
        true
    }

    fn enter(&mut self, core: &mut Core, view: &View<'_>) -> Option<ThreadId> {
        let n = core.nodes.last_mut()?;
        n.backtrack = view.enabled;
        Core::default_thread(view, view.enabled.minus(&n.asleep))
    }
}
