//! Variables of functions that have returned and of threads that have ended.
//!
//! A local variable whose address gets beyond its function has a flag that is set where the function returns or the thread ends. An access
//! through a pointer reads the flag first, as it does for memory of `malloc` (see [`super::heap`]). So do thread-local variables. Variables of
//! `main` have one if it calls `pthread_exit`, or if a thread may still run when it returns: one that is not certainly joined
//! ([`Lowering::threads_outlive_main`]).
//!
//! Whether an address gets beyond its function is decided by names, from the syntax tree: it is stored in a variable of the whole program
//! or through a pointer, returned, given to a new thread, or passed to a function that does one of these. A variable without a flag is
//! accessed while its function runs.

use super::lower::Lowering;
use crate::ThreadId;
use crate::program::{Action, LocationKind, Thread, Transition};
use crate::term::{Place, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use lang_c::visit::{self, Visit};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a value may be handed to: a variable of a function, or something that outlives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Variable(String, String),
    Beyond,
}

/// Where the values of variables and their addresses go.
#[derive(Default)]
struct Flow<'a> {
    /// By function: the names of its parameters.
    parameters: HashMap<&'a str, Vec<Option<&'a str>>>,
    /// By function: the names that it declares, parameters included.
    declared: HashMap<&'a str, BTreeSet<&'a str>>,
    edges: BTreeMap<(String, String), BTreeSet<Target>>,
    function: &'a str,
}

/// The names of variables whose address may outlive the function that they belong to.
pub(super) fn escaping(unit: &TranslationUnit) -> BTreeSet<String> {
    let mut flow = Flow::default();
    let mut bodies = Vec::new();
    for item in &unit.0 {
        let ExternalDeclaration::FunctionDefinition(d) = &item.node else { continue };
        let Some(name) = name_of(&d.node.declarator) else { continue };
        let parameters = parameters_of(&d.node.declarator);
        let mut declared = Declared::default();
        declared.0.extend(parameters.iter().flatten());
        declared.visit_statement(&d.node.statement.node, &d.node.statement.span);
        flow.parameters.insert(name, parameters);
        flow.declared.insert(name, declared.0);
        bodies.push((name, &d.node.statement));
    }
    for (name, body) in bodies {
        flow.function = name;
        flow.visit_statement(&body.node, &body.span);
    }
    let mut out: BTreeSet<(String, String)> = BTreeSet::new();
    loop {
        let reaches = |to: &Target| match to {
            Target::Beyond => true,
            Target::Variable(f, v) => out.contains(&(f.clone(), v.clone())),
        };
        let new: Vec<(String, String)> = flow
            .edges
            .iter()
            .filter(|(from, to)| !out.contains(*from) && to.iter().any(reaches))
            .map(|(from, _)| from.clone())
            .collect();
        if new.is_empty() {
            break;
        }
        out.extend(new);
    }
    out.into_iter().map(|(_, name)| name).collect()
}

fn name_of(d: &Node<Declarator>) -> Option<&str> {
    match &d.node.kind.node {
        DeclaratorKind::Identifier(i) => Some(&i.node.name),
        DeclaratorKind::Declarator(d) => name_of(d),
        DeclaratorKind::Abstract => None,
    }
}

fn parameters_of(d: &Node<Declarator>) -> Vec<Option<&str>> {
    let function = d.node.derived.iter().find_map(|d| match &d.node {
        DerivedDeclarator::Function(f) => Some(&f.node.parameters),
        _ => None,
    });
    let names = |p: &'_ Node<ParameterDeclaration>| p.node.declarator.is_some();
    match function {
        Some(list) if list.iter().any(names) => {
            list.iter().map(|p| p.node.declarator.as_ref().and_then(name_of)).collect()
        }
        Some(list) => vec![None; list.len()],
        None => match &d.node.kind.node {
            DeclaratorKind::Declarator(d) => parameters_of(d),
            _ => Vec::new(),
        },
    }
}

/// The names that a function declares.
#[derive(Default)]
struct Declared<'a>(BTreeSet<&'a str>);

impl<'a> Visit<'a> for Declared<'a> {
    fn visit_init_declarator(&mut self, d: &'a InitDeclarator, s: &'a Span) {
        self.0.extend(name_of(&d.declarator));
        visit::visit_init_declarator(self, d, s);
    }
}

/// The variables whose value or address an expression may have.
fn roots<'a>(e: &'a Expression, out: &mut Vec<&'a str>) {
    use Expression::*;
    match e {
        Identifier(i) => out.push(&i.node.name),
        Cast(c) => roots(&c.node.expression.node, out),
        Conditional(c) => {
            roots(&c.node.then_expression.node, out);
            roots(&c.node.else_expression.node, out);
        }
        Comma(list) => list.last().into_iter().for_each(|e| roots(&e.node, out)),
        UnaryOperator(u) if u.node.operator.node != lang_c::ast::UnaryOperator::Indirection => {
            roots(&u.node.operand.node, out)
        }
        BinaryOperator(b) => {
            use lang_c::ast::BinaryOperator::*;
            match b.node.operator.node {
                Plus | Minus => {
                    roots(&b.node.lhs.node, out);
                    roots(&b.node.rhs.node, out);
                }
                Index => roots(&b.node.lhs.node, out),
                Assign => roots(&b.node.rhs.node, out),
                _ => {}
            }
        }
        Member(m) => roots(&m.node.expression.node, out),
        CompoundLiteral(c) => {
            c.node.initializer_list.iter().for_each(|i| initial_roots(&i.node.initializer.node, out))
        }
        // What a function returns may be what it was given.
        Call(c) => c.node.arguments.iter().for_each(|a| roots(&a.node, out)),
        Statement(s) => {
            if let lang_c::ast::Statement::Compound(items) = &s.node
                && let Some(BlockItem::Statement(last)) = items.last().map(|i| &i.node)
                && let lang_c::ast::Statement::Expression(Some(e)) = &last.node
            {
                roots(&e.node, out);
            }
        }
        _ => {}
    }
}

fn initial_roots<'a>(i: &'a Initializer, out: &mut Vec<&'a str>) {
    match i {
        Initializer::Expression(e) => roots(&e.node, out),
        Initializer::List(list) => list.iter().for_each(|i| initial_roots(&i.node.initializer.node, out)),
    }
}

/// The variable that is assigned, if the way to it does not lead through a pointer. An index may be into an array or into what a pointer
/// points to; in the second case it is what that one may hold.
fn assigned(e: &Expression) -> Option<&str> {
    match e {
        Expression::Identifier(i) => Some(&i.node.name),
        Expression::Member(m) if m.node.operator.node == MemberOperator::Direct => {
            assigned(&m.node.expression.node)
        }
        _ => None,
    }
}

/// The arguments of a function of the library whose values outlive the call.
fn kept(name: &str, argument: usize) -> bool {
    match name {
        "pthread_create" => argument == 3,
        "thrd_create" => argument == 2,
        "pthread_setspecific" | "tss_set" => argument == 1,
        _ if name.contains("compare_exchange") || name.contains("compare_and_swap") => argument > 1,
        _ if ["atomic_", "__atomic_", "__sync_"].iter().any(|p| name.starts_with(p)) => argument > 0,
        _ => false,
    }
}

impl Flow<'_> {
    fn is_own(&self, name: &str) -> bool {
        self.declared.get(self.function).is_some_and(|d| d.contains(name))
    }

    fn add(&mut self, from: &[&str], to: &Target) {
        for name in from {
            let function = if self.is_own(name) { self.function } else { "" };
            let targets = self.edges.entry((function.to_owned(), (*name).to_owned())).or_default();
            targets.insert(to.clone());
        }
    }

    fn variable(&self, name: Option<&str>) -> Target {
        match name {
            Some(name) if self.is_own(name) => Target::Variable(self.function.to_owned(), name.to_owned()),
            _ => Target::Beyond,
        }
    }
}

impl<'a> Visit<'a> for Flow<'a> {
    fn visit_binary_operator_expression(&mut self, b: &'a BinaryOperatorExpression, s: &'a Span) {
        if super::scan::is_assignment(&b.operator.node) {
            let mut from = Vec::new();
            roots(&b.rhs.node, &mut from);
            let to = self.variable(assigned(&b.lhs.node));
            self.add(&from, &to);
        }
        visit::visit_binary_operator_expression(self, b, s);
    }

    fn visit_init_declarator(&mut self, d: &'a InitDeclarator, s: &'a Span) {
        if let Some(i) = &d.initializer {
            let mut from = Vec::new();
            initial_roots(&i.node, &mut from);
            let to = self.variable(name_of(&d.declarator));
            self.add(&from, &to);
        }
        visit::visit_init_declarator(self, d, s);
    }

    fn visit_call_expression(&mut self, c: &'a CallExpression, s: &'a Span) {
        let name = match &c.callee.node {
            Expression::Identifier(i) => Some(i.node.name.as_str()),
            _ => None,
        };
        let parameters = name.and_then(|n| self.parameters.get(n)).cloned();
        for (n, a) in c.arguments.iter().enumerate() {
            let mut from = Vec::new();
            roots(&a.node, &mut from);
            match (name, &parameters) {
                (Some(f), Some(list)) => {
                    if let Some(p) = list.get(n).copied().flatten() {
                        self.add(&from, &Target::Variable(f.to_owned(), p.to_owned()));
                    }
                }
                (Some(f), None) if !self.is_own(f) => {
                    if kept(f, n) {
                        self.add(&from, &Target::Beyond);
                    }
                }
                _ => self.add(&from, &Target::Beyond),
            }
        }
        visit::visit_call_expression(self, c, s);
    }

    fn visit_statement(&mut self, st: &'a Statement, s: &'a Span) {
        if let Statement::Return(Some(e)) = st {
            let mut from = Vec::new();
            roots(&e.node, &mut from);
            self.add(&from, &Target::Beyond);
        }
        visit::visit_statement(self, st, s);
    }
}

/// What a thread has certainly joined, and may have made, at each of its locations that can be reached.
struct Threads {
    joined: Vec<Option<BTreeSet<ThreadId>>>,
    made: Vec<BTreeSet<ThreadId>>,
}

impl Threads {
    fn of(thread: &Thread) -> Threads {
        let n = thread.locations.len();
        let mut all = Threads { joined: vec![None; n], made: vec![BTreeSet::new(); n] };
        all.joined[thread.entry.index()] = Some(BTreeSet::new());
        let mut from: Vec<Vec<&Transition>> = vec![Vec::new(); n];
        thread.transitions.iter().for_each(|e| from[e.from.index()].push(e));
        let mut open = vec![thread.entry];
        while let Some(l) = open.pop() {
            for e in &from[l.index()] {
                let mut joined = all.joined[l.index()].clone().unwrap_or_default();
                let mut made = all.made[l.index()].clone();
                match e.action {
                    Action::Create(t) => {
                        joined.remove(&t);
                        made.insert(t);
                    }
                    Action::Join(t) => {
                        joined.insert(t);
                    }
                    _ => {}
                }
                let to = e.to.index();
                if let Some(known) = &all.joined[to] {
                    joined = known & &joined;
                    made.extend(&all.made[to]);
                }
                if all.joined[to].as_ref() != Some(&joined) || all.made[to] != made {
                    all.joined[to] = Some(joined);
                    all.made[to] = made;
                    open.push(e.to);
                }
            }
        }
        all
    }

    /// The threads that are certainly joined at the ends of the thread.
    fn at_ends(&self, thread: &Thread) -> BTreeSet<ThreadId> {
        let mut leaves = vec![true; thread.locations.len()];
        thread.transitions.iter().for_each(|e| leaves[e.from.index()] = false);
        let ends = thread.location_ids().filter(|l| {
            let kind = &thread.location(*l).kind;
            leaves[l.index()] && matches!(kind, LocationKind::Normal | LocationKind::End)
        });
        ends.filter_map(|l| self.joined[l.index()].clone()).reduce(|a, b| &a & &b).unwrap_or_default()
    }
}

impl Lowering<'_> {
    /// Whether a thread may still run when `main` returns.
    pub(super) fn threads_outlive_main(&self) -> bool {
        let Some(returns) = self.main_returns else { return false };
        let p = self.b.program();
        let main = Threads::of(p.thread(ThreadId(0)));
        let Some(mut over) = main.joined[returns.index()].clone() else { return false };
        let mut made = main.made[returns.index()].clone();
        let mut open: Vec<ThreadId> = made.iter().copied().collect();
        let mut of_joined = Vec::new();
        while let Some(t) = open.pop() {
            let thread = p.thread(t);
            let threads = Threads::of(thread);
            open.extend(threads.made.iter().flatten().filter(|c| !made.contains(c)));
            made.extend(threads.made.iter().flatten());
            of_joined.push((t, threads.at_ends(thread)));
        }
        // A thread that is over has joined others, which are over too.
        while let Some(n) = of_joined.iter().position(|(t, _)| over.contains(t)) {
            over.extend(of_joined.swap_remove(n).1);
        }
        !made.is_subset(&over)
    }

    /// Whether a local variable needs a flag that says that it is gone.
    pub(super) fn may_outlive(&self, name: &str) -> bool {
        let of_main = self.t.0 == 0 && self.frames.len() <= 1 && !self.main_leaves;
        !of_main && !self.noting.active && self.escaping.contains(name)
    }

    /// The flag of an object, which is made where it is first declared.
    pub(super) fn make_flag(&mut self, object: usize, name: &str) {
        let flag = self.b.shared(&format!("{name}.gone"), crate::Type::BOOL, 0);
        self.gone.push((object, flag));
    }

    /// The flag of an object.
    pub(super) fn flag_of(&self, object: usize) -> Option<VarId> {
        self.gone.iter().find(|(o, _)| *o == object).map(|(_, flag)| *flag)
    }

    /// A variable comes to be: it is there until its function returns.
    pub(super) fn begin_local(&mut self, object: usize) {
        let Some(flag) = self.flag_of(object) else { return };
        if !self.dead && self.may_come_again() {
            let no = self.b.terms().boolean(false);
            self.set(Place::scalar(flag), no);
        }
        let ends = match self.frames.last_mut() {
            Some(frame) => &mut frame.ends,
            None => &mut self.thread_ends,
        };
        if !ends.contains(&flag) {
            ends.push(flag);
        }
    }

    /// These variables are gone.
    pub(super) fn end_locals(&mut self, flags: &[VarId]) {
        if !flags.is_empty() {
            self.note_gone(flags);
        }
        self.set_gone(flags);
    }

    fn set_gone(&mut self, flags: &[VarId]) {
        for flag in flags {
            if !self.dead {
                let yes = self.b.terms().boolean(true);
                self.set(Place::scalar(*flag), yes);
            }
        }
    }

    /// All variables of the thread are gone.
    pub(super) fn end_all_locals(&mut self) {
        let of_frames = self.frames.iter().flat_map(|f| f.ends.iter().copied());
        let all: Vec<VarId> = of_frames.chain(self.thread_ends.iter().copied()).collect();
        self.set_gone(&all);
    }
}
