//! Between which numbers each variable stays, wherever it is read: an interval a variable.
//!
//! The intervals do not depend on the place in the program. They are inductive: a step from a state within them leads to a state
//! within them, whatever the schedule. So they hold in every state of every run, and an engine may keep fewer bits of a variable than
//! its type has. The guard of a step narrows what it reads where it compares a variable with something.

use model::{Binary, Node, Program, Term, Transition, Type, Unary, VarId};

/// How often an interval may grow before it becomes that of the type.
const PATIENCE: u32 = 12;

/// The numbers from the first to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) low: i128,
    pub(crate) high: i128,
}

impl Interval {
    pub(crate) fn of(low: i128, high: i128) -> Interval {
        Interval { low, high }
    }

    fn one(v: i128) -> Interval {
        Interval::of(v, v)
    }

    fn all(ty: Type) -> Interval {
        Interval::of(ty.min(), ty.max())
    }

    fn join(self, other: Interval) -> Interval {
        Interval::of(self.low.min(other.low), self.high.max(other.high))
    }

    fn within(self, ty: Type) -> bool {
        ty.min() <= self.low && self.high <= ty.max()
    }

    /// The interval if the type holds it, else all of the type: arithmetic wraps around.
    fn wrapped(self, ty: Type) -> Interval {
        if self.within(ty) { self } else { Interval::all(ty) }
    }

    /// How many bits such a number needs, and whether the highest is a sign.
    pub(crate) fn bits(self) -> (u8, bool) {
        if self.low < 0 {
            let mut n = 1;
            while -(1i128 << (n - 1)) > self.low || (1i128 << (n - 1)) - 1 < self.high {
                n += 1;
            }
            (n, true)
        } else {
            ((128 - self.high.leading_zeros()) as u8, false)
        }
    }
}

/// The intervals of all variables.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    of: Vec<Interval>,
}

impl Ranges {
    /// Those of a program.
    pub(crate) fn of(p: &Program) -> Ranges {
        let first = |v: &model::Var| {
            let values = v.init.iter().map(|b| Interval::one(v.ty.value(*b)));
            values.reduce(Interval::join).unwrap_or(Interval::one(0))
        };
        let mut all = Ranges { of: p.vars.iter().map(first).collect() };
        let mut grown = vec![0; p.vars.len()];
        loop {
            let mut changed = false;
            for e in p.threads.iter().flat_map(|t| &t.transitions) {
                let Some(narrow) = all.narrowed(p, e) else { continue };
                let inputs = e.havoc.iter().map(|h| (h.var, Interval::all(p.var(h.var).ty)));
                let values = e.assigns.iter().map(|a| (a.place.var, narrow.term(p, a.value)));
                for (v, new) in inputs.chain(values).collect::<Vec<_>>() {
                    let old = all.of[v.index()];
                    let mut joined = old.join(new);
                    if joined == old {
                        continue;
                    }
                    grown[v.index()] += 1;
                    if grown[v.index()] > PATIENCE {
                        joined = Interval::all(p.var(v).ty);
                    }
                    all.of[v.index()] = joined;
                    changed = true;
                }
            }
            if !changed {
                return all;
            }
        }
    }

    /// That of a variable, or of all cells of an array.
    pub(crate) fn var(&self, v: VarId) -> Interval {
        self.of[v.index()]
    }

    /// The intervals where a step's guard holds; `None` if it holds nowhere.
    fn narrowed(&self, p: &Program, e: &Transition) -> Option<Ranges> {
        let mut out = self.clone();
        out.assume(p, e.guard, true).then_some(out)
    }

    /// Narrows by a condition and its outcome; whether it can be so.
    fn assume(&mut self, p: &Program, t: Term, outcome: bool) -> bool {
        let known = self.term(p, t);
        if p.terms.ty(t) == Type::BOOL && known == Interval::one(!outcome as i128) {
            return false;
        }
        match p.terms.node(t) {
            Node::Unary(Unary::Not, a) if p.terms.ty(a) == Type::BOOL => self.assume(p, a, !outcome),
            Node::Binary(Binary::And, a, b) if outcome && p.terms.ty(a) == Type::BOOL => {
                self.assume(p, a, true) && self.assume(p, b, true)
            }
            Node::Binary(Binary::Or, a, b) if !outcome && p.terms.ty(a) == Type::BOOL => {
                self.assume(p, a, false) && self.assume(p, b, false)
            }
            Node::Binary(Binary::Eq, a, b) if outcome => {
                let (x, y) = (self.term(p, a), self.term(p, b));
                self.meet(p, a, y) && self.meet(p, b, x)
            }
            Node::Binary(Binary::Lt, a, b) => {
                let by = if outcome { 1 } else { 0 };
                if outcome { self.order(p, a, b, by) } else { self.order(p, b, a, by) }
            }
            Node::Binary(Binary::Le, a, b) => {
                if outcome {
                    self.order(p, a, b, 0)
                } else {
                    self.order(p, b, a, 1)
                }
            }
            _ => true,
        }
    }

    /// Narrows by `a + by <= b`.
    fn order(&mut self, p: &Program, a: Term, b: Term, by: i128) -> bool {
        let (x, y) = (self.term(p, a), self.term(p, b));
        self.meet(p, a, Interval::of(x.low, y.high - by)) && self.meet(p, b, Interval::of(x.low + by, y.high))
    }

    /// Narrows a variable that is no array.
    fn meet(&mut self, p: &Program, t: Term, with: Interval) -> bool {
        match p.terms.node(t) {
            Node::Var(v, _) => {
                let old = self.of[v.index()];
                let new = Interval::of(old.low.max(with.low), old.high.min(with.high));
                self.of[v.index()] = new;
                new.low <= new.high
            }
            // A number that keeps its value in the other type.
            Node::Cast(to, a) if self.term(p, a).within(to) => self.meet(p, a, with),
            _ => with.low <= with.high,
        }
    }

    /// That of a term.
    fn term(&self, p: &Program, t: Term) -> Interval {
        let ty = p.terms.ty(t);
        match p.terms.node(t) {
            Node::Const(v, ty) => Interval::one(ty.value(v)),
            Node::Var(v, _) => self.of[v.index()],
            Node::Cell(v, i, _) => {
                let (cells, at) = (self.of[v.index()], self.term(p, i));
                let inside = at.low >= 0 && at.high < p.var(v).cells() as i128;
                if inside { cells } else { cells.join(Interval::one(0)) }
            }
            Node::Unary(Unary::Not, a) => {
                let x = self.term(p, a);
                let top = if ty.signed { -1 } else { ty.max() };
                Interval::of(top - x.high, top - x.low)
            }
            Node::Unary(Unary::Neg, a) => {
                let x = self.term(p, a);
                Interval::of(-x.high, -x.low).wrapped(ty)
            }
            Node::Binary(op, a, b) => binary(op, self.term(p, a), self.term(p, b), p.terms.ty(a)),
            Node::Ite(c, a, b) => match self.term(p, c) {
                Interval { low: 1, .. } => self.term(p, a),
                Interval { high: 0, .. } => self.term(p, b),
                _ => self.term(p, a).join(self.term(p, b)),
            },
            Node::Cast(to, a) => self.term(p, a).wrapped(to),
        }
    }
}

fn binary(op: Binary, x: Interval, y: Interval, ty: Type) -> Interval {
    let truth = |yes: bool, no: bool| match (yes, no) {
        (true, _) => Interval::one(1),
        (_, true) => Interval::one(0),
        _ => Interval::of(0, 1),
    };
    let positive = x.low >= 0 && y.low >= 0;
    match op {
        Binary::Add => Interval::of(x.low + y.low, x.high + y.high).wrapped(ty),
        Binary::Sub => Interval::of(x.low - y.high, x.high - y.low).wrapped(ty),
        Binary::Mul => {
            let corners = [
                x.low.checked_mul(y.low),
                x.low.checked_mul(y.high),
                x.high.checked_mul(y.low),
                x.high.checked_mul(y.high),
            ];
            let values: Option<Vec<i128>> = corners.into_iter().collect();
            match values {
                Some(v) => {
                    let low = v.iter().copied().min().unwrap_or(0);
                    Interval::of(low, v.iter().copied().max().unwrap_or(0)).wrapped(ty)
                }
                None => Interval::all(ty),
            }
        }
        Binary::Div if x.low >= 0 && y.low > 0 => Interval::of(x.low / y.high, x.high / y.low),
        Binary::Rem if x.low >= 0 && y.low > 0 => Interval::of(0, x.high.min(y.high - 1)),
        Binary::And if positive => Interval::of(0, x.high.min(y.high)),
        Binary::Or | Binary::Xor if positive => {
            let bits = 128 - (x.high | y.high).leading_zeros();
            Interval::of(0, (1i128 << bits) - 1)
        }
        Binary::Shr if positive => Interval::of(0, x.high),
        Binary::Eq => truth(x.low == x.high && x == y, x.high < y.low || y.high < x.low),
        Binary::Lt => truth(x.high < y.low, x.low >= y.high),
        Binary::Le => truth(x.high <= y.low, x.low > y.high),
        _ => Interval::all(ty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Builder, Interpreter, Place};
    use std::collections::HashSet;

    #[test]
    fn a_guard_bounds_what_it_lets_grow() {
        let mut b = Builder::new();
        let x = b.shared("x", Type::INT, 0);
        let t = b.thread("T");
        let top = b.here(t);
        let (old, five, one) = (b.value(x), b.terms().int(5), b.terms().int(1));
        let room = b.terms().lt(old, five);
        let more = b.terms().add(old, one);
        b.step(t, top, top, room, vec![model::Assign { place: Place::scalar(x), value: more }]);
        let p = b.finish();
        let range = Ranges::of(&p).var(x);
        assert_eq!((range, range.bits()), (Interval::of(0, 5), (3, false)));
    }

    #[test]
    fn what_grows_without_end_has_the_bits_of_its_type() {
        let mut b = Builder::new();
        let x = b.shared("x", Type::signed(16), -1);
        let t = b.thread("T");
        let top = b.here(t);
        let (old, one, yes) = (b.value(x), b.terms().number(1, Type::signed(16)), b.terms().boolean(true));
        let less = b.terms().sub(old, one);
        b.step(t, top, top, yes, vec![model::Assign { place: Place::scalar(x), value: less }]);
        let p = b.finish();
        assert_eq!(Ranges::of(&p).var(x).bits(), (16, true));
    }

    #[test]
    fn operations_stay_within_their_interval() {
        // Every operation on every pair of intervals of a small type, against all their members.
        for ty in [Type::signed(3), Type::unsigned(3), Type::BOOL] {
            let all: Vec<i128> = (ty.min()..=ty.max()).collect();
            for op in Binary::ALL {
                for (xl, xh) in pairs(&all) {
                    for (yl, yh) in pairs(&all) {
                        let found = binary(op, Interval::of(xl, xh), Interval::of(yl, yh), ty);
                        let out = if op.is_comparison() { Type::BOOL } else { ty };
                        for x in xl..=xh {
                            for y in yl..=yh {
                                let v = out.value(model::apply_binary(op, ty.bits_of(x), ty.bits_of(y), ty));
                                assert!(
                                    found.low <= v && v <= found.high,
                                    "{ty} {op:?} {x} {y}: {v} in {found:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    fn pairs(all: &[i128]) -> Vec<(i128, i128)> {
        all.iter().flat_map(|a| all.iter().filter(move |b| a <= b).map(move |b| (*a, *b))).collect()
    }

    #[test]
    fn every_state_of_random_programs_is_within_the_intervals() {
        for seed in 0..60 {
            let p = crate::testing::random(seed);
            let (ranges, run) = (Ranges::of(&p), Interpreter::new(&p));
            let mut seen = HashSet::from([run.initial()]);
            let mut open = vec![run.initial()];
            while let Some(s) = open.pop() {
                for (i, value) in s.values.iter().enumerate() {
                    let (v, _) = run.place_of(i);
                    let (n, range) = (p.var(v).ty.value(*value), ranges.var(v));
                    assert!(range.low <= n && n <= range.high, "seed {seed}: {} is {n}", p.name(v));
                }
                for t in p.thread_ids() {
                    for (_, next) in run.successors(&s, t).unwrap() {
                        if seen.len() < 3000 && seen.insert(next.clone()) {
                            open.push(next);
                        }
                    }
                }
            }
        }
    }
}
