//! `raddle compare --automata`: C text as automata, under the searches of executions and under those of states.
//!
//! The searches of states have names of their own: `tree` forgets states, `states` remembers them; `+static` takes persistent sets from
//! an analysis of the text, `+sleep` leaves out steps that were taken next to independent ones. With `none` and `dpor`, which have
//! sleep sets or not, these are the ten configurations of Flanagan and Godefroid (2005).

use crate::reading;
use ::model::{ErrorKind, Interpreter, Options, Program, Reach, Reduction, Runner, Step, Wrong};
use explore::{
    Budget, Compared, Comparison, Counting, End, FailureKind, FirstFailure, LeftOut, Meter, Plan, Progress,
    Promise, Stats, Times, Verdict,
};
use runtime::{TimeShares, cpu_seconds};
use std::path::PathBuf;
use std::time::Instant;

/// How far the searches go.
#[derive(Clone, Copy)]
pub(crate) struct Most {
    /// Of each search.
    pub(crate) executions: u64,
    /// Of all searches together, or of the one that is to be run.
    pub(crate) seconds: f64,
    pub(crate) keep_going: bool,
}

/// The number of searches of states.
const OF_STATES: usize = 8;

/// Runs every plan, and every search of states if they are asked for.
pub(crate) fn compare(
    file: &str,
    preprocessor: Vec<String>,
    plans: &[Plan],
    states: bool,
    most: &Most,
    mut begin: impl FnMut(&str),
) -> Result<Comparison, String> {
    let options = Options { preprocessor, ..Options::default() };
    let path = PathBuf::from(file);
    // The limit is one of searches; reading has at least as long as other commands give it.
    let read = reading::in_time(most.seconds.max(60.0), move || ::model::read_file(&path, &options))?;
    let program = read.ok_or(reading::LATE)?.map_err(|e| crate::verify::refused(&e))?;
    let runner = Runner::new(&program).map_err(|e| e.to_string())?;
    let mut out = Comparison { program: Some(format!("{file}, as automata")), ..Comparison::default() };
    let mut shares = TimeShares::new(Some(most.seconds), plans.len() + if states { OF_STATES } else { 0 });
    let late = |plan: String| LeftOut { plan, why: TimeShares::LATE.to_owned() };
    for plan in plans {
        let Some(seconds) = shares.next_share() else {
            out.left_out.push(late(plan.to_string()));
            continue;
        };
        begin(&plan.to_string());
        match executions(&runner, plan, &Most { seconds, ..*most }) {
            Ok(row) => out.rows.push(row),
            Err(why) => out.left_out.push(LeftOut { plan: plan.to_string(), why }),
        }
    }
    let searches = [false, true].into_iter().flat_map(|stateful| {
        let reductions = [Reduction::None, Reduction::Static].into_iter();
        reductions.flat_map(move |r| [false, true].map(|sleep| (stateful, r, sleep)))
    });
    for (stateful, reduction, sleep) in searches.filter(|_| states) {
        let name = format!(
            "{}{}{}",
            if stateful { "states" } else { "tree" },
            if reduction == Reduction::Static { "+static" } else { "" },
            if sleep { "+sleep" } else { "" },
        );
        let Some(seconds) = shares.next_share() else {
            out.left_out.push(late(name));
            continue;
        };
        begin(&name);
        match of_states(&program, &name, stateful, reduction, sleep, &Most { seconds, ..*most }) {
            Ok(row) => out.rows.push(row),
            Err(why) => out.left_out.push(LeftOut { plan: name, why }),
        }
    }
    Ok(out)
}

/// One search of executions: once for its time, once more to count what it sees.
fn executions(runner: &Runner<'_>, plan: &Plan, most: &Most) -> Result<Compared, String> {
    let (start, begun) = (cpu_seconds(), Instant::now());
    let clock = move || begun.elapsed().as_secs_f64();
    // The other half is for counting.
    let budget = Budget { executions: Some(most.executions), seconds: Some(most.seconds / 2.0) };
    let meter = Meter::new(budget, Box::new(clock));
    let mut search = plan.search(meter).map_err(|e| e.to_string())?;
    let mut times = Times::default();
    let ran = drive(runner, &mut *search, most.keep_going, |runs| times.ran(runs, || cpu_seconds() - start))?;
    let seconds = cpu_seconds() - start;
    times.end(seconds);
    let budget = Budget { executions: Some(ran.runs), seconds: Some(most.seconds) };
    let mut counting =
        Counting::new(plan.search(Meter::new(budget, Box::new(clock))).map_err(|e| e.to_string())?);
    drive(runner, &mut counting, most.keep_going, |_| ())?;
    let row = report::compare::row(plan, &*search, !ran.cut, ran.runs, seconds, ran.failure);
    Ok(Compared { coverage: Some(counting.coverage().with_times(&times)), ..row })
}

struct Ran {
    runs: u64,
    failure: Option<FirstFailure>,
    /// Whether an execution was cut for its length.
    cut: bool,
}

fn drive(
    runner: &Runner<'_>,
    search: &mut dyn Progress,
    keep_going: bool,
    mut ran: impl FnMut(u64),
) -> Result<Ran, String> {
    let mut out = Ran { runs: 0, failure: None, cut: false };
    let mut executions = runner.executions();
    loop {
        let before = search.stats().executions;
        let done = executions.next(search).map_err(|e| e.to_string())?;
        out.runs += 1;
        ran(out.runs);
        out.cut |= done.end == End::Cut;
        let complete = done.end == End::Complete && search.stats().executions > before;
        let assumed = done.end == End::Assumed && matches!(done.wrong, Some(Wrong::Error { .. }));
        if let (None, Some(wrong)) = (&out.failure, done.wrong.filter(|_| complete || assumed)) {
            out.failure = Some(first(runner.program(), &wrong, done.run, out.runs));
        }
        if out.failure.is_some() && !keep_going || !done.again {
            return Ok(out);
        }
    }
}

fn first(program: &Program, wrong: &Wrong, run: &[Step], after: u64) -> FirstFailure {
    let (kind, message) = match wrong {
        Wrong::Deadlock => (FailureKind::Deadlock, "no thread can go on".to_owned()),
        Wrong::Error { thread, location, kind } => {
            let at = program.thread(*thread).location(*location);
            let says = match &at.kind {
                ::model::LocationKind::Error { message, .. } => message.clone(),
                _ => String::new(),
            };
            (kind_of(*kind), format!("{}: {says}", kind.name()))
        }
    };
    // Which thread takes which step: what a run of automata is.
    let threads: Vec<String> = run.iter().map(|s| s.thread.0.to_string()).collect();
    FirstFailure { kind, message, after, replay: threads.join(",") }
}

fn kind_of(kind: ErrorKind) -> FailureKind {
    match kind {
        ErrorKind::LockMisuse => FailureKind::LockMisuse,
        ErrorKind::OutOfBounds => FailureKind::OutOfBounds,
        ErrorKind::Shift => FailureKind::Shift,
        ErrorKind::ExitCode => FailureKind::ExitCode,
        ErrorKind::Abort => FailureKind::Abort,
        ErrorKind::Bound => FailureKind::Limit,
        _ => FailureKind::Assertion,
    }
}

/// One search of states. Its executions are the ends that it came to.
fn of_states(
    program: &Program,
    name: &str,
    stateful: bool,
    reduction: Reduction,
    sleep: bool,
    most: &Most,
) -> Result<Compared, String> {
    // As many states as executions of a hundred steps have, or as fit into a gigabyte.
    let run = Interpreter::new(program);
    let states = most.executions.saturating_mul(100).min((1 << 30) / (16 * run.cells() as u64 + 256));
    let reach = Reach {
        stateful,
        reduction,
        sleep,
        first: !most.keep_going,
        most: states,
        seconds: Some(most.seconds),
        ..Reach::default()
    };
    let start = cpu_seconds();
    let seen = reach.search(&run).map_err(|e| e.to_string())?;
    let seconds = cpu_seconds() - start;
    let stats =
        Stats { executions: seen.ends, blocked: seen.asleep, steps: seen.transitions, ..Stats::default() };
    let verdict = Verdict::of(seen.wrong.is_some(), seen.finished, &Promise::Everything, &[]);
    let spent = (!seen.finished).then(|| format!("{} states", report::count(seen.states)));
    Ok(Compared {
        plan: name.to_owned(),
        algorithm: name.to_owned(),
        bound: None,
        order: "depth-first".to_owned(),
        seed: 0,
        verdict,
        guarantee: report::guarantee(verdict, &Promise::Everything, &stats, spent.as_deref(), None, &[]),
        stats,
        runs: seen.ends + seen.asleep,
        cpu_seconds: seconds,
        failure: seen.wrong.map(|(wrong, run)| first(program, &wrong, &run, seen.ends.max(1))),
        coverage: None,
        reached: Some(seen.states),
    })
}
