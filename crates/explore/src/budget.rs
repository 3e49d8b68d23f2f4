//! How much a search may spend.

/// Limits of a search; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Executions, complete or blocked.
    pub executions: Option<u64>,
    /// Seconds of wall time.
    pub seconds: Option<f64>,
    /// Steps of one execution; one that takes more is reported as a failure.
    pub steps: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { executions: None, seconds: None, steps: 100_000 }
    }
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
