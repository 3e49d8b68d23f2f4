//! The embedded solver: bit-vector terms turned into clauses, bit by bit.
//!
//! Terms are kept once ([`Terms`]), so each is translated once, and queries are assumptions: nothing is ever taken back. Arrays are
//! functions: two reads of one array agree where their indices do, and a read at or past the end is 0. When many variables have
//! piled up of which a query needs few, the solver starts afresh. Queries that the values of an earlier answer satisfy are not asked.

use crate::models::{Models, Values};
use crate::sat::{Lit, Sat};
use crate::smt::SmtSolver;
use crate::solver::{Answer, Solver, chosen};
use model::{Binary, Node, Term, Terms, Type, Unary, VarId, WordHash};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

type Bits = Rc<[Lit]>;

/// Bit-vectors on a SAT solver; or handed to another solver, where [`with_solver`](crate::with_solver) says so.
pub struct BitSolver {
    /// Who answers in its place.
    outside: Option<SmtSolver>,
    sat: Sat,
    bits: HashMap<Term, Bits, WordHash>,
    /// Gates that are there already: an and, an exclusive or.
    ands: HashMap<(Lit, Lit), Lit, WordHash>,
    xors: HashMap<(Lit, Lit), Lit, WordHash>,
    arrays: HashMap<VarId, u32>,
    reads: HashMap<VarId, Vec<(Term, Bits)>>,
    /// The variables that there are bits of.
    variables: Vec<Term>,
    /// Values of earlier answers; none where formulas only grow.
    models: Option<RefCell<Models>>,
    /// Whether the last answer is from there.
    from_models: bool,
    core: Vec<Term>,
    seconds: Option<f64>,
    /// Start afresh above so many variables.
    most: u32,
    queries: u64,
}

impl Default for BitSolver {
    fn default() -> BitSolver {
        BitSolver::new()
    }
}

impl BitSolver {
    /// One that knows nothing yet.
    pub fn new() -> BitSolver {
        BitSolver {
            outside: chosen().map(|c| SmtSolver::new(&c)),
            sat: Sat::new(),
            bits: HashMap::default(),
            ands: HashMap::default(),
            xors: HashMap::default(),
            arrays: HashMap::new(),
            reads: HashMap::new(),
            variables: Vec::new(),
            models: Some(RefCell::default()),
            from_models: false,
            core: Vec::new(),
            seconds: None,
            most: 30_000,
            queries: 0,
        }
    }

    /// One that never starts afresh: for formulas that grow.
    pub fn with_room() -> BitSolver {
        BitSolver { most: u32::MAX, models: None, ..BitSolver::new() }
    }

    /// One that knows the arrays of a program.
    pub fn for_program(p: &model::Program) -> BitSolver {
        let mut s = BitSolver::new();
        for (i, v) in p.vars.iter().enumerate() {
            if let Some(len) = v.len {
                s.declare_array(VarId(i as u32), len);
            }
        }
        s
    }

    /// How many queries there were.
    pub fn queries(&self) -> u64 {
        self.queries
    }

    fn start_afresh(&mut self) {
        self.sat = Sat::new();
        self.bits.clear();
        self.ands.clear();
        self.xors.clear();
        self.reads.clear();
        self.variables.clear();
    }

    /// How many queries were answered by values of earlier answers.
    #[cfg(test)]
    pub(crate) fn asked_of_the_past(&self) -> u64 {
        self.models.as_ref().map_or(0, |m| m.borrow().hits)
    }

    /// Keeps the values of the last answer.
    fn remember(&mut self, terms: &Terms) {
        let Some(models) = &self.models else { return };
        let mut values = Values::default();
        for t in &self.variables {
            values.set(*t, self.bits_value(*t));
        }
        for (array, reads) in &self.reads {
            for (index, bits) in reads {
                let index = terms.as_const(*index).unwrap_or_else(|| self.bits_value(*index));
                values.set_cell(*array, index, self.lits_value(bits));
            }
        }
        models.borrow_mut().add(values);
    }

    fn lits_value(&self, bits: &[Lit]) -> u64 {
        bits.iter().enumerate().fold(0, |v, (i, l)| v | (self.sat.value(*l) as u64) << i)
    }

    /// What the query does not speak of can have any value: nothing depends on it.
    fn bits_value(&self, t: Term) -> u64 {
        self.bits.get(&t).map_or(0, |bits| self.lits_value(bits))
    }

    fn and(&mut self, a: Lit, b: Lit) -> Lit {
        if a == Lit::FALSE || b == Lit::FALSE || a == !b {
            return Lit::FALSE;
        }
        if a == Lit::TRUE || a == b {
            return b;
        }
        if b == Lit::TRUE {
            return a;
        }
        let key = if a < b { (a, b) } else { (b, a) };
        if let Some(c) = self.ands.get(&key) {
            return *c;
        }
        let c = self.sat.fresh();
        self.sat.add(&[!c, a]);
        self.sat.add(&[!c, b]);
        self.sat.add(&[c, !a, !b]);
        self.ands.insert(key, c);
        c
    }

    fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        // The sign of either side only turns the result round: one gate for all four.
        let flip = (a != positive(a)) != (b != positive(b));
        let (a, b) = (positive(a), positive(b));
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        let c = if a == Lit::TRUE {
            !b
        } else if a == b {
            Lit::FALSE
        } else if let Some(c) = self.xors.get(&(a, b)) {
            *c
        } else {
            let c = self.sat.fresh();
            self.sat.add(&[!c, a, b]);
            self.sat.add(&[!c, !a, !b]);
            self.sat.add(&[c, !a, b]);
            self.sat.add(&[c, a, !b]);
            self.xors.insert((a, b), c);
            c
        };
        if flip { !c } else { c }
    }

    fn mux(&mut self, c: Lit, a: Lit, b: Lit) -> Lit {
        if a == b {
            return a;
        }
        if a == !b {
            return !self.xor(c, a);
        }
        let yes = self.and(c, a);
        let no = self.and(!c, b);
        self.or(yes, no)
    }

    fn mux_all(&mut self, c: Lit, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        a.iter().zip(b).map(|(a, b)| self.mux(c, *a, *b)).collect()
    }

    /// The sum with a carry, and the carry out.
    fn sum(&mut self, a: &[Lit], b: &[Lit], mut carry: Lit) -> (Vec<Lit>, Lit) {
        let mut out = Vec::with_capacity(a.len());
        for (a, b) in a.iter().zip(b) {
            let half = self.xor(*a, *b);
            out.push(self.xor(half, carry));
            let both = self.and(*a, *b);
            let moved = self.and(half, carry);
            carry = self.or(both, moved);
        }
        (out, carry)
    }

    fn negative(&mut self, a: &[Lit]) -> Vec<Lit> {
        let (a, zero): (Vec<Lit>, Vec<Lit>) = a.iter().map(|l| (!*l, Lit::FALSE)).unzip();
        self.sum(&a, &zero, Lit::TRUE).0
    }

    /// The difference, and whether `a` is not below `b` as unsigned numbers.
    fn difference(&mut self, a: &[Lit], b: &[Lit]) -> (Vec<Lit>, Lit) {
        let b: Vec<Lit> = b.iter().map(|l| !*l).collect();
        self.sum(a, &b, Lit::TRUE)
    }

    fn product(&mut self, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        let n = a.len();
        let mut out = vec![Lit::FALSE; n];
        for (i, bit) in b.iter().enumerate() {
            if *bit == Lit::FALSE {
                continue;
            }
            let row: Vec<Lit> =
                (0..n).map(|k| if k < i { Lit::FALSE } else { self.and(*bit, a[k - i]) }).collect();
            out = self.sum(&out, &row, Lit::FALSE).0;
        }
        out
    }

    /// Quotient and remainder of unsigned numbers, as on paper. A division by zero gives all ones and the dividend.
    fn divide(&mut self, a: &[Lit], b: &[Lit]) -> (Vec<Lit>, Vec<Lit>) {
        let n = a.len();
        // By a power of two, as the distance of cells mostly is.
        if b.iter().all(|l| [Lit::TRUE, Lit::FALSE].contains(l))
            && b.iter().filter(|l| **l == Lit::TRUE).count() == 1
            && let Some(k) = b.iter().position(|l| *l == Lit::TRUE)
        {
            let zeros = |n: usize| std::iter::repeat_n(Lit::FALSE, n);
            let quotient = a[k..].iter().copied().chain(zeros(k)).collect();
            return (quotient, a[..k].iter().copied().chain(zeros(n - k)).collect());
        }
        let mut divisor = b.to_vec();
        divisor.push(Lit::FALSE);
        let mut rest = vec![Lit::FALSE; n];
        let mut quotient = vec![Lit::FALSE; n];
        for i in (0..n).rev() {
            // One bit more, so that what is shifted out counts.
            let mut shifted = vec![a[i]];
            shifted.extend_from_slice(&rest);
            let (less, fits) = self.difference(&shifted, &divisor);
            quotient[i] = fits;
            rest = self.mux_all(fits, &less[..n], &shifted[..n]);
        }
        (quotient, rest)
    }

    fn absolute(&mut self, a: &[Lit]) -> Vec<Lit> {
        let minus = self.negative(a);
        self.mux_all(a[a.len() - 1], &minus, a)
    }

    fn shift(&mut self, a: &[Lit], by: &[Lit], left: bool, fill: Lit) -> Vec<Lit> {
        let n = a.len();
        let mut out = a.to_vec();
        let mut too_far = Lit::FALSE;
        for (i, bit) in by.iter().enumerate() {
            let distance = 1usize.checked_shl(i as u32).filter(|d| *d < n);
            let Some(d) = distance else {
                too_far = self.or(too_far, *bit);
                continue;
            };
            let moved: Vec<Lit> = (0..n)
                .map(|k| {
                    if left {
                        if k < d { Lit::FALSE } else { out[k - d] }
                    } else if k + d < n {
                        out[k + d]
                    } else {
                        fill
                    }
                })
                .collect();
            out = self.mux_all(*bit, &moved, &out);
        }
        let none = vec![if left { Lit::FALSE } else { fill }; n];
        self.mux_all(too_far, &none, &out)
    }

    fn equal(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let mut all = Lit::TRUE;
        for (a, b) in a.iter().zip(b) {
            let differ = self.xor(*a, *b);
            all = self.and(all, !differ);
        }
        all
    }

    fn less(&mut self, a: &[Lit], b: &[Lit], signed: bool) -> Lit {
        let (mut a, mut b) = (a.to_vec(), b.to_vec());
        if signed {
            // With the sign bits turned round the order is that of unsigned numbers.
            let top = a.len() - 1;
            a[top] = !a[top];
            b[top] = !b[top];
        }
        !self.difference(&a, &b).1
    }

    fn binary(&mut self, op: Binary, a: &[Lit], b: &[Lit], ty: Type) -> Vec<Lit> {
        let top = a.len() - 1;
        match op {
            Binary::Add => self.sum(a, b, Lit::FALSE).0,
            Binary::Sub => self.difference(a, b).0,
            Binary::Mul => self.product(a, b),
            Binary::Div | Binary::Rem if ty.signed => {
                let (x, y) = (self.absolute(a), self.absolute(b));
                let (q, r) = self.divide(&x, &y);
                let (out, minus) =
                    if op == Binary::Div { (q, self.xor(a[top], b[top])) } else { (r, a[top]) };
                let negated = self.negative(&out);
                self.mux_all(minus, &negated, &out)
            }
            Binary::Div => self.divide(a, b).0,
            Binary::Rem => self.divide(a, b).1,
            Binary::And => a.iter().zip(b).map(|(a, b)| self.and(*a, *b)).collect(),
            Binary::Or => a.iter().zip(b).map(|(a, b)| self.or(*a, *b)).collect(),
            Binary::Xor => a.iter().zip(b).map(|(a, b)| self.xor(*a, *b)).collect(),
            Binary::Shl => self.shift(a, b, true, Lit::FALSE),
            Binary::Shr => {
                let fill = if ty.signed { a[top] } else { Lit::FALSE };
                self.shift(a, b, false, fill)
            }
            Binary::Eq => vec![self.equal(a, b)],
            Binary::Lt => vec![self.less(a, b, ty.signed)],
            Binary::Le => vec![!self.less(b, a, ty.signed)],
        }
    }

    fn fresh(&mut self, bits: u8) -> Bits {
        (0..bits).map(|_| self.sat.fresh()).collect()
    }

    /// The literals of a term. Terms can be deep, so this keeps its own stack.
    fn blast(&mut self, terms: &Terms, root: Term) -> Bits {
        let mut stack = vec![root];
        while let Some(&t) = stack.last() {
            if self.bits.contains_key(&t) {
                stack.pop();
                continue;
            }
            let before = stack.len();
            let bits = &self.bits;
            let mut need = |a: Term| {
                if !bits.contains_key(&a) {
                    stack.push(a);
                }
            };
            match terms.node(t) {
                Node::Const(..) | Node::Var(..) => {}
                Node::Cell(_, a, _) | Node::Unary(_, a) | Node::Cast(_, a) => need(a),
                Node::Binary(_, a, b) => {
                    need(a);
                    need(b);
                }
                Node::Ite(c, a, b) => {
                    need(c);
                    need(a);
                    need(b);
                }
            }
            if stack.len() == before {
                let out = self.translate(terms, t);
                self.bits.insert(t, out);
                stack.pop();
            }
        }
        self.bits[&root].clone()
    }

    fn translate(&mut self, terms: &Terms, t: Term) -> Bits {
        match terms.node(t) {
            Node::Const(v, ty) => {
                (0..ty.bits).map(|i| if v >> i & 1 == 1 { Lit::TRUE } else { Lit::FALSE }).collect()
            }
            Node::Var(_, ty) => {
                self.variables.push(t);
                self.fresh(ty.bits)
            }
            Node::Cell(v, i, ty) => self.read(v, i, ty),
            Node::Unary(op, a) => {
                let a = self.bits[&a].clone();
                match op {
                    Unary::Not => a.iter().map(|l| !*l).collect(),
                    Unary::Neg => self.negative(&a).into(),
                }
            }
            Node::Binary(op, a, b) => {
                let ty = terms.ty(a);
                let (a, b) = (self.bits[&a].clone(), self.bits[&b].clone());
                self.binary(op, &a, &b, ty).into()
            }
            Node::Ite(c, a, b) => {
                let (c, a, b) = (self.bits[&c][0], self.bits[&a].clone(), self.bits[&b].clone());
                self.mux_all(c, &a, &b).into()
            }
            Node::Cast(to, a) => {
                let from = terms.ty(a);
                let a = self.bits[&a].clone();
                let fill = if from.signed { a[a.len() - 1] } else { Lit::FALSE };
                (0..to.bits as usize).map(|i| a.get(i).copied().unwrap_or(fill)).collect()
            }
        }
    }

    /// A read of an array: any value, but the same as other reads at the same index, and 0 past the end.
    fn read(&mut self, var: VarId, index: Term, ty: Type) -> Bits {
        let at = self.unsigned_index(index);
        let out = self.fresh(ty.bits);
        if let Some(len) = self.arrays.get(&var).copied() {
            let len: Vec<Lit> =
                (0..64).map(|i| if u64::from(len) >> i & 1 == 1 { Lit::TRUE } else { Lit::FALSE }).collect();
            let inside = self.less(&at, &len, false);
            for bit in out.iter() {
                self.sat.add(&[inside, !*bit]);
            }
        }
        let others = self.reads.get(&var).cloned().unwrap_or_default();
        for (other, value) in others {
            let other = self.unsigned_index(other);
            let same = self.equal(&at, &other);
            if same == Lit::FALSE {
                continue;
            }
            for (x, y) in out.iter().zip(value.iter()) {
                self.sat.add(&[!same, !*x, *y]);
                self.sat.add(&[!same, *x, !*y]);
            }
        }
        self.reads.entry(var).or_default().push((index, out.clone()));
        out
    }

    /// The bits of an index as the interpreter sees it: those of the value, with nothing above.
    fn unsigned_index(&self, index: Term) -> Vec<Lit> {
        let bits = &self.bits[&index];
        (0..64).map(|i| bits.get(i).copied().unwrap_or(Lit::FALSE)).collect()
    }
}

/// The literal without its sign. The constants are one variable.
fn positive(l: Lit) -> Lit {
    if l < !l { l } else { !l }
}

impl Solver for BitSolver {
    fn declare_array(&mut self, var: VarId, len: u32) {
        if let Some(other) = &mut self.outside {
            other.declare_array(var, len);
        }
        self.arrays.insert(var, len);
    }

    fn check(&mut self, terms: &Terms, assumptions: &[Term]) -> Answer {
        self.core.clear();
        self.from_models = false;
        if let Some(no) = assumptions.iter().find(|a| terms.as_const(**a) == Some(0)) {
            self.core.push(*no);
            return Answer::Unsat;
        }
        self.queries += 1;
        if let Some(other) = &mut self.outside {
            let answer = other.check(terms, assumptions);
            self.core.extend_from_slice(other.core());
            return answer;
        }
        if let Some(models) = &mut self.models
            && models.get_mut().satisfy(terms, &self.arrays, assumptions)
        {
            self.from_models = true;
            return Answer::Sat;
        }
        if self.sat.vars() > self.most {
            self.start_afresh();
        }
        let lits: Vec<Lit> = assumptions.iter().map(|a| self.blast(terms, *a)[0]).collect();
        match self.sat.solve(&lits, self.seconds) {
            None => Answer::Unknown,
            Some(true) => {
                self.remember(terms);
                Answer::Sat
            }
            Some(false) => {
                for (a, l) in assumptions.iter().zip(&lits) {
                    if self.sat.in_core(*l) && !self.core.contains(a) {
                        self.core.push(*a);
                    }
                }
                // Definitions alone can always hold: without an assumption to blame the answer is not to be trusted.
                if self.core.is_empty() { Answer::Unknown } else { Answer::Unsat }
            }
        }
    }

    fn core(&self) -> &[Term] {
        &self.core
    }

    fn value(&self, terms: &Terms, t: Term) -> u64 {
        if let Some(v) = terms.as_const(t) {
            return v;
        }
        if let Some(other) = &self.outside {
            return other.value(terms, t);
        }
        match &self.models {
            Some(models) if self.from_models => models.borrow_mut().value(terms, &self.arrays, t),
            _ => self.bits_value(t),
        }
    }

    fn limit(&mut self, seconds: Option<f64>) {
        if let Some(other) = &mut self.outside {
            other.limit(seconds);
        }
        self.seconds = seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{apply_binary, apply_unary, convert};

    /// Whether the solver finds exactly the expected value for a term over two variables with the given values.
    fn agrees(s: &mut BitSolver, t: &mut Terms, term: Term, values: [(Term, u64); 2], expected: u64) {
        let mut fixed = Vec::new();
        for (x, v) in values {
            let v = t.constant(v, t.ty(x));
            fixed.push(t.eq(x, v));
        }
        assert_eq!(s.check(t, &fixed), Answer::Sat);
        assert_eq!(s.value(t, term), expected, "{:?} of {values:?}", t.node(term));
        let value = t.constant(expected, t.ty(term));
        fixed.push(t.ne(term, value));
        assert_eq!(s.check(t, &fixed), Answer::Unsat, "{:?} of {values:?}", t.node(term));
    }

    /// The solver has seen a term once it was part of a query.
    fn see(s: &mut BitSolver, t: &mut Terms, term: Term) {
        let same = t.cast(Type::unsigned(64), term);
        let top = t.constant(u64::MAX, Type::unsigned(64));
        let any = t.le(same, top);
        s.blast(t, term);
        assert_eq!(s.check(t, &[any]), Answer::Sat);
    }

    #[test]
    fn every_operation_on_four_bits_is_that_of_the_interpreter() {
        for signed in [false, true] {
            let ty = Type { bits: 4, signed };
            let mut t = Terms::new();
            let mut s = BitSolver::new();
            let (x, y) = (t.var(VarId(0), ty), t.var(VarId(1), ty));
            for op in Binary::ALL {
                let term = t.binary(op, x, y);
                see(&mut s, &mut t, term);
                for (a, b) in (0..16).flat_map(|a| (0..16).map(move |b| (a, b))) {
                    agrees(&mut s, &mut t, term, [(x, a), (y, b)], apply_binary(op, a, b, ty));
                }
            }
            // With a number on the right some are made in another way.
            for (op, b) in Binary::ALL.iter().flat_map(|op| (0..16).map(move |b| (*op, b))) {
                let right = t.constant(b, ty);
                let term = t.binary(op, x, right);
                see(&mut s, &mut t, term);
                (0..16).for_each(|a| {
                    agrees(&mut s, &mut t, term, [(x, a), (y, 0)], apply_binary(op, a, b, ty));
                });
            }
            for op in [Unary::Not, Unary::Neg] {
                let term = t.unary(op, x);
                see(&mut s, &mut t, term);
                (0..16).for_each(|a| {
                    agrees(&mut s, &mut t, term, [(x, a), (y, 0)], apply_unary(op, a, ty));
                });
            }
            for to in
                [Type::unsigned(2), Type::signed(3), Type::unsigned(7), Type::signed(9), Type::unsigned(64)]
            {
                let term = t.cast(to, x);
                see(&mut s, &mut t, term);
                (0..16).for_each(|a| agrees(&mut s, &mut t, term, [(x, a), (y, 0)], convert(a, ty, to)));
            }
            let less = t.lt(x, y);
            let least = t.ite(less, x, y);
            see(&mut s, &mut t, least);
            for (a, b) in (0..16).flat_map(|a| (0..16).map(move |b| (a, b))) {
                let expected = if apply_binary(Binary::Lt, a, b, ty) == 1 { a } else { b };
                agrees(&mut s, &mut t, least, [(x, a), (y, b)], expected);
            }
        }
    }

    #[test]
    fn operations_on_wide_values_are_those_of_the_interpreter() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let wide = seed >> 1 ^ seed << 31;
            // Small and extreme numbers are where the mistakes are.
            match seed >> 61 {
                0 => wide & 7,
                1 => !(wide & 7),
                2 => 1 << (wide & 63),
                _ => wide,
            }
        };
        for ty in [Type::INT, Type::UINT, Type::signed(64), Type::unsigned(8)] {
            for op in Binary::ALL {
                let mut t = Terms::new();
                let mut s = BitSolver::with_room();
                let (x, y) = (t.var(VarId(0), ty), t.var(VarId(1), ty));
                let term = t.binary(op, x, y);
                see(&mut s, &mut t, term);
                for _ in 0..12 {
                    let (a, b) = (random() & ty.mask(), random() & ty.mask());
                    agrees(&mut s, &mut t, term, [(x, a), (y, b)], apply_binary(op, a, b, ty));
                }
            }
        }
    }

    #[test]
    fn a_core_is_enough_and_leaves_out_what_has_no_part_in_it() {
        let mut t = Terms::new();
        let mut s = BitSolver::new();
        let (x, y) = (t.var(VarId(0), Type::INT), t.var(VarId(1), Type::INT));
        let (one, five) = (t.int(1), t.int(5));
        let (low, high, other) = (t.lt(x, one), t.lt(five, x), t.lt(y, five));
        assert_eq!(s.check(&t, &[low, other, high]), Answer::Unsat);
        assert!(s.core().contains(&low) && s.core().contains(&high) && !s.core().contains(&other));
        assert_eq!(s.check(&t, &[low, other]), Answer::Sat);
    }

    #[test]
    fn reads_of_an_array_agree_where_their_indices_do_and_are_zero_past_its_end() {
        let mut t = Terms::new();
        let mut s = BitSolver::new();
        s.declare_array(VarId(9), 3);
        let (i, j) = (t.var(VarId(0), Type::INT), t.var(VarId(1), Type::INT));
        let (a, b) = (t.cell(VarId(9), i, Type::INT), t.cell(VarId(9), j, Type::INT));
        let (same, differ) = (t.eq(i, j), t.ne(a, b));
        assert_eq!(s.check(&t, &[differ]), Answer::Sat);
        assert_ne!(s.value(&t, i), s.value(&t, j));
        assert_eq!(s.check(&t, &[differ, same]), Answer::Unsat);
        let (two, zero) = (t.int(2), t.int(0));
        let (past, some) = (t.lt(two, i), t.ne(a, zero));
        assert_eq!(s.check(&t, &[past, some]), Answer::Unsat);
        let (before, minus) = (t.lt(i, zero), t.ne(a, zero));
        assert_eq!(s.check(&t, &[before, minus]), Answer::Unsat, "an index below zero is past the end");
    }
}
