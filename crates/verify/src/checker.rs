//! Checks certificates. This is what *safe* rests on, so it is small. Nothing is searched for: every part of a certificate is looked at
//! once. In common with the engines it has the meaning of the program, for formulas the solver and circuits of diagrams, and the set
//! that packs states. Two analyses are in common too, and made again from the program: which steps are movers, for the locations that a
//! certificate leaves out ([`Merged::again`]), and which threads can change places ([`Symmetry`]).

use crate::bits::BitSolver;
use crate::budget::{Budget, Meter, Spent};
use crate::certificate::{Certificate, Invariant, Tree};
use crate::diagrams::Diagrams;
use crate::merging::Merged;
use crate::outcome::Options;
use crate::packed::StateSet;
use crate::solver::{Answer, Solver};
use crate::symbolic::Formulaic;
use crate::symmetry::{Joined, Symmetry};
use model::{
    Interpreter, LocationId, LocationKind, Node, Program, State, Stepper, Term, Terms, Thread, ThreadId,
    TooWide, Transition, Type, VarId, Waits,
};
use std::collections::{HashMap, HashSet};
use thiserror::Error;

/// A certificate that proves nothing, or is not known to.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Refuted {
    /// What does not hold.
    #[error("the certificate does not hold: {0}")]
    Wrong(String),
    /// It may hold: there is more to look at than is looked at one by one.
    #[error("the certificate cannot be checked: {0}")]
    Beyond(String),
    /// It may hold: there was no time to look at all of it.
    #[error("the certificate could not be checked to its end: {0}")]
    Spent(Spent),
}

pub(crate) fn refuted<T>(why: impl Into<String>) -> Result<T, Refuted> {
    Err(Refuted::Wrong(why.into()))
}

impl From<Spent> for Refuted {
    fn from(s: Spent) -> Refuted {
        Refuted::Spent(s)
    }
}

/// Whether a certificate proves that nothing goes wrong in a program (nor deadlocks, if those are asked for). The seconds of the budget
/// are those of this check.
pub fn check(program: &Program, options: &Options, certificate: &Certificate) -> Result<(), Refuted> {
    // Nothing is searched for, so there is no work to count.
    let meter = Meter::new(Budget { work: None, ..options.budget });
    checked(program, options, certificate, meter)
}

fn checked(
    program: &Program,
    options: &Options,
    certificate: &Certificate,
    meter: Meter,
) -> Result<(), Refuted> {
    match certificate {
        Certificate::States(set) => states(program, options, set, None, meter),
        Certificate::Symmetric(set) => {
            let joined = Joined::of(program);
            states(&joined.program, options, set, Some(&Symmetry::of(&joined.program)), meter)
        }
        Certificate::Invariant(i) => invariant(program, options, i, meter),
        Certificate::Tree(t) => tree(program, options, t, meter),
        Certificate::Depth(most) => depth(program, options, *most, meter),
        // Which steps move, and the rules by which locations may go, are looked at again; of how they were chosen nothing is used.
        Certificate::Merged { gone, inner } => match Merged::again(program, options.deadlocks, gone) {
            Ok(merged) => checked(&merged.program, options, inner, meter),
            Err(why) => refuted(why),
        },
    }
}

/// One state in so many is looked at with the reference too, besides the code that is made of it.
const LOOKED_AT_TWICE: usize = 64;

fn states(
    program: &Program,
    options: &Options,
    set: &StateSet,
    symmetry: Option<&Symmetry>,
    mut meter: Meter,
) -> Result<(), Refuted> {
    let (run, mut stepper) = (Interpreter::new(program), Stepper::new(program));
    let mut settled = run.initial();
    let mut is_in = |s: &State| match symmetry {
        Some(symmetry) => set.contains(symmetry.settled(s, &mut settled)),
        None => set.contains(s),
    };
    if !is_in(&run.initial()) {
        return refuted("the first state is missing");
    }
    let missing = |t: ThreadId| refuted(format!("a state is missing after a step of thread {t}"));
    let wrong = |e: TooWide| Refuted::Wrong(e.to_string());
    let mut s = run.initial();
    for n in 0..set.len() {
        meter.step()?;
        set.read(n, &mut s);
        if let Some(wrong) = run.error(&s) {
            return refuted(format!("a state is wrong: {wrong:?}"));
        }
        let mut goes_on = false;
        for t in program.thread_ids() {
            let mut closed = true;
            let see = |id, _, next: &State| {
                closed &= is_in(next);
                goes_on |= !program.thread(t).transition(id).action.is_spurious();
            };
            stepper.successors(&s, t, see).map_err(wrong)?;
            if closed && n % LOOKED_AT_TWICE == 0 {
                closed = run.successors(&s, t).map_err(wrong)?.iter().all(|(_, next)| is_in(next));
            }
            if !closed {
                return missing(t);
            }
        }
        let stuck = || if goes_on { run.some_are_stuck_for_ever(&s) } else { run.all_wait(&s) };
        if options.deadlocks && stuck() {
            return refuted("a state is a deadlock");
        }
    }
    Ok(())
}

/// How many states the check of a [`Certificate::Depth`] looks at.
const MOST_STATES: usize = 1_000_000;

/// All states after so many steps, for each number of steps.
fn depth(program: &Program, options: &Options, most: usize, mut meter: Meter) -> Result<(), Refuted> {
    let run = Interpreter::new(program);
    let mut layer = HashSet::from([run.initial()]);
    let mut looked = 0;
    for steps in 0..=most {
        let mut next = HashSet::new();
        for s in &layer {
            meter.step()?;
            looked += 1;
            if looked > MOST_STATES {
                return Err(Refuted::Beyond(format!("runs have more than {MOST_STATES} states")));
            }
            if run.error(s).is_some() || options.deadlocks && run.is_deadlock(s) {
                return refuted(format!("something is wrong after {steps} steps"));
            }
            for t in program.thread_ids() {
                let after = run.successors(s, t).map_err(|e| Refuted::Beyond(e.to_string()))?;
                next.extend(after.into_iter().map(|(_, state)| state));
            }
        }
        layer = next;
        // However many steps it claims, there are no more.
        if layer.is_empty() {
            return Ok(());
        }
    }
    refuted(format!("a run has more than {most} steps"))
}

fn invariant(program: &Program, options: &Options, i: &Invariant, meter: Meter) -> Result<(), Refuted> {
    let mut f = Formulas::new(program, &i.terms, meter);
    f.continues()?;
    let mut at: HashMap<&[LocationId], Term> = HashMap::new();
    for (locations, term) in &i.at {
        f.well_formed(locations, *term)?;
        let had = at.get(&locations[..]).copied().unwrap_or_else(|| f.terms.boolean(false));
        let both = f.terms.or(had, *term);
        at.insert(locations, both);
    }
    let first: Vec<LocationId> = program.threads.iter().map(|t| t.entry).collect();
    match at.get(&first[..]) {
        Some(t) if f.holds_first(*t) => {}
        _ => return refuted("the first state is not in the invariant"),
    }
    for (locations, label) in &at {
        f.nothing_wrong(options, locations, *label)?;
        for thread in program.thread_ids() {
            for (_, t) in program.thread(thread).from(locations[thread.index()]) {
                let mut next = locations.to_vec();
                next[thread.index()] = t.to;
                let then = at.get(&next[..]).copied().unwrap_or_else(|| f.terms.boolean(false));
                if !f.leads_to(*label, t, then)? {
                    return refuted(format!(
                        "a step of thread {thread} from {locations:?} leaves the invariant"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Every state that can be reached is one of a node that is not covered: the first one is of the root, and a step from a state of
/// such a node leads to one of a node after it, or of the node that covers that.
///
/// Where the tree is monotonic that is so for one run to each state that can go wrong: of the shortest ones and those that differ from
/// them in the order of steps that commute, the first in the order of dictionaries. No thread goes in it that may be skipped where it
/// is: to let it go before the step before would be a run as well, and come earlier in that order.
fn tree(program: &Program, options: &Options, tree: &Tree, meter: Meter) -> Result<(), Refuted> {
    let mut f = Formulas::new(program, &tree.terms, meter);
    f.continues()?;
    for n in &tree.nodes {
        f.well_formed(&n.locations, n.label)?;
    }
    let Some(root) = tree.nodes.first() else { return refuted("there is no root") };
    if program.threads.iter().map(|t| t.entry).ne(root.locations.iter().copied())
        || !f.holds_first(root.label)
    {
        return refuted("the first state is not one of the root");
    }
    let skipped = skipped(program, tree)?;
    for (number, n) in tree.nodes.iter().enumerate() {
        if let Some(by) = n.covered_by {
            let Some(w) = tree.nodes.get(by) else { return refuted("a node is covered by none") };
            if w.covered_by.is_some() || w.locations != n.locations {
                return refuted(format!("node {number} is covered by one that cannot"));
            }
            if !f.implies(n.label, w.label)? {
                return refuted(format!("node {number} is covered by a label that it does not imply"));
            }
            continue;
        }
        f.nothing_wrong(options, &n.locations, n.label)?;
        if let Some(only) = n.only {
            f.enough(options, &n.locations, n.label, only)?;
        }
        let followed = |t: &ThreadId| n.only.is_none_or(|o| o == *t) && !skipped[number][t.index()];
        for thread in program.thread_ids().filter(followed) {
            let here = n.locations[thread.index()];
            for (id, t) in program.thread(thread).from(here) {
                let mut followed = false;
                for e in n.edges.iter().filter(|e| e.thread == thread && e.transition == id) {
                    let Some(w) = tree.nodes.get(e.to) else { return refuted("an edge leads nowhere") };
                    let mut next = n.locations.clone();
                    next[thread.index()] = t.to;
                    if w.locations != next {
                        return refuted(format!("an edge of node {number} leads to another place"));
                    }
                    followed |= f.leads_to(n.label, t, w.label)?;
                }
                let never = f.terms.boolean(false);
                if !followed && !f.leads_to(n.label, t, never)? {
                    let show = |t: Term| f.terms.show(t, &|v| program.name(v));
                    let mut why = format!(
                        "`{}` of thread {thread} from node {number} at {:?} with `{}` leads to no node",
                        program.show_transition(t),
                        n.locations,
                        show(n.label)
                    );
                    for e in n.edges.iter().filter(|e| e.thread == thread && e.transition == id) {
                        why += &format!("; not to node {} with `{}`", e.to, show(tree.nodes[e.to].label));
                    }
                    return refuted(why);
                }
            }
        }
    }
    // What one thread put off must come at last: no way goes round through such nodes alone.
    let mut done = vec![0; tree.nodes.len()];
    for n in 0..tree.nodes.len() {
        if goes_round(tree, n, &mut done) {
            return refuted("threads are put off for ever");
        }
    }
    Ok(())
}

/// For each node of a tree the threads that need not be followed, as it is monotonic. All steps into the node must allow that, and all
/// nodes that it covers.
fn skipped(p: &Program, tree: &Tree) -> Result<Vec<Vec<bool>>, Refuted> {
    let mut skipped = vec![vec![tree.monotonic; p.threads.len()]; tree.nodes.len()];
    if !tree.monotonic {
        return Ok(skipped);
    }
    if tree.nodes.iter().any(|n| n.only.is_some()) {
        return refuted("two reductions do not go together");
    }
    skipped[0].fill(false);
    for e in tree.nodes.iter().flat_map(|n| &n.edges) {
        let step = p.threads.get(e.thread.index()).and_then(|t| t.transitions.get(e.transition.index()));
        let (Some(step), Some(w)) = (step, tree.nodes.get(e.to)) else {
            return refuted("an edge leads nowhere");
        };
        for t in p.thread_ids() {
            let mut next = p.thread(t).from(w.locations[t.index()]);
            skipped[e.to][t.index()] &=
                t < e.thread && next.all(|(_, n)| !touch(p, n, step) && !touch(p, step, n));
        }
    }
    for (v, w) in tree.nodes.iter().enumerate().filter_map(|(v, n)| Some((v, n.covered_by?))) {
        if w >= tree.nodes.len() {
            return refuted("a node is covered by none");
        }
        let covered = skipped[v].clone();
        skipped[w].iter_mut().zip(covered).for_each(|(all, also)| *all &= also);
    }
    Ok(skipped)
}

/// Whether a cycle of nodes from which one thread alone is followed can be reached. `done` is 1 for nodes on the way here and 2 for
/// those that are known not to lead to one.
fn goes_round(tree: &Tree, from: usize, done: &mut [u8]) -> bool {
    let at = tree.nodes[from].covered_by.unwrap_or(from);
    if tree.nodes[at].only.is_none() || done[at] == 2 {
        return false;
    }
    if done[at] == 1 {
        return true;
    }
    done[at] = 1;
    let round = tree.nodes[at].edges.iter().any(|e| goes_round(tree, e.to, done));
    done[at] = 2;
    round
}

/// The transitions that a thread may take from a location on.
fn from_on(p: &Program, thread: ThreadId, at: LocationId) -> Vec<&Transition> {
    let t = p.thread(thread);
    let (mut seen, mut stack, mut out) = (HashSet::from([at]), vec![at], Vec::new());
    while let Some(l) = stack.pop() {
        for (_, e) in t.from(l) {
            out.push(e);
            if seen.insert(e.to) {
                stack.push(e.to);
            }
        }
    }
    out
}

fn writes(t: &Transition, v: VarId) -> bool {
    t.assigns.iter().any(|a| a.place.var == v) || t.havoc.iter().any(|p| p.var == v)
}

/// Whether a transition writes a variable that another one reads or writes.
fn touch(p: &Program, writer: &Transition, other: &Transition) -> bool {
    let mut hit = false;
    let mut read = |t: Term| p.terms.places(t, &mut |q| hit |= writes(writer, q.var));
    read(other.guard);
    other.assigns.iter().for_each(|a| read(a.value));
    let places = || other.assigns.iter().map(|a| &a.place).chain(&other.havoc);
    places().filter_map(|q| q.index).for_each(&mut read);
    hit || places().any(|q| writes(writer, q.var))
}

/// Formulas about one program.
pub(crate) struct Formulas<'p> {
    program: &'p Program,
    pub(crate) terms: Terms,
    solver: BitSolver,
    /// What is asked when the solver gives up: not made yet, made, or of no use.
    diagrams: Second,
    meter: Meter,
    /// Where threads may wait, from when it is first asked for.
    waits: Option<Waits>,
}

/// Seconds that the solver has for a question before diagrams are asked.
const PATIENCE: f64 = 0.5;

enum Second {
    NotYet,
    /// And whether it knew the answer the last time the solver did not: then it is asked first.
    There(Box<Diagrams>, bool),
    None,
}

impl<'p> Formulas<'p> {
    pub(crate) fn new(program: &'p Program, terms: &Terms, meter: Meter) -> Formulas<'p> {
        let solver = BitSolver::for_program(program);
        Formulas { program, terms: terms.clone(), solver, diagrams: Second::NotYet, meter, waits: None }
    }

    /// Whether the certificate's terms continue those of the program.
    pub(crate) fn continues(&self) -> Result<(), Refuted> {
        let (mut seen, mut stack) = (HashSet::new(), Vec::new());
        for t in self.program.threads.iter().flat_map(|t| &t.transitions) {
            stack.push(t.guard);
            stack.extend(t.assigns.iter().map(|a| a.value));
            let places = t.assigns.iter().map(|a| &a.place).chain(&t.havoc);
            stack.extend(places.filter_map(|p| p.index));
        }
        while let Some(t) = stack.pop() {
            if !seen.insert(t) {
                continue;
            }
            if t.index() >= self.terms.len() || self.terms.node(t) != self.program.terms.node(t) {
                return refuted("its terms are not those of the program");
            }
            match self.terms.node(t) {
                Node::Const(..) | Node::Var(..) => {}
                Node::Cell(_, a, _) | Node::Unary(_, a) | Node::Cast(_, a) => stack.push(a),
                Node::Binary(_, a, b) => stack.extend([a, b]),
                Node::Ite(c, a, b) => stack.extend([c, a, b]),
            }
        }
        Ok(())
    }

    /// Whether a formula is one about this program.
    pub(crate) fn well_formed(&self, locations: &[LocationId], t: Term) -> Result<(), Refuted> {
        let threads = &self.program.threads;
        let places = locations.len() == threads.len()
            && locations.iter().zip(threads).all(|(l, t)| l.index() < t.locations.len());
        if !places || t.index() >= self.terms.len() || self.terms.ty(t) != Type::BOOL {
            return refuted("a label is no formula of the program");
        }
        let mut fine = true;
        self.terms.places(t, &mut |p| fine &= p.var.index() < self.program.vars.len());
        if !fine {
            return refuted("a label speaks of a variable that the program does not have");
        }
        Ok(())
    }

    /// Whether a formula holds in the first state.
    pub(crate) fn holds_first(&self, t: Term) -> bool {
        let first = |v: VarId, i: u64| self.program.var(v).init.get(i as usize).copied().unwrap_or(0);
        self.terms.eval(t, &mut |v, i| first(v, i)) != 0
    }

    pub(crate) fn can_hold(&mut self, all: &[Term]) -> Result<bool, Refuted> {
        self.decide(all, |d, terms, meter| d.can_hold(terms, all, meter).ok())
    }

    /// Whether all of these can hold, asked of the solver, and of diagrams in their own way.
    fn decide(
        &mut self,
        all: &[Term],
        by_diagrams: impl Fn(&mut Diagrams, &Terms, &Meter) -> Option<bool>,
    ) -> Result<bool, Refuted> {
        self.meter.look()?;
        if matches!(self.diagrams, Second::There(_, true))
            && let Some(can) = self.by_diagrams(&by_diagrams)
        {
            return Ok(can);
        }
        if !matches!(self.diagrams, Second::None) {
            let soon = self.meter.left().map_or(PATIENCE, |s| s.min(PATIENCE));
            if let Some(can) = self.by_solver(all, Some(soon)).or_else(|| self.by_diagrams(&by_diagrams)) {
                return Ok(can);
            }
        }
        self.meter.look()?;
        match self.by_solver(all, self.meter.left()) {
            Some(can) => Ok(can),
            None => {
                self.meter.look()?;
                refuted("the solver gives up")
            }
        }
    }

    fn by_solver(&mut self, all: &[Term], seconds: Option<f64>) -> Option<bool> {
        self.solver.limit(seconds);
        match self.solver.check(&self.terms, all) {
            Answer::Sat => Some(true),
            Answer::Unsat => Some(false),
            Answer::Unknown => None,
        }
    }

    fn by_diagrams(&mut self, ask: impl Fn(&mut Diagrams, &Terms, &Meter) -> Option<bool>) -> Option<bool> {
        if let Second::NotYet = self.diagrams {
            let inputs = |t: &Thread| t.transitions.iter().map(|e| e.havoc.len()).max().unwrap_or(0);
            let inputs = self.program.threads.iter().map(inputs).max().unwrap_or(0);
            self.diagrams = match Diagrams::new(self.program, inputs) {
                Some(d) => Second::There(Box::new(d), false),
                None => Second::None,
            };
        }
        let Second::There(diagrams, useful) = &mut self.diagrams else { return None };
        let can = ask(diagrams, &self.terms, &self.meter);
        *useful = can.is_some();
        if can.is_none() {
            // Too large once, too large again: what is left of the time is the solver's.
            self.diagrams = Second::None;
        }
        can
    }

    pub(crate) fn implies(&mut self, a: Term, b: Term) -> Result<bool, Refuted> {
        let not = self.terms.not(b);
        Ok(!self.can_hold(&[a, not])?)
    }

    /// Whether some threads may wait for ever in a state with these locations in which the label holds.
    pub(crate) fn may_be_stuck(&mut self, at: &[LocationId], label: Term) -> Result<bool, Refuted> {
        let p = self.program;
        let waits = self.waits.get_or_insert_with(|| Waits::of(p));
        let Ok(stuck) = waits.deadlock(p, &mut Formulaic { program: p, terms: &mut self.terms, at });
        self.can_hold(&[label, stuck])
    }

    /// Whether nothing is wrong in any state with these locations in which the label holds.
    fn nothing_wrong(&mut self, options: &Options, at: &[LocationId], label: Term) -> Result<(), Refuted> {
        let p = self.program;
        let kind = |t: model::ThreadId| &p.thread(t).location(at[t.index()]).kind;
        if p.thread_ids().any(|t| matches!(kind(t), LocationKind::Error { .. })) && self.can_hold(&[label])? {
            return refuted(format!("an error at {at:?} can be reached"));
        }
        let void = |k: &LocationKind| matches!(k, LocationKind::Halt | LocationKind::Error { .. });
        if !options.deadlocks || p.thread_ids().any(|t| void(kind(t))) {
            return Ok(());
        }
        if self.may_be_stuck(at, label)? {
            return refuted(format!("a deadlock at {at:?} is not ruled out"));
        }
        Ok(())
    }

    /// Whether it is enough to follow one thread: it can go in every state of the label, and whatever the others do before it goes
    /// touches nothing of what its next steps touch. Where deadlocks count, a step for no reason is none that it can go with: the
    /// others may be stuck while it does not take it.
    fn enough(
        &mut self,
        options: &Options,
        at: &[LocationId],
        label: Term,
        thread: ThreadId,
    ) -> Result<(), Refuted> {
        let p = self.program;
        if thread.index() >= p.threads.len() {
            return refuted("there is no such thread");
        }
        let mut all = vec![label];
        let counts = |e: &Transition| !(options.deadlocks && e.action.is_spurious());
        for (_, e) in p.thread(thread).from(at[thread.index()]).filter(|(_, e)| counts(e)) {
            all.push(self.terms.not(e.guard));
        }
        if self.can_hold(&all)? {
            return refuted(format!(
                "thread {thread} at {at:?} may have to wait, and others are not followed"
            ));
        }
        let next: Vec<&Transition> = p.thread(thread).from(at[thread.index()]).map(|(_, e)| e).collect();
        let later: Vec<Vec<&Transition>> = p.thread_ids().map(|u| from_on(p, u, at[u.index()])).collect();
        for u in p.thread_ids().filter(|u| *u != thread) {
            if let Some(life) = p.thread(u).life {
                let makes = |e: &&Transition| writes(e, life);
                let others = |w: &ThreadId| *w != thread && *w != u;
                let by_others = p.thread_ids().filter(others).any(|w| later[w.index()].iter().any(makes));
                let ty = p.var(life).ty;
                let (now, unborn) = (self.terms.var(life, ty), self.terms.constant(Thread::UNBORN, ty));
                let born = self.terms.ne(now, unborn);
                // Who is not made, and can only be made by this thread, does nothing before it. Its steps must wait for that.
                let waits = p.thread(u).from(at[u.index()]).map(|(_, e)| e.guard).collect::<Vec<_>>();
                let some = self.terms.any(waits);
                let not_born = self.terms.not(born);
                if !by_others && !self.can_hold(&[label, born])? && !self.can_hold(&[not_born, some])? {
                    continue;
                }
            }
            for a in &next {
                for b in &later[u.index()] {
                    if touch(p, a, b) || touch(p, b, a) {
                        return refuted(format!("what thread {thread} does at {at:?} is not its own"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether every state in which the label holds is led by a transition, with any inputs, to one in which `then` holds.
    pub(crate) fn leads_to(&mut self, label: Term, t: &Transition, then: Term) -> Result<bool, Refuted> {
        let after = self.after(t, then, &mut HashMap::new());
        let not = self.terms.not(after);
        let fails = self.decide(&[label, t.guard, not], |d, terms, meter| {
            d.leads_to(terms, (label, t, then), meter).ok().map(|leads| !leads)
        })?;
        Ok(!fails)
    }

    /// A formula about the state after a transition as one about the state before. Inputs are variables that no program has.
    fn after(&mut self, t: &Transition, f: Term, known: &mut HashMap<Term, Term>) -> Term {
        if let Some(done) = known.get(&f) {
            return *done;
        }
        let input = |n: usize| VarId((self.program.vars.len() + n) as u32);
        let out = match self.terms.node(f) {
            Node::Const(..) => f,
            Node::Var(v, ty) => {
                if let Some(n) = t.havoc.iter().position(|p| p.var == v) {
                    let input = input(n);
                    self.terms.var(input, ty)
                } else {
                    t.assigns.iter().find(|a| a.place.var == v).map_or(f, |a| a.value)
                }
            }
            Node::Cell(v, i, ty) => {
                let i = self.after(t, i, known);
                let mut out = self.terms.cell(v, i, ty);
                for a in t.assigns.iter().filter(|a| a.place.var == v) {
                    out = self.written(v, i, a.place.index, a.value, out);
                }
                for (n, p) in t.havoc.iter().enumerate().filter(|(_, p)| p.var == v) {
                    let input = VarId((self.program.vars.len() + n) as u32);
                    let value = self.terms.var(input, ty);
                    out = self.written(v, i, p.index, value, out);
                }
                out
            }
            Node::Unary(op, a) => {
                let a = self.after(t, a, known);
                self.terms.unary(op, a)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.after(t, a, known), self.after(t, b, known));
                self.terms.binary(op, a, b)
            }
            Node::Ite(c, a, b) => {
                let (c, a, b) = (self.after(t, c, known), self.after(t, a, known), self.after(t, b, known));
                self.terms.ite(c, a, b)
            }
            Node::Cast(to, a) => {
                let a = self.after(t, a, known);
                self.terms.cast(to, a)
            }
        };
        known.insert(f, out);
        out
    }

    /// What is in cell `i` after a value was written to cell `at`; past the end nothing is.
    fn written(&mut self, array: VarId, i: Term, at: Option<Term>, value: Term, before: Term) -> Term {
        let Some(at) = at else { return before };
        let (i, at) = (self.index(i), self.index(at));
        let len = self.terms.constant(self.program.var(array).cells() as u64, Type::unsigned(64));
        let (same, inside) = (self.terms.eq(i, at), self.terms.lt(at, len));
        let hit = self.terms.and(same, inside);
        self.terms.ite(hit, value, before)
    }

    fn index(&mut self, i: Term) -> Term {
        let bits = self.terms.ty(i).bits;
        let plain = self.terms.cast(Type::unsigned(bits), i);
        self.terms.cast(Type::unsigned(64), plain)
    }
}
