//! Plain accesses while the program has one thread: most of them need nothing but to be let through.
//!
//! While nobody else runs no access can race. What is left is whether the memory is in use, and which bytes of the heap were written
//! (see [`crate::unwritten`]). So the block, or the region of variables, that was accessed last is remembered, one for reads and one for writes,
//! with the bits of what was written there. An access to it looks at these and returns. Whatever could make an access need more calls [`stop`].

use crate::heap::heap;
use crate::{changes, reuse, start, unwritten};

/// Memory whose accesses need nothing else. It starts at a multiple of eight bytes.
struct Range {
    start: usize,
    bytes: usize,
    /// One bit for each byte: it was written.
    bits: *mut u8,
    /// What an index of the bits is anded with: 0 where one byte stands for all.
    each: usize,
}

const NONE: Range = Range { start: 0, bytes: 0, bits: &raw mut ALL, each: 0 };

/// Stands for bits where nobody asks whether anything was written.
static mut ALL: u8 = 0xff;

static mut READ: Range = NONE;
static mut WRITTEN: Range = NONE;
/// The pages of the last accesses that were not among these, to the heap or to variables: a read and a write.
static mut MISSED: [usize; 2] = [0; 2];

/// Every access is to be looked at.
#[inline]
pub(crate) fn stop() {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { (READ.bytes, WRITTEN.bytes) = (0, 0) };
}

/// Where the bits of an access are, if it lies in a range as a whole and within one word, and which bits.
#[inline(always)]
fn bits(range: &Range, address: usize, bytes: usize) -> Option<(*mut u8, u8)> {
    let offset = address.wrapping_sub(range.start);
    // What starts below the range ends there: it does not cross the start of a word.
    if (address & 7) + bytes > 8 || offset.wrapping_add(bytes - 1) >= range.bytes {
        return None;
    }
    let mask = (((1u32 << bytes) - 1) << (address & 7)) as u8;
    Some((range.bits.wrapping_add(offset >> 3 & range.each), mask))
}

/// Whether a read needs nothing.
#[inline(always)]
pub(crate) fn may_read(address: usize, bytes: usize) -> bool {
    // SAFETY: as in `stop`; the bits are those of a block that is in use.
    unsafe { bits(&*(&raw const READ), address, bytes).is_some_and(|(at, mask)| *at & mask == mask) }
}

/// Whether a write needs nothing more. If so it counts as written.
#[inline(always)]
pub(crate) fn may_write(address: usize, bytes: usize) -> bool {
    // SAFETY: as in `may_read`.
    unsafe {
        let range = &*(&raw const WRITTEN);
        let Some((at, mask)) = bits(range, address, bytes) else { return false };
        *at |= mask;
        if bytes == 8 {
            reuse::will_write_variable(address, |last| bits(range, last, 8).is_some());
        }
    }
    true
}

/// The only thread makes an access to the heap or to a variable that cannot race and was found to be right. Where its neighbours were
/// accessed before, the next ones are let through.
#[inline]
pub(crate) fn accessed(address: usize, write: bool) {
    let page = address >> 9;
    // SAFETY: as in `stop`.
    let missed = unsafe { &mut (*(&raw mut MISSED))[usize::from(write)] };
    if std::mem::replace(missed, page) == page {
        remember(address, write);
    }
}

#[inline(never)]
fn remember(address: usize, write: bool) {
    let needs_more = crate::access::is_watched()
        || !runtime::is_alone()
        || unwritten::is_looking()
        || write && (runtime::is_looking() || changes::are_noted());
    if needs_more {
        return;
    }
    let range = if heap().is_within(address) {
        let Some(extent) = heap().extent(address) else { return };
        let (bits, each) = extent.written.map_or((&raw mut ALL, 0), |bits| (bits, usize::MAX));
        Range { start: extent.start, bytes: extent.size, bits, each }
    } else {
        let Some((start, end)) = start::variables_around(address) else { return };
        let start = start.next_multiple_of(8);
        Range { start, bytes: end.saturating_sub(start), bits: &raw mut ALL, each: 0 }
    };
    // SAFETY: as in `stop`.
    unsafe {
        if write {
            WRITTEN = range;
        } else {
            READ = range;
        }
    }
}
