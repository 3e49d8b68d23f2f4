//! Threads: their table, and what a test does with them.

use crate::context;
use crate::cycles::Cycles;
use crate::execution::{Execution, Phase};
use crate::fiber::{Fiber, FiberYielder};
use crate::locals::Local;
use crate::polling::{Restart, Rounds};
use crate::spin::{self, Key, On, Probe, Window};
use crate::sync::{self, Ended, turn};
use crate::turns::Turns;
use crate::{Place, panics};
use explore::{FailureKind, ObjectId, Op, OpKind, Site, ThreadId};
use std::any::Any;
use std::ptr::NonNull;
use std::time::Duration;

/// How a thread ended by a panic.
pub(crate) struct Panicked {
    /// What it said.
    pub(crate) message: String,
    /// Where.
    pub(crate) location: Option<String>,
    /// Its ordinal among the panics of the execution.
    pub(crate) at: u64,
    /// How much of the execution came before it.
    pub(crate) moment: Option<crate::execution::Moment>,
    /// Somebody took the result by joining the thread.
    pub(crate) seen: bool,
    /// The end of its scope panicked because of it.
    pub(crate) passed_on: bool,
}

/// What a thread runs.
pub trait Body {
    /// Runs it, once.
    fn run(&self);

    /// Drops what was to be run, if it was not.
    fn discard(&self);
}

/// A [`Body`] that somebody else may hold too, for what the thread leaves there.
pub struct Task {
    body: NonNull<dyn Body>,
    leave: unsafe fn(NonNull<dyn Body>),
    scoped: bool,
}

impl Task {
    /// Hands a body over; it is left with `leave` when the thread has no more use for it.
    ///
    /// # Safety
    ///
    /// The body is valid until `leave`, which may be called with it once.
    pub unsafe fn new(body: NonNull<dyn Body>, leave: unsafe fn(NonNull<dyn Body>)) -> Task {
        Task { body, leave, scoped: false }
    }

    /// The body of a thread of a scope, which waits for the end of the body and not for that of the thread; see [`closure_ended`].
    #[must_use]
    pub fn of_scope(mut self) -> Task {
        self.scoped = true;
        self
    }

    pub(crate) fn run(&self) {
        // SAFETY: by the contract of `new`.
        unsafe { self.body.as_ref().run() }
    }

    pub(crate) fn discard(&self) {
        // SAFETY: by the contract of `new`.
        unsafe { self.body.as_ref().discard() }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // SAFETY: by the contract of `new`; called once.
        unsafe { (self.leave)(self.body) }
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Task")
    }
}

/// One thread. The entry stays over executions, with the numbers of the thread's children.
pub(crate) struct Thread {
    /// Where it runs. Once made it stays, from execution to execution, and from check to check.
    pub(crate) fiber: Option<Fiber>,
    /// The stack size that the fiber was made for.
    pub(crate) fiber_size: usize,
    /// The fiber is in the middle of a body.
    pub(crate) running: bool,
    pub(crate) yielder: *const FiberYielder,
    /// What it runs; the main thread runs the test.
    pub(crate) body: Option<Task>,
    pub(crate) stack_size: usize,
    /// See [`Execution::stack_floor`].
    pub(crate) stack_floor: usize,
    /// Where the frames of the body begin.
    pub(crate) frames_end: usize,
    pub(crate) children: Vec<ThreadId>,
    /// The thread that it is a child of.
    pub(crate) parent: Option<ThreadId>,
    /// Which child of which thread it is, up to the main thread, as one number: the same in every session.
    pub(crate) path: u64,
    /// How many children with a number of their own it has spawned in this execution.
    pub(crate) spawned: usize,
    /// The children that it has joined, whose numbers may be used again.
    pub(crate) joined_children: Vec<ThreadId>,
    /// Its place in the order of spawns of this execution.
    pub(crate) rank: u16,
    /// The number of the last execution that it was entered in.
    pub(crate) entered: u32,
    /// How many threads wait for its end.
    pub(crate) joiners: u16,
    pub(crate) ended: bool,
    /// A thread has waited for its end.
    pub(crate) joined: bool,
    /// Its handle was dropped, so no thread can join it.
    pub(crate) detached: bool,
    /// It has ended the process: nobody sees it end.
    pub(crate) left_process: bool,
    /// Its frames are gone: it has returned from its function, or was unwound. A thread that calls `exit` keeps them.
    pub(crate) frames_gone: bool,
    pub(crate) panicking: bool,
    /// What it has of std's variables while it is suspended.
    pub(crate) std_locals: crate::std_locals::Saved,
    /// How many values of `Arc`s of ours it is dropping, one inside of the other.
    pub(crate) arc_drops: u16,
    /// How many steps it has taken.
    pub(crate) seq: u32,
    /// It took a step that left its object as it was, or another one that loops consist of, since it started.
    pub(crate) may_loop: bool,
    pub(crate) window: Window,
    pub(crate) cycles: Cycles,
    pub(crate) turns: Turns,
    /// What most threads do not have.
    seldom: Seldom,
    /// It has some of that.
    has_seldom: bool,
}

/// What most threads do not have.
#[derive(Default)]
pub(crate) struct Seldom {
    pub(crate) name: Option<String>,
    /// The object that its end changes, once somebody asked whether it has ended.
    pub(crate) life: Option<ObjectId>,
    /// The object that the end of its body changes, in a scope whose threads drop thread-locals after that.
    pub(crate) closure: Option<ObjectId>,
    /// The object that `park` and `unpark` change, once it was used.
    pub(crate) token: Option<ObjectId>,
    /// What it waits for in a sleep that ends only when nothing else can run.
    pub(crate) sleep: Option<ObjectId>,
    /// The limit of the wait it is in, in nanoseconds since the execution started, and whether it is reached only when nothing else can run.
    pub(crate) timed: Option<(u64, bool)>,
    /// It is in a call with a limit that it does not reach, whatever the call waits for.
    pub(crate) limited: bool,
    /// Its last wait ended because nothing else could happen than that time passes.
    pub(crate) time_passed: bool,
    /// What the panic hook noted last.
    pub(crate) noted: Option<(String, Option<String>)>,
    /// When it did.
    pub(crate) noted_at: Option<crate::execution::Moment>,
    /// The panic from which it was unwinding already when the last one came.
    pub(crate) unwinding_from: Option<(String, Option<String>)>,
    pub(crate) panicked: Option<Panicked>,
    pub(crate) payload: Option<Box<dyn Any + Send>>,
    pub(crate) locals: Vec<Local>,
    pub(crate) clock: crate::time::OfThread,
    /// The loop in which it waits for a change looks at the clock.
    pub(crate) polls_clock: bool,
    /// How many read locks of our types it holds.
    pub(crate) read_locks: u32,
    /// How often it took the same lock and gave it back.
    pub(crate) rounds: Vec<Rounds>,
}

impl Default for Thread {
    fn default() -> Self {
        Thread {
            fiber: None,
            fiber_size: 0,
            running: false,
            yielder: std::ptr::null(),
            body: None,
            stack_size: 0,
            stack_floor: 0,
            frames_end: 0,
            children: Vec::new(),
            parent: None,
            path: 0,
            spawned: 0,
            joined_children: Vec::new(),
            rank: 0,
            entered: 0,
            joiners: 0,
            ended: false,
            joined: false,
            detached: false,
            left_process: false,
            frames_gone: false,
            panicking: false,
            arc_drops: 0,
            std_locals: crate::std_locals::Saved::default(),
            seq: 0,
            may_loop: false,
            window: Window::default(),
            cycles: Cycles::default(),
            turns: Turns::default(),
            seldom: Seldom::default(),
            has_seldom: false,
        }
    }
}

impl Thread {
    /// Forgets what the last execution left. What has a destructor was dropped when that execution ended.
    pub(crate) fn reset(&mut self) {
        debug_assert!(!self.running && self.body.is_none() && self.seldom.payload.is_none());
        self.spawned = 0;
        self.joined_children.clear();
        self.seq = 0;
        self.renew();
    }

    /// Forgets what a thread left that has ended in this execution, and whose number and sequence of steps another one continues.
    pub(crate) fn renew(&mut self) {
        self.joiners = 0;
        self.ended = false;
        self.joined = false;
        self.detached = false;
        self.left_process = false;
        self.frames_gone = false;
        self.panicking = false;
        self.arc_drops = 0;
        self.std_locals = crate::std_locals::Saved::default();
        self.may_loop = false;
        self.window.clear();
        self.cycles.reset();
        self.turns.clear();
        if self.has_seldom {
            self.forget_seldom();
        }
    }

    #[cold]
    fn forget_seldom(&mut self) {
        let s = &mut self.seldom;
        s.name = None;
        (s.life, s.closure, s.token, s.sleep) = (None, None, None, None);
        s.timed = None;
        s.time_passed = false;
        s.noted = None;
        s.unwinding_from = None;
        s.panicked = None;
        s.locals.clear();
        s.clock = Default::default();
        s.polls_clock = false;
        s.read_locks = 0;
        s.rounds.clear();
        self.has_seldom = false;
    }

    /// What most threads do not have, to be looked at.
    #[inline]
    pub(crate) fn seldom(&self) -> &Seldom {
        &self.seldom
    }

    /// What most threads do not have, to be changed.
    #[inline]
    pub(crate) fn seldom_mut(&mut self) -> &mut Seldom {
        self.has_seldom = true;
        &mut self.seldom
    }

    /// Whether it has thread-locals.
    #[inline]
    fn has_locals(&self) -> bool {
        self.has_seldom && !self.seldom.locals.is_empty()
    }

    /// What its panic carried, if nobody took it.
    pub(crate) fn take_payload(&mut self) -> Option<Box<dyn Any + Send>> {
        if self.has_seldom { self.seldom.payload.take() } else { None }
    }
}

/// Makes a thread. `None` for the stack size takes the configured one. A name is shown in reports.
///
/// While the execution is given up nothing is made: the body is dropped.
pub fn spawn(name: Option<String>, stack_size: Option<usize>, place: Place, body: Task) -> ThreadId {
    let ex = context::required("a thread", place);
    // SAFETY: a current execution is valid; no reference into it is held over `turn`, which may suspend, nor over the
    // destructor of `body`.
    unsafe {
        if (*ex).phase != Phase::Running {
            crate::seldom();
            body.discard();
            return (*ex).current;
        }
        if (*ex).has_lent() {
            crate::seldom();
            crate::lent::settle(ex);
        }
        let parent = (*ex).current;
        let Some(child) = (*ex).intern(Some(parent)) else {
            crate::seldom();
            let limit = (*ex).settings.max_threads;
            body.discard();
            sync::fail(
                FailureKind::Limit,
                format!(
                    "the test spawns more than {limit} threads; raise Config::max_threads / RADDLE_MAX_THREADS (at most {})",
                    explore::MAX_THREADS
                ),
                place,
            );
        };
        (*ex).enter_thread(child);
        crate::session::prepare_fiber(ex, child);
        let default_size = (*ex).settings.stack_size;
        let thread = &mut (&mut (*ex).threads)[child.index()];
        if name.is_some() {
            thread.seldom_mut().name = name;
        }
        thread.stack_size = stack_size.map_or(default_size, |s| s.max(default_size));
        thread.body = Some(body);
        (*ex).note_quietly(OpKind::Spawn, child, sync::site(place));
        (*ex).awaken(child, Some(parent), sync::site(place));
        // The child comes to its first operation before the parent goes on: what it uses is known when the parent moves or drops it.
        if (*ex).front.is_none() && !(*ex).any_panicking && !std::thread::panicking() {
            if (*ex).may_defer() {
                (*ex).deferred = true;
            } else {
                (*ex).run_on_after_children(sync::site(place));
                sync::suspend(ex);
            }
        }
        child
    }
}

/// Waits for the end of a thread. Says whether it panicked; the panic then counts as seen.
///
/// While the execution is given up, a thread that has no result gives an `Err`. Where that would be asked by a
/// destructor that is being unwound, which commonly means `join().unwrap()` and a second panic that ends the process, the
/// fiber of the asking thread is left as it is instead.
pub fn join(thread: ThreadId, place: Place) -> Result<(), Box<dyn Any + Send>> {
    let ex = context::required("a thread", place);
    // SAFETY: as in `spawn`.
    unsafe {
        if (*ex).phase == Phase::Running {
            if (*ex).has_lent() {
                crate::lent::settle(ex);
            }
            let site = sync::site(place);
            let target = &(&(*ex).threads)[thread.index()];
            let ended = target.ended && !target.left_process;
            if ended || (*ex).announce_join(thread, site) || sync::suspend(ex) {
                (*ex).joined(thread, site);
            }
        }
        if (*ex).phase != Phase::Running && !(&(*ex).threads)[thread.index()].ended {
            crate::seldom();
            if std::thread::panicking() && (*ex).in_fiber {
                sync::leave_for_good(ex);
            }
            return Err(Box::new("the execution was given up"));
        }
        result_of(&mut (&mut (*ex).threads)[thread.index()])
    }
}

/// Whether a thread whose body has ended panicked; the panic then counts as seen.
fn result_of(joined: &mut Thread) -> Result<(), Box<dyn Any + Send>> {
    if !joined.has_seldom || joined.seldom.panicked.is_none() {
        return Ok(());
    }
    let joined = joined.seldom_mut();
    match &mut joined.panicked {
        Some(p) => {
            p.seen = true;
            Err(joined.payload.take().unwrap_or_else(|| Box::new("the panic was taken by another join")))
        }
        None => Ok(()),
    }
}

/// Waits for the end of the body of a thread of a scope. Its thread-locals may still be there then, and their destructors run beside
/// whatever comes after the scope, as with std. Says whether it panicked; the panic then counts as seen.
///
/// Where no thread of a scope has thread-locals whose destructors do something, nobody can tell the end of the body from that of the
/// thread, and this is [`join`].
pub fn closure_ended(thread: ThreadId, place: Place) -> Result<(), Box<dyn Any + Send>> {
    let ex = context::for_operation("a thread", place);
    // SAFETY: as in `spawn`.
    unsafe {
        if (*ex).phase != Phase::Running || !(*ex).modes.closures_end {
            return join(thread, place);
        }
        let closure = (*ex).closure_of(thread);
        sync::step_on(ex, Op::new(OpKind::SemWait, closure), place);
        if (*ex).phase != Phase::Running {
            return Err(Box::new("the execution was given up"));
        }
        result_of(&mut (&mut (*ex).threads)[thread.index()])
    }
}

/// The handle of a thread that was not joined is dropped.
#[inline]
pub fn detached(thread: ThreadId) {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if !ex.is_null() && (*ex).phase == Phase::Running {
            (&mut (*ex).threads)[thread.index()].detached = true;
        }
    }
}

/// A scope that ends panics because this thread has panicked.
#[cold]
pub fn panic_passed_on(thread: ThreadId) {
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: a current execution is valid; the borrow ends here.
    let thread = unsafe { &mut (&mut (*ex).threads)[thread.index()] };
    thread.seldom_mut().panicked.iter_mut().for_each(|p| p.passed_on = true);
}

/// Whether the owners of the value of a thread, the thread and its handle, leave it by steps: the one that leaves last drops it, so which one
/// that is must be decided by the search.
///
/// They do from the first time on that a value with a destructor was dropped so ([`value_dropped`]). Most handles are joined, and then
/// nobody can tell when the thread left.
pub fn owners_leave() -> bool {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    !ex.is_null() && unsafe { (*ex).phase == Phase::Running && (*ex).modes.owners_leave }
}

/// The running thread drops the value of a thread that nobody joined.
pub fn value_dropped() {
    let ex = context::current();
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if !ex.is_null() && (*ex).phase == Phase::Running && !(*ex).modes.owners_leave {
            (*ex).restart.get_or_insert(Restart::OwnersLeave);
        }
    }
}

/// Whether a thread has ended.
#[inline(always)]
pub fn is_finished(thread: ThreadId, place: Place) -> bool {
    spin::watch(OpKind::IsFinished, || Probe {
        kind: OpKind::IsFinished,
        on: On::LifeOf(thread),
        a: 0,
        b: 0,
        place,
    });
    let done = is_finished_inner(thread, place);
    spin::leave();
    done
}

#[inline(never)]
fn is_finished_inner(thread: ThreadId, place: Place) -> bool {
    let ex = context::for_operation("a thread", place);
    // SAFETY: as in `spawn`.
    unsafe {
        if (*ex).phase == Phase::Running && !(*ex).modes.ends_are_steps {
            (*ex).restart = Some(Restart::EndsAreSteps);
            sync::give_up(ex);
        }
        let life = (*ex).life_of(thread);
        sync::step_on(ex, Op::new(OpKind::IsFinished, life), place).value == 1
    }
}

/// The running thread.
#[track_caller]
pub fn current() -> ThreadId {
    let ex = context::required("`thread::current`", crate::Place::caller());
    // SAFETY: a current execution is valid.
    unsafe { (*ex).current }
}

/// The name a thread was given.
pub fn thread_name(thread: ThreadId) -> Option<String> {
    let ex = context::current();
    if ex.is_null() {
        return None;
    }
    // SAFETY: a current execution is valid; the borrow ends with the clone.
    let threads = unsafe { &(*ex).threads };
    threads.get(thread.index()).and_then(|t| t.seldom().name.clone())
}

/// Waits for this thread's token, or until `limit`. It may also return spuriously; then it does not touch the token.
#[inline(always)]
pub fn park(limit: Option<Duration>, place: Place) -> Ended {
    spin::watch(OpKind::Choose, || Probe { kind: OpKind::Choose, on: On::Nothing, a: 0, b: 0, place });
    let ended = run_park(limit, place);
    spin::leave();
    ended
}

#[inline(never)]
fn run_park(limit: Option<Duration>, place: Place) -> Ended {
    let ex = context::for_operation("`thread::park`", place);
    // SAFETY: as in `spawn`.
    unsafe {
        if (*ex).phase != Phase::Running {
            sync::given_up(ex);
            return Ended::Notified;
        }
        let token = (*ex).token_of((*ex).current);
        let site = sync::site(place);
        let key = Key { site, object: ObjectId::NONE, kind: OpKind::Choose, a: 0, b: 0 };
        let Some((waiting, mut how)) = sync::decide_end(ex, token, key, limit, place) else {
            return Ended::Notified;
        };
        if how == Ended::Notified {
            let op = Op::new(OpKind::Park, token);
            if !turn(ex, op, site) {
                return how;
            }
            let op = (&(*ex).pending)[(*ex).current.index()].op;
            if !(*ex).finish(op, 0).ok {
                how = Ended::TimedOut;
            }
        }
        waiting.ended(&mut *ex);
        how
    }
}

/// Gives a thread its token.
pub fn unpark(thread: ThreadId, place: Place) {
    let ex = context::for_operation("`Thread::unpark`", place);
    // SAFETY: as in `spawn`.
    unsafe {
        let token = (*ex).token_of(thread);
        sync::step_on(ex, Op::new(OpKind::Unpark, token), place);
    }
}

/// Whether the running controlled thread is unwinding from a panic.
///
/// `std::thread::panicking` speaks of the OS thread, on which other controlled threads may be in the middle of unwinding.
pub fn panicking() -> bool {
    let ex = context::current();
    if ex.is_null() {
        return std::thread::panicking();
    }
    // SAFETY: a current execution is valid.
    unsafe {
        if (*ex).phase != Phase::Running {
            return std::thread::panicking();
        }
        panics::still_panicking(&mut *ex)
    }
}

/// The life of a controlled thread, on its own fiber.
///
/// # Safety
///
/// Called once, at the bottom of the fiber of `t`, when it is `t`'s turn to start.
pub(crate) unsafe fn live(ex: *mut Execution, t: ThreadId) {
    // SAFETY: the execution outlives its fibers, and no reference into it is held over the body, the destructors of
    // thread-locals, or `turn`.
    unsafe {
        let body = (&mut (*ex).threads)[t.index()].body.take();
        let scoped = body.as_ref().is_some_and(|b| b.scoped);
        if (*ex).swaps_locals {
            crate::seldom();
            crate::std_locals::start(&mut *ex);
        }
        crate::spin::start(&*ex, (&(*ex).threads)[t.index()].stack_floor);
        (*ex).enter_user_code();
        let test = (*ex).test;
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            match body {
                Some(body) => body.run(),
                None => (*test)(),
            }
            if (*ex).has_lent() && (*ex).phase == Phase::Running {
                crate::seldom();
                crate::lent::settle(ex);
            }
        }));
        (&mut (*ex).threads)[t.index()].panicking = false;
        if let Err(payload) = result {
            crate::seldom();
            panics::note_end(ex, t, payload);
        }
        let runs = (*ex).phase == Phase::Running && !(*ex).search_panicked;
        let has_locals = (&(*ex).threads)[t.index()].has_locals();
        // Most threads have no thread-locals, and nobody asks whether they have ended.
        let is_step = (*ex).modes.ends_are_steps || scoped && (*ex).modes.closures_end;
        if runs && !has_locals && !is_step {
            return (*ex).ended();
        }
        end_with_steps(ex, t, scoped);
    }
}

/// The end of a thread that has thread-locals, or whose end is a step.
///
/// # Safety
///
/// As for [`live`].
#[inline(never)]
unsafe fn end_with_steps(ex: *mut Execution, t: ThreadId, scoped: bool) {
    // SAFETY: as in `live`.
    unsafe {
        if (*ex).deferred {
            context::start_deferred(ex, Place(0));
        }
        if scoped && (*ex).phase == Phase::Running && !(*ex).search_panicked {
            if (*ex).modes.closures_end {
                let post = Op::new(OpKind::SemPost, (*ex).closure_of(t));
                last_step(ex, t, post);
            } else if (&(*ex).threads)[t.index()].seldom().locals.iter().any(|l| l.needs_drop) {
                (*ex).restart = Some(Restart::ClosuresEnd);
            }
        }
        // `is_finished` says so when the body has ended. Destructors of thread-locals may still run then.
        let drops = (&(*ex).threads)[t.index()].seldom().locals.iter().any(|l| l.needs_drop);
        let mut ends_later = false;
        if drops && (*ex).phase == Phase::Running && !(*ex).search_panicked && (*ex).modes.ends_are_steps {
            let finished = Op::new(OpKind::Store, (*ex).life_of(t)).with(explore::semantics::FINISHED, 0);
            last_step(ex, t, finished);
            ends_later = true;
        }
        if !(&(*ex).threads)[t.index()].seldom().locals.is_empty() {
            let dropping =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| crate::locals::drop_all(ex, t)));
            if let Err(payload) = dropping {
                (&mut (*ex).threads)[t.index()].panicking = false;
                panics::fail_in_destructor(ex, t, payload);
            }
        }
        if (*ex).phase == Phase::Running && !(*ex).search_panicked {
            if ends_later || !(*ex).modes.ends_are_steps {
                (*ex).ended();
                return;
            }
            let end = Op::new(OpKind::End, (*ex).life_of(t));
            last_step(ex, t, end);
        }
    }
}

/// A step of a thread whose body has ended.
///
/// # Safety
///
/// As for [`live`], in the phase `Running`.
unsafe fn last_step(ex: *mut Execution, t: ThreadId, op: Op) {
    // SAFETY: by the contract; no reference into the execution is held over `turn`.
    unsafe {
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if turn(ex, op, Site(0)) {
                (*ex).finish(op, 0);
            }
        }));
        // Only the payload that unwinds an abandoned fiber, or a panic of the search, can come out here.
        if let Err(payload) = ran {
            panics::note_end(ex, t, payload);
        }
    }
}
