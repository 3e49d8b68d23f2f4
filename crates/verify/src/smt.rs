//! Any SMT-LIB 2 solver that is on the machine, through a pipe: a second opinion on what the embedded one says.
//!
//! Terms are told once each, as definitions; a query is `check-sat-assuming` over names of truth values, so that cores come back as
//! they do from the embedded solver. Arrays are functions of a 64-bit index. Answers are read by a thread of their own: a solver
//! that is silent when the time is over is ended, the answer is *unknown*, and the next query starts another one.
//!
//! **Invariant:** what the solver says is taken only if it is one of the words of the standard. Whatever else comes, an error or the
//! end of the process, is *unknown*.

use crate::solver::{Answer, Solver};
use model::{Binary, Node, Term, Terms, Type, Unary, VarId};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why a solver cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NoSolver(String);

/// How a solver is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmtCommand {
    words: Vec<String>,
}

/// Solvers that are known by name, with the words that make them read from a pipe.
const KNOWN: [(&str, &[&str]); 3] = [
    ("z3", &["-in", "-smt2"]),
    ("cvc5", &["--lang=smt2", "--incremental", "--produce-unsat-assumptions", "--quiet"]),
    ("yices-smt2", &["--incremental"]),
];

impl SmtCommand {
    /// A solver by name (`z3`, `cvc5`), or by the command that reads SMT-LIB 2 from standard input. It is started once and asked
    /// something easy, so that a wrong name is told at once and not when the first proof fails.
    pub fn find(command: &str) -> Result<SmtCommand, NoSolver> {
        let mut words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let Some(first) = words.first() else { return Err(NoSolver("no solver is named".to_owned())) };
        let name = first.rsplit('/').next().unwrap_or(first);
        if words.len() == 1
            && let Some((_, more)) = KNOWN.iter().find(|k| k.0 == name)
        {
            words.extend(more.iter().map(|w| (*w).to_owned()));
        }
        let command = SmtCommand { words };
        let pipe = Pipe::start(&command).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => NoSolver(format!(
                "there is no solver `{}` on this machine: install it, or leave --solver out: the one inside raddle needs nothing",
                command.words[0]
            )),
            _ => NoSolver(format!("the solver `{}` does not start: {e}", command.words[0])),
        })?;
        drop(pipe);
        let mut terms = Terms::new();
        let mut solver = SmtSolver::new(&command);
        solver.limit(Some(10.0));
        let x = terms.var(VarId(0), Type::INT);
        let (one, two) = (terms.int(1), terms.int(2));
        let (a, b) = (terms.eq(x, one), terms.eq(x, two));
        let easy = solver.check(&terms, &[a]) == Answer::Sat
            && solver.value(&terms, x) == 1
            && solver.check(&terms, &[a, b]) == Answer::Unsat
            && solver.core().len() == 2;
        if !easy {
            return Err(NoSolver(format!(
                "`{}` does not answer as an SMT-LIB 2 solver with bit-vectors, assumptions and cores does{}",
                command.words.join(" "),
                solver.said.map(|s| format!("; it says: {s}")).unwrap_or_default()
            )));
        }
        Ok(command)
    }

    /// The name of the program.
    pub fn name(&self) -> &str {
        self.words[0].rsplit('/').next().unwrap_or(&self.words[0])
    }
}

/// A running solver.
struct Pipe {
    child: Child,
    to: ChildStdin,
    lines: Receiver<String>,
}

impl Pipe {
    fn start(command: &SmtCommand) -> std::io::Result<Pipe> {
        let mut child = Command::new(&command.words[0])
            .args(&command.words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("it has no pipes"));
        };
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines() {
                let Ok(line) = line else { return };
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Pipe { child, to, lines })
    }

    fn say(&mut self, text: &str) -> Option<()> {
        self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush()).ok()
    }

    /// The next answer: one line, or as many as its parentheses need.
    fn hear(&self, end: Option<Instant>) -> Option<String> {
        let mut all = String::new();
        loop {
            let line = match end {
                None => self.lines.recv().ok()?,
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    match self.lines.recv_timeout(left) {
                        Ok(line) => line,
                        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
                    }
                }
            };
            all += line.trim();
            let open = all.matches('(').count();
            if open == all.matches(')').count() && !all.is_empty() {
                return Some(all);
            }
            all.push(' ');
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // It may be in the middle of something that takes for ever, or gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An SMT-LIB 2 solver as a [`Solver`].
pub struct SmtSolver {
    command: SmtCommand,
    pipe: RefCell<Option<Pipe>>,
    /// Terms that the solver at hand knows.
    told: HashSet<Term>,
    /// Terms that have a name as a truth value, and so can be assumed.
    named: HashSet<Term>,
    arrays: HashMap<VarId, u32>,
    /// Arrays, with the type of their cells, that are declared.
    declared: HashSet<(VarId, Type)>,
    core: Vec<Term>,
    seconds: Option<f64>,
    /// What it said last that was no answer.
    said: Option<String>,
}

impl SmtSolver {
    /// One that is started with its first query.
    pub fn new(command: &SmtCommand) -> SmtSolver {
        SmtSolver {
            command: command.clone(),
            pipe: RefCell::new(None),
            told: HashSet::new(),
            named: HashSet::new(),
            arrays: HashMap::new(),
            declared: HashSet::new(),
            core: Vec::new(),
            seconds: None,
            said: None,
        }
    }

    /// What the solver does not know yet of some terms, as text.
    fn tell(&mut self, terms: &Terms, roots: &[Term]) -> String {
        let mut out = String::new();
        let mut stack: Vec<Term> = roots.iter().rev().copied().collect();
        while let Some(&t) = stack.last() {
            if self.told.contains(&t) {
                stack.pop();
                continue;
            }
            let before = stack.len();
            let mut need = |a: Term| {
                if !self.told.contains(&a) {
                    stack.push(a);
                }
            };
            match terms.node(t) {
                Node::Const(..) | Node::Var(..) => {}
                Node::Cell(_, a, _) | Node::Unary(_, a) | Node::Cast(_, a) => need(a),
                Node::Binary(_, a, b) => [a, b].into_iter().for_each(need),
                Node::Ite(c, a, b) => [c, a, b].into_iter().for_each(need),
            }
            if stack.len() == before {
                self.define(terms, t, &mut out);
                self.told.insert(t);
                stack.pop();
            }
        }
        out
    }

    fn define(&mut self, terms: &Terms, t: Term, out: &mut String) {
        let (n, sort) = (t.index(), sort(terms.ty(t)));
        let name = |t: Term| format!("t{}", t.index());
        let body = match terms.node(t) {
            Node::Var(..) => {
                let _ = writeln!(out, "(declare-const t{n} {sort})");
                return;
            }
            Node::Const(v, ty) => constant(v, ty),
            Node::Cell(var, index, ty) => {
                let array = format!("a{}_{}{}", var.0, if ty.signed { 'i' } else { 'u' }, ty.bits);
                if self.declared.insert((var, ty)) {
                    let _ = writeln!(out, "(declare-fun {array} ((_ BitVec 64)) {sort})");
                }
                // The bits of an index are those of the value, with nothing above.
                let at = widened(&name(index), terms.ty(index).bits, 64, false);
                match self.arrays.get(&var) {
                    None => format!("({array} {at})"),
                    Some(len) => {
                        let end = constant(u64::from(*len), Type::unsigned(64));
                        format!("(ite (bvult {at} {end}) ({array} {at}) {})", constant(0, ty))
                    }
                }
            }
            Node::Unary(Unary::Not, a) => format!("(bvnot {})", name(a)),
            Node::Unary(Unary::Neg, a) => format!("(bvneg {})", name(a)),
            Node::Binary(op, a, b) => {
                let signed = terms.ty(a).signed;
                let (word, truth) = match op {
                    Binary::Add => ("bvadd", false),
                    Binary::Sub => ("bvsub", false),
                    Binary::Mul => ("bvmul", false),
                    Binary::Div => (if signed { "bvsdiv" } else { "bvudiv" }, false),
                    Binary::Rem => (if signed { "bvsrem" } else { "bvurem" }, false),
                    Binary::And => ("bvand", false),
                    Binary::Or => ("bvor", false),
                    Binary::Xor => ("bvxor", false),
                    Binary::Shl => ("bvshl", false),
                    Binary::Shr => (if signed { "bvashr" } else { "bvlshr" }, false),
                    Binary::Eq => ("=", true),
                    Binary::Lt => (if signed { "bvslt" } else { "bvult" }, true),
                    Binary::Le => (if signed { "bvsle" } else { "bvule" }, true),
                };
                let plain = format!("({word} {} {})", name(a), name(b));
                if truth { format!("(ite {plain} #b1 #b0)") } else { plain }
            }
            Node::Ite(c, a, b) => format!("(ite (= {} #b1) {} {})", name(c), name(a), name(b)),
            Node::Cast(to, a) => {
                let from = terms.ty(a);
                if to.bits < from.bits {
                    format!("((_ extract {} 0) {})", to.bits - 1, name(a))
                } else {
                    widened(&name(a), from.bits, to.bits, from.signed)
                }
            }
        };
        let _ = writeln!(out, "(define-fun t{n} () {sort} {body})");
    }

    /// Asks, with whatever must be told first. `None` when there is no answer.
    fn ask(&mut self, terms: &Terms, assumptions: &[Term]) -> Option<Answer> {
        let end = self.seconds.map(|s| Instant::now() + Duration::from_secs_f64(s.clamp(0.0, 1e6)));
        let mut text = String::new();
        if self.pipe.borrow().is_none() {
            (self.told, self.named, self.declared) = Default::default();
            *self.pipe.borrow_mut() = Some(Pipe::start(&self.command).ok()?);
            text += "(set-option :print-success false)\n(set-option :produce-models true)\n\
                     (set-option :produce-unsat-assumptions true)\n(set-logic QF_UFBV)\n";
        }
        text += &self.tell(terms, assumptions);
        for a in assumptions {
            if self.named.insert(*a) {
                let n = a.index();
                let _ = writeln!(text, "(declare-const p{n} Bool)\n(assert (= p{n} (= t{n} #b1)))");
            }
        }
        let names: Vec<String> = assumptions.iter().map(|a| format!("p{}", a.index())).collect();
        let _ = writeln!(text, "(check-sat-assuming ({}))", names.join(" "));
        let mut pipe = self.pipe.borrow_mut();
        let pipe = pipe.as_mut()?;
        pipe.say(&text)?;
        match pipe.hear(end)?.as_str() {
            "sat" => Some(Answer::Sat),
            "unsat" => {
                pipe.say("(get-unsat-assumptions)\n")?;
                let said = pipe.hear(end)?;
                let words: HashSet<&str> = said.trim_matches(['(', ')', ' ']).split_whitespace().collect();
                let known = names.iter().map(String::as_str).collect::<HashSet<_>>();
                if !words.is_subset(&known) || words.is_empty() != names.is_empty() {
                    self.said = Some(said);
                    return None;
                }
                for (a, name) in assumptions.iter().zip(&names) {
                    if words.contains(name.as_str()) && !self.core.contains(a) {
                        self.core.push(*a);
                    }
                }
                Some(Answer::Unsat)
            }
            other => {
                self.said = Some(other.to_owned());
                None
            }
        }
    }

    fn ask_value(&self, t: Term) -> Option<u64> {
        let end = Some(Instant::now() + Duration::from_secs(10));
        let mut pipe = self.pipe.borrow_mut();
        let pipe = pipe.as_mut()?;
        pipe.say(&format!("(get-value (t{}))\n", t.index()))?;
        let said = pipe.hear(end)?;
        let value = said.trim_end_matches([')', ' ']).rsplit(' ').next()?;
        match value.as_bytes() {
            [b'#', b'x', ..] => u64::from_str_radix(&value[2..], 16).ok(),
            [b'#', b'b', ..] => u64::from_str_radix(&value[2..], 2).ok(),
            _ => None,
        }
    }
}

fn sort(ty: Type) -> String {
    format!("(_ BitVec {})", ty.bits)
}

fn constant(v: u64, ty: Type) -> String {
    format!("#b{v:0width$b}", width = ty.bits as usize)
}

fn widened(name: &str, from: u8, to: u8, signed: bool) -> String {
    match to - from {
        0 => name.to_owned(),
        more => format!("((_ {}_extend {more}) {name})", if signed { "sign" } else { "zero" }),
    }
}

impl Solver for SmtSolver {
    fn declare_array(&mut self, var: VarId, len: u32) {
        self.arrays.insert(var, len);
    }

    fn check(&mut self, terms: &Terms, assumptions: &[Term]) -> Answer {
        self.core.clear();
        if let Some(no) = assumptions.iter().find(|a| terms.as_const(**a) == Some(0)) {
            self.core.push(*no);
            return Answer::Unsat;
        }
        self.ask(terms, assumptions).unwrap_or_else(|| {
            // Whatever is still to come is no answer to the next query.
            *self.pipe.borrow_mut() = None;
            self.core.clear();
            Answer::Unknown
        })
    }

    fn core(&self) -> &[Term] {
        &self.core
    }

    fn value(&self, terms: &Terms, t: Term) -> u64 {
        match terms.as_const(t) {
            Some(v) => v,
            None if self.told.contains(&t) => self.ask_value(t).unwrap_or(0),
            None => 0,
        }
    }

    fn limit(&mut self, seconds: Option<f64>) {
        self.seconds = seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::BitSolver;
    use crate::testing::{self, Rng};
    use crate::{Engine, Options, engine, with_solver};

    /// A solver that is on this machine; tests that need one say so where there is none.
    fn some_solver() -> Option<SmtCommand> {
        let found = ["z3", "cvc5"].iter().find_map(|name| SmtCommand::find(name).ok());
        if found.is_none() {
            eprintln!("skipped: neither z3 nor cvc5 is on this machine");
        }
        found
    }

    /// A random truth value over three variables and an array.
    fn random_formula(g: &mut Rng, t: &mut Terms) -> Term {
        fn value(g: &mut Rng, t: &mut Terms, ty: Type, depth: u32) -> Term {
            match if depth == 0 { g.below(2) } else { g.below(8) } {
                0 => t.constant(if g.below(2) == 0 { g.below(4) } else { g.next() }, ty),
                1 => t.var(VarId(g.below(3) as u32 * 100 + ty.bits as u32 * 2 + ty.signed as u32), ty),
                2 => {
                    let from = [Type::unsigned(3), Type::signed(5), Type::unsigned(8), Type::signed(8)]
                        [g.below(4) as usize];
                    let a = value(g, t, from, depth - 1);
                    t.cast(ty, a)
                }
                3 => {
                    let (c, a) = (truth(g, t, depth - 1), value(g, t, ty, depth - 1));
                    let b = value(g, t, ty, depth - 1);
                    t.ite(c, a, b)
                }
                4 => {
                    let i = value(g, t, Type::unsigned(3), depth - 1);
                    let cell = t.cell(VarId(9), i, Type::signed(8));
                    t.cast(ty, cell)
                }
                5 => {
                    let a = value(g, t, ty, depth - 1);
                    let op = if g.below(2) == 0 { Unary::Not } else { Unary::Neg };
                    t.unary(op, a)
                }
                _ => {
                    let (a, b) = (value(g, t, ty, depth - 1), value(g, t, ty, depth - 1));
                    t.binary(Binary::ALL[g.below(10) as usize], a, b)
                }
            }
        }
        fn truth(g: &mut Rng, t: &mut Terms, depth: u32) -> Term {
            let ty = [Type::unsigned(4), Type::signed(4), Type::signed(8)][g.below(3) as usize];
            let (a, b) = (value(g, t, ty, depth), value(g, t, ty, depth));
            t.binary(Binary::ALL[10 + g.below(3) as usize], a, b)
        }
        truth(g, t, 3)
    }

    #[test]
    fn a_solver_outside_says_what_the_embedded_one_says() {
        let Some(command) = some_solver() else { return };
        let (mut sat, mut unsat) = (0, 0);
        for seed in 0..40 {
            let mut g = Rng(seed);
            let mut t = Terms::new();
            let (mut inside, mut outside) = (BitSolver::new(), SmtSolver::new(&command));
            inside.declare_array(VarId(9), 5);
            outside.declare_array(VarId(9), 5);
            for _ in 0..12 {
                let all: Vec<Term> = (0..1 + g.below(3)).map(|_| random_formula(&mut g, &mut t)).collect();
                let shown: Vec<String> = all.iter().map(|a| t.show(*a, &|_| "v")).collect();
                let (a, b) = (inside.check(&t, &all), outside.check(&t, &all));
                assert_eq!(a, b, "seed {seed}: {shown:?}; {:?}", outside.said);
                if a == Answer::Sat {
                    sat += 1;
                    // Both models make every assumption true, by the interpreter's arithmetic.
                    for f in &all {
                        assert_eq!((inside.value(&t, *f), outside.value(&t, *f)), (1, 1), "{shown:?}");
                    }
                } else {
                    unsat += 1;
                    let core = outside.core().to_vec();
                    assert_eq!(
                        inside.check(&t, &core),
                        Answer::Unsat,
                        "a core of the one outside: {shown:?}"
                    );
                    let core = inside.core().to_vec();
                    assert_eq!(
                        outside.check(&t, &core),
                        Answer::Unsat,
                        "a core of the one inside: {shown:?}"
                    );
                }
            }
        }
        assert!(sat > 50 && unsat > 50, "{sat} and {unsat}");
    }

    #[test]
    fn engines_come_to_the_same_with_a_solver_outside() {
        let Some(command) = some_solver() else { return };
        let threads = "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, f, 0); int r = x; \
                       if (r > 1) reach_error(); return 0; }";
        let safe = "void *f(void *p) { while (1) { pthread_mutex_lock(&m); if (x < 1) x = x + 1; pthread_mutex_unlock(&m); } }";
        let wrong = "void *f(void *p) { if (x < 1) { int r = x; x = x + 1; } return 0; }";
        for (text, expected) in [(safe, "safe"), (wrong, "unsafe")] {
            let p = testing::read(&format!("int x; pthread_mutex_t m; {text} {threads}"));
            let engine: Box<dyn Engine> = (engine("impact").unwrap().make)();
            let inside = crate::verify_checked(&*engine, &p, &Options::default());
            let outside = with_solver(&command, || crate::verify_checked(&*engine, &p, &Options::default()));
            assert_eq!((inside.verdict.name(), outside.verdict.name()), (expected, expected), "{text}");
        }
    }

    #[test]
    fn a_solver_that_is_not_there_or_is_none_is_told_from_one_that_is() {
        let why = SmtCommand::find("no-such-solver-anywhere").unwrap_err().to_string();
        assert!(why.contains("no solver `no-such-solver-anywhere` on this machine"), "{why}");
        let why = SmtCommand::find("cat").unwrap_err().to_string();
        assert!(why.contains("`cat` does not answer as an SMT-LIB 2 solver"), "{why}");
        assert!(SmtCommand::find("true").is_err());
        assert!(SmtCommand::find(" ").is_err());
    }

    #[test]
    fn a_solver_that_is_silent_is_given_up_in_time() {
        let command = SmtCommand { words: vec!["sleep".to_owned(), "100".to_owned()] };
        let mut solver = SmtSolver::new(&command);
        solver.limit(Some(0.2));
        let mut t = Terms::new();
        let x = t.var(VarId(0), Type::BOOL);
        let start = Instant::now();
        assert_eq!(solver.check(&t, &[x]), Answer::Unknown);
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}
