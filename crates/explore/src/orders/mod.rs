//! Which executions come first, one file each. Depth-first is [`crate::search`] itself.

use crate::budget::Meter;
use crate::plan::{BadPlan, Plan};
use crate::search::Progress;
use std::fmt;
use std::str::FromStr;

/// Which executions come first.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// One branch to its end, then the nearest other one.
    #[default]
    DepthFirst,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::DepthFirst => f.write_str("depth-first"),
        }
    }
}

impl FromStr for Order {
    type Err = BadPlan;

    fn from_str(s: &str) -> Result<Order, BadPlan> {
        match s {
            "depth-first" => Ok(Order::DepthFirst),
            _ => Err(BadPlan(format!("there is no order `{s}`; there are: depth-first"))),
        }
    }
}

/// A search in an order other than depth-first.
pub(crate) fn build(order: &Order, _plan: &Plan, _meter: Meter) -> Result<Box<dyn Progress>, BadPlan> {
    Err(BadPlan(format!("`{order}` is the order of every algorithm already")))
}
