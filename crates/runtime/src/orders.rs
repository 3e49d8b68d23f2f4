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
    /// So many steps of this execution were looked at to see which threads access an object.
    seen: usize,
}

impl Weak {
    /// A new session starts.
    pub(crate) fn clear(&mut self) {
        self.noted.clear();
        self.reset();
    }

    /// A new execution starts.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.pending.clear();
        self.seen = 0;
    }

    /// Whether steps are looked at to see if another thread accesses the object of a weak operation.
    #[inline(always)]
    pub(crate) fn waits(&self) -> bool {
        !self.pending.is_empty()
    }
}

/// The running thread is about to take a step on an object, and a weak operation waits for another thread to access its object.
pub(crate) fn about_to_step(ex: &mut Execution, object: ObjectId, order: MemoryOrder) {
    if order != MemoryOrder::None && object.is_some() {
        look_at_steps(ex);
        touched(ex, object, ex.current.0 + 1);
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
    if is_weak(order)
        && let Some(id) = ex.find(object)
    {
        record(ex, id, place);
    }
}

/// The running thread is about to execute such an operation on an object of ours. Nothing may run after an operation that leaves traces
/// on the stack, which the search for loops looks at.
#[inline(always)]
pub fn ordered_step(object: &Handle, initial: impl FnOnce() -> u64, order: MemoryOrder, place: Place) {
    // Steps with other orders are looked at later, if that matters.
    if is_weak(order) {
        weak_step(object, initial(), place);
    }
}

#[inline(never)]
fn weak_step(object: &Handle, initial: u64, place: Place) {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: as above, and no reference into it is held over the start of other threads.
    let ex = unsafe {
        if (*ex).deferred {
            context::start_deferred(ex, place);
        }
        &mut *ex
    };
    if ex.phase == Phase::Running {
        let id = ex.resolve(object, Class::Atomic, initial, place);
        record(ex, id, place);
    }
}

/// The running thread executes a weak operation.
fn record(ex: &mut Execution, id: ObjectId, place: Place) {
    if ex.weak.noted.contains(&place) {
        return;
    }
    look_at_steps(ex);
    let thread = ex.current.0 + 1;
    let toucher = ex.objects[id.index()].toucher;
    weak_access(ex, id, toucher != 0 && toucher != thread, place);
    touched(ex, id, thread);
}

/// Brings up to date which threads have accessed an object: steps are not looked at while nothing depends on it.
fn look_at_steps(ex: &mut Execution) {
    while let Some(l) = ex.log.get(ex.weak.seen) {
        let (object, thread, atomic) = (l.object, l.thread.0 + 1, l.order != MemoryOrder::None);
        ex.weak.seen += 1;
        if atomic && object.is_some() {
            touched(ex, object, thread);
        }
    }
}

/// A thread, given by its number plus one, has accessed an object.
fn touched(ex: &mut Execution, id: ObjectId, thread: u16) {
    let toucher = &mut ex.objects[id.index()].toucher;
    if *toucher == 0 {
        *toucher = thread;
    } else if *toucher != thread && *toucher != SEVERAL {
        *toucher = SEVERAL;
        if !ex.weak.pending.is_empty() {
            became_shared(ex, id);
        }
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
        ex.attend = true;
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
