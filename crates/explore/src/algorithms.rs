//! Every search by name: one table, one line each.

use crate::bounds::{Optimisations, iterative};
use crate::budget::Meter;
use crate::plan::{BadPlan, BoundKind, Limit, Plan};
use crate::reductions::dpor::Dpor;
use crate::reductions::dpor_per_thread::DporPerThread;
use crate::reductions::epor::Eager;
use crate::reductions::hb_cache::HbCache;
use crate::reductions::lazy::LazyBpor;
use crate::reductions::least::LeastRepresentative;
use crate::reductions::nidhugg::Nidhugg;
use crate::reductions::none::Everything;
use crate::reductions::optimal::Optimal;
use crate::reductions::pairwise::Pairwise;
use crate::reductions::sleep::SleepSets;
use crate::reductions::source::SourceSets;
use crate::search::{Progress, Reduction, Search};
use thiserror::Error;

/// Makes a search.
type Build = fn(&Plan, Meter) -> Result<Box<dyn Progress>, BadPlan>;

/// A search that users can name.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// Its name.
    pub name: &'static str,
    /// What a search that ran to its end promises.
    pub guarantee: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    build: Build,
}

impl std::fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Algorithm").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Algorithm {
    /// The one to use unless there is a reason not to.
    pub const DEFAULT: &'static str = "optimal";

    /// The one that suits a plan that names none.
    pub(crate) fn default_for(plan: &Plan) -> &'static Algorithm {
        // The one place that says which algorithm goes with which bounds.
        let bounded = !plan.bounds.is_empty();
        let usual = match plan.bounds[..] {
            [] => Self::DEFAULT,
            [limit] if limit.kind == BoundKind::Preemptions && !limit.is_iterative() => Self::DEFAULT,
            // Whoever asks for one limit after the other wants the low ones soon. `optimal` runs no class twice, but must go past
            // a limit by as many preemptions as there are threads but two before it can call it complete: of the ten seeded
            // bugs it finds six within 100,000 executions, and `bpor` seven; the five that both find, after a tenth of the
            // executions or less.
            _ => "bpor",
        };
        let name = plan.order.suits(bounded).unwrap_or(usual);
        TABLE.iter().find(|a| a.name == name).unwrap_or(&TABLE[0])
    }

    /// A search of this kind, within the bounds of the plan.
    pub(crate) fn build(&self, plan: &Plan, meter: Meter) -> Result<Box<dyn Progress>, BadPlan> {
        if self.name != "bpor" && plan.optimisations != Optimisations::ALL {
            let (name, on) = (self.name, plan.optimisations);
            let why = format!(
                "`{name}` has no optimisations to choose `{on}` from: leave them out, or take `bpor`"
            );
            return Err(BadPlan(why));
        }
        if self.name != "source" && plan.pairwise {
            let name = self.name;
            return Err(BadPlan(format!("`{name}` does not count pair by pair: take `source`")));
        }
        (self.build)(plan, meter)
    }
}

const COMPLETE: &str = "complete: every happens-before class";
const WITHIN: &str = "complete for preemptions=K: every happens-before class that has an execution within it";
const MORE_THAN_WITHIN: &str = "complete for preemptions=K, and more: every happens-before class that has an execution within it, some that have none";

macro_rules! table {
    ($($name:literal, $guarantee:expr, $source:literal, $summary:literal, $($build:expr)? $(=> $within:ident($make:path))?;)* with $($more:expr),*) => {
        &[$($more,)* $(Algorithm {
            name: $name,
            guarantee: $guarantee,
            source: $source,
            summary: $summary,
            build: |plan, meter| {
                $(
                    no_bounds($name, plan)?;
                    Ok(Box::new(Search::new(|| $build, meter)))
                )?
                $($within($name, plan, meter, $make))?
            },
        }),*]
    };
}

static TABLE: &[Algorithm] = table! {
    "optimal", "complete: every happens-before class exactly once", "Abdulla et al., POPL 2014",
        "wakeup trees: one execution for each class, also within preemptions=K", => perhaps_within(Optimal::within);
    "source", COMPLETE, "Abdulla et al., POPL 2014",
        "source sets and sleep sets: no class completed twice, some executions cut", => perhaps_pairwise(SourceSets::default);
    "dpor", COMPLETE, "Flanagan, Godefroid, POPL 2005",
        "persistent sets from the last dependent event, with sleep sets", Dpor::new(true);
    "dpor-no-sleep", COMPLETE, "Flanagan, Godefroid, POPL 2005",
        "the same without sleep sets: classes may repeat", Dpor::new(false);
    "dpor-per-thread", COMPLETE, "Coons, 2013, algorithm 7",
        "backtracks to the last dependent event of each thread: the base of bounded search", DporPerThread;
    "epor", COMPLETE, "Metzler, 2020, algorithm 1, repaired",
        "all orders of steps that no value decides at once, source sets between such sections", Eager::new(false);
    "epor-sh", COMPLETE, "Metzler, 2020, section 3.3",
        "the same with short sections: at most one step of each thread in conflict", Eager::new(true);
    "nidhugg-dpor", COMPLETE, "Sachinoglou, 2017, algorithm 5",
        "source-DPOR's loop with initials that lead to the race: persistent sets", Nidhugg::dpor();
    "naive-bpor", "nothing: executions within preemptions=K may be missed", "Sachinoglou, 2017, algorithm 6",
        "source sets, and steps over preemptions=K refused: shows why a bound must be made up for", => within(Nidhugg::naive);
    "nidhugg-bpor", WITHIN, "Sachinoglou, 2017, algorithm 8",
        "persistent sets within preemptions=K, with conservative branches at the start of blocks", => within(Nidhugg::bpor);
    "source-bpor", WITHIN, "Sachinoglou, 2017, algorithm 9",
        "source sets within preemptions=K, with conservative branches at the start of blocks", => within(Nidhugg::source_bpor);
    "lazy-bpor", "complete for preemptions=K: every happens-before class that has an execution within it, once",
        "Sachinoglou, 2017, algorithm 22",
        "source sets, and classes whose least number of preemptions is over preemptions=K cut", => within(LazyBpor::exact);
    "lazy-bpor-approx-1", MORE_THAN_WITHIN, "Sachinoglou, 2017, algorithm 20",
        "the same with a count that is lower: stretches of a thread that need a switch", => within(LazyBpor::approx_1);
    "lazy-bpor-approx-2", MORE_THAN_WITHIN, "Sachinoglou, 2017, algorithm 21",
        "the same with a count that is lower still: neighbouring steps that need a switch between", => within(LazyBpor::approx_2);
    "sleep", COMPLETE, "Godefroid, 1996",
        "sleep sets alone: one complete execution for each class, many cut", SleepSets;
    "least", COMPLETE, "Qadeer, lectures",
        "goes on only while the execution is the least of its class", LeastRepresentative;
    "hb-cache", "complete, unless two happens-before graphs share a 64-bit hash", "Qadeer, lectures; CHESS",
        "a cache of happens-before graphs: each is extended once; memory grows with their number", HbCache::default();
    "none", "complete: every interleaving", "-",
        "no reduction, within any bounds: the oracle of all the others", => within_any(Everything::new);
    with BPOR, BPOR_BASE
};

const BPOR: Algorithm = Algorithm {
    name: "bpor",
    guarantee: "complete within the bounds: every local state and every terminal state of an execution that is within them",
    source: "Coons, Musuvathi, McKinley, OOPSLA 2013",
    summary: "persistent sets within any bounds, with the points that the bounds call for; delays go by the rules of delta, \
        contexts of each thread by those of contexts, and bounds that have no rules of their own together by those of depth",
    build: |plan, meter| iterative::search("bpor", plan, meter),
};

const BPOR_BASE: Algorithm = Algorithm {
    name: "bpor-base",
    summary: "the same with none of its optimisations",
    build: |plan, meter| iterative::search("bpor-base", plan, meter),
    ..BPOR
};

/// For algorithms that know no bounds.
fn no_bounds(name: &str, plan: &Plan) -> Result<(), BadPlan> {
    match plan.bounds.first() {
        None => Ok(()),
        Some(b) => Err(BadPlan(format!(
            "`{name}` does not search within a bound: leave `{b}` out, or take `bpor` or `none`"
        ))),
    }
}

/// For source sets, which may be counted pair by pair.
fn perhaps_pairwise(
    name: &str,
    plan: &Plan,
    meter: Meter,
    make: fn() -> SourceSets,
) -> Result<Box<dyn Progress>, BadPlan> {
    no_bounds(name, plan)?;
    Ok(if plan.pairwise {
        Box::new(Search::new(Pairwise::default, meter))
    } else {
        Box::new(Search::new(make, meter))
    })
}

/// For algorithms that know every bound, and search without one too.
fn within_any<R: Reduction + 'static>(
    name: &str,
    plan: &Plan,
    meter: Meter,
    make: fn() -> R,
) -> Result<Box<dyn Progress>, BadPlan> {
    match plan.bounds[..] {
        [] => Ok(Box::new(Search::new(make, meter))),
        _ => iterative::search(name, plan, meter),
    }
}

/// For algorithms that count preemptions, or do not.
fn perhaps_within<R: Reduction + 'static>(
    name: &str,
    plan: &Plan,
    meter: Meter,
    make: fn(Option<u32>) -> R,
) -> Result<Box<dyn Progress>, BadPlan> {
    if is_range(plan) {
        return iterative::preemptions(name, plan, meter);
    }
    let limit = preemptions(name, plan)?;
    Ok(Box::new(Search::new(move || make(limit), meter)))
}

/// For algorithms that always count preemptions.
fn within<R: Reduction + 'static>(
    name: &str,
    plan: &Plan,
    meter: Meter,
    make: fn(u32) -> R,
) -> Result<Box<dyn Progress>, BadPlan> {
    if is_range(plan) {
        return iterative::preemptions(name, plan, meter);
    }
    let limit = preemptions(name, plan)?
        .ok_or_else(|| BadPlan(format!("`{name}` searches within a bound: give one, as in preemptions=2")))?;
    Ok(Box::new(Search::new(move || make(limit), meter)))
}

/// Whether the plan has one limit on preemptions after the other, and no other bound.
fn is_range(plan: &Plan) -> bool {
    matches!(plan.bounds[..], [limit] if limit.kind == BoundKind::Preemptions && limit.is_iterative())
}

/// How many preemptions a plan allows, if it says so and bounds nothing else.
fn preemptions(name: &str, plan: &Plan) -> Result<Option<u32>, BadPlan> {
    match plan.bounds[..] {
        [] => Ok(None),
        [limit] if limit.kind == BoundKind::Preemptions => Ok(Some(limit.first)),
        _ => {
            let bounds: Vec<_> = plan.bounds.iter().map(Limit::to_string).collect();
            let bounds = bounds.join(" ");
            Err(BadPlan(format!("`{name}` searches within preemptions=K alone, not within `{bounds}`")))
        }
    }
}

/// Every algorithm.
pub fn algorithms() -> &'static [Algorithm] {
    TABLE
}

/// No algorithm has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no algorithm `{name}`; there are: {known}")]
pub struct UnknownAlgorithm {
    /// The name that was asked for.
    pub name: String,
    known: String,
}

/// The algorithm with this name.
///
/// ```
/// assert_eq!(explore::algorithm("source").unwrap().name, "source");
/// assert!(explore::algorithm("sauce").unwrap_err().to_string().contains("source"));
/// ```
pub fn algorithm(name: &str) -> Result<&'static Algorithm, UnknownAlgorithm> {
    TABLE.iter().find(|a| a.name == name).ok_or_else(|| UnknownAlgorithm {
        name: name.to_owned(),
        known: TABLE.iter().map(|a| a.name).collect::<Vec<_>>().join(", "),
    })
}
