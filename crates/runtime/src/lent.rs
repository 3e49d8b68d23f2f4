//! Pointers into cells, as `UnsafeCell::get` hands them out: what is done through them is found out afterwards.
//!
//! Nobody announces an access through a pointer. So a call that hands one out is a read of the cell, and the bytes of the cell are
//! kept. When the thread comes to its next operation, they are compared: if they differ, the thread has written, and that write is
//! checked for data races as if it had been announced at the call. No other thread runs in between, and the thread's clock is the
//! same at both ends.
//!
//! A pointer that is still on the stack of its thread then may be used later, so the bytes are kept on and compared at the next
//! operation again. Reads through such a pointer stay unseen. If another thread writes the cell meanwhile, that is a caveat.
//!
//! A write that leaves every byte as it was counts as a read.
//!
//! All this is a guess. Where a data race, a caveat or a write that changes nothing depends on it, the search starts again and sees the accesses
//! themselves ([`crate::watch`]), if the processor and the system allow that.

use crate::context;
use crate::execution::{Execution, Phase};
use crate::memory::Touching;
use crate::objects::{Handle, Home};
use crate::{Class, Place, caveats, races, spin, sync};
use explore::{CaveatKind, FailureKind, ObjectId, ThreadId};

/// A pointer that was handed out.
struct Lent {
    cell: ObjectId,
    thread: ThreadId,
    /// Where it was handed out last.
    place: Place,
    start: usize,
    bytes: Vec<u8>,
    /// It was found on the stack at a later operation.
    kept: bool,
}

/// The pointers that may still be used.
#[derive(Default)]
pub(crate) struct Lending {
    /// Cells of lists, with the threads that had pointers to them, and how many steps had been taken by then.
    lists: Vec<(ObjectId, ThreadId, usize)>,
    all: Vec<Lent>,
    /// A data race that was found, to be reported by the next operation.
    race: Option<(String, Place)>,
}

impl Lending {
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.lists.clear();
        self.race = None;
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl Lent {
    /// # Safety
    ///
    /// The memory of the cell can be read.
    unsafe fn look(&self) -> impl Iterator<Item = u8> {
        let start = self.start as *const u8;
        // SAFETY: by the contract. The bytes may be padding, whose value does not matter but stays the same while nobody writes there;
        // a volatile read gives whatever is in memory.
        (0..self.bytes.len()).map(move |i| unsafe { start.add(i).read_volatile() })
    }
}

/// Notes that a pointer to the `size` bytes at `start`, the value of a cell, is handed out.
pub fn cell_lend(object: &Handle, start: *const u8, size: usize, place: Place) {
    let ex = context::for_operation("a cell", place);
    // SAFETY: the execution is valid; no reference into it is held over `fail`, which suspends.
    unsafe {
        if (*ex).phase != Phase::Running || size == 0 {
            return;
        }
        let cell = (*ex).resolve(object, Class::Cell, 0, place);
        if let Some(fault) = (*ex).heap.fault.take() {
            sync::fail(FailureKind::UseAfterFree, fault.0, place);
        }
        if crate::watch::lend(&mut *ex, cell, place) {
            return;
        }
        let read = Touching { write: false, atomic: false, elsewhere: true };
        let race = races::check(&mut *ex, cell, read, place).and_then(|r| r.unless_watched(&mut *ex, true));
        races::mark_lent(&mut *ex, cell, false);
        // A write that changes nothing would not be found.
        if race.is_none() && races::lent_to_others(&*ex, cell) {
            watch_soon(&mut *ex);
        }
        if let Some(message) = race {
            sync::fail(FailureKind::DataRace, message, place);
        }
    }
    // SAFETY: as above, and the cell is alive.
    unsafe {
        let ex = &mut *ex;
        let (thread, cell) = (ex.current, ex.resolve(object, Class::Cell, 0, place));
        let start = start as usize;
        // What was written through an earlier pointer is known by then: nothing else was run.
        let known = ex.lent.all.iter_mut().find(|l| l.cell == cell && l.thread == thread && l.start == start);
        if let Some(known) = known {
            known.place = place;
            return;
        }
        ex.lent.all.retain(|l| l.cell != cell || l.start == start);
        let mut lent = Lent { cell, thread, place, start, bytes: vec![0; size], kept: false };
        lent.bytes = lent.look().collect();
        ex.lent.all.push(lent);
        ex.attend = true;
    }
}

/// Notes that the pointer that was handed out leads to a list, whose elements lie outside of the cell. Accesses to them are not seen. Two threads
/// that have such pointers, with nothing that orders them, may access the same element.
#[cold]
pub fn cell_lends_elements(object: &Handle, place: Place) {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: a current execution is valid, and our callers hold no reference into it.
    let ex = unsafe { &mut *ex };
    let Some(cell) = ex.known(object).filter(|_| ex.phase == Phase::Running && ex.in_fiber) else { return };
    if crate::watch::lend_list(ex, cell) {
        return;
    }
    let (t, at) = (ex.current, ex.log.len());
    if ex.unjoined > 0 && ex.lent.lists.iter().any(|(c, u, _)| *c == cell && *u != t) {
        ex.order_steps();
        let known = ex.races.steps_known_to(t);
        let unordered = |(c, u, at): &(ObjectId, ThreadId, usize)| {
            let before = ex.log[..*at].iter().filter(|l| l.thread == *u).count() as u32;
            *c == cell && *u != t && known.get(u.index()).copied().unwrap_or(0) <= before
        };
        if ex.lent.lists.iter().any(unordered) && !watch_soon(ex) {
            ex.caveats.note_at(CaveatKind::Races, ELEMENTS, place);
        }
    }
    ex.lent.lists.retain(|(c, u, _)| *c != cell || *u != t);
    ex.lent.lists.push((cell, t, at));
}

pub(crate) const ELEMENTS: &str = "threads use a list in an `UnsafeCell` with nothing that orders them: its elements lie outside of the cell, and accesses to \
                        them are not checked for data races (use a list of cells)";

/// The memory of the cell is about to be used for something else.
pub fn cell_ends(object: &mut Handle) {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if !ex.is_null()
            && !(*ex).watch.is_empty()
            && let Some(cell) = (*ex).find(object)
        {
            crate::watch::put_back(&mut *ex, cell, object);
        }
        if !ex.is_null() && (*ex).phase == Phase::Running {
            let found = (*ex).find(object);
            if (*ex).in_fiber {
                crate::lifetimes::bury(&mut *ex, object);
            }
            let Some(cell) = found else { return };
            if (*ex).in_fiber && !(*ex).watch.is_empty() && (*ex).lent.race.is_none() {
                (*ex).lent.race = crate::watch::settle(&mut *ex);
            }
            if !(*ex).lent.is_empty() {
                compare(&mut *ex, Some(cell));
                (*ex).lent.all.retain(|l| l.cell != cell);
            }
            if (*ex).lent.race.is_none() && (*ex).in_fiber {
                (*ex).lent.race = dropped(&mut *ex, cell);
            }
            if !std::thread::panicking()
                && let Some((message, place)) = (*ex).lent.race.take()
            {
                sync::fail(FailureKind::DataRace, message, place);
            }
        }
    }
}

/// What is to be said if the end of a cell is not ordered after all accesses to it, and where the cell was first used.
fn dropped(ex: &mut Execution, cell: ObjectId) -> Option<(String, Place)> {
    let entry = &ex.objects[cell.index()];
    let place =
        entry.place.filter(|_| entry.home != Home::Static && (entry.cell != 0 || ex.watch.has(cell)))?;
    let race = races::check(ex, cell, Touching { write: true, atomic: false, elsewhere: true }, place)?;
    let drops = ex.threads[ex.current.index()].arc_drops;
    let message = race.unless_watched(ex, false).filter(|_| !crate::callers::in_arc_of_std(drops))?;
    Some((message.replacen(": write by", ": dropped by", 1), place))
}

/// A thread writes a cell: others that keep a pointer to it may read it unseen.
pub(crate) fn written(ex: &mut Execution, cell: ObjectId) {
    let t = ex.current;
    let is_kept = |l: &Lent| l.cell == cell && l.thread != t && l.kept;
    if ex.lent.all.iter().any(is_kept) && watch_soon(ex) {
        return;
    }
    let kept: Vec<Place> = ex.lent.all.iter().filter(|l| is_kept(l)).map(|l| l.place).collect();
    for place in kept {
        caveats::caveat_at(
            CaveatKind::Races,
            "a pointer from `UnsafeCell::get` may be kept while another thread writes the cell: reads through a kept pointer are not \
             checked for data races (use `with` and `with_mut`)",
            place,
        );
    }
}

/// What is done through pointers to cells matters: if it can be watched, the search starts again and does so. Says whether that is so.
pub(crate) fn watch_soon(ex: &mut Execution) -> bool {
    let can = crate::watch::is_available() && !ex.modes.watches_cells;
    if can {
        ex.restart = Some(crate::polling::Restart::WatchesCells);
    }
    can
}

/// The running thread is about to be compared with an earlier state of it: what it has written counts.
#[cold]
pub(crate) fn look(ex: &mut Execution) {
    // SAFETY: as for `settle`, which follows.
    unsafe { compare(ex, None) }
    if !ex.watch.is_empty() && ex.lent.race.is_none() {
        ex.lent.race = crate::watch::settle(ex);
    }
}

/// Compares the cells to which the running thread has pointers, or one of them.
///
/// # Safety
///
/// The cells are alive, or their memory can be read all the same.
unsafe fn compare(ex: &mut Execution, only: Option<ObjectId>) {
    let t = ex.current;
    let mut all = std::mem::take(&mut ex.lent.all);
    for i in 0..all.len() {
        let lent = &mut all[i];
        // SAFETY: by the contract.
        if only.is_some_and(|c| c != lent.cell) || unsafe { lent.look() }.eq(lent.bytes.iter().copied()) {
            continue;
        }
        // SAFETY: by the contract.
        lent.bytes = unsafe { lent.look() }.collect();
        let (cell, place) = (lent.cell, lent.place);
        if lent.thread != t {
            // Whoever else has written has a pointer too, or has announced it.
            continue;
        }
        if ex.looking {
            spin::changed(ex);
        }
        let found = races::check(ex, cell, Touching { write: true, atomic: false, elsewhere: true }, place);
        let found = found.and_then(|race| race.unless_watched(ex, true));
        races::mark_lent(ex, cell, true);
        ex.lent.all = all;
        written(ex, cell);
        all = std::mem::take(&mut ex.lent.all);
        if ex.lent.race.is_none() {
            ex.lent.race = found.map(|message| (message, place));
        }
    }
    ex.lent.all = all;
}

/// The running thread comes to an operation: sees what it has written through pointers to cells, and which of them it keeps.
///
/// # Safety
///
/// `ex` is the current execution, in the phase `Running`; the caller is one of its fibers and holds no reference into it.
#[cold]
pub(crate) unsafe fn settle(ex: *mut Execution) {
    // SAFETY: by the contract. A cell that has gone has taken its entries with it (`cell_ends`), and one that was moved has left memory
    // of this thread's stack, or a block of the heap, that can still be read.
    let race = unsafe {
        compare(&mut *ex, None);
        keep(&mut *ex);
        let watched = if (*ex).watch.is_empty() { None } else { crate::watch::settle(&mut *ex) };
        (*ex).lent.race.take().or(watched)
    };
    if let Some((message, place)) = race {
        sync::fail(FailureKind::DataRace, message, place);
    }
}

/// Forgets the pointers of the running thread that are not on its stack any more.
fn keep(ex: &mut Execution) {
    let t = ex.current;
    let marker = 0usize;
    let here = std::ptr::from_ref(&marker) as usize & !7;
    let end = ex.threads[t.index()].frames_end;
    ex.lent.all.retain_mut(|l| {
        if l.thread != t {
            return true;
        }
        // A cell on the stack may have been moved since, and what lies there now is another thing.
        if (here..end).contains(&l.start) {
            return false;
        }
        let cell = l.start..l.start + l.bytes.len();
        // SAFETY: from here up to the end of its frames the stack of the running thread can be read.
        let found =
            (here..end).step_by(8).any(|at| cell.contains(&unsafe { (at as *const usize).read_volatile() }));
        l.kept = found;
        found
    });
}
