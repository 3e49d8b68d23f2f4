//! Steps on objects that lie in the memory of a program in machine code, and what else only such programs do.
//!
//! There the memory is what counts: the program may change a word without telling (before its threads start, or where the
//! compiler left no hook), so it is read again when a step runs, and written after it. A write that is not atomic is done by
//! the program itself, after its turn has come: only at the thread's next operation is its value known, and only then is the
//! step over ([`write_later`], [`settle`]). Nobody else runs in between.

use crate::execution::{Execution, Phase};
use crate::objects::Handle;
use crate::record::PlainKind;
use crate::spin::{self, Key};
use crate::sync::{self, await_change, given_up, turn, turn_here};
use crate::{Class, Done, Place, Request, context, foreign, races};
use explore::{MemoryOrder, Mode, ObjectId, Op, OpKind, ThreadId};

/// A write whose turn has come and whose value will be in memory at the next operation.
#[derive(Clone, Copy)]
pub(crate) struct Unsettled {
    op: Op,
    object: &'static Handle,
    read: fn(&'static Handle) -> u64,
}

/// Whether a thread of the program runs, and not the runtime between executions.
#[inline]
pub fn in_execution() -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    !ex.is_null() && unsafe { (*ex).in_fiber }
}

/// Whether the running thread is the only one, and every thread that there was has been joined. Then all that was done so far
/// happens before all that is to come: no access of this thread can race with another.
#[inline]
pub fn is_alone() -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    !ex.is_null() && unsafe { (*ex).unjoined == 0 }
}

/// Whether plain accesses are recorded: the execution is one that is shown.
#[inline]
pub fn records_plain() -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    !ex.is_null() && unsafe { (*ex).with_callers && (*ex).recording }
}

/// Records a plain access to so many bytes, by the name that the front end has for the first of them. Not a step.
#[cold]
pub fn record_plain(name: u64, bytes: usize, write: bool, place: Place) {
    record(name, bytes, if write { PlainKind::Write } else { PlainKind::Read }, place);
}

/// Records that a block is freed, which the front end knows by its address. Not a step.
#[cold]
pub fn record_free(start: usize, bytes: usize, place: Place) {
    record(start as u64, bytes, PlainKind::Free, place);
}

/// Records that a local variable is gone, because the function that it belongs to has returned. Not a step.
#[cold]
pub fn record_end(name: u64, bytes: usize, place: Place) {
    record(name, bytes, PlainKind::End, place);
}

fn record(name: u64, bytes: usize, kind: PlainKind, place: Place) {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: a current execution is valid, and our callers hold no reference into it.
        unsafe {
            // A record takes memory: an overflow inside the allocator would leave its lock taken.
            sync::check_stack(ex);
            (*ex).record_plain(name, bytes as u64, kind, place);
        }
    }
}

/// Whether the running thread may be in a loop, so that what it changes must be told.
#[inline]
pub fn is_looking() -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    !ex.is_null() && unsafe { (*ex).looking }
}

/// Whether code of the program runs, and not the search: for signal handlers.
pub fn in_program() -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    !ex.is_null() && unsafe { (*ex).in_fiber && (*ex).in_user_code() }
}

/// Where to look whether the running thread may be in a loop: if so, each step wants the local state. Valid until the execution
/// ends.
pub fn looking_flag() -> *const bool {
    let ex = context::current();
    debug_assert!(!ex.is_null());
    // SAFETY: a current execution is valid.
    unsafe { &raw const (*ex).looking }
}

/// The local state of a thread at an operation, or where it is: it is hashed only if the thread did the same operation before. One word,
/// as it goes with each operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalState(usize);

impl LocalState {
    /// It was not taken, as nobody looks for a loop.
    pub const UNKNOWN: LocalState = LocalState(0);

    /// The registers that calls preserve lie at an address on the thread's stack, and what follows is all the rest of the stack that counts.
    #[inline]
    pub fn on_stack(address: usize) -> LocalState {
        LocalState(address & !1)
    }

    /// A number stands for it.
    #[inline]
    pub fn number(n: usize) -> LocalState {
        LocalState(n << 1 | 1)
    }

    /// A number that stands for this one and one more word: the running thread's, in the call that it came with.
    #[cold]
    pub fn with(self, word: u64) -> LocalState {
        if self == LocalState::UNKNOWN {
            return self;
        }
        let ex = context::current();
        // SAFETY: a current execution is valid; the borrow ends here.
        let own = if ex.is_null() { self.word() } else { crate::spin::word_of(unsafe { &*ex }, self) };
        let mixed = (own ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        LocalState::number(mixed as usize)
    }

    /// The address, if that is what it is.
    pub(crate) fn address(self) -> Option<usize> {
        (self.0 & 1 == 0).then_some(self.0)
    }

    /// The number, or what stands for one.
    pub(crate) fn word(self) -> u64 {
        self.0 as u64
    }
}

/// Where the frames of the running thread end; 0 where none runs.
pub fn frames_end() -> usize {
    let ex = context::current();
    if ex.is_null() {
        return 0;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe { (&(*ex).threads)[(*ex).current.index()].frames_end }
}

/// Ends the step of a write that has been done meanwhile. Every operation of such a program starts with this.
#[inline]
pub fn settle() {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: a current execution is valid, and our callers hold no reference into it.
        unsafe { settle_in(ex) };
    }
}

/// # Safety
///
/// `ex` is the current execution, and no reference into it is alive.
#[inline(always)]
unsafe fn settle_in(ex: *mut Execution) {
    // SAFETY: by the contract.
    unsafe {
        if (*ex).unsettled.is_some() {
            finish_write(ex);
        }
        if (*ex).blocks.any() {
            foreign::after_memory(ex);
        }
    }
}

/// # Safety
///
/// As for `settle_in`.
#[inline(never)]
unsafe fn finish_write(ex: *mut Execution) {
    // SAFETY: by the contract.
    unsafe {
        if let Some(Unsettled { op, object, read }) = (*ex).unsettled.take()
            && (*ex).phase == Phase::Running
        {
            (*ex).finish(op.with(read(object), 0), 0);
        }
    }
}

/// What a request is, for the search for loops; `state` is the local state.
///
/// # Safety
///
/// `ex` is the current execution, and no reference into it is alive.
#[inline]
unsafe fn watch(ex: *mut Execution, object: ObjectId, r: &Request<'_>, state: LocalState) {
    // SAFETY: by the contract; the borrow ends here.
    unsafe {
        if (*ex).looking {
            let (a, b) = if r.kind == OpKind::Rmw { (0, 0) } else { (r.a, r.b) };
            let key = Key { site: sync::site(r.place), object, kind: spin::strong(r.kind), a, b };
            spin::compare_at(&mut *ex, key, state);
        }
    }
}

/// A step on an object that is no memory of the program, with the local state.
pub fn step_in(request: &Request<'_>, state: LocalState) -> Done {
    settle();
    let ex = context::required("an operation", request.place);
    // SAFETY: a current execution is valid, and no reference into it is held over the step.
    unsafe {
        let object = if request.class == Class::Version {
            ObjectId::NONE
        } else {
            (*ex).resolve(request.object, request.class, request.initial, request.place)
        };
        watch(ex, object, request, state);
        let op = Op::new(request.kind, object).with(request.a, request.b).ordered(request.order);
        sync::step_on(ex, op, request.place)
    }
}

/// A step on a queue of bytes ([`OpKind::Transfer`] or [`OpKind::TryTransfer`]): `change` does it, if it can be done, and says what the
/// word is then.
pub fn transfer(request: &Request<'_>, state: LocalState, change: impl FnOnce(u64) -> u64) -> Done {
    settle();
    let ex = context::required("a descriptor", request.place);
    // SAFETY: a current execution is valid, and no reference into it is held over a suspension or over `change`.
    unsafe {
        let object = (*ex).resolve(request.object, request.class, request.initial, request.place);
        watch(ex, object, request, state);
        let site = sync::site(request.place);
        let mut op = Op::new(request.kind, object).with(0, request.b).ordered(request.order);
        if !(*ex).is_running() || (*ex).repeat.is_some() && !await_change(ex, site) || !turn(ex, op, site) {
            given_up(ex);
            return Done { value: 0, ok: false };
        }
        let old = (*ex).word(object);
        if explore::semantics::meets(old, op.b) {
            op.a = change(old);
        }
        (*ex).finish(op, 0)
    }
}

/// Lets others run.
pub fn yield_in(place: Place, state: LocalState) {
    settle();
    let ex = context::required("an operation", place);
    // SAFETY: a current execution is valid, and no reference into it is held over the step.
    unsafe {
        if (*ex).looking {
            let key =
                Key { site: sync::site(place), object: ObjectId::NONE, kind: OpKind::Yield, a: 0, b: 0 };
            spin::compare_at(&mut *ex, key, state);
        }
        sync::step_on(ex, Op::local(OpKind::Yield), place);
    }
}

/// A step on memory: `read` and `write` get at it, and `change` says what a read-modify-write makes of a value.
#[inline]
pub fn on_memory(
    request: &Request<'_>,
    state: LocalState,
    read: impl Fn() -> u64,
    change: impl FnOnce(u64) -> u64,
    write: impl FnOnce(u64),
) -> Done {
    let ex = context::required("an atomic", request.place);
    // SAFETY: a current execution is valid, and no reference into it is held over a suspension.
    unsafe {
        settle_in(ex);
        let object = (*ex).resolve(request.object, request.class, 0, request.place);
        watch(ex, object, request, state);
        let mut kind = request.kind;
        if kind == OpKind::CompareExchangeWeak && !(*ex).may_fail_spuriously(object, request.place) {
            kind = OpKind::CompareExchange;
        }
        // Only after a loop was found to repeat itself: nobody waits for a change with blocks locked out.
        if (*ex).blocks.any() {
            foreign::before_memory(ex, request.place);
        }
        let site = sync::site(request.place);
        let mut op = Op::new(kind, object).with(request.a, request.b).ordered(request.order);
        if !(*ex).is_running()
            || (*ex).repeat.is_some() && !await_change(ex, site)
            || !turn_here(ex, op, site)
        {
            given_up(ex);
            return Done { value: read(), ok: true };
        }
        let old = read();
        (*ex).refresh(object, old);
        if kind == OpKind::Rmw {
            op.a = change(old);
        }
        let option = (*ex).option(&op);
        if op.kind == OpKind::CompareExchangeWeak && option == 1 && state != LocalState::UNKNOWN {
            let state = spin::word_of(&*ex, state);
            crate::cycles::fails(&mut *ex, Key::of(&op, site), state);
        }
        let done = (*ex).finish_here(op, option);
        let new = (*ex).word(object);
        if new != old {
            write(new);
        }
        done
    }
}

/// Operand `b` of a read-modify-write that is a compare-exchange of a part of an object.
pub(crate) const PART: u64 = 1;

/// A compare-exchange of a part of an object, which `change` does: it says what the word is then. A weak one may fail spuriously where
/// `matches` says that the part is as expected; then `change` is not called. Returns whether it did.
///
/// For the search it is a read-modify-write: whether it would succeed cannot be told from the word of the whole object.
pub fn exchange_part(
    request: &Request<'_>,
    state: LocalState,
    weak: bool,
    read: impl Fn() -> u64,
    matches: impl FnOnce() -> bool,
    change: impl FnOnce() -> u64,
) -> bool {
    let ex = context::required("an atomic", request.place);
    // SAFETY: as in `on_memory`.
    unsafe {
        settle_in(ex);
        let object = (*ex).resolve(request.object, request.class, 0, request.place);
        watch(ex, object, request, state);
        let may_fail = weak && (*ex).may_fail_spuriously(object, request.place);
        if (*ex).blocks.any() {
            foreign::before_memory(ex, request.place);
        }
        let site = sync::site(request.place);
        let mut op = Op::new(OpKind::Rmw, object).with(0, PART).ordered(request.order);
        if !(*ex).is_running()
            || (*ex).repeat.is_some() && !await_change(ex, site)
            || !turn_here(ex, op, site)
        {
            given_up(ex);
            return true;
        }
        let old = read();
        (*ex).refresh(object, old);
        let option = if may_fail && matches() { (*ex).option_to_fail() } else { 0 };
        op.a = if option == 0 { change() } else { old };
        if option == 1 && state != LocalState::UNKNOWN {
            let state = spin::word_of(&*ex, state);
            crate::cycles::fails(&mut *ex, Key::of(&op, site), state);
        }
        (*ex).finish_here(op, option);
        option == 1
    }
}

/// The compare-exchange that the running thread has just done did not find what it expected. So it has only read, with this order,
/// and not with that which it would have had.
#[cold]
pub fn only_read(order: MemoryOrder) {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let ex = unsafe { &mut *ex };
    let t = ex.current;
    if let Some(last) = ex.log.last_mut().filter(|l| l.thread == t) {
        use OpKind::{CompareExchange, CompareExchangeWeak, Rmw};
        debug_assert!(
            ex.phase != Phase::Running || matches!(last.kind, CompareExchange | CompareExchangeWeak | Rmw)
        );
        last.order = order;
        last.mode = Mode::Read;
    }
}

/// The step that the running thread has just taken had this order, and not the one that it was announced with.
pub fn had_order(order: MemoryOrder) {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: a current execution is valid; the borrow ends here.
        let ex = unsafe { &mut *ex };
        let t = ex.current;
        if let Some(last) = ex.log.last_mut().filter(|l| l.thread == t) {
            last.order = order;
        }
    }
}

/// The turn of a write, or of a read-modify-write, that the program does itself right after this returns. `read` gets at the value
/// then.
pub fn write_later(
    request: &Request<'_>,
    state: LocalState,
    handle: &'static Handle,
    read: fn(&'static Handle) -> u64,
) {
    settle();
    let ex = context::required("a variable", request.place);
    // SAFETY: as in `on_memory`.
    unsafe {
        let object = (*ex).resolve(request.object, request.class, 0, request.place);
        watch(ex, object, request, state);
        if (*ex).blocks.any() {
            foreign::before_memory(ex, request.place);
        }
        let site = sync::site(request.place);
        let op = Op::new(request.kind, object).ordered(request.order);
        if !(*ex).is_running() || (*ex).repeat.is_some() && !await_change(ex, site) || !turn(ex, op, site) {
            return given_up(ex);
        }
        (*ex).refresh(object, read(handle));
        (*ex).unsettled = Some(Unsettled { op, object: handle, read });
    }
}

/// How memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touching {
    /// It may change.
    pub write: bool,
    /// By an atomic operation: two of these do not race. It is a step that has been taken, unless it is `elsewhere`: an access by a function
    /// that takes a lock of its own is no step.
    pub atomic: bool,
    /// What it writes is no part of the local state that the search for loops sees: not on the thread's own stack.
    pub elsewhere: bool,
}

/// Whether an address lies in the frames of the running thread.
#[inline]
pub fn on_own_stack(address: usize) -> bool {
    let ex = context::current();
    if ex.is_null() {
        return false;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe { ((*ex).stack_floor..(*ex).frames_end).contains(&address) }
}

/// Whether an address lies on the stack of another thread of this execution.
pub fn on_other_stack(address: usize) -> bool {
    let ex = context::current();
    if ex.is_null() {
        return false;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let ex = unsafe { &*ex };
    ex.order.iter().any(|t| {
        let thread = &ex.threads[t.index()];
        *t != ex.current && (thread.stack_floor..thread.frames_end).contains(&address)
    })
}

/// Whether an address lies between the stacks of threads.
#[inline]
pub fn may_be_on_stack(address: usize) -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    !ex.is_null() && unsafe { ((*ex).stacks.0..(*ex).stacks.1).contains(&address) }
}

/// The thread of this execution on whose stack an address lies.
pub fn thread_of_stack(address: usize) -> Option<ThreadId> {
    let ex = context::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let ex = unsafe { &*ex };
    ex.order.iter().copied().find(|t| {
        let thread = &ex.threads[t.index()];
        (thread.stack_floor..thread.frames_end).contains(&address)
    })
}

/// The thread on whose stack an address lies, if it has ended and its frames are gone.
pub fn ended_stack(address: usize) -> Option<ThreadId> {
    let ex = context::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let ex = unsafe { &*ex };
    if !(ex.ended_stacks.0..ex.ended_stacks.1).contains(&address) {
        return None;
    }
    ex.order.iter().copied().find(|t| {
        let thread = &ex.threads[t.index()];
        thread.ended && thread.frames_gone && (thread.stack_floor..thread.frames_end).contains(&address)
    })
}

/// A place on the stack of a thread, by names that it has in every session of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StackSpot {
    /// Which thread that is.
    pub thread: u64,
    /// How far down from where its frames begin.
    pub depth: usize,
}

/// The place that an address has on the stack of some thread of this execution.
pub fn stack_spot(address: usize) -> Option<StackSpot> {
    let ex = context::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let ex = unsafe { &*ex };
    let mut threads = ex.order.iter().map(|t| &ex.threads[t.index()]);
    let owner = threads.find(|t| (t.stack_floor..t.frames_end).contains(&address))?;
    Some(StackSpot { thread: owner.path, depth: owner.frames_end - address })
}

/// The number of the session that the execution at hand belongs to; 0 outside of executions. Stacks are elsewhere in each.
#[inline]
pub fn session_number() -> u32 {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    if ex.is_null() { 0 } else { unsafe { (*ex).session } }
}

/// The number of the execution at hand, which no other execution of the process has. 0 outside of one.
pub fn execution_number() -> u32 {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    if ex.is_null() { 0 } else { unsafe { (*ex).epoch } }
}

/// Notes an access and gives what is to be said if another one is not ordered with it. Not a step.
#[inline]
pub fn touch(object: &Handle, how: Touching, place: Place) -> Option<String> {
    let ex = context::required("a variable", place);
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if !(*ex).is_running() {
            return None;
        }
        let ex = &mut *ex;
        let id = ex.resolve(object, Class::Variable, 0, place);
        if how.write && how.elsewhere && ex.looking {
            spin::changed(ex);
        }
        races::check(ex, id, how, place).map(|race| race.message)
    }
}

/// Forgets the accesses to an object: the memory that it lies in begins another life.
pub fn forget_accesses(object: &Handle) {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: a current execution is valid; the borrow ends here.
        unsafe {
            if let Some(id) = (*ex).known(object) {
                (&mut (*ex).objects)[id.index()].cell = 0;
            }
        }
    }
}

/// Forgets who holds an object, or waits on it: the memory that it lies in begins another life.
pub fn forget_holders(object: &Handle) {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: a current execution is valid; the borrow ends here.
        unsafe {
            if let Some(id) = (*ex).known(object) {
                let entry = &mut (&mut (*ex).objects)[id.index()];
                if matches!(entry.class, Class::Mutex | Class::RwLock | Class::Condvar | Class::Semaphore) {
                    entry.word = 0;
                }
            }
        }
    }
}

/// Whether a thread that is inside of a wait on a condition variable is in its queue, or about to enter it. A thread that was notified
/// is not.
pub fn is_queued(t: ThreadId) -> bool {
    let ex = context::current();
    if ex.is_null() {
        return false;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let pending = unsafe { &(*ex).pending };
    let is_waiting = |op: &Op| match op.kind {
        OpKind::Choose | OpKind::Wait => true,
        OpKind::Wake => op.b == 0,
        _ => false,
    };
    pending.get(t.index()).is_some_and(|p| is_waiting(&p.op))
}

/// A number of a thread that is the same in every session.
pub fn thread_path(t: ThreadId) -> u64 {
    let ex = context::current();
    if ex.is_null() {
        return 0;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let threads = unsafe { &(*ex).threads };
    threads.get(t.index()).map_or(0, |t| t.path)
}

/// Chooses which of `n` addresses `malloc` gives out: 0 is a fresh one.
pub fn choose_address(n: u32, place: Place) -> u32 {
    let ex = context::required("`malloc`", place);
    // SAFETY: a current execution is valid.
    unsafe {
        if (*ex).phase != Phase::Running {
            given_up(ex);
            return 0;
        }
        let op = Op::local(OpKind::Choose).with(n as u64, crate::record::REUSE);
        sync::step_on(ex, op, place).value as u32
    }
}

/// The running thread ends here, though its function has not returned.
pub fn leave_thread() -> ! {
    settle();
    let ex = context::required("a thread", Place(0));
    // SAFETY: a current execution is valid, and no reference into it is held over the suspension. The thread counts as ended,
    // so nobody resumes it; its fiber is reset at the end of the execution.
    unsafe {
        if (*ex).is_running() {
            let left_process = (&(*ex).threads)[(*ex).current.index()].left_process;
            if (*ex).modes.ends_are_steps && !left_process {
                let end = Op::new(OpKind::End, (*ex).life_of((*ex).current));
                if turn(ex, end, explore::Site(0)) {
                    (*ex).finish(end, 0);
                }
            } else {
                (*ex).ended();
            }
            (*ex).next = (*ex).decide();
        } else {
            (*ex).next = None;
        }
        sync::leave_for_good(ex)
    }
}

/// The running thread ends the process and must leave next: whoever waits from now on is no failure. The others may still run before
/// the process is gone, but nobody sees this thread end.
pub fn exit_process() {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: a current execution is valid; the borrow ends here.
        unsafe {
            (*ex).exited = true;
            let t = (*ex).current.index();
            (&mut (*ex).threads)[t].left_process = true;
        }
    }
}

/// What was learned of the program changes how its executions are run: this one goes on to its end, to learn more, but it does not
/// count, and the search starts again.
pub fn restart_soon() {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: a current execution is valid; the borrow ends here.
        unsafe { (*ex).restart_at_end = true };
    }
}

impl Execution {
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// The word of an object, as it is in memory.
    #[inline]
    fn refresh(&mut self, object: ObjectId, word: u64) {
        let entry = &mut self.objects[object.index()];
        if entry.word != word {
            entry.word = word;
            self.recheck_awaiting();
        }
    }
}

/// The number that the next thread of the running one will have, if it was met before or is known already; `None` when there are
/// no numbers left.
pub fn next_child() -> Option<ThreadId> {
    let ex = context::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe { (*ex).next_id((*ex).current).map(|next| next.id()) }
}

/// What a thread is called in reports.
pub fn label(t: ThreadId) -> String {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    if ex.is_null() { format!("thread {t}") } else { unsafe { (*ex).thread_label(t) } }
}

/// Where the running thread has taken its last step, or is about to.
pub fn last_place() -> Option<Place> {
    let ex = context::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe { crate::record::place_of((&(*ex).pending)[(*ex).current.index()].site) }
}

/// How many steps were taken in all, if code of the program runs: for signal handlers.
pub fn steps_in_program() -> Option<u64> {
    // SAFETY: a current execution is valid.
    in_program().then(|| unsafe { (*context::current()).total_steps })
}
