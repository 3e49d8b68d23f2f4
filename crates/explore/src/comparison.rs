//! What several searches of one program gave, side by side, as data.

use crate::coverage::Coverage;
use crate::outcome::{FailureKind, Stats, Verdict};
use serde::{Deserialize, Serialize};

/// The first failure that a search met.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct FirstFailure {
    /// What went wrong.
    pub kind: FailureKind,
    /// In words.
    pub message: String,
    /// In which execution, from 1; those that were cut are counted too.
    pub after: u64,
    /// The token that runs it again.
    pub replay: String,
}

/// What one search gave.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Compared {
    /// The plan, as text: `bpor@preemptions=2/best-first=random`.
    pub plan: String,
    /// The algorithm, by name.
    pub algorithm: String,
    /// The bounds, if there are any.
    pub bound: Option<String>,
    /// The order.
    pub order: String,
    /// What random choices started from.
    pub seed: u64,
    /// In one word.
    pub verdict: Verdict,
    /// What the result covers, in a sentence.
    pub guarantee: String,
    /// The numbers.
    #[serde(flatten)]
    pub stats: Stats,
    /// All executions: complete, blocked, over the bound.
    pub runs: u64,
    /// CPU time of the search alone, without what counting classes costs.
    pub cpu_seconds: f64,
    /// The first failure.
    pub failure: Option<FirstFailure>,
    /// What it saw, if that was counted.
    pub coverage: Option<Coverage>,
    /// How many states of the whole program it reached, if it is a search of states.
    #[serde(default)]
    pub reached: Option<u64>,
}

/// A plan that could not be run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LeftOut {
    /// The plan, as text.
    pub plan: String,
    /// Why.
    pub why: String,
}

/// What several searches of one program gave.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, Serialize)]
pub struct Comparison {
    /// What was searched, if that has a name.
    pub program: Option<String>,
    /// One row for each plan, in their order.
    pub rows: Vec<Compared>,
    /// Plans whose parts do not go together.
    pub left_out: Vec<LeftOut>,
}
