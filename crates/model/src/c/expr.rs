//! Expressions: to terms over locals, with a step for every shared access on the way.

use super::ctype::{ADDRESS, CType, Shape, ShapeKind};
use super::lower::{Entity, Join, Lowering, Res};
use crate::program::{ErrorKind, SyncId};
use crate::term::{Binary, Node as TermNode, Place, Term, Type, Unary, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::rc::Rc;

/// A value with its type.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) term: Term,
    pub(crate) ctype: CType,
}

/// A part of an object: the way there through fields and indices.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) object: usize,
    pub(crate) shape: Rc<Shape>,
    /// Index (64 bits), length of the array, distance of its elements.
    pub(crate) indices: Vec<(Term, u64, u64)>,
}

/// Something that has an address.
#[derive(Clone, Debug)]
pub(crate) enum Lvalue {
    Path(Path),
    /// What a pointer points to.
    Memory {
        address: Term,
        ctype: CType,
    },
    /// A cell of an array that a pointer is known to point into.
    Cell {
        var: VarId,
        index: Term,
        address: Term,
        ctype: CType,
    },
    /// Some bits of a variable: a member of a union, or a bit-field.
    Bits {
        whole: Box<Lvalue>,
        /// From which bit on.
        shift: Term,
        ctype: CType,
        /// How many bits it has, if it is a bit-field.
        field: Option<Type>,
    },
}

/// The type after the integer promotions.
pub(crate) fn promoted(t: Type) -> Type {
    if t.bits < 32 { Type::INT } else { t }
}

/// The type of an operation on two integers.
pub(crate) fn common(a: Type, b: Type) -> Type {
    let (a, b) = (promoted(a), promoted(b));
    if a.bits == b.bits {
        Type { bits: a.bits, signed: a.signed && b.signed }
    } else if a.bits > b.bits {
        a
    } else {
        b
    }
}

/// What is done to a cell.
type Touch<'f, 'a> = &'f mut dyn FnMut(&mut Lowering<'a>, Place, Type) -> Res<()>;

/// A set of cells at regular distances, for a pointer to point into.
#[derive(Clone, Copy)]
struct Cells {
    var: VarId,
    base: u64,
    stride: u64,
    first: u64,
    count: u64,
}

impl<'a> Lowering<'a> {
    /// An expression whose value nobody wants.
    pub(crate) fn effect(&mut self, e: &'a Node<Expression>) -> Res<()> {
        if self.printed(e)? {
            return Ok(());
        }
        self.rvalue(e).map(|_| ())
    }

    /// A number that is known now.
    pub(crate) fn constant(&mut self, e: &Node<Expression>, what: &str) -> Res<i128> {
        match self.fold(e)? {
            Some(v) => Ok(v),
            None => Err(self.refuse(e.span, format!("{what} is not constant"))),
        }
    }

    /// The value of an expression without effects, where it is a constant.
    fn fold(&mut self, e: &Node<Expression>) -> Res<Option<i128>> {
        let Some((bits, ty)) = self.fold_bits(e)? else { return Ok(None) };
        Ok(Some(ty.value(bits)))
    }

    fn fold_bits(&mut self, e: &Node<Expression>) -> Res<Option<(u64, Type)>> {
        Ok(match &e.node {
            Expression::Constant(c) => {
                let (v, ctype) = self.literal(c)?;
                ctype.scalar().map(|ty| (ty.bits_of(v), ty))
            }
            Expression::Identifier(i) => match self.lookup(&i.node.name) {
                Some(Entity::Constant(v, t)) => t.scalar().map(|ty| (ty.bits_of(v), ty)),
                Some(Entity::Object(o)) => match self.objects[o].shape.kind {
                    ShapeKind::Scalar(v) => {
                        let ty = self.b.program().var(v).ty;
                        self.env.get(&(v, 0)).map(|bits| (*bits, ty))
                    }
                    _ => None,
                },
                _ => None,
            },
            Expression::UnaryOperator(u) => {
                let Some((bits, ty)) = self.fold_bits(&u.node.operand)? else { return Ok(None) };
                let p = promoted(ty);
                let v = p.bits_of(ty.value(bits));
                match u.node.operator.node {
                    UnaryOperator::Plus => Some((v, p)),
                    UnaryOperator::Minus => {
                        self.constant_fits(-p.value(v), p, e)?;
                        Some((crate::apply_unary(Unary::Neg, v, p), p))
                    }
                    UnaryOperator::Complement => Some((crate::apply_unary(Unary::Not, v, p), p)),
                    UnaryOperator::Negate => Some(((bits == 0) as u64, Type::INT)),
                    _ => None,
                }
            }
            Expression::BinaryOperator(b) => {
                let (Some((x, tx)), Some((y, ty))) =
                    (self.fold_bits(&b.node.lhs)?, self.fold_bits(&b.node.rhs)?)
                else {
                    return Ok(None);
                };
                let shift =
                    matches!(b.node.operator.node, BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight);
                let t = if shift { promoted(tx) } else { common(tx, ty) };
                let (u, v) = (t.bits_of(tx.value(x)), t.bits_of(ty.value(y)));
                let truth = |b: bool| Some((b as u64, Type::INT));
                match b.node.operator.node {
                    BinaryOperator::LogicalAnd => truth(x != 0 && y != 0),
                    BinaryOperator::LogicalOr => truth(x != 0 || y != 0),
                    BinaryOperator::NotEquals => truth(u != v),
                    BinaryOperator::Greater => truth(t.value(u) > t.value(v)),
                    BinaryOperator::GreaterOrEqual => truth(t.value(u) >= t.value(v)),
                    ref op => {
                        let Some(op) = arithmetic(op) else { return Ok(None) };
                        if matches!(op, Binary::Div | Binary::Rem) && v == 0 {
                            return Ok(None);
                        }
                        let (m, n) = (t.value(u), t.value(v));
                        let exact = match op {
                            Binary::Add => Some(m + n),
                            Binary::Sub => Some(m - n),
                            Binary::Mul => m.checked_mul(n),
                            Binary::Shl if m >= 0 && n < 64 => m.checked_mul(1 << n),
                            Binary::Shl => None,
                            _ => Some(0),
                        };
                        self.constant_fits(exact.unwrap_or(i128::MAX), t, e)?;
                        let result = if op.is_comparison() { Type::INT } else { t };
                        Some((crate::apply_binary(op, u, v, t), result))
                    }
                }
            }
            Expression::Conditional(c) => match self.fold(&c.node.condition)? {
                None => None,
                Some(0) => self.fold_bits(&c.node.else_expression)?,
                Some(_) => self.fold_bits(&c.node.then_expression)?,
            },
            Expression::Cast(c) => {
                let Some(to) = self.type_name(&c.node.type_name)?.scalar() else { return Ok(None) };
                let Some((v, from)) = self.fold_bits(&c.node.expression)? else { return Ok(None) };
                self.constant_fits(from.value(v), to, e)?;
                Some(if to == Type::BOOL { ((v != 0) as u64, to) } else { (crate::convert(v, from, to), to) })
            }
            Expression::SizeOfTy(t) => {
                let t = self.type_name(&t.node.0)?;
                Some((self.layout(&t).0, Type::unsigned(64)))
            }
            Expression::SizeOfVal(v) => {
                let t = self.type_of(&v.node.0)?;
                Some((self.layout(&t).0, Type::unsigned(64)))
            }
            Expression::AlignOf(t) => {
                let t = self.type_name(&t.node.0)?;
                Some((self.layout(&t).1, Type::unsigned(64)))
            }
            Expression::OffsetOf(o) => Some((self.offset_of(o)?, Type::unsigned(64))),
            Expression::GenericSelection(g) => {
                let chosen = self.chosen(g)?;
                self.fold_bits(chosen)?
            }
            _ => None,
        })
    }

    /// Where overflows are looked for: a constant that does not fit its type is refused.
    fn constant_fits(&self, v: i128, ty: Type, e: &Node<Expression>) -> Res<()> {
        if self.options.overflow && ty.signed && !(ty.min()..=ty.max()).contains(&v) {
            return Err(
                self.refuse(e.span, "a constant that does not fit its type, where overflows are errors")
            );
        }
        Ok(())
    }

    /// The same for the first value of a variable.
    pub(crate) fn initial_fits(&mut self, e: &Node<Expression>, to: &CType) -> Res<()> {
        if !self.options.overflow {
            return Ok(());
        }
        match (self.fold(e)?, to.scalar()) {
            (Some(v), Some(ty)) => self.constant_fits(v, ty, e),
            _ => Ok(()),
        }
    }

    fn literal(&mut self, c: &Node<Constant>) -> Res<(i128, CType)> {
        match &c.node {
            Constant::Integer(i) => {
                let radix = match i.base {
                    IntegerBase::Decimal => 10,
                    IntegerBase::Octal => 8,
                    IntegerBase::Hexadecimal => 16,
                    IntegerBase::Binary => 2,
                };
                let digits = if i.number.is_empty() { "0" } else { &i.number };
                let v = i128::from_str_radix(digits, radix)
                    .map_err(|_| self.refuse(c.span, format!("the number {}", i.number)))?;
                let long = i.suffix.size != IntegerSize::Int;
                let unsigned_too = radix != 10 || i.suffix.unsigned;
                let fits = |t: Type| (t.min()..=t.max()).contains(&v);
                let list = [Type::signed(32), Type::unsigned(32), Type::signed(64), Type::unsigned(64)];
                let ty = list
                    .into_iter()
                    .filter(|t| !long || t.bits == 64)
                    .filter(|t| if t.signed { !i.suffix.unsigned } else { unsigned_too })
                    .find(|t| fits(*t));
                match ty {
                    Some(ty) => Ok((v, CType::Int(ty))),
                    None => Err(self.refuse(c.span, format!("the number {} is too large", i.number))),
                }
            }
            Constant::Character(text) => {
                let v =
                    character(text).ok_or_else(|| self.refuse(c.span, format!("the character {text}")))?;
                Ok((v, CType::INT))
            }
            Constant::Float(_) => Err(self.refuse(c.span, "a floating-point number")),
        }
    }

    pub(crate) fn value(&mut self, v: i128, ty: Type) -> Value {
        Value { term: self.b.terms().number(v, ty), ctype: CType::Int(ty) }
    }

    fn nothing(&mut self) -> Value {
        Value { term: self.b.terms().int(0), ctype: CType::Void }
    }

    /// The type of an expression that is not evaluated.
    pub(crate) fn type_of(&mut self, e: &Node<Expression>) -> Res<CType> {
        // The tree lives as long as the lowering; only this function does not say so.
        match &e.node {
            Expression::Identifier(i) => match self.lookup(&i.node.name) {
                Some(Entity::Object(o)) => Ok(self.objects[o].shape.ctype.clone()),
                Some(Entity::Constant(_, t)) => Ok(t),
                Some(Entity::Function) => {
                    let result = self.result_of(&i.node.name).unwrap_or(CType::INT);
                    Ok(CType::Pointer(Rc::new(CType::Function(Rc::new(result)))))
                }
                None if self.global_types.contains_key(&i.node.name) => {
                    Ok(self.global_types[&i.node.name].clone())
                }
                _ => Err(self.refuse(e.span, "the type of this")),
            },
            Expression::UnaryOperator(u) => {
                let inner = self.type_of(&u.node.operand)?;
                match (&u.node.operator.node, inner.plain()) {
                    (UnaryOperator::Indirection, CType::Pointer(t) | CType::Array(t, _)) => Ok((**t).clone()),
                    (UnaryOperator::Address, t) => Ok(CType::Pointer(Rc::new(t.clone()))),
                    (
                        UnaryOperator::Plus | UnaryOperator::Minus | UnaryOperator::Complement,
                        CType::Int(t),
                    ) => Ok(CType::Int(promoted(*t))),
                    (UnaryOperator::Negate, _) => Ok(CType::INT),
                    (_, t) => Ok(t.clone()),
                }
            }
            Expression::BinaryOperator(b) => {
                use BinaryOperator::*;
                // Whatever is compared, the answer is a number.
                let op = &b.node.operator.node;
                if matches!(
                    op,
                    LogicalAnd
                        | LogicalOr
                        | Equals
                        | NotEquals
                        | Less
                        | LessOrEqual
                        | Greater
                        | GreaterOrEqual
                ) {
                    return Ok(CType::INT);
                }
                let (l, r) = (self.type_of(&b.node.lhs)?, self.type_of(&b.node.rhs)?);
                match (op, l.plain(), r.plain()) {
                    (BinaryOperator::Index, CType::Pointer(t) | CType::Array(t, _), _) => Ok((**t).clone()),
                    (op, t, _) if is_assignment(op) => Ok(t.clone()),
                    (Minus, CType::Pointer(_) | CType::Array(..), CType::Pointer(_) | CType::Array(..)) => {
                        Ok(CType::Int(Type::signed(64)))
                    }
                    (Plus | Minus, CType::Pointer(t) | CType::Array(t, _), _)
                    | (Plus, _, CType::Pointer(t) | CType::Array(t, _)) => Ok(CType::Pointer(t.clone())),
                    (ShiftLeft | ShiftRight, CType::Int(x), _) => Ok(CType::Int(promoted(*x))),
                    (op, CType::Int(x), CType::Int(y))
                        if arithmetic(op).is_some_and(|o| !o.is_comparison()) =>
                    {
                        Ok(CType::Int(common(*x, *y)))
                    }
                    _ => Err(self.refuse(e.span, "the type of this")),
                }
            }
            Expression::Member(m) => {
                let inner = self.type_of(&m.node.expression)?;
                let inner = match inner.plain() {
                    CType::Pointer(t) => (**t).clone(),
                    other => other.clone(),
                };
                let name = &m.node.identifier.node.name;
                let found = self.member_type(&inner, name);
                found.ok_or_else(|| self.refuse(e.span, format!("there is no field `{name}`")))
            }
            Expression::Constant(c) => Ok(self.literal(c)?.1),
            Expression::Cast(c) => self.type_name(&c.node.type_name),
            Expression::SizeOfTy(_)
            | Expression::SizeOfVal(_)
            | Expression::AlignOf(_)
            | Expression::OffsetOf(_) => Ok(CType::Int(Type::unsigned(64))),
            Expression::StringLiteral(s) => {
                let n = self.text(s)?.len() as u64 + 1;
                Ok(CType::Array(Rc::new(CType::Int(Type::signed(8))), n))
            }
            Expression::CompoundLiteral(c) => match self.type_name(&c.node.type_name)? {
                CType::OpenArray(t) => {
                    let n = self.cells_named(&t, &c.node.initializer_list)?;
                    Ok(CType::Array(t, n))
                }
                t => Ok(t),
            },
            Expression::Comma(list) => self.type_of(list.last().expect("a comma has two sides")),
            Expression::GenericSelection(g) => {
                let chosen = self.chosen(g)?;
                self.type_of(chosen)
            }
            Expression::Call(c) => {
                if let Expression::Identifier(i) = &c.node.callee.node
                    && let Some(t) = self.result_of(&i.node.name)
                {
                    return Ok(t);
                }
                let callee = self.type_of(&c.node.callee)?;
                match callee.plain() {
                    CType::Pointer(t) => match t.plain() {
                        CType::Function(t) => Ok((**t).clone()),
                        _ => Err(self.refuse(e.span, "the type of this")),
                    },
                    CType::Function(t) => Ok((**t).clone()),
                    _ => Err(self.refuse(e.span, "the type of this")),
                }
            }
            Expression::Conditional(c) => {
                let x = self.type_of(&c.node.then_expression)?;
                let y = self.type_of(&c.node.else_expression)?;
                match (x.plain(), y.plain()) {
                    (CType::Int(x), CType::Int(y)) => Ok(CType::Int(common(*x, *y))),
                    (x, y) if x == y => Ok(x.clone()),
                    (CType::Pointer(t), CType::Pointer(u)) if **t == CType::Void => {
                        Ok(CType::Pointer(u.clone()))
                    }
                    (x @ CType::Pointer(_), _) | (_, x @ CType::Pointer(_)) => Ok(x.clone()),
                    _ => Err(self.refuse(e.span, "the type of this")),
                }
            }
            _ => Err(self.refuse(e.span, "the type of this")),
        }
    }

    /// The offset and the type of a field.
    fn field(&mut self, ctype: &CType, name: &str, span: Span) -> Res<(u64, CType)> {
        let CType::Struct(id) = ctype.plain() else {
            return Err(self.refuse(span, format!("{ctype} has no field `{name}`")));
        };
        let st = &self.structs[*id];
        let found = st.fields.as_ref().and_then(|f| f.iter().find(|f| f.0 == name));
        let found = found.map(|f| (f.2, f.1.clone()));
        found.ok_or_else(|| self.refuse(span, format!("there is no field `{name}`")))
    }

    // ---- conversions

    /// A value as one of another type.
    pub(crate) fn convert(&mut self, v: Value, to: &CType, span: Span) -> Res<Term> {
        let (Some(from), Some(ty)) = (v.ctype.scalar(), to.scalar()) else {
            if matches!(v.ctype, CType::Void) && self.dead {
                let ty = to.scalar().unwrap_or(Type::INT);
                return Ok(self.b.terms().constant(0, ty));
            }
            return Err(self.refuse(span, format!("{} as {}", v.ctype, to)));
        };
        if ty == Type::BOOL && from != Type::BOOL {
            return Ok(self.b.terms().truth(v.term));
        }
        if !matches!(v.ctype.plain(), CType::Pointer(_)) {
            self.fits(v.term, ty);
        }
        Ok(self.b.terms().cast(ty, v.term))
    }

    /// A value as a truth value.
    fn truth(&mut self, v: &Value, span: Span) -> Res<Term> {
        if v.ctype.scalar().is_none() {
            return Err(self.refuse(span, format!("{} as a condition", v.ctype)));
        }
        Ok(self.b.terms().truth(v.term))
    }

    /// An expression as a truth value.
    pub(crate) fn condition(&mut self, e: &'a Node<Expression>) -> Res<Term> {
        let v = self.rvalue(e)?;
        self.truth(&v, e.span)
    }

    fn of_truth(&mut self, t: Term) -> Value {
        Value { term: self.b.terms().cast(Type::INT, t), ctype: CType::INT }
    }

    // ---- control

    /// Goes to one of two places.
    pub(crate) fn branch(&mut self, e: &'a Node<Expression>, yes: &mut Join, no: &mut Join) -> Res<()> {
        if !self.is_pure(e) {
            match &e.node {
                Expression::BinaryOperator(b) if b.node.operator.node == BinaryOperator::LogicalAnd => {
                    let mut between = self.join();
                    self.branch(&b.node.lhs, &mut between, no)?;
                    self.land(between);
                    return self.branch(&b.node.rhs, yes, no);
                }
                Expression::BinaryOperator(b) if b.node.operator.node == BinaryOperator::LogicalOr => {
                    let mut between = self.join();
                    self.branch(&b.node.lhs, yes, &mut between)?;
                    self.land(between);
                    return self.branch(&b.node.rhs, yes, no);
                }
                Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Negate => {
                    return self.branch(&u.node.operand, no, yes);
                }
                _ => {}
            }
        }
        let c = self.condition(e)?;
        self.fork(c, yes, no, e.span)
    }

    /// Whether an expression is a term: no effects, no shared access, nothing to check.
    pub(crate) fn is_pure(&self, e: &Node<Expression>) -> bool {
        match &e.node {
            Expression::Identifier(i) => match self.lookup(&i.node.name) {
                Some(Entity::Object(o)) => match self.objects[o].shape.kind {
                    ShapeKind::Scalar(v) => !self.b.program().var(v).is_shared(),
                    _ => false,
                },
                Some(Entity::Constant(..)) => true,
                _ => false,
            },
            Expression::Constant(_) | Expression::SizeOfTy(_) | Expression::SizeOfVal(_) => true,
            Expression::UnaryOperator(u) => {
                use UnaryOperator::*;
                matches!(u.node.operator.node, Plus | Minus | Complement | Negate)
                    && !(self.options.overflow && u.node.operator.node == Minus)
                    && self.is_pure(&u.node.operand)
            }
            Expression::BinaryOperator(b) => {
                use BinaryOperator::*;
                let op = &b.node.operator.node;
                let fine = matches!(
                    op,
                    Multiply
                        | Plus
                        | Minus
                        | Less
                        | Greater
                        | LessOrEqual
                        | GreaterOrEqual
                        | Equals
                        | NotEquals
                        | BitwiseAnd
                        | BitwiseXor
                        | BitwiseOr
                        | LogicalAnd
                        | LogicalOr
                );
                let checked = self.options.overflow && matches!(op, Multiply | Plus | Minus);
                fine && !checked && self.is_pure(&b.node.lhs) && self.is_pure(&b.node.rhs)
            }
            Expression::Conditional(c) => {
                self.is_pure(&c.node.condition)
                    && self.is_pure(&c.node.then_expression)
                    && self.is_pure(&c.node.else_expression)
            }
            Expression::Cast(c) => !self.options.overflow && self.is_pure(&c.node.expression),
            _ => false,
        }
    }

    // ---- values

    pub(crate) fn rvalue(&mut self, e: &'a Node<Expression>) -> Res<Value> {
        match &e.node {
            Expression::Constant(c) => {
                let (v, ctype) = self.literal(c)?;
                let ty = ctype.scalar().expect("numbers are scalars");
                Ok(Value { term: self.b.terms().number(v, ty), ctype })
            }
            Expression::Identifier(i) => match self.lookup(&i.node.name) {
                Some(Entity::Constant(v, ctype)) => {
                    let ty = ctype.scalar().unwrap_or(Type::INT);
                    Ok(Value { term: self.b.terms().number(v, ty), ctype })
                }
                Some(Entity::Object(_)) => {
                    let lv = self.lvalue(e)?;
                    self.load(&lv, e.span)
                }
                Some(Entity::Typedef(_)) => Err(self.refuse(e.span, "a type where a value is wanted")),
                Some(Entity::Function) => {
                    let address = self.function_address(&i.node.name);
                    let term = self.b.terms().constant(address, ADDRESS);
                    let result = self.result_of(&i.node.name).unwrap_or(CType::Void);
                    let ctype = CType::Pointer(Rc::new(CType::Function(Rc::new(result))));
                    Ok(Value { term, ctype })
                }
                None => Err(self.refuse(e.span, format!("`{}` is not known", i.node.name))),
            },
            Expression::StringLiteral(_) | Expression::CompoundLiteral(_) | Expression::Member(_) => {
                let lv = self.lvalue(e)?;
                self.load(&lv, e.span)
            }
            Expression::Call(c) => self.call(c),
            Expression::SizeOfTy(t) => {
                let t = self.type_name(&t.node.0)?;
                let size = self.layout(&t).0;
                Ok(self.value(size as i128, Type::unsigned(64)))
            }
            Expression::SizeOfVal(v) => {
                let t = self.type_of(&v.node.0)?;
                let size = self.layout(&t).0;
                Ok(self.value(size as i128, Type::unsigned(64)))
            }
            Expression::AlignOf(t) => {
                let t = self.type_name(&t.node.0)?;
                let align = self.layout(&t).1;
                Ok(self.value(align as i128, Type::unsigned(64)))
            }
            Expression::UnaryOperator(u) => self.unary(u, e.span),
            Expression::Cast(c) => {
                let to = self.type_name(&c.node.type_name)?;
                if to == CType::Void {
                    // What has no value that can be used may still be named.
                    if let Expression::Identifier(i) = &c.node.expression.node
                        && matches!(self.lookup(&i.node.name), Some(Entity::Object(o))
                            if self.objects[o].shape.ctype.scalar().is_none())
                    {
                        return Ok(self.nothing());
                    }
                    self.effect(&c.node.expression)?;
                    return Ok(self.nothing());
                }
                let v = self.rvalue(&c.node.expression)?;
                let term = self.convert(v, &to, e.span)?;
                Ok(Value { term, ctype: to.plain().clone() })
            }
            Expression::BinaryOperator(b) => self.binary(b, e),
            Expression::Conditional(c) => self.conditional(c, e),
            Expression::Comma(list) => {
                let (last, first) = list.split_last().expect("a comma has two sides");
                for e in first {
                    self.effect(e)?;
                }
                self.rvalue(last)
            }
            Expression::Statement(s) => self.statement_expression(s),
            Expression::GenericSelection(g) => {
                let chosen = self.chosen(g)?;
                self.rvalue(chosen)
            }
            Expression::OffsetOf(o) => {
                let offset = self.offset_of(o)?;
                Ok(self.value(offset as i128, Type::unsigned(64)))
            }
            Expression::VaArg(_) => Err(self.refuse(e.span, "a variable number of arguments")),
        }
    }

    fn statement_expression(&mut self, s: &'a Node<Statement>) -> Res<Value> {
        let Statement::Compound(items) = &s.node else {
            return Err(self.refuse(s.span, "this statement as a value"));
        };
        if let Some((Node { node: BlockItem::Statement(last), .. }, first)) = items.split_last()
            && let Statement::Expression(Some(e)) = &last.node
        {
            self.open();
            for i in first {
                self.block_item(i)?;
            }
            let value = self.rvalue(e)?;
            self.close();
            // The value outlives the variables that it may speak of.
            let term = self.keep(value.term);
            return Ok(Value { term, ctype: value.ctype });
        }
        self.compound(items)?;
        Ok(self.nothing())
    }

    /// The expression that a generic selection chooses.
    fn chosen<'g>(&mut self, g: &'g Node<GenericSelection>) -> Res<&'g Node<Expression>> {
        let ctype = match self.type_of(&g.node.expression)?.plain() {
            CType::Array(t, _) => CType::Pointer(t.clone()),
            t => t.clone(),
        };
        let mut default = None;
        for a in &g.node.associations {
            match &a.node {
                GenericAssociation::Type(t) => {
                    if self.type_name(&t.node.type_name)? == ctype {
                        return Ok(&t.node.expression);
                    }
                }
                GenericAssociation::Default(e) => default = Some(&**e),
            }
        }
        default.ok_or_else(|| self.refuse(g.span, "a generic selection without this type"))
    }

    fn conditional(&mut self, c: &'a Node<ConditionalExpression>, e: &'a Node<Expression>) -> Res<Value> {
        if self.is_pure(e) {
            let condition = self.condition(&c.node.condition)?;
            let (a, b) = (self.rvalue(&c.node.then_expression)?, self.rvalue(&c.node.else_expression)?);
            let ctype = self.unite(&a, &b, e.span)?;
            let (a, b) = (self.convert(a, &ctype, e.span)?, self.convert(b, &ctype, e.span)?);
            return Ok(Value { term: self.b.terms().ite(condition, a, b), ctype });
        }
        let (mut yes, mut no, mut after) = (self.join(), self.join(), self.join());
        self.branch(&c.node.condition, &mut yes, &mut no)?;
        self.land(yes);
        let a = self.rvalue(&c.node.then_expression)?;
        let a_end = (self.b.here(self.t), self.env.clone(), self.dead);
        self.land(no);
        let b = self.rvalue(&c.node.else_expression)?;
        if a.ctype == CType::Void || b.ctype == CType::Void {
            self.jump(&mut after, e.span)?;
            self.b.go_on_at(self.t, a_end.0);
            (self.env, self.dead) = (a_end.1, a_end.2);
            self.jump(&mut after, e.span)?;
            self.land(after);
            return Ok(self.nothing());
        }
        let ctype = self.unite(&a, &b, e.span)?;
        let ty = ctype.scalar().unwrap_or(Type::INT);
        let result = self.temporary(ty);
        let b = self.convert(b, &ctype, e.span)?;
        self.set_var(result, b);
        self.jump(&mut after, e.span)?;
        self.b.go_on_at(self.t, a_end.0);
        (self.env, self.dead) = (a_end.1, a_end.2);
        let a = self.convert(a, &ctype, e.span)?;
        self.set_var(result, a);
        self.jump(&mut after, e.span)?;
        self.land(after);
        Ok(Value { term: self.local_value(result), ctype })
    }

    /// The type of a choice between two values.
    fn unite(&mut self, a: &Value, b: &Value, span: Span) -> Res<CType> {
        match (a.ctype.plain(), b.ctype.plain()) {
            (CType::Int(x), CType::Int(y)) => Ok(CType::Int(common(*x, *y))),
            (CType::Pointer(x), y @ CType::Pointer(_)) if **x == CType::Void => Ok(y.clone()),
            (CType::Pointer(_), _) => Ok(a.ctype.plain().clone()),
            (_, CType::Pointer(_)) => Ok(b.ctype.plain().clone()),
            _ => Err(self.refuse(span, format!("a choice between {} and {}", a.ctype, b.ctype))),
        }
    }

    /// The value of a local: known, or the variable.
    pub(crate) fn local_value(&mut self, v: VarId) -> Term {
        let ty = self.b.program().var(v).ty;
        match self.env.get(&(v, 0)) {
            Some(bits) if !self.b.program().var(v).is_shared() => self.b.terms().constant(*bits, ty),
            _ => self.b.terms().var(v, ty),
        }
    }

    fn unary(&mut self, u: &'a Node<UnaryOperatorExpression>, span: Span) -> Res<Value> {
        let operand = &u.node.operand;
        match u.node.operator.node {
            UnaryOperator::Plus | UnaryOperator::Minus | UnaryOperator::Complement => {
                let v = self.rvalue(operand)?;
                let CType::Int(t) = v.ctype.plain() else {
                    return Err(self.refuse(span, format!("arithmetic on {}", v.ctype)));
                };
                let ty = promoted(*t);
                let term = self.b.terms().cast(ty, v.term);
                if u.node.operator.node == UnaryOperator::Minus && ty.signed && self.options.overflow {
                    let least = self.b.terms().number(ty.min(), ty);
                    let ok = self.b.terms().ne(term, least);
                    self.check(ok, ErrorKind::Overflow, OVERFLOW);
                }
                let term = match u.node.operator.node {
                    UnaryOperator::Minus => self.b.terms().unary(Unary::Neg, term),
                    UnaryOperator::Complement => self.b.terms().unary(Unary::Not, term),
                    _ => term,
                };
                Ok(Value { term, ctype: CType::Int(ty) })
            }
            UnaryOperator::Negate => {
                let c = self.condition(operand)?;
                let not = self.b.terms().not(c);
                Ok(self.of_truth(not))
            }
            UnaryOperator::Address => {
                if let Expression::Identifier(i) = &operand.node
                    && matches!(self.lookup(&i.node.name), Some(Entity::Function))
                {
                    return self.rvalue(operand);
                }
                // The place just behind an array has an address too.
                self.past_end = matches!(&operand.node, Expression::BinaryOperator(b)
                    if b.node.operator.node == BinaryOperator::Index);
                let lv = self.lvalue(operand);
                self.past_end = false;
                self.address(&lv?, span)
            }
            UnaryOperator::Indirection => {
                let lv = self.pointed(operand)?;
                self.load(&lv, span)
            }
            UnaryOperator::PreIncrement | UnaryOperator::PreDecrement => {
                let by = if u.node.operator.node == UnaryOperator::PreIncrement { 1 } else { -1 };
                let lv = self.lvalue(operand)?;
                self.count(&lv, by, true, span)
            }
            UnaryOperator::PostIncrement | UnaryOperator::PostDecrement => {
                let by = if u.node.operator.node == UnaryOperator::PostIncrement { 1 } else { -1 };
                let lv = self.lvalue(operand)?;
                self.count(&lv, by, false, span)
            }
        }
    }

    /// Counts an lvalue up or down.
    fn count(&mut self, lv: &Lvalue, by: i128, new: bool, span: Span) -> Res<Value> {
        let ctype = self.type_at(lv);
        let mut plus = |me: &mut Self, old: Term| match ctype.plain() {
            CType::Pointer(t) => {
                let size = me.layout(t).0 as i128;
                let step = me.b.terms().number(by * size, ADDRESS);
                Ok(me.b.terms().add(old, step))
            }
            CType::Int(Type::BOOL) => {
                let v = me.b.terms().cast(Type::INT, old);
                let one = me.b.terms().number(by, Type::INT);
                let sum = me.b.terms().add(v, one);
                Ok(me.b.terms().truth(sum))
            }
            CType::Int(t) => {
                let one = me.b.terms().number(by, *t);
                Ok(me.b.terms().add(old, one))
            }
            other => Err(me.refuse(span, format!("arithmetic on {other}"))),
        };
        if ctype.is_atomic() {
            self.no_signed_atomic(&ctype, span)?;
            return self.update(lv, new, span, &mut plus);
        }
        let mut old = self.load(lv, span)?;
        // A bit-field is promoted where it is read.
        if let Some(ty) = ctype.scalar() {
            old.term = self.b.terms().cast(ty, old.term);
        }
        if let CType::Int(t) = ctype.plain()
            && *t != Type::BOOL
            && (t.signed || promoted(*t).signed)
        {
            let wide = promoted(*t);
            let (a, one) = (self.b.terms().cast(wide, old.term), self.b.terms().number(by, wide));
            self.no_overflow(Binary::Add, a, one);
            let sum = self.b.terms().add(a, one);
            self.fits(sum, *t);
        }
        let sum = plus(self, old.term)?;
        if new {
            self.store(lv, sum, span)?;
            // The new value, whoever writes there next.
            return Ok(Value { term: self.fixed(sum, lv), ctype: ctype.plain().clone() });
        }
        let kept = self.keep(old.term);
        self.store(lv, sum, span)?;
        Ok(Value { term: kept, ctype: ctype.plain().clone() })
    }

    /// A term that stays what it is although locals change: a copy, if it reads any that is no temporary.
    pub(crate) fn keep(&mut self, term: Term) -> Term {
        let mut reads = false;
        let program = self.b.program();
        program.terms.places(term, &mut |p| reads |= !program.name(p.var).contains('%'));
        if !reads || self.dead {
            return term;
        }
        let ty = self.b.terms().ty(term);
        let copy = self.temporary(ty);
        self.set_var(copy, term);
        self.local_value(copy)
    }

    /// The value that was just stored: read back from a local, else the term itself, which reads temporaries.
    fn fixed(&mut self, stored: Term, lv: &Lvalue) -> Term {
        match lv {
            Lvalue::Path(p) if p.indices.is_empty() => match p.shape.kind {
                ShapeKind::Scalar(v) if !self.b.program().var(v).is_shared() => self.local_value(v),
                _ => stored,
            },
            // A bit-field has only so many of the bits.
            Lvalue::Bits { field: Some(ty), ctype, .. } => {
                let cut = self.b.terms().cast(*ty, stored);
                match ctype.scalar() {
                    Some(wide) => self.b.terms().cast(wide, cut),
                    None => cut,
                }
            }
            _ => stored,
        }
    }

    fn binary(&mut self, b: &'a Node<BinaryOperatorExpression>, e: &'a Node<Expression>) -> Res<Value> {
        use BinaryOperator::*;
        let (l, r) = (&b.node.lhs, &b.node.rhs);
        match &b.node.operator.node {
            Index => {
                let lv = self.lvalue(e)?;
                self.load(&lv, e.span)
            }
            LogicalAnd | LogicalOr => {
                if self.is_pure(r) {
                    let (x, y) = (self.condition(l)?, self.condition(r)?);
                    let both = b.node.operator.node == LogicalAnd;
                    let term = if both { self.b.terms().and(x, y) } else { self.b.terms().or(x, y) };
                    return Ok(self.of_truth(term));
                }
                let (mut yes, mut no, mut after) = (self.join(), self.join(), self.join());
                self.branch(e, &mut yes, &mut no)?;
                let result = self.temporary(Type::BOOL);
                for (j, v) in [(yes, true), (no, false)] {
                    self.land(j);
                    let v = self.b.terms().boolean(v);
                    self.set_var(result, v);
                    self.jump(&mut after, e.span)?;
                }
                self.land(after);
                let term = self.local_value(result);
                Ok(self.of_truth(term))
            }
            Assign => {
                let ctype = self.type_of(l).unwrap_or(CType::Void);
                if matches!(ctype.plain(), CType::Struct(_)) {
                    self.aggregate(e)?;
                    return Ok(self.nothing());
                }
                let value = self.rvalue_for(r, &ctype)?;
                let lv = self.lvalue(l)?;
                let ctype = self.type_at(&lv);
                let term = self.convert(value, &ctype, e.span)?;
                self.at(e.span);
                self.store(&lv, term, e.span)?;
                let term = self.fixed(term, &lv);
                Ok(Value { term, ctype: ctype.plain().clone() })
            }
            op => match compound(op) {
                Some(op) => self.assign_with(op, l, r, e.span),
                None => {
                    let mut x = self.rvalue(l)?;
                    // The left side stays what it is while the right side is evaluated.
                    x.term = self.kept_for(x.term, r);
                    let y = self.rvalue(r)?;
                    self.operate(&b.node.operator.node, x, y, e.span)
                }
            },
        }
    }

    /// `l op= r`.
    fn assign_with(
        &mut self,
        op: BinaryOperator,
        l: &'a Node<Expression>,
        r: &'a Node<Expression>,
        span: Span,
    ) -> Res<Value> {
        let right = self.rvalue(r)?;
        let lv = self.lvalue(l)?;
        let ctype = self.type_at(&lv);
        self.at(span);
        let plain = ctype.plain().clone();
        if ctype.is_atomic() {
            if matches!(
                op,
                BinaryOperator::Divide
                    | BinaryOperator::Modulo
                    | BinaryOperator::ShiftLeft
                    | BinaryOperator::ShiftRight
            ) {
                return Err(self.refuse(span, "this operation on an atomic variable"));
            }
            self.no_signed_atomic(&ctype, span)?;
            let mut change = |me: &mut Self, old: Term| {
                let x = Value { term: old, ctype: plain.clone() };
                let new = me.operate(&op, x, right.clone(), span)?;
                me.convert(new, &plain, span)
            };
            return self.update(&lv, true, span, &mut change);
        }
        let old = self.load(&lv, span)?;
        let new = self.operate(&op, old, right, span)?;
        let term = self.convert(new, &plain, span)?;
        self.store(&lv, term, span)?;
        let term = self.fixed(term, &lv);
        Ok(Value { term, ctype: plain })
    }

    /// Where overflows are looked for: the result of an operation is a number of its type.
    fn no_overflow(&mut self, kind: Binary, a: Term, b: Term) {
        let ty = self.b.terms().ty(a);
        if !self.options.overflow || !ty.signed {
            return;
        }
        let t = self.b.terms();
        let zero = t.constant(0, ty);
        let r = t.binary(kind, a, b);
        let ok = match kind {
            // The sign of the result is that of an operand, unless they differ (for a sum) or agree (for a difference).
            Binary::Add | Binary::Sub => {
                let (x, y) = if kind == Binary::Add { (a, b) } else { (a, r) };
                let (p, q) = if kind == Binary::Add { (r, r) } else { (b, a) };
                let (x, y) = (t.binary(Binary::Xor, x, p), t.binary(Binary::Xor, y, q));
                let both = t.and(x, y);
                t.le(zero, both)
            }
            Binary::Mul if ty.bits <= 32 => {
                let wide = Type::signed(64);
                let (x, y, r) = (t.cast(wide, a), t.cast(wide, b), t.cast(wide, r));
                let exact = t.binary(Binary::Mul, x, y);
                t.eq(exact, r)
            }
            Binary::Mul => {
                // The result divided by one factor is the other one, and -1 times the lowest number is none.
                let (least, minus) = (t.number(ty.min(), ty), t.number(-1, ty));
                let (none, back) = (t.eq(a, zero), t.binary(Binary::Div, r, a));
                let same = t.eq(back, b);
                let (p, q) = (t.ne(a, minus), t.ne(b, least));
                let fits = t.or(p, q);
                let exact = t.and(same, fits);
                t.or(none, exact)
            }
            Binary::Shl => {
                let (back, positive) = (t.binary(Binary::Shr, r, b), t.le(zero, a));
                let same = t.eq(back, a);
                t.and(positive, same)
            }
            _ => return,
        };
        self.check(ok, ErrorKind::Overflow, OVERFLOW);
    }

    /// Where overflows are looked for: a number is one of another type, if that is signed.
    pub(crate) fn fits(&mut self, v: Term, to: Type) {
        let from = self.b.terms().ty(v);
        let always = from.bits < to.bits || from.bits == to.bits && from.signed;
        if !self.options.overflow || !to.signed || always {
            return;
        }
        let t = self.b.terms();
        let most = t.number(to.max(), from);
        let mut ok = t.le(v, most);
        if from.signed {
            let least = t.number(to.min(), from);
            let above = t.le(least, v);
            ok = t.and(ok, above);
        }
        self.check(ok, ErrorKind::Overflow, OVERFLOW);
    }

    /// Where overflows are looked for: arithmetic on a signed atomic variable wraps by definition, and is none that can be checked.
    pub(crate) fn no_signed_atomic(&self, ctype: &CType, span: Span) -> Res<()> {
        match ctype.plain() {
            CType::Int(t) if self.options.overflow && *t != Type::BOOL && promoted(*t).signed => Err(self
                .refuse(
                    span,
                    "arithmetic on a signed atomic variable, which wraps around, where overflows are errors",
                )),
            _ => Ok(()),
        }
    }

    /// An operation on two values.
    fn operate(&mut self, op: &BinaryOperator, x: Value, y: Value, span: Span) -> Res<Value> {
        use BinaryOperator::*;
        let (swap, negate, op) = match op {
            Greater => (true, false, &Less),
            GreaterOrEqual => (true, false, &LessOrEqual),
            NotEquals => (false, true, &Equals),
            other => (false, false, other),
        };
        let Some(kind) = arithmetic(op) else { return Err(self.refuse(span, "this operation")) };
        let (x, y) = if swap { (y, x) } else { (x, y) };
        if let (CType::Pointer(_), _) | (_, CType::Pointer(_)) = (x.ctype.plain(), y.ctype.plain()) {
            return self.operate_on_pointers(kind, negate, x, y, span);
        }
        let (CType::Int(tx), CType::Int(ty)) = (x.ctype.plain(), y.ctype.plain()) else {
            return Err(self.refuse(span, format!("an operation on {} and {}", x.ctype, y.ctype)));
        };
        let shift = matches!(kind, Binary::Shl | Binary::Shr);
        let t = if shift { promoted(*tx) } else { common(*tx, *ty) };
        let a = self.b.terms().cast(t, x.term);
        let mut b = y.term;
        if shift {
            // The count is checked in its own type before it is cut.
            let count = self.b.terms().cast(promoted(*ty), y.term);
            let own = self.b.terms().ty(count);
            let (zero, width) =
                (self.b.terms().constant(0, own), self.b.terms().constant(t.bits as u64, own));
            let (low, high) = (self.b.terms().le(zero, count), self.b.terms().lt(count, width));
            let ok = self.b.terms().and(low, high);
            self.check(ok, ErrorKind::Shift, "a shift by the width or more");
            b = count;
        }
        let b = self.b.terms().cast(t, b);
        if matches!(kind, Binary::Div | Binary::Rem) {
            let zero = self.b.terms().constant(0, t);
            let mut ok = self.b.terms().ne(b, zero);
            if t.signed {
                let (least, minus) = (self.b.terms().number(t.min(), t), self.b.terms().number(-1, t));
                let (p, q) = (self.b.terms().ne(a, least), self.b.terms().ne(b, minus));
                let fits = self.b.terms().or(p, q);
                ok = self.b.terms().and(ok, fits);
            }
            self.check(ok, ErrorKind::Division, "a division by zero, or one whose result does not fit");
        }
        self.no_overflow(kind, a, b);
        let mut term = self.b.terms().binary(kind, a, b);
        if kind.is_comparison() {
            if negate {
                term = self.b.terms().not(term);
            }
            return Ok(self.of_truth(term));
        }
        Ok(Value { term, ctype: CType::Int(t) })
    }

    fn operate_on_pointers(
        &mut self,
        op: Binary,
        negate: bool,
        x: Value,
        y: Value,
        span: Span,
    ) -> Res<Value> {
        if op.is_comparison() {
            let (a, b) = (self.b.terms().cast(ADDRESS, x.term), self.b.terms().cast(ADDRESS, y.term));
            let mut term = self.b.terms().binary(op, a, b);
            if negate {
                term = self.b.terms().not(term);
            }
            return Ok(self.of_truth(term));
        }
        match (op, x.ctype.plain().clone(), y.ctype.plain().clone()) {
            (Binary::Sub, CType::Pointer(t), CType::Pointer(_)) => {
                let wide = Type::signed(64);
                let size = self.layout(&t).0 as i128;
                let bytes = self.b.terms().sub(x.term, y.term);
                let bytes = self.b.terms().cast(wide, bytes);
                let size = self.b.terms().number(size, wide);
                let term = self.b.terms().binary(Binary::Div, bytes, size);
                Ok(Value { term, ctype: CType::Int(wide) })
            }
            (Binary::Add | Binary::Sub, CType::Pointer(t), CType::Int(_)) => {
                let term = self.offset(x.term, y.term, &t, op);
                Ok(Value { term, ctype: x.ctype.plain().clone() })
            }
            (Binary::Add, CType::Int(_), CType::Pointer(t)) => {
                let term = self.offset(y.term, x.term, &t, op);
                Ok(Value { term, ctype: y.ctype.plain().clone() })
            }
            _ => Err(self.refuse(span, format!("an operation on {} and {}", x.ctype, y.ctype))),
        }
    }

    /// A pointer, so many elements further.
    fn offset(&mut self, p: Term, n: Term, element: &CType, op: Binary) -> Term {
        let size = self.layout(element).0 as i128;
        let n = self.b.terms().cast(ADDRESS, n);
        let size = self.b.terms().number(size, ADDRESS);
        let bytes = self.b.terms().binary(Binary::Mul, n, size);
        self.b.terms().binary(op, p, bytes)
    }

    // ---- lvalues

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
    fn indexed(&mut self, address: Term, i: Term, element: &CType, len: Option<u64>) -> Option<Lvalue> {
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
        if length.is_some() || self.range(checked).1 >= end as i128 {
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
                Err(self.refuse(e.span, "a value where a variable is wanted"))
            }
            Expression::CompoundLiteral(c) => self.compound_literal(c, e.span),
            Expression::StringLiteral(s) => self.text_object(s, e.span),
            Expression::GenericSelection(g) => {
                let chosen = self.chosen(g)?;
                self.lvalue(chosen)
            }
            _ if self.is_aggregate(e) => self.aggregate(e),
            _ => Err(self.refuse(e.span, "a value where a variable is wanted")),
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
                if self.range(i).1 >= end as i128 {
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

    /// The lowest and the highest number that a term can be, as far as that is plain.
    fn range(&self, t: Term) -> (i128, i128) {
        let terms = &self.b.program().terms;
        let ty = terms.ty(t);
        let all = (ty.min(), ty.max());
        match terms.node(t) {
            TermNode::Const(v, ty) => (ty.value(v), ty.value(v)),
            TermNode::Cast(_, a) => {
                let (low, high) = self.range(a);
                if all.0 <= low && high <= all.1 { (low, high) } else { all }
            }
            TermNode::Binary(Binary::And, a, b) => {
                let highs = [a, b].map(|x| self.range(x)).into_iter().filter(|r| r.0 >= 0).map(|r| r.1);
                highs.min().map_or(all, |high| (0, high))
            }
            TermNode::Binary(Binary::Rem, a, b) => match terms.as_const(b).map(|v| ty.value(v)) {
                Some(n) if n > 0 && self.range(a).0 >= 0 => (0, n - 1),
                _ => all,
            },
            TermNode::Ite(_, a, b) => {
                let (a, b) = (self.range(a), self.range(b));
                (a.0.min(b.0), a.1.max(b.1))
            }
            _ => all,
        }
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
    fn place(&mut self, p: &Path, span: Span) -> Res<(Place, Type)> {
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
                return f(self, Place::cell(*var, *index), ty);
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
                    f(self, place, own)
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
            f(self, place, own)?;
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
    fn cells_of(&self, ty: Type) -> Vec<Cells> {
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
                } else {
                    (0..*len)
                        .for_each(|i| self.cells_in(element, base + i * stride, first * len + i, ty, out));
                }
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
            if me.read_only.contains(&place.var) {
                let no = me.b.terms().boolean(false);
                me.check(no, ErrorKind::InvalidPointer, "a text of the program is written");
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
                me.b.compare_exchange(me.t, place, (e, d), (done, old), may_fail);
                me.learn(place, None);
                me.env.remove(&(done, 0));
                me.env.remove(&(old, 0));
            }
            Ok(())
        })?;
        Ok((self.local_value(done), self.local_value(old)))
    }

    /// Copies a structure, field by field.
    pub(crate) fn copy(&mut self, to: &Lvalue, from: &Lvalue, span: Span) -> Res<()> {
        let ctype = self.type_at(to);
        if ctype.plain() != self.type_at(from).plain() {
            return Err(self.refuse(span, "structures of different types"));
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

/// The operation of C as one on terms.
const OVERFLOW: &str = "signed arithmetic, or a conversion, whose result does not fit";

fn arithmetic(op: &BinaryOperator) -> Option<Binary> {
    Some(match op {
        BinaryOperator::Multiply => Binary::Mul,
        BinaryOperator::Divide => Binary::Div,
        BinaryOperator::Modulo => Binary::Rem,
        BinaryOperator::Plus => Binary::Add,
        BinaryOperator::Minus => Binary::Sub,
        BinaryOperator::ShiftLeft => Binary::Shl,
        BinaryOperator::ShiftRight => Binary::Shr,
        BinaryOperator::Less => Binary::Lt,
        BinaryOperator::LessOrEqual => Binary::Le,
        BinaryOperator::Equals => Binary::Eq,
        BinaryOperator::BitwiseAnd => Binary::And,
        BinaryOperator::BitwiseXor => Binary::Xor,
        BinaryOperator::BitwiseOr => Binary::Or,
        _ => return None,
    })
}

/// Whether an operation assigns its left side.
fn is_assignment(op: &BinaryOperator) -> bool {
    *op == BinaryOperator::Assign || compound(op).is_some()
}

/// The operation in an assignment with one.
fn compound(op: &BinaryOperator) -> Option<BinaryOperator> {
    Some(match op {
        BinaryOperator::AssignMultiply => BinaryOperator::Multiply,
        BinaryOperator::AssignDivide => BinaryOperator::Divide,
        BinaryOperator::AssignModulo => BinaryOperator::Modulo,
        BinaryOperator::AssignPlus => BinaryOperator::Plus,
        BinaryOperator::AssignMinus => BinaryOperator::Minus,
        BinaryOperator::AssignShiftLeft => BinaryOperator::ShiftLeft,
        BinaryOperator::AssignShiftRight => BinaryOperator::ShiftRight,
        BinaryOperator::AssignBitwiseAnd => BinaryOperator::BitwiseAnd,
        BinaryOperator::AssignBitwiseXor => BinaryOperator::BitwiseXor,
        BinaryOperator::AssignBitwiseOr => BinaryOperator::BitwiseOr,
        _ => return None,
    })
}

/// The number of a character as the source has it, with or without its quotes.
pub(crate) fn character(text: &str) -> Option<i128> {
    let inner = text.trim_start_matches(['L', 'u', 'U']);
    let inner = inner.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).unwrap_or(inner);
    let mut chars = inner.chars();
    let first = chars.next()?;
    let rest: String = chars.collect();
    if first != '\\' {
        return (rest.is_empty() && first.is_ascii()).then_some(first as i128);
    }
    Some(match rest.as_str() {
        "n" => 10,
        "t" => 9,
        "r" => 13,
        "a" => 7,
        "b" => 8,
        "f" => 12,
        "v" => 11,
        "\\" => 92,
        "'" => 39,
        "\"" => 34,
        "?" => 63,
        hex if hex.starts_with('x') => i64::from_str_radix(&hex[1..], 16).ok()? as u8 as i8 as i128,
        octal => i64::from_str_radix(octal, 8).ok()? as u8 as i8 as i128,
    })
}
