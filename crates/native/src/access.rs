//! Reads and writes that are not atomic: the callbacks that the compiler puts in front of them.
//!
//! By default they are checked for races and are no steps: where there is no race, the steps that order the accesses are
//! all that schedules can differ in. With `RADDLE_RACES=sync` they are steps.

use crate::front::Program;
use crate::options::{Races, options};
use crate::shim::{Call, call, export, export_if, export_quick};
use crate::table::{self, Entry, Found};
use crate::{alone, changes, heap, looks, reuse, touch, unwritten};
use explore::{CaveatKind, FailureKind, MemoryOrder, OpKind, ThreadId};
use runtime::{Accessed, Class, Front, Handle, Request, Touching};

/// An access to `bytes` bytes, of whatever alignment.
#[inline]
pub(crate) fn access(address: usize, bytes: usize, write: bool, call: Call) {
    if (address & 7) + bytes > 8 {
        range(address, bytes, write, call);
    } else if is_own(address) {
        if write && bytes == 8 {
            reuse::will_write_own(address);
        }
        count(call);
    } else {
        part(address, bytes, write, call);
    }
}

/// Whether an access within one granule is to the stack of the running thread, while threads keep to their own stacks and others run. Nobody
/// else knows what is there.
#[inline(always)]
fn is_own(address: usize) -> bool {
    // SAFETY: one OS thread alone runs code of the program.
    runtime::on_own_stack(address)
        && !unsafe { WATCHED }
        && !runtime::is_alone()
        && !table::looks_at_stacks()
        && options().races == Races::Report
}

/// An access to a range.
///
/// Nothing makes it happen at once, so it is an access to one granule after the other. But where accesses are steps the program
/// does all of it only after the last of these: so that what is seen is what happens, all of the range is one object then. That another
/// thread sees or changes a part of it is left out, and named; see [`note_torn`].
pub(crate) fn range(address: usize, bytes: usize, write: bool, call: Call) {
    if bytes > 0 && options().races == Races::Sync {
        return on(table::block(address, bytes), address, bytes, write, call);
    }
    let end = address.saturating_add(bytes);
    let mut at = address;
    // SAFETY: one OS thread alone runs code of the program.
    let bulk = bytes >= BULK && options().races == Races::Report && unsafe { !crate::signals::ACTIVE };
    let mut looked_at = false;
    while at < end {
        if cannot_race(write) {
            record(at, end - at, write, call);
            note_unshared(at, end - at, write);
            return heap::check(at, end - at, write, call);
        }
        if bulk && !runtime::may_be_on_stack(at) && !table::shadow().leaves(at, table::has_shadow) {
            if !looked_at {
                looked_at = true;
                heap::check(at, end - at, write, call);
                runtime::settle();
                note_unshared(at, end - at, write);
                if count(call) {
                    // Others have run.
                    continue;
                }
            }
            let (next, race) =
                table::shadow().touch_range(at, end, (write, write), call.place, table::has_shadow);
            if runtime::records_plain() {
                let mut from = at;
                while from < next.max(at + 1) {
                    let to = ((from & !7) + 8).min(end);
                    record(from, to - from, write, call);
                    from = to;
                }
            }
            if let Some(race) = race {
                runtime::fail(FailureKind::DataRace, race, call.place);
            }
            at = next;
            continue;
        }
        let next = ((at & !7) + 8).min(end);
        part(at, next - at, write, call);
        at = next;
    }
}

/// From so many bytes on a range is looked at as a whole where it has no entries. It has more granules than writes are remembered.
const BULK: usize = 256;

/// Whether an access of the running thread needs no record: it is the only thread, or races are not looked for. In a loop that may
/// repeat itself writes must be told all the same.
#[inline]
fn cannot_race(write: bool) -> bool {
    match options().races {
        Races::Report => runtime::is_alone() && !(write && runtime::is_looking()),
        Races::Ignore => true,
        Races::Sync => false,
    }
}

/// Records an access of an execution that is shown.
#[inline]
fn record(address: usize, bytes: usize, write: bool, call: Call) {
    // Names may be read from files, which changes `errno`.
    let is_shown = || write || !crate::libc::keeping_errno(|| crate::names::is_nameless(address));
    if runtime::records_plain() && is_shown() {
        crate::libc::keeping_errno(|| runtime::record_plain(address as u64, bytes, write, call.place));
    }
}

/// Notes what is to be known of an access that cannot race.
#[inline]
fn note_unshared(address: usize, bytes: usize, write: bool) {
    if write {
        changes::wrote(address, bytes);
    }
}

/// Accesses are recorded, or may be interrupted by signals.
static mut WATCHED: bool = false;

/// What [`WATCHED`] depends on may have changed.
pub(crate) fn watch() {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { WATCHED = crate::signals::ACTIVE || runtime::records_plain() };
    alone::stop();
}

/// Whether every access is to be looked at for these.
pub(crate) fn is_watched() -> bool {
    // SAFETY: as above.
    unsafe { WATCHED }
}

#[cold]
fn watched(address: usize, bytes: usize, write: bool, call: Call) {
    // SAFETY: as above.
    if unsafe { crate::signals::ACTIVE } {
        crate::signals::accessed(address, bytes, write, call);
    }
    record(address, bytes, write, call);
}

/// An access within one granule.
#[inline(never)]
fn part(address: usize, bytes: usize, write: bool, call: Call) {
    // SAFETY: one OS thread alone runs code of the program.
    if unsafe { WATCHED } {
        watched(address, bytes, write, call);
    }
    if write && bytes == 8 {
        reuse::will_write(address);
    }
    if cannot_race(write) {
        return unshared(address, bytes, write, call);
    }
    if options().races == Races::Report {
        if runtime::on_own_stack(address) {
            // Where threads keep to their own stacks, nobody else knows what is there.
            if !table::looks_at_stacks() {
                count(call);
                return;
            }
        } else if !table::shadow().leaves(address, table::has_shadow) {
            return without_entry(address, bytes, write, call);
        }
    }
    with_entry(address, bytes, write, call);
}

/// An access within one granule that cannot race.
#[inline(never)]
fn unshared(address: usize, bytes: usize, write: bool, call: Call) {
    note_unshared(address, bytes, write);
    heap::check(address, bytes, write, call);
    if !runtime::may_be_on_stack(address) {
        alone::accessed(address, write);
    }
}

/// An access to memory that has entries.
#[inline(never)]
fn with_entry(address: usize, bytes: usize, write: bool, call: Call) {
    on(table::memory(address, bytes), address, bytes, write, call);
}

/// An access to memory that is only accessed by something that is not atomic, as far as is known.
#[inline(never)]
fn without_entry(address: usize, bytes: usize, write: bool, call: Call) {
    heap::check(address, bytes, write, call);
    runtime::settle();
    if count(call) && table::shadow().leaves(address, table::has_shadow) {
        // Others have run.
        return check(entry(table::memory(address, bytes)), address, bytes, write, call);
    }
    if write {
        changes::wrote(address, bytes);
    }
    let elsewhere = write && !runtime::on_own_stack(address);
    let access = Accessed { address, bytes, write, elsewhere, place: call.place };
    if let Some(race) = table::shadow().touch(access, table::has_shadow) {
        runtime::fail(FailureKind::DataRace, race, call.place);
    }
}

/// A write of the value that is there: as an access it is like any other, and it changes nothing.
pub(crate) fn written_again(address: usize, bytes: usize, call: Call) {
    // SAFETY: one OS thread alone runs code of the program.
    let is_ordinary = !unsafe { WATCHED } && options().races == Races::Report && !cannot_race(true);
    if !is_ordinary
        || (address & 7) + bytes > 8
        || runtime::on_own_stack(address)
        || table::shadow().leaves(address, table::has_shadow)
    {
        return access(address, bytes, true, call);
    }
    heap::check(address, bytes, true, call);
    runtime::settle();
    let access = Accessed { address, bytes, write: true, elsewhere: false, place: call.place };
    if let Some(race) = table::shadow().touch(access, table::has_shadow) {
        runtime::fail(FailureKind::DataRace, race, call.place);
    }
}

/// The object that was found. If that is news, the search starts again when this execution has come to its end.
#[inline]
pub(crate) fn entry(found: Found) -> &'static mut Entry {
    match found {
        Found::Entry(entry) => entry,
        Found::Changed(entry) => {
            runtime::restart_soon();
            entry
        }
    }
}

#[inline]
fn on(found: Found, address: usize, bytes: usize, write: bool, call: Call) {
    let entry = entry(found);
    if entry.on_stack && is_private(entry) {
        if write && entry.has_sync && options().races == Races::Report {
            crate::sync::overwritten(address, bytes, call);
        }
        // Another thread may be about to write it, which nobody knows yet.
        count(call);
        return;
    }
    if options().races == Races::Sync {
        if entry.bytes > 8 && !runtime::is_alone() {
            note_torn(entry, bytes, write, call);
        }
        step(entry, write, call);
        // Others may have freed it before its turn came.
        heap::check(address, bytes, write, call);
    } else {
        heap::check(address, bytes, write, call);
        check_counted(entry, address, bytes, write, call);
    }
}

/// Names accesses of more than eight bytes that are one step here, where nothing orders them with another access to the same memory: the
/// processor may take several steps for one of them. All accesses are noted in the entry, and the wide ones also at its first byte.
#[cold]
fn note_torn(entry: &Entry, bytes: usize, write: bool, call: Call) {
    runtime::settle();
    let how = Touching { write, atomic: false, elsewhere: false };
    let name = entry.address as u64;
    let with_any = runtime::touch_cell(&entry.cell, name, how, call.place).is_some();
    let wide = &table::byte(entry.address).cell;
    let is_torn = if bytes > 8 {
        runtime::touch_cell(wide, name, how, call.place);
        with_any
    } else {
        runtime::is_unordered(wide, write)
    };
    if is_torn {
        let text = "accesses to more than eight bytes were explored as single steps: that another thread sees or changes a part was not";
        runtime::caveat_at(CaveatKind::Races, text, call.place);
    }
}

/// A write to a part of one granule, which `perform` does when its turn has come.
pub(crate) fn write_now(address: usize, bytes: usize, call: Call, perform: impl FnOnce()) {
    let entry = entry(table::memory(address, bytes));
    if entry.on_stack && is_private(entry) {
        return perform();
    }
    let request = request(entry, OpKind::Rmw, call);
    let mut perform = Some(perform);
    let change = |_| {
        if let Some(perform) = perform.take() {
            perform();
        }
        entry.read()
    };
    runtime::on_memory(&request, call.state, || entry.read(), change, |_| ());
    heap::check(address, bytes, true, call);
}

/// Whether memory is on the running thread's own stack and nobody else was ever seen to access it.
#[inline]
pub(crate) fn is_private(entry: &mut Entry) -> bool {
    if entry.is_foreign() {
        if !runtime::on_own_stack(entry.address) {
            crate::frames::accessed(entry);
        }
        return false;
    }
    if runtime::on_own_stack(entry.address) {
        return true;
    }
    if runtime::on_other_stack(entry.address) {
        // What its owner did to it before was not seen.
        entry.make_foreign();
        crate::frames::accessed(entry);
        runtime::restart_soon();
    }
    false
}

/// How many accesses a thread makes before it lets others run: a loop that waits for a variable, with nothing that orders the
/// accesses to it, would go on for ever, and the race in it would not be seen.
const MANY: u32 = 100_000;

static mut ACCESSES: [u32; explore::MAX_THREADS] = [0; explore::MAX_THREADS];

/// A thread begins.
#[inline]
pub(crate) fn fresh(t: ThreadId) {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { ACCESSES[t.index()] = 0 };
}

/// Counts an access. Says whether others may have run.
#[inline]
fn count(call: Call) -> bool {
    // SAFETY: as above.
    let n = unsafe { &mut (*(&raw mut ACCESSES))[runtime::current().index()] };
    *n += 1;
    if *n == MANY {
        *n = 0;
        let_others_run(call);
        return true;
    }
    false
}

#[cold]
fn let_others_run(call: Call) {
    runtime::local_step(OpKind::Yield, MemoryOrder::None, call.place);
}

fn check_counted(entry: &mut Entry, address: usize, bytes: usize, write: bool, call: Call) {
    runtime::settle();
    count(call);
    check(entry, address, bytes, write, call);
}

fn check(entry: &mut Entry, address: usize, bytes: usize, write: bool, call: Call) {
    if !entry.plain {
        entry.plain = true;
        if entry.atomic {
            // Atomic accesses of it are to be checked from now on, too.
            runtime::restart_soon();
        }
    }
    if write {
        if entry.bytes > 8 {
            // At most eight bytes are compared later.
            changes::wrote(address, bytes);
        } else {
            changes::wrote(entry.address, entry.bytes as usize);
        }
    }
    let elsewhere = write && !runtime::on_own_stack(entry.address);
    let how = Touching { write, atomic: false, elsewhere };
    touch(entry, address, bytes, how, call);
    if write && entry.has_sync {
        crate::sync::overwritten(address, bytes, call);
    }
}

/// The name of a variable.
pub(crate) fn name(address: usize, bytes: usize) -> String {
    let entry = entry(table::memory(address, bytes));
    let name = Program.object(Program.name_of(&entry.handle), Class::Variable);
    name.unwrap_or_else(|| format!("{address:#x}"))
}

/// A step that looks at a variable.
pub(crate) fn look(address: usize, bytes: usize, call: Call) {
    step(entry(table::memory(address, bytes)), false, call);
}

/// Looks whether an access races with another. Neighbours do not, also where they are one object: then it is looked at byte by byte.
pub(crate) fn touch(entry: &Entry, address: usize, bytes: usize, how: Touching, call: Call) {
    let one = |entry: &Entry| {
        if let Some(mut race) = runtime::touch_cell(&entry.cell, entry.address as u64, how, call.place) {
            if entry.volatile && !options().volatile_is_atomic {
                race +=
                    " (it is volatile: with --volatile atomic its accesses are relaxed atomic operations)";
            }
            runtime::fail(FailureKind::DataRace, race, call.place);
        }
    };
    if entry.merged {
        (address..address + bytes).for_each(|at| one(table::byte(at)));
    } else {
        one(entry);
    }
}

/// The memory of a range goes, or its contents do; or it can only be read from now on: accesses at the same time race with that.
pub(crate) fn change(start: usize, bytes: usize, write: bool, call: Call) {
    table::known(start, bytes, |entry| change_part(entry, write, call));
    if options().races == Races::Report {
        runtime::settle();
        if let Some(race) = table::shadow().touch_known(start, bytes, write, call.place) {
            runtime::fail(FailureKind::DataRace, race, call.place);
        }
    }
}

/// The memory goes in which this object lies, or its contents do; or it can only be read from now on.
fn change_part(entry: &'static mut Entry, write: bool, call: Call) {
    if options().races == Races::Sync {
        return step(entry, write, call);
    }
    runtime::settle();
    if !entry.plain {
        entry.plain = true;
        if entry.atomic {
            runtime::restart_soon();
        }
    }
    // What this execution has not met nobody has accessed, and whoever does so later uses it after it was freed. It may be known from
    // others all the same, and must not be met here: objects are numbered as they are met, the same in each execution.
    let met = |entry: &Entry| runtime::is_met(&entry.cell);
    let how = Touching { write, atomic: false, elsewhere: write };
    if entry.merged {
        let all = entry.address..entry.address + entry.bytes as usize;
        all.filter(|at| met(table::byte(*at))).for_each(|at| touch(entry, at, 1, how, call));
    } else if met(entry) {
        touch(entry, entry.address, entry.bytes as usize, how, call);
    }
}

fn request(entry: &Entry, kind: OpKind, call: Call) -> Request<'_> {
    Request {
        kind,
        object: &entry.handle,
        class: Class::Variable,
        initial: 0,
        a: 0,
        b: 0,
        order: MemoryOrder::None,
        place: call.place,
    }
}

fn step(entry: &'static Entry, write: bool, call: Call) {
    probe(entry.address);
    if write {
        runtime::write_later(&request(entry, OpKind::Store, call), call.state, &entry.handle, read_again);
    } else {
        let request = request(entry, OpKind::Load, call);
        runtime::on_memory(&request, call.state, || entry.read(), |w| w, |_| ());
    }
}

/// Reads a byte that the program is about to access. An access that crashes does so here, before it is announced as a step: a step that was
/// announced has to be taken.
#[inline]
pub(crate) fn probe(address: usize) {
    // SAFETY: the program accesses this memory right now. If it cannot, it crashes here as it would there.
    unsafe { (address as *const u8).read_volatile() };
}

/// What is in memory by now, for an object by its handle.
pub(crate) fn read_again(handle: &'static Handle) -> u64 {
    // SAFETY: handles of this process lie in entries, as their first field.
    unsafe { &*(std::ptr::from_ref(handle).cast::<Entry>()) }.read()
}

macro_rules! accesses {
    ($($read:ident $any_read:ident, $write:ident $any_write:ident, $both:ident: $bytes:literal;)*) => {$(
        extern "C" fn $read(address: usize) {
            if $bytes < 8 && touch::looks() {
                looks::read_part(address, $bytes);
            }
            if !alone::may_read(address, $bytes) {
                $any_read(address);
            }
        }

        extern "C" fn $write(address: usize) {
            if !alone::may_write(address, $bytes) {
                $any_write(address);
            }
        }

        extern "C" fn $any_read(address: usize) {
            if runtime::in_execution() {
                let call = call();
                heap::check_own_frame(address, $bytes, false, call);
                access(address, $bytes, false, call);
                unwritten::read(address, $bytes, call);
            }
        }

        extern "C" fn $any_write(address: usize) {
            if runtime::in_execution() {
                let call = call();
                heap::check_own_frame(address, $bytes, true, call);
                unwritten::will_write(address);
                access(address, $bytes, true, call);
                unwritten::written(address, $bytes);
            }
        }

        extern "C" fn $both(address: usize) {
            if runtime::in_execution() {
                let call = call();
                heap::check_own_frame(address, $bytes, false, call);
                access(address, $bytes, false, call);
                unwritten::read(address, $bytes, call);
                access(address, $bytes, true, call);
            }
        }
    )*};
}

accesses! {
    read1 any_read1, write1 any_write1, read_write1: 1;
    read2 any_read2, write2 any_write2, read_write2: 2;
    read4 any_read4, write4 any_write4, read_write4: 4;
    read8 any_read8, write8 any_write8, read_write8: 8;
    read16 any_read16, write16 any_write16, read_write16: 16;
}

/// Accesses to volatile variables: steps, where others are not looked at.
fn volatile(address: usize, bytes: usize, write: bool) {
    if !runtime::in_execution() {
        return;
    }
    let call = call();
    heap::check_own_frame(address, bytes, write, call);
    if options().volatile_is_atomic && bytes <= 8 && (address & 7) + bytes <= 8 {
        return crate::atomics::volatile(address, bytes, write, call);
    }
    if options().races != Races::Ignore {
        if bytes <= 8 && (address & 7) + bytes <= 8 {
            entry(table::memory(address, bytes)).volatile = true;
        }
        // SAFETY: one OS thread alone runs code of the program.
        unsafe { crate::signals::VOLATILE = true };
        access(address, bytes, write, call);
        // SAFETY: as above.
        return unsafe { crate::signals::VOLATILE = false };
    }
    let found =
        if (address & 7) + bytes <= 8 { table::memory(address, bytes) } else { table::block(address, bytes) };
    let entry = entry(found);
    if entry.mask != u64::MAX {
        entry.widen(address, bytes);
    }
    if !entry.on_stack || !is_private(entry) {
        step(entry, write, call);
    }
    heap::check(address, bytes, write, call);
}

macro_rules! volatiles {
    ($($read:ident, $write:ident: $bytes:literal;)*) => {$(
        extern "C" fn $read(address: usize) {
            volatile(address, $bytes, false);
            if runtime::in_execution() {
                unwritten::read(address, $bytes, call());
            }
        }

        extern "C" fn $write(address: usize) {
            volatile(address, $bytes, true);
        }
    )*};
}

volatiles! {
    volatile_read1, volatile_write1: 1;
    volatile_read2, volatile_write2: 2;
    volatile_read4, volatile_write4: 4;
    volatile_read8, volatile_write8: 8;
    volatile_read16, volatile_write16: 16;
}

extern "C" fn read_range(address: usize, bytes: usize) {
    if runtime::in_execution() {
        let call = call();
        heap::check_own_frame(address, bytes, false, call);
        range(address, bytes, false, call);
        unwritten::read(address, bytes, call);
    }
}

extern "C" fn write_range(address: usize, bytes: usize) {
    if runtime::in_execution() {
        let call = call();
        heap::check_own_frame(address, bytes, true, call);
        range(address, bytes, true, call);
        unwritten::written(address, bytes);
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

export_if! {
    __tsan_func_entry => crate::verifier::entered, crate::verifier::HAS_FUNCTIONS, "[rsp]";
    // The return address and the frame pointer of the caller go with the frame.
    __tsan_func_exit => crate::verifier::left, crate::verifier::HAS_FUNCTIONS, "[rbp + 16]";
}

export! {
    __tsan_read_write1 => read_write1;
    __tsan_read_write2 => read_write2;
    __tsan_read_write4 => read_write4;
    __tsan_read_write8 => read_write8;
    __tsan_read_write16 => read_write16;
    __tsan_unaligned_read_write2 => read_write2;
    __tsan_unaligned_read_write4 => read_write4;
    __tsan_unaligned_read_write8 => read_write8;
    __tsan_unaligned_read_write16 => read_write16;
    __tsan_volatile_read1 => volatile_read1;
    __tsan_volatile_read2 => volatile_read2;
    __tsan_volatile_read4 => volatile_read4;
    __tsan_volatile_read8 => volatile_read8;
    __tsan_volatile_read16 => volatile_read16;
    __tsan_volatile_write1 => volatile_write1;
    __tsan_volatile_write2 => volatile_write2;
    __tsan_volatile_write4 => volatile_write4;
    __tsan_volatile_write8 => volatile_write8;
    __tsan_volatile_write16 => volatile_write16;
    __tsan_unaligned_volatile_read2 => volatile_read2;
    __tsan_unaligned_volatile_read4 => volatile_read4;
    __tsan_unaligned_volatile_read8 => volatile_read8;
    __tsan_unaligned_volatile_read16 => volatile_read16;
    __tsan_unaligned_volatile_write2 => volatile_write2;
    __tsan_unaligned_volatile_write4 => volatile_write4;
    __tsan_unaligned_volatile_write8 => volatile_write8;
    __tsan_unaligned_volatile_write16 => volatile_write16;
    __tsan_read_range => read_range;
    __tsan_write_range => write_range;
    __tsan_vptr_update => vptr_update;
    __tsan_init => nothing;
    __tsan_ignore_thread_begin => nothing;
    __tsan_ignore_thread_end => nothing;
}

export_quick! {
    __tsan_read1 => read1, any_read1;
    __tsan_read2 => read2, any_read2;
    __tsan_read4 => read4, any_read4;
    __tsan_read8 => read8, any_read8;
    __tsan_read16 => read16, any_read16;
    __tsan_write1 => write1, any_write1;
    __tsan_write2 => write2, any_write2;
    __tsan_write4 => write4, any_write4;
    __tsan_write8 => write8, any_write8;
    __tsan_write16 => write16, any_write16;
    __tsan_unaligned_read2 => read2, any_read2;
    __tsan_unaligned_read4 => read4, any_read4;
    __tsan_unaligned_read8 => read8, any_read8;
    __tsan_unaligned_read16 => read16, any_read16;
    __tsan_unaligned_write2 => write2, any_write2;
    __tsan_unaligned_write4 => write4, any_write4;
    __tsan_unaligned_write8 => write8, any_write8;
    __tsan_unaligned_write16 => write16, any_write16;
    __tsan_vptr_read => read8, any_read8;
}
