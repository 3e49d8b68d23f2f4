//! How large the search may be: Knuth's estimator on the open tree.
//!
//! Each node of the stack splits its share of the tree evenly among the branches known there; the share of what is finished,
//! against the executions that took, gives the whole. Branches that later races will add are not known yet, so the number
//! is low at first; it is an estimate and is called one wherever it is shown.

use crate::search::{Core, Reduction};

pub(crate) fn total<R: Reduction>(core: &Core, reduction: &R, finished: bool) -> Option<f64> {
    let stats = &core.stats;
    let seen = (stats.executions + stats.blocked + stats.assumed + stats.pruned + stats.over_bound) as f64;
    if finished {
        return Some(seen);
    }
    let (mut share, mut explored) = (1.0, 0.0);
    for node in &core.nodes {
        let finished = (node.taken - 1) as f64;
        let known = finished + 1.0 + reduction.open(core, node) as f64;
        explored += share * finished / known;
        share /= known;
    }
    (explored > 0.0).then(|| (seen / explored).max(seen))
}
