//! Attributes of gcc: those that change what a declaration means are followed or refused, the others say nothing that counts here.

use super::ctype::CType;
use super::lower::{Lowering, Res};
use crate::term::Type;
use lang_c::ast::*;
use lang_c::span::Node;

/// What attributes say of the place of something.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Placed {
    pub(super) packed: bool,
    /// At multiples of so many bytes.
    pub(super) aligned: Option<u64>,
}

/// Attributes that make code run which nothing in the text calls, or that make one thing another.
const REFUSED: &[(&str, &str)] = &[
    ("cleanup", "a variable with a function that is called at the end of its scope"),
    ("constructor", "a function that runs before `main`"),
    ("destructor", "a function that runs after `main`"),
    ("alias", "another name of something"),
    ("ifunc", "a function that is chosen when the program starts"),
    ("vector_size", "a vector"),
    ("scalar_storage_order", "bytes in another order"),
];

/// The attributes in a list, with their names as they are without underscores around.
fn attributes(list: &[Node<Extension>]) -> impl Iterator<Item = (&str, &Attribute, &Node<Extension>)> {
    list.iter().filter_map(|e| match &e.node {
        Extension::Attribute(a) => Some((a.name.node.trim_matches('_'), a, e)),
        _ => None,
    })
}

impl Lowering<'_> {
    /// What attributes say of where something lies. Refuses those that cannot be followed.
    pub(super) fn placed(&mut self, list: &[Node<Extension>]) -> Res<Placed> {
        let mut placed = Placed::default();
        for (name, a, e) in attributes(list) {
            if let Some((_, what)) = REFUSED.iter().find(|r| r.0 == name) {
                return Err(self.refuse(e.span, format!("{what} (`{name}`)")));
            }
            match name {
                "packed" => placed.packed = true,
                "aligned" => {
                    let n = match a.arguments.first() {
                        Some(n) => self.constant(n, "an alignment")?,
                        None => 16,
                    };
                    let n = u64::try_from(n).ok().filter(|n| n.is_power_of_two());
                    let n = n.ok_or_else(|| self.refuse(e.span, "this alignment"))?;
                    placed.aligned = placed.aligned.max(Some(n));
                }
                _ => {}
            }
        }
        Ok(placed)
    }

    /// A type as attributes have it: `mode` says how wide it is.
    pub(super) fn in_mode(&mut self, ctype: CType, list: &[Node<Extension>]) -> Res<CType> {
        let mut ctype = ctype;
        for (name, a, e) in attributes(list) {
            if name != "mode" {
                continue;
            }
            let mode = match a.arguments.first().map(|n| &n.node) {
                Some(Expression::Identifier(i)) => i.node.name.trim_matches('_'),
                _ => "",
            };
            let bits = match mode {
                "QI" | "byte" => 8,
                "HI" => 16,
                "SI" => 32,
                "DI" | "word" | "pointer" => 64,
                _ => return Err(self.refuse(e.span, "a type of this mode")),
            };
            ctype = match ctype {
                CType::Int(t) if t != Type::BOOL => CType::Int(Type { bits, ..t }),
                _ => return Err(self.refuse(e.span, "a mode of a type that is no integer")),
            };
        }
        Ok(ctype)
    }

    /// Lays a structure out again, with what stands behind its definition.
    pub(super) fn lay_out(&mut self, id: usize, placed: Placed, at: &Node<TypeSpecifier>) -> Res<()> {
        if placed.packed {
            if !self.structs[id].bit_fields.is_empty() {
                return Err(self.refuse(at.span, "a packed structure with bit-fields"));
            }
            let mut fields = self.structs[id].fields.clone().unwrap_or_default();
            let (mut end, mut size) = (0, 0);
            for (_, t, offset) in &mut fields {
                *offset = if self.structs[id].union { 0 } else { end };
                end = *offset + self.layout(t).0;
                size = size.max(end);
            }
            let st = &mut self.structs[id];
            (st.fields, st.size, st.align) = (Some(fields), size, 1);
        }
        if let Some(n) = placed.aligned {
            let st = &mut self.structs[id];
            st.align = st.align.max(n);
            st.size = st.size.next_multiple_of(st.align);
        }
        Ok(())
    }
}
