//! Values as a person writes them.

use crate::names;
use crate::program::Program;
use crate::types::{Kind, TypeId};

/// Members or elements shown of one object.
const WIDE: usize = 8;
/// Objects in objects that are shown.
const DEEP: usize = 6;

impl Program {
    pub(crate) fn show(&mut self, ty: Option<TypeId>, bytes: &[u8]) -> String {
        match ty {
            Some(ty) => self.show_within(ty, bytes, DEEP),
            None => raw(bytes, cfg!(target_endian = "little")),
        }
    }

    fn show_within(&mut self, id: TypeId, bytes: &[u8], deep: usize) -> String {
        let little = match self.modules.get_mut(id.module as usize) {
            Some(module) => module.file().little_endian,
            None => cfg!(target_endian = "little"),
        };
        let Some((_, ty)) = self.bare(id) else { return raw(bytes, little) };
        // An access to a part of an object, or to several, is a number.
        if bytes.is_empty() || self.size(id) != Some(bytes.len() as u64) {
            return raw(bytes, little);
        }
        match &ty.kind {
            Kind::Signed => match signed(bytes, little) {
                Some(number) => number.to_string(),
                None => raw(bytes, little),
            },
            Kind::Bool if bytes.iter().all(|&byte| byte == 0) => "false".to_string(),
            Kind::Bool if unsigned(bytes, little) == Some(1) => "true".to_string(),
            Kind::Float => match *bytes {
                [a, b, c, d] => {
                    let bytes = [a, b, c, d];
                    if little { f32::from_le_bytes(bytes) } else { f32::from_be_bytes(bytes) }.to_string()
                }
                [a, b, c, d, e, f, g, h] => {
                    let bytes = [a, b, c, d, e, f, g, h];
                    if little { f64::from_le_bytes(bytes) } else { f64::from_be_bytes(bytes) }.to_string()
                }
                _ => raw(bytes, little),
            },
            Kind::Enumeration { constants, signed: is_signed } => {
                let number = match is_signed {
                    true => signed(bytes, little),
                    false => unsigned(bytes, little).and_then(|number| i128::try_from(number).ok()),
                };
                let Some(number) = number else { return raw(bytes, little) };
                // Compilers may write the constants of an unsigned type as signed numbers and the other way round.
                let wrapped = |value: i128| match bytes.len() {
                    8.. => value == number,
                    width => (value ^ number) & ((1 << (8 * width)) - 1) == 0,
                };
                match constants.iter().find(|(value, _)| wrapped(*value)) {
                    Some((_, name)) => name.clone(),
                    None => number.to_string(),
                }
            }
            Kind::Pointer { to, .. } => match unsigned(bytes, little) {
                Some(address) => self.show_pointer(address as u64, *to),
                None => raw(bytes, little),
            },
            Kind::Array { element: Some(element), .. } => {
                let Some(deep) = deep.checked_sub(1) else { return "{...}".to_string() };
                let Some(each) = self.size(*element).filter(|&each| each > 0) else {
                    return raw(bytes, little);
                };
                let all = bytes.chunks(each as usize);
                let more = all.len() > WIDE;
                let mut parts: Vec<String> =
                    all.take(WIDE).map(|bytes| self.show_within(*element, bytes, deep)).collect();
                if more {
                    parts.push("...".to_string());
                }
                format!("{{{}}}", parts.join(", "))
            }
            Kind::Record { members, .. } => {
                let Some(deep) = deep.checked_sub(1) else { return "{...}".to_string() };
                let mut parts = Vec::new();
                let mut left_out = false;
                for member in members {
                    let Some(inner) = member.ty else { continue };
                    if parts.len() == WIDE {
                        left_out = true;
                        break;
                    }
                    if let Some(bits) = member.bits {
                        match (&member.name, self.show_bits(inner, bits, bytes, little)) {
                            (Some(name), Some(text)) => parts.push(format!("{name} = {text}")),
                            _ => left_out = true,
                        }
                        continue;
                    }
                    let size = self.size(inner).unwrap_or(0);
                    let range = member.offset as usize..member.offset.saturating_add(size) as usize;
                    let Some(part) = bytes.get(range).filter(|part| !part.is_empty()) else { continue };
                    if self.is_empty(inner, DEEP) {
                        continue;
                    }
                    // A wrapper of one value, as a `std::atomic` is, is shown as the value.
                    if part.len() == bytes.len() && member.hidden(&ty) {
                        return self.show_within(inner, part, deep);
                    }
                    match &member.name {
                        Some(_) if member.hidden(&ty) => left_out = true,
                        Some(name) => parts.push(format!("{name} = {}", self.show_within(inner, part, deep))),
                        None => parts.push(self.show_within(inner, part, deep)),
                    }
                }
                if left_out || parts.is_empty() {
                    parts.push("...".to_string());
                }
                format!("{{{}}}", parts.join(", "))
            }
            _ => raw(bytes, little),
        }
    }

    /// A bit field of a record, given its first bit and how many there are.
    fn show_bits(
        &mut self,
        ty: TypeId,
        (first, count): (u64, u64),
        bytes: &[u8],
        little: bool,
    ) -> Option<String> {
        let end = first.checked_add(count)?;
        let part = bytes.get((first / 8) as usize..end.div_ceil(8) as usize)?;
        // On machines of the other byte order bits are counted from the other end.
        let number = unsigned(part, little).filter(|_| little && (1..=64).contains(&count))?;
        let number = number >> (first % 8) & ((1 << count) - 1);
        let signed = matches!(self.bare(ty), Some((_, ty)) if matches!(ty.kind, Kind::Signed));
        let negative = signed && number >> (count - 1) == 1;
        Some(if negative { (number as i128 - (1 << count)).to_string() } else { number.to_string() })
    }

    fn show_pointer(&mut self, address: u64, to: Option<TypeId>) -> String {
        if address == 0 {
            return "null".to_string();
        }
        self.pointed_name(address, to).map_or_else(|| format!("{address:#x}"), |name| format!("&{name}"))
    }

    /// What a pointer to that type points to, if that has a name.
    fn pointed_name(&mut self, address: u64, to: Option<TypeId>) -> Option<String> {
        let (module, _) = self.module_of(address)?;
        let at = self.in_file(module, address);
        let code = self.modules[module].file().symbol(at, true);
        if let Some(function) = code.filter(|symbol| symbol.address == at) {
            return Some(names::demangle(&function.name));
        }
        // What a `void *` points to is the whole variable, if it is at its start.
        let whole = to.filter(|&to| self.size(to).is_some());
        let found = match whole {
            None => self.global_at_start(module, at),
            Some(_) => None,
        };
        found.or_else(|| self.variable(address, whole).map(|variable| variable.text))
    }

    fn global_at_start(&mut self, module: usize, at: u64) -> Option<String> {
        self.globals(module).iter().find(|global| global.address == at).map(|global| global.name.clone())
    }
}

fn unsigned(bytes: &[u8], little: bool) -> Option<u128> {
    let add = |number: u128, byte: &u8| number << 8 | u128::from(*byte);
    (bytes.len() <= 16)
        .then(|| if little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) })
}

fn signed(bytes: &[u8], little: bool) -> Option<i128> {
    let shift = 128 - 8 * bytes.len().min(16) as u32;
    let number = unsigned(bytes, little)? as i128;
    Some(if shift == 128 { 0 } else { number << shift >> shift })
}

/// Bytes of which no type is known: a number if it is small, else the first bytes.
fn raw(bytes: &[u8], little: bool) -> String {
    match unsigned(bytes, little) {
        Some(number) if bytes.len() <= 8 => number.to_string(),
        Some(number) => format!("{number:#x}"),
        None => {
            let first: Vec<String> = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            format!("{}{}", first.join(" "), if bytes.len() > 16 { " ..." } else { "" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_both_byte_orders() {
        assert_eq!(signed(&[0xfe, 0xff], true), Some(-2));
        assert_eq!(signed(&[0xff, 0xfe], false), Some(-2));
        assert_eq!(unsigned(&[1, 2], true), Some(0x201));
        assert_eq!(signed(&[0xff; 16], true), Some(-1));
        assert_eq!(signed(&[], true), Some(0));
        assert_eq!(unsigned(&[0; 17], true), None);
    }

    #[test]
    fn bytes_without_a_type_are_a_number_or_themselves() {
        assert_eq!(raw(&[7, 0, 0, 0], true), "7");
        assert_eq!(raw(&[0xff; 16], true), "0xffffffffffffffffffffffffffffffff");
        assert_eq!(raw(&[0xab; 17], true), "ab ".repeat(16) + "...");
    }
}
