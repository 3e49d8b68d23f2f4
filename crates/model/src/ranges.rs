//! What can be said of a term whatever its variables are: between which numbers it is, and whether a condition always or never holds.
//!
//! Only bounds that a term shows by itself are found: constants, bits that are cut off, remainders, and types.

use crate::term::{Binary, Node, Term, Terms, Unary};

/// The lowest and the highest number that a term may be; it need not be either.
pub(crate) fn range(terms: &Terms, t: Term) -> (i128, i128) {
    let ty = terms.ty(t);
    let widest = (ty.min(), ty.max());
    match terms.node(t) {
        Node::Const(bits, ty) => (ty.value(bits), ty.value(bits)),
        Node::Binary(Binary::And, a, b) => {
            // With what is not negative, no more bits than that has.
            let high = [a, b].map(|x| range(terms, x)).into_iter().filter(|r| r.0 >= 0).map(|r| r.1).min();
            high.map_or(widest, |high| (0, high))
        }
        Node::Binary(Binary::Rem, a, b) => {
            let ((low, _), (least, most)) = (range(terms, a), range(terms, b));
            // A remainder by zero is the dividend.
            if least <= 0 { widest } else { (if low < 0 { 1 - most } else { 0 }, most - 1) }
        }
        Node::Cast(to, a) => {
            let (low, high) = range(terms, a);
            if to.min() <= low && high <= to.max() { (low, high) } else { widest }
        }
        Node::Ite(_, a, b) => {
            let (a, b) = (range(terms, a), range(terms, b));
            (a.0.min(b.0), a.1.max(b.1))
        }
        _ => widest,
    }
}

/// Whether a condition holds, if it does always or never.
pub(crate) fn truth(terms: &Terms, t: Term) -> Option<bool> {
    if terms.ty(t).bits != 1 {
        return None;
    }
    match terms.node(t) {
        Node::Const(bits, _) => Some(bits != 0),
        Node::Unary(Unary::Not, a) => truth(terms, a).map(|x| !x),
        Node::Binary(Binary::And, a, b) => match (truth(terms, a), truth(terms, b)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Node::Binary(Binary::Or, a, b) => match (truth(terms, a), truth(terms, b)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        Node::Binary(op @ (Binary::Lt | Binary::Le | Binary::Eq), a, b) => {
            let (a, b) = (range(terms, a), range(terms, b));
            let (always, never) = match op {
                Binary::Lt => (a.1 < b.0, a.0 >= b.1),
                Binary::Le => (a.1 <= b.0, a.0 > b.1),
                _ => (a.0 == a.1 && a == b, a.1 < b.0 || b.1 < a.0),
            };
            if always || never { Some(always) } else { None }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::{Type, VarId};

    /// Conditions on a byte, signed and unsigned, with the other operand a constant.
    fn conditions(terms: &mut Terms, ty: Type) -> Vec<Term> {
        let x = terms.var(VarId(0), ty);
        let mut numbers = vec![x];
        for k in [-3, 0, 1, 6, 100] {
            let c = terms.number(k, ty);
            numbers.extend([Binary::And, Binary::Rem, Binary::Add].map(|op| terms.binary(op, x, c)));
        }
        for n in numbers.clone() {
            numbers
                .extend([Type::signed(8), Type::unsigned(16), Type::signed(4)].map(|to| terms.cast(to, n)));
        }
        let mut all = Vec::new();
        for n in numbers {
            for k in [-7, 0, 1, 7, 100] {
                let c = terms.number(k, terms.ty(n));
                let parts = [terms.lt(n, c), terms.le(c, n), terms.eq(n, c)];
                let (not, and) = (terms.not(parts[0]), terms.and(parts[0], parts[1]));
                let choice = terms.ite(parts[0], c, n);
                all.extend(parts.into_iter().chain([
                    not,
                    and,
                    terms.or(parts[1], parts[2]),
                    terms.le(choice, c),
                ]));
            }
        }
        all
    }

    #[test]
    fn what_is_said_of_a_condition_holds_for_every_value() {
        for ty in [Type::signed(8), Type::unsigned(8)] {
            let mut terms = Terms::new();
            let (mut always, mut never) = (0, 0);
            for c in conditions(&mut terms, ty) {
                let Some(said) = truth(&terms, c) else { continue };
                *(if said { &mut always } else { &mut never }) += 1;
                for value in 0..256 {
                    assert_eq!(
                        terms.eval(c, &mut |_, _| value) == 1,
                        said,
                        "{ty:?} {:?} {value}",
                        terms.node(c)
                    );
                }
            }
            assert!(always > 20 && never > 20, "{always} {never}");
        }
    }

    #[test]
    fn an_index_with_its_high_bits_cut_off_is_within_the_array() {
        let mut terms = Terms::new();
        let x = terms.var(VarId(0), Type::INT);
        let one = terms.int(1);
        let cut = terms.binary(Binary::And, x, one);
        let (index, two) = (terms.cast(Type::unsigned(64), cut), terms.constant(2, Type::unsigned(64)));
        let (within, beyond) = (terms.lt(index, two), terms.le(two, index));
        assert_eq!((truth(&terms, within), truth(&terms, beyond)), (Some(true), Some(false)));
        let any = terms.cast(Type::unsigned(64), x);
        let within = terms.lt(any, two);
        assert_eq!(truth(&terms, within), None);
    }
}
