//! Symbolic traces: one order of the events of a run, for all inputs (Metzler 2020, section 5.1).
//!
//! Two steps of different threads have to keep their order if they access the same place and one of them writes it. Which place a step
//! accesses may depend on inputs: then there is a condition on the order, `x == y` say, and one trace is good for all inputs. Events are
//! told by their thread and how manieth of its steps they are.
//!
//! **Invariant:** when the second event of a condition is about to go, nobody writes any more what the place of the first one depends on:
//! all events that do come before the second, whatever the inputs are. Where that is not so the condition is *true*, or for a run without
//! inputs what it was in the run: without inputs, events access what they did as long as those before them do.

use model::{Interpreter, NoRun, Place, Program, State, Step, Term, Terms, ThreadId, Transition, VarId};
use std::collections::HashMap;

/// An order of events with conditions.
#[derive(Clone, Debug)]
pub struct SymbolicTrace {
    /// The conditions, and the program's terms before them.
    pub terms: Terms,
    /// The events, in an order that is one of those allowed.
    pub events: Vec<TraceEvent>,
    /// What has to come before what, between different threads: no edge follows from others and from the order of a thread's own events.
    pub edges: Vec<TraceOrder>,
}

/// An event of a [`SymbolicTrace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceEvent {
    /// Whose step.
    pub thread: ThreadId,
    /// How many it has done before.
    pub nth: usize,
}

/// That one event comes before another one if a condition holds in the state in which the second one is about to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOrder {
    /// The event before: an index.
    pub before: usize,
    /// The condition.
    pub condition: Term,
    /// The event after.
    pub after: usize,
}

/// When two steps of different threads have to keep their order, as a formula over the places that they access.
pub(crate) fn dependence(p: &Program, terms: &mut Terms, a: &Transition, b: &Transition) -> Term {
    let (x, y) = (p.accesses(a), p.accesses(b));
    let mut same = |u: &[Place], v: &[Place]| -> Vec<Term> {
        let pairs = u.iter().flat_map(|q| v.iter().map(move |r| (q, r))).filter(|(q, r)| q.var == r.var);
        pairs.map(|(q, r)| same_cell(terms, q, r)).collect()
    };
    let mut all = same(&x.writes, &y.writes);
    all.extend(same(&x.writes, &y.reads));
    all.extend(same(&x.reads, &y.writes));
    terms.any(all)
}

/// That two places of one variable are the same.
fn same_cell(terms: &mut Terms, q: &Place, r: &Place) -> Term {
    let (Some(i), Some(j)) = (q.index, r.index) else { return terms.boolean(true) };
    if terms.ty(i) == terms.ty(j) {
        return terms.eq(i, j);
    }
    let differ = matches!((terms.as_const(i), terms.as_const(j)), (Some(i), Some(j)) if i != j);
    terms.boolean(!differ)
}

/// For each event those that come before it whatever the inputs are.
struct Before(Vec<Vec<bool>>);

impl Before {
    fn add(&mut self, before: usize, after: usize) {
        let more = self.0[before].clone();
        for (all, more) in self.0[after].iter_mut().zip(more) {
            *all |= more;
        }
        self.0[after][before] = true;
    }
}

impl SymbolicTrace {
    /// The trace of a run from the first state.
    pub fn of(program: &Program, run: &[Step]) -> Result<SymbolicTrace, NoRun> {
        let interpreter = Interpreter::new(program);
        let states = interpreter.replay(run)?;
        let closed = run.iter().all(|s| s.inputs.is_empty());
        let mut terms = program.terms.clone();
        let steps: Vec<&Transition> =
            run.iter().map(|s| program.thread(s.thread).transition(s.transition)).collect();
        let mut counts = vec![0; program.threads.len()];
        let events: Vec<TraceEvent> = run
            .iter()
            .map(|s| {
                let nth = counts[s.thread.index()];
                counts[s.thread.index()] += 1;
                TraceEvent { thread: s.thread, nth }
            })
            .collect();
        let writers = writers(&steps);
        let mut before = Before(vec![vec![false; run.len()]; run.len()]);
        let mut edges: Vec<TraceOrder> = Vec::new();
        let mut last: Vec<Option<usize>> = vec![None; program.threads.len()];
        for after in 0..run.len() {
            if let Some(own) = last[run[after].thread.index()].replace(after) {
                before.add(own, after);
            }
            let mut conditions = Vec::new();
            // What is nearer first: what follows from it is left out.
            for e in (0..after).rev().filter(|e| run[*e].thread != run[after].thread) {
                let condition = dependence(program, &mut terms, steps[e], steps[after]);
                match terms.as_const(condition) {
                    Some(0) => {}
                    Some(_) if before.0[after][e] => {}
                    Some(_) => {
                        before.add(e, after);
                        edges.push(TraceOrder { before: e, condition, after });
                    }
                    None => conditions.push((e, condition)),
                }
            }
            for (e, condition) in conditions {
                if before.0[after][e] {
                    continue;
                }
                let settled =
                    |v: &VarId| writers.get(v).is_none_or(|w| w.iter().all(|w| before.0[after][*w]));
                if indexed_by(program, steps[e]).iter().all(settled) {
                    edges.push(TraceOrder { before: e, condition, after });
                    continue;
                }
                let met = |a: &Transition, b: &Transition| {
                    cells_meet(&interpreter, a, &states[e], b, &states[after])
                };
                if !closed || met(steps[e], steps[after]) {
                    let condition = terms.boolean(true);
                    before.add(e, after);
                    edges.push(TraceOrder { before: e, condition, after });
                }
            }
        }
        edges.sort_by_key(|e| (e.after, e.before));
        Ok(SymbolicTrace { terms, events, edges })
    }

    /// Its first events, and the order among them: whatever comes before one of them is one of them.
    pub fn prefix(&self, many: usize) -> SymbolicTrace {
        SymbolicTrace {
            terms: self.terms.clone(),
            events: self.events[..many.min(self.events.len())].to_vec(),
            edges: self.edges.iter().filter(|e| e.after < many).copied().collect(),
        }
    }

    /// A run that is to keep to it, at its beginning.
    pub fn follow(&self) -> Following<'_> {
        let number = self.events.iter().enumerate().map(|(n, e)| (*e, n)).collect();
        let mut into = vec![Vec::new(); self.events.len()];
        self.edges.iter().for_each(|e| into[e.after].push(*e));
        Following {
            trace: self,
            number,
            into,
            done: vec![false; self.events.len()],
            left: self.events.len(),
            counts: HashMap::new(),
        }
    }
}

/// The variables that say which places a step accesses.
fn indexed_by(p: &Program, t: &Transition) -> Vec<VarId> {
    let all = p.accesses(t);
    let mut out = Vec::new();
    for index in all.reads.iter().chain(&all.writes).filter_map(|q| q.index) {
        p.terms.places(index, &mut |q| out.push(q.var));
    }
    out
}

/// Which events write each variable.
fn writers(steps: &[&Transition]) -> HashMap<VarId, Vec<usize>> {
    let mut out: HashMap<VarId, Vec<usize>> = HashMap::new();
    for (n, t) in steps.iter().enumerate() {
        for var in t.assigns.iter().map(|a| a.place.var).chain(t.havoc.iter().map(|h| h.var)) {
            out.entry(var).or_default().push(n);
        }
    }
    out
}

/// Whether two steps, each from its state, access the same cell, and one of them writes it.
fn cells_meet(run: &Interpreter<'_>, a: &Transition, s: &State, b: &Transition, t: &State) -> bool {
    let p = run.program();
    let (x, y) = (p.accesses(a), p.accesses(b));
    let cell = |s: &State, q: &Place| (q.var, q.index.map(|i| run.eval(s, i)));
    let meet = |u: &[Place], v: &[Place]| u.iter().any(|q| v.iter().any(|r| cell(s, q) == cell(t, r)));
    meet(&x.writes, &y.writes) || meet(&x.writes, &y.reads) || meet(&x.reads, &y.writes)
}

/// A run that keeps to a [`SymbolicTrace`] until all of its events are over. Then everything is allowed.
#[derive(Clone, Debug)]
pub struct Following<'t> {
    trace: &'t SymbolicTrace,
    number: HashMap<TraceEvent, usize>,
    /// The edges into each event.
    into: Vec<Vec<TraceOrder>>,
    done: Vec<bool>,
    left: usize,
    counts: HashMap<ThreadId, usize>,
}

impl Following<'_> {
    /// Whether a thread may take its next step.
    pub fn may_go(&self, run: &Interpreter<'_>, state: &State, thread: ThreadId) -> bool {
        if self.left == 0 {
            return true;
        }
        let nth = self.counts.get(&thread).copied().unwrap_or(0);
        let Some(event) = self.number.get(&TraceEvent { thread, nth }) else { return false };
        let holds = |c: Term| self.trace.terms.eval(c, &mut |v, i| run.value(state, v, i)) != 0;
        self.into[*event].iter().all(|e| self.done[e.before] || !holds(e.condition))
    }

    /// A thread has taken a step.
    pub fn went(&mut self, thread: ThreadId) {
        let nth = self.counts.entry(thread).or_insert(0);
        if let Some(event) = self.number.get(&TraceEvent { thread, nth: *nth }) {
            self.done[*event] = true;
            self.left -= 1;
        }
        *nth += 1;
    }
}
