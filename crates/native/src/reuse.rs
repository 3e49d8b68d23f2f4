//! Addresses that come back: `malloc` gives out memory again that was freed.
//!
//! By default an address is given out once in an execution, so that every use after `free` is seen. A program can also observe that two
//! blocks had the same address, one after the other: a compare-exchange succeeds although the block is another one. This module
//! offers `malloc` the addresses of freed blocks.
//!
//! A block is a *candidate* if it was freed before in the execution, is large enough, and was *published*: its address, or one inside
//! it, was written to memory other than the writer's stack. With `--reuse all` every freed block is one. `malloc` offers them while there is more than one thread,
//! and in Rust always. To free a published block is a step, to allocate is a step, and
//! the two conflict: the order in which they come decides what `malloc` can choose from. Two calls of `malloc` do not conflict,
//! nor do two calls of `free`. The choice itself is a local step. To take a candidate is a step on its address: the second
//! thread that chooses the same one finds it taken, and its execution is pruned, as the choice of another address covers it.
//!
//! All this is done in a second search, if the first one finds no failure and has seen a published block freed that a call of `malloc`
//! could get.

use crate::heap::heap;
use crate::options::{Reuse, options};
use crate::shim::Call;
use crate::sync::On;
use crate::{start, table};
use explore::{CaveatKind, MemoryOrder, OpKind};
use image::arena::State;
use runtime::{Class, Place};

/// A block that was freed.
#[derive(Clone, Copy)]
struct Candidate {
    /// Orders candidates in a way that is the same in all executions that have them: the thread that allocated it, and where it is.
    key: (u64, usize),
    start: usize,
    size: usize,
    /// How often the address was given out again before.
    lives: u64,
    /// The thread that has got the address since.
    taker: Option<usize>,
}

/// What is known of the execution at hand, and of all. It is allocated, so that processes share it where executions have their own.
struct Known {
    /// Whether freed addresses are given out again in this search.
    on: bool,
    /// A published block was freed that a call of `malloc` could get.
    possible: bool,
    /// Where that was seen first.
    place: Option<Place>,
    freed: Vec<Candidate>,
    /// By thread: the least number of bytes that it has allocated while there were others.
    least: [usize; explore::MAX_THREADS],
    /// Some thread has.
    allocated: bool,
}

/// Where a plain write of eight bytes was about to happen.
static mut WRITTEN: usize = 0;

static mut KNOWN: *mut Known = std::ptr::null_mut();

/// The most candidates of one call of `malloc`, unless all are wanted.
const MOST: usize = 2;

/// Called before the first execution.
pub(crate) fn prepare() {
    let known = Known {
        on: options().reuse == Reuse::All,
        possible: false,
        place: None,
        freed: Vec::new(),
        least: [usize::MAX; explore::MAX_THREADS],
        allocated: false,
    };
    // SAFETY: nothing else runs yet.
    unsafe { KNOWN = Box::leak(Box::new(known)) };
}

fn known() -> &'static mut Known {
    // SAFETY: one OS thread alone runs code of the program, `prepare` was called, and no borrow is held over a step.
    unsafe { &mut *KNOWN }
}

/// An execution begins.
pub(crate) fn begin() {
    let known = known();
    known.freed.clear();
    if known.allocated {
        known.allocated = false;
        known.least.fill(usize::MAX);
    }
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { WRITTEN = 0 };
}

/// Whether the program was seen to free a block whose address may come back where that is observed.
pub(crate) fn is_possible() -> bool {
    known().possible
}

/// Where a block was freed, or asked for, whose address may come back.
pub(crate) fn place() -> Option<String> {
    known().place.map(|p| p.to_string())
}

/// From now on freed addresses are given out again, or not.
pub(crate) fn switch(on: bool) {
    known().on = on;
}

/// A word was written to memory that is not on the writer's stack. Tagged pointers have bits of their own at either end.
#[inline]
pub(crate) fn published(word: u64) {
    let address = (word & 0x0000_ffff_ffff_ffff) as usize;
    heap().publish(address);
    if address & 15 != 0 {
        heap().publish(address & !15);
    }
}

/// An atomic object has this word: where it is an address, others may compare it with addresses that come later.
#[inline]
pub(crate) fn published_by_atomic(word: u64) {
    published(word);
    let address = (word & 0x0000_ffff_ffff_ffff) as usize;
    if runtime::may_be_on_stack(address) {
        crate::threads::stack_published(address);
    }
}

/// The program is about to write eight bytes that are not atomic: what they are is known when it calls again. In Rust a pointer that
/// others compare without owning it is in an atomic.
#[inline]
pub(crate) fn will_write(address: usize) {
    if address & 7 == 0 && !crate::rust_tests::is_rust() {
        look_at_written();
        // What a thread writes to its own stack is not published.
        if !runtime::on_own_stack(address) {
            // SAFETY: one OS thread alone runs code of the program.
            unsafe { WRITTEN = address };
        }
    }
}

/// The same for memory on the stack of the running thread: what a thread writes there is not published.
#[inline]
pub(crate) fn will_write_own(address: usize) {
    // SAFETY: one OS thread alone runs code of the program.
    if unsafe { WRITTEN } != 0 && address & 7 == 0 && !crate::rust_tests::is_rust() {
        look_at_written();
    }
}

/// The same for a word of memory that is not on a stack and of which `is_in_use` knows.
#[inline]
pub(crate) fn will_write_variable(address: usize, is_in_use: impl Fn(usize) -> bool) {
    if crate::rust_tests::is_rust() {
        return;
    }
    // SAFETY: as above.
    let last = unsafe { std::mem::replace(&mut *(&raw mut WRITTEN), address) };
    if is_in_use(last) {
        // SAFETY: it can be read.
        published(unsafe { (last as *const u64).read() });
    } else if last != 0 {
        look_at(last);
    }
}

#[inline]
fn look_at_written() {
    // SAFETY: one OS thread alone runs code of the program.
    let written = unsafe { std::mem::take(&mut *(&raw mut WRITTEN)) };
    if written != 0 {
        look_at(written);
    }
}

#[inline(never)]
fn look_at(address: usize) {
    if matches!(heap().state_of(address), State::Live(_)) || start::is_variable(address) {
        // SAFETY: a block that is in use, or a variable: it can be read.
        published(unsafe { (address as *const u64).read() });
    }
}

/// The heap as an object.
fn allocator() -> On {
    On::new(&raw const KNOWN as usize, Class::Heap)
}

/// The address of a block as an object.
fn address_of(start: usize) -> On {
    On::new(start + ADDRESS, Class::Heap)
}

/// How far from the start of a block its address is entered as an object.
const ADDRESS: usize = 5;

/// What an object of this module is called.
pub(crate) fn name_of(address: usize) -> Option<String> {
    if address == &raw const KNOWN as usize {
        return Some("the heap".to_owned());
    }
    let start = address.checked_sub(ADDRESS).filter(|s| s & 7 == 0)?;
    (heap().state_of(start) != State::NotHeap).then(|| "an address".to_owned())
}

/// A block is about to be freed. If its address may come back, that is a step, also where another thread has freed it before: what a thread
/// does next must not depend on others. Says whether the address is to be noted.
pub(crate) fn freeing(start: usize, call: Call) -> bool {
    look_at_written();
    let is_block = match heap().state_of(start) {
        State::Live(b) | State::Freed { block: b, .. } => b.start == start,
        _ => false,
    };
    if !is_block {
        return false;
    }
    // A thread may also keep the address of a block that nobody else knew, and compare it with what others get.
    if !heap().is_published(start) && options().reuse != Reuse::All {
        return false;
    }
    if known().on && !runtime::is_alone() {
        allocator().step_with(OpKind::CountUp, 0, 0, MemoryOrder::Release, call);
    }
    true
}

/// A candidate was freed.
pub(crate) fn freed(start: usize) {
    let State::Freed { block, .. } = heap().state_of(start) else { return };
    let path = block.owner.thread_index().map_or(0, |t| runtime::thread_path(explore::ThreadId(t as u16)));
    let lives = u64::from(heap().earlier_lives(start));
    let known = known();
    known.freed.retain(|c| c.start != start);
    known.freed.push(Candidate { key: (path, start), start, size: block.size, lives, taker: None });
    let me = runtime::current().index();
    let fits = |(t, least): (usize, &usize)| t != me && *least <= block.size;
    if !known.possible && known.least.iter().enumerate().any(fits) {
        (known.possible, known.place) = (true, runtime::last_place());
    }
}

/// A block is asked for. Gives one that was freed, if that is the outcome that is explored.
pub(crate) fn allocate(size: usize, align: usize, zero: bool, site: usize, call: Call) -> Option<usize> {
    look_at_written();
    let is_alone = runtime::is_alone();
    if is_alone && options().reuse != Reuse::All && !crate::rust_tests::is_rust() {
        // Only this thread could tell, from pointers of its own that are not valid any more: see `compared`. In Rust an atomic may keep the
        // address as a number.
        return None;
    }
    if !known().on {
        let known = known();
        if !known.possible && known.freed.iter().any(|c| c.size >= size) {
            (known.possible, known.place) = (true, Some(call.place));
        }
        let least = &mut known.least[runtime::current().index()];
        *least = size.min(*least);
        known.allocated = true;
        return None;
    }
    if !is_alone {
        allocator().step_with(OpKind::CountRead, 0, 0, MemoryOrder::Relaxed, call);
    }
    // Whether another thread has got the address by now is not known here: nothing orders two calls of `malloc`. So the number of
    // candidates does not depend on it.
    let me = runtime::current().index();
    let fits = |c: &&Candidate| c.taker != Some(me) && c.size >= size && c.start.is_multiple_of(align.max(1));
    let mut candidates: Vec<Candidate> = known().freed.iter().filter(fits).copied().collect();
    candidates.sort_unstable_by_key(|c| std::cmp::Reverse(c.key));
    if candidates.len() > MOST && options().reuse != Reuse::All {
        candidates.truncate(MOST);
        runtime::caveat_at(
            CaveatKind::Reuse,
            "a call of malloc could get the address of more than two freed blocks, and not all were explored (--reuse all)",
            call.place,
        );
    }
    if candidates.is_empty() {
        return None;
    }
    let chosen = runtime::choose_address(candidates.len() as u32 + 1, call.place);
    let taken = *candidates.get((chosen as usize).checked_sub(1)?)?;
    let Candidate { start, lives, .. } = taken;
    let took =
        address_of(start).step_with(OpKind::CompareExchange, lives, lives + 1, MemoryOrder::AcqRel, call);
    // Another thread has got it: that this one takes another is explored elsewhere.
    runtime::assume(took.ok, call.place);
    runtime::local_step(OpKind::Fence, MemoryOrder::Acquire, call.place);
    known().freed.iter_mut().filter(|c| c.start == start).for_each(|c| c.taker = Some(me));
    let p = heap().reuse(start, size, site, zero)?;
    table::begin_anew(start, taken.size);
    Some(p.as_ptr() as usize)
}

/// A block has got an address that was never given out before.
#[inline]
pub(crate) fn allocated(start: usize) {
    if runtime::in_execution() && (!runtime::is_alone() || options().reuse == Reuse::All) {
        heap().set_had_choice(start);
    }
}

/// Whether one of two blocks is what `realloc` made of the other.
pub(crate) fn is_moved(a: usize, b: usize) -> bool {
    let heap = heap();
    heap.succession(a, b).or_else(|| heap.succession(b, a)).is_some_and(|found| found.moved)
}

/// The program compares two addresses that differ. If one is of a block that was freed before the block of the other was allocated, the two could be
/// equal. That was explored if the second block could get the address of the first, or `realloc` could leave it where it was.
pub(crate) fn compared(a: usize, b: usize, call: Call) {
    if crate::rust_tests::is_rust() {
        return;
    }
    let heap = heap();
    let Some(found) = heap.succession(a, b).or_else(|| heap.succession(b, a)) else { return };
    let (is_possible, is_explored) = if found.moved {
        (true, found.fits && options().reuse != Reuse::Off)
    } else {
        let is_candidate = || known().freed.iter().any(|c| c.start == found.freed);
        (found.fits, found.had_choice && options().reuse != Reuse::Off && is_candidate())
    };
    if is_possible && !is_explored {
        let text = if found.moved {
            "the address that a block had before realloc is compared with the one that it has now; that the two are equal, as realloc may leave a \
             block where it is, was not explored"
        } else {
            "the address of a freed block is compared with that of a block that was allocated later; that the two are equal, as malloc gives out \
             addresses again, was not explored (--reuse all)"
        };
        runtime::caveat_at(CaveatKind::Reuse, text, call.place);
    }
}
