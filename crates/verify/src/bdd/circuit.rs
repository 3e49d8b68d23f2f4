//! Terms as vectors of decision diagrams, one a bit, the lowest first: each operation of C's arithmetic as a circuit.

use super::layout::Layout;
use crate::budget::Meter;
use model::{Binary, Node, Place, Term, Terms, Type, Unary, VarId};
use oxidd::bdd::{BDDFunction, BDDManagerRef};
use oxidd::error::OutOfMemory;
use oxidd::util::AllocResult;
use oxidd::{BooleanFunction, ManagerRef};
use std::collections::HashMap;

/// The bits of a value.
pub(crate) type Bits = Vec<BDDFunction>;

/// Makes diagrams of terms; each term is made once.
pub(crate) struct Circuit<'p> {
    terms: &'p Terms,
    layout: &'p Layout,
    /// The diagram of each bit of a state before a step.
    pub(crate) now: Vec<BDDFunction>,
    pub(crate) yes: BDDFunction,
    pub(crate) no: BDDFunction,
    /// What was made already.
    pub(crate) known: HashMap<Term, Bits>,
    meter: &'p Meter,
}

impl<'p> Circuit<'p> {
    /// Over the variables of a manager. When the time of the meter is over it is as if the memory were: whoever asks looks at the clock.
    pub(crate) fn new(
        terms: &'p Terms,
        layout: &'p Layout,
        manager: &BDDManagerRef,
        meter: &'p Meter,
    ) -> AllocResult<Circuit<'p>> {
        let (yes, no, now) = manager.with_manager_shared(|m| {
            let now: AllocResult<Vec<_>> =
                (0..layout.len()).map(|b| BDDFunction::var(m, layout.now(b))).collect();
            (BDDFunction::t(m), BDDFunction::f(m), now)
        });
        Ok(Circuit { terms, layout, now: now?, yes, no, known: HashMap::new(), meter })
    }

    /// Before every operation that may be large.
    pub(crate) fn look(&self) -> AllocResult<()> {
        self.meter.look().map_err(|_| OutOfMemory)
    }

    fn bit(&self, value: bool) -> BDDFunction {
        if value { self.yes.clone() } else { self.no.clone() }
    }

    /// A number.
    pub(crate) fn constant(&self, value: u64, bits: usize) -> Bits {
        (0..bits).map(|i| self.bit(i < 64 && value >> i & 1 == 1)).collect()
    }

    /// The value of a cell that is there.
    pub(crate) fn cell(&self, var: VarId, index: u64) -> Bits {
        let place = self.layout.cell(var, index);
        let mut out: Bits = place.bits.iter().map(|b| self.now[*b].clone()).collect();
        let above = if place.signed { out.last().unwrap_or(&self.no).clone() } else { self.no.clone() };
        out.resize(self.layout.width(var), above);
        out
    }

    /// Where the index of a place has this value.
    pub(crate) fn index_is(&mut self, place: Place, value: u64) -> AllocResult<BDDFunction> {
        match place.index {
            None => Ok(self.bit(value == 0)),
            Some(i) => {
                let i = self.term(i)?;
                if i.len() < 64 && value >> i.len() != 0 {
                    return Ok(self.no.clone());
                }
                let value = self.constant(value, i.len());
                self.equal(&i, &value)
            }
        }
    }

    /// A truth value.
    pub(crate) fn truth(&mut self, t: Term) -> AllocResult<BDDFunction> {
        debug_assert_eq!(self.terms.ty(t), Type::BOOL);
        Ok(self.term(t)?[0].clone())
    }

    /// The bits of a term.
    pub(crate) fn term(&mut self, t: Term) -> AllocResult<Bits> {
        if let Some(known) = self.known.get(&t) {
            return Ok(known.clone());
        }
        let terms = self.terms;
        let out = match terms.node(t) {
            Node::Const(v, ty) => self.constant(v, ty.bits as usize),
            Node::Var(v, ty) => {
                let mut out = self.cell(v, 0);
                // An input has bits enough for every type.
                out.truncate(ty.bits as usize);
                out
            }
            Node::Cell(v, i, ty) => {
                let mut out = self.constant(0, ty.bits as usize);
                for c in 0..self.layout.cells(v) as u64 {
                    let here = self.index_is(Place::cell(v, i), c)?;
                    let cell = self.cell(v, c);
                    out = self.choose(&here, &cell, &out)?;
                }
                out
            }
            Node::Unary(Unary::Not, a) => invert(&self.term(a)?)?,
            Node::Unary(Unary::Neg, a) => {
                let a = self.term(a)?;
                self.negative(&a)?
            }
            Node::Binary(op, a, b) => {
                let (x, y) = (self.term(a)?, self.term(b)?);
                self.binary(op, &x, &y, terms.ty(a))?
            }
            Node::Ite(c, a, b) => {
                let (c, a, b) = (self.truth(c)?, self.term(a)?, self.term(b)?);
                self.choose(&c, &a, &b)?
            }
            Node::Cast(to, a) => {
                let (mut out, from) = (self.term(a)?, terms.ty(a));
                let above = if from.signed { out[from.bits as usize - 1].clone() } else { self.no.clone() };
                out.resize(to.bits as usize, above);
                out
            }
        };
        self.known.insert(t, out.clone());
        Ok(out)
    }

    fn binary(&self, op: Binary, a: &Bits, b: &Bits, ty: Type) -> AllocResult<Bits> {
        match op {
            Binary::Add => self.sum(a, b, false),
            Binary::Sub => self.sum(a, &invert(b)?, true),
            Binary::Mul => self.product(a, b),
            Binary::Div | Binary::Rem => self.quotient(op == Binary::Rem, a, b, ty.signed),
            Binary::And => a.iter().zip(b).map(|(x, y)| x.and(y)).collect(),
            Binary::Or => a.iter().zip(b).map(|(x, y)| x.or(y)).collect(),
            Binary::Xor => a.iter().zip(b).map(|(x, y)| x.xor(y)).collect(),
            Binary::Shl => self.shift(a, b, true, &self.no),
            Binary::Shr => {
                let fill = if ty.signed { &a[a.len() - 1] } else { &self.no };
                self.shift(a, b, false, fill)
            }
            Binary::Eq => Ok(vec![self.equal(a, b)?]),
            Binary::Lt => Ok(vec![self.less(a, b, ty.signed)?]),
            Binary::Le => Ok(vec![self.less(b, a, ty.signed)?.not()?]),
        }
    }

    /// One of two values.
    pub(crate) fn choose(&self, c: &BDDFunction, a: &Bits, b: &Bits) -> AllocResult<Bits> {
        let one = |(x, y): (&BDDFunction, &BDDFunction)| self.look().and_then(|()| c.ite(x, y));
        a.iter().zip(b).map(one).collect()
    }

    /// Whether two values of one width are equal.
    pub(crate) fn equal(&self, a: &Bits, b: &Bits) -> AllocResult<BDDFunction> {
        // From the deepest variables upwards, so that what is there grows at its top.
        let mut all = self.yes.clone();
        for (x, y) in a.iter().zip(b).rev() {
            self.look()?;
            all = x.equiv(y)?.and(&all)?;
        }
        Ok(all)
    }

    fn less(&self, a: &Bits, b: &Bits, signed: bool) -> AllocResult<BDDFunction> {
        let mut less = self.no.clone();
        for (i, (x, y)) in a.iter().zip(b).enumerate() {
            self.look()?;
            // The sign weighs the other way.
            let (x, y) = if signed && i + 1 == a.len() { (y, x) } else { (x, y) };
            less = x.xor(y)?.ite(y, &less)?;
        }
        Ok(less)
    }

    fn sum(&self, a: &Bits, b: &Bits, carry: bool) -> AllocResult<Bits> {
        let mut carry = self.bit(carry);
        let mut out = Vec::with_capacity(a.len());
        for (x, y) in a.iter().zip(b) {
            self.look()?;
            let half = x.xor(y)?;
            out.push(half.xor(&carry)?);
            carry = half.ite(&carry, x)?;
        }
        Ok(out)
    }

    fn negative(&self, a: &Bits) -> AllocResult<Bits> {
        self.sum(&self.constant(0, a.len()), &invert(a)?, true)
    }

    fn product(&self, a: &Bits, b: &Bits) -> AllocResult<Bits> {
        let constants = |v: &Bits| v.iter().filter(|x| **x == self.yes || **x == self.no).count();
        let (a, b) = if constants(a) > constants(b) { (b, a) } else { (a, b) };
        let mut out = self.constant(0, a.len());
        for (i, factor) in b.iter().enumerate() {
            if *factor == self.no {
                continue;
            }
            let mut part = self.constant(0, i);
            for x in &a[..a.len() - i] {
                part.push(x.and(factor)?);
            }
            out = self.sum(&out, &part, false)?;
        }
        Ok(out)
    }

    /// The quotient or the remainder, with the values of SMT-LIB where the divisor is zero.
    fn quotient(&self, remainder: bool, a: &Bits, b: &Bits, signed: bool) -> AllocResult<Bits> {
        let w = a.len();
        // By a power of two, as the distance of cells mostly is.
        let one = |f: &BDDFunction| *f == self.yes;
        if !signed
            && b.iter().all(|f| one(f) || *f == self.no)
            && b.iter().filter(|f| one(f)).count() == 1
            && let Some(k) = b.iter().position(one)
        {
            let mut out = if remainder { a[..k].to_vec() } else { a[k..].to_vec() };
            out.resize(w, self.no.clone());
            return Ok(out);
        }
        let (minus_a, minus_b) = (&a[w - 1], &b[w - 1]);
        let (x, y) = if signed {
            (self.choose(minus_a, &self.negative(a)?, a)?, self.choose(minus_b, &self.negative(b)?, b)?)
        } else {
            (a.clone(), b.clone())
        };
        // One bit more than the divisor has: what is left is doubled before it is compared.
        let mut divisor = y;
        divisor.push(self.no.clone());
        let mut left = self.constant(0, w + 1);
        let mut quotient = self.constant(0, w);
        for i in (0..w).rev() {
            left.pop();
            left.insert(0, x[i].clone());
            let fits = self.less(&left, &divisor, false)?.not()?;
            let less = self.sum(&left, &invert(&divisor)?, true)?;
            left = self.choose(&fits, &less, &left)?;
            quotient[i] = fits;
        }
        left.pop();
        if signed {
            let differ = minus_a.xor(minus_b)?;
            quotient = self.choose(&differ, &self.negative(&quotient)?, &quotient)?;
            left = self.choose(minus_a, &self.negative(&left)?, &left)?;
        }
        let by_zero = self.equal(b, &self.constant(0, w))?;
        if remainder {
            return self.choose(&by_zero, a, &left);
        }
        let ones = self.constant(u64::MAX, w);
        let odd = if signed { self.choose(minus_a, &self.constant(1, w), &ones)? } else { ones };
        self.choose(&by_zero, &odd, &quotient)
    }

    fn shift(&self, a: &Bits, by: &Bits, left: bool, fill: &BDDFunction) -> AllocResult<Bits> {
        let w = a.len();
        let mut out = a.clone();
        for (k, bit) in by.iter().enumerate() {
            let n = if k < 7 { (1usize << k).min(w) } else { w };
            let mut moved = vec![fill.clone(); w];
            if left {
                moved[n..].clone_from_slice(&out[..w - n]);
            } else {
                moved[..w - n].clone_from_slice(&out[n..]);
            }
            out = self.choose(bit, &moved, &out)?;
        }
        Ok(out)
    }
}

fn invert(a: &Bits) -> AllocResult<Bits> {
    a.iter().map(|x| x.not()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::layout::Layout;
    use super::*;
    use crate::budget::Budget;
    use model::{Builder, apply_binary, apply_unary, convert};
    use oxidd::{Manager, VarNo};

    /// The value of a vector where the two variables have these values.
    fn value(bits: &Bits, layout: &Layout, vars: [(VarId, u64); 2]) -> u64 {
        let args: Vec<(VarNo, bool)> = vars
            .iter()
            .flat_map(|(v, value)| {
                let cell = layout.cell(*v, 0);
                cell.bits
                    .iter()
                    .enumerate()
                    .map(|(i, b)| (layout.now(*b), value >> i & 1 == 1))
                    .collect::<Vec<_>>()
            })
            .collect();
        let every: Vec<(VarNo, bool)> =
            (0..2 * layout.len() as VarNo).map(|v| (v, args.contains(&(v, true)))).collect();
        bits.iter().enumerate().map(|(i, b)| (b.eval(every.iter().copied()) as u64) << i).sum()
    }

    #[test]
    fn every_circuit_computes_what_the_interpreter_does() {
        for ty in [Type::signed(4), Type::unsigned(4), Type::signed(3), Type::BOOL] {
            let mut b = Builder::new();
            let (x, y) = (b.shared("x", ty, 0), b.shared("y", ty, 0));
            let t = b.thread("T");
            b.havoc(t, Place::scalar(x));
            b.havoc(t, Place::scalar(y));
            let (tx, ty_) = (b.value(x), b.value(y));
            let terms: Vec<Term> = Binary::ALL.iter().map(|op| b.terms().binary(*op, tx, ty_)).collect();
            // With a number on the right some are made in another way.
            let numbers: Vec<(Binary, u64, Term)> = Binary::ALL
                .iter()
                .flat_map(|op| (0..=ty.mask()).map(move |n| (*op, n)))
                .map(|(op, n)| {
                    let right = b.terms().constant(n, ty);
                    (op, n, b.terms().binary(op, tx, right))
                })
                .collect();
            let (not, neg) = (b.terms().unary(Unary::Not, tx), b.terms().unary(Unary::Neg, tx));
            let wider = [Type::signed(7), Type::unsigned(7), Type::unsigned(2)];
            let casts: Vec<Term> = wider.iter().map(|w| b.terms().cast(*w, tx)).collect();
            let p = b.finish();
            let layout = Layout::of(&p);
            let manager = oxidd::bdd::new_manager(1 << 16, 1 << 12, 1);
            manager.with_manager_exclusive(|m| m.add_vars(2 * layout.len() as VarNo));
            let meter = Meter::new(Budget::default());
            let mut c = Circuit::new(&p.terms, &layout, &manager, &meter).unwrap();
            for u in 0..=ty.mask() {
                for v in 0..=ty.mask() {
                    let at = [(x, u), (y, v)];
                    for (op, t) in Binary::ALL.iter().zip(&terms) {
                        let bits = c.term(*t).unwrap();
                        assert_eq!(
                            value(&bits, &layout, at),
                            apply_binary(*op, u, v, ty),
                            "{ty} {u} {op:?} {v}"
                        );
                    }
                    for (op, n, t) in numbers.iter().filter(|(_, n, _)| *n == v) {
                        let bits = c.term(*t).unwrap();
                        assert_eq!(
                            value(&bits, &layout, at),
                            apply_binary(*op, u, *n, ty),
                            "{ty} {u} {op:?} {n}"
                        );
                    }
                    let bits = c.term(not).unwrap();
                    assert_eq!(value(&bits, &layout, at), apply_unary(Unary::Not, u, ty));
                    let bits = c.term(neg).unwrap();
                    assert_eq!(value(&bits, &layout, at), apply_unary(Unary::Neg, u, ty));
                    for (to, t) in wider.iter().zip(&casts) {
                        let bits = c.term(*t).unwrap();
                        assert_eq!(value(&bits, &layout, at), convert(u, ty, *to), "{ty} {u} as {to}");
                    }
                }
            }
        }
    }
}
