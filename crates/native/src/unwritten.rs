//! Memory that is read before anything was written to it.
//!
//! What a block of the heap is full of when `malloc` gives it out is left to the allocator; here it is the same in each execution. So a
//! read of bytes of which the program has written none is a caveat, with its place. A read counts only if all of its bytes are such:
//! the padding of a structure that is copied does not. Copies are no reads; the bytes that they copy stay unwritten where they are copied to
//! within the heap.
//!
//! The memory of an object of C++ whose destructor has run is such memory again.
//!
//! Compilers store a bit-field by reading the word around it first. Where the next access writes what was read, and a mask is applied
//! in between, the read is taken back.

use crate::heap::{self, heap};
use crate::shim::{Call, export, return_address};
use explore::CaveatKind;
use image::arena::FRESH;
use runtime::Place;

const TEXT: &str = "memory was read before anything was written to it: other contents than the ones given to it were not explored";

/// The last such read, if nothing was written since: its address, its return address, and its place.
static mut LAST: Option<(usize, usize, Place)> = None;

/// The last read, if a part of it was written: its address and size. What is written next may be a copy.
static mut PARTLY: (usize, usize) = (0, 0);

/// Whether the next access may decide what becomes of an earlier read.
pub(crate) fn is_looking() -> bool {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { PARTLY.1 != 0 || (*(&raw const LAST)).is_some() }
}

/// The program reads, right now, these bytes.
#[inline(always)]
pub(crate) fn read(address: usize, bytes: usize, call: Call) {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { PARTLY.1 = 0 };
    if heap().is_within(address) {
        read_block(address, bytes, call);
    }
}

/// The same for memory of the heap.
#[inline(never)]
fn read_block(address: usize, bytes: usize, call: Call) {
    if heap().is_unwritten(address, bytes) {
        note(address, call);
    } else if heap().is_partly_unwritten(address, bytes) {
        // SAFETY: as above.
        unsafe { PARTLY = (address, bytes) };
        crate::alone::stop();
    }
}

/// The program writes these bytes, and they count as written.
#[inline]
pub(crate) fn written(address: usize, bytes: usize) {
    // SAFETY: as above.
    let (from, size) = unsafe { PARTLY };
    if size != 0 {
        // SAFETY: as above.
        unsafe { PARTLY.1 = 0 };
        if size == bytes {
            heap().copy_written(address, from, size);
        }
    }
}

/// An atomic operation has found this word.
#[inline]
pub(crate) fn was_read(address: usize, bytes: usize, word: u64, call: Call) {
    let filler = word as u8;
    let all = u64::MAX >> (64 - 8 * bytes);
    if (filler == FRESH || filler == 0)
        && word == u64::from_ne_bytes([filler; 8]) & all
        && heap().is_within(address)
        && heap().was_unwritten(address, bytes, filler)
    {
        note(address, call);
    }
}

/// A function of the C library looks at each of these bytes.
pub(crate) fn depends_on(address: usize, bytes: usize, call: Call) {
    if (address..address + bytes).any(|at| heap().is_unwritten(at, 1)) {
        note(address, call);
    }
}

#[cold]
fn note(address: usize, call: Call) {
    // In Rust such a value is one of `MaybeUninit`, of which a part may be copied.
    if !crate::rust_tests::is_rust() {
        // SAFETY: one OS thread alone runs code of the program.
        unsafe { LAST = Some((address, return_address(), call.place)) };
        crate::alone::stop();
        runtime::caveat_at(CaveatKind::Uninitialised, TEXT, call.place);
    }
}

/// The program is about to write here.
#[inline]
pub(crate) fn will_write(address: usize) {
    // SAFETY: as above.
    if unsafe { (*(&raw const LAST)).is_some() } {
        take_back(address);
    }
}

#[cold]
fn take_back(address: usize) {
    // SAFETY: as above.
    let Some((read, site, place)) = (unsafe { (*(&raw mut LAST)).take() }) else { return };
    let here = return_address();
    if read == address && (site..site + 128).contains(&here) {
        // SAFETY: code of the program that has just run.
        let code = unsafe { std::slice::from_raw_parts(site as *const u8, here - site) };
        if has_mask(code) {
            runtime::take_back(CaveatKind::Uninitialised, place);
        }
    }
}

/// Whether instructions that end with a call have one that ands a register with a constant.
fn has_mask(code: &[u8]) -> bool {
    const CALL: usize = 5;
    let code = &code[..code.len().saturating_sub(CALL)];
    let of_register = |w: &[u8]| matches!(w[0], 0x80 | 0x81 | 0x83) && w[1] & 0b1111_1000 == 0b1110_0000;
    // Behind a byte that ends so, it is the second one of an address on the stack.
    let of_first_register = |w: &[u8]| w[0] & 0b111 != 0b100 && matches!(w[1], 0x24 | 0x25);
    code.windows(2).any(|w| of_register(w) || of_first_register(w))
}

/// The sizes of objects, by the return addresses of calls at the ends of their destructors; 0 for unknown.
static mut SIZES: Vec<(usize, usize)> = Vec::new();

/// A destructor of C++ has run for the object at an address.
extern "C" fn destroyed(this: usize) {
    if runtime::in_execution() && heap::is_block(this) {
        let site = return_address();
        // SAFETY: one OS thread alone runs code of the program; the borrow ends here.
        let known = unsafe { (*(&raw const SIZES)).iter().find(|s| s.0 == site).map(|s| s.1) };
        let size = known.unwrap_or_else(|| {
            let size = crate::names::size_of_this(site).unwrap_or(0);
            // SAFETY: as above.
            unsafe { (*(&raw mut SIZES)).push((site, size)) };
            size
        });
        if size > 0 {
            heap().end_life(this, size);
        }
    }
}

export! {
    __raddle_destroyed => destroyed;
}

#[cfg(test)]
mod tests {
    use super::has_mask;

    #[test]
    fn masks_are_told_from_sums() {
        // and eax, -8; or eax, 1 and and ecx, 0xf00000ff
        let call = [0xe8, 0x25, 0x25, 0x83, 0xe0];
        let has_mask = |code: &[u8]| has_mask(&[code, &call].concat());
        assert!(has_mask(&[0x8b, 0x07, 0x83, 0xe0, 0xf8, 0x83, 0xc8, 0x01]));
        assert!(has_mask(&[0x81, 0xe1, 0xff, 0x00, 0x00, 0xf0]));
        // mov al, [rdi]; and al, -8
        assert!(has_mask(&[0x8a, 0x07, 0x24, 0xf8]));
        // mov [rsp + 8], eax
        assert!(!has_mask(&[0x89, 0x44, 0x24, 0x08]));
        // mov rax, [rax + 8]; lea rbx, [rax + 1] and add eax, 1
        assert!(!has_mask(&[0x48, 0x8b, 0x40, 0x08, 0x48, 0x8d, 0x58, 0x01]));
        assert!(!has_mask(&[0x8b, 0x07, 0x83, 0xc0, 0x01]));
    }
}
