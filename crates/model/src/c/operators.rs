//! Operators on values, with the checks that their results fit.

use super::addresses::How;
use super::ctype::{ADDRESS, CType, ShapeKind};
use super::expr::{Lvalue, Value, common, promoted};
use super::lower::{Entity, Lowering, Res};
use crate::program::ErrorKind;
use crate::term::{Binary, Term, Type, Unary};
use lang_c::ast::*;
use lang_c::span::{Node, Span};

/// The operation of C as one on terms.
const OVERFLOW: &str = "signed arithmetic, or a conversion, whose result does not fit";

impl<'a> Lowering<'a> {
    pub(super) fn unary(&mut self, u: &'a Node<UnaryOperatorExpression>, span: Span) -> Res<Value> {
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

    pub(super) fn binary(
        &mut self,
        b: &'a Node<BinaryOperatorExpression>,
        e: &'a Node<Expression>,
    ) -> Res<Value> {
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
                // Where it goes is known before a call says what goes there, as gcc has it, too: the call may change an index.
                let found = super::scan::expression(r);
                let own = |n: &String| {
                    self.function(n).is_some() || matches!(self.lookup(n), Some(Entity::Object(_)))
                };
                let (lv, value) = if found.indirect || found.called.iter().any(own) {
                    let lv = self.lvalue(l)?;
                    let lv = self.kept_place(lv, r);
                    (lv, self.rvalue_for(r, &ctype)?)
                } else {
                    let value = self.rvalue_for(r, &ctype)?;
                    (self.lvalue(l)?, value)
                };
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
        let old = self.as_operand(l, |me| me.load(&lv, span))?;
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
    pub(super) fn operate(&mut self, op: &BinaryOperator, x: Value, y: Value, span: Span) -> Res<Value> {
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
        if t.bits == ADDRESS.bits {
            self.look_at_numbers(kind, a, b, span);
        }
        let mut term = if kind.is_comparison() && t.bits == ADDRESS.bits {
            self.compare_numbers(kind, (a, b), span)?
        } else {
            self.b.terms().binary(kind, a, b)
        };
        if kind.is_comparison() {
            if negate {
                term = self.b.terms().not(term);
            }
            return Ok(self.of_truth(term));
        }
        Ok(Value { term, ctype: CType::Int(t) })
    }

    /// An operation on two numbers that may be addresses.
    fn look_at_numbers(&mut self, op: Binary, a: Term, b: Term, span: Span) {
        let how = match op {
            Binary::Eq => How::Equal,
            Binary::Lt | Binary::Le => How::Numbers,
            Binary::Add | Binary::Sub | Binary::Or | Binary::Xor => return,
            _ => How::Bits(op),
        };
        self.look(how, a, Some(b), span);
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
            let mut term = self.compare_addresses(op, (a, b), span)?;
            if negate {
                term = self.b.terms().not(term);
            }
            return Ok(self.of_truth(term));
        }
        match (op, x.ctype.plain().clone(), y.ctype.plain().clone()) {
            (Binary::Sub, CType::Pointer(t), CType::Pointer(_)) => {
                self.note_compared(x.term, Some(y.term));
                self.look(How::Order, x.term, Some(y.term), span);
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
    pub(super) fn offset(&mut self, p: Term, n: Term, element: &CType, op: Binary) -> Term {
        let size = self.layout(element).0 as i128;
        let n = self.b.terms().cast(ADDRESS, n);
        let size = self.b.terms().number(size, ADDRESS);
        let bytes = self.b.terms().binary(Binary::Mul, n, size);
        self.b.terms().binary(op, p, bytes)
    }
}

pub(super) fn arithmetic(op: &BinaryOperator) -> Option<Binary> {
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
pub(super) fn is_assignment(op: &BinaryOperator) -> bool {
    *op == BinaryOperator::Assign || compound(op).is_some()
}

/// The operation in an assignment with one.
pub(super) fn compound(op: &BinaryOperator) -> Option<BinaryOperator> {
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
