//! Types as far as constraints ask for them: what may be said of one name twice, what is read-only, how many arguments a call takes.

use std::rc::Rc;

/// A type, and whether what has it is read-only.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) of: Of,
    pub(super) read_only: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Of {
    /// Nothing is said about it: every constraint holds.
    Unknown,
    Void,
    /// An integer, by the one name of its type; the result of arithmetic has none.
    Integer(&'static str),
    Enumeration,
    Floating(&'static str),
    Pointer(Rc<Kind>),
    /// With its length, where that is a plain number.
    Array(Rc<Kind>, Option<u64>),
    Function(Rc<Signature>),
    /// A structure or a union, by its number.
    Record(usize),
}

#[derive(Debug)]
pub(super) struct Signature {
    pub(super) result: Kind,
    /// `None` where the declaration does not say.
    pub(super) parameters: Option<Vec<Kind>>,
    /// Whether more arguments may follow.
    pub(super) more: bool,
}

/// The type of a value that was computed.
pub(super) const COMPUTED: &str = "";

impl Kind {
    pub(super) const UNKNOWN: Kind = Kind { of: Of::Unknown, read_only: false };

    pub(super) fn new(of: Of) -> Kind {
        Kind { of, read_only: false }
    }

    pub(super) fn computed() -> Kind {
        Kind::new(Of::Integer(COMPUTED))
    }

    pub(super) fn pointer(to: Kind) -> Kind {
        Kind::new(Of::Pointer(Rc::new(to)))
    }

    pub(super) fn is_unknown(&self) -> bool {
        matches!(self.of, Of::Unknown)
    }

    pub(super) fn is_function(&self) -> bool {
        matches!(self.of, Of::Function(_))
    }

    /// The element of an array; it is read-only if the array is.
    pub(super) fn element(&self) -> Option<Kind> {
        match &self.of {
            Of::Array(e, _) => Some(Kind { of: e.of.clone(), read_only: e.read_only || self.read_only }),
            _ => None,
        }
    }

    /// As a value: an array is a pointer to its first element, a function one to itself.
    pub(super) fn decayed(self) -> Kind {
        match self.element() {
            Some(e) => Kind::pointer(e),
            None if self.is_function() => Kind::pointer(self),
            None => self,
        }
    }

    /// What a value of this type points to.
    pub(super) fn pointee(self) -> Option<Kind> {
        match self.decayed().of {
            Of::Pointer(to) => Some((*to).clone()),
            _ => None,
        }
    }

    /// What a value of this type calls.
    pub(super) fn signature(self) -> Option<Rc<Signature>> {
        match self.pointee()?.of {
            Of::Function(s) => Some(s),
            _ => None,
        }
    }

    /// Whether two declarations of one object may have these types.
    pub(super) fn agrees(&self, other: &Kind) -> bool {
        self.is_unknown()
            || other.is_unknown()
            || self.innermost_read_only() == other.innermost_read_only() && self.of.agrees(&other.of)
    }

    fn innermost_read_only(&self) -> bool {
        self.read_only || self.element().is_some_and(|e| e.innermost_read_only())
    }
}

impl Of {
    /// The same for types alone.
    pub(super) fn agrees(&self, other: &Of) -> bool {
        match (self, other) {
            (Of::Unknown, _) | (_, Of::Unknown) | (Of::Void, Of::Void) => true,
            // Which integer an enumeration is the compiler decides.
            (Of::Enumeration, Of::Enumeration | Of::Integer(_)) | (Of::Integer(_), Of::Enumeration) => true,
            (Of::Integer(a), Of::Integer(b)) => a == b || *a == COMPUTED || *b == COMPUTED,
            (Of::Floating(a), Of::Floating(b)) => a == b,
            (Of::Pointer(a), Of::Pointer(b)) => a.agrees(b),
            (Of::Array(a, m), Of::Array(b, n)) => {
                a.of.agrees(&b.of) && (m.is_none() || n.is_none() || m == n)
            }
            (Of::Record(a), Of::Record(b)) => a == b,
            (Of::Function(a), Of::Function(b)) => {
                let parameters = match (&a.parameters, &b.parameters) {
                    (Some(p), Some(q)) => {
                        a.more == b.more
                            && p.len() == q.len()
                            && p.iter().zip(q).all(|(p, q)| p.of.agrees(&q.of))
                    }
                    _ => true,
                };
                a.result.of.agrees(&b.result.of) && parameters
            }
            _ => false,
        }
    }
}
