//! Atomic objects of any size: the functions of libatomic that take the size as their first argument.
//!
//! The granules of such an object become one object of the table. Its word stands for the bytes of the atomic alone, unless
//! another atomic lies in one of these granules: then the two conflict. libatomic takes a lock for such an object, so no operation
//! fails spuriously. The buffers of the program that an operation reads and writes are plain accesses of the calling thread.

use crate::access;
use crate::atomics::{is_step, mixed, order, request, written};
use crate::shim::{Call, call, export};
use crate::table::{self, Entry};
use explore::OpKind;

fn bytes_at(address: usize, size: usize) -> Vec<u8> {
    // SAFETY: the program reads so many bytes here, right now.
    unsafe { std::slice::from_raw_parts(address as *const u8, size) }.to_vec()
}

fn put(address: usize, bytes: &[u8]) {
    // SAFETY: the program writes so many bytes here, right now.
    unsafe { std::ptr::copy(bytes.as_ptr(), address as *mut u8, bytes.len()) };
}

/// Reads a buffer of the program.
fn taken(buffer: usize, size: usize, call: Call) -> Vec<u8> {
    access::access(buffer, size, false, call);
    bytes_at(buffer, size)
}

/// Writes a buffer of the program.
fn given(buffer: usize, bytes: &[u8], call: Call) {
    access::access(buffer, bytes.len(), true, call);
    put(buffer, bytes);
}

/// The object at an address, ready for an atomic access.
fn entry(address: usize, size: usize) -> &'static mut Entry {
    let one_granule = (address & 7) + size <= 8;
    let found = if one_granule { table::memory(address, size) } else { table::block(address, size) };
    let entry = access::entry(found);
    if entry.merged {
        crate::names::note_part(address, size);
        entry.cover(address, size);
    }
    entry.atomic = true;
    if entry.mask != u64::MAX {
        entry.widen(address, size);
    }
    entry
}

/// Checks an access whose turn has come: other threads may have freed the memory meanwhile.
fn done(entry: &Entry, address: usize, size: usize, write: bool, call: Call) {
    crate::heap::check(address, size, write, call);
    let words = (address + 7) & !7..(address + size) & !7;
    for at in words.step_by(8) {
        // SAFETY: the program has just accessed it, and it is aligned.
        crate::reuse::published(unsafe { (at as *const u64).read() });
    }
    if entry.plain {
        mixed(entry, address, size, write, call);
    }
}

fn load_from(address: usize, size: usize, mo: i32, call: Call) -> Vec<u8> {
    let entry = entry(address, size);
    let request = request(entry, OpKind::Load, mo, 0, 0, call);
    runtime::on_memory(&request, call.state, || entry.read(), |w| w, |_| ());
    done(entry, address, size, false, call);
    // No other thread has run since.
    bytes_at(address, size)
}

fn store_to(address: usize, new: &[u8], mo: i32, call: Call) {
    let entry = entry(address, new.len());
    // If the word stands for more than these bytes, a word that no other content has is written. The next step reads the memory.
    let word = match entry.is_exactly(address, new.len()) {
        true => table::word_of(new),
        false => table::word_of(new).rotate_left(7) ^ address as u64,
    };
    let request = request(entry, OpKind::Store, mo, word, 0, call);
    runtime::on_memory(&request, call.state, || entry.read(), |w| w, |_| put(address, new));
    done(entry, address, new.len(), true, call);
}

/// A read-modify-write: returns the old value. With an expected value it writes only if that was there.
fn modify(address: usize, size: usize, mo: i32, call: Call, new: &[u8], expected: Option<&[u8]>) -> Vec<u8> {
    let entry = entry(address, size);
    let mut old = None;
    let change = |_| {
        let found = bytes_at(address, size);
        if expected.is_none_or(|e| e == found) {
            put(address, new);
        }
        old = Some(found);
        entry.read()
    };
    let request = request(entry, OpKind::Rmw, mo, 0, 0, call);
    runtime::on_memory(&request, call.state, || entry.read(), change, |_| ());
    old.unwrap_or_else(|| bytes_at(address, size))
}

extern "C" fn load(size: usize, address: usize, out: usize, mo: i32) {
    if size == 0 || !is_step(address) {
        return put(out, &bytes_at(address, size));
    }
    let (call, written) = (call(), written(mo));
    let value = load_from(address, size, mo, call);
    runtime::ordered_access(&entry(address, size).handle, written, call.place);
    given(out, &value, call);
}

extern "C" fn store(size: usize, address: usize, new: usize, mo: i32) {
    if size == 0 || !is_step(address) {
        return put(address, &bytes_at(new, size));
    }
    let (call, written) = (call(), written(mo));
    let new = taken(new, size, call);
    store_to(address, &new, mo, call);
    runtime::ordered_access(&entry(address, size).handle, written, call.place);
}

extern "C" fn exchange(size: usize, address: usize, new: usize, out: usize, mo: i32) {
    if size == 0 || !is_step(address) {
        let old = bytes_at(address, size);
        put(address, &bytes_at(new, size));
        return put(out, &old);
    }
    let (call, written) = (call(), written(mo));
    let new = taken(new, size, call);
    // The new value is not a part of the step, so it is a part of the local state.
    let old = modify(address, size, mo, call.with(table::word_of(&new)), &new, None);
    let entry = entry(address, size);
    done(entry, address, size, true, call);
    runtime::ordered_access(&entry.handle, written, call.place);
    given(out, &old, call);
}

extern "C" fn compare_exchange(
    size: usize,
    address: usize,
    expected_at: usize,
    new: usize,
    mo: i32,
    failed: i32,
) -> i32 {
    if size == 0 || !is_step(address) {
        let old = bytes_at(address, size);
        let ok = old == bytes_at(expected_at, size);
        if ok {
            put(address, &bytes_at(new, size));
        } else {
            put(expected_at, &old);
        }
        return ok.into();
    }
    let (call, if_equal, if_not) = (call(), written(mo), written(failed));
    let expected = taken(expected_at, size, call);
    let new = taken(new, size, call);
    let with_operands = call.with(table::word_of(&expected)).with(table::word_of(&new));
    let old = modify(address, size, mo, with_operands, &new, Some(&expected));
    let ok = old == expected;
    if !ok {
        runtime::only_read(order(failed));
    }
    let entry = entry(address, size);
    done(entry, address, size, ok, call);
    runtime::ordered_access(&entry.handle, if ok { if_equal } else { if_not }, call.place);
    if !ok {
        given(expected_at, &old, call);
    }
    ok.into()
}

export! {
    __atomic_load => load;
    __atomic_store => store;
    __atomic_exchange => exchange;
    __atomic_compare_exchange => compare_exchange;
}
