//! Several searches of one test, side by side: [`Config::compare`].
//!
//! Each plan is run twice. The first run is the search alone, and its CPU time is what is reported; the second has a
//! [`Counting`] between the test and the search, and says which classes and local states were seen. Searches are deterministic, so
//! that both see the same, and a search that ran out of time the first time is given as many executions the second time as it had. A time limit
//! is one for all plans: each has its part of what is left, and the first run has a quarter of that, as counting takes longer. Where it takes
//! longer still, it ends early.

use crate::Config;
use explore::{
    BadPlan, Budget, Compared, Comparison, Counting, Coverage, FailureKind, FirstFailure, LeftOut, Meter,
    Plan, Progress, Stats, Times, Trace,
};
use runtime::{Session, Settings, TimeShares, cpu_seconds};
use std::time::{Duration, Instant};

/// A short search is run again until it has taken so long in all, and the fastest counts: whatever disturbs it only adds to it.
const ENOUGH_SECONDS: f64 = 0.01;
const MOST_ROUNDS: usize = 5;

/// What one search gave, and the CPU time it had taken at each point of its curve.
struct Timed {
    row: Compared,
    times: Times,
}

impl Config {
    /// Runs `test` once with each plan, and gives what each search took and saw. Nothing is printed, and the variables
    /// `RADDLE_*` change nothing: the settings of this configuration hold, but for its own plan.
    ///
    /// A search stops at its first failure, unless [`Config::keep_going`]. [`Config::max_executions`] holds for each plan. [`Config::max_time`] is the
    /// limit of all plans together: each plan has an equal part of what is left when it starts.
    /// Plans whose parts do not go together, and those for which no time is left, are left out, and the result says why.
    ///
    /// ```
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// use raddle::{Config, Plan, thread};
    ///
    /// let plans = Plan::list("optimal none").unwrap();
    /// let table = Config::new().compare(&plans, || {
    ///     let n = AtomicU32::new(0);
    ///     thread::scope(|s| {
    ///         s.spawn(|| n.fetch_add(1, SeqCst));
    ///         s.spawn(|| n.fetch_add(1, SeqCst));
    ///     });
    /// });
    /// let seen = |row: usize| table.rows[row].coverage.as_ref().unwrap().classes;
    /// assert_eq!((table.rows[0].stats.executions, seen(0)), (2, 2));
    /// assert_eq!((table.rows[1].stats.executions, seen(1)), (2, 2));
    /// ```
    ///
    /// [`render_comparison`](crate::render_comparison) makes it a table.
    pub fn compare(&self, plans: &[Plan], test: impl Fn()) -> Comparison {
        self.compare_each(plans, test, |_, _| ())
    }

    /// [`Config::compare`], which says before each plan which one it is, by its index too.
    #[doc(hidden)]
    pub fn compare_each(
        &self,
        plans: &[Plan],
        test: impl Fn(),
        mut begin: impl FnMut(usize, &Plan),
    ) -> Comparison {
        let mut out = Comparison::default();
        let mut shares = TimeShares::new(self.budget.seconds, plans.len());
        for (i, plan) in plans.iter().enumerate() {
            let Some(share) = shares.next_share() else {
                out.left_out.push(LeftOut { plan: plan.to_string(), why: TimeShares::LATE.to_owned() });
                continue;
            };
            begin(i, plan);
            let end = Duration::try_from_secs_f64(share).ok().map(|share| Instant::now() + share);
            let mut config = self.clone();
            if end.is_some() {
                config.budget.seconds = Some(share / 4.0);
            }
            let row = config.fastest(plan, &test).and_then(|Timed { mut row, times }| {
                row.coverage = Some(config.count(plan, row.runs, end, &test)?.with_times(&times));
                Ok(row)
            });
            match row {
                Ok(row) => out.rows.push(row),
                Err(BadPlan(why)) => out.left_out.push(LeftOut { plan: plan.to_string(), why }),
            }
        }
        out
    }

    /// Runs `test` with one plan, and gives what the search took: [`Config::compare`] without counting what it saw.
    pub fn measure(&self, plan: &Plan, test: impl Fn()) -> Result<Compared, BadPlan> {
        self.fastest(plan, &test).map(|timed| timed.row)
    }

    fn fastest(&self, plan: &Plan, test: &dyn Fn()) -> Result<Timed, BadPlan> {
        let mut best = self.once(plan, test)?;
        let mut total = best.row.cpu_seconds;
        for _ in 1..MOST_ROUNDS {
            if total >= ENOUGH_SECONDS {
                break;
            }
            let again = self.once(plan, test)?;
            total += again.row.cpu_seconds;
            if again.row.cpu_seconds < best.row.cpu_seconds {
                best = again;
            }
        }
        Ok(best)
    }

    fn once(&self, plan: &Plan, test: &dyn Fn()) -> Result<Timed, BadPlan> {
        let start = cpu_seconds();
        let begun = Instant::now();
        let (plan, settings) = self.prepared(plan);
        let mut search =
            plan.search(Meter::new(self.budget, Box::new(move || begun.elapsed().as_secs_f64())))?;
        let mut times = Times::default();
        let (runs, failure) = drive(&settings, &mut *search, test, u64::MAX, |runs| {
            if runs == 1 {
                times = Times::default();
            }
            times.ran(runs, || cpu_seconds() - start);
        });
        let seconds = cpu_seconds() - start;
        times.end(seconds);
        let row = report::compare::row(&plan, &*search, true, runs, seconds, failure);
        Ok(Timed { row, times })
    }

    /// Runs `test` to the end of the search, past all failures, and shows each complete execution to `seen`, which is given `None` when
    /// the search starts again and what was seen before does not count. Says what the search took, and whether it came to its end.
    pub fn each_execution(&self, test: impl Fn(), mut seen: impl FnMut(Option<&Trace>)) -> (Stats, bool) {
        let (plan, settings) = self.prepared(&self.plan);
        let start = cpu_seconds();
        let meter = Meter::new(self.budget, Box::new(move || cpu_seconds() - start));
        let mut counting = Box::new(Counting::new(plan.search(meter).unwrap_or_else(|e| panic!("{e}"))));
        let mut session = Session::new(&settings);
        loop {
            let once = session.run_once(&mut *counting, &test, false);
            if once.restart {
                counting.restart();
                seen(None);
                continue;
            }
            if let Some(trace) = counting.completed() {
                seen(Some(trace));
            }
            if !once.again {
                return (counting.stats(), counting.finished());
            }
        }
    }

    /// What the search sees in its first executions, until `end`.
    fn count(
        &self,
        plan: &Plan,
        runs: u64,
        end: Option<Instant>,
        test: &dyn Fn(),
    ) -> Result<Coverage, BadPlan> {
        let begun = Instant::now();
        let seconds = end.map(|end| end.saturating_duration_since(begun).as_secs_f64());
        // A search that starts again has a meter that goes on, so that it would end too early.
        let budget = Budget { executions: None, seconds };
        let (plan, settings) = self.prepared(plan);
        let clock = move || begun.elapsed().as_secs_f64();
        let mut counting = Counting::new(plan.search(Meter::new(budget, Box::new(clock)))?);
        drive(&settings, &mut counting, test, runs, |_| ());
        Ok(counting.coverage())
    }
}

/// Runs the search, at most so many executions since it last started, and says after each how many there were: all executions, and the
/// first failure.
fn drive(
    settings: &Settings,
    search: &mut dyn Progress,
    test: &dyn Fn(),
    most: u64,
    mut ran: impl FnMut(u64),
) -> (u64, Option<FirstFailure>) {
    let mut session = Session::new(settings);
    let (mut runs, mut first) = (0, None);
    loop {
        let once = session.run_once(search, test, false);
        if once.restart {
            search.restart();
            (runs, first) = (0, None);
            continue;
        }
        runs += 1;
        ran(runs);
        let found = match (search.divergence(), once.failure) {
            (Some(_), _) => Some((
                FailureKind::Nondeterminism,
                "the test did something else when a schedule was repeated".to_owned(),
            )),
            (None, Some(failure)) => Some((failure.kind, failure.message)),
            (None, None) => None,
        };
        if let (None, Some((kind, message))) = (&first, found) {
            first = Some(FirstFailure { kind, message, after: runs, replay: once.schedule.to_string() });
        }
        if first.is_some() && !settings.keep_going || !once.again || runs >= most {
            return (runs, first);
        }
    }
}

/// A comparison as a table, one line a plan.
///
/// ```
/// let plans = raddle::Plan::list("optimal").unwrap();
/// let table = raddle::Config::new().compare(&plans, || ());
/// assert!(raddle::render_comparison(&table).contains("optimal"));
/// ```
pub fn render_comparison(comparison: &Comparison) -> String {
    report::compare::text(comparison, &report::Style::default())
}
