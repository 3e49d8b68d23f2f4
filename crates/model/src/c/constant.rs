//! Constant expressions: what the type of an array or the label of a case asks for.

use super::ctype::{CType, ShapeKind};
use super::expr::{character, common, promoted};
use super::lower::{Entity, Lowering, Res};
use super::operators::arithmetic;
use crate::term::{Binary, Type, Unary};
use lang_c::ast::*;
use lang_c::span::Node;

impl<'a> Lowering<'a> {
    /// A number that is known now.
    pub(crate) fn constant(&mut self, e: &Node<Expression>, what: &str) -> Res<i128> {
        match self.fold(e)? {
            Some(v) => Ok(v),
            None => Err(self.refuse(e.span, format!("{what} is not constant"))),
        }
    }

    /// An assertion for the compiler: a program in which one fails is none. What is not known here is left to the compiler.
    pub(crate) fn static_assert(&mut self, a: &Node<StaticAssert>) -> Res<()> {
        match self.fold(&a.node.expression) {
            Ok(Some(0)) => Err(self.refuse(a.span, "an assertion for the compiler fails")),
            _ => Ok(()),
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

    pub(super) fn literal(&mut self, c: &Node<Constant>) -> Res<(i128, CType)> {
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
}
