//! What can be said about a part of the syntax tree without lowering it.

use lang_c::ast::*;
use lang_c::span::{Node, Span};
use lang_c::visit::{self, Visit};
use std::collections::{BTreeSet, HashMap};

/// What occurs in a statement or in a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Names that are assigned, counted up or down, or whose address is taken; of `a[i]` or `s.f`, `a` and `s`.
    pub(crate) assigned: BTreeSet<String>,
    /// Names that operators or functions of the library write, other than locks and the like; and those whose address is taken or handed
    /// over, which may be written where something is assigned through a pointer.
    pub(crate) written: BTreeSet<String>,
    pub(crate) addressed: BTreeSet<String>,
    /// Functions that are called by name.
    pub(crate) called: BTreeSet<String>,
    /// Every name.
    pub(crate) names: BTreeSet<String>,
    /// Names that stand for something else than the function of a call.
    pub(crate) values: BTreeSet<String>,
    /// Labels, those of `switch` included.
    pub(crate) labels: bool,
    /// The labels that have a name.
    pub(crate) label_names: BTreeSet<String>,
    /// Whether something is called that is no name.
    pub(crate) indirect: bool,
    pub(crate) gotos: bool,
    /// Whether something is assigned through a pointer, and whether one is followed.
    pub(crate) through: bool,
    pub(crate) follows: bool,
    /// Where it jumps to, and from where.
    pub(crate) targets: Vec<(String, Span)>,
}

impl<'a> Visit<'a> for Found {
    fn visit_identifier(&mut self, i: &'a Identifier, _: &'a Span) {
        self.names.insert(i.name.clone());
    }

    fn visit_expression(&mut self, e: &'a Expression, s: &'a Span) {
        if let Expression::Identifier(i) = e {
            self.values.insert(i.node.name.clone());
        }
        visit::visit_expression(self, e, s);
    }

    fn visit_call_expression(&mut self, c: &'a CallExpression, s: &'a Span) {
        if let Expression::Identifier(i) = &c.callee.node {
            self.called.insert(i.node.name.clone());
            self.names.insert(i.node.name.clone());
            // An array that is handed over is its first element, and may be written without its address being taken.
            for n in written(&i.node.name) {
                let root = c.arguments.get(*n).and_then(|a| root(&a.node));
                self.assigned.extend(root.map(str::to_owned));
            }
            self.note_writes(&i.node.name, &c.arguments);
            for a in &c.arguments {
                self.visit_expression(&a.node, &a.span);
            }
        } else {
            self.indirect = true;
            visit::visit_call_expression(self, c, s);
        }
    }

    fn visit_binary_operator_expression(&mut self, e: &'a BinaryOperatorExpression, s: &'a Span) {
        if is_assignment(&e.operator.node) {
            self.assigned.extend(root(&e.lhs.node).map(str::to_owned));
            self.written.extend(root(&e.lhs.node).map(str::to_owned));
            self.through |= follows(&e.lhs.node);
        }
        self.follows |= e.operator.node == BinaryOperator::Index;
        visit::visit_binary_operator_expression(self, e, s);
    }

    fn visit_unary_operator_expression(&mut self, e: &'a UnaryOperatorExpression, s: &'a Span) {
        use UnaryOperator::*;
        if matches!(e.operator.node, PostIncrement | PostDecrement | PreIncrement | PreDecrement | Address) {
            let name = root(&e.operand.node).map(str::to_owned);
            self.assigned.extend(name.clone());
            match e.operator.node {
                Address => self.addressed.extend(name),
                _ => self.written.extend(name),
            }
            self.through |= e.operator.node != Address && follows(&e.operand.node);
        }
        self.follows |= e.operator.node == Indirection;
        visit::visit_unary_operator_expression(self, e, s);
    }

    fn visit_member_expression(&mut self, m: &'a MemberExpression, s: &'a Span) {
        self.follows |= m.operator.node == MemberOperator::Indirect;
        visit::visit_member_expression(self, m, s);
    }

    fn visit_labeled_statement(&mut self, l: &'a LabeledStatement, s: &'a Span) {
        self.labels = true;
        if let Label::Identifier(i) = &l.label.node {
            self.label_names.insert(i.node.name.clone());
        }
        visit::visit_labeled_statement(self, l, s);
    }

    fn visit_statement(&mut self, st: &'a Statement, s: &'a Span) {
        if let Statement::Goto(name) = st {
            self.gotos = true;
            self.targets.push((name.node.name.clone(), *s));
        }
        visit::visit_statement(self, st, s);
    }
}

/// Whether an operator assigns.
pub(crate) fn is_assignment(op: &BinaryOperator) -> bool {
    use BinaryOperator::*;
    matches!(
        op,
        Assign
            | AssignMultiply
            | AssignDivide
            | AssignModulo
            | AssignPlus
            | AssignMinus
            | AssignShiftLeft
            | AssignShiftRight
            | AssignBitwiseAnd
            | AssignBitwiseXor
            | AssignBitwiseOr
    )
}

/// Whether the way to an lvalue may lead through a pointer.
fn follows(e: &Expression) -> bool {
    match e {
        Expression::Member(m) => {
            m.node.operator.node == MemberOperator::Indirect || follows(&m.node.expression.node)
        }
        Expression::BinaryOperator(b) => b.node.operator.node == BinaryOperator::Index,
        Expression::UnaryOperator(u) => u.node.operator.node == UnaryOperator::Indirection,
        _ => false,
    }
}

/// The variable that an lvalue is a part of.
fn root(e: &Expression) -> Option<&str> {
    match e {
        Expression::Identifier(i) => Some(&i.node.name),
        Expression::Member(m) => root(&m.node.expression.node),
        Expression::BinaryOperator(b) if b.node.operator.node == BinaryOperator::Index => {
            root(&b.node.lhs.node)
        }
        Expression::UnaryOperator(u) => root(&u.node.operand.node),
        Expression::Cast(c) => root(&c.node.expression.node),
        _ => None,
    }
}

/// What occurs in a statement.
pub(crate) fn statement(s: &Node<Statement>) -> Found {
    let mut found = Found::default();
    found.visit_statement(&s.node, &s.span);
    found
}

/// Whether a statement has something in it that may lead out of it: `break`, `return`, `goto`.
pub(crate) fn leaves(s: &Node<Statement>) -> bool {
    struct Leaves(bool);
    impl<'a> Visit<'a> for Leaves {
        fn visit_statement(&mut self, st: &'a Statement, s: &'a Span) {
            self.0 |= matches!(st, Statement::Break | Statement::Return(_) | Statement::Goto(_));
            visit::visit_statement(self, st, s);
        }
    }
    let mut found = Leaves(false);
    found.visit_statement(&s.node, &s.span);
    found.0
}

/// Whether the body of a loop has a `break` that leaves the loop, and whether it has a `return`.
pub(crate) fn ways_out(s: &Node<Statement>) -> (bool, bool) {
    struct Ways {
        inside: u32,
        breaks: bool,
        returns: bool,
    }
    impl<'a> Visit<'a> for Ways {
        fn visit_statement(&mut self, st: &'a Statement, s: &'a Span) {
            use Statement::*;
            self.breaks |= matches!(st, Break) && self.inside == 0;
            self.returns |= matches!(st, Return(_));
            let nested = matches!(st, While(_) | DoWhile(_) | For(_) | Switch(_));
            self.inside += u32::from(nested);
            visit::visit_statement(self, st, s);
            self.inside -= u32::from(nested);
        }
    }
    let mut found = Ways { inside: 0, breaks: false, returns: false };
    found.visit_statement(&s.node, &s.span);
    (found.breaks, found.returns)
}

/// What occurs in a declaration.
pub(crate) fn declaration(d: &Node<Declaration>) -> Found {
    let mut found = Found::default();
    found.visit_declaration(&d.node, &d.span);
    found
}

/// What occurs in an expression.
pub(crate) fn expression(e: &Node<Expression>) -> Found {
    let mut found = Found::default();
    found.visit_expression(&e.node, &e.span);
    found
}

impl Found {
    /// What a call writes, as far as that is known by the name of the function and the form of its arguments.
    fn note_writes(&mut self, name: &str, arguments: &[Node<Expression>]) {
        let address = |a: &'_ Node<Expression>| match &a.node {
            Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Address => {
                root(&u.node.operand.node).map(str::to_owned)
            }
            _ => None,
        };
        if !is_library(name) {
            let handed = arguments.iter().filter_map(|a| address(a).or(root(&a.node).map(str::to_owned)));
            self.addressed.extend(handed);
        } else if !is_about_locks(name) && !name.contains("load") {
            self.written.extend(arguments.iter().filter_map(address));
            let atomic = ["atomic_", "__atomic_", "__sync_"].iter().any(|f| name.starts_with(f));
            if (atomic && !name.contains("fence") || name.starts_with("mem"))
                && arguments.iter().take(1).all(|a| address(a).is_none())
            {
                self.through = true;
                self.written.extend(arguments.first().and_then(|a| root(&a.node)).map(str::to_owned));
            }
        }
    }

    /// Adds what occurs elsewhere.
    pub(crate) fn add(&mut self, other: Found) {
        self.assigned.extend(other.assigned);
        self.written.extend(other.written);
        self.addressed.extend(other.addressed);
        self.called.extend(other.called);
        self.names.extend(other.names);
        self.values.extend(other.values);
        self.labels |= other.labels;
        self.label_names.extend(other.label_names);
        self.indirect |= other.indirect;
        self.through |= other.through;
        self.follows |= other.follows;
        self.gotos |= other.gotos;
    }

    /// With what occurs in the functions that are called, and in those that these call.
    ///
    /// `callable` are the functions whose address is taken: a call of what is no function of the program may be one of any of them.
    pub(crate) fn closed(mut self, functions: &HashMap<String, Found>, callable: &BTreeSet<String>) -> Found {
        let mut open: Vec<String> = self.called.iter().cloned().collect();
        let mut seen: BTreeSet<String> = self.called.clone();
        let mut indirect = self.indirect;
        loop {
            if indirect {
                open.extend(callable.iter().filter(|c| seen.insert((*c).clone())).cloned());
                indirect = false;
            }
            let Some(f) = open.pop() else { break };
            let Some(found) = functions.get(&f) else {
                // A variable, or a function of the library that calls what it is given.
                indirect |= !is_library(&f);
                continue;
            };
            indirect |= found.indirect;
            self.through |= found.through;
            self.follows |= found.follows;
            self.assigned.extend(found.assigned.iter().cloned());
            self.written.extend(found.written.iter().cloned());
            self.addressed.extend(found.addressed.iter().cloned());
            self.names.extend(found.names.iter().cloned());
            self.values.extend(found.values.iter().cloned());
            for g in &found.called {
                if seen.insert(g.clone()) {
                    open.push(g.clone());
                }
            }
        }
        self.called = seen;
        self
    }

    /// Whether something may happen besides that a value is found.
    pub(crate) fn has_effects(&self) -> bool {
        !self.assigned.is_empty() || !self.called.is_empty() || self.indirect
    }

    /// Whether threads are made or joined, in itself or in what it calls (if it is closed).
    pub(crate) fn makes_threads(&self) -> bool {
        self.called.contains("pthread_create") || self.called.contains("thrd_create")
    }

    /// Whether threads are joined.
    pub(crate) fn joins_threads(&self) -> bool {
        self.called.contains("pthread_join") || self.called.contains("thrd_join")
    }
}

/// Which arguments of a function of the library point to what it writes.
fn written(name: &str) -> &'static [usize] {
    match name {
        "pthread_join" | "thrd_join" | "sem_getvalue" | "clock_gettime" => &[0, 1],
        _ if name.contains("compare_exchange") => &[0, 1],
        "__atomic_load" | "__atomic_exchange" => &[0, 1, 2],
        _ => &[0],
    }
}

/// Whether a function of the library changes nothing but locks and the like.
fn is_about_locks(name: &str) -> bool {
    let families = [
        "pthread_mutex_",
        "pthread_rwlock_",
        "pthread_spin_",
        "pthread_cond_",
        "pthread_barrier_",
        "sem_",
        "mtx_",
        "cnd_",
    ];
    families.iter().any(|f| name.starts_with(f)) && name != "sem_getvalue"
}

/// Functions that call nothing of the program; `pthread_once` and the like do.
fn is_library(name: &str) -> bool {
    let families = [
        "__VERIFIER_",
        "__atomic_",
        "__sync_",
        "__builtin_",
        "atomic_",
        "pthread_",
        "sem_",
        "mtx_",
        "cnd_",
        "thrd_",
        "__assert",
        "__raddle_",
    ];
    let single = [
        "printf",
        "fprintf",
        "puts",
        "putchar",
        "fflush",
        "malloc",
        "calloc",
        "realloc",
        "free",
        "abort",
        "exit",
        "reach_error",
        "sleep",
        "usleep",
        "nanosleep",
        "clock_gettime",
        "gettimeofday",
        "rand",
        "memset",
        "memcpy",
    ];
    name != "pthread_once" && (families.iter().any(|f| name.starts_with(f)) || single.contains(&name))
}
