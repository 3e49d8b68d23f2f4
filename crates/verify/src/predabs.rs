//! Predicate abstraction with refinement (Graf and Saidi 1997; Ball and Rajamani 2001; Clarke and others 2003).
//!
//! The program is searched with a few predicates instead of the values of variables: an abstract state is where the threads are, and
//! which predicates hold. A step leads to every combination of predicates that some state behind the abstract one can have after
//! it; the solver lists them. Nothing wrong in the abstraction is nothing wrong in the program. A run of the abstraction that goes
//! wrong either can be taken, with inputs from the solver, or its infeasibility gives new predicates.
//!
//! New predicates are the atoms of weakest preconditions along the run, of those guards alone that are needed for its infeasibility,
//! taken as late in the run as can be: such a run is not one of the next abstraction. An input is eliminated from a precondition by
//! trying its values if they are few, else by a stronger formula without it; if nothing new is found then, the answer is *unknown*.

use crate::bits::BitSolver;
use crate::budget::{Meter, Spent};
use crate::certificate::{Certificate, Invariant};
use crate::engines::Engine;
use crate::outcome::{Options, Outcome, Unknown, Verdict};
use crate::solver::{Answer, Solver};
use crate::symbolic::{Env, Start, Symbols, deadlock};
use model::{
    Binary, ErrorKind, LocationId, LocationKind, Node, Program, Step, Term, ThreadId, Transition,
    TransitionId, Type, Unary, VarId, Waits,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// At most so many predicates: a combination of them is a number.
const MOST: usize = 128;
/// Inputs of up to so many bits are eliminated by trying their values.
const TRIED_BITS: u8 = 3;

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Predabs;

impl Engine for Predabs {
    fn name(&self) -> &'static str {
        "predabs"
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        let mut work = Work {
            s: Symbols::new(program),
            solver: BitSolver::for_program(program),
            program,
            deadlocks: options.deadlocks,
            waits: Waits::of(program),
            predicates: Vec::new(),
            effects: HashMap::new(),
            known: HashMap::new(),
            seen: HashMap::new(),
            beyond: None,
            meter: Meter::new(options.budget),
        };
        let mut refinements = 0;
        let verdict = loop {
            match work.search() {
                Err(unknown) => break Verdict::Unknown(unknown),
                Ok(Found::Verdict(verdict)) => break verdict,
                Ok(Found::Predicates) => refinements += 1,
            }
        };
        Outcome {
            engine: self.name(),
            verdict,
            counts: vec![
                ("predicates", (work.predicates.len() as u64).into()),
                ("refinements", refinements.into()),
                ("states", (work.seen.len() as u64).into()),
                ("queries", work.solver.queries().into()),
            ],
            seconds: work.meter.seconds(),
        }
    }
}

/// Where threads are, and which predicates hold.
type Abstract = (Box<[LocationId]>, u128);

/// The abstract state before one, and the step between.
type Before = (Rc<Abstract>, ThreadId, TransitionId);

enum Found {
    Verdict(Verdict),
    Predicates,
}

/// What a transition does to predicates.
struct Effect {
    guard: Term,
    /// Those that it may change, with what must hold before for them to hold after.
    changed: Vec<(usize, Term)>,
    /// Those on which the guard or the changed ones depend, by common variables.
    relevant: u128,
}

/// One step of a run: a transition, or a condition at its end.
#[derive(Clone, Copy)]
enum Part {
    Step(ThreadId, TransitionId),
    Condition(Term),
}

struct Work<'p> {
    s: Symbols<'p>,
    solver: BitSolver,
    program: &'p Program,
    deadlocks: bool,
    /// Where threads may wait, and what can end it.
    waits: Waits,
    predicates: Vec<Term>,
    effects: HashMap<(ThreadId, TransitionId), Rc<Effect>>,
    /// For a transition and the relevant predicates before it: the changed ones after it.
    known: HashMap<(ThreadId, TransitionId, u128), Rc<Vec<u128>>>,
    /// Each abstract state with how it was reached first.
    seen: HashMap<Rc<Abstract>, Option<Before>>,
    /// A run beyond the bound under which the program was read.
    beyond: Option<Vec<Step>>,
    meter: Meter,
}

impl Work<'_> {
    fn ask(&mut self, assumptions: &[Term]) -> Result<bool, Unknown> {
        self.meter.look().map_err(Unknown::Spent)?;
        self.solver.limit(self.meter.left());
        match self.solver.check(&self.s.terms, assumptions) {
            Answer::Sat => Ok(true),
            Answer::Unsat => Ok(false),
            Answer::Unknown => match self.meter.look() {
                Err(spent) => Err(Unknown::Spent(spent)),
                Ok(()) => Err(Unknown::Spent(Spent::Seconds(self.meter.seconds()))),
            },
        }
    }

    /// Searches the abstraction with the predicates that there are.
    fn search(&mut self) -> Result<Found, Unknown> {
        self.seen.clear();
        self.known.clear();
        self.effects.clear();
        let mut first = 0u128;
        for (i, p) in self.predicates.clone().into_iter().enumerate() {
            let value = Env::new(Start::First).eval(&mut self.s, p);
            match self.s.terms.as_const(value) {
                Some(v) => first |= (v as u128) << i,
                None => return Err(Unknown::Mistake("a predicate has no value at the start".to_owned())),
            }
        }
        let locations = self.program.threads.iter().map(|t| t.entry).collect();
        let start = Rc::new((locations, first));
        self.seen.insert(start.clone(), None);
        let mut open = VecDeque::from([start]);
        while let Some(state) = open.pop_front() {
            self.meter.step().map_err(Unknown::Spent)?;
            match self.error(&state.0) {
                Some(ErrorKind::Bound) => {
                    if self.beyond.is_none() {
                        match self.run_to(&state, None)? {
                            Some(steps) => self.beyond = Some(steps),
                            None => return Ok(Found::Predicates),
                        }
                    }
                    continue;
                }
                Some(_) => return self.wrong(&state, None),
                None => {}
            }
            if self.deadlocks {
                let stuck = deadlock(&mut self.s, &self.waits, &state.0);
                if self.s.terms.as_const(stuck) != Some(0) {
                    let mut query = self.literals(state.1, u128::MAX);
                    query.push(stuck);
                    if self.ask(&query)? {
                        return self.wrong(&state, Some(stuck));
                    }
                }
            }
            for t in self.program.thread_ids() {
                let thread = self.program.thread(t);
                for (id, e) in thread.from(state.0[t.index()]) {
                    for after in self.post(t, id, e, state.1)?.iter() {
                        let mut locations = state.0.clone();
                        locations[t.index()] = e.to;
                        let next = (locations, *after);
                        if !self.seen.contains_key(&next) {
                            let next = Rc::new(next);
                            self.seen.insert(next.clone(), Some((state.clone(), t, id)));
                            open.push_back(next);
                        }
                    }
                }
            }
        }
        Ok(Found::Verdict(match self.beyond.take() {
            Some(steps) => Verdict::of_trace(self.program, steps),
            None => Verdict::Safe(Certificate::Invariant(self.invariant())),
        }))
    }

    /// Something is wrong in an abstract state: the verdict if it is real, else new predicates.
    fn wrong(&mut self, state: &Rc<Abstract>, condition: Option<Term>) -> Result<Found, Unknown> {
        Ok(match self.run_to(state, condition)? {
            Some(steps) => Found::Verdict(Verdict::of_trace(self.program, steps)),
            None => Found::Predicates,
        })
    }

    fn error(&self, locations: &[LocationId]) -> Option<ErrorKind> {
        self.program.thread_ids().zip(locations).find_map(|(t, l)| {
            match self.program.thread(t).location(*l).kind {
                LocationKind::Error { kind, .. } => Some(kind),
                _ => None,
            }
        })
    }

    /// The predicates of a mask as they are in a state.
    fn literals(&mut self, state: u128, mask: u128) -> Vec<Term> {
        let mut out = Vec::new();
        for i in (0..self.predicates.len()).filter(|i| mask >> i & 1 == 1) {
            let p = self.predicates[i];
            out.push(if state >> i & 1 == 1 { p } else { self.s.terms.not(p) });
        }
        out
    }

    fn vars(&self, t: Term) -> BTreeSet<VarId> {
        let mut out = BTreeSet::new();
        self.s.terms.places(t, &mut |q| {
            out.insert(q.var);
        });
        out
    }

    fn effect(&mut self, t: ThreadId, id: TransitionId, e: &Transition) -> Rc<Effect> {
        if let Some(known) = self.effects.get(&(t, id)) {
            return known.clone();
        }
        let mut env = Env::new(Start::Anywhere);
        let guard = env.step(&mut self.s, e, 0).guard;
        let mut changed = Vec::new();
        let mut vars = self.vars(guard);
        for (i, p) in self.predicates.clone().into_iter().enumerate() {
            let before = env.eval(&mut self.s, p);
            if before != p {
                vars.extend(self.vars(before));
                changed.push((i, before));
            }
        }
        let mut relevant = 0u128;
        loop {
            let old = relevant;
            for i in 0..self.predicates.len() {
                let own = self.vars(self.predicates[i]);
                if relevant >> i & 1 == 0 && !own.is_disjoint(&vars) {
                    relevant |= 1 << i;
                    vars.extend(own);
                }
            }
            if relevant == old {
                break;
            }
        }
        let effect = Rc::new(Effect { guard, changed, relevant });
        self.effects.insert((t, id), effect.clone());
        effect
    }

    /// The combinations of predicates after a step.
    fn post(
        &mut self,
        t: ThreadId,
        id: TransitionId,
        e: &Transition,
        state: u128,
    ) -> Result<Rc<Vec<u128>>, Unknown> {
        let effect = self.effect(t, id, e);
        let key = (t, id, state & effect.relevant);
        let kept = effect.changed.iter().fold(u128::MAX, |mask, (i, _)| mask & !(1 << i));
        let changes = match self.known.get(&key) {
            Some(known) => known.clone(),
            None => {
                let mut query = self.literals(state, effect.relevant);
                query.push(effect.guard);
                let mut all = Vec::new();
                while self.ask(&query)? {
                    let mut after = 0u128;
                    let mut other = self.s.terms.boolean(false);
                    for (i, before) in &effect.changed {
                        let holds = match self.s.terms.as_const(*before) {
                            Some(v) => v == 1,
                            None => self.solver.value(&self.s.terms, *before) == 1,
                        };
                        after |= (holds as u128) << i;
                        let differs = if holds { self.s.terms.not(*before) } else { *before };
                        other = self.s.terms.or(other, differs);
                    }
                    all.push(after);
                    if self.s.terms.as_const(other) == Some(0) {
                        break;
                    }
                    query.push(other);
                }
                let all = Rc::new(all);
                self.known.insert(key, all.clone());
                all
            }
        };
        Ok(Rc::new(changes.iter().map(|c| state & kept | c).collect()))
    }

    /// The run to an abstract state if it can be taken; else there are new predicates.
    fn run_to(
        &mut self,
        state: &Rc<Abstract>,
        condition: Option<Term>,
    ) -> Result<Option<Vec<Step>>, Unknown> {
        let mut parts: Vec<Part> = condition.map(Part::Condition).into_iter().collect();
        let mut at = state.clone();
        while let Some(Some((before, t, id))) = self.seen.get(&at) {
            parts.push(Part::Step(*t, *id));
            at = before.clone();
        }
        parts.reverse();
        let mut env = Env::new(Start::First);
        let mut guards = Vec::new();
        let mut inputs = Vec::new();
        for (n, part) in parts.iter().enumerate() {
            match part {
                Part::Step(t, id) => {
                    let stepped = env.step(&mut self.s, self.program.thread(*t).transition(*id), n);
                    guards.push(stepped.guard);
                    inputs.push(stepped.inputs);
                }
                Part::Condition(c) => guards.push(env.eval(&mut self.s, *c)),
            }
        }
        if !self.ask(&guards)? {
            return self.refine(&parts).map(|()| None);
        }
        let mut steps = Vec::new();
        for (part, inputs) in parts.iter().zip(inputs) {
            if let Part::Step(thread, transition) = part {
                let inputs = inputs.iter().map(|i| self.solver.value(&self.s.terms, *i)).collect();
                steps.push(Step { thread: *thread, transition: *transition, inputs });
            }
        }
        Ok(Some(steps))
    }

    /// Adds predicates with which a run that cannot be taken is no run of the abstraction.
    fn refine(&mut self, parts: &[Part]) -> Result<(), Unknown> {
        let needed = self.needed(parts)?;
        let mut label = self.s.terms.boolean(false);
        let mut atoms = Vec::new();
        let mut seen = HashSet::new();
        for (part, needed) in parts.iter().zip(needed).rev() {
            let (guard, mut before) = match part {
                Part::Condition(c) => (*c, label),
                Part::Step(t, id) => {
                    let mut env = Env::new(Start::Anywhere);
                    let stepped = env.step(&mut self.s, self.program.thread(*t).transition(*id), 0);
                    let mut before = env.eval(&mut self.s, label);
                    for input in stepped.inputs {
                        before = self.for_all(before, input);
                    }
                    (stepped.guard, before)
                }
            };
            if needed {
                let not = self.s.terms.not(guard);
                before = self.s.terms.or(not, before);
            }
            label = before;
            self.atoms(label, &mut seen, &mut atoms);
        }
        let known: HashSet<Term> = self.predicates.iter().copied().collect();
        let before = self.predicates.len();
        for a in atoms {
            let speaks_of_inputs = self.vars(a).iter().any(|v| self.s.is_input(*v));
            if !known.contains(&a) && !speaks_of_inputs {
                self.predicates.push(a);
            }
        }
        if self.predicates.len() == before {
            return Err(Unknown::Cannot("refinement finds no new predicate".to_owned()));
        }
        if self.predicates.len() > MOST {
            return Err(Unknown::Cannot(format!("more than {MOST} predicates are needed")));
        }
        Ok(())
    }

    /// Which guards of a run are needed for it to be impossible: the latest of them that will do.
    fn needed(&mut self, parts: &[Part]) -> Result<Vec<bool>, Unknown> {
        let mut env = Env::new(Start::Anywhere);
        let mut conditions = vec![self.s.terms.boolean(true)];
        for (n, part) in parts.iter().enumerate() {
            conditions.push(match part {
                Part::Step(t, id) => env.step(&mut self.s, self.program.thread(*t).transition(*id), n).guard,
                Part::Condition(c) => env.eval(&mut self.s, *c),
            });
        }
        // In front of them all: what is read of the first state is as it is there.
        let mut leaves = Vec::new();
        let mut seen = HashMap::new();
        for c in conditions.clone() {
            self.s.leaves(c, &mut seen, &mut leaves);
        }
        for leaf in leaves {
            let value = match self.s.terms.node(leaf) {
                Node::Var(v, _) if !self.s.is_input(v) => self.s.initial(v, None),
                Node::Cell(v, i, _) => self.s.initial(v, Some(i)),
                _ => continue,
            };
            let same = self.s.terms.eq(leaf, value);
            conditions[0] = self.s.terms.and(conditions[0], same);
        }
        // The latest start from which it is impossible, by halves; then without what can be left out.
        let (mut low, mut high) = (0, conditions.len());
        while low + 1 < high {
            let mid = (low + high) / 2;
            if self.ask(&conditions[mid..])? {
                high = mid;
            } else {
                low = mid;
            }
        }
        let mut core: Vec<usize> = (low..conditions.len()).collect();
        for i in low..conditions.len() {
            let without: Vec<Term> = core.iter().filter(|c| **c != i).map(|c| conditions[*c]).collect();
            if !self.ask(&without)? {
                core.retain(|c| *c != i);
            }
        }
        Ok((1..conditions.len()).map(|i| core.contains(&i)).collect())
    }

    /// A formula that holds only where another one does for all values of an input.
    fn for_all(&mut self, t: Term, input: Term) -> Term {
        let Node::Var(v, ty) = self.s.terms.node(input) else { return t };
        if !self.s.terms.mentions(t, v) {
            return t;
        }
        if ty.bits > TRIED_BITS {
            return self.s.without(t, v, true);
        }
        let mut all = self.s.terms.boolean(true);
        for value in 0..=ty.mask() {
            let mut env = Env::new(Start::Anywhere);
            let value = self.s.terms.constant(value, ty);
            env.set(v, value);
            let one = env.eval(&mut self.s, t);
            all = self.s.terms.and(all, one);
        }
        all
    }

    /// The parts of a formula that are no combination of others.
    fn atoms(&self, t: Term, seen: &mut HashSet<Term>, out: &mut Vec<Term>) {
        if !seen.insert(t) || self.s.terms.as_const(t).is_some() {
            return;
        }
        let truth = |t: Term| self.s.terms.ty(t) == Type::BOOL;
        match self.s.terms.node(t) {
            Node::Unary(Unary::Not, a) => self.atoms(a, seen, out),
            Node::Binary(Binary::And | Binary::Or | Binary::Xor, a, b) => {
                self.atoms(a, seen, out);
                self.atoms(b, seen, out);
            }
            Node::Binary(Binary::Eq, a, b) if truth(a) => {
                self.atoms(a, seen, out);
                self.atoms(b, seen, out);
            }
            Node::Ite(c, a, b) => {
                self.atoms(c, seen, out);
                self.atoms(a, seen, out);
                self.atoms(b, seen, out);
            }
            _ => out.push(t),
        }
    }

    /// What holds at each combination of locations: one of the combinations of predicates that were seen there.
    fn invariant(&mut self) -> Invariant {
        let mut at: BTreeMap<Box<[LocationId]>, Vec<u128>> = BTreeMap::new();
        for state in self.seen.keys() {
            at.entry(state.0.clone()).or_default().push(state.1);
        }
        let mut out = Vec::new();
        for (locations, mut states) in at {
            states.sort_unstable();
            let mut any = self.s.terms.boolean(false);
            for state in states {
                let literals = self.literals(state, u128::MAX);
                let cube = self.s.terms.all(literals);
                any = self.s.terms.or(any, cube);
            }
            out.push((locations, any));
        }
        Invariant { terms: self.s.terms.clone(), at: out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn verify(p: &Program) -> Outcome {
        Predabs.verify(p, &Options::default())
    }

    /// A loop that takes a lock, gives it back and takes it again inside, as often as it likes; one of the four is the other way round.
    fn compute(swapped: Option<usize>) -> Program {
        let op = |n: usize| {
            let take = (n == 0 || n == 2) != (swapped == Some(n));
            if take { "if (m != 0) reach_error(); m = 1;" } else { "if (m != 1) reach_error(); m = 0;" }
        };
        testing::read(&format!(
            "int m; int __VERIFIER_nondet_int(void);
             int main(void) {{ int n = __VERIFIER_nondet_int(), x = __VERIFIER_nondet_int(), y = __VERIFIER_nondet_int();
               for (int i = 0; i < n; i++) {{ {} while (x != y) {{ {} x = __VERIFIER_nondet_int(); {} }} {} }}
               return 0; }}",
            op(0), op(1), op(3 - 1), op(3)
        ))
    }

    #[test]
    fn a_lock_discipline_is_proved_whatever_the_loops_do() {
        let found = verify(&compute(None));
        assert_eq!(found.verdict.name(), "safe", "{:?}", found.verdict);
        for n in 0..4 {
            assert_eq!(verify(&compute(Some(n))).verdict.name(), "unsafe", "operation {n}");
        }
    }

    #[test]
    fn increments_are_proved_with_a_lock_and_refuted_without() {
        for (locked, verdict) in [(false, "unsafe"), (true, "safe")] {
            let found = verify(&testing::increments(2, locked, true));
            assert_eq!(found.verdict.name(), verdict, "{:?}", found.verdict);
        }
    }

    #[test]
    fn a_deadlock_is_found_and_its_absence_proved() {
        for (same, verdict) in [(true, "safe"), (false, "unsafe")] {
            let mut b = model::Builder::new();
            let (m, n) = (b.mutex("m"), b.mutex("n"));
            for (first, second) in [(m, n), if same { (m, n) } else { (n, m) }] {
                let t = b.thread("T");
                b.lock(t, first);
                b.lock(t, second);
                b.unlock(t, second);
                b.unlock(t, first);
            }
            let p = b.finish();
            let found = Predabs.verify(&p, &Options { deadlocks: true, ..Options::default() });
            assert_eq!(found.verdict.name(), verdict, "{:?}", found.verdict);
        }
    }
}
