//! What a search is made of: an algorithm, bounds, an order.

use crate::algorithms::{Algorithm, UnknownAlgorithm, algorithm};
use crate::bounds::Optimisations;
use crate::budget::Meter;
use crate::orders::{Names, Order, Spill};
use crate::search::Progress;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// What is counted and limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoundKind {
    /// Steps of an execution.
    Depth,
    /// Changes of the running thread.
    Contexts,
    /// Changes of the running thread while it could have gone on.
    Preemptions,
    /// Enabled threads that are passed over on the ring.
    Delta,
    /// Times that the thread a round-robin scheduler would take is put off (Emmi et al.).
    Delays,
    /// By how many yields a thread may be ahead of another one that could run.
    Fair,
    /// Steps that happen before a step of one thread.
    LocalDepth,
    /// Changes of the running thread that one thread can have seen.
    LocalContexts,
    /// Times that each thread gets to run.
    ThreadContexts,
}

/// The names of bounds, each with what it counts, one and many.
const KINDS: &[(BoundKind, &str, &str, &str)] = &[
    (BoundKind::Depth, "depth", "step", "steps"),
    (BoundKind::Contexts, "contexts", "context switch", "context switches"),
    (BoundKind::Preemptions, "preemptions", "preemption", "preemptions"),
    (BoundKind::Delta, "delta", "thread passed over", "threads passed over"),
    (BoundKind::Delays, "delays", "delay", "delays"),
    (BoundKind::Fair, "fair", "yield ahead", "yields ahead"),
    (
        BoundKind::LocalDepth,
        "local-depth",
        "step that a thread can have seen",
        "steps that a thread can have seen",
    ),
    (
        BoundKind::LocalContexts,
        "local-contexts",
        "context switch that a thread can have seen",
        "context switches that a thread can have seen",
    ),
    (BoundKind::ThreadContexts, "thread-contexts", "context of each thread", "contexts of each thread"),
];

impl BoundKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = BoundKind> {
        KINDS.iter().map(|k| k.0)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// So many of what it counts: `2 preemptions`.
    pub fn say(self, n: u32) -> String {
        let (_, _, one, many) = self.entry();
        format!("{n} {}", if n == 1 { one } else { many })
    }

    fn entry(self) -> &'static (BoundKind, &'static str, &'static str, &'static str) {
        KINDS.iter().find(|k| k.0 == self).unwrap_or(&KINDS[0])
    }
}

/// A bound: what is counted, and how far. `preemptions=2` is one search within two preemptions; `preemptions=0..` is a search
/// within none, then one, and so on; `preemptions=0..3` stops after two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is counted.
    pub kind: BoundKind,
    /// The first bound to search within.
    pub first: u32,
    /// The last one; `None` goes on until nothing is cut.
    pub last: Option<u32>,
}

impl Limit {
    /// One bound.
    pub fn at(kind: BoundKind, n: u32) -> Limit {
        Limit { kind, first: n, last: Some(n) }
    }

    /// Whether there is more than one bound to search within.
    pub fn is_iterative(&self) -> bool {
        self.last != Some(self.first)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.kind.name(), self.first)?;
        match self.last {
            Some(last) if last == self.first => Ok(()),
            Some(last) => write!(f, "..{}", last + 1),
            None => f.write_str(".."),
        }
    }
}

impl FromStr for Limit {
    type Err = BadPlan;

    /// ```
    /// let limit: explore::Limit = "preemptions=0..".parse().unwrap();
    /// assert!(limit.is_iterative());
    /// assert_eq!(limit.to_string(), "preemptions=0..");
    /// assert!("preempt=2".parse::<explore::Limit>().is_err());
    /// ```
    fn from_str(s: &str) -> Result<Limit, BadPlan> {
        let bad = |why: String| BadPlan(format!("`{s}` is not a bound: {why}"));
        let kinds = || KINDS.iter().map(|k| k.1).collect::<Vec<_>>().join(", ");
        let (name, at) = s
            .split_once('=')
            .ok_or_else(|| bad(format!("say KIND=N, as in preemptions=2; the kinds are {}", kinds())))?;
        let kind = KINDS.iter().find(|k| k.1 == name.trim()).map(|k| k.0);
        let kind = kind.ok_or_else(|| bad(format!("the kinds are {}", kinds())))?;
        let number = |n: &str| {
            n.trim().parse::<u32>().map_err(|_| bad(format!("`{n}` is not a number; say N, N.. or N..M")))
        };
        match at.split_once("..") {
            None => Ok(Limit::at(kind, number(at)?)),
            Some((first, "")) => Ok(Limit { kind, first: number(first)?, last: None }),
            Some((first, end)) => {
                let (first, end) = (number(first)?, number(end.trim_start_matches('='))?);
                let last = if at.contains("..=") { Some(end) } else { end.checked_sub(1) };
                match last {
                    Some(last) if last >= first => Ok(Limit { kind, first, last: Some(last) }),
                    _ => Err(bad("there is nothing between the two numbers".into())),
                }
            }
        }
    }
}

/// A search that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BadPlan(pub String);

impl From<UnknownAlgorithm> for BadPlan {
    fn from(e: UnknownAlgorithm) -> Self {
        BadPlan(e.to_string())
    }
}

/// What a search is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The algorithm; `None` takes the one that suits the rest.
    pub algorithm: Option<&'static Algorithm>,
    /// Every execution must be within all of these. At most one may be iterative.
    pub bounds: Vec<Limit>,
    /// Which optimisations `bpor` uses.
    pub optimisations: Optimisations,
    /// `source` counts as dependency checks what it would ask if it kept no clocks: the numbers of Metzler (2020) for SDPOR. That takes
    /// longer, and changes nothing else.
    pub pairwise: bool,
    /// Which executions come first.
    pub order: Order,
    /// What random choices start from.
    pub seed: u64,
    /// What places and objects are called, for priorities that go by names.
    pub names: Option<Arc<dyn Names>>,
    /// How many open executions a best-first search keeps in memory, if there is somewhere else to keep the others.
    pub fringe_limit: usize,
    /// Where it keeps the others.
    pub spill: Option<Arc<dyn Spill>>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            algorithm: None,
            bounds: Vec::new(),
            optimisations: Optimisations::ALL,
            pairwise: false,
            order: Order::DepthFirst,
            seed: 1,
            names: None,
            fringe_limit: 1_000_000,
            spill: None,
        }
    }
}

impl Plan {
    /// A plan with an algorithm and nothing else.
    pub fn of(name: &str) -> Result<Plan, BadPlan> {
        Ok(Plan { algorithm: Some(algorithm(name)?), ..Plan::default() })
    }

    /// The algorithm that this plan uses.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm.unwrap_or_else(|| Algorithm::default_for(self))
    }

    /// The search. An error says which parts do not go together.
    pub fn search(&self, meter: Meter) -> Result<Box<dyn Progress>, BadPlan> {
        match &self.order {
            Order::DepthFirst => self.algorithm().build(self, meter),
            order if self.pairwise => {
                Err(BadPlan(format!("`{order}` does not count pair by pair: leave it out")))
            }
            order => crate::orders::build(order, self, meter),
        }
    }
}
