//! Steps, and the places where ways part and meet.

use super::lower::{Block, Join, Lowering, Res, Temporary};
use crate::program::{ErrorKind, LocationKind};
use crate::term::{Assign, Place, Term, Type, VarId};
use lang_c::span::Span;

impl<'a> Lowering<'a> {
    /// A variable for a value in between.
    pub(crate) fn temporary(&mut self, ty: Type) -> VarId {
        let list = &mut self.temporaries[self.t.index()];
        if let Some(i) = list.iter().position(|t| !t.used && t.ty == ty) {
            list[i].used = true;
            self.held.push(i);
            // What is known is of the value that it had.
            self.env.remove(&(list[i].var, 0));
            return list[i].var;
        }
        let n = list.len();
        let var = self.b.local(self.t, &format!("%{n}"), ty, 0);
        self.temporaries[self.t.index()].push(Temporary { var, ty, used: true });
        self.held.push(n);
        var
    }

    /// Temporaries that were taken since then are free again.
    pub(super) fn release(&mut self, mark: usize) {
        for i in self.held.drain(mark..) {
            self.temporaries[self.t.index()][i].used = false;
        }
    }

    /// From here on all is one step.
    pub(crate) fn begin_atomic(&mut self) {
        if self.dead {
            return;
        }
        self.atomic += 1;
        if self.atomic == 1 {
            let yes = self.b.terms().boolean(true);
            self.b.then(self.t, yes, Vec::new());
            self.atomic_start = Some(self.b.last_edge(self.t));
            let to = self.b.then(self.t, yes, Vec::new());
            self.atomic_from[self.t.index()].push(to);
        }
    }

    /// Up to here all is one step.
    pub(crate) fn end_atomic(&mut self) {
        if self.dead || self.atomic == 0 {
            return;
        }
        self.atomic -= 1;
        if self.atomic == 0 {
            self.atomic_start = None;
            let yes = self.b.terms().boolean(true);
            self.step(yes, Vec::new());
            let edge = self.b.last_edge(self.t);
            self.atomic_ends[self.t.index()].insert(edge);
        }
    }

    /// A place gets any value: a step, or a part of the edge into the atomic block at hand. Inputs do not depend on what happens.
    pub(crate) fn input(&mut self, var: VarId) {
        if self.dead {
            return;
        }
        self.env.remove(&(var, 0));
        match self.atomic_start {
            Some(edge) => {
                self.atomic_inputs.push((self.t, edge, self.b.span()));
                // What is assigned in the block between its beginning and here is not what was read there.
                let ty = self.b.program().var(var).ty;
                let read = self.b.local(self.t, "%input", ty, 0);
                self.b.add_havoc(self.t, edge, Place::scalar(read));
                let value = self.b.value(read);
                self.set_var(var, value);
            }
            None => self.b.havoc(self.t, Place::scalar(var)),
        }
    }

    pub(crate) fn join(&mut self) -> Join {
        Join { at: self.b.location(self.t), env: None, fresh: Vec::new(), atomic: None }
    }

    /// In which atomic block the code at hand is.
    pub(crate) fn block(&self) -> Block {
        (self.atomic, self.atomic_start)
    }

    /// One more way to a join: all are in the same atomic block, or in none.
    pub(super) fn same_block(&mut self, j: &mut Join, span: Span) -> Res<()> {
        let here = (self.atomic, self.atomic_start);
        match j.atomic {
            None => j.atomic = Some(here),
            Some(there) if there == here => {}
            // A block may begin in several places: one that ends and begins again while something is waited for.
            Some((deep, Some(other))) if deep == self.atomic && self.atomic_start.is_some() => {
                let start = self.atomic_start.unwrap_or(other);
                self.atomic_merged.push((self.t, start, other));
            }
            Some(_) => return Err(self.refuse(span, "a way out of an atomic block, or into one")),
        }
        Ok(())
    }

    pub(super) fn merge(&self, j: &mut Join) {
        match &mut j.env {
            None => {
                j.env = Some(self.env.clone());
                j.fresh = self.fresh.clone();
            }
            Some(env) => {
                env.retain(|k, v| self.env.get(k) == Some(v));
                j.fresh.retain(|f| self.fresh.contains(f));
            }
        }
    }

    /// Goes on at a join; nothing comes after this on the way at hand.
    pub(crate) fn jump(&mut self, j: &mut Join, span: Span) -> Res<()> {
        if !self.dead {
            self.same_block(j, span)?;
            self.b.jump(self.t, j.at);
            self.merge(j);
            self.dead = true;
        }
        Ok(())
    }

    pub(crate) fn land(&mut self, j: Join) {
        self.b.go_on_at(self.t, j.at);
        self.dead = j.env.is_none();
        if let (Some(_), Some((deep, start))) = (&j.env, j.atomic) {
            (self.atomic, self.atomic_start) = (deep, start);
        }
        self.env = j.env.unwrap_or_default();
        self.fresh = j.fresh;
    }

    /// One step, unless nothing leads here.
    pub(crate) fn step(&mut self, guard: Term, assigns: Vec<Assign>) {
        if !self.dead {
            self.step_on_fresh(guard, &assigns);
            self.b.then(self.t, guard, assigns);
        }
    }

    /// A step that assigns one place.
    pub(crate) fn set(&mut self, place: Place, value: Term) {
        let yes = self.b.terms().boolean(true);
        self.step(yes, vec![Assign { place, value }]);
    }

    /// Assigns a temporary, or any variable that is not followed.
    pub(crate) fn set_var(&mut self, var: VarId, value: Term) {
        self.set(Place::scalar(var), value);
        if !self.dead && self.is_tracked(var) {
            match self.b.terms().as_const(value) {
                Some(v) => self.env.insert((var, 0), v),
                None => self.env.remove(&(var, 0)),
            };
        }
    }

    /// Assigns a cell whose index is known.
    pub(crate) fn set_cell(&mut self, var: VarId, index: u64, value: Term) {
        let place = match self.b.program().var(var).len {
            None => Place::scalar(var),
            Some(_) => {
                let i = self.b.terms().number(index as i128, Type::unsigned(64));
                Place::cell(var, i)
            }
        };
        self.set(place, value);
        if !self.dead && self.is_tracked(var) {
            match self.b.terms().as_const(value) {
                Some(v) => self.env.insert((var, index), v),
                None => self.env.remove(&(var, index)),
            };
        }
    }

    /// Two ways, by a condition that is known or not.
    pub(crate) fn fork(&mut self, condition: Term, yes: &mut Join, no: &mut Join, span: Span) -> Res<()> {
        if self.dead {
            return Ok(());
        }
        match self.b.terms().as_const(condition) {
            Some(0) => self.jump(no, span),
            Some(_) => self.jump(yes, span),
            None => {
                self.fresh.clear();
                self.same_block(yes, span)?;
                self.same_block(no, span)?;
                let from = self.b.here(self.t);
                let not = self.b.terms().not(condition);
                self.b.step(self.t, from, yes.at, condition, Vec::new());
                self.b.step(self.t, from, no.at, not, Vec::new());
                self.merge(yes);
                self.merge(no);
                self.dead = true;
                Ok(())
            }
        }
    }

    /// Something is wrong unless the condition holds.
    pub(crate) fn check(&mut self, ok: Term, kind: ErrorKind, message: &str) {
        if self.dead || self.b.terms().as_const(ok) == Some(1) {
            return;
        }
        let wrong = self.b.error_location(self.t, kind, message);
        let not = self.b.terms().not(ok);
        let from = self.b.here(self.t);
        self.b.step(self.t, from, wrong, not, Vec::new());
        if self.b.terms().as_const(ok) == Some(0) {
            self.dead = true;
        } else {
            self.step(ok, Vec::new());
        }
    }

    /// Goes on only where the condition holds. In an atomic block the whole block waits until it does.
    pub(crate) fn assume(&mut self, condition: Term) {
        if self.dead || self.b.terms().as_const(condition) == Some(1) {
            return;
        }
        if self.atomic > 0 && self.b.terms().as_const(condition).is_none() {
            let at = self.b.here(self.t);
            self.b.set_may_block(self.t, at);
            self.b.set_assumes(self.t, at);
        } else {
            let halt = self.b.location(self.t);
            self.b.set_kind(self.t, halt, LocationKind::Halt);
            let not = self.b.terms().not(condition);
            let from = self.b.here(self.t);
            self.b.step(self.t, from, halt, not, Vec::new());
        }
        if self.b.terms().as_const(condition) == Some(0) {
            self.dead = true;
        } else {
            self.step(condition, Vec::new());
        }
    }

    /// The thread, or the whole program, is over here.
    pub(crate) fn stop(&mut self, kind: LocationKind) {
        if !self.dead {
            let at = self.b.location(self.t);
            self.b.set_kind(self.t, at, kind);
            self.b.jump(self.t, at);
            self.dead = true;
        }
    }

    /// Does something without leaving a trace.
    pub(crate) fn in_dead_code<T>(&mut self, f: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        // What branches lands somewhere else, with nothing known: afterwards all goes on here.
        let (at, env, fresh) = (self.b.here(self.t), self.env.clone(), self.fresh.clone());
        let before = (std::mem::replace(&mut self.dead, true), std::mem::replace(&mut self.looking, true));
        let out = f(self);
        (self.dead, self.looking) = before;
        self.b.go_on_at(self.t, at);
        (self.env, self.fresh) = (env, fresh);
        out
    }
}
