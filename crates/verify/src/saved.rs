//! Certificates as text, to be kept and checked again later: `docs/verify-files.md` describes the format.
//!
//! What is read is bound to one program by a [fingerprint] of its automata, and is made of the program's own terms: labels go
//! through the same constructors as any term. **Invariant:** nothing in a file is believed. [`load`] only makes a
//! [`Certificate`] that has the program's shape; whether it proves anything says [`crate::check`].

use crate::certificate::{Certificate, Invariant, Tree, TreeEdge, TreeNode};
use crate::merging::Merged;
use crate::packed::StateSet;
use model::{
    Action, Binary, Interpreter, LocationId, LocationKind, Node, Place, Program, State, Term, Terms,
    ThreadId, TransitionId, Type, Unary, VarId,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use thiserror::Error;

/// What the files call themselves.
const FORMAT: &str = "raddle-certificate";

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

/// Why a text is no certificate of a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadFile {
    /// It is no certificate at all, or one of another version.
    #[error("not a certificate: {0}")]
    Unreadable(String),
    /// It is one of another program, or of this one read in another way.
    #[error(
        "the certificate is of another program: its automata are {found}, those of this program are {expected}"
    )]
    OtherProgram {
        /// The fingerprint in the file.
        found: String,
        /// That of the program.
        expected: String,
    },
    /// It does not have the program's shape.
    #[error("the certificate does not fit the program: {0}")]
    Unfit(String),
}

fn unfit<T>(why: impl Into<String>) -> Result<T, BadFile> {
    Err(BadFile::Unfit(why.into()))
}

#[derive(Serialize, Deserialize)]
struct File {
    format: String,
    version: u32,
    /// The [fingerprint] of the automata.
    automata: String,
    #[serde(flatten)]
    content: Content,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Content {
    /// Each state: where the threads are, and the values of all cells.
    States { states: Vec<(Vec<u32>, Vec<u64>)> },
    /// The same, each for all that differ only in which of several equal threads does what.
    Symmetric { states: Vec<(Vec<u32>, Vec<u64>)> },
    /// Each formula: where the threads are, and which term.
    Invariant { terms: Vec<String>, at: Vec<(Vec<u32>, usize)> },
    /// An unwinding; its labels are terms.
    Tree {
        terms: Vec<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        monotonic: bool,
        nodes: Vec<SavedNode>,
    },
    /// So many steps at most.
    Depth { steps: usize },
    /// The program without these locations, each with its thread, has a certificate of its own.
    Merged { gone: Vec<(u16, u32)>, inner: Box<Content> },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedNode {
    at: Vec<u32>,
    label: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    covered_by: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    only: Option<u16>,
    /// Thread, transition, node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edges: Vec<(u16, u32, usize)>,
}

/// A certificate of a program as text.
///
/// ```
/// let program = model::read_text("one.c", "int x; int main(void) { x = 1; return 0; }", &model::Options::default()).unwrap();
/// let options = verify::Options::default();
/// let out = (verify::engine("explicit").unwrap().make)().verify(&program, &options);
/// let verify::Verdict::Safe(certificate) = out.verdict else { panic!() };
/// let text = verify::save(&program, &certificate);
/// let again = verify::load(&program, &text).unwrap();
/// assert_eq!(verify::check(&program, &options, &again), Ok(()));
/// ```
pub fn save(program: &Program, certificate: &Certificate) -> String {
    let content = Content::of(certificate);
    let (format, automata) = (FORMAT.to_owned(), fingerprint(program));
    let file = File { format, version: VERSION, automata, content };
    serde_json::to_string(&file).expect("plain data has a text") + "\n"
}

impl Content {
    fn of(certificate: &Certificate) -> Content {
        match certificate {
            Certificate::States(set) => Content::States { states: listed(set) },
            Certificate::Symmetric(set) => Content::Symmetric { states: listed(set) },
            Certificate::Invariant(i) => {
                let mut terms = Writer::new(&i.terms);
                let at = i.at.iter().map(|(at, t)| (numbers(at), terms.put(*t))).collect();
                Content::Invariant { terms: terms.out, at }
            }
            Certificate::Tree(tree) => {
                let mut terms = Writer::new(&tree.terms);
                let node = |n: &TreeNode| SavedNode {
                    at: numbers(&n.locations),
                    label: terms.put(n.label),
                    covered_by: n.covered_by,
                    only: n.only.map(|t| t.0),
                    edges: n.edges.iter().map(|e| (e.thread.0, e.transition.0, e.to)).collect(),
                };
                let nodes = tree.nodes.iter().map(node).collect();
                Content::Tree { terms: terms.out, monotonic: tree.monotonic, nodes }
            }
            Certificate::Depth(steps) => Content::Depth { steps: *steps },
            Certificate::Merged { gone, inner } => Content::Merged {
                gone: gone.iter().map(|(t, l)| (t.0, l.0)).collect(),
                inner: Box::new(Content::of(inner)),
            },
        }
    }
}

/// Reads a certificate of a program. It has been checked for shape alone: see [`crate::check`].
pub fn load(program: &Program, text: &str) -> Result<Certificate, BadFile> {
    let bad = |why: String| BadFile::Unreadable(why);
    // The version comes first: what another one has in it cannot be known.
    #[derive(Deserialize)]
    struct Head {
        format: String,
        version: u32,
    }
    let head: Head = serde_json::from_str(text).map_err(|e| bad(e.to_string()))?;
    if head.format != FORMAT {
        return Err(bad(format!("its format is `{}`, not `{FORMAT}`", head.format)));
    }
    if head.version != VERSION {
        return Err(bad(format!("it has version {}; this raddle reads version {VERSION}", head.version)));
    }
    let file: File = serde_json::from_str(text).map_err(|e| bad(e.to_string()))?;
    let expected = fingerprint(program);
    if file.automata != expected {
        return Err(BadFile::OtherProgram { found: file.automata, expected });
    }
    read(program, file.content)
}

/// The states of a set.
fn listed(set: &StateSet) -> Vec<(Vec<u32>, Vec<u64>)> {
    let mut states: Vec<State> = set.iter().collect();
    // A set has no order of its own, and a file should be the same each time.
    states.sort_unstable();
    states.iter().map(|s| (numbers(&s.locations), s.values.to_vec())).collect()
}

/// The set of these states.
fn set_of(program: &Program, states: Vec<(Vec<u32>, Vec<u64>)>) -> Result<StateSet, BadFile> {
    let run = Interpreter::new(program);
    let mut set = StateSet::new(program);
    for (at, values) in states {
        if values.len() != run.cells() {
            return unfit(format!("a state has {} values for {} cells", values.len(), run.cells()));
        }
        for (cell, v) in values.iter().enumerate() {
            let var = program.var(run.place_of(cell).0);
            if v & !var.ty.mask() != 0 {
                return unfit(format!("`{}` cannot be {v}", var.name));
            }
        }
        set.insert(&State { locations: locations(program, &at)?, values: values.into() });
    }
    Ok(set)
}

fn read(program: &Program, content: Content) -> Result<Certificate, BadFile> {
    Ok(match content {
        Content::States { states } => Certificate::States(set_of(program, states)?),
        Content::Symmetric { states } => Certificate::Symmetric(set_of(program, states)?),
        Content::Invariant { terms, at } => {
            let (terms, made) = read_terms(program, &terms)?;
            let place = |(at, t): (Vec<u32>, usize)| Ok((locations(program, &at)?, label(&terms, &made, t)?));
            let at = at.into_iter().map(place).collect::<Result<_, BadFile>>()?;
            Certificate::Invariant(Invariant { terms, at })
        }
        Content::Tree { terms, monotonic, nodes } => {
            let (terms, made) = read_terms(program, &terms)?;
            let count = nodes.len();
            let inside = |n: usize| {
                if n < count { Ok(n) } else { unfit(format!("there is no node {n}")) }
            };
            let mut out = Vec::with_capacity(count);
            for n in nodes {
                let mut edges = Vec::with_capacity(n.edges.len());
                for (thread, transition, to) in n.edges {
                    let known = program.threads.get(thread as usize);
                    if known.is_none_or(|t| transition as usize >= t.transitions.len()) {
                        return unfit(format!("thread {thread} has no transition {transition}"));
                    }
                    let (thread, transition) = (ThreadId(thread), TransitionId(transition));
                    edges.push(TreeEdge { thread, transition, to: inside(to)? });
                }
                if n.only.is_some_and(|t| t as usize >= program.threads.len()) {
                    return unfit("there is no such thread");
                }
                out.push(TreeNode {
                    locations: locations(program, &n.at)?,
                    label: label(&terms, &made, n.label)?,
                    covered_by: n.covered_by.map(inside).transpose()?,
                    only: n.only.map(ThreadId),
                    edges,
                });
            }
            Certificate::Tree(Tree { terms, monotonic, nodes: out })
        }
        Content::Depth { steps } => Certificate::Depth(steps),
        Content::Merged { gone, inner } => {
            let gone: Vec<_> = gone.into_iter().map(|(t, l)| (ThreadId(t), LocationId(l))).collect();
            // The shape of the inner certificate is that of the merged program; whether deadlocks let each of these locations go is
            // for the check to say.
            let merged = Merged::again(program, false, &gone).map_err(BadFile::Unfit)?;
            let inner = Box::new(read(&merged.program, *inner)?);
            Certificate::Merged { gone, inner }
        }
    })
}

fn numbers(at: &[LocationId]) -> Vec<u32> {
    at.iter().map(|l| l.0).collect()
}

fn locations(program: &Program, at: &[u32]) -> Result<Box<[LocationId]>, BadFile> {
    let there = |(t, l): (&model::Thread, &u32)| (*l as usize) < t.locations.len();
    if at.len() != program.threads.len() || !program.threads.iter().zip(at).all(there) {
        return unfit(format!("no threads can be at {at:?}"));
    }
    Ok(at.iter().map(|l| LocationId(*l)).collect())
}

fn label(terms: &Terms, made: &[Term], n: usize) -> Result<Term, BadFile> {
    match made.get(n) {
        Some(t) if terms.ty(*t) == Type::BOOL => Ok(*t),
        _ => unfit(format!("term {n} is no truth value")),
    }
}

// ---- terms

/// Writes terms, each once, after the terms that it is made of.
struct Writer<'t> {
    terms: &'t Terms,
    known: HashMap<Term, usize>,
    out: Vec<String>,
}

impl<'t> Writer<'t> {
    fn new(terms: &'t Terms) -> Writer<'t> {
        Writer { terms, known: HashMap::new(), out: Vec::new() }
    }

    /// The number of a term in the file. Terms can be deep, so this keeps its own stack.
    fn put(&mut self, root: Term) -> usize {
        let mut stack = vec![root];
        while let Some(&t) = stack.last() {
            if self.known.contains_key(&t) {
                stack.pop();
                continue;
            }
            let missing: Vec<Term> =
                parts(self.terms, t).into_iter().filter(|p| !self.known.contains_key(p)).collect();
            if missing.is_empty() {
                let n = |t: Term| self.known[&t];
                let text = match self.terms.node(t) {
                    Node::Const(v, ty) => format!("const {} {v}", type_name(ty)),
                    Node::Var(v, _) => format!("var {}", v.0),
                    Node::Cell(v, i, _) => format!("cell {} {}", v.0, n(i)),
                    Node::Unary(op, a) => format!("{} {}", unary_name(op), n(a)),
                    Node::Binary(op, a, b) => format!("{} {} {}", binary_name(op), n(a), n(b)),
                    Node::Ite(c, a, b) => format!("ite {} {} {}", n(c), n(a), n(b)),
                    Node::Cast(to, a) => format!("cast {} {}", type_name(to), n(a)),
                };
                self.known.insert(t, self.out.len());
                self.out.push(text);
                stack.pop();
            } else {
                stack.extend(missing);
            }
        }
        self.known[&root]
    }
}

/// The terms that a term is made of.
fn parts(terms: &Terms, t: Term) -> Vec<Term> {
    match terms.node(t) {
        Node::Const(..) | Node::Var(..) => Vec::new(),
        Node::Cell(_, a, _) | Node::Unary(_, a) | Node::Cast(_, a) => vec![a],
        Node::Binary(_, a, b) => vec![a, b],
        Node::Ite(c, a, b) => vec![c, a, b],
    }
}

/// The terms of a file: the program's, those that the file adds, and which one each line is.
fn read_terms(program: &Program, lines: &[String]) -> Result<(Terms, Vec<Term>), BadFile> {
    let mut terms = program.terms.clone();
    let mut made: Vec<Term> = Vec::with_capacity(lines.len());
    for line in lines {
        match read_term(program, &mut terms, &made, line) {
            Some(t) => made.push(t),
            None => return unfit(format!("`{line}` is no term")),
        }
    }
    Ok((terms, made))
}

fn read_term(program: &Program, terms: &mut Terms, made: &[Term], line: &str) -> Option<Term> {
    let words: Vec<&str> = line.split(' ').collect();
    let term = |w: &str| made.get(w.parse::<usize>().ok()?).copied();
    let var = |w: &str, array: bool| {
        let v = VarId(w.parse().ok()?);
        let known = program.vars.get(v.index())?;
        (known.len.is_some() == array).then_some((v, known.ty))
    };
    match words[..] {
        ["const", ty, v] => {
            let (ty, v) = (read_type(ty)?, v.parse::<u64>().ok()?);
            (v & !ty.mask() == 0).then(|| terms.constant(v, ty))
        }
        ["var", v] => {
            let (v, ty) = var(v, false)?;
            Some(terms.var(v, ty))
        }
        ["cell", v, i] => {
            let ((v, ty), i) = (var(v, true)?, term(i)?);
            Some(terms.cell(v, i, ty))
        }
        ["ite", c, a, b] => {
            let (c, a, b) = (term(c)?, term(a)?, term(b)?);
            let fits = terms.ty(c) == Type::BOOL && terms.ty(a) == terms.ty(b);
            fits.then(|| terms.ite(c, a, b))
        }
        ["cast", ty, a] => {
            let (ty, a) = (read_type(ty)?, term(a)?);
            Some(terms.cast(ty, a))
        }
        [op, a] => {
            let op = UNARY.into_iter().find(|u| unary_name(*u) == op)?;
            let a = term(a)?;
            Some(terms.unary(op, a))
        }
        [op, a, b] => {
            let op = Binary::ALL.into_iter().find(|o| binary_name(*o) == op)?;
            let (a, b) = (term(a)?, term(b)?);
            (terms.ty(a) == terms.ty(b)).then(|| terms.binary(op, a, b))
        }
        _ => None,
    }
}

fn type_name(ty: Type) -> String {
    format!("{}{}", if ty.signed { 'i' } else { 'u' }, ty.bits)
}

fn read_type(word: &str) -> Option<Type> {
    let signed = word.starts_with('i');
    let bits: u8 = word.strip_prefix(if signed { 'i' } else { 'u' })?.parse().ok()?;
    (1..=64).contains(&bits).then_some(Type { bits, signed })
}

const UNARY: [Unary; 2] = [Unary::Not, Unary::Neg];

fn unary_name(op: Unary) -> &'static str {
    match op {
        Unary::Not => "not",
        Unary::Neg => "neg",
    }
}

fn binary_name(op: Binary) -> &'static str {
    match op {
        Binary::Add => "add",
        Binary::Sub => "sub",
        Binary::Mul => "mul",
        Binary::Div => "div",
        Binary::Rem => "rem",
        Binary::And => "and",
        Binary::Or => "or",
        Binary::Xor => "xor",
        Binary::Shl => "shl",
        Binary::Shr => "shr",
        Binary::Eq => "eq",
        Binary::Lt => "lt",
        Binary::Le => "le",
    }
}

// ---- the fingerprint

/// A name for the automata of a program: the same for the same text read in the same way, whatever the file is called and whichever
/// lines things are on, and another one where a guard, an assignment, a type, a first value, a lock or a thread differs.
///
/// It is FNV-1a of 128 bits: made to tell files apart, not to withstand whoever wants two programs to have one. Nothing rests on it:
/// a certificate is checked against the program itself.
pub fn fingerprint(program: &Program) -> String {
    let mut all = Fnv::new();
    // Terms are named by what they are, not by the order in which they were made.
    let mut names: Vec<u128> = Vec::with_capacity(program.terms.len());
    for t in program.terms.iter() {
        let mut one = Fnv::new();
        let mut part = |t: Term| one.text(&format!("{:x} ", names[t.index()]));
        for p in parts(&program.terms, t) {
            part(p);
        }
        one.text(&match program.terms.node(t) {
            Node::Const(v, ty) => format!("const {} {v}", type_name(ty)),
            Node::Var(v, ty) => format!("var {} {}", v.0, type_name(ty)),
            Node::Cell(v, _, ty) => format!("cell {} {}", v.0, type_name(ty)),
            Node::Unary(op, _) => unary_name(op).to_owned(),
            Node::Binary(op, ..) => binary_name(op).to_owned(),
            Node::Ite(..) => "ite".to_owned(),
            Node::Cast(to, _) => format!("cast {}", type_name(to)),
        });
        names.push(one.0);
    }
    let term = |t: Term| format!("{:x}", names[t.index()]);
    let place = |p: &Place| format!("{}[{}]", p.var.0, p.index.map(term).unwrap_or_default());
    for v in &program.vars {
        all.text(&format!(
            "var {:?} {} {:?} {:?} {:?} {} {}\n",
            v.name,
            type_name(v.ty),
            v.len,
            v.scope,
            v.init,
            v.internal,
            v.atomic
        ));
    }
    for s in &program.syncs {
        all.text(&format!("sync {:?} {:?}\n", s.name, s.kind));
    }
    for t in &program.threads {
        all.text(&format!("thread {:?} {} {:?} {:?}\n", t.name, t.entry.0, t.life, t.waiting));
        for l in &t.locations {
            let kind = match &l.kind {
                LocationKind::Error { kind, .. } => kind.name(),
                LocationKind::Normal => "normal",
                LocationKind::End => "end",
                LocationKind::Exit => "exit",
                LocationKind::Halt => "halt",
            };
            all.text(&format!("location {kind} {} {}\n", l.may_block, l.loop_head));
        }
        for e in &t.transitions {
            let action = match e.action {
                Action::CompareExchange { expected, desired } => {
                    format!("compare-exchange {} {}", term(expected), term(desired))
                }
                other => format!("{other:?}"),
            };
            all.text(&format!("edge {} {} {action} {}\n", e.from.0, e.to.0, term(e.guard)));
            for a in &e.assigns {
                all.text(&format!("{} = {}\n", place(&a.place), term(a.value)));
            }
            for h in &e.havoc {
                all.text(&format!("{} = any\n", place(h)));
            }
        }
    }
    format!("{:032x}", all.0)
}

struct Fnv(u128);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn text(&mut self, text: &str) {
        for b in text.bytes() {
            self.0 = (self.0 ^ b as u128).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Verdict, check, engine, testing};
    use serde_json::{Value, json};

    const PROGRAM: &str = "int x; pthread_mutex_t m; \
        void *f(void *p) { while (1) { pthread_mutex_lock(&m); if (x < 5) x = x + 1; pthread_mutex_unlock(&m); } return 0; } \
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, f, 0); int r = x; if (r > 5) reach_error(); return 0; }";

    fn proof(p: &Program, name: &str) -> Certificate {
        match (engine(name).unwrap().make)().verify(p, &Options::default()).verdict {
            Verdict::Safe(c) => c,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// What a changed file comes to.
    fn tried(p: &Program, file: &Value) -> Result<(), String> {
        let c = load(p, &file.to_string()).map_err(|e| e.to_string())?;
        check(p, &Options::default(), &c).map_err(|e| e.to_string())
    }

    fn saved(p: &Program, name: &str) -> Value {
        let file = serde_json::from_str(&save(p, &proof(p, name))).unwrap();
        assert_eq!(tried(p, &file), Ok(()));
        file
    }

    #[test]
    fn the_fingerprint_is_that_of_what_a_program_does() {
        let one = fingerprint(&testing::read(PROGRAM));
        assert_eq!(one, fingerprint(&testing::read(PROGRAM)), "it is the same each time");
        assert_eq!(one, fingerprint(&testing::read(&PROGRAM.replace("; ", ";\n\n"))), "lines do not matter");
        for (from, to) in
            [("x < 5", "x < 6"), ("x + 1", "x + 2"), ("int x;", "short x;"), ("int x;", "int x = 1;")]
        {
            assert_ne!(one, fingerprint(&testing::read(&PROGRAM.replacen(from, to, 1))), "{from} -> {to}");
        }
    }

    #[test]
    fn a_tree_that_lost_a_node_or_says_less_is_refused() {
        let p = testing::read(PROGRAM);
        let file = saved(&p, "impact");
        assert_eq!(file["kind"], "tree");
        let nodes = file["nodes"].as_array().unwrap().len();
        // An edge that is gone, or a node cut off at the end.
        let mut gone = file.clone();
        gone["nodes"].as_array_mut().unwrap().pop();
        assert!(tried(&p, &gone).is_err(), "the last of {nodes} nodes was dropped");
        let at = (0..nodes).find(|n| !file["nodes"][n]["edges"].is_null()).unwrap();
        let mut gone = file.clone();
        gone["nodes"][at]["edges"] = json!([]);
        assert!(tried(&p, &gone).unwrap_err().contains("leads to no node"));
        // A label that says nothing proves nothing about the error.
        let mut weak = file.clone();
        let terms = weak["terms"].as_array_mut().unwrap();
        terms.push(json!("const u1 1"));
        let yes = terms.len() - 1;
        for n in weak["nodes"].as_array_mut().unwrap() {
            n["label"] = json!(yes);
        }
        assert!(tried(&p, &weak).is_err());
        // One that is too strong is not inductive.
        let mut strong = file.clone();
        strong["terms"].as_array_mut().unwrap().push(json!("const u1 0"));
        strong["nodes"][0]["label"] = json!(yes);
        assert!(tried(&p, &strong).unwrap_err().contains("root"));
        // A node that covers itself stands for nothing.
        let mut round = file.clone();
        round["nodes"][0]["covered_by"] = json!(0);
        assert!(tried(&p, &round).is_err());
    }

    #[test]
    fn a_set_of_states_that_lost_one_or_has_another_is_refused() {
        let p = testing::read(PROGRAM);
        let file = saved(&p, "explicit");
        assert_eq!(file["kind"], "states");
        let all = file["states"].as_array().unwrap().len();
        for n in [0, all / 2, all - 1] {
            let mut gone = file.clone();
            gone["states"].as_array_mut().unwrap().remove(n);
            assert!(tried(&p, &gone).unwrap_err().contains("missing"), "state {n}");
        }
        let x = p.var_named("x").unwrap();
        let cell = Interpreter::new(&p).cell(x, 0).unwrap();
        let mut other = file.clone();
        other["states"][all / 2][1][cell] = json!(77);
        assert!(tried(&p, &other).is_err());
        let mut wide = file.clone();
        wide["states"][0][1][cell] = json!(1u64 << 40);
        assert!(tried(&p, &wide).unwrap_err().contains("cannot be"));
        let mut lost = file.clone();
        lost["states"][0][0] = json!([0, 0, 4000]);
        assert!(tried(&p, &lost).unwrap_err().contains("no threads can be at"));
    }

    #[test]
    fn an_invariant_that_says_less_is_refused() {
        let p = testing::read(PROGRAM);
        let file = saved(&p, "predabs");
        assert_eq!(file["kind"], "invariant");
        let all = file["at"].as_array().unwrap().len();
        let mut gone = file.clone();
        gone["at"].as_array_mut().unwrap().remove(all - 1);
        assert!(tried(&p, &gone).is_err());
        let mut weak = file.clone();
        weak["terms"].as_array_mut().unwrap().push(json!("const u1 1"));
        let yes = weak["terms"].as_array().unwrap().len() - 1;
        for at in weak["at"].as_array_mut().unwrap() {
            at[1] = json!(yes);
        }
        assert!(tried(&p, &weak).is_err());
    }

    #[test]
    fn a_depth_that_is_too_small_is_refused() {
        let p = testing::read("int x; int main(void) { x = 1; x = 2; if (x == 3) reach_error(); return 0; }");
        let file = saved(&p, "bmc");
        assert_eq!(file["kind"], "depth");
        let mut less = file.clone();
        less["steps"] = json!(file["steps"].as_u64().unwrap() - 1);
        assert!(tried(&p, &less).unwrap_err().contains("more than"));
        // One that is too large is right, and is not counted up to.
        let mut more = file.clone();
        more["steps"] = json!(u64::MAX / 2);
        assert!(tried(&p, &more).is_ok());
    }

    #[test]
    fn what_is_no_certificate_or_one_of_another_program_is_told_apart() {
        let p = testing::read(PROGRAM);
        let text = save(&p, &proof(&p, "impact"));
        let cut = &text[..text.len() / 2];
        assert!(matches!(load(&p, cut), Err(BadFile::Unreadable(_))));
        assert!(matches!(load(&p, ""), Err(BadFile::Unreadable(_))));
        assert!(matches!(load(&p, "{}"), Err(BadFile::Unreadable(_))));
        let newer = text.replacen("\"version\":1", "\"version\":2", 1);
        assert!(load(&p, &newer).unwrap_err().to_string().contains("version 2"));
        let q = testing::read(&PROGRAM.replace("x < 5", "x < 4"));
        assert!(matches!(load(&q, &text), Err(BadFile::OtherProgram { .. })));
        // Whoever puts the right name on the wrong proof has proved nothing.
        let named =
            text.replace(&fingerprint(&p), &fingerprint(&testing::read(&PROGRAM.replace("x < 5", "x < 9"))));
        let q = testing::read(&PROGRAM.replace("x < 5", "x < 9"));
        let refused = load(&q, &named).map(|c| check(&q, &Options::default(), &c));
        assert!(!matches!(refused, Ok(Ok(()))));
        for bad in
            ["add 0", "add 0 1 2", "add 0 9999", "var 9999", "const i65 0", "const u1 2", "jump 1 1", ""]
        {
            let mut file: Value = serde_json::from_str(&text).unwrap();
            file["terms"].as_array_mut().unwrap().push(json!(bad));
            assert!(tried(&p, &file).unwrap_err().contains("is no term"), "{bad}");
        }
    }

    #[test]
    fn every_certificate_of_random_programs_survives_its_file() {
        let (mut kinds, mut changed) = (HashMap::<String, u32>::new(), 0);
        for seed in 0..24 {
            let text = testing::random_text(seed);
            let p = testing::read(&text);
            let options = Options { deadlocks: seed % 2 == 0, ..Options::default() };
            for name in ["explicit", "impact", "predabs", "bmc"] {
                // Runs that do not end are unrolled for ever: a few steps.
                let work = if name == "bmc" { 14 } else { 600 };
                let budget = crate::Budget { work: Some(work), seconds: Some(1.0) };
                let out = (engine(name).unwrap().make)().verify(&p, &Options { budget, ..options.clone() });
                let Verdict::Safe(c) = out.verdict else { continue };
                let saved = save(&p, &c);
                let again = load(&p, &saved).unwrap_or_else(|e| panic!("seed {seed}, {name}: {e}\n{text}"));
                assert_eq!(check(&p, &options, &again), Ok(()), "seed {seed}, {name}\n{text}");
                assert_eq!(save(&p, &again), saved, "seed {seed}, {name}: written again it is the same");
                let kind =
                    serde_json::from_str::<Value>(&saved).unwrap()["kind"].as_str().unwrap().to_owned();
                *kinds.entry(kind).or_default() += 1;
                // The same file for a program that is changed a little is never taken.
                let other = testing::read(&text.replacen("int r = 0", "int r = 2", 1));
                if fingerprint(&other) != fingerprint(&p) {
                    changed += 1;
                    assert!(matches!(load(&other, &saved), Err(BadFile::OtherProgram { .. })));
                }
            }
        }
        let all: Vec<&String> = kinds.keys().collect();
        assert!(
            kinds.len() == 4 && kinds.values().all(|n| *n > 0) && changed > 5,
            "{all:?} {kinds:?} {changed}"
        );
    }
}
