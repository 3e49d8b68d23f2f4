//! Contexts: how often the running thread changes, for whatever reason (Coons 2013, definition 2.8).

use super::{Measure, last_thread};
use crate::explorer::View;
use crate::ids::ThreadId;
use crate::search::Core;

/// Counts changes of the running thread. Holds the count at each node.
#[derive(Default)]
pub(crate) struct Contexts {
    at: Vec<u32>,
}

impl Measure for Contexts {
    fn enter(&mut self, core: &Core, _view: &View<'_>) {
        let i = core.trace.len();
        self.at.truncate(i);
        let value = i.checked_sub(1).map_or(0, |k| {
            self.at[k] + last_thread(core, k).is_some_and(|t| t != core.trace.event(k).thread) as u32
        });
        self.at.push(value);
    }

    fn value(&self, core: &Core) -> u32 {
        self.at[core.trace.len()]
    }

    fn with(&mut self, core: &Core, _view: &View<'_>, t: ThreadId) -> u32 {
        let i = core.trace.len();
        self.at[i] + last_thread(core, i).is_some_and(|last| last != t) as u32
    }
}
