//! What is more than one scalar, and what is less: structures as values, initialisers, texts, and parts of a variable's bits.
//!
//! A structure is copied field by field: each is a step of its own, as each is an access of its own when it runs. The members of a
//! union are parts of the bits of one variable, and so are neighbouring bit-fields. To write a member of a union is one step, as to write
//! its bytes is one access. To write a bit-field is two: the word is read, and written back with other bits in it, so that what
//! another thread writes into a neighbour in between is lost. That is what C says of it: neighbours are one place in memory.

use super::ctype::{ADDRESS, CType, Shape, ShapeKind};
use super::decl::is_text;
use super::expr::{Lvalue, Path, Value, promoted};
use super::lower::{Lowering, Res};
use super::pthreads::MutexKind;
use crate::program::Order;
use crate::term::{Binary, Place, Term, Type, Unary, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::rc::Rc;

/// What a place gets at first.
pub(crate) enum First<'a> {
    Value(&'a Node<Expression>),
    Number(i128),
}

/// Texts are declared where they stand, so far behind all else.
pub(crate) const TEXTS: usize = usize::MAX / 2;

/// Places and what they get at first.
pub(crate) type Firsts<'a> = Vec<(Lvalue, First<'a>)>;

impl<'a> Lowering<'a> {
    // ---- structures as values

    /// Whether an expression is a structure or a union.
    pub(crate) fn is_aggregate(&mut self, e: &Node<Expression>) -> bool {
        matches!(self.type_of(e), Ok(t) if matches!(t.plain(), CType::Struct(_)))
    }

    /// A structure that is the value of an expression, as something that has fields.
    pub(crate) fn aggregate(&mut self, e: &'a Node<Expression>) -> Res<Lvalue> {
        match &e.node {
            Expression::Call(c) => {
                self.returned = None;
                self.call(c)?;
                match self.returned.take() {
                    Some(lv) => Ok(lv),
                    None => Err(self.refuse(e.span, "a structure that a function of the library returns")),
                }
            }
            Expression::BinaryOperator(b) if b.node.operator.node == BinaryOperator::Assign => {
                let from = self.lvalue(&b.node.rhs)?;
                let to = self.lvalue(&b.node.lhs)?;
                self.at(e.span);
                self.copy(&to, &from, e.span)?;
                Ok(to)
            }
            Expression::Comma(list) => {
                let (last, first) = list.split_last().expect("a comma has two sides");
                for e in first {
                    self.effect(e)?;
                }
                self.lvalue(last)
            }
            Expression::Conditional(c) => {
                let ctype = self.type_of(&c.node.then_expression)?;
                let object = self.declare_object("choice", ctype.plain(), e.span, true)?;
                let to = self.whole(object);
                let (mut yes, mut no, mut after) = (self.join(), self.join(), self.join());
                self.branch(&c.node.condition, &mut yes, &mut no)?;
                for (j, part) in [(yes, &c.node.then_expression), (no, &c.node.else_expression)] {
                    self.land(j);
                    let from = self.lvalue(part)?;
                    self.copy(&to, &from, e.span)?;
                    self.jump(&mut after, e.span)?;
                }
                self.land(after);
                Ok(to)
            }
            _ => Err(self.refuse(e.span, "a structure as the result of this expression")),
        }
    }

    /// The object of a compound literal.
    pub(crate) fn compound_literal(&mut self, c: &'a Node<CompoundLiteral>, span: Span) -> Res<Lvalue> {
        let ctype = self.type_name(&c.node.type_name)?;
        let items = &c.node.initializer_list;
        let ctype = match ctype {
            CType::OpenArray(e) => {
                let n = match &items[..] {
                    [one] if one.node.designation.is_empty() && is_text(&one.node.initializer) => {
                        return Err(self.refuse(span, "a text in a compound literal"));
                    }
                    _ => self.cells_named(&e, items)?,
                };
                CType::Array(e, n)
            }
            other => other,
        };
        // Outside of functions it is there for ever.
        let local = !self.frames.is_empty();
        let object = self.declare_object("literal", &ctype, span, local)?;
        let to = self.whole(object);
        let mut list = Vec::new();
        self.initial_items(&to, items, span, &mut list)?;
        if local {
            self.start_with(object, list, true)?;
        } else {
            self.set_initials(list)?;
        }
        Ok(to)
    }

    // ---- texts

    /// The characters of a text.
    pub(crate) fn text(&self, s: &Node<StringLiteral>) -> Res<Vec<i128>> {
        let mut out = Vec::new();
        for part in &s.node {
            if !part.starts_with('"') && !part.starts_with("u8\"") {
                return Err(self.refuse(s.span, "a text of wide characters"));
            }
            let inner = part.trim_start_matches("u8").trim_start_matches('"');
            let inner = inner.strip_suffix('"').unwrap_or(inner);
            let mut bytes = inner.bytes().peekable();
            while let Some(b) = bytes.next() {
                if b != b'\\' {
                    out.push(i128::from(b as i8));
                    continue;
                }
                let mut escape = String::new();
                let kind = bytes.next().unwrap_or(b'\\');
                escape.push(kind as char);
                let hex = kind == b'x';
                let octal = (b'0'..=b'7').contains(&kind);
                while (hex || octal && escape.len() < 3)
                    && let Some(n) = bytes.peek().copied()
                    && if hex { n.is_ascii_hexdigit() } else { (b'0'..=b'7').contains(&n) }
                {
                    escape.push(n as char);
                    bytes.next();
                }
                let v = super::expr::character(&format!("'\\{escape}'"))
                    .ok_or_else(|| self.refuse(s.span, format!("the character \\{escape}")))?;
                out.push(v);
            }
        }
        Ok(out)
    }

    /// The array that a text is.
    pub(crate) fn text_object(&mut self, s: &'a Node<StringLiteral>, span: Span) -> Res<Lvalue> {
        let text = self.text(s)?;
        let key = TEXTS + span.start;
        if let Some(object) = self.texts.get(&key) {
            return Ok(self.whole(*object));
        }
        let ctype = CType::Array(Rc::new(CType::Int(Type::signed(8))), text.len() as u64 + 1);
        let line = self.span(span).line;
        let object = self.noted_object(&format!("text@{line}"), &ctype, key, span, false)?;
        let mut leaf = None;
        Self::leaves(&self.objects[object].shape.clone(), 0, &mut |v, _, _| leaf = Some(v));
        if let Some(v) = leaf {
            for (i, c) in text.into_iter().enumerate() {
                self.b.set_initial(v, i as u64, Type::signed(8).bits_of(c));
            }
            self.read_only.insert(v);
        }
        self.texts.insert(key, object);
        Ok(self.whole(object))
    }

    // ---- initialisers

    /// How many cells an initialiser names of an array whose length it says.
    pub(crate) fn cells_named(&mut self, e: &CType, items: &[Node<InitializerListItem>]) -> Res<u64> {
        let (mut at, mut most, mut next) = (0u64, 0u64, 0);
        while let Some(item) = items.get(next) {
            match item.node.designation.first().map(|d| &d.node) {
                Some(Designator::Index(i)) => at = self.constant(i, "an index")? as u64,
                Some(Designator::Range(r)) => at = self.constant(&r.node.to, "an index")? as u64,
                _ => {}
            }
            // Without braces of its own an element takes as many values as it has scalars.
            let whole = matches!(item.node.initializer.node, Initializer::List(_))
                || is_text(&item.node.initializer)
                || matches!(&item.node.initializer.node, Initializer::Expression(e) if self.is_aggregate(e));
            let takes = if whole { 1 } else { self.scalars(e).max(1) };
            next += 1;
            let mut taken = 1;
            while taken < takes && items.get(next).is_some_and(|i| i.node.designation.is_empty()) {
                (taken, next) = (taken + 1, next + 1);
            }
            at += 1;
            most = most.max(at);
        }
        Ok(most)
    }

    /// How many values an initialiser without inner braces has for a type.
    fn scalars(&self, t: &CType) -> u64 {
        match t.plain() {
            CType::Array(e, n) => n * self.scalars(e),
            CType::Struct(id) => {
                let st = &self.structs[*id];
                let field = |name: &String| {
                    st.fields.iter().flatten().find(|f| f.0 == *name).map_or(1, |f| self.scalars(&f.1))
                };
                let all = st.order.iter().map(field);
                if st.union { all.take(1).sum() } else { all.sum() }
            }
            _ => 1,
        }
    }

    /// An initialiser against a place: which scalar, or structure, gets what.
    pub(crate) fn initial(
        &mut self,
        to: &Lvalue,
        init: &'a Node<Initializer>,
        out: &mut Firsts<'a>,
    ) -> Res<()> {
        match &init.node {
            Initializer::Expression(e) => self.initial_value(to, e, out),
            Initializer::List(items) => self.initial_items(to, items, init.span, out),
        }
    }

    fn initial_value(&mut self, to: &Lvalue, e: &'a Node<Expression>, out: &mut Firsts<'a>) -> Res<()> {
        match self.type_at(to).plain().clone() {
            CType::Array(t, n) => match (&e.node, t.plain()) {
                (Expression::StringLiteral(s), CType::Int(Type { bits: 8, .. })) => {
                    let text = self.text(s)?;
                    if text.len() as u64 > n {
                        return Err(self.refuse(e.span, "a text that is longer than the array"));
                    }
                    for i in 0..n {
                        let at = self.b.terms().constant(i, ADDRESS);
                        let cell = self.element(to.clone(), at, e.span)?;
                        out.push((cell, First::Number(text.get(i as usize).copied().unwrap_or(0))));
                    }
                    Ok(())
                }
                _ => Err(self.refuse(e.span, "this initial value")),
            },
            CType::Struct(_) => match &e.node {
                Expression::CompoundLiteral(c) => {
                    self.initial_items(to, &c.node.initializer_list, e.span, out)
                }
                _ => {
                    out.push((to.clone(), First::Value(e)));
                    Ok(())
                }
            },
            CType::Sync(_) => {
                match self.constant(e, "this initial value") {
                    Ok(0) => Ok(()),
                    _ => Err(self
                        .refuse(e.span, "an initial value of a lock that is not one of the macros for it")),
                }
            }
            t if t.scalar().is_some() => {
                out.push((to.clone(), First::Value(e)));
                Ok(())
            }
            t => Err(self.refuse(e.span, format!("a variable of type {t}"))),
        }
    }

    fn initial_items(
        &mut self,
        to: &Lvalue,
        items: &'a [Node<InitializerListItem>],
        span: Span,
        out: &mut Firsts<'a>,
    ) -> Res<()> {
        let ctype = self.type_at(to).plain().clone();
        if let [one] = items
            && one.node.designation.is_empty()
            && (ctype.scalar().is_some()
                || matches!(ctype, CType::Array(..)) && is_text(&one.node.initializer))
        {
            return self.initial(to, &one.node.initializer, out);
        }
        match ctype {
            CType::Sync(_) => self.initial_lock(to, items, span),
            CType::Struct(_) | CType::Array(..) => self.fill(to, items, &mut 0, true, out),
            t if t.scalar().is_some() && items.is_empty() => {
                out.push((to.clone(), First::Number(0)));
                Ok(())
            }
            t if t.scalar().is_some() => Err(self.refuse(span, "several values for one variable")),
            t => Err(self.refuse(span, format!("a variable of type {t}"))),
        }
    }

    /// What PTHREAD_MUTEX_INITIALIZER and the like stand for is the state at the start anyway; one number says what kind of mutex.
    fn initial_lock(&mut self, to: &Lvalue, items: &'a [Node<InitializerListItem>], span: Span) -> Res<()> {
        let mut numbers = Vec::new();
        let mut open: Vec<&'a Node<Initializer>> = items.iter().rev().map(|i| &*i.node.initializer).collect();
        while let Some(i) = open.pop() {
            match &i.node {
                Initializer::Expression(e) => numbers.push(self.constant(e, "this initial value")?),
                Initializer::List(more) => open.extend(more.iter().rev().map(|i| &*i.node.initializer)),
            }
        }
        let special: Vec<(usize, i128)> = numbers.into_iter().enumerate().filter(|(_, n)| *n != 0).collect();
        match special[..] {
            [] => Ok(()),
            // The kind of a mutex of glibc.
            [(4, 3)] => Ok(()),
            [(4, kind @ (1 | 2))] => {
                for (_, s) in self.syncs(to, span)? {
                    self.make_mutex(s, MutexKind::of(kind));
                }
                Ok(())
            }
            _ => Err(self.refuse(span, "an initial value of a lock that is not one of the macros for it")),
        }
    }

    /// A part of an array or a structure, by its number.
    fn part(&mut self, of: &Lvalue, n: u64, span: Span) -> Res<Lvalue> {
        match self.type_at(of).plain() {
            CType::Struct(id) => {
                let name = self.structs[*id].order[n as usize].clone();
                self.member(of.clone(), &name, span)
            }
            _ => {
                let n = self.b.terms().constant(n, ADDRESS);
                self.element(of.clone(), n, span)
            }
        }
    }

    /// Values one after the other for the parts of a place; without braces of its own only as many as it has.
    fn fill(
        &mut self,
        to: &Lvalue,
        items: &'a [Node<InitializerListItem>],
        next: &mut usize,
        braced: bool,
        out: &mut Firsts<'a>,
    ) -> Res<()> {
        let (count, order) = match self.type_at(to).plain() {
            CType::Struct(id) => {
                let st = &self.structs[*id];
                let count = if st.union { st.order.len().min(1) } else { st.order.len() };
                (count as u64, st.order.clone())
            }
            CType::Array(_, n) => (*n, Vec::new()),
            t => return Err(self.refuse(items[*next].span, format!("these initial values of {t}"))),
        };
        let (start, mut at) = (*next, 0u64);
        while let Some(item) = items.get(*next) {
            let (span, names) = (item.span, &item.node.designation);
            // What names a part speaks of the place with the braces; one that led here has been dealt with.
            if names.is_empty() || !braced && *next == start {
                if at >= count {
                    if braced {
                        return Err(self.refuse(span, "more values than there are places for them"));
                    }
                    return Ok(());
                }
                let part = self.part(to, at, span)?;
                self.fill_one(&part, items, next, out)?;
                at += 1;
                continue;
            }
            if !braced {
                return Ok(());
            }
            let (from, last) = match &names[0].node {
                Designator::Index(i) => {
                    let n = self.constant(i, "an index")? as u64;
                    (n, n)
                }
                Designator::Range(r) => (
                    self.constant(&r.node.from, "an index")? as u64,
                    self.constant(&r.node.to, "an index")? as u64,
                ),
                Designator::Member(m) => {
                    let ctype = self.type_at(to);
                    let named = order.iter().position(|o| {
                        *o == m.node.name || o.starts_with('?') && self.has_member(&ctype, o, &m.node.name)
                    });
                    let Some(n) = named else { return Err(self.refuse(span, "there is no such field")) };
                    (n as u64, n as u64)
                }
            };
            let union = order.len() as u64 > count;
            if from > last || last >= count && !(union && last < order.len() as u64) {
                return Err(self.refuse(span, "more values than the array has cells"));
            }
            let mut after = *next + 1;
            for n in from..=last {
                let mut part = match &names[0].node {
                    Designator::Member(m) => self.member(to.clone(), &m.node.name, span)?,
                    _ => self.part(to, n, span)?,
                };
                for d in &names[1..] {
                    part = match &d.node {
                        Designator::Member(m) => self.member(part, &m.node.name, span)?,
                        Designator::Index(i) => {
                            let i = self.constant(i, "an index")? as u64;
                            let i = self.b.terms().constant(i, ADDRESS);
                            self.element(part, i, span)?
                        }
                        Designator::Range(_) => return Err(self.refuse(span, "this way to name cells")),
                    };
                }
                after = *next;
                self.fill_one(&part, items, &mut after, out)?;
            }
            *next = after;
            if names.len() > 1 && items.get(*next).is_some_and(|i| i.node.designation.is_empty()) {
                return Err(self.refuse(span, "a value without a name after one for a part of a part"));
            }
            at = last + 1;
        }
        Ok(())
    }

    /// One part, from the next value or, if it is made of several and has no braces, the next values.
    fn fill_one(
        &mut self,
        part: &Lvalue,
        items: &'a [Node<InitializerListItem>],
        next: &mut usize,
        out: &mut Firsts<'a>,
    ) -> Res<()> {
        let init = &*items[*next].node.initializer;
        let whole = match (&init.node, self.type_at(part).plain()) {
            (Initializer::List(_), _) => true,
            (Initializer::Expression(e), CType::Struct(_)) => self.is_aggregate(e),
            (_, CType::Array(..)) => is_text(init),
            _ => true,
        };
        if whole {
            self.initial(part, init, out)?;
            *next += 1;
            return Ok(());
        }
        let before = *next;
        self.fill(part, items, next, false, out)?;
        if *next == before {
            return Err(self.refuse(init.span, "a value for what has no place for one"));
        }
        Ok(())
    }

    /// Whether a field of a structure has a member of a name, itself or in what has no name.
    fn has_member(&self, ctype: &CType, field: &str, name: &str) -> bool {
        let CType::Struct(id) = ctype.plain() else { return false };
        let inner = self.structs[*id].fields.iter().flatten().find(|f| f.0 == field);
        inner.is_some_and(|f| self.member_type(&f.1, name).is_some())
    }

    /// The type of a member.
    pub(crate) fn member_type(&self, ctype: &CType, name: &str) -> Option<CType> {
        let CType::Struct(id) = ctype.plain() else { return None };
        let st = &self.structs[*id];
        let fields = st.fields.as_ref()?;
        if let Some(f) = fields.iter().find(|f| f.0 == name) {
            return Some(f.1.clone());
        }
        if let Some(b) = st.bit_fields.iter().find(|b| b.name == name) {
            return Some(b.ctype.clone());
        }
        fields.iter().filter(|f| f.0.starts_with('?')).find_map(|f| self.member_type(&f.1, name))
    }

    /// Values that are there from the start of the program.
    pub(crate) fn set_initials(&mut self, list: Firsts<'a>) -> Res<()> {
        for (lv, first) in list {
            let ctype = self.type_at(&lv);
            let value = match first {
                First::Number(n) => {
                    let ty = ctype.scalar().unwrap_or(Type::INT);
                    self.b.terms().number(n, ty)
                }
                First::Value(e) => {
                    let dead = std::mem::replace(&mut self.dead, true);
                    let value = self.rvalue(e);
                    self.dead = dead;
                    self.initial_fits(e, &ctype)?;
                    let value = self.convert(value?, &ctype, e.span)?;
                    if self.b.terms().as_const(value).is_none() {
                        return Err(self.refuse(e.span, "an initial value that is not constant"));
                    }
                    value
                }
            };
            let bits = self.b.terms().as_const(value).unwrap_or(0);
            self.set_initial_of(&lv, bits);
        }
        Ok(())
    }

    fn set_initial_of(&mut self, lv: &Lvalue, bits: u64) {
        match lv {
            Lvalue::Path(Path { shape, indices, .. }) => {
                let mut index = 0;
                for (i, len, _) in indices {
                    index = index * len + self.b.terms().as_const(*i).unwrap_or(0);
                }
                if let ShapeKind::Scalar(var) | ShapeKind::Union { var } = shape.kind {
                    self.b.set_initial(var, index, bits);
                }
            }
            Lvalue::Bits { whole, shift, ctype, field } => {
                let width = field.or(ctype.scalar()).unwrap_or(Type::INT).bits;
                let shift = self.b.terms().as_const(*shift).unwrap_or(0);
                let mask = Type::unsigned(width).mask() << shift;
                if let Lvalue::Path(Path { shape, indices, .. }) = &**whole {
                    let mut index = 0;
                    for (i, len, _) in indices {
                        index = index * len + self.b.terms().as_const(*i).unwrap_or(0);
                    }
                    if let ShapeKind::Scalar(var) | ShapeKind::Union { var } = shape.kind {
                        let now = self.b.program().var(var).init[index as usize];
                        self.b.set_initial(var, index, now & !mask | (bits << shift) & mask);
                    }
                }
            }
            Lvalue::Memory { .. } | Lvalue::Cell { .. } => {}
        }
    }

    /// Values that an object gets where it is declared. What a list does not name is zero.
    pub(crate) fn start_with(&mut self, object: usize, list: Firsts<'a>, zero: bool) -> Res<()> {
        if zero {
            let mut named = std::collections::BTreeSet::new();
            for (lv, _) in &list {
                let Lvalue::Path(p) = lv else { continue };
                let mut index = 0;
                for (i, len, _) in &p.indices {
                    index = index * len + self.b.terms().as_const(*i).unwrap_or(0);
                }
                Self::leaves(&p.shape, index, &mut |v, i, _| {
                    named.insert((v, i));
                });
            }
            let mut rest: Vec<(VarId, u64)> = Vec::new();
            let shape: Rc<Shape> = self.objects[object].shape.clone();
            Self::leaves(&shape, 0, &mut |v, i, _| {
                if !named.contains(&(v, i)) {
                    rest.push((v, i));
                }
            });
            for (v, i) in rest {
                let ty = self.b.program().var(v).ty;
                let value = self.b.terms().constant(0, ty);
                self.set_cell(v, i, value);
            }
        }
        for (lv, first) in list {
            let ctype = self.type_at(&lv);
            match first {
                First::Number(n) => {
                    let value = self.b.terms().number(n, ctype.scalar().unwrap_or(Type::INT));
                    self.store(&lv, value, lang_c::span::Span::none())?;
                }
                First::Value(e) if matches!(ctype.plain(), CType::Struct(_)) => {
                    let from = self.lvalue(e)?;
                    self.copy(&lv, &from, e.span)?;
                }
                First::Value(e) => {
                    let value = self.rvalue_for(e, &ctype)?;
                    let value = self.convert(value, &ctype, e.span)?;
                    self.store(&lv, value, e.span)?;
                }
            }
        }
        Ok(())
    }

    // ---- parts of the bits of a variable

    /// A part of something that is made of bits.
    pub(crate) fn bits(&mut self, of: Lvalue, shift: Term, ctype: CType, field: Option<Type>) -> Lvalue {
        match of {
            Lvalue::Bits { whole, shift: from, .. } => {
                let shift = self.b.terms().add(from, shift);
                Lvalue::Bits { whole, shift, ctype, field }
            }
            whole => Lvalue::Bits { whole: Box::new(whole), shift, ctype, field },
        }
    }

    /// All the bits of a union.
    pub(crate) fn unit(&mut self, lv: Lvalue, span: Span) -> Res<Lvalue> {
        let CType::Struct(id) = self.type_at(&lv).plain().clone() else {
            return Err(self.refuse(span, "this is no union"));
        };
        let st = self.structs[id].clone();
        let Some(bits) = self.union_bits(&st) else {
            return Err(self.refuse(
                span,
                "a union of more than 8 bytes, or with other members than integers and pointers",
            ));
        };
        let ctype = CType::Int(Type::unsigned(bits));
        Ok(match lv {
            Lvalue::Path(p) => {
                let ShapeKind::Union { var } = p.shape.kind else {
                    return Err(self.refuse(span, "this union"));
                };
                let shape = Shape { ctype, offset: p.shape.offset, kind: ShapeKind::Scalar(var) };
                Lvalue::Path(Path { shape: Rc::new(shape), ..p })
            }
            Lvalue::Memory { address, .. } => Lvalue::Memory { address, ctype },
            Lvalue::Bits { whole, shift, .. } => Lvalue::Bits { whole, shift, ctype, field: None },
            Lvalue::Cell { .. } => return Err(self.refuse(span, "this union")),
        })
    }

    /// The value of some bits.
    pub(crate) fn load_bits(
        &mut self,
        whole: &Lvalue,
        shift: Term,
        ctype: &CType,
        field: Option<Type>,
        span: Span,
    ) -> Res<Value> {
        let Some(ty) = field.or(ctype.scalar()) else {
            return Err(self.refuse(span, format!("a variable of type {ctype}")));
        };
        let all = self.load(whole, span)?.term;
        let own = self.b.terms().ty(all);
        let own = Type::unsigned(own.bits);
        let all = self.b.terms().cast(own, all);
        let shift = self.b.terms().cast(own, shift);
        let moved = self.b.terms().binary(Binary::Shr, all, shift);
        let term = self.b.terms().cast(ty, moved);
        match field {
            None => {
                if matches!(ctype.plain(), CType::Int(_)) && own.bits == ADDRESS.bits {
                    // It may be a pointer as well.
                    self.note_number(all);
                }
                Ok(Value { term, ctype: ctype.plain().clone() })
            }
            Some(_) => {
                let wide = promoted(ty);
                Ok(Value { term: self.b.terms().cast(wide, term), ctype: CType::Int(wide) })
            }
        }
    }

    /// Bits with others in some places.
    fn with_bits(&mut self, all: Term, shift: Term, bits: u8, value: Term) -> Term {
        let was = self.b.terms().ty(all);
        let own = Type::unsigned(was.bits);
        let all = self.b.terms().cast(own, all);
        let shift = self.b.terms().cast(own, shift);
        let mask = self.b.terms().constant(Type::unsigned(bits).mask(), own);
        let mask = self.b.terms().binary(Binary::Shl, mask, shift);
        let others = self.b.terms().unary(Unary::Not, mask);
        let kept = self.b.terms().binary(Binary::And, all, others);
        let value = self.b.terms().cast(Type::unsigned(bits), value);
        let value = self.b.terms().cast(own, value);
        let value = self.b.terms().binary(Binary::Shl, value, shift);
        let new = self.b.terms().binary(Binary::Or, kept, value);
        self.b.terms().cast(was, new)
    }

    /// Writes some bits.
    pub(crate) fn store_bits(
        &mut self,
        (whole, shift, ctype, field): (&Lvalue, Term, &CType, Option<Type>),
        value: Term,
        span: Span,
    ) -> Res<()> {
        let Some(ty) = field.or(ctype.scalar()) else {
            return Err(self.refuse(span, format!("a variable of type {ctype}")));
        };
        if let Some(ty) = field {
            self.fits(value, ty);
            let all = self.load(whole, span)?.term;
            let new = self.with_bits(all, shift, ty.bits, value);
            return self.store(whole, new, span);
        }
        self.touch(whole, span, &mut |me, place, own| {
            let now = me.current(place, own);
            let new = me.with_bits(now, shift, ty.bits, value);
            me.set(place, new);
            me.learn(place, Some(new));
            Ok(())
        })
    }

    /// What is in a place of the thread at hand, if that is known; else the place.
    fn current(&mut self, place: Place, own: Type) -> Term {
        let index = place.index.map_or(Some(0), |i| self.b.terms().as_const(i));
        let known = index.filter(|_| self.is_tracked(place.var)).and_then(|i| self.env.get(&(place.var, i)));
        match known.copied() {
            Some(bits) => self.b.terms().constant(bits, own),
            None => self.b.terms().read(place, own),
        }
    }

    // ---- bytes

    /// `offsetof`.
    pub(crate) fn offset_of(&mut self, o: &Node<OffsetOfExpression>) -> Res<u64> {
        let mut ctype = self.type_name(&o.node.type_name)?;
        let mut offset = self.offset_in(&mut ctype, &o.node.designator.node.base.node.name, o.span)?;
        for m in &o.node.designator.node.members {
            match &m.node {
                OffsetMember::Member(i) => offset += self.offset_in(&mut ctype, &i.node.name, o.span)?,
                OffsetMember::Index(e) => {
                    let n = self.constant(e, "an index")? as u64;
                    let CType::Array(t, _) = ctype.plain().clone() else {
                        return Err(self.refuse(o.span, "an index into what is no array"));
                    };
                    offset += n * self.layout(&t).0;
                    ctype = (*t).clone();
                }
                OffsetMember::IndirectMember(_) => return Err(self.refuse(o.span, "`->` in `offsetof`")),
            }
        }
        Ok(offset)
    }

    fn offset_in(&self, ctype: &mut CType, name: &str, span: Span) -> Res<u64> {
        let none = || self.refuse(span, format!("there is no field `{name}`"));
        let CType::Struct(id) = ctype.plain().clone() else { return Err(none()) };
        let fields = self.structs[id].fields.clone().unwrap_or_default();
        if let Some(f) = fields.iter().find(|f| f.0 == name) {
            *ctype = f.1.clone();
            return Ok(f.2);
        }
        for f in fields.into_iter().filter(|f| f.0.starts_with('?')) {
            let mut inner = f.1;
            if let Ok(offset) = self.offset_in(&mut inner, name, span) {
                *ctype = inner;
                return Ok(f.2 + offset);
            }
        }
        Err(none())
    }

    /// `memset` of all of an object to zero (or of one made of bytes to any byte), and `memcpy` of one to another of its type.
    pub(crate) fn memory_call(
        &mut self,
        name: &str,
        args: &'a [Node<Expression>],
        span: Span,
    ) -> Res<Option<Value>> {
        if !matches!(name, "memset" | "memcpy" | "memmove" | "__builtin_memset" | "__builtin_memcpy") {
            return Ok(None);
        }
        let [to, what, size] = args else { return Err(self.refuse(span, "three arguments are wanted")) };
        let size = self.constant(size, "how much is set or copied")? as u64;
        let lv = self.all_of(to, size)?;
        if name.ends_with("set") {
            if self.constant(what, "what memory is set to")? != 0 {
                return Err(self.refuse(span, "memory that is set to something else than zero"));
            }
            self.ordered((Order::Plain, Order::Plain), |me| me.zero(&lv, span))?;
        } else {
            let from = self.all_of(what, size)?;
            self.copy(&lv, &from, span)?;
        }
        Ok(Some(Value { term: self.b.terms().constant(0, ADDRESS), ctype: CType::Void }))
    }

    /// What a pointer points to, if it has a size.
    fn all_of(&mut self, e: &'a Node<Expression>, size: u64) -> Res<Lvalue> {
        let inner = match &e.node {
            Expression::Cast(c) => &c.node.expression,
            _ => e,
        };
        // An array is meant as a whole.
        if matches!(inner.node, Expression::Identifier(_) | Expression::Member(_))
            && let Ok(lv) = self.in_dead_code(|me| me.lvalue(inner))
            && matches!(self.type_at(&lv).plain(), CType::Array(..))
            && self.layout(&self.type_at(&lv)).0 == size
        {
            return self.lvalue(inner);
        }
        let lv = self.pointed(inner)?;
        if self.layout(&self.type_at(&lv)).0 != size {
            return Err(self.refuse(e.span, "memory that is set or copied in part"));
        }
        Ok(lv)
    }

    fn zero(&mut self, lv: &Lvalue, span: Span) -> Res<()> {
        match self.type_at(lv).plain().clone() {
            CType::Struct(id) if self.structs[id].union => {
                let unit = self.unit(lv.clone(), span)?;
                self.zero(&unit, span)
            }
            CType::Struct(id) => {
                let fields = self.structs[id].fields.clone().unwrap_or_default();
                for (name, ..) in fields {
                    let part = self.member(lv.clone(), &name, span)?;
                    self.zero(&part, span)?;
                }
                Ok(())
            }
            CType::Array(_, n) => {
                for i in 0..n {
                    let i = self.b.terms().constant(i, ADDRESS);
                    let part = self.element(lv.clone(), i, span)?;
                    self.zero(&part, span)?;
                }
                Ok(())
            }
            t => {
                let Some(ty) = t.scalar() else {
                    return Err(self.refuse(span, format!("{t} that is set to zero")));
                };
                let zero = self.b.terms().constant(0, ty);
                self.store(lv, zero, span)
            }
        }
    }
}
