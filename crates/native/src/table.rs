//! Addresses as objects, with an identity that lasts over all executions.
//!
//! Memory is looked at in granules of eight bytes. A part of a granule that is accessed is an object of its own, so that
//! neighbours do not conflict. Where accesses of different width overlap, the whole granule becomes one object; that is
//! learned on the way, and the search starts again. What the program synchronises with (mutexes and so on) has entries of its own:
//! the bytes of a mutex are no shared variable.

use crate::options::{Races, options};
use runtime::{CellHandle, Handle, Shadow, StackSpot};
use std::collections::{BTreeMap, BTreeSet};

/// One object.
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) handle: Handle,
    /// What the search for races knows of it.
    pub(crate) cell: CellHandle,
    pub(crate) address: usize,
    pub(crate) bytes: u32,
    /// It is, or belongs to, something that the program synchronises with.
    pub(crate) is_sync: bool,
    /// It was accessed by something that is not atomic.
    pub(crate) plain: bool,
    /// It was accessed by something that is atomic.
    pub(crate) atomic: bool,
    /// It was accessed as a volatile variable.
    pub(crate) volatile: bool,
    /// An object that the program synchronises with lies in the same granule.
    pub(crate) has_sync: bool,
    /// It may lie on a stack: accesses by the thread whose stack it is on count only once another one was seen.
    pub(crate) on_stack: bool,
    /// A thread has accessed it on the stack of another one.
    foreign: bool,
    /// The execution in which another thread has accessed it on the stack of its owner (`frames.rs`).
    pub(crate) lent: u64,
    /// The session that this is known for.
    session: u32,
    /// It is made of several: what is accessed is a part of it.
    pub(crate) merged: bool,
    /// Which bits of the word are looked at by steps. What lies beside an atomic and is accessed by something else is no part of the
    /// word: it changes without a step, and may be padding, which is different in each execution.
    pub(crate) mask: u64,
    /// The address and the number of the bytes of an object of more than eight that atomic steps look at; `None` for all of them.
    looked_at: Option<(usize, u32)>,
}

/// What is known of the eight bytes at an address: by offset, which object starts there.
struct Granule {
    /// The address divided by eight, plus one; 0 for an empty slot.
    key: usize,
    entries: [*mut Entry; 8],
}

/// All objects, by address. There is always a slot that is empty.
pub(crate) struct Table {
    /// As many as some power of two.
    slots: Vec<Granule>,
    used: usize,
    /// 64 less the exponent of that power.
    shift: u32,
}

/// What an access is on.
pub(crate) enum Found {
    /// This object.
    Entry(&'static mut Entry),
    /// This object, but what was known before was wrong: the search must start again.
    Changed(&'static mut Entry),
}

/// Everything that is learned of addresses. It is allocated, so that processes share it where executions have their own.
struct Learned {
    memory: Table,
    sync: Table,
    /// Single bytes of objects that are made of several.
    bytes: Table,
    /// What is only accessed by something that is not atomic, on the heap and in variables with a fixed place. All granules with entries
    /// are known as such there.
    shadow: Shadow,
    /// Blocks of the heap that were freed in some execution, by address, with their sizes. What lies in them is written when they
    /// are freed, so it must be known by then.
    freed: BTreeMap<usize, usize>,
    /// What lies on a stack and was accessed by another thread.
    foreign: BTreeSet<StackSpot>,
    /// The program synchronises with something that lies on a stack.
    sync_on_stack: bool,
}

static mut LEARNED: *mut Learned = std::ptr::null_mut();

/// Nothing is known. Called before the first execution, and never in one.
pub(crate) fn prepare() {
    let learned = Learned {
        memory: Table::new(),
        sync: Table::new(),
        bytes: Table::new(),
        shadow: Shadow::new(),
        freed: BTreeMap::new(),
        foreign: BTreeSet::new(),
        sync_on_stack: false,
    };
    crate::threads::forget_lives();
    // SAFETY: nothing else runs yet.
    unsafe {
        SYNCS = [(0, std::ptr::null_mut()); SYNCS_KNOWN];
        LEARNED = Box::leak(Box::new(learned));
    }
}

/// # Safety
///
/// One OS thread alone runs code of the program; no borrow is held over a call of this, nor over a step.
#[inline]
unsafe fn learned() -> &'static mut Learned {
    // SAFETY: by the contract; `prepare` was called before anything is looked up.
    unsafe { &mut *LEARNED }
}

/// The plain accesses to memory without entries.
#[inline]
pub(crate) fn shadow() -> &'static mut Shadow {
    // SAFETY: as in `learned`; nothing else of it is borrowed here.
    unsafe { &mut (*LEARNED).shadow }
}

/// Whether accesses to some memory can be looked at without an entry.
pub(crate) fn has_shadow(address: usize) -> bool {
    !crate::heap::is_elsewhere(address)
}

/// A granule gets entries: those that plain accesses would have made before, with what is known of this execution.
#[cold]
fn take_over(entries: &mut [*mut Entry; 8], start: usize) {
    let (known, overlap) = shadow().leave(start, has_shadow);
    for (address, bytes) in known {
        // SAFETY: entries are never freed, and this one is new.
        let entry = unsafe { &mut *new_entry(address, bytes as u32, false) };
        entry.plain = true;
        if overlap {
            entry.merged = true;
            entry.mask = if options().races == Races::Sync { u64::MAX } else { 0 };
            (address..address + bytes).for_each(|at| shadow().hand_over(at, &byte(at).cell));
        } else {
            shadow().hand_over(address, &entry.cell);
        }
        entries[address & 7] = entry;
    }
}

/// Whether a thread was seen to access the stack of another one.
#[inline]
pub(crate) fn has_foreign() -> bool {
    // SAFETY: one OS thread alone runs code of the program, and the borrow ends with the call.
    unsafe { !learned().foreign.is_empty() }
}

/// Whether it matters what threads do to variables on their own stacks: another thread accesses them, or they are what the program
/// synchronises with.
#[inline]
pub(crate) fn looks_at_stacks() -> bool {
    // SAFETY: as above.
    unsafe { learned().sync_on_stack || !learned().foreign.is_empty() }
}

/// The program synchronises with something on a stack. Says whether that is news: the search starts again then, as what was written
/// there was not looked at.
pub(crate) fn learn_sync_on_stack() -> bool {
    // SAFETY: as above.
    let known = unsafe { std::mem::replace(&mut learned().sync_on_stack, true) };
    if !known {
        runtime::restart_soon();
    }
    !known
}

/// The object that an access of some bytes within one granule is on.
#[inline]
pub(crate) fn memory(address: usize, bytes: usize) -> Found {
    let address = crate::libc::aliases::canonical(address);
    debug_assert!(bytes >= 1 && (address & 7) + bytes <= 8);
    // SAFETY: one OS thread alone runs code of the program, and the borrow ends with the call; entries are never freed.
    unsafe { learned().memory.find(address, bytes as u32) }
}

/// The object that an access of more than one granule at once is on: all of it.
pub(crate) fn block(address: usize, bytes: usize) -> Found {
    let address = crate::libc::aliases::canonical(address);
    let (first, last) = (address >> 3, (address + bytes - 1) >> 3);
    // SAFETY: as above.
    unsafe {
        let table = &mut learned().memory;
        let slot = table.slot(first);
        let e = table.slots[slot].entries[0];
        // An object of some bytes of the granule is not one of all of them.
        if !e.is_null() && (*e).address <= address && address + bytes <= (*e).address + (*e).bytes as usize {
            return Found::Entry(&mut *e);
        }
        for granule in first..=last {
            table.meet_granule(granule);
        }
        // Whatever lies in it, or reaches into it, becomes part of it.
        let (mut low, mut high) = (first, last);
        let mut changed = false;
        for granule in first..=last {
            if let Some(slot) = table.get(granule) {
                for e in table.slots[slot].entries {
                    if !e.is_null() {
                        changed = true;
                        low = low.min((*e).address >> 3);
                        high = high.max(((*e).address + (*e).bytes as usize - 1) >> 3);
                    }
                }
            }
        }
        let whole = new_entry(low << 3, ((high - low + 1) << 3) as u32, false);
        (*whole).merged = true;
        for granule in low..=high {
            let slot = table.slot(granule);
            for e in table.slots[slot].entries.iter_mut().filter(|e| !e.is_null()) {
                (*whole).join(&mut **e);
                *e = std::ptr::null_mut();
            }
            table.slots[slot].entries[0] = whole;
        }
        if changed { Found::Changed(&mut *whole) } else { Found::Entry(&mut *whole) }
    }
}

/// The object that the program synchronises with at an address.
#[inline]
pub(crate) fn sync(address: usize) -> &'static mut Entry {
    let address = crate::libc::aliases::canonical(address);
    // SAFETY: as above.
    unsafe {
        let (known, entry) = SYNCS[place_in_syncs(address)];
        if known == address { &mut *entry } else { find_sync(address) }
    }
}

/// The objects that the program synchronised with last, by [`place_in_syncs`], and their entries.
static mut SYNCS: [(usize, *mut Entry); SYNCS_KNOWN] = [(0, std::ptr::null_mut()); SYNCS_KNOWN];
const SYNCS_KNOWN: usize = 256;

#[inline(always)]
fn place_in_syncs(address: usize) -> usize {
    (address ^ address >> 5) % SYNCS_KNOWN
}

#[inline(never)]
fn find_sync(address: usize) -> &'static mut Entry {
    // SAFETY: as above.
    unsafe {
        let entry = enter_sync(address);
        SYNCS[place_in_syncs(address)] = (address, entry);
        &mut *entry
    }
}

fn enter_sync(address: usize) -> *mut Entry {
    // SAFETY: as above.
    unsafe {
        let table = &mut learned().sync;
        let slot = table.slot(address >> 3);
        let place = &mut table.slots[slot].entries[address & 7];
        if place.is_null() {
            *place = new_entry(address, 8, true);
            let place = *place;
            learned().memory.meet_granule(address >> 3);
            known(address & !7, 8, |entry| entry.has_sync = true);
            return place;
        }
        *place
    }
}

/// A byte of an object that is made of several, for who must know which part was accessed.
pub(crate) fn byte(address: usize) -> &'static mut Entry {
    let address = crate::libc::aliases::canonical(address);
    // SAFETY: as above.
    unsafe {
        let table = &mut (*LEARNED).bytes;
        let slot = table.slot(address >> 3);
        let place = &mut table.slots[slot].entries[address & 7];
        if place.is_null() {
            *place = new_entry(address, 1, false);
        }
        &mut **place
    }
}

/// Another life begins in a range that was freed: nobody has accessed what lies there.
pub(crate) fn begin_anew(address: usize, bytes: usize) {
    known(address, bytes, |entry| {
        runtime::forget_cell(&entry.cell);
        if entry.merged {
            let all = entry.address..entry.address + entry.bytes as usize;
            all.for_each(|at| runtime::forget_cell(&byte(at).cell));
        }
    });
    shadow().forget(address, bytes);
    known_sync(address, bytes, |entry| {
        runtime::forget_accesses(&entry.handle);
        runtime::forget_holders(&entry.handle);
    });
}

/// The objects in a range that are known, without making any, by address.
pub(crate) fn known(address: usize, bytes: usize, mut visit: impl FnMut(&'static mut Entry)) {
    let end = address + bytes;
    // Nothing is borrowed while an entry is visited: that may be a step.
    if shadow().is_wide(bytes) {
        for at in shadow().all_left(address, end) {
            known_in(at, address, end, &mut visit);
        }
        return;
    }
    let mut from = address;
    while let Some(at) = shadow().next_left(from, end) {
        known_in(at, address, end, &mut visit);
        from = at + 8;
    }
}

/// The same for those of one granule.
fn known_in(at: usize, address: usize, end: usize, visit: &mut impl FnMut(&'static mut Entry)) {
    // SAFETY: as above.
    unsafe {
        if let Some(slot) = learned().memory.get(at >> 3) {
            for e in learned().memory.slots[slot].entries {
                if !e.is_null() && (*e).address < end && (*e).address + (*e).bytes as usize > address {
                    visit(&mut *e);
                }
            }
        }
    }
}

/// What the program synchronises with in a range, as far as it is known, by address.
pub(crate) fn known_sync(address: usize, bytes: usize, mut visit: impl FnMut(&'static mut Entry)) {
    // SAFETY: as above.
    unsafe {
        for granule in granules(|| &learned().sync, address, bytes) {
            if let Some(slot) = learned().sync.get(granule) {
                for e in learned().sync.slots[slot].entries {
                    if !e.is_null() && (address..address + bytes).contains(&(*e).address) {
                        visit(&mut *e);
                    }
                }
            }
        }
    }
}

/// The granules of a range that a table may know: all of them, or, for a range of more granules than the table has, those that it has.
fn granules(table: impl Fn() -> &'static Table, address: usize, bytes: usize) -> Granules {
    let range = address >> 3..(address + bytes + 7) >> 3;
    if range.len() <= table().slots.len() {
        return Granules::All(range);
    }
    let mut found: Vec<usize> = table().slots.iter().filter(|g| g.key != 0).map(|g| g.key - 1).collect();
    found.retain(|g| range.contains(g));
    found.sort_unstable();
    Granules::Some(found.into_iter())
}

enum Granules {
    All(std::ops::Range<usize>),
    Some(std::vec::IntoIter<usize>),
}

impl Iterator for Granules {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        match self {
            Granules::All(range) => range.next(),
            Granules::Some(found) => found.next(),
        }
    }
}

impl Entry {
    /// Whether it is just a value of so many bytes.
    #[inline]
    pub(crate) fn is_value(&self, bytes: usize) -> bool {
        self.bytes as usize == bytes && (bytes <= 8 || bytes == 16 && self.range().1 == 16)
    }

    /// These bytes of it are looked at by a step, too. If that is news, the search starts again.
    #[cold]
    pub(crate) fn widen(&mut self, address: usize, bytes: usize) {
        let mask = self.mask | mask(self.address, address, bytes);
        if mask != self.mask {
            self.mask = mask;
            runtime::restart_soon();
        }
    }

    /// Atomic steps look at these bytes of it, too. To be called before it is marked as atomic. If an earlier step looked at other
    /// bytes, the search starts again.
    pub(crate) fn cover(&mut self, address: usize, bytes: usize) {
        // Where all accesses are steps, all of it is looked at.
        if self.bytes <= 8 || options().races == Races::Sync {
            return;
        }
        let address = crate::libc::aliases::canonical(address);
        if !self.atomic {
            self.looked_at = Some((address, bytes as u32));
        } else if let Some((low, known)) = self.looked_at {
            let start = low.min(address);
            let end = (low + known as usize).max(address + bytes);
            if (start, end) != (low, low + known as usize) {
                self.looked_at = Some((start, (end - start) as u32));
                runtime::restart_soon();
            }
        }
    }

    /// The address and the number of the bytes that steps look at.
    #[inline]
    fn range(&self) -> (usize, u32) {
        if self.bytes > 8 {
            self.looked_at.unwrap_or((self.address, self.bytes))
        } else {
            (self.address, self.bytes)
        }
    }

    /// Whether steps look at exactly these bytes.
    pub(crate) fn is_exactly(&self, address: usize, bytes: usize) -> bool {
        self.range() == (address, bytes as u32)
    }

    /// Whether a thread was ever seen to access it on the stack of another one. That is remembered by thread and depth: the stacks of
    /// another session are elsewhere, and a schedule of this one must have the same steps there.
    #[inline]
    pub(crate) fn is_foreign(&mut self) -> bool {
        if self.session != runtime::session_number() {
            self.recall();
        }
        self.foreign
    }

    #[cold]
    fn recall(&mut self) {
        self.session = runtime::session_number();
        // SAFETY: one OS thread alone runs code of the program, and the borrow ends with the call.
        let known = unsafe { &learned().foreign };
        self.foreign = self.spots().any(|spot| known.contains(&spot));
    }

    /// A thread accesses it on the stack of another one.
    #[cold]
    pub(crate) fn make_foreign(&mut self) {
        (self.session, self.foreign) = (runtime::session_number(), true);
        // SAFETY: as above.
        unsafe { learned().foreign.extend(self.spots()) };
        crate::touch::set_stack_is_shared(true);
    }

    fn spots(&self) -> impl Iterator<Item = StackSpot> + use<> {
        (self.address..self.address + self.bytes as usize).filter_map(runtime::stack_spot)
    }

    fn join(&mut self, other: &mut Entry) {
        if other.atomic {
            self.mask |= mask(self.address, other.address, other.bytes as usize);
            let (address, bytes) = other.looked_at.unwrap_or((other.address, other.bytes));
            self.cover(address, bytes as usize);
        }
        self.plain |= other.plain;
        self.atomic |= other.atomic;
        self.volatile |= other.volatile;
        if self.on_stack && other.is_foreign() {
            self.make_foreign();
        }
    }

    /// What is in memory, as a word: the value, or a number that stands for it.
    #[inline]
    pub(crate) fn read(&self) -> u64 {
        let (address, bytes) = self.range();
        read_word(address, bytes) & self.mask
    }
}

/// The bits that some bytes are in the word of an object at `start`; all, if the word is no plain value.
fn mask(start: usize, address: usize, bytes: usize) -> u64 {
    let Some(offset) = address.checked_sub(start).filter(|o| o + bytes <= 8) else { return u64::MAX };
    if bytes == 8 { u64::MAX } else { ((1 << (8 * bytes)) - 1) << (8 * offset) }
}

#[inline]
fn read_word(address: usize, bytes: u32) -> u64 {
    let p = address as *const u8;
    // SAFETY: the program accesses this memory with these very bytes, right now; a whole granule lies on one page.
    unsafe {
        match bytes {
            1 => p.read() as u64,
            2 => p.cast::<u16>().read_unaligned() as u64,
            4 => p.cast::<u32>().read_unaligned() as u64,
            8 => p.cast::<u64>().read_unaligned(),
            16 => crate::wide::number(p.cast::<u128>().read_unaligned()),
            n if n < 8 => (0..n as usize).fold(0, |w, i| w | (p.add(i).read() as u64) << (8 * i)),
            n => crate::wide::digest(std::slice::from_raw_parts(p, n as usize)),
        }
    }
}

/// The word of an object whose steps look at these bytes alone.
pub(crate) fn word_of(bytes: &[u8]) -> u64 {
    read_word(bytes.as_ptr() as usize, bytes.len() as u32)
}

/// A block is freed.
pub(crate) fn note_freed(start: usize, size: usize) {
    // SAFETY: as above.
    let freed = unsafe { &mut learned().freed };
    let known = freed.entry(start).or_insert(0);
    *known = size.max(*known);
}

fn was_freed(address: usize) -> bool {
    // SAFETY: as above.
    let freed = unsafe { &learned().freed };
    freed.range(..=address).next_back().is_some_and(|(start, size)| address < start + size)
}

fn new_entry(address: usize, bytes: u32, is_sync: bool) -> *mut Entry {
    let on_stack = !is_sync && crate::heap::is_elsewhere(address);
    // SAFETY: as above.
    let has_sync = !is_sync && unsafe { learned().sync.get(address >> 3) }.is_some();
    let entry = Entry {
        handle: Handle::new(),
        cell: CellHandle::new(),
        address,
        bytes,
        is_sync,
        plain: false,
        atomic: false,
        has_sync,
        on_stack,
        foreign: false,
        lent: 0,
        volatile: false,
        session: 0,
        merged: false,
        mask: u64::MAX,
        looked_at: None,
    };
    Box::leak(Box::new(entry))
}

const EMPTY: Granule = Granule { key: 0, entries: [std::ptr::null_mut(); 8] };

impl Table {
    fn new() -> Table {
        const SIZE: usize = 64;
        let mut slots = Vec::new();
        slots.resize_with(SIZE, || EMPTY);
        Table { slots, used: 0, shift: 64 - SIZE.trailing_zeros() }
    }

    #[inline]
    fn place(&self, granule: usize) -> usize {
        granule.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift
    }

    #[inline]
    fn get(&self, granule: usize) -> Option<usize> {
        let mut i = self.place(granule);
        loop {
            let key = self.slots[i].key;
            if key == granule + 1 {
                return Some(i);
            }
            if key == 0 {
                return None;
            }
            i = (i + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    fn slot(&mut self, granule: usize) -> usize {
        match self.get(granule) {
            Some(i) => i,
            None => self.add(granule),
        }
    }

    #[cold]
    fn add(&mut self, granule: usize) -> usize {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        self.used += 1;
        let mut i = self.place(granule);
        while self.slots[i].key != 0 {
            i = (i + 1) & (self.slots.len() - 1);
        }
        self.slots[i].key = granule + 1;
        i
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let old = std::mem::take(&mut self.slots);
        self.slots.resize_with(size, || EMPTY);
        self.shift -= 1;
        for granule in old.into_iter().filter(|g| g.key != 0) {
            let mut i = self.place(granule.key - 1);
            while self.slots[i].key != 0 {
                i = (i + 1) & (size - 1);
            }
            self.slots[i] = granule;
        }
    }

    #[inline]
    fn find(&mut self, address: usize, bytes: u32) -> Found {
        let granule = address >> 3;
        // SAFETY: a place is less than the number of slots, by the shift.
        let first = unsafe { self.slots.get_unchecked(self.place(granule)) };
        if first.key == granule + 1 {
            let e = first.entries[address & 7];
            // SAFETY: entries are never freed.
            if !e.is_null() && unsafe { (*e).bytes == bytes } {
                // SAFETY: as above; one OS thread alone runs this, and holds one entry at a time.
                return Found::Entry(unsafe { &mut *e });
            }
        }
        self.find_further(address, bytes)
    }

    /// The slot of a granule that has entries from now on.
    fn meet_granule(&mut self, granule: usize) -> usize {
        let slot = self.slot(granule);
        if self.slots[slot].entries.iter().all(|e| e.is_null()) {
            take_over(&mut self.slots[slot].entries, granule << 3);
        }
        slot
    }

    #[cold]
    fn find_further(&mut self, address: usize, bytes: u32) -> Found {
        let slot = self.meet_granule(address >> 3);
        let entries = &mut self.slots[slot].entries;
        let e = entries[address & 7];
        // SAFETY: entries are never freed.
        if !e.is_null() && unsafe { (*e).bytes == bytes } {
            // SAFETY: as above; one OS thread alone runs this, and holds one entry at a time.
            return Found::Entry(unsafe { &mut *e });
        }
        meet(entries, address, bytes)
    }
}

/// An access that was not seen in this form before.
#[cold]
fn meet(entries: &mut [*mut Entry; 8], address: usize, bytes: u32) -> Found {
    // SAFETY: entries are never freed, and nobody holds one here.
    unsafe {
        let overlaps = |e: &&*mut Entry| {
            !e.is_null()
                && (**(*e)).address < address + bytes as usize
                && address < (**(*e)).address + (**(*e)).bytes as usize
        };
        let start = address & !7;
        if let whole = entries[0]
            && !whole.is_null()
            && (*whole).bytes >= 8
        {
            if !(*whole).merged && options().races == Races::Report {
                // From now on it matters which part is accessed.
                (*whole).merged = true;
                (*whole).mask = if (*whole).atomic { u64::MAX } else { 0 };
                return Found::Changed(&mut *whole);
            }
            return Found::Entry(&mut *whole);
        }
        if entries.iter().any(|e| overlaps(&e)) {
            let whole = new_entry(start, 8, false);
            (*whole).merged = true;
            (*whole).mask = if options().races == Races::Sync { u64::MAX } else { 0 };
            for e in entries.iter_mut().filter(|e| !e.is_null()) {
                (*whole).join(&mut **e);
                *e = std::ptr::null_mut();
            }
            entries[0] = whole;
            return Found::Changed(&mut *whole);
        }
        let e = new_entry(address, bytes, false);
        entries[address & 7] = e;
        // Where accesses are steps, so is to free what they are on.
        if options().races == Races::Sync && was_freed(address) {
            (*e).plain = true;
            return Found::Changed(&mut *e);
        }
        Found::Entry(&mut *e)
    }
}
