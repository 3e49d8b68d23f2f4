//! How much a search may spend.

/// Limits of a search; `None` is no limit. How many steps one execution may take is for the front end that runs it to limit.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Budget {
    /// Executions, complete or blocked.
    pub executions: Option<u64>,
    /// Seconds of wall time.
    pub seconds: Option<f64>,
}

/// Which limit ended a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spent {
    /// So many executions.
    Executions(u64),
    /// So many seconds.
    Seconds(f64),
}

/// Counts against a [`Budget`]. The clock is handed in: nothing here reads it.
pub struct Meter {
    budget: Budget,
    clock: Box<dyn Fn() -> f64>,
    runs: u64,
    spent: Option<Spent>,
}

impl Meter {
    /// How often the clock is read: once in this many executions.
    const CLOCK_EVERY: u64 = 64;

    /// A meter with a clock that gives the seconds since the search began.
    pub fn new(budget: Budget, clock: Box<dyn Fn() -> f64>) -> Meter {
        Meter { budget, clock, runs: 0, spent: None }
    }

    /// A meter that never runs out.
    pub fn unlimited() -> Meter {
        Meter::new(Budget::default(), Box::new(|| 0.0))
    }

    /// Whether there is no limit at all.
    pub fn is_unlimited(&self) -> bool {
        self.budget == Budget::default()
    }

    /// Counts one execution; says whether another one may follow.
    pub fn another(&mut self) -> bool {
        self.runs += 1;
        if let Some(n) = self.budget.executions.filter(|n| self.runs >= *n) {
            self.spent = Some(Spent::Executions(n));
        } else if let Some(s) = self.budget.seconds
            && (self.runs % Self::CLOCK_EVERY == 1 || self.runs < Self::CLOCK_EVERY)
            && (self.clock)() >= s
        {
            self.spent = Some(Spent::Seconds(s));
        }
        self.spent.is_none()
    }

    /// Which limit was reached.
    pub fn spent(&self) -> Option<Spent> {
        self.spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    #[test]
    fn executions_are_counted() {
        let mut m = Meter::new(Budget { executions: Some(3), seconds: None }, Box::new(|| 0.0));
        assert_eq!([m.another(), m.another(), m.another()], [true, true, false]);
        assert_eq!(m.spent(), Some(Spent::Executions(3)));
    }

    #[test]
    fn time_is_looked_at_often_enough_and_not_at_each_execution() {
        let (now, looks) = (Rc::new(Cell::new(0.0)), Rc::new(Cell::new(0)));
        let clock = {
            let (now, looks) = (now.clone(), looks.clone());
            Box::new(move || {
                looks.set(looks.get() + 1);
                now.get()
            })
        };
        let mut m = Meter::new(Budget { executions: None, seconds: Some(1.0) }, clock);
        assert!((0..10_000).all(|_| m.another()));
        assert!(looks.get() < 300);
        now.set(1.5);
        assert!((0..64).any(|_| !m.another()));
        assert_eq!(m.spent(), Some(Spent::Seconds(1.0)));
    }
}
