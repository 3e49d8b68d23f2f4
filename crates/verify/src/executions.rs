//! The executions of a program under a search of `crates/explore`, one after the other.

use explore::{Meter, Plan};
use model::{Execution, Program, Runner};
use std::time::Instant;

/// How far a search may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub(crate) executions: u64,
    pub(crate) seconds: f64,
    /// An execution is cut after so many steps.
    pub(crate) longest: usize,
}

/// How many executions there were, and whether they were all there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) executions: u64,
    pub(crate) all: bool,
}

/// Shows one execution of each class to `see`, which says whether to go on.
pub(crate) fn each(
    p: &Program,
    reach: Reach,
    see: &mut dyn FnMut(&Execution<'_>) -> bool,
) -> Result<Seen, String> {
    let mut runner = Runner::new(p).map_err(|e| e.to_string())?;
    runner.longest = reach.longest;
    // A loop around a wait may go round for ever by waking up for no reason: once shows what that does.
    runner.most_spurious = 1;
    let plan = Plan::of("optimal").map_err(|e| e.to_string())?;
    let mut search = plan.search(Meter::unlimited()).map_err(|e| e.to_string())?;
    let start = Instant::now();
    let mut all = runner.executions();
    let (mut executions, mut cut) = (0, false);
    loop {
        let done = all.next(&mut *search).map_err(|e| e.to_string())?;
        executions += 1;
        cut |= done.end == explore::End::Cut || done.limited;
        if !see(&done) {
            return Ok(Seen { executions, all: false });
        }
        if !done.again {
            return Ok(Seen { executions, all: search.finished() && !cut });
        }
        if executions >= reach.executions || start.elapsed().as_secs_f64() > reach.seconds {
            return Ok(Seen { executions, all: false });
        }
    }
}
