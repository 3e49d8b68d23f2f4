//! The meaning of automata: states, steps, runs.
//!
//! This is the reference. A counterexample of any engine is a list of [`Step`]s, and [`Interpreter::replay`] says whether it is
//! a run of the program.

use crate::program::{
    Action, ErrorKind, LocationId, LocationKind, Program, Span, Thread, ThreadId, Transition, TransitionId,
};
use crate::term::{Place, Term, VarId};
use crate::waits::{Concrete, Waits};
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// A state: where each thread is, and the value of each variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State {
    /// By thread.
    pub locations: Box<[LocationId]>,
    /// By cell: the cells of all variables, one variable after the other ([`Interpreter::cell`]).
    pub values: Box<[u64]>,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Who.
    pub thread: ThreadId,
    /// Along which edge.
    pub transition: TransitionId,
    /// The values of its nondeterministic inputs, in the order of [`Transition::havoc`].
    pub inputs: Vec<u64>,
}

/// What is wrong in a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// A thread is at an error location.
    Error {
        /// Which thread.
        thread: ThreadId,
        /// Where in its automaton.
        location: LocationId,
        /// What it is.
        kind: ErrorKind,
    },
    /// Some threads wait for ever: see [`Interpreter::is_deadlock`].
    Deadlock,
}

/// An input that has too many values to try them one by one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: a nondeterministic input with {values} values; at most {limit} are tried one by one")]
pub struct TooWide {
    /// Where, as text.
    pub place: String,
    /// Where.
    pub span: Span,
    /// How many values.
    pub values: u128,
    /// How many would do.
    pub limit: u64,
}

/// A list of steps that is no run of the program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("step {step}: {why}")]
pub struct NoRun {
    /// Which step, from 0.
    pub step: usize,
    /// What is wrong with it.
    pub why: String,
}

/// Runs a program, step by step.
#[derive(Clone, Debug)]
pub struct Interpreter<'p> {
    program: &'p Program,
    base: Vec<usize>,
    cells: usize,
    /// How many values of a nondeterministic input are tried one by one.
    pub input_limit: u64,
    /// Where threads may wait, and what can end it, from when it is first asked for.
    waits: Arc<OnceLock<Waits>>,
}

impl<'p> Interpreter<'p> {
    /// For a program. Inputs of up to 8 bits are tried one by one.
    pub fn new(program: &'p Program) -> Interpreter<'p> {
        let mut cells = 0;
        let base = program
            .vars
            .iter()
            .map(|v| {
                cells += v.cells();
                cells - v.cells()
            })
            .collect();
        Interpreter { program, base, cells, input_limit: 256, waits: Arc::default() }
    }

    /// The program.
    pub fn program(&self) -> &'p Program {
        self.program
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// The number of a cell: an index into [`State::values`]. `None` past the end of an array.
    #[inline]
    pub fn cell(&self, var: VarId, index: u64) -> Option<usize> {
        let v = &self.program.vars[var.index()];
        (index < v.cells() as u64).then(|| self.base[var.index()] + index as usize)
    }

    /// The variable and the index of a cell.
    pub fn place_of(&self, cell: usize) -> (VarId, u64) {
        let v = self.base.partition_point(|b| *b <= cell) - 1;
        // Variables without cells share their base with the next one.
        (VarId(v as u32), (cell - self.base[v]) as u64)
    }

    /// The state at the start.
    pub fn initial(&self) -> State {
        State {
            locations: self.program.threads.iter().map(|t| t.entry).collect(),
            values: self.program.vars.iter().flat_map(|v| v.init.iter().copied()).collect(),
        }
    }

    /// The value of a variable or of a cell; 0 past the end of an array.
    pub fn value(&self, s: &State, var: VarId, index: u64) -> u64 {
        self.cell(var, index).map_or(0, |c| s.values[c])
    }

    /// The value of a term.
    pub fn eval(&self, s: &State, t: Term) -> u64 {
        self.program.terms.eval(t, &mut |v, i| self.value(s, v, i))
    }

    /// Whether a transition can be taken; its thread must be where it starts.
    pub fn holds(&self, s: &State, t: &Transition) -> bool {
        self.eval(s, t.guard) != 0
    }

    /// The transitions that a thread can take.
    pub fn enabled(&self, s: &State, thread: ThreadId) -> impl Iterator<Item = TransitionId> {
        let t = self.program.thread(thread);
        t.from(s.locations[thread.index()]).filter(|(_, e)| self.holds(s, e)).map(|(id, _)| id)
    }

    /// Whether a thread can take a step.
    pub fn is_enabled(&self, s: &State, thread: ThreadId) -> bool {
        self.enabled(s, thread).next().is_some()
    }

    /// Takes a step with the given inputs. The guard must hold.
    pub fn take(&self, s: &State, step: &Step) -> State {
        let t = self.program.thread(step.thread).transition(step.transition);
        let mut next = s.clone();
        next.locations[step.thread.index()] = t.to;
        for a in &t.assigns {
            if let Some(c) = self.place_cell(s, a.place) {
                next.values[c] = self.eval(s, a.value);
            }
        }
        for (p, v) in t.havoc.iter().zip(&step.inputs) {
            if let Some(c) = self.place_cell(s, *p) {
                next.values[c] = v & self.program.var(p.var).ty.mask();
            }
        }
        next
    }

    /// The cell that a place is in a state. A write past the end of an array is no write: whoever lowers C checks the index first.
    pub fn place_cell(&self, s: &State, p: Place) -> Option<usize> {
        self.cell(p.var, p.index.map_or(0, |i| self.eval(s, i)))
    }

    /// All steps of a thread, with the states they lead to.
    pub fn successors(&self, s: &State, thread: ThreadId) -> Result<Vec<(Step, State)>, TooWide> {
        let mut out = Vec::new();
        for transition in self.enabled(s, thread) {
            let t = self.program.thread(thread).transition(transition);
            let total = self.inputs(t)?;
            for n in 0..total {
                let step = Step { thread, transition, inputs: self.input(t, n) };
                let next = self.take(s, &step);
                out.push((step, next));
            }
        }
        Ok(out)
    }

    /// Some steps of a thread: of inputs with too many values only those where all are one of `values`, or one is and the others are
    /// the first of them.
    pub fn some_successors(&self, s: &State, thread: ThreadId, values: &[u64]) -> Vec<(Step, State)> {
        let mut out = Vec::new();
        for transition in self.enabled(s, thread) {
            let t = self.program.thread(thread).transition(transition);
            let inputs: Vec<Vec<u64>> = match self.inputs(t) {
                Ok(total) => (0..total).map(|n| self.input(t, n)).collect(),
                Err(_) => {
                    let fits = |p: &Place, v: u64| v & self.program.var(p.var).ty.mask();
                    let all = |v: &u64| t.havoc.iter().map(|p| fits(p, *v)).collect::<Vec<_>>();
                    let mut list: Vec<Vec<u64>> = values.iter().map(all).collect();
                    for (i, p) in t.havoc.iter().enumerate() {
                        list.extend(values.iter().map(|v| {
                            let mut one = all(values.first().unwrap_or(&0));
                            one[i] = fits(p, *v);
                            one
                        }));
                    }
                    list.sort_unstable();
                    list.dedup();
                    list
                }
            };
            for inputs in inputs {
                let step = Step { thread, transition, inputs };
                let next = self.take(s, &step);
                out.push((step, next));
            }
        }
        out
    }

    /// How many different inputs a transition has.
    pub fn inputs(&self, t: &Transition) -> Result<u64, TooWide> {
        let bits: u32 = t.havoc.iter().map(|p| self.program.var(p.var).ty.bits as u32).sum();
        let values = 1u128.checked_shl(bits).unwrap_or(u128::MAX);
        if values > self.input_limit as u128 {
            let place = self.program.show_span(t.span);
            return Err(TooWide { place, span: t.span, values, limit: self.input_limit });
        }
        Ok(values as u64)
    }

    /// The n-th input of a transition.
    pub fn input(&self, t: &Transition, mut n: u64) -> Vec<u64> {
        let part = |p: &Place| {
            let ty = self.program.var(p.var).ty;
            let v = n & ty.mask();
            n = n.checked_shr(ty.bits as u32).unwrap_or(0);
            v
        };
        t.havoc.iter().map(part).collect()
    }

    /// The thread that is at an error location, if one is.
    pub fn error(&self, s: &State) -> Option<Wrong> {
        self.program.thread_ids().find_map(|thread| {
            let location = s.locations[thread.index()];
            match self.program.thread(thread).location(location).kind {
                LocationKind::Error { kind, .. } => Some(Wrong::Error { thread, location, kind }),
                _ => None,
            }
        })
    }

    /// Whether a thread has neither ended nor is still to be made.
    pub fn is_live(&self, s: &State, thread: ThreadId) -> bool {
        let t = self.program.thread(thread);
        let unborn = t.life.is_some_and(|life| self.value(s, life, 0) == Thread::UNBORN);
        !unborn && matches!(t.location(s.locations[thread.index()]).kind, LocationKind::Normal)
    }

    /// Whether the program is over, or does not count: a thread has called `exit`, or an assumption does not hold.
    pub fn is_over(&self, s: &State) -> bool {
        self.program.thread_ids().any(|t| {
            let kind = &self.program.thread(t).location(s.locations[t.index()]).kind;
            matches!(kind, LocationKind::Exit | LocationKind::Halt | LocationKind::Error { .. })
        })
    }

    /// Whether some thread is left waiting for ever: none can go on, or those that can neither end the wait nor the program. A thread
    /// that could only wake up spuriously cannot go on. [`Waits`] has the definition.
    pub fn is_deadlock(&self, s: &State) -> bool {
        self.all_wait(s) || self.some_are_stuck(s)
    }

    /// Where threads may wait, and what can end it.
    pub fn waits(&self) -> &Waits {
        self.waits.get_or_init(|| Waits::of(self.program))
    }

    /// Whether some threads are left waiting for ever, although others may go on.
    pub fn some_are_stuck(&self, s: &State) -> bool {
        if !self.program.thread_ids().any(|t| self.waits_now(s, t)) {
            return false;
        }
        let Ok(stuck) = self.waits().deadlock(self.program, &mut Concrete { run: self, state: s });
        stuck
    }

    /// The same, where some of those that go on may do so for ever. Elsewhere a state follows in which none can go on.
    pub fn some_are_stuck_for_ever(&self, s: &State) -> bool {
        let endless = |t: ThreadId| self.is_live(s, t) && self.waits().is_endless(t, s.locations[t.index()]);
        self.program.thread_ids().any(endless) && self.some_are_stuck(s)
    }

    /// Whether a thread is left and cannot go on; a spurious wake-up does not count.
    fn waits_now(&self, s: &State, t: ThreadId) -> bool {
        let at = s.locations[t.index()];
        let real = |e: TransitionId| !self.program.thread(t).transition(e).action.is_spurious();
        let thread = self.program.thread(t);
        (thread.location(at).may_block || thread.from(at).next().is_none())
            && self.is_live(s, t)
            && !self.enabled(s, t).any(real)
    }

    /// Whether some thread is left waiting and none can go on. A thread that waits for an assumption makes the run one that does not
    /// count. After the end of the program only threads that wait for each other's locks count.
    pub fn all_wait(&self, s: &State) -> bool {
        let mut left = false;
        for t in self.program.thread_ids() {
            let real = |e: TransitionId| !self.program.thread(t).transition(e).action.is_spurious();
            if self.enabled(s, t).any(real) {
                return false;
            }
            if self.is_live(s, t) {
                if self.program.thread(t).location(s.locations[t.index()]).assumes {
                    return false;
                }
                left = true;
            }
        }
        left && (!self.is_over(s) || self.some_are_stuck(s))
    }

    /// What is wrong in a state.
    pub fn wrong(&self, s: &State) -> Option<Wrong> {
        self.error(s).or_else(|| self.is_deadlock(s).then_some(Wrong::Deadlock))
    }

    /// Takes the steps of a run from the start: all states, the first and the last included.
    pub fn replay(&self, run: &[Step]) -> Result<Vec<State>, NoRun> {
        let mut states = vec![self.initial()];
        for (n, step) in run.iter().enumerate() {
            let bad = |why: String| NoRun { step: n, why };
            let s = &states[n];
            let Some(thread) = self.program.threads.get(step.thread.index()) else {
                return Err(bad(format!("there is no thread {}", step.thread)));
            };
            let Some(t) = thread.transitions.get(step.transition.index()) else {
                return Err(bad(format!("`{}` has no such transition", thread.name)));
            };
            if s.locations[step.thread.index()] != t.from {
                return Err(bad(format!(
                    "`{}` is at {}, not at {}",
                    thread.name,
                    s.locations[step.thread.index()].0,
                    t.from.0
                )));
            }
            if !self.holds(s, t) {
                return Err(bad(format!(
                    "`{}` cannot take `{}`",
                    thread.name,
                    self.program.show_transition(t)
                )));
            }
            if step.inputs.len() != t.havoc.len() {
                return Err(bad(format!("{} inputs for {}", step.inputs.len(), t.havoc.len())));
            }
            let next = self.take(s, step);
            states.push(next);
        }
        Ok(states)
    }

    /// A run as text, one line a step: the thread, the line of the source, what it did, and the values that it wrote.
    pub fn show_run(&self, run: &[Step]) -> Result<String, NoRun> {
        let states = self.replay(run)?;
        let mut out = String::new();
        for (i, step) in run.iter().enumerate() {
            let thread = self.program.thread(step.thread);
            let t = thread.transition(step.transition);
            let mut written = Vec::new();
            for p in t.assigns.iter().map(|a| a.place).chain(t.havoc.iter().copied()) {
                if let Some(c) = self.place_cell(&states[i], p) {
                    let (v, at) = self.place_of(c);
                    let var = self.program.var(v);
                    let value = var.ty.value(states[i + 1].values[c]);
                    let index = if var.len.is_some() { format!("[{at}]") } else { String::new() };
                    written.push(format!("{}{index} = {value}", var.name));
                }
            }
            let what = match t.action {
                Action::Local | Action::Read | Action::Write | Action::Update => String::new(),
                a => match a.sync() {
                    Some(s) => format!("{} {} ", a.name(), self.program.sync(s).name),
                    None => format!("{} ", a.name()),
                },
            };
            let place = self.program.show_span(t.span);
            let line = format!("{:>3} {} {place}: {what}{}", i + 1, thread.name, written.join(", "));
            out.push_str(line.trim_end());
            out.push('\n');
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Type};

    #[test]
    fn two_threads_that_take_two_locks_the_other_way_round_can_deadlock() {
        let mut b = Builder::new();
        let (m, n) = (b.mutex("m"), b.mutex("n"));
        for (name, first, second) in [("A", m, n), ("B", n, m)] {
            let t = b.thread(name);
            b.lock(t, first);
            b.lock(t, second);
        }
        let p = b.finish();
        let run = Interpreter::new(&p);
        let mut s = run.initial();
        for t in [0, 1] {
            assert_eq!(run.wrong(&s), None);
            s = run.successors(&s, ThreadId(t)).unwrap().remove(0).1;
        }
        assert_eq!(run.wrong(&s), Some(Wrong::Deadlock));
    }

    #[test]
    fn a_spurious_wake_up_does_not_hide_a_deadlock() {
        let mut b = Builder::new();
        b.spurious_wakeups(true);
        let (m, c) = (b.mutex("m"), b.condition("c"));
        let t = b.thread("A");
        b.lock(t, m);
        b.wait(t, c, m);
        let p = b.finish();
        let run = Interpreter::new(&p);
        let mut s = run.initial();
        for _ in 0..2 {
            s = run.successors(&s, t).unwrap().remove(0).1;
        }
        assert!(run.is_deadlock(&s));
        assert!(run.is_enabled(&s, t));
    }

    #[test]
    fn an_input_is_tried_with_every_value_if_there_are_few() {
        let mut b = Builder::new();
        let t = b.thread("A");
        let (x, y) = (b.local(t, "x", Type::BOOL, 0), b.local(t, "y", Type::INT, 0));
        b.havoc(t, Place::scalar(x));
        b.havoc(t, Place::scalar(y));
        let p = b.finish();
        let run = Interpreter::new(&p);
        let mut all = run.successors(&run.initial(), t).unwrap();
        assert_eq!(all.iter().map(|(_, s)| s.values[0]).collect::<Vec<_>>(), [0, 1]);
        let (step, s) = all.remove(1);
        assert_eq!(run.replay(&[step]).unwrap()[1], s);
        assert_eq!(run.successors(&s, t).unwrap_err().values, 1 << 32);
    }

    #[test]
    fn steps_that_are_no_run_are_refused() {
        let mut b = Builder::new();
        let m = b.mutex("m");
        let t = b.thread("A");
        b.lock(t, m);
        b.lock(t, m);
        let p = b.finish();
        let run = Interpreter::new(&p);
        let step = |n| Step { thread: t, transition: TransitionId(n), inputs: vec![] };
        assert_eq!(run.replay(&[step(1)]).unwrap_err().to_string(), "step 0: `A` is at 0, not at 1");
        assert!(run.replay(&[step(0), step(1)]).unwrap_err().to_string().contains("cannot take `lock m"));
    }
}
