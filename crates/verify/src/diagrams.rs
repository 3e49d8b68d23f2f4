//! Whether formulas can hold together, asked of decision diagrams over all bits of a state.
//!
//! Where two sums are made in different orders, a SAT solver may search for ever and a diagram is small. The check of a proof asks here
//! when the solver gives up. Nothing that an engine found out of the program goes in: every variable has all its bits.

use crate::bdd::{Bits, Circuit, Layout};
use crate::budget::Meter;
use model::{Program, Term, Terms, Transition, VarId};
use oxidd::bdd::{BDDFunction, BDDManagerRef};
use oxidd::util::AllocResult;
use oxidd::{
    BooleanFunction, BooleanFunctionQuant, BooleanOperator, Function, FunctionSubst, HasLevel, Manager,
    ManagerRef, Subst, VarNo,
};
use std::collections::{BTreeSet, HashMap, HashSet};

/// How many nodes there may be at a time: some seconds of work.
const CAPACITY: usize = 1 << 21;
/// States with more bits than this are none for diagrams.
const MOST_BITS: usize = 4000;

/// Diagrams of formulas about one program.
pub(crate) struct Diagrams {
    layout: Layout,
    manager: BDDManagerRef,
    /// The formula that was the first of the last question.
    last: Option<First>,
    /// Formulas over all bits.
    plain: HashMap<Term, Bits>,
}

/// A formula, and what is known where it holds: most bits of most variables are the same in all states of a label, and what is made
/// of them, addresses and indices, is then a number.
struct First {
    term: Term,
    holds: BDDFunction,
    /// Each bit of a state: itself, or what it always is.
    bits: Vec<BDDFunction>,
    /// Other formulas, made of those bits.
    known: HashMap<Term, Bits>,
}

impl Diagrams {
    /// For a program, and formulas with so many inputs besides. `None` if a state has too many bits.
    pub(crate) fn new(program: &Program, inputs: usize) -> Option<Diagrams> {
        let layout = Layout::whole(program, inputs);
        if layout.len() > MOST_BITS {
            return None;
        }
        let manager = oxidd::bdd::new_manager(CAPACITY, CAPACITY / 4, 1);
        manager.with_manager_exclusive(|m| m.add_vars(2 * layout.len() as VarNo));
        Some(Diagrams { layout, manager, last: None, plain: HashMap::new() })
    }

    /// Whether all of these can hold at once. An error means that the memory or the time is over.
    pub(crate) fn can_hold(&mut self, terms: &Terms, all: &[Term], meter: &Meter) -> AllocResult<bool> {
        let Some((term, rest)) = all.split_first() else { return Ok(true) };
        let last = self.first(terms, *term, meter)?;
        let mut circuit = self.circuit(terms, meter)?;
        (circuit.now, circuit.known) = (last.bits, last.known);
        let mut both = last.holds.clone();
        for t in rest {
            circuit.look()?;
            if both == circuit.no {
                break;
            }
            both = both.and(&circuit.truth(*t)?)?;
        }
        let can = both != circuit.no;
        self.last = Some(First { bits: circuit.now, known: circuit.known, ..last });
        Ok(can)
    }

    /// Whether every state in which the label holds is led by a transition to one in which `then` holds: all states that it leads
    /// to are made, and looked at.
    pub(crate) fn leads_to(
        &mut self,
        terms: &Terms,
        (label, e, then): (Term, &Transition, Term),
        meter: &Meter,
    ) -> AllocResult<bool> {
        let last = self.first(terms, label, meter)?;
        let mut circuit = self.circuit(terms, meter)?;
        (circuit.now, circuit.known) = (last.bits, last.known);
        let after = self.after(&mut circuit, &last.holds, e)?;
        self.last = Some(First { bits: circuit.now, known: circuit.known, ..last });
        let mut circuit = Circuit::new(terms, &self.layout, &self.manager, meter)?;
        circuit.known = std::mem::take(&mut self.plain);
        let then = circuit.truth(then)?;
        let holds = after.and(&then.not()?)? == circuit.no;
        self.plain = circuit.known;
        Ok(holds)
    }

    fn circuit<'d>(&'d self, terms: &'d Terms, meter: &'d Meter) -> AllocResult<Circuit<'d>> {
        Circuit::new(terms, &self.layout, &self.manager, meter)
    }

    fn first(&mut self, terms: &Terms, term: Term, meter: &Meter) -> AllocResult<First> {
        if let Some(last) = self.last.take().filter(|l| l.term == term) {
            return Ok(last);
        }
        let mut circuit = Circuit::new(terms, &self.layout, &self.manager, meter)?;
        circuit.known = std::mem::take(&mut self.plain);
        let holds = circuit.truth(term)?;
        self.plain = std::mem::take(&mut circuit.known);
        let bits = self.fixed(&circuit, &holds);
        Ok(First { term, holds, bits, known: HashMap::new() })
    }

    /// The states after a transition, of the variables alone.
    fn after(
        &self,
        circuit: &mut Circuit<'_>,
        from: &BDDFunction,
        e: &Transition,
    ) -> AllocResult<BDDFunction> {
        let variable = |v: VarNo| self.manager.with_manager_shared(|m| BDDFunction::var(m, v));
        let mut steps = circuit.truth(e.guard)?;
        if from.and(&steps)? == circuit.no {
            return Ok(circuit.no.clone());
        }
        let places = e.assigns.iter().map(|a| &a.place).chain(&e.havoc);
        let vars: BTreeSet<VarId> = places.map(|p| p.var).collect();
        let mut parts = Vec::new();
        for v in vars {
            for c in 0..self.layout.cells(v) as u64 {
                let (mut new, mut any) = (circuit.cell(v, c), circuit.no.clone());
                let mut touched = circuit.no.clone();
                for a in e.assigns.iter().filter(|a| a.place.var == v) {
                    let (here, value) = (circuit.index_is(a.place, c)?, circuit.term(a.value)?);
                    new = circuit.choose(&here, &value, &new)?;
                    touched = touched.or(&here)?;
                }
                for h in e.havoc.iter().filter(|h| h.var == v) {
                    any = any.or(&circuit.index_is(*h, c)?)?;
                }
                if touched.or(&any)? == circuit.no {
                    continue;
                }
                for (b, new) in self.layout.cell(v, c).bits.iter().zip(&new) {
                    let next = variable(self.layout.next(*b))?;
                    parts.push((*b, next.equiv(new)?.or(&any)?));
                }
            }
        }
        // The lowest in the diagrams first: what comes then is put on top.
        parts.sort_by_key(|p| std::cmp::Reverse(p.0));
        let mut before = circuit.yes.clone();
        let (mut next, mut now) = (Vec::new(), Vec::new());
        for (b, part) in parts {
            circuit.look()?;
            steps = steps.and(&part)?;
            let here = variable(self.layout.now(b))?;
            before = before.and(&here)?;
            next.push(self.layout.next(b));
            now.push(here);
        }
        from.apply_exists(BooleanOperator::And, &steps, &before)?.substitute(&Subst::new(next, now))
    }

    /// Each bit of a state as it is where a formula holds, which is somewhere. Every node is looked at once: a bit may be what leads on
    /// from a node of its own, and anything where an edge passes it by.
    fn fixed(&self, circuit: &Circuit<'_>, holds: &BDDFunction) -> Vec<BDDFunction> {
        let levels = 2 * self.layout.len();
        let (mut can_be, mut passed) = (vec![[false; 2]; levels], vec![0i32; levels + 1]);
        let level = |f: &BDDFunction| match f.cofactors() {
            None => levels,
            Some(_) => f.with_manager_shared(|m, e| m.get_node(e).unwrap_inner().level()) as usize,
        };
        let mut pass = |from: usize, to: usize| {
            passed[from] += 1;
            passed[to] -= 1;
        };
        pass(0, level(holds));
        let (mut seen, mut open) = (HashSet::from([holds.clone()]), vec![holds.clone()]);
        while let Some(f) = open.pop() {
            let Some((yes, no)) = f.cofactors() else { continue };
            let here = level(&f);
            for (value, next) in [(0, no), (1, yes)] {
                if next != circuit.no {
                    can_be[here][value] = true;
                    pass(here + 1, level(&next));
                    if seen.insert(next.clone()) {
                        open.push(next);
                    }
                }
            }
        }
        let mut over = 0;
        let free: Vec<bool> = passed
            .iter()
            .map(|n| {
                over += n;
                over > 0
            })
            .collect();
        let bit = |(b, itself): (usize, &BDDFunction)| match (free[2 * b], can_be[2 * b]) {
            (false, [true, false]) => circuit.no.clone(),
            (false, [false, true]) => circuit.yes.clone(),
            _ => itself.clone(),
        };
        circuit.now.iter().enumerate().map(bit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::checker::Formulas;
    use crate::testing::Rng;
    use model::{Builder, Place, Type};

    #[test]
    fn sums_in_another_order_are_the_same_whatever_the_program_does_with_its_variables() {
        let mut b = Builder::new();
        let vars: Vec<VarId> = (0..6).map(|i| b.shared(&format!("v{i}"), Type::INT, 0)).collect();
        let t = b.thread("T");
        b.havoc(t, Place::scalar(vars[0]));
        let values: Vec<Term> = vars.iter().map(|v| b.value(*v)).collect();
        let zero = b.terms().int(0);
        let up = values.iter().fold(zero, |sum, v| b.terms().add(sum, *v));
        let down = values.iter().rev().fold(zero, |sum, v| b.terms().add(*v, sum));
        let (same, less) = (b.terms().eq(up, down), b.terms().lt(up, values[5]));
        let other = b.terms().not(same);
        let input = VarId(vars.len() as u32);
        let input = b.terms().var(input, Type::unsigned(8));
        let wide = b.terms().cast(Type::INT, input);
        let (most, five) = (b.terms().int(255), b.terms().int(5));
        let (over, small) = (b.terms().lt(most, wide), b.terms().lt(wide, five));
        let p = b.finish();
        let mut d = Diagrams::new(&p, 1).unwrap();
        let mut can = |all: &[Term]| d.can_hold(&p.terms, all, &Meter::new(Budget::default())).unwrap();
        assert!(!can(&[other]) && can(&[same]));
        // The program never writes most of them, and still they may be anything: that is for a proof to say.
        assert!(can(&[less]) && !can(&[less, other]));
        assert!(!can(&[over]) && can(&[small]), "an input has the bits that its type has");
        assert!(!can(&[same, other]) && can(&[small, less]) && !can(&[small, over]) && can(&[less, same]));
    }

    #[test]
    fn a_bit_is_fixed_where_it_has_one_value_in_all_states() {
        let mut b = Builder::new();
        let small = Type::unsigned(3);
        let (x, y) = (b.shared("x", small, 0), b.shared("y", small, 0));
        let (x, y) = (b.value(x), b.value(y));
        let p = b.program().clone();
        let d = Diagrams::new(&p, 0).unwrap();
        let meter = Meter::new(Budget::default());
        // All sets of pairs of three bits that a comparison with a number, or with each other, gives.
        for n in 0..8 {
            let c = b.terms().constant(n, small);
            for op in [model::Binary::Eq, model::Binary::Lt, model::Binary::Le] {
                for (l, r) in [(x, c), (c, y), (x, y)] {
                    let (one, two) = (b.terms().binary(op, l, r), b.terms().binary(model::Binary::Eq, y, c));
                    for f in [one, b.terms().or(one, two), b.terms().and(one, two)] {
                        let mut circuit = Circuit::new(b.terms(), &d.layout, &d.manager, &meter).unwrap();
                        let holds = circuit.truth(f).unwrap();
                        if holds == circuit.no {
                            continue;
                        }
                        let fixed = d.fixed(&circuit, &holds);
                        for (bit, is) in circuit.now.iter().zip(fixed) {
                            let (zero, one) = (holds.imp(bit).unwrap(), holds.and(bit).unwrap());
                            let what = if one == circuit.no {
                                &circuit.no
                            } else if zero == circuit.yes {
                                &circuit.yes
                            } else {
                                bit
                            };
                            assert!(is == *what);
                        }
                    }
                }
            }
        }
    }

    /// A random formula or number over the variables of a program.
    fn random(rng: &mut Rng, b: &mut Builder, vars: &[VarId], array: VarId, ty: Type, deep: u32) -> Term {
        if deep == 0 || rng.below(4) == 0 {
            return match rng.below(3) {
                0 => b.terms().constant(rng.below(4), ty),
                1 => {
                    let i = b.terms().constant(rng.below(4), ty);
                    b.cell(array, i)
                }
                _ => b.value(vars[rng.below(vars.len() as u64) as usize]),
            };
        }
        let mut part = |b: &mut Builder| random(rng, b, vars, array, ty, deep - 1);
        let (x, y, z) = (part(b), part(b), part(b));
        let less = b.terms().lt(x, y);
        match rng.below(4) {
            0 => b.terms().add(x, y),
            1 => b.terms().ite(less, y, z),
            2 => b.cell(array, x),
            _ => b.terms().binary(model::Binary::Rem, x, y),
        }
    }

    #[test]
    fn where_steps_lead_is_what_the_solver_says() {
        let (mut leads, mut not) = (0, 0);
        for seed in 0..100 {
            let rng = &mut Rng(seed + 1);
            let mut b = Builder::new();
            let ty = Type::unsigned(2);
            let vars = [b.shared("x", ty, 0), b.shared("y", ty, 0)];
            let array = b.shared_array("a", ty, &[0, 1, 2]);
            let t = b.thread("T");
            let mut number = |b: &mut Builder| random(rng, b, &vars, array, ty, 2);
            let [g, h, l, m, n, o, p, q, i] = std::array::from_fn(|_| number(&mut b));
            let (guard, label, then) = (b.terms().le(g, h), b.terms().lt(l, m), b.terms().le(n, o));
            let assigns = vec![
                model::Assign { place: Place::scalar(vars[0]), value: p },
                model::Assign { place: Place::cell(array, i), value: q },
            ];
            let (from, to) = (b.here(t), b.location(t));
            b.step(t, from, to, guard, assigns);
            let mut e = b.program().thread(t).transitions[0].clone();
            let two = b.terms().constant(2, ty);
            match seed % 4 {
                0 => e.havoc = vec![Place::scalar(vars[1])],
                1 => e.havoc = vec![Place::cell(array, two), Place::scalar(vars[1])],
                _ => {}
            }
            let program = b.program().clone();
            let meter = || Meter::new(Budget::default());
            let mut f = Formulas::new(&program, &program.terms, meter());
            let expected = f.leads_to(label, &e, then).unwrap();
            let mut d = Diagrams::new(&program, 2).unwrap();
            for _ in 0..2 {
                let found = d.leads_to(&program.terms, (label, &e, then), &meter()).unwrap();
                assert_eq!(found, expected, "seed {seed}");
            }
            *(if expected { &mut leads } else { &mut not }) += 1;
        }
        assert!(leads > 10 && not > 10, "{leads} {not}");
    }

    #[test]
    fn a_question_that_was_given_up_leaves_the_next_one_as_it_was() {
        let mut b = Builder::new();
        let x = b.shared("x", Type::unsigned(8), 0);
        let x = b.value(x);
        let square = b.terms().binary(model::Binary::Mul, x, x);
        let two = b.terms().constant(2, Type::unsigned(8));
        let (never, here) = (b.terms().eq(square, two), b.terms().eq(x, two));
        let p = b.finish();
        let mut d = Diagrams::new(&p, 0).unwrap();
        let over = Meter::new(Budget { seconds: Some(0.0), work: None });
        assert!(d.can_hold(&p.terms, &[never], &over).is_err());
        let left = Meter::new(Budget::default());
        assert_eq!(d.can_hold(&p.terms, &[never], &left), Ok(false));
        assert_eq!(d.can_hold(&p.terms, &[here], &left), Ok(true));
    }
}
