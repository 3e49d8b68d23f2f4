//! Values that must be known when a program is compiled: first values of what lives as long as the program, and lengths and labels.

use super::super::scan::is_assignment;
use super::kinds::Of;
use super::{Checker, Meaning, Res};
use lang_c::ast::*;
use lang_c::span::Node;

/// How much a compiler computes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// In a first value: gcc reads what is `const`.
    First,
    /// In a length, a width, an enumerator or a label: it reads no variable.
    Number,
}

impl Checker<'_> {
    /// Refuses a first value that is certainly not known when the program is compiled.
    pub(super) fn first_value(&mut self, i: &Node<Initializer>) -> Res<()> {
        match &i.node {
            Initializer::Expression(e) if self.varies(e, Where::First)? => {
                Err(self
                    .refuse(e.span, "the first value of what lives as long as the program is not constant"))
            }
            Initializer::Expression(_) => Ok(()),
            Initializer::List(items) => {
                items.iter().try_for_each(|item| self.first_value(&item.node.initializer))
            }
        }
    }

    /// Refuses a number that is certainly not known when the program is compiled.
    pub(super) fn number(&mut self, e: &Node<Expression>, what: &str) -> Res<()> {
        self.expression(e)?;
        if self.varies(e, Where::Number)? {
            return Err(self.refuse(e.span, format!("{what} is not constant")));
        }
        Ok(())
    }

    /// Whether a value certainly depends on what happens when the program runs. Compilers see through more than one would think
    /// (`0 * x`, `x == x`), so what is not plain does not.
    fn varies(&mut self, e: &Node<Expression>, at: Where) -> Res<bool> {
        Ok(match &e.node {
            Expression::Identifier(_) | Expression::Member(_) => self.is_read(e, at)?,
            Expression::Call(c) => match &c.node.callee.node {
                // Of the library a compiler computes some, such as `strlen("abc")`.
                Expression::Identifier(i) => self.lookup(&i.node.name).is_some_and(|d| d.defined),
                _ => true,
            },
            Expression::Cast(c) => self.varies(&c.node.expression, at)?,
            Expression::UnaryOperator(u) => match u.node.operator.node {
                UnaryOperator::Address => false,
                UnaryOperator::Indirection => self.is_read(e, at)?,
                UnaryOperator::Plus
                | UnaryOperator::Minus
                | UnaryOperator::Complement
                | UnaryOperator::Negate => self.varies(&u.node.operand, at)?,
                _ => true,
            },
            Expression::BinaryOperator(b) => {
                let (l, r) = (&*b.node.lhs, &*b.node.rhs);
                match b.node.operator.node {
                    BinaryOperator::Index => self.is_read(e, at)?,
                    BinaryOperator::Plus | BinaryOperator::Minus => {
                        self.is_fixed(r) && self.varies(l, at)? || self.is_fixed(l) && self.varies(r, at)?
                    }
                    BinaryOperator::Multiply => {
                        is_factor(r) && self.varies(l, at)? || is_factor(l) && self.varies(r, at)?
                    }
                    ref op => is_assignment(op),
                }
            }
            _ => false,
        })
    }

    /// Whether an expression is the value of a variable, or of a part of one.
    fn is_read(&mut self, e: &Node<Expression>, at: Where) -> Res<bool> {
        let Some(Meaning::Object) = root(e).and_then(|name| self.meaning(name)) else { return Ok(false) };
        let kind = self.expression(e)?;
        Ok(match kind.of {
            Of::Unknown | Of::Array(..) | Of::Function(_) => false,
            _ => at == Where::Number || !kind.read_only,
        })
    }

    /// Whether an expression names no variable and calls nothing.
    fn is_fixed(&self, e: &Node<Expression>) -> bool {
        match &e.node {
            Expression::Constant(_)
            | Expression::SizeOfTy(_)
            | Expression::SizeOfVal(_)
            | Expression::AlignOf(_) => true,
            Expression::Identifier(i) => self.meaning(&i.node.name) == Some(Meaning::Enumerator),
            Expression::Cast(c) => self.is_fixed(&c.node.expression),
            Expression::UnaryOperator(u) => {
                !matches!(u.node.operator.node, UnaryOperator::Address | UnaryOperator::Indirection)
                    && self.is_fixed(&u.node.operand)
            }
            Expression::BinaryOperator(b) => self.is_fixed(&b.node.lhs) && self.is_fixed(&b.node.rhs),
            _ => false,
        }
    }
}

/// Whether a product with this depends on the other factor.
fn is_factor(e: &Node<Expression>) -> bool {
    matches!(&e.node, Expression::Constant(c) if matches!(&c.node, Constant::Integer(i) if i.number.bytes().any(|d| d != b'0')))
}

/// The variable that something is a part of.
fn root(e: &Node<Expression>) -> Option<&str> {
    match &e.node {
        Expression::Identifier(i) => Some(&i.node.name),
        Expression::Member(m) => root(&m.node.expression),
        Expression::BinaryOperator(b) if b.node.operator.node == BinaryOperator::Index => root(&b.node.lhs),
        Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Indirection => {
            root(&u.node.operand)
        }
        _ => None,
    }
}
