//! Expressions: to terms over locals, with a step for every shared access on the way.

use super::addresses::{How, cuts};
use super::ctype::{ADDRESS, CType, Shape, ShapeKind};
use super::lower::{Entity, Join, Lowering, Res};
use super::operators::{arithmetic, is_assignment};
use crate::term::{Term, Type, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::collections::HashMap;
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

impl<'a> Lowering<'a> {
    /// An expression whose value nobody wants.
    pub(crate) fn effect(&mut self, e: &'a Node<Expression>) -> Res<()> {
        self.as_operand(e, |me| {
            if me.printed(e)? {
                return Ok(());
            }
            me.rvalue(e).map(|_| ())
        })
    }

    pub(crate) fn value(&mut self, v: i128, ty: Type) -> Value {
        Value { term: self.b.terms().number(v, ty), ctype: CType::Int(ty) }
    }

    pub(super) fn nothing(&mut self) -> Value {
        Value { term: self.b.terms().int(0), ctype: CType::Void }
    }

    /// The type of an expression that is not evaluated.
    pub(crate) fn type_of(&mut self, e: &Node<Expression>) -> Res<CType> {
        // The tree lives as long as the lowering; only this function does not say so.
        match &e.node {
            Expression::Identifier(i) if self.typed.iter().any(|t| t.contains_key(&i.node.name)) => {
                let found = self.typed.iter().rev().find_map(|t| t.get(&i.node.name));
                Ok(found.cloned().unwrap_or(CType::INT))
            }
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
            Expression::Statement(s) => self.type_of_statement(s),
            _ => Err(self.refuse(e.span, "the type of this")),
        }
    }

    /// The type of a statement as a value: that of its last expression, which may speak of what is declared before.
    fn type_of_statement(&mut self, s: &Node<Statement>) -> Res<CType> {
        let Statement::Compound(items) = &s.node else { return Err(self.refuse(s.span, "the type of this")) };
        self.typed.push(HashMap::new());
        let mut last = Ok(CType::Void);
        for i in items {
            last = match &i.node {
                BlockItem::Declaration(d) => self.types_declared(d).map(|()| CType::Void),
                BlockItem::Statement(s) => match &s.node {
                    Statement::Expression(Some(e)) => self.type_of(e),
                    _ => Ok(CType::Void),
                },
                BlockItem::StaticAssert(_) => Ok(CType::Void),
            };
            if last.is_err() && matches!(&i.node, BlockItem::Declaration(_)) {
                break;
            }
        }
        self.typed.pop();
        last
    }

    /// Notes the types of the variables of a declaration.
    fn types_declared(&mut self, d: &Node<Declaration>) -> Res<()> {
        let specified = self.specifiers(&d.node.specifiers)?;
        for i in &d.node.declarators {
            let declared = self.declarator(&i.node.declarator, specified.ctype.clone())?;
            let ctype = self.complete(declared.ctype, i.node.initializer.as_ref())?;
            if let (Some(name), Some(typed)) = (declared.name, self.typed.last_mut()) {
                typed.insert(name, ctype);
            }
        }
        Ok(())
    }

    /// The offset and the type of a field.
    pub(super) fn field(&mut self, ctype: &CType, name: &str, span: Span) -> Res<(u64, CType)> {
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
        if let CType::Pointer(pointee) = v.ctype.plain() {
            self.note_converted(v.term, pointee, to);
        } else {
            self.fits(v.term, ty);
        }
        if cuts(from, ty) {
            self.look(How::Cut, v.term, None, span);
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

    pub(super) fn of_truth(&mut self, t: Term) -> Value {
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
        self.as_operand(e, |me| me.rvalue_here(e))
    }

    fn rvalue_here(&mut self, e: &'a Node<Expression>) -> Res<Value> {
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
    pub(super) fn chosen<'g>(&mut self, g: &'g Node<GenericSelection>) -> Res<&'g Node<Expression>> {
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
