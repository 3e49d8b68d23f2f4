//! The hash table of `hsearch`.
//!
//! glibc keeps pointers to the keys of the program, and compares them in later calls. The table of `hsearch` is one of `hsearch_r` here,
//! which each execution has of its own.

use super::accesses::{at, before, change, length, r, s, w};
use super::objects::HASH;
use super::{Row, incoming};
use crate::heap;
use crate::real::real;
use crate::shim::{Call, undisturbed};
use image::arena::State;
use std::ffi::c_int;

/// `struct hsearch_data`: the table, its size, and how many entries it has.
static mut TABLE: [usize; 2] = [0; 2];
/// The running execution has made the table.
static mut IS_MADE: bool = false;

fn table() -> usize {
    &raw mut TABLE as usize
}

/// An execution begins: the table of the last one is freed.
pub(super) fn begin() {
    // SAFETY: no thread of the program runs.
    let (is_made, entries) = unsafe { (std::mem::take(&mut *(&raw mut IS_MADE)), TABLE[0]) };
    if !is_made {
        return;
    }
    if heap::heap().state_of(entries) == State::NotHeap {
        real!(hdestroy_r(table()): fn(usize) -> ());
    }
    // SAFETY: as above.
    unsafe { TABLE = [0; 2] };
}

/// An entry of the table: the hash of its key, the key, and the data.
const ENTRY: usize = 24;
const KEY: usize = 8;
const ENTER: usize = 1;

fn word(p: usize) -> u32 {
    // SAFETY: an entry of the table, or a field of its description.
    unsafe { (p as *const u32).read() }
}

/// A search reads its key, and compares it with the keys of entries that have the same hash. The order of the entries that are looked at
/// is that of glibc.
pub(super) fn compares(key: usize, table: usize, call: Call) {
    before(s(key), call);
    let (entries, size) = (at(table), word(table + 8));
    if key == 0 || entries == 0 || size < 3 {
        return;
    }
    let n = length(key) - 1;
    // SAFETY: the program hands in a string. glibc takes its bytes as signed numbers.
    let bytes = unsafe { std::slice::from_raw_parts(key as *const i8, n) };
    let hash = bytes.iter().rev().fold(n as u32, |h, b| (h << 4).wrapping_add(*b as u32)).max(1);
    let first = hash % size + 1;
    let step = 1 + hash % (size - 2);
    let mut i = first;
    loop {
        let entry = entries + i as usize * ENTRY;
        let used = word(entry);
        if used == 0 {
            return;
        }
        if used == hash {
            let other = at(entry + KEY);
            let m = length(other);
            // SAFETY: the key of an entry is a string of the program.
            let other_bytes = unsafe { std::slice::from_raw_parts(other as *const i8, m - 1) };
            let same = bytes.iter().zip(other_bytes).take_while(|(a, b)| a == b).count();
            before(r(other, m.min(same + 1)), call);
            if same == n && m == n + 1 {
                return;
            }
        }
        i = if i <= step { size + i - step } else { i - step };
        if i == first {
            return;
        }
    }
}

fn used(call: Call) {
    super::keeping_errno(|| before(change(&HASH), call));
}

extern "C" fn create(n: usize) -> c_int {
    if let Some(call) = incoming(false) {
        used(call);
        // SAFETY: one OS thread alone runs code of the program.
        unsafe { IS_MADE = true };
    }
    undisturbed(|| real!(hcreate_r(n, table()): fn(usize, usize) -> c_int))
}

extern "C" fn destroy() {
    if let Some(call) = incoming(false) {
        used(call);
    }
    undisturbed(|| real!(hdestroy_r(table()): fn(usize) -> ()));
}

extern "C" fn search(key: usize, data: usize, action: usize) -> usize {
    if let Some(call) = incoming(false) {
        used(call);
        super::keeping_errno(|| compares(key, table(), call));
    }
    let mut found = 0usize;
    let place = &raw mut found as usize;
    undisturbed(
        || real!(hsearch_r(key, data, action, place, table()): fn(usize, usize, usize, usize, usize) -> c_int),
    );
    found
}

extern "C" fn search_in(key: usize, data: usize, action: usize, out: usize, table: usize) -> c_int {
    let call = incoming(false);
    if let Some(call) = call {
        super::keeping_errno(|| {
            before(r(table, 16), call);
            if action as u32 as usize == ENTER {
                before(w(table, 16), call);
            }
            compares(key, table, call);
            before(w(out, 8), call);
        });
    }
    undisturbed(
        || real!(hsearch_r(key, data, action, out, table): fn(usize, usize, usize, usize, usize) -> c_int),
    )
}

pub(super) static ROWS: &[Row] = &[
    Row { name: "hcreate", entry: super::entry!(create) },
    Row { name: "hdestroy", entry: super::entry!(destroy) },
    Row { name: "hsearch", entry: super::entry!(search) },
    Row { name: "hsearch_r", entry: super::entry!(search_in) },
];
