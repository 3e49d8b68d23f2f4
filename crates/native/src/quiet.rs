//! Variables of Rust's std that no program can tell the state of: what is done to them is no step.
//!
//! They are of two kinds. Caches, which hold the same whoever fills them: how large stacks are, the key under which destructors of
//! thread-locals are called, which functions the C library has; and the count of all panics, which is only asked to save a look at
//! the thread's own. And the lock around what std notes of each thread's stack, which every thread takes when it ends, and for nothing
//! that it could see. No step is taken while that one is held, so it is always found free.
//!
//! Where std has other names for them they are steps like any other: that costs executions, and misses nothing.

use crate::functions;

/// Parts of the names, as both ways of mangling write them.
const NAMES: [&str; 7] = [
    "14stack_overflow11thread_info4LOCK",
    "14stack_overflow11thread_info9SPIN_LOCK",
    "11panic_count18GLOBAL_PANIC_COUNT",
    "12thread_local5guard3key6enable5DTORS",
    "14min_stack_size5DLSYM",
    "15spawn_unchecked",
    // See `std_threads`.
    "8ThreadId3new7COUNTER",
];

fn is_one(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let of_std = (name.starts_with("_R") || name.starts_with("_ZN")) && name.contains("3std");
    let found = |part: &&str| name.contains(part) && (*part != "15spawn_unchecked" || name.contains("3MIN"));
    of_std && NAMES.iter().any(found)
}

/// Where they lie, and the first and the last address of all.
static mut QUIET: (Vec<(usize, usize)>, usize, usize) = (Vec::new(), 0, 0);

/// Finds them in the program, before the first execution.
pub(crate) fn prepare() {
    let base = functions::base();
    let mut all = Vec::new();
    functions::each(|symbol| {
        if symbol.is_variable && symbol.size > 0 && is_one(symbol.name) {
            all.push((base + symbol.address, base + symbol.address + symbol.size));
        }
    });
    let start = all.iter().map(|r| r.0).min().unwrap_or(0);
    let end = all.iter().map(|r| r.1).max().unwrap_or(0);
    // SAFETY: nothing else runs yet.
    unsafe { QUIET = (all, start, end) };
}

/// Whether what lies at an address is one of them.
#[inline]
pub(crate) fn is_quiet(address: usize) -> bool {
    // SAFETY: set before the first execution.
    let (all, start, end) = unsafe { &*(&raw const QUIET) };
    crate::std_threads::is_count(address)
        || address.wrapping_sub(*start) < end - start && all.iter().any(|(a, b)| (*a..*b).contains(&address))
}
