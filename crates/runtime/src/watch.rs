//! Cells whose values lie on pages of their own, which the processor protects: every access through a pointer from `UnsafeCell::get` is
//! seen where it happens.
//!
//! [`crate::lent`] guesses what is done through such a pointer. Where a data race would depend on the guess, the search starts again
//! with [`Modes::watches_cells`](crate::polling::Modes). From then on the value of a cell is moved to a page when the cell is first used, and the page
//! is not accessible. An access faults. The handler notes the bytes and whether they are written, opens the page, and lets the processor execute one
//! instruction; the trap after it closes the page again. The thread's next operation checks what was noted for data races, byte by byte.
//!
//! The value goes back to its cell when the cell is dropped or taken apart. Only cells that are made in the execution are moved: what a test
//! makes outside of the check keeps its value from one execution to the next.

use crate::Place;
use crate::context;
use crate::execution::{Execution, Phase};
use crate::objects::Handle;
use crate::races::{self, Touch};
use crate::spin;
use explore::{ObjectId, ThreadId};
use std::cell::UnsafeCell;
use std::ops::Range;

/// The value of one cell.
struct Region {
    cell: ObjectId,
    start: usize,
    size: usize,
    /// From the handle of the cell to its value.
    offset: isize,
    /// The copy of a static that belongs to the execution.
    of_static: Option<usize>,
    /// The value is a list with elements that lie elsewhere.
    is_list: bool,
    /// The value is in its cell again.
    ended: bool,
    /// Where threads got their pointers last.
    lent: Vec<(ThreadId, Place)>,
    /// The last accesses.
    touches: Vec<(Range<u32>, Touch, bool)>,
}

/// An access that faulted.
struct Hit {
    region: usize,
    bytes: Range<u32>,
    write: bool,
}

/// Accesses of one thread between two of its operations that are kept apart.
const MOST_HITS: usize = 512;

/// The cells of one execution that are watched.
#[derive(Default)]
pub(crate) struct Watch {
    arena: Option<pages::Arena>,
    regions: Vec<Region>,
    /// Where handles lie in the regions: accesses to them are ours.
    handles: Vec<usize>,
    /// Of the running thread since its last operation.
    hits: Vec<Hit>,
    /// Pages that are open for one instruction.
    open: [Option<(usize, usize)>; 4],
    /// More accesses than can be kept were made.
    overflowed: bool,
}

impl Watch {
    pub(crate) fn clear(&mut self) {
        self.regions.clear();
        self.hits.clear();
        self.handles.clear();
        self.open = [None; 4];
        self.overflowed = false;
        if let Some(arena) = &mut self.arena {
            arena.clear();
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// A handle is about to be written by us.
    pub(crate) fn note_handle(&mut self, address: usize) {
        if pages::contains(address) {
            self.handles.push(address);
        }
    }

    /// Whether a cell was watched.
    pub(crate) fn has(&self, cell: ObjectId) -> bool {
        self.regions.iter().any(|r| r.cell == cell)
    }

    fn find(&self, cell: ObjectId) -> Option<usize> {
        self.regions.iter().rposition(|r| r.cell == cell && !r.ended)
    }
}

/// Whether accesses can be watched here.
pub(crate) fn is_available() -> bool {
    pages::AVAILABLE
}

/// Where the value of a cell is in this execution.
#[inline]
pub fn cell_data<T: ?Sized>(object: &Handle, value: &UnsafeCell<T>, place: Place) -> *mut T {
    let inline = value.get();
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    if ex.is_null() || unsafe { !(*ex).modes.watches_cells } {
        return crate::data(object, crate::Class::Cell, inline);
    }
    let size = size_of_val(value);
    // SAFETY: as above; no reference into the execution is held.
    let start = unsafe { moved(ex, object, size, place) };
    let start = start.unwrap_or_else(|| {
        let inline = crate::data(object, crate::Class::Cell, inline);
        // SAFETY: as above. The bytes at `inline` are those of the value.
        unsafe { move_out(ex, object, inline.cast(), size, place) }
    });
    match start {
        None => crate::data(object, crate::Class::Cell, inline),
        Some(start) => {
            let mut out = inline;
            // SAFETY: a pointer, thin or wide, starts with its address; what is behind it fits the value wherever that lies.
            unsafe { (&raw mut out).cast::<usize>().write(start) };
            out
        }
    }
}

/// Where the value was moved to. The outer option is nothing if that has to be decided.
unsafe fn moved(ex: *mut Execution, object: &Handle, size: usize, place: Place) -> Option<Option<usize>> {
    // SAFETY: by the contract of the callers, the execution is valid and nobody has a reference into it.
    let ex = unsafe { &mut *ex };
    if size == 0 {
        return Some(None);
    }
    let fresh = object.is_fresh();
    if let Some(cell) = ex.find(object)
        && let Some(i) = ex.watch.find(cell)
    {
        return Some(Some(ex.watch.regions[i].start));
    }
    if ex.phase != Phase::Running {
        return Some(None);
    }
    let cell = ex.resolve(object, crate::Class::Cell, 0, place);
    if !fresh && ex.objects[cell.index()].home != crate::objects::Home::Static {
        return Some(None);
    }
    None
}

#[cold]
unsafe fn move_out(
    ex: *mut Execution,
    object: &Handle,
    inline: *mut u8,
    size: usize,
    place: Place,
) -> Option<usize> {
    // SAFETY: as for `moved`.
    let ex = unsafe { &mut *ex };
    let cell = ex.resolve(object, crate::Class::Cell, 0, place);
    let is_static = ex.objects[cell.index()].home == crate::objects::Home::Static;
    if ex.watch.arena.is_none() {
        ex.watch.arena = pages::Arena::new();
        ex.watch.hits.reserve_exact(MOST_HITS);
    }
    let start = ex.watch.arena.as_mut()?.allocate(size)?;
    // SAFETY: the pages are ours and large enough, and `inline` points to the bytes of a value.
    unsafe {
        pages::open(start, size);
        inline.copy_to_nonoverlapping(start as *mut u8, size);
        pages::close(start, size);
    }
    ex.watch.regions.push(Region {
        cell,
        start,
        size,
        offset: inline as isize - object.address() as isize,
        of_static: is_static.then_some(inline as usize),
        ended: false,
        is_list: false,
        lent: Vec::new(),
        touches: Vec::new(),
    });
    ex.attend = true;
    Some(start)
}

/// Notes that a thread gets a pointer to a cell. Returns whether accesses through it are seen.
pub(crate) fn lend(ex: &mut Execution, cell: ObjectId, place: Place) -> bool {
    let t = ex.current;
    let Some(i) = ex.watch.find(cell) else { return false };
    let lent = &mut ex.watch.regions[i].lent;
    lent.retain(|l| l.0 != t);
    lent.push((t, place));
    true
}

/// Notes that the value of a cell is a list with elements that lie elsewhere. Returns whether accesses to the value are seen.
pub(crate) fn lend_list(ex: &mut Execution, cell: ObjectId) -> bool {
    let Some(i) = ex.watch.find(cell) else { return false };
    ex.watch.regions[i].is_list = true;
    true
}

/// Puts the value of a cell back, as the cell ends.
pub(crate) fn put_back(ex: &mut Execution, cell: ObjectId, object: &Handle) {
    let Some(i) = ex.watch.find(cell) else { return };
    let region = &mut ex.watch.regions[i];
    region.ended = true;
    let to = object.address().wrapping_add_signed(region.offset);
    // SAFETY: the pages are those of the region; the value lies behind the handle as it did when it was moved out, in a cell that is alive.
    unsafe { take_back(region, to) };
}

/// Puts the values of statics back where the execution keeps their copies, before those are dropped.
pub(crate) fn put_back_statics(ex: &mut Execution) {
    for region in &mut ex.watch.regions {
        if let Some(to) = region.of_static.filter(|_| !region.ended) {
            region.ended = true;
            // SAFETY: the pages are those of the region, and the copies live until they are dropped.
            unsafe { take_back(region, to) };
        }
    }
}

/// # Safety
///
/// A value of the region's size can be written at `to`.
unsafe fn take_back(region: &Region, to: usize) {
    // SAFETY: by the contract; the pages do not overlap with memory of the test.
    unsafe {
        pages::open(region.start, region.size);
        (region.start as *const u8).copy_to_nonoverlapping(to as *mut u8, region.size);
        pages::close(region.start, region.size);
    }
}

/// Looks for an access through a pointer that is not ordered before an access of the running thread to the whole cell. Returns it, and whether
/// it wrote.
pub(crate) fn conflict(ex: &mut Execution, cell: ObjectId, write: bool) -> Option<(Touch, bool)> {
    let i = ex.watch.regions.iter().rposition(|r| r.cell == cell)?;
    ex.order_steps();
    let touches = ex.watch.regions[i].touches.iter();
    let found = touches.filter(|t| write || t.2).find(|t| races::is_concurrent(ex, &t.1));
    found.map(|t| (t.1, t.2))
}

/// Checks what the running thread has done through pointers since its last operation. Returns what is to be said of a race, and where the
/// pointer was got.
pub(crate) fn settle(ex: &mut Execution) -> Option<(String, Place)> {
    if ex.watch.overflowed {
        ex.watch.overflowed = false;
        let place = ex.watch.hits.first().map(|h| ex.watch.regions[h.region].place_of(ex.current));
        ex.caveats.add(
            explore::CaveatKind::Races,
            "a thread accesses a cell through a pointer very often between two operations: some of these accesses are not checked for data \
             races"
                .into(),
            place.flatten().unwrap_or(Place(0)),
        );
    }
    if ex.watch.hits.is_empty() {
        return None;
    }
    let hits = std::mem::take(&mut ex.watch.hits);
    let mut race = None;
    ex.order_steps();
    if ex.looking && hits.iter().any(|h| h.write) {
        spin::changed(ex);
    }
    for hit in &hits {
        let region = &ex.watch.regions[hit.region];
        let (cell, first) = (region.cell, ex.objects[region.cell.index()].place);
        let place = region.place_of(ex.current).or(first).unwrap_or(Place(0));
        let touch = races::touch_now(ex, place);
        let overlaps = |r: &Range<u32>| r.start < hit.bytes.end && hit.bytes.start < r.end;
        let other = region.touches.iter().filter(|t| (hit.write || t.2) && overlaps(&t.0));
        let found = other.map(|t| (t.1, t.2)).find(|t| races::is_concurrent(ex, &t.0));
        let found = found.or_else(|| races::announced(ex, cell, hit.write));
        // A thread that uses an element looks for the elements first.
        if region.is_list && region.touches.iter().any(|t| races::is_concurrent(ex, &t.1)) {
            ex.caveats.note_at(explore::CaveatKind::Races, crate::lent::ELEMENTS, place);
        }
        if let (Some((other, wrote)), None) = (found, &race) {
            let name = ex.object_name(cell).unwrap_or_default();
            race = Some((races::message(ex, &name, hit.write, place, &other, wrote), place));
        }
        let touches = &mut ex.watch.regions[hit.region].touches;
        let covers = |r: &Range<u32>| hit.bytes.start <= r.start && r.end <= hit.bytes.end;
        touches.retain(|t| t.1.thread != touch.thread || t.2 && !hit.write || !covers(&t.0));
        touches.push((hit.bytes.clone(), touch, hit.write));
    }
    ex.watch.hits = hits;
    ex.watch.hits.clear();
    race
}

impl Region {
    /// Where a thread got its pointer, or another one did.
    fn place_of(&self, t: ThreadId) -> Option<Place> {
        let mine = self.lent.iter().find(|l| l.0 == t);
        mine.or(self.lent.last()).map(|l| l.1)
    }
}

/// A fault at an address. Returns whether it was an access that is watched, which can go on; then the processor has to trap after it if the
/// second value says so.
///
/// # Safety
///
/// Called in a signal handler.
pub(crate) unsafe fn fault(address: usize, write: bool, size: usize) -> Option<bool> {
    if !pages::contains(address) {
        return None;
    }
    let ex = context::current();
    // SAFETY: the execution on this OS thread is valid. Code that touches a watched page holds no reference to what is
    // changed here: it is in `Watch`, which is used while all that it reads is open.
    unsafe {
        let watch = if ex.is_null() { std::ptr::null_mut() } else { &raw mut (*ex).watch };
        let region = if watch.is_null() {
            None
        } else {
            (*watch).regions.iter().position(|r| (r.start..r.start + pages::round(r.size)).contains(&address))
        };
        let Some(region) = region.filter(|_| (*ex).in_fiber && (*ex).phase == Phase::Running) else {
            pages::open(address & !(pages::PAGE - 1), 1);
            return Some(false);
        };
        let (start, length) = ((&(*watch).regions)[region].start, (&(*watch).regions)[region].size);
        let from = (address - start) as u32;
        let to = (from as usize + size).min(length) as u32;
        let of_handle = (*watch).handles.iter().any(|h| (*h..h + size_of::<Handle>()).contains(&address));
        if from < to && !of_handle {
            let hits = &mut (*watch).hits;
            let joins = |h: &Hit| {
                h.region == region && h.write == write && h.bytes.start <= to && from <= h.bytes.end
            };
            if let Some(known) = hits.iter_mut().rev().take(8).find(|h| joins(h)) {
                known.bytes = known.bytes.start.min(from)..known.bytes.end.max(to);
            } else if hits.len() < hits.capacity() {
                hits.push(Hit { region, bytes: from..to, write });
            } else {
                (*watch).overflowed = true;
            }
        }
        pages::open(start, length);
        if let Some(free) = (*watch).open.iter_mut().find(|o| o.is_none()) {
            *free = Some((start, length));
        }
        Some(true)
    }
}

/// The processor has trapped after an instruction. Returns whether that was asked for by [`fault`].
///
/// # Safety
///
/// As for [`fault`].
pub(crate) unsafe fn trapped() -> bool {
    let ex = context::current();
    // SAFETY: as for `fault`.
    unsafe {
        if ex.is_null() {
            return false;
        }
        let mut any = false;
        for open in &mut (*ex).watch.open {
            if let Some((start, size)) = open.take() {
                pages::close(start, size);
                any = true;
            }
        }
        any
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod pages {
    use std::sync::atomic::{AtomicUsize, Ordering};

    pub(super) const AVAILABLE: bool = true;
    pub(super) const PAGE: usize = 4096;

    /// Addresses that one execution can use for values of cells.
    const SIZE: usize = 64 << 20;
    /// The start of each arena of the process, or 0.
    static ARENAS: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];

    pub(super) struct Arena {
        start: usize,
        used: usize,
    }

    impl Arena {
        pub(super) fn new() -> Option<Arena> {
            crate::signals::trap_steps();
            // SAFETY: a new mapping.
            let start = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    SIZE,
                    libc::PROT_NONE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            if start == libc::MAP_FAILED {
                return None;
            }
            let start = start as usize;
            let entered = ARENAS
                .iter()
                .any(|a| a.compare_exchange(0, start, Ordering::SeqCst, Ordering::SeqCst).is_ok());
            let arena = Arena { start, used: 0 };
            entered.then_some(arena)
        }

        pub(super) fn clear(&mut self) {
            self.used = 0;
        }

        pub(super) fn allocate(&mut self, size: usize) -> Option<usize> {
            let start = self.start + self.used;
            let size = round(size);
            (self.used + size <= SIZE).then(|| self.used += size)?;
            Some(start)
        }
    }

    impl Drop for Arena {
        fn drop(&mut self) {
            for arena in &ARENAS {
                let _ = arena.compare_exchange(self.start, 0, Ordering::SeqCst, Ordering::SeqCst);
            }
            // SAFETY: the mapping is ours, and its execution is over.
            unsafe { libc::munmap(self.start as *mut _, SIZE) };
        }
    }

    pub(super) fn round(size: usize) -> usize {
        size.next_multiple_of(PAGE)
    }

    pub(super) fn contains(address: usize) -> bool {
        ARENAS.iter().map(|a| a.load(Ordering::Relaxed)).any(|a| a != 0 && (a..a + SIZE).contains(&address))
    }

    /// # Safety
    ///
    /// The pages are in an arena.
    pub(super) unsafe fn open(start: usize, size: usize) {
        // SAFETY: by the contract.
        unsafe { libc::mprotect(start as *mut _, round(size), libc::PROT_READ | libc::PROT_WRITE) };
    }

    /// # Safety
    ///
    /// As for [`open`].
    pub(super) unsafe fn close(start: usize, size: usize) {
        // SAFETY: by the contract.
        unsafe { libc::mprotect(start as *mut _, round(size), libc::PROT_NONE) };
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod pages {
    pub(super) const AVAILABLE: bool = false;
    pub(super) const PAGE: usize = 4096;

    pub(super) enum Arena {}

    impl Arena {
        pub(super) fn new() -> Option<Arena> {
            None
        }

        pub(super) fn clear(&mut self) {
            match *self {}
        }

        pub(super) fn allocate(&mut self, _size: usize) -> Option<usize> {
            match *self {}
        }
    }

    pub(super) fn round(size: usize) -> usize {
        size
    }

    pub(super) fn contains(_address: usize) -> bool {
        false
    }

    pub(super) unsafe fn open(_start: usize, _size: usize) {}

    pub(super) unsafe fn close(_start: usize, _size: usize) {}
}

/// How many bytes of memory the instruction at this address accesses. Where it is one that compilers do not use for data, a guess.
///
/// # Safety
///
/// The processor was about to execute it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) unsafe fn size_of_access(code: usize) -> usize {
    // SAFETY: by the contract; an instruction has at most 15 bytes, and these are read one by one as far as it goes.
    let byte = |i: usize| unsafe { *((code + i) as *const u8) };
    let (mut i, mut short, mut repeat, mut wide) = (0, false, 0, false);
    loop {
        match byte(i) {
            0x66 => short = true,
            p @ (0xf2 | 0xf3) => repeat = p,
            0xf0 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 | 0x67 => {}
            rex @ 0x40..=0x4f => wide = rex & 8 != 0,
            _ => break,
        }
        i += 1;
    }
    let operand = if wide {
        8
    } else if short {
        2
    } else {
        4
    };
    let scalar = match repeat {
        0xf3 => 4,
        0xf2 => 8,
        _ => 16,
    };
    // Prefixes of a vector instruction are numbered in its first bytes.
    let vector = |opcode: u8, prefix: u8, wide: bool, length: usize| match (opcode, prefix) {
        (0x10 | 0x11 | 0x51 | 0x58..=0x5f, 2) => 4,
        (0x10 | 0x11 | 0x51 | 0x58..=0x5f, 3) => 8,
        (0x12 | 0x13 | 0x16 | 0x17 | 0xd6, _) | (0x7e, 2) => 8,
        (0x6e | 0x7e | 0x2a, _) => {
            if wide {
                8
            } else {
                4
            }
        }
        (0x2e | 0x2f, p) => {
            if p == 1 {
                8
            } else {
                4
            }
        }
        _ => length,
    };
    match byte(i) {
        0x0f => match byte(i + 1) {
            0xb6 | 0xbe | 0x90..=0x9f | 0xb0 | 0xc0 => 1,
            0xb7 | 0xbf => 2,
            0xc7 => {
                if wide {
                    16
                } else {
                    8
                }
            }
            0x10 | 0x11 | 0x51 | 0x58..=0x5f => scalar,
            0x12 | 0x13 | 0x16 | 0x17 | 0xd6 => 8,
            0x7e if repeat == 0xf3 => 8,
            0x6e | 0x7e | 0x2a => {
                if wide {
                    8
                } else {
                    4
                }
            }
            0x2c | 0x2d => scalar.min(8),
            0x2e | 0x2f => {
                if short {
                    8
                } else {
                    4
                }
            }
            0x40..=0x4f | 0xa3 | 0xa5 | 0xab | 0xad | 0xaf | 0xb1 | 0xb8 | 0xba | 0xbc | 0xbd | 0xc1 => {
                operand
            }
            _ => 16,
        },
        0xc5 => {
            let p = byte(i + 1);
            vector(byte(i + 2), p & 3, false, if p & 4 != 0 { 32 } else { 16 })
        }
        0xc4 => {
            let p = byte(i + 2);
            vector(byte(i + 3), p & 3, p & 0x80 != 0, if p & 4 != 0 { 32 } else { 16 })
        }
        0x62 => 16 << (byte(i + 3) >> 5 & 3).min(2),
        op @ 0x00..=0x3f if op & 7 == 0 || op & 7 == 2 => {
            let _ = op;
            1
        }
        0x80 | 0x82 | 0x84 | 0x86 | 0x88 | 0x8a | 0xa0 | 0xa2 | 0xa4 | 0xa6 | 0xaa | 0xac | 0xae | 0xc0
        | 0xc6 | 0xd0 | 0xd2 | 0xf6 | 0xfe => 1,
        0x50..=0x5f | 0x8f => 8,
        0x63 => 4,
        0xff if byte(i + 1) >> 3 & 7 >= 2 => 8,
        0xd8..=0xdf => 10,
        _ => operand,
    }
}
