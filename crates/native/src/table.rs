//! Addresses as objects, with an identity that lasts over all executions.
//!
//! Memory is looked at in granules of eight bytes. A part of a granule that is accessed is an object of its own, so that
//! neighbours do not conflict. Where accesses of different width overlap, the whole granule becomes one object; that is
//! learned on the way, and the search starts again. What the program synchronises with (mutexes and so on) has entries of its own:
//! the bytes of a mutex are no shared variable.

use runtime::Handle;

/// One object.
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) handle: Handle,
    pub(crate) address: usize,
    pub(crate) bytes: u8,
    /// It is, or belongs to, something that the program synchronises with.
    pub(crate) is_sync: bool,
    /// It was accessed by something that is not atomic.
    pub(crate) plain: bool,
    /// It was accessed by something that is atomic.
    pub(crate) atomic: bool,
    /// Who accessed it first, plus one, in any execution; 0 for nobody.
    pub(crate) owner: u16,
    /// Another thread accessed it, too.
    pub(crate) shared: bool,
    /// A change to it was taken for one that nobody sees.
    pub(crate) hidden: bool,
}

/// What is known of the eight bytes at an address: by offset, which object starts there.
struct Granule {
    /// The address divided by eight, plus one; 0 for an empty slot.
    key: usize,
    entries: [*mut Entry; 8],
}

/// All objects, by address.
pub(crate) struct Table {
    slots: Vec<Granule>,
    used: usize,
}

/// What an access is on.
pub(crate) enum Found {
    /// This object.
    Entry(&'static mut Entry),
    /// What was known was wrong: the search must start again.
    Changed,
}

static mut MEMORY: Table = Table { slots: Vec::new(), used: 0 };
static mut SYNC: Table = Table { slots: Vec::new(), used: 0 };

/// The object that an access of some bytes within one granule is on.
#[inline]
pub(crate) fn memory(address: usize, bytes: usize) -> Found {
    debug_assert!(bytes >= 1 && (address & 7) + bytes <= 8);
    // SAFETY: one OS thread alone runs code of the program, and the borrow ends with the call; entries are never freed.
    unsafe { (*(&raw mut MEMORY)).find(address, bytes as u8) }
}

/// The object that an access of sixteen bytes is on; the address is a multiple of that.
pub(crate) fn memory16(address: usize) -> Found {
    // SAFETY: as above.
    unsafe {
        let table = &mut *(&raw mut MEMORY);
        let first = table.slot(address >> 3);
        let e = table.slots[first].entries[0];
        if !e.is_null() && (*e).bytes == 16 {
            return Found::Entry(&mut *e);
        }
        let second = table.slot((address >> 3) + 1);
        let first = table.slot(address >> 3);
        let both = [first, second];
        let known = both.iter().any(|s| table.slots[*s].entries.iter().any(|e| !e.is_null()));
        let whole = new_entry(address, 16, false);
        for s in both {
            for e in table.slots[s].entries.iter_mut().filter(|e| !e.is_null()) {
                (*whole).plain |= (**e).plain;
                (*whole).atomic |= (**e).atomic;
                (*whole).shared = true;
                *e = std::ptr::null_mut();
            }
            table.slots[s].entries[0] = whole;
        }
        if known { Found::Changed } else { Found::Entry(&mut *whole) }
    }
}

/// The object that the program synchronises with at an address.
#[inline]
pub(crate) fn sync(address: usize) -> &'static mut Entry {
    // SAFETY: as above.
    unsafe {
        let table = &mut *(&raw mut SYNC);
        let slot = table.slot(address >> 3);
        let place = &mut table.slots[slot].entries[address & 7];
        if place.is_null() {
            *place = new_entry(address, 8, true);
        }
        &mut **place
    }
}

/// The objects in a range that are known, without making any.
pub(crate) fn known(address: usize, bytes: usize, mut visit: impl FnMut(&'static mut Entry)) {
    let end = address + bytes;
    for granule in address >> 3..(end + 7) >> 3 {
        // SAFETY: as above.
        unsafe {
            let table = &mut *(&raw mut MEMORY);
            if let Some(slot) = table.get(granule) {
                for e in table.slots[slot].entries {
                    if !e.is_null() && (*e).address < end && (*e).address + (*e).bytes as usize > address {
                        visit(&mut *e);
                    }
                }
            }
        }
    }
}

impl Entry {
    /// What is in memory, as a word: the value, or, for sixteen bytes, a number that stands for it.
    #[inline]
    pub(crate) fn read(&self) -> u64 {
        read_word(self.address, self.bytes)
    }

    /// The function that reads it by its address alone.
    pub(crate) fn reader(&self) -> fn(usize) -> u64 {
        match self.bytes {
            1 => |a| read_word(a, 1),
            2 => |a| read_word(a, 2),
            4 => |a| read_word(a, 4),
            16 => |a| read_word(a, 16),
            _ => |a| read_word(a & !7, 8),
        }
    }

    /// Puts a word there.
    #[inline]
    pub(crate) fn write(&self, word: u64) {
        let p = self.address as *mut u8;
        // SAFETY: the program accesses this memory with these very bytes, right now.
        unsafe {
            match self.bytes {
                1 => p.write(word as u8),
                2 => p.cast::<u16>().write_unaligned(word as u16),
                4 => p.cast::<u32>().write_unaligned(word as u32),
                8 => p.cast::<u64>().write_unaligned(word),
                _ => p.cast::<u128>().write_unaligned(crate::wide::value(word)),
            }
        }
    }
}

#[inline]
fn read_word(address: usize, bytes: u8) -> u64 {
    let p = address as *const u8;
    // SAFETY: the program accesses this memory with these very bytes, right now; a whole granule lies on one page.
    unsafe {
        match bytes {
            1 => p.read() as u64,
            2 => p.cast::<u16>().read_unaligned() as u64,
            4 => p.cast::<u32>().read_unaligned() as u64,
            8 => p.cast::<u64>().read_unaligned(),
            16 => crate::wide::number(p.cast::<u128>().read_unaligned()),
            n => (0..n as usize).fold(0, |w, i| w | (p.add(i).read() as u64) << (8 * i)),
        }
    }
}

fn new_entry(address: usize, bytes: u8, is_sync: bool) -> *mut Entry {
    let entry = Entry { handle: Handle::new(), address, bytes, is_sync, plain: false, atomic: false, owner: 0, shared: false, hidden: false };
    Box::leak(Box::new(entry))
}

impl Table {
    fn place(&self, granule: usize) -> usize {
        granule.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.slots.len().trailing_zeros())
    }

    #[inline]
    fn get(&self, granule: usize) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
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
        let empty = || Granule { key: 0, entries: [std::ptr::null_mut(); 8] };
        let size = (self.slots.len() * 2).max(1024);
        let old = std::mem::take(&mut self.slots);
        self.slots.resize_with(size, empty);
        for granule in old.into_iter().filter(|g| g.key != 0) {
            let mut i = self.place(granule.key - 1);
            while self.slots[i].key != 0 {
                i = (i + 1) & (size - 1);
            }
            self.slots[i] = granule;
        }
    }

    #[inline]
    fn find(&mut self, address: usize, bytes: u8) -> Found {
        let slot = self.slot(address >> 3);
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
fn meet(entries: &mut [*mut Entry; 8], address: usize, bytes: u8) -> Found {
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
            return Found::Entry(&mut *whole);
        }
        if entries.iter().any(|e| overlaps(&e)) {
            let whole = new_entry(start, 8, false);
            for e in entries.iter_mut().filter(|e| !e.is_null()) {
                (*whole).plain |= (**e).plain;
                (*whole).atomic |= (**e).atomic;
                (*whole).shared = true;
                *e = std::ptr::null_mut();
            }
            entries[0] = whole;
            return Found::Changed;
        }
        let e = new_entry(address, bytes, false);
        entries[address & 7] = e;
        Found::Entry(&mut *e)
    }
}
