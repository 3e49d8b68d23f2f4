//! What has an address: the way to it through fields, indices and pointers.

use super::access::Cells;
use super::ctype::{ADDRESS, CType, Shape, ShapeKind};
use super::expr::{Lvalue, Path, Value};
use super::lower::{Entity, Lowering, Res};
use crate::program::{ErrorKind, SyncId};
use crate::ranges::range;
use crate::term::{Binary, Place, Term, Type};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::rc::Rc;

impl<'a> Lowering<'a> {
    /// An object as a whole.
    pub(crate) fn whole(&self, object: usize) -> Lvalue {
        Lvalue::Path(Path { object, shape: self.objects[object].shape.clone(), indices: Vec::new() })
    }

    pub(crate) fn type_at(&self, lv: &Lvalue) -> CType {
        match lv {
            Lvalue::Path(p) => p.shape.ctype.clone(),
            Lvalue::Memory { ctype, .. } | Lvalue::Cell { ctype, .. } | Lvalue::Bits { ctype, .. } => {
                ctype.clone()
            }
        }
    }

    /// An element of an array of scalars that starts, or is gone into, at a known address: an index in place of arithmetic on
    /// addresses. `len` is how long the array is, if its type says so.
    pub(super) fn indexed(
        &mut self,
        address: Term,
        i: Term,
        element: &CType,
        len: Option<u64>,
    ) -> Option<Lvalue> {
        let a = self.b.terms().as_const(address)?;
        let ty = element.scalar()?;
        let size = self.layout(element).0;
        let into =
            |c: &Cells| c.count > 1 && c.stride == size && a >= c.base && (a - c.base).is_multiple_of(size);
        let hit = |c: &Cells| into(c) && (a - c.base) / size < c.count;
        let c = self.cells_of(ty).into_iter().find(hit)?;
        if self.b.program().var(c.var).ty != ty {
            return None;
        }
        let start = (a - c.base) / size;
        let within = len.unwrap_or(c.count).min(c.count - start);
        let from = self.b.terms().constant(start, ADDRESS);
        let nth = self.b.terms().add(i, from);
        // A pointer into the middle may be gone back from.
        let (checked, end) = if len.is_some() { (i, within) } else { (nth, c.count) };
        let end = end + self.past_end as u64;
        // What a parameter points to is as long as a variable says.
        let length = self.noting.lengths.get(&c.var).copied();
        if length.is_some() || self.highest(checked) >= end as i128 {
            let end = match length {
                Some(v) => self.b.value(v),
                None => self.b.terms().constant(end, ADDRESS),
            };
            let checked = if length.is_some() { nth } else { checked };
            let ok = self.b.terms().lt(checked, end);
            self.check(ok, ErrorKind::OutOfBounds, "an index past the end of an array");
        }
        let first = self.b.terms().constant(c.first, ADDRESS);
        let index = self.b.terms().add(nth, first);
        let address = self.offset(address, i, element, Binary::Add);
        Some(Lvalue::Cell { var: c.var, index, address, ctype: element.clone() })
    }

    /// What a pointer expression points to.
    pub(crate) fn pointed(&mut self, e: &'a Node<Expression>) -> Res<Lvalue> {
        self.as_operand(e, |me| me.pointed_here(e))
    }

    fn pointed_here(&mut self, e: &'a Node<Expression>) -> Res<Lvalue> {
        match &e.node {
            Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Address => {
                return self.lvalue(&u.node.operand);
            }
            Expression::Identifier(_) | Expression::Member(_) => {
                // An array is its first element, without its address getting around.
                if let Ok(Lvalue::Path(p)) = self.in_dead_code(|me| me.lvalue(e))
                    && matches!(p.shape.kind, ShapeKind::Array { .. })
                {
                    let lv = self.lvalue(e)?;
                    let zero = self.b.terms().constant(0, ADDRESS);
                    return self.element(lv, zero, e.span);
                }
            }
            _ => {}
        }
        let v = self.rvalue(e)?;
        let CType::Pointer(t) = v.ctype.plain() else {
            return Err(self.refuse(e.span, format!("{} is no pointer", v.ctype)));
        };
        Ok(Lvalue::Memory { address: v.term, ctype: (**t).clone() })
    }

    pub(crate) fn lvalue(&mut self, e: &'a Node<Expression>) -> Res<Lvalue> {
        self.as_operand(e, |me| me.lvalue_here(e))
    }

    fn lvalue_here(&mut self, e: &'a Node<Expression>) -> Res<Lvalue> {
        match &e.node {
            Expression::Identifier(i) => match self.lookup(&i.node.name) {
                Some(Entity::Object(o)) => Ok(self.whole(o)),
                Some(_) => Err(self.refuse(e.span, format!("`{}` is no variable", i.node.name))),
                None => Err(self.refuse(e.span, format!("`{}` is not known", i.node.name))),
            },
            Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Indirection => {
                self.pointed(&u.node.operand)
            }
            Expression::BinaryOperator(b) if b.node.operator.node == BinaryOperator::Index => {
                let past_end = std::mem::take(&mut self.past_end);
                let base = match self.in_dead_code(|me| me.lvalue(&b.node.lhs)) {
                    Ok(lv) if matches!(self.type_at(&lv).plain(), CType::Array(..)) => {
                        Some(self.lvalue(&b.node.lhs)?)
                    }
                    _ => None,
                };
                if let Some(base) = base {
                    let i = self.rvalue(&b.node.rhs)?;
                    let i = self.index(i, e.span)?;
                    self.past_end = past_end;
                    return self.element(base, i, e.span);
                }
                let p = self.rvalue(&b.node.lhs)?;
                let i = self.rvalue(&b.node.rhs)?;
                if let (CType::Pointer(t), CType::Int(_)) = (p.ctype.plain().clone(), i.ctype.plain()) {
                    let i = self.b.terms().cast(ADDRESS, i.term);
                    self.past_end = past_end;
                    if let Some(lv) = self.indexed(p.term, i, &t, None) {
                        return Ok(lv);
                    }
                }
                let sum = self.operate(&BinaryOperator::Plus, p, i, e.span)?;
                let CType::Pointer(t) = sum.ctype.plain() else {
                    return Err(self.refuse(e.span, "an index into what is no array"));
                };
                Ok(Lvalue::Memory { address: sum.term, ctype: (**t).clone() })
            }
            Expression::Member(m) => {
                let base = match m.node.operator.node {
                    MemberOperator::Direct => self.lvalue(&m.node.expression)?,
                    MemberOperator::Indirect => self.pointed(&m.node.expression)?,
                };
                self.member(base, &m.node.identifier.node.name, e.span)
            }
            Expression::Cast(c) => {
                // Only what does not change anything.
                let to = self.type_name(&c.node.type_name)?;
                let lv = self.lvalue(&c.node.expression)?;
                if self.type_at(&lv) == to {
                    return Ok(lv);
                }
                Err(self.refuse(e.span, "a value where an object in memory is needed"))
            }
            Expression::CompoundLiteral(c) => self.compound_literal(c, e.span),
            Expression::StringLiteral(s) => self.text_object(s, e.span),
            Expression::GenericSelection(g) => {
                let chosen = self.chosen(g)?;
                self.lvalue(chosen)
            }
            _ if self.is_aggregate(e) => self.aggregate(e),
            _ => Err(self.refuse(e.span, "a value where an object in memory is needed")),
        }
    }

    /// An index with 64 bits.
    fn index(&mut self, i: Value, span: Span) -> Res<Term> {
        if !matches!(i.ctype.plain(), CType::Int(_)) {
            return Err(self.refuse(span, "an index that is no number"));
        }
        Ok(self.b.terms().cast(ADDRESS, i.term))
    }

    pub(crate) fn member(&mut self, base: Lvalue, name: &str, span: Span) -> Res<Lvalue> {
        let ctype = self.type_at(&base);
        let CType::Struct(id) = ctype.plain() else {
            return Err(self.refuse(span, format!("{ctype} has no field `{name}`")));
        };
        let st = &self.structs[*id];
        let fields = st.fields.as_ref();
        if !fields.is_some_and(|f| f.iter().any(|f| f.0 == name)) {
            if let Some(b) = st.bit_fields.iter().find(|b| b.name == name).cloned() {
                let whole = self.member(base, &b.within, span)?;
                let shift = self.b.terms().constant(b.shift, ADDRESS);
                return Ok(self.bits(whole, shift, b.ctype, Some(b.ty)));
            }
            // It may be in a member that has no name.
            let within = fields
                .into_iter()
                .flatten()
                .find(|f| f.0.starts_with('?') && self.member_type(&f.1, name).is_some());
            let Some(within) = within.map(|f| f.0.clone()) else {
                return Err(self.refuse(span, format!("there is no field `{name}`")));
            };
            let inner = self.member(base, &within, span)?;
            return self.member(inner, name, span);
        }
        if st.union || matches!(base, Lvalue::Bits { .. }) {
            let (offset, field) = self.field(&ctype, name, span)?;
            let base = if self.structs[*id].union { self.unit(base, span)? } else { base };
            let shift = self.b.terms().constant(offset * 8, ADDRESS);
            return Ok(self.bits(base, shift, field, None));
        }
        match base {
            Lvalue::Path(p) => {
                let ShapeKind::Struct(fields) = &p.shape.kind else {
                    let why = format!("{} has no field `{name}` that is known", p.shape.ctype);
                    return Err(self.refuse(span, why));
                };
                match fields.iter().find(|f| f.0 == name) {
                    Some((_, shape)) => Ok(Lvalue::Path(Path { shape: shape.clone(), ..p })),
                    None => Err(self.refuse(span, format!("there is no field `{name}`"))),
                }
            }
            Lvalue::Cell { .. } | Lvalue::Bits { .. } => {
                Err(self.refuse(span, format!("there is no field `{name}`")))
            }
            Lvalue::Memory { address, ctype } => {
                let (offset, field) = self.field(&ctype, name, span)?;
                let offset = self.b.terms().constant(offset, ADDRESS);
                Ok(Lvalue::Memory { address: self.b.terms().add(address, offset), ctype: field })
            }
        }
    }

    /// An element of an array, checked to be one.
    pub(crate) fn element(&mut self, base: Lvalue, i: Term, span: Span) -> Res<Lvalue> {
        match base {
            Lvalue::Path(mut p) => {
                let ShapeKind::Array { len, stride, element } = p.shape.kind.clone() else {
                    return Err(self.refuse(span, "an index into what is no array"));
                };
                let end = len + std::mem::take(&mut self.past_end) as u64;
                if self.highest(i) >= end as i128 {
                    let end = self.b.terms().constant(end, ADDRESS);
                    let ok = self.b.terms().lt(i, end);
                    self.check(ok, ErrorKind::OutOfBounds, "an index past the end of an array");
                }
                p.indices.push((i, len, stride));
                p.shape = element;
                Ok(Lvalue::Path(p))
            }
            Lvalue::Cell { .. } => Err(self.refuse(span, "an index into what is no array")),
            Lvalue::Bits { ref ctype, .. } => {
                let CType::Array(t, len) = ctype.plain().clone() else {
                    return Err(self.refuse(span, "an index into what is no array"));
                };
                let end = self.b.terms().constant(len, ADDRESS);
                let ok = self.b.terms().lt(i, end);
                self.check(ok, ErrorKind::OutOfBounds, "an index past the end of an array");
                let bits = self.layout(&t).0 * 8;
                let stride = self.b.terms().constant(bits, ADDRESS);
                let shift = self.b.terms().binary(Binary::Mul, i, stride);
                Ok(self.bits(base, shift, (*t).clone(), None))
            }
            Lvalue::Memory { address, ctype } => {
                let (CType::Array(t, _) | CType::OpenArray(t)) = ctype.plain() else {
                    return Err(self.refuse(span, "an index into what is no array"));
                };
                let len = if let CType::Array(_, n) = ctype.plain() { Some(*n) } else { None };
                if let Some(lv) = self.indexed(address, i, t, len) {
                    return Ok(lv);
                }
                let address = self.offset(address, i, t, Binary::Add);
                Ok(Lvalue::Memory { address, ctype: (**t).clone() })
            }
        }
    }

    /// The highest number that a term can be, as far as that is plain.
    fn highest(&self, t: Term) -> i128 {
        range(&self.b.program().terms, t).1
    }

    /// The address of an lvalue; from now on a pointer may point there.
    pub(crate) fn address(&mut self, lv: &Lvalue, span: Span) -> Res<Value> {
        match lv {
            Lvalue::Memory { address, ctype } | Lvalue::Cell { address, ctype, .. } => {
                Ok(Value { term: *address, ctype: CType::Pointer(Rc::new(ctype.clone())) })
            }
            Lvalue::Bits { field: Some(_), .. } => Err(self.refuse(span, "the address of a bit-field")),
            Lvalue::Bits { whole, shift, ctype, .. } => {
                let start = self.address(whole, span)?;
                let eight = self.b.terms().constant(8, ADDRESS);
                let bytes = self.b.terms().binary(Binary::Div, *shift, eight);
                let term = self.b.terms().add(start.term, bytes);
                Ok(Value { term, ctype: CType::Pointer(Rc::new(ctype.clone())) })
            }
            Lvalue::Path(p) => {
                self.take_address(p.object);
                let start = self.objects[p.object].base + p.shape.offset;
                let mut term = self.b.terms().constant(start, ADDRESS);
                for (i, _, stride) in &p.indices {
                    let stride = self.b.terms().constant(*stride, ADDRESS);
                    let bytes = self.b.terms().binary(Binary::Mul, *i, stride);
                    term = self.b.terms().add(term, bytes);
                }
                Ok(Value { term, ctype: CType::Pointer(Rc::new(p.shape.ctype.clone())) })
            }
        }
    }

    /// The variable and the cell of a path to a scalar.
    pub(super) fn place(&mut self, p: &Path, span: Span) -> Res<(Place, Type)> {
        let ShapeKind::Scalar(var) = p.shape.kind else {
            return Err(self.refuse(span, format!("a variable of type {}", p.shape.ctype)));
        };
        let ty = self.b.program().var(var).ty;
        if self.b.program().var(var).len.is_none() {
            return Ok((Place::scalar(var), ty));
        }
        let mut index = self.b.terms().constant(0, ADDRESS);
        for (i, len, _) in &p.indices {
            let len = self.b.terms().constant(*len, ADDRESS);
            let rows = self.b.terms().binary(Binary::Mul, index, len);
            index = self.b.terms().add(rows, *i);
        }
        Ok((Place::cell(var, index), ty))
    }

    /// The synchronisation objects that a pointer may point to, each with the condition under which it does; nothing else may.
    pub(crate) fn syncs(&mut self, lv: &Lvalue, span: Span) -> Res<Vec<(Term, SyncId)>> {
        let yes = self.b.terms().boolean(true);
        match lv {
            Lvalue::Path(p) => {
                let ShapeKind::Sync(list) = &p.shape.kind else {
                    return Err(
                        self.refuse(span, format!("{} where a lock or the like is wanted", p.shape.ctype))
                    );
                };
                let mut index = self.b.terms().constant(0, ADDRESS);
                for (i, len, _) in &p.indices {
                    let len = self.b.terms().constant(*len, ADDRESS);
                    let rows = self.b.terms().binary(Binary::Mul, index, len);
                    index = self.b.terms().add(rows, *i);
                }
                if let Some(i) = self.b.terms().as_const(index) {
                    return Ok(list.get(i as usize).map(|s| (yes, *s)).into_iter().collect());
                }
                let list = list.clone();
                let case = |(i, s): (usize, SyncId)| {
                    let i = self.b.terms().constant(i as u64, ADDRESS);
                    (self.b.terms().eq(index, i), s)
                };
                Ok(list.into_iter().enumerate().map(case).collect())
            }
            Lvalue::Cell { ctype, .. } | Lvalue::Bits { ctype, .. } => {
                Err(self.refuse(span, format!("{ctype} where a lock or the like is wanted")))
            }
            Lvalue::Memory { address, ctype } => {
                let mut all = Vec::new();
                for (n, o) in self.objects.iter().enumerate() {
                    if self.is_taken(n) {
                        syncs_in(&o.shape, o.base, 0, ctype, &mut all);
                    }
                }
                if let Some(a) = self.b.terms().as_const(*address) {
                    return Ok(all.into_iter().find(|s| s.0 == a).map(|s| (yes, s.1)).into_iter().collect());
                }
                let case = |(at, s): (u64, SyncId)| {
                    let at = self.b.terms().constant(at, ADDRESS);
                    (self.b.terms().eq(*address, at), s)
                };
                Ok(all.into_iter().map(case).collect())
            }
        }
    }
}

fn syncs_in(shape: &Shape, base: u64, index: u64, ctype: &CType, out: &mut Vec<(u64, SyncId)>) {
    match &shape.kind {
        ShapeKind::Sync(list) if shape.ctype == *ctype => {
            out.extend(list.get(index as usize).map(|s| (base + shape.offset, *s)));
        }
        ShapeKind::Struct(fields) => fields.iter().for_each(|(_, f)| syncs_in(f, base, index, ctype, out)),
        ShapeKind::Array { len, stride, element } => {
            (0..*len).for_each(|i| syncs_in(element, base + i * stride, index * len + i, ctype, out));
        }
        _ => {}
    }
}
