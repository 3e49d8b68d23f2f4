//! Names for what has none: a path of pointers from a variable to an address on the heap.
//!
//! Breadth first, so that the path found is a shortest one; the work is bounded.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use crate::program::Program;
use crate::types::{Part, PointerIn, TypeId};
use crate::{Memory, PointerVariable, StackFrame, Variable};

/// Pointers looked at in one object.
const IN_OBJECT: usize = 4096;
/// Pointers looked at in all.
const POINTERS: usize = 200_000;

/// An expression, and whether it begins with an operator that binds less than what comes behind.
#[derive(Clone)]
struct Expression {
    text: String,
    prefix: bool,
}

impl Expression {
    fn behind(&self, what: &str) -> Expression {
        let text = if self.prefix && !what.is_empty() {
            format!("({}){what}", self.text)
        } else {
            format!("{}{what}", self.text)
        };
        Expression { text, prefix: self.prefix && what.is_empty() }
    }

    /// What the pointer of this name points to, with a path from there.
    fn follow(&self, path: &str, reference: bool) -> Expression {
        if reference {
            return self.behind(path);
        }
        match path.strip_prefix('.') {
            Some(member) => self.behind(&format!("->{member}")),
            None => Expression { text: format!("*{}", self.text), prefix: true }.behind(path),
        }
    }
}

/// Something in memory, and how to write it.
struct Pointer {
    address: u64,
    name: Expression,
    to: Option<TypeId>,
    reference: bool,
    little_endian: bool,
    hops: usize,
}

impl Program {
    pub(crate) fn pointers(&mut self) -> &[PointerVariable] {
        let found = match self.pointers.take() {
            Some(known) => known,
            None => self.find_pointers(),
        };
        self.pointers.insert(found)
    }

    fn find_pointers(&mut self) -> Vec<PointerVariable> {
        let mut found = Vec::new();
        for module in 0..self.modules.len() {
            let bias = self.modules[module].file().bias;
            for global in self.globals(module).to_vec() {
                let Some(die) = global.ty else { continue };
                let ty = TypeId { module: module as u32, die };
                for PointerIn { text, offset, ty, to, reference } in self.pointers_in(ty, IN_OBJECT) {
                    let address = bias.wrapping_add(global.address).wrapping_add(offset) as usize;
                    let text = format!("{}{text}", global.name);
                    found.push(PointerVariable { address, text, ty, pointee: to, reference });
                }
            }
        }
        found
    }

    fn pointers_on_stack(&mut self, frame: &StackFrame) -> Vec<PointerVariable> {
        let mut found = Vec::new();
        for local in self.locals(frame.return_address) {
            let Some(ty) = local.ty else { continue };
            let start = frame.cfa.wrapping_add_signed(local.offset);
            for PointerIn { text, offset, ty, to, reference } in self.pointers_in(ty, IN_OBJECT) {
                let address = start.wrapping_add(offset as usize);
                let text = format!("{}{text}", local.text);
                found.push(PointerVariable { address, text, ty, pointee: to, reference });
            }
        }
        found
    }

    pub(crate) fn path_to(
        &mut self,
        target: u64,
        frames: &[StackFrame],
        memory: &dyn Memory,
        max_depth: usize,
    ) -> Option<Variable> {
        let mut roots = self.pointers().to_vec();
        for frame in frames {
            roots.extend(self.pointers_on_stack(frame));
        }
        let mut queue: VecDeque<Pointer> = roots
            .into_iter()
            .map(|root| Pointer {
                address: root.address as u64,
                name: Expression { text: root.text, prefix: false },
                to: root.pointee,
                reference: root.reference,
                little_endian: self.modules[root.ty.module as usize].file().little_endian,
                hops: 1,
            })
            .collect();
        let mut seen: HashSet<(u64, Option<TypeId>)> = HashSet::new();
        let mut untyped = None;
        let mut left = POINTERS;
        while let Some(pointer) = queue.pop_front() {
            if pointer.hops > max_depth || left == 0 {
                break;
            }
            left -= 1;
            let Some(to) = read_pointer(memory, pointer.address, pointer.little_endian) else { continue };
            // Different pointers to one object lead to the same paths from there on, and the first is the shortest.
            if to == 0 || !seen.insert((to, pointer.to)) {
                continue;
            }
            let block = memory.block(to as usize).map(|block| block.start as u64..block.end as u64);
            let size = pointer.to.and_then(|ty| self.size(ty)).filter(|&size| size > 0);
            let (Some(ty), Some(size)) = (pointer.to, size) else {
                let inside = target.checked_sub(to);
                let inside =
                    inside.filter(|&at| at == 0 || block.is_some_and(|block| block.contains(&target)));
                if let Some(inside) = inside
                    && untyped.is_none()
                {
                    let rest = if inside > 0 { format!("+{inside}") } else { String::new() };
                    let text = pointer.name.follow("", pointer.reference).text + &rest;
                    untyped = Some(Variable { text, size: 0, ty: None });
                }
                continue;
            };
            // A record that ends in an array without bounds has all of its block.
            let open = self.is_open(ty);
            let single = open || self.is_polymorphic(ty);
            let count = if single { 1 } else { elements(to, size, block.as_ref()) };
            let end = match &block {
                Some(block) if open && block.contains(&to) => block.end,
                _ => to.saturating_add(size.saturating_mul(count)),
            };
            if (to..end).contains(&target) {
                let number = if open { 0 } else { (target - to) / size };
                let part = self.part(ty, target - to - number * size, None);
                let name = step(&pointer, number, count, &part.text);
                return Some(Variable::new(&name.text, Part { text: String::new(), ..part }));
            }
            for PointerIn { text, offset, to: next, reference, .. } in self.pointers_in(ty, IN_OBJECT) {
                for number in 0..count.min(IN_OBJECT as u64) {
                    if queue.len() >= POINTERS {
                        break;
                    }
                    queue.push_back(Pointer {
                        address: to.wrapping_add(number * size).wrapping_add(offset),
                        name: step(&pointer, number, count, &text),
                        to: next,
                        reference,
                        little_endian: pointer.little_endian,
                        hops: pointer.hops + 1,
                    });
                }
            }
        }
        untyped
    }
}

/// How many objects of a size there are from an address to the end of its block. If they do not fill it, then it is no
/// array: a `struct header *` may point to something larger.
fn elements(address: u64, size: u64, block: Option<&Range<u64>>) -> u64 {
    match block {
        Some(block) if block.contains(&address) && (block.end - address).is_multiple_of(size) => {
            (block.end - address) / size
        }
        _ => 1,
    }
}

/// `p->x`, or `p[2].x` where there are several.
fn step(pointer: &Pointer, number: u64, count: u64, path: &str) -> Expression {
    if count > 1 && !pointer.reference {
        pointer.name.behind(&format!("[{number}]{path}"))
    } else {
        pointer.name.follow(path, pointer.reference)
    }
}

fn read_pointer(memory: &dyn Memory, address: u64, little_endian: bool) -> Option<u64> {
    const WIDTH: usize = size_of::<usize>();
    let bytes: [u8; WIDTH] = memory.read(address as usize, WIDTH)?.try_into().ok()?;
    Some(if little_endian { usize::from_le_bytes(bytes) } else { usize::from_be_bytes(bytes) } as u64)
}

#[cfg(test)]
mod tests {
    use super::{Expression, elements};

    #[test]
    fn only_a_block_that_is_filled_is_an_array() {
        assert_eq!(elements(0x100, 8, Some(&(0x100..0x118))), 3);
        assert_eq!(elements(0x108, 8, Some(&(0x100..0x118))), 2);
        assert_eq!(elements(0x100, 16, Some(&(0x100..0x118))), 1);
        assert_eq!(elements(0x100, 64, Some(&(0x100..0x118))), 1);
        assert_eq!(elements(0x90, 8, Some(&(0x100..0x118))), 1);
        assert_eq!(elements(0x100, 8, None), 1);
    }

    #[test]
    fn a_dereferenced_pointer_is_put_in_brackets_before_what_binds_more() {
        let name = Expression { text: "p".to_string(), prefix: false };
        assert_eq!(name.follow("", false).text, "*p");
        assert_eq!(name.follow(".x", false).text, "p->x");
        assert_eq!(name.follow("[2]", false).text, "(*p)[2]");
        assert_eq!(name.follow("", false).follow(".x", false).text, "(*p)->x");
        assert_eq!(name.follow("", false).follow("", false).text, "**p");
        assert_eq!(name.follow("", true).text, "p");
        assert_eq!(name.follow(".x", true).text, "p.x");
        assert_eq!(name.follow("", false).behind("[1]").text, "(*p)[1]");
        assert_eq!(name.follow(".x", false).follow("", false).text, "*p->x");
    }
}
