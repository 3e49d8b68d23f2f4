//! Depth: how many steps an execution has (Coons 2013, definition 2.7).
//!
//! Equivalent executions have the same length, so it is stable. It is not extensible: a step of one thread, however
//! independent, takes the room of another.

use super::Measure;
use crate::explorer::View;
use crate::ids::ThreadId;
use crate::search::Core;

/// Counts steps.
pub(crate) struct Depth;

impl Measure for Depth {
    fn enter(&mut self, _core: &Core, _view: &View<'_>) {}

    fn value(&self, core: &Core) -> u32 {
        core.trace.len() as u32
    }

    fn with(&mut self, core: &Core, _view: &View<'_>, _t: ThreadId) -> u32 {
        core.trace.len() as u32 + 1
    }
}
