//! Declarations: types, layouts, objects and their initial values.

use super::Refusal;
use super::ctype::{CType, Object, Shape, ShapeKind, Structure, SyncType};
use super::lower::{Entity, Lowering, Res};
use crate::program::{Scope, SyncId, Var};
use crate::term::{Type, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::rc::Rc;

/// Types of pthreads and of semaphores, by name.
fn known_type(name: &str) -> Option<CType> {
    Some(match name {
        "pthread_mutex_t" | "pthread_spinlock_t" => CType::Sync(SyncType::Mutex),
        "pthread_cond_t" => CType::Sync(SyncType::Condition),
        "pthread_rwlock_t" => CType::Sync(SyncType::RwLock),
        "pthread_barrier_t" => CType::Sync(SyncType::Barrier),
        "sem_t" => CType::Sync(SyncType::Semaphore),
        "pthread_t" => CType::Int(Type::unsigned(64)),
        "pthread_attr_t"
        | "pthread_mutexattr_t"
        | "pthread_condattr_t"
        | "pthread_rwlockattr_t"
        | "pthread_barrierattr_t"
        | "FILE"
        | "__builtin_va_list"
        | "va_list" => CType::Opaque(name.to_owned()),
        _ => return None,
    })
}

/// What the specifiers of a declaration say.
#[derive(Clone, Debug)]
pub(crate) struct Specified {
    pub(crate) ctype: CType,
    pub(crate) typedef: bool,
    pub(crate) is_static: bool,
    pub(crate) is_extern: bool,
    pub(crate) thread_local: bool,
}

/// What a declarator says.
pub(crate) struct Declared {
    pub(crate) name: Option<String>,
    pub(crate) ctype: CType,
    pub(crate) parameters: Option<Vec<Parameter>>,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Option<String>,
    pub(crate) ctype: CType,
    pub(crate) span: Span,
}

#[derive(Default)]
struct Words {
    void: bool,
    bool: bool,
    char: bool,
    short: bool,
    int: bool,
    long: u8,
    signed: bool,
    unsigned: bool,
    float: bool,
    atomic: bool,
    other: Option<CType>,
}

impl Lowering<'_> {
    fn word(&mut self, t: &Node<TypeSpecifier>, words: &mut Words) -> Res<()> {
        match &t.node {
            TypeSpecifier::Void => words.void = true,
            TypeSpecifier::Bool => words.bool = true,
            TypeSpecifier::Char => words.char = true,
            TypeSpecifier::Short => words.short = true,
            TypeSpecifier::Int => words.int = true,
            TypeSpecifier::Long => words.long += 1,
            TypeSpecifier::Signed => words.signed = true,
            TypeSpecifier::Unsigned => words.unsigned = true,
            TypeSpecifier::Float
            | TypeSpecifier::Double
            | TypeSpecifier::Complex
            | TypeSpecifier::TS18661Float(_) => {
                words.float = true;
            }
            TypeSpecifier::Atomic(name) => {
                words.other = Some(self.type_name(name)?);
                words.atomic = true;
            }
            TypeSpecifier::Struct(s) => words.other = Some(self.structure(s)?),
            TypeSpecifier::Enum(e) => {
                self.enumeration(e)?;
                words.other = Some(CType::Int(Type::UINT));
                // An enumeration whose constants are all non-negative is unsigned for gcc; its constants are of type int.
                if self.has_negative(e) {
                    words.other = Some(CType::INT);
                }
            }
            TypeSpecifier::TypedefName(n) => {
                let name = &n.node.name;
                let found = match known_type(name) {
                    Some(known) => Some(known),
                    None => match self.lookup(name) {
                        Some(Entity::Typedef(t)) => Some(t),
                        _ => None,
                    },
                };
                words.other = Some(found.ok_or_else(|| self.refuse(n.span, format!("`{name}` is no type")))?);
            }
            TypeSpecifier::TypeOf(t) => {
                let ctype = match &t.node {
                    TypeOf::Type(name) => self.type_name(name)?,
                    TypeOf::Expression(e) => self.type_of(e)?,
                };
                words.other = Some(ctype.plain().clone());
            }
        }
        Ok(())
    }

    fn of_words(&self, w: Words) -> CType {
        let int = |bits, signed| CType::Int(Type { bits, signed });
        let base = if let Some(t) = w.other {
            t
        } else if w.float {
            CType::Opaque("a floating-point type".to_owned())
        } else if w.void {
            CType::Void
        } else if w.bool {
            CType::Int(Type::BOOL)
        } else if w.char {
            int(8, !w.unsigned)
        } else if w.short {
            int(16, !w.unsigned)
        } else if w.long > 0 {
            int(64, !w.unsigned)
        } else {
            int(32, !w.unsigned)
        };
        if w.atomic { CType::Atomic(Rc::new(base)) } else { base }
    }

    pub(crate) fn specifiers(&mut self, list: &[Node<DeclarationSpecifier>]) -> Res<Specified> {
        let mut words = Words::default();
        let (mut typedef, mut is_static, mut is_extern, mut thread_local) = (false, false, false, false);
        for s in list {
            match &s.node {
                DeclarationSpecifier::StorageClass(c) => match c.node {
                    StorageClassSpecifier::Typedef => typedef = true,
                    StorageClassSpecifier::Static => is_static = true,
                    StorageClassSpecifier::Extern => is_extern = true,
                    StorageClassSpecifier::ThreadLocal => thread_local = true,
                    StorageClassSpecifier::Auto | StorageClassSpecifier::Register => {}
                },
                DeclarationSpecifier::TypeSpecifier(t) => self.word(t, &mut words)?,
                DeclarationSpecifier::TypeQualifier(q) => words.atomic |= q.node == TypeQualifier::Atomic,
                DeclarationSpecifier::Function(_)
                | DeclarationSpecifier::Alignment(_)
                | DeclarationSpecifier::Extension(_) => {}
            }
        }
        Ok(Specified { ctype: self.of_words(words), typedef, is_static, is_extern, thread_local })
    }

    fn qualifiers(&mut self, list: &[Node<SpecifierQualifier>]) -> Res<CType> {
        let mut words = Words::default();
        for s in list {
            match &s.node {
                SpecifierQualifier::TypeSpecifier(t) => self.word(t, &mut words)?,
                SpecifierQualifier::TypeQualifier(q) => words.atomic |= q.node == TypeQualifier::Atomic,
                SpecifierQualifier::Extension(_) => {}
            }
        }
        Ok(self.of_words(words))
    }

    pub(crate) fn type_name(&mut self, t: &Node<TypeName>) -> Res<CType> {
        let base = self.qualifiers(&t.node.specifiers)?;
        match &t.node.declarator {
            None => Ok(base),
            Some(d) => Ok(self.declarator(d, base)?.ctype),
        }
    }

    /// Applies a declarator to a base type.
    pub(crate) fn declarator(&mut self, d: &Node<Declarator>, base: CType) -> Res<Declared> {
        let mut ctype = base;
        let mut parameters = None;
        // Pointers come first and apply to the base; arrays and functions apply from the last to the first.
        for p in &d.node.derived {
            if let DerivedDeclarator::Pointer(q) = &p.node {
                ctype = CType::Pointer(Rc::new(ctype));
                let atomic = |q: &Node<PointerQualifier>| matches!(&q.node, PointerQualifier::TypeQualifier(t) if t.node == TypeQualifier::Atomic);
                if q.iter().any(atomic) {
                    ctype = CType::Atomic(Rc::new(ctype));
                }
            }
        }
        for p in d.node.derived.iter().rev() {
            match &p.node {
                DerivedDeclarator::Pointer(_) => {}
                DerivedDeclarator::Array(a) => {
                    ctype = match &a.node.size {
                        ArraySize::Unknown => CType::OpenArray(Rc::new(ctype)),
                        ArraySize::VariableExpression(e) | ArraySize::StaticExpression(e) => {
                            let n = self.constant(e, "the length of an array")?;
                            let n = u64::try_from(n)
                                .ok()
                                .filter(|n| *n <= 1 << 20)
                                .ok_or_else(|| self.refuse(e.span, format!("an array of {n} cells")))?;
                            CType::Array(Rc::new(ctype), n)
                        }
                        ArraySize::VariableUnknown => {
                            return Err(self.refuse(p.span, "an array whose length is not known"));
                        }
                    };
                }
                DerivedDeclarator::Function(f) => {
                    let mut list = Vec::new();
                    for p in &f.node.parameters {
                        list.push(self.parameter(p)?);
                    }
                    if let [Parameter { ctype: CType::Void, .. }] = list[..] {
                        list.clear();
                    }
                    parameters = Some(list);
                    ctype = CType::Function(Rc::new(ctype));
                }
                DerivedDeclarator::KRFunction(names) => {
                    if !names.is_empty() {
                        return Err(self.refuse(p.span, "parameters in the style before 1989"));
                    }
                    parameters = Some(Vec::new());
                    ctype = CType::Function(Rc::new(ctype));
                }
                DerivedDeclarator::Block(_) => return Err(self.refuse(p.span, "a block of Clang")),
            }
        }
        match &d.node.kind.node {
            DeclaratorKind::Abstract => Ok(Declared { name: None, ctype, parameters }),
            DeclaratorKind::Identifier(i) => {
                Ok(Declared { name: Some(i.node.name.clone()), ctype, parameters })
            }
            DeclaratorKind::Declarator(inner) => {
                let outer = self.declarator(inner, ctype)?;
                Ok(Declared { parameters: outer.parameters.or(parameters), ..outer })
            }
        }
    }

    fn parameter(&mut self, p: &Node<ParameterDeclaration>) -> Res<Parameter> {
        let specified = self.specifiers(&p.node.specifiers)?;
        let declared = match &p.node.declarator {
            None => Declared { name: None, ctype: specified.ctype, parameters: None },
            Some(d) => self.declarator(d, specified.ctype)?,
        };
        let ctype = match declared.ctype {
            CType::Array(t, _) | CType::OpenArray(t) => CType::Pointer(t),
            CType::Function(_) => CType::Pointer(Rc::new(declared.ctype)),
            other => other,
        };
        Ok(Parameter { name: declared.name, ctype, span: p.span })
    }

    fn structure(&mut self, s: &Node<StructType>) -> Res<CType> {
        let union = s.node.kind.node == StructKind::Union;
        let tag = s.node.identifier.as_ref().map(|i| i.node.name.clone());
        let complete = s.node.declarations.is_some();
        let known = tag.as_ref().and_then(|t| self.tag(t, complete));
        let id = match known {
            Some(id) => id,
            None => {
                let name = tag.clone().unwrap_or_else(|| "?".to_owned());
                self.structs.push(Structure { name, fields: None, size: 0, align: 1, union });
                let id = self.structs.len() - 1;
                if let Some(t) = tag {
                    self.set_tag(t, id);
                }
                id
            }
        };
        if let Some(list) = &s.node.declarations {
            let mut fields = Vec::new();
            let (mut size, mut align) = (0u64, 1u64);
            for d in list {
                let StructDeclaration::Field(f) = &d.node else { continue };
                let base = self.qualifiers(&f.node.specifiers)?;
                if f.node.declarators.is_empty() {
                    // An anonymous member: its fields cannot be named through it here.
                    fields.push((
                        format!("?{}", fields.len()),
                        CType::Opaque("an anonymous member".into()),
                        size,
                    ));
                    let (s, a) = self.layout(&base);
                    size = size.next_multiple_of(a.max(1)) + s;
                    align = align.max(a);
                }
                for sd in &f.node.declarators {
                    let Some(d) = &sd.node.declarator else { continue };
                    let declared = self.declarator(d, base.clone())?;
                    let mut ctype = declared.ctype;
                    if sd.node.bit_width.is_some() {
                        ctype = CType::Opaque("a bit-field".to_owned());
                    }
                    let (s, a) = self.layout(&ctype);
                    let offset = if union { 0 } else { size.next_multiple_of(a.max(1)) };
                    size = if union { size.max(s) } else { offset + s };
                    align = align.max(a);
                    fields.push((declared.name.unwrap_or_default(), ctype, offset));
                }
            }
            let st = &mut self.structs[id];
            st.fields = Some(fields);
            st.size = size.next_multiple_of(align);
            st.align = align;
        }
        Ok(CType::Struct(id))
    }

    fn enumeration(&mut self, e: &Node<EnumType>) -> Res<()> {
        let mut next = 0i128;
        for c in &e.node.enumerators {
            if let Some(value) = &c.node.expression {
                next = self.constant(value, "the value of an enumerator")?;
            }
            let name = c.node.identifier.node.name.clone();
            self.declare(name, Entity::Constant(next, CType::INT));
            next += 1;
        }
        Ok(())
    }

    fn has_negative(&self, e: &Node<EnumType>) -> bool {
        let negative = |name: &str| matches!(self.lookup(name), Some(Entity::Constant(v, _)) if v < 0);
        e.node.enumerators.is_empty()
            || e.node.enumerators.iter().any(|c| negative(&c.node.identifier.node.name))
    }

    /// Size and alignment in bytes.
    pub(crate) fn layout(&self, t: &CType) -> (u64, u64) {
        match t {
            CType::Void | CType::Function(_) => (1, 1),
            CType::Int(t) => {
                let bytes = (t.bits as u64).div_ceil(8);
                (bytes, bytes)
            }
            CType::Pointer(_) => (8, 8),
            CType::Array(e, n) => {
                let (s, a) = self.layout(e);
                (s * n, a)
            }
            CType::OpenArray(e) => (0, self.layout(e).1),
            CType::Struct(id) => (self.structs[*id].size, self.structs[*id].align),
            // As glibc has them on x86-64.
            CType::Sync(SyncType::Mutex) => (40, 8),
            CType::Sync(SyncType::RwLock) => (56, 8),
            CType::Sync(SyncType::Condition) => (48, 8),
            CType::Sync(SyncType::Barrier | SyncType::Semaphore) => (32, 8),
            CType::Atomic(t) => self.layout(t),
            CType::Opaque(_) => (8, 8),
        }
    }

    /// Makes an object of a type.
    pub(crate) fn object(&mut self, name: &str, ctype: &CType, scope: Scope, span: Span) -> Res<usize> {
        let (size, align) = self.layout(ctype);
        let base = self.next_address.next_multiple_of(align.max(16));
        // Nothing lies right behind an object, so that a pointer past its end points to nothing.
        self.next_address = base + size + 16;
        let shape = self.shape(name, ctype, 0, 1, false, scope, span)?;
        self.objects.push(Object { base, size, shape: Rc::new(shape) });
        Ok(self.objects.len() - 1)
    }

    #[allow(clippy::too_many_arguments, reason = "one recursion over types")]
    fn shape(
        &mut self,
        name: &str,
        ctype: &CType,
        offset: u64,
        copies: u64,
        array: bool,
        scope: Scope,
        span: Span,
    ) -> Res<Shape> {
        let kind = match ctype {
            CType::Array(e, len) => {
                let stride = self.layout(e).0;
                let element = self.shape(name, e, offset, copies * len, true, scope, span)?;
                ShapeKind::Array { len: *len, stride, element: Rc::new(element) }
            }
            CType::Struct(id) => {
                let st = self.structs[*id].clone();
                if st.union {
                    self.union_shape(name, &st, offset, copies, array, scope, span)
                } else {
                    let Some(fields) = st.fields else {
                        return Err(self.refuse(span, format!("`struct {}` is not complete", st.name)));
                    };
                    let mut parts = Vec::new();
                    for (f, t, o) in &fields {
                        let full = format!("{name}.{f}");
                        let part = self.shape(&full, t, offset + o, copies, array, scope, span)?;
                        parts.push((f.clone(), Rc::new(part)));
                    }
                    ShapeKind::Struct(parts)
                }
            }
            CType::Sync(kind) => {
                let list = (0..copies).map(|i| self.sync_object(name, *kind, array.then_some(i))).collect();
                ShapeKind::Sync(list)
            }
            CType::Int(_) | CType::Pointer(_) | CType::Atomic(_) => match ctype.scalar() {
                None => ShapeKind::Opaque,
                Some(ty) => {
                    let len = array.then_some(copies as u32);
                    let at = self.span(span);
                    let init = vec![0; copies as usize];
                    let var = Var {
                        name: name.to_owned(),
                        ty,
                        len,
                        scope,
                        init,
                        internal: false,
                        atomic: ctype.is_atomic(),
                        span: at,
                    };
                    ShapeKind::Scalar(self.b.variable(var))
                }
            },
            CType::Void | CType::Function(_) | CType::OpenArray(_) | CType::Opaque(_) => ShapeKind::Opaque,
        };
        Ok(Shape { ctype: ctype.clone(), offset, kind })
    }

    /// A union of integers and pointers; nothing of another one can be read or written.
    #[allow(clippy::too_many_arguments, reason = "as for any shape")]
    fn union_shape(
        &mut self,
        name: &str,
        st: &Structure,
        offset: u64,
        copies: u64,
        array: bool,
        scope: Scope,
        span: Span,
    ) -> ShapeKind {
        let fields = st.fields.clone().unwrap_or_default();
        let width = |t: &CType| match t {
            CType::Int(i) if i.bits > 1 => Some(i.bits),
            CType::Pointer(_) => Some(64),
            _ => None,
        };
        let Some(widths) = fields.iter().map(|f| width(&f.1)).collect::<Option<Vec<u8>>>() else {
            return ShapeKind::Opaque;
        };
        let Some(bits) = widths.into_iter().max() else { return ShapeKind::Opaque };
        let at = self.span(span);
        let var = self.b.variable(Var {
            name: name.to_owned(),
            ty: Type::unsigned(bits),
            len: array.then_some(copies as u32),
            scope,
            init: vec![0; copies as usize],
            internal: false,
            atomic: false,
            span: at,
        });
        self.unions.insert(var);
        let part = |(f, t, _): (String, CType, u64)| {
            (f, Rc::new(Shape { ctype: t, offset, kind: ShapeKind::Scalar(var) }))
        };
        ShapeKind::Union { var, fields: fields.into_iter().map(part).collect() }
    }

    fn sync_object(&mut self, name: &str, kind: SyncType, index: Option<u64>) -> SyncId {
        let name = match index {
            None => name.to_owned(),
            Some(i) => format!("{name}[{i}]"),
        };
        match kind {
            SyncType::Mutex => self.b.mutex(&name),
            SyncType::RwLock => self.b.rwlock(&name),
            SyncType::Condition => self.b.condition(&name),
            SyncType::Barrier => self.b.barrier(&name, 0),
            SyncType::Semaphore => self.b.semaphore(&name, 0),
        }
    }

    /// An array whose length the initialiser says.
    pub(crate) fn complete(&mut self, ctype: CType, init: Option<&Node<Initializer>>) -> Res<CType> {
        let CType::OpenArray(e) = ctype else { return Ok(ctype) };
        let n = match init.map(|i| &i.node) {
            Some(Initializer::List(items)) => {
                let (mut at, mut most) = (0u64, 0u64);
                for item in items {
                    if let Some(Node { node: Designator::Index(i), .. }) = item.node.designation.first() {
                        at = self.constant(i, "an index")? as u64;
                    }
                    at += 1;
                    most = most.max(at);
                }
                most
            }
            Some(Initializer::Expression(e)) => match &e.node {
                Expression::StringLiteral(s) => {
                    s.node.iter().map(|p| p.len().saturating_sub(2) as u64).sum::<u64>() + 1
                }
                _ => return Err(self.refuse(e.span, "this does not say how long the array is")),
            },
            None => return Ok(CType::OpenArray(e)),
        };
        Ok(CType::Array(e, n))
    }

    /// The leaves of a shape with the linear index of each, for initialisation: calls `see` with variable, index, type.
    pub(crate) fn leaves(shape: &Shape, index: u64, see: &mut impl FnMut(VarId, u64, &CType)) {
        match &shape.kind {
            ShapeKind::Scalar(v) | ShapeKind::Union { var: v, .. } => see(*v, index, &shape.ctype),
            ShapeKind::Struct(fields) => fields.iter().for_each(|(_, f)| Self::leaves(f, index, see)),
            ShapeKind::Array { len, element, .. } => {
                (0..*len).for_each(|i| Self::leaves(element, index * len + i, see));
            }
            ShapeKind::Sync(_) | ShapeKind::Opaque => {}
        }
    }

    /// A list of initial values against a shape: which expression each leaf gets. Leaves that are not named are zero.
    pub(crate) fn initial<'n>(
        &mut self,
        shape: &Shape,
        index: u64,
        init: &'n Node<Initializer>,
        out: &mut Vec<(VarId, u64, CType, &'n Node<Expression>)>,
    ) -> Res<()> {
        match (&shape.kind, &init.node) {
            (ShapeKind::Scalar(v), Initializer::Expression(e)) => {
                out.push((*v, index, shape.ctype.clone(), e));
                Ok(())
            }
            (ShapeKind::Scalar(_), Initializer::List(items)) => match &items[..] {
                [one] if one.node.designation.is_empty() => {
                    self.initial(shape, index, &one.node.initializer, out)
                }
                [] => Ok(()),
                _ => Err(self.refuse(init.span, "several values for one variable")),
            },
            (ShapeKind::Array { len, element, .. }, Initializer::List(items)) => {
                let mut at = 0u64;
                for item in items {
                    let mut last = None;
                    match item.node.designation.first().map(|d| &d.node) {
                        None => {}
                        Some(Designator::Index(i)) => at = self.constant(i, "an index")? as u64,
                        Some(Designator::Range(r)) => {
                            at = self.constant(&r.node.from, "an index")? as u64;
                            last = Some(self.constant(&r.node.to, "an index")? as u64);
                        }
                        Some(_) => return Err(self.refuse(item.span, "this way to name cells")),
                    }
                    let last = last.unwrap_or(at);
                    if last >= *len || last < at {
                        return Err(self.refuse(item.span, "more values than the array has cells"));
                    }
                    if !matches!(item.node.initializer.node, Initializer::List(_))
                        && !matches!(element.kind, ShapeKind::Scalar(_) | ShapeKind::Sync(_))
                    {
                        return Err(self.refuse(item.span, "nested values without braces"));
                    }
                    for i in at..=last {
                        self.initial(element, index * len + i, &item.node.initializer, out)?;
                    }
                    at = last + 1;
                }
                Ok(())
            }
            (ShapeKind::Struct(fields), Initializer::List(items)) => {
                let mut at = 0usize;
                for item in items {
                    match item.node.designation.first().map(|d| &d.node) {
                        None => {}
                        Some(Designator::Member(m)) => {
                            let named = fields.iter().position(|f| f.0 == m.node.name);
                            at = named.ok_or_else(|| self.refuse(item.span, "there is no such field"))?;
                        }
                        Some(_) => return Err(self.refuse(item.span, "this way to name fields")),
                    }
                    let Some((_, field)) = fields.get(at) else {
                        return Err(self.refuse(item.span, "more values than there are fields"));
                    };
                    let field = field.clone();
                    self.initial(&field, index, &item.node.initializer, out)?;
                    at += 1;
                }
                Ok(())
            }
            // What PTHREAD_MUTEX_INITIALIZER and the like stand for is the state at the start anyway.
            (ShapeKind::Sync(_), Initializer::List(items)) => {
                items.iter().try_for_each(|i| self.initial(shape, index, &i.node.initializer, out))
            }
            (ShapeKind::Sync(_), Initializer::Expression(e)) => {
                match self.constant(e, "this initial value") {
                    Ok(0) => Ok(()),
                    _ => Err(self.refuse(init.span, "a lock of a special kind")),
                }
            }
            // The first field gets it, the rest is zero.
            (ShapeKind::Union { var, .. }, Initializer::List(items)) => match &items[..] {
                [] => Ok(()),
                [one] if one.node.designation.is_empty() => match &one.node.initializer.node {
                    Initializer::Expression(e) if self.constant(e, "this initial value")? >= 0 => {
                        let ty = self.b.program().var(*var).ty;
                        out.push((*var, index, CType::Int(ty), e));
                        Ok(())
                    }
                    _ => Err(self.refuse(init.span, "this initial value of a union")),
                },
                _ => Err(self.refuse(init.span, "this initial value of a union")),
            },
            (ShapeKind::Opaque, _) => {
                Err(self.refuse(init.span, format!("a variable of type {}", shape.ctype)))
            }
            _ => Err(self.refuse(init.span, "this initial value")),
        }
    }

    /// Refuses what cannot be a variable.
    pub(crate) fn must_be_known(&self, ctype: &CType, span: Span) -> Result<(), Refusal> {
        match ctype.plain() {
            CType::OpenArray(_) | CType::Void => {
                Err(self.refuse(span, "a variable of a type that is not complete"))
            }
            CType::Array(e, _) => self.must_be_known(e, span),
            _ => Ok(()),
        }
    }
}
