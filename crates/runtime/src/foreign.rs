//! What only programs in machine code ask for: words that are looked at or set without a step, waits on words of memory,
//! names that threads take later, and blocks that nobody may interrupt.

use crate::execution::{Execution, Phase};
use crate::memory::LocalState;
use crate::memory::settle;
use crate::objects::Handle;
use crate::spin::{self, Key};
use crate::sync::{self, Ended, given_up, site, turn};
use crate::{Class, Place, context};
use explore::{ObjectId, Op, OpKind, ThreadId, ThreadSet};
use std::time::Duration;

/// The word of an object, if this execution has met it. Not a step: to be used only for what the running thread itself, or
/// what happens before it, has decided ("is this lock mine?").
pub fn peek(object: &Handle) -> Option<u64> {
    let ex = context::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe { (*ex).known(object).map(|id| (*ex).word(id)) }
}

/// What kind of object it is, if this execution has met it.
pub fn class_of(object: &Handle) -> Option<Class> {
    let ex = context::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe { (*ex).known(object).map(|id| (&(*ex).objects)[id.index()].class) }
}

/// Whether threads hold an object or wait on it, in words, if this execution has met it.
pub fn is_in_use(object: &Handle) -> Option<&'static str> {
    let ex = context::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        let id = (*ex).known(object)?;
        let word = (*ex).word(id);
        let lock = explore::semantics::RwWord(word);
        match (&(*ex).objects)[id.index()].class {
            Class::Mutex if word != 0 => Some("it is locked"),
            Class::RwLock if lock.readers() != 0 || lock.writer() != 0 => Some("it is locked"),
            Class::Condvar if word != 0 => Some("a thread waits on it"),
            Class::Barrier if word & 0xffff_ffff != 0 => Some("a thread waits at it"),
            _ => None,
        }
    }
}

/// Sets the word of an object, without a step: it begins its life anew, and whoever uses it is ordered with that.
pub fn put_word(object: &Handle, class: Class, word: u64, place: Place) {
    let ex = context::required("an object", place);
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        let id = (*ex).resolve(object, class, word, place);
        let entry = &mut (&mut (*ex).objects)[id.index()];
        entry.word = word;
        entry.class = class;
    }
}

/// Gives a thread a name, for reports.
pub fn name_thread(thread: ThreadId, name: String) {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        let threads = &mut (*ex).threads;
        if let Some(thread) = threads.get_mut(thread.index()) {
            thread.seldom_mut().name = Some(name);
        }
    }
}

/// The stack of a thread that runs: its lowest address that may be used, and where its frames begin.
pub fn stack_of(thread: ThreadId) -> Option<(usize, usize)> {
    let ex = context::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        let threads = &(*ex).threads;
        let thread = threads.get(thread.index())?;
        (thread.frames_end != 0).then_some((thread.stack_floor, thread.frames_end))
    }
}

/// The same as [`crate::wait`], with the local state.
pub fn wait_in(
    condvar: &Handle,
    mutex: &Handle,
    change: bool,
    limit: Option<Duration>,
    state: LocalState,
    place: Place,
) -> Ended {
    settle();
    arrive(condvar, state, place);
    sync::run_wait(condvar, mutex, change, limit, place)
}

/// Waits in a queue without taking the lock again, if `look` says so while the lock is held.
///
/// The caller has looked before, so a wait that ends spuriously or by its limit has nothing to do. A wait for a notification that finds
/// another word than the caller did stops the thread: it could have looked later.
pub fn wait_once(
    queue: &Handle,
    lock: &Handle,
    limit: Option<Duration>,
    look: impl FnOnce() -> bool,
    state: LocalState,
    place: Place,
) -> Ended {
    settle();
    arrive(queue, state, place);
    let ex = context::required("a wait", place);
    // SAFETY: a current execution is valid, and no reference into it is held over a suspension.
    unsafe {
        if (*ex).phase != Phase::Running {
            given_up(ex);
            return Ended::Notified;
        }
        let queue = (*ex).resolve(queue, Class::Condvar, 0, place);
        let lock = (*ex).resolve(lock, Class::Mutex, 0, place);
        let key = Key { site: site(place), object: queue, kind: OpKind::Choose, a: 0, b: 0 };
        let Some((waiting, mut how)) = sync::decide_end(ex, queue, key, limit, place) else {
            return Ended::Notified;
        };
        if how == Ended::Notified {
            let take = Op::new(OpKind::Lock, lock);
            if !turn(ex, take, site(place)) {
                return how;
            }
            (*ex).finish(take, 0);
            if !look() {
                let give = Op::new(OpKind::Unlock, lock);
                if turn(ex, give, site(place)) {
                    (*ex).finish(give, 0);
                    sync::stop_repeating(place);
                }
                return how;
            }
            if !sync::wait_in_queue(ex, queue, lock, site(place)) {
                return how;
            }
            if sync::take_timed_out(ex) {
                how = Ended::TimedOut;
            }
        }
        waiting.ended(&mut *ex);
        how
    }
}

/// Whether a wait of the running thread on an object ends spuriously. The caller does the rest.
pub fn ends_spuriously(object: &Handle, class: Class, state: LocalState, place: Place) -> bool {
    settle();
    arrive(object, state, place);
    let ex = context::required("a wait", place);
    // SAFETY: a current execution is valid, and no reference into it is held over a suspension.
    unsafe {
        if (*ex).phase != Phase::Running {
            given_up(ex);
            return false;
        }
        let object = (*ex).resolve(object, class, 0, place);
        let key = Key { site: site(place), object, kind: OpKind::Choose, a: 0, b: 0 };
        let Some((waiting, how)) = sync::decide_end(ex, object, key, None, place) else { return false };
        waiting.ended(&mut *ex);
        how == Ended::Spuriously
    }
}

/// The running thread comes to a wait on an object in this local state.
fn arrive(object: &Handle, state: LocalState, place: Place) {
    let ex = context::required("a wait", place);
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if (*ex).looking
            && (*ex).phase == Phase::Running
            && let Some(object) = (*ex).known(object)
        {
            let key = Key { site: site(place), object, kind: OpKind::Choose, a: 0, b: 0 };
            spin::compare_at(&mut *ex, key, state);
        }
    }
}

/// Says that an object is only ours: steps on it order nothing in the program, for the sake of races.
pub fn hush(object: &Handle, class: Class, place: Place) {
    let ex = context::required("an object", place);
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        let id = (*ex).resolve(object, class, 0, place);
        let silent = &mut (*ex).races.silent;
        if !silent.contains(&id) {
            silent.push(id);
        }
    }
}

/// The running thread has learned something that is in none of its looks, such as the time: it is in no loop that only looks.
pub fn end_looking() {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if !ex.is_null() && (*ex).looking {
            crate::spin::changed(&mut *ex);
        }
    }
}

/// Waits, in one step, until the word of an object in memory differs from `word`. The object is a lock for which that means that it
/// is taken: a thread that waits for ever does not spin, it is blocked. `by_last` says that whoever takes it is the last to
/// change it.
pub fn wait_while(object: &Handle, word: u64, by_last: bool, place: Place) {
    settle();
    let ex = context::required("a lock", place);
    // SAFETY: a current execution is valid, and no reference into it is held over a suspension.
    unsafe {
        if (*ex).phase != Phase::Running {
            return given_up(ex);
        }
        let object = (*ex).resolve(object, Class::Atomic, 0, place);
        let how = if by_last { 1 } else { 2 };
        if !(*ex).announce_await(&[(object, word)], how, site(place)) && !sync::suspend(ex) {
            return given_up(ex);
        }
        let op = (&(*ex).pending)[(*ex).current.index()].op;
        (*ex).finish(op, 0);
    }
}

/// Waits, in one step, until the word of one of several objects differs from the one given with it.
pub fn wait_for_any<'a>(objects: impl Iterator<Item = (&'a Handle, u64)>, place: Place) {
    wait_for(objects, 2, place);
}

/// The same for a signal. If `optional`, an execution in which it does not come is not counted, for there is another one in which the
/// thread does not wait for it.
pub fn wait_for_signal<'a>(objects: impl Iterator<Item = (&'a Handle, u64)>, optional: bool, place: Place) {
    wait_for(objects, if optional { OPTIONAL } else { 2 }, place);
}

/// Says that a thread waits for something that may not come: see [`wait_for_signal`].
pub(crate) const OPTIONAL: u64 = 3;

/// Says whether threads can be interrupted before each of their steps: then [`crate::Front::interrupt`] is called there.
pub fn have_interrupts(interrupts: bool) {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: a current execution is valid; the borrow ends here.
        unsafe {
            (*ex).interrupts = interrupts;
            (*ex).attend |= interrupts;
        }
    }
}

/// Forgets caveats of one kind: what was learned makes the search start again, and it notes what it still leaves out.
pub fn forget_caveats(kind: explore::CaveatKind) {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: a current execution is valid; the borrow ends here.
        unsafe { (*ex).caveats.forget(kind) };
    }
}

fn wait_for<'a>(objects: impl Iterator<Item = (&'a Handle, u64)>, how: u64, place: Place) {
    settle();
    let ex = context::required("a wait", place);
    // SAFETY: a current execution is valid, and no reference into it is held over a suspension.
    unsafe {
        if (*ex).phase != Phase::Running {
            return given_up(ex);
        }
        let mut seen = std::mem::take(&mut (*ex).seen);
        seen.clear();
        for (handle, word) in objects {
            let object = (*ex).resolve(handle, Class::Atomic, 0, place);
            if seen.iter().all(|s| s.0 != object) {
                seen.push((object, word));
            }
        }
        let at_once = (*ex).announce_await(&seen, how, site(place));
        (*ex).seen = seen;
        if !at_once && !sync::suspend(ex) {
            return given_up(ex);
        }
        let op = (&(*ex).pending)[(*ex).current.index()].op;
        (*ex).finish(op, 0);
    }
}

/// Blocks that nobody may interrupt: a reader-writer lock that such a block holds for writing, and that every other step on
/// memory holds for reading. Readers do not conflict with each other, so programs without such blocks lose nothing by it, and a
/// block is ordered with every step of the others: more orders than can be told apart, none too few. What is no memory
/// (locks, queues) is not held up by a block.
#[derive(Default)]
pub(crate) struct Blocks {
    /// The lock, once the program is known to have such blocks.
    lock: Option<ObjectId>,
    /// Whose block runs.
    inside: Option<ThreadId>,
    /// Threads that have yet to give the lock back, at their next operation: the program accesses its memory only after the step.
    /// Others may run between the two.
    owed: ThreadSet,
}

/// Says, at the start of an execution, that the program has blocks that nobody may interrupt; `lock` is theirs.
pub fn have_blocks(lock: &Handle, place: Place) {
    let ex = context::required("a block", place);
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        let id = (*ex).resolve(lock, Class::RwLock, 0, place);
        (*ex).blocks.lock = Some(id);
        (*ex).races.blocks = Some(id);
    }
}

/// Whether the program has such blocks.
pub fn has_blocks() -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    !ex.is_null() && unsafe { (*ex).blocks.any() }
}

/// Enters such a block. Says `false`, and does nothing, if the thread is in one already.
pub fn enter_block(place: Place) -> bool {
    settle();
    let ex = context::required("a block", place);
    // SAFETY: a current execution is valid, and no reference into it is held over the step.
    unsafe {
        let Some(lock) = (*ex).blocks.lock else { return false };
        if (*ex).blocks.inside == Some((*ex).current) {
            return false;
        }
        sync::step_on(ex, Op::new(OpKind::WriteLock, lock), place);
        (*ex).blocks.inside = Some((*ex).current);
        true
    }
}

/// Leaves it. Says `false`, and does nothing, if the thread is in none.
pub fn leave_block(place: Place) -> bool {
    settle();
    let ex = context::required("a block", place);
    // SAFETY: as above.
    unsafe {
        let Some(lock) = (*ex).blocks.lock.filter(|_| (*ex).blocks.inside == Some((*ex).current)) else {
            return false;
        };
        (*ex).blocks.inside = None;
        sync::step_on(ex, Op::new(OpKind::WriteUnlock, lock), place);
        true
    }
}

impl Blocks {
    pub(crate) fn reset(&mut self) {
        *self = Blocks::default();
    }

    /// Whether there are such blocks in the program.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.lock.is_some()
    }
}

/// A step on memory is about to be taken outside a block.
///
/// # Safety
///
/// `ex` is the current execution, and no reference into it is alive.
#[cold]
pub(crate) unsafe fn before_memory(ex: *mut Execution, place: Place) {
    // SAFETY: by the contract.
    unsafe {
        if let Some(lock) = (*ex).blocks.lock
            && (*ex).blocks.inside != Some((*ex).current)
            && (*ex).phase == Phase::Running
        {
            sync::step_on(ex, Op::new(OpKind::ReadLock, lock), place);
            (*ex).blocks.owed.insert((*ex).current);
        }
    }
}

/// If the running thread has accessed memory, that has been done.
///
/// # Safety
///
/// As for [`before_memory`].
#[cold]
pub(crate) unsafe fn after_memory(ex: *mut Execution) {
    // SAFETY: by the contract.
    unsafe {
        if let Some(lock) = (*ex).blocks.lock
            && (*ex).blocks.owed.remove((*ex).current)
            && (*ex).phase == Phase::Running
        {
            let site = (&(*ex).pending)[(*ex).current.index()].site;
            let place = crate::record::place_of(site).unwrap_or(Place(0));
            sync::step_on(ex, Op::new(OpKind::ReadUnlock, lock), place);
        }
    }
}
