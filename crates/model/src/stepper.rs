//! Steps from state to state, fast: for searches that look at every state.
//!
//! The same as [`Interpreter::successors`], with all that is evaluated translated once, and nothing allocated for a step.

use crate::code::{Code, Codes, Effect, Scratch};
use crate::program::{Program, ThreadId, TransitionId};
use crate::state::{Interpreter, State, TooWide};

struct Edge {
    /// All of these hold where it can be taken.
    guard: Vec<Code>,
    effect: Effect,
}

/// Takes steps of a program.
pub struct Stepper<'p> {
    interpreter: Interpreter<'p>,
    codes: Codes<'p>,
    /// By thread and transition.
    edges: Vec<Vec<Edge>>,
    scratch: Scratch,
    next: State,
    inputs: Vec<u64>,
}

impl<'p> Stepper<'p> {
    /// For a program.
    pub fn new(program: &'p Program) -> Stepper<'p> {
        let interpreter = Interpreter::new(program);
        let mut codes = Codes::new(program);
        let mut edge = |t: &crate::Thread, e| {
            let guard = codes.guard(t, e);
            Edge { guard: [guard.local, guard.rest].concat(), effect: codes.effect(e) }
        };
        let edges =
            program.threads.iter().map(|t| t.transitions.iter().map(|e| edge(t, e)).collect()).collect();
        let next = interpreter.initial();
        Stepper { interpreter, codes, edges, scratch: Scratch::default(), next, inputs: Vec::new() }
    }

    /// The reference.
    pub fn interpreter(&self) -> &Interpreter<'p> {
        &self.interpreter
    }

    /// Whether a transition can be taken; its thread must be where it starts.
    #[inline]
    pub fn holds(&mut self, s: &State, thread: ThreadId, transition: TransitionId) -> bool {
        let guard = &self.edges[thread.index()][transition.index()].guard;
        let holds = self.codes.all(guard, &s.values, &mut self.scratch.stack);
        debug_assert_eq!(
            holds,
            self.interpreter.holds(s, self.interpreter.program().thread(thread).transition(transition))
        );
        holds
    }

    /// Calls `see` with every step of a thread: the transition, the number of its input ([`Interpreter::input`]), and the state that it
    /// leads to.
    pub fn successors(
        &mut self,
        s: &State,
        thread: ThreadId,
        mut see: impl FnMut(TransitionId, u64, &State),
    ) -> Result<(), TooWide> {
        let automaton = self.interpreter.program().thread(thread);
        for (id, e) in automaton.from(s.locations[thread.index()]) {
            if !self.holds(s, thread, id) {
                continue;
            }
            let inputs = if e.havoc.is_empty() { 1 } else { self.interpreter.inputs(e)? };
            for n in 0..inputs {
                if !e.havoc.is_empty() {
                    self.inputs = self.interpreter.input(e, n);
                }
                self.next.locations.copy_from_slice(&s.locations);
                self.next.values.copy_from_slice(&s.values);
                self.next.locations[thread.index()] = e.to;
                let effect = &self.edges[thread.index()][id.index()].effect;
                self.codes.apply(effect, &self.inputs, &mut self.next.values, &mut self.scratch);
                see(id, n, &self.next);
            }
        }
        Ok(())
    }
}
