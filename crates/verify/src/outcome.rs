//! What an engine answers.

use crate::budget::{Budget, Spent};
use crate::certificate::Certificate;
use model::{ErrorKind, Interpreter, LocationId, Program, Step, Term, Terms, ThreadId, Wrong};
use std::fmt;

/// What is asked of an engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Whether a deadlock is wrong too. An engine that cannot tell answers *unknown*.
    pub deadlocks: bool,
    /// How much it may spend.
    pub budget: Budget,
}

/// A run that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Its steps from the start.
    pub steps: Vec<Step>,
    /// What is wrong at its end.
    pub wrong: Wrong,
}

/// A scheduler that keeps the program safe for all inputs: an automaton that says which threads may go next. It carries what is needed
/// to check that ([`crate::check_schedule`]).
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The labels, and the program's terms before them.
    pub terms: Terms,
    /// Its states; the first one is where it starts.
    pub nodes: Vec<ScheduleNode>,
}

/// A state of a [`Schedule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleNode {
    /// Where each thread is.
    pub locations: Box<[LocationId]>,
    /// What holds of all states in which the program is here.
    pub label: Term,
    /// What may be done next: a thread with one of its transitions, and the state after it. All transitions of a thread that may go
    /// are here, but those that it cannot take by the label: inputs are never constrained. Where nothing is here the program is over.
    pub next: Vec<(ThreadId, model::TransitionId, usize)>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Unknown {
    /// The budget is spent.
    Spent(Spent),
    /// The program was read under a bound on loops or recursion, and a run goes beyond it here.
    Bound(Trace),
    /// The engine searches under a bound of its own, within which nothing is wrong.
    Within(String),
    /// The engine cannot do what this program, or the question, needs.
    Cannot(String),
    /// The engine contradicts itself: what it found did not stand up to being checked. This is a mistake of raddle.
    Mistake(String),
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Spent(s) => s.fmt(f),
            Unknown::Bound(t) => {
                write!(
                    f,
                    "a run of {} steps goes beyond a bound under which the program was read",
                    t.steps.len()
                )
            }
            Unknown::Within(why) | Unknown::Cannot(why) => f.write_str(why),
            Unknown::Mistake(why) => write!(f, "a mistake in raddle: {why}"),
        }
    }
}

/// The answer.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Nothing goes wrong, whatever the inputs and the schedule are.
    Safe(Certificate),
    /// Something does.
    Unsafe(Trace),
    /// Something does, but not under these schedules, each of which is fair and free of deadlocks.
    PartiallySafe {
        /// The schedules.
        schedules: Vec<Schedule>,
        /// A run that goes wrong under another schedule.
        trace: Trace,
    },
    /// There is none.
    Unknown(Unknown),
}

impl Verdict {
    /// What a run shows: *unsafe* if the interpreter takes its steps and something is wrong at their end. A run that only shows that
    /// a bound was too low, or that does not replay, shows nothing.
    pub fn of_trace(program: &Program, steps: Vec<Step>) -> Verdict {
        let run = Interpreter::new(program);
        let states = match run.replay(&steps) {
            Ok(states) => states,
            Err(e) => return Verdict::Unknown(Unknown::Mistake(format!("a trace does not replay: {e}"))),
        };
        match states.last().and_then(|s| run.wrong(s)) {
            None => Verdict::Unknown(Unknown::Mistake("a trace ends where nothing is wrong".to_owned())),
            Some(wrong @ Wrong::Error { kind: ErrorKind::Bound, .. }) => {
                Verdict::Unknown(Unknown::Bound(Trace { steps, wrong }))
            }
            Some(wrong) => Verdict::Unsafe(Trace { steps, wrong }),
        }
    }

    /// The verdict in a word: `safe`, `unsafe`, `partially-safe`, `unknown`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Safe(_) => "safe",
            Verdict::Unsafe(_) => "unsafe",
            Verdict::PartiallySafe { .. } => "partially-safe",
            Verdict::Unknown(_) => "unknown",
        }
    }

    /// The run that goes wrong, if there is one.
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Verdict::Unsafe(t) | Verdict::PartiallySafe { trace: t, .. } => Some(t),
            _ => None,
        }
    }
}

impl From<Spent> for Verdict {
    fn from(s: Spent) -> Verdict {
        Verdict::Unknown(Unknown::Spent(s))
    }
}

/// How many of something there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    /// So many.
    Exactly(u64),
    /// About so many: more than were counted one by one.
    About(f64),
}

impl Count {
    /// A number that was computed as one with a rounded mantissa.
    pub(crate) fn of(n: f64) -> Count {
        // Up to there all whole numbers are among them.
        if n < 2f64.powi(f64::MANTISSA_DIGITS as i32) { Count::Exactly(n as u64) } else { Count::About(n) }
    }
}

impl From<u64> for Count {
    fn from(n: u64) -> Count {
        Count::Exactly(n)
    }
}

/// Two digits of what is not exact.
///
/// ```
/// use verify::Count;
/// assert_eq!(Count::Exactly(17).to_string(), "17");
/// assert_eq!(Count::About(2f64.powi(128)).to_string(), "3.4e38");
/// assert_eq!(Count::About(f64::INFINITY).to_string(), "more than 1e308");
/// ```
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Exactly(n) => n.fmt(f),
            Count::About(n) if n.is_finite() => write!(f, "{n:.1e}"),
            Count::About(_) => f.write_str("more than 1e308"),
        }
    }
}

/// The answer of an engine, and what it took.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which engine.
    pub engine: &'static str,
    /// The answer.
    pub verdict: Verdict,
    /// What was counted, each with a name: states, nodes, queries.
    pub counts: Vec<(&'static str, Count)>,
    /// Seconds of wall time.
    pub seconds: f64,
}

impl Outcome {
    /// What was counted under a name, where that is exact.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.counts.iter().find(|c| c.0 == name).and_then(|c| match c.1 {
            Count::Exactly(n) => Some(n),
            Count::About(_) => None,
        })
    }
}
