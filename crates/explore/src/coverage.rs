//! What a search has seen, counted from outside.
//!
//! [`Counting`] stands between a front end and a search, passes every call on, and keeps a [`Trace`] of its own. After each execution
//! it knows which happens-before class was completed and which local states were visited. The local state of a thread after one of
//! its steps is the part of the trace that happens before that step (Coons, definition 2.1). Its name is made as in her section 8.3:
//! a hash of the step and of the names of the latest steps of each thread that happen before it, so that it is the same in every
//! execution in which the thread can have seen the same. A terminal state is the local states of all threads, which is the class.
//!
//! The search decides as it would alone: nothing here is shown to it. Names are 64-bit hashes, so two states could share one.

use crate::budget::Spent;
use crate::explorer::{Decision, Divergence, End, Executed, Explorer, Options, View};
use crate::ids::{EventIndex, ThreadId};
use crate::op::Op;
use crate::outcome::Stats;
use crate::schedule::Schedule;
use crate::search::{Progress, Promise};
use crate::trace::{Trace, mix};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// How much had been seen after so many executions.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Point {
    /// Executions: complete, blocked and over the bound.
    pub runs: u64,
    /// Different happens-before classes among the complete ones.
    pub classes: u64,
    /// Different local states of threads.
    pub states: u64,
    /// How much CPU time the search had taken by then, if somebody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
}

impl Point {
    /// Up to here every execution is a point of the curve; from there on they are 2 % apart.
    const EVERY: u64 = 256;

    /// Which number of executions is the next point of a curve.
    pub fn after(runs: u64) -> u64 {
        if runs < Self::EVERY { runs + 1 } else { runs + runs.div_ceil(50) }
    }
}

/// How much time a search had taken at each point of its curve.
#[derive(Clone, Debug, Default)]
pub struct Times {
    next: u64,
    taken: Vec<f64>,
}

impl Times {
    /// So many executions have ended; the clock is asked only at the points of the curve.
    pub fn ran(&mut self, runs: u64, clock: impl FnOnce() -> f64) {
        if runs >= self.next {
            self.taken.push(clock());
            self.next = Point::after(runs);
        }
    }

    /// The last execution is a point of the curve too, whether or not it was its turn.
    pub fn end(&mut self, seconds: f64) {
        self.taken.push(seconds);
    }
}

/// What a search has seen.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, Serialize)]
pub struct Coverage {
    /// Different happens-before classes among the complete executions; these are the terminal states too.
    pub classes: u64,
    /// Different local states of threads, those of executions that were cut included.
    pub states: u64,
    /// How it came about: every execution at first, then fewer and fewer points, and the last one.
    pub curve: Vec<Point>,
}

impl Coverage {
    /// Says at each point of the curve how much time the same search took when nobody counted.
    pub fn with_times(mut self, times: &Times) -> Coverage {
        for (point, seconds) in self.curve.iter_mut().zip(&times.taken) {
            point.cpu_seconds = Some(*seconds);
        }
        self
    }
}

/// A search whose coverage is counted.
pub struct Counting {
    search: Box<dyn Progress>,
    trace: Trace,
    option: (u32, u32),
    /// By thread: the names of its local states in this execution.
    names: Vec<Vec<u64>>,
    classes: HashSet<u64>,
    states: HashSet<u64>,
    runs: u64,
    /// Whether the search counted the last execution as a complete one.
    completed: bool,
    /// The first number of executions that is a point again.
    next_point: u64,
    curve: Vec<Point>,
}

impl Counting {
    /// Counts what `search` sees.
    pub fn new(search: Box<dyn Progress>) -> Counting {
        Counting {
            search,
            trace: Trace::new(),
            option: (0, 1),
            names: Vec::new(),
            classes: HashSet::new(),
            states: HashSet::new(),
            runs: 0,
            completed: false,
            next_point: 1,
            curve: Vec::new(),
        }
    }

    /// The last execution, if the search counted it as a complete one.
    pub fn completed(&self) -> Option<&Trace> {
        self.completed.then_some(&self.trace)
    }

    /// What has been seen so far.
    pub fn coverage(&self) -> Coverage {
        let mut curve = self.curve.clone();
        if curve.last().is_none_or(|p| p.runs < self.runs) && self.runs > 0 {
            curve.push(self.point());
        }
        let Point { classes, states, .. } = self.point();
        Coverage { classes, states, curve }
    }

    /// The names of the classes that were completed, so that two searches can be compared as sets.
    pub fn classes(&self) -> &HashSet<u64> {
        &self.classes
    }

    /// The names of the local states that were visited.
    pub fn states(&self) -> &HashSet<u64> {
        &self.states
    }

    fn point(&self) -> Point {
        Point {
            runs: self.runs,
            classes: self.classes.len() as u64,
            states: self.states.len() as u64,
            cpu_seconds: None,
        }
    }

    /// Names the local state of a thread after its step `i`, the last one.
    fn name_state(&mut self, i: usize) {
        let e = &self.trace.events()[i];
        let own = e.thread.index();
        let mut name = mix(self.trace.event_hash(i), e.thread.0 as u64);
        for (t, count) in self.trace.clock(i).iter().enumerate() {
            let latest = if t == own { count - 1 } else { *count };
            if latest > 0 {
                name = mix(name, self.names[t][latest as usize - 1]);
            }
        }
        if own >= self.names.len() {
            self.names.resize_with(own + 1, Vec::new);
        }
        self.names[own].push(name);
    }
}

impl Explorer for Counting {
    fn begin(&mut self) {
        self.trace.truncate(0);
        self.trace.restart();
        self.names.iter_mut().for_each(Vec::clear);
        self.search.begin();
    }

    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        self.option = (0, 1);
        self.search.next_thread(view)
    }

    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        let len = self.trace.len();
        self.trace.order(before, after, len);
        self.search.ordered(before, after);
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        let chosen = self.search.next_option(options);
        self.option = (chosen, options.len() as u32);
        chosen
    }

    fn read_from(&mut self, thread: ThreadId, op: &Op, writes: &[EventIndex]) -> usize {
        self.search.read_from(thread, op, writes)
    }

    fn executed(&mut self, event: Executed<'_>) {
        let (option, options) = self.option;
        self.trace.push(&event, option, options);
        self.name_state(self.trace.len() - 1);
        self.search.executed(event);
    }

    fn end(&mut self, end: End, view: &View<'_>) -> bool {
        // The search alone knows whether it takes the execution for a complete one.
        let before = self.search.stats().executions;
        let again = self.search.end(end, view);
        self.completed = self.search.stats().executions > before;
        if self.completed {
            self.classes.insert(self.trace.class());
        }
        self.states.extend(self.names.iter().flatten());
        self.runs += 1;
        if self.runs >= self.next_point {
            self.curve.push(self.point());
            self.next_point = Point::after(self.runs);
        }
        again
    }

    fn divergence(&self) -> Option<&Divergence> {
        self.search.divergence()
    }
}

impl Progress for Counting {
    fn stats(&self) -> Stats {
        self.search.stats()
    }

    fn finished(&self) -> bool {
        self.search.finished()
    }

    fn promise(&self) -> Promise {
        self.search.promise()
    }

    fn restart(&mut self) {
        self.search.restart();
        self.classes.clear();
        self.states.clear();
        self.curve.clear();
        (self.runs, self.next_point) = (0, 1);
    }

    fn spent(&self) -> Option<Spent> {
        self.search.spent()
    }

    fn estimate(&self) -> Option<f64> {
        self.search.estimate()
    }

    fn schedule(&self) -> Schedule {
        self.search.schedule()
    }

    fn rounds(&self) -> &[crate::bounds::Round] {
        self.search.rounds()
    }
}
