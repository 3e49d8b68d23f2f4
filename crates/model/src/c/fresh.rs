//! Objects that no other thread can know of yet.
//!
//! What `malloc` gives, and a variable whose address is taken, hold any value at first: an input, which costs every proof dearly. Most
//! are filled at once, before their address is handed to anybody. As long as nothing but locals was written since the object came
//! to be, and nothing of it was read, nobody can have seen that value: a cell that is written then needs no value before.
//!
//! **Invariant:** an object is in `fresh` only while all ways from its beginning lead through the place at hand. Where ways part on
//! what is not known, nothing is fresh any more: one of them may leave the object as it was.

use super::lower::Lowering;
use crate::program::{Scope, TransitionId};
use crate::term::{Assign, Place, Term, VarId};
use std::rc::Rc;

/// Addresses do not fit into so many bits.
const NO_ADDRESS: u8 = 32;

/// An object that is not known to others, and the edge that gave it any value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fresh {
    edge: TransitionId,
    vars: Rc<[VarId]>,
}

impl Lowering<'_> {
    /// An object was made whose value is any. Code that may come again finds it as it was left, and annotations speak of what it has.
    pub(super) fn begin_fresh(&mut self, object: usize) {
        self.forget_value(object);
        if self.dead || self.atomic > 0 || self.noting.active || self.may_come_again() {
            return;
        }
        let mut vars = Vec::new();
        Self::leaves(&self.objects[object].shape.clone(), 0, &mut |v, _, _| vars.push(v));
        vars.dedup();
        let shared = |v: &VarId| self.b.program().var(*v).scope == Scope::Shared;
        if !vars.is_empty() && vars.iter().all(shared) {
            self.fresh.push(Fresh { edge: self.b.last_edge(self.t), vars: vars.into() });
        }
    }

    /// An object is given back: whoever uses it is to be told so.
    pub(super) fn end_fresh(&mut self, object: usize) {
        let shape = self.objects[object].shape.clone();
        Self::leaves(&shape, 0, &mut |v, _, _| self.fresh.retain(|f| !f.vars.contains(&v)));
    }

    /// Whether a variable is of an object that nobody else knows of.
    pub(super) fn is_fresh(&self, var: VarId) -> bool {
        self.fresh.iter().any(|f| f.vars.contains(&var))
    }

    /// What a step does to what is fresh.
    pub(super) fn step_on_fresh(&mut self, guard: Term, assigns: &[Assign]) {
        if self.fresh.is_empty() {
            return;
        }
        let program = self.b.program();
        let mut read = Vec::new();
        let mut see = |t: Term| program.terms.places(t, &mut |p| read.push(p.var));
        see(guard);
        for a in assigns {
            see(a.value);
            a.place.index.into_iter().for_each(&mut see);
        }
        self.fresh.retain(|f| !read.iter().any(|v| f.vars.contains(v)));
        for a in assigns {
            match self.fresh.iter().find(|f| f.vars.contains(&a.place.var)) {
                Some(f) => {
                    let edge = f.edge;
                    if self.b.terms().as_const(guard) == Some(1) && self.is_one_cell(a.place) {
                        self.b.remove_havoc(self.t, edge, a.place);
                    }
                }
                None => {
                    let var = self.b.program().var(a.place.var);
                    if !matches!(var.scope, Scope::Local(_)) && var.ty.bits > NO_ADDRESS {
                        self.fresh.clear();
                    }
                }
            }
        }
    }

    fn is_one_cell(&mut self, place: Place) -> bool {
        place.index.is_none_or(|i| self.b.terms().as_const(i).is_some())
    }
}
