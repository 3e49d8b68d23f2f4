//! All runs of k steps of a program, as terms.

use model::{
    ErrorKind, LocationId, LocationKind, Logic, Node, Program, Step, Term, Terms, ThreadId, TransitionId,
    Type, VarId, Waits,
};
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;

/// The type of locations and of choices.
const NUMBER: Type = Type::unsigned(16);

/// A state after some steps.
struct Layer {
    /// By thread: where it is.
    locations: Vec<Term>,
    /// By thread: where it can be at all.
    possible: Vec<BTreeSet<LocationId>>,
    /// By variable, by cell: what it is.
    cells: Vec<Vec<Term>>,
    known: HashMap<Term, Term>,
}

/// A step: the variable that says which transition, and the inputs of each.
struct Choice {
    chosen: Term,
    options: Vec<(ThreadId, TransitionId, Vec<Term>)>,
}

pub(crate) struct Unrolling<'p> {
    program: &'p Program,
    terms: Terms,
    now: Layer,
    choices: Vec<Choice>,
    /// What must hold for the steps to be a run.
    path: Vec<Term>,
    fresh: u32,
    /// Where threads may wait, from when it is first asked for.
    waits: Option<Waits>,
}

impl<'p> Unrolling<'p> {
    pub(crate) fn new(program: &'p Program) -> Unrolling<'p> {
        let mut terms = program.terms.clone();
        let number = |terms: &mut Terms, l: LocationId| terms.constant(u64::from(l.0), NUMBER);
        let locations = program.threads.iter().map(|t| number(&mut terms, t.entry)).collect();
        let possible = program.threads.iter().map(|t| BTreeSet::from([t.entry])).collect();
        let mut cells = Vec::new();
        for v in &program.vars {
            cells.push(v.init.iter().map(|x| terms.constant(*x, v.ty)).collect());
        }
        let now = Layer { locations, possible, cells, known: HashMap::new() };
        let fresh = program.vars.len() as u32;
        Unrolling { program, terms, now, choices: Vec::new(), path: Vec::new(), fresh, waits: None }
    }

    /// Why the program cannot be unrolled, if it cannot.
    pub(crate) fn too_large(program: &Program) -> Option<String> {
        let many = program.vars.iter().find(|v| v.cells() > 64);
        let places = program.threads.iter().map(|t| t.locations.len().max(t.transitions.len()));
        if let Some(v) = many {
            return Some(format!("`{}` has {} cells; at most 64 are unrolled", v.name, v.cells()));
        }
        (places.sum::<usize>() >= 1 << 16).then(|| "the program has too many locations to unroll".to_owned())
    }

    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    pub(crate) fn path(&self) -> &[Term] {
        &self.path
    }

    /// How many steps.
    pub(crate) fn depth(&self) -> usize {
        self.choices.len()
    }

    pub(crate) fn yes(&mut self) -> Term {
        self.terms.boolean(true)
    }

    fn variable(&mut self, ty: Type) -> Term {
        self.fresh += 1;
        self.terms.var(VarId(self.fresh - 1), ty)
    }

    /// A term of the program as it is now.
    fn eval(&mut self, t: Term) -> Term {
        if let Some(done) = self.now.known.get(&t) {
            return *done;
        }
        let out = match self.terms.node(t) {
            Node::Const(..) => t,
            Node::Var(v, _) => self.now.cells[v.index()][0],
            Node::Cell(v, i, ty) => {
                let i = self.eval(i);
                let mut out = self.terms.constant(0, ty);
                for c in 0..self.now.cells[v.index()].len() {
                    let here = self.is_index(i, c);
                    let value = self.now.cells[v.index()][c];
                    out = self.terms.ite(here, value, out);
                }
                out
            }
            Node::Unary(op, a) => {
                let a = self.eval(a);
                self.terms.unary(op, a)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.eval(a), self.eval(b));
                self.terms.binary(op, a, b)
            }
            Node::Ite(c, a, b) => {
                let (c, a, b) = (self.eval(c), self.eval(a), self.eval(b));
                self.terms.ite(c, a, b)
            }
            Node::Cast(to, a) => {
                let a = self.eval(a);
                self.terms.cast(to, a)
            }
        };
        self.now.known.insert(t, out);
        out
    }

    /// Whether an index is that of a cell. What its type does not hold it never is.
    fn is_index(&mut self, index: Term, cell: usize) -> Term {
        let ty = self.terms.ty(index);
        if cell as u64 > ty.mask() {
            return self.terms.boolean(false);
        }
        let cell = self.terms.constant(cell as u64, ty);
        self.terms.eq(index, cell)
    }

    fn is_at(&mut self, t: ThreadId, l: LocationId) -> Term {
        if !self.now.possible[t.index()].contains(&l) {
            return self.terms.boolean(false);
        }
        let l = self.terms.constant(u64::from(l.0), NUMBER);
        let at = self.now.locations[t.index()];
        self.terms.eq(at, l)
    }

    fn is_at_some(&mut self, which: impl Fn(&LocationKind) -> bool) -> Term {
        let mut all = Vec::new();
        for t in self.program.thread_ids() {
            for l in self.program.thread(t).location_ids() {
                if which(&self.program.thread(t).location(l).kind) {
                    all.push(self.is_at(t, l));
                }
            }
        }
        self.terms.any(all)
    }

    /// Whether something is wrong now.
    pub(crate) fn wrong(&mut self, deadlocks: bool) -> Term {
        let error =
            self.is_at_some(|k| matches!(k, LocationKind::Error { kind, .. } if *kind != ErrorKind::Bound));
        if !deadlocks {
            return error;
        }
        let waits = self.waits.take().unwrap_or_else(|| Waits::of(self.program));
        let Ok(deadlock) = waits.deadlock(self.program, self);
        self.waits = Some(waits);
        self.terms.or(error, deadlock)
    }

    /// Whether a thread is beyond the bound under which the program was read.
    pub(crate) fn beyond_bound(&mut self) -> Term {
        self.is_at_some(|k| matches!(k, LocationKind::Error { kind: ErrorKind::Bound, .. }))
    }

    /// One step more.
    pub(crate) fn extend(&mut self) {
        let chosen = self.variable(NUMBER);
        let mut options = Vec::new();
        let mut can = Vec::new();
        let mut locations = self.now.locations.clone();
        let mut possible = self.now.possible.clone();
        let mut cells = self.now.cells.clone();
        for thread in self.program.thread_ids() {
            let from: Vec<LocationId> = self.now.possible[thread.index()].iter().copied().collect();
            for l in from {
                for (id, t) in self.program.thread(thread).from(l) {
                    let number = self.terms.constant(options.len() as u64, NUMBER);
                    let this = self.terms.eq(chosen, number);
                    let (here, guard) = (self.is_at(thread, l), self.eval(t.guard));
                    can.push(self.terms.all([this, here, guard]));
                    let to = self.terms.constant(u64::from(t.to.0), NUMBER);
                    locations[thread.index()] = self.terms.ite(this, to, locations[thread.index()]);
                    possible[thread.index()].insert(t.to);
                    for a in &t.assigns {
                        let (at, value) = (a.place.index.map(|i| self.eval(i)), self.eval(a.value));
                        self.write(&mut cells[a.place.var.index()], this, at, value);
                    }
                    let mut inputs = Vec::new();
                    for p in &t.havoc {
                        let at = p.index.map(|i| self.eval(i));
                        let value = self.variable(self.program.var(p.var).ty);
                        inputs.push(value);
                        self.write(&mut cells[p.var.index()], this, at, value);
                    }
                    options.push((thread, id, inputs));
                }
            }
        }
        self.path.push(self.terms.any(can));
        self.choices.push(Choice { chosen, options });
        self.now = Layer { locations, possible, cells, known: HashMap::new() };
    }

    /// Writes to a variable, or to one of its cells, if the step is the one that is taken.
    fn write(&mut self, cells: &mut [Term], this: Term, at: Option<Term>, value: Term) {
        for (c, cell) in cells.iter_mut().enumerate() {
            let here = match at {
                None => this,
                Some(at) => {
                    let same = self.is_index(at, c);
                    self.terms.and(this, same)
                }
            };
            *cell = self.terms.ite(here, value, *cell);
        }
    }

    /// The run that the values of a solver make.
    pub(crate) fn steps(&self, value: &dyn Fn(&Terms, Term) -> u64) -> Vec<Step> {
        let step = |c: &Choice| {
            let (thread, transition, inputs) = c.options.get(value(&self.terms, c.chosen) as usize)?;
            let inputs = inputs.iter().map(|i| value(&self.terms, *i)).collect();
            Some(Step { thread: *thread, transition: *transition, inputs })
        };
        self.choices.iter().filter_map(step).collect()
    }
}

/// Formulas about the state after all steps.
impl Logic for Unrolling<'_> {
    type Formula = Term;
    type Error = Infallible;

    fn constant(&mut self, value: bool) -> Term {
        self.terms.boolean(value)
    }

    fn term(&mut self, t: Term) -> Result<Term, Infallible> {
        Ok(self.eval(t))
    }

    fn at(&mut self, t: ThreadId, l: LocationId) -> Result<Term, Infallible> {
        Ok(self.is_at(t, l))
    }

    fn places(&self, t: ThreadId) -> Vec<LocationId> {
        self.now.possible[t.index()].iter().copied().collect()
    }

    fn and(&mut self, a: &Term, b: &Term) -> Result<Term, Infallible> {
        Ok(self.terms.and(*a, *b))
    }

    fn or(&mut self, a: &Term, b: &Term) -> Result<Term, Infallible> {
        Ok(self.terms.or(*a, *b))
    }

    fn not(&mut self, a: &Term) -> Result<Term, Infallible> {
        Ok(self.terms.not(*a))
    }

    fn equals(&mut self, var: VarId, value: u64) -> Result<Term, Infallible> {
        let value = self.terms.constant(value, self.program.var(var).ty);
        let now = self.now.cells[var.index()][0];
        Ok(self.terms.eq(now, value))
    }
}
