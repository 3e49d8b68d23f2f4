//! Symbolic steps: what guards and values are, written over the state some steps before.
//!
//! An [`Env`] says what each variable is *now* in terms of what variables were at a start: the program's first state, or any state.
//! With it a path becomes a list of conditions over its start, and a formula its own weakest precondition.

use model::{
    Binary, Logic, Node, Place, Program, Term, Terms, ThreadId, Transition, Type, Unary, VarId, Waits,
    WordHash,
};
use std::collections::HashMap;
use std::convert::Infallible;

/// The terms of a program and of formulas about it.
pub(crate) struct Symbols<'p> {
    pub(crate) program: &'p Program,
    pub(crate) terms: Terms,
    /// How many inputs a step has at most.
    inputs: usize,
}

impl<'p> Symbols<'p> {
    pub(crate) fn new(program: &'p Program) -> Symbols<'p> {
        let steps = program.threads.iter().flat_map(|t| &t.transitions);
        let inputs = steps.map(|t| t.havoc.len()).max().unwrap_or(0);
        Symbols { program, terms: program.terms.clone(), inputs }
    }

    /// A variable that is none of the program's: the `part`-th input of the `step`-th step of a path.
    pub(crate) fn input(&mut self, step: usize, part: usize, ty: Type) -> Term {
        let id = self.program.vars.len() + step * self.inputs + part;
        self.terms.var(VarId(id as u32), ty)
    }

    /// Whether a variable is an input.
    pub(crate) fn is_input(&self, v: VarId) -> bool {
        v.index() >= self.program.vars.len()
    }

    /// An index as the interpreter sees it: the bits of the value, as an unsigned number of 64 bits.
    fn unsigned(&mut self, i: Term) -> Term {
        let ty = self.terms.ty(i);
        let plain = self.terms.cast(Type::unsigned(ty.bits), i);
        self.terms.cast(Type::unsigned(64), plain)
    }

    /// Whether an index is inside an array.
    fn inside(&mut self, var: VarId, index: Term) -> Term {
        let len = self.program.var(var).cells() as u64;
        if len > self.terms.ty(index).mask() {
            return self.terms.boolean(true);
        }
        let i = self.unsigned(index);
        let len = self.terms.constant(len, Type::unsigned(64));
        self.terms.lt(i, len)
    }

    /// Whether two indices are one cell.
    fn same_cell(&mut self, a: Term, b: Term) -> Term {
        let (a, b) = (self.unsigned(a), self.unsigned(b));
        self.terms.eq(a, b)
    }

    /// The value of a variable or a cell in the first state.
    pub(crate) fn initial(&mut self, var: VarId, index: Option<Term>) -> Term {
        let v = self.program.var(var);
        let Some(index) = index else { return self.terms.constant(v.init[0], v.ty) };
        if let Some(i) = self.terms.as_const(index) {
            let value = v.init.get(i as usize).copied().filter(|_| i < v.init.len() as u64).unwrap_or(0);
            return self.terms.constant(value, v.ty);
        }
        // The value that most cells have, and the others one by one.
        let mut often: HashMap<u64, usize> = HashMap::new();
        v.init.iter().for_each(|x| *often.entry(*x).or_default() += 1);
        let usual = often.iter().max_by_key(|(x, n)| (**n, std::cmp::Reverse(**x))).map_or(0, |(x, _)| *x);
        let zero = self.terms.constant(0, v.ty);
        let mut out = self.terms.constant(usual, v.ty);
        let inside = self.inside(var, index);
        out = self.terms.ite(inside, out, zero);
        for (i, x) in v.init.iter().enumerate().filter(|(_, x)| **x != usual) {
            let at = self.terms.constant(i as u64, Type::unsigned(64));
            let here = self.same_cell(index, at);
            let x = self.terms.constant(*x, v.ty);
            out = self.terms.ite(here, x, out);
        }
        out
    }

    /// The variables and cells that a term reads, each once.
    pub(crate) fn leaves(&self, t: Term, seen: &mut HashMap<Term, ()>, out: &mut Vec<Term>) {
        let mut stack = vec![t];
        while let Some(t) = stack.pop() {
            if seen.insert(t, ()).is_some() {
                continue;
            }
            match self.terms.node(t) {
                Node::Const(..) => {}
                Node::Var(..) => out.push(t),
                Node::Cell(_, i, _) => {
                    out.push(t);
                    stack.push(i);
                }
                Node::Unary(_, a) | Node::Cast(_, a) => stack.push(a),
                Node::Binary(_, a, b) => stack.extend([a, b]),
                Node::Ite(c, a, b) => stack.extend([c, a, b]),
            }
        }
    }

    /// The parts of a conjunction.
    pub(crate) fn conjuncts(&self, t: Term, out: &mut Vec<Term>) {
        if self.terms.as_const(t) == Some(1) {
            return;
        }
        match self.terms.node(t) {
            Node::Binary(Binary::And, a, b) if self.terms.ty(t) == Type::BOOL => {
                self.conjuncts(a, out);
                self.conjuncts(b, out);
            }
            _ => out.push(t),
        }
    }

    /// A stronger formula that does not speak of a variable: the parts that do are taken to fail.
    pub(crate) fn without(&mut self, t: Term, var: VarId, positive: bool) -> Term {
        let mut leaves = Vec::new();
        self.leaves(t, &mut HashMap::new(), &mut leaves);
        let speaks = leaves.iter().any(|l| matches!(self.terms.node(*l), Node::Var(v, _) if v == var));
        if !speaks {
            return t;
        }
        match self.terms.node(t) {
            Node::Unary(Unary::Not, a) => {
                let a = self.without(a, var, !positive);
                self.terms.not(a)
            }
            Node::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                let (a, b) = (self.without(a, var, positive), self.without(b, var, positive));
                self.terms.binary(op, a, b)
            }
            _ => self.terms.boolean(!positive),
        }
    }
}

/// Where an [`Env`] starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// In the program's first state.
    First,
    /// Anywhere: variables stand for themselves.
    Anywhere,
}

/// What each variable is now, over what variables were at the start.
#[derive(Clone, Debug)]
pub(crate) struct Env {
    start: Start,
    scalars: HashMap<VarId, Term, WordHash>,
    /// What was written to arrays, the latest last.
    stores: HashMap<VarId, Vec<(Term, Term)>, WordHash>,
    known: HashMap<Term, Term, WordHash>,
}

/// What a step asks for and takes in.
pub(crate) struct Stepped {
    /// The guard over the start.
    pub(crate) guard: Term,
    /// The inputs, in the order of [`Transition::havoc`].
    pub(crate) inputs: Vec<Term>,
}

impl Env {
    pub(crate) fn new(start: Start) -> Env {
        Env { start, scalars: HashMap::default(), stores: HashMap::default(), known: HashMap::default() }
    }

    /// Says what a variable is.
    pub(crate) fn set(&mut self, var: VarId, value: Term) {
        self.scalars.insert(var, value);
        self.known.clear();
    }

    /// A term over the state now as one over the start.
    pub(crate) fn eval(&mut self, s: &mut Symbols<'_>, t: Term) -> Term {
        if let Some(done) = self.known.get(&t) {
            return *done;
        }
        let out = match s.terms.node(t) {
            Node::Const(..) => t,
            Node::Var(v, _) => match (self.scalars.get(&v), self.start) {
                (Some(value), _) => *value,
                (None, Start::First) if !s.is_input(v) => s.initial(v, None),
                (None, _) => t,
            },
            Node::Cell(v, i, ty) => {
                let i = self.eval(s, i);
                self.read(s, v, i, ty)
            }
            Node::Unary(op, a) => {
                let a = self.eval(s, a);
                s.terms.unary(op, a)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.eval(s, a), self.eval(s, b));
                s.terms.binary(op, a, b)
            }
            Node::Ite(c, a, b) => {
                let (c, a, b) = (self.eval(s, c), self.eval(s, a), self.eval(s, b));
                s.terms.ite(c, a, b)
            }
            Node::Cast(to, a) => {
                let a = self.eval(s, a);
                s.terms.cast(to, a)
            }
        };
        self.known.insert(t, out);
        out
    }

    fn read(&mut self, s: &mut Symbols<'_>, v: VarId, i: Term, ty: Type) -> Term {
        let mut out = match self.start {
            Start::First => s.initial(v, Some(i)),
            Start::Anywhere => s.terms.cell(v, i, ty),
        };
        for (at, value) in self.stores.get(&v).into_iter().flatten() {
            // A write past the end is no write.
            let (same, inside) = (s.same_cell(i, *at), s.inside(v, *at));
            let hit = s.terms.and(same, inside);
            out = s.terms.ite(hit, *value, out);
        }
        out
    }

    /// Takes a step, the `n`-th of its path.
    pub(crate) fn step(&mut self, s: &mut Symbols<'_>, t: &Transition, n: usize) -> Stepped {
        let guard = self.eval(s, t.guard);
        let mut writes: Vec<(Place, Option<Term>, Term)> = Vec::new();
        for a in &t.assigns {
            let at = a.place.index.map(|i| self.eval(s, i));
            let value = self.eval(s, a.value);
            writes.push((a.place, at, value));
        }
        let mut inputs = Vec::new();
        for (part, p) in t.havoc.iter().enumerate() {
            let at = p.index.map(|i| self.eval(s, i));
            let input = s.input(n, part, s.program.var(p.var).ty);
            inputs.push(input);
            writes.push((*p, at, input));
        }
        for (place, at, value) in writes {
            match at {
                None => {
                    self.scalars.insert(place.var, value);
                }
                Some(at) => self.stores.entry(place.var).or_default().push((at, value)),
            }
        }
        self.known.clear();
        Stepped { guard, inputs }
    }
}

/// Whether some threads wait for ever, as a formula.
pub(crate) fn deadlock(s: &mut Symbols<'_>, waits: &Waits, locations: &[model::LocationId]) -> Term {
    let program = s.program;
    let Ok(stuck) = waits.deadlock(program, &mut Formulaic { program, terms: &mut s.terms, at: locations });
    stuck
}

/// Formulas about the states of one combination of locations.
pub(crate) struct Formulaic<'f> {
    pub(crate) program: &'f Program,
    pub(crate) terms: &'f mut Terms,
    pub(crate) at: &'f [model::LocationId],
}

impl Logic for Formulaic<'_> {
    type Formula = Term;
    type Error = Infallible;

    fn constant(&mut self, value: bool) -> Term {
        self.terms.boolean(value)
    }

    fn term(&mut self, t: Term) -> Result<Term, Infallible> {
        Ok(t)
    }

    fn at(&mut self, t: ThreadId, l: model::LocationId) -> Result<Term, Infallible> {
        Ok(self.terms.boolean(self.at[t.index()] == l))
    }

    fn places(&self, t: ThreadId) -> Vec<model::LocationId> {
        vec![self.at[t.index()]]
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

    fn equals(&mut self, var: model::VarId, value: u64) -> Result<Term, Infallible> {
        let ty = self.program.var(var).ty;
        let (now, value) = (self.terms.var(var, ty), self.terms.constant(value, ty));
        Ok(self.terms.eq(now, value))
    }
}
