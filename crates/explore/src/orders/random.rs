//! A random walk: each step one of the enabled threads, all equally likely.
//!
//! Simple, and biased: an interleaving that follows a thread while others have little left to do is drawn far more
//! often than one in the middle. `urw` is meant to mend that.

use super::rng::Rng;
use super::sampling::Policy;
use crate::explorer::View;
use crate::ids::{ThreadId, ThreadSet};

/// Picks uniformly.
pub(crate) struct Walk;

/// One of these threads; there is at least one.
pub(crate) fn any_of(threads: &ThreadSet, rng: &mut Rng) -> ThreadId {
    let k = rng.below(threads.len() as u64) as usize;
    threads.iter().nth(k).unwrap_or(ThreadId::MAIN)
}

impl Policy for Walk {
    fn pick(&mut self, view: &View<'_>, rng: &mut Rng) -> ThreadId {
        any_of(&view.enabled, rng)
    }

    fn says(&self, _executions: u64) -> String {
        "a random walk: each step any enabled thread; what was not drawn is not known".into()
    }

    fn forget(&mut self) {}
}
