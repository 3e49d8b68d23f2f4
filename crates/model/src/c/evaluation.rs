//! Operands whose order of evaluation C leaves open.
//!
//! The lowering evaluates operands from left to right. Each step knows the operand that it belongs to ([`crate::Transition::operand`]), so
//! that whoever reads the automata can tell which accesses could as well happen in another order ([`crate::Program::operands`]).

use super::lower::Lowering;
use super::scan::{self, Found};
use crate::program::{Operand, Operator};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use lang_c::visit::{self, Visit};
use std::collections::HashMap;

/// An operator of the source, or a call or a list of initializers, with its operands.
#[derive(Clone, Debug)]
struct Group<'a> {
    at: Span,
    what: &'static str,
    operands: Vec<&'a Node<Expression>>,
}

/// The operators of a source, and the operand that each expression is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operands<'a> {
    groups: Vec<Group<'a>>,
    /// By the place of an expression: its operator and the number of the operand.
    sides: HashMap<(usize, usize), (usize, usize)>,
    /// By operator, and the operand around it.
    operators: HashMap<(usize, u32), u32>,
    operands: HashMap<(u32, usize), u32>,
    /// By operator: whether one operand changes what another one depends on.
    dependent: HashMap<usize, bool>,
}

impl<'a> Operands<'a> {
    pub(crate) fn of(unit: &'a TranslationUnit) -> Operands<'a> {
        let mut all = Operands::default();
        for item in &unit.0 {
            visit::visit_external_declaration(&mut all, &item.node, &item.span);
        }
        all
    }

    fn group(&mut self, at: Span, what: &'static str, operands: Vec<&'a Node<Expression>>) {
        if operands.len() < 2 {
            return;
        }
        for (side, e) in operands.iter().enumerate() {
            self.sides.insert((e.span.start, e.span.end), (self.groups.len(), side));
        }
        self.groups.push(Group { at, what, operands });
    }
}

fn expressions<'a>(items: &'a [Node<InitializerListItem>]) -> Vec<&'a Node<Expression>> {
    let one = |i: &'a Node<InitializerListItem>| match &i.node.initializer.node {
        Initializer::Expression(e) => Some(&**e),
        Initializer::List(_) => None,
    };
    items.iter().filter_map(one).collect()
}

impl<'a> Visit<'a> for Operands<'a> {
    fn visit_binary_operator_expression(&mut self, e: &'a BinaryOperatorExpression, s: &'a Span) {
        if !matches!(e.operator.node, BinaryOperator::LogicalAnd | BinaryOperator::LogicalOr) {
            self.group(*s, "operands", vec![&e.lhs, &e.rhs]);
        }
        visit::visit_binary_operator_expression(self, e, s);
    }

    fn visit_call_expression(&mut self, c: &'a CallExpression, s: &'a Span) {
        // What is printed decides nothing.
        let prints = matches!(&c.callee.node, Expression::Identifier(i) if super::calls::PRINTING.contains(&i.node.name.as_str()));
        if !prints {
            self.group(*s, "arguments", c.arguments.iter().collect());
        }
        visit::visit_call_expression(self, c, s);
    }

    fn visit_initializer(&mut self, i: &'a Initializer, s: &'a Span) {
        if let Initializer::List(items) = i {
            self.group(*s, "initializers", expressions(items));
        }
        visit::visit_initializer(self, i, s);
    }

    fn visit_compound_literal(&mut self, c: &'a CompoundLiteral, s: &'a Span) {
        self.group(*s, "initializers", expressions(&c.initializer_list));
        visit::visit_compound_literal(self, c, s);
    }
}

impl<'a> Lowering<'a> {
    /// Evaluates an expression as the operand that it is.
    pub(crate) fn as_operand<T>(&mut self, e: &Node<Expression>, f: impl FnOnce(&mut Self) -> T) -> T {
        let Some(&(group, side)) = self.evaluation.sides.get(&(e.span.start, e.span.end)) else {
            return f(self);
        };
        let before = self.b.operand();
        let own = before.checked_sub(1).map(|n| &self.b.program().operands[n as usize]);
        let is_own = |o: &Operand| {
            let operator = &self.b.program().operators[o.operator as usize];
            operator.source == group as u32 && o.side == side as u32
        };
        if own.is_some_and(is_own) {
            return f(self);
        }
        let operator = match self.evaluation.operators.get(&(group, before)) {
            Some(known) => *known,
            None => self.new_operator(group, before),
        };
        if !self.dead && self.is_dependent(group) {
            self.b.set_dependent(operator);
        }
        let operand = *self
            .evaluation
            .operands
            .entry((operator, side))
            .or_insert_with(|| self.b.new_operand(Operand { operator, side: side as u32 }));
        self.b.set_operand(operand);
        let out = f(self);
        self.b.set_operand(before);
        out
    }

    fn new_operator(&mut self, group: usize, around: u32) -> u32 {
        let Group { at, what, .. } = self.evaluation.groups[group];
        let span = self.span(at);
        let source = group as u32;
        let operator = self.b.new_operator(Operator { span, what, source, around, dependent: false });
        self.evaluation.operators.insert((group, around), operator);
        operator
    }

    /// Whether one operand calls a function that changes what another operand depends on.
    fn is_dependent(&mut self, group: usize) -> bool {
        if let Some(known) = self.evaluation.dependent.get(&group) {
            return *known;
        }
        let found: Vec<(Found, bool)> = self.evaluation.groups[group]
            .operands
            .iter()
            .map(|e| {
                let found = scan::expression(e);
                let calls = found.indirect || found.called.iter().any(|n| self.functions.contains_key(n));
                (found.closed(&self.found, &self.callable), calls)
            })
            .collect();
        let shared = |n: &String| self.scopes[0].contains_key(n);
        let changes = |a: &(Found, bool), b: &(Found, bool)| {
            let used = |n: &&String| shared(n) && b.0.values.contains(*n);
            let names = a.0.written.iter().any(|n| used(&n));
            let pointed = a.0.through && (b.0.follows || a.0.addressed.iter().any(|n| used(&n)));
            a.1 && (names || pointed)
        };
        let mut dependent = false;
        for (i, a) in found.iter().enumerate() {
            dependent |= found.iter().enumerate().any(|(j, b)| i != j && changes(a, b));
        }
        self.evaluation.dependent.insert(group, dependent);
        dependent
    }
}
