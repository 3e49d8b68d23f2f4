//! Types of C, and how objects of them lie in memory.

use crate::program::SyncId;
use crate::term::{Type, VarId};
use std::fmt;
use std::rc::Rc;

/// A kind of synchronisation object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncType {
    Mutex,
    RwLock,
    Condition,
    Barrier,
    Semaphore,
}

/// A type of C.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CType {
    Void,
    /// An integer; one bit is `_Bool`.
    Int(Type),
    Pointer(Rc<CType>),
    Array(Rc<CType>, u64),
    /// An array whose length its initialiser says.
    OpenArray(Rc<CType>),
    Struct(usize),
    Function(Rc<CType>),
    Sync(SyncType),
    Atomic(Rc<CType>),
    /// A type that we know by name only, or not at all: nothing of it can be read or written.
    Opaque(String),
}

/// The type of pointers' values.
pub(crate) const ADDRESS: Type = Type::unsigned(64);

/// A structure.
#[derive(Clone, Debug)]
pub(crate) struct Structure {
    pub(crate) name: String,
    /// Names, types and offsets, once it is complete.
    pub(crate) fields: Option<Vec<(String, CType, u64)>>,
    /// Bit-fields: each is a part of a field that holds it and its neighbours.
    pub(crate) bit_fields: Vec<BitField>,
    /// What an initialiser names one after the other, bit-fields among them.
    pub(crate) order: Vec<String>,
    pub(crate) size: u64,
    pub(crate) align: u64,
    pub(crate) union: bool,
}

/// A bit-field.
#[derive(Clone, Debug)]
pub(crate) struct BitField {
    pub(crate) name: String,
    /// The field that it is a part of.
    pub(crate) within: String,
    /// From which bit on.
    pub(crate) shift: u64,
    /// How many bits, and whether one is a sign.
    pub(crate) ty: Type,
    /// The type that it is declared with.
    pub(crate) ctype: CType,
}

impl CType {
    pub(crate) const INT: CType = CType::Int(Type::INT);

    /// Without `_Atomic`.
    pub(crate) fn plain(&self) -> &CType {
        match self {
            CType::Atomic(inner) => inner.plain(),
            other => other,
        }
    }

    pub(crate) fn is_atomic(&self) -> bool {
        matches!(self, CType::Atomic(_))
    }

    /// How values of a scalar type are represented.
    pub(crate) fn scalar(&self) -> Option<Type> {
        match self.plain() {
            CType::Int(t) => Some(*t),
            CType::Pointer(_) => Some(ADDRESS),
            _ => None,
        }
    }
}

impl fmt::Display for CType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CType::Void => f.write_str("void"),
            CType::Int(t) if t.bits == 1 => f.write_str("_Bool"),
            CType::Int(t) => {
                let name = match t.bits {
                    8 => "char",
                    16 => "short",
                    32 => "int",
                    _ => "long",
                };
                write!(f, "{}{name}", if t.signed { "" } else { "unsigned " })
            }
            CType::Pointer(t) => write!(f, "{t} *"),
            CType::Array(t, n) => write!(f, "{t}[{n}]"),
            CType::OpenArray(t) => write!(f, "{t}[]"),
            CType::Struct(_) => f.write_str("a structure"),
            CType::Function(_) => f.write_str("a function"),
            CType::Sync(s) => write!(f, "a {s:?}"),
            CType::Atomic(t) => write!(f, "_Atomic {t}"),
            CType::Opaque(n) => write!(f, "`{n}`"),
        }
    }
}

/// How an object is made of variables.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) ctype: CType,
    /// In bytes, from the start of the object.
    pub(crate) offset: u64,
    pub(crate) kind: ShapeKind,
}

impl Shape {
    /// Whether a lock or the like is in it.
    pub(crate) fn has_sync(&self, s: SyncId) -> bool {
        match &self.kind {
            ShapeKind::Sync(list) => list.contains(&s),
            ShapeKind::Struct(fields) => fields.iter().any(|(_, f)| f.has_sync(s)),
            ShapeKind::Array { element, .. } => element.has_sync(s),
            ShapeKind::Scalar(_) | ShapeKind::Union { .. } | ShapeKind::Opaque => false,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum ShapeKind {
    Scalar(VarId),
    /// One for each element of the arrays around it.
    Sync(Vec<SyncId>),
    Struct(Vec<(String, Rc<Shape>)>),
    Array {
        len: u64,
        stride: u64,
        element: Rc<Shape>,
    },
    /// Members are parts of the bits of one variable.
    Union {
        var: VarId,
    },
    /// Nothing that can be read or written.
    Opaque,
}

/// An object: a variable of the program, whatever its type.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) base: u64,
    pub(crate) size: u64,
    pub(crate) shape: Rc<Shape>,
}
