//! Fiber stacks at fixed addresses.
//!
//! Stack `i` is always at the same place, in this process and in the next, so that the address of a local variable
//! depends on the thread and its own past alone. Below each stack is a page that nobody may touch. Stacks are kept
//! for ever.
//!
//! **Invariant:** the slot of an address follows from the address; no table is searched.

use crate::{Error, PAGE, page_up, sys};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many stacks there can be.
pub const MAX_STACKS: usize = 128;
/// The largest stack.
pub const MAX_SIZE: usize = SLOT - 2 * PAGE;

const BASE: usize = 0x3000_0000_0000;
const SLOT: usize = 1 << 30;

/// The sizes of the stacks that were made; 0 where there is none.
static SIZES: [AtomicUsize; MAX_STACKS] = [const { AtomicUsize::new(0) }; MAX_STACKS];

/// A stack: it grows down from `top`, and may be used down to `bottom`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackRange {
    /// Which one it is.
    pub index: usize,
    /// The lowest address that may be used. The page below it is the guard.
    pub bottom: usize,
    /// The address just above the stack.
    pub top: usize,
}

/// Where an address is on a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackPlace {
    /// The stack.
    pub index: usize,
    /// How far the address is above the lowest one of the stack.
    pub offset: usize,
    /// How far the address is below the top, which does not depend on the stack's size.
    pub depth: usize,
}

impl StackRange {
    /// Stack number `index`, with at least `size` bytes. When it was asked for before it is the same one, and its size
    /// stays as it was made.
    pub fn at(index: usize, size: usize) -> Result<Self, Error> {
        if index >= MAX_STACKS {
            return Err(Error::new(
                format!("there are at most {MAX_STACKS} stacks, not {index}"),
                libc::EINVAL,
            ));
        }
        if size > MAX_SIZE {
            return Err(Error::new(
                format!("a stack has at most {MAX_SIZE} bytes, not {size}"),
                libc::EINVAL,
            ));
        }
        if let Some(made) = Self::made(index) {
            if page_up(size) <= made.top - made.bottom {
                return Ok(made);
            }
            return Err(Error::new(
                format!("stack {index} was made smaller than {size} bytes"),
                libc::EEXIST,
            ));
        }
        let size = page_up(size.max(1));
        let top = top_of(index);
        let guard = top - size - PAGE;
        let failed =
            |error: sys::Errno| Error::new(format!("cannot map stack {index} at {guard:#x}"), error.0);
        sys::map(guard, size + PAGE, libc::PROT_NONE).map_err(failed)?;
        // SAFETY: the pages were mapped just now, and nobody knows of them.
        unsafe { sys::protect(guard + PAGE, size, libc::PROT_READ | libc::PROT_WRITE) }.map_err(failed)?;
        SIZES[index].store(size, Ordering::Relaxed);
        Ok(Self { index, bottom: top - size, top })
    }

    fn made(index: usize) -> Option<Self> {
        let size = SIZES[index].load(Ordering::Relaxed);
        (size > 0).then(|| Self { index, bottom: top_of(index) - size, top: top_of(index) })
    }
}

const fn top_of(index: usize) -> usize {
    BASE + (index + 1) * SLOT - PAGE
}

fn slot_of(address: usize) -> Option<usize> {
    let index = address.wrapping_sub(BASE) / SLOT;
    (index < MAX_STACKS).then_some(index)
}

/// The stack that an address is on.
#[inline]
pub fn which_stack(address: usize) -> Option<StackPlace> {
    let index = slot_of(address)?;
    let size = SIZES[index].load(Ordering::Relaxed);
    let depth = top_of(index).wrapping_sub(address);
    (depth >= 1 && depth <= size).then(|| StackPlace { index, offset: size - depth, depth })
}

/// The stack whose guard page an address is in: a fault there is an overflow of this stack.
pub fn which_guard(address: usize) -> Option<usize> {
    let index = slot_of(address)?;
    let range = StackRange::made(index)?;
    (range.bottom - PAGE..range.bottom).contains(&address).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_of_a_stack_is_found_and_its_neighbours_are_not() {
        let stack = StackRange::at(3, 10_000).unwrap();
        assert_eq!(stack.top - stack.bottom, 3 * PAGE);
        assert_eq!(StackRange::at(3, 4000).unwrap(), stack, "kept for ever");
        assert_eq!(StackRange::at(3, 20_000).unwrap_err().code(), libc::EEXIST);
        for address in stack.bottom..stack.top {
            let place = which_stack(address).unwrap();
            assert_eq!(
                (place.index, place.offset, place.depth),
                (3, address - stack.bottom, stack.top - address)
            );
        }
        assert_eq!(which_stack(stack.bottom - 1), None);
        assert_eq!(which_stack(stack.top), None);
        assert_eq!(which_guard(stack.bottom - 1), Some(3));
        assert_eq!(which_guard(stack.bottom - PAGE), Some(3));
        assert_eq!(which_guard(stack.bottom - PAGE - 1), None);
        assert_eq!(which_guard(stack.bottom), None);
        assert_eq!(which_stack(0), None);
        assert_eq!(which_stack(usize::MAX), None);
        assert_eq!(which_stack(top_of(4) - 1), None, "never made");
    }

    #[test]
    fn stacks_are_at_addresses_that_are_known_beforehand_and_can_be_written() {
        let stack = StackRange::at(7, 1 << 20).unwrap();
        assert_eq!(stack.top, 0x3000_0000_0000 + 8 * (1 << 30) - 4096);
        // SAFETY: both are on the stack that was made just now.
        unsafe {
            (stack.bottom as *mut u8).write(1);
            ((stack.top - 8) as *mut u64).write(2);
        }
    }

    #[test]
    fn what_cannot_be_a_stack_is_refused() {
        assert!(StackRange::at(MAX_STACKS, 4096).unwrap_err().to_string().contains("at most 128 stacks"));
        assert_eq!(StackRange::at(9, MAX_SIZE + 1).unwrap_err().code(), libc::EINVAL);
    }
}
