//! Expressions: bit-vector terms with the arithmetic of C, each kept once.
//!
//! A [`Term`] is a number into [`Terms`], which holds every different expression once, so that equal terms have equal numbers
//! and a large guard that occurs in many places costs nothing more. Values are bits in a `u64`, those above the width zero. A
//! truth value is a term of one bit ([`Type::BOOL`]). Arithmetic wraps around, also for signed types, as `gcc -fwrapv` has it.
//!
//! Every operation is total; where C is not, the value is that of SMT-LIB's bit-vectors (a division by zero gives all ones, a
//! shift by the width or more gives what shifting bit by bit would). Whoever lowers C puts a check in front.

use crate::hashing::WordHash;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A number of bits, and whether the highest one is a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    /// How many bits, 1 to 64.
    pub bits: u8,
    /// Whether it is signed.
    pub signed: bool,
}

impl Type {
    /// A truth value: one bit.
    pub const BOOL: Type = Type { bits: 1, signed: false };
    /// `int`.
    pub const INT: Type = Type { bits: 32, signed: true };
    /// `unsigned`.
    pub const UINT: Type = Type { bits: 32, signed: false };

    /// A signed type.
    pub const fn signed(bits: u8) -> Type {
        Type { bits, signed: true }
    }

    /// An unsigned type.
    pub const fn unsigned(bits: u8) -> Type {
        Type { bits, signed: false }
    }

    /// The ones of this width.
    pub const fn mask(self) -> u64 {
        if self.bits >= 64 { u64::MAX } else { (1 << self.bits) - 1 }
    }

    /// The number that these bits mean.
    pub fn value(self, bits: u64) -> i128 {
        let bits = bits & self.mask();
        if self.signed && bits >> (self.bits - 1) & 1 == 1 {
            bits as i128 - (1i128 << self.bits)
        } else {
            bits as i128
        }
    }

    /// The bits as a word of 64: the bit of the sign, if there is one, is above them too.
    #[inline]
    fn extended(self, bits: u64) -> i64 {
        let above = 64 - self.bits.min(64) as u32;
        let word = bits << above;
        if self.signed { (word as i64) >> above } else { (word >> above) as i64 }
    }

    /// The bits of a number, cut to the width.
    pub fn bits_of(self, value: i128) -> u64 {
        value as u64 & self.mask()
    }

    /// The lowest number.
    pub fn min(self) -> i128 {
        if self.signed { -(1i128 << (self.bits - 1)) } else { 0 }
    }

    /// The highest number.
    pub fn max(self) -> i128 {
        self.min() + self.mask() as i128
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Type::BOOL {
            return f.write_str("bool");
        }
        write!(f, "{}{}", if self.signed { "i" } else { "u" }, self.bits)
    }
}

/// A variable of a program, shared or local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

impl VarId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An expression of [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(u32);

impl Term {
    /// The number as an index: small, dense, and the same for equal terms.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Operations on one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unary {
    /// Every bit the other way; on a truth value, *not*.
    Not,
    /// The negative.
    Neg,
}

/// Operations on two terms of one type. Where signed and unsigned differ, the type of the operands says which is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient, towards zero.
    Div,
    /// Remainder, with the sign of the dividend.
    Rem,
    /// Bits of both; on truth values, *and*.
    And,
    /// Bits of either; on truth values, *or*.
    Or,
    /// Bits of one alone.
    Xor,
    /// Shift to the left.
    Shl,
    /// Shift to the right; the sign moves in where there is one.
    Shr,
    /// Whether they are equal.
    Eq,
    /// Whether the first is less.
    Lt,
    /// Whether the first is not greater.
    Le,
}

impl Binary {
    /// All of them: ten that give a value of the type of their operands, and three comparisons.
    pub const ALL: [Binary; 13] = [
        Binary::Add,
        Binary::Sub,
        Binary::Mul,
        Binary::Div,
        Binary::Rem,
        Binary::And,
        Binary::Or,
        Binary::Xor,
        Binary::Shl,
        Binary::Shr,
        Binary::Eq,
        Binary::Lt,
        Binary::Le,
    ];

    /// Whether the result is a truth value whatever the operands are.
    pub fn is_comparison(self) -> bool {
        matches!(self, Binary::Eq | Binary::Lt | Binary::Le)
    }
}

/// What a term is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A value, cut to its type.
    Const(u64, Type),
    /// The value of a variable that is no array.
    Var(VarId, Type),
    /// The value of one cell of an array. An index that is too high gives zero.
    Cell(VarId, Term, Type),
    /// An operation on one term.
    Unary(Unary, Term),
    /// An operation on two terms of one type.
    Binary(Binary, Term, Term),
    /// The second where the first (a truth value) holds, else the third.
    Ite(Term, Term, Term),
    /// The same number in another type: cut, or extended by the sign of the type it comes from.
    Cast(Type, Term),
}

/// Something that can be assigned: a variable, or one cell of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The variable.
    pub var: VarId,
    /// Which cell, for an array.
    pub index: Option<Term>,
}

impl Place {
    /// A variable that is no array.
    pub fn scalar(var: VarId) -> Place {
        Place { var, index: None }
    }

    /// A cell of an array.
    pub fn cell(var: VarId, index: Term) -> Place {
        Place { var, index: Some(index) }
    }
}

/// One part of a parallel assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Assign {
    /// What gets the value. Its index, as the value, is read before anything is written.
    pub place: Place,
    /// The value.
    pub value: Term,
}

/// Every expression of a program, each kept once.
///
/// ```
/// use model::{Terms, Type, VarId};
/// let mut t = Terms::new();
/// let x = t.var(VarId(0), Type::INT);
/// let one = t.int(1);
/// let a = t.add(x, one);
/// assert_eq!(a, t.add(x, one));
/// assert_eq!(t.eval(a, &mut |_, _| 41), 42);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Terms {
    nodes: Vec<Node>,
    types: Vec<Type>,
    known: HashMap<Node, Term, WordHash>,
}

/// A walk through a term.
struct Walk {
    /// How many parts are looked at before those that were seen are remembered.
    left: u32,
    seen: HashSet<Term>,
}

impl Walk {
    const SMALL: u32 = 200;
}

impl Terms {
    /// None yet.
    pub fn new() -> Terms {
        Terms::default()
    }

    /// How many there are; their indices are below this.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Every term, after those that it is made of.
    pub fn iter(&self) -> impl Iterator<Item = Term> + use<> {
        (0..self.nodes.len() as u32).map(Term)
    }

    /// What a term is made of.
    pub fn node(&self, t: Term) -> Node {
        self.nodes[t.index()]
    }

    /// Its type.
    pub fn ty(&self, t: Term) -> Type {
        self.types[t.index()]
    }

    /// Its value, if it is a constant.
    pub fn as_const(&self, t: Term) -> Option<u64> {
        match self.node(t) {
            Node::Const(v, _) => Some(v),
            _ => None,
        }
    }

    fn intern(&mut self, node: Node, ty: Type) -> Term {
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.types.push(ty);
            Term(self.nodes.len() as u32 - 1)
        })
    }

    /// A constant, cut to its type.
    pub fn constant(&mut self, bits: u64, ty: Type) -> Term {
        self.intern(Node::Const(bits & ty.mask(), ty), ty)
    }

    /// A number of a type.
    pub fn number(&mut self, value: i128, ty: Type) -> Term {
        self.constant(ty.bits_of(value), ty)
    }

    /// An `int`.
    pub fn int(&mut self, value: i32) -> Term {
        self.number(value as i128, Type::INT)
    }

    /// A truth value.
    pub fn boolean(&mut self, value: bool) -> Term {
        self.constant(value as u64, Type::BOOL)
    }

    /// The value of a variable that is no array.
    pub fn var(&mut self, var: VarId, ty: Type) -> Term {
        self.intern(Node::Var(var, ty), ty)
    }

    /// The value of a cell of an array; `ty` is the type of the cells.
    pub fn cell(&mut self, var: VarId, index: Term, ty: Type) -> Term {
        self.intern(Node::Cell(var, index, ty), ty)
    }

    /// The value of a place.
    pub fn read(&mut self, place: Place, ty: Type) -> Term {
        match place.index {
            None => self.var(place.var, ty),
            Some(i) => self.cell(place.var, i, ty),
        }
    }

    /// An operation on one term.
    pub fn unary(&mut self, op: Unary, a: Term) -> Term {
        let ty = self.ty(a);
        if let Some(v) = self.as_const(a) {
            return self.constant(apply_unary(op, v, ty), ty);
        }
        match self.node(a) {
            Node::Unary(inner, b) if inner == op => b,
            _ => self.intern(Node::Unary(op, a), ty),
        }
    }

    /// An operation on two terms.
    ///
    /// # Panics
    /// If their types differ.
    pub fn binary(&mut self, op: Binary, a: Term, b: Term) -> Term {
        let ty = self.ty(a);
        assert_eq!(ty, self.ty(b), "the operands of {op:?} have one type");
        let result = if op.is_comparison() { Type::BOOL } else { ty };
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            return self.constant(apply_binary(op, x, y, ty), result);
        }
        if let Some(simple) = self.simplified(op, a, b, ty) {
            return simple;
        }
        self.intern(Node::Binary(op, a, b), result)
    }

    /// What an operation comes to without being one.
    fn simplified(&mut self, op: Binary, a: Term, b: Term, ty: Type) -> Option<Term> {
        let ones = ty.mask();
        let (x, y) = (self.as_const(a), self.as_const(b));
        match op {
            Binary::Add | Binary::Or | Binary::Xor if x == Some(0) => Some(b),
            Binary::Add | Binary::Sub | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr
                if y == Some(0) =>
            {
                Some(a)
            }
            Binary::Mul if x == Some(1) => Some(b),
            Binary::Mul | Binary::Div if y == Some(1) && ty.bits > 1 => Some(a),
            Binary::And if x == Some(ones) => Some(b),
            Binary::And if y == Some(ones) => Some(a),
            Binary::And | Binary::Mul if x == Some(0) => Some(a),
            Binary::And | Binary::Mul if y == Some(0) => Some(b),
            Binary::Or if x == Some(ones) => Some(a),
            Binary::Or if y == Some(ones) => Some(b),
            Binary::And | Binary::Or if a == b => Some(a),
            Binary::And | Binary::Or if self.is_not(a, b) => {
                Some(self.constant(if op == Binary::And { 0 } else { ones }, ty))
            }
            Binary::Sub | Binary::Xor if a == b => Some(self.constant(0, ty)),
            Binary::Eq | Binary::Le if a == b => Some(self.boolean(true)),
            Binary::Lt if a == b => Some(self.boolean(false)),
            Binary::Eq if ty == Type::BOOL && y == Some(1) => Some(a),
            Binary::Eq if ty == Type::BOOL && y == Some(0) => Some(self.not(a)),
            Binary::Eq if x.is_some() => Some(self.binary(op, b, a)),
            Binary::Eq => self.equal_constant(a, y?),
            Binary::Add | Binary::Mul | Binary::And | Binary::Or | Binary::Xor if x.is_some() => {
                Some(self.binary(op, b, a))
            }
            // A sum with a constant keeps one, and it comes last.
            Binary::Add | Binary::Sub if y.is_some() => {
                let Node::Binary(Binary::Add, inner, c) = self.node(a) else { return None };
                let total = apply_binary(op, self.as_const(c)?, y?, ty);
                let total = self.constant(total, ty);
                Some(self.binary(Binary::Add, inner, total))
            }
            _ => None,
        }
    }

    /// `a == value` where `a` is an extension or a choice between constants: what C makes of a comparison that is compared again.
    fn equal_constant(&mut self, a: Term, value: u64) -> Option<Term> {
        match self.node(a) {
            Node::Cast(to, from) => {
                let ty = self.ty(from);
                if ty.bits > to.bits {
                    return None;
                }
                let cut = value & ty.mask();
                if convert(cut, ty, to) == value {
                    let c = self.constant(cut, ty);
                    Some(self.eq(from, c))
                } else {
                    Some(self.boolean(false))
                }
            }
            Node::Ite(c, x, y) => {
                let (x, y) = (self.as_const(x)?, self.as_const(y)?);
                match (x == value, y == value) {
                    (true, true) => Some(self.boolean(true)),
                    (true, false) => Some(c),
                    (false, true) => Some(self.not(c)),
                    (false, false) => Some(self.boolean(false)),
                }
            }
            _ => None,
        }
    }

    /// Whether one is the other, negated.
    fn is_not(&self, a: Term, b: Term) -> bool {
        self.node(a) == Node::Unary(Unary::Not, b) || self.node(b) == Node::Unary(Unary::Not, a)
    }

    /// One of two terms of one type.
    ///
    /// # Panics
    /// If their types differ, or the condition is no truth value.
    pub fn ite(&mut self, c: Term, a: Term, b: Term) -> Term {
        assert_eq!(self.ty(c), Type::BOOL, "a condition is a truth value");
        let ty = self.ty(a);
        assert_eq!(ty, self.ty(b), "both ways have one type");
        match self.as_const(c) {
            Some(0) => return b,
            Some(_) => return a,
            None if a == b => return a,
            None => {}
        }
        if ty == Type::BOOL {
            match (self.as_const(a), self.as_const(b)) {
                (Some(1), Some(0)) => return c,
                (Some(0), Some(1)) => return self.not(c),
                (Some(1), None) => return self.or(c, b),
                (Some(0), None) => {
                    let n = self.not(c);
                    return self.and(n, b);
                }
                (None, Some(0)) => return self.and(c, a),
                (None, Some(1)) => {
                    let n = self.not(c);
                    return self.or(n, a);
                }
                _ => {}
            }
        }
        self.intern(Node::Ite(c, a, b), ty)
    }

    /// The same number in another type.
    pub fn cast(&mut self, to: Type, a: Term) -> Term {
        let from = self.ty(a);
        if from == to {
            return a;
        }
        if let Some(v) = self.as_const(a) {
            return self.constant(convert(v, from, to), to);
        }
        match self.node(a) {
            // A cut of an extension: the bits in between were never there.
            Node::Cast(mid, inner) if to.bits <= mid.bits && self.ty(inner).bits <= mid.bits => {
                self.cast(to, inner)
            }
            Node::Ite(c, x, y) if self.as_const(x).is_some() && self.as_const(y).is_some() => {
                let (x, y) = (self.cast(to, x), self.cast(to, y));
                self.ite(c, x, y)
            }
            _ => self.intern(Node::Cast(to, a), to),
        }
    }

    /// Not.
    pub fn not(&mut self, a: Term) -> Term {
        self.unary(Unary::Not, a)
    }

    /// Both.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::And, a, b)
    }

    /// Either.
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::Or, a, b)
    }

    /// All of them.
    pub fn all(&mut self, terms: impl IntoIterator<Item = Term>) -> Term {
        let yes = self.boolean(true);
        terms.into_iter().fold(yes, |a, b| self.and(a, b))
    }

    /// Any of them.
    pub fn any(&mut self, terms: impl IntoIterator<Item = Term>) -> Term {
        let no = self.boolean(false);
        terms.into_iter().fold(no, |a, b| self.or(a, b))
    }

    /// Sum.
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::Add, a, b)
    }

    /// Difference.
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::Sub, a, b)
    }

    /// Whether they are equal.
    pub fn eq(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::Eq, a, b)
    }

    /// Whether they differ.
    pub fn ne(&mut self, a: Term, b: Term) -> Term {
        let same = self.eq(a, b);
        self.not(same)
    }

    /// Whether the first is less.
    pub fn lt(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::Lt, a, b)
    }

    /// Whether the first is not greater.
    pub fn le(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::Le, a, b)
    }

    /// Whether the term, as a number of C, counts as true.
    pub fn truth(&mut self, a: Term) -> Term {
        let ty = self.ty(a);
        let zero = self.constant(0, ty);
        self.ne(a, zero)
    }

    /// The value of a term when `read` gives those of variables and cells (for a variable that is no array the index is 0).
    pub fn eval(&self, t: Term, read: &mut impl FnMut(VarId, u64) -> u64) -> u64 {
        match self.node(t) {
            Node::Const(v, _) => v,
            Node::Var(v, ty) => read(v, 0) & ty.mask(),
            Node::Cell(v, i, ty) => {
                let i = self.eval(i, read);
                read(v, i) & ty.mask()
            }
            Node::Unary(op, a) => apply_unary(op, self.eval(a, read), self.ty(a)),
            Node::Binary(op, a, b) => apply_binary(op, self.eval(a, read), self.eval(b, read), self.ty(a)),
            Node::Ite(c, a, b) => {
                if self.eval(c, read) != 0 {
                    self.eval(a, read)
                } else {
                    self.eval(b, read)
                }
            }
            Node::Cast(to, a) => convert(self.eval(a, read), self.ty(a), to),
        }
    }

    /// The same where some values are unknown: `None` if the value depends on one of those.
    pub fn eval_partly(&self, t: Term, read: &mut impl FnMut(VarId, u64) -> Option<u64>) -> Option<u64> {
        match self.node(t) {
            Node::Const(v, _) => Some(v),
            Node::Var(v, ty) => Some(read(v, 0)? & ty.mask()),
            Node::Cell(v, i, ty) => {
                let i = self.eval_partly(i, read)?;
                Some(read(v, i)? & ty.mask())
            }
            Node::Unary(op, a) => Some(apply_unary(op, self.eval_partly(a, read)?, self.ty(a))),
            Node::Binary(op, a, b) => {
                let ty = self.ty(a);
                match (op, self.eval_partly(a, read), self.eval_partly(b, read)) {
                    (_, Some(x), Some(y)) => Some(apply_binary(op, x, y, ty)),
                    (Binary::And, Some(0), _) | (Binary::And, _, Some(0)) => Some(0),
                    (Binary::Or, Some(x), _) | (Binary::Or, _, Some(x)) if x == ty.mask() => Some(x),
                    _ => None,
                }
            }
            Node::Ite(c, a, b) => match self.eval_partly(c, read) {
                Some(0) => self.eval_partly(b, read),
                Some(_) => self.eval_partly(a, read),
                None => {
                    let (a, b) = (self.eval_partly(a, read)?, self.eval_partly(b, read)?);
                    (a == b).then_some(a)
                }
            },
            Node::Cast(to, a) => Some(convert(self.eval_partly(a, read)?, self.ty(a), to)),
        }
    }

    /// The term with the values that a parallel assignment gives in place of variables: what the term was before the assignment
    /// if it is `t` afterwards. This is the weakest precondition of an assignment.
    pub fn substitute(&mut self, t: Term, assigns: &[Assign]) -> Term {
        self.substitute_with(t, assigns, &mut HashMap::new())
    }

    /// The same for several terms and one assignment: `known` keeps what was done.
    pub fn substitute_with(&mut self, t: Term, assigns: &[Assign], known: &mut HashMap<Term, Term>) -> Term {
        if assigns.is_empty() {
            return t;
        }
        if let Some(done) = known.get(&t) {
            return *done;
        }
        let out = match self.node(t) {
            Node::Const(..) => t,
            Node::Var(v, _) => assigns.iter().find(|a| a.place.var == v).map_or(t, |a| a.value),
            Node::Cell(v, i, ty) => {
                let i = self.substitute_with(i, assigns, known);
                let mut out = self.cell(v, i, ty);
                // Later parts win where two write the same cell.
                for a in assigns.iter().filter(|a| a.place.var == v) {
                    let Some(at) = a.place.index else { continue };
                    let same = self.eq_index(i, at);
                    out = self.ite(same, a.value, out);
                }
                out
            }
            Node::Unary(op, a) => {
                let a = self.substitute_with(a, assigns, known);
                self.unary(op, a)
            }
            Node::Binary(op, a, b) => {
                let (a, b) =
                    (self.substitute_with(a, assigns, known), self.substitute_with(b, assigns, known));
                self.binary(op, a, b)
            }
            Node::Ite(c, a, b) => {
                let c = self.substitute_with(c, assigns, known);
                let (a, b) =
                    (self.substitute_with(a, assigns, known), self.substitute_with(b, assigns, known));
                self.ite(c, a, b)
            }
            Node::Cast(to, a) => {
                let a = self.substitute_with(a, assigns, known);
                self.cast(to, a)
            }
        };
        known.insert(t, out);
        out
    }

    /// Whether two indices are the same number, whatever their types.
    pub fn eq_index(&mut self, a: Term, b: Term) -> Term {
        let wide = Type::unsigned(64);
        let (a, b) = if self.ty(a) == self.ty(b) { (a, b) } else { (self.cast(wide, a), self.cast(wide, b)) };
        self.eq(a, b)
    }

    /// Calls `see` with every place that the term reads. In a small term it may be called more than once for a place, in a large
    /// one each part is looked at once: parts that are shared make some terms larger than anybody could walk through.
    pub fn places(&self, t: Term, see: &mut impl FnMut(Place)) {
        self.places_again(t, &mut Walk { left: Walk::SMALL, seen: HashSet::new() }, see);
    }

    fn places_again(&self, t: Term, walk: &mut Walk, see: &mut impl FnMut(Place)) {
        let node = self.node(t);
        match node {
            Node::Const(..) => return,
            Node::Var(v, _) => return see(Place::scalar(v)),
            _ if walk.left > 0 => walk.left -= 1,
            _ if !walk.seen.insert(t) => return,
            _ => {}
        }
        match node {
            Node::Const(..) | Node::Var(..) => {}
            Node::Cell(v, i, _) => {
                see(Place::cell(v, i));
                self.places_again(i, walk, see);
            }
            Node::Unary(_, a) | Node::Cast(_, a) => self.places_again(a, walk, see),
            Node::Binary(_, a, b) => {
                self.places_again(a, walk, see);
                self.places_again(b, walk, see);
            }
            Node::Ite(c, a, b) => {
                self.places_again(c, walk, see);
                self.places_again(a, walk, see);
                self.places_again(b, walk, see);
            }
        }
    }

    /// Whether the term reads a variable.
    pub fn mentions(&self, t: Term, var: VarId) -> bool {
        let mut found = false;
        self.places(t, &mut |p| found |= p.var == var);
        found
    }

    /// The term as text; `name` gives the names of variables.
    pub fn show<'a, N: Fn(VarId) -> &'a str>(&self, t: Term, name: &N) -> String {
        let mut out = String::new();
        self.write(t, name, 0, &mut out);
        out
    }

    fn write<'a, N: Fn(VarId) -> &'a str>(&self, t: Term, name: &N, outer: u8, out: &mut String) {
        use std::fmt::Write;
        match self.node(t) {
            Node::Const(v, Type::BOOL) => out.push_str(if v == 1 { "true" } else { "false" }),
            Node::Const(v, ty) => write!(out, "{}", ty.value(v)).expect("a string takes all"),
            Node::Var(v, _) => out.push_str(name(v)),
            Node::Cell(v, i, _) => {
                out.push_str(name(v));
                out.push('[');
                self.write(i, name, 0, out);
                out.push(']');
            }
            Node::Unary(op, a) => {
                let flipped = match (op, self.node(a)) {
                    (Unary::Not, Node::Binary(Binary::Eq, x, y)) => Some(("!=", 4, x, y)),
                    (Unary::Not, Node::Binary(Binary::Lt, x, y)) => Some((">=", 5, x, y)),
                    (Unary::Not, Node::Binary(Binary::Le, x, y)) => Some((">", 5, x, y)),
                    _ => None,
                };
                if let Some((sign, level, x, y)) = flipped {
                    return self.write_binary(sign, level, x, y, name, outer, out);
                }
                let boolean = self.ty(a) == Type::BOOL;
                out.push_str(match op {
                    Unary::Not if boolean => "!",
                    Unary::Not => "~",
                    Unary::Neg => "-",
                });
                self.write(a, name, 11, out);
            }
            Node::Binary(op, a, b) => {
                let boolean = self.ty(a) == Type::BOOL;
                let (sign, level) = match op {
                    Binary::Or if boolean => ("||", 1),
                    Binary::And if boolean => ("&&", 2),
                    Binary::Or => ("|", 3),
                    Binary::Xor => ("^", 3),
                    Binary::And => ("&", 3),
                    Binary::Eq => ("==", 4),
                    Binary::Lt => ("<", 5),
                    Binary::Le => ("<=", 5),
                    Binary::Shl => ("<<", 6),
                    Binary::Shr => (">>", 6),
                    Binary::Add => ("+", 7),
                    Binary::Sub => ("-", 7),
                    Binary::Mul => ("*", 8),
                    Binary::Div => ("/", 8),
                    Binary::Rem => ("%", 8),
                };
                self.write_binary(sign, level, a, b, name, outer, out);
            }
            Node::Ite(c, a, b) => {
                out.push('(');
                self.write(c, name, 1, out);
                out.push_str(" ? ");
                self.write(a, name, 1, out);
                out.push_str(" : ");
                self.write(b, name, 1, out);
                out.push(')');
            }
            Node::Cast(to, a) => {
                write!(out, "{to}(").expect("a string takes all");
                self.write(a, name, 0, out);
                out.push(')');
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one recursive function in two parts")]
    fn write_binary<'a, N: Fn(VarId) -> &'a str>(
        &self,
        sign: &str,
        level: u8,
        a: Term,
        b: Term,
        name: &N,
        outer: u8,
        out: &mut String,
    ) {
        if level < outer {
            out.push('(');
        }
        self.write(a, name, level, out);
        out.push(' ');
        out.push_str(sign);
        out.push(' ');
        self.write(b, name, level + 1, out);
        if level < outer {
            out.push(')');
        }
    }
}

/// The bits of a number of one type in another.
#[inline]
pub fn convert(bits: u64, from: Type, to: Type) -> u64 {
    from.extended(bits) as u64 & to.mask()
}

/// An operation on the bits of one value.
pub fn apply_unary(op: Unary, a: u64, ty: Type) -> u64 {
    match op {
        Unary::Not => !a & ty.mask(),
        Unary::Neg => a.wrapping_neg() & ty.mask(),
    }
}

/// An operation on the bits of two values of one type.
#[inline]
pub fn apply_binary(op: Binary, a: u64, b: u64, ty: Type) -> u64 {
    let mask = ty.mask();
    let (a, b) = (a & mask, b & mask);
    // Two words of a signed type are in the order of their numbers once the bit of the sign is turned round.
    let sign = if ty.signed { 1 << (ty.bits - 1) } else { 0 };
    let bits = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div if b == 0 => {
            if a & sign != 0 {
                1
            } else {
                mask
            }
        }
        Binary::Div if ty.signed => ty.extended(a).wrapping_div(ty.extended(b)) as u64,
        Binary::Div => a / b,
        Binary::Rem if b == 0 => a,
        Binary::Rem if ty.signed => ty.extended(a).wrapping_rem(ty.extended(b)) as u64,
        Binary::Rem => a % b,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl if b >= u64::from(ty.bits) => 0,
        Binary::Shl => a << b,
        Binary::Shr if ty.signed => (ty.extended(a) >> b.min(63)) as u64,
        Binary::Shr => a.checked_shr(b.min(64) as u32).unwrap_or(0),
        Binary::Eq => return (a == b) as u64,
        Binary::Lt => return ((a ^ sign) < (b ^ sign)) as u64,
        Binary::Le => return ((a ^ sign) <= (b ^ sign)) as u64,
    };
    bits & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`apply_binary`] is to do, said with numbers.
    fn with_numbers(op: Binary, a: u64, b: u64, ty: Type) -> u64 {
        let (x, y) = (ty.value(a), ty.value(b));
        match op {
            Binary::Add => ty.bits_of(x + y),
            Binary::Sub => ty.bits_of(x - y),
            Binary::Mul => ty.bits_of(x.wrapping_mul(y)),
            Binary::Div if y == 0 => ty.bits_of(if x < 0 { 1 } else { -1 }),
            Binary::Div => ty.bits_of(x / y),
            Binary::Rem if y == 0 => a,
            Binary::Rem => ty.bits_of(x % y),
            Binary::And => ty.bits_of(x & y),
            Binary::Or => ty.bits_of(x | y),
            Binary::Xor => ty.bits_of(x ^ y),
            Binary::Shl if b >= ty.bits as u64 => 0,
            Binary::Shl => ty.bits_of(x << b),
            Binary::Shr => ty.bits_of(x >> b.min(100)),
            Binary::Eq => (x == y) as u64,
            Binary::Lt => (x < y) as u64,
            Binary::Le => (x <= y) as u64,
        }
    }

    #[test]
    fn operations_on_words_are_those_on_numbers() {
        for bits in [1, 2, 3, 8, 31, 32, 33, 63, 64] {
            for ty in [Type::signed(bits), Type::unsigned(bits)] {
                let edges = [0, 1, 2, 3, 5, 7, 31, 32, 63, 64, 100, 0x1234_5678_9abc_def0, u64::MAX];
                let half = 1u64 << (bits - 1);
                let all =
                    edges.into_iter().chain([half, half.wrapping_sub(1), half.wrapping_add(1), u64::MAX - 1]);
                let all: Vec<u64> = all.map(|v| v & ty.mask()).collect();
                for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
                    for op in Binary::ALL {
                        assert_eq!(
                            apply_binary(op, a, b, ty),
                            with_numbers(op, a, b, ty),
                            "{op:?} {a} {b} {ty:?}"
                        );
                    }
                    for to in [Type::signed(8), Type::unsigned(40), Type::signed(64), Type::BOOL] {
                        assert_eq!(convert(a, ty, to), to.bits_of(ty.value(a)));
                    }
                }
            }
        }
    }

    #[test]
    fn a_cut_extension_keeps_its_number() {
        let mut t = Terms::new();
        for (inner, mid, to) in [
            (Type::signed(8), Type::unsigned(64), Type::unsigned(32)),
            (Type::signed(8), Type::signed(32), Type::unsigned(16)),
            (Type::unsigned(8), Type::signed(32), Type::signed(16)),
            (Type::signed(8), Type::unsigned(16), Type::unsigned(64)),
            (Type::signed(16), Type::signed(8), Type::signed(32)),
            (Type::signed(8), Type::unsigned(32), Type::unsigned(16)),
        ] {
            let x = t.var(VarId(0), inner);
            let m = t.cast(mid, x);
            let out = t.cast(to, m);
            for v in [0, 1, 127, 128, 200, 255, 0x7fff, 0x8000, 0xffff] {
                let v = v & inner.mask();
                let expected = convert(convert(v, inner, mid), mid, to);
                assert_eq!(t.eval(out, &mut |_, _| v), expected, "{inner} {mid} {to} of {v}");
            }
        }
    }

    #[test]
    fn an_equation_with_an_extension_is_one_without() {
        let mut t = Terms::new();
        let x = t.var(VarId(0), Type::INT);
        let one = t.int(1);
        let less = t.lt(x, one);
        let as_int = t.cast(Type::INT, less);
        assert_eq!(t.truth(as_int), less);
        let two = t.int(2);
        let never = t.eq(as_int, two);
        assert_eq!(t.as_const(never), Some(0));
    }

    #[test]
    fn substitution_into_an_array_asks_whether_the_cells_are_the_same() {
        let mut t = Terms::new();
        let (a, i, j) = (VarId(0), VarId(1), VarId(2));
        let (ti, tj) = (t.var(i, Type::INT), t.var(j, Type::INT));
        let seven = t.int(7);
        let read = t.cell(a, tj, Type::INT);
        let before = t.substitute(read, &[Assign { place: Place::cell(a, ti), value: seven }]);
        for (vi, vj, expected) in [(1, 1, 7), (1, 2, 5)] {
            let mut value = |v: VarId, _| {
                if v == i {
                    vi
                } else if v == j {
                    vj
                } else {
                    5
                }
            };
            assert_eq!(t.eval(before, &mut value), expected);
        }
    }

    #[test]
    fn a_term_whose_parts_are_shared_is_walked_through_in_no_time() {
        let mut t = Terms::new();
        let (x, y) = (VarId(0), VarId(1));
        let (mut a, mut b) = (t.var(x, Type::INT), t.var(y, Type::INT));
        for n in 0..200 {
            let n = t.int(n);
            let (c, sum) = (t.lt(a, n), t.add(a, b));
            (a, b) = (t.ite(c, sum, b), t.ite(c, b, sum));
        }
        let mut seen = HashSet::new();
        t.places(a, &mut |p| {
            seen.insert(p.var);
        });
        assert_eq!(seen, HashSet::from([x, y]));
        assert!(!t.mentions(b, VarId(2)));
    }

    #[test]
    fn terms_are_shown_with_as_few_brackets_as_they_need() {
        let mut t = Terms::new();
        let (x, y) = (t.var(VarId(0), Type::INT), t.var(VarId(1), Type::INT));
        let s = t.add(x, y);
        let p = t.binary(Binary::Mul, s, y);
        let c = t.lt(p, x);
        let n = t.not(c);
        let e = t.eq(x, y);
        let both = t.and(n, e);
        assert_eq!(t.show(both, &|v| if v.0 == 0 { "x" } else { "y" }), "(x + y) * y >= x && x == y");
    }
}
