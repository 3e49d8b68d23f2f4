//! Symbolic reachability: sets of states as decision diagrams.
//!
//! Qadeer, "Algorithmic verification of concurrent programs": from the first state forwards by *post*, or from the wrong states
//! backwards by *pre*, until nothing new comes. The step relation is not one diagram but one a transition, kept by thread: each says
//! only what its transition reads and writes, so no diagram has to say of everything else that it stays as it is. Only what is new
//! in a round is stepped from, and what was new is kept, round by round: these rings give a shortest trace.
//!
//! **Invariant:** the diagrams keep fewer bits than types have where [`crate::ranges`] allows it. A step from a state within the
//! ranges ends within them, so no run from the first state is cut; states out of range are never on a way from there.

mod circuit;
mod layout;
#[cfg(test)]
mod tests;

use crate::budget::{Meter, Spent};
use crate::certificate::{Certificate, Invariant};
use crate::engines::Engine;
use crate::outcome::{Count, Options, Outcome, Unknown, Verdict};
use crate::packed::StateSet;
pub(crate) use circuit::{Bits, Circuit};
pub(crate) use layout::Layout;
use model::{
    ErrorKind, Interpreter, LocationId, LocationKind, Logic, Program, State, Step, Term, Terms, Thread,
    ThreadId, Transition, TransitionId, Type, VarId, Waits,
};
use oxidd::bdd::{BDDFunction, BDDManagerRef};
use oxidd::util::{AllocResult, OptBool, OutOfMemory};
use oxidd::{
    BooleanFunction, BooleanFunctionQuant, BooleanOperator, Function, FunctionSubst, HasLevel, Manager,
    ManagerRef, Subst, VarNo,
};
use std::collections::{BTreeSet, HashMap};

/// More bits than this are not tried: operations call themselves for each level of a diagram, and a stack of two megabytes must do.
const MOST_BITS: usize = 2000;
/// How many nodes there may be, one after the other until they are enough.
const CAPACITIES: [usize; 3] = [1 << 18, 1 << 21, 1 << 24];
/// An operation on diagrams cannot be stopped but by its lack of room: there is no more of it than is filled in about the time that is
/// left.
const FILLED_IN_A_SECOND: f64 = 2e6;
/// Up to so many states are listed in a certificate; more are described by formulas.
const LISTED: f64 = 20_000.0;

/// A certificate has at most so many combinations of locations.
const MOST_PLACES: usize = 100_000;

/// From where the search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the first state.
    Forward,
    /// From the states that are wrong.
    Backward,
}

/// The engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbolic(pub(crate) Direction);

/// Why a search ended without an answer.
enum Stop {
    Memory,
    Unknown(Unknown),
}

impl From<oxidd::error::OutOfMemory> for Stop {
    fn from(_: oxidd::error::OutOfMemory) -> Stop {
        Stop::Memory
    }
}

impl From<Spent> for Stop {
    fn from(s: Spent) -> Stop {
        Stop::Unknown(Unknown::Spent(s))
    }
}

impl Engine for Symbolic {
    fn name(&self) -> &'static str {
        match self.0 {
            Direction::Forward => "bdd",
            Direction::Backward => "bdd-backward",
        }
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        let mut meter = Meter::new(options.budget);
        let mut counts = Vec::new();
        // Diagrams are gone through level by level, each a call inside the last: that may take more stack than a thread has.
        let verdict = std::thread::scope(|s| {
            let search = || self.verdict(program, options, &mut meter, &mut counts);
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(s, search);
            match thread.map(|t| t.join()) {
                Ok(Ok(verdict)) => verdict,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(e) => Verdict::Unknown(Unknown::Cannot(format!("there is no thread for it: {e}"))),
            }
        });
        Outcome { engine: self.name(), verdict, counts, seconds: meter.seconds() }
    }
}

/// Room for the calls of one search.
const STACK: usize = 64 << 20;

impl Symbolic {
    fn verdict(
        &self,
        program: &Program,
        options: &Options,
        meter: &mut Meter,
        counts: &mut Vec<(&'static str, Count)>,
    ) -> Verdict {
        let layout = Layout::of(program);
        if layout.len() > MOST_BITS {
            let why = format!(
                "a state has {} bits; at most {MOST_BITS} are kept in decision diagrams",
                layout.len()
            );
            return Verdict::Unknown(Unknown::Cannot(why));
        }
        for (n, capacity) in CAPACITIES.into_iter().enumerate() {
            if n > 0 && meter.left().is_some_and(|s| s * FILLED_IN_A_SECOND < capacity as f64) {
                let why = format!("there is no time for decision diagrams of {capacity} nodes");
                return Verdict::Unknown(Unknown::Cannot(why));
            }
            counts.clear();
            match self.attempt(program, &layout, capacity, options, meter, counts) {
                Ok(verdict) => return verdict,
                Err(Stop::Unknown(unknown)) => return Verdict::Unknown(unknown),
                // Or of time: the clock knows.
                Err(Stop::Memory) => {
                    if let Err(spent) = meter.look() {
                        return spent.into();
                    }
                }
            }
        }
        let most = CAPACITIES[CAPACITIES.len() - 1];
        Verdict::Unknown(Unknown::Cannot(format!("the decision diagrams need more than {most} nodes")))
    }

    fn attempt(
        &self,
        program: &Program,
        layout: &Layout,
        capacity: usize,
        options: &Options,
        meter: &mut Meter,
        counts: &mut Vec<(&'static str, Count)>,
    ) -> Result<Verdict, Stop> {
        let system = System::new(program, layout, capacity, options.deadlocks, meter)?;
        counts.push(("bits", (layout.len() as u64).into()));
        match self.0 {
            Direction::Forward => system.forward(meter, counts),
            Direction::Backward => system.backward(meter, counts),
        }
    }
}

/// What one transition does.
struct Relation {
    thread: ThreadId,
    transition: TransitionId,
    /// Over the bits that it reads and those that it writes, before and after.
    steps: BDDFunction,
    /// The bits that it writes, before.
    before: BDDFunction,
    /// The same, after.
    after: BDDFunction,
    to_now: Subst<BDDFunction>,
    to_next: Subst<BDDFunction>,
}

/// A program as diagrams.
struct System<'p> {
    program: &'p Program,
    layout: &'p Layout,
    manager: BDDManagerRef,
    capacity: usize,
    run: Interpreter<'p>,
    yes: BDDFunction,
    no: BDDFunction,
    /// Those of the first thread, those of the second, and so on.
    relations: Vec<Relation>,
    first: BDDFunction,
    wrong: BDDFunction,
    /// States beyond the bound under which the program was read.
    bound: BDDFunction,
}

impl<'p> System<'p> {
    fn new(
        program: &'p Program,
        layout: &'p Layout,
        capacity: usize,
        deadlocks: bool,
        meter: &Meter,
    ) -> Result<System<'p>, Stop> {
        let manager = oxidd::bdd::new_manager(capacity, capacity / 4, 1);
        manager.with_manager_exclusive(|m| m.add_vars(2 * layout.len() as VarNo));
        let mut circuit = Circuit::new(&program.terms, layout, &manager, meter)?;
        let run = Interpreter::new(program);
        let (yes, no) = (circuit.yes.clone(), circuit.no.clone());
        let mut system = System {
            program,
            layout,
            manager,
            capacity,
            yes,
            first: no.clone(),
            wrong: no.clone(),
            bound: no.clone(),
            no,
            relations: Vec::new(),
            run,
        };
        system.first = system.state(&system.run.initial())?;
        for t in program.thread_ids() {
            for (n, e) in program.thread(t).transitions.iter().enumerate() {
                meter.look()?;
                let relation = system.relation(&mut circuit, t, TransitionId(n as u32), e)?;
                if relation.steps != system.no {
                    system.relations.push(relation);
                }
            }
        }
        system.wrong = system.where_thread(|t, l| {
            matches!(program.thread(t).location(l).kind, LocationKind::Error { kind, .. } if kind != ErrorKind::Bound)
        })?;
        system.bound = system.where_thread(|t, l| {
            matches!(program.thread(t).location(l).kind, LocationKind::Error { kind: ErrorKind::Bound, .. })
        })?;
        // Nobody goes on from beyond the bound, so that a wrong state is wrong for one reason.
        let beyond = system.bound.not()?;
        system.wrong = system.wrong.and(&beyond)?;
        if deadlocks {
            let stuck = system.deadlocks(&mut circuit)?;
            system.wrong = system.wrong.or(&stuck)?;
        }
        Ok(system)
    }

    /// Where a thread is at a location.
    fn at(&self, t: ThreadId, l: LocationId) -> AllocResult<BDDFunction> {
        let bits = &self.layout.thread(t).bits;
        self.cube(bits.iter().enumerate().map(|(i, b)| (self.layout.now(*b), l.0 >> i & 1 == 1)))
    }

    /// Where some thread is at a location of some kind.
    fn where_thread(&self, is: impl Fn(ThreadId, LocationId) -> bool) -> AllocResult<BDDFunction> {
        let mut all = self.no.clone();
        for t in self.program.thread_ids() {
            for l in self.program.thread(t).location_ids().filter(|l| is(t, *l)) {
                all = all.or(&self.at(t, l)?)?;
            }
        }
        Ok(all)
    }

    /// A conjunction of variables or their negations.
    fn cube(&self, literals: impl Iterator<Item = (VarNo, bool)>) -> AllocResult<BDDFunction> {
        let mut literals: Vec<(VarNo, bool)> = literals.collect();
        literals.sort_unstable();
        let mut all = self.yes.clone();
        for (v, value) in literals.into_iter().rev() {
            let literal = self.manager.with_manager_shared(|m| {
                if value { BDDFunction::var(m, v) } else { BDDFunction::not_var(m, v) }
            })?;
            all = literal.and(&all)?;
        }
        Ok(all)
    }

    /// One state.
    fn state(&self, s: &State) -> AllocResult<BDDFunction> {
        let bits = self.layout.encode(s);
        self.cube(bits.into_iter().enumerate().map(|(i, b)| (self.layout.now(i), b)))
    }

    fn relation(
        &self,
        circuit: &mut Circuit<'_>,
        thread: ThreadId,
        transition: TransitionId,
        e: &Transition,
    ) -> AllocResult<Relation> {
        let mut written: BTreeSet<usize> = BTreeSet::new();
        // Each bit after the step: its value, and where it may be anything.
        let mut parts: Vec<(usize, BDDFunction)> = Vec::new();
        let next =
            |bit: usize| self.manager.with_manager_shared(|m| BDDFunction::var(m, self.layout.next(bit)));
        let vars: BTreeSet<VarId> =
            e.assigns.iter().map(|a| a.place.var).chain(e.havoc.iter().map(|h| h.var)).collect();
        for v in vars {
            for c in 0..self.program.var(v).cells() as u64 {
                let old = circuit.cell(v, c);
                let (mut new, mut any, mut touched) = (old, self.no.clone(), self.no.clone());
                for a in e.assigns.iter().filter(|a| a.place.var == v) {
                    let here = circuit.index_is(a.place, c)?;
                    let value = circuit.term(a.value)?;
                    new = circuit.choose(&here, &value, &new)?;
                    touched = touched.or(&here)?;
                }
                for h in e.havoc.iter().filter(|h| h.var == v) {
                    let here = circuit.index_is(*h, c)?;
                    any = any.or(&here)?;
                    touched = touched.or(&here)?;
                }
                if touched == self.no {
                    continue;
                }
                for (i, b) in self.layout.cell(v, c).bits.iter().enumerate() {
                    written.insert(*b);
                    parts.push((*b, next(*b)?.equiv(&new[i])?.or(&any)?));
                }
            }
        }
        let place = &self.layout.thread(thread).bits;
        for (i, b) in place.iter().enumerate() {
            written.insert(*b);
            let to = if e.to.0 >> i & 1 == 1 { &self.yes } else { &self.no };
            parts.push((*b, next(*b)?.equiv(to)?));
        }
        parts.sort_by_key(|p| std::cmp::Reverse(p.0));
        let mut steps = circuit.truth(e.guard)?.and(&self.at(thread, e.from)?)?;
        if steps != self.no {
            for (_, part) in parts {
                circuit.look()?;
                steps = steps.and(&part)?;
            }
        }
        let vars = |of: &dyn Fn(usize) -> VarNo| written.iter().map(|b| of(*b)).collect::<Vec<_>>();
        let (now, next) = (vars(&|b| self.layout.now(b)), vars(&|b| self.layout.next(b)));
        let literals = |vars: &[VarNo]| -> AllocResult<Vec<BDDFunction>> {
            vars.iter().map(|v| self.manager.with_manager_shared(|m| BDDFunction::var(m, *v))).collect()
        };
        Ok(Relation {
            thread,
            transition,
            steps,
            before: self.cube(now.iter().map(|v| (*v, true)))?,
            after: self.cube(next.iter().map(|v| (*v, true)))?,
            to_now: Subst::new(next.clone(), literals(&now)?),
            to_next: Subst::new(now.clone(), literals(&next)?),
        })
    }

    /// Where some threads wait for ever.
    fn deadlocks(&self, circuit: &mut Circuit<'_>) -> AllocResult<BDDFunction> {
        Waits::of(self.program).deadlock(self.program, &mut Sets { system: self, circuit })
    }

    /// The states after one step from a set.
    fn post(&self, r: &Relation, from: &BDDFunction) -> AllocResult<BDDFunction> {
        from.apply_exists(BooleanOperator::And, &r.steps, &r.before)?.substitute(&r.to_now)
    }

    /// The states before one step into a set.
    fn pre(&self, r: &Relation, to: &BDDFunction) -> AllocResult<BDDFunction> {
        to.substitute(&r.to_next)?.apply_exists(BooleanOperator::And, &r.steps, &r.after)
    }

    /// One step of all threads.
    fn step(&self, from: &BDDFunction, direction: Direction, meter: &mut Meter) -> Result<BDDFunction, Stop> {
        let mut all = self.no.clone();
        for r in &self.relations {
            meter.step()?;
            meter.look()?;
            let one = match direction {
                Direction::Forward => self.post(r, from)?,
                Direction::Backward => self.pre(r, from)?,
            };
            all = all.or(&one)?;
            self.collect();
        }
        Ok(all)
    }

    /// Frees what nobody needs any more before the nodes run out.
    fn collect(&self) {
        self.manager.with_manager_shared(|m| {
            if m.approx_num_inner_nodes() > self.capacity / 2 {
                m.gc();
            }
        });
    }

    fn count(&self, set: &BDDFunction) -> f64 {
        let mut cache =
            oxidd::util::SatCountCache::<oxidd::util::num::F64, std::hash::RandomState>::default();
        // The sets have no bits of after a step: a path has at most as many nodes as a state has bits.
        set.sat_count(self.layout.len() as oxidd::LevelNo, &mut cache).0
    }

    fn forward(&self, meter: &mut Meter, counts: &mut Vec<(&'static str, Count)>) -> Result<Verdict, Stop> {
        let go_on = self.bound.not()?;
        let mut rings = vec![self.first.clone()];
        let mut reached = self.first.clone();
        let mut beyond: Option<usize> = None;
        let verdict = loop {
            let last = &rings[rings.len() - 1];
            let wrong = last.and(&self.wrong)?;
            if wrong != self.no {
                break self.trace_back(&rings, &wrong)?;
            }
            if beyond.is_none() && last.and(&self.bound)? != self.no {
                beyond = Some(rings.len() - 1);
            }
            let new = self.step(&last.and(&go_on)?, Direction::Forward, meter)?.and(&reached.not()?)?;
            if new == self.no {
                break match beyond {
                    Some(n) => self.trace_back(&rings[..=n], &rings[n].and(&self.bound)?)?,
                    None => Verdict::Safe(self.certificate(&reached, meter)?),
                };
            }
            reached = reached.or(&new)?;
            rings.push(new);
        };
        counts.push(("rounds", (rings.len() as u64 - 1).into()));
        counts.push(("states", Count::of(self.count(&reached))));
        counts.push(("nodes", (reached.node_count() as u64).saturating_sub(2).into()));
        Ok(verdict)
    }

    fn backward(&self, meter: &mut Meter, counts: &mut Vec<(&'static str, Count)>) -> Result<Verdict, Stop> {
        let go_on = self.bound.not()?;
        let mut verdict = None;
        // Only if nothing is wrong it matters whether a bound is in the way.
        for target in [&self.wrong, &self.bound] {
            let mut rings = vec![target.clone()];
            let mut reached = target.clone();
            let found = loop {
                let last = &rings[rings.len() - 1];
                if last.and(&self.first)? != self.no {
                    break Some(self.trace_on(&rings)?);
                }
                let new = self.step(last, Direction::Backward, meter)?.and(&reached.not()?)?.and(&go_on)?;
                if new == self.no {
                    break None;
                }
                reached = reached.or(&new)?;
                rings.push(new);
            };
            if verdict.is_none() {
                counts.push(("rounds", (rings.len() as u64 - 1).into()));
                counts.push(("nodes", (reached.node_count() as u64).saturating_sub(2).into()));
            }
            if let Some(found) = found {
                return Ok(found);
            }
            // What cannot go wrong is closed under steps; without what lies beyond the bound, if that is not met either.
            let good = reached.not()?;
            verdict = Some(match verdict {
                None => good,
                Some(before) => BDDFunction::and(&before, &good)?,
            });
        }
        let good = verdict.unwrap_or_else(|| self.no.clone());
        Ok(Verdict::Safe(self.certificate(&good, meter)?))
    }

    /// A shortest run to a state of the last ring.
    fn trace_back(&self, rings: &[BDDFunction], target: &BDDFunction) -> Result<Verdict, Stop> {
        let mut state = self.pick(target)?;
        let mut steps = Vec::new();
        for ring in rings[..rings.len() - 1].iter().rev() {
            let cube = self.state(&state)?;
            let mut before = None;
            for r in &self.relations {
                let some = self.pre(r, &cube)?.and(ring)?;
                if some != self.no {
                    before = Some((r, self.pick(&some)?));
                    break;
                }
            }
            let (r, s) = before.ok_or_else(|| mistake("a ring has a state that nothing leads to"))?;
            steps.push(self.step_of(r, &s, &state));
            state = s;
        }
        steps.reverse();
        Ok(Verdict::of_trace(self.program, steps))
    }

    /// A shortest run from the first state, which is in the last ring, to the first ring.
    fn trace_on(&self, rings: &[BDDFunction]) -> Result<Verdict, Stop> {
        let mut state = self.run.initial();
        let mut steps = Vec::new();
        for ring in rings[..rings.len() - 1].iter().rev() {
            let cube = self.state(&state)?;
            let mut after = None;
            for r in &self.relations {
                let some = self.post(r, &cube)?.and(ring)?;
                if some != self.no {
                    after = Some((r, self.pick(&some)?));
                    break;
                }
            }
            let (r, s) = after.ok_or_else(|| mistake("a ring has a state that leads to nothing"))?;
            steps.push(self.step_of(r, &state, &s));
            state = s;
        }
        Ok(Verdict::of_trace(self.program, steps))
    }

    /// The step between two states: its inputs are what it leaves behind.
    fn step_of(&self, r: &Relation, before: &State, after: &State) -> Step {
        let e = self.program.thread(r.thread).transition(r.transition);
        let input = |h: &model::Place| self.run.place_cell(before, *h).map_or(0, |c| after.values[c]);
        Step { thread: r.thread, transition: r.transition, inputs: e.havoc.iter().map(input).collect() }
    }

    /// One state of a set that is not empty.
    fn pick(&self, set: &BDDFunction) -> Result<State, Stop> {
        let cube = set.pick_cube(|_, _, _| false).ok_or_else(|| mistake("a set of states is empty"))?;
        let bits: Vec<bool> =
            (0..self.layout.len()).map(|b| cube[self.layout.now(b) as usize] == OptBool::True).collect();
        Ok(self.layout.decode(self.program, &bits))
    }

    /// A set that has the first state, none that is wrong, and all that its members lead to.
    fn certificate(&self, set: &BDDFunction, meter: &mut Meter) -> Result<Certificate, Stop> {
        let few = self.count(set) <= LISTED;
        let inputs =
            self.program.threads.iter().flat_map(|t| &t.transitions).all(|e| self.run.inputs(e).is_ok());
        if few && inputs {
            let mut states = StateSet::new(self.program);
            self.list(set, 0, &mut vec![false; self.layout.len()], &mut states);
            return Ok(Certificate::States(states));
        }
        Ok(Certificate::Invariant(self.invariant(set, meter)?))
    }

    /// The level of the topmost node, and what comes after it where it is true and where it is false.
    fn top(&self, f: &BDDFunction) -> Option<(usize, BDDFunction, BDDFunction)> {
        let (yes, no) = f.cofactors()?;
        let level = f.with_manager_shared(|m, e| m.get_node(e).unwrap_inner().level());
        Some((level as usize / 2, yes, no))
    }

    fn list(&self, set: &BDDFunction, bit: usize, bits: &mut Vec<bool>, out: &mut StateSet) {
        if *set == self.no {
            return;
        }
        if bit == self.layout.len() {
            let state = self.layout.decode(self.program, bits);
            if self.layout.is_within(self.program, &state) {
                out.insert(&state);
            }
            return;
        }
        let here = self.top(set).filter(|t| t.0 == bit);
        for value in [false, true] {
            bits[bit] = value;
            match &here {
                Some((_, yes, no)) => self.list(if value { yes } else { no }, bit + 1, bits, out),
                None => self.list(set, bit + 1, bits, out),
            }
        }
        bits[bit] = false;
    }

    /// The set as formulas, one for each combination of locations that occurs in it. Where threads are comes first in the order, so
    /// the combinations are the paths of the upper part.
    fn invariant(&self, set: &BDDFunction, meter: &mut Meter) -> Result<Invariant, Stop> {
        let mut terms = self.program.terms.clone();
        // With the intervals, which are inductive: states out of them may be in the set.
        let mut within = terms.boolean(true);
        let mut bits: Vec<Term> = vec![within; self.layout.len()];
        for (v, var) in self.program.vars.iter().enumerate() {
            let v = VarId(v as u32);
            for c in 0..var.cells() as u64 {
                let value = match var.len {
                    None => terms.var(v, var.ty),
                    Some(_) => {
                        let at = terms.constant(c, Type::unsigned(64));
                        terms.cell(v, at, var.ty)
                    }
                };
                let cell = self.layout.cell(v, c);
                for (i, b) in cell.bits.iter().enumerate() {
                    let by = terms.constant(i as u64, var.ty);
                    let shifted = terms.binary(model::Binary::Shr, value, by);
                    bits[*b] = terms.cast(Type::BOOL, shifted);
                }
                let range = self.layout.range(v);
                for (edge, lower) in [(range.low, true), (range.high, false)] {
                    let inside = if lower { edge > var.ty.min() } else { edge < var.ty.max() };
                    if inside {
                        let edge = terms.number(edge, var.ty);
                        let fits = if lower { terms.le(edge, value) } else { terms.le(value, edge) };
                        within = terms.and(within, fits);
                    }
                }
            }
        }
        let places: usize = self.program.thread_ids().map(|t| self.layout.thread(t).bits.len()).sum();
        let mut work = Formulas { system: self, terms, bits, known: HashMap::new(), places, at: Vec::new() };
        work.paths(set, 0, &mut vec![false; self.layout.len()], within, meter)?;
        Ok(Invariant { terms: work.terms, at: work.at })
    }
}

/// Makes formulas of diagrams.
struct Formulas<'s, 'p> {
    system: &'s System<'p>,
    terms: Terms,
    /// The formula of each bit.
    bits: Vec<Term>,
    known: HashMap<BDDFunction, Term>,
    /// How many bits say where threads are.
    places: usize,
    at: Vec<(Box<[LocationId]>, Term)>,
}

impl Formulas<'_, '_> {
    fn paths(
        &mut self,
        set: &BDDFunction,
        bit: usize,
        bits: &mut Vec<bool>,
        within: Term,
        meter: &mut Meter,
    ) -> Result<(), Stop> {
        if *set == self.system.no {
            return Ok(());
        }
        if bit == self.places {
            meter.step()?;
            if self.at.len() >= MOST_PLACES {
                let why = format!("the proof has more than {MOST_PLACES} combinations of locations");
                return Err(Stop::Unknown(Unknown::Cannot(why)));
            }
            let locations = self.system.layout.decode(self.system.program, bits).locations;
            let there = |(l, t): (&LocationId, &Thread)| l.index() < t.locations.len();
            // Numbers that are no location: states that nothing leads to.
            if locations.iter().zip(&self.system.program.threads).all(there) {
                let formula = self.formula(set);
                let formula = self.terms.and(within, formula);
                self.at.push((locations, formula));
            }
            return Ok(());
        }
        let here = self.system.top(set).filter(|t| t.0 == bit);
        for value in [false, true] {
            bits[bit] = value;
            match &here {
                Some((_, yes, no)) => {
                    self.paths(if value { yes } else { no }, bit + 1, bits, within, meter)?
                }
                None => self.paths(set, bit + 1, bits, within, meter)?,
            }
        }
        bits[bit] = false;
        Ok(())
    }

    fn formula(&mut self, f: &BDDFunction) -> Term {
        let Some((bit, yes, no)) = self.system.top(f) else {
            return self.terms.boolean(*f == self.system.yes);
        };
        if let Some(known) = self.known.get(f) {
            return *known;
        }
        let (yes, no) = (self.formula(&yes), self.formula(&no));
        let out = self.terms.ite(self.bits[bit], yes, no);
        self.known.insert(f.clone(), out);
        out
    }
}

fn mistake(why: &str) -> Stop {
    Stop::Unknown(Unknown::Mistake(why.to_owned()))
}

/// Formulas as sets of states.
struct Sets<'s, 'p, 'c, 't> {
    system: &'s System<'p>,
    circuit: &'c mut Circuit<'t>,
}

impl Logic for Sets<'_, '_, '_, '_> {
    type Formula = BDDFunction;
    type Error = OutOfMemory;

    fn constant(&mut self, value: bool) -> BDDFunction {
        if value { self.system.yes.clone() } else { self.system.no.clone() }
    }

    fn term(&mut self, t: Term) -> AllocResult<BDDFunction> {
        self.circuit.truth(t)
    }

    fn at(&mut self, t: ThreadId, l: LocationId) -> AllocResult<BDDFunction> {
        self.system.at(t, l)
    }

    fn places(&self, t: ThreadId) -> Vec<LocationId> {
        self.system.program.thread(t).location_ids().collect()
    }

    fn and(&mut self, a: &BDDFunction, b: &BDDFunction) -> AllocResult<BDDFunction> {
        a.and(b)
    }

    fn or(&mut self, a: &BDDFunction, b: &BDDFunction) -> AllocResult<BDDFunction> {
        a.or(b)
    }

    fn not(&mut self, a: &BDDFunction) -> AllocResult<BDDFunction> {
        a.not()
    }

    fn equals(&mut self, var: VarId, value: u64) -> AllocResult<BDDFunction> {
        let bits = self.circuit.cell(var, 0);
        let value = self.circuit.constant(value, bits.len());
        self.circuit.equal(&bits, &value)
    }
}
