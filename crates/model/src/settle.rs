//! What follows from the transitions of a program, brought up to date when they have changed.

use crate::program::{
    Action, Fences, LocationId, Order, Program, SyncKind, Thread, Transition, TransitionId,
};
use crate::term::{Assign, Node, Place, Term, Terms, VarId};
use std::collections::HashMap;

impl Program {
    /// Brings what follows from the transitions up to date: those from each location, loop heads, where threads may wait, and the
    /// guard that asks whether the thread was made.
    pub(crate) fn settle(&mut self) {
        for i in 0..self.threads.len() {
            self.guard_entry(i);
            let thread = &mut self.threads[i];
            thread.out = vec![Vec::new(); thread.locations.len()];
            for (n, e) in thread.transitions.iter().enumerate() {
                thread.out[e.from.index()].push(TransitionId(n as u32));
                if e.action.may_block() {
                    thread.locations[e.from.index()].may_block = true;
                }
            }
            if thread.life.is_some() {
                let entry = thread.entry.index();
                thread.locations[entry].may_block = true;
            }
            mark_loop_heads(thread);
        }
    }

    /// Keeps some of the variables, and numbers them anew; no edge names the others.
    pub(crate) fn keep_vars(&mut self, keep: &[bool]) {
        let mut next = 0;
        let number: Vec<VarId> = keep
            .iter()
            .map(|k| {
                next += *k as u32;
                VarId(next.wrapping_sub(1))
            })
            .collect();
        let mut left = keep.iter();
        self.vars.retain(|_| left.next().copied().unwrap_or(true));
        let old = std::mem::take(&mut self.terms);
        let mut new = Rename { old, new: Terms::new(), number, known: HashMap::new() };
        for thread in &mut self.threads {
            thread.life = thread.life.map(|v| new.var(v));
            thread.waiting = thread.waiting.map(|v| new.var(v));
            for e in &mut thread.transitions {
                e.guard = new.term(e.guard);
                for a in &mut e.assigns {
                    *a = Assign { place: new.place(a.place), value: new.term(a.value) };
                }
                e.havoc.iter_mut().for_each(|h| *h = new.place(*h));
                if let Action::CompareExchange { expected, desired } = &mut e.action {
                    (*expected, *desired) = (new.term(*expected), new.term(*desired));
                }
            }
        }
        for s in &mut self.syncs {
            match &mut s.kind {
                SyncKind::Mutex { owner: v } | SyncKind::Semaphore { count: v } => *v = new.var(*v),
                SyncKind::RwLock { readers: v, writer: w } | SyncKind::Barrier { arrived: v, needed: w } => {
                    (*v, *w) = (new.var(*v), new.var(*w));
                }
                SyncKind::Condition => {}
            }
            s.initialized = s.initialized.map(|v| new.var(v));
        }
        self.terms = new.new;
    }

    /// A thread that is made later takes its first step only then; nothing may lead back to its entry.
    fn guard_entry(&mut self, i: usize) {
        let Some(life) = self.threads[i].life else { return };
        let entry = self.threads[i].entry;
        if self.threads[i].transitions.iter().any(|e| e.to == entry) {
            let first = self.threads[i].locations[entry.index()].clone();
            self.threads[i].locations.push(first);
            let new = LocationId(self.threads[i].locations.len() as u32 - 1);
            let span = self.threads[i].locations[entry.index()].span;
            self.threads[i].entry = new;
            let guard = self.terms.boolean(true);
            let edge = Transition {
                from: new,
                to: entry,
                guard,
                assigns: vec![],
                havoc: vec![],
                action: Action::Local,
                span,
                order: Order::Unsaid,
                operand: 0,
                fences: Fences::default(),
            };
            self.threads[i].transitions.push(edge);
        }
        let ty = self.vars[life.index()].ty;
        let (v, alive) = (self.terms.var(life, ty), self.terms.constant(Thread::ALIVE, ty));
        let made = self.terms.eq(v, alive);
        let entry = self.threads[i].entry;
        for n in 0..self.threads[i].transitions.len() {
            let e = &self.threads[i].transitions[n];
            if e.from == entry && !self.terms.mentions(e.guard, life) {
                let guard = self.terms.and(made, e.guard);
                self.threads[i].transitions[n].guard = guard;
            }
        }
    }
}

/// Terms again, with other numbers for variables.
struct Rename {
    old: Terms,
    new: Terms,
    number: Vec<VarId>,
    known: HashMap<Term, Term>,
}

impl Rename {
    fn var(&self, v: VarId) -> VarId {
        self.number[v.index()]
    }

    fn place(&mut self, p: Place) -> Place {
        Place { var: self.var(p.var), index: p.index.map(|i| self.term(i)) }
    }

    fn term(&mut self, t: Term) -> Term {
        if let Some(done) = self.known.get(&t) {
            return *done;
        }
        let out = match self.old.node(t) {
            Node::Const(v, ty) => self.new.constant(v, ty),
            Node::Var(v, ty) => self.new.var(self.number[v.index()], ty),
            Node::Cell(v, i, ty) => {
                let i = self.term(i);
                self.new.cell(self.number[v.index()], i, ty)
            }
            Node::Unary(op, a) => {
                let a = self.term(a);
                self.new.unary(op, a)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.term(a), self.term(b));
                self.new.binary(op, a, b)
            }
            Node::Ite(c, a, b) => {
                let (c, a, b) = (self.term(c), self.term(a), self.term(b));
                self.new.ite(c, a, b)
            }
            Node::Cast(to, a) => {
                let a = self.term(a);
                self.new.cast(to, a)
            }
        };
        self.known.insert(t, out);
        out
    }
}

fn mark_loop_heads(thread: &mut Thread) {
    let n = thread.locations.len();
    thread.locations.iter_mut().for_each(|l| l.loop_head = false);
    // 0 not seen, 1 on the path, 2 done.
    let mut seen = vec![0u8; n];
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in std::iter::once(thread.entry.index()).chain(0..n) {
        if seen[start] != 0 {
            continue;
        }
        seen[start] = 1;
        path.push((start, 0));
        while let Some((at, next)) = path.last_mut() {
            match thread.out[*at].get(*next) {
                Some(e) => {
                    *next += 1;
                    let to = thread.transitions[e.index()].to.index();
                    match seen[to] {
                        0 => {
                            seen[to] = 1;
                            path.push((to, 0));
                        }
                        1 => thread.locations[to].loop_head = true,
                        _ => {}
                    }
                }
                None => {
                    seen[*at] = 2;
                    path.pop();
                }
            }
        }
    }
}
