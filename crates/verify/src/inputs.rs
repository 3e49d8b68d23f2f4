//! A formula that holds for every value of an input, without the input.
//!
//! Every instance of a formula follows from it for all values. So instances are collected until they imply it for all values: then
//! their conjunction is exactly that. The first ones are with numbers from the formula itself and their neighbours, where its truth
//! changes; the next ones with the values of countermodels. Where that takes too many, the formula is made stronger instead.

use crate::bits::BitSolver;
use crate::solver::{Answer, Solver};
use crate::symbolic::{Env, Start, Symbols};
use model::{Node, Term, Type, VarId};
use std::collections::{BTreeSet, HashSet};

/// Inputs of up to so many bits are expanded.
const EXPANDED: u8 = 4;
/// At most so many numbers from the formula, and so many from countermodels.
const SEEDS: usize = 16;
const ROUNDS: usize = 12;

/// The formula for every value of an input: exact, or perhaps too strong.
pub(crate) fn for_every(s: &mut Symbols<'_>, solver: &mut BitSolver, t: Term, input: Term) -> Term {
    let Node::Var(var, ty) = s.terms.node(input) else { return t };
    let mut leaves = Vec::new();
    s.leaves(t, &mut Default::default(), &mut leaves);
    if !leaves.contains(&input) {
        return t;
    }
    if ty.bits <= EXPANDED {
        let all: Vec<Term> = (0..=ty.mask()).map(|v| instance(s, t, var, v, ty)).collect();
        return s.terms.all(all);
    }
    match by_instances(s, solver, t, (var, ty)) {
        Some(found) => found,
        None => s.without(t, var, true),
    }
}

fn instance(s: &mut Symbols<'_>, t: Term, var: VarId, value: u64, ty: Type) -> Term {
    let value = s.terms.constant(value, ty);
    let mut env = Env::new(Start::Anywhere);
    env.set(var, value);
    env.eval(s, t)
}

fn by_instances(
    s: &mut Symbols<'_>,
    solver: &mut BitSolver,
    t: Term,
    (var, ty): (VarId, Type),
) -> Option<Term> {
    let not = s.terms.not(t);
    let input = s.terms.var(var, ty);
    let mut found: Vec<Term> = Vec::new();
    let mut seeds = numbers(s, t, ty).into_iter();
    for _ in 0..=SEEDS + ROUNDS {
        let mut asked = found.clone();
        asked.push(not);
        match solver.check(&s.terms, &asked) {
            Answer::Unknown => return None,
            Answer::Unsat => {
                // Few are needed, as a rule.
                let needed: HashSet<Term> = solver.core().iter().copied().collect();
                found.retain(|f| needed.contains(f));
                return Some(s.terms.all(found));
            }
            Answer::Sat => {}
        }
        let model = solver.value(&s.terms, input);
        // A number of the formula that the countermodel does not satisfy either says more than the countermodel's.
        let value = seeds.next().unwrap_or(model);
        let it = instance(s, t, var, value, ty);
        if s.terms.as_const(it) == Some(0) {
            return Some(it);
        }
        if s.terms.as_const(it).is_none() && !found.contains(&it) {
            found.push(it);
        }
    }
    None
}

/// Numbers of a type that occur in a formula, with their neighbours.
fn numbers(s: &Symbols<'_>, t: Term, ty: Type) -> BTreeSet<u64> {
    let (mut seen, mut stack, mut out) = (HashSet::new(), vec![t], BTreeSet::new());
    while let Some(t) = stack.pop() {
        if out.len() >= SEEDS || !seen.insert(t) {
            continue;
        }
        match s.terms.node(t) {
            Node::Const(v, of) if of.bits > 1 => {
                let v = of.value(v);
                out.extend([v - 1, v, v + 1].into_iter().map(|n| ty.bits_of(n)));
            }
            Node::Const(..) | Node::Var(..) => {}
            Node::Cell(_, i, _) => stack.push(i),
            Node::Unary(_, a) | Node::Cast(_, a) => stack.push(a),
            Node::Binary(_, a, b) => stack.extend([a, b]),
            Node::Ite(c, a, b) => stack.extend([c, a, b]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Builder;

    #[test]
    fn what_holds_for_all_values_of_an_input_is_said_without_it() {
        let mut b = Builder::new();
        b.shared("balance", Type::INT, 0);
        b.thread("t");
        let p = b.finish();
        let mut s = Symbols::new(&p);
        let mut solver = BitSolver::for_program(&p);
        let balance = s.terms.var(VarId(0), Type::INT);
        let amount = s.input(0, 0, Type::INT);
        let (zero, most) = (s.terms.int(0), s.terms.int(1000));
        // An amount from 1 to 1000 is added and it stays above zero: for a balance from -1 on, far from where it wraps around.
        let (few, many) = (s.terms.le(amount, zero), s.terms.lt(most, amount));
        let sum = s.terms.add(balance, amount);
        let fine = s.terms.le(zero, sum);
        let t = s.terms.or(many, fine);
        let t = s.terms.or(few, t);
        let all = for_every(&mut s, &mut solver, t, amount);
        for (value, holds) in
            [(-1000, false), (-2, false), (-1, true), (0, true), (5, true), (i32::MAX, false)]
        {
            let mut read = |_, _| Type::INT.bits_of(i128::from(value));
            assert_eq!(s.terms.eval(all, &mut read) != 0, holds, "{value}");
        }
    }
}
