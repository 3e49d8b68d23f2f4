//! Whether a formula follows from others: by the solver, with numbers put in for quantified variables.
//!
//! What is to be refuted is that all assumptions hold and the claim does not. There a number of which something holds gets a name of
//! its own, and what holds of all numbers is put down for some of them: the indices that occur. If that cannot be, the claim follows,
//! whatever is true of the other numbers. If it can be, the values that the solver found are tried on the formulas themselves, all
//! numbers of each range; where they fail, the number at which they do is put in as well, and so on.
//!
//! **Invariant:** *holds* is said only where the solver found a contradiction in consequences of the assumptions, *fails* only where
//! the formulas were evaluated on the values that are shown. All else is *unknown*.

use super::formula::{Formula, WIDE, World, compare, narrow as as_int};
use crate::bits::BitSolver;
use crate::solver::{Answer, Solver};
use model::{Assign, Binary, Node, Place, Term, Terms, Type, VarId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Values of variables and cells; all others are 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Values {
    pub(super) scalars: BTreeMap<VarId, u64>,
    pub(super) cells: BTreeMap<(VarId, u64), u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decided {
    Holds,
    Fails(Values),
    Unknown(String),
}

/// How many numbers of a range are tried, and how often numbers are put in.
const MOST_NUMBERS: i128 = 100_000;
const ROUNDS: usize = 40;
const MOST_INSTANCES: usize = 4000;
/// Of more numbers than this it is not said that they are in one order.
const MOST_ORDERED: usize = 10;

/// A formula in which only terms are negated, without names for which something exists.
enum Normal {
    Term(Term),
    And(Vec<Normal>),
    Or(Vec<Normal>),
    All {
        var: VarId,
        low: Term,
        high: Term,
        body: Box<Normal>,
    },
    /// Something that is left out: it would need a function.
    Anything,
}

pub(super) fn decide(
    world: &mut World<'_>,
    arrays: &HashMap<VarId, u32>,
    assumptions: &[Formula],
    claim: &Formula,
    seconds: f64,
) -> Decided {
    let mut skolems = Vec::new();
    let mut parts: Vec<Normal> = Vec::new();
    for a in assumptions {
        parts.push(normal(world, a, true, &mut Vec::new(), &mut skolems));
    }
    parts.push(normal(world, claim, false, &mut Vec::new(), &mut skolems));
    let mut solver = BitSolver::new();
    for (v, len) in arrays {
        solver.declare_array(*v, *len);
    }
    solver.limit(Some(seconds));
    let mut numbers: BTreeSet<Term> = skolems.iter().copied().collect();
    let quantified = parts.iter().any(has_all);
    if quantified {
        let mut seen = Vec::new();
        parts.iter().for_each(|p| ground_terms(p, &mut seen));
        for t in seen {
            indices(&mut world.terms, t, &mut numbers);
        }
    }
    let narrow = narrow(world, &parts);
    let start = std::time::Instant::now();
    // The ends of ranges are put in only where what occurs is not enough: each number makes the question harder.
    let mut with_ends = !quantified;
    for _ in 0..ROUNDS {
        if start.elapsed().as_secs_f64() > seconds {
            return Decided::Unknown(format!("{} seconds are over", (seconds * 10.0).round() / 10.0));
        }
        let mut count = 0;
        let mut all = Vec::new();
        for p in &parts {
            match ground(&mut world.terms, p, &numbers, &mut count) {
                Some(t) => all.push(t),
                None => {
                    return Decided::Unknown(
                        "too many numbers to put in for quantified variables".to_owned(),
                    );
                }
            }
        }
        let more = orders(&mut world.terms, &all);
        all.extend(more);
        match solver.check(&world.terms, &all) {
            Answer::Unsat => return Decided::Holds,
            Answer::Unknown => return Decided::Unknown("the solver gave up".to_owned()),
            Answer::Sat => {}
        }
        if !with_ends {
            with_ends = true;
            let before = numbers.len();
            parts.iter().for_each(|p| ends(&mut world.terms, p, &mut numbers));
            if numbers.len() > before {
                continue;
            }
        }
        // Small numbers and short ranges, if there are some: they are easier to read, and to try.
        let small = small(world, &all);
        let mut found = false;
        for more in [narrow.iter().chain(&small).copied().collect::<Vec<_>>(), narrow.clone()] {
            let both: Vec<Term> = all.iter().copied().chain(more).collect();
            if solver.check(&world.terms, &both) == Answer::Sat {
                found = true;
                break;
            }
        }
        if !found && solver.check(&world.terms, &all) != Answer::Sat {
            return Decided::Unknown("the solver gave up".to_owned());
        }
        let values = values(world, &solver, &all, &narrow);
        let mut meter = MOST_NUMBERS;
        let fine = assumptions.iter().map(|a| eval(&world.terms, a, &values, &mut Vec::new(), &mut meter));
        let fine: Option<Vec<bool>> = fine.collect();
        let wrong = eval(&world.terms, claim, &values, &mut Vec::new(), &mut meter);
        match (fine, wrong) {
            (Some(fine), Some(false)) if fine.iter().all(|b| *b) => return Decided::Fails(values),
            (None, _) | (_, None) => {
                return Decided::Unknown(
                    "a quantified variable has too many values to try them all".to_owned(),
                );
            }
            _ => {}
        }
        // Where what holds of all numbers does not, that number is put in.
        let before = numbers.len();
        for p in &parts {
            violated(&mut world.terms, p, &values, &mut numbers);
        }
        if numbers.len() == before {
            return Decided::Unknown("quantifiers inside of quantifiers".to_owned());
        }
    }
    Decided::Unknown("quantified variables took too many numbers".to_owned())
}

fn normal(
    world: &mut World<'_>,
    f: &Formula,
    positive: bool,
    bound: &mut Vec<VarId>,
    skolems: &mut Vec<Term>,
) -> Normal {
    match f {
        Formula::Term(t) => Normal::Term(if positive { *t } else { world.terms.not(*t) }),
        Formula::Not(a) => normal(world, a, !positive, bound, skolems),
        Formula::And(l) | Formula::Or(l) => {
            let list = l.iter().map(|a| normal(world, a, positive, bound, skolems)).collect();
            if matches!(f, Formula::And(_)) == positive { Normal::And(list) } else { Normal::Or(list) }
        }
        Formula::Quantified { all, var, low, high, body } if *all == positive => {
            bound.push(*var);
            let body = normal(world, body, positive, bound, skolems);
            bound.pop();
            Normal::All { var: *var, low: *low, high: *high, body: Box::new(body) }
        }
        Formula::Quantified { .. } if !bound.is_empty() => Normal::Anything,
        Formula::Quantified { var, low, high, body, .. } => {
            // There is one: it gets a name, and a new one each time that the formula occurs. Between two `int`s it is one.
            let name = world.names.get(var).cloned().unwrap_or_default();
            let one = world.fresh(name);
            let ints = as_int(&mut world.terms, *low).is_some() && as_int(&mut world.terms, *high).is_some();
            let x = world.terms.var(one, if ints { Type::INT } else { WIDE });
            let x = world.terms.cast(WIDE, x);
            skolems.push(x);
            let put = [Assign { place: Place::scalar(*var), value: x }];
            let body = world.before(body, &put, &mut HashMap::new());
            let from = compare(&mut world.terms, Binary::Le, *low, x);
            let until = compare(&mut world.terms, Binary::Lt, x, *high);
            let body = normal(world, &body, positive, bound, skolems);
            Normal::And(vec![Normal::Term(from), Normal::Term(until), body])
        }
    }
}

fn has_all(n: &Normal) -> bool {
    match n {
        Normal::Term(_) | Normal::Anything => false,
        Normal::And(l) | Normal::Or(l) => l.iter().any(has_all),
        Normal::All { .. } => true,
    }
}

/// The terms outside of quantifiers.
fn ground_terms(n: &Normal, out: &mut Vec<Term>) {
    match n {
        Normal::Term(t) => out.push(*t),
        Normal::And(l) | Normal::Or(l) => l.iter().for_each(|a| ground_terms(a, out)),
        Normal::All { .. } | Normal::Anything => {}
    }
}

/// The indices at which arrays are read in a term.
fn indices(terms: &mut Terms, t: Term, out: &mut BTreeSet<Term>) {
    let mut found = Vec::new();
    terms.places(t, &mut |p| found.extend(p.index));
    for i in found {
        let i = terms.cast(WIDE, i);
        out.insert(i);
    }
}

/// The first and the last number of each range that does not depend on another one.
fn ends(terms: &mut Terms, n: &Normal, out: &mut BTreeSet<Term>) {
    match n {
        Normal::Term(_) | Normal::Anything => {}
        Normal::And(l) | Normal::Or(l) => l.iter().for_each(|a| ends(terms, a, out)),
        Normal::All { low, high, .. } => {
            let one = terms.number(1, WIDE);
            let last = terms.sub(*high, one);
            out.extend([*low, last]);
        }
    }
}

/// What makes ranges short.
fn narrow(world: &mut World<'_>, parts: &[Normal]) -> Vec<Term> {
    fn find(n: &Normal, out: &mut Vec<(Term, Term)>) {
        match n {
            Normal::Term(_) | Normal::Anything => {}
            Normal::And(l) | Normal::Or(l) => l.iter().for_each(|a| find(a, out)),
            Normal::All { low, high, .. } => out.push((*low, *high)),
        }
    }
    let mut ranges = Vec::new();
    parts.iter().for_each(|p| find(p, &mut ranges));
    let terms = &mut world.terms;
    let (few, more) = (terms.number(-16, WIDE), terms.number(16, WIDE));
    let mut out = Vec::new();
    for (low, high) in ranges {
        for t in [low, high] {
            let (a, b) = (terms.le(few, t), terms.le(t, more));
            out.extend([a, b]);
        }
    }
    out
}

/// That numbers which are compared are in one order: true of all numbers, and hard to see bit by bit.
fn orders(terms: &mut Terms, all: &[Term]) -> Vec<Term> {
    let mut seen = BTreeSet::new();
    let mut compared: BTreeMap<Type, BTreeSet<Term>> = BTreeMap::new();
    let mut open = all.to_vec();
    while let Some(t) = open.pop() {
        if !seen.insert(t) {
            continue;
        }
        match terms.node(t) {
            Node::Const(..) | Node::Var(..) => {}
            Node::Cell(_, a, _) | Node::Unary(_, a) | Node::Cast(_, a) => open.push(a),
            Node::Binary(op, a, b) => {
                if matches!(op, Binary::Lt | Binary::Le) {
                    compared.entry(terms.ty(a)).or_default().extend([a, b]);
                }
                open.extend([a, b]);
            }
            Node::Ite(c, a, b) => open.extend([c, a, b]),
        }
    }
    let mut out = Vec::new();
    for list in compared.values().filter(|l| (3..=MOST_ORDERED).contains(&l.len())) {
        for x in list {
            for y in list {
                for z in list {
                    if x != y && y != z && x != z {
                        let (a, b, c) = (terms.le(*x, *y), terms.le(*y, *z), terms.le(*x, *z));
                        let both = terms.and(a, b);
                        let not = terms.not(both);
                        let one = terms.or(not, c);
                        if terms.as_const(one).is_none() {
                            out.push(one);
                        }
                    }
                }
            }
        }
    }
    out
}

/// What makes the numbers of the program small.
fn small(world: &mut World<'_>, all: &[Term]) -> Vec<Term> {
    let mut vars = BTreeSet::new();
    for t in all {
        world.terms.places(*t, &mut |p| {
            if p.index.is_none() && p.var.index() < world.program.vars.len() {
                vars.insert(p.var);
            }
        });
    }
    let mut out = Vec::new();
    for v in vars {
        let ty = world.program.var(v).ty;
        if ty.bits > 8 {
            let x = world.terms.var(v, ty);
            let (few, more) = (world.terms.number(ty.min().max(-16), ty), world.terms.number(16, ty));
            let (a, b) = (world.terms.le(few, x), world.terms.le(x, more));
            out.extend([a, b]);
        }
    }
    out
}

/// A formula with numbers put in for its quantified variables: a consequence of it.
fn ground(terms: &mut Terms, n: &Normal, numbers: &BTreeSet<Term>, count: &mut usize) -> Option<Term> {
    Some(match n {
        Normal::Term(t) => *t,
        Normal::Anything => terms.boolean(true),
        Normal::And(l) => {
            let mut all = terms.boolean(true);
            for a in l {
                let a = ground(terms, a, numbers, count)?;
                all = terms.and(all, a);
            }
            all
        }
        Normal::Or(l) => {
            let mut some = terms.boolean(false);
            for a in l {
                let a = ground(terms, a, numbers, count)?;
                some = terms.or(some, a);
            }
            some
        }
        Normal::All { var, low, high, body } => {
            let body = ground(terms, body, numbers, count)?;
            let mut all = terms.boolean(true);
            for value in numbers {
                *count += 1;
                if *count > MOST_INSTANCES {
                    return None;
                }
                let put = Assign { place: Place::scalar(*var), value: *value };
                let from = compare(terms, Binary::Le, *low, *value);
                let until = compare(terms, Binary::Lt, *value, *high);
                let within = terms.and(from, until);
                let outside = terms.not(within);
                let body = terms.substitute(body, &[put]);
                let one = terms.or(outside, body);
                all = terms.and(all, one);
            }
            all
        }
    })
}

/// What the solver found.
fn values(world: &World<'_>, solver: &BitSolver, all: &[Term], narrow: &[Term]) -> Values {
    let terms = &world.terms;
    let mut out = Values::default();
    let mut seen = BTreeSet::new();
    let mut open: Vec<Term> = all.iter().chain(narrow).copied().collect();
    while let Some(t) = open.pop() {
        if !seen.insert(t) {
            continue;
        }
        match terms.node(t) {
            Node::Const(..) => {}
            Node::Var(v, _) => {
                out.scalars.insert(v, solver.value(terms, t));
            }
            Node::Cell(v, i, _) => {
                let at = solver.value(terms, i);
                out.cells.insert((v, at), solver.value(terms, t));
                open.push(i);
            }
            Node::Unary(_, a) | Node::Cast(_, a) => open.push(a),
            Node::Binary(_, a, b) => open.extend([a, b]),
            Node::Ite(c, a, b) => open.extend([c, a, b]),
        }
    }
    out
}

/// The value of a term.
pub(super) fn value(terms: &Terms, t: Term, values: &Values, bound: &[(VarId, i128)]) -> u64 {
    terms.eval(t, &mut |v, i| {
        if let Some((_, n)) = bound.iter().rev().find(|b| b.0 == v) {
            return WIDE.bits_of(*n);
        }
        let scalar = values.scalars.get(&v).copied();
        // A variable is a scalar or an array, never both.
        scalar.or_else(|| values.cells.get(&(v, i)).copied()).unwrap_or(0)
    })
}

/// Whether a formula holds of values; `None` if too many numbers would have to be tried.
pub(super) fn eval(
    terms: &Terms,
    f: &Formula,
    values: &Values,
    bound: &mut Vec<(VarId, i128)>,
    meter: &mut i128,
) -> Option<bool> {
    Some(match f {
        Formula::Term(t) => value(terms, *t, values, bound) != 0,
        Formula::Not(a) => !eval(terms, a, values, bound, meter)?,
        Formula::And(l) => {
            for a in l {
                if !eval(terms, a, values, bound, meter)? {
                    return Some(false);
                }
            }
            true
        }
        Formula::Or(l) => {
            for a in l {
                if eval(terms, a, values, bound, meter)? {
                    return Some(true);
                }
            }
            false
        }
        Formula::Quantified { all, var, low, high, body } => {
            let (low, high) = range(terms, *low, *high, values, bound);
            *meter -= (high - low).max(0);
            if *meter < 0 {
                return None;
            }
            for n in low..high {
                bound.push((*var, n));
                let here = eval(terms, body, values, bound, meter);
                bound.pop();
                if here? != *all {
                    return Some(!*all);
                }
            }
            *all
        }
    })
}

fn range(terms: &Terms, low: Term, high: Term, values: &Values, bound: &[(VarId, i128)]) -> (i128, i128) {
    (WIDE.value(value(terms, low, values, bound)), WIDE.value(value(terms, high, values, bound)))
}

/// Adds a number for which something that should hold of all does not.
fn violated(terms: &mut Terms, n: &Normal, values: &Values, numbers: &mut BTreeSet<Term>) {
    match n {
        Normal::Term(_) | Normal::Anything => {}
        Normal::And(l) | Normal::Or(l) => l.iter().for_each(|a| violated(terms, a, values, numbers)),
        Normal::All { .. } => {
            let mut bound = Vec::new();
            if holds(terms, n, values, &mut bound) == Some(false) {
                for (_, n) in bound {
                    let t = terms.number(n, WIDE);
                    numbers.insert(t);
                }
            }
        }
    }
}

/// Whether it holds; where not, `bound` has the numbers for which it does not.
fn holds(terms: &Terms, n: &Normal, values: &Values, bound: &mut Vec<(VarId, i128)>) -> Option<bool> {
    Some(match n {
        Normal::Term(t) => value(terms, *t, values, bound) != 0,
        Normal::Anything => true,
        Normal::And(l) => {
            for a in l {
                let depth = bound.len();
                if !holds(terms, a, values, bound)? {
                    return Some(false);
                }
                bound.truncate(depth);
            }
            true
        }
        Normal::Or(l) => {
            let depth = bound.len();
            for a in l {
                bound.truncate(depth);
                if holds(terms, a, values, bound)? {
                    bound.truncate(depth);
                    return Some(true);
                }
            }
            false
        }
        Normal::All { var, low, high, body } => {
            let (low, high) = range(terms, *low, *high, values, bound);
            if high - low > MOST_NUMBERS {
                return None;
            }
            for n in low..high {
                let depth = bound.len();
                bound.push((*var, n));
                if !holds(terms, body, values, bound)? {
                    return Some(false);
                }
                bound.truncate(depth);
            }
            true
        }
    })
}
