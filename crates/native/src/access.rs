//! Reads and writes that are not atomic: the callbacks that the compiler puts in front of them.
//!
//! By default they are checked for races and are no steps: where there is no race, the steps that order the accesses are
//! all that schedules can differ in. With `RADDLE_RACES=sync` they are steps.

use crate::changes;
use crate::options::{Races, options};
use crate::shim::{Call, call, export};
use crate::table::{self, Entry, Found};
use explore::{FailureKind, MemoryOrder, OpKind};
use runtime::{Class, Request, Touching};

/// An access to `bytes` bytes, of whatever alignment.
#[inline]
pub(crate) fn access(address: usize, bytes: usize, write: bool, call: Call) {
    if (address & 7) + bytes <= 8 {
        part(address, bytes, write, call);
    } else {
        range(address, bytes, write, call);
    }
}

/// An access to a range: its granules one after the other, as nothing makes it happen at once.
pub(crate) fn range(address: usize, bytes: usize, write: bool, call: Call) {
    let end = address.saturating_add(bytes);
    let mut at = address;
    while at < end {
        let next = ((at & !7) + 8).min(end);
        part(at, next - at, write, call);
        at = next;
    }
}

/// An access within one granule.
#[inline]
fn part(address: usize, bytes: usize, write: bool, call: Call) {
    let races = options().races;
    if races == Races::Ignore {
        if write {
            changes::wrote(address, bytes);
        }
        return;
    }
    let Found::Entry(entry) = table::memory(address, bytes) else { runtime::restart(call.place) };
    match races {
        Races::Sync => step(entry, write, call),
        _ => check(entry, write, call),
    }
}

fn check(entry: &mut Entry, write: bool, call: Call) {
    runtime::settle();
    if !entry.plain {
        entry.plain = true;
        if entry.atomic {
            // Atomic accesses of it are to be checked from now on, too.
            runtime::restart(call.place);
        }
    }
    let how = Touching { write, atomic: false };
    let race = if changes::is_own(entry, write, call.place) {
        runtime::touch_own(&entry.handle, how, call.place)
    } else {
        if write {
            changes::wrote(entry.address, entry.bytes as usize);
        }
        runtime::touch(&entry.handle, how, call.place)
    };
    if let Some(race) = race {
        runtime::fail(FailureKind::DataRace, race, call.place);
    }
}

fn step(entry: &Entry, write: bool, call: Call) {
    let request = Request {
        kind: if write { OpKind::Store } else { OpKind::Load },
        object: &entry.handle,
        class: Class::Variable,
        initial: 0,
        a: 0,
        b: 0,
        order: MemoryOrder::None,
        place: call.place,
    };
    if write {
        runtime::write_later(&request, call.state, entry.address, entry.reader());
    } else {
        runtime::on_memory(&request, call.state, || entry.read(), |w| w, |_| ());
    }
}

macro_rules! accesses {
    ($($read:ident, $write:ident, $both:ident: $bytes:literal;)*) => {$(
        extern "C" fn $read(address: usize) {
            if runtime::in_execution() {
                access(address, $bytes, false, call());
            }
        }

        extern "C" fn $write(address: usize) {
            if runtime::in_execution() {
                access(address, $bytes, true, call());
            }
        }

        extern "C" fn $both(address: usize) {
            if runtime::in_execution() {
                let call = call();
                access(address, $bytes, false, call);
                access(address, $bytes, true, call);
            }
        }
    )*};
}

accesses! {
    read1, write1, read_write1: 1;
    read2, write2, read_write2: 2;
    read4, write4, read_write4: 4;
    read8, write8, read_write8: 8;
    read16, write16, read_write16: 16;
}

extern "C" fn read_range(address: usize, bytes: usize) {
    if runtime::in_execution() {
        range(address, bytes, false, call());
    }
}

extern "C" fn write_range(address: usize, bytes: usize) {
    if runtime::in_execution() {
        range(address, bytes, true, call());
    }
}

/// The pointer to the table of virtual functions is written when an object is made or comes to its end.
extern "C" fn vptr_update(address: usize, value: usize) {
    // Constructors and destructors of base classes store what is there already: nobody can tell.
    // SAFETY: the program is about to write here.
    if runtime::in_execution() && unsafe { (address as *const usize).read() } != value {
        access(address, 8, true, call());
    }
}

extern "C" fn nothing() {}

export! {
    __tsan_read1 => read1;
    __tsan_read2 => read2;
    __tsan_read4 => read4;
    __tsan_read8 => read8;
    __tsan_read16 => read16;
    __tsan_write1 => write1;
    __tsan_write2 => write2;
    __tsan_write4 => write4;
    __tsan_write8 => write8;
    __tsan_write16 => write16;
    __tsan_unaligned_read2 => read2;
    __tsan_unaligned_read4 => read4;
    __tsan_unaligned_read8 => read8;
    __tsan_unaligned_read16 => read16;
    __tsan_unaligned_write2 => write2;
    __tsan_unaligned_write4 => write4;
    __tsan_unaligned_write8 => write8;
    __tsan_unaligned_write16 => write16;
    __tsan_read_write1 => read_write1;
    __tsan_read_write2 => read_write2;
    __tsan_read_write4 => read_write4;
    __tsan_read_write8 => read_write8;
    __tsan_read_write16 => read_write16;
    __tsan_unaligned_read_write2 => read_write2;
    __tsan_unaligned_read_write4 => read_write4;
    __tsan_unaligned_read_write8 => read_write8;
    __tsan_unaligned_read_write16 => read_write16;
    __tsan_volatile_read1 => read1;
    __tsan_volatile_read2 => read2;
    __tsan_volatile_read4 => read4;
    __tsan_volatile_read8 => read8;
    __tsan_volatile_read16 => read16;
    __tsan_volatile_write1 => write1;
    __tsan_volatile_write2 => write2;
    __tsan_volatile_write4 => write4;
    __tsan_volatile_write8 => write8;
    __tsan_volatile_write16 => write16;
    __tsan_unaligned_volatile_read2 => read2;
    __tsan_unaligned_volatile_read4 => read4;
    __tsan_unaligned_volatile_read8 => read8;
    __tsan_unaligned_volatile_read16 => read16;
    __tsan_unaligned_volatile_write2 => write2;
    __tsan_unaligned_volatile_write4 => write4;
    __tsan_unaligned_volatile_write8 => write8;
    __tsan_unaligned_volatile_write16 => write16;
    __tsan_read_range => read_range;
    __tsan_write_range => write_range;
    __tsan_vptr_read => read8;
    __tsan_vptr_update => vptr_update;
    __tsan_func_entry => crate::verifier::entered;
    __tsan_func_exit => crate::verifier::left;
    __tsan_init => nothing;
    __tsan_ignore_thread_begin => nothing;
    __tsan_ignore_thread_end => nothing;
}
