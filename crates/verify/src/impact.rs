//! Lazy abstraction with labels from weakest preconditions, for threads (Impact).
//!
//! The program is unwound into a tree: a node is where each thread is, and a *label*, a formula that holds of every state the node
//! stands for; at first it is *true*. At a node where something is wrong the path is checked. If a run takes it, that is the
//! counterexample. If none does, labels along the path get stronger until the last one is false. A node whose label implies that
//! of an older one at the same place is *covered* by it and needs no successors. When no leaf is left the labels are a proof.
//! Wachter, Kroening, Ouaknine, "Verifying multi-threaded software with Impact", FMCAD 2013; McMillan, CAV 2006.
//!
//! What makes it fast, and what is ours:
//! - *Late cores.* Labels are weakest preconditions in which only those guards occur without which the path could be taken. Of all
//!   sets of such guards the one that begins latest is taken: a proof from the program's own checks says nothing of how a counter
//!   got its value, and does not unwind its loop. Of the guards after that beginning all are kept, or only those without which it
//!   would not do: both forms are tried in turns, for neither is better for all programs.
//! - *Forced covers.* For a node and an older one at the same place, the path from their common ancestor is asked whether it leads
//!   into the older label; if so, labels on the way get strong enough for the cover.
//! - *Synchronisation is known, not guessed.* A variable of a mutex or of a thread's life that only ever gets constants has one known
//!   value at each node; a lock that is held is not taken, without any label saying so.
//! - *One thread is enough* where its next steps commute with all that others may still do: steps on what nobody else touches, and the
//!   making of threads. Never at the head of a loop, so that no loop puts the others off for ever. Which thread depends on the
//!   place alone, so that covers stay sound.
//!   `impact-monotonic` has the reduction of the paper instead: see [`Reduction`].
//! - Steps whose guard reads what they write (compare-exchange, semaphores) are checked as soon as they are met; other guards are
//!   not, as that would unwind loops over data.
//!
//! The root is a node like any other: its label is strengthened too. Without, later nodes at its place would be covered by a root
//! that promises nothing about them.

use crate::bits::BitSolver;
use crate::budget::Meter;
use crate::certificate::{Certificate, Tree, TreeEdge, TreeNode};
use crate::engines::Engine;
use crate::futures::Futures;
use crate::inputs::for_every;
use crate::outcome::{Options, Outcome, Trace, Unknown, Verdict};
use crate::solver::{Answer, Solver};
use crate::symbolic::{self, Env, Start, Symbols};
use model::{
    Action, ErrorKind, Interpreter, LocationId, LocationKind, Node as TermNode, Program, Scope, Step, Term,
    ThreadId, Transition, TransitionId, Type, VarId, WordHash,
};
use std::collections::{HashMap, HashSet};

/// How many older nodes a cover is forced with.
const CANDIDATES: usize = 8;
/// How many queries a form of the labels has before the other one is tried, for the first time.
pub(crate) const FIRST_TRY: u64 = 1000;

/// The engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Impact(pub(crate) Reduction);

/// Which threads need not be followed from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// All but one whose next steps commute with all that others may still do.
    OneIsEnough,
    /// Those before the thread that went last in the order of threads, if their steps commute with its step and that was no jump
    /// back: they went before it elsewhere. A node that covers another one has to stand for its threads as well: those that it had
    /// skipped itself are followed then. That is a *cover expansion*.
    Monotonic,
}

impl Engine for Impact {
    fn name(&self) -> &'static str {
        match self.0 {
            Reduction::OneIsEnough => "impact",
            Reduction::Monotonic => "impact-monotonic",
        }
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        let (mut few, mut most, mut given_up) = (false, FIRST_TRY, false);
        let mut run = Run::new(program, options, self.0);
        let ended = loop {
            // What is known of formulas stays known.
            run.few_guards = few;
            run.most_queries = run.solver.queries().saturating_add(most);
            let ended = run.unwind();
            let again = match &ended {
                Err(Stop::Again) => !given_up,
                // Where one form of the labels cannot do without quantifiers the other one may.
                Err(Stop::Unknown(Unknown::Cannot(_))) => !std::mem::replace(&mut given_up, true),
                _ => false,
            };
            if !again {
                break ended;
            }
            run.clear();
            (run.bound, run.refinements, run.cover_expansions) = (None, 0, 0);
            if given_up {
                most = u64::MAX;
            }
            // Neither form is better for all programs, so both get more and more.
            most = if few { most.saturating_mul(3) } else { most };
            few = !few;
        };
        let verdict = match ended {
            Ok(()) => match run.bound.take() {
                Some(t) => Verdict::Unknown(Unknown::Bound(t)),
                None => Verdict::Safe(Certificate::Tree(run.tree())),
            },
            Err(Stop::Wrong(steps)) => Verdict::of_trace(program, steps),
            Err(Stop::Unknown(u)) => Verdict::Unknown(u),
            Err(Stop::Again) => Verdict::Unknown(Unknown::Mistake("it does not go on".to_owned())),
        };
        let covers = run.nodes.iter().filter(|n| n.covered_by.is_some()).count() as u64;
        let mut counts = vec![
            ("nodes", (run.nodes.len() as u64).into()),
            ("refinements", run.refinements.into()),
            ("covers", covers.into()),
            ("queries", run.solver.queries().into()),
        ];
        if self.0 == Reduction::Monotonic {
            counts.push(("cover expansions", run.cover_expansions.into()));
        }
        Outcome { engine: self.name(), verdict, counts, seconds: run.meter.seconds() }
    }
}

/// Why the unwinding ends before the proof is there.
pub(crate) enum Stop {
    Wrong(Vec<Step>),
    Unknown(Unknown),
    /// It has asked as much as it was to: another form of the labels may do better.
    Again,
}

fn cannot<T>(why: &str) -> Result<T, Stop> {
    Err(Stop::Unknown(Unknown::Cannot(why.to_owned())))
}

pub(crate) type NodeId = usize;

/// Where the threads are, and what synchronisation variables are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct At {
    pub(crate) locations: Box<[LocationId]>,
    pub(crate) known: Box<[u64]>,
}

pub(crate) struct Node {
    pub(crate) at: At,
    place: usize,
    /// The parts of the label.
    pub(crate) label: Vec<Term>,
    /// Whether one of them is *false*.
    impossible: bool,
    pub(crate) parent: Option<(NodeId, ThreadId, TransitionId)>,
    pub(crate) depth: usize,
    pub(crate) children: Vec<NodeId>,
    /// All threads that need be were followed.
    pub(crate) expanded: bool,
    /// The only thread that need be followed.
    pub(crate) only: Option<ThreadId>,
    /// The threads that were, or will be, followed although they could be skipped here: the node stands for others.
    unskipped: Vec<ThreadId>,
    pub(crate) covered_by: Option<NodeId>,
    pub(crate) covers: Vec<NodeId>,
    /// Something is wrong here: it covers nothing.
    pub(crate) barren: bool,
    /// Who must not go here. It covers only those where the same must not: others may be better off.
    pub(crate) bad: Vec<ThreadId>,
    /// What must not cover it.
    pub(crate) apart: Vec<NodeId>,
}

/// A condition on a path: the guard of a step, or part of it.
struct Condition {
    /// Of which step, from 0.
    step: usize,
    /// Over the state before the step.
    here: Term,
    /// Over the start of the path.
    start: Term,
}

/// An unwinding that grows. `imc` grows the same in another order.
pub(crate) struct Run<'p> {
    pub(crate) program: &'p Program,
    options: Options,
    reduction: Reduction,
    interpreter: Interpreter<'p>,
    pub(crate) symbols: Symbols<'p>,
    solver: BitSolver,
    pub(crate) meter: Meter,
    /// The variables whose value is known at each node.
    pub(crate) known: Vec<VarId>,
    futures: Futures,
    pub(crate) nodes: Vec<Node>,
    /// The nodes at each place, and the number that a place has.
    by_place: Vec<Vec<NodeId>>,
    places: HashMap<At, usize>,
    pub(crate) work: Vec<NodeId>,
    /// What is known of labels: whether they imply a formula.
    implied: HashMap<Term, HashMap<Vec<Term>, bool, WordHash>, WordHash>,
    pub(crate) bound: Option<Trace>,
    pub(crate) refinements: u64,
    cover_expansions: u64,
    /// Whether labels have as few guards as possible. With more they are weaker and cover more, with fewer they are smaller.
    pub(crate) few_guards: bool,
    pub(crate) most_queries: u64,
}

/// Variables of synchronisation that only ever get constants.
fn known_variables(p: &Program) -> Vec<VarId> {
    let mut out: Vec<VarId> = (0..p.vars.len() as u32).map(VarId).collect();
    out.retain(|v| p.var(*v).internal && p.var(*v).len.is_none());
    for t in p.threads.iter().flat_map(|t| &t.transitions) {
        for a in &t.assigns {
            if p.terms.as_const(a.value).is_none() {
                out.retain(|v| *v != a.place.var);
            }
        }
        for h in &t.havoc {
            out.retain(|v| *v != h.var);
        }
    }
    out
}

impl<'p> Run<'p> {
    pub(crate) fn new(program: &'p Program, options: &Options, reduction: Reduction) -> Run<'p> {
        Run {
            program,
            options: options.clone(),
            reduction,
            interpreter: Interpreter::new(program),
            symbols: Symbols::new(program),
            solver: BitSolver::for_program(program),
            meter: Meter::new(options.budget),
            known: known_variables(program),
            futures: Futures::new(program),
            nodes: Vec::new(),
            by_place: Vec::new(),
            places: HashMap::new(),
            work: Vec::new(),
            implied: HashMap::default(),
            bound: None,
            refinements: 0,
            cover_expansions: 0,
            few_guards: true,
            most_queries: u64::MAX,
        }
    }

    pub(crate) fn transition(&self, thread: ThreadId, t: TransitionId) -> &'p Transition {
        self.program.thread(thread).transition(t)
    }

    /// Whether all of these can hold. The time that is left limits the solver.
    pub(crate) fn can_hold(&mut self, all: &[Term]) -> Result<bool, Stop> {
        let spent = |s| Stop::Unknown(Unknown::Spent(s));
        self.meter.look().map_err(spent)?;
        if self.solver.queries() >= self.most_queries {
            return Err(Stop::Again);
        }
        self.solver.limit(self.meter.left());
        match self.solver.check(&self.symbols.terms, all) {
            Answer::Sat => Ok(true),
            Answer::Unsat => Ok(false),
            Answer::Unknown => {
                self.meter.look().map_err(spent)?;
                cannot("the solver gives up")
            }
        }
    }

    /// Whether a label implies a formula.
    pub(crate) fn implies(&mut self, label: &[Term], what: Term) -> Result<bool, Stop> {
        if label.contains(&what) || self.symbols.terms.as_const(what) == Some(1) {
            return Ok(true);
        }
        if let Some(known) = self.implied.get(&what).and_then(|labels| labels.get(label)) {
            return Ok(*known);
        }
        let mut all = label.to_vec();
        all.push(self.symbols.terms.not(what));
        let yes = !self.can_hold(&all)?;
        self.implied.entry(what).or_default().insert(label.to_vec(), yes);
        Ok(yes)
    }

    /// Says so where a label cannot hold.
    pub(crate) fn notice_false(&mut self, v: NodeId) -> Result<(), Stop> {
        let (label, no) = (self.nodes[v].label.clone(), self.symbols.terms.boolean(false));
        if !self.is_false(v) && self.implies(&label, no)? {
            self.add_to_label(v, no);
            self.uncover_below(v);
        }
        Ok(())
    }

    /// Says so where the label of the node before does not allow the step into a node. Whether it does not.
    pub(crate) fn rule_out(&mut self, v: NodeId) -> Result<bool, Stop> {
        let Some((before, thread, transition)) = self.nodes[v].parent else { return Ok(false) };
        let mut env = self.env_at(before);
        let guard = self.transition(thread, transition).guard;
        let mut all = self.nodes[before].label.clone();
        all.push(env.eval(&mut self.symbols, guard));
        let label = self.nodes[v].label.clone();
        let no = self.symbols.terms.boolean(false);
        let never = self.implies(&all, no)? || self.implies(&label, no)?;
        if never {
            self.add_to_label(v, no);
            self.uncover_below(v);
        }
        Ok(never)
    }

    /// How often the solver was asked.
    pub(crate) fn queries(&self) -> u64 {
        self.solver.queries()
    }

    pub(crate) fn is_false(&self, n: NodeId) -> bool {
        self.nodes[n].impossible
    }

    /// Makes a label stronger.
    fn add_to_label(&mut self, n: NodeId, part: Term) {
        self.nodes[n].label.push(part);
        self.nodes[n].impossible |= self.symbols.terms.as_const(part) == Some(0);
    }

    /// Whether neither a node nor one above it is covered, or impossible.
    pub(crate) fn is_live(&self, mut n: NodeId) -> bool {
        loop {
            if self.nodes[n].covered_by.is_some() || self.is_false(n) {
                return false;
            }
            match self.nodes[n].parent {
                Some((p, ..)) => n = p,
                None => return true,
            }
        }
    }

    pub(crate) fn may_cover(&self, v: NodeId, w: NodeId) -> bool {
        let as_good = self.nodes[w].bad.iter().all(|t| self.nodes[v].bad.contains(t));
        as_good && !self.nodes[v].apart.contains(&w) && !self.nodes[w].barren && self.is_live(w)
    }

    /// The nodes at the place of a node, that one included.
    pub(crate) fn same_place(&self, v: NodeId) -> &[NodeId] {
        &self.by_place[self.nodes[v].place]
    }

    fn add_node(&mut self, at: At, parent: Option<(NodeId, ThreadId, TransitionId)>) -> NodeId {
        let id = self.nodes.len();
        let depth = parent.map_or(0, |(p, ..)| self.nodes[p].depth + 1);
        let place = match self.places.get(&at) {
            Some(place) => *place,
            None => {
                self.places.insert(at.clone(), self.by_place.len());
                self.by_place.push(Vec::new());
                self.by_place.len() - 1
            }
        };
        self.by_place[place].push(id);
        self.nodes.push(Node {
            at,
            place,
            label: Vec::new(),
            impossible: false,
            parent,
            depth,
            children: Vec::new(),
            expanded: false,
            only: None,
            unskipped: Vec::new(),
            covered_by: None,
            covers: Vec::new(),
            barren: false,
            bad: Vec::new(),
            apart: Vec::new(),
        });
        if let Some((p, ..)) = parent {
            self.nodes[p].children.push(id);
        }
        id
    }

    /// Forgets the tree.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.by_place.clear();
        self.places.clear();
        self.work.clear();
    }

    /// The root. It is in the work.
    pub(crate) fn plant(&mut self) -> NodeId {
        let first = At {
            locations: self.program.threads.iter().map(|t| t.entry).collect(),
            known: self.known.iter().map(|v| self.program.var(*v).init[0]).collect(),
        };
        let root = self.add_node(first, None);
        self.work.push(root);
        root
    }

    fn unwind(&mut self) -> Result<(), Stop> {
        self.plant();
        while let Some(v) = self.work.pop() {
            if self.nodes[v].expanded || !self.is_live(v) {
                continue;
            }
            self.meter.step().map_err(|s| Stop::Unknown(Unknown::Spent(s)))?;
            if self.is_beyond_bound(v) {
                self.look_beyond_bound(v)?;
                continue;
            }
            self.refine_wrong(v)?;
            if !self.is_live(v) {
                continue;
            }
            self.prune_blocked(v)?;
            if !self.is_live(v) || self.close(v)? || self.force_cover(v)? {
                continue;
            }
            self.expand(v)?;
        }
        Ok(())
    }

    /// What is wrong at a node, as a formula.
    pub(crate) fn wrong(&mut self, v: NodeId) -> Term {
        let locations = self.nodes[v].at.locations.clone();
        let at_error = self
            .program
            .thread_ids()
            .zip(&locations)
            .any(|(t, l)| matches!(self.program.thread(t).location(*l).kind, LocationKind::Error { .. }));
        if at_error {
            return self.symbols.terms.boolean(true);
        }
        if !self.options.deadlocks {
            return self.symbols.terms.boolean(false);
        }
        let stuck = symbolic::deadlock(&mut self.symbols, self.interpreter.waits(), &locations);
        let mut env = self.env_at(v);
        env.eval(&mut self.symbols, stuck)
    }

    pub(crate) fn looks_for_deadlocks(&self) -> bool {
        self.options.deadlocks
    }

    pub(crate) fn is_beyond_bound(&self, v: NodeId) -> bool {
        let locations = &self.nodes[v].at.locations;
        self.program.thread_ids().zip(locations).any(|(t, l)| {
            matches!(
                self.program.thread(t).location(*l).kind,
                LocationKind::Error { kind: ErrorKind::Bound, .. }
            )
        })
    }

    /// A run to here means that there will be no proof; what else can go wrong is still worth finding.
    pub(crate) fn look_beyond_bound(&mut self, v: NodeId) -> Result<(), Stop> {
        let yes = self.symbols.terms.boolean(true);
        let no = self.symbols.terms.boolean(false);
        match self.run_to(v, yes)? {
            None => self.refine_from_root(v, no),
            Some(steps) => {
                if let Verdict::Unknown(Unknown::Bound(t)) = Verdict::of_trace(self.program, steps) {
                    self.bound.get_or_insert(t);
                    return Ok(());
                }
                Err(Stop::Unknown(Unknown::Mistake("a trace does not replay".to_owned())))
            }
        }
    }

    /// Variables stand for themselves, but for those whose value is known here.
    pub(crate) fn env_at(&mut self, v: NodeId) -> Env {
        let mut env = Env::new(Start::Anywhere);
        for (var, value) in self.known.clone().into_iter().zip(self.nodes[v].at.known.clone()) {
            let value = self.symbols.terms.constant(value, self.program.var(var).ty);
            env.set(var, value);
        }
        env
    }

    /// The nodes from an ancestor down to a node.
    fn path(&self, from: NodeId, to: NodeId) -> Vec<NodeId> {
        let mut path = vec![to];
        let mut at = to;
        while at != from {
            let Some((p, ..)) = self.nodes[at].parent else { break };
            path.push(p);
            at = p;
        }
        path.reverse();
        path
    }

    /// The step into a node.
    pub(crate) fn incoming(&self, v: NodeId) -> Option<(ThreadId, TransitionId)> {
        self.nodes[v].parent.map(|(_, t, e)| (t, e))
    }

    /// A run from the first state along the path to a node, at whose end something holds.
    pub(crate) fn run_to(&mut self, v: NodeId, what: Term) -> Result<Option<Vec<Step>>, Stop> {
        let mut env = Env::new(Start::First);
        let mut conditions = Vec::new();
        let mut steps: Vec<(Step, Vec<Term>)> = Vec::new();
        for (n, w) in self.path(0, v).into_iter().skip(1).enumerate() {
            let Some((thread, transition)) = self.incoming(w) else { continue };
            let edge = self.transition(thread, transition);
            let stepped = env.step(&mut self.symbols, edge, n);
            match self.symbols.terms.as_const(stepped.guard) {
                Some(0) => return Ok(None),
                Some(_) => {}
                None => conditions.push(stepped.guard),
            }
            steps.push((Step { thread, transition, inputs: Vec::new() }, stepped.inputs));
        }
        conditions.push(env.eval(&mut self.symbols, what));
        if !self.can_hold(&conditions)? {
            return Ok(None);
        }
        let fill = |(mut step, inputs): (Step, Vec<Term>)| {
            step.inputs = inputs.iter().map(|i| self.solver.value(&self.symbols.terms, *i)).collect();
            step
        };
        Ok(Some(steps.into_iter().map(fill).collect()))
    }

    /// If something may be wrong at a node: a run that shows it, or labels by which it is not.
    pub(crate) fn refine_wrong(&mut self, v: NodeId) -> Result<(), Stop> {
        let wrong = self.wrong(v);
        if self.symbols.terms.as_const(wrong) == Some(0) {
            return Ok(());
        }
        let fine = self.symbols.terms.not(wrong);
        let label = self.nodes[v].label.clone();
        if self.implies(&label, fine)? {
            // A label that cannot hold is false, also where it does not look so.
            if self.symbols.terms.as_const(fine) == Some(0) {
                self.add_to_label(v, fine);
                self.uncover_below(v);
            }
            return Ok(());
        }
        match self.run_to(v, wrong)? {
            Some(steps) => Err(Stop::Wrong(steps)),
            None => self.refine_from_root(v, fine),
        }
    }

    /// If the step into a node waits for data that it changes itself, it is checked at once.
    pub(crate) fn prune_blocked(&mut self, v: NodeId) -> Result<(), Stop> {
        let Some((thread, transition)) = self.incoming(v) else { return Ok(()) };
        let t = self.transition(thread, transition);
        let mut reads = false;
        self.program.terms.places(t.guard, &mut |p| {
            reads |= !self.known.contains(&p.var)
                && self.program.var(p.var).scope == Scope::Shared
                && (self.program.var(p.var).internal || t.assigns.iter().any(|a| a.place.var == p.var));
        });
        if !reads || matches!(t.action, Action::Create(_)) {
            return Ok(());
        }
        let (yes, no) = (self.symbols.terms.boolean(true), self.symbols.terms.boolean(false));
        match self.run_to(v, yes)? {
            Some(_) => Ok(()),
            None => self.refine_from_root(v, no),
        }
    }

    pub(crate) fn refine_from_root(&mut self, v: NodeId, post: Term) -> Result<(), Stop> {
        self.refinements += 1;
        let path = self.path(0, v);
        let Some(labels) = self.labels(&path, None, post)? else {
            return cannot("no label without quantifiers rules out a path: an input of many values decides");
        };
        self.strengthen(&path, &labels)?;
        // What has become stronger may be covered now.
        for w in path {
            if !self.is_live(w) {
                break;
            }
            let followed = self.nodes[w].expanded || !self.nodes[w].children.is_empty();
            if followed && self.close(w)? {
                break;
            }
        }
        Ok(())
    }

    /// Labels along a path such that from the first one each step leads into the next, and the last is `post`. `pre` is what holds at
    /// the start: a label, or that it is the first state. `None` if there are none without quantifiers.
    fn labels(
        &mut self,
        path: &[NodeId],
        pre: Option<&[Term]>,
        post: Term,
    ) -> Result<Option<Vec<Term>>, Stop> {
        let steps: Vec<&'p Transition> =
            path[1..].iter().filter_map(|w| self.incoming(*w)).map(|(t, e)| self.transition(t, e)).collect();
        let mut env = self.env_at(path[0]);
        let mut conditions: Vec<Condition> = Vec::new();
        for (n, t) in steps.iter().enumerate() {
            let mut parts = Vec::new();
            self.symbols.conjuncts(t.guard, &mut parts);
            for part in parts {
                let start = env.eval(&mut self.symbols, part);
                if self.symbols.terms.as_const(start) != Some(1) {
                    conditions.push(Condition { step: n, here: part, start });
                }
            }
            env.step(&mut self.symbols, t, n);
        }
        let end = env.eval(&mut self.symbols, post);
        let not_post = self.symbols.terms.not(end);
        let pre_term = self.precondition(pre, &conditions, not_post);
        let Some(core) = self.late_core(pre_term, &conditions, not_post)? else { return Ok(None) };
        // Backwards: the weakest precondition, with the guards of the core alone. To leave a guard out makes it stronger.
        let mut labels = vec![post; path.len()];
        for n in (0..steps.len()).rev() {
            let mut env = self.env_at(path[n]);
            let mut broken = Vec::new();
            for c in core.iter().map(|i| &conditions[*i]).filter(|c| c.step == n) {
                let part = env.eval(&mut self.symbols, c.here);
                broken.push(self.symbols.terms.not(part));
            }
            let stepped = env.step(&mut self.symbols, steps[n], n);
            let mut before = env.eval(&mut self.symbols, labels[n + 1]);
            for part in broken.into_iter().rev() {
                before = self.symbols.terms.or(part, before);
            }
            for input in stepped.inputs {
                self.solver.limit(self.meter.left());
                before = for_every(&mut self.symbols, &mut self.solver, before, input);
            }
            labels[n] = before;
        }
        // Where an input was left out of a label it may have become too strong.
        let holds = match pre {
            None => {
                let first = self.interpreter.initial();
                let mut read = |v, i| self.interpreter.value(&first, v, i);
                self.symbols.terms.eval(labels[0], &mut read) != 0
            }
            Some(label) => self.implies(label, labels[0])?,
        };
        Ok(holds.then_some(labels))
    }

    /// What is known at the start of a path, about that which the path speaks of.
    fn precondition(&mut self, pre: Option<&[Term]>, conditions: &[Condition], not_post: Term) -> Term {
        if let Some(label) = pre {
            return self.symbols.terms.all(label.iter().copied());
        }
        let (mut seen, mut leaves) = (HashMap::new(), Vec::new());
        for t in conditions.iter().map(|c| c.start).chain([not_post]) {
            self.symbols.leaves(t, &mut seen, &mut leaves);
        }
        let mut all = Vec::new();
        for leaf in leaves {
            let first = match self.symbols.terms.node(leaf) {
                TermNode::Var(v, _) if !self.symbols.is_input(v) => self.symbols.initial(v, None),
                TermNode::Cell(v, i, _) => self.symbols.initial(v, Some(i)),
                _ => continue,
            };
            all.push(self.symbols.terms.eq(leaf, first));
        }
        self.symbols.terms.all(all)
    }

    /// Conditions that cannot all hold, the latest such that there are, without any that is not needed. `None` if all can hold.
    fn late_core(
        &mut self,
        pre: Term,
        conditions: &[Condition],
        not_post: Term,
    ) -> Result<Option<Vec<usize>>, Stop> {
        let all: Vec<Term> = std::iter::once(pre).chain(conditions.iter().map(|c| c.start)).collect();
        let from = |k: usize| -> Vec<Term> { all[k..].iter().copied().chain([not_post]).collect() };
        if self.can_hold(&from(0))? {
            return Ok(None);
        }
        let mut core: HashSet<Term> = self.solver.core().iter().copied().collect();
        // The latest beginning: those before it are good, those after it are not. What a core begins with is good; and where values
        // satisfy all from the middle on, they may satisfy some before it too.
        // Of two that are the same the later one is enough.
        let first = |from: usize, core: &HashSet<Term>| {
            let mut needed = core.clone();
            needed.remove(&not_post);
            let found = (from..all.len()).rev().find(|k| needed.remove(&all[*k]) && needed.is_empty());
            found.unwrap_or(all.len())
        };
        let (mut good, mut bad) = (first(0, &core), all.len() + 1);
        while bad - good > 1 {
            let middle = good.midpoint(bad);
            if self.can_hold(&from(middle))? {
                let holds = |t: &&Term| self.solver.value(&self.symbols.terms, **t) == 1;
                bad = middle - all[good + 1..middle].iter().rev().take_while(holds).count();
            } else {
                core = self.solver.core().iter().copied().collect();
                good = first(middle, &core);
            }
        }
        let mut kept: Vec<usize> = (good..all.len()).collect();
        if !self.few_guards {
            return Ok(Some(kept.into_iter().filter(|k| *k > 0).map(|k| k - 1).collect()));
        }
        let mut i = 0;
        while i < kept.len() {
            if !core.contains(&all[kept[i]]) {
                kept.remove(i);
                continue;
            }
            let without: Vec<Term> = kept
                .iter()
                .enumerate()
                .filter(|(n, _)| *n != i)
                .map(|(_, k)| all[*k])
                .chain([not_post])
                .collect();
            if self.can_hold(&without)? {
                i += 1;
            } else {
                core = self.solver.core().iter().copied().collect();
                kept.remove(i);
            }
        }
        Ok(Some(kept.into_iter().filter(|k| *k > 0).map(|k| k - 1).collect()))
    }

    /// Makes the labels of a path stronger, from its end until one says enough already.
    fn strengthen(&mut self, path: &[NodeId], labels: &[Term]) -> Result<(), Stop> {
        for (w, add) in path.iter().zip(labels).rev() {
            let label = self.nodes[*w].label.clone();
            if self.implies(&label, *add)? {
                return Ok(());
            }
            let mut parts = Vec::new();
            if self.symbols.terms.as_const(*add) == Some(0) {
                parts.push(*add);
            } else {
                self.symbols.conjuncts(*add, &mut parts);
            }
            for part in parts {
                if !self.nodes[*w].label.contains(&part) {
                    self.add_to_label(*w, part);
                }
            }
            if self.is_false(*w) {
                self.uncover_below(*w);
                continue;
            }
            for z in std::mem::take(&mut self.nodes[*w].covers) {
                let label = self.nodes[z].label.clone();
                if self.implies(&label, *add)? {
                    self.nodes[*w].covers.push(z);
                } else {
                    self.uncover(z);
                }
            }
        }
        Ok(())
    }

    /// Takes a cover back. The caller has removed the node from the list of the one that covered it.
    pub(crate) fn uncover(&mut self, z: NodeId) {
        self.nodes[z].covered_by = None;
        let mut below = vec![z];
        while let Some(n) = below.pop() {
            if self.nodes[n].covered_by.is_some() {
                continue;
            }
            if !self.nodes[n].expanded {
                self.work.push(n);
            }
            below.extend(&self.nodes[n].children);
        }
    }

    /// Takes the covers back by which a node stands for others that may be better off. Whether there were any.
    pub(crate) fn leave_better(&mut self, v: NodeId) -> bool {
        let covers = std::mem::take(&mut self.nodes[v].covers);
        let (stay, go): (Vec<_>, Vec<_>) = covers.into_iter().partition(|z| self.may_cover(*z, v));
        self.nodes[v].covers = stay;
        go.iter().for_each(|z| self.uncover(*z));
        !go.is_empty()
    }

    /// Takes a cover back for good.
    pub(crate) fn refuse_cover(&mut self, v: NodeId, w: NodeId) {
        self.nodes[w].covers.retain(|z| *z != v);
        self.nodes[v].apart.push(w);
        self.uncover(v);
    }

    /// Covers a node by an older one if the labels say so already.
    pub(crate) fn close(&mut self, v: NodeId) -> Result<bool, Stop> {
        let place = self.nodes[v].place;
        for n in 0.. {
            let Some(w) = self.by_place[place].get(n).copied().filter(|w| *w < v) else { break };
            if self.may_cover(v, w) && self.close_with(v, w)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn cover(&mut self, v: NodeId, w: NodeId) {
        self.nodes[v].covered_by = Some(w);
        self.nodes[w].covers.push(v);
        self.uncover_below(v);
        self.stand_for(v, w);
    }

    /// Follows from a node the threads that are followed, or would be, from one that it covers.
    fn stand_for(&mut self, v: NodeId, w: NodeId) {
        let Reduction::Monotonic = self.reduction else { return };
        for thread in self.program.thread_ids() {
            if self.skips(v, thread) || !self.skips(w, thread) || self.nodes[w].unskipped.contains(&thread) {
                continue;
            }
            self.nodes[w].unskipped.push(thread);
            self.cover_expansions += 1;
            if self.nodes[w].expanded {
                let children = self.follow(w, thread);
                self.work.extend(children.into_iter().rev());
            }
        }
    }

    /// Whether a thread need not be followed from a node: to go before the last step was as good.
    fn skips(&self, v: NodeId, thread: ThreadId) -> bool {
        let Some((_, last, step)) = self.nodes[v].parent else { return false };
        let step = self.transition(last, step);
        self.reduction == Reduction::Monotonic
            && thread < last
            && !self.program.thread(last).location(step.to).loop_head
            && self.futures.commutes_with(
                self.program,
                thread,
                self.nodes[v].at.locations[thread.index()],
                step,
            )
    }

    /// What is below a node that is covered, or impossible, covers nothing any more.
    fn uncover_below(&mut self, v: NodeId) {
        let mut below = vec![v];
        while let Some(n) = below.pop() {
            for z in std::mem::take(&mut self.nodes[n].covers) {
                self.uncover(z);
            }
            below.extend(&self.nodes[n].children);
        }
    }

    /// Covers a node by an older one if the path from their common ancestor leads into its label.
    pub(crate) fn force_cover(&mut self, v: NodeId) -> Result<bool, Stop> {
        let older = self.same_place(v).iter().rev().copied().filter(|w| *w < v && self.may_cover(v, *w));
        for w in older.take(CANDIDATES).collect::<Vec<_>>() {
            let x = self.common_ancestor(v, w);
            let path = self.path(x, v);
            let pre = self.nodes[x].label.clone();
            let mut found = Vec::new();
            for c in self.nodes[w].label.clone() {
                let label = self.nodes[v].label.clone();
                if self.implies(&label, c)? {
                    continue;
                }
                match self.labels(&path, Some(&pre), c)? {
                    Some(labels) => found.push(labels),
                    None => {
                        found.clear();
                        found.push(Vec::new());
                        break;
                    }
                }
            }
            if found.iter().any(Vec::is_empty) {
                continue;
            }
            for labels in &found {
                self.strengthen(&path, labels)?;
            }
            // To strengthen the path may have taken something of what was to cover.
            if self.is_live(v) && self.may_cover(v, w) && self.close_with(v, w)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close_with(&mut self, v: NodeId, w: NodeId) -> Result<bool, Stop> {
        // Nothing is asked that changes labels: they are only lent.
        let (label, other) =
            (std::mem::take(&mut self.nodes[v].label), std::mem::take(&mut self.nodes[w].label));
        let mut all = Ok(true);
        for c in &other {
            all = self.implies(&label, *c);
            if !matches!(all, Ok(true)) {
                break;
            }
        }
        (self.nodes[v].label, self.nodes[w].label) = (label, other);
        if matches!(all, Ok(true)) {
            self.cover(v, w);
        }
        all
    }

    fn common_ancestor(&self, mut a: NodeId, mut b: NodeId) -> NodeId {
        while a != b {
            let up = |n: NodeId| self.nodes[n].parent.map_or(n, |(p, ..)| p);
            match self.nodes[a].depth.cmp(&self.nodes[b].depth) {
                std::cmp::Ordering::Greater => a = up(a),
                std::cmp::Ordering::Less => b = up(b),
                std::cmp::Ordering::Equal => (a, b) = (up(a), up(b)),
            }
        }
        a
    }

    /// A thread that may go before all others without anything being lost.
    pub(crate) fn first_of_all(&mut self, v: NodeId) -> Result<Option<ThreadId>, Stop> {
        let at = self.nodes[v].at.clone();
        for thread in self.program.thread_ids() {
            let here = at.locations[thread.index()];
            let location = self.program.thread(thread).location(here);
            if location.loop_head || self.program.thread(thread).out[here.index()].is_empty() {
                continue;
            }
            let unborn = |u: ThreadId| {
                let life = self.program.thread(u).life;
                let i = life.and_then(|life| self.known.iter().position(|k| *k == life));
                i.is_some_and(|i| at.known[i] == model::Thread::UNBORN)
            };
            if !self.futures.commutes(self.program, &at.locations, thread, unborn) {
                continue;
            }
            // It must be able to go, whatever the state is. Nobody has to wake up for no reason: where that is all it can do, the others
            // may be stuck without it.
            let mut env = self.env_at(v);
            let mut guards = Vec::new();
            let counts = |t: &model::Transition| !(self.options.deadlocks && t.action.is_spurious());
            for (_, t) in self.program.thread(thread).from(here).filter(|(_, t)| counts(t)) {
                guards.push(env.eval(&mut self.symbols, t.guard));
            }
            let some = self.symbols.terms.any(guards);
            if self.implies(&[], some)? {
                return Ok(Some(thread));
            }
        }
        Ok(None)
    }

    /// One child for each transition of each thread that what is known does not rule out.
    fn expand(&mut self, v: NodeId) -> Result<(), Stop> {
        let only = match self.reduction {
            Reduction::OneIsEnough => self.first_of_all(v)?,
            Reduction::Monotonic => None,
        };
        self.nodes[v].expanded = true;
        self.nodes[v].only = only;
        let (mut plain, mut wrong) = (Vec::new(), Vec::new());
        for thread in self.program.thread_ids() {
            let skipped = self.skips(v, thread) && !self.nodes[v].unskipped.contains(&thread);
            if skipped || only.is_some_and(|o| o != thread) {
                continue;
            }
            for child in self.follow(v, thread) {
                let to = self.nodes[child].at.locations[thread.index()];
                match self.program.thread(thread).location(to).kind {
                    LocationKind::Error { .. } => wrong.push(child),
                    _ => plain.push(child),
                }
            }
        }
        // The last one is the next: first what is wrong, then the threads in order.
        self.work.extend(plain.into_iter().rev());
        self.work.extend(wrong.into_iter().rev());
        Ok(())
    }

    /// One child for each transition of a thread that what is known does not rule out.
    pub(crate) fn follow(&mut self, v: NodeId, thread: ThreadId) -> Vec<NodeId> {
        let at = self.nodes[v].at.clone();
        let mut children = Vec::new();
        for (id, t) in self.program.thread(thread).from(at.locations[thread.index()]) {
            let read = |var: VarId| self.known.iter().position(|k| *k == var).map(|i| at.known[i]);
            if self.program.terms.eval_partly(t.guard, &mut |var, _| read(var)) == Some(0) {
                continue;
            }
            let mut next = at.clone();
            next.locations[thread.index()] = t.to;
            for a in &t.assigns {
                if let Some(i) = self.known.iter().position(|k| *k == a.place.var) {
                    next.known[i] = self.program.terms.as_const(a.value).unwrap_or_default();
                }
            }
            children.push(self.add_node(next, Some((v, thread, id))));
        }
        children
    }

    /// All that holds at a node, what is known included.
    pub(crate) fn full_label(&mut self, n: NodeId) -> Term {
        let mut all = Vec::new();
        for (var, value) in self.known.clone().into_iter().zip(self.nodes[n].at.known.clone()) {
            let ty: Type = self.program.var(var).ty;
            let (now, value) = (self.symbols.terms.var(var, ty), self.symbols.terms.constant(value, ty));
            all.push(self.symbols.terms.eq(now, value));
        }
        all.extend(self.nodes[n].label.iter().copied());
        self.symbols.terms.all(all)
    }

    /// The proof: the nodes that are not below a covered one, with what is known as part of their labels.
    pub(crate) fn tree(&mut self) -> Tree {
        let mut number = HashMap::new();
        let mut order = vec![0];
        let mut i = 0;
        while i < order.len() {
            let n = order[i];
            number.insert(n, i);
            if self.nodes[n].covered_by.is_none() && !self.is_false(n) {
                order.extend(&self.nodes[n].children);
            }
            i += 1;
        }
        let mut nodes = Vec::new();
        for n in order {
            let label = self.full_label(n);
            let edges = self.nodes[n].children.iter().filter_map(|c| {
                let (_, thread, transition) = self.nodes[*c].parent?;
                Some(TreeEdge { thread, transition, to: *number.get(c)? })
            });
            let edges = edges.collect();
            let covered_by = self.nodes[n].covered_by.and_then(|w| number.get(&w).copied());
            let (locations, only) = (self.nodes[n].at.locations.clone(), self.nodes[n].only);
            nodes.push(TreeNode { locations, label, covered_by, only, edges });
        }
        let monotonic = self.reduction == Reduction::Monotonic;
        Tree { terms: self.symbols.terms.clone(), monotonic, nodes }
    }
}
