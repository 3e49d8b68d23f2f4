//! The formulas of annotations.
//!
//! | written | meaning |
//! |---|---|
//! | `x`, `s.f`, `a[i]`, numbers, characters | as in C |
//! | `+ - * / % << >> & ^ \| ~ ! && \|\| ?:` and comparisons | as in C, but on numbers of 64 bits; `0 <= i < n` is a chain |
//! | `p ==> q`, `p <==> q` | implication, equivalence |
//! | `\forall integer j; lo <= j < hi ==> p`, `\exists integer j; lo <= j < hi && p` | for all numbers between, for one |
//! | `\result`, `\old(e)` | what is returned; what it was where the function was called |
//! | `\valid(a + i)`, `\valid(a + (lo .. hi))`, `\length(a)` | what a parameter points to |
//! | `\separated(a, b)` | two parameters point to different memory |
//! | `thread@label`, `held(lock)`, `held(lock, thread)` | where another thread is, who has a lock |

use super::Clause;
use crate::c::Refusal;

/// An operation in a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are what C and logic call them")]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Implies,
    Iff,
}

/// A formula, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(i128),
    /// `\true` or `\false`.
    Truth(bool),
    /// A name.
    Name(String),
    /// A field of a structure.
    Field(Box<Expr>, String),
    /// A cell of an array.
    Index(Box<Expr>, Box<Expr>),
    /// `!`.
    Not(Box<Expr>),
    /// `-`.
    Neg(Box<Expr>),
    /// `~`.
    Complement(Box<Expr>),
    /// An operation on two.
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `c ? a : b`.
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `\result`.
    Result,
    /// `\old(e)`.
    Old(Box<Expr>),
    /// `\length(a)`.
    Length(Box<Expr>),
    /// `\valid(a + (lo .. hi))`: all cells between, both included.
    Valid(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `\separated(a, b)`.
    Separated(Vec<String>),
    /// `\forall integer name; low <= name < high ==> body`, or `\exists`.
    Quantified {
        /// Whether it is `\forall`.
        all: bool,
        /// The name.
        name: String,
        /// The least number.
        low: Box<Expr>,
        /// The number after the greatest.
        high: Box<Expr>,
        /// What holds.
        body: Box<Expr>,
    },
    /// `thread@label`.
    At(String, String),
    /// `held(lock)` or `held(lock, thread)`.
    Held(Box<Expr>, Option<String>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(i128),
    Name(String),
    /// `\name`.
    Word(String),
    Sign(&'static str),
    End,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Number(n) => write!(f, "`{n}`"),
            Token::Name(n) => write!(f, "`{n}`"),
            Token::Word(n) => write!(f, "`\\{n}`"),
            Token::Sign(s) => write!(f, "`{s}`"),
            Token::End => f.write_str("the end of the comment"),
        }
    }
}

/// The longer ones first.
const SIGNS: [&str; 35] = [
    "<==>", "==>", "<=", ">=", "==", "!=", "<<", ">>", "&&", "||", "..", "->", "<", ">", "+", "-", "*", "/",
    "%", "&", "^", "|", "~", "!", "?", ":", "(", ")", "[", "]", ";", ",", ".", "@", "#",
];

struct Tokens<'t> {
    file: &'t str,
    text: &'t str,
    /// Each token with where it begins and ends, and its line.
    list: Vec<(Token, usize, usize, u32)>,
    at: usize,
}

type Res<T> = Result<T, Refusal>;

/// The clauses of a comment, each with its line and its text.
pub(super) fn clauses(file: &str, text: &str, line: u32) -> Res<Vec<(Clause, u32, String)>> {
    let mut t = Tokens::of(file, text, line)?;
    let mut out = Vec::new();
    while *t.peek() != Token::End {
        let (_, from, _, line) = t.list[t.at].clone();
        let clause = t.clause()?;
        let until = t.list[t.at].1;
        t.sign(";")?;
        let said: Vec<&str> = text[from..until].split_whitespace().filter(|w| *w != "@").collect();
        out.push((clause, line, said.join(" ")));
    }
    if out.is_empty() {
        return Err(t.expected(CLAUSES));
    }
    Ok(out)
}

const CLAUSES: &str =
    "`requires`, `ensures`, `assigns`, `assert`, `loop invariant`, `guarded_by` or `atomic`";

/// A name, or a field of one.
fn is_variable(e: &Expr) -> bool {
    match e {
        Expr::Name(_) => true,
        Expr::Field(base, _) => is_variable(base),
        _ => false,
    }
}

impl<'t> Tokens<'t> {
    fn of(file: &'t str, text: &'t str, mut line: u32) -> Res<Tokens<'t>> {
        let mut list = Vec::new();
        let mut at = 0;
        let mut fresh = true;
        while at < text.len() {
            let rest = &text[at..];
            let c = rest.chars().next().unwrap_or(' ');
            let refuse = |reason: String| Refusal { file: file.to_owned(), line, reason };
            if c == '\n' {
                line += 1;
                fresh = true;
                at += 1;
                continue;
            }
            // ACSL lets lines of a comment begin with an `@`.
            if c.is_whitespace() || fresh && c == '@' {
                fresh = fresh && c != '@';
                at += c.len_utf8();
                continue;
            }
            fresh = false;
            let word = |s: &str| s.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(s.len());
            let (token, n) = if c.is_ascii_digit() {
                let n = word(rest);
                (
                    Token::Number(
                        number(&rest[..n]).ok_or_else(|| refuse(format!("the number {}", &rest[..n])))?,
                    ),
                    n,
                )
            } else if c.is_alphabetic() || c == '_' {
                let n = word(rest);
                (Token::Name(rest[..n].to_owned()), n)
            } else if c == '\\' {
                let n = 1 + word(&rest[1..]);
                (Token::Word(rest[1..n].to_owned()), n)
            } else if let Some(s) = SIGNS.into_iter().find(|s| rest.starts_with(s)) {
                (Token::Sign(s), s.len())
            } else {
                return Err(refuse(format!("`{c}` in an annotation")));
            };
            list.push((token, at, at + n, line));
            at += n;
        }
        list.push((Token::End, text.len(), text.len(), line));
        Ok(Tokens { file, text, list, at: 0 })
    }

    fn peek(&self) -> &Token {
        &self.list[self.at].0
    }

    fn next(&mut self) -> Token {
        let t = self.list[self.at].0.clone();
        self.at = (self.at + 1).min(self.list.len() - 1);
        t
    }

    fn refuse(&self, reason: String) -> Refusal {
        Refusal { file: self.file.to_owned(), line: self.list[self.at].3, reason }
    }

    fn expected(&self, what: &str) -> Refusal {
        self.refuse(format!("expected {what}, found {}", self.peek()))
    }

    fn is(&mut self, sign: &str) -> bool {
        let there = matches!(self.peek(), Token::Sign(s) if *s == sign);
        if there {
            self.next();
        }
        there
    }

    fn sign(&mut self, sign: &str) -> Res<()> {
        if self.is(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    fn name(&mut self, what: &str) -> Res<String> {
        match self.peek().clone() {
            Token::Name(n) => {
                self.next();
                Ok(n)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn clause(&mut self) -> Res<Clause> {
        let word = match self.peek() {
            Token::Name(n) => n.clone(),
            _ => return Err(self.expected(CLAUSES)),
        };
        match word.as_str() {
            "requires" | "ensures" | "assert" | "guarded_by" => {
                self.next();
                let e = self.formula()?;
                Ok(match word.as_str() {
                    "requires" => Clause::Requires(e),
                    "ensures" => Clause::Ensures(e),
                    "assert" => Clause::Assert(e),
                    _ => Clause::GuardedBy(e),
                })
            }
            "loop" => {
                self.next();
                match self.peek() {
                    Token::Name(n) if n == "invariant" => {
                        self.next();
                        Ok(Clause::Invariant(self.formula()?))
                    }
                    _ => Err(self.expected("`invariant`")),
                }
            }
            "assigns" => {
                self.next();
                if *self.peek() == Token::Word("nothing".to_owned()) {
                    self.next();
                    return Ok(Clause::Assigns(Vec::new()));
                }
                let mut list = Vec::new();
                loop {
                    if !matches!(self.peek(), Token::Name(_)) {
                        return Err(self.expected("a variable, or `\\nothing`"));
                    }
                    let e = self.formula()?;
                    if !is_variable(&e) {
                        return Err(self.refuse("expected names of variables in `assigns`".to_owned()));
                    }
                    list.push(e);
                    if !self.is(",") {
                        return Ok(Clause::Assigns(list));
                    }
                }
            }
            "atomic" => {
                self.next();
                Ok(Clause::Atomic)
            }
            _ => Err(self.expected(CLAUSES)),
        }
    }

    fn formula(&mut self) -> Res<Expr> {
        let left = self.implication()?;
        if self.is("?") {
            let yes = self.formula()?;
            self.sign(":")?;
            let no = self.formula()?;
            return Ok(Expr::Cond(Box::new(left), Box::new(yes), Box::new(no)));
        }
        if self.is("<==>") {
            return Ok(binary(Operator::Iff, left, self.formula()?));
        }
        Ok(left)
    }

    fn implication(&mut self) -> Res<Expr> {
        let left = self.operators(0)?;
        if self.is("==>") {
            return Ok(binary(Operator::Implies, left, self.implication()?));
        }
        Ok(left)
    }

    /// Operators by level, the loosest first.
    fn operators(&mut self, level: usize) -> Res<Expr> {
        use Operator::*;
        const LEVELS: [&[(&str, Operator)]; 8] = [
            &[("||", Or)],
            &[("&&", And)],
            &[("|", BitOr)],
            &[("^", BitXor)],
            &[("&", BitAnd)],
            &[("==", Eq), ("!=", Ne)],
            &[("<=", Le), (">=", Ge), ("<", Lt), (">", Gt)],
            &[("<<", Shl), (">>", Shr)],
        ];
        if level == LEVELS.len() {
            return self.sum();
        }
        let mut left = self.operators(level + 1)?;
        let mut chain: Option<Expr> = None;
        loop {
            let found = LEVELS[level].iter().find(|(s, _)| matches!(self.peek(), Token::Sign(t) if t == s));
            let Some((_, op)) = found else { break };
            self.next();
            let right = self.operators(level + 1)?;
            if level == 6 {
                // `0 <= i < n` is two comparisons.
                let link = binary(*op, left, right.clone());
                chain = Some(match chain {
                    None => link,
                    Some(before) => binary(And, before, link),
                });
                left = right;
            } else {
                left = binary(*op, left, right);
            }
        }
        Ok(chain.unwrap_or(left))
    }

    fn sum(&mut self) -> Res<Expr> {
        let mut left = self.product()?;
        loop {
            let op = match self.peek() {
                Token::Sign("+") => Operator::Add,
                Token::Sign("-") => Operator::Sub,
                _ => return Ok(left),
            };
            self.next();
            left = binary(op, left, self.product()?);
        }
    }

    fn product(&mut self) -> Res<Expr> {
        let mut left = self.unary()?;
        loop {
            let op = match self.peek() {
                Token::Sign("*") => Operator::Mul,
                Token::Sign("/") => Operator::Div,
                Token::Sign("%") => Operator::Rem,
                _ => return Ok(left),
            };
            self.next();
            left = binary(op, left, self.unary()?);
        }
    }

    fn unary(&mut self) -> Res<Expr> {
        if self.is("!") {
            return Ok(Expr::Not(Box::new(self.unary()?)));
        }
        if self.is("-") {
            return Ok(Expr::Neg(Box::new(self.unary()?)));
        }
        if self.is("~") {
            return Ok(Expr::Complement(Box::new(self.unary()?)));
        }
        let mut e = self.primary()?;
        loop {
            if self.is("[") {
                let i = self.formula()?;
                self.sign("]")?;
                e = Expr::Index(Box::new(e), Box::new(i));
            } else if self.is(".") {
                e = Expr::Field(Box::new(e), self.name("the name of a field")?);
            } else {
                return Ok(e);
            }
        }
    }

    /// A thread: a name, and a number if there are several.
    fn thread(&mut self) -> Res<String> {
        let name = self.name("the name of a thread")?;
        self.numbered(name)
    }

    fn numbered(&mut self, name: String) -> Res<String> {
        if !self.is("#") {
            return Ok(name);
        }
        match self.next() {
            Token::Number(n) => Ok(format!("{name}#{n}")),
            _ => {
                self.at -= 1;
                Err(self.expected("the number of a thread"))
            }
        }
    }

    fn primary(&mut self) -> Res<Expr> {
        match self.peek().clone() {
            Token::Number(n) => {
                self.next();
                Ok(Expr::Number(n))
            }
            Token::Sign("(") => {
                self.next();
                let e = self.formula()?;
                self.sign(")")?;
                Ok(e)
            }
            Token::Name(n) if n == "held" => {
                self.next();
                self.sign("(")?;
                let lock = self.unary()?;
                let thread = if self.is(",") { Some(self.thread()?) } else { None };
                self.sign(")")?;
                Ok(Expr::Held(Box::new(lock), thread))
            }
            Token::Name(n) => {
                self.next();
                match self.peek() {
                    Token::Sign("#" | "@") => {
                        let thread = self.numbered(n)?;
                        self.sign("@")?;
                        Ok(Expr::At(thread, self.name("a label")?))
                    }
                    Token::Sign("(") => {
                        self.at -= 1;
                        Err(self.refuse(format!("`{n}` is called, and formulas have no calls")))
                    }
                    _ => Ok(Expr::Name(n)),
                }
            }
            Token::Word(w) => self.word(&w),
            _ => Err(self.expected("an expression")),
        }
    }

    fn word(&mut self, w: &str) -> Res<Expr> {
        match w {
            "true" | "false" => {
                self.next();
                Ok(Expr::Truth(w == "true"))
            }
            "result" => {
                self.next();
                Ok(Expr::Result)
            }
            "old" | "length" => {
                self.next();
                self.sign("(")?;
                let e = Box::new(self.formula()?);
                self.sign(")")?;
                Ok(if w == "old" { Expr::Old(e) } else { Expr::Length(e) })
            }
            "valid" | "valid_read" => {
                self.next();
                self.sign("(")?;
                let base = Box::new(self.unary()?);
                let (mut low, mut high) = (Expr::Number(0), Expr::Number(0));
                if self.is("+") {
                    let from = self.list[self.at].1;
                    if self.is("(") {
                        low = self.sum()?;
                        if !self.is("..") {
                            return Err(self.refuse(format!(
                                "expected `..` between the first and the last index, found {} after `{}`",
                                self.peek(),
                                self.text[from..self.list[self.at].1].trim()
                            )));
                        }
                        high = self.sum()?;
                        self.sign(")")?;
                    } else {
                        low = self.product()?;
                        high = low.clone();
                    }
                }
                self.sign(")")?;
                Ok(Expr::Valid(base, Box::new(low), Box::new(high)))
            }
            "separated" => {
                self.next();
                self.sign("(")?;
                let mut names = vec![self.name("the name of a variable")?];
                while self.is(",") {
                    names.push(self.name("the name of a variable")?);
                }
                self.sign(")")?;
                Ok(Expr::Separated(names))
            }
            "forall" | "exists" => self.quantified(w == "forall"),
            _ => Err(self.expected(
                "`\\forall`, `\\exists`, `\\result`, `\\old`, `\\valid`, `\\length`, `\\separated`, `\\true` or `\\false`",
            )),
        }
    }

    fn integer(&mut self) -> Res<()> {
        match self.peek() {
            Token::Name(n) if n == "integer" || n == "int" => _ = self.next(),
            _ => return Err(self.expected("`integer`")),
        }
        Ok(())
    }

    fn quantified(&mut self, all: bool) -> Res<Expr> {
        let start = self.at;
        self.next();
        self.integer()?;
        let mut names = vec![self.name("the name of a variable")?];
        while self.is(",") {
            names.push(self.name("the name of a variable")?);
        }
        self.sign(";")?;
        // One quantifier right after the other is one with more names.
        let same = Token::Word(if all { "forall" } else { "exists" }.to_owned());
        while *self.peek() == same {
            self.next();
            self.integer()?;
            names.push(self.name("the name of a variable")?);
            while self.is(",") {
                names.push(self.name("the name of a variable")?);
            }
            self.sign(";")?;
        }
        let body = self.formula()?;
        // The conditions before the arrows, or all that are there.
        let mut left = Vec::new();
        let rest = match all {
            true => {
                let mut rest = body;
                while let Expr::Binary(Operator::Implies, guard, then) = rest {
                    left.extend(conjuncts(*guard));
                    rest = *then;
                }
                Some(rest)
            }
            false => {
                left = conjuncts(body);
                None
            }
        };
        let conditions = left.clone();
        let mut bounds = Vec::new();
        for name in &names {
            let (mut low, mut high) = (None, None);
            // Bounds may speak of names that come before, not of those that come after.
            let later = &names[bounds.len()..];
            left.retain(|c| {
                let Some((below, bound)) = bound_of(c, name) else { return true };
                if later.iter().any(|n| mentions(&bound, n)) {
                    return true;
                }
                let slot = if below { &mut low } else { &mut high };
                if slot.is_some() {
                    return true;
                }
                *slot = Some(bound);
                false
            });
            // Those that come after have bounds too: what they say of this one stays a condition.
            let low = low.or_else(|| outer_bound(&conditions, name, true, later, later.len()));
            let high = high.or_else(|| outer_bound(&conditions, name, false, later, later.len()));
            let (Some(low), Some(high)) = (low, high) else {
                self.at = start;
                let how = if all { "==>" } else { "&&" };
                return Err(self.refuse(format!(
                    "`{name}` needs bounds: `\\{} integer {name}; low <= {name} < high {how} ...`",
                    if all { "forall" } else { "exists" }
                )));
            };
            bounds.push((low, high));
        }
        let and = left.into_iter().reduce(|a, b| binary(Operator::And, a, b));
        let mut body = match (all, and, rest) {
            (_, None, Some(rest)) => rest,
            (true, Some(guard), Some(rest)) => binary(Operator::Implies, guard, rest),
            (false, Some(and), None) => and,
            (false, None, None) => Expr::Truth(true),
            (_, and, rest) => and.or(rest).unwrap_or(Expr::Truth(true)),
        };
        for (name, (low, high)) in names.into_iter().zip(bounds).rev() {
            let (low, high, inner) = (Box::new(low), Box::new(high), Box::new(body));
            body = Expr::Quantified { all, name, low, high, body: inner };
        }
        Ok(body)
    }
}

fn binary(op: Operator, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

fn conjuncts(e: Expr) -> Vec<Expr> {
    match e {
        Expr::Binary(Operator::And, a, b) => {
            let mut all = conjuncts(*a);
            all.extend(conjuncts(*b));
            all
        }
        other => vec![other],
    }
}

/// A comparison of a name with something else: whether that is a lower bound, and the bound as the least number, or the one after
/// the greatest.
fn bound_of(e: &Expr, name: &str) -> Option<(bool, Expr)> {
    use Operator::*;
    let Expr::Binary(op, a, b) = e else { return None };
    let is = |e: &Expr| matches!(e, Expr::Name(n) if n == name);
    let (op, bound) = match (is(a), is(b)) {
        (true, false) => (*op, b),
        (false, true) => {
            let turned = match op {
                Lt => Gt,
                Le => Ge,
                Gt => Lt,
                Ge => Le,
                _ => return None,
            };
            (turned, a)
        }
        _ => return None,
    };
    let one_more = || binary(Add, (**bound).clone(), Expr::Number(1));
    match op {
        Ge => Some((true, (**bound).clone())),
        Gt => Some((true, one_more())),
        Lt => Some((false, (**bound).clone())),
        Le => Some((false, one_more())),
        _ => None,
    }
}

/// A bound of a name that speaks of none of those that come after: its own, or one of a name that comes after and bounds it.
fn outer_bound(conditions: &[Expr], name: &str, below: bool, later: &[String], depth: usize) -> Option<Expr> {
    let mut through = Vec::new();
    for c in conditions {
        let Some((is_low, bound)) = bound_of(c, name) else { continue };
        if is_low != below {
            continue;
        }
        if !later.iter().any(|n| mentions(&bound, n)) {
            return Some(bound);
        }
        // What bounds `j` bounds `i` where `i <= j`, and where `i < j`.
        let other = match &bound {
            Expr::Name(n) => n,
            Expr::Binary(Operator::Add, n, one) if **one == Expr::Number(1) => match &**n {
                Expr::Name(n) => n,
                _ => continue,
            },
            _ => continue,
        };
        through.push(other.clone());
    }
    let depth = depth.checked_sub(1)?;
    through.iter().find_map(|other| outer_bound(conditions, other, below, later, depth))
}

fn mentions(e: &Expr, name: &str) -> bool {
    match e {
        Expr::Name(n) => n == name,
        Expr::Number(_)
        | Expr::Truth(_)
        | Expr::Result
        | Expr::Separated(_)
        | Expr::At(..)
        | Expr::Held(..) => false,
        Expr::Field(a, _)
        | Expr::Not(a)
        | Expr::Neg(a)
        | Expr::Complement(a)
        | Expr::Old(a)
        | Expr::Length(a) => mentions(a, name),
        Expr::Index(a, b) | Expr::Binary(_, a, b) => mentions(a, name) || mentions(b, name),
        Expr::Cond(a, b, c) | Expr::Valid(a, b, c) => {
            mentions(a, name) || mentions(b, name) || mentions(c, name)
        }
        Expr::Quantified { name: own, low, high, body, .. } => {
            mentions(low, name) || mentions(high, name) || own != name && mentions(body, name)
        }
    }
}

fn number(text: &str) -> Option<i128> {
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None if text.len() > 1 && text.starts_with('0') => i128::from_str_radix(text, 8).ok()?,
        None => text.parse().ok()?,
    };
    // Numbers of formulas have 64 bits and a sign.
    (value <= i64::MAX as i128).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula(text: &str) -> Expr {
        match clauses("f.c", &format!("assert {text};"), 1).unwrap().remove(0).0 {
            Clause::Assert(e) => e,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn implication_is_looser_than_or_and_binds_to_the_right() {
        let same = |a: &str, b: &str| assert_eq!(formula(a), formula(b), "{a}");
        same("a ==> b ==> c", "a ==> (b ==> c)");
        same("a || b && c ==> d", "(a || (b && c)) ==> d");
        same("a + 1 < b * 2 - c", "(a + 1) < ((b * 2) - c)");
        same("a & 1 == 0", "a & (1 == 0)");
        same("0 <= i <= n", "0 <= i && i <= n");
        same("x == 1 <==> y == 2 && z", "(x == 1) <==> ((y == 2) && z)");
    }

    #[test]
    fn bounds_of_quantifiers_are_found_in_any_order() {
        let least = formula("\\forall integer j; 0 <= j < n ==> a[j] > 0");
        assert_eq!(formula("\\forall integer j; j < n && j >= 0 ==> a[j] > 0"), least);
        assert_eq!(formula("\\forall integer j; 0 <= j && n > j ==> a[j] > 0"), least);
        let Expr::Quantified { all, high, body, .. } =
            formula("\\exists integer j; 0 <= j <= n && a[j] == 1")
        else {
            panic!("it is quantified");
        };
        assert!(!all);
        assert_eq!(*high, formula("n + 1"));
        assert_eq!(*body, formula("a[j] == 1"));
        let Expr::Quantified { name, body, .. } =
            formula("\\forall integer i, j; 0 <= i < n && i <= j < n ==> a[i] <= a[j]")
        else {
            panic!("it is quantified");
        };
        assert!(name == "i" && matches!(*body, Expr::Quantified { .. }));
    }

    #[test]
    fn places_of_threads_and_locks_are_read() {
        assert_eq!(formula("B#2@M0"), Expr::At("B#2".into(), "M0".into()));
        assert_eq!(formula("held(l, A)"), Expr::Held(Box::new(Expr::Name("l".into())), Some("A".into())));
    }
}
