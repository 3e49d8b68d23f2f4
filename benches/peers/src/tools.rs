//! Runs one test with one tool, and measures it.

use crate::clock::cpu_seconds;
use crate::programs::{self, TESTS, Test};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What one tool did with one test.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) test: &'static str,
    pub(crate) about: &'static str,
    /// How many executions an optimal search needs.
    pub(crate) classes: u64,
    pub(crate) tool: &'static str,
    /// Whether the tool claims to have seen everything; a random one does not.
    pub(crate) exhaustive: bool,
    /// Of one check.
    pub(crate) executions: u64,
    pub(crate) microseconds_per_execution: f64,
    /// Of one check.
    pub(crate) milliseconds: f64,
}

/// How much to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Nothing that takes a peer many seconds.
    Quick,
    /// What takes half a minute or so.
    Usual,
    /// Also what takes a peer minutes.
    All,
}

/// Random and PCT schedules of one check.
const SAMPLES: usize = 2_000;
/// The depth of the bugs PCT looks for.
const PCT_DEPTH: usize = 3;
/// How often a measurement is made; the fastest counts, as whatever disturbs it only adds to it. A check that takes about
/// a second or more is measured once: that favours raddle, whose checks are short, by the noise of the machine, so a ratio
/// with such a check is good for its order of magnitude.
const ROUNDS: usize = 5;
/// A measurement repeats the check until it has taken this long, so that short checks are measured well.
const ROUND_SECONDS: f64 = 0.12;

/// Runs all tests with all tools.
///
/// Tool by tool, and shuttle last: it hooks every panic of the process, and loom ends its fibers by unwinding them, so
/// that after shuttle has run once loom would print, and pay for, a report for each fiber.
pub(crate) fn run(effort: Effort, mut measured: impl FnMut(&Row)) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |test: &Test, tool: &'static str, exhaustive: bool, check: &mut dyn FnMut() -> u64| {
        let row = measure(test, tool, exhaustive, check);
        measured(&row);
        rows.push(row);
    };
    for test in &TESTS {
        add(test, "raddle", true, &mut || raddle_check(programs::raddle::program(test.name)));
    }
    for test in TESTS.iter().filter(|t| !(effort == Effort::Quick && t.heavy)) {
        add(test, "loom", true, &mut || loom_check(programs::loom::program(test.name)));
    }
    for test in &TESTS {
        let program = programs::shuttle::program(test.name);
        add(test, "shuttle random", false, &mut || counted(program, |f| shuttle::check_random(f, SAMPLES)));
        add(test, "shuttle PCT", false, &mut || {
            counted(program, |f| shuttle::check_pct(f, SAMPLES, PCT_DEPTH))
        });
        // Without a reduction, four threads on one mutex have nine million interleavings.
        let minutes = test.name == "B4";
        if !(minutes && effort != Effort::All || test.heavy && effort == Effort::Quick) {
            add(test, "shuttle DFS", true, &mut || counted(program, |f| shuttle::check_dfs(f, None)));
        }
    }
    let place = |row: &Row| TESTS.iter().position(|t| t.name == row.test);
    rows.sort_by_key(place);
    rows
}

fn measure(test: &Test, tool: &'static str, exhaustive: bool, check: &mut dyn FnMut() -> u64) -> Row {
    let (mut executions, mut best) = (0, f64::INFINITY);
    for _ in 0..ROUNDS {
        let start = cpu_seconds();
        let mut checks = 0;
        let seconds = loop {
            executions = check();
            checks += 1;
            let seconds = cpu_seconds() - start;
            if seconds >= ROUND_SECONDS {
                break seconds;
            }
        };
        best = best.min(seconds / checks as f64);
        if seconds > 8.0 * ROUND_SECONDS {
            break;
        }
    }
    Row {
        test: test.name,
        about: test.about,
        classes: test.classes,
        tool,
        exhaustive,
        executions,
        microseconds_per_execution: best * 1e6 / executions as f64,
        milliseconds: best * 1e3,
    }
}

fn raddle_check(program: fn()) -> u64 {
    let report = raddle::Config::new().quiet(true).run(program);
    assert!(report.passed(), "{}", report.guarantee);
    report.stats.executions
}

fn loom_check(program: fn()) -> u64 {
    let mut builder = loom::model::Builder::new();
    // Whatever the environment says, the whole search is wanted.
    builder.preemption_bound = None;
    builder.max_permutations = None;
    builder.max_duration = None;
    builder.checkpoint_file = None;
    builder.log = false;
    counted(program, |f| builder.check(f))
}

/// How often a tool called the program.
fn counted(program: fn(), tool: impl FnOnce(Box<dyn Fn() + Send + Sync>)) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let inner = count.clone();
    tool(Box::new(move || {
        inner.fetch_add(1, Relaxed);
        program();
    }));
    count.load(Relaxed)
}
