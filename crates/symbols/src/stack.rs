//! Variables on the stack of a function, as far as they are at a fixed distance from its frame.

use gimli::Operation;

use crate::debug::{Die, Entry};
use crate::program::Program;
use crate::types::TypeId;
use crate::{Local, Variable};

/// The register number of `rbp` on x86-64.
const RBP: u16 = 6;

impl Program {
    /// The variables that are in scope at a return address, innermost scope first.
    pub(crate) fn locals(&mut self, return_address: usize) -> Vec<Local> {
        self.find_locals((return_address as u64).saturating_sub(1)).unwrap_or_default()
    }

    fn find_locals(&mut self, address: u64) -> Option<Vec<Local>> {
        let (module, _) = self.module_of(address)?;
        self.prepare(module);
        let pc = self.in_file(module, address);
        let file = self.modules[module].file();
        let x86_64 = file.x86_64;
        let debug = file.debug.as_ref()?;
        let function = debug.function(pc)?;
        let entry = debug.entry(function)?;
        let base = entry.attr_value(gimli::DW_AT_frame_base)?;
        // The distance of the frame base from the canonical frame address.
        let base = match debug.single_operation(function, base, pc)? {
            Operation::CallFrameCFA => 0,
            // With a frame pointer, the old one and the return address are between.
            Operation::Register { register: gimli::Register(RBP) } if x86_64 => -16,
            _ => return None,
        };
        let mut found = Vec::new();
        let unit = debug.unit(function)?;
        let mut entries = unit.entries_at_offset(gimli::UnitOffset(function.offset)).ok()?;
        let mut depth = None;
        // Below this depth nothing is in scope, or is a function of its own.
        let mut skip: Option<isize> = None;
        while let Ok(Some(entry)) = entries.next_dfs() {
            let start = *depth.get_or_insert(entry.depth());
            if entry.offset().0 == function.offset {
                continue;
            }
            if entry.depth() <= start {
                break;
            }
            if skip.is_some_and(|above| entry.depth() > above) {
                continue;
            }
            skip = None;
            let die = Die { unit: function.unit, offset: entry.offset().0 };
            match entry.tag() {
                gimli::DW_TAG_lexical_block
                | gimli::DW_TAG_inlined_subroutine
                | gimli::DW_TAG_try_block
                | gimli::DW_TAG_catch_block => {
                    // A block without code of its own only groups.
                    let code =
                        [gimli::DW_AT_low_pc, gimli::DW_AT_ranges].iter().any(|&at| entry.has_attr(at));
                    if code && !debug.has_code(die, entry, pc) {
                        skip = Some(entry.depth());
                    }
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let offset =
                        || match debug.single_operation(die, entry.attr_value(gimli::DW_AT_location)?, pc)? {
                            Operation::FrameOffset { offset } => offset.checked_add(base),
                            _ => None,
                        };
                    if let (Some(offset), Some(name)) = (offset(), debug.name(die, entry)) {
                        found.push((name, offset, self::type_of(debug, module, die, entry)));
                    }
                }
                _ => skip = Some(entry.depth()),
            }
        }
        found.reverse();
        let sized = |program: &mut Program, (text, offset, ty): (String, i64, Option<TypeId>)| {
            let size = ty.and_then(|ty| program.size(ty)).unwrap_or(0) as usize;
            Local { text, offset: offset as isize, size, ty }
        };
        Some(found.into_iter().map(|local| sized(self, local)).collect())
    }

    pub(crate) fn stack_variable(&mut self, pc: usize, cfa: usize, address: usize) -> Option<Variable> {
        for local in self.locals(pc) {
            let inside = address.wrapping_sub(cfa.wrapping_add_signed(local.offset));
            if let Some(ty) = local.ty
                && inside < local.size
            {
                let part = self.part(ty, inside as u64, None);
                return Some(Variable::new(&local.text, part));
            }
        }
        None
    }
}

fn type_of(debug: &crate::debug::Debug, module: usize, die: Die, entry: &Entry) -> Option<TypeId> {
    let (at, value) = debug.inherited(die, entry, gimli::DW_AT_type)?;
    Some(TypeId { module: module as u32, die: debug.target(at, Some(value))? })
}
