//! What a check found, as data: verdict, guarantee, counts, failures with their traces.

use crate::bounds::Round;
use crate::caveats::Caveat;
use crate::ids::ThreadId;
use crate::search::Promise;
use serde::{Deserialize, Serialize};

/// The result in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything was seen, and nothing was wrong.
    Verified,
    /// Everything within the bound was seen, and nothing was wrong.
    NoFailureWithinBound,
    /// The search is complete and found no failure, but the caveats of the report name behaviours that it left out.
    NoFailureWithCaveats,
    /// Something is wrong.
    Failure,
    /// Stopped early; nothing was wrong until then.
    Incomplete,
}

impl Verdict {
    /// The verdict on a search with this promise that did or did not complete.
    pub fn of(failed: bool, finished: bool, promise: &Promise, caveats: &[Caveat]) -> Verdict {
        match (failed, finished, promise) {
            (true, ..) => Verdict::Failure,
            (false, true, Promise::Everything) if caveats.iter().any(|c| c.kind.weakens()) => {
                Verdict::NoFailureWithCaveats
            }
            (false, true, Promise::Everything) => Verdict::Verified,
            (false, true, Promise::Within(_)) => Verdict::NoFailureWithinBound,
            (false, true, Promise::Nothing(_)) | (false, false, _) => Verdict::Incomplete,
        }
    }
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// An assertion of the program does not hold.
    Assertion,
    /// A panic.
    Panic,
    /// The process would abort.
    Abort,
    /// A signal, such as running out of stack.
    Signal,
    /// The program ended its own process.
    ExitCode,
    /// Threads wait for each other, or for something that never comes.
    Deadlock,
    /// Threads go on for ever without getting anywhere.
    Livelock,
    /// Two threads access one place, one of them writes, and nothing orders them.
    DataRace,
    /// Something was never given back.
    Leak,
    /// A lock was used against its rules.
    LockMisuse,
    /// The program did something else when its schedule was repeated.
    Nondeterminism,
    /// A limit was reached.
    Limit,
    /// An exception that nobody catches.
    UncaughtException,
    /// Memory was used after it was given back.
    UseAfterFree,
    /// Memory was given back twice.
    DoubleFree,
    /// Something was given back that was never taken.
    InvalidFree,
    /// Memory was used past the end of what was taken.
    OutOfBounds,
    /// A value was shifted by the width of its type or more, or by a negative number.
    Shift,
}

impl FailureKind {
    /// The name, as in the JSON report.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Assertion => "assertion",
            FailureKind::Panic => "panic",
            FailureKind::Abort => "abort",
            FailureKind::Signal => "signal",
            FailureKind::ExitCode => "exit-code",
            FailureKind::Deadlock => "deadlock",
            FailureKind::Livelock => "livelock",
            FailureKind::DataRace => "data-race",
            FailureKind::Leak => "leak",
            FailureKind::LockMisuse => "lock-misuse",
            FailureKind::Nondeterminism => "nondeterminism",
            FailureKind::Limit => "limit",
            FailureKind::UncaughtException => "uncaught-exception",
            FailureKind::UseAfterFree => "use-after-free",
            FailureKind::DoubleFree => "double-free",
            FailureKind::InvalidFree => "invalid-free",
            FailureKind::OutOfBounds => "out-of-bounds",
            FailureKind::Shift => "shift",
        }
    }
}

/// One step of a failing execution, ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its number, from 1; 0 for what is shown but is no step of the schedule: spawns and joins.
    pub step: usize,
    /// Who took it.
    pub thread: ThreadId,
    /// What it was, in words: `load`, `lock`, `compare_exchange`, ...
    pub operation: String,
    /// The object, as a name: `atomic #1`, `mutex #2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// What was read or written: `0`, `0 -> 1`, `1 (wanted 0)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// `file:line:column`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The calls of the program that led to the location, innermost first, each `file:line:column`, where they are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
    /// Another thread took over here although this one's predecessor could have gone on: the thread that was preempted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempts: Option<ThreadId>,
}

/// A thread, as a failure shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadInfo {
    /// Its number.
    pub thread: ThreadId,
    /// Its name.
    pub name: String,
    /// How it ended, or what it waits for: `finished`, `panicked`, `waits for mutex #2, held by thread 1 (reader)`.
    pub state: String,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The calls of the program that led there, innermost first, where they are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
    /// The threads it waits for, if known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<ThreadId>,
}

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// What.
    pub kind: FailureKind,
    /// In words, for the user.
    pub message: String,
    /// `file:line:column`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The thread in which it showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The token that runs it again.
    pub replay: String,
    /// How many preemptions the shown schedule has.
    pub preemptions: usize,
    /// All threads, by number.
    pub threads: Vec<ThreadInfo>,
    /// For a deadlock: threads, each waiting for the next, the last for the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<ThreadId>,
    /// Who did what.
    pub trace: Vec<Step>,
    /// How many entries of the trace come before the failure, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<usize>,
    /// What to do next, when that is not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// What the program wrote to standard output and standard error in this execution, where that was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Why a search stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The time limit was reached.
    Time,
    /// The process was asked to end: Ctrl-C (SIGINT) or SIGTERM.
    Interrupt,
    /// The limit on the CPU time of the process was reached (SIGXCPU).
    CpuLimit,
    /// One execution reached a limit, or the program does something that raddle does not support. The text says what, and which option helps.
    Limit,
}

/// Where and why a search stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stop {
    /// Why.
    pub reason: StopReason,
    /// The reason in a sentence, with the option that helps.
    pub text: String,
    /// `file:line:column`, where one place in the program is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The thread that was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The token of the execution that was stopped; empty if it does not matter which one that was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub replay: String,
}

/// Numbers of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Stats {
    /// Complete executions.
    pub executions: u64,
    /// Executions that were cut because they were redundant: everything they could show is seen elsewhere.
    pub blocked: u64,
    /// Executions in which an assumption did not hold.
    pub assumed: u64,
    /// Executions in which a thread was stopped because it only repeated what it had done; see [`crate::End::Pruned`].
    #[serde(default)]
    pub pruned: u64,
    /// Executions that were cut because every way on is over the bound.
    pub over_bound: u64,
    /// Steps run, those that were replayed included.
    pub steps: u64,
    /// Steps of the longest execution.
    pub longest: u64,
    /// Races seen between two steps.
    pub races: u64,
    /// Branches that were not explored yet when the search stopped.
    pub open: u64,
    /// The most threads alive or ended in one execution.
    pub threads: u64,
    /// Pairs of steps looked at for a race, as Metzler (2020) counts them: an earlier step and a new one, of the same thread
    /// too. Counted by `source`, `epor` and `epor-sh`.
    pub race_checks: u64,
    /// Pairs of steps of different threads asked whether they are dependent: in looking for races and in sleep sets. Not those
    /// that Metzler (2020) asks to see whether two dependent steps are a race: here clocks tell; `source` counts them too if
    /// [`crate::Plan::pairwise`] is set. Counted by `source`, `epor` and `epor-sh`.
    pub dependency_checks: u64,
    /// Ways to orient the conflicts of a section that are cyclic, so that no execution has them; `epor` and `epor-sh` know
    /// how many there are without trying them. Sections with more than a million traces are left out.
    pub unsatisfiable: u64,
}

/// Everything a check has to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// In one word.
    pub verdict: Verdict,
    /// What the result covers, in a sentence.
    pub guarantee: String,
    /// The algorithm, by name.
    pub algorithm: String,
    /// The bound, if there is one.
    pub bound: Option<String>,
    /// The memory model.
    pub memory: String,
    /// The numbers.
    #[serde(flatten)]
    pub stats: Stats,
    /// What was done within each limit, where there was one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// What went wrong.
    pub failures: Vec<Failure>,
    /// What the result leaves out. A plain `verified` has none.
    pub caveats: Vec<Caveat>,
    /// Why the search stopped before its end, other than by a number of executions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stop>,
    /// What the user should know besides: a test in which nothing is shared, a limit that is near.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

impl Report {
    /// The report of a check that could not continue, and whose numbers are lost.
    pub fn cut_short(why: String) -> Report {
        Report {
            verdict: Verdict::Incomplete,
            guarantee: why,
            algorithm: String::new(),
            bound: None,
            memory: "sc".to_owned(),
            stats: Stats::default(),
            rounds: Vec::new(),
            failures: Vec::new(),
            stopped: None,
            caveats: Vec::new(),
            warnings: Vec::new(),
            seconds: 0.0,
        }
    }

    /// Whether nothing wrong was found and the search was complete for what it promised.
    pub fn passed(&self) -> bool {
        self.exit_code() == 0
    }

    /// The exit code of a command that shows this report.
    pub fn exit_code(&self) -> u8 {
        match self.verdict {
            Verdict::Verified | Verdict::NoFailureWithinBound | Verdict::NoFailureWithCaveats => 0,
            Verdict::Failure => 1,
            Verdict::Incomplete => 3,
        }
    }
}
