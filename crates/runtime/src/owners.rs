//! Destructors with steps that an `Arc` of std's runs.
//!
//! The thread that drops the last reference runs the destructor. raddle's `Arc` takes a step for each drop, so the search explores which
//! thread is the last. An `Arc` of std's takes none: the next operation of a thread then depends on what another thread has done unseen,
//! and the reductions of the search, for which a thread's next operation depends on its own past alone, may leave schedules out. Such a test
//! is deterministic under each schedule, but not explored completely. So it is a caveat, and an execution that strays from what the
//! search expects is not reported as a failure.
//!
//! Destructors are found by the functions on the stack of a step. To walk a stack is expensive, so some executions of a check are looked
//! at, and in those each place at each depth of the stack is looked at once in a process.

use crate::execution::Execution;
use crate::record::place_of;
use crate::{Place, callers, context};
use explore::{CaveatKind, Site};
use std::cell::Cell;

/// What is known in one check.
#[derive(Default)]
pub(crate) struct Owners {
    /// The executions so far.
    executions: u32,
    /// Every execution is looked at.
    pub(crate) always: bool,
    /// The steps of this execution are looked at.
    pub(crate) watching: bool,
    /// A destructor that an `Arc` of std's ran has taken a step while there were other threads.
    pub(crate) of_std: bool,
}

impl Owners {
    /// Another execution starts.
    pub(crate) fn reset(&mut self) {
        const LAST: u32 = 256;
        self.executions = self.executions.saturating_add(1);
        let selected = self.executions <= LAST && self.executions.is_power_of_two();
        self.watching = (self.always || selected) && !self.of_std;
    }
}

/// The text of the caveat.
const TEXT: &str = "a std `Arc` runs a destructor that takes steps: which thread drops its last reference is not explored (use raddle's \
                    `Arc`)";

/// How many steps are remembered that are not in such a destructor.
const REMEMBERED: usize = 256;

thread_local! {
    /// The places and depths of these steps, each at the index that they give: a step that displaced another one is only looked at again.
    static OTHERS: [Cell<(usize, usize)>; REMEMBERED] = const { [const { Cell::new((0, 0)) }; REMEMBERED] };
}

/// Looks at a step that is about to be announced.
#[cold]
pub(crate) fn look(ex: &mut Execution, site: Site) {
    if ex.unjoined == 0 || !ex.in_fiber {
        return;
    }
    let marker = 0u8;
    let thread = &ex.threads[ex.current.index()];
    let depth = thread.frames_end.wrapping_sub(std::ptr::from_ref(&marker) as usize);
    let place = place_of(site).unwrap_or(Place(0));
    let key = (place.0, depth);
    let index = (place.0 >> 3 ^ depth >> 4) % REMEMBERED;
    if OTHERS.with(|o| o[index].get() == key) {
        return;
    }
    if callers::in_arc_of_std(thread.arc_drops) {
        ex.owners.of_std = true;
        ex.owners.watching = false;
        ex.caveats.note_at(CaveatKind::ForeignTypes, TEXT, place);
    } else {
        OTHERS.with(|o| o[index].set(key));
    }
}

/// An `Arc` of ours is about to drop its value, in a function of std's `Arc`, or has dropped it.
pub fn arc_drops_value(begins: bool) {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if !ex.is_null() && (*ex).in_fiber {
            let drops = &mut (&mut (*ex).threads)[(*ex).current.index()].arc_drops;
            *drops = if begins { *drops + 1 } else { drops.saturating_sub(1) };
        }
    }
}
