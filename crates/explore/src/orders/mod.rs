//! Which executions come first, one file each. Depth-first is [`crate::search`] itself.
//!
//! Best-first search (`best_first.rs`, on the tree of `tree.rs`) is as complete as the search it orders. The sampling
//! orders (`random.rs`, `urw.rs`, `pct.rs`, `pos.rs`, driven by `sampling.rs`) draw one execution after the other and
//! promise nothing but what they say of themselves. `portfolio.rs` shares a budget out among both kinds.

mod best_first;
mod names;
mod pct;
mod portfolio;
mod pos;
mod random;
mod rng;
mod sampling;
mod spill;
mod tree;
mod urw;

pub use best_first::BestFirst;
pub use names::Names;
pub use spill::{MemorySpill, Spill};
pub use tree::Delta;

use crate::budget::Meter;
use crate::op::{Access, Mode, Op, OpKind};
use crate::plan::{BadPlan, Plan};
use crate::schedule::Schedule;
use crate::search::Progress;
use crate::trace::{Trace, strongest};
use portfolio::Portfolio;
use sampling::Sampler;
use std::fmt;
use std::str::FromStr;

/// Which executions come first.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// One branch to its end, then the nearest other one.
    #[default]
    DepthFirst,
    /// The best of all known alternatives, by these priorities, the first of which weighs most.
    BestFirst(Vec<Priority>),
    /// Best-first by a random number for each alternative.
    RandomCoverage,
    /// At each step one of the enabled threads, all equally likely.
    Random,
    /// At each step one of the enabled threads, as likely as it has steps left: a uniform random walk.
    Urw,
    /// The enabled thread with the highest priority; priorities are random and change at this many random steps, less
    /// one.
    Pct(u32),
    /// The enabled thread whose step drew the highest number: partial order sampling.
    Pos,
    /// A bit of each of the random ones.
    Portfolio,
}

/// What a best-first search prefers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Priority {
    /// `preemptions`: alternatives that need fewer of them so far.
    Preemptions,
    /// `dpor`: alternatives in the backtrack set of their state.
    Dpor,
    /// `sleep`: alternatives that are not in the sleep set of their state.
    Sleep,
    /// `random`: any, by chance.
    Random,
    /// `method=NAME`: steps at a place whose text has NAME in it.
    Method(String),
    /// `variable=NAME`: steps on an object whose name has NAME in it.
    Variable(String),
}

impl Priority {
    /// Whether it goes by names that only a front end knows.
    pub fn needs_names(&self) -> bool {
        matches!(self, Priority::Method(_) | Priority::Variable(_))
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Priority::Preemptions => f.write_str("preemptions"),
            Priority::Dpor => f.write_str("dpor"),
            Priority::Sleep => f.write_str("sleep"),
            Priority::Random => f.write_str("random"),
            Priority::Method(name) => write!(f, "method={name}"),
            Priority::Variable(name) => write!(f, "variable={name}"),
        }
    }
}

const PRIORITIES: &str = "preemptions, dpor, sleep, random, method=NAME, variable=NAME";

impl FromStr for Priority {
    type Err = BadPlan;

    fn from_str(s: &str) -> Result<Priority, BadPlan> {
        match s.trim().split_once('=') {
            Some(("method", name)) if !name.is_empty() => Ok(Priority::Method(name.to_owned())),
            Some(("variable", name)) if !name.is_empty() => Ok(Priority::Variable(name.to_owned())),
            None if s.trim() == "preemptions" => Ok(Priority::Preemptions),
            None if s.trim() == "dpor" => Ok(Priority::Dpor),
            None if s.trim() == "sleep" => Ok(Priority::Sleep),
            None if s.trim() == "random" => Ok(Priority::Random),
            _ => Err(BadPlan(format!("`{}` is not a priority; there are: {PRIORITIES}", s.trim()))),
        }
    }
}

/// How deep a bug `pct` looks for unless told.
const PCT_DEPTH: u32 = 3;

impl Order {
    /// Whether it needs [`Plan::names`](crate::Plan::names).
    pub fn needs_names(&self) -> bool {
        matches!(self, Order::BestFirst(priorities) if priorities.iter().any(Priority::needs_names))
    }

    /// The name of the algorithm that suits this order where a plan names none.
    pub(crate) fn suits(&self, bounded: bool) -> Option<&'static str> {
        match self {
            Order::DepthFirst => None,
            Order::BestFirst(p) if bounded || p.contains(&Priority::Dpor) => Some("none"),
            Order::RandomCoverage if bounded => Some("none"),
            Order::BestFirst(_) | Order::RandomCoverage => Some("dpor-no-sleep"),
            Order::Random | Order::Urw | Order::Pct(_) | Order::Pos | Order::Portfolio => Some("none"),
        }
    }

    /// Whether executions are drawn, one after the other, and nothing is promised of the rest.
    pub fn is_sampling(&self) -> bool {
        matches!(self, Order::Random | Order::Urw | Order::Pct(_) | Order::Pos | Order::Portfolio)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::DepthFirst => f.write_str("depth-first"),
            Order::BestFirst(priorities) => {
                f.write_str("best-first")?;
                for (k, p) in priorities.iter().enumerate() {
                    write!(f, "{}{p}", if k == 0 { '=' } else { ',' })?;
                }
                Ok(())
            }
            Order::RandomCoverage => f.write_str("random-coverage"),
            Order::Random => f.write_str("random"),
            Order::Urw => f.write_str("urw"),
            Order::Pct(depth) => write!(f, "pct={depth}"),
            Order::Pos => f.write_str("pos"),
            Order::Portfolio => f.write_str("portfolio"),
        }
    }
}

impl FromStr for Order {
    type Err = BadPlan;

    /// ```
    /// use explore::{Order, Priority};
    /// let order: Order = "best-first=method=push,preemptions".parse().unwrap();
    /// assert_eq!(order, Order::BestFirst(vec![Priority::Method("push".into()), Priority::Preemptions]));
    /// assert_eq!("pct".parse(), Ok(Order::Pct(3)));
    /// assert!("best".parse::<Order>().unwrap_err().to_string().contains("best-first"));
    /// ```
    fn from_str(s: &str) -> Result<Order, BadPlan> {
        let s = s.trim();
        let (name, value) = s.split_once('=').map_or((s, None), |(name, value)| (name, Some(value)));
        let order = match (name, value) {
            ("best-first", None) => return Ok(Order::BestFirst(vec![Priority::Preemptions])),
            ("best-first", Some(list)) => {
                let priorities: Vec<Priority> = list
                    .split(',')
                    .map(str::parse)
                    .collect::<Result<_, _>>()
                    .map_err(|e: BadPlan| BadPlan(format!("`{s}` is not an order: {e}")))?;
                if priorities.len() > tree::MOST_PRIORITIES {
                    let most = tree::MOST_PRIORITIES;
                    return Err(BadPlan(format!(
                        "`{s}` is not an order: at most {most} priorities are combined"
                    )));
                }
                return Ok(Order::BestFirst(priorities));
            }
            ("pct", Some(depth)) => {
                let depth = depth.trim().parse().ok().filter(|d| (1..=100).contains(d));
                return depth.map(Order::Pct).ok_or_else(|| {
                    BadPlan(format!("`{s}` is not an order: say pct=D with a depth D from 1 to 100"))
                });
            }
            ("depth-first", None) => Order::DepthFirst,
            ("random-coverage", None) => Order::RandomCoverage,
            ("random", None) => Order::Random,
            ("urw", None) => Order::Urw,
            ("pct", None) => Order::Pct(PCT_DEPTH),
            ("pos", None) => Order::Pos,
            ("portfolio", None) => Order::Portfolio,
            _ => {
                let known: Vec<_> = orders().iter().map(|o| o.name).collect();
                return Err(BadPlan(format!(
                    "there is no order `{s}`; there are: {} (priorities: {PRIORITIES})",
                    known.join(", ")
                )));
            }
        };
        Ok(order)
    }
}

/// An order that users can name.
#[derive(Clone, Copy, Debug)]
pub struct OrderInfo {
    /// How it is written.
    pub name: &'static str,
    /// What a search in this order promises.
    pub guarantee: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
}

static ORDERS: &[OrderInfo] = &[
    OrderInfo {
        name: "depth-first",
        guarantee: "that of the algorithm",
        source: "-",
        summary: "one branch to its end, then the nearest other one",
    },
    OrderInfo {
        name: "best-first=P,..",
        guarantee: "complete once nothing is open",
        source: "Coons et al., PPoPP 2010",
        summary: "the best open execution by preemptions, dpor, sleep, random, method=NAME or variable=NAME; \
                  best-first alone is best-first=preemptions",
    },
    OrderInfo {
        name: "random-coverage",
        guarantee: "complete once nothing is open",
        source: "Coons et al., PPoPP 2010",
        summary: "any open execution by chance, none twice",
    },
    OrderInfo {
        name: "random",
        guarantee: "none: a sample",
        source: "-",
        summary: "each step a uniformly random enabled thread",
    },
    OrderInfo {
        name: "urw",
        guarantee: "none: a sample, about uniform over interleavings",
        source: "Zhao et al., ASPLOS 2025",
        summary: "each step a thread as likely as it has steps left, by what earlier executions showed",
    },
    OrderInfo {
        name: "pct=D",
        guarantee: "each execution finds a bug of depth D with probability at least 1/(n k^(D-1))",
        source: "Burckhardt et al., ASPLOS 2010",
        summary: "random priorities of threads that change at D-1 random steps; pct alone is pct=3",
    },
    OrderInfo {
        name: "pos",
        guarantee: "none: a sample that spreads over happens-before classes",
        source: "Yuan, Yang, Gu, CAV 2018",
        summary: "random priorities of steps, drawn again for those that race with the step taken",
    },
    OrderInfo {
        name: "portfolio",
        guarantee: "none, unless its random-coverage part ends: then complete",
        source: "-",
        summary: "rounds of random, urw, pct, pos and random-coverage; more goes to those that find more",
    },
];

/// Every order.
///
/// ```
/// assert!(explore::orders().iter().any(|o| o.name == "pos"));
/// ```
pub fn orders() -> &'static [OrderInfo] {
    ORDERS
}

/// A search in an order other than depth-first.
pub(crate) fn build(order: &Order, plan: &Plan, meter: Meter) -> Result<Box<dyn Progress>, BadPlan> {
    if order.is_sampling() {
        if let Some(b) = plan.bounds.first() {
            return Err(BadPlan(format!("`{order}` draws executions without a bound: leave `{b}` out")));
        }
        if let Some(a) = plan.algorithm.filter(|a| a.name != "none") {
            return Err(BadPlan(format!(
                "`{order}` draws executions and leaves none out: it does not go with the algorithm `{}`",
                a.name
            )));
        }
    }
    Ok(match order {
        Order::DepthFirst => return plan.algorithm().build(plan, meter),
        Order::BestFirst(_) | Order::RandomCoverage => Box::new(BestFirst::new(plan, meter)?),
        Order::Random => Box::new(Sampler::new(random::Walk, plan.seed, meter)),
        Order::Urw => Box::new(Sampler::new(urw::Urw::default(), plan.seed, meter)),
        Order::Pct(depth) => Box::new(Sampler::new(pct::Pct::new(*depth), plan.seed, meter)),
        Order::Pos => Box::new(Sampler::new(pos::Pos::default(), plan.seed, meter)),
        Order::Portfolio => Box::new(Portfolio::new(plan, meter)?),
    })
}

/// Whether a step that has not been run may be in conflict with one that has.
fn may_conflict(op: &Op, ran: &Op, access: &Access) -> bool {
    let touched = |object, how: &Access| {
        let second = (ran.kind == OpKind::Wait).then(|| (ran.other, Access::new(Mode::Write)));
        let mut all = std::iter::once((ran.object, *access)).chain(second);
        all.any(|(o, a)| o == object && a.conflicts(0, how, 1))
    };
    // What an await waits on is not looked up: any change may be it.
    op.kind == OpKind::Await
        || (op.object.is_some() && touched(op.object, &strongest(op)))
        || (op.other.is_some() && touched(op.other, &Access::new(Mode::Write)))
}

/// The choices of the first `len` events of a trace.
fn schedule_of(trace: &Trace, len: usize) -> Schedule {
    let events = &trace.events()[..len.min(trace.len())];
    Schedule::new(
        events.iter().map(|e| e.thread).collect(),
        events.iter().filter(|e| e.options > 1).map(|e| e.option).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_reads_what_it_writes() {
        for text in [
            "depth-first",
            "best-first=preemptions",
            "best-first=method=src/a.rs:3,variable=atomic #2,preemptions,random",
            "best-first=dpor,sleep",
            "random-coverage",
            "random",
            "urw",
            "pct=7",
            "pos",
            "portfolio",
        ] {
            assert_eq!(text.parse::<Order>().unwrap().to_string(), text);
        }
        assert_eq!("best-first".parse::<Order>().unwrap().to_string(), "best-first=preemptions");
    }

    #[test]
    fn an_order_that_is_none_is_told_what_there_is() {
        let error = |text: &str| text.parse::<Order>().unwrap_err().to_string();
        for o in orders() {
            assert!(error("depth").contains(o.name), "{}", error("depth"));
        }
        assert!(error("best-first=fast").contains("`fast` is not a priority; there are: preemptions, dpor"));
        assert!(error("best-first=method=").contains("variable=NAME"));
        assert!(error("best-first=random,sleep,dpor,random,random").contains("at most 4"));
        assert!(error("pct=0").contains("from 1 to 100"));
        assert!(error("pos=2").contains("portfolio"));
    }

    #[test]
    fn parts_that_do_not_go_together_are_refused() {
        let plan = |algorithm: Option<&str>, order: &str, bounds: &[&str]| {
            let plan = Plan {
                algorithm: algorithm.map(|a| crate::algorithm(a).unwrap()),
                order: order.parse().unwrap(),
                bounds: bounds.iter().map(|b| b.parse().unwrap()).collect(),
                ..Plan::default()
            };
            plan.search(Meter::unlimited()).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(plan(None, "best-first", &[]), Ok(()));
        assert_eq!(plan(None, "best-first=dpor", &[]), Ok(()));
        assert_eq!(plan(Some("dpor-per-thread"), "best-first=sleep", &[]), Ok(()));
        assert_eq!(plan(Some("none"), "random-coverage", &["preemptions=2"]), Ok(()));
        assert_eq!(plan(Some("none"), "portfolio", &[]), Ok(()));
        for (algorithm, order, bounds, why) in [
            (Some("optimal"), "best-first", &[][..], "needs the depth-first order"),
            (Some("source"), "pos", &[], "does not go with the algorithm `source`"),
            (Some("dpor-no-sleep"), "best-first=dpor", &[], "tells nothing apart"),
            (Some("dpor-no-sleep"), "best-first", &["preemptions=1"], "every interleaving"),
            (None, "best-first", &["preemptions=0.."], "fewer preemptions first"),
            (None, "best-first", &["depth=3"], "leave `depth=3` out"),
            (None, "best-first", &["preemptions=1", "fair=2"], "leave `preemptions=1,fair=2` out"),
            (None, "random", &["preemptions=1"], "leave `preemptions=1` out"),
            (None, "best-first=method=push", &[], "set Plan::names"),
        ] {
            let error = plan(algorithm, order, bounds).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
