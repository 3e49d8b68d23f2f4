//! Ends of objects, and uses of objects by a thread that owns them alone (`get_mut`, `into_inner`).
//!
//! Neither is a step, but both must be ordered with every operation of other threads on the object: otherwise memory is used that is
//! freed, or accessed without synchronisation. While other threads live, operations that came before are compared at once ([`crate::races`] says what
//! orders steps), and those that come after a lone use when the execution has ended.
//!
//! An object that was dropped is marked in its handle. An operation that still finds the mark, or other bytes that are not those of a new object, uses
//! memory after its end. So does one that another thread was about to do when the object was dropped: it is found when the execution has ended.
//!
//! The last reference of an `Arc` of std's may drop an object: its counts order more than is seen, so such ends are not compared.

use crate::execution::{Execution, Moment, Noted, Phase};
use crate::objects::{GONE, Handle};
use crate::races::Races;
use crate::record::Logged;
use crate::{Place, callers, context, sync};
use explore::{Failure, FailureKind, ObjectId, OpKind, ThreadId};

/// A use of an object by a thread that has to be its only user.
pub(crate) struct Alone {
    /// How many steps had been taken.
    at: usize,
    thread: ThreadId,
    object: Option<ObjectId>,
    address: usize,
    /// The object that lies there now.
    then: Option<ObjectId>,
    place: Place,
    /// How many steps its thread had taken; found out at the end.
    seq: u32,
}

impl Alone {
    /// Whether a step is an operation of another thread on the object.
    fn is_used_by(&self, l: &Logged) -> bool {
        let is_it = |o: ObjectId| o.is_some() && (self.object == Some(o) || self.then == Some(o));
        l.thread != self.thread && touches(l, is_it)
    }
}

fn touches(l: &Logged, is_it: impl Fn(ObjectId) -> bool) -> bool {
    !matches!(l.kind, OpKind::Spawn | OpKind::Join | OpKind::Fence)
        && (is_it(l.object) || l.kind == OpKind::Wait && is_it(l.other))
}

/// The end of an object while other threads live.
struct Dropped {
    address: usize,
    thread: ThreadId,
    /// The object, if the execution had met it.
    object: Option<ObjectId>,
    /// How many steps had been taken.
    at: usize,
    /// The memory was freed after that.
    freed: bool,
    /// It was not dropped: its memory was freed, or moved.
    lost: bool,
}

/// The ends and lone uses of one execution.
#[derive(Default)]
pub(crate) struct Lifetimes {
    alone: Vec<Alone>,
    dropped: Vec<Dropped>,
    /// How often objects that were first used at a place were dropped by an `Arc` of std's, in all executions.
    by_arcs: Vec<(Place, u32)>,
}

/// So many ends are compared with other objects at the same address.
const MOST_ENDS: usize = 256;

/// After so many times objects of a place are taken to be dropped by an `Arc` of std's always.
const ALWAYS: u32 = 32;

impl Lifetimes {
    /// Whether an object may be met where another one has ended, or is used by one thread alone.
    #[inline]
    pub(crate) fn has_ends(&self) -> bool {
        !self.alone.is_empty() || !self.dropped.is_empty()
    }

    /// A block of memory is freed: another object there may be another allocation.
    pub(crate) fn freed(&mut self, block: std::ops::Range<usize>) {
        for d in self.dropped.iter_mut().rev().take(MOST_ENDS).filter(|d| block.contains(&d.address)) {
            d.freed = true;
        }
    }

    /// Forgets everything, for another check.
    pub(crate) fn renew(&mut self) {
        self.clear();
        self.by_arcs.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.alone.clear();
        self.dropped.clear();
    }
}

/// The object is dropped.
#[inline]
pub fn object_ends(object: &mut Handle) {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: a current execution is valid; borrows end before `fail`, which suspends.
    unsafe {
        if (*ex).phase != Phase::Running {
            return;
        }
        let id = (*ex).known(object);
        let others = (*ex).unjoined > 0 && (*ex).in_fiber;
        if id.is_none() && !others {
            return;
        }
        let race = id.filter(|_| others).and_then(|id| ends_among_others(&mut *ex, id, object.address()));
        bury(&mut *ex, object);
        if let Some((message, place)) = race {
            sync::fail(FailureKind::DataRace, message, place);
        }
    }
}

/// The object is dropped, and all who had it have left it by steps.
#[inline]
pub fn object_gone(object: &mut Handle) {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if !ex.is_null() && (*ex).phase == Phase::Running && (*ex).known(object).is_some() {
            bury(&mut *ex, object);
        }
    }
}

/// Marks an object as one that was dropped.
pub(crate) fn bury(ex: &mut Execution, object: &mut Handle) {
    if ex.keeps_values {
        crate::outside::forget(object.address());
    }
    if let Some(id) = ex.known(object) {
        ex.objects[id.index()].address |= GONE;
    }
    // Whoever still uses it may find other bytes where the mark was.
    if ex.unjoined > 0 {
        let (address, thread, at) = (object.address(), ex.current, ex.log.len());
        ex.lifetimes.dropped.push(Dropped {
            address,
            thread,
            object: ex.known(object),
            at,
            freed: false,
            lost: false,
        });
    }
    object.bury(ex.epoch);
}

#[cold]
fn ends_among_others(ex: &mut Execution, id: ObjectId, address: usize) -> Option<(String, Place)> {
    // The memory of `raddle::alloc` is compared where it is freed.
    if crate::heap::is_allocated(address) {
        return None;
    }
    let place = ex.objects[id.index()].place.unwrap_or(Place(0));
    if ex.lifetimes.by_arcs.iter().any(|(p, n)| *p == place && *n >= ALWAYS) {
        return None;
    }
    let other = unordered_use(ex, id).filter(|_| !std::thread::panicking())?;
    if callers::in_arc_of_std(ex.threads[ex.current.index()].arc_drops) {
        let by_arcs = &mut ex.lifetimes.by_arcs;
        match by_arcs.iter_mut().find(|(p, _)| *p == place) {
            Some((_, n)) => *n += 1,
            None => by_arcs.push((place, 1)),
        }
        return None;
    }
    let name = ex.object_name(id).unwrap_or_default();
    let (owner, other) = (ex.thread_label(ex.current), ex.thread_label(other));
    let message = format!(
        "data race on {name}: dropped by {owner}, and used by {other}, with nothing that orders them"
    );
    Some((message, place))
}

/// Another thread that has used an object, where nothing orders that before the running thread.
fn unordered_use(ex: &mut Execution, id: ObjectId) -> Option<ThreadId> {
    let t = ex.current;
    if !ex.log.iter().any(|l| l.thread != t && touches(l, |o| o == id)) {
        return None;
    }
    ex.order_steps();
    let known = ex.races.steps_known_to(t);
    let mut taken = vec![0u32; ex.threads.len()];
    for l in &ex.log {
        let number = &mut taken[l.thread.index()];
        *number += 1;
        let seen = known.get(l.thread.index()).copied().unwrap_or(0);
        if l.thread != t && touches(l, |o| o == id) && seen < *number {
            return Some(l.thread);
        }
    }
    None
}

/// The running thread uses an object as one that nobody else has.
#[inline]
pub fn object_owned(object: &Handle, place: Place) {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: a current execution is valid; borrows end before `fail`, which suspends.
    unsafe {
        if (*ex).phase == Phase::Running && (*ex).in_fiber && (*ex).unjoined > 0 {
            let id = (*ex).known(object);
            if let Some(message) = owned_among_others(&mut *ex, id, object.address(), place) {
                sync::fail(FailureKind::DataRace, message, place);
            }
        }
    }
}

#[cold]
fn owned_among_others(
    ex: &mut Execution,
    id: Option<ObjectId>,
    address: usize,
    place: Place,
) -> Option<String> {
    if let Some(id) = id
        && let Some(other) = unordered_use(ex, id)
    {
        if std::thread::panicking() || callers::in_arc_of_std(ex.threads[ex.current.index()].arc_drops) {
            return None;
        }
        let alone = Alone { at: 0, thread: ex.current, object: Some(id), address, then: None, place, seq: 0 };
        return Some(ex.described(&alone, other));
    }
    // Each is compared with all steps at the end.
    const MOST: usize = 256;
    let (at, thread) = (ex.log.len(), ex.current);
    let alone = &mut ex.lifetimes.alone;
    let same = |a: &Alone| a.thread == thread && a.object == id && a.at == at && a.place == place;
    if alone.len() < MOST && !alone.last().is_some_and(same) {
        alone.push(Alone { at, thread, object: id, address, then: None, place, seq: 0 });
    }
    None
}

impl Execution {
    /// An object is met at an address. Returns what is to be said if one was dropped there and none was made since.
    pub(crate) fn met_at(&mut self, address: usize, id: ObjectId, word: u64) -> Option<String> {
        for a in self.lifetimes.alone.iter_mut().filter(|a| a.address == address) {
            a.then.get_or_insert(id);
        }
        let dropper = self.lifetimes.dropped.iter().rfind(|d| d.address == address);
        let buried = (word >> 32) as u32 == !self.epoch;
        // What freed memory is used for overwrites the mark; a new object has a handle that is 0.
        let garbage = word != 0 && dropper.is_some();
        if self.phase != Phase::Running || !self.in_fiber {
            return None;
        }
        if !buried && !garbage {
            return self.replaced_at(address, id);
        }
        let lost = dropper.is_some_and(|d| d.lost);
        Some(self.used_when_gone(id, self.current, dropper.map(|d| d.thread), lost))
    }

    /// What is to be said if a new object lies where another thread has dropped one, in the same memory, and nothing orders that before
    /// the running thread: it was overwritten.
    #[cold]
    fn replaced_at(&mut self, address: usize, id: ObjectId) -> Option<String> {
        let t = self.current;
        let dropped = self.lifetimes.dropped.iter().rev().take(MOST_ENDS).find(|d| d.address == address)?;
        let (dropper, at) = (dropped.thread, dropped.at);
        // Without frees nothing is known of the heap, and a stack may have another thread's frames by now.
        let on_stack = self.holder_of_stack(address);
        let is_same_memory = !dropped.freed
            && !dropped.lost
            && on_stack.map_or_else(crate::frees::are_seen, |holder| holder == dropper);
        if dropper == t || !is_same_memory || crate::heap::is_allocated(address) {
            return None;
        }
        self.order_steps();
        let before = self.log[..at].iter().filter(|l| l.thread == dropper).count() as u32;
        let known = self.races.steps_known_to(t).get(dropper.index()).copied().unwrap_or(0);
        if known > before {
            return None;
        }
        let what = crate::record::class_word(self.objects[id.index()].class).unwrap_or("object");
        let (owner, user) = (self.thread_label(dropper), self.thread_label(t));
        Some(format!("the {what} that {user} uses is overwritten by {owner}, with nothing that orders them"))
    }

    /// A new object is met at an address at which another one may have been. If that one was neither dropped nor moved and its memory was
    /// not freed, somebody has written over it, as `ptr::write` does.
    #[cold]
    pub(crate) fn replaced_without_drop(&mut self, address: usize, id: ObjectId, place: Place) {
        if self.phase != Phase::Running || !self.in_fiber || self.unjoined == 0 || self.heap.fault.is_some() {
            return;
        }
        let old = self.objects.iter().position(|o| o.address == address).filter(|i| *i != id.index());
        let Some(old) = old.map(|i| ObjectId(i as u32)) else { return };
        // An object that was moved out of a frame that has returned, or whose memory was freed unseen, leaves no trace.
        let is_heap = self.holder_of_stack(address).is_none() && !crate::heap::is_allocated(address);
        if !is_heap || !crate::frees::are_seen() || self.freed_alone {
            return;
        }
        self.objects[old.index()].address |= GONE;
        let what = crate::record::class_word(self.objects[old.index()].class).unwrap_or("object");
        match unordered_use(self, old) {
            Some(other) => {
                let (user, other) = (self.thread_label(self.current), self.thread_label(other));
                let message = format!(
                    "the {what} that {user} uses was written over the one that {other} used, with nothing that orders them"
                );
                self.heap.fault = Some(Box::new((message, place)));
                (self.due, self.attend) = (true, true);
            }
            None => {
                let text = "an object is written over another one that was not dropped, as by `ptr::write`: whether the write is ordered with \
                            what other threads do is not checked (assign, or drop the old one first)";
                self.caveats.note_at(explore::CaveatKind::Races, text, place);
            }
        }
    }

    /// The running thread uses an object at another address than before: it was moved. Others must have been done with it.
    #[cold]
    pub(crate) fn object_moved(&mut self, before: usize, id: ObjectId, place: Place) {
        let before = before & !GONE;
        if before == 0 || self.phase != Phase::Running || !self.in_fiber || self.heap.fault.is_some() {
            return;
        }
        // Out of memory on the heap an `Arc` of std's may have given it, whose counts order more than is seen.
        let on_stack = self.holder_of_stack(before).is_some();
        let other = self.about_to_use(id).or_else(|| if on_stack { unordered_use(self, id) } else { None });
        let Some(other) = other else { return };
        let what = crate::record::class_word(self.objects[id.index()].class).unwrap_or("object");
        let (owner, other) = (self.thread_label(self.current), self.thread_label(other));
        let message = format!(
            "the {what} that {owner} uses was moved while {other} used it, with nothing that orders them"
        );
        self.heap.fault = Some(Box::new((message, place)));
        (self.due, self.attend) = (true, true);
    }

    /// A thread other than the running one that has announced an operation on an object.
    fn about_to_use(&self, id: ObjectId) -> Option<ThreadId> {
        self.order.iter().copied().find(|t| {
            let pending = self.pending.get(t.index());
            *t != self.current && self.live.contains(*t) && pending.is_some_and(|p| p.op.object == id)
        })
    }

    /// What is to be said if an object that the running thread has just used is not at its address any more: another thread overwrote it,
    /// or moved something else there, after the operation was announced.
    #[cold]
    pub(crate) fn overwritten_meanwhile(&self, handle: &Handle, id: ObjectId) -> Option<String> {
        let (address, object) = (handle.address(), &self.objects[id.index()]);
        let known = self.lifetimes.dropped.iter().any(|d| d.address == address)
            || self.lifetimes.alone.iter().any(|a| a.address == address || a.object == Some(id));
        if self.phase != Phase::Running
            || !self.in_fiber
            || object.home == crate::objects::Home::Static
            || known
        {
            return None;
        }
        let what = crate::record::class_word(object.class).unwrap_or("object");
        let user = self.thread_label(self.current);
        Some(format!(
            "the {what} that {user} uses was moved or overwritten by another thread, with nothing that orders them"
        ))
    }

    /// The memory of an object that was not dropped is freed, or moved, by the running thread.
    pub(crate) fn object_leaves(&mut self, address: usize, id: ObjectId, moved: bool) {
        self.objects[id.index()].address |= GONE;
        let (thread, at) = (self.current, self.log.len());
        // Only what is moved is known not to be an `Arc` of std's, whose counts order more than is seen.
        let other = self.about_to_use(id).or_else(|| if moved { unordered_use(self, id) } else { None });
        if let Some(other) = other {
            let what = crate::record::class_word(self.objects[id.index()].class).unwrap_or("object");
            let (owner, other) = (self.thread_label(thread), self.thread_label(other));
            let how = if moved { "moved" } else { "freed without being dropped" };
            let message = format!(
                "the memory of the {what} that {other} uses is {how} by {owner}, with nothing that orders them"
            );
            let place = self.objects[id.index()].place.unwrap_or(Place(0));
            self.heap.fault.get_or_insert_with(|| Box::new((message, place)));
            (self.due, self.attend) = (true, true);
        }
        self.lifetimes.dropped.push(Dropped { address, thread, object: None, at, freed: true, lost: true });
    }

    fn used_when_gone(&self, id: ObjectId, user: ThreadId, dropper: Option<ThreadId>, lost: bool) -> String {
        let what = crate::record::class_word(self.objects[id.index()].class).unwrap_or("object");
        let by = dropper.map_or(String::new(), |d| format!(" by {}", self.thread_label(d)));
        let user = self.thread_label(user);
        if lost {
            return format!(
                "the {what} that {user} uses lies in memory that was freed, or moved, before{by}"
            );
        }
        format!("the {what} that {user} uses was dropped before{by}")
    }

    /// A step on an object that another thread had dropped by then, in an execution that has ended. The thread was about to take it when the object
    /// was dropped.
    pub(crate) fn used_after_end(&mut self) -> Option<Box<Failure>> {
        let dropped = &self.lifetimes.dropped;
        let first = dropped.iter().filter(|d| d.object.is_some()).map(|d| d.at).min()?;
        let mut ends: Vec<Option<&Dropped>> = vec![None; self.objects.len()];
        for d in dropped {
            if let Some(object) = d.object {
                ends[object.index()] = Some(d);
            }
        }
        let later = self.log.iter().enumerate().skip(first);
        let (at, message, place) = later.into_iter().find_map(|(i, l)| {
            let is_gone = |o: ObjectId| {
                let end = if o.is_some() { ends.get(o.index()).copied().flatten() } else { None };
                end.filter(|d| d.at <= i && d.thread != l.thread)
            };
            let touched = [Some(l.object), (l.kind == OpKind::Wait).then_some(l.other)];
            let end = touched.into_iter().flatten().filter(|o| touches(l, |t| t == *o)).find_map(is_gone)?;
            let object = end.object?;
            Some((
                (i, l.thread),
                self.used_when_gone(object, l.thread, Some(end.thread), false),
                self.objects[object.index()].place,
            ))
        })?;
        let (kind, location) = (FailureKind::UseAfterFree, place.map(|p| p.to_string()));
        let noted = Noted {
            kind,
            message,
            location,
            thread: Some(at.1),
            help: None,
            at: Some(self.moment_of(at.0)),
            passed: None,
        };
        Some(Box::new(self.full_failure(noted)))
    }

    /// The moment right after a step of an execution that has ended. The schedule is that of the whole execution.
    fn moment_of(&self, step: usize) -> Moment {
        Moment { rows: self.rows_until(step), steps: self.log.len(), options: self.options.len() }
    }

    /// A lone use of an object that is not ordered before a later operation of another thread, in an execution that has ended.
    pub(crate) fn shared_while_alone(&mut self) -> Option<Box<Failure>> {
        if self.lifetimes.alone.is_empty() {
            return None;
        }
        let mut alone = std::mem::take(&mut self.lifetimes.alone);
        alone.retain(|a| self.log[a.at..].iter().any(|l| a.is_used_by(l)));
        if alone.is_empty() {
            return None;
        }
        let mut order = Races::like(&self.races);
        let mut taken = vec![0u32; self.threads.len()];
        for (i, l) in self.log.iter().enumerate() {
            for a in alone.iter_mut().filter(|a| a.at == i) {
                a.seq = taken[a.thread.index()];
            }
            order.take_steps(&self.log[..=i], self.threads.len(), self.objects.len());
            taken[l.thread.index()] += 1;
            let known = order.steps_known_to(l.thread);
            let unordered = |a: &&Alone| known.get(a.thread.index()).copied().unwrap_or(0) <= a.seq;
            if let Some(a) = alone.iter().filter(|a| a.at <= i && a.is_used_by(l)).find(unordered) {
                let message = self.described(a, l.thread);
                let location = Some(a.place.to_string());
                let kind = FailureKind::DataRace;
                let (thread, at) = (Some(l.thread), Some(self.moment_of(i)));
                let noted = Noted { kind, message, location, thread, help: None, at, passed: None };
                return Some(Box::new(self.full_failure(noted)));
            }
        }
        None
    }

    fn described(&self, a: &Alone, other: ThreadId) -> String {
        let name = a.object.or(a.then).and_then(|o| self.object_name(o)).unwrap_or_default();
        let (owner, other) = (self.thread_label(a.thread), self.thread_label(other));
        format!(
            "data race on {name}: used through `&mut` by {owner} at {}, and used by {other}, with nothing that orders them",
            a.place
        )
    }
}
