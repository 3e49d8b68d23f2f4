//! A run of a program's text, shown as `raddle check` shows an execution: one column a thread.
//!
//! Only what others can see is a row: accesses to shared variables, and what threads synchronise with; and inputs. The steps in between
//! are in the JSON.

use crate::verify::what;
use ::model::{Action, Interpreter, Place, Program, State, ThreadId, Transition, VarId, Wrong};
use ::verify::Trace;
use explore::{Failure, FailureKind, Step, ThreadInfo};
use report::Style;

/// The run as a table, with what is wrong at its end.
pub(crate) fn show(program: &Program, trace: &Trace, style: &Style) -> String {
    let run = Interpreter::new(program);
    let Ok(states) = run.replay(&trace.steps) else { return String::new() };
    let show = Show { program, run: &run };
    let mut shown: Vec<Step> = vec![];
    let mut last = None;
    for (i, step) in trace.steps.iter().enumerate() {
        let t = program.thread(step.thread).transition(step.transition);
        let Some(row) = show.row(step.thread, t, &states[i], &states[i + 1]) else { continue };
        let goes_on = |t: ThreadId| {
            run.enabled(&states[i], t).any(|e| !program.thread(t).transition(e).action.is_spurious())
        };
        let preempted = last.filter(|l| *l != step.thread && goes_on(*l));
        last = Some(step.thread);
        shown.push(Step {
            step: shown.len() + 1,
            thread: number(step.thread),
            operation: row.operation,
            object: row.object,
            detail: row.detail,
            location: Some(format!("{}:1", program.show_span(t.span))),
            callers: Vec::new(),
            preempts: preempted.map(number),
        });
    }
    let end = states.last().unwrap_or(&states[0]);
    let (kind, thread) = match &trace.wrong {
        Wrong::Deadlock => (FailureKind::Deadlock, None),
        Wrong::Error { thread, .. } => (FailureKind::Assertion, Some(number(*thread))),
    };
    let failing = trace.steps.iter().rev().find(|s| Some(number(s.thread)) == thread);
    let location = failing.map(|s| program.thread(s.thread).transition(s.transition).span);
    let mut failure = Failure {
        kind,
        message: what(program, &trace.wrong),
        location: location.map(|span| format!("{}:1", program.show_span(span))),
        thread,
        replay: String::new(),
        preemptions: shown.iter().filter(|s| s.preempts.is_some()).count(),
        threads: program.thread_ids().map(|t| show.thread(t, end)).collect(),
        cycle: vec![],
        trace: shown,
        after: None,
        help: None,
        output: None,
    };
    // What is wrong need not be an assertion; the line above the table has its name.
    if let (Wrong::Error { kind, .. }, Some(t)) = (&trace.wrong, failure.thread) {
        let at = failure.location.clone();
        let operation = format!("✗ {}", kind.name());
        let last = Step {
            step: 0,
            thread: t,
            operation,
            object: None,
            detail: None,
            location: at,
            callers: Vec::new(),
            preempts: None,
        };
        failure.trace.push(last);
        failure.thread = None;
    }
    report::text::trace(&failure, style)
}

fn number(t: ThreadId) -> explore::ThreadId {
    explore::ThreadId(t.0)
}

struct Row {
    operation: String,
    object: Option<String>,
    detail: Option<String>,
}

struct Show<'a> {
    program: &'a Program,
    run: &'a Interpreter<'a>,
}

impl Show<'_> {
    /// What a step does that can be seen.
    fn row(&self, thread: ThreadId, t: &Transition, before: &State, after: &State) -> Option<Row> {
        let name = |t: ThreadId| self.program.thread(t).name.clone();
        let row = |operation: &str, object: Option<String>, detail: Option<String>| {
            Some(Row { operation: operation.to_owned(), object, detail })
        };
        match t.action {
            Action::End => None,
            Action::Create(of) | Action::Join(of) => row(t.action.name(), Some(name(of)), None),
            Action::Local
            | Action::Read
            | Action::Write
            | Action::Update
            | Action::CompareExchange { .. }
            | Action::Atomic => self.access(thread, t, before, after),
            action => {
                let object = action.sync().map(|s| self.program.sync(s).name.clone());
                let detail = match action {
                    Action::Signal { woken: Some(w), .. } => Some(format!("wakes {}", name(w))),
                    Action::Signal { woken: None, .. } => Some("nobody waits".to_owned()),
                    Action::Wake { spurious: true, .. } => Some("for no reason".to_owned()),
                    _ => None,
                };
                row(&action.name().replace('-', " "), object, detail)
            }
        }
    }

    /// What is read and written, and what comes in from outside.
    fn access(&self, thread: ThreadId, t: &Transition, before: &State, after: &State) -> Option<Row> {
        let accesses = self.program.accesses(t);
        let written = self.places(thread, &accesses.writes, before);
        let read = self.places(thread, &accesses.reads, before);
        let inputs = self.places(thread, &t.havoc, before);
        let value = |cell: usize, s: &State| {
            let (var, _) = self.run.place_of(cell);
            self.program.var(var).ty.value(s.values[cell]).to_string()
        };
        let parts: Vec<String> = if written.is_empty() {
            let all = read.iter().map(|(name, c)| format!("read {name} = {}", value(*c, before)));
            all.chain(inputs.iter().map(|(name, c)| format!("input {name} = {}", value(*c, after)))).collect()
        } else {
            let change = |(name, c): &(String, usize)| {
                let both = read.iter().any(|(_, r)| r == c);
                let from = if both { format!("{} -> ", value(*c, before)) } else { String::new() };
                format!("{name} = {from}{}", value(*c, after))
            };
            written.iter().map(change).collect()
        };
        (!parts.is_empty()).then(|| Row { operation: parts.join(", "), object: None, detail: None })
    }

    /// Those of some places that have a name in the source, with their cells.
    fn places(&self, thread: ThreadId, places: &[Place], s: &State) -> Vec<(String, usize)> {
        let cell = |p: &Place| self.run.place_cell(s, *p);
        let named = |c: usize| {
            let (var, at) = self.run.place_of(c);
            Some((self.name(thread, var, at)?, c))
        };
        places.iter().filter_map(cell).filter_map(named).collect()
    }

    /// A variable as the source calls it, seen from a thread. `None` for what only the translation has.
    fn name(&self, thread: ThreadId, var: VarId, at: u64) -> Option<String> {
        let v = self.program.var(var);
        let own = format!("{}.", self.program.thread(thread).name);
        let name = v.name.strip_prefix(&own).unwrap_or(&v.name);
        if name.contains('%') || self.program.threads.iter().any(|t| t.life == Some(var)) {
            return None;
        }
        // A copy of a function's own variables for each place that it is called from.
        let name = name.split('#').next().unwrap_or(name);
        Some(if v.len.is_some() { format!("{name}[{at}]") } else { name.to_owned() })
    }

    /// Where a thread is at the end.
    fn thread(&self, t: ThreadId, s: &State) -> ThreadInfo {
        let thread = self.program.thread(t);
        let at = s.locations[t.index()];
        let waits = thread.from(at).map(|(_, e)| e.action).find(|a| a.may_block());
        let object = |a: Action| a.sync().map_or_else(String::new, |s| self.program.sync(s).name.clone());
        let state = match waits.filter(|_| self.run.is_live(s, t)) {
            Some(Action::Join(of)) => format!("waits for the end of {}", self.program.thread(of).name),
            Some(a @ Action::Wake { .. }) => format!("waits for a signal on {}", object(a)),
            Some(a) => format!("waits for {}", object(a)),
            None => String::new(),
        };
        ThreadInfo {
            thread: number(t),
            name: thread.name.clone(),
            state,
            location: Some(format!("{}:1", self.program.show_span(thread.location(at).span))),
            callers: vec![],
            waits_for: vec![],
        }
    }
}
