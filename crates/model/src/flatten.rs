//! Arrays as single variables, for engines that know no arrays.

use crate::program::{Action, Program, Transition, Var};
use crate::term::{Assign, Node, Place, Term, Terms, Type, VarId};
use std::collections::HashMap;

impl Program {
    /// The same program with a variable for each cell of each array. A read at an index that is not constant becomes a choice between
    /// all cells, a write there a choice for each of them, and the transition an [`Action::Atomic`] one; so this is for small arrays.
    /// `None` if there would be more than `most` variables, or if an input goes to an index that is not constant.
    pub fn flattened(&self, most: usize) -> Option<Program> {
        let total: usize = self.vars.iter().map(Var::cells).sum();
        if total > most {
            return None;
        }
        let mut vars = Vec::with_capacity(total);
        let mut first = Vec::with_capacity(self.vars.len());
        for v in &self.vars {
            first.push(VarId(vars.len() as u32));
            match v.len {
                None => vars.push(v.clone()),
                Some(n) => vars.extend((0..n).map(|i| Var {
                    name: format!("{}[{i}]", v.name),
                    len: None,
                    init: vec![v.init[i as usize]],
                    ..v.clone()
                })),
            }
        }
        let mut f = Flatten { from: self, terms: Terms::new(), first, known: HashMap::new() };
        let mut threads = self.threads.clone();
        for thread in &mut threads {
            thread.life = thread.life.map(|v| f.first[v.index()]);
            thread.waiting = thread.waiting.map(|v| f.first[v.index()]);
            for t in &mut thread.transitions {
                f.transition(t)?;
            }
        }
        let mut syncs = self.syncs.clone();
        for s in &mut syncs {
            use crate::program::SyncKind::*;
            match &mut s.kind {
                Mutex { owner: v } | Semaphore { count: v } => *v = f.first[v.index()],
                RwLock { readers: v, writer: w } | Barrier { arrived: v, needed: w } => {
                    (*v, *w) = (f.first[v.index()], f.first[w.index()]);
                }
                Condition => {}
            }
            s.initialized = s.initialized.map(|v| f.first[v.index()]);
        }
        let (operators, operands) = (self.operators.clone(), self.operands.clone());
        let files = self.files.clone();
        let (never_left, assumed_aborts) = (self.never_left.clone(), self.assumed_aborts.clone());
        let address_uses = self.address_uses.clone();
        let terms = f.terms;
        Some(Program {
            terms,
            vars,
            syncs,
            threads,
            files,
            operators,
            operands,
            never_left,
            assumed_aborts,
            address_uses,
        })
    }
}

struct Flatten<'p> {
    from: &'p Program,
    terms: Terms,
    first: Vec<VarId>,
    known: HashMap<Term, Term>,
}

impl Flatten<'_> {
    fn transition(&mut self, t: &mut Transition) -> Option<()> {
        let mut wide = false;
        t.guard = self.term(t.guard, &mut wide);
        let mut assigns: Vec<Assign> = Vec::new();
        for a in &t.assigns {
            let value = self.term(a.value, &mut wide);
            let var = self.from.var(a.place.var);
            let start = self.first[a.place.var.index()].0;
            match a.place.index {
                None => assigns.push(Assign { place: Place::scalar(VarId(start)), value }),
                Some(i) => match self.from.terms.as_const(i) {
                    Some(i) if i < var.cells() as u64 => {
                        set(&mut assigns, VarId(start + i as u32), value);
                    }
                    Some(_) => {}
                    None => {
                        wide |= var.is_shared() && var.cells() > 1;
                        let i = self.term(i, &mut wide);
                        for n in 0..var.cells() as u32 {
                            let cell = VarId(start + n);
                            // What an earlier part of the assignment gives the cell, or what it has.
                            let before = assigns.iter().find(|b| b.place.var == cell).map(|b| b.value);
                            let before = before.unwrap_or_else(|| self.terms.var(cell, var.ty));
                            let here = self.is(i, n as u64);
                            let value = self.terms.ite(here, value, before);
                            set(&mut assigns, cell, value);
                        }
                    }
                },
            }
        }
        t.assigns = assigns;
        for h in &mut t.havoc {
            let start = self.first[h.var.index()].0;
            let at = match h.index {
                None => 0,
                Some(i) => self.from.terms.as_const(i)? as u32,
            };
            *h = Place::scalar(VarId(start + at));
        }
        if let Action::CompareExchange { expected, desired } = &mut t.action {
            (*expected, *desired) = (self.term(*expected, &mut wide), self.term(*desired, &mut wide));
        }
        if wide {
            t.action = Action::Atomic;
        }
        Some(())
    }

    fn is(&mut self, index: Term, n: u64) -> Term {
        let ty = self.terms.ty(index);
        if n > ty.mask() || Type::value(ty, n) < 0 {
            return self.terms.boolean(false);
        }
        let n = self.terms.constant(n, ty);
        self.terms.eq(index, n)
    }

    /// A term with cells as variables; `wide` becomes true if that reads several of a shared array.
    fn term(&mut self, t: Term, wide: &mut bool) -> Term {
        if let Some(done) = self.known.get(&t) {
            *wide |= self.from.reads_any_cell(t);
            return *done;
        }
        let out = match self.from.terms.node(t) {
            Node::Const(v, ty) => self.terms.constant(v, ty),
            Node::Var(v, ty) => self.terms.var(self.first[v.index()], ty),
            Node::Cell(v, i, ty) => {
                let var = self.from.var(v);
                let start = self.first[v.index()].0;
                match self.from.terms.as_const(i) {
                    Some(i) if i < var.cells() as u64 => self.terms.var(VarId(start + i as u32), ty),
                    Some(_) => self.terms.constant(0, ty),
                    None => {
                        *wide |= var.is_shared() && var.cells() > 1;
                        let i = self.term(i, wide);
                        let mut out = self.terms.constant(0, ty);
                        for n in (0..var.cells() as u32).rev() {
                            let here = self.is(i, n as u64);
                            let cell = self.terms.var(VarId(start + n), ty);
                            out = self.terms.ite(here, cell, out);
                        }
                        out
                    }
                }
            }
            Node::Unary(op, a) => {
                let a = self.term(a, wide);
                self.terms.unary(op, a)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.term(a, wide), self.term(b, wide));
                self.terms.binary(op, a, b)
            }
            Node::Ite(c, a, b) => {
                let (c, a, b) = (self.term(c, wide), self.term(a, wide), self.term(b, wide));
                self.terms.ite(c, a, b)
            }
            Node::Cast(to, a) => {
                let a = self.term(a, wide);
                self.terms.cast(to, a)
            }
        };
        self.known.insert(t, out);
        out
    }
}

impl Program {
    /// Whether a term reads a shared array at an index that is not constant.
    fn reads_any_cell(&self, t: Term) -> bool {
        let mut found = false;
        self.terms.places(t, &mut |q| {
            let any = q.index.is_some_and(|i| self.terms.as_const(i).is_none());
            found |= any && self.var(q.var).is_shared() && self.var(q.var).cells() > 1;
        });
        found
    }
}

fn set(assigns: &mut Vec<Assign>, var: VarId, value: Term) {
    match assigns.iter_mut().find(|a| a.place.var == var) {
        Some(a) => a.value = value,
        None => assigns.push(Assign { place: Place::scalar(var), value }),
    }
}
