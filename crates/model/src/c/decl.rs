//! Declarations: types, layouts, objects and their initial values.

use super::Refusal;
use super::attributes::Placed;
use super::ctype::{BitField, CType, Object, Shape, ShapeKind, Structure, SyncType};
use super::lower::{Entity, Lowering, Res};
use crate::program::{Scope, SyncId, Var};
use crate::term::{Type, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::rc::Rc;

/// Types of pthreads and of semaphores, by name.
fn known_type(name: &str) -> Option<CType> {
    Some(match name {
        "pthread_mutex_t" | "pthread_spinlock_t" | "mtx_t" => CType::Sync(SyncType::Mutex),
        "pthread_cond_t" | "cnd_t" => CType::Sync(SyncType::Condition),
        "pthread_rwlock_t" => CType::Sync(SyncType::RwLock),
        "pthread_barrier_t" => CType::Sync(SyncType::Barrier),
        "sem_t" => CType::Sync(SyncType::Semaphore),
        "pthread_t" | "thrd_t" => CType::Int(Type::unsigned(64)),
        // Of the compiler's header it is a structure.
        "atomic_flag" => CType::Atomic(Rc::new(CType::Int(Type::BOOL))),
        // The number of its kind; whether the function of a `once` has run.
        "pthread_mutexattr_t" => CType::INT,
        "pthread_once_t" | "once_flag" => CType::Atomic(Rc::new(CType::INT)),
        "pthread_attr_t"
        | "pthread_condattr_t"
        | "pthread_rwlockattr_t"
        | "pthread_barrierattr_t"
        | "FILE"
        | "__builtin_va_list"
        | "va_list" => CType::Opaque(name.to_owned()),
        _ => return None,
    })
}

/// Types whose size is known, and nothing else.
const FLOAT: &str = "the floating-point type float";
const DOUBLE: &str = "the floating-point type double";
const LONG_DOUBLE: &str = "the floating-point type long double";

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
    /// A floating-point type of so many bytes.
    float: Option<u8>,
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
            TypeSpecifier::Float => words.float = Some(4),
            TypeSpecifier::Double => words.float = Some(8),
            // Of these the size is not known here.
            TypeSpecifier::Complex | TypeSpecifier::TS18661Float(_) => words.float = Some(0),
            TypeSpecifier::Atomic(name) => {
                words.other = Some(self.type_name(name)?);
                words.atomic = true;
            }
            TypeSpecifier::Struct(s) => words.other = Some(self.structure(s)?),
            TypeSpecifier::Enum(e) => words.other = Some(self.enumeration(e)?),
            TypeSpecifier::TypedefName(n) => {
                let name = &n.node.name;
                let found = match known_type(name) {
                    // What is said of it otherwise changes nothing.
                    Some(_) if name == "pthread_attr_t" && self.detaches => Some(CType::INT),
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
        } else if let Some(bytes) = w.float {
            let name = match (bytes, w.long) {
                (4, _) => FLOAT,
                (8, 0) => DOUBLE,
                (8, _) => LONG_DOUBLE,
                _ => "a floating-point type",
            };
            CType::Opaque(name.to_owned())
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
        let mut last = None;
        for s in list {
            match &s.node {
                DeclarationSpecifier::StorageClass(c) => match c.node {
                    StorageClassSpecifier::Typedef => typedef = true,
                    StorageClassSpecifier::Static => is_static = true,
                    StorageClassSpecifier::Extern => is_extern = true,
                    StorageClassSpecifier::ThreadLocal => thread_local = true,
                    StorageClassSpecifier::Auto | StorageClassSpecifier::Register => {}
                },
                DeclarationSpecifier::TypeSpecifier(t) => {
                    self.word(t, &mut words)?;
                    last = Some(t);
                }
                DeclarationSpecifier::TypeQualifier(q) => words.atomic |= q.node == TypeQualifier::Atomic,
                DeclarationSpecifier::Function(_) | DeclarationSpecifier::Alignment(_) => {}
                DeclarationSpecifier::Extension(list) => self.behind(last, &words, list)?,
            }
        }
        let mut ctype = self.of_words(words);
        for s in list {
            if let DeclarationSpecifier::Extension(list) = &s.node {
                ctype = self.in_mode(ctype, list)?;
            }
        }
        Ok(Specified { ctype, typedef, is_static, is_extern, thread_local })
    }

    /// Attributes among the specifiers: behind the definition of a structure they say how that lies in memory.
    fn behind(
        &mut self,
        last: Option<&Node<TypeSpecifier>>,
        words: &Words,
        list: &[Node<Extension>],
    ) -> Res<()> {
        let placed = self.placed(list)?;
        if let (Some(at), Some(CType::Struct(id))) = (last, &words.other)
            && matches!(&at.node, TypeSpecifier::Struct(s) if s.node.declarations.is_some())
        {
            self.lay_out(*id, placed, at)?;
        }
        Ok(())
    }

    fn qualifiers(&mut self, list: &[Node<SpecifierQualifier>]) -> Res<CType> {
        let mut words = Words::default();
        let mut last = None;
        for s in list {
            match &s.node {
                SpecifierQualifier::TypeSpecifier(t) => {
                    self.word(t, &mut words)?;
                    last = Some(t);
                }
                SpecifierQualifier::TypeQualifier(q) => words.atomic |= q.node == TypeQualifier::Atomic,
                SpecifierQualifier::Extension(list) => self.behind(last, &words, list)?,
            }
        }
        let mut ctype = self.of_words(words);
        for s in list {
            if let SpecifierQualifier::Extension(list) = &s.node {
                ctype = self.in_mode(ctype, list)?;
            }
        }
        Ok(ctype)
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
        self.declarator_of(d, base, false)
    }

    /// The same, perhaps of a parameter: an array is a pointer there, however long it is.
    fn declarator_of(&mut self, d: &Node<Declarator>, base: CType, parameter: bool) -> Res<Declared> {
        let is_array = |p: &Node<DerivedDeclarator>| matches!(p.node, DerivedDeclarator::Array(_));
        let nested = matches!(d.node.kind.node, DeclaratorKind::Declarator(_));
        let outer = d.node.derived.iter().position(is_array).filter(|_| parameter && !nested);
        self.placed(&d.node.extensions)?;
        let mut ctype = self.in_mode(base, &d.node.extensions)?;
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
        for (n, p) in d.node.derived.iter().enumerate().rev() {
            match &p.node {
                DerivedDeclarator::Pointer(_) => {}
                DerivedDeclarator::Array(a) => {
                    ctype = match &a.node.size {
                        ArraySize::VariableExpression(e) | ArraySize::StaticExpression(e)
                            if Some(n) == outer && !super::scan::expression(e).has_effects() =>
                        {
                            CType::OpenArray(Rc::new(ctype))
                        }
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
            Some(d) => self.declarator_of(d, specified.ctype, true)?,
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
        // What is read again, because the function that it is in is inlined again, is the same type.
        if let Some(id) = self.defined.get(&s.span.start).copied().filter(|_| complete) {
            if let Some(t) = tag {
                self.set_tag(t, id);
            }
            return Ok(CType::Struct(id));
        }
        let known = tag.as_ref().and_then(|t| self.tag(t, complete));
        let id = match known {
            Some(id) => id,
            None => {
                let name = tag.clone().unwrap_or_else(|| "?".to_owned());
                self.structs.push(Structure {
                    name,
                    fields: None,
                    bit_fields: Vec::new(),
                    order: Vec::new(),
                    size: 0,
                    align: 1,
                    union,
                });
                let id = self.structs.len() - 1;
                if let Some(t) = tag {
                    self.set_tag(t, id);
                }
                id
            }
        };
        if let Some(list) = &s.node.declarations {
            self.fields(id, list, union)?;
            self.defined.insert(s.span.start, id);
        }
        Ok(CType::Struct(id))
    }

    /// The fields of a structure, as the ABI of x86-64 lays them out.
    fn fields(&mut self, id: usize, list: &[Node<StructDeclaration>], union: bool) -> Res<()> {
        let (mut fields, mut order) = (Vec::new(), Vec::new());
        let mut bit_fields: Vec<BitField> = Vec::new();
        // How far it is filled, in bits; and the neighbours that bit-fields are put into: from which bit, to which, from which on.
        let (mut filled, mut align) = (0u64, 1u64);
        let mut run: Option<(u64, u64, usize)> = None;
        for d in list {
            let StructDeclaration::Field(f) = &d.node else { continue };
            let base = self.qualifiers(&f.node.specifiers)?;
            let mut members: Vec<(Option<String>, CType, Option<u64>, Placed)> = Vec::new();
            let mut all = Placed::default();
            // Behind a structure that is defined here they are about that.
            let defines = f.node.specifiers.iter().any(|s| {
                matches!(&s.node, SpecifierQualifier::TypeSpecifier(t)
                    if matches!(&t.node, TypeSpecifier::Struct(s) if s.node.declarations.is_some()))
            });
            for s in f.node.specifiers.iter().filter(|_| !defines) {
                if let SpecifierQualifier::Extension(list) = &s.node {
                    let more = self.placed(list)?;
                    all.packed |= more.packed;
                    all.aligned = all.aligned.max(more.aligned);
                }
            }
            if f.node.declarators.is_empty() {
                members.push((Some(format!("?{}", order.len())), base.clone(), None, all));
            }
            for sd in &f.node.declarators {
                let mut placed = all;
                let (name, ctype) = match &sd.node.declarator {
                    Some(d) => {
                        let more = self.placed(&d.node.extensions)?;
                        placed.packed |= more.packed;
                        placed.aligned = placed.aligned.max(more.aligned);
                        let declared = self.declarator(d, base.clone())?;
                        (declared.name, declared.ctype)
                    }
                    None => (None, base.clone()),
                };
                let width = match &sd.node.bit_width {
                    Some(w) => Some(self.constant(w, "the width of a bit-field")? as u64),
                    None => None,
                };
                members.push((name, ctype, width, placed));
            }
            for (name, ctype, width, placed) in members {
                let mut inner = &ctype;
                while let CType::Array(t, _) | CType::Atomic(t) = inner {
                    inner = t;
                }
                if matches!(inner, CType::Struct(id) if self.structs[*id].fields.is_none()) {
                    return Err(self.refuse(d.span, "a field of a type that is not complete"));
                }
                let (s, mut a) = self.layout(&ctype);
                if width.is_some() && (placed.packed || placed.aligned.is_some()) {
                    return Err(self.refuse(d.span, "a bit-field with such an attribute"));
                }
                a = if placed.packed { 1 } else { a };
                a = placed.aligned.map_or(a, |n| a.max(n));
                let Some(width) = width else {
                    close(&mut run, &mut bit_fields, &mut fields);
                    let offset = if union { 0 } else { filled.div_ceil(8).next_multiple_of(a.max(1)) };
                    filled = filled.max((offset + s) * 8);
                    align = align.max(a);
                    let name = name.unwrap_or_default();
                    order.push(name.clone());
                    fields.push((name, ctype, offset));
                    continue;
                };
                let CType::Int(declared) = ctype.plain() else {
                    return Err(self.refuse(d.span, format!("a bit-field of type {ctype}")));
                };
                let unit = s * 8;
                let mut at = if union { 0 } else { filled };
                if width == 0 && name.is_some() {
                    return Err(self.refuse(d.span, "a bit-field of no bits with a name"));
                }
                if width == 0 {
                    close(&mut run, &mut bit_fields, &mut fields);
                    filled = filled.next_multiple_of(unit);
                    continue;
                }
                if width > unit || ctype.is_atomic() {
                    return Err(self.refuse(d.span, "a bit-field of this width or type"));
                }
                if at / unit != (at + width - 1) / unit {
                    at = at.next_multiple_of(unit);
                }
                filled = filled.max(at + width);
                if let Some(name) = name {
                    align = align.max(a);
                    // Neighbours are one place in memory, as far as one word holds them.
                    if union || run.is_some_and(|r| r.0 / 64 != at / 64) {
                        close(&mut run, &mut bit_fields, &mut fields);
                    }
                    let (from, ..) = *run.get_or_insert((at / 8 * 8, at, bit_fields.len()));
                    run = run.map(|r| (r.0, at + width, r.2));
                    let ty = Type { bits: width as u8, signed: declared.signed };
                    order.push(name.clone());
                    bit_fields.push(BitField { name, within: String::new(), shift: at - from, ty, ctype });
                }
            }
        }
        close(&mut run, &mut bit_fields, &mut fields);
        let st = &mut self.structs[id];
        (st.fields, st.bit_fields, st.order) = (Some(fields), bit_fields, order);
        st.size = filled.div_ceil(8).next_multiple_of(align);
        st.align = align;
        Ok(())
    }

    /// Reads an enumeration: it is unsigned for gcc if no constant is negative; its constants are of type int.
    fn enumeration(&mut self, e: &Node<EnumType>) -> Res<CType> {
        let key = e.node.identifier.as_ref().map(|i| format!("enum {}", i.node.name));
        if e.node.enumerators.is_empty() {
            let known = key.and_then(|k| self.lookup(&k));
            return Ok(match known {
                Some(Entity::Typedef(t)) => t,
                _ => CType::Int(Type::UINT),
            });
        }
        let (mut next, mut least, mut most) = (0i128, 0i128, 0i128);
        for c in &e.node.enumerators {
            if let Some(value) = &c.node.expression {
                next = self.constant(value, "the value of an enumerator")?;
            }
            (least, most) = (least.min(next), most.max(next));
            let name = c.node.identifier.node.name.clone();
            let fits = (Type::INT.min()..=Type::INT.max()).contains(&next);
            let ctype = match fits {
                true => CType::INT,
                false if (0..=Type::UINT.max()).contains(&next) => CType::Int(Type::UINT),
                false => CType::Int(Type::signed(64)),
            };
            self.declare(name, Entity::Constant(next, ctype));
            next += 1;
        }
        let wide = least < Type::INT.min() || most > Type::UINT.max() || least < 0 && most > Type::INT.max();
        let ctype = CType::Int(Type { bits: if wide { 64 } else { 32 }, signed: least < 0 });
        if let Some(k) = key {
            self.declare(k, Entity::Typedef(ctype.clone()));
        }
        Ok(ctype)
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
            CType::Opaque(n) => match n.as_str() {
                FLOAT => (4, 4),
                LONG_DOUBLE => (16, 16),
                _ => (8, 8),
            },
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
                    self.union_shape(name, &st, copies, array, scope, span)
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
                        parts: false,
                        span: at,
                    };
                    ShapeKind::Scalar(self.b.variable(var))
                }
            },
            CType::Void | CType::Function(_) | CType::OpenArray(_) | CType::Opaque(_) => ShapeKind::Opaque,
        };
        Ok(Shape { ctype: ctype.clone(), offset, kind })
    }

    /// How many bits a union has whose members are parts of one variable: integers, pointers, and structures and arrays of these, of
    /// up to 8 bytes together.
    pub(crate) fn union_bits(&self, st: &Structure) -> Option<u8> {
        let fields = st.fields.as_ref()?;
        let fine = st.size > 0 && st.size <= 8 && fields.iter().all(|f| self.is_plain_data(&f.1));
        fine.then(|| st.size as u8 * 8)
    }

    fn is_plain_data(&self, t: &CType) -> bool {
        match t {
            CType::Int(i) => i.bits > 1,
            CType::Pointer(_) => true,
            CType::Array(e, _) => self.is_plain_data(e),
            CType::Struct(id) => {
                let st = &self.structs[*id];
                let bits = st.bit_fields.iter().all(|b| b.ctype != CType::Int(Type::BOOL));
                bits && st.fields.as_ref().is_some_and(|f| f.iter().all(|f| self.is_plain_data(&f.1)))
            }
            _ => false,
        }
    }

    /// A union in one variable; nothing of another one can be read or written.
    #[allow(clippy::too_many_arguments, reason = "as for any shape")]
    fn union_shape(
        &mut self,
        name: &str,
        st: &Structure,
        copies: u64,
        array: bool,
        scope: Scope,
        span: Span,
    ) -> ShapeKind {
        let Some(bits) = self.union_bits(st) else { return ShapeKind::Opaque };
        let at = self.span(span);
        let var = self.b.variable(Var {
            name: name.to_owned(),
            ty: Type::unsigned(bits),
            len: array.then_some(copies as u32),
            scope,
            init: vec![0; copies as usize],
            internal: false,
            atomic: false,
            parts: true,
            span: at,
        });
        ShapeKind::Union { var }
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
            Some(Initializer::List(items)) => match &items[..] {
                [Node { node: one, .. }] if one.designation.is_empty() && is_text(&one.initializer) => {
                    return self.complete(CType::OpenArray(e), Some(&one.initializer));
                }
                _ => self.cells_named(&e, items)?,
            },
            Some(Initializer::Expression(e)) => match &e.node {
                Expression::StringLiteral(s) => self.text(s)?.len() as u64 + 1,
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

/// Neighbouring bit-fields become parts of one field.
fn close(run: &mut Option<(u64, u64, usize)>, bits: &mut [BitField], fields: &mut Vec<(String, CType, u64)>) {
    let Some((from, to, first)) = run.take() else { return };
    let names: Vec<&str> = bits[first..].iter().map(|b| b.name.as_str()).collect();
    let within = format!("({})", names.join(","));
    let unit = CType::Int(Type::unsigned((to - from).next_multiple_of(8) as u8));
    fields.push((within.clone(), unit, from / 8));
    bits[first..].iter_mut().for_each(|b| b.within = within.clone());
}

/// Whether an initialiser is a text.
pub(crate) fn is_text(i: &Node<Initializer>) -> bool {
    matches!(&i.node, Initializer::Expression(e) if matches!(e.node, Expression::StringLiteral(_)))
}
