//! Reads and writes: one step for each shared cell that is touched, a case for each that a pointer may point to.

use super::ctype::{ADDRESS, CType, Shape, ShapeKind};
use super::expr::{Lvalue, Value};
use super::lower::{Join, Lowering, Res};
use crate::program::{ErrorKind, Order};
use crate::term::{Binary, Place, Term, Type, VarId};
use lang_c::span::Span;

/// What is done to a cell.
type Touch<'f, 'a> = &'f mut dyn FnMut(&mut Lowering<'a>, Place, Type) -> Res<()>;

/// A set of cells at regular distances, for a pointer to point into.
#[derive(Clone, Copy)]
pub(super) struct Cells {
    pub(super) var: VarId,
    pub(super) base: u64,
    pub(super) stride: u64,
    pub(super) first: u64,
    pub(super) count: u64,
}

impl<'a> Lowering<'a> {
    /// Does something to the cell that an lvalue is, for each cell that it may be.
    pub(crate) fn touch(&mut self, lv: &Lvalue, span: Span, f: Touch<'_, 'a>) -> Res<()> {
        let (address, ctype) = match lv {
            Lvalue::Bits { .. } => {
                return Err(self.refuse(span, "an atomic update of a bit-field or of a member of a union"));
            }
            Lvalue::Path(p) => {
                let (place, ty) = self.place(p, span)?;
                return f(self, place, ty);
            }
            Lvalue::Cell { var, index, ctype, .. } => {
                let ty = ctype.scalar().unwrap_or(ADDRESS);
                self.still_there(*var);
                return self.touch_as(ctype, Place::cell(*var, *index), ty, f);
            }
            Lvalue::Memory { address, ctype } => (*address, ctype.clone()),
        };
        let Some(ty) = ctype.scalar() else {
            return Err(self.refuse(span, format!("access to {ctype} through a pointer")));
        };
        let mut all = self.cells_of(ty);
        if all.iter().any(|c| self.noting.lengths.contains_key(&c.var)) && !self.dead {
            // Of what a parameter points to nobody knows how many cells there are: no cases over them.
            let at = self.b.terms().as_const(address);
            let into = |c: &Cells| {
                self.noting.lengths.contains_key(&c.var)
                    && at.is_some_and(|a| (c.base..c.base + c.count * c.stride).contains(&a))
            };
            let hit = all.iter().any(into);
            let zero = self.b.terms().constant(0, ADDRESS);
            match (at, hit) {
                (None, _) => {
                    return Err(
                        self.refuse(span, "arithmetic on a pointer that is a parameter; write `a[i]`")
                    );
                }
                (Some(_), true) => {
                    if let Some(lv) = self.indexed(address, zero, &ctype, None) {
                        return self.touch(&lv, span, f);
                    }
                    return Err(self.refuse(span, "this access to what a parameter points to"));
                }
                (Some(_), false) => {}
            }
        }
        all.retain(|c| !self.noting.lengths.contains_key(&c.var));
        let message = "a pointer is followed that points to nothing of its type";
        if let Some(a) = self.b.terms().as_const(address) {
            let hit = all.iter().find_map(|c| {
                let n = a.checked_sub(c.base)? / c.stride;
                (n < c.count && (a - c.base) % c.stride == 0).then_some((*c, n))
            });
            return match hit {
                Some((c, n)) => {
                    self.still_there(c.var);
                    let place = self.cell_place(c, n);
                    let own = self.b.program().var(c.var).ty;
                    self.touch_as(&ctype, place, own, f)
                }
                None if self.dead => Ok(()),
                None => {
                    if let Some(o) = self.objects.iter().position(|o| (o.base..o.base + o.size).contains(&a))
                        && self.is_taken(o)
                    {
                        return Err(self.refuse(span, "access through a pointer of another type"));
                    }
                    let no = self.b.terms().boolean(false);
                    self.check(no, ErrorKind::InvalidPointer, message);
                    Ok(())
                }
            };
        }
        if self.dead {
            return Ok(());
        }
        let mut after = self.join();
        let from = self.b.here(self.t);
        let env = self.env.clone();
        let mut none = self.b.terms().boolean(true);
        for c in all {
            let (it, index) = self.points_into(address, c);
            let case = self.join();
            self.b.step(self.t, from, case.at, it, Vec::new());
            let case = Join { env: Some(env.clone()), ..case };
            self.land(case);
            let place = match index {
                None => Place::scalar(c.var),
                Some(i) => Place::cell(c.var, i),
            };
            let own = self.b.program().var(c.var).ty;
            self.still_there(c.var);
            self.touch_as(&ctype, place, own, f)?;
            self.jump(&mut after, span)?;
            let not = self.b.terms().not(it);
            none = self.b.terms().and(none, not);
        }
        // What lies in an object but is no cell of this width is there, only not for us: neither right nor wrong.
        let inside = self.is_inside(address);
        let outside = self.b.terms().not(inside);
        for (kind, message, where_) in [
            (ErrorKind::InvalidPointer, message, outside),
            (ErrorKind::Bound, "access through a pointer of another type is not followed", inside),
        ] {
            let guard = self.b.terms().and(none, where_);
            if self.b.terms().as_const(guard) != Some(0) {
                let wrong = self.b.error_location(self.t, kind, message);
                self.b.step(self.t, from, wrong, guard, Vec::new());
            }
        }
        self.land(after);
        Ok(())
    }

    /// Does something to a cell through a pointer. What is declared atomic is not accessed so if the pointer does not say it.
    fn touch_as(&mut self, ctype: &CType, place: Place, own: Type, f: Touch<'_, 'a>) -> Res<()> {
        let plain = !matches!(ctype, CType::Atomic(_))
            && self.b.program().var(place.var).atomic
            && !self.b.has_order();
        if !plain {
            return f(self, place, own);
        }
        self.b.set_order(Some((Order::Plain, Order::Plain)));
        let done = f(self, place, own);
        self.b.set_order(None);
        done
    }

    /// Whether all that a pointer to characters may point to are texts of the program, which nobody writes.
    pub(crate) fn only_constant_texts(&self, t: &CType) -> bool {
        let all = |ty| self.cells_of(ty).iter().all(|c| self.read_only.contains(&c.var));
        t.scalar().is_some_and(all)
    }

    /// Whether an address is in an object that a pointer may point to.
    pub(crate) fn is_inside(&mut self, address: Term) -> Term {
        let mut inside = self.b.terms().boolean(false);
        for n in 0..self.objects.len() {
            if self.is_taken(n) {
                let (base, size) = (self.objects[n].base, self.objects[n].size);
                let (base, size) =
                    (self.b.terms().constant(base, ADDRESS), self.b.terms().constant(size, ADDRESS));
                let from = self.b.terms().sub(address, base);
                let here = self.b.terms().lt(from, size);
                inside = self.b.terms().or(inside, here);
            }
        }
        inside
    }

    fn cell_place(&mut self, c: Cells, n: u64) -> Place {
        match self.b.program().var(c.var).len {
            None => Place::scalar(c.var),
            Some(_) => {
                let i = self.b.terms().constant(c.first + n, ADDRESS);
                Place::cell(c.var, i)
            }
        }
    }

    /// Whether an address is that of one of some cells, and of which.
    fn points_into(&mut self, address: Term, c: Cells) -> (Term, Option<Term>) {
        let base = self.b.terms().constant(c.base, ADDRESS);
        if c.count == 1 {
            let it = self.b.terms().eq(address, base);
            let index = self.b.program().var(c.var).len.is_some();
            let index = index.then(|| self.b.terms().constant(c.first, ADDRESS));
            return (it, index);
        }
        let from = self.b.terms().sub(address, base);
        let end = self.b.terms().constant(c.count * c.stride, ADDRESS);
        let stride = self.b.terms().constant(c.stride, ADDRESS);
        let within = self.b.terms().lt(from, end);
        let rest = self.b.terms().binary(Binary::Rem, from, stride);
        let zero = self.b.terms().constant(0, ADDRESS);
        let whole = self.b.terms().eq(rest, zero);
        let it = self.b.terms().and(within, whole);
        let n = self.b.terms().binary(Binary::Div, from, stride);
        let first = self.b.terms().constant(c.first, ADDRESS);
        (it, Some(self.b.terms().add(n, first)))
    }

    /// The cells that a pointer to values of this size may point to.
    pub(super) fn cells_of(&self, ty: Type) -> Vec<Cells> {
        let mut out = Vec::new();
        for (n, o) in self.objects.iter().enumerate() {
            if self.is_taken(n) {
                self.cells_in(&o.shape, o.base, 0, ty, &mut out);
            }
        }
        out
    }

    fn cells_in(&self, shape: &Shape, base: u64, first: u64, ty: Type, out: &mut Vec<Cells>) {
        match &shape.kind {
            ShapeKind::Scalar(var) => {
                let own = self.b.program().var(*var).ty;
                if own.bits == ty.bits {
                    out.push(Cells { var: *var, base: base + shape.offset, stride: 1, first, count: 1 });
                }
            }
            ShapeKind::Struct(fields) => {
                fields.iter().for_each(|(_, f)| self.cells_in(f, base, first, ty, out))
            }
            ShapeKind::Array { len, stride, element } => {
                if let ShapeKind::Scalar(var) = element.kind {
                    if self.b.program().var(var).ty.bits == ty.bits {
                        let start = base + element.offset;
                        out.push(Cells {
                            var,
                            base: start,
                            stride: *stride,
                            first: first * len,
                            count: *len,
                        });
                    }
                    return;
                }
                // The rows of a matrix lie one behind the other: a pointer goes from one to the next.
                let mut row = Vec::new();
                self.cells_in(element, base, first * len, ty, &mut row);
                if let [c] = row[..]
                    && matches!(element.kind, ShapeKind::Array { .. })
                    && c.stride * c.count == *stride
                {
                    out.push(Cells { count: c.count * len, ..c });
                    return;
                }
                (0..*len).for_each(|i| self.cells_in(element, base + i * stride, first * len + i, ty, out));
            }
            ShapeKind::Union { var, .. } => {
                if self.b.program().var(*var).ty.bits == ty.bits {
                    out.push(Cells { var: *var, base: base + shape.offset, stride: 1, first, count: 1 });
                }
            }
            ShapeKind::Sync(_) | ShapeKind::Opaque => {}
        }
    }

    /// The value of an lvalue. A shared one is read in a step of its own.
    pub(crate) fn load(&mut self, lv: &Lvalue, span: Span) -> Res<Value> {
        let ctype = self.type_at(lv);
        match ctype.plain() {
            CType::Array(t, _) => {
                // An array is a pointer to its first element.
                let v = self.address(lv, span)?;
                return Ok(Value { term: v.term, ctype: CType::Pointer(t.clone()) });
            }
            CType::Function(_) => return self.address(lv, span),
            _ => {}
        }
        let Some(ty) = ctype.scalar() else {
            return Err(self.refuse(span, format!("a variable of type {ctype}")));
        };
        let plain = ctype.plain().clone();
        if let Lvalue::Bits { whole, shift, field, .. } = lv {
            return self.load_bits(whole, *shift, &ctype, *field, span);
        }
        if let Lvalue::Path(p) = lv {
            let (place, own) = self.place(p, span)?;
            if self.constants.contains(&place.var) {
                let index = place.index.map_or(Some(0), |i| self.b.terms().as_const(i));
                let init = &self.b.program().var(place.var).init;
                if let Some(bits) = index.and_then(|i| init.get(i as usize).copied()) {
                    let term = self.b.terms().constant(bits, own);
                    return Ok(Value { term: self.b.terms().cast(ty, term), ctype: plain });
                }
            }
            if !self.b.program().var(place.var).is_shared() {
                let known = match place.index {
                    None => Some(0),
                    Some(i) => self.b.terms().as_const(i),
                };
                let bits = known.and_then(|i| self.env.get(&(place.var, i)).copied());
                let term = match bits {
                    Some(bits) => self.b.terms().constant(bits, own),
                    None => self.b.terms().read(place, own),
                };
                let term = self.b.terms().cast(ty, term);
                return Ok(Value { term, ctype: plain });
            }
        }
        let result = self.temporary(ty);
        self.touch(lv, span, &mut |me, place, own| {
            let there = me.b.terms().read(place, own);
            let value = me.b.terms().cast(ty, there);
            me.set_var(result, value);
            Ok(())
        })?;
        Ok(Value { term: self.local_value(result), ctype: plain })
    }

    /// Writes an lvalue, in one step.
    pub(crate) fn store(&mut self, lv: &Lvalue, value: Term, span: Span) -> Res<()> {
        if let Lvalue::Bits { whole, shift, ctype, field } = lv {
            return self.store_bits((whole, *shift, ctype, *field), value, span);
        }
        self.touch(lv, span, &mut |me, place, own| {
            let text = me.read_only.contains(&place.var);
            if text || me.declared_constant.contains(&place.var) {
                let no = me.b.terms().boolean(false);
                let what = if text { "a text of the program is written" } else { "a constant is written" };
                me.check(no, ErrorKind::InvalidPointer, what);
                return Ok(());
            }
            let value = me.b.terms().cast(own, value);
            me.set(place, value);
            me.learn(place, Some(value));
            Ok(())
        })
    }

    /// What is known of a place after it was assigned.
    pub(crate) fn learn(&mut self, place: Place, value: Option<Term>) {
        if self.dead || !self.is_tracked(place.var) {
            return;
        }
        let bits = value.and_then(|v| self.b.terms().as_const(v));
        let index = match place.index {
            None => Some(0),
            Some(i) => self.b.terms().as_const(i),
        };
        match (index, bits) {
            (Some(i), Some(v)) => {
                self.env.insert((place.var, i), v);
            }
            (Some(i), None) => {
                self.env.remove(&(place.var, i));
            }
            (None, _) => self.env.retain(|(v, _), _| *v != place.var),
        }
    }

    /// Reads and writes an lvalue in one step: the value before or after.
    pub(crate) fn update(
        &mut self,
        lv: &Lvalue,
        new: bool,
        span: Span,
        change: &mut dyn FnMut(&mut Self, Term) -> Res<Term>,
    ) -> Res<Value> {
        let ctype = self.type_at(lv);
        let Some(ty) = ctype.scalar() else {
            return Err(self.refuse(span, format!("an atomic update of {ctype}")));
        };
        let result = self.temporary(ty);
        self.touch(lv, span, &mut |me, place, own| {
            let there = me.b.terms().read(place, own);
            let old = me.b.terms().cast(ty, there);
            let changed = change(me, old)?;
            let back = me.b.terms().cast(own, changed);
            let kept = if new { changed } else { old };
            let yes = me.b.terms().boolean(true);
            me.step(
                yes,
                vec![
                    crate::Assign { place, value: back },
                    crate::Assign { place: Place::scalar(result), value: kept },
                ],
            );
            me.learn(place, None);
            me.env.remove(&(result, 0));
            Ok(())
        })?;
        Ok(Value { term: self.local_value(result), ctype: ctype.plain().clone() })
    }

    /// Compares an lvalue with a value and exchanges it: whether that was done (1 or 0), and what was there.
    pub(crate) fn compare_exchange(
        &mut self,
        lv: &Lvalue,
        expected: Value,
        desired: Value,
        weak: bool,
        span: Span,
    ) -> Res<(Term, Term)> {
        let ctype = self.type_at(lv);
        let Some(ty) = ctype.scalar() else {
            return Err(self.refuse(span, format!("an exchange of {ctype}")));
        };
        let (e, d) = (self.convert(expected, &ctype, span)?, self.convert(desired, &ctype, span)?);
        let (done, old) = (self.temporary(Type::BOOL), self.temporary(ty));
        let may_fail = weak && self.options.spurious;
        self.touch(lv, span, &mut |me, place, own| {
            if own != ty {
                return Err(me.refuse(span, "an exchange through a pointer of another type"));
            }
            if !me.dead {
                me.fresh.clear();
                me.b.compare_exchange(me.t, place, (e, d), (done, old), may_fail);
                me.learn(place, None);
                me.env.remove(&(done, 0));
                me.env.remove(&(old, 0));
            }
            Ok(())
        })?;
        let (done, old) = (self.local_value(done), self.local_value(old));
        if ty.bits == ADDRESS.bits {
            self.compare_exchanged(&ctype, (e, old), span)?;
        }
        Ok((done, old))
    }

    /// Copies a structure, field by field.
    pub(crate) fn copy(&mut self, to: &Lvalue, from: &Lvalue, span: Span) -> Res<()> {
        // Structures are copied without regard to what in them is declared atomic.
        if !self.b.has_order() {
            return self.ordered((Order::Plain, Order::Plain), |me| me.copy(to, from, span));
        }
        let ctype = self.type_at(to);
        if ctype.plain() != self.type_at(from).plain() {
            return Err(self.refuse(span, "a copy between objects of different types"));
        }
        match ctype.plain() {
            CType::Struct(id) if self.structs[*id].union => {
                let (a, b) = (self.unit(to.clone(), span)?, self.unit(from.clone(), span)?);
                self.copy(&a, &b, span)
            }
            CType::Struct(id) => {
                let Some(fields) = self.structs[*id].fields.clone() else {
                    return Err(self.refuse(span, "a structure that is not complete"));
                };
                for (name, ..) in fields {
                    let (a, b) =
                        (self.member(to.clone(), &name, span)?, self.member(from.clone(), &name, span)?);
                    self.copy(&a, &b, span)?;
                }
                Ok(())
            }
            CType::Array(_, n) => {
                for i in 0..*n {
                    let i = self.b.terms().constant(i, ADDRESS);
                    let (a, b) = (self.element(to.clone(), i, span)?, self.element(from.clone(), i, span)?);
                    self.copy(&a, &b, span)?;
                }
                Ok(())
            }
            _ => {
                let v = self.load(from, span)?;
                self.store(to, v.term, span)
            }
        }
    }
}
