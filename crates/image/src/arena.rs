//! The program's heap.
//!
//! Each thread of the program has an arena at a fixed address, and so has what runs before `main`. An arena only
//! grows during an execution: the address of an allocation depends on its thread and on what this thread allocated
//! before, and memory that was freed is not used again before the execution ends, so that each use of it is seen.
//! Between two blocks are at least [`RED_ZONE`] bytes that belong to none.
//!
//! # What is known about an address
//!
//! All bookkeeping is out of line, where a wild write of the program does not get by accident. Each arena has its
//! blocks in the order of their addresses, and two tables that lead from an address to the number of a block: one
//! entry for each [`GRANULE`] of 16 bytes, and, for large blocks, one for each page.
//!
//! **Invariant:** for every byte of a block of this execution, the entry of its granule or of its page has the number
//! of the block. Entries of earlier executions are not cleared; an entry counts only if the block it names, as it is
//! *now*, contains the address, and then it cannot be wrong, since blocks are disjoint. So ending an execution is one
//! assignment an arena.
//!
//! # Contents
//!
//! What a program reads from memory it never wrote must be the same in each execution. A fresh block is full of
//! [`FRESH`] (zero after `calloc`), the red zone after it too, and a freed one of [`FREED`]. From [`LARGE`] bytes on,
//! filling would cost more than the rest of the execution: such a block starts on a page and is zero, as the kernel
//! gives it (memory that an earlier execution used is handed back to the kernel first); when it is freed only its
//! first page is filled.
//!
//! Natively the contents of a fresh block are left to the allocator. So each byte of a block has a bit that says whether the program
//! wrote it ([`Heap::probe`] of a write sets it), and [`Heap::is_unwritten`] says whether a read gets a value that is ours.
//!
//! # Before `main`
//!
//! [`Heap::seal`] ends the start-up: blocks made before it stay for good. Their contents are restored by the
//! snapshot, to which the caller hands [`Heap::sealed`]; their bookkeeping by [`Heap::reset`].
//!
//! ```
//! use image::arena::{Heap, HeapError, Owner, State};
//!
//! let heap = Heap::new(2, 1 << 20)?;
//! let (main, other) = (Owner::thread(0), Owner::thread(1));
//! let block = heap.malloc(main, 24, 16, 0x1000).unwrap().as_ptr();
//! assert!(matches!(heap.state_of(block as usize + 23), State::Live(_)));
//! assert!(matches!(heap.state_of(block as usize + 24), State::Gap { .. }));
//! heap.free(other, block, 0x2000).unwrap();
//! assert!(matches!(heap.state_of(block as usize), State::Freed { freed_at: 0x2000, .. }));
//! assert!(matches!(heap.free(main, block, 0x3000), Err(HeapError::DoubleFree { .. })));
//! heap.reset();
//! assert_eq!(heap.malloc(main, 24, 16, 0x1000).unwrap().as_ptr(), block);
//! # Ok::<(), image::Error>(())
//! ```

use crate::segments::Region;
use crate::{Error, PAGE, bytes, page_up, sys};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr::NonNull;

/// The alignment of each block, and what one entry of the table is for.
pub const GRANULE: usize = 16;
/// At least so many bytes after each block belong to none.
pub const RED_ZONE: usize = 16;
/// What a block is filled with.
pub const FRESH: u8 = 0xbe;
/// What a freed block is filled with.
pub const FREED: u8 = 0xdf;
/// From this size on a block starts on a page and is zero.
pub const LARGE: usize = 128 << 10;
/// The highest number of threads.
pub const MAX_THREADS: usize = 64;
/// The most that the arena of one thread can be allowed to hold.
pub const MAX_LIMIT: usize = STRIDE - PAGE;

const BASE: usize = 0x2000_0000_0000;
const STRIDE: usize = 1 << 36;
/// The first block is not at the very beginning, so that what is just below it is a gap too.
const LEAD: usize = 64;

/// Whose arena it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(u8);

impl Owner {
    /// What runs before `main`.
    pub const STARTUP: Owner = Owner(0);

    /// A thread of the program, by its number from 0 on.
    ///
    /// # Panics
    ///
    /// If there cannot be so many threads.
    pub const fn thread(index: usize) -> Self {
        assert!(index < MAX_THREADS);
        Self(index as u8 + 1)
    }

    /// The number of the thread; none for what runs before `main`.
    pub const fn thread_index(self) -> Option<usize> {
        if self.0 == 0 { None } else { Some(self.0 as usize - 1) }
    }
}

/// The place in the program, as a return address, where something was asked for.
pub type Site = usize;

/// A block of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its first byte.
    pub start: usize,
    /// How many bytes were asked for.
    pub size: usize,
    /// Where it was allocated.
    pub site: Site,
    /// Who allocated it.
    pub owner: Owner,
}

impl Block {
    /// The first byte after it.
    pub fn end(&self) -> usize {
        self.start + self.size
    }
}

/// What an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not in the heap.
    NotHeap,
    /// In a block that can be used.
    Live(Block),
    /// In a block that was freed.
    Freed {
        /// The block.
        block: Block,
        /// Where it was freed.
        freed_at: Site,
        /// Who freed it.
        freed_by: Owner,
    },
    /// In the heap, and in no block.
    Gap {
        /// The nearest block before it, and how many bytes the address is after its last one (at least 1).
        before: Option<(Block, usize)>,
        /// The nearest block after it, and how many bytes the address is before its first one (at least 1).
        after: Option<(Block, usize)>,
    },
}

/// What an access may do, in one word; see [`Heap::probe`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// Not in the heap: nothing is known here.
    NotHeap,
    /// Inside one block that can be used.
    Live,
    /// At least a part of it is in no block that can be used.
    Wrong,
}

/// A block that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Its first byte, which is aligned to [`GRANULE`].
    pub start: usize,
    /// How many bytes it has.
    pub size: usize,
    /// One bit for each byte: the program wrote it. `None` where nobody asks for that.
    pub written: Option<*mut u8>,
}

/// Why the heap did not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapError {
    /// More than an arena could ever hold: `malloc` returns null and sets `ENOMEM`.
    TooLarge {
        /// How many bytes were asked for.
        size: usize,
    },
    /// The product in `calloc` is more than an address: `calloc` returns null and sets `ENOMEM`.
    Overflow,
    /// The alignment is no power of two: the function returns `EINVAL`, or null with it.
    BadAlignment {
        /// What was asked for.
        align: usize,
    },
    /// The arena is used up by this execution. This is a limit of ours, not of the program's system.
    ArenaFull {
        /// Whose arena.
        owner: Owner,
        /// How many bytes were asked for.
        size: usize,
        /// How many bytes this execution has taken so far; freed ones count.
        used: usize,
        /// How many it may take.
        limit: usize,
    },
    /// The block was freed before.
    DoubleFree {
        /// The block.
        block: Block,
        /// Where it was freed first.
        freed_at: Site,
        /// By whom.
        freed_by: Owner,
    },
    /// The address is not the start of a block.
    InvalidFree {
        /// The address.
        address: usize,
        /// What it is.
        state: State,
    },
}

impl fmt::Display for HeapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooLarge { size } => write!(f, "{size} bytes are more than the heap can hold"),
            Self::Overflow => write!(f, "the size of the allocation overflows"),
            Self::BadAlignment { align } => write!(f, "the alignment {align} is no power of two"),
            Self::ArenaFull { owner, size, used, limit } => {
                match owner.thread_index() {
                    Some(thread) => write!(f, "thread {thread} is out of heap")?,
                    None => write!(f, "what runs before main is out of heap")?,
                }
                write!(f, ": {size} bytes asked for, {used} of {limit} used (freed memory is not used again)")
            }
            Self::DoubleFree { block, .. } => {
                write!(f, "the block of {} bytes at {:#x} was freed before", block.size, block.start)
            }
            Self::InvalidFree { address, state } => {
                write!(f, "{address:#x} cannot be freed: ")?;
                match state {
                    State::NotHeap => write!(f, "it is not in the heap"),
                    State::Live(block) | State::Freed { block, .. } => {
                        write!(f, "it is {} bytes into a block of {}", address - block.start, block.size)
                    }
                    State::Gap { .. } => write!(f, "it is between blocks"),
                }
            }
        }
    }
}

impl std::error::Error for HeapError {}

/// The function family that allocated a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Origin {
    /// `malloc` and its like.
    Malloc,
    /// `operator new` of C++.
    New,
    /// `operator new[]` of C++.
    NewArray,
}

/// A block as it is kept.
#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    start: usize,
    size: usize,
    site: Site,
    freed_at: Site,
    live: bool,
    freed_by: Owner,
    /// Its address was written to memory that other threads may see.
    published: bool,
    /// How often its address was given out before.
    earlier: u16,
    /// It was asked for with zeros.
    zeroed: bool,
    origin: Origin,
    /// Addresses of freed blocks were among those that it could get.
    had_choice: bool,
    /// How many blocks had been freed in all when it was allocated.
    born: u64,
    /// Which of all freed blocks it is, from 1 on.
    died: u64,
    /// The block that `realloc` made this one of; 0 for none.
    from: usize,
}

impl Entry {
    fn end(&self) -> usize {
        self.start + self.size
    }
}

/// What is known of a freed block and of one that was allocated later; see [`Heap::succession`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Succession {
    /// The start of the block that was freed.
    pub freed: usize,
    /// The later one is not larger.
    pub fits: bool,
    /// The later one is what `realloc` made of the other.
    pub moved: bool,
    /// The later one could get addresses of freed blocks; see [`Heap::set_had_choice`].
    pub had_choice: bool,
}

struct Arena {
    base: usize,
    limit: usize,
    /// Where the next block may start.
    next: Cell<usize>,
    count: Cell<usize>,
    /// What `next` and `count` are at the start of an execution.
    floor: Cell<(usize, usize)>,
    /// Memory from here on was never handed out in this process.
    virgin: Cell<usize>,
    /// One more than the number of a block, by granule and by page; 0 for none.
    granules: *mut u32,
    pages: *mut u32,
    entries: *mut Entry,
    /// One bit for each byte: the program wrote it in the present life of its block.
    written: *mut u8,
}

/// The heap of the program: one arena a thread, and one for what runs before `main`.
pub struct Heap {
    arenas: Vec<Arena>,
    /// The arenas that this execution has used, one bit each.
    used: Cell<u128>,
    /// How many blocks were ever freed.
    frees: Cell<u64>,
    /// Sealed blocks that this execution has freed: arena, number, and what they were.
    freed_sealed: UnsafeCell<Vec<(u8, u32, Entry)>>,
}

// SAFETY: used on one OS thread only (see the crate's rules); `Sync` so that it can be a static.
unsafe impl Sync for Heap {}
// SAFETY: as above.
unsafe impl Send for Heap {}

impl Heap {
    /// A heap for so many threads, each of which may take `limit` bytes in an execution. All of it is only reserved.
    /// There can be one heap in a process at a time, since its place is fixed.
    pub fn new(threads: usize, limit: usize) -> Result<Self, Error> {
        if threads > MAX_THREADS {
            return Err(Error::new(
                format!("there are at most {MAX_THREADS} threads, not {threads}"),
                libc::EINVAL,
            ));
        }
        if limit > MAX_LIMIT {
            return Err(Error::new(format!("a heap of {limit} bytes a thread is too large"), libc::EINVAL));
        }
        let limit = page_up(limit.max(PAGE));
        let arenas =
            (0..=threads).map(|index| Arena::new(BASE + index * STRIDE, limit)).collect::<Result<_, _>>()?;
        Ok(Self {
            arenas,
            used: Cell::new(0),
            frees: Cell::new(0),
            freed_sealed: UnsafeCell::new(Vec::new()),
        })
    }

    /// A block of `size` bytes. An alignment below [`GRANULE`] is as good as that.
    #[inline]
    pub fn malloc(
        &self,
        owner: Owner,
        size: usize,
        align: usize,
        site: Site,
    ) -> Result<NonNull<u8>, HeapError> {
        self.allocate(owner, size, align, site, FRESH)
    }

    /// A block of `count` times `size` bytes, all zero.
    pub fn calloc(
        &self,
        owner: Owner,
        count: usize,
        size: usize,
        site: Site,
    ) -> Result<NonNull<u8>, HeapError> {
        let size = count.checked_mul(size).ok_or(HeapError::Overflow)?;
        self.allocate(owner, size, GRANULE, site, 0)
    }

    #[inline]
    fn allocate(
        &self,
        owner: Owner,
        size: usize,
        align: usize,
        site: Site,
        filler: u8,
    ) -> Result<NonNull<u8>, HeapError> {
        if !align.is_power_of_two() {
            return Err(HeapError::BadAlignment { align });
        }
        let Some(arena) = self.arenas.get(owner.0 as usize) else {
            return Err(HeapError::ArenaFull { owner, size, used: 0, limit: 0 });
        };
        let start = arena.allocate(owner, size, align, site, filler, self.frees.get())?;
        self.used.set(self.used.get() | 1 << owner.0);
        Ok(start)
    }

    /// Frees a block that any thread allocated. Null is fine. `owner` is who frees.
    #[inline]
    pub fn free(&self, owner: Owner, address: *mut u8, site: Site) -> Result<(), HeapError> {
        let address = address as usize;
        if address == 0 {
            return Ok(());
        }
        let Some((arena, number)) = self.block_at(address) else {
            return Err(HeapError::InvalidFree { address, state: self.state_of(address) });
        };
        // SAFETY: `block_at` gives a number of a block of this arena.
        let entry = unsafe { &mut *self.arenas[arena].entries.add(number) };
        if !entry.live {
            let block = self.arenas[arena].block(number);
            return Err(HeapError::DoubleFree { block, freed_at: entry.freed_at, freed_by: entry.freed_by });
        }
        if number < self.arenas[arena].floor.get().1 && entry.earlier == 0 {
            // SAFETY: on one thread, and nobody else borrows the list. It was given room for all sealed blocks, and
            // each is noted once, in its first life.
            unsafe { (*self.freed_sealed.get()).push((arena as u8, number as u32, *entry)) };
        }
        (entry.live, entry.freed_at, entry.freed_by) = (false, site, owner);
        self.frees.set(self.frees.get() + 1);
        entry.died = self.frees.get();
        let filled = if entry.size >= LARGE { PAGE } else { entry.size };
        // SAFETY: the block was allocated, so it is writable; the program gave it up.
        unsafe { bytes::fill(address as *mut u8, FREED, filled) };
        Ok(())
    }

    /// Notes that the address of a block, or one inside it, was written where other threads may see it. Other numbers are ignored.
    #[inline]
    pub fn publish(&self, address: usize) {
        let Some(index) = self.arena_of(address) else { return };
        let arena = &self.arenas[index];
        if let Some(number) = arena.number_at(address, true) {
            // SAFETY: a number that was found is one of a block.
            unsafe { (*arena.entries.add(number)).published = true };
        }
    }

    /// Whether the block at this address was published in its present life. What runs before `main` is not looked at, so its blocks
    /// count as published.
    pub fn is_published(&self, address: usize) -> bool {
        self.block_at(address).is_some_and(|(arena, number)| {
            let arena = &self.arenas[arena];
            // SAFETY: `block_at` gives a number of a block of this arena.
            let entry = unsafe { &*arena.entries.add(number) };
            entry.published || number < arena.floor.get().1 && entry.earlier == 0
        })
    }

    /// Notes what has just allocated the block at this address.
    pub fn set_origin(&self, address: usize, origin: Origin) {
        if let Some((arena, number)) = self.block_at(address) {
            // SAFETY: `block_at` gives a number of a block of this arena.
            unsafe { (*self.arenas[arena].entries.add(number)).origin = origin };
        }
    }

    /// The function family that allocated the block at this address.
    pub fn origin_of(&self, address: usize) -> Origin {
        // SAFETY: as above.
        let of =
            |(arena, number): (usize, usize)| unsafe { (*self.arenas[arena].entries.add(number)).origin };
        self.block_at(address).map_or(Origin::Malloc, of)
    }

    /// How many blocks had this address before the present one.
    pub fn earlier_lives(&self, address: usize) -> u16 {
        // SAFETY: `block_at` gives a number of a block of this arena.
        self.block_at(address).map_or(0, |(a, n)| unsafe { (*self.arenas[a].entries.add(n)).earlier })
    }

    /// Gives out a freed block again, for at most as many bytes as it had. `None` if there is no such block.
    pub fn reuse(&self, address: usize, size: usize, site: Site, zero: bool) -> Option<NonNull<u8>> {
        let (arena, number) = self.block_at(address)?;
        // SAFETY: `block_at` gives a number of a block of this arena.
        let entry = unsafe { &mut *self.arenas[arena].entries.add(number) };
        if entry.live || size > entry.size {
            return None;
        }
        // SAFETY: the block was allocated, so it is writable; nobody has it now.
        unsafe {
            bytes::fill(address as *mut u8, FRESH, entry.size);
            if zero {
                bytes::fill(address as *mut u8, 0, size);
            }
        }
        self.arenas[arena].forget_written(address, entry.size);
        (entry.live, entry.size, entry.site, entry.published) = (true, size, site, false);
        (entry.earlier, entry.zeroed) = (entry.earlier.saturating_add(1), zero);
        entry.origin = Origin::Malloc;
        (entry.born, entry.from, entry.had_choice) = (self.frees.get(), 0, true);
        NonNull::new(address as *mut u8)
    }

    /// Makes a block shorter, or leaves it as it is, where it lies. Says whether there is such a block.
    pub fn shrink(&self, address: usize, size: usize, site: Site) -> bool {
        let Some((arena, number)) = self.block_at(address) else { return false };
        // SAFETY: `block_at` gives a number of a block of this arena.
        let entry = unsafe { &mut *self.arenas[arena].entries.add(number) };
        // What is known of a sealed block stays.
        if !entry.live || size > entry.size || size == 0 || number < self.arenas[arena].floor.get().1 {
            return false;
        }
        (entry.size, entry.site) = (size, site);
        true
    }

    /// The life of an object in a block ends, and its memory stays: it is as in a fresh block. What was there before `main`, and what was
    /// asked for with zeros, stays as it is.
    pub fn end_life(&self, address: usize, len: usize) {
        let Some(index) = self.arena_of(address) else { return };
        let arena = &self.arenas[index];
        let Some(number) = arena.number_at(address, false) else { return };
        // SAFETY: a number that was found is one of a block.
        let entry = unsafe { &*arena.entries.add(number) };
        let is_sealed = number < arena.floor.get().1 && entry.earlier == 0;
        if !entry.live || entry.zeroed || is_sealed || address + len > entry.end() {
            return;
        }
        // SAFETY: the bytes are in a live block, and the program has no more use for them.
        unsafe { bytes::fill(address as *mut u8, FRESH, len) };
        (address..address + len).for_each(|at| arena.mark_as(at, false));
    }

    /// Whether the program has written none of these bytes of a block of this execution, and they are what a fresh block is full of.
    #[inline]
    pub fn is_unwritten(&self, address: usize, len: usize) -> bool {
        if self.arena_of(address).is_none() {
            return false;
        }
        // SAFETY: the arena is mapped, and what is in it can be read whatever it is.
        let at = |i: usize| unsafe { ((address + i) as *const u8).read_volatile() };
        let first = at(0);
        (first == FRESH || first == 0)
            && self.was_unwritten(address, len, first)
            && (1..len).all(|i| at(i) == first)
    }

    /// Whether the program has written some of these bytes of a small block and not others, as far as they look fresh.
    #[inline]
    pub fn is_partly_unwritten(&self, address: usize, len: usize) -> bool {
        if len < 2 || self.arena_of(address).is_none() {
            return false;
        }
        // SAFETY: the arena is mapped, and what is in it can be read whatever it is.
        let is_fresh = |at: usize| unsafe { (at as *const u8).read_volatile() } == FRESH;
        (address..address + len).any(|at| is_fresh(at) && self.was_unwritten(at, 1, FRESH))
    }

    /// As [`is_unwritten`](Self::is_unwritten), for bytes that had this value before an access that may have changed them.
    #[cold]
    pub fn was_unwritten(&self, address: usize, len: usize, value: u8) -> bool {
        let Some(index) = self.arena_of(address) else { return false };
        self.arenas[index].is_unwritten(address, len, value)
    }

    /// Takes some bytes for written where others are that they were copied from, and only there.
    pub fn copy_written(&self, to: usize, from: usize, len: usize) {
        let (Some(target), Some(source)) = (self.arena_of(to), self.arena_of(from)) else { return };
        let (target, source) = (&self.arenas[target], &self.arenas[source]);
        let Some(number) = source.number_at(from, false) else { return };
        // SAFETY: a number that was found is one of a block.
        let entry = unsafe { &*source.entries.add(number) };
        if entry.zeroed || number < source.floor.get().1 && entry.earlier == 0 {
            return;
        }
        let offsets = 0..len.min(entry.start + entry.size - from);
        let bit = |at: usize| source.is_marked(from + at);
        // They may overlap.
        if from < to {
            offsets.rev().for_each(|at| target.mark_as(to + at, bit(at)));
        } else {
            offsets.for_each(|at| target.mark_as(to + at, bit(at)));
        }
    }

    /// Another block with the contents of this one, which is freed. It always moves, so that a pointer to the old one
    /// is found out. As in the C library, null is like `malloc`, and a size of 0 frees and gives null.
    pub fn realloc(
        &self,
        owner: Owner,
        address: *mut u8,
        size: usize,
        site: Site,
    ) -> Result<*mut u8, HeapError> {
        if address.is_null() {
            return self.malloc(owner, size, GRANULE, site).map(NonNull::as_ptr);
        }
        if size == 0 {
            return self.free(owner, address, site).map(|()| std::ptr::null_mut());
        }
        let Some((arena, number)) = self.block_at(address as usize) else {
            let address = address as usize;
            return Err(HeapError::InvalidFree { address, state: self.state_of(address) });
        };
        let old = self.arenas[arena].block(number);
        // SAFETY: `block_at` gives a number of a block of this arena.
        let entry = unsafe { *self.arenas[arena].entries.add(number) };
        if !entry.live {
            let (freed_at, freed_by) = (entry.freed_at, entry.freed_by);
            return Err(HeapError::DoubleFree { block: old, freed_at, freed_by });
        }
        let new = self.malloc(owner, size, GRANULE, site)?;
        self.move_to(new, owner, old.start, size, site)?;
        Ok(new.as_ptr())
    }

    /// Makes a live block what another one was, up to `size` bytes, and frees that one.
    pub fn move_to(
        &self,
        new: NonNull<u8>,
        owner: Owner,
        address: usize,
        size: usize,
        site: Site,
    ) -> Result<(), HeapError> {
        let (Some((arena, number)), Some(to)) =
            (self.block_at(address), self.arena_of(new.as_ptr() as usize))
        else {
            return Err(HeapError::InvalidFree { address, state: self.state_of(address) });
        };
        let old = self.arenas[arena].block(number);
        // SAFETY: `block_at` gives a number of a block of this arena.
        let entry = unsafe { *self.arenas[arena].entries.add(number) };
        // SAFETY: both blocks are live, at least as long as this, and disjoint.
        unsafe { bytes::copy(new.as_ptr(), old.start as *const u8, old.size.min(size)) };
        let to = &self.arenas[to];
        if entry.zeroed || number < self.arenas[arena].floor.get().1 && entry.earlier == 0 {
            to.mark(new.as_ptr() as usize, old.size.min(size));
        } else {
            to.take_written(new.as_ptr() as usize, &self.arenas[arena], old.start, old.size.min(size));
        }
        self.free(owner, address as *mut u8, site)?;
        if let Some(number) = to.number_at(new.as_ptr() as usize, true) {
            // SAFETY: a number that was found is one of a block.
            let entry = unsafe { &mut *to.entries.add(number) };
            (entry.born, entry.from) = (self.frees.get(), address);
        }
        Ok(())
    }

    /// Notes that the block at an address could also have got the address of one that was freed.
    #[inline]
    pub fn set_had_choice(&self, address: usize) {
        if let Some((arena, number)) = self.block_at(address) {
            // SAFETY: `block_at` gives a number of a block of this arena.
            unsafe { (*self.arenas[arena].entries.add(number)).had_choice = true };
        }
    }

    /// The block that contains `old` was freed before that of `new` was allocated: says how the two are related. `None` for any others.
    pub fn succession(&self, old: usize, new: usize) -> Option<Succession> {
        let entry = |address: usize| {
            let arena = &self.arenas[self.arena_of(address)?];
            let number = arena.number_at(address, true)?;
            // SAFETY: a number that was found is one of a block.
            Some(unsafe { *arena.entries.add(number) })
        };
        let (old, new) = (entry(old)?, entry(new)?);
        (!old.live && new.born >= old.died).then_some(Succession {
            freed: old.start,
            fits: new.size <= old.size,
            moved: new.from == old.start,
            had_choice: new.had_choice,
        })
    }

    /// How many bytes of the block at this address may be used: what was asked for. 0 if no live block starts there.
    pub fn usable_size(&self, address: *const u8) -> usize {
        match self.state_of(address as usize) {
            State::Live(block) if block.start == address as usize => block.size,
            _ => 0,
        }
    }

    /// Whether an address is one of the heap, whatever is there.
    #[inline(always)]
    pub fn is_within(&self, address: usize) -> bool {
        self.arena_of(address).is_some()
    }

    /// The arena in which an address is, if there is one.
    #[inline(always)]
    fn arena_of(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(BASE);
        let index = offset / STRIDE;
        (index < self.arenas.len() && offset % STRIDE < self.arenas[index].limit).then_some(index)
    }

    /// The block that starts at this address, as arena and number.
    #[inline]
    fn block_at(&self, address: usize) -> Option<(usize, usize)> {
        let arena = self.arena_of(address)?;
        let number = self.arenas[arena].number_at(address, true)?;
        // SAFETY: a number that was found is one of a block.
        (unsafe { (*self.arenas[arena].entries.add(number)).start } == address).then_some((arena, number))
    }

    /// Whether an access of `len` bytes at an address is inside one block that can be used. For every access of the
    /// program; when it is [`Probe::Wrong`], [`Heap::state_of`] each byte says why. What is written counts as written.
    #[inline]
    pub fn probe(&self, address: usize, len: usize, write: bool) -> Probe {
        let Some(index) = self.arena_of(address) else { return Probe::NotHeap };
        let arena = &self.arenas[index];
        let Some(number) = arena.number_at(address, false) else { return Probe::Wrong };
        // SAFETY: a number that was found is one of a block.
        let entry = unsafe { &*arena.entries.add(number) };
        if !entry.live || len > entry.size - (address - entry.start) {
            return Probe::Wrong;
        }
        if write {
            arena.mark(address, len);
        }
        Probe::Live
    }

    /// The block at an address, if it is in use. It is valid until that block is freed or shrinks.
    pub fn extent(&self, address: usize) -> Option<Extent> {
        let arena = &self.arenas[self.arena_of(address)?];
        let number = arena.number_at(address, false)?;
        // SAFETY: a number that was found is one of a block.
        let entry = unsafe { &*arena.entries.add(number) };
        let is_sealed = number < arena.floor.get().1 && entry.earlier == 0;
        let bits = arena.written.wrapping_add((entry.start - arena.base) / 8);
        let written = (!entry.zeroed && !is_sealed).then_some(bits);
        entry.live.then_some(Extent { start: entry.start, size: entry.size, written })
    }

    /// What an address is.
    #[inline]
    pub fn state_of(&self, address: usize) -> State {
        let Some(index) = self.arena_of(address) else { return State::NotHeap };
        let arena = &self.arenas[index];
        let Some(number) = arena.number_at(address, false) else { return arena.gap(address) };
        let block = arena.block(number);
        // SAFETY: a number that was found is one of a block.
        let entry = unsafe { &*arena.entries.add(number) };
        if entry.live {
            State::Live(block)
        } else {
            State::Freed { block, freed_at: entry.freed_at, freed_by: entry.freed_by }
        }
    }

    /// Ends the start-up: what is allocated now stays for every execution.
    pub fn seal(&self) {
        let mut blocks = 0;
        for arena in &self.arenas {
            if arena.count.get() > 0 {
                // Pages of sealed blocks are watched by the snapshot; what comes later gets pages of its own.
                let next = page_up(arena.next.get() - arena.base).min(arena.limit) + arena.base;
                arena.next.set(next);
                arena.virgin.set(arena.virgin.get().max(next));
            }
            arena.floor.set((arena.next.get(), arena.count.get()));
            blocks += arena.count.get();
        }
        // SAFETY: on one thread, and nobody else borrows the list.
        unsafe { (*self.freed_sealed.get()).reserve(blocks) };
        self.used.set(0);
    }

    /// The memory of the sealed blocks, for the snapshot.
    pub fn sealed(&self) -> Vec<Region> {
        let filled = self.arenas.iter().filter(|arena| arena.floor.get().1 > 0);
        filled.map(|arena| Region::new(arena.base, arena.floor.get().0 - arena.base)).collect()
    }

    /// Ends an execution: only the sealed blocks are left, none of them freed.
    #[inline]
    pub fn reset(&self) {
        let mut used = self.used.replace(0);
        while used != 0 {
            let arena = &self.arenas[used.trailing_zeros() as usize];
            arena.next.set(arena.floor.get().0);
            arena.count.set(arena.floor.get().1);
            used &= used - 1;
        }
        // SAFETY: on one thread, and nobody else borrows the list.
        let freed = unsafe { &mut *self.freed_sealed.get() };
        for (arena, number, entry) in freed.drain(..) {
            // SAFETY: sealed blocks are never removed.
            unsafe { *self.arenas[arena as usize].entries.add(number as usize) = entry };
        }
    }

    /// How many bytes an arena has taken in this execution.
    pub fn used(&self, owner: Owner) -> usize {
        self.arenas.get(owner.0 as usize).map_or(0, |arena| arena.next.get() - arena.base - LEAD)
    }

    /// Every block that was allocated in this execution and is not freed.
    pub fn leaks(&self) -> impl Iterator<Item = Block> {
        self.arenas.iter().flat_map(|arena| {
            let live = move |&number: &usize| {
                // SAFETY: the numbers below the count are those of blocks.
                unsafe { (*arena.entries.add(number)).live }
            };
            (arena.floor.get().1..arena.count.get()).filter(live).map(|number| arena.block(number))
        })
    }

    /// The [`leaks`](Self::leaks) that nothing points into any more: neither an aligned word in the roots, given as
    /// start and length, nor one in a block that is reachable itself. A word that only looks like a pointer keeps a
    /// block.
    ///
    /// # Safety
    ///
    /// The roots must be readable.
    pub unsafe fn unreachable(&self, roots: &[(usize, usize)]) -> Vec<Block> {
        let mut seen: Vec<Vec<bool>> =
            self.arenas.iter().map(|arena| vec![false; arena.count.get()]).collect();
        let mut todo: Vec<(usize, usize)> = roots.to_vec();
        const WORD: usize = size_of::<usize>();
        while let Some((start, len)) = todo.pop() {
            let mut at = start.next_multiple_of(WORD);
            while at.saturating_add(WORD) <= start.saturating_add(len) {
                // SAFETY: aligned, and in a root, or in a block that is live.
                let word = unsafe { (at as *const usize).read_volatile() };
                at += WORD;
                let Some(arena) = self.arena_of(word) else { continue };
                let Some(number) = self.arenas[arena].number_at(word, true) else { continue };
                // SAFETY: a number that was found is one of a block.
                let live = unsafe { (*self.arenas[arena].entries.add(number)).live };
                if live && !std::mem::replace(&mut seen[arena][number], true) {
                    let block = self.arenas[arena].block(number);
                    todo.push((block.start, block.size));
                }
            }
        }
        let is_lost = |block: &Block| {
            let (arena, number) = self.block_at(block.start).expect("a leak is a block");
            !seen[arena][number]
        };
        self.leaks().filter(is_lost).collect()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        sys::unmap(self.base, self.limit);
        sys::unmap(self.granules as usize, table_sizes(self.limit).iter().sum());
    }
}

/// How long the tables of an arena are: granules, pages, entries, bits.
fn table_sizes(limit: usize) -> [usize; 4] {
    // Each block takes a granule and a red zone at least.
    let blocks = limit / (GRANULE + RED_ZONE) + 1;
    [limit / GRANULE * 4, limit / PAGE * 4, blocks * size_of::<Entry>(), limit / 8].map(page_up)
}

impl Arena {
    fn new(base: usize, limit: usize) -> Result<Self, Error> {
        let read_write = libc::PROT_READ | libc::PROT_WRITE;
        let failed = |error: sys::Errno| {
            Error::new(format!("cannot reserve {limit} bytes of heap at {base:#x}"), error.0)
        };
        sys::map(base, limit, read_write).map_err(failed)?;
        let sizes = table_sizes(limit);
        let tables = sys::map(0, sizes.iter().sum(), read_write)
            .inspect_err(|_| sys::unmap(base, limit))
            .map_err(failed)?;
        let next = base + LEAD;
        Ok(Self {
            base,
            limit,
            next: Cell::new(next),
            count: Cell::new(0),
            floor: Cell::new((next, 0)),
            virgin: Cell::new(base),
            granules: tables as *mut u32,
            pages: (tables + sizes[0]) as *mut u32,
            entries: (tables + sizes[0] + sizes[1]) as *mut Entry,
            written: (tables + sizes[0] + sizes[1] + sizes[2]) as *mut u8,
        })
    }

    #[inline]
    fn allocate(
        &self,
        owner: Owner,
        size: usize,
        align: usize,
        site: Site,
        filler: u8,
        born: u64,
    ) -> Result<NonNull<u8>, HeapError> {
        if size > self.limit || align > self.limit {
            return Err(HeapError::TooLarge { size });
        }
        let large = size >= LARGE;
        let align = align.max(if large { PAGE } else { GRANULE });
        let start = self.next.get().next_multiple_of(align);
        // A block of no bytes has an address of its own all the same: that of a granule which holds nothing.
        let whole = size.next_multiple_of(GRANULE).max(GRANULE);
        let end = start + whole + RED_ZONE;
        if end > self.base + self.limit {
            // What does not fit into an empty arena never does, and the program may be ready for that.
            let first = self.floor.get().0.next_multiple_of(align);
            if first + whole + RED_ZONE > self.base + self.limit {
                return Err(HeapError::TooLarge { size });
            }
            let used = self.next.get() - self.base;
            return Err(HeapError::ArenaFull { owner, size, used, limit: self.limit });
        }
        let number = self.count.get();
        let tag = number as u32 + 1;
        let granule = (start - self.base) / GRANULE;
        // SAFETY: [start, end) is inside the arena and belongs to no block yet; the tables are as long as the arena,
        // and there is an entry for each block that fits.
        unsafe {
            self.entries.add(number).write(Entry {
                start,
                size,
                site,
                freed_at: 0,
                live: true,
                freed_by: owner,
                published: false,
                earlier: 0,
                zeroed: filler == 0,
                origin: Origin::Malloc,
                had_choice: false,
                born,
                died: 0,
                from: 0,
            });
            if large {
                let whole_pages = size / PAGE;
                let page = (start - self.base) / PAGE;
                for index in 0..whole_pages {
                    *self.pages.add(page + index) = tag;
                }
                for index in whole_pages * (PAGE / GRANULE)..whole / GRANULE {
                    *self.granules.add(granule + index) = tag;
                }
                let used_before = self.virgin.get().saturating_sub(start).min(whole_pages * PAGE);
                if used_before > 0 && sys::forget(start, page_up(used_before)).is_err() {
                    bytes::fill(start as *mut u8, 0, used_before);
                }
                let rest = start + whole_pages * PAGE;
                bytes::fill(rest as *mut u8, 0, start + whole - rest);
                bytes::fill((start + whole) as *mut u8, FRESH, RED_ZONE);
                if start < self.virgin.get() {
                    self.forget_written(start, whole);
                }
            } else {
                for index in 0..whole / GRANULE {
                    *self.granules.add(granule + index) = tag;
                }
                bytes::fill(start as *mut u8, FRESH, whole + RED_ZONE);
                bytes::fill(self.written.add(granule * 2), 0, whole / GRANULE * 2);
                if filler != FRESH {
                    bytes::fill(start as *mut u8, filler, size);
                }
            }
        }
        self.count.set(number + 1);
        self.next.set(end);
        if end > self.virgin.get() {
            self.virgin.set(end);
        }
        Ok(NonNull::new(start as *mut u8).expect("arenas are not at 0"))
    }

    /// The number of the block that contains an address of this arena. With `empty`, a block of no bytes contains its
    /// start.
    #[inline(always)]
    fn number_at(&self, address: usize, empty: bool) -> Option<usize> {
        let offset = address - self.base;
        // SAFETY: the tables are as long as the arena, in which the address is; only entries below the count are read.
        unsafe {
            for tag in [*self.granules.add(offset / GRANULE), *self.pages.add(offset / PAGE)] {
                let number = (tag as usize).wrapping_sub(1);
                if number < self.count.get() {
                    let entry = &*self.entries.add(number);
                    let inside = address.wrapping_sub(entry.start);
                    if inside < entry.size || (empty && inside == 0) {
                        return Some(number);
                    }
                }
            }
        }
        None
    }

    /// Bytes of a block are written.
    #[inline]
    fn mark(&self, address: usize, len: usize) {
        let offset = address - self.base;
        let (first, shift) = (offset / 8, offset % 8);
        // SAFETY: the table has a bit for each byte of the arena, in which the block is.
        unsafe {
            let bits = self.written.add(first);
            if shift + len <= 8 {
                *bits |= (((1u16 << len) - 1) << shift) as u8;
            } else {
                self.mark_many(offset, offset + len);
            }
        }
    }

    fn mark_many(&self, from: usize, to: usize) {
        let mut at = from;
        // SAFETY: as in `mark`.
        unsafe {
            while at < to {
                if at.is_multiple_of(8) && to - at >= 8 {
                    bytes::fill(self.written.add(at / 8), 0xff, (to - at) / 8);
                    at += (to - at) / 8 * 8;
                } else {
                    *self.written.add(at / 8) |= 1 << (at % 8);
                    at += 1;
                }
            }
        }
    }

    fn is_marked(&self, address: usize) -> bool {
        let offset = address - self.base;
        // SAFETY: as in `mark`.
        unsafe { *self.written.add(offset / 8) >> (offset % 8) & 1 != 0 }
    }

    fn mark_as(&self, address: usize, written: bool) {
        let offset = address - self.base;
        // SAFETY: as in `mark`.
        unsafe {
            let bits = self.written.add(offset / 8);
            *bits = *bits & !(1 << (offset % 8)) | u8::from(written) << (offset % 8);
        }
    }

    /// None of a block counts as written.
    fn forget_written(&self, start: usize, size: usize) {
        let first = self.written as usize + (start - self.base) / 8;
        let end = first + size.div_ceil(8);
        let (inner, last) = (page_up(first), end & !(PAGE - 1));
        // SAFETY: as in `mark`. Blocks are a multiple of 16 bytes apart.
        unsafe {
            if inner < last && sys::forget(inner, last - inner).is_ok() {
                bytes::fill(first as *mut u8, 0, inner - first);
                bytes::fill(last as *mut u8, 0, end - last);
            } else {
                bytes::fill(first as *mut u8, 0, end - first);
            }
        }
    }

    /// What is written of a block is that of another one. Both are new to the program from their first byte on.
    fn take_written(&self, to: usize, arena: &Arena, from: usize, len: usize) {
        // SAFETY: as in `mark`; blocks start at a granule.
        unsafe {
            let source = arena.written.add((from - arena.base) / 8);
            bytes::copy(self.written.add((to - self.base) / 8), source, len.div_ceil(8));
        }
    }

    fn is_unwritten(&self, address: usize, len: usize, filler: u8) -> bool {
        let Some(number) = self.number_at(address, false) else { return false };
        // SAFETY: a number that was found is one of a block.
        let entry = unsafe { &*self.entries.add(number) };
        let inside = address + len <= entry.start + entry.size;
        let is_sealed = number < self.floor.get().1 && entry.earlier == 0;
        if !entry.live || entry.zeroed || !inside || is_sealed {
            return false;
        }
        if filler != FRESH && entry.size < LARGE {
            return false;
        }
        (address..address + len).all(|at| !self.is_marked(at))
    }

    fn block(&self, number: usize) -> Block {
        debug_assert!(number < self.count.get());
        // SAFETY: the numbers below the count are those of blocks.
        let entry = unsafe { &*self.entries.add(number) };
        let owner = Owner(((self.base - BASE) / STRIDE) as u8);
        Block { start: entry.start, size: entry.size, site: entry.site, owner }
    }

    /// The neighbours of an address that is in no block.
    #[cold]
    fn gap(&self, address: usize) -> State {
        // Blocks are in the order of their addresses.
        let (mut low, mut high) = (0, self.count.get());
        while low < high {
            let middle = (low + high) / 2;
            if self.block(middle).start <= address { low = middle + 1 } else { high = middle }
        }
        State::Gap {
            before: low
                .checked_sub(1)
                .map(|number| self.block(number))
                .map(|block| (block, address - block.end() + 1)),
            after: (low < self.count.get())
                .then(|| self.block(low))
                .map(|block| (block, block.start - address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard};

    /// The one heap of the process; other tests wait for it.
    struct Fixture {
        heap: Heap,
        _one_at_a_time: MutexGuard<'static, ()>,
    }

    impl std::ops::Deref for Fixture {
        type Target = Heap;
        fn deref(&self) -> &Heap {
            &self.heap
        }
    }

    fn heap(threads: usize, limit: usize) -> Fixture {
        static ONE: Mutex<()> = Mutex::new(());
        let guard = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Fixture { heap: Heap::new(threads, limit).unwrap(), _one_at_a_time: guard }
    }

    const T0: Owner = Owner::thread(0);
    const T1: Owner = Owner::thread(1);

    fn contents(start: NonNull<u8>, len: usize) -> Vec<u8> {
        // SAFETY: the tests ask for blocks that they have just made.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), len) }.to_vec()
    }

    fn set(start: NonNull<u8>, len: usize, byte: u8) {
        // SAFETY: the tests ask for blocks that they have just made.
        unsafe { start.as_ptr().write_bytes(byte, len) };
    }

    fn words(start: NonNull<u8>, index: usize, word: usize) {
        // SAFETY: the tests ask for blocks that they have just made.
        unsafe { start.as_ptr().cast::<usize>().add(index).write(word) };
    }

    #[test]
    fn what_was_written_is_known() {
        let heap = heap(2, 64 << 20);
        let a = heap.malloc(T0, 40, 16, 1).unwrap().as_ptr() as usize;
        assert!(heap.is_unwritten(a, 8) && heap.is_unwritten(a + 32, 8));
        assert_eq!(heap.probe(a + 3, 2, true), Probe::Live);
        assert!(!heap.is_unwritten(a, 4) && !heap.is_unwritten(a + 4, 1) && heap.is_unwritten(a + 5, 11));
        assert_eq!(heap.probe(a + 13, 20, true), Probe::Live);
        assert!(heap.is_unwritten(a + 12, 1) && !heap.is_unwritten(a + 13, 1));
        assert!(!heap.is_unwritten(a + 32, 1) && heap.is_unwritten(a + 33, 7));
        // Not a whole part of the block, and none of it.
        assert!(!heap.is_unwritten(a + 36, 8) && !heap.is_unwritten(a + 40, 1));

        let b = heap.realloc(T1, a as *mut u8, 80, 2).unwrap() as usize;
        assert!(heap.is_unwritten(b, 3) && !heap.is_unwritten(b + 3, 1) && heap.is_unwritten(b + 40, 40));
        let c = heap.malloc(T0, 16, 16, 3).unwrap().as_ptr() as usize;
        assert_eq!(heap.probe(c, 16, true), Probe::Live);
        heap.copy_written(c, b, 8);
        assert!(heap.is_unwritten(c, 3) == (contents(NonNull::new(c as *mut u8).unwrap(), 3) == [FRESH; 3]));
        assert!(heap.was_unwritten(c, 3, FRESH) && !heap.was_unwritten(c + 3, 1, FRESH));

        let zero = heap.calloc(T0, 1, LARGE * 2, 4).unwrap().as_ptr() as usize;
        let large = heap.malloc(T0, LARGE * 2, 16, 5).unwrap().as_ptr() as usize;
        assert!(!heap.is_unwritten(zero + 9, 1) && heap.is_unwritten(large + 9, 8));
        assert_eq!(heap.probe(large + PAGE - 3, PAGE, true), Probe::Live);
        assert!(!heap.is_unwritten(large + PAGE, 8) && heap.is_unwritten(large + 2 * PAGE, 8));

        // The next execution, and the next life of a block, know nothing of it.
        heap.free(T1, b as *mut u8, 6).unwrap();
        let again = heap.reuse(b, 80, 7, false).unwrap().as_ptr() as usize;
        assert!(again == b && heap.is_unwritten(b, 80));
        heap.reset();
        let a = heap.malloc(T0, 40, 16, 1).unwrap().as_ptr() as usize;
        assert!(heap.is_unwritten(a, 40));
        heap.malloc(T0, 16, 16, 3).unwrap();
        heap.calloc(T0, 1, LARGE * 2, 4).unwrap();
        assert_eq!(heap.malloc(T0, LARGE * 2, 16, 5).unwrap().as_ptr() as usize, large);
        assert!(heap.is_unwritten(large + PAGE, 8));
    }

    #[test]
    fn a_later_block_is_known_from_an_earlier_one() {
        let (heap, owner) = (heap(1, 1 << 20), T0);
        let take = |size| heap.malloc(owner, size, 16, 1).unwrap().as_ptr() as usize;
        let (early, old) = (take(8), take(16));
        heap.free(owner, old as *mut u8, 2).unwrap();
        let (small, large) = (take(16), take(17));
        assert_eq!(heap.succession(old, early), None, "both were there at once");
        assert_eq!(heap.succession(early, small), None, "nothing was freed");
        let later = Succession { freed: old, fits: true, moved: false, had_choice: false };
        assert_eq!(heap.succession(old + 3, small), Some(later));
        assert_eq!(heap.succession(old, large), Some(Succession { fits: false, ..later }));
        heap.set_had_choice(small);
        assert_eq!(heap.succession(old, small), Some(Succession { had_choice: true, ..later }));
        let grown = heap.realloc(owner, small as *mut u8, 32, 3).unwrap() as usize;
        let moved = Succession { freed: small, fits: false, moved: true, had_choice: false };
        assert_eq!(heap.succession(small, grown), Some(moved));
        assert_eq!(heap.succession(grown, small), None);
    }

    #[test]
    fn an_object_whose_life_ends_leaves_a_fresh_part_of_its_block() {
        let heap = heap(1, 1 << 20);
        let a = heap.malloc(T0, 40, 16, 1).unwrap().as_ptr() as usize;
        assert_eq!(heap.probe(a, 40, true), Probe::Live);
        set(NonNull::new(a as *mut u8).unwrap(), 40, 7);
        heap.end_life(a + 8, 12);
        assert!(heap.is_unwritten(a + 8, 8) && heap.is_unwritten(a + 16, 4));
        assert!(!heap.is_unwritten(a, 8) && !heap.is_unwritten(a + 20, 4));
        heap.end_life(a + 32, 16);
        assert!(!heap.is_unwritten(a + 32, 8), "it is longer than the block");
    }

    #[test]
    fn a_block_shrinks_where_it_is() {
        let heap = heap(1, 1 << 20);
        let a = heap.malloc(T0, 40, 16, 1).unwrap().as_ptr() as usize;
        assert!(!heap.shrink(a, 41, 2) && !heap.shrink(a + 16, 8, 2) && !heap.shrink(a, 0, 2));
        assert!(heap.shrink(a, 20, 2) && heap.shrink(a, 20, 2));
        assert_eq!((heap.probe(a, 20, false), heap.probe(a, 21, false)), (Probe::Live, Probe::Wrong));
    }

    #[test]
    fn sealed_blocks_come_back_and_are_there_again() {
        let heap = heap(1, 1 << 20);
        let a = heap.malloc(Owner::STARTUP, 40, 16, 1).unwrap().as_ptr() as usize;
        heap.seal();
        for _ in 0..2 {
            assert!(heap.is_published(a));
            heap.free(T0, a as *mut u8, 2).unwrap();
            assert!(heap.reuse(a, 24, 3, false).is_some() && !heap.is_published(a));
            heap.free(T0, a as *mut u8, 4).unwrap();
            heap.reset();
            assert!(matches!(heap.state_of(a + 39), State::Live(b) if b.size == 40 && b.site == 1));
        }
    }

    #[test]
    fn each_byte_of_a_block_is_live_and_its_neighbours_are_gaps() {
        let heap = heap(2, 1 << 20);
        for size in [1, 13, 16, 17, 100, 5000] {
            let a = heap.malloc(T0, size, 1, 0x11).unwrap().as_ptr() as usize;
            let b = heap.malloc(T0, 8, 1, 0x22).unwrap().as_ptr() as usize;
            assert!(b >= a + size + RED_ZONE);
            assert_eq!((a % 16, b % 16), (0, 0));
            let block = Block { start: a, size, site: 0x11, owner: T0 };
            for address in a..a + size {
                assert_eq!(heap.state_of(address), State::Live(block));
                assert_eq!(heap.probe(address, a + size - address, false), Probe::Live);
                assert_eq!(heap.probe(address, a + size - address + 1, false), Probe::Wrong);
            }
            for address in a + size..b {
                let State::Gap { before, after } = heap.state_of(address) else { panic!("{address:#x}") };
                assert_eq!(before, Some((block, address - (a + size) + 1)));
                assert_eq!(after.map(|(block, distance)| (block.start, distance)), Some((b, b - address)));
                assert_eq!(heap.probe(address, 1, false), Probe::Wrong);
            }
        }
    }

    #[test]
    fn what_is_not_in_the_heap_is_said_so() {
        let heap = heap(1, 1 << 20);
        let local = 0;
        for address in
            [0, 1, &raw const local as usize, BASE - 1, BASE + (1 << 20), BASE + 2 * STRIDE, usize::MAX]
        {
            assert_eq!(heap.state_of(address), State::NotHeap, "{address:#x}");
            assert_eq!(heap.probe(address, 1, false), Probe::NotHeap);
        }
        assert_eq!(heap.state_of(BASE), State::Gap { before: None, after: None });
    }

    #[test]
    fn addresses_depend_on_the_thread_and_its_past_alone() {
        let heap = heap(2, 1 << 20);
        let run = |order: &[Owner]| {
            heap.reset();
            let mut all: Vec<(Owner, usize)> = Vec::new();
            for &owner in order {
                let nth = all.iter().filter(|(o, _)| *o == owner).count();
                all.push((owner, heap.malloc(owner, 10 + 100 * nth, 1, 0).unwrap().as_ptr() as usize));
            }
            all.sort();
            all
        };
        let expected = run(&[T0, T0, T0, T1, T1]);
        assert_eq!(run(&[T1, T0, T1, T0, T0]), expected);
        assert_eq!(run(&[T0, T1, T0, T1, T0]), expected);
    }

    #[test]
    fn freed_memory_is_not_used_again_and_says_who_freed_it() {
        let heap = heap(2, 1 << 20);
        let a = heap.malloc(T0, 24, 1, 0x11).unwrap();
        heap.free(T1, a.as_ptr(), 0x99).unwrap();
        let block = Block { start: a.as_ptr() as usize, size: 24, site: 0x11, owner: T0 };
        let freed = State::Freed { block, freed_at: 0x99, freed_by: T1 };
        assert_eq!(heap.state_of(block.start + 23), freed);
        assert_eq!(heap.probe(block.start, 1, false), Probe::Wrong);
        assert_ne!(heap.malloc(T0, 24, 1, 0x12).unwrap(), a);
        assert_eq!(
            heap.free(T0, a.as_ptr(), 0x77),
            Err(HeapError::DoubleFree { block, freed_at: 0x99, freed_by: T1 })
        );
        assert_eq!(
            heap.realloc(T0, a.as_ptr(), 5, 0x77),
            Err(HeapError::DoubleFree { block, freed_at: 0x99, freed_by: T1 })
        );
    }

    #[test]
    fn only_the_start_of_a_block_can_be_freed() {
        let heap = heap(1, 1 << 20);
        let a = heap.malloc(T0, 24, 1, 0).unwrap().as_ptr();
        let mut local = 0u8;
        for wrong in
            [a.wrapping_add(1), a.wrapping_add(16), a.wrapping_add(24), a.wrapping_sub(16), &raw mut local]
        {
            let expected =
                HeapError::InvalidFree { address: wrong as usize, state: heap.state_of(wrong as usize) };
            assert_eq!(heap.free(T0, wrong, 0), Err(expected));
            assert_eq!(heap.realloc(T0, wrong, 100, 0), Err(expected));
        }
        assert_eq!(heap.free(T0, std::ptr::null_mut(), 0), Ok(()));
        assert_eq!(heap.free(T0, a, 0), Ok(()));
    }

    #[test]
    fn contents_of_fresh_and_freed_memory_are_the_same_in_each_execution() {
        let heap = heap(1, 4 << 20);
        for dirt in [0x00, 0x33, 0xff] {
            heap.reset();
            let small = heap.malloc(T0, 100, 1, 0).unwrap();
            assert_eq!(contents(small, 128), [FRESH; 128], "red zone included");
            let zero = heap.calloc(T0, 10, 10, 0).unwrap();
            assert_eq!(contents(zero, 100), [0; 100]);
            assert_eq!(contents(zero, 128)[100..], [FRESH; 28]);
            let sizes = [LARGE - 1, LARGE, LARGE + 1, LARGE + 5000, 1 << 20];
            let large = sizes.map(|size| (heap.malloc(T0, size, 1, 0).unwrap(), size));
            for (start, size) in large {
                let expected = if size < LARGE { FRESH } else { 0 };
                assert!(contents(start, size).iter().all(|&byte| byte == expected), "{size}");
            }
            let last = heap.calloc(T0, 1, 200_000, 0).unwrap();
            assert!(contents(last, 200_000).iter().all(|&byte| byte == 0));
            heap.free(T0, small.as_ptr(), 0).unwrap();
            assert_eq!(contents(small, 100), [FREED; 100]);
            set(last, 200_000, dirt);
            set(small, 100, dirt);
            set(zero, 100, dirt);
            large.iter().for_each(|&(start, size)| set(start, size, dirt));
            heap.free(T0, last.as_ptr(), 0).unwrap();
            assert_eq!(contents(last, PAGE), [FREED; PAGE]);
        }
    }

    #[test]
    fn large_blocks_are_found_by_each_of_their_bytes_after_any_past() {
        let heap = heap(1, 8 << 20);
        // Executions of different shapes one after the other, so that every table has old entries.
        for round in 0..6 {
            heap.reset();
            let mut blocks = Vec::new();
            for i in 0..6 {
                let size = if (i + round) % 3 == 0 { LARGE + 1000 * i + 7 } else { 40_000 * i + 3 + round };
                blocks.push((heap.malloc(T0, size, 1, i).unwrap().as_ptr() as usize, size, i));
            }
            for &(start, size, site) in &blocks {
                let block = Block { start, size, site, owner: T0 };
                for address in (start..start + size).step_by(97).chain([start + size - 1]) {
                    assert_eq!(heap.state_of(address), State::Live(block), "round {round}");
                }
                assert!(matches!(heap.state_of(start + size), State::Gap { .. }), "round {round}");
                assert!(matches!(heap.state_of(start - 1), State::Gap { .. }), "round {round}");
            }
            let end = blocks.last().map(|(start, size, _)| start + size).unwrap();
            for address in (end..BASE + STRIDE + (8 << 20)).step_by(511) {
                assert!(matches!(heap.state_of(address), State::Gap { after: None, .. }), "round {round}");
            }
        }
    }

    #[test]
    fn blocks_of_no_bytes_have_addresses_of_their_own_and_can_be_freed() {
        let heap = heap(1, 1 << 20);
        let a = heap.malloc(T0, 0, 1, 0).unwrap();
        let b = heap.malloc(T0, 0, 1, 0).unwrap();
        assert_ne!(a, b);
        assert_eq!(heap.probe(a.as_ptr() as usize, 1, false), Probe::Wrong);
        heap.free(T0, a.as_ptr(), 0).unwrap();
        assert!(matches!(heap.free(T0, a.as_ptr(), 0), Err(HeapError::DoubleFree { .. })));
        assert_eq!(heap.leaks().count(), 1);
    }

    #[test]
    fn any_power_of_two_is_an_alignment() {
        let heap = heap(1, 64 << 20);
        for round in 0..2 {
            heap.reset();
            for shift in 0..21 {
                let align = 1usize << shift;
                let start = heap.malloc(T0, 10, align, 0).unwrap().as_ptr() as usize;
                assert_eq!(start % align.max(16), 0, "round {round}");
                assert!(matches!(heap.state_of(start - 1), State::Gap { .. }));
                assert!(matches!(heap.state_of(start + 9), State::Live(_)));
            }
        }
        for align in [0, 3, 24] {
            assert_eq!(heap.malloc(T0, 10, align, 0), Err(HeapError::BadAlignment { align }));
        }
    }

    #[test]
    fn too_much_is_refused_and_too_much_at_a_time_is_a_limit() {
        let heap = heap(1, 1 << 20);
        assert_eq!(heap.malloc(T0, 2 << 20, 1, 0), Err(HeapError::TooLarge { size: 2 << 20 }));
        assert_eq!(heap.malloc(T0, usize::MAX, 1, 0), Err(HeapError::TooLarge { size: usize::MAX }));
        assert_eq!(heap.malloc(T0, 1 << 20, 1, 0), Err(HeapError::TooLarge { size: 1 << 20 }));
        assert!(matches!(heap.malloc(T0, 1, 1 << 63, 0), Err(HeapError::TooLarge { .. })));
        assert_eq!(heap.calloc(T0, usize::MAX / 2, 3, 0), Err(HeapError::Overflow));
        let mut made = 0;
        let error = loop {
            match heap.malloc(T0, 1000, 1, 0) {
                Ok(start) => heap.free(T0, start.as_ptr(), 0).unwrap(),
                Err(error) => break error,
            }
            made += 1;
        };
        assert_eq!(made, ((1 << 20) - LEAD) / (1008 + RED_ZONE));
        let HeapError::ArenaFull { owner: T0, size: 1000, limit: 0x10_0000, .. } = error else {
            panic!("{error}")
        };
        assert!(error.to_string().contains("thread 0 is out of heap"));
        heap.reset();
        heap.malloc(T0, 1000, 1, 0).unwrap();
        assert!(matches!(heap.malloc(T1, 1, 1, 0), Err(HeapError::ArenaFull { .. })), "no such arena");
    }

    #[test]
    fn realloc_moves_what_was_there_and_frees_the_old_block() {
        let heap = heap(2, 1 << 20);
        let old = NonNull::new(heap.realloc(T0, std::ptr::null_mut(), 50, 0x1).unwrap()).unwrap();
        set(old, 50, 7);
        let new = NonNull::new(heap.realloc(T1, old.as_ptr(), 80, 0x2).unwrap()).unwrap();
        assert_eq!(contents(new, 50), [7; 50]);
        assert_eq!(contents(new, 80)[50..], [FRESH; 30]);
        assert!(matches!(
            heap.state_of(old.as_ptr() as usize),
            State::Freed { freed_at: 0x2, freed_by: T1, .. }
        ));
        assert_eq!(heap.usable_size(new.as_ptr()), 80);
        assert_eq!(heap.usable_size(old.as_ptr()), 0);
        assert_eq!(heap.usable_size(new.as_ptr().wrapping_add(1)), 0);
        let short = NonNull::new(heap.realloc(T0, new.as_ptr(), 3, 0).unwrap()).unwrap();
        assert_eq!(contents(short, 3), [7; 3]);
        assert!(heap.realloc(T0, short.as_ptr(), 0, 0).unwrap().is_null());
        assert_eq!(heap.leaks().count(), 0);
    }

    #[test]
    fn sealed_blocks_are_back_after_each_execution_and_are_no_leaks() {
        let heap = heap(1, 1 << 20);
        let kept = heap.malloc(Owner::STARTUP, 100, 1, 0x5).unwrap();
        let gone = heap.malloc(Owner::STARTUP, 100, 1, 0x6).unwrap();
        heap.free(Owner::STARTUP, gone.as_ptr(), 0x7).unwrap();
        heap.seal();
        let sealed = heap.sealed();
        assert_eq!(sealed.len(), 1);
        assert!(
            sealed[0].contains(kept.as_ptr() as usize) && sealed[0].contains(gone.as_ptr() as usize + 99)
        );
        for _ in 0..3 {
            assert!(matches!(heap.state_of(kept.as_ptr() as usize), State::Live(_)));
            heap.free(T0, kept.as_ptr(), 0x8).unwrap();
            assert!(matches!(heap.state_of(kept.as_ptr() as usize), State::Freed { freed_at: 0x8, .. }));
            let late = heap.malloc(Owner::STARTUP, 10, 1, 0).unwrap();
            assert!(!sealed[0].contains(late.as_ptr() as usize));
            assert_eq!(heap.leaks().map(|block| block.start).collect::<Vec<_>>(), [late.as_ptr() as usize]);
            heap.reset();
            assert!(matches!(heap.state_of(late.as_ptr() as usize), State::Gap { .. }));
            assert!(matches!(heap.state_of(gone.as_ptr() as usize), State::Freed { freed_at: 0x7, .. }));
        }
        assert_eq!(heap.leaks().count(), 0);
    }

    #[test]
    fn a_block_is_lost_when_nothing_reachable_points_into_it() {
        let heap = heap(2, 1 << 20);
        let [a, b, c, lost, ring1, ring2] =
            [1, 2, 3, 4, 5, 6].map(|site| heap.malloc(T0, 64, 1, site).unwrap());
        let sealed = a;
        for block in [a, b, c, lost, ring1, ring2] {
            set(block, 64, 0);
        }
        // root -> middle of a -> b -> c; the ring points to itself alone; `lost` points to what is reachable.
        words(a, 3, b.as_ptr() as usize + 63);
        words(b, 7, c.as_ptr() as usize);
        words(lost, 0, sealed.as_ptr() as usize);
        words(ring1, 0, ring2.as_ptr() as usize);
        words(ring2, 0, ring1.as_ptr() as usize);
        let root = [0usize, a.as_ptr() as usize + 8, c.as_ptr() as usize + 64];
        let ranges = [(root.as_ptr() as usize, size_of_val(&root))];
        // SAFETY: the root is on this stack.
        let lost_sites =
            || unsafe { heap.unreachable(&ranges) }.iter().map(|block| block.site).collect::<Vec<_>>();
        assert_eq!(lost_sites(), [4, 5, 6]);
        heap.free(T0, b.as_ptr(), 0).unwrap();
        assert_eq!(lost_sites(), [3, 4, 5, 6], "what only a freed block points to is lost");
    }

    /// Random calls against a list of blocks that is searched from end to end.
    #[test]
    fn the_tables_agree_with_a_plain_list_on_random_programs() {
        let heap = heap(3, 4 << 20);
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 11) as usize % below
        };
        for execution in 0..60 {
            heap.reset();
            let mut list: Vec<(Block, Option<(Site, Owner)>)> = Vec::new();
            for step in 0..60 {
                let owner = Owner::thread(random(3));
                match random(5) {
                    0..=2 => {
                        let size = [random(20), random(300), random(9000), LARGE + random(5000)]
                            [random(64).min(63) / 21];
                        let align = 1 << random(9);
                        let Ok(start) = heap.malloc(owner, size, align, step) else { continue };
                        let start = start.as_ptr() as usize;
                        list.push((Block { start, size, site: step, owner }, None));
                    }
                    _ if !list.is_empty() => {
                        let index = random(list.len());
                        let (block, freed) = list[index];
                        let result = heap.free(owner, block.start as *mut u8, step);
                        let expected = freed.map_or(Ok(()), |(freed_at, freed_by)| {
                            Err(HeapError::DoubleFree { block, freed_at, freed_by })
                        });
                        assert_eq!(result, expected, "execution {execution}, step {step}");
                        list[index].1.get_or_insert((step, owner));
                    }
                    _ => {}
                }
            }
            for _ in 0..600 {
                let address = match list.len() {
                    0 => BASE + random(4 << 20),
                    len => {
                        let block = list[random(len)].0;
                        block.start - 20 + random(block.size + 60)
                    }
                };
                let inside = list.iter().find(|(block, _)| (block.start..block.end()).contains(&address));
                let found = heap.state_of(address);
                match inside {
                    Some(&(block, None)) => assert_eq!(found, State::Live(block)),
                    Some(&(block, Some((freed_at, freed_by)))) => {
                        assert_eq!(found, State::Freed { block, freed_at, freed_by });
                    }
                    None => assert!(
                        matches!(found, State::Gap { .. }),
                        "execution {execution}: {address:#x} {found:?}"
                    ),
                }
            }
            let mut live: Vec<_> =
                list.iter().filter(|(_, freed)| freed.is_none()).map(|(b, _)| b.start).collect();
            live.sort_unstable();
            assert_eq!(heap.leaks().map(|block| block.start).collect::<Vec<_>>(), live);
        }
    }
}
