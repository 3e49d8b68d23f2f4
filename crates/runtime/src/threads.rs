//! Threads: their table, and what a test does with them.

use crate::context;
use crate::execution::{Execution, Phase};
use crate::fiber::{Fiber, FiberYielder};
use crate::locals::Local;
use crate::spin::{self, On, Probe, Window};
use crate::sync::{self, turn};
use crate::{Place, panics};
use explore::{FailureKind, ObjectId, Op, OpKind, Site, ThreadId};
use std::any::Any;

/// How a thread ended by a panic.
pub(crate) struct Panicked {
    /// What it said.
    pub(crate) message: String,
    /// Where.
    pub(crate) location: Option<String>,
    /// After how much of what the execution has kept a record of.
    pub(crate) at: u64,
    /// Somebody took the result by joining the thread.
    pub(crate) seen: bool,
}

/// One thread. The entry stays over executions, with the numbers of the thread's children.
pub(crate) struct Thread {
    pub(crate) fiber: Option<Fiber>,
    pub(crate) yielder: *const FiberYielder,
    pub(crate) body: Option<Box<dyn FnOnce()>>,
    pub(crate) stack_size: usize,
    /// See [`Execution::stack_floor`].
    pub(crate) stack_floor: usize,
    /// Where the frames of the body begin.
    pub(crate) frames_end: usize,
    pub(crate) name: Option<String>,
    pub(crate) children: Vec<ThreadId>,
    pub(crate) spawned: usize,
    /// Its place in the order of spawns of this execution.
    pub(crate) rank: u16,
    pub(crate) life: ObjectId,
    pub(crate) token: ObjectId,
    /// How many steps it has taken.
    pub(crate) seq: u32,
    pub(crate) window: Window,
    /// The condition variables from which it last came back with nobody having notified it.
    pub(crate) exhausted: Vec<ObjectId>,
    /// The same for its token.
    pub(crate) park_exhausted: bool,
    /// The wait it is in has a time limit.
    pub(crate) timed: bool,
    /// The atomics on which its last weak compare-exchange failed for no reason.
    pub(crate) spurious: Vec<ObjectId>,
    pub(crate) panicking: bool,
    /// What the panic hook noted last.
    pub(crate) noted: Option<(String, Option<String>)>,
    /// The panic from which it was unwinding already when the last one came.
    pub(crate) unwinding_from: Option<(String, Option<String>)>,
    pub(crate) panicked: Option<Panicked>,
    pub(crate) payload: Option<Box<dyn Any + Send>>,
    pub(crate) ended: bool,
    pub(crate) locals: Vec<Local>,
}

impl Default for Thread {
    fn default() -> Self {
        Thread {
            fiber: None,
            yielder: std::ptr::null(),
            body: None,
            stack_size: 0,
            stack_floor: 0,
            frames_end: 0,
            name: None,
            children: Vec::new(),
            spawned: 0,
            rank: 0,
            life: ObjectId::NONE,
            token: ObjectId::NONE,
            seq: 0,
            window: Window::default(),
            exhausted: Vec::new(),
            park_exhausted: false,
            timed: false,
            spurious: Vec::new(),
            panicking: false,
            noted: None,
            unwinding_from: None,
            panicked: None,
            payload: None,
            ended: false,
            locals: Vec::new(),
        }
    }
}

impl Thread {
    /// Forgets what the last execution left. What has a destructor was dropped when that execution ended.
    pub(crate) fn reset(&mut self) {
        debug_assert!(self.fiber.is_none() && self.body.is_none() && self.payload.is_none());
        self.spawned = 0;
        self.seq = 0;
        self.window.clear();
        self.exhausted.clear();
        self.park_exhausted = false;
        self.timed = false;
        self.spurious.clear();
        self.panicking = false;
        self.noted = None;
        self.unwinding_from = None;
        self.panicked = None;
        self.ended = false;
        self.locals.clear();
        self.name = None;
    }
}

/// Makes a thread. `None` for the stack size takes the configured one. A name is shown in reports.
///
/// While the execution is given up nothing is made: the body is dropped.
pub fn spawn(
    name: Option<String>,
    stack_size: Option<usize>,
    place: Place,
    body: Box<dyn FnOnce()>,
) -> ThreadId {
    let ex = context::required("a thread", place);
    // SAFETY: a current execution is valid; no reference into it is held over `turn`, which may suspend, nor over the
    // destructor of `body`.
    unsafe {
        if (*ex).phase != Phase::Running {
            drop(body);
            return (*ex).current;
        }
        let parent = (*ex).current;
        let Some(child) = (*ex).intern(Some(parent)) else {
            let limit = (*ex).settings.max_threads;
            drop(body);
            sync::fail(
                FailureKind::Limit,
                format!(
                    "the test spawns more than {limit} threads; raise Config::max_threads / RADDLE_MAX_THREADS (at most {})",
                    explore::MAX_THREADS
                ),
                place,
            );
        };
        (*ex).enter_thread(child, 0);
        let default_size = (*ex).settings.stack_size;
        let thread = &mut (&mut (*ex).threads)[child.index()];
        thread.name = name;
        thread.stack_size = stack_size.map_or(default_size, |s| s.max(default_size));
        thread.body = Some(body);
        let op = Op::new(OpKind::Spawn, thread.life).with(child.0 as u64, 0);
        (*ex).note_quietly(&op, sync::site(place));
        (*ex).awaken(child, Some(parent), sync::site(place));
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
            let life = (&(*ex).threads)[thread.index()].life;
            let (op, site) = (Op::new(OpKind::Join, life), sync::site(place));
            let ended = (&(*ex).threads)[thread.index()].ended;
            if ended || (*ex).announce_join(op, site) || sync::suspend(ex) {
                (*ex).joined(thread, &op, site);
            }
        }
        if (*ex).phase != Phase::Running && !(&(*ex).threads)[thread.index()].ended {
            if std::thread::panicking() && (*ex).in_fiber {
                sync::leave_for_good(ex);
            }
            return Err(Box::new("the execution was given up"));
        }
        let joined = &mut (&mut (*ex).threads)[thread.index()];
        match &mut joined.panicked {
            Some(p) => {
                p.seen = true;
                Err(joined.payload.take().unwrap_or_else(|| Box::new("the panic was taken by another join")))
            }
            None => Ok(()),
        }
    }
}

/// Whether a thread has ended.
#[inline(always)]
pub fn is_finished(thread: ThreadId, place: Place) -> bool {
    spin::watch(&Probe { kind: OpKind::IsFinished, on: On::LifeOf(thread), a: 0, b: 0, place });
    let done = is_finished_inner(thread, place);
    spin::leave();
    done
}

#[inline(never)]
fn is_finished_inner(thread: ThreadId, place: Place) -> bool {
    let ex = context::required("a thread", place);
    // SAFETY: as in `spawn`.
    unsafe {
        if (*ex).phase == Phase::Running && !(*ex).ends_are_steps {
            (*ex).must_restart = true;
            sync::give_up(ex);
        }
        let life = (&(*ex).threads)[thread.index()].life;
        sync::step_on(ex, Op::new(OpKind::IsFinished, life), place).value == 1
    }
}

/// The running thread.
#[track_caller]
pub fn current() -> ThreadId {
    let ex = context::required("`thread::current`", std::panic::Location::caller());
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
    threads.get(thread.index()).and_then(|t| t.name.clone())
}

/// Waits for this thread's token.
pub fn park(timed: bool, place: Place) {
    let ex = context::required("`thread::park`", place);
    // SAFETY: as in `spawn`.
    unsafe {
        if (*ex).phase != Phase::Running {
            return sync::given_up(ex);
        }
        let spurious = (*ex).settings.spurious_wakeups;
        let t = (*ex).current.index();
        let thread = &mut (&mut (*ex).threads)[t];
        thread.timed = timed;
        let bits = if thread.park_exhausted { 0 } else { wake_bits(timed, spurious) };
        let op = Op::new(OpKind::Park, thread.token).with(bits, 0);
        if turn(ex, op, sync::site(place)) {
            let op = (&(*ex).pending)[t].op;
            (*ex).finish(op, 0);
        }
    }
}

/// Why a wait may end with nobody having ended it.
pub(crate) fn wake_bits(timed: bool, spurious: bool) -> u64 {
    let time = if timed { Op::MAY_TIME_OUT } else { 0 };
    let nothing = if spurious { Op::MAY_WAKE_SPURIOUSLY } else { 0 };
    time | nothing
}

/// Gives a thread its token.
pub fn unpark(thread: ThreadId, place: Place) {
    let ex = context::required("`Thread::unpark`", place);
    // SAFETY: as in `spawn`.
    unsafe {
        let token = (&(*ex).threads)[thread.index()].token;
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
        let op = (&(*ex).pending)[t.index()].op;
        (*ex).note_quietly(&op, Site(0));
        let Some(body) = (&mut (*ex).threads)[t.index()].body.take() else { return };
        (*ex).enter_user_code();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        (&mut (*ex).threads)[t.index()].panicking = false;
        if let Err(payload) = result {
            panics::note_end(ex, t, payload);
        }
        let dropping =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| crate::locals::drop_all(ex, t)));
        if let Err(payload) = dropping {
            (&mut (*ex).threads)[t.index()].panicking = false;
            panics::note_end(ex, t, payload);
        }
        if (*ex).phase == Phase::Running && !(*ex).search_panicked {
            let life = (&(*ex).threads)[t.index()].life;
            let end = Op::new(OpKind::End, life);
            if !(*ex).ends_are_steps {
                (*ex).note_quietly(&end, Site(0));
                (*ex).ended();
                return;
            }
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                if turn(ex, end, Site(0)) {
                    (*ex).finish(end, 0);
                }
            }));
            // Only the payload that unwinds an abandoned fiber, or a panic of the search, can come out here.
            if let Err(payload) = ended {
                panics::note_end(ex, t, payload);
            }
        }
    }
}
