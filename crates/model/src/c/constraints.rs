//! What a compiler refuses although the parser does not: the constraints of C on names, declarations, labels and assignments.
//!
//! Lowering follows the code that can run and refuses what it has no meaning for. That leaves out functions that nobody calls and code
//! that is never reached, and what has a meaning, though no compiler takes it: a name that is declared twice, a `const` that is
//! assigned. A text that does not compile is no program, and nothing is said about it. So all of it is looked at first.
//!
//! **Invariant:** nothing is refused that gcc takes. Where this file does not know a type (`typeof` of a statement, an attribute that changes
//! it) it is [`Of::Unknown`], for which every constraint holds. The declarations are in `constraints/declared.rs`, types in
//! `constraints/kinds.rs`, values that must be constant in `constraints/fixed.rs`.

mod declared;
mod fixed;
mod kinds;

use super::Refusal;
use super::scan::is_assignment;
use super::source::{Lines, Source};
use kinds::{Kind, Of};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use lang_c::visit::{self, Visit};
use std::collections::{BTreeSet, HashMap};

type Res<T> = Result<T, Refusal>;

/// Refuses a text that breaks a constraint.
pub(super) fn check(source: &Source) -> Res<()> {
    let mut checker = Checker {
        lines: &source.lines,
        scopes: vec![Scope::default()],
        records: Vec::new(),
        implicit: BTreeSet::new(),
        loops: 0,
        defaults: Vec::new(),
    };
    for item in &source.unit.0 {
        match &item.node {
            ExternalDeclaration::Declaration(d) => checker.declaration(d)?,
            ExternalDeclaration::StaticAssert(a) => {
                checker.expression(&a.node.expression)?;
            }
            ExternalDeclaration::FunctionDefinition(d) => checker.function(d)?,
        }
    }
    Ok(())
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Object,
    Function,
    Typedef,
    Enumerator,
}

/// Who else can mean the same by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Linkage {
    None,
    /// The rest of the file.
    Internal,
    /// Other files.
    External,
}

#[derive(Clone, Debug)]
struct Declared {
    meaning: Meaning,
    kind: Kind,
    linkage: Linkage,
    /// Whether it has a body or a first value.
    defined: bool,
    register: bool,
    /// Whether it says `extern`, and so means what was declared before.
    inherits: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TagKind {
    Struct,
    Union,
    Enum,
}

#[derive(Default)]
struct Scope {
    names: HashMap<String, Declared>,
    /// What each tag is, which record it names, and whether it is complete.
    tags: HashMap<String, (TagKind, usize, bool)>,
}

/// A structure or a union.
#[derive(Default)]
struct Record {
    /// Names and types, once it is complete; those of members without a name among them.
    fields: Option<Vec<Field>>,
}

#[derive(Clone)]
struct Field {
    name: String,
    kind: Kind,
    bits: bool,
}

struct Checker<'a> {
    lines: &'a Lines,
    scopes: Vec<Scope>,
    records: Vec<Record>,
    /// Functions that are called without having been declared.
    implicit: BTreeSet<String>,
    /// How many loops are around a statement.
    loops: usize,
    /// For each `switch` around it, whether it has a `default` already.
    defaults: Vec<bool>,
}

impl Checker<'_> {
    fn refuse(&self, at: Span, reason: impl Into<String>) -> Refusal {
        let (file, line) = self.lines.at(at.start);
        Refusal { file: file.to_owned(), line, reason: reason.into() }
    }

    fn lookup(&self, name: &str) -> Option<&Declared> {
        self.scopes.iter().rev().find_map(|s| s.names.get(name))
    }

    fn meaning(&self, name: &str) -> Option<Meaning> {
        self.lookup(name).map(|d| d.meaning)
    }

    fn in_scope<T>(&mut self, inside: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        self.scopes.push(Scope::default());
        let done = inside(self);
        self.scopes.pop();
        done
    }

    fn function(&mut self, d: &Node<FunctionDefinition>) -> Res<()> {
        let parameters = self.defined_function(d)?;
        (self.loops, self.defaults) = (0, Vec::new());
        let mut labels = Labels::default();
        labels.visit_statement(&d.node.statement.node, &d.node.statement.span);
        if let Some((name, at)) = labels.twice {
            return Err(self.refuse(at, format!("the label `{name}` is there twice")));
        }
        // Parameters and the outermost variables of the body are in one scope.
        self.in_scope(|me| {
            for (name, kind, register, at) in parameters {
                let (meaning, linkage) = (Meaning::Object, Linkage::None);
                let declared = Declared { meaning, kind, linkage, defined: true, register, inherits: false };
                me.declare(name, declared, at)?;
            }
            let body = |me: &mut Self| match &d.node.statement.node {
                Statement::Compound(items) => me.items(items),
                _ => me.statement(&d.node.statement),
            };
            if d.node.declarations.is_empty() {
                return body(me);
            }
            // In the style before 1989 the types of parameters come after their names.
            me.in_scope(|me| {
                d.node.declarations.iter().try_for_each(|p| me.declaration(p))?;
                body(me)
            })
        })
    }

    fn items(&mut self, items: &[Node<BlockItem>]) -> Res<()> {
        items.iter().try_for_each(|i| match &i.node {
            BlockItem::Declaration(d) => self.declaration(d),
            BlockItem::StaticAssert(a) => self.expression(&a.node.expression).map(|_| ()),
            BlockItem::Statement(s) => self.statement(s),
        })
    }

    fn body(&mut self, s: &Node<Statement>) -> Res<()> {
        self.loops += 1;
        let done = self.statement(s);
        self.loops -= 1;
        done
    }

    fn statement(&mut self, s: &Node<Statement>) -> Res<()> {
        match &s.node {
            Statement::Labeled(l) => {
                self.label(&l.node.label)?;
                self.statement(&l.node.statement)?;
            }
            Statement::Compound(items) => self.in_scope(|me| me.items(items))?,
            Statement::Expression(e) => self.maybe(e.as_deref())?,
            Statement::If(i) => {
                self.expression(&i.node.condition)?;
                self.statement(&i.node.then_statement)?;
                i.node.else_statement.as_deref().map_or(Ok(()), |e| self.statement(e))?;
            }
            Statement::Switch(w) => {
                let over = self.expression(&w.node.expression)?.decayed();
                if !matches!(over.of, Of::Unknown | Of::Integer(_) | Of::Enumeration) {
                    return Err(self.refuse(w.node.expression.span, "a switch over what is no integer"));
                }
                self.defaults.push(false);
                let done = self.statement(&w.node.statement);
                self.defaults.pop();
                done?;
            }
            Statement::While(w) => {
                self.expression(&w.node.expression)?;
                self.body(&w.node.statement)?;
            }
            Statement::DoWhile(w) => {
                self.body(&w.node.statement)?;
                self.expression(&w.node.expression)?;
            }
            Statement::For(f) => self.in_scope(|me| {
                match &f.node.initializer.node {
                    ForInitializer::Empty => {}
                    ForInitializer::Expression(e) => me.maybe(Some(e))?,
                    ForInitializer::Declaration(d) => me.declaration(d)?,
                    ForInitializer::StaticAssert(a) => me.maybe(Some(&a.node.expression))?,
                }
                me.maybe(f.node.condition.as_deref())?;
                me.maybe(f.node.step.as_deref())?;
                me.body(&f.node.statement)
            })?,
            Statement::Continue if self.loops == 0 => {
                return Err(self.refuse(s.span, "`continue` outside of a loop"));
            }
            Statement::Break if self.loops == 0 && self.defaults.is_empty() => {
                return Err(self.refuse(s.span, "`break` outside of a loop or a switch"));
            }
            Statement::Return(e) => self.maybe(e.as_deref())?,
            Statement::Goto(_) | Statement::Continue | Statement::Break | Statement::Asm(_) => {}
        }
        Ok(())
    }

    fn label(&mut self, l: &Node<Label>) -> Res<()> {
        if matches!(l.node, Label::Identifier(_)) {
            return Ok(());
        }
        let Some(default) = self.defaults.last_mut() else {
            return Err(self.refuse(l.span, "a case without a switch"));
        };
        match &l.node {
            Label::Default if std::mem::replace(default, true) => {
                Err(self.refuse(l.span, "a second `default` of a switch"))
            }
            Label::Case(e) => self.number(e, "the value of a case"),
            Label::CaseRange(r) => {
                self.number(&r.node.low, "the value of a case")?;
                self.number(&r.node.high, "the value of a case")
            }
            Label::Default | Label::Identifier(_) => Ok(()),
        }
    }

    fn maybe(&mut self, e: Option<&Node<Expression>>) -> Res<()> {
        e.map_or(Ok(()), |e| self.expression(e).map(|_| ()))
    }

    /// Checks an expression; the type of what it stands for.
    fn expression(&mut self, e: &Node<Expression>) -> Res<Kind> {
        Ok(match &e.node {
            Expression::Identifier(i) => self.named(&i.node.name, e.span)?,
            Expression::Constant(c) => match &c.node {
                Constant::Float(_) => Kind::new(Of::Floating("double")),
                _ => Kind::computed(),
            },
            Expression::StringLiteral(_) => Kind::new(Of::Array(Kind::new(Of::Integer("char")).into(), None)),
            Expression::GenericSelection(g) => {
                self.expression(&g.node.expression)?;
                for a in &g.node.associations {
                    match &a.node {
                        GenericAssociation::Type(t) => {
                            self.type_name(&t.node.type_name)?;
                            self.expression(&t.node.expression)?;
                        }
                        GenericAssociation::Default(e) => self.maybe(Some(e))?,
                    }
                }
                Kind::UNKNOWN
            }
            Expression::Member(m) => self.member(m)?.map_or(Kind::UNKNOWN, |f| f.kind),
            Expression::Call(c) => self.call(c)?,
            Expression::CompoundLiteral(c) => {
                let kind = self.type_name(&c.node.type_name)?;
                self.items_of(&c.node.initializer_list)?;
                kind
            }
            Expression::SizeOfTy(t) => {
                let kind = self.type_name(&t.node.0)?;
                self.has_size(&kind, e.span)?;
                Kind::computed()
            }
            Expression::SizeOfVal(v) => {
                if let Expression::Member(m) = &v.node.0.node
                    && self.member(m)?.is_some_and(|f| f.bits)
                {
                    return Err(self.refuse(e.span, "the size of a bit-field"));
                }
                let kind = self.expression(&v.node.0)?;
                self.has_size(&kind, e.span)?;
                Kind::computed()
            }
            Expression::AlignOf(t) => {
                self.type_name(&t.node.0)?;
                Kind::computed()
            }
            Expression::UnaryOperator(u) => self.unary(u)?,
            Expression::Cast(c) => {
                let kind = self.type_name(&c.node.type_name)?;
                self.expression(&c.node.expression)?;
                kind
            }
            Expression::BinaryOperator(b) => self.binary(b)?,
            Expression::Conditional(c) => {
                self.expression(&c.node.condition)?;
                self.expression(&c.node.then_expression)?;
                self.expression(&c.node.else_expression)?;
                Kind::UNKNOWN
            }
            Expression::Comma(list) => {
                let mut last = Kind::UNKNOWN;
                for e in list.iter() {
                    last = self.expression(e)?;
                }
                last.decayed()
            }
            Expression::OffsetOf(o) => {
                self.type_name(&o.node.type_name)?;
                Kind::computed()
            }
            Expression::VaArg(v) => {
                self.expression(&v.node.va_list)?;
                self.type_name(&v.node.type_name)?
            }
            Expression::Statement(s) => {
                self.statement(s)?;
                Kind::UNKNOWN
            }
        })
    }

    fn named(&mut self, name: &str, at: Span) -> Res<Kind> {
        if let Some(declared) = self.lookup(name) {
            return Ok(declared.kind.clone());
        }
        let known = name.starts_with("__builtin_")
            || matches!(name, "__func__" | "__FUNCTION__" | "__PRETTY_FUNCTION__")
            || self.implicit.contains(name);
        if known { Ok(Kind::UNKNOWN) } else { Err(self.refuse(at, format!("`{name}` is not declared"))) }
    }

    fn call(&mut self, c: &Node<CallExpression>) -> Res<Kind> {
        let callee = match &c.node.callee.node {
            // Then its declaration is implied.
            Expression::Identifier(i) if self.lookup(&i.node.name).is_none() => {
                self.implicit.insert(i.node.name.clone());
                Kind::UNKNOWN
            }
            _ => self.expression(&c.node.callee)?,
        };
        for a in &c.node.arguments {
            self.expression(a)?;
        }
        let Some(s) = callee.signature() else { return Ok(Kind::UNKNOWN) };
        if let Some(wanted) = s.parameters.as_ref().map(Vec::len) {
            let given = c.node.arguments.len();
            if given < wanted || given > wanted && !s.more {
                return Err(self.refuse(
                    c.span,
                    format!("the call has {given} arguments, and the function takes {wanted}"),
                ));
            }
        }
        Ok(Kind { read_only: false, ..s.result.clone() })
    }

    /// The member of a structure that is meant, where its type is known.
    fn member(&mut self, m: &Node<MemberExpression>) -> Res<Option<Field>> {
        let base = self.expression(&m.node.expression)?;
        let base = match m.node.operator.node {
            MemberOperator::Direct => Some(base),
            MemberOperator::Indirect => base.pointee(),
        };
        let Some(Kind { of: Of::Record(id), read_only }) = base else { return Ok(None) };
        let Some(fields) = &self.records[id].fields else { return Ok(None) };
        let name = &m.node.identifier.node.name;
        match fields.iter().find(|f| f.name == *name) {
            Some(f) => {
                let kind = Kind { of: f.kind.of.clone(), read_only: f.kind.read_only || read_only };
                Ok(Some(Field { kind, ..f.clone() }))
            }
            None => Err(self.refuse(m.node.identifier.span, format!("there is no member `{name}`"))),
        }
    }

    fn has_size(&self, kind: &Kind, at: Span) -> Res<()> {
        match kind.of {
            Of::Record(id) if self.records[id].fields.is_none() => {
                Err(self.refuse(at, "the size of a type that is not complete"))
            }
            _ => Ok(()),
        }
    }

    fn unary(&mut self, u: &Node<UnaryOperatorExpression>) -> Res<Kind> {
        let operand = &u.node.operand;
        let kind = self.expression(operand)?;
        Ok(match u.node.operator.node {
            UnaryOperator::Address => {
                if let Some(name) = object(operand)
                    && self.lookup(name).is_some_and(|d| d.register)
                {
                    return Err(
                        self.refuse(u.span, format!("the address of `{name}`, which is in a register"))
                    );
                }
                if kind.is_unknown() { kind } else { Kind::pointer(kind) }
            }
            UnaryOperator::Indirection => kind.pointee().unwrap_or(Kind::UNKNOWN),
            UnaryOperator::PostIncrement
            | UnaryOperator::PostDecrement
            | UnaryOperator::PreIncrement
            | UnaryOperator::PreDecrement => {
                self.may_be_written(&kind, operand.span)?;
                kind
            }
            _ if kind.is_unknown() => kind,
            _ => Kind::computed(),
        })
    }

    fn binary(&mut self, b: &Node<BinaryOperatorExpression>) -> Res<Kind> {
        let (left, right) = (self.expression(&b.node.lhs)?, self.expression(&b.node.rhs)?);
        let op = &b.node.operator.node;
        if is_assignment(op) {
            self.may_be_written(&left, b.node.lhs.span)?;
            return Ok(left);
        }
        let unknown = left.is_unknown() || right.is_unknown();
        Ok(match op {
            BinaryOperator::Index => {
                left.pointee().or_else(|| right.pointee()).filter(|_| !unknown).unwrap_or(Kind::UNKNOWN)
            }
            BinaryOperator::Plus | BinaryOperator::Minus => {
                let (left, right) = (left.decayed(), right.decayed());
                match (&left.of, &right.of) {
                    _ if unknown => Kind::UNKNOWN,
                    (Of::Pointer(p), Of::Pointer(q)) => {
                        if *op == BinaryOperator::Minus && !p.of.agrees(&q.of) {
                            let reason = "a difference of pointers to different types";
                            return Err(self.refuse(b.span, reason));
                        }
                        Kind::computed()
                    }
                    (Of::Pointer(_), _) => left,
                    (_, Of::Pointer(_)) => right,
                    _ => Kind::computed(),
                }
            }
            _ => Kind::computed(),
        })
    }

    fn may_be_written(&self, kind: &Kind, at: Span) -> Res<()> {
        if kind.read_only || self.has_read_only(&kind.of) {
            return Err(self.refuse(at, "what is `const` is assigned"));
        }
        Ok(())
    }

    /// Whether a part of it is read-only.
    fn has_read_only(&self, of: &Of) -> bool {
        match of {
            Of::Record(id) => {
                let fields = self.records[*id].fields.iter().flatten();
                fields.into_iter().any(|f| f.kind.read_only || self.has_read_only(&f.kind.of))
            }
            Of::Array(e, _) => e.read_only || self.has_read_only(&e.of),
            _ => false,
        }
    }
}

/// The variable whose own memory an expression is in.
fn object(e: &Node<Expression>) -> Option<&str> {
    match &e.node {
        Expression::Identifier(i) => Some(&i.node.name),
        Expression::Member(m) if m.node.operator.node == MemberOperator::Direct => object(&m.node.expression),
        _ => None,
    }
}

/// The labels of a function.
#[derive(Default)]
struct Labels {
    seen: BTreeSet<String>,
    twice: Option<(String, Span)>,
}

impl<'a> Visit<'a> for Labels {
    fn visit_labeled_statement(&mut self, l: &'a LabeledStatement, s: &'a Span) {
        if let Label::Identifier(i) = &l.label.node
            && !self.seen.insert(i.node.name.clone())
        {
            self.twice.get_or_insert((i.node.name.clone(), i.span));
        }
        visit::visit_labeled_statement(self, l, s);
    }
}
