//! Lal and Reps' sequentialisation: a program of many threads as one of one thread that does what they do in `K` rounds.
//!
//! A. Lal, T. Reps, "Reducing concurrent analysis under a context bound to sequential analysis", CAV 2008. In each round every thread
//! runs once, in the order of their numbers, for as long as it likes. The one thread runs all rounds of the first thread, then all
//! rounds of the second, and so on. Each shared variable becomes an array with a copy a round; what the later copies hold at first is
//! guessed. At the end a guess must have come true: what the last thread leaves of a round is what the next round was guessed to start
//! with. Only then counts what went wrong on the way.
//!
//! So a sequential engine, which knows nothing of threads, searches all runs of `K` rounds. What it finds is put back into the order
//! in which it happened, and replayed. That nothing is wrong in `K` rounds is no proof: the answer is then *unknown*.
//!
//! A variable that nobody writes, or that one thread alone names, needs no copies. A guess has as many bits as the variable's
//! interval needs ([`crate::ranges`]).

use crate::bdd::{Direction, Symbolic};
use crate::budget::{Budget, Meter};
use crate::engines::Engine;
use crate::outcome::{Options, Outcome, Unknown, Verdict};
use crate::ranges::Ranges;
use model::{
    Action, Assign, Builder, ErrorKind, Interpreter, LocationId, LocationKind, Node, Place, Program, Scope,
    Step, Term, ThreadId, Transition, TransitionId, Type, Var, VarId,
};
use std::collections::{BTreeSet, HashMap};

/// The type of the number of a round.
const ROUND: Type = Type::unsigned(8);
/// So many rounds are tried if nobody says otherwise.
const ROUNDS: u8 = 3;

/// A program as one of one thread.
#[derive(Clone, Debug)]
pub struct Sequential {
    /// The program of one thread. It reaches an error location if the other one does so within the rounds.
    pub program: Program,
    /// For each transition of its thread: whose it was, if it was one.
    origin: Vec<Option<(ThreadId, TransitionId)>>,
    round: VarId,
}

/// Does what the threads of a program do in a number of rounds in one thread.
///
/// # Errors
/// If a thread is made by one with a higher number: it would run before it is made.
pub fn sequentialise(program: &Program, rounds: u8) -> Result<Sequential, String> {
    for t in program.thread_ids() {
        for e in &program.thread(t).transitions {
            if matches!(e.action, Action::Create(child) if child <= t) {
                return Err(format!("`{}` makes a thread that comes before it", program.thread(t).name));
            }
        }
    }
    let mut b = Builder::new();
    let one = b.thread("rounds");
    let ranges = Ranges::of(program);
    let local = |name: &str, ty: Type, len: Option<u32>, init: Vec<u64>| Var {
        name: name.to_owned(),
        ty,
        len,
        scope: Scope::Local(one),
        init,
        internal: false,
        atomic: false,
        parts: false,
        span: Default::default(),
    };
    let copied = copied(program);
    let mut vars = Vec::new();
    let mut guesses = Vec::new();
    for (v, var) in program.vars.iter().enumerate() {
        let cells = var.cells() as u32;
        if copied[v] {
            let mut init = var.init.clone();
            init.resize((cells * rounds as u32) as usize, 0);
            vars.push(b.variable(local(&var.name, var.ty, Some(cells * rounds as u32), init)));
            let (bits, signed) = ranges.var(VarId(v as u32)).bits();
            let ty = Type { bits: bits.max(1), signed };
            let count = cells * (rounds as u32 - 1);
            let init = vec![0; count as usize];
            if rounds > 1 {
                guesses.push((v, b.variable(local(&format!("{}%guess", var.name), ty, Some(count), init))));
            }
        } else {
            vars.push(b.variable(local(&var.name, var.ty, var.len, var.init.clone())));
        }
    }
    let round = b.variable(local("round%", ROUND, None, vec![0]));
    let failed = b.variable(local("failed%", Type::BOOL, None, vec![0]));
    let mut work =
        Work { program, b, one, vars, copied, round, rounds, known: HashMap::new(), origin: Vec::new() };
    work.guess(&guesses);
    for t in program.thread_ids() {
        work.thread(t, failed);
    }
    work.check(&guesses, failed);
    let program = work.b.finish();
    let mut origin = work.origin;
    origin.resize(program.thread(one).transitions.len(), None);
    Ok(Sequential { program, origin, round })
}

impl Sequential {
    /// The run of the threads that a run of the one thread stands for.
    pub fn run_of(&self, steps: &[Step]) -> Result<Vec<Step>, String> {
        let run = Interpreter::new(&self.program);
        let states = run.replay(steps).map_err(|e| e.to_string())?;
        let mut out: Vec<(u64, ThreadId, Step)> = Vec::new();
        let mut failing = None;
        for (step, s) in steps.iter().zip(&states) {
            let Some((thread, transition)) = self.origin[step.transition.index()] else { continue };
            let round = run.value(s, self.round, 0);
            let failed_before = run.value(s, self.failed(), 0) == 1;
            out.push((round, thread, Step { thread, transition, inputs: step.inputs.clone() }));
            if !failed_before {
                let after = run.take(s, step);
                if run.value(&after, self.failed(), 0) == 1 {
                    failing = Some((round, thread));
                }
            }
        }
        // What comes later than the failure, or without it, is no part of the run.
        let (round, thread) = failing.ok_or("nothing fails")?;
        out.retain(|s| (s.0, s.1) <= (round, thread));
        out.sort_by_key(|s| (s.0, s.1));
        Ok(out.into_iter().map(|s| s.2).collect())
    }

    fn failed(&self) -> VarId {
        VarId(self.round.0 + 1)
    }
}

/// Which variables need a copy a round: those that are written, and named by more than one thread.
fn copied(p: &Program) -> Vec<bool> {
    let mut by: Vec<BTreeSet<ThreadId>> = vec![BTreeSet::new(); p.vars.len()];
    let mut written = vec![false; p.vars.len()];
    for t in p.thread_ids() {
        for e in &p.thread(t).transitions {
            let a = p.accesses(e);
            for q in a.reads.iter().chain(&a.writes) {
                by[q.var.index()].insert(t);
            }
            a.writes.iter().for_each(|q| written[q.var.index()] = true);
        }
    }
    p.vars.iter().zip(by).zip(written).map(|((v, by), w)| v.is_shared() && w && by.len() > 1).collect()
}

struct Work<'p> {
    program: &'p Program,
    b: Builder,
    one: ThreadId,
    /// The variable that stands for each.
    vars: Vec<VarId>,
    copied: Vec<bool>,
    round: VarId,
    rounds: u8,
    known: HashMap<Term, Term>,
    origin: Vec<Option<(ThreadId, TransitionId)>>,
}

impl Work<'_> {
    /// Guesses what the shared variables hold at the start of each round but the first.
    fn guess(&mut self, guesses: &[(usize, VarId)]) {
        for (v, guess) in guesses {
            let var = &self.program.vars[*v];
            let cells = var.cells() as u64;
            for n in 0..cells * (self.rounds as u64 - 1) {
                let at = self.b.terms().constant(n, Type::UINT);
                self.b.havoc(self.one, Place::cell(*guess, at));
                let value = self.b.cell(*guess, at);
                let value = self.b.terms().cast(var.ty, value);
                let to = self.b.terms().constant(n + cells, Type::UINT);
                self.b.assign_place(self.one, Place::cell(self.vars[*v], to), value);
            }
        }
    }

    fn round_is_below(&mut self, n: u64) -> Term {
        let (round, n) = (self.b.value(self.round), self.b.terms().constant(n, ROUND));
        self.b.terms().lt(round, n)
    }

    /// All rounds of one thread.
    fn thread(&mut self, t: ThreadId, failed: VarId) {
        let thread = self.program.thread(t);
        let start = self.b.here(self.one);
        let places: Vec<LocationId> = thread
            .location_ids()
            .map(|l| if l == thread.entry { start } else { self.b.location(self.one) })
            .collect();
        let stop = self.b.location(self.one);
        let yes = self.b.terms().boolean(true);
        for (n, e) in thread.transitions.iter().enumerate() {
            let mut assigns: Vec<Assign> = Vec::new();
            for a in &e.assigns {
                let (place, value) = (self.place(a.place), self.term(a.value));
                assigns.push(Assign { place, value });
            }
            let mut to = places[e.to.index()];
            match thread.location(e.to).kind {
                LocationKind::Error { kind: ErrorKind::Bound, .. } => continue,
                LocationKind::Error { .. } => {
                    assigns.push(Assign { place: Place::scalar(failed), value: yes });
                    to = stop;
                }
                _ => {}
            }
            let guard = self.term(e.guard);
            let havoc = e.havoc.iter().map(|h| self.place(*h)).collect();
            let from = places[e.from.index()];
            let edge = Transition {
                from,
                to,
                guard,
                assigns,
                havoc,
                action: Action::Local,
                span: e.span,
                order: e.order,
                operand: e.operand,
                fences: e.fences,
            };
            let id = self.b.edge(self.one, edge);
            self.origin.resize(id.index() + 1, None);
            self.origin[id.index()] = Some((t, TransitionId(n as u32)));
        }
        // At any place the others may go first, until the next round; and it may never go on.
        let more = self.round_is_below(self.rounds as u64 - 1);
        let (round, one) = (self.b.value(self.round), self.b.terms().constant(1, ROUND));
        let next = self.b.terms().add(round, one);
        for (l, at) in thread.location_ids().zip(&places) {
            if thread.location(l).kind == LocationKind::Normal && !thread.out[l.index()].is_empty() {
                let assigns = vec![Assign { place: Place::scalar(self.round), value: next }];
                self.b.step(self.one, *at, *at, more, assigns);
            }
            self.b.step(self.one, *at, stop, yes, Vec::new());
        }
        self.b.go_on_at(self.one, stop);
        let zero = self.b.terms().constant(0, ROUND);
        self.b.assign(self.one, self.round, zero);
    }

    /// At the end: fails if the guesses came true and something went wrong.
    fn check(&mut self, guesses: &[(usize, VarId)], failed: VarId) {
        let mut all = self.b.value(failed);
        for (v, guess) in guesses {
            let var = &self.program.vars[*v];
            for n in 0..var.cells() as u64 * (self.rounds as u64 - 1) {
                let at = self.b.terms().constant(n, Type::UINT);
                let (left, guessed) = (self.b.cell(self.vars[*v], at), self.b.cell(*guess, at));
                let guessed = self.b.terms().cast(var.ty, guessed);
                let same = self.b.terms().eq(left, guessed);
                all = self.b.terms().and(all, same);
            }
        }
        let from = self.b.here(self.one);
        let to = self.b.error_location(self.one, ErrorKind::Assertion, "a thread fails");
        self.b.step(self.one, from, to, all, Vec::new());
    }

    /// The cell of the copy of this round.
    fn index(&mut self, v: VarId, index: Option<Term>) -> Term {
        let wide = Type::unsigned(64);
        let round = self.b.value(self.round);
        let Some(i) = index else { return round };
        let cells = self.program.var(v).cells() as u64;
        let terms = self.b.terms();
        // An index is its bits, whatever the sign.
        let bits = Type::unsigned(terms.ty(i).bits);
        let i = terms.cast(bits, i);
        let (round, i) = (terms.cast(wide, round), terms.cast(wide, i));
        let (len, past) = (terms.constant(cells, wide), terms.constant(cells * self.rounds as u64, wide));
        let start = terms.binary(model::Binary::Mul, round, len);
        let at = terms.add(start, i);
        let inside = terms.lt(i, len);
        terms.ite(inside, at, past)
    }

    fn place(&mut self, q: Place) -> Place {
        let var = self.vars[q.var.index()];
        let index = q.index.map(|i| self.term(i));
        if self.copied[q.var.index()] {
            Place::cell(var, self.index(q.var, index))
        } else {
            Place { var, index }
        }
    }

    fn term(&mut self, t: Term) -> Term {
        if let Some(known) = self.known.get(&t) {
            return *known;
        }
        let out = match self.program.terms.node(t) {
            Node::Const(v, ty) => self.b.terms().constant(v, ty),
            Node::Var(v, ty) => {
                let place = self.place(Place::scalar(v));
                self.b.terms().read(place, ty)
            }
            Node::Cell(v, i, ty) => {
                let place = self.place(Place::cell(v, i));
                self.b.terms().read(place, ty)
            }
            Node::Unary(op, a) => {
                let a = self.term(a);
                self.b.terms().unary(op, a)
            }
            Node::Binary(op, x, y) => {
                let (x, y) = (self.term(x), self.term(y));
                self.b.terms().binary(op, x, y)
            }
            Node::Ite(c, x, y) => {
                let (c, x, y) = (self.term(c), self.term(x), self.term(y));
                self.b.terms().ite(c, x, y)
            }
            Node::Cast(to, a) => {
                let a = self.term(a);
                self.b.terms().cast(to, a)
            }
        };
        self.known.insert(t, out);
        out
    }
}

/// The engine: one round, two rounds, and so on, each searched by `bdd`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LalReps {
    pub(crate) rounds: u8,
}

impl Default for LalReps {
    fn default() -> LalReps {
        LalReps { rounds: ROUNDS }
    }
}

impl Engine for LalReps {
    fn name(&self) -> &'static str {
        "lal-reps"
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        let meter = Meter::new(options.budget);
        let mut rounds = 0;
        let verdict = loop {
            if rounds == self.rounds {
                let mut why = format!("nothing is wrong within {rounds} rounds");
                if options.deadlocks {
                    why += "; a sequential program has no deadlocks, so none were looked for";
                }
                break Verdict::Unknown(Unknown::Within(why));
            }
            rounds += 1;
            let sequential = match sequentialise(program, rounds) {
                Ok(s) => s,
                Err(why) => break Verdict::Unknown(Unknown::Cannot(why)),
            };
            let budget = Budget { seconds: meter.left(), ..options.budget };
            let inner = Symbolic(Direction::Forward)
                .verify(&sequential.program, &Options { budget, deadlocks: false });
            match inner.verdict {
                Verdict::Safe(_) => {}
                Verdict::Unsafe(trace) => match sequential.run_of(&trace.steps) {
                    Ok(steps) => break Verdict::of_trace(program, steps),
                    Err(why) => break Verdict::Unknown(Unknown::Mistake(why)),
                },
                other => break other,
            }
        };
        Outcome {
            engine: self.name(),
            verdict,
            counts: vec![("rounds", u64::from(rounds).into())],
            seconds: meter.seconds(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_lost_increment_needs_two_rounds() {
        let p = testing::increments(2, false, true);
        let one = LalReps { rounds: 1 }.verify(&p, &Options::default());
        assert!(matches!(one.verdict, Verdict::Unknown(Unknown::Within(_))), "{:?}", one.verdict);
        let two = LalReps { rounds: 2 }.verify(&p, &Options::default());
        assert_eq!((two.verdict.name(), two.count("rounds")), ("unsafe", Some(2)), "{:?}", two.verdict);
    }

    #[test]
    fn with_a_lock_no_two_rounds_fail() {
        let p = testing::increments(2, true, true);
        let found = LalReps { rounds: 2 }.verify(&p, &Options::default());
        assert!(matches!(found.verdict, Verdict::Unknown(Unknown::Within(_))), "{:?}", found.verdict);
    }

    #[test]
    fn cells_of_a_shared_array_have_copies_of_their_own() {
        let p = testing::read(
            "char a[2]; void *f(void *p) { a[1] = 1; if (a[0] == 1) reach_error(); return 0; }
             void *g(void *p) { if (a[1] == 1) a[0] = 1; return 0; }
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }",
        );
        let found = LalReps::default().verify(&p, &Options::default());
        assert_eq!((found.verdict.name(), found.count("rounds")), ("unsafe", Some(2)), "{:?}", found.verdict);
    }

    #[test]
    fn other_engines_find_the_same_in_the_program_of_one_thread() {
        let p = testing::read(
            "_Bool x, y; void *f(void *p) { x = 1; if (y) reach_error(); return 0; }
             void *g(void *p) { if (x) y = 1; return 0; }
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }",
        );
        for (rounds, verdict) in [(1, "safe"), (2, "unsafe")] {
            let sequential = sequentialise(&p, rounds).unwrap();
            for name in ["explicit", "bdd", "bdd-backward", "contexts"] {
                let engine = (crate::engine(name).unwrap().make)();
                let found = engine.verify(&sequential.program, &Options::default()).verdict;
                assert_eq!(found.name(), verdict, "{name}, {rounds} rounds: {found:?}");
                if let Verdict::Unsafe(trace) = found {
                    let steps = sequential.run_of(&trace.steps).unwrap();
                    assert_eq!(Verdict::of_trace(&p, steps).name(), "unsafe", "{name}");
                }
            }
        }
    }
}
