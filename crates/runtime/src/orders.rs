//! Memory orders weaker than sequentially consistent: where a program uses them.
//!
//! The search is sequentially consistent. An atomic operation with a weaker order can do more on real machines, so the report
//! names each place at which one was executed while other threads lived, on an object that several threads access.

use crate::context;
use crate::execution::{Execution, Phase};
use crate::objects::Handle;
use crate::{Class, Place};
use explore::{CaveatKind, MemoryOrder, ObjectId};

/// In place of the number of a thread: several threads have accessed the object.
const SEVERAL: u16 = u16::MAX;

/// The weak operations of a session and of its running execution.
#[derive(Default)]
pub(crate) struct Weak {
    /// Places that were reported in this session.
    noted: Vec<Place>,
    /// Operations of this execution on objects that one thread alone has accessed so far.
    pending: Vec<(ObjectId, Place)>,
}

impl Weak {
    /// A new session starts.
    pub(crate) fn clear(&mut self) {
        self.noted.clear();
        self.pending.clear();
    }

    /// A new execution starts.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.pending.clear();
    }
}

/// Whether an order is weaker than sequentially consistent.
#[inline]
pub fn is_weak(order: MemoryOrder) -> bool {
    matches!(order, MemoryOrder::Relaxed | MemoryOrder::Acquire | MemoryOrder::Release | MemoryOrder::AcqRel)
}

/// The running thread has executed an atomic operation that the program wrote with this order.
#[inline]
pub fn ordered_access(object: &Handle, order: MemoryOrder, place: Place) {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: a current execution is valid; the borrow ends with this function.
    let ex = unsafe { &mut *ex };
    if let Some(id) = ex.find(object) {
        record(ex, id, order, place);
    }
}

/// The running thread is about to execute such an operation on an object of ours. Nothing may run after an operation that leaves traces
/// on the stack, which the search for loops looks at.
#[inline]
pub fn ordered_step(object: &Handle, initial: u64, order: MemoryOrder, place: Place) {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: as above.
    let ex = unsafe { &mut *ex };
    if ex.phase == Phase::Running {
        let id = ex.resolve(object, Class::Atomic, initial, place);
        record(ex, id, order, place);
    }
}

#[inline]
fn record(ex: &mut Execution, id: ObjectId, order: MemoryOrder, place: Place) {
    let thread = ex.current.0 + 1;
    let toucher = &mut ex.objects[id.index()].toucher;
    let before = *toucher;
    if before != thread && before != SEVERAL {
        *toucher = if before == 0 { thread } else { SEVERAL };
    }
    let several = *toucher == SEVERAL;
    if is_weak(order) && !ex.weak.noted.contains(&place) {
        weak_access(ex, id, several, place);
    }
    if several && before != SEVERAL && !ex.weak.pending.is_empty() {
        became_shared(ex, id);
    }
}

/// The running thread has executed a fence with this order.
pub fn ordered_fence(order: MemoryOrder, place: Place) {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends with this function.
    if !ex.is_null() && is_weak(order) && unsafe { has_others(&*ex) } {
        // SAFETY: as above.
        note(unsafe { &mut *ex }, place);
    }
}

/// Whether there are several threads right now.
pub fn is_concurrent() -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    !ex.is_null() && unsafe { has_others(&*ex) }
}

/// Before the first thread starts, and after the others have ended, no order makes a difference.
fn has_others(ex: &Execution) -> bool {
    ex.phase == Phase::Running && ex.live.len() > 1
}

#[cold]
fn weak_access(ex: &mut Execution, id: ObjectId, several: bool, place: Place) {
    if !has_others(ex) {
        return;
    }
    if several {
        note(ex, place);
    } else if !ex.weak.pending.contains(&(id, place)) {
        ex.weak.pending.push((id, place));
    }
}

#[cold]
fn became_shared(ex: &mut Execution, id: ObjectId) {
    let pending = std::mem::take(&mut ex.weak.pending);
    for &(_, place) in pending.iter().filter(|(object, _)| *object == id) {
        note(ex, place);
    }
    ex.weak.pending = pending;
    ex.weak.pending.retain(|(object, _)| *object != id);
}

fn note(ex: &mut Execution, place: Place) {
    if ex.weak.noted.contains(&place) {
        return;
    }
    ex.weak.noted.push(place);
    let text = "atomic operations with orders weaker than seq_cst were explored as sequentially consistent";
    ex.caveats.add(CaveatKind::MemoryOrder, text.into(), place);
}
