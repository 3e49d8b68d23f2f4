//! Values that answered questions before. A question that some of them satisfy need not be asked: most of what engines ask has the answer
//! *sat*, again and again for the same reason, and to evaluate a formula is much less than to search for its values.
//!
//! **Invariant:** whether values satisfy a question is found by evaluating all of it, as the interpreter would. Where the values come
//! from does not matter.

use model::{Node, Term, Terms, VarId, apply_binary, apply_unary, convert};
use std::collections::HashMap;

/// How many are kept: those that answered last.
const MOST: usize = 16;

/// One assignment of values, to all variables and cells: those that it does not have are 0.
#[derive(Default)]
pub(crate) struct Values {
    cells: HashMap<(VarId, u64), u64>,
    /// What terms are, as far as was asked.
    known: Vec<Option<u64>>,
}

impl Values {
    pub(crate) fn set(&mut self, variable: Term, value: u64) {
        self.learn(variable, value);
    }

    pub(crate) fn set_cell(&mut self, array: VarId, index: u64, value: u64) {
        self.cells.insert((array, index), value);
    }

    fn learn(&mut self, t: Term, value: u64) {
        if self.known.len() <= t.index() {
            self.known.resize(t.index() + 1, None);
        }
        self.known[t.index()] = Some(value);
    }

    fn get(&self, t: Term) -> Option<u64> {
        self.known.get(t.index()).copied().flatten()
    }

    /// The value of a term. Terms can be deep, so this keeps its own stack.
    fn eval(&mut self, terms: &Terms, arrays: &HashMap<VarId, u32>, root: Term) -> u64 {
        if let Some(done) = self.get(root) {
            return done;
        }
        let mut stack = vec![root];
        while let Some(&t) = stack.last() {
            let value = match terms.node(t) {
                Node::Const(v, _) => Ok(v),
                Node::Var(..) => Ok(self.get(t).unwrap_or(0)),
                Node::Cell(v, i, _) => self.get(i).ok_or(i).map(|i| {
                    let inside = arrays.get(&v).is_none_or(|len| i < u64::from(*len));
                    if inside { self.cells.get(&(v, i)).copied().unwrap_or(0) } else { 0 }
                }),
                Node::Unary(op, a) => self.get(a).ok_or(a).map(|x| apply_unary(op, x, terms.ty(a))),
                Node::Cast(to, a) => self.get(a).ok_or(a).map(|x| convert(x, terms.ty(a), to)),
                Node::Binary(op, a, b) => match (self.get(a), self.get(b)) {
                    (Some(x), Some(y)) => Ok(apply_binary(op, x, y, terms.ty(a))),
                    (None, _) => Err(a),
                    _ => Err(b),
                },
                // The side that is not taken is not needed.
                Node::Ite(c, a, b) => match self.get(c) {
                    None => Err(c),
                    Some(c) => {
                        let side = if c != 0 { a } else { b };
                        self.get(side).ok_or(side)
                    }
                },
            };
            match value {
                Ok(value) => {
                    self.learn(t, value);
                    stack.pop();
                }
                Err(first) => stack.push(first),
            }
        }
        self.get(root).unwrap_or_default()
    }
}

/// Those that answered last, the latest first.
#[derive(Default)]
pub(crate) struct Models {
    all: Vec<Values>,
    /// How many questions were answered.
    pub(crate) hits: u64,
}

impl Models {
    /// Whether values that are here satisfy all of these. They are the first ones then.
    pub(crate) fn satisfy(
        &mut self,
        terms: &Terms,
        arrays: &HashMap<VarId, u32>,
        assumptions: &[Term],
    ) -> bool {
        // What is asked last is what was not asked before: it is the first to fail.
        let mut all = self.all.iter_mut();
        let found = all.position(|m| assumptions.iter().rev().all(|t| m.eval(terms, arrays, *t) != 0));
        if let Some(n) = found {
            self.all[..=n].rotate_right(1);
            self.hits += 1;
        }
        found.is_some()
    }

    pub(crate) fn add(&mut self, values: Values) {
        self.all.truncate(MOST - 1);
        self.all.insert(0, values);
    }

    /// The value of a term in the first of them.
    pub(crate) fn value(&mut self, terms: &Terms, arrays: &HashMap<VarId, u32>, t: Term) -> u64 {
        self.all.first_mut().map_or(0, |m| m.eval(terms, arrays, t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::BitSolver;
    use crate::solver::{Answer, Solver};
    use model::Type;

    #[test]
    fn values_are_evaluated_as_the_interpreter_does_and_are_zero_where_nothing_is_said() {
        let mut t = Terms::new();
        let (x, y) = (t.var(VarId(0), Type::INT), t.var(VarId(1), Type::INT));
        let mut values = Values::default();
        values.set(x, 7);
        values.set_cell(VarId(9), 2, 5);
        let sum = t.binary(model::Binary::Add, x, y);
        let arrays = HashMap::from([(VarId(9), 3)]);
        assert_eq!(values.eval(&t, &arrays, sum), 7);
        for (at, expected) in [(2, 5), (1, 0), (3, 0)] {
            let at = t.int(at);
            let cell = t.cell(VarId(9), at, Type::INT);
            assert_eq!(values.eval(&t, &arrays, cell), expected);
        }
        values.set_cell(VarId(9), 3, 8);
        let at = t.var(VarId(2), Type::INT);
        values.set(at, 3);
        let cell = t.cell(VarId(9), at, Type::INT);
        assert_eq!(values.eval(&t, &arrays, cell), 0, "past the end");
    }

    #[test]
    fn a_question_that_earlier_values_satisfy_is_answered_by_them_and_its_values_are_theirs() {
        let mut t = Terms::new();
        let mut s = BitSolver::new();
        let (x, y) = (t.var(VarId(0), Type::INT), t.var(VarId(1), Type::INT));
        let (one, five) = (t.int(1), t.int(5));
        let (low, high) = (t.lt(one, x), t.lt(x, five));
        let product = t.binary(model::Binary::Mul, x, y);
        let product = t.lt(product, five);
        assert_eq!(s.check(&t, &[low, high, product]), Answer::Sat);
        let (was_x, was_y) = (s.value(&t, x), s.value(&t, y));
        assert_eq!(s.asked_of_the_past(), 0);
        // Part of it holds of the same values; so does a formula that was never asked.
        assert_eq!(s.check(&t, &[low]), Answer::Sat);
        let sum = t.binary(model::Binary::Add, x, y);
        let (was, now) = (t.constant(was_x.wrapping_add(was_y) & u64::from(u32::MAX), Type::INT), sum);
        let same = t.eq(was, now);
        assert_eq!(s.check(&t, &[same, product]), Answer::Sat);
        assert_eq!(s.asked_of_the_past(), 2);
        assert_eq!((s.value(&t, x), s.value(&t, y)), (was_x, was_y));
        // What they do not satisfy is asked.
        let not = t.not(same);
        assert_eq!(s.check(&t, &[not, high]), Answer::Sat);
        assert_ne!(s.value(&t, sum), was_x.wrapping_add(was_y) & u64::from(u32::MAX));
        let none = t.lt(x, one);
        assert_eq!(s.check(&t, &[low, none]), Answer::Unsat);
    }
}
