//! Plain accesses of a program in machine code, by address: which of them race.
//!
//! The rule is that of [`crate::races`]: an access races with an earlier one of another thread that does not happen before it, if
//! one of the two writes. For each byte that takes its last write, and the last read of each thread since then.
//!
//! # What is stored
//!
//! A record for each byte would be many times as large as the memory of the program. But the accesses of a loop are alike: the same
//! thread makes them at the same place, between the same two of its steps. Such accesses are one *touch*, which has a number. A
//! granule of eight bytes has a [`Cell`]: the touch that wrote it and the touch, or the set of touches, that read it, each with a mask of
//! the bytes. Where the bytes of a granule differ in that, the granule is *split*: each byte has numbers of its own.
//!
//! A page whose granules are all alike, as `memset`, `memcpy` and loops over arrays leave them, has one cell for all of them.
//!
//! Cells belong to one execution. A page of them is cleared when the execution first comes to it, so an execution costs nothing for
//! memory that it does not access.
//!
//! # What is not stored here
//!
//! Granules that the program also accesses atomically, or that it synchronises with, are objects with entries of their own ([`Shadow::leaves`]
//! says so from then on). What is known here is handed over to them ([`Shadow::hand_over`]). For that, and for those who ask what the program
//! ever accessed, the *shape* of each granule is kept over all executions: which bytes were accessed together.

use crate::context;
use crate::execution::Execution;
use crate::races::{self, CellHandle, Touch};
use crate::{Class, Place, spin};
use explore::ThreadId;

/// The granules of a page.
const GRANULES: usize = 64;
/// The bits of an address below the number of its page.
const PAGE: u32 = 9;

/// Touches by their numbers: 0 for none. A number from here on is that of a set of reads.
const SETS: u32 = 1 << 31;
/// In place of a read: the bytes of the granule have numbers of their own, and the write is their index.
const SPLIT: u32 = u32::MAX;

/// In the first place of a shape: accesses of different width overlap.
const MIXED: u32 = 0xf;

/// What was done to a granule.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Cell {
    write: u32,
    read: u32,
    /// The bytes that the write wrote.
    written: u8,
    /// The bytes that were read since.
    seen: u8,
}

/// What was done to a byte of a granule that is split.
#[derive(Clone, Copy, Default)]
struct Byte {
    write: u32,
    read: u32,
}

struct Page {
    /// The execution that the cells belong to.
    epoch: u32,
    /// The granules that are objects with entries.
    left: u64,
    /// All granules are like this one.
    uniform: Option<Cell>,
    /// All granules were accessed as a whole.
    whole: bool,
    /// The shape of all granules, where they are not there one by one.
    shape: u32,
    /// The granules one by one, once they are not alike.
    parts: Option<Box<Parts>>,
}

/// The granules of a page.
struct Parts {
    /// By granule: four bits for each byte at which an access starts, with how many bytes it has.
    shapes: [u32; GRANULES],
    cells: [Cell; GRANULES],
}

/// Room for granules, which pages take and give back without moving it.
type Spare = Vec<Box<Parts>>;

/// All plain accesses of a program, by address.
pub struct Shadow {
    /// Pages by number, plus one, in as many slots as some power of two, half of which are empty.
    slots: Vec<(usize, *mut Page)>,
    used: usize,
    /// 64 less the exponent of that power.
    shift: u32,
    /// The pages that were looked at last, by the lowest bits of their numbers.
    last: [(usize, *mut Page); LAST],
    /// The execution that the rest belongs to.
    epoch: u32,
    /// The first is none.
    touches: Vec<Touch>,
    sets: Vec<Vec<u32>>,
    used_sets: usize,
    /// The bytes of granules that are split, and which of these are free again.
    bytes: Vec<[Byte; 8]>,
    free: Vec<u32>,
    /// Room for granules of pages that have become alike.
    spare: Spare,
    /// By place: the number of the last touch there, or one that is no more.
    recent: [u32; RECENT],
    /// The last sets that were made, each with the numbers that it was made of.
    joined: [(u32, u32, u32); JOINED],
}

/// The stack of a thread, its variables and its blocks are accessed in turn.
const LAST: usize = 16;
const RECENT: usize = 16;
const JOINED: usize = 8;

impl Default for Shadow {
    fn default() -> Self {
        Shadow::new()
    }
}

impl std::fmt::Debug for Shadow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shadow").field("pages", &self.used).finish_non_exhaustive()
    }
}

/// An access that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Accessed {
    /// The first byte.
    pub address: usize,
    /// How many, all in one granule.
    pub bytes: usize,
    /// Whether they are written.
    pub write: bool,
    /// The write is not part of the local state that the search for loops sees.
    pub elsewhere: bool,
    /// Where.
    pub place: Place,
}

/// An earlier access that races with one of the running thread.
struct Race {
    other: Touch,
    wrote: bool,
    /// The first byte of the granule that both access.
    offset: usize,
}

#[inline(always)]
fn granule(address: usize) -> usize {
    address >> 3 & (GRANULES - 1)
}

#[inline(always)]
fn mask_of(address: usize, bytes: usize) -> u8 {
    (((1u32 << bytes) - 1) << (address & 7)) as u8
}

impl Shadow {
    /// Nothing is known.
    pub fn new() -> Shadow {
        const SIZE: usize = 64;
        Shadow {
            slots: vec![(0, std::ptr::null_mut()); SIZE],
            used: 0,
            shift: 64 - SIZE.trailing_zeros(),
            last: [(0, std::ptr::null_mut()); LAST],
            epoch: 0,
            touches: Vec::new(),
            sets: Vec::new(),
            used_sets: 0,
            bytes: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            recent: [0; RECENT],
            joined: [(0, 0, 0); JOINED],
        }
    }

    #[inline]
    fn find(&self, number: usize) -> Option<*mut Page> {
        let mut i = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift;
        loop {
            match self.slots[i] {
                (0, _) => return None,
                (key, page) if key == number + 1 => return Some(page),
                _ => i = (i + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// The page of an address; `plain` says of an address whether it is in memory that is looked at here.
    #[inline(always)]
    fn page(&mut self, address: usize, plain: impl Fn(usize) -> bool) -> *mut Page {
        let number = address >> PAGE;
        let (known, page) = self.last[number % LAST];
        if known == number + 1 {
            return page;
        }
        self.page_further(number, plain)
    }

    #[inline(never)]
    fn page_further(&mut self, number: usize, plain: impl Fn(usize) -> bool) -> *mut Page {
        let page = match self.find(number) {
            Some(page) => page,
            None => {
                let (first, end) = (number << PAGE, (number + 1) << PAGE);
                // A page that is not all of one kind is left.
                self.add(number, plain(first) && plain(end - 1))
            }
        };
        self.last[number % LAST] = (number + 1, page);
        page
    }

    #[cold]
    fn add(&mut self, number: usize, plain: bool) -> *mut Page {
        if self.used * 2 >= self.slots.len() {
            let size = self.slots.len() * 2;
            let old = std::mem::replace(&mut self.slots, vec![(0, std::ptr::null_mut()); size]);
            self.shift -= 1;
            old.into_iter().filter(|s| s.0 != 0).for_each(|s| self.insert(s));
        }
        self.used += 1;
        let page = Page {
            epoch: 0,
            left: if plain { 0 } else { u64::MAX },
            uniform: None,
            whole: false,
            shape: 0,
            parts: None,
        };
        let page = Box::leak(Box::new(page));
        self.insert((number + 1, page));
        page
    }

    fn insert(&mut self, slot: (usize, *mut Page)) {
        let mut i = (slot.0 - 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift;
        while self.slots[i].0 != 0 {
            i = (i + 1) & (self.slots.len() - 1);
        }
        self.slots[i] = slot;
    }

    /// Whether plain accesses of this granule are looked at elsewhere.
    #[inline]
    pub fn leaves(&mut self, address: usize, plain: impl Fn(usize) -> bool) -> bool {
        // SAFETY: pages are never freed, and nobody else holds one.
        unsafe { (*self.page(address, plain)).left >> granule(address) & 1 == 1 }
    }

    /// Plain accesses of this granule are looked at elsewhere from now on. Says which accesses there were, by their first byte and size, and
    /// whether they overlap.
    pub fn leave(&mut self, address: usize, plain: impl Fn(usize) -> bool) -> (Vec<(usize, usize)>, bool) {
        // SAFETY: as in `leaves`.
        let page = unsafe { &mut *self.page(address, plain) };
        let known = page.left >> granule(address) & 1 == 1;
        page.left |= 1 << granule(address);
        let shape = page.shape(granule(address));
        if known || shape == 0 {
            return (Vec::new(), false);
        }
        let start = address & !7;
        if shape & 0xf == MIXED {
            return (vec![(start, 8)], true);
        }
        let size = |i: usize| (shape >> (4 * i) & 0xf) as usize;
        ((0..8).filter(|i| size(*i) > 0).map(|i| (start + i, size(i))).collect(), false)
    }

    /// The first granule from an address on, before `end`, that has entries elsewhere, as far as it is known.
    pub fn next_left(&self, from: usize, end: usize) -> Option<usize> {
        let mut at = from & !7;
        while at < end {
            let number = at >> PAGE;
            if let Some(page) = self.find(number) {
                // SAFETY: as in `leaves`.
                let left = unsafe { (*page).left } >> granule(at);
                if left != 0 {
                    let found = at + 8 * left.trailing_zeros() as usize;
                    return (found < end).then_some(found);
                }
            }
            at = (number + 1) << PAGE;
        }
        None
    }

    /// Whether a range has more pages than are known. Then [`Shadow::all_left`] finds the granules in it sooner.
    pub fn is_wide(&self, bytes: usize) -> bool {
        bytes >> PAGE > self.slots.len()
    }

    /// All granules of a range that have entries elsewhere, as far as they are known.
    #[cold]
    pub fn all_left(&self, address: usize, end: usize) -> Vec<usize> {
        let mut found = Vec::new();
        self.pages_in(address, end - address, |number, page| {
            let all = (0..GRANULES).filter(|i| page.left >> i & 1 == 1).map(|i| (number << PAGE) + 8 * i);
            found.extend(all.filter(|at| at + 8 > address && *at < end));
        });
        found
    }

    /// Visits the pages of a range that are known, by number.
    fn pages_in(&self, address: usize, bytes: usize, mut visit: impl FnMut(usize, &mut Page)) {
        if bytes == 0 {
            return;
        }
        let range = address >> PAGE..=(address + bytes - 1) >> PAGE;
        // SAFETY: as in `leaves`.
        let mut visit = |number, page: *mut Page| visit(number, unsafe { &mut *page });
        if !self.is_wide(bytes) {
            for number in range {
                if let Some(page) = self.find(number) {
                    visit(number, page);
                }
            }
        } else {
            let mut found: Vec<_> = self.slots.iter().filter(|s| s.0 != 0).map(|s| (s.0 - 1, s.1)).collect();
            found.retain(|s| range.contains(&s.0));
            found.sort_unstable();
            found.into_iter().for_each(|(number, page)| visit(number, page));
        }
    }
}

impl Shadow {
    /// Notes an access and gives what is to be said if another one is not ordered with it. Not a step. The granule must not be one that
    /// is looked at elsewhere.
    #[inline]
    pub fn touch(&mut self, access: Accessed, plain: impl Fn(usize) -> bool) -> Option<String> {
        let Accessed { address, bytes, write, elsewhere, place } = access;
        debug_assert!(bytes >= 1 && (address & 7) + bytes <= 8);
        let ex = context::required("a variable", place);
        // SAFETY: a current execution is valid; the borrow ends here.
        let ex = unsafe { &mut *ex };
        if !ex.is_running() {
            return None;
        }
        if write && elsewhere && ex.looking {
            spin::changed(ex);
        }
        let touch = self.number(ex, place);
        // SAFETY: as in `leaves`.
        let page = unsafe { &mut *self.page(address, plain) };
        debug_assert!(page.left >> granule(address) & 1 == 0);
        if page.epoch != self.epoch {
            page.begin(self.epoch);
        }
        let (i, mask) = (granule(address), mask_of(address, bytes));
        let parts = page.parts(&mut self.spare);
        if parts.shapes[i] >> (4 * (address & 7)) & 0xf != bytes as u32 {
            learn(&mut parts.shapes[i], address & 7, bytes);
        }
        let mixed = parts.shapes[i] & 0xf == MIXED;
        let Some(race) = self.touch_cell(ex, &mut parts.cells[i], mask, write, touch) else {
            // Loops over arrays come to the last granule of a page when all of them are alike.
            if i == GRANULES - 1 && mask >> 7 == 1 {
                page.unite(&mut self.spare);
            }
            return None;
        };
        let address = if mixed { (address & !7) + race.offset } else { address };
        Some(describe(ex, address, write, place, &race))
    }

    /// Notes accesses to all bytes from `start` on, up to `end` or the first granule that is looked at elsewhere. Gives where that is, and what
    /// is to be said if another access is not ordered with one of these. Not a step.
    pub fn touch_range(
        &mut self,
        start: usize,
        end: usize,
        how: (bool, bool),
        place: Place,
        plain: impl Fn(usize) -> bool,
    ) -> (usize, Option<String>) {
        let (write, elsewhere) = how;
        let ex = context::required("a variable", place);
        // SAFETY: a current execution is valid; the borrow ends here.
        let ex = unsafe { &mut *ex };
        if !ex.is_running() {
            return (end, None);
        }
        if write && elsewhere && ex.looking {
            spin::changed(ex);
        }
        let touch = self.number(ex, place);
        let mut at = start;
        while at < end {
            // SAFETY: as in `leaves`.
            let page = unsafe { &mut *self.page(at, &plain) };
            if page.epoch != self.epoch {
                page.begin(self.epoch);
            }
            if at.is_multiple_of(1 << PAGE)
                && end - at >= 1 << PAGE
                && page.left == 0
                && let Some(mut cell) = page.uniform
            {
                page.learn_whole();
                let race = self.touch_cell(ex, &mut cell, u8::MAX, write, touch);
                page.uniform = Some(cell);
                if let Some(race) = race {
                    return (at, Some(describe(ex, at, write, place, &race)));
                }
                at += 1 << PAGE;
                continue;
            }
            let i = granule(at);
            if page.left >> i & 1 == 1 {
                return (at, None);
            }
            let next = ((at & !7) + 8).min(end);
            let (offset, bytes) = (at & 7, next - at);
            let parts = page.parts(&mut self.spare);
            if parts.shapes[i] >> (4 * offset) & 0xf != bytes as u32 {
                learn(&mut parts.shapes[i], offset, bytes);
            }
            let mixed = parts.shapes[i] & 0xf == MIXED;
            let race = self.touch_cell(ex, &mut parts.cells[i], mask_of(at, bytes), write, touch);
            if let Some(race) = race {
                let address = if mixed { (at & !7) + race.offset } else { at };
                return (at, Some(describe(ex, address, write, place, &race)));
            }
            at = next;
        }
        (end, None)
    }

    /// Notes an access to some bytes of a granule. Gives another one that is not ordered with it.
    #[inline(always)]
    fn touch_cell(
        &mut self,
        ex: &Execution,
        cell: &mut Cell,
        mask: u8,
        write: bool,
        touch: u32,
    ) -> Option<Race> {
        // The same again, or the first access.
        if write && cell.read == 0 && (cell.write == touch || cell.write == 0) {
            cell.write = touch;
            cell.written |= mask;
            return None;
        }
        if !write
            && (cell.read == touch || cell.read == 0)
            && (cell.written & mask == 0 || !self.unordered(ex, cell.write))
        {
            cell.read = touch;
            cell.seen |= mask;
            return None;
        }
        self.compare(ex, cell, mask, write, touch)
    }

    /// The memory of a range goes, or its contents do: that is an access to all of it that was accessed in this execution. Gives what is to
    /// be said if one of these is not ordered with it.
    pub fn touch_known(&mut self, start: usize, bytes: usize, write: bool, place: Place) -> Option<String> {
        let ex = context::required("a variable", place);
        // SAFETY: a current execution is valid; the borrow ends here.
        let ex = unsafe { &mut *ex };
        if !ex.is_running() || self.epoch != ex.epoch {
            return None;
        }
        let touch = self.number(ex, place);
        let mut pages = Vec::new();
        self.pages_in(start, bytes, |number, page| pages.push((number, std::ptr::from_mut(page))));
        for (number, page) in pages {
            // SAFETY: as in `leaves`.
            let page = unsafe { &mut *page };
            if page.epoch != self.epoch {
                continue;
            }
            let (first, end) = (number << PAGE, (number + 1) << PAGE);
            if let Some(mut cell) = page.uniform
                && page.left == 0
                && (start <= first && end <= start + bytes || self.accessed(&cell) == 0)
            {
                let mask = self.accessed(&cell);
                if mask != 0 {
                    if write && ex.looking {
                        spin::changed(ex);
                    }
                    if let Some(race) = self.compare(ex, &mut cell, mask, write, touch) {
                        return Some(describe(ex, first, write, place, &race));
                    }
                    page.uniform = Some(cell);
                }
                continue;
            }
            let left = page.left;
            let parts = page.parts(&mut self.spare);
            for i in 0..GRANULES {
                let at = first + 8 * i;
                let inside = at + 8 > start && at < start + bytes && left >> i & 1 == 0;
                let mask = self.accessed(&parts.cells[i]);
                if inside && mask != 0 {
                    if write && ex.looking {
                        spin::changed(ex);
                    }
                    if let Some(race) = self.compare(ex, &mut parts.cells[i], mask, write, touch) {
                        let address = parts.first_of(i, at, race.offset);
                        return Some(describe(ex, address, write, place, &race));
                    }
                }
            }
        }
        None
    }

    /// Another life begins in a range: nobody has accessed what lies there.
    pub fn forget(&mut self, start: usize, bytes: usize) {
        let mut spare = std::mem::take(&mut self.spare);
        self.pages_in(start, bytes, |number, page| {
            let first = number << PAGE;
            if start <= first && first + (1 << PAGE) <= start + bytes {
                page.uniform = Some(Cell::default());
                return;
            }
            for (i, cell) in page.parts(&mut spare).cells.iter_mut().enumerate() {
                let at = first + 8 * i;
                if at + 8 > start && at < start + bytes {
                    *cell = Cell::default();
                }
            }
        });
        self.spare = spare;
    }

    /// Hands what was done to a byte in this execution over to an entry.
    pub fn hand_over(&mut self, address: usize, to: &CellHandle) {
        let ex = context::current();
        if ex.is_null() {
            return;
        }
        // SAFETY: a current execution is valid; the borrow ends here.
        let ex = unsafe { &mut *ex };
        let Some(page) = self.find(address >> PAGE) else { return };
        // SAFETY: as in `leaves`.
        let page = unsafe { &*page };
        if page.epoch != ex.epoch || self.epoch != ex.epoch {
            return;
        }
        let cell = page.cell(granule(address));
        let bit = mask_of(address, 1);
        let Byte { write, read } = match cell.read {
            SPLIT => self.bytes[cell.write as usize][address & 7],
            _ => Byte {
                write: if cell.written & bit != 0 { cell.write } else { 0 },
                read: if cell.seen & bit != 0 { cell.read } else { 0 },
            },
        };
        if write == 0 && read == 0 {
            return;
        }
        let write = (write != 0).then(|| self.touches[write as usize]);
        let reads = self.reads(&read).iter().map(|r| self.touches[*r as usize]);
        ex.races.adopt(ex.epoch, to, write, reads);
    }
}

impl Page {
    /// Another execution comes here.
    #[cold]
    fn begin(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.uniform = Some(Cell::default());
    }

    /// The granules one by one.
    #[inline(always)]
    fn parts(&mut self, spare: &mut Spare) -> &mut Parts {
        if self.uniform.is_some() || self.parts.is_none() {
            self.spread(spare);
        }
        // `spread` has set it.
        match &mut self.parts {
            Some(parts) => parts,
            None => unreachable!("a page has its parts once it is spread"),
        }
    }

    #[cold]
    fn spread(&mut self, spare: &mut Spare) {
        let cells = [self.uniform.take().unwrap_or_default(); GRANULES];
        match &mut self.parts {
            Some(parts) => parts.cells = cells,
            None => {
                let all = Parts { shapes: [self.shape; GRANULES], cells };
                self.parts = Some(match spare.pop() {
                    Some(mut parts) => {
                        *parts = all;
                        parts
                    }
                    None => Box::new(all),
                });
            }
        }
    }

    /// Leaves one cell for all granules if they are alike, and the bytes of each are.
    #[inline(never)]
    fn unite(&mut self, spare: &mut Spare) {
        let Some(parts) = &self.parts else { return };
        let (cell, shape) = (parts.cells[0], parts.shapes[0]);
        let is_even = |mask: u8| mask == 0 || mask == u8::MAX;
        let is_whole = cell.read != SPLIT && is_even(cell.written) && is_even(cell.seen);
        if self.uniform.is_some() || !is_whole || self.left != 0 {
            return;
        }
        if parts.cells.iter().all(|c| *c == cell) && parts.shapes.iter().all(|s| *s == shape) {
            (self.uniform, self.shape) = (Some(cell), shape);
            spare.extend(self.parts.take());
        }
    }

    /// All granules are accessed as a whole.
    fn learn_whole(&mut self) {
        if !self.whole {
            self.whole = true;
            match &mut self.parts {
                Some(parts) => parts.shapes.iter_mut().for_each(|shape| learn(shape, 0, 8)),
                None => learn(&mut self.shape, 0, 8),
            }
        }
    }

    /// The shape of a granule.
    fn shape(&self, granule: usize) -> u32 {
        match &self.parts {
            Some(parts) => parts.shapes[granule],
            None => self.shape,
        }
    }

    /// What was done to a granule.
    fn cell(&self, granule: usize) -> Cell {
        match (self.uniform, &self.parts) {
            (Some(cell), _) => cell,
            (None, Some(parts)) => parts.cells[granule],
            (None, None) => Cell::default(),
        }
    }
}

/// So many bytes of a granule with this shape are accessed from an offset on.
#[cold]
fn learn(shape: &mut u32, offset: usize, bytes: usize) {
    if *shape & 0xf == MIXED || *shape >> (4 * offset) & 0xf == bytes as u32 {
        return;
    }
    let size = |i: usize| (*shape >> (4 * i) & 0xf) as usize;
    let overlaps = (0..8).any(|i| size(i) > 0 && i < offset + bytes && offset < i + size(i));
    *shape = if overlaps { MIXED } else { *shape | (bytes as u32) << (4 * offset) };
}

impl Parts {
    /// Where the access starts that a byte of a granule at an address belongs to.
    fn first_of(&self, granule: usize, at: usize, offset: usize) -> usize {
        let shape = self.shapes[granule];
        let first = (0..=offset).rev().find(|i| shape >> (4 * i) & 0xf != 0);
        at + if shape & 0xf == MIXED { offset } else { first.unwrap_or(offset) }
    }
}

impl Shadow {
    /// The number of an access of the running thread at a place.
    #[inline]
    fn number(&mut self, ex: &mut Execution, place: Place) -> u32 {
        ex.order_steps();
        let thread = ex.current;
        let at = ex.races.steps_known_to(thread).get(thread.index()).copied().unwrap_or(0);
        if self.epoch != ex.epoch {
            self.begin(ex.epoch);
        }
        let i = place.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
        let number = self.recent[i];
        match self.touches.get(number as usize) {
            // Since its last step the thread was here before.
            Some(touch) if touch.place == place && touch.at == at && touch.thread == thread => number,
            _ => self.add_touch(i, Touch { thread, at, place, lent: false }),
        }
    }

    /// An execution begins.
    #[cold]
    fn begin(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.touches.clear();
        // The number 0 stands for no touch.
        self.touches.push(Touch { thread: ThreadId(u16::MAX), at: 0, place: Place(0), lent: false });
        self.bytes.clear();
        self.free.clear();
        self.used_sets = 0;
        self.joined = [(0, 0, 0); JOINED];
    }

    #[inline(never)]
    fn add_touch(&mut self, i: usize, touch: Touch) -> u32 {
        let number = self.touches.len() as u32;
        assert!(number < SETS, "too many accesses in one execution");
        self.touches.push(touch);
        self.recent[i] = number;
        number
    }

    /// The touches of which a number of reads consists.
    fn reads<'a>(&'a self, read: &'a u32) -> &'a [u32] {
        match *read {
            0 => &[],
            r if r < SETS => std::slice::from_ref(read),
            r => &self.sets[(r - SETS) as usize],
        }
    }

    /// The bytes of a granule that were accessed.
    fn accessed(&self, cell: &Cell) -> u8 {
        if cell.read != SPLIT {
            return cell.written | cell.seen;
        }
        let bytes = &self.bytes[cell.write as usize];
        (0..8).filter(|i| bytes[*i].write != 0 || bytes[*i].read != 0).fold(0, |mask, i| mask | 1 << i)
    }

    /// Whether an earlier access is not ordered with what the running thread does now.
    #[inline(always)]
    fn unordered(&self, ex: &Execution, touch: u32) -> bool {
        let other = &self.touches[touch as usize];
        let known = ex.races.steps_known_to(ex.current).get(other.thread.index()).copied().unwrap_or(0);
        other.thread != ex.current && known <= other.at
    }

    /// Whether an earlier access races with the access `touch` of the running thread, and the search does not continue after this race.
    #[inline(always)]
    fn races(&self, ex: &Execution, other: u32, touch: u32) -> bool {
        let place = |touch: u32| self.touches[touch as usize].place;
        self.unordered(ex, other) && races::is_new(ex, place(touch), place(other))
    }

    /// Compares an access with what was done to the granule before, and notes it.
    #[inline(never)]
    fn compare(
        &mut self,
        ex: &Execution,
        cell: &mut Cell,
        mask: u8,
        write: bool,
        touch: u32,
    ) -> Option<Race> {
        if cell.read != SPLIT {
            let race = |other: u32, wrote: bool, both: u8| {
                let offset = both.trailing_zeros() as usize;
                Some(Race { other: self.touches[other as usize], wrote, offset })
            };
            if cell.written & mask != 0 && self.races(ex, cell.write, touch) {
                return race(cell.write, true, cell.written & mask);
            }
            if write && cell.seen & mask != 0 {
                let found = self.reads(&cell.read).iter().find(|r| self.races(ex, **r, touch));
                if let Some(other) = found {
                    return race(*other, false, cell.seen & mask);
                }
            }
            if write && (cell.write == touch || cell.written & !mask == 0) {
                let written = if cell.write == touch { cell.written | mask } else { mask };
                let seen = cell.seen & !mask;
                *cell = Cell { write: touch, read: if seen == 0 { 0 } else { cell.read }, written, seen };
                return None;
            }
            if !write && cell.read == touch {
                cell.seen |= mask;
                return None;
            }
            if !write && cell.seen & !mask == 0 {
                // Bytes that were not read yet have this read alone.
                let alike = cell.seen == mask || cell.seen == 0;
                if alike || self.is_of(cell.read, ex.current) {
                    cell.read = if alike { self.join(cell.read, touch) } else { touch };
                    cell.seen = mask;
                    return None;
                }
            }
            self.split(cell);
        }
        let index = cell.write as usize;
        for offset in (0..8).filter(|i| mask >> i & 1 == 1) {
            let Byte { write: last, read } = self.bytes[index][offset];
            if last != 0 && self.races(ex, last, touch) {
                return Some(Race { other: self.touches[last as usize], wrote: true, offset });
            }
            if write {
                let found = self.reads(&read).iter().find(|r| self.races(ex, **r, touch));
                if let Some(other) = found {
                    return Some(Race { other: self.touches[*other as usize], wrote: false, offset });
                }
                self.bytes[index][offset] = Byte { write: touch, read: 0 };
            } else if read != touch {
                self.bytes[index][offset].read = self.join(read, touch);
            }
        }
        // Loops over bytes come to the last one of a granule when all of them are alike again.
        if mask >> 7 == 1 {
            self.unite(cell);
        }
        None
    }

    /// Ends the split of a granule whose bytes have no two writes and no two numbers of reads.
    fn unite(&mut self, cell: &mut Cell) {
        let mut whole = Cell::default();
        for (i, byte) in self.bytes[cell.write as usize].iter().enumerate() {
            if byte.write != 0 {
                if whole.write != 0 && whole.write != byte.write {
                    return;
                }
                (whole.write, whole.written) = (byte.write, whole.written | 1 << i);
            }
            if byte.read != 0 {
                if whole.read != 0 && whole.read != byte.read {
                    return;
                }
                (whole.read, whole.seen) = (byte.read, whole.seen | 1 << i);
            }
        }
        self.free.push(cell.write);
        *cell = whole;
    }

    /// Whether reads are one of this thread alone.
    fn is_of(&self, read: u32, thread: ThreadId) -> bool {
        read < SETS && read != 0 && self.touches[read as usize].thread == thread
    }

    /// From now on each byte of a granule is looked at by itself.
    #[cold]
    fn split(&mut self, cell: &mut Cell) {
        let byte = |i: usize| Byte {
            write: if cell.written >> i & 1 == 1 { cell.write } else { 0 },
            read: if cell.seen >> i & 1 == 1 { cell.read } else { 0 },
        };
        let bytes = std::array::from_fn(byte);
        let index = match self.free.pop() {
            Some(free) => {
                self.bytes[free as usize] = bytes;
                free
            }
            None => {
                self.bytes.push(bytes);
                self.bytes.len() as u32 - 1
            }
        };
        *cell = Cell { write: index, read: SPLIT, written: 0, seen: 0 };
    }

    /// Adds a read to others: the last one of each thread counts.
    fn join(&mut self, reads: u32, touch: u32) -> u32 {
        let thread = self.touches[touch as usize].thread;
        if reads == 0 || self.is_of(reads, thread) {
            return touch;
        }
        let i = (reads ^ touch) as usize % JOINED;
        if let (a, b, set) = self.joined[i]
            && (a, b) == (reads, touch)
        {
            return set;
        }
        let mut set = match self.sets.get_mut(self.used_sets) {
            Some(set) => std::mem::take(set),
            None => Vec::new(),
        };
        set.clear();
        set.extend(self.reads(&reads).iter().filter(|r| self.touches[**r as usize].thread != thread));
        set.push(touch);
        if self.used_sets == self.sets.len() {
            self.sets.push(set);
        } else {
            self.sets[self.used_sets] = set;
        }
        self.used_sets += 1;
        let number = SETS + self.used_sets as u32 - 1;
        assert!(number < SPLIT, "too many reads in one execution");
        self.joined[i] = (reads, touch, number);
        number
    }
}

#[cold]
fn describe(ex: &Execution, address: usize, write: bool, place: Place, race: &Race) -> String {
    let name = ex.front.and_then(|f| f.object(address as u64, Class::Variable)).unwrap_or_default();
    races::message(ex, &name, write, place, &race.other, race.wrote)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(cell: Cell, shape: u32) -> Page {
        let parts = Some(Box::new(Parts { shapes: [shape; GRANULES], cells: [cell; GRANULES] }));
        Page { epoch: 1, left: 0, uniform: None, whole: false, shape: 0, parts }
    }

    const WRITTEN: Cell = Cell { write: 7, read: 0, written: u8::MAX, seen: 0 };
    const BYTES: u32 = 0x1111_1111;

    #[test]
    fn a_page_of_granules_that_are_alike_needs_one_cell() {
        let mut spare = Vec::new();
        let mut alike = page(WRITTEN, BYTES);
        alike.unite(&mut spare);
        assert!(alike.uniform == Some(WRITTEN) && alike.parts.is_none() && spare.len() == 1);
        assert_eq!((alike.shape(3), alike.cell(3).write), (BYTES, 7));
        // The room is used again where they differ.
        alike.parts(&mut spare).cells[5].write = 8;
        assert!(spare.is_empty() && alike.uniform.is_none());
        assert_eq!((alike.cell(4).write, alike.cell(5).write, alike.shape(5)), (7, 8, BYTES));
    }

    #[test]
    fn a_page_of_granules_that_differ_keeps_them() {
        let mut spare = Vec::new();
        let mut other_cell = page(WRITTEN, BYTES);
        other_cell.parts(&mut spare).cells[9].write = 8;
        let mut other_shape = page(WRITTEN, BYTES);
        other_shape.parts(&mut spare).shapes[9] = 8;
        let mut with_entry = page(WRITTEN, BYTES);
        with_entry.left = 1;
        let half = page(Cell { written: 0xf, ..WRITTEN }, 4);
        let split = page(Cell { read: SPLIT, ..WRITTEN }, BYTES);
        for mut page in [other_cell, other_shape, with_entry, half, split] {
            page.unite(&mut spare);
            assert!(page.uniform.is_none() && page.parts.is_some() && spare.is_empty());
        }
    }

    #[test]
    fn the_shape_of_a_page_is_learned_with_and_without_parts() {
        let mut spare = Vec::new();
        let mut fresh = Page { epoch: 1, left: 0, uniform: None, whole: false, shape: 0, parts: None };
        fresh.learn_whole();
        assert_eq!(fresh.shape(0), 8);
        let mut bytes = page(WRITTEN, BYTES);
        bytes.unite(&mut spare);
        bytes.learn_whole();
        assert_eq!(bytes.shape(0) & 0xf, MIXED);
    }
}
