//! Explicit reachability: every state that can be reached, each kept once, breadth-first, so that traces are shortest.
//!
//! Qadeer, "Algorithmic verification of concurrent programs": worklist and visited set, with parents for traces.

use crate::budget::Meter;
use crate::certificate::Certificate;
use crate::engines::Engine;
use crate::outcome::{Options, Outcome, Unknown, Verdict};
use crate::packed::StateSet;
use crate::symmetry::{Joined, Symmetry};
use model::{ErrorKind, Interpreter, Node, Program, State, Step, Stepper, ThreadId, TransitionId, Wrong};

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Explicit;

/// The same with one state for all that differ only in which of several equal threads does what.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Symmetric;

impl Engine for Explicit {
    fn name(&self) -> &'static str {
        "explicit"
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        verify(self.name(), program, options, None)
    }
}

impl Engine for Symmetric {
    fn name(&self) -> &'static str {
        "explicit-symmetric"
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        let joined = Joined::of(program);
        let symmetry = Symmetry::of(&joined.program);
        if symmetry.is_empty() {
            return verify(self.name(), program, options, None);
        }
        let mut out = verify(self.name(), &joined.program, options, Some(symmetry));
        out.verdict = match out.verdict {
            Verdict::Unsafe(t) | Verdict::Unknown(Unknown::Bound(t)) => {
                Verdict::of_trace(program, joined.expanded(program, &t.steps))
            }
            other => other,
        };
        out
    }
}

fn verify(engine: &'static str, program: &Program, options: &Options, symmetry: Option<Symmetry>) -> Outcome {
    let run = Interpreter::new(program);
    let mut search = Search {
        settled: run.initial(),
        run,
        stepper: Stepper::new(program),
        symmetry,
        states: StateSet::new(program),
        parents: Vec::new(),
        tried: Vec::new(),
        transitions: 0,
        bound: None,
        too_wide: None,
        meter: Meter::new(options.budget),
    };
    let verdict = search.verdict(program, options);
    Outcome {
        engine,
        verdict,
        counts: vec![
            ("states", (search.parents.len() as u64 + 1).into()),
            ("transitions", search.transitions.into()),
        ],
        seconds: search.meter.seconds(),
    }
}

/// How a state was reached first.
#[derive(Clone, Copy)]
struct Parent {
    before: u32,
    transition: TransitionId,
    thread: ThreadId,
    /// The number of the input; from [`Parent::TRIED`] on, of one of those that were tried where there are too many.
    input: u32,
}

impl Parent {
    const TRIED: u32 = 1 << 31;
}

struct Search<'p> {
    run: Interpreter<'p>,
    stepper: Stepper<'p>,
    symmetry: Option<Symmetry>,
    /// A state on its way to the others.
    settled: State,
    states: StateSet,
    /// By the number of the state; the first one has none.
    parents: Vec<Parent>,
    /// Inputs that were tried where there are too many.
    tried: Vec<Vec<u64>>,
    transitions: u64,
    /// A state beyond the bound under which the program was read.
    bound: Option<usize>,
    /// Why not all inputs were tried: there are too many. What goes wrong with those that were goes wrong.
    too_wide: Option<String>,
    meter: Meter,
}

/// So many successors cost about as much as a state.
const AS_A_STATE: u64 = 16;

/// How many values are tried where there are too many.
const TRIED: usize = 10;

/// Numbers that may make a difference: those that the program compares with or computes with, and their neighbours.
pub(crate) fn telling(program: &Program) -> Vec<u64> {
    let number = |t| match program.terms.node(t) {
        Node::Const(v, ty) if ty.bits > 2 => Some(ty.value(v)),
        _ => None,
    };
    let mut all: Vec<i128> =
        program.terms.iter().filter_map(number).flat_map(|n| [n, n + 1, n - 1]).collect();
    all.sort_by_key(|n| (n.unsigned_abs(), *n < 0));
    all.dedup();
    let mut out = vec![0, 1, u64::MAX];
    out.extend(
        all.into_iter().map(|n| n as u64).filter(|n| !(0..=1).contains(n) && *n != u64::MAX).take(TRIED - 3),
    );
    out
}

impl Search<'_> {
    fn verdict(&mut self, program: &Program, options: &Options) -> Verdict {
        match self.search(options) {
            Err(unknown) => Verdict::Unknown(unknown),
            Ok(Some(wrong)) => Verdict::of_trace(program, self.path(wrong)),
            Ok(None) if self.too_wide.is_some() => {
                let why = self.too_wide.take().unwrap_or_default();
                Verdict::Unknown(Unknown::Cannot(format!(
                    "{why}; with those that were tried nothing goes wrong"
                )))
            }
            Ok(None) => match self.bound.take() {
                Some(s) => Verdict::of_trace(program, self.path(s)),
                None => {
                    let all = std::mem::replace(&mut self.states, StateSet::new(program));
                    Verdict::Safe(match self.symmetry {
                        Some(_) => Certificate::Symmetric(all),
                        None => Certificate::States(all),
                    })
                }
            },
        }
    }

    /// The first state that is wrong.
    fn search(&mut self, options: &Options) -> Result<Option<usize>, Unknown> {
        let mut s = self.run.initial();
        self.states.insert(&s);
        let program = self.run.program();
        let tried = telling(program);
        let (mut n, mut cost) = (0, 0);
        while n < self.states.len() {
            // A state with many successors costs more.
            self.meter.steps(1 + cost).map_err(|spent| match &self.too_wide {
                // With more time it would not know either.
                Some(why) => Unknown::Cannot(why.clone()),
                None => Unknown::Spent(spent),
            })?;
            cost = 0;
            self.states.read(n, &mut s);
            match self.run.error(&s) {
                // What is beyond the bound is not known, but elsewhere something may be wrong for sure.
                Some(Wrong::Error { kind: ErrorKind::Bound, .. }) => {
                    self.bound.get_or_insert(n);
                    n += 1;
                    continue;
                }
                Some(_) => return Ok(Some(n)),
                None => {}
            }
            let mut goes_on = false;
            let before = self.transitions;
            for thread in program.thread_ids() {
                let Search { states, parents, transitions, symmetry, settled, .. } = self;
                let seen = self.stepper.successors(&s, thread, |transition, input, next| {
                    *transitions += 1;
                    goes_on |= !program.thread(thread).transition(transition).action.is_spurious();
                    let next = match symmetry {
                        Some(symmetry) => symmetry.settled(next, settled),
                        None => next,
                    };
                    if states.insert(next) {
                        parents.push(Parent { before: n as u32, transition, thread, input: input as u32 });
                    }
                });
                if let Err(e) = seen {
                    self.too_wide.get_or_insert_with(|| e.to_string());
                    goes_on = true;
                    for (step, next) in self.run.some_successors(&s, thread, &tried) {
                        self.transitions += 1;
                        cost += 1;
                        let next = match &self.symmetry {
                            Some(symmetry) => symmetry.settled(&next, &mut self.settled),
                            None => &next,
                        };
                        if self.states.insert(next) {
                            let input = Parent::TRIED + self.tried.len() as u32;
                            self.tried.push(step.inputs);
                            let (before, transition) = (n as u32, step.transition);
                            self.parents.push(Parent { before, transition, thread, input });
                        }
                    }
                }
            }
            let stuck = || match goes_on {
                true => self.run.some_are_stuck_for_ever(&s),
                false => self.run.all_wait(&s),
            };
            if options.deadlocks && stuck() {
                return Ok(Some(n));
            }
            cost += (self.transitions - before) / AS_A_STATE;
            n += 1;
        }
        Ok(None)
    }

    /// The steps to a state.
    fn path(&mut self, mut to: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut states = vec![to];
        while let Some(p) = to.checked_sub(1).map(|n| self.parents[n]) {
            let edge = self.run.program().thread(p.thread).transition(p.transition);
            let inputs = match p.input.checked_sub(Parent::TRIED) {
                Some(k) => self.tried[k as usize].clone(),
                None => self.run.input(edge, p.input.into()),
            };
            steps.push(Step { thread: p.thread, transition: p.transition, inputs });
            to = p.before as usize;
            states.push(to);
        }
        steps.reverse();
        states.reverse();
        match self.symmetry.take() {
            Some(symmetry) => self.path_itself(&symmetry, &steps, &states),
            None => steps,
        }
    }

    /// The run that goes through states that stand for others: from each on, some thread takes a step to one that the next stands for.
    fn path_itself(&mut self, symmetry: &Symmetry, steps: &[Step], states: &[usize]) -> Vec<Step> {
        let (mut now, mut wanted) = (self.run.initial(), self.run.initial());
        let mut out = Vec::new();
        for (step, n) in steps.iter().zip(&states[1..]) {
            self.states.read(*n, &mut wanted);
            let threads = self.run.program().thread_ids();
            let found = threads.flat_map(|t| {
                self.run.program().thread(t).from(now.locations[t.index()]).map(move |e| (t, e))
            });
            let found =
                found.filter(|(_, (_, e))| self.run.holds(&now, e)).find_map(|(thread, (transition, e))| {
                    let fits = e.havoc.len() == step.inputs.len();
                    let step = Step { thread, transition, inputs: step.inputs.clone() };
                    let next = fits.then(|| self.run.take(&now, &step))?;
                    (*symmetry.settled(&next, &mut self.settled) == wanted).then_some((step, next))
                });
            // Without it the trace does not replay, and that is said.
            let Some((step, next)) = found else { return out };
            out.push(step);
            now = next;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Builder, Type};

    /// An input of 32 bits, and something wrong if it is a number that the program names.
    fn wide(wrong: bool) -> Program {
        let mut b = Builder::new();
        let x = b.shared("x", Type::INT, 0);
        let t = b.thread("T");
        b.havoc(t, model::Place::scalar(x));
        let value = b.value(x);
        let (low, high) = (b.terms().int(123_456), b.terms().int(if wrong { 123_458 } else { 123_457 }));
        let (above, below) = (b.terms().lt(low, value), b.terms().lt(value, high));
        let between = b.terms().and(above, below);
        let fine = b.terms().not(between);
        b.assert(t, fine, "not between");
        b.finish()
    }

    #[test]
    fn an_input_with_too_many_values_is_tried_with_some_that_tell() {
        let found = Explicit.verify(&wide(true), &Options::default());
        assert!(matches!(found.verdict, Verdict::Unsafe(_)), "{:?}", found.verdict);
        let none = Explicit.verify(&wide(false), &Options::default());
        let Verdict::Unknown(Unknown::Cannot(why)) = none.verdict else { panic!("{:?}", none.verdict) };
        assert!(why.contains("nothing goes wrong"), "{why}");
    }

    #[test]
    fn time_that_is_over_does_not_hide_that_not_all_can_be_tried() {
        let options =
            Options { budget: crate::budget::Budget { seconds: None, work: Some(5) }, ..Options::default() };
        let found = Explicit.verify(&wide(false), &options);
        assert!(matches!(found.verdict, Verdict::Unknown(Unknown::Cannot(_))), "{:?}", found.verdict);
    }
}
