//! Which values each variable can have at all, wherever it is read: a few constants, or anything.
//!
//! The sets do not depend on the place in the program, so they hold in every state of every interleaving: a variable has its initial
//! value or one that some edge assigns. Edges whose guard holds for none of these values are never taken, and go. This is what
//! resolves pointers: of the cells that a pointer could point to by its type, those are left whose address gets into it.

use crate::program::Program;
use crate::term::{Place, Term, Type};
use std::collections::BTreeSet;

/// More values than this are anything.
const MANY: usize = 32;
/// More combinations than this are not tried.
const TRIED: usize = 2048;

/// The values of a variable; `None` is anything.
type Values = Option<BTreeSet<u64>>;

/// Removes edges that are never taken; whether there were any.
pub(crate) fn prune(p: &mut Program) -> bool {
    let values = of_variables(p);
    let mut removed = false;
    for t in p.thread_ids() {
        // Only what depends on pointers: whether the program's own conditions can hold is for others to prove.
        let pointer = |g: Term| {
            let mut found = false;
            p.terms.places(g, &mut |q| found |= p.var(q.var).ty == Type::unsigned(64));
            found
        };
        let never = |g: Term| pointer(g) && !can_hold(p, &values, g);
        let infeasible: Vec<bool> = p.thread(t).transitions.iter().map(|e| never(e.guard)).collect();
        if infeasible.contains(&true) {
            removed = true;
            let mut it = infeasible.iter();
            p.threads[t.index()].transitions.retain(|_| !it.next().copied().unwrap_or(false));
        }
    }
    removed
}

/// The values that each variable can have.
fn of_variables(p: &Program) -> Vec<Values> {
    let mut values: Vec<Values> = p.vars.iter().map(|v| Some(v.init.iter().copied().collect())).collect();
    loop {
        let mut changed = false;
        for e in p.threads.iter().flat_map(|t| &t.transitions) {
            for h in &e.havoc {
                changed |= values[h.var.index()].take().is_some();
            }
            for a in &e.assigns {
                let at = a.place.var.index();
                if values[at].is_none() {
                    continue;
                }
                let new = of_term(p, &values, a.value);
                changed |= add(&mut values[at], new);
            }
        }
        if !changed {
            return values;
        }
    }
}

fn add(into: &mut Values, new: Values) -> bool {
    match (into.as_mut(), new) {
        (None, _) => false,
        (Some(_), None) => {
            *into = None;
            true
        }
        (Some(have), Some(new)) => {
            let before = have.len();
            have.extend(new);
            let grown = have.len() != before;
            if have.len() > MANY {
                *into = None;
            }
            grown
        }
    }
}

/// The places that a term reads, each with its values; `None` if there are too many combinations.
fn combinations(p: &Program, values: &[Values], t: Term) -> Option<Vec<(Place, Vec<u64>)>> {
    let mut places: Vec<Place> = Vec::new();
    p.terms.places(t, &mut |q| {
        if !places.contains(&q) {
            places.push(q);
        }
    });
    let mut out = Vec::new();
    let mut product = 1usize;
    for q in places {
        if let Some(v) = &values[q.var.index()] {
            // The value past the end of an array is zero.
            let past = q.index.is_some() && !v.contains(&0);
            let list: Vec<u64> = v.iter().copied().chain(past.then_some(0)).collect();
            product = product.saturating_mul(list.len());
            out.push((q, list));
        }
    }
    (product <= TRIED).then_some(out)
}

/// Calls `see` with the value of a term for each combination of values; stops when it says so.
fn each(p: &Program, values: &[Values], t: Term, mut see: impl FnMut(Option<u64>) -> bool) {
    let Some(list) = combinations(p, values, t) else {
        see(None);
        return;
    };
    let mut at = vec![0usize; list.len()];
    loop {
        let value = eval(p, t, &list, &at);
        if !see(value) {
            return;
        }
        let Some(next) = (0..list.len()).find(|i| at[*i] + 1 < list[*i].1.len()) else { return };
        at[..next].fill(0);
        at[next] += 1;
    }
}

/// The value of a term where each place has the chosen one of its values. Places are told apart as terms: `a[i]` and `a[j]` may
/// have different values, which is at least what can be.
fn eval(p: &Program, t: Term, list: &[(Place, Vec<u64>)], at: &[usize]) -> Option<u64> {
    use crate::term::{Binary, Node, apply_binary, apply_unary, convert};
    let terms = &p.terms;
    let of = |q: Place| list.iter().position(|l| l.0 == q).map(|i| list[i].1[at[i]]);
    match terms.node(t) {
        Node::Const(v, _) => Some(v),
        Node::Var(v, _) => of(Place::scalar(v)),
        Node::Cell(v, i, _) => of(Place::cell(v, i)),
        Node::Unary(op, a) => Some(apply_unary(op, eval(p, a, list, at)?, terms.ty(a))),
        Node::Binary(op, a, b) => {
            let ty = terms.ty(a);
            match (op, eval(p, a, list, at), eval(p, b, list, at)) {
                (_, Some(x), Some(y)) => Some(apply_binary(op, x, y, ty)),
                (Binary::And, Some(0), _) | (Binary::And, _, Some(0)) => Some(0),
                (Binary::Or, Some(x), _) | (Binary::Or, _, Some(x)) if x == ty.mask() => Some(x),
                _ => None,
            }
        }
        Node::Ite(c, a, b) => match eval(p, c, list, at) {
            Some(0) => eval(p, b, list, at),
            Some(_) => eval(p, a, list, at),
            None => {
                let (a, b) = (eval(p, a, list, at)?, eval(p, b, list, at)?);
                (a == b).then_some(a)
            }
        },
        Node::Cast(to, a) => Some(convert(eval(p, a, list, at)?, terms.ty(a), to)),
    }
}

fn of_term(p: &Program, values: &[Values], t: Term) -> Values {
    let mut out = Some(BTreeSet::new());
    each(p, values, t, |v| {
        match (v, out.as_mut()) {
            (Some(v), Some(set)) if set.len() <= MANY => {
                set.insert(v);
            }
            _ => out = None,
        }
        out.is_some()
    });
    out
}

fn can_hold(p: &Program, values: &[Values], guard: Term) -> bool {
    let mut possible = false;
    each(p, values, guard, |v| {
        possible |= v != Some(0);
        !possible
    });
    possible
}
