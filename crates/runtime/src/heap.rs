//! Memory that a Rust test allocates through us: use after free, double free, leaks, and addresses that come back.
//!
//! A block that is freed keeps its memory until the execution ends. Its bytes are overwritten, so that the objects in it are not known
//! any more: the next operation on one of them enters it anew, and [`use_after_free`] finds the block that it lies in.
//!
//! To free a block is a write of everything in it. Each atomic and each lock in it that the execution has met gets a step, so that the
//! search also runs the operations of other threads after it; an operation that is announced by then is reported at once. Cells are
//! checked for data races.
//!
//! An allocation may get the address of a block that was freed before, by any thread, and is large enough. As for programs in machine
//! code, to allocate and to free are steps that conflict with each other, and the choice of the address is a local step. To take the
//! address of a freed block is a step on that block: the second thread that chooses the same one finds it taken, and its execution is
//! pruned, as the choice of another address covers it. All this starts once an execution has freed a block whose address another
//! allocation could get; then the search starts again ([`Restart::AddressesComeBack`]).

use crate::context;
use crate::execution::{Execution, Phase};
use crate::memory::{Touching, choose_address};
use crate::objects::Handle;
use crate::polling::Restart;
use crate::record::place_of;
use crate::{Class, Place, races, spin, sync};
use explore::{FailureKind, MemoryOrder, ObjectId, Op, OpKind, ThreadId};
use std::alloc::Layout;
use std::collections::BTreeMap;

/// A block in the current life of its address.
struct Block {
    start: usize,
    /// What was asked for.
    layout: Layout,
    /// What the memory was got with, in the first life.
    whole: Layout,
    /// Where it was allocated.
    place: Place,
    /// The thread that allocated it first, and how many it had allocated before: the same in all executions that have it.
    key: (u64, u64),
    /// How often the address was given out again.
    lives: u64,
    /// The address as an object.
    address: Box<Handle>,
    /// Where it was freed, and by which thread, unless it is in use again.
    freed: Option<(Place, ThreadId)>,
    /// The life that ended when it was last freed, and the thread that has got the address again since.
    ended: Option<(u64, Option<ThreadId>)>,
    /// The objects in it that were met.
    objects: Vec<ObjectId>,
    /// An atomic had its address.
    seen: bool,
}

/// The blocks of one execution, and the values that must be dropped before it ends.
#[derive(Default)]
pub(crate) struct Heap {
    /// By start.
    blocks: BTreeMap<usize, Block>,
    /// By thread: how many blocks it has allocated.
    count: BTreeMap<ThreadId, u64>,
    /// By thread: the least number of bytes that it has allocated while there were others.
    least: BTreeMap<ThreadId, usize>,
    /// Where values that are tracked were made; `None` once they are dropped.
    tracked: Vec<Option<Place>>,
    /// An object was met in a block that was freed, to be reported before the operation on it.
    pub(crate) fault: Option<Box<(String, Place)>>,
}

impl Heap {
    /// Frees the memory of all blocks.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !(self.blocks.is_empty() && self.tracked.is_empty()) {
            self.clear_all();
        }
    }

    #[cold]
    fn clear_all(&mut self) {
        for (_, block) in std::mem::take(&mut self.blocks) {
            // SAFETY: the memory was got with this layout and was not given back, and the threads of its execution are gone.
            unsafe { std::alloc::dealloc(block.start as *mut u8, block.whole) };
        }
        self.count.clear();
        self.least.clear();
        self.tracked.clear();
        self.fault = None;
    }

    /// Whether there are blocks in this execution.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    fn containing(&self, address: usize) -> Option<&Block> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        // One past the end counts: it is an address of the block, too.
        (address - block.start <= block.whole.size()).then_some(block)
    }

    /// What was allocated, or tracked, and is still there, in words, and where it was made.
    #[inline]
    pub(crate) fn leak(&self) -> Option<(String, Place)> {
        if self.blocks.is_empty() && self.tracked.is_empty() { None } else { self.first_leak() }
    }

    #[cold]
    fn first_leak(&self) -> Option<(String, Place)> {
        let mut live: Vec<&Block> = self.blocks.values().filter(|b| b.freed.is_none()).collect();
        live.sort_by_key(|b| b.key);
        if let Some(block) = live.first() {
            let size = block.layout.size();
            return Some((
                format!("{size} bytes, allocated at {}, were never freed", block.place),
                block.place,
            ));
        }
        let place = self.tracked.iter().flatten().next()?;
        Some((format!("the value that is tracked at {place} was never dropped"), *place))
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The allocator as an object.
static ALLOCATOR: Handle = Handle::new();

/// Bytes of a block that was freed. As an address they are not valid, and no execution has such a number.
const FREED: u8 = 0xde;
/// Bytes of a new block.
const FRESH: u8 = 0xcd;

fn running() -> *mut Execution {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    if !ex.is_null() && unsafe { (*ex).in_fiber } { ex } else { std::ptr::null_mut() }
}

/// Allocates a block that the execution at hand knows. Outside of an execution it is a block of std's allocator. Null if there is no memory.
///
/// # Safety
///
/// The size is not 0.
pub unsafe fn allocate(layout: Layout, zero: bool, place: Place) -> *mut u8 {
    let ex = running();
    if ex.is_null() {
        // SAFETY: by the contract.
        return unsafe { if zero { std::alloc::alloc_zeroed(layout) } else { std::alloc::alloc(layout) } };
    }
    // SAFETY: a current execution is valid, and no reference into it is held over a step.
    unsafe {
        let again = if (*ex).phase == Phase::Running { take_freed(ex, layout, place) } else { None };
        let start = match again {
            Some(start) => start as *mut u8,
            None => fresh(&mut *ex, layout, place),
        };
        if !start.is_null() {
            start.write_bytes(if zero { 0 } else { FRESH }, layout.size());
        }
        start
    }
}

/// A block at an address that the execution has not given out.
///
/// # Safety
///
/// As for [`allocate`].
unsafe fn fresh(ex: &mut Execution, layout: Layout, place: Place) -> *mut u8 {
    // SAFETY: by the contract.
    let memory = unsafe { std::alloc::alloc(layout) };
    if memory.is_null() {
        return memory;
    }
    let start = memory.expose_provenance();
    let count = ex.heap.count.entry(ex.current).or_default();
    *count += 1;
    let key = (ex.threads[ex.current.index()].path, *count);
    let block = Block {
        start,
        layout,
        whole: layout,
        place,
        key,
        lives: 0,
        address: Box::default(),
        freed: None,
        ended: None,
        objects: Vec::new(),
        seen: false,
    };
    ex.heap.blocks.insert(start, block);
    memory
}

/// Offers an allocation the addresses of freed blocks. Gives the one that is chosen, which is in use again then.
///
/// # Safety
///
/// `ex` is the current execution, in the phase `Running`; the caller is one of its fibers and holds no reference into it.
unsafe fn take_freed(ex: *mut Execution, layout: Layout, place: Place) -> Option<usize> {
    let fits = |b: &Block| b.whole.size() >= layout.size() && b.start.is_multiple_of(layout.align());
    // SAFETY: by the contract: references end before each step.
    unsafe {
        if (*ex).looking {
            spin::changed(&mut *ex);
        }
        // If there is one thread, only an atomic that still has the address can tell, or a pointer of the thread's own that is not valid any more.
        let alone = (*ex).unjoined == 0;
        // Whether another thread has got the address by now is not known here: nothing orders two allocations. So the number of
        // candidates does not depend on it.
        let me = (*ex).current;
        let is_free =
            |b: &&Block| b.ended.is_some_and(|(_, taker)| taker != Some(me)) && fits(b) && (b.seen || !alone);
        if alone && !(*ex).heap.blocks.values().any(|b| is_free(&b)) {
            return None;
        }
        if !(*ex).modes.reuse {
            let least = (*ex).heap.least.entry(me).or_insert(usize::MAX);
            *least = (*least).min(layout.size());
            if (*ex).heap.blocks.values().any(|b| is_free(&b)) {
                (*ex).addresses_come_back();
            }
            return None;
        }
        on_allocator(ex, OpKind::CountRead, MemoryOrder::Relaxed, place);
        if (*ex).phase != Phase::Running {
            return None;
        }
        let mut candidates: Vec<_> =
            (*ex).heap.blocks.values().filter(is_free).map(|b| (b.key, b.start)).collect();
        candidates.sort_unstable_by_key(|c| std::cmp::Reverse(c.0));
        if candidates.is_empty() {
            return None;
        }
        let chosen = choose_address(candidates.len() as u32 + 1, place);
        let start = candidates.get((chosen as usize).checked_sub(1)?)?.1;
        let block = (*ex).heap.blocks.get(&start)?;
        let (ended, _) = block.ended?;
        // The handle stays where it is as long as the block is known, which is to the end of the execution.
        let address: *const Handle = &raw const *block.address;
        let object = (*ex).resolve(&*address, Class::Heap, 0, place);
        let op = Op::new(OpKind::CompareExchange, object).with(ended, ended + 1).ordered(MemoryOrder::AcqRel);
        let took = sync::step_on(ex, op, place);
        if (*ex).phase != Phase::Running {
            return None;
        }
        // Another thread has got it: that this one takes another address is explored elsewhere.
        sync::assume(took.ok, place);
        let block = (*ex).heap.blocks.get_mut(&start)?;
        block.lives += 1;
        block.ended = Some((ended, Some(me)));
        (block.layout, block.place, block.freed) = (layout, place, None);
        block.objects.clear();
        sync::step_on(ex, Op::local(OpKind::Fence).ordered(MemoryOrder::Acquire), place);
        Some(start)
    }
}

/// # Safety
///
/// As for [`sync::step_on`].
unsafe fn on_allocator(ex: *mut Execution, kind: OpKind, order: MemoryOrder, place: Place) {
    // SAFETY: by the contract; the borrow of `resolve` ends before the step.
    unsafe {
        if (*ex).deferred {
            context::start_deferred(ex, place);
        }
        let object = (*ex).resolve(&ALLOCATOR, Class::Heap, 0, place);
        sync::step_on(ex, Op::new(kind, object).ordered(order), place);
    }
}

/// Frees a block. Its memory stays until the execution ends.
///
/// # Safety
///
/// Outside of an execution: as for [`std::alloc::dealloc`]. Inside, a block that is not in use is reported.
pub unsafe fn free(start: *mut u8, layout: Layout, place: Place) {
    let address = start.addr();
    let ex = running();
    // SAFETY: a current execution is valid, and no reference into it is held over a step. Outside of one, by the contract.
    unsafe {
        if ex.is_null() {
            let ex = context::current();
            // Copies of statics are dropped after the threads have gone.
            if !ex.is_null()
                && let Some(block) = (*ex).heap.blocks.get_mut(&address)
            {
                block.freed = Some((place, (*ex).current));
                return;
            }
            return std::alloc::dealloc(start, layout);
        }
        if (*ex).phase == Phase::Running {
            if let Some((kind, message)) = misuse(&*ex, address, layout) {
                sync::fail(kind, message, place);
            }
            if (*ex).looking {
                spin::changed(&mut *ex);
            }
            end_objects(ex, address, place);
        }
        if (*ex).phase == Phase::Running && (*ex).modes.reuse && (*ex).unjoined > 0 {
            on_allocator(ex, OpKind::CountUp, MemoryOrder::Release, place);
            if let Some((kind, message)) = misuse(&*ex, address, layout) {
                sync::fail(kind, message, place);
            }
        }
        let Some(block) = (*ex).heap.blocks.get_mut(&address) else { return };
        block.freed = Some((place, (*ex).current));
        block.ended = Some((block.lives, None));
        let size = block.whole.size();
        start.write_bytes(FREED, block.layout.size());
        let (me, heap) = ((*ex).current, &(*ex).heap);
        if !(*ex).modes.reuse && heap.least.iter().any(|(t, least)| *t != me && *least <= size) {
            (*ex).addresses_come_back();
        }
    }
}

/// Why a block cannot be freed.
fn misuse(ex: &Execution, address: usize, layout: Layout) -> Option<(FailureKind, String)> {
    let Some(block) = ex.heap.containing(address) else {
        let message = "the address that is freed was not allocated by raddle in this execution".to_owned();
        return Some((FailureKind::InvalidFree, message));
    };
    let allocated = block.place;
    if let Some((freed, by)) = block.freed {
        let by = ex.thread_label(by);
        let message = format!("{} is freed again: {by} freed it at {freed}", named(block));
        return Some((FailureKind::DoubleFree, message));
    }
    if block.start != address {
        let offset = address - block.start;
        let message = format!("the address that is freed lies {offset} bytes into {}", named(block));
        return Some((FailureKind::InvalidFree, message));
    }
    let (is, was) = ((layout.size(), layout.align()), (block.layout.size(), block.layout.align()));
    (is != was).then(|| {
        let message = format!(
            "a block is freed with size {} and alignment {}, but was allocated at {allocated} with size {} and alignment {}",
            is.0, is.1, was.0, was.1
        );
        (FailureKind::InvalidFree, message)
    })
}

fn named(block: &Block) -> String {
    format!("the block of {} bytes that was allocated at {}", block.layout.size(), block.place)
}

/// A block is about to be freed: that is a write of all objects in it.
///
/// # Safety
///
/// As for [`take_freed`].
unsafe fn end_objects(ex: *mut Execution, start: usize, place: Place) {
    let mut done = 0;
    // Other threads may meet objects in the block between the steps.
    loop {
        // SAFETY: by the contract: references end before each step.
        unsafe {
            let objects = (*ex).heap.blocks.get(&start).map_or(&[][..], |b| &b.objects);
            let Some(object) = objects.get(done).copied() else { return };
            done += 1;
            if (*ex).phase != Phase::Running {
                return;
            }
            let entry = &(&(*ex).objects)[object.index()];
            let (class, word) = (entry.class, entry.word);
            let alone = (*ex).unjoined == 0;
            match class {
                Class::Atomic if !alone => {
                    sync::step_on(ex, Op::new(OpKind::Rmw, object).with(word, 0), place);
                }
                Class::Mutex if !alone => try_lock(ex, object, OpKind::TryLock, OpKind::Unlock, place),
                Class::RwLock if !alone => {
                    try_lock(ex, object, OpKind::TryWriteLock, OpKind::WriteUnlock, place);
                }
                Class::Cell => {
                    let how = Touching { write: true, atomic: false, elsewhere: true };
                    let race = races::check(&mut *ex, object, how, place);
                    if let Some(message) = race.and_then(|r| r.unless_watched(&mut *ex, false)) {
                        sync::fail(FailureKind::DataRace, message, place);
                    }
                }
                _ => {}
            }
            if let Some(message) = announced(&*ex, start, object) {
                sync::fail(FailureKind::UseAfterFree, message, place);
            }
        }
    }
}

/// # Safety
///
/// As for [`sync::step_on`].
unsafe fn try_lock(ex: *mut Execution, object: ObjectId, lock: OpKind, unlock: OpKind, place: Place) {
    // SAFETY: by the contract.
    unsafe {
        let took = sync::step_on(ex, Op::new(lock, object), place);
        if took.ok && (*ex).phase == Phase::Running {
            sync::step_on(ex, Op::new(unlock, object), place);
        }
    }
}

/// What is to be said if another thread is about to use an object in a block that is being freed.
fn announced(ex: &Execution, start: usize, object: ObjectId) -> Option<String> {
    let block = ex.heap.blocks.get(&start)?;
    let user = ex.order.iter().copied().find(|t| {
        let pending = ex.pending.get(t.index());
        *t != ex.current && ex.live.contains(*t) && pending.is_some_and(|p| p.op.object == object)
    })?;
    let place = place_of(ex.pending[user.index()].site)?;
    let name = ex.object_name(object).unwrap_or_default();
    Some(format!(
        "{} is freed, and {} is about to use {name} in it at {place}",
        named(block),
        ex.thread_label(user)
    ))
}

impl Execution {
    fn addresses_come_back(&mut self) {
        if self.restart.is_none() {
            self.restart = Some(Restart::AddressesComeBack);
        }
    }

    /// An object is entered while there are blocks. It may lie in one.
    #[cold]
    pub(crate) fn met_near_blocks(&mut self, address: usize, id: ObjectId, place: Place) {
        if self.phase != Phase::Running || !self.in_fiber {
            return;
        }
        if let Some(message) = self.use_after_free(address, self.objects[id.index()].class) {
            self.heap.fault = Some(Box::new((message, place)));
            // The next turn looks for it.
            (self.due, self.attend) = (true, true);
            return;
        }
        let found = self.heap.blocks.range_mut(..=address).next_back();
        if let Some((_, block)) = found.filter(|(_, b)| address - b.start < b.whole.size()) {
            block.objects.push(id);
        }
    }

    /// What is to be said if an object that is used lies in a block that was freed.
    fn use_after_free(&self, address: usize, class: Class) -> Option<String> {
        let block = self.heap.containing(address)?;
        let (freed, by) = block.freed?;
        let what = crate::record::class_word(class).unwrap_or("object");
        let by = self.thread_label(by);
        Some(format!("the {what} lies in {}, which {by} freed at {freed}", named(block)))
    }
}

/// Whether an address lies in a block that was allocated by [`allocate`] in the execution at hand, so that it is explored whether the
/// address comes back.
pub fn is_allocated(address: usize) -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    !ex.is_null() && unsafe { (*ex).heap.containing(address).is_some() }
}

/// An atomic has got this address.
#[inline]
pub fn address_is_kept(address: usize) {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if !ex.is_null() && !(*ex).heap.is_empty() {
            let heap = &mut (*ex).heap;
            let block = heap.blocks.range_mut(..=address).next_back();
            if let Some((_, block)) = block.filter(|(_, b)| address - b.start <= b.whole.size()) {
                block.seen = true;
            }
        }
    }
}

/// A value that must be dropped before the execution ends.
#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    epoch: u32,
    index: u32,
}

/// Notes that a value was made that must be dropped before the execution ends.
pub fn track(place: Place) -> Tracked {
    let ex = running();
    if ex.is_null() {
        return Tracked { epoch: 0, index: 0 };
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        let tracked = &mut (*ex).heap.tracked;
        tracked.push(Some(place));
        Tracked { epoch: (*ex).epoch, index: tracked.len() as u32 - 1 }
    }
}

/// The value is dropped.
pub fn untrack(value: Tracked) {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let ex = unsafe { &mut *ex };
    if ex.epoch == value.epoch
        && let Some(place) = ex.heap.tracked.get_mut(value.index as usize)
    {
        *place = None;
    }
}
