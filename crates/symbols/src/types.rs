//! Types, and which part of an object of a type lies at an offset.
//!
//! What a person would not write is left out of the names: members that belong to the C or C++ implementation
//! (`x`, not `x._M_i`, for a `std::atomic`), base classes and members without a name.

use std::sync::Arc;

use gimli::{AttributeValue, DwTag};

use crate::debug::{Debug, Die, Entry};
use crate::names::Owner;
use crate::program::Program;

/// A type of the program; only means something to the [`Symbols`](crate::Symbols) it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId {
    pub(crate) module: u32,
    pub(crate) die: Die,
}

/// Nothing nests deeper than this; what does is odd debug information.
const DEEP: usize = 64;

#[derive(Debug)]
pub(crate) struct Type {
    pub(crate) name: Option<String>,
    /// In bytes, where the entry says so.
    pub(crate) size: Option<u64>,
    pub(crate) kind: Kind,
    pub(crate) owner: Owner,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Signed,
    Unsigned,
    Bool,
    Float,
    Pointer { to: Option<TypeId>, reference: bool },
    Record { members: Vec<Member>, union: bool },
    Array { element: Option<TypeId>, counts: Vec<Option<u64>> },
    Enumeration { constants: Vec<(i128, String)>, signed: bool },
    Alias(Option<TypeId>),
    Function,
    Other,
}

#[derive(Debug)]
pub(crate) struct Member {
    /// `None` for base classes and members without a name.
    pub(crate) name: Option<String>,
    pub(crate) ty: Option<TypeId>,
    /// In bytes.
    pub(crate) offset: u64,
    /// First bit and number of bits, for bit fields.
    pub(crate) bits: Option<(u64, u64)>,
}

/// A part of an object.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// What to write behind the name of the object: `.head`, `[3]`, or nothing.
    pub(crate) text: String,
    pub(crate) ty: TypeId,
    pub(crate) size: u64,
    /// How far into the part the offset was.
    pub(crate) rest: u64,
}

/// A pointer somewhere in an object.
pub(crate) struct PointerIn {
    pub(crate) text: String,
    pub(crate) offset: u64,
    pub(crate) ty: TypeId,
    pub(crate) to: Option<TypeId>,
    pub(crate) reference: bool,
}

impl Member {
    /// Whether a person would not write the name of this member of a record.
    pub(crate) fn hidden(&self, record: &Type) -> bool {
        match (&self.name, record.owner) {
            (None, _) | (_, Owner::RustStd) => true,
            (Some(name), Owner::Headers) => name.starts_with('_'),
            (_, Owner::Program) => false,
        }
    }

    /// Whether it is the one member of a `std::array`, of which people write the elements alone.
    fn elements(&self) -> bool {
        matches!(self.name.as_deref(), Some("_M_elems" | "__elems_"))
    }
}

impl Type {
    /// Reads one entry. What cannot be told is `Kind::Other`.
    pub(crate) fn read(debug: &Debug, module: u32, die: Die) -> Option<Type> {
        let entry = debug.entry(die)?;
        if (entry.has_attr(gimli::DW_AT_declaration) || entry.has_attr(gimli::DW_AT_signature))
            && let Some(definition) = debug.definition(die, &entry)
            && definition != die
        {
            // Not a loop: definitions are no declarations, and at worst this is one step.
            let entry = debug.entry(definition)?;
            return Some(Self::of(debug, module, definition, &entry));
        }
        Some(Self::of(debug, module, die, &entry))
    }

    fn of(debug: &Debug, module: u32, die: Die, entry: &Entry) -> Type {
        let inner = || {
            let value = entry.attr_value(gimli::DW_AT_type);
            Some(TypeId { module, die: debug.target(die, value)? })
        };
        let size = entry.attr_value(gimli::DW_AT_byte_size).and_then(|value| value.udata_value());
        let kind = match entry.tag() {
            gimli::DW_TAG_base_type => base_kind(entry),
            gimli::DW_TAG_pointer_type => Kind::Pointer { to: inner(), reference: false },
            gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                Kind::Pointer { to: inner(), reference: true }
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                Kind::Record {
                    members: members(debug, module, die),
                    union: entry.tag() == gimli::DW_TAG_union_type,
                }
            }
            gimli::DW_TAG_array_type => Kind::Array { element: inner(), counts: counts(debug, die) },
            gimli::DW_TAG_enumeration_type => enumeration(debug, die, entry),
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_restrict_type => Kind::Alias(inner()),
            gimli::DW_TAG_subroutine_type => Kind::Function,
            _ => Kind::Other,
        };
        let size = size.or_else(|| match kind {
            Kind::Pointer { .. } => Some(u64::from(debug.unit(die)?.encoding().address_size)),
            _ => None,
        });
        Type { name: debug.name(die, entry), size, kind, owner: debug.owner(die, entry) }
    }
}

fn base_kind(entry: &Entry) -> Kind {
    match entry.attr_value(gimli::DW_AT_encoding) {
        Some(AttributeValue::Encoding(encoding)) => match encoding {
            gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => Kind::Signed,
            gimli::DW_ATE_unsigned
            | gimli::DW_ATE_unsigned_char
            | gimli::DW_ATE_UTF
            | gimli::DW_ATE_address => Kind::Unsigned,
            gimli::DW_ATE_boolean => Kind::Bool,
            gimli::DW_ATE_float => Kind::Float,
            _ => Kind::Other,
        },
        _ => Kind::Other,
    }
}

/// Calls `with` for each entry directly below one.
fn children(debug: &Debug, die: Die, mut with: impl FnMut(DwTag, Die, &Entry)) {
    let Some(unit) = debug.unit(die) else { return };
    let Ok(mut tree) = unit.entries_tree(Some(gimli::UnitOffset(die.offset))) else { return };
    let Ok(root) = tree.root() else { return };
    let mut list = root.children();
    while let Ok(Some(node)) = list.next() {
        let entry = node.entry();
        with(entry.tag(), Die { unit: die.unit, offset: entry.offset().0 }, entry);
    }
}

fn members(debug: &Debug, module: u32, die: Die) -> Vec<Member> {
    let mut found = Vec::new();
    let rust = debug.is_rust(die);
    children(debug, die, |tag, at, entry| {
        if !matches!(tag, gimli::DW_TAG_member | gimli::DW_TAG_inheritance)
            || entry.has_attr(gimli::DW_AT_external)
            || entry.has_attr(gimli::DW_AT_declaration)
        {
            return;
        }
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        // Where a virtual base class is, only the object knows.
        let offset = match entry.attr_value(gimli::DW_AT_data_member_location) {
            Some(value) => match value.udata_value() {
                Some(offset) => offset,
                None => return,
            },
            None => 0,
        };
        let bits = number(gimli::DW_AT_bit_size).map(|size| {
            let first = match (number(gimli::DW_AT_data_bit_offset), number(gimli::DW_AT_bit_offset)) {
                (Some(first), _) => first,
                // The older form counts from the most significant bit of the storage.
                (None, Some(high)) => {
                    let storage = number(gimli::DW_AT_byte_size).unwrap_or(4).saturating_mul(8);
                    let inside = storage.saturating_sub(high.saturating_add(size));
                    offset.saturating_mul(8).saturating_add(inside)
                }
                (None, None) => offset.saturating_mul(8),
            };
            (first, size)
        });
        let mut name = match tag {
            gimli::DW_TAG_inheritance => None,
            _ => debug.name(at, entry).filter(|name| !name.is_empty()),
        };
        if let Some(text) = &mut name {
            if text.starts_with("_vptr") {
                text.truncate("_vptr".len());
            }
            // Rust's tuples: `pair.0`.
            let digits = text.strip_prefix("__").unwrap_or("");
            if rust && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                *text = digits.to_string();
            }
        }
        let ty = debug.target(at, entry.attr_value(gimli::DW_AT_type)).map(|die| TypeId { module, die });
        let offset = bits.map_or(offset, |(first, _)| first / 8);
        found.push(Member { name, ty, offset, bits });
    });
    found
}

fn counts(debug: &Debug, die: Die) -> Vec<Option<u64>> {
    let mut found = Vec::new();
    children(debug, die, |tag, _, entry| {
        if tag != gimli::DW_TAG_subrange_type {
            return;
        }
        let count = entry.attr_value(gimli::DW_AT_count).and_then(|value| value.udata_value());
        let upper = entry.attr_value(gimli::DW_AT_upper_bound);
        // `int a[0]` has the upper bound -1, in whatever width.
        let from_upper = upper.and_then(|value| match value.sdata_value() {
            Some(-1) => Some(0),
            _ => value.udata_value().and_then(|upper| upper.checked_add(1)),
        });
        found.push(count.or(from_upper));
    });
    if found.is_empty() {
        found.push(None);
    }
    found
}

fn enumeration(debug: &Debug, die: Die, entry: &Entry) -> Kind {
    let mut constants = Vec::new();
    children(debug, die, |tag, at, entry| {
        if tag != gimli::DW_TAG_enumerator {
            return;
        }
        let value = entry.attr_value(gimli::DW_AT_const_value);
        let value = value.and_then(|value| match value {
            AttributeValue::Sdata(number) => Some(i128::from(number)),
            other => other.udata_value().map(i128::from).or_else(|| other.sdata_value().map(i128::from)),
        });
        if let (Some(value), Some(name)) = (value, debug.name(at, entry)) {
            constants.push((value, name));
        }
    });
    let signed = match debug.target(die, entry.attr_value(gimli::DW_AT_type)).and_then(|at| debug.entry(at)) {
        Some(underlying) => matches!(base_kind(&underlying), Kind::Signed),
        None => constants.iter().any(|(value, _)| *value < 0),
    };
    Kind::Enumeration { constants, signed }
}

impl Program {
    /// The type as its entry has it.
    pub(crate) fn ty(&mut self, id: TypeId) -> Option<Arc<Type>> {
        let debug = self.modules.get_mut(id.module as usize)?.file().debug.as_mut()?;
        if let Some(known) = debug.types.get(&id.die) {
            return Some(known.clone());
        }
        let ty = Arc::new(Type::read(debug, id.module, id.die)?);
        debug.types.insert(id.die, ty.clone());
        Some(ty)
    }

    /// The type behind `typedef`, `const` and the like.
    pub(crate) fn bare(&mut self, mut id: TypeId) -> Option<(TypeId, Arc<Type>)> {
        for _ in 0..DEEP {
            let ty = self.ty(id)?;
            match ty.kind {
                Kind::Alias(Some(next)) => id = next,
                _ => return Some((id, ty)),
            }
        }
        None
    }

    /// The size of an object of the type. `None` for what is incomplete, as an array without bounds is.
    pub(crate) fn size(&mut self, id: TypeId) -> Option<u64> {
        self.size_within(id, DEEP)
    }

    fn size_within(&mut self, id: TypeId, deep: usize) -> Option<u64> {
        let deep = deep.checked_sub(1)?;
        let (_, ty) = self.bare(id)?;
        match (&ty.kind, ty.size) {
            (_, Some(size)) => Some(size),
            (Kind::Array { element, counts }, None) => {
                let mut size = self.size_within((*element)?, deep)?;
                for count in counts {
                    size = size.checked_mul((*count)?)?;
                }
                Some(size)
            }
            _ => None,
        }
    }

    /// The bytes of what a pointer points to, unless that is empty.
    pub(crate) fn size_of_pointee(&mut self, pointer: TypeId) -> Option<u64> {
        let to = match &self.bare(pointer)?.1.kind {
            Kind::Pointer { to, .. } => (*to)?,
            _ => return None,
        };
        if self.is_empty(to, DEEP) { None } else { self.size(to) }
    }

    /// Whether objects of the type hold nothing, as an empty base class.
    pub(crate) fn is_empty(&mut self, id: TypeId, deep: usize) -> bool {
        let Some(deep) = deep.checked_sub(1) else { return false };
        match self.bare(id) {
            Some((_, ty)) => match &ty.kind {
                // One byte is what C++ gives to what has nothing in it.
                Kind::Record { members, .. } => {
                    ty.size.is_none_or(|size| size <= 1)
                        && members.iter().all(|member| member.ty.is_some_and(|ty| self.is_empty(ty, deep)))
                }
                _ => false,
            },
            None => false,
        }
    }

    /// Whether two entries are for one type: each unit has its own entry for it.
    pub(crate) fn same(&mut self, a: TypeId, b: TypeId) -> bool {
        let (Some((a, first)), Some((b, second))) = (self.bare(a), self.bare(b)) else { return false };
        if a == b {
            return true;
        }
        match (&first.kind, &second.kind) {
            (Kind::Pointer { to: Some(a), .. }, Kind::Pointer { to: Some(b), .. }) => {
                let (a, b) = (*a, *b);
                let (Some((_, a)), Some((_, b))) = (self.bare(a), self.bare(b)) else { return false };
                a.name.is_some() && a.name == b.name
            }
            (Kind::Pointer { .. } | Kind::Array { .. }, _)
            | (_, Kind::Pointer { .. } | Kind::Array { .. }) => false,
            _ => first.name.is_some() && first.name == second.name && self.size(a) == self.size(b),
        }
    }

    /// The smallest part of an object of the type that has the offset. With `whole`, a part of that type which
    /// begins at the offset is taken whole.
    pub(crate) fn part(&mut self, ty: TypeId, offset: u64, whole: Option<TypeId>) -> Part {
        self.part_within(ty, offset, whole, DEEP)
    }

    fn part_within(&mut self, id: TypeId, offset: u64, whole: Option<TypeId>, deep: usize) -> Part {
        let size = self.size(id).unwrap_or(0);
        let here = Part { text: String::new(), ty: id, size, rest: offset };
        let Some(deep) = deep.checked_sub(1) else { return here };
        if offset == 0 && whole.is_some_and(|whole| self.same(id, whole)) {
            return here;
        }
        let Some((_, ty)) = self.bare(id) else { return here };
        match &ty.kind {
            Kind::Array { element, counts } => {
                let Some(element) = *element else { return here };
                let Some(each) = self.size(element).filter(|&each| each > 0) else { return here };
                let Some(index) = indices(offset / each, counts) else { return here };
                let inner = self.part_within(element, offset % each, whole, deep);
                Part { text: index + &inner.text, ..inner }
            }
            Kind::Record { members, union } => {
                let mut first = None;
                for (number, member) in members.iter().enumerate() {
                    let Some(found) = self.in_member(&here, &ty, number, offset, whole, deep) else {
                        continue;
                    };
                    if !union && (member.name.is_some() || found.rest == 0) {
                        return found;
                    }
                    if found.rest == 0 {
                        return found;
                    }
                    first = first.or(Some(found));
                }
                first.unwrap_or(here)
            }
            _ => here,
        }
    }

    /// The part in one member of a record, if the offset is in that member.
    fn in_member(
        &mut self,
        record: &Part,
        ty: &Type,
        number: usize,
        offset: u64,
        whole: Option<TypeId>,
        deep: usize,
    ) -> Option<Part> {
        let Kind::Record { members, .. } = &ty.kind else { return None };
        let member = &members[number];
        let inner = member.ty?;
        if let Some((first, bits)) = member.bits {
            if !(first < (offset + 1).saturating_mul(8)
                && first.saturating_add(bits) > offset.saturating_mul(8))
            {
                return None;
            }
            return Some(self.bit_fields(members, inner, offset));
        }
        let inside = offset.checked_sub(member.offset)?;
        // An array without bounds at the end of a record goes on as long as the object does.
        let contains = match self.size(inner) {
            Some(size) => inside < size || (number + 1 == members.len() && size == 0 && self.is_array(inner)),
            None => number + 1 == members.len(),
        };
        if !contains || self.is_empty(inner, DEEP) {
            return None;
        }
        let whole_record = || Part { text: String::new(), rest: 0, ..record.clone() };
        if !member.hidden(ty) {
            let part = self.part_within(inner, inside, whole, deep);
            return Some(Part { text: format!(".{}{}", member.name.as_deref()?, part.text), ..part });
        }
        // Rust's library holds the data of users in its members, C's and C++'s its own.
        let own_array = ty.owner == Owner::Headers && member.name.is_some() && !member.elements();
        if own_array && self.is_array(inner) {
            return Some(whole_record());
        }
        let part = self.part_within(inner, inside, whole, deep);
        // Nothing to show of it: it is the record that has a name.
        let shown = member.name.is_none() || !part.text.is_empty();
        Some(if shown { part } else { whole_record() })
    }

    /// The bit fields that share a byte, which are one to the machine.
    fn bit_fields(&mut self, members: &[Member], ty: TypeId, offset: u64) -> Part {
        let (start, end) = (offset.saturating_mul(8), (offset + 1).saturating_mul(8));
        let here = members.iter().filter(|member| {
            member.bits.is_some_and(|(first, bits)| first < end && first.saturating_add(bits) > start)
        });
        let names: Vec<&str> = here.filter_map(|member| member.name.as_deref()).collect();
        let text = match &names[..] {
            [one] => format!(".{one}"),
            several => format!(".{{{}}}", several.join(",")),
        };
        let size = self.size(ty).unwrap_or(1);
        Part { text, ty, size, rest: 0 }
    }

    fn is_array(&mut self, id: TypeId) -> bool {
        matches!(self.bare(id), Some((_, ty)) if matches!(ty.kind, Kind::Array { .. }))
    }

    /// Whether objects of the type end in an array without bounds, and so are as long as their memory.
    pub(crate) fn is_open(&mut self, id: TypeId) -> bool {
        let Some((_, ty)) = self.bare(id) else { return false };
        let Kind::Record { members, union: false } = &ty.kind else { return false };
        let Some(last) = members.last().and_then(|last| last.ty) else { return false };
        self.is_array(last) && self.size(last).is_none_or(|size| size == 0)
    }

    /// Whether a pointer to the type may well point to an object of another, larger class.
    pub(crate) fn is_polymorphic(&mut self, id: TypeId) -> bool {
        self.is_polymorphic_within(id, DEEP)
    }

    fn is_polymorphic_within(&mut self, id: TypeId, deep: usize) -> bool {
        let (Some(deep), Some((_, ty))) = (deep.checked_sub(1), self.bare(id)) else { return false };
        let Kind::Record { members, .. } = &ty.kind else { return false };
        members.iter().any(|member| match (&member.name, member.ty) {
            (Some(name), _) => name == "_vptr",
            (None, Some(base)) => self.is_polymorphic_within(base, deep),
            (None, None) => false,
        })
    }

    /// The pointers to data in an object of the type, at most `most` of them.
    pub(crate) fn pointers_in(&mut self, ty: TypeId, most: usize) -> Vec<PointerIn> {
        let mut found = Vec::new();
        // Big arrays without a pointer in them must not take long either.
        let mut steps = most.saturating_mul(8);
        self.collect_pointers(ty, 0, String::new(), most, &mut steps, DEEP, &mut found);
        found
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one recursion")]
    fn collect_pointers(
        &mut self,
        id: TypeId,
        offset: u64,
        text: String,
        most: usize,
        steps: &mut usize,
        deep: usize,
        found: &mut Vec<PointerIn>,
    ) {
        let Some(deep) = deep.checked_sub(1) else { return };
        if *steps == 0 || found.len() >= most {
            return;
        }
        *steps -= 1;
        let Some((_, ty)) = self.bare(id) else { return };
        match &ty.kind {
            Kind::Pointer { to, reference } => {
                let bare = to.and_then(|to| self.bare(to));
                if !matches!(bare, Some((_, target)) if matches!(target.kind, Kind::Function)) {
                    found.push(PointerIn { text, offset, ty: id, to: *to, reference: *reference });
                }
            }
            Kind::Array { element: Some(element), counts } => {
                let Some(each) = self.size(*element).filter(|&each| each > 0) else { return };
                if !self.may_point(*element, deep) {
                    return;
                }
                let total =
                    counts.iter().try_fold(1u64, |total, count| total.checked_mul((*count)?)).unwrap_or(0);
                for number in 0..total {
                    if *steps == 0 || found.len() >= most {
                        return;
                    }
                    let Some(index) = indices(number, counts) else { return };
                    let at = offset.saturating_add(number.saturating_mul(each));
                    self.collect_pointers(*element, at, format!("{text}{index}"), most, steps, deep, found);
                }
            }
            Kind::Record { members, .. } => {
                for member in members.iter().filter(|member| member.bits.is_none()) {
                    let Some(inner) = member.ty else { continue };
                    if member.name.as_deref() == Some("_vptr") {
                        continue;
                    }
                    let text = match &member.name {
                        Some(name) if !member.hidden(&ty) => format!("{text}.{name}"),
                        _ => text.clone(),
                    };
                    let at = offset.saturating_add(member.offset);
                    self.collect_pointers(inner, at, text, most, steps, deep, found);
                }
            }
            _ => {}
        }
    }

    /// Whether an object of the type can have a pointer in it.
    fn may_point(&mut self, id: TypeId, deep: usize) -> bool {
        let Some(deep) = deep.checked_sub(1) else { return false };
        let Some((_, ty)) = self.bare(id) else { return false };
        match &ty.kind {
            Kind::Pointer { .. } => true,
            Kind::Array { element, .. } => element.is_some_and(|element| self.may_point(element, deep)),
            Kind::Record { members, .. } => {
                members.iter().any(|member| member.ty.is_some_and(|ty| self.may_point(ty, deep)))
            }
            _ => false,
        }
    }

    /// The name of a type in C's words, without `const` and the like.
    pub(crate) fn type_name(&mut self, id: TypeId, deep: usize) -> String {
        let Some(deep) = deep.checked_sub(1) else { return "...".to_string() };
        let Some(ty) = self.ty(id) else { return "?".to_string() };
        if let Some(name) = &ty.name {
            return name.clone();
        }
        match &ty.kind {
            Kind::Alias(Some(to)) => self.type_name(*to, deep),
            // `const void` has nothing behind the `const`.
            Kind::Alias(None) => "void".to_string(),
            Kind::Pointer { to, reference } => {
                let sign = if *reference { '&' } else { '*' };
                let to = to.map_or("void".to_string(), |to| self.type_name(to, deep));
                let space = if to.ends_with('*') { "" } else { " " };
                format!("{to}{space}{sign}")
            }
            Kind::Array { element, counts } => {
                let mut text = element.map_or("?".to_string(), |element| self.type_name(element, deep));
                for count in counts {
                    text += &count.map_or("[]".to_string(), |count| format!("[{count}]"));
                }
                text
            }
            Kind::Record { union: true, .. } => "union".to_string(),
            Kind::Record { .. } => "struct".to_string(),
            Kind::Enumeration { .. } => "enum".to_string(),
            Kind::Function => "function".to_string(),
            _ => "?".to_string(),
        }
    }

    /// [`Program::type_name`] with the usual depth.
    pub(crate) fn name_of_type(&mut self, id: TypeId) -> String {
        self.type_name(id, DEEP)
    }
}

/// `[1][2]` for element number 5 of a `[2][3]`. `None` if there are not so many.
fn indices(number: u64, counts: &[Option<u64>]) -> Option<String> {
    let mut left = number;
    let mut parts = Vec::with_capacity(counts.len());
    for (dimension, count) in counts.iter().enumerate().rev() {
        if dimension == 0 {
            // A bound of zero is the old way to write an array without bounds.
            if count.is_some_and(|count| left >= count && count > 0) {
                return None;
            }
            parts.push(left);
        } else {
            let count = count.filter(|&count| count > 0)?;
            parts.push(left % count);
            left /= count;
        }
    }
    Some(parts.iter().rev().map(|index| format!("[{index}]")).collect())
}

#[cfg(test)]
mod tests {
    use super::indices;

    #[test]
    fn an_element_is_numbered_by_every_dimension() {
        assert_eq!(indices(5, &[Some(2), Some(3)]).as_deref(), Some("[1][2]"));
        assert_eq!(indices(6, &[Some(2), Some(3)]), None);
        assert_eq!(indices(7, &[None]).as_deref(), Some("[7]"));
        assert_eq!(indices(7, &[None, Some(2)]).as_deref(), Some("[3][1]"));
        assert_eq!(indices(1, &[Some(2), Some(0)]), None);
        assert_eq!(indices(3, &[Some(0)]).as_deref(), Some("[3]"));
    }
}
