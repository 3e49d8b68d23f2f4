//! Addresses that come back: memory that was given back may be what the next `malloc` gives.
//!
//! A pointer is the address of an object of its own, and where pointers are compared with null alone nobody can tell one object from
//! another that lies where it lay. Where a program gives memory back *and* looks at addresses (it compares two of them, exchanges one
//! for another, or takes one as a number) a call of `malloc` may give an object that was given back: the one that comes back is live
//! again, with any content, and whoever still has its address has that of the new one. So a compare-exchange that should have failed
//! does not. The own object of the call can be had in every run, so what uses memory that was given back is still found.
//!
//! Only an object of the same type comes back, as an address says which cells there are. That those of different types may have the
//! same address is said where two are compared: if one of them was given back the result is any; of an exchange it is not followed.
//! So a pointer that `realloc` gives for another length may be the one that it got, to whoever asks.

use super::addresses::How;
use super::ctype::{ADDRESS, CType};
use super::lower::{Join, Lowering, Res};
use crate::program::ErrorKind;
use crate::term::{Assign, Binary, Place, Term, Type, VarId};
use lang_c::span::Span;

/// How a program looks at addresses that may come back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Compared {
    /// Two pointers are compared of which none is null.
    pointers: bool,
    /// Pointers are taken as numbers.
    numbers: bool,
}

impl Compared {
    /// Whether an address that comes back is seen.
    pub(crate) fn any(self) -> bool {
        self.pointers || self.numbers
    }

    /// What one or the other has.
    pub(crate) fn or(self, other: Compared) -> Compared {
        Compared { pointers: self.pointers || other.pointers, numbers: self.numbers || other.numbers }
    }
}

impl<'a> Lowering<'a> {
    /// Whether a term is an address that is none of `malloc`, whatever happens: null, or that of a variable.
    fn is_elsewhere(&mut self, t: Term) -> bool {
        let Some(c) = self.b.terms().as_const(t) else { return false };
        let within =
            |o: usize| (self.objects[o].base..=self.objects[o].base + self.objects[o].size).contains(&c);
        !self.noted.heap.iter().any(|(o, _)| within(*o))
    }

    /// An address is compared with another one, or with who knows what.
    pub(super) fn note_compared(&mut self, a: Term, b: Option<Term>) {
        let quiet = self.dead || !self.frees || b == Some(a);
        if !quiet && !self.is_elsewhere(a) && !b.is_some_and(|b| self.is_elsewhere(b)) {
            self.noted.compares.pointers = true;
        }
    }

    /// A pointer becomes a value of another type.
    pub(super) fn note_converted(&mut self, address: Term, pointee: &CType, to: &CType) {
        if self.dead || !self.frees {
            return;
        }
        match to.plain() {
            CType::Pointer(other) => {
                let (from, to) = (pointee.plain(), other.plain());
                // Where a pointer is, a number may be read.
                self.noted.compares.numbers |=
                    matches!((from, to), (CType::Pointer(_), CType::Int(_) | CType::Void));
            }
            _ => self.note_number(address),
        }
    }

    /// What may be a pointer is taken as a number.
    pub(super) fn note_number(&mut self, address: Term) {
        if !self.dead && self.frees {
            self.noted.compares.numbers |= !self.is_elsewhere(address);
        }
    }

    /// Two pointers.
    pub(super) fn compare_addresses(&mut self, op: Binary, (a, b): (Term, Term), span: Span) -> Res<Term> {
        self.note_compared(a, Some(b));
        self.look(if op == Binary::Eq { How::Equal } else { How::Order }, a, Some(b), span);
        if op != Binary::Eq && self.are_of_two(a, b) {
            // C does not say which of two variables comes first.
            return Ok(self.any_value(Type::BOOL).term);
        }
        self.compare(op, (a, b), span)
    }

    /// Two numbers that may be addresses.
    pub(super) fn compare_numbers(&mut self, op: Binary, (a, b): (Term, Term), span: Span) -> Res<Term> {
        if !self.noted.compared.numbers {
            return Ok(self.b.terms().binary(op, a, b));
        }
        self.compare(op, (a, b), span)
    }

    fn compare(&mut self, op: Binary, (a, b): (Term, Term), span: Span) -> Res<Term> {
        let plain = self.b.terms().binary(op, a, b);
        Ok(match self.may_coincide((a, b), span)? {
            None => plain,
            Some(maybe) => {
                let any = self.any_value(Type::BOOL).term;
                self.b.terms().ite(maybe, any, plain)
            }
        })
    }

    /// A word was exchanged if it was what was expected. The looks come after the exchange: nobody can give one of the two back in
    /// between without a run in which that is done before.
    pub(super) fn compare_exchanged(
        &mut self,
        ctype: &CType,
        (expected, old): (Term, Term),
        span: Span,
    ) -> Res<()> {
        self.b.set_order(None);
        self.look(How::Equal, expected, Some(old), span);
        if let CType::Pointer(_) = ctype.plain() {
            self.note_compared(expected, None);
        } else if !self.noted.compared.numbers {
            return Ok(());
        }
        if let Some(maybe) = self.may_coincide((expected, old), span)? {
            let no = self.b.terms().not(maybe);
            let message = "whether memory that was given back comes back as another type is not followed";
            self.check(no, ErrorKind::Bound, message);
        }
        Ok(())
    }

    /// Whether two addresses are those of objects of different types of which one was given back, so that they may be the same.
    fn may_coincide(&mut self, (a, b): (Term, Term), span: Span) -> Res<Option<Term>> {
        let known = self.is_elsewhere(a) || self.is_elsewhere(b) || a == b;
        if self.dead || !self.noted.compared.any() || known {
            return Ok(None);
        }
        let heap: Vec<(usize, VarId)> =
            self.noted.heap.iter().filter_map(|(o, f)| Some((*o, (*f)?))).collect();
        let kind = |me: &Self, o: usize| me.objects[o].shape.ctype.clone();
        if heap.iter().all(|h| kind(self, h.0) == kind(self, heap[0].0)) {
            return Ok(None);
        }
        let maybe = self.temporary(Type::BOOL);
        let no = self.b.terms().boolean(false);
        self.set_var(maybe, no);
        for (one, other) in [(a, b), (b, a)] {
            let mut after = self.join();
            for (object, freed) in &heap {
                let mut here = self.b.terms().boolean(false);
                for (o, _) in &heap {
                    if kind(self, *o) != kind(self, *object) {
                        let there = self.is_in(other, *o);
                        here = self.b.terms().or(here, there);
                    }
                }
                let it = self.is_in(one, *object);
                let both = self.b.terms().and(it, here);
                let (mut yes, mut no) = (self.join(), self.join());
                self.fork(both, &mut yes, &mut no, span)?;
                self.land(yes);
                let seen = self.temporary(Type::BOOL);
                let gone = self.b.value(*freed);
                self.set_var(seen, gone);
                self.env.remove(&(seen, 0));
                let (was, gone) = (self.local_value(maybe), self.local_value(seen));
                let either = self.b.terms().or(was, gone);
                self.set_var(maybe, either);
                self.jump(&mut after, span)?;
                self.land(no);
            }
            self.jump(&mut after, span)?;
            self.land(after);
        }
        Ok(Some(self.local_value(maybe)))
    }

    /// Whether two addresses are known, and of different objects.
    fn are_of_two(&mut self, a: Term, b: Term) -> bool {
        let (Some(a), Some(b)) = (self.b.terms().as_const(a), self.b.terms().as_const(b)) else {
            return false;
        };
        let has = |o: &super::ctype::Object, x: u64| (o.base..=o.base + o.size).contains(&x);
        let any = |x: u64| self.objects.iter().any(|o| has(o, x));
        any(a) && any(b) && !self.objects.iter().any(|o| has(o, a) && has(o, b))
    }

    /// Whether an address is in an object.
    fn is_in(&mut self, address: Term, object: usize) -> Term {
        let (base, size) = (self.objects[object].base, self.objects[object].size.max(1));
        let (base, size) = (self.b.terms().constant(base, ADDRESS), self.b.terms().constant(size, ADDRESS));
        let address = self.b.terms().cast(ADDRESS, address);
        let from = self.b.terms().sub(address, base);
        self.b.terms().lt(from, size)
    }

    /// `realloc` may leave what it is given where it is, if that is what is wanted: then there is nothing else to do.
    pub(super) fn stay_in_place(
        &mut self,
        old: Term,
        ctype: &CType,
        (result, after): (VarId, &mut Join),
        span: Span,
    ) -> Res<()> {
        let stays = self.any_value(Type::BOOL).term;
        for (object, freed) in self.of_type(ctype) {
            let base = self.b.terms().constant(self.objects[object].base, ADDRESS);
            let it = self.b.terms().eq(old, base);
            let both = self.b.terms().and(it, stays);
            let (mut yes, mut no) = (self.join(), self.join());
            self.fork(both, &mut yes, &mut no, span)?;
            self.land(yes);
            self.not_freed(freed);
            self.set_var(result, base);
            self.jump(after, span)?;
            self.land(no);
        }
        Ok(())
    }

    /// Whether something may have been given back before the code at hand: by this thread on the way here, or by another one that has begun.
    pub(super) fn may_come_back(&self) -> bool {
        let (me, again) = (self.t.0, self.may_come_again());
        let others = again || me != 0 || self.b.program().threads.len() > 1;
        self.noted.gives.contains(&me)
            || again && self.noted.gave.contains(&me)
            || others && self.noted.gave.iter().any(|t| *t != me)
    }

    /// A choice for each object of a type that may have been given back: to have it again, if it was.
    pub(super) fn allocate_again(
        &mut self,
        ctype: &CType,
        own: &[usize],
        zero: bool,
        (result, after): (VarId, &mut Join),
        span: Span,
        fill: &mut dyn FnMut(&mut Self, usize) -> Res<()>,
    ) -> Res<()> {
        for (object, freed) in self.of_type(ctype) {
            if own.contains(&object) {
                continue;
            }
            let chosen = self.any_value(Type::BOOL).term;
            let (mut yes, mut no, mut got) = (self.join(), self.join(), self.join());
            self.fork(chosen, &mut yes, &mut no, span)?;
            self.land(yes);
            let old = self.temporary(Type::BOOL);
            let (was, none, always) =
                (self.b.value(freed), self.b.terms().boolean(false), self.b.terms().boolean(true));
            let keep = Assign { place: Place::scalar(old), value: was };
            let take = Assign { place: Place::scalar(freed), value: none };
            self.step(always, vec![take, keep]);
            self.env.remove(&(old, 0));
            let was = self.local_value(old);
            self.fork(was, &mut got, &mut no, span)?;
            self.land(got);
            match zero {
                true => self.clear(object),
                false => self.forget_again(object),
            }
            fill(self, object)?;
            let base = self.b.terms().constant(self.objects[object].base, ADDRESS);
            self.set_var(result, base);
            self.jump(after, span)?;
            self.land(no);
        }
        Ok(())
    }

    /// An object that was there before gets any value.
    fn forget_again(&mut self, object: usize) {
        if self.atomic_start.is_none() {
            return self.forget_value(object);
        }
        // Where the block begins somebody may still have it.
        let mut leaves = Vec::new();
        Self::leaves(&self.objects[object].shape.clone(), 0, &mut |v, i, _| leaves.push((v, i)));
        for (v, i) in leaves {
            let any = self.any_value(self.b.program().var(v).ty).term;
            self.set_cell(v, i, any);
        }
    }

    /// The objects of `malloc` of a type, each with what says whether it was given back.
    fn of_type(&self, ctype: &CType) -> Vec<(usize, VarId)> {
        let same = |o: &usize| self.objects[*o].shape.ctype == *ctype;
        self.noted.heap.iter().filter(|(o, _)| same(o)).filter_map(|(o, f)| Some((*o, (*f)?))).collect()
    }
}
