//! Plans as text: `algorithm@bound@bound/order#seed`, where all but one part may be left out.

use crate::algorithms::algorithm;
use crate::orders::Order;
use crate::plan::{BadPlan, Plan};
use std::fmt;
use std::str::FromStr;

impl FromStr for Plan {
    type Err = BadPlan;

    /// An algorithm, then bounds, an order and a seed, each after its sign. An order alone takes the algorithm that suits it.
    ///
    /// ```
    /// let plan: explore::Plan = "optimal/depth-first#7".parse().unwrap();
    /// assert_eq!((plan.algorithm().name, plan.seed), ("optimal", 7));
    /// assert_eq!(plan.to_string(), "optimal#7");
    /// assert!("optimal@lemons=2".parse::<explore::Plan>().unwrap_err().to_string().contains("preemptions"));
    /// ```
    fn from_str(s: &str) -> Result<Plan, BadPlan> {
        let mut plan = Plan::default();
        let (rest, seed) = s.trim().split_once('#').map_or((s.trim(), None), |(r, n)| (r, Some(n)));
        if let Some(n) = seed {
            plan.seed = n
                .trim()
                .parse()
                .map_err(|_| BadPlan(format!("`{n}` is not a seed: say a number, as in `{rest}#1`")))?;
        }
        let (rest, order) = rest.split_once('/').map_or((rest, None), |(r, o)| (r, Some(o)));
        let mut parts = rest.split('@');
        let head = parts.next().unwrap_or("").trim();
        plan.bounds = parts.map(|b| b.trim().parse()).collect::<Result<_, _>>()?;
        if let Some(order) = order {
            plan.order = order.trim().parse()?;
        }
        match algorithm(head) {
            Ok(a) => plan.algorithm = Some(a),
            Err(_) if head.is_empty() && (order.is_some() || !plan.bounds.is_empty()) => {}
            Err(unknown) => match head.parse() {
                Ok(found) if order.is_none() => plan.order = found,
                Ok(_) => return Err(unknown.into()),
                Err(BadPlan(no_order)) => return Err(BadPlan(format!("{unknown}. And {no_order}"))),
            },
        }
        Ok(plan)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deep = self.order == Order::DepthFirst;
        match self.algorithm {
            None if !deep => write!(f, "{}", self.order)?,
            _ => f.write_str(self.algorithm().name)?,
        }
        self.bounds.iter().try_for_each(|b| write!(f, "@{b}"))?;
        if self.algorithm.is_some() && !deep {
            write!(f, "/{}", self.order)?;
        }
        if self.seed != Plan::default().seed { write!(f, "#{}", self.seed) } else { Ok(()) }
    }
}

impl Plan {
    /// Several plans with commas or spaces between them.
    ///
    /// ```
    /// let plans = explore::Plan::list("optimal, dpor none").unwrap();
    /// assert_eq!(plans.iter().map(|p| p.algorithm().name).collect::<Vec<_>>(), ["optimal", "dpor", "none"]);
    /// assert!(explore::Plan::list("optimal, sauce").is_err());
    /// ```
    pub fn list(text: &str) -> Result<Vec<Plan>, BadPlan> {
        let apart = |c: char| c == ',' || c == ';' || c.is_whitespace();
        text.split(apart).filter(|s| !s.is_empty()).map(str::parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::algorithms;

    #[test]
    fn a_plan_reads_back_as_it_was_written() {
        for a in algorithms() {
            for rest in ["", "@preemptions=2", "@preemptions=0..", "@preemptions=0..3@fair=1", "#9"] {
                let text = format!("{}{rest}", a.name);
                let plan: Plan = text.parse().unwrap();
                assert_eq!(plan.algorithm().name, a.name);
                assert_eq!(plan.to_string(), text);
            }
        }
    }

    #[test]
    fn a_part_that_is_wrong_is_named() {
        for (text, says) in [
            ("", "there is no algorithm ``"),
            ("sauce", "there is no algorithm `sauce`"),
            ("optimal/sideways", "no order `sideways`"),
            ("optimal@2", "say KIND=N"),
            ("optimal#x", "`x` is not a seed"),
            ("depth-first/depth-first", "no algorithm `depth-first`"),
        ] {
            let error = text.parse::<Plan>().map(|p| p.to_string()).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn an_order_or_a_bound_alone_is_a_plan() {
        let plan: Plan = "depth-first".parse().unwrap();
        assert!(plan.algorithm.is_none());
        let plan: Plan = "@preemptions=1".parse().unwrap();
        assert_eq!((plan.algorithm.is_none(), plan.bounds.len()), (true, 1));
    }
}
