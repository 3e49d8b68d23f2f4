//! Formulas with quantifiers over terms, and their making from annotations.
//!
//! Arithmetic is that of C: `x + 1` is an `int` where `x` is one, and wraps around as it does in the program. Comparisons are those of
//! mathematics: -1 is less than `1u`. Quantified variables have 64 bits and a sign. A variable of 64 bits without a sign is taken with the
//! claim that it is below 2^63.

use model::notes::{Expr, Operator};
use model::{
    Assign, Binary, Named, Names, Node, Place, Program, SyncKind, Term, Terms, ThreadId, Type, Unary, VarId,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The type of numbers in formulas.
pub(super) const WIDE: Type = Type::signed(64);

/// A truth value with quantifiers over ranges of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Formula {
    Term(Term),
    Not(Box<Formula>),
    And(Vec<Formula>),
    Or(Vec<Formula>),
    /// For all numbers from `low` up to before `high`, or for one of them.
    Quantified {
        all: bool,
        var: VarId,
        low: Term,
        high: Term,
        body: Box<Formula>,
    },
}

/// Terms of a program, and more variables than it has.
pub(super) struct World<'p> {
    pub(super) program: &'p Program,
    pub(super) terms: Terms,
    next: u32,
    /// The names of variables that the program does not have.
    pub(super) names: HashMap<VarId, String>,
}

impl<'p> World<'p> {
    pub(super) fn new(program: &'p Program) -> World<'p> {
        World {
            program,
            terms: program.terms.clone(),
            next: program.vars.len() as u32,
            names: HashMap::new(),
        }
    }

    pub(super) fn fresh(&mut self, name: String) -> VarId {
        let v = VarId(self.next);
        self.next += 1;
        self.names.insert(v, name);
        v
    }

    /// The value of a variable of the program that is no array.
    pub(super) fn value(&mut self, v: VarId) -> Term {
        let ty = self.program.var(v).ty;
        self.terms.var(v, ty)
    }

    /// Whether a variable is a number.
    pub(super) fn is(&mut self, v: VarId, ty: Type, n: u64) -> Term {
        let (x, c) = (self.terms.var(v, ty), self.terms.constant(n, ty));
        self.terms.eq(x, c)
    }

    pub(super) fn implies(&mut self, a: Formula, b: Formula) -> Formula {
        Formula::Or(vec![Formula::Not(Box::new(a)), b])
    }

    /// The formula before a parallel assignment.
    pub(super) fn before(
        &mut self,
        f: &Formula,
        assigns: &[Assign],
        known: &mut HashMap<Term, Term>,
    ) -> Formula {
        f.map(&mut |t| self.terms.substitute_with(t, assigns, known))
    }

    /// The formula with other variables, arrays too.
    pub(super) fn renamed(&mut self, f: &Formula, to: &BTreeMap<VarId, VarId>) -> Formula {
        f.map(&mut |t| rename(&mut self.terms, t, to))
    }
}

pub(super) fn rename(terms: &mut Terms, t: Term, to: &BTreeMap<VarId, VarId>) -> Term {
    let of = |v: VarId| to.get(&v).copied().unwrap_or(v);
    match terms.node(t) {
        Node::Const(..) => t,
        Node::Var(v, ty) => terms.var(of(v), ty),
        Node::Cell(v, i, ty) => {
            let i = rename(terms, i, to);
            terms.cell(of(v), i, ty)
        }
        Node::Unary(op, a) => {
            let a = rename(terms, a, to);
            terms.unary(op, a)
        }
        Node::Binary(op, a, b) => {
            let (a, b) = (rename(terms, a, to), rename(terms, b, to));
            terms.binary(op, a, b)
        }
        Node::Ite(c, a, b) => {
            let (c, a, b) = (rename(terms, c, to), rename(terms, a, to), rename(terms, b, to));
            terms.ite(c, a, b)
        }
        Node::Cast(ty, a) => {
            let a = rename(terms, a, to);
            terms.cast(ty, a)
        }
    }
}

impl Formula {
    /// The formula with its terms changed.
    pub(super) fn map(&self, f: &mut dyn FnMut(Term) -> Term) -> Formula {
        match self {
            Formula::Term(t) => Formula::Term(f(*t)),
            Formula::Not(a) => Formula::Not(Box::new(a.map(f))),
            Formula::And(l) => Formula::And(l.iter().map(|a| a.map(f)).collect()),
            Formula::Or(l) => Formula::Or(l.iter().map(|a| a.map(f)).collect()),
            Formula::Quantified { all, var, low, high, body } => Formula::Quantified {
                all: *all,
                var: *var,
                low: f(*low),
                high: f(*high),
                body: Box::new(body.map(f)),
            },
        }
    }

    /// Every term in it.
    pub(super) fn terms(&self, see: &mut dyn FnMut(Term)) {
        match self {
            Formula::Term(t) => see(*t),
            Formula::Not(a) => a.terms(see),
            Formula::And(l) | Formula::Or(l) => l.iter().for_each(|a| a.terms(see)),
            Formula::Quantified { low, high, body, .. } => {
                see(*low);
                see(*high);
                body.terms(see);
            }
        }
    }

    /// The variables that it reads, arrays too.
    pub(super) fn vars(&self, terms: &Terms) -> BTreeSet<VarId> {
        let mut out = BTreeSet::new();
        self.terms(&mut |t| terms.places(t, &mut |p| _ = out.insert(p.var)));
        out
    }

    /// The parts of a conjunction.
    pub(super) fn conjuncts(self) -> Vec<Formula> {
        match self {
            Formula::And(l) => l.into_iter().flat_map(Formula::conjuncts).collect(),
            other => vec![other],
        }
    }
}

/// Where a formula stands: what its names mean.
pub(super) struct Context<'a> {
    pub(super) names: &'a Names,
    /// The thread at hand.
    pub(super) me: ThreadId,
    /// What the function returns, where that is known.
    pub(super) result: Option<VarId>,
    /// Parameters that stand for what they were at the call.
    pub(super) as_called: BTreeSet<VarId>,
    /// Whether a thread is at a label.
    pub(super) at: &'a dyn Fn(&mut World<'_>, &str, &str) -> Result<Term, String>,
}

/// What variables were where the function was called.
#[derive(Default)]
pub(super) struct Olds {
    pub(super) of: BTreeMap<VarId, VarId>,
    /// Those of which formulas say what they were.
    pub(super) asked: BTreeSet<VarId>,
}

pub(super) struct Maker<'m, 'p> {
    pub(super) world: &'m mut World<'p>,
    pub(super) context: &'m Context<'m>,
    pub(super) olds: &'m mut Olds,
    bound: Vec<(String, VarId)>,
    old: bool,
    in_bounds: bool,
    /// Claims that go with the formula.
    claims: Vec<Term>,
}

type Made<T> = Result<T, String>;

impl<'m, 'p> Maker<'m, 'p> {
    pub(super) fn new(
        world: &'m mut World<'p>,
        context: &'m Context<'m>,
        olds: &'m mut Olds,
    ) -> Maker<'m, 'p> {
        Maker { world, context, olds, bound: Vec::new(), old: false, in_bounds: false, claims: Vec::new() }
    }

    /// The formula of an annotation.
    pub(super) fn make(&mut self, e: &Expr) -> Made<Formula> {
        let f = self.formula(e)?;
        let mut all: Vec<Formula> = self.claims.drain(..).map(Formula::Term).collect();
        all.push(f);
        Ok(Formula::And(all))
    }

    fn terms(&mut self) -> &mut Terms {
        &mut self.world.terms
    }

    fn formula(&mut self, e: &Expr) -> Made<Formula> {
        use Operator::*;
        Ok(match e {
            Expr::Truth(b) => Formula::Term(self.terms().boolean(*b)),
            Expr::Not(a) => Formula::Not(Box::new(self.formula(a)?)),
            Expr::Binary(And, a, b) => Formula::And(vec![self.formula(a)?, self.formula(b)?]),
            Expr::Binary(Or, a, b) => Formula::Or(vec![self.formula(a)?, self.formula(b)?]),
            Expr::Binary(Implies, a, b) => {
                let (a, b) = (self.formula(a)?, self.formula(b)?);
                self.world.implies(a, b)
            }
            Expr::Binary(Iff, a, b) => {
                let (a, b) = (self.formula(a)?, self.formula(b)?);
                let forth = self.world.implies(a.clone(), b.clone());
                let back = self.world.implies(b, a);
                Formula::And(vec![forth, back])
            }
            Expr::Cond(c, a, b) if is_logical(a) || is_logical(b) => {
                let c = self.formula(c)?;
                let (a, b) = (self.formula(a)?, self.formula(b)?);
                let yes = self.world.implies(c.clone(), a);
                let no = self.world.implies(Formula::Not(Box::new(c)), b);
                Formula::And(vec![yes, no])
            }
            Expr::Binary(op @ (Eq | Ne | Lt | Le | Gt | Ge), a, b) => {
                let (a, b) = (self.whole(a)?, self.whole(b)?);
                let terms = self.terms();
                Formula::Term(match op {
                    Eq => compare(terms, Binary::Eq, a, b),
                    Ne => {
                        let same = compare(terms, Binary::Eq, a, b);
                        terms.not(same)
                    }
                    Lt => compare(terms, Binary::Lt, a, b),
                    Le => compare(terms, Binary::Le, a, b),
                    Gt => compare(terms, Binary::Lt, b, a),
                    _ => compare(terms, Binary::Le, b, a),
                })
            }
            Expr::Quantified { all, name, low, high, body } => {
                let outer = std::mem::replace(&mut self.in_bounds, true);
                let bounds = self.whole(low).and_then(|low| Ok((low, self.whole(high)?)));
                self.in_bounds = outer;
                let (low, high) = bounds?;
                let var = self.world.fresh(name.clone());
                self.bound.push((name.clone(), var));
                let body = self.formula(body);
                self.bound.pop();
                Formula::Quantified { all: *all, var, low, high, body: Box::new(body?) }
            }
            Expr::Valid(base, low, high) => {
                let length = self.length(base)?;
                let (low, high) = (self.whole(low)?, self.whole(high)?);
                let terms = self.terms();
                let zero = terms.number(0, WIDE);
                let (none, from, to) = (terms.lt(high, low), terms.le(zero, low), terms.lt(high, length));
                let inside = terms.and(from, to);
                Formula::Term(terms.or(none, inside))
            }
            Expr::Separated(_) => Formula::Term(self.terms().boolean(true)),
            Expr::At(thread, label) => Formula::Term((self.context.at)(self.world, thread, label)?),
            Expr::Held(lock, thread) => {
                let named = self.named(lock)?;
                let Named::Sync(s) = named else {
                    return Err(format!("expected a lock in `held`, found `{}`", show(lock)));
                };
                let owner = match self.world.program.sync(s).kind {
                    SyncKind::Mutex { owner } => owner,
                    SyncKind::RwLock { writer, .. } => writer,
                    _ => return Err(format!("expected a lock in `held`, found `{}`", show(lock))),
                };
                let who = match thread {
                    None => self.context.me,
                    Some(name) => self.thread(name)?,
                };
                let ty = self.world.program.var(owner).ty;
                Formula::Term(self.world.is(owner, ty, u64::from(who.0) + 1))
            }
            other => {
                let n = self.number(other)?;
                Formula::Term(self.terms().truth(n))
            }
        })
    }

    fn thread(&self, name: &str) -> Made<ThreadId> {
        let p = self.world.program;
        let found = p.thread_ids().find(|t| p.thread(*t).name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = p.threads.iter().map(|t| t.name.as_str()).collect();
            format!("there is no thread `{name}`; there are {}", names.join(", "))
        })
    }

    fn length(&mut self, base: &Expr) -> Made<Term> {
        match self.named(base)? {
            Named::Array(_, n) => Ok(self.terms().number(n as i128, WIDE)),
            Named::Pointed { length, .. } => {
                let n = self.world.value(length);
                Ok(self.terms().cast(WIDE, n))
            }
            _ => Err(format!("expected an array, found `{}`", show(base))),
        }
    }

    /// What a name, or a field of one, stands for.
    fn named(&mut self, e: &Expr) -> Made<Named> {
        match e {
            Expr::Name(n) => match self.context.names.get(n) {
                Some(named) => Ok(named.clone()),
                None => Err(format!("`{n}` is not known here")),
            },
            Expr::Field(base, field) => match self.named(base)? {
                Named::Struct(fields) => fields
                    .get(field)
                    .cloned()
                    .ok_or_else(|| format!("`{}` has no field `{field}`", show(base))),
                _ => Err(format!("`{}` is no structure", show(base))),
            },
            _ => Err(format!("expected the name of a variable, found `{}`", show(e))),
        }
    }

    /// A variable, or what it was.
    fn var(&mut self, v: VarId) -> VarId {
        if !self.old && !self.context.as_called.contains(&v) {
            return v;
        }
        self.olds.asked.insert(v);
        if let Some(o) = self.olds.of.get(&v) {
            return *o;
        }
        let name = format!("\\old({})", self.world.program.name(v));
        let o = self.world.fresh(name);
        self.olds.of.insert(v, o);
        o
    }

    /// The value of a variable: with a sign if it has 64 bits.
    fn leaf(&mut self, t: Term) -> Term {
        let ty = self.world.terms.ty(t);
        if ty.bits < 64 || ty.signed {
            return t;
        }
        let wide = self.terms().cast(WIDE, t);
        let zero = self.terms().number(0, WIDE);
        let claim = self.terms().le(zero, wide);
        self.claims.push(claim);
        wide
    }

    /// A number, with 64 bits.
    fn whole(&mut self, e: &Expr) -> Made<Term> {
        // The number after the last one of a range is one more, also where the type ends.
        if let Expr::Binary(Operator::Add, a, one) = e
            && **one == Expr::Number(1)
            && self.in_bounds
        {
            let a = self.whole(a)?;
            let one = self.terms().number(1, WIDE);
            return Ok(self.terms().add(a, one));
        }
        let t = self.number(e)?;
        Ok(self.terms().cast(WIDE, t))
    }

    fn number(&mut self, e: &Expr) -> Made<Term> {
        Ok(match e {
            Expr::Number(n) => {
                let fits = (Type::INT.min()..=Type::INT.max()).contains(n);
                self.terms().number(*n, if fits { Type::INT } else { WIDE })
            }
            Expr::Name(n) if self.bound.iter().any(|b| b.0 == *n) => {
                let v = self.bound.iter().rev().find(|b| b.0 == *n).expect("it was found").1;
                self.terms().var(v, WIDE)
            }
            Expr::Name(_) | Expr::Field(..) => match self.named(e)? {
                Named::Number(n) => self.terms().number(n, WIDE),
                Named::Var(v) => {
                    let ty = self.world.program.var(v).ty;
                    let v = self.var(v);
                    let t = self.terms().var(v, ty);
                    self.leaf(t)
                }
                _ => return Err(format!("expected a number, found `{}`", show(e))),
            },
            Expr::Index(base, i) => {
                let cells = match self.named(base)? {
                    Named::Array(v, _) => v,
                    Named::Pointed { cells, .. } => cells,
                    _ => return Err(format!("`{}` is no array, or a pointer that moves", show(base))),
                };
                let ty = self.world.program.var(cells).ty;
                if ty.bits == 64 && !ty.signed {
                    return Err(format!("cells of 64 bits without a sign, in `{}`", show(e)));
                }
                let i = self.inner(i)?;
                let at = self.terms().cast(Type::unsigned(64), i);
                let v = self.var(cells);
                self.terms().cell(v, at, ty)
            }
            Expr::Result => match self.context.result {
                Some(v) => {
                    let t = self.world.value(v);
                    self.leaf(t)
                }
                None => {
                    return Err(
                        "`\\result` is known in `ensures` of a function that returns something".to_owned()
                    );
                }
            },
            Expr::Old(a) => {
                let before = std::mem::replace(&mut self.old, true);
                let t = self.number(a);
                self.old = before;
                t?
            }
            Expr::Length(a) => self.length(a)?,
            Expr::Neg(a) => {
                let a = self.promoted(a)?;
                self.terms().unary(Unary::Neg, a)
            }
            Expr::Complement(a) => {
                let a = self.promoted(a)?;
                self.terms().unary(Unary::Not, a)
            }
            Expr::Cond(c, a, b) => {
                let c = self.truth(c)?;
                let (a, b) = self.both(a, b)?;
                self.terms().ite(c, a, b)
            }
            Expr::Binary(op, a, b) if arithmetic(*op).is_some() => {
                let op = arithmetic(*op).expect("it was looked at");
                let (a, b) = self.both(a, b)?;
                if matches!(op, Binary::Div | Binary::Rem) && self.terms().as_const(b).is_none_or(|n| n == 0)
                {
                    return Err(format!("expected a constant other than 0 to divide by, in `{}`", show(e)));
                }
                self.terms().binary(op, a, b)
            }
            _ => {
                let t = self.truth(e)?;
                self.terms().cast(Type::INT, t)
            }
        })
    }

    /// A number inside of an index: no bound of a range.
    fn inner(&mut self, e: &Expr) -> Made<Term> {
        let outer = std::mem::replace(&mut self.in_bounds, false);
        let t = self.whole(e);
        self.in_bounds = outer;
        t
    }

    /// A number after C's promotions.
    fn promoted(&mut self, e: &Expr) -> Made<Term> {
        let t = self.number(e)?;
        let ty = common(self.world.terms.ty(t), Type::INT);
        Ok(self.terms().cast(ty, t))
    }

    /// Two numbers as operands of one operation.
    fn both(&mut self, a: &Expr, b: &Expr) -> Made<(Term, Term)> {
        let (a, b) = (self.number(a)?, self.number(b)?);
        let ty = common(self.world.terms.ty(a), self.world.terms.ty(b));
        Ok((self.terms().cast(ty, a), self.terms().cast(ty, b)))
    }

    /// A formula without quantifiers as a term.
    fn truth(&mut self, e: &Expr) -> Made<Term> {
        let f = self.formula(e)?;
        plain(&mut self.world.terms, &f)
            .ok_or_else(|| format!("a quantifier inside of a number, in `{}`", show(e)))
    }
}

/// The type of an operation on two numbers, as C has it.
fn common(a: Type, b: Type) -> Type {
    let bits = a.bits.max(b.bits).max(32);
    let unsigned = |t: Type| !t.signed && t.bits == bits;
    Type { bits, signed: !unsigned(a) && !unsigned(b) }
}

/// The `int` that a wide number is, if it is one whatever the values are.
pub(super) fn narrow(terms: &mut Terms, t: Term) -> Option<Term> {
    match terms.node(t) {
        Node::Cast(WIDE, x) if terms.ty(x) == Type::INT => Some(x),
        Node::Const(v, WIDE) if (Type::INT.min()..=Type::INT.max()).contains(&WIDE.value(v)) => {
            Some(terms.number(WIDE.value(v), Type::INT))
        }
        _ => None,
    }
}

/// Whether one wide number is less than another, or not greater. Those that are `int`s are compared as such: the program does so too,
/// and then it is the same term.
pub(super) fn compare(terms: &mut Terms, op: Binary, a: Term, b: Term) -> Term {
    match (narrow(terms, a), narrow(terms, b)) {
        (Some(x), Some(y)) => terms.binary(op, x, y),
        _ => terms.binary(op, a, b),
    }
}

/// The term of a formula without quantifiers.
pub(super) fn plain(terms: &mut Terms, f: &Formula) -> Option<Term> {
    Some(match f {
        Formula::Term(t) => *t,
        Formula::Not(a) => {
            let a = plain(terms, a)?;
            terms.not(a)
        }
        Formula::And(l) => {
            let mut all = terms.boolean(true);
            for a in l {
                let a = plain(terms, a)?;
                all = terms.and(all, a);
            }
            all
        }
        Formula::Or(l) => {
            let mut some = terms.boolean(false);
            for a in l {
                let a = plain(terms, a)?;
                some = terms.or(some, a);
            }
            some
        }
        Formula::Quantified { .. } => return None,
    })
}

fn is_logical(e: &Expr) -> bool {
    use Operator::*;
    matches!(
        e,
        Expr::Truth(_)
            | Expr::Not(_)
            | Expr::Quantified { .. }
            | Expr::At(..)
            | Expr::Held(..)
            | Expr::Valid(..)
            | Expr::Binary(Eq | Ne | Lt | Le | Gt | Ge | And | Or | Implies | Iff, ..)
    )
}

fn arithmetic(op: Operator) -> Option<Binary> {
    use Operator::*;
    Some(match op {
        Add => Binary::Add,
        Sub => Binary::Sub,
        Mul => Binary::Mul,
        Div => Binary::Div,
        Rem => Binary::Rem,
        BitAnd => Binary::And,
        BitOr => Binary::Or,
        BitXor => Binary::Xor,
        Shl => Binary::Shl,
        Shr => Binary::Shr,
        Eq | Ne | Lt | Le | Gt | Ge | And | Or | Implies | Iff => return None,
    })
}

/// A part of a formula as text, for messages.
fn show(e: &Expr) -> String {
    match e {
        Expr::Number(n) => n.to_string(),
        Expr::Name(n) => n.clone(),
        Expr::Field(a, f) => format!("{}.{f}", show(a)),
        Expr::Index(a, i) => format!("{}[{}]", show(a), show(i)),
        Expr::Result => "\\result".to_owned(),
        Expr::Old(a) => format!("\\old({})", show(a)),
        Expr::At(t, l) => format!("{t}@{l}"),
        Expr::Binary(Operator::Div, a, b) => format!("{} / {}", show(a), show(b)),
        Expr::Binary(Operator::Rem, a, b) => format!("{} % {}", show(a), show(b)),
        _ => "a formula".to_owned(),
    }
}

/// What a place gets when it gets any value.
pub(super) fn input(world: &mut World<'_>, place: Place) -> Assign {
    let ty = world.program.var(place.var).ty;
    let v = world.fresh(format!("input to {}", world.program.name(place.var)));
    Assign { place, value: world.terms.var(v, ty) }
}
