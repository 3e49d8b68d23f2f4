//! How much an engine may spend.

use std::fmt;
use std::time::Instant;

/// Limits of one engine; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Budget {
    /// Seconds of wall time.
    pub seconds: Option<f64>,
    /// Work in the engine's own measure: states, nodes of a tree, steps of an unrolling.
    pub work: Option<u64>,
}

/// Which limit ended an engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spent {
    /// So many seconds.
    Seconds(f64),
    /// So much work.
    Work(u64),
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spent::Seconds(s) => write!(f, "{} seconds are over", (s * 10.0).round() / 10.0),
            Spent::Work(n) => write!(f, "{n} states or nodes are used up"),
        }
    }
}

/// Counts against a [`Budget`].
#[derive(Clone, Debug)]
pub struct Meter {
    budget: Budget,
    start: Instant,
    work: u64,
    asked: u64,
}

impl Meter {
    /// Starts to count now.
    pub fn new(budget: Budget) -> Meter {
        Meter { budget, start: Instant::now(), work: 0, asked: 0 }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Counts one piece of work. The clock is read every 32nd time.
    pub fn step(&mut self) -> Result<(), Spent> {
        self.work += 1;
        if let Some(n) = self.budget.work.filter(|n| self.work > *n) {
            return Err(Spent::Work(n));
        }
        self.asked += 1;
        if self.asked % 32 == 1 { self.look() } else { Ok(()) }
    }

    /// Counts several.
    pub fn steps(&mut self, many: u64) -> Result<(), Spent> {
        (0..many).try_for_each(|_| self.step())
    }

    /// Reads the clock: for steps that take long.
    pub fn look(&self) -> Result<(), Spent> {
        match self.budget.seconds {
            Some(s) if self.seconds() >= s => Err(Spent::Seconds(s)),
            _ => Ok(()),
        }
    }

    /// The seconds that are left, if they are limited.
    pub fn left(&self) -> Option<f64> {
        self.budget.seconds.map(|s| (s - self.seconds()).max(0.0))
    }
}
