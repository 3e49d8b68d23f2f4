//! Explicit reachability: every state that can be reached, each kept once, breadth-first, so that traces are shortest.
//!
//! Qadeer, "Algorithmic verification of concurrent programs": worklist and visited set, with parents for traces.

use crate::budget::Meter;
use crate::certificate::{Certificate, StateSet};
use crate::engines::Engine;
use crate::outcome::{Options, Outcome, Unknown, Verdict};
use model::{ErrorKind, Interpreter, Program, State, Step, Wrong};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Explicit;

impl Engine for Explicit {
    fn name(&self) -> &'static str {
        "explicit"
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        let mut search = Search {
            run: Interpreter::new(program),
            parents: HashMap::new(),
            transitions: 0,
            bound: None,
            meter: Meter::new(options.budget),
        };
        let verdict = search.verdict(program, options);
        Outcome {
            engine: self.name(),
            verdict,
            counts: vec![("states", search.parents.len() as u64), ("transitions", search.transitions)],
            seconds: search.meter.seconds(),
        }
    }
}

struct Search<'p> {
    run: Interpreter<'p>,
    /// Each state with how it was reached first.
    parents: HashMap<Rc<State>, Option<(Rc<State>, Step)>>,
    transitions: u64,
    /// A state beyond the bound under which the program was read.
    bound: Option<Rc<State>>,
    meter: Meter,
}

impl Search<'_> {
    fn verdict(&mut self, program: &Program, options: &Options) -> Verdict {
        match self.search(options) {
            Err(unknown) => Verdict::Unknown(unknown),
            Ok(Some(wrong)) => Verdict::of_trace(program, self.path(wrong)),
            Ok(None) => match self.bound.take() {
                Some(s) => Verdict::of_trace(program, self.path(s)),
                None => {
                    let states = self.parents.keys().map(|s| State::clone(s)).collect();
                    Verdict::Safe(Certificate::States(StateSet { states }))
                }
            },
        }
    }

    /// The first state that is wrong.
    fn search(&mut self, options: &Options) -> Result<Option<Rc<State>>, Unknown> {
        let first = Rc::new(self.run.initial());
        self.parents.insert(first.clone(), None);
        let mut queue = VecDeque::from([first]);
        while let Some(s) = queue.pop_front() {
            self.meter.step().map_err(Unknown::Spent)?;
            match self.run.error(&s) {
                // What is beyond the bound is not known, but elsewhere something may be wrong for sure.
                Some(Wrong::Error { kind: ErrorKind::Bound, .. }) => {
                    self.bound.get_or_insert(s);
                    continue;
                }
                Some(_) => return Ok(Some(s)),
                None if options.deadlocks && self.run.is_deadlock(&s) => return Ok(Some(s)),
                None => {}
            }
            for t in self.run.program().thread_ids() {
                let next = self.run.successors(&s, t).map_err(|e| Unknown::Cannot(e.to_string()))?;
                for (step, state) in next {
                    self.transitions += 1;
                    if !self.parents.contains_key(&state) {
                        let state = Rc::new(state);
                        self.parents.insert(state.clone(), Some((s.clone(), step)));
                        queue.push_back(state);
                    }
                }
            }
        }
        Ok(None)
    }

    fn path(&self, mut to: Rc<State>) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some(Some((before, step))) = self.parents.get(&to) {
            steps.push(step.clone());
            to = before.clone();
        }
        steps.reverse();
        steps
    }
}
