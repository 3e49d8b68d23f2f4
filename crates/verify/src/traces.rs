//! Symbolic traces: one order of the events of a run, for all inputs (Metzler 2020, section 5.1).
//!
//! Two steps of different threads have to keep their order if they access the same place and one of them writes it. Which place a step
//! accesses may depend on inputs: then there is a condition on the order, `x == y` say, and one trace is good for all inputs. Events are
//! told by their thread and how manieth of its steps they are.
//!
//! **Invariant:** when the second event of a condition is about to go, nobody writes any more what the place of the first one depends on:
//! all events that do come before the second, whatever the inputs are. Where that is not so the condition is *true*, or for a run without
//! inputs what it was in the run: without inputs, events access what they did as long as those before them do.

use model::{
    Accesses, Interpreter, NoRun, Place, Program, State, Step, Term, Terms, ThreadId, Transition, VarId,
};
use std::collections::{BTreeSet, HashMap};

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
pub(crate) fn dependence(terms: &mut Terms, x: &Accesses, y: &Accesses) -> Term {
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

/// Events one after the other, and which come before which whatever the inputs are: for each event how many of each thread do.
pub(crate) struct Orders {
    threads: Vec<ThreadId>,
    clocks: Vec<Vec<usize>>,
    /// The last event of each thread.
    last: Vec<Option<usize>>,
    /// The events that access each variable.
    touched: HashMap<VarId, Vec<usize>>,
}

impl Orders {
    pub(crate) fn new(threads: usize) -> Orders {
        Orders { threads: Vec::new(), clocks: Vec::new(), last: vec![None; threads], touched: HashMap::new() }
    }

    /// One more event. Those of other threads before it that access one of the same variables, the nearest first.
    pub(crate) fn push(&mut self, thread: ThreadId, accesses: &Accesses) -> Vec<usize> {
        let n = self.threads.len();
        let own = self.last[thread.index()].replace(n);
        let clock = match own {
            Some(m) => {
                let mut clock = self.clocks[m].clone();
                clock[thread.index()] += 1;
                clock
            }
            None => vec![0; self.last.len()],
        };
        self.threads.push(thread);
        self.clocks.push(clock);
        let mut near = BTreeSet::new();
        for q in accesses.reads.iter().chain(&accesses.writes) {
            let touched = self.touched.entry(q.var).or_default();
            if touched.last() != Some(&n) {
                near.extend(touched.iter().copied().filter(|m| self.threads[*m] != thread));
                touched.push(n);
            }
        }
        near.into_iter().rev().collect()
    }

    /// How manieth of its thread's events one is, from 0.
    pub(crate) fn nth(&self, n: usize) -> usize {
        self.clocks[n][self.threads[n].index()]
    }

    pub(crate) fn is_before(&self, m: usize, n: usize) -> bool {
        self.nth(m) < self.clocks[n][self.threads[m].index()]
    }

    /// One comes before the other.
    pub(crate) fn add(&mut self, before: usize, after: usize) {
        let (thread, nth) = (self.threads[before].index(), self.nth(before));
        let more = self.clocks[before].clone();
        let clock = &mut self.clocks[after];
        clock.iter_mut().zip(more).for_each(|(all, more)| *all = more.max(*all));
        clock[thread] = clock[thread].max(nth + 1);
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
        let accesses: Vec<Accesses> = steps.iter().map(|t| program.accesses(t)).collect();
        let writers = writers(&steps);
        let (mut events, mut edges) = (Vec::new(), Vec::new());
        let mut orders = Orders::new(program.threads.len());
        for (after, step) in run.iter().enumerate() {
            // What is nearer first: what follows from it is left out.
            let near = orders.push(step.thread, &accesses[after]);
            events.push(TraceEvent { thread: step.thread, nth: orders.nth(after) });
            let mut open = Vec::new();
            for before in near {
                let condition = dependence(&mut terms, &accesses[before], &accesses[after]);
                match terms.as_const(condition) {
                    Some(0) => {}
                    Some(_) if orders.is_before(before, after) => {}
                    Some(_) => {
                        orders.add(before, after);
                        edges.push(TraceOrder { before, condition, after });
                    }
                    None => open.push((before, condition)),
                }
            }
            for (before, mut condition) in open {
                if orders.is_before(before, after) {
                    continue;
                }
                let over = |w: &Vec<usize>| w.iter().all(|w| orders.is_before(*w, after));
                let settled = |v: &VarId| writers.get(v).is_none_or(over);
                if !indexed_by(program, &accesses[before]).iter().all(settled) {
                    let cells =
                        |n: usize| Cells { run: &interpreter, state: &states[n], accesses: &accesses[n] };
                    if closed && !cells(before).meet(&cells(after)) {
                        continue;
                    }
                    condition = terms.boolean(true);
                    orders.add(before, after);
                }
                edges.push(TraceOrder { before, condition, after });
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
fn indexed_by(p: &Program, all: &Accesses) -> Vec<VarId> {
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

/// What a step accesses from its state.
struct Cells<'a> {
    run: &'a Interpreter<'a>,
    state: &'a State,
    accesses: &'a Accesses,
}

impl Cells<'_> {
    /// Whether two steps access the same cell, and one of them writes it.
    fn meet(&self, other: &Cells<'_>) -> bool {
        let (x, y) = (self.accesses, other.accesses);
        let cell = |of: &Cells<'_>, q: &Place| (q.var, q.index.map(|i| of.run.eval(of.state, i)));
        let same =
            |u: &[Place], v: &[Place]| u.iter().any(|q| v.iter().any(|r| cell(self, q) == cell(other, r)));
        same(&x.writes, &y.writes) || same(&x.writes, &y.reads) || same(&x.reads, &y.writes)
    }
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
