//! Blocks that the C library allocates and the program frees, and results that the next call overwrites.
//!
//! A block that a library function hands over is copied to the program's heap, so that its use after `free` is seen, and its address
//! does not come back in the same execution.

use super::accesses::{Access, after, at, before, length, w};
use super::{Row, incoming};
use crate::heap;
use crate::own_heap::__libc_free;
use crate::real::real;
use crate::shim::{Call, undisturbed};
use image::arena::State;
use std::ffi::c_int;

/// Whether a block is the C library's.
fn is_foreign(p: usize) -> bool {
    p != 0 && heap::heap().state_of(p) == State::NotHeap
}

/// Copies a block of `n` bytes to the program's heap and frees it; null where there is no memory.
fn adopt(p: usize, n: usize) -> usize {
    let new = heap::allocate(n) as usize;
    if new != 0 {
        // SAFETY: both blocks have at least `n` bytes.
        unsafe { std::ptr::copy_nonoverlapping(p as *const u8, new as *mut u8, n) };
        after(w(new, n), Call::unknown());
    }
    // SAFETY: the C library has allocated this block for the program.
    unsafe { __libc_free(p as *mut u8) };
    new
}

/// The result of a call is a block of `n` bytes that the program frees.
pub(super) fn handed_over(p: usize, n: usize) -> Access {
    if is_foreign(p) { Access::Result(adopt(p, n)) } else { Access::Nothing }
}

/// A pointer at `place` leads to a block of `n` bytes that the program frees.
fn hand_over_at(place: usize, n: usize) {
    if is_foreign(at(place)) {
        let new = adopt(at(place), n);
        // SAFETY: the program hands in a place for a pointer, or it lies in a block of its heap.
        unsafe { (place as *mut usize).write_unaligned(new) };
    }
}

/// The result of `backtrace_symbols`: one block with `n` pointers to strings in it.
pub(super) fn symbols(list: usize, n: usize) -> Access {
    if !is_foreign(list) {
        return Access::Nothing;
    }
    let texts: Vec<usize> = (0..n).map(|i| at(list + i * 8)).collect();
    let end = texts.iter().map(|t| t + length(*t)).max().unwrap_or(list).max(list + n * 8);
    let new = adopt(list, end - list);
    if new != 0 {
        for (i, text) in texts.iter().enumerate() {
            // SAFETY: the copy begins with so many pointers.
            unsafe { ((new + i * 8) as *mut usize).write(new + (text - list)) };
        }
    }
    Access::Result(new)
}

/// The list that `scandir` has made of `n` entries, each a block of its own.
pub(super) fn entries(list: usize, n: usize) -> Access {
    let n = n as c_int;
    if n >= 0 && list != 0 {
        hand_over_at(list, n as usize * 8);
        for i in 0..n as usize {
            let entry = at(list) + i * 8;
            // SAFETY: an entry has its size in bytes 16 and 17.
            let bytes = unsafe { ((at(entry) + 16) as *const u16).read_unaligned() };
            hand_over_at(entry, bytes.into());
        }
    }
    Access::Nothing
}

const ADDRESS: usize = size_of::<libc::addrinfo>();
const CANONICAL: usize = std::mem::offset_of!(libc::addrinfo, ai_canonname);
const SOCKET: usize = std::mem::offset_of!(libc::addrinfo, ai_addr);
const NEXT: usize = std::mem::offset_of!(libc::addrinfo, ai_next);
const SOCKET_BYTES: usize = std::mem::offset_of!(libc::addrinfo, ai_addrlen);

/// The list that `getaddrinfo` has made: each entry is a block with its address behind it, and the name is a block.
pub(super) fn addresses(mut place: usize) -> Access {
    while is_foreign(at(place)) {
        let entry = at(place);
        // SAFETY: an entry of the list.
        let bytes = unsafe { ((entry + SOCKET_BYTES) as *const u32).read() } as usize;
        let within = at(entry + SOCKET).checked_sub(entry).filter(|o| *o < ADDRESS + 64);
        hand_over_at(place, within.map_or(ADDRESS, |o| o + bytes));
        let new = at(place);
        if new == 0 {
            break;
        }
        if let Some(offset) = within {
            // SAFETY: the copy is an entry of the list.
            unsafe { ((new + SOCKET) as *mut usize).write(new + offset) };
        }
        hand_over_at(new + CANONICAL, length(at(new + CANONICAL)));
        place = new + NEXT;
    }
    Access::Nothing
}

/// `freeaddrinfo`, for lists that [`addresses`] has copied.
extern "C" fn free_addresses(mut entry: usize) {
    if !is_foreign(entry) {
        let call = incoming(false);
        while entry != 0 {
            if let Some(call) = call {
                before(super::accesses::r(entry, ADDRESS), call);
            }
            let (name, next) = (at(entry + CANONICAL), at(entry + NEXT));
            heap::release(name as *mut _);
            heap::release(entry as *mut _);
            entry = next;
        }
        return;
    }
    undisturbed(|| real!(freeaddrinfo(entry): fn(usize) -> ()));
}

/// The buffer of a stream of `open_memstream` as the program knows it: a copy of what the C library has.
struct Copied {
    file: usize,
    /// The C library's buffer, and the copy.
    original: usize,
    copy: usize,
}

static mut COPIED: Vec<Copied> = Vec::new();
/// The copy of the entry that the last `readdir` of each directory has given.
static mut ENTRIES: Vec<(usize, usize)> = Vec::new();

fn copied() -> &'static mut Vec<Copied> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut COPIED) }
}

fn last_entries() -> &'static mut Vec<(usize, usize)> {
    // SAFETY: as in `copied`.
    unsafe { &mut *(&raw mut ENTRIES) }
}

/// An execution begins.
pub(super) fn begin() {
    copied().clear();
    last_entries().clear();
}

/// A stream of `open_memstream` has told its buffer and size at two places. The buffer may have moved since it did so before.
pub(super) fn told(file: usize, [place, size]: [usize; 2], is_closed: bool) {
    let original = at(place);
    if !is_foreign(original) {
        return;
    }
    // SAFETY: the buffer of the stream, which is one block.
    let room = real!(malloc_usable_size(original): fn(usize) -> usize);
    let n = at(size).saturating_add(1).min(room);
    let old = copied().iter().position(|c| c.file == file).map(|i| copied().swap_remove(i));
    let copy = match old {
        Some(old) if old.original == original || is_closed && heap::has_room(old.copy, n) => old.copy,
        old => {
            if let Some(old) = old {
                heap::release(old.copy as *mut _);
            }
            heap::allocate(if is_closed { n } else { room }) as usize
        }
    };
    if copy != 0 {
        // SAFETY: both have at least so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(original as *const u8, copy as *mut u8, n) };
        before(w(copy, n), Call::unknown());
    }
    // SAFETY: the program has handed in a place for a pointer when it opened the stream.
    unsafe { (place as *mut usize).write_unaligned(copy) };
    if is_closed {
        // SAFETY: the stream has left this block to the program.
        unsafe { __libc_free(original as *mut u8) };
    } else {
        copied().push(Copied { file, original, copy });
    }
}

/// Before a call of `readdir`: the last entry is overwritten.
pub(super) fn overwritten(directory: usize) -> Access {
    match last_entries().iter().find(|(d, _)| *d == directory) {
        Some((_, entry)) => w(*entry, ENTRY),
        None => Access::Nothing,
    }
}

/// Before a call of `closedir`: the last entry is freed.
pub(super) fn freed(directory: usize) -> Access {
    if let Some(i) = last_entries().iter().position(|(d, _)| *d == directory) {
        let (_, entry) = last_entries().swap_remove(i);
        heap::release(entry as *mut _);
    }
    Access::Nothing
}

const ENTRY: usize = size_of::<libc::dirent>();
/// Where the name of a directory's entry begins.
const NAME: usize = std::mem::offset_of!(libc::dirent, d_name);

/// `readdir` has given an entry. The program gets a copy in its heap, one for each directory.
pub(super) fn given(directory: usize, entry: usize) -> Access {
    if entry == 0 {
        return Access::Nothing;
    }
    let known = last_entries().iter().find(|(d, _)| *d == directory).map(|(_, copy)| *copy);
    let copy = known.unwrap_or_else(|| heap::allocate(ENTRY) as usize);
    if copy == 0 {
        return Access::Nothing;
    }
    if known.is_none() {
        last_entries().push((directory, copy));
    }
    let n = NAME + length(entry + NAME);
    // SAFETY: an entry has its name at its end, and no name is longer than the place for it in `dirent`.
    unsafe { std::ptr::copy_nonoverlapping(entry as *const u8, copy as *mut u8, n.min(ENTRY)) };
    after(w(copy, n.min(ENTRY)), Call::unknown());
    Access::Result(copy)
}

pub(super) static ROWS: &[Row] = &[Row { name: "freeaddrinfo", entry: super::entry!(free_addresses) }];
