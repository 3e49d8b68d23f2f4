//! What declarations say, and whether they may say it together.

use super::kinds::{Kind, Of, Signature};
use super::{Checker, Declared, Field, Linkage, Meaning, Record, Res, TagKind};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::collections::BTreeSet;
use std::rc::Rc;

/// What the specifiers of a declaration say.
struct Specified {
    kind: Kind,
    class: Option<StorageClassSpecifier>,
    thread_local: bool,
    inline: bool,
}

/// A parameter that a function gives a name: whether it is in a register, and where.
type Parameter = (String, Kind, bool, Span);

/// What a declarator says.
struct Said {
    name: Option<(String, Span)>,
    kind: Kind,
    /// Of a function.
    parameters: Vec<Parameter>,
}

/// How often each word occurs.
#[derive(Default)]
struct Words {
    /// Words that are a type by themselves.
    types: usize,
    kind: Option<Kind>,
    char: bool,
    int: bool,
    double: bool,
    short: usize,
    long: usize,
    signed: usize,
    unsigned: usize,
    complex: bool,
}

impl Checker<'_> {
    pub(super) fn declaration(&mut self, d: &Node<Declaration>) -> Res<()> {
        let specified = self.specifiers(&d.node.specifiers, d.span)?;
        for i in &d.node.declarators {
            let at = i.node.declarator.span;
            let said = self.declarator(&i.node.declarator, specified.kind.clone())?;
            let Some((name, _)) = said.name else { continue };
            let initializer = i.node.initializer.as_ref();
            let outside = self.scopes.len() == 1;
            let declared = declared(&specified, said.kind, outside, initializer.is_some());
            if declared.linkage == Linkage::External && !outside && initializer.is_some() {
                return Err(self.refuse(at, format!("`{name}` is `extern` here and has a first value")));
            }
            let lasts = declared.linkage != Linkage::None
                || specified.thread_local
                || specified.class == Some(StorageClassSpecifier::Static);
            self.declare(name, declared, at)?;
            if let Some(init) = initializer {
                self.initializer(init)?;
                if lasts {
                    self.first_value(init)?;
                }
            }
        }
        Ok(())
    }

    fn initializer(&mut self, i: &Node<Initializer>) -> Res<()> {
        match &i.node {
            Initializer::Expression(e) => self.expression(e).map(|_| ()),
            Initializer::List(items) => self.items_of(items),
        }
    }

    pub(super) fn items_of(&mut self, items: &[Node<InitializerListItem>]) -> Res<()> {
        for item in items {
            for d in &item.node.designation {
                match &d.node {
                    Designator::Index(e) => self.maybe(Some(e))?,
                    Designator::Range(r) => {
                        self.expression(&r.node.from)?;
                        self.expression(&r.node.to)?;
                    }
                    Designator::Member(_) => {}
                }
            }
            self.initializer(&item.node.initializer)?;
        }
        Ok(())
    }

    /// Declares the function that a definition defines; its parameters.
    pub(super) fn defined_function(&mut self, d: &Node<FunctionDefinition>) -> Res<Vec<Parameter>> {
        let specified = self.specifiers(&d.node.specifiers, d.span)?;
        let at = d.node.declarator.span;
        let said = self.declarator(&d.node.declarator, specified.kind.clone())?;
        if let Some((_, _, _, at)) = said.parameters.iter().find(|p| matches!(p.1.of, Of::Void)) {
            return Err(self.refuse(*at, "a parameter of a type that is not complete"));
        }
        // An inline function that is `extern` may be there for inlining alone, and be defined again.
        let again = specified.inline && specified.class == Some(StorageClassSpecifier::Extern);
        let declared = declared(&specified, said.kind, true, !again);
        if let Some((name, _)) = said.name {
            self.declare(name, declared, at)?;
        }
        Ok(said.parameters)
    }

    /// A name is declared, perhaps once more.
    pub(super) fn declare(&mut self, name: String, mut new: Declared, at: Span) -> Res<()> {
        let inside = self.scopes.len() > 1;
        // What all scopes mean by it has one type, wherever it is declared.
        if inside
            && new.linkage == Linkage::External
            && let Some(old) = self.scopes[0].names.get(&name)
            && old.meaning == new.meaning
            && !old.kind.agrees(&new.kind)
        {
            return Err(self.refuse(at, format!("`{name}` is declared with another type before")));
        }
        let scope = self.scopes.last_mut().expect("the file is a scope");
        let Some(old) = scope.names.get(&name) else {
            scope.names.insert(name, new);
            return Ok(());
        };
        let unknown = old.kind.is_unknown() || new.kind.is_unknown();
        let reason = if old.meaning != new.meaning && !unknown {
            Some("is declared as something else before")
        } else if new.meaning == Meaning::Enumerator || inside && no_linkage(old, &new) {
            Some("is declared twice in the same scope")
        } else if !old.kind.agrees(&new.kind) {
            Some("is declared with another type before")
        } else if old.defined && new.defined {
            Some("is defined twice")
        } else {
            match (old.linkage, new.linkage) {
                (Linkage::External, Linkage::Internal) => {
                    Some("is `static`, and declared without that before")
                }
                (Linkage::Internal, Linkage::External) if new.meaning == Meaning::Object && !new.inherits => {
                    Some("is declared `static` before")
                }
                _ => None,
            }
        };
        if let Some(reason) = reason {
            return Err(self.refuse(at, format!("`{name}` {reason}")));
        }
        new.defined |= old.defined;
        new.linkage = old.linkage;
        // An array whose length is said before has it still.
        if matches!(new.kind.of, Of::Array(_, None)) {
            new.kind = old.kind.clone();
        }
        scope.names.insert(name, new);
        Ok(())
    }

    fn specifiers(&mut self, list: &[Node<DeclarationSpecifier>], at: Span) -> Res<Specified> {
        let mut words = Words::default();
        let (mut class, mut thread_local, mut inline) = (None, false, false);
        let (mut read_only, mut changed) = (false, false);
        for s in list {
            match &s.node {
                DeclarationSpecifier::StorageClass(c) if c.node == StorageClassSpecifier::ThreadLocal => {
                    thread_local = true;
                }
                DeclarationSpecifier::StorageClass(c) => {
                    if class.replace(c.node.clone()).is_some() {
                        return Err(self.refuse(c.span, "two storage classes"));
                    }
                }
                DeclarationSpecifier::TypeSpecifier(t) => self.word(t, &mut words)?,
                DeclarationSpecifier::TypeQualifier(q) => read_only |= q.node == TypeQualifier::Const,
                DeclarationSpecifier::Function(f) => inline |= f.node == FunctionSpecifier::Inline,
                DeclarationSpecifier::Alignment(_) => {}
                DeclarationSpecifier::Extension(list) => changed |= changes_type(list),
            }
        }
        let mut kind = self.of_words(words, at)?;
        kind.read_only |= read_only;
        kind = if changed { Kind::UNKNOWN } else { kind };
        Ok(Specified { kind, class, thread_local, inline })
    }

    fn qualifiers(&mut self, list: &[Node<SpecifierQualifier>], at: Span) -> Res<Kind> {
        let mut words = Words::default();
        let (mut read_only, mut changed) = (false, false);
        for s in list {
            match &s.node {
                SpecifierQualifier::TypeSpecifier(t) => self.word(t, &mut words)?,
                SpecifierQualifier::TypeQualifier(q) => read_only |= q.node == TypeQualifier::Const,
                SpecifierQualifier::Extension(list) => changed |= changes_type(list),
            }
        }
        let mut kind = self.of_words(words, at)?;
        kind.read_only |= read_only;
        Ok(if changed { Kind::UNKNOWN } else { kind })
    }

    fn word(&mut self, t: &Node<TypeSpecifier>, words: &mut Words) -> Res<()> {
        let kind = match &t.node {
            TypeSpecifier::Short => {
                words.short += 1;
                return Ok(());
            }
            TypeSpecifier::Long => {
                words.long += 1;
                return Ok(());
            }
            TypeSpecifier::Signed => {
                words.signed += 1;
                return Ok(());
            }
            TypeSpecifier::Unsigned => {
                words.unsigned += 1;
                return Ok(());
            }
            TypeSpecifier::Complex => {
                words.complex = true;
                return Ok(());
            }
            TypeSpecifier::Char => {
                words.char = true;
                Kind::new(Of::Integer("char"))
            }
            TypeSpecifier::Int => {
                words.int = true;
                Kind::new(Of::Integer("int"))
            }
            TypeSpecifier::Double => {
                words.double = true;
                Kind::new(Of::Floating("double"))
            }
            TypeSpecifier::Float => Kind::new(Of::Floating("float")),
            TypeSpecifier::Void => Kind::new(Of::Void),
            TypeSpecifier::Bool => Kind::new(Of::Integer("_Bool")),
            TypeSpecifier::Atomic(name) => self.type_name(name)?,
            TypeSpecifier::Struct(s) => self.record(s)?,
            TypeSpecifier::Enum(e) => self.enumeration(e)?,
            TypeSpecifier::TypedefName(n) => match self.lookup(&n.node.name) {
                Some(d) if d.meaning == Meaning::Typedef => d.kind.clone(),
                _ => Kind::UNKNOWN,
            },
            TypeSpecifier::TypeOf(t) => match &t.node {
                TypeOf::Type(name) => self.type_name(name)?,
                // `__auto_type` is written so, too, and is never read-only.
                TypeOf::Expression(e) => Kind { read_only: false, ..self.expression(e)? },
            },
            TypeSpecifier::TS18661Float(_) => Kind::UNKNOWN,
        };
        words.types += 1;
        words.kind = Some(kind);
        Ok(())
    }

    fn of_words(&self, w: Words, at: Span) -> Res<Kind> {
        let signs = w.signed + w.unsigned;
        let lengths = w.short + w.long;
        let integer = w.types == 0 || w.int;
        let fits = w.types <= 1
            && signs <= 1
            && w.short <= 1
            && w.long <= 2
            && (w.short == 0 || w.long == 0)
            && (signs == 0 || integer || w.char)
            && (lengths == 0 || integer || w.double && w.short == 0 && w.long == 1);
        // What is complex, and what has no type at all, lowering looks at.
        if !fits && !w.complex {
            return Err(self.refuse(at, "words that make no type together"));
        }
        let unsigned = w.unsigned > 0;
        let name = |signed: &'static str, other: &'static str| {
            Kind::new(Of::Integer(if unsigned { other } else { signed }))
        };
        Ok(if w.complex {
            Kind::UNKNOWN
        } else if w.double && w.long > 0 {
            Kind::new(Of::Floating("long double"))
        } else if w.char && signs > 0 {
            name("signed char", "unsigned char")
        } else if !integer {
            w.kind.unwrap_or(Kind::UNKNOWN)
        } else {
            match (w.short, w.long) {
                (1, _) => name("short", "unsigned short"),
                (_, 1) => name("long", "unsigned long"),
                (_, 2) => name("long long", "unsigned long long"),
                _ => name("int", "unsigned int"),
            }
        })
    }

    pub(super) fn type_name(&mut self, t: &Node<TypeName>) -> Res<Kind> {
        let base = self.qualifiers(&t.node.specifiers, t.span)?;
        match &t.node.declarator {
            None => Ok(base),
            Some(d) => Ok(self.declarator(d, base)?.kind),
        }
    }

    fn declarator(&mut self, d: &Node<Declarator>, base: Kind) -> Res<Said> {
        let mut kind = if changes_type(&d.node.extensions) { Kind::UNKNOWN } else { base };
        let mut parameters = Vec::new();
        // Pointers come first and apply to the base; arrays and functions apply from the last to the first.
        for p in &d.node.derived {
            if let DerivedDeclarator::Pointer(q) = &p.node {
                let is_const = |q: &Node<PointerQualifier>| matches!(&q.node, PointerQualifier::TypeQualifier(t) if t.node == TypeQualifier::Const);
                kind = Kind { read_only: q.iter().any(is_const), ..Kind::pointer(kind) };
            }
        }
        for p in d.node.derived.iter().rev() {
            match &p.node {
                DerivedDeclarator::Pointer(_) | DerivedDeclarator::Block(_) => {}
                DerivedDeclarator::Array(a) => {
                    if kind.is_function() {
                        return Err(self.refuse(p.span, "an array of functions"));
                    }
                    let len = self.length(&a.node.size)?;
                    kind = Kind::new(Of::Array(Rc::new(kind), len));
                }
                DerivedDeclarator::Function(_) | DerivedDeclarator::KRFunction(_) => {
                    if kind.is_function() || matches!(kind.of, Of::Array(..)) {
                        return Err(self.refuse(p.span, "a function that returns an array or a function"));
                    }
                    let (kinds, more) = match &p.node {
                        DerivedDeclarator::Function(f) => {
                            let (named, kinds) = self.in_scope(|me| me.parameters(f))?;
                            parameters = named;
                            (Some(kinds), f.node.ellipsis == Ellipsis::Some)
                        }
                        DerivedDeclarator::KRFunction(names) => {
                            let named =
                                |n: &Node<Identifier>| (n.node.name.clone(), Kind::UNKNOWN, false, n.span);
                            parameters = names.iter().map(named).collect();
                            (None, false)
                        }
                        _ => (None, false),
                    };
                    let signature = Signature { result: kind, parameters: kinds, more };
                    kind = Kind::new(Of::Function(Rc::new(signature)));
                }
            }
        }
        match &d.node.kind.node {
            DeclaratorKind::Abstract => Ok(Said { name: None, kind, parameters }),
            DeclaratorKind::Identifier(i) => {
                Ok(Said { name: Some((i.node.name.clone(), i.span)), kind, parameters })
            }
            DeclaratorKind::Declarator(inner) => {
                let only_brackets = inner.node.derived.is_empty();
                let inner = self.declarator(inner, kind)?;
                Ok(Said { parameters: if only_brackets { parameters } else { inner.parameters }, ..inner })
            }
        }
    }

    fn length(&mut self, size: &ArraySize) -> Res<Option<u64>> {
        let (ArraySize::VariableExpression(e) | ArraySize::StaticExpression(e)) = size else {
            return Ok(None);
        };
        if self.scopes.len() == 1 {
            self.number(e, "the length of an array")?;
        } else {
            self.expression(e)?;
        }
        Ok(match &e.node {
            Expression::Constant(c) => match &c.node {
                Constant::Integer(i) if i.base == IntegerBase::Decimal => i.number.parse().ok(),
                _ => None,
            },
            _ => None,
        })
    }

    /// The parameters of a function: those with a name, and the types of all.
    fn parameters(&mut self, f: &Node<FunctionDeclarator>) -> Res<(Vec<Parameter>, Vec<Kind>)> {
        let (mut named, mut kinds) = (Vec::new(), Vec::new());
        for p in &f.node.parameters {
            let specified = self.specifiers(&p.node.specifiers, p.span)?;
            let said = match &p.node.declarator {
                None => Said { name: None, kind: specified.kind, parameters: Vec::new() },
                Some(d) => self.declarator(d, specified.kind)?,
            };
            let kind = if changes_type(&p.node.extensions) { Kind::UNKNOWN } else { said.kind.decayed() };
            if let Some((name, at)) = said.name {
                let register = specified.class == Some(StorageClassSpecifier::Register);
                let linkage = Linkage::None;
                let meaning = Meaning::Object;
                let declared = Declared {
                    meaning,
                    kind: kind.clone(),
                    linkage,
                    defined: true,
                    register,
                    inherits: false,
                };
                // The length of an array that comes later may name it.
                self.declare(name.clone(), declared, at)?;
                named.push((name, kind.clone(), register, at));
            }
            kinds.push(kind);
        }
        if let [Kind { of: Of::Void, .. }] = kinds[..]
            && named.is_empty()
        {
            kinds.clear();
        }
        Ok((named, kinds))
    }

    /// The record or enumeration that a tag names in this scope, made if there is none.
    fn tag(&mut self, name: &str, kind: TagKind, complete: bool, at: Span) -> Res<usize> {
        let here = self.scopes.len() - 1;
        let from = if complete { here } else { 0 };
        let found = self.scopes[from..].iter().rev().find_map(|s| s.tags.get(name)).copied();
        if let Some((was, id, done)) = found {
            if was != kind {
                return Err(self.refuse(at, format!("the tag `{name}` is of another kind")));
            }
            if complete && done {
                return Err(self.refuse(at, format!("the type `{name}` is defined twice")));
            }
            if complete {
                self.scopes[here].tags.insert(name.to_owned(), (kind, id, true));
            }
            return Ok(id);
        }
        self.records.push(Record::default());
        let id = self.records.len() - 1;
        self.scopes[here].tags.insert(name.to_owned(), (kind, id, complete));
        Ok(id)
    }

    fn record(&mut self, s: &Node<StructType>) -> Res<Kind> {
        let kind = if s.node.kind.node == StructKind::Union { TagKind::Union } else { TagKind::Struct };
        let id = match &s.node.identifier {
            Some(tag) => self.tag(&tag.node.name, kind, s.node.declarations.is_some(), s.span)?,
            None => {
                self.records.push(Record::default());
                self.records.len() - 1
            }
        };
        if let Some(list) = &s.node.declarations {
            let fields = self.fields(list)?;
            self.records[id].fields = Some(fields);
        }
        Ok(Kind::new(Of::Record(id)))
    }

    fn fields(&mut self, list: &[Node<StructDeclaration>]) -> Res<Vec<Field>> {
        let mut all: Vec<(Field, Span)> = Vec::new();
        for d in list {
            let StructDeclaration::Field(f) = &d.node else { continue };
            let base = self.qualifiers(&f.node.specifiers, f.span)?;
            if let (Of::Record(id), true) = (&base.of, f.node.declarators.is_empty()) {
                // Members of a member without a name are members.
                for inner in self.records[*id].fields.iter().flatten() {
                    let read_only = inner.kind.read_only || base.read_only;
                    let kind = Kind { of: inner.kind.of.clone(), read_only };
                    all.push((Field { kind, ..inner.clone() }, f.span));
                }
            }
            for sd in &f.node.declarators {
                if let Some(width) = &sd.node.bit_width {
                    self.number(width, "the width of a bit-field")?;
                }
                let Some(declarator) = &sd.node.declarator else { continue };
                let Said { name: Some((name, at)), kind, .. } = self.declarator(declarator, base.clone())?
                else {
                    continue;
                };
                let mut whole = kind.clone();
                while let Some(element) = whole.element() {
                    whole = element;
                }
                if matches!(whole.of, Of::Record(id) if self.records[id].fields.is_none()) {
                    return Err(self.refuse(at, format!("`{name}` is of a type that is not complete")));
                }
                all.push((Field { name, kind, bits: sd.node.bit_width.is_some() }, at));
            }
        }
        let mut names = BTreeSet::new();
        for (f, at) in &all {
            if !names.insert(&f.name) {
                return Err(self.refuse(*at, format!("a second member `{}`", f.name)));
            }
        }
        Ok(all.into_iter().map(|(f, _)| f).collect())
    }

    fn enumeration(&mut self, e: &Node<EnumType>) -> Res<Kind> {
        let complete = !e.node.enumerators.is_empty();
        if let Some(tag) = &e.node.identifier {
            self.tag(&tag.node.name, TagKind::Enum, complete, e.span)?;
        }
        for c in &e.node.enumerators {
            if let Some(value) = &c.node.expression {
                self.number(value, "the value of an enumerator")?;
            }
            let declared = Declared {
                meaning: Meaning::Enumerator,
                kind: Kind::computed(),
                linkage: Linkage::None,
                defined: true,
                register: false,
                inherits: false,
            };
            self.declare(c.node.identifier.node.name.clone(), declared, c.span)?;
        }
        Ok(Kind::new(Of::Enumeration))
    }
}

/// What a declaration means by its name.
fn declared(specified: &Specified, kind: Kind, outside: bool, defined: bool) -> Declared {
    use StorageClassSpecifier::{Extern, Register, Static, Typedef};
    let class = specified.class.as_ref();
    let meaning = match class {
        Some(Typedef) => Meaning::Typedef,
        _ if kind.is_function() => Meaning::Function,
        _ => Meaning::Object,
    };
    let linkage = match class {
        Some(Typedef) => Linkage::None,
        Some(Static) if outside => Linkage::Internal,
        Some(Extern) => Linkage::External,
        _ if outside || meaning == Meaning::Function => Linkage::External,
        _ => Linkage::None,
    };
    let inherits = class == Some(&Extern);
    Declared { meaning, kind, linkage, defined, register: class == Some(&Register), inherits }
}

/// Whether two declarations of one scope cannot mean the same thing.
fn no_linkage(old: &Declared, new: &Declared) -> bool {
    old.meaning == Meaning::Object && (old.linkage == Linkage::None || new.linkage == Linkage::None)
}

/// Whether an attribute makes another type of a type.
fn changes_type(list: &[Node<Extension>]) -> bool {
    list.iter().any(|x| match &x.node {
        Extension::Attribute(a) => {
            matches!(a.name.node.trim_matches('_'), "mode" | "vector_size" | "transparent_union")
        }
        _ => false,
    })
}
