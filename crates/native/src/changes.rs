//! Whether anything was changed under a lock: loops that look at data under a lock end by it (the runtime's module
//! `polling`).
//!
//! While a thread holds a lock, each of its writes that are not atomic is noted with what was there before. When the lock is
//! given back, what is there now is compared: who writes what was there already has changed nothing that the next holder of
//! the lock could see. What a thread keeps on its own stack and nobody else was seen to access (the flag inside a
//! `std::unique_lock`) does not come here at all.
//! Writes that are steps of their own (atomics, and all writes under `RADDLE_RACES=sync`) are seen by themselves.

use crate::options::{Races, options};
use explore::ThreadId;

/// So many writes are compared; with more, something counts as changed.
const MOST: usize = 16;

#[derive(Clone, Copy)]
struct Write {
    address: usize,
    bytes: usize,
    before: u64,
}

/// What a thread has written since it took the first of the locks that it holds.
#[derive(Clone, Copy)]
struct Section {
    /// How many locks it holds.
    locks: u32,
    /// How many writes there are; one more than there is room for when there were more.
    writes: usize,
    log: [Write; MOST],
}

const OUTSIDE: Section =
    Section { locks: 0, writes: 0, log: [Write { address: 0, bytes: 0, before: 0 }; MOST] };

static mut SECTIONS: [Section; explore::MAX_THREADS] = [OUTSIDE; explore::MAX_THREADS];

fn section() -> &'static mut Section {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut (*(&raw mut SECTIONS))[runtime::current().index()] }
}

/// A thread begins.
#[inline]
pub(crate) fn fresh(t: ThreadId) {
    // SAFETY: as in `section`.
    let section = unsafe { &mut (*(&raw mut SECTIONS))[t.index()] };
    (section.locks, section.writes) = (0, 0);
}

fn read(address: usize, bytes: usize) -> u64 {
    let mut word = [0u8; 8];
    // SAFETY: the program writes here, right now, or did so while it held its lock; at most eight bytes.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, word.as_mut_ptr(), bytes.min(8)) };
    u64::from_le_bytes(word)
}

/// The running thread is about to write at most eight bytes that others may see.
#[inline]
pub(crate) fn wrote(address: usize, bytes: usize) {
    let section = section();
    if section.locks > 0 && section.writes <= MOST {
        note(section, address, bytes);
    }
}

#[inline(never)]
fn note(section: &mut Section, address: usize, bytes: usize) {
    if section.log[..section.writes].iter().any(|w| w.address == address && w.bytes == bytes) {
        return;
    }
    if section.writes < MOST && bytes <= 8 {
        section.log[section.writes] = Write { address, bytes, before: read(address, bytes) };
        section.writes += 1;
    } else {
        section.writes = MOST + 1;
    }
}

/// Whether the writes of the running thread are noted.
pub(crate) fn are_noted() -> bool {
    section().locks > 0
}

/// The running thread has taken a lock.
pub(crate) fn taken() {
    crate::alone::stop();
    let section = section();
    if section.locks == 0 {
        section.writes = 0;
    }
    section.locks += 1;
}

/// It is about to give one back. Says whether anything may have changed meanwhile.
pub(crate) fn given_back() -> bool {
    let section = section();
    section.locks = section.locks.saturating_sub(1);
    if options().races == Races::Sync {
        return false;
    }
    section.writes > MOST
        || section.log[..section.writes].iter().any(|w| read(w.address, w.bytes) != w.before)
}
