//! What a proof says at the heads of loops, in C, about variables that every function sees.
//!
//! A label may speak of locks, of locals, of where threads are: C cannot. So what is written is not the label but what follows from it
//! and can be said: of all comparisons that occur in the proof, those that the solver shows to follow from each label at that place, and
//! for few labels those that follow from each of them, side by side.
//!
//! Where a tree follows one thread alone ([`TreeNode::only`](crate::TreeNode)) it has no node for the states in which others went
//! first. Each such state leads to one that has a node, by steps that were put off; no other thread touches what those write. So what is
//! said of variables that they do not write, at every place to which they lead, is true of the states in between as well.
//!
//! Only a program that was read with its heads of loops as locations ([`model::Options::keep_loops`]) says when a thread is at one.
//!
//! **Invariant:** what is written follows from the proof, or from intervals that hold everywhere. What cannot be said is left out.

use crate::bits::BitSolver;
use crate::certificate::{Certificate, Tree};
use crate::ranges::Ranges;
use crate::solver::{Answer, Solver, embedded};
use model::{
    Binary, Interpreter, LocationId, Mark, Node, Program, Span, State, Term, Terms, ThreadId, Type, Unary,
    VarId,
};
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// What holds whenever a thread is at the head of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopInvariant {
    /// The line of its `while` or `for`.
    pub span: Span,
    /// A C expression over global variables.
    pub text: String,
}

/// At most so many comparisons are tried, and so many labels stand side by side.
const MOST_SAID: usize = 96;
const MOST_LABELS: usize = 8;
/// Formulas longer than this say nothing to anybody.
const LONGEST: usize = 60;
/// Not more questions than this for one loop.
const MOST_QUERIES: u64 = 5000;

/// Places of threads that are one loop of the text.
type Places = Vec<(ThreadId, LocationId)>;

/// What a certificate says at the loops of one file of a program, which must have been read with `keep_loops`. `text` is that of the file,
/// as the preprocessor sees it.
///
/// ```
/// let text = "typedef unsigned long pthread_t; int x;\n\
///     void *f(void *p) {\n\
///       while (1) {\n\
///         if (x < 5) x = x + 1;\n\
///       }\n\
///     }\n\
///     int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); return x; }\n";
/// let options = model::Options { keep_loops: true, ..model::Options::default() };
/// let program = model::read_text("count.c", text, &options).unwrap();
/// let found = (verify::engine("explicit").unwrap().make)().verify(&program, &verify::Options::default());
/// let verify::Verdict::Safe(proof) = found.verdict else { panic!("nothing can go wrong") };
/// let said = verify::loop_invariants(&program, "count.c", text, &proof);
/// assert_eq!((said[0].span.line, said[0].text.as_str()), (3, "0 <= x && x <= 5"));
/// ```
pub fn loop_invariants(
    program: &Program,
    file: &str,
    text: &str,
    certificate: &Certificate,
) -> Vec<LoopInvariant> {
    let speech = Speech::of(program, text);
    let mut out = Vec::new();
    for (span, places) in heads(program, file, text) {
        let said = embedded(|| match certificate {
            Certificate::States(set) => ranges(&speech, set.iter(), &places),
            Certificate::Invariant(i) => {
                let here = |at: &[LocationId]| places.iter().any(|(t, l)| at[t.index()] == *l);
                let labels = i.at.iter().filter(|(at, _)| here(at)).map(|(_, label)| *label).collect();
                let all = i.at.iter().map(|(_, label)| *label).collect();
                Facts::new(&speech, &i.terms, labels, all, BTreeSet::new()).said()
            }
            Certificate::Tree(tree) if !tree.monotonic => of_tree(&speech, tree, &places),
            // Where threads go in order, or blocks are one step, states in between are in no label; where a state stands for others, these
            // are not there; and how long runs are says nothing of values.
            Certificate::Tree(_)
            | Certificate::Merged { .. }
            | Certificate::Symmetric(_)
            | Certificate::Depth(_) => None,
        });
        out.extend(said.map(|text| LoopInvariant { span, text }));
    }
    out
}

/// The loops of a file: `while` and `for` at the beginning of a line. Of others the line does not say where they are. A loop that is
/// unrolled anywhere is left out.
fn heads(program: &Program, file: &str, text: &str) -> Vec<(Span, Places)> {
    let lines: Vec<&str> = text.lines().collect();
    let unrolled: BTreeSet<u32> = program
        .threads
        .iter()
        .flat_map(|t| &t.location(t.entry).marks)
        .filter_map(|m| if let Mark::Unrolled(line) = m { Some(*line) } else { None })
        .collect();
    let mut found: BTreeMap<u32, (Span, Places)> = BTreeMap::new();
    for t in program.thread_ids() {
        let thread = program.thread(t);
        for l in thread.location_ids().filter(|l| thread.location(*l).marks.contains(&Mark::Head)) {
            let span = thread.location(l).span;
            let here = program.files.get(span.file.0 as usize).is_some_and(|f| f == file);
            let line = lines.get((span.line as usize).wrapping_sub(1)).map_or("", |l| l.trim_start());
            let is = |w: &str| line.strip_prefix(w).is_some_and(|r| r.trim_start().starts_with('('));
            if here && (is("while") || is("for")) && !unrolled.contains(&span.line) {
                let plain = Span { column: 0, ..span };
                found.entry(span.line).or_insert_with(|| (plain, Vec::new())).1.push((t, l));
            }
        }
    }
    found.into_values().collect()
}

// ---- what can be said

/// What C can say: which variables, and how.
struct Speech<'p> {
    program: &'p Program,
    /// Those that mean the same in every function.
    globals: BTreeSet<VarId>,
}

impl<'p> Speech<'p> {
    fn of(program: &'p Program, text: &str) -> Speech<'p> {
        let words = words(text);
        let lines: Vec<&str> = text.lines().collect();
        let fits = |v: &VarId| {
            let var = program.var(*v);
            let name = var.name.as_str();
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let line = lines.get((var.span.line as usize).wrapping_sub(1)).copied().unwrap_or("");
            // An address is a number here and none in C, and a row of cells may be a table there.
            let sure =
                (var.len.is_none() && var.ty != Type::unsigned(64)) || is_plain_declaration(line, name);
            var.is_shared() && !var.internal && !var.parts && plain && sure && declarations(&words, name) == 1
        };
        Speech { program, globals: (0..program.vars.len() as u32).map(VarId).filter(fits).collect() }
    }

    /// A truth value in C.
    fn truth(&self, terms: &Terms, t: Term) -> Option<String> {
        if terms.ty(t) != Type::BOOL {
            return None;
        }
        Some(match terms.node(t) {
            Node::Const(v, _) => v.to_string(),
            Node::Unary(Unary::Not, a) => match terms.node(a) {
                Node::Binary(Binary::Eq, a, b) => {
                    format!("{} != {}", self.side(terms, a)?, self.side(terms, b)?)
                }
                Node::Binary(Binary::Lt, a, b) => {
                    format!("{} <= {}", self.side(terms, b)?, self.side(terms, a)?)
                }
                Node::Binary(Binary::Le, a, b) => {
                    format!("{} < {}", self.side(terms, b)?, self.side(terms, a)?)
                }
                _ => format!("!({})", self.truth(terms, a)?),
            },
            Node::Binary(Binary::And, a, b) => {
                format!("({} && {})", self.truth(terms, a)?, self.truth(terms, b)?)
            }
            Node::Binary(Binary::Or, a, b) => {
                format!("({} || {})", self.truth(terms, a)?, self.truth(terms, b)?)
            }
            Node::Binary(op @ (Binary::Eq | Binary::Lt | Binary::Le), a, b) => {
                let sign = match op {
                    Binary::Eq => "==",
                    Binary::Lt => "<",
                    _ => "<=",
                };
                format!("{} {sign} {}", self.side(terms, a)?, self.side(terms, b)?)
            }
            Node::Var(..) | Node::Cell(..) => self.value(terms, t)?,
            Node::Ite(c, a, b) => {
                format!("({} ? {} : {})", self.truth(terms, c)?, self.truth(terms, a)?, self.truth(terms, b)?)
            }
            _ => return None,
        })
    }

    /// One side of a comparison.
    fn side(&self, terms: &Terms, t: Term) -> Option<String> {
        match terms.node(t) {
            Node::Var(..) | Node::Cell(..) | Node::Const(..) => self.value(terms, t),
            _ if terms.ty(t) == Type::BOOL => Some(format!("({})", self.truth(terms, t)?)),
            _ => self.value(terms, t),
        }
    }

    /// A number in C, of the type that the term has. Sums of signed numbers wrap around here and must not in C, so they are unsigned there.
    fn value(&self, terms: &Terms, t: Term) -> Option<String> {
        let ty = terms.ty(t);
        match terms.node(t) {
            Node::Const(v, ty) => Some(number(ty.value(v), ty)),
            Node::Var(v, _) if self.globals.contains(&v) => Some(self.program.name(v).to_owned()),
            Node::Cell(v, i, _) if self.globals.contains(&v) => {
                let i = terms.as_const(i).filter(|i| *i < self.program.var(v).cells() as u64)?;
                Some(format!("{}[{i}]", self.program.name(v)))
            }
            Node::Cast(to, a) if to != Type::BOOL => {
                let inner =
                    if terms.ty(a) == Type::BOOL { self.truth(terms, a)? } else { self.value(terms, a)? };
                Some(format!("(({})({inner}))", name_of(to)?))
            }
            Node::Binary(op, a, b) if matches!(ty.bits, 32 | 64) => {
                let sign = match op {
                    Binary::Add => "+",
                    Binary::Sub => "-",
                    Binary::Mul => "*",
                    Binary::And => "&",
                    Binary::Or => "|",
                    Binary::Xor => "^",
                    _ => return None,
                };
                let (a, b) = (self.value(terms, a)?, self.value(terms, b)?);
                let wraps = matches!(op, Binary::Add | Binary::Sub | Binary::Mul) && ty.signed;
                Some(if wraps {
                    let (own, plain) = (name_of(ty)?, name_of(Type::unsigned(ty.bits))?);
                    format!("(({own})(({plain}){a} {sign} ({plain}){b}))")
                } else {
                    format!("({a} {sign} {b})")
                })
            }
            Node::Ite(c, a, b) => Some(format!(
                "({} ? {} : {})",
                self.truth(terms, c)?,
                self.value(terms, a)?,
                self.value(terms, b)?
            )),
            _ => None,
        }
    }
}

/// The words and signs of a text, without its comments. A directive is the end of a statement.
fn words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let n = if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |n| n + 2)
        } else if rest.starts_with("//") || c == '#' {
            rest.find('\n').unwrap_or(rest.len())
        } else if c.is_ascii_alphanumeric() || c == '_' {
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        if !c.is_whitespace() && !rest.starts_with("/*") && !rest.starts_with("//") {
            out.push(if c == '#' { ";" } else { &rest[..n] });
        }
        rest = &rest[n..];
    }
    out
}

/// How often a name is declared, by the look of it: a declaration begins with two words, or a word and a star. Rather too often.
fn declarations(words: &[&str], name: &str) -> usize {
    let is_word = |w: &str| w.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let declares = |n: &usize| {
        let from =
            words[..*n].iter().rposition(|w| matches!(*w, ";" | "{" | "}" | "(" | ")")).map_or(0, |i| i + 1);
        let [first, second, ..] = words[from..] else { return false };
        let statement = ["return", "else", "goto", "case", "do", "sizeof"];
        // What stands behind the sign of equality is only used there.
        let used = words[from..*n].iter().rfind(|w| matches!(**w, "=" | ",")) == Some(&"=");
        !used
            && from < *n
            && is_word(first)
            && !statement.contains(&first)
            && (is_word(second) || second == "*")
    };
    (0..words.len()).filter(|n| words[*n] == name).filter(declares).count()
}

/// Whether a line declares numbers, or rows of numbers, and nothing else.
fn is_plain_declaration(line: &str, name: &str) -> bool {
    let words = words(line);
    let plain = [
        "int",
        "unsigned",
        "signed",
        "char",
        "short",
        "long",
        "_Bool",
        "bool",
        "static",
        "volatile",
        "const",
        "_Atomic",
        "atomic_int",
        "atomic_uint",
        "atomic_bool",
        "size_t",
    ];
    let Some(at) = words.iter().position(|w| *w == name) else { return false };
    let one_row = !(words.get(at + 1) == Some(&"[") && words.get(at + 4) == Some(&"["));
    words.first().is_some_and(|w| plain.contains(w)) && !words.contains(&"*") && one_row
}

/// A number as C reads it in its type.
fn number(v: i128, ty: Type) -> String {
    match (ty.signed, ty.bits) {
        (true, 64) if v == i64::MIN as i128 => "(-9223372036854775807L - 1)".to_owned(),
        (true, 32) if v == i32::MIN as i128 => "(-2147483647 - 1)".to_owned(),
        (true, 33..) => format!("{v}L"),
        (false, 33..) => format!("{v}UL"),
        (false, 32) => format!("{v}U"),
        _ => v.to_string(),
    }
}

/// What C calls a type.
fn name_of(ty: Type) -> Option<&'static str> {
    Some(match (ty.signed, ty.bits) {
        (true, 8) => "signed char",
        (false, 8) => "unsigned char",
        (true, 16) => "short",
        (false, 16) => "unsigned short",
        (true, 32) => "int",
        (false, 32) => "unsigned int",
        (true, 64) => "long",
        (false, 64) => "unsigned long",
        _ => return None,
    })
}

// ---- what holds

/// Between which numbers each variable is, in these states.
fn ranges(
    speech: &Speech<'_>,
    states: impl Iterator<Item = State>,
    places: &[(ThreadId, LocationId)],
) -> Option<String> {
    let program = speech.program;
    let run = Interpreter::new(program);
    let cells: Vec<(VarId, u64)> = speech
        .globals
        .iter()
        .flat_map(|v| (0..program.var(*v).cells().min(16) as u64).map(|i| (*v, i)))
        .collect();
    let mut found: BTreeMap<(VarId, u64), (i128, i128)> = BTreeMap::new();
    for s in states {
        if places.iter().any(|(t, l)| s.locations[t.index()] == *l) {
            for (v, i) in &cells {
                let now = program.var(*v).ty.value(run.value(&s, *v, *i));
                let range = found.entry((*v, *i)).or_insert((now, now));
                *range = (range.0.min(now), range.1.max(now));
            }
        }
    }
    let said: Vec<String> =
        found.into_iter().filter_map(|((v, i), (low, high))| between(program, v, i, low, high)).collect();
    (!said.is_empty()).then(|| said.join(" && "))
}

/// That a variable, or a cell, is between two numbers; none if every number of its type is.
fn between(program: &Program, v: VarId, i: u64, low: i128, high: i128) -> Option<String> {
    let var = program.var(v);
    let name = if var.len.is_some() { format!("{}[{i}]", var.name) } else { var.name.clone() };
    let ty = var.ty;
    if low == high {
        return Some(format!("{name} == {}", number(low, ty)));
    }
    let parts = [
        (low > ty.min()).then(|| format!("{} <= {name}", number(low, ty))),
        (high < ty.max()).then(|| format!("{name} <= {}", number(high, ty))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" && "))
}

fn of_tree(speech: &Speech<'_>, tree: &Tree, places: &[(ThreadId, LocationId)]) -> Option<String> {
    let p = speech.program;
    // What steps write that others were put off for, and where they lead.
    let mut written = BTreeSet::new();
    let mut leads: BTreeSet<(ThreadId, LocationId, LocationId)> = BTreeSet::new();
    for n in tree.nodes.iter().filter(|n| n.covered_by.is_none()) {
        if let Some(t) = n.only {
            for (_, e) in p.thread(t).from(n.locations[t.index()]) {
                written.extend(e.assigns.iter().map(|a| a.place.var).chain(e.havoc.iter().map(|h| h.var)));
                leads.insert((t, e.from, e.to));
            }
        }
    }
    let mut reached: BTreeSet<(ThreadId, LocationId)> = places.iter().copied().collect();
    loop {
        let more: Vec<_> =
            leads.iter().filter(|(t, a, _)| reached.contains(&(*t, *a))).map(|(t, _, b)| (*t, *b)).collect();
        let before = reached.len();
        reached.extend(more);
        if reached.len() == before {
            break;
        }
    }
    let mut labels = BTreeSet::new();
    for n in tree.nodes.iter().filter(|n| n.covered_by.is_none()) {
        if reached.iter().any(|(t, l)| n.locations[t.index()] == *l) {
            labels.insert(n.label);
        }
    }
    let all = tree.nodes.iter().map(|n| n.label).collect();
    Facts::new(speech, &tree.terms, labels, all, written).said()
}

/// What follows from labels.
struct Facts<'s, 'p> {
    speech: &'s Speech<'p>,
    terms: Terms,
    solver: BitSolver,
    labels: Vec<Term>,
    /// What may be said, each with its text.
    sayable: Vec<(Term, String)>,
}

impl<'s, 'p> Facts<'s, 'p> {
    /// `all` is where comparisons are looked for; nothing is said of variables in `but`.
    fn new(
        speech: &'s Speech<'p>,
        terms: &Terms,
        labels: BTreeSet<Term>,
        all: BTreeSet<Term>,
        but: BTreeSet<VarId>,
    ) -> Facts<'s, 'p> {
        let mut terms = terms.clone();
        let mut solver = BitSolver::for_program(speech.program);
        solver.limit(Some(1.0));
        let never =
            |l: &Term, solver: &mut BitSolver, terms: &Terms| solver.check(terms, &[*l]) == Answer::Unsat;
        let labels = labels.into_iter().filter(|l| !never(l, &mut solver, &terms)).collect();
        let mut sayable: Vec<(Term, String)> = Vec::new();
        let (mut open, mut seen): (Vec<Term>, BTreeSet<Term>) = (all.into_iter().collect(), BTreeSet::new());
        while let Some(t) = open.pop() {
            if !seen.insert(t) || sayable.len() >= MOST_SAID {
                continue;
            }
            if terms.as_const(t).is_none() && !but.iter().any(|v| terms.mentions(t, *v)) {
                let not = terms.not(t);
                for t in [t, not] {
                    if let Some(text) = speech.truth(&terms, t)
                        && text.len() <= LONGEST
                        && !sayable.iter().any(|(known, _)| *known == t)
                    {
                        sayable.push((t, text));
                    }
                }
            }
            match terms.node(t) {
                Node::Binary(Binary::And | Binary::Or, a, b) if terms.ty(a) == Type::BOOL => {
                    open.extend([b, a])
                }
                Node::Unary(Unary::Not, a) if terms.ty(a) == Type::BOOL => open.push(a),
                Node::Ite(c, a, b) if terms.ty(a) == Type::BOOL => open.extend([b, a, c]),
                _ => {}
            }
        }
        // What is short is said rather than what is long.
        sayable.sort_by_key(|(_, text)| text.len());
        Facts { speech, terms, solver, labels, sayable }
    }

    fn follows(&mut self, from: &[Term], t: Term) -> bool {
        let mut all = from.to_vec();
        all.push(self.terms.not(t));
        self.solver.queries() < MOST_QUERIES && self.solver.check(&self.terms, &all) == Answer::Unsat
    }

    /// The comparisons that follow from all of some labels and not from each other.
    fn of(&mut self, labels: &[Term], known: &[Term]) -> Vec<(Term, String)> {
        let mut out: Vec<(Term, String)> = Vec::new();
        for (t, text) in self.sayable.clone() {
            if labels.iter().all(|l| self.follows(&[*l], t)) {
                let mut before = known.to_vec();
                before.extend(out.iter().map(|o| o.0));
                if !self.follows(&before, t) {
                    out.push((t, text));
                }
            }
        }
        // What came later may make superfluous what came before.
        for n in (0..out.len()).rev() {
            let mut rest = known.to_vec();
            rest.extend(out.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, o)| o.0));
            if self.follows(&rest, out[n].0) {
                out.remove(n);
            }
        }
        out
    }

    fn said(mut self) -> Option<String> {
        if self.labels.is_empty() {
            return None;
        }
        let p = self.speech.program;
        // Intervals hold everywhere.
        let everywhere = Ranges::of(p);
        let mut bounds: Vec<(Vec<Term>, String)> = Vec::new();
        for v in self.speech.globals.iter().filter(|v| p.var(**v).len.is_none()) {
            let (range, ty) = (everywhere.var(*v), p.var(*v).ty);
            if let Some(text) = between(p, *v, 0, range.low, range.high) {
                let var = self.terms.var(*v, ty);
                let (low, high) = (self.terms.number(range.low, ty), self.terms.number(range.high, ty));
                bounds.push((vec![self.terms.le(low, var), self.terms.le(var, high)], text));
            }
        }
        let known: Vec<Term> = bounds.iter().flat_map(|b| b.0.clone()).collect();
        let labels = self.labels.clone();
        let common = self.of(&labels, &known);
        let mut parts: Vec<String> = Vec::new();
        for (terms, text) in &bounds {
            let all: Vec<Term> = common.iter().map(|c| c.0).collect();
            if !terms.iter().all(|t| self.follows(&all, *t)) {
                parts.push(text.clone());
            }
        }
        parts.extend(common.iter().map(|c| c.1.clone()));
        if labels.len() <= MOST_LABELS {
            let mut known = known;
            known.extend(common.iter().map(|c| c.0));
            let mut cases = BTreeSet::new();
            for l in &labels {
                let own = self.of(&[*l], &known);
                cases.insert(own.into_iter().map(|o| o.1).collect::<BTreeSet<String>>());
            }
            // A case that says less than another one has it inside.
            let least: Vec<&BTreeSet<String>> =
                cases.iter().filter(|c| !cases.iter().any(|d| d != *c && d.is_subset(c))).collect();
            if least.iter().all(|c| !c.is_empty()) {
                let one = |c: &&BTreeSet<String>| c.iter().cloned().collect::<Vec<_>>().join(" && ");
                let texts: Vec<String> = least.iter().map(one).collect();
                match &texts[..] {
                    [] => {}
                    [only] => parts.push(only.clone()),
                    _ if texts.iter().map(String::len).sum::<usize>() > 4 * LONGEST => {}
                    _ => parts.push(format!("(({}))", texts.join(") || ("))),
                }
            }
        }
        (!parts.is_empty()).then(|| parts.join(" && "))
    }
}
