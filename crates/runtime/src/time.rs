//! The clock of the search.
//!
//! Time that passes is not an event of its own: any thread may be late, and none is early. Each thread has a clock, which is carried
//! along happens-before. A thread that is ordered after another one reads a time that is not before anything the other one has read,
//! slept or waited for. So what a thread reads is a function of what happens before it, and the order of unordered steps does not
//! change it.
//!
//! A sleep adds its length, and a wait that times out sets the clock to its limit at least. A reading has two outcomes. Either no time
//! has passed: then it is a look, and a loop that polls the clock is one that waits. Or the thread is *late*: an hour has passed since
//! the latest limit that the thread has named so far. Each thread is late at most [`Settings::late`](crate::Settings::late) times in an
//! execution. Where that keeps a reading from being late, the report has a caveat.

use crate::context;
use crate::execution::{Execution, Phase};
use crate::memory::LocalState;
use crate::polling::Restart;
use crate::spin::{self, On, Probe};
use crate::{Place, sync};
use explore::{CaveatKind, Op, OpKind, ThreadId};

/// What tells the choice of a clock reading from other choices.
pub(crate) const CLOCK: u64 = 2;

/// How much later than every limit a late thread is, in nanoseconds.
const LATE: u64 = 3_600 * 1_000_000_000;

/// A thread's clock has moved.
struct Moved {
    thread: ThreadId,
    /// How many steps the thread had taken.
    at: u32,
    /// To this time, in nanoseconds since the execution started.
    to: u64,
}

/// What happened to clocks in an execution.
#[derive(Default)]
pub(crate) struct Times {
    moved: Vec<Moved>,
}

impl Times {
    pub(crate) fn clear(&mut self) {
        self.moved.clear();
    }
}

/// The clock of one thread, apart from its time.
#[derive(Clone, Copy, Default)]
pub(crate) struct OfThread {
    /// The latest limit that it has named.
    named: u64,
    /// How often it was late.
    late: u32,
    /// The limit of the wait that it is in.
    until: u64,
}

impl Execution {
    /// The time of the running thread.
    fn time(&mut self) -> u64 {
        let t = self.current;
        if self.times.moved.is_empty() {
            return 0;
        }
        self.order_steps();
        let known = self.races.steps_known_to(t);
        let seen = |m: &&Moved| m.thread == t || known.get(m.thread.index()).is_some_and(|n| *n > m.at);
        self.times.moved.iter().filter(seen).map(|m| m.to).max().unwrap_or(0)
    }

    /// The clock of the running thread moves, but never back.
    fn move_clock(&mut self, to: u64) {
        if to <= self.time() {
            return;
        }
        let t = self.current;
        self.order_steps();
        let at = self.races.steps_known_to(t).get(t.index()).copied().unwrap_or(0);
        match self.times.moved.iter_mut().rev().find(|m| m.thread == t) {
            Some(m) if m.at == at => m.to = to,
            _ => self.times.moved.push(Moved { thread: t, at, to }),
        }
    }

    fn name_limit(&mut self, limit: u64) {
        let clock = &mut self.threads[self.current.index()].seldom_mut().clock;
        clock.named = clock.named.max(limit);
    }

    /// A local state of the running thread together with its clock, if the program reads clocks. Otherwise nobody can tell how late it is.
    pub(crate) fn with_time(&mut self, state: u64) -> u64 {
        if self.times.moved.is_empty() {
            return state;
        }
        if !self.modes.reads_clock {
            self.ignored_clock = true;
            return state;
        }
        (state ^ self.time()).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29)
    }

    /// The step of a reading: whether it may be late.
    fn reading(&mut self, place: Place) -> Op {
        if !self.modes.reads_clock {
            self.modes.reads_clock = true;
            if self.ignored_clock {
                self.restart = Some(Restart::ReadsClock);
            }
        }
        let late = self.threads[self.current.index()].seldom().clock.late;
        let may_be_late = late < self.settings.late;
        if !may_be_late {
            let times = self.settings.late;
            self.caveats.note_at(
                CaveatKind::Clock,
                format!(
                    "each thread reads a late time at most {times} time{} in an execution (--late N, Config::late, RADDLE_LATE)",
                    if times == 1 { "" } else { "s" }
                ),
                place,
            );
        }
        Op::local(OpKind::Choose).with(1 + may_be_late as u64, CLOCK)
    }

    fn has_read(&mut self, late: bool) -> u64 {
        if late {
            let clock = &mut self.threads[self.current.index()].seldom_mut().clock;
            clock.late += 1;
            let named = clock.named;
            let to = self.time().max(named).saturating_add(LATE);
            self.move_clock(to);
        }
        self.time()
    }
}

/// Reads the clock of the running thread: nanoseconds since the execution started.
#[inline(always)]
pub fn clock_read(place: Place) -> u64 {
    spin::watch(&Probe { kind: OpKind::Choose, on: On::Nothing, a: 0, b: CLOCK, place });
    let time = read(place, None);
    spin::leave();
    time
}

/// The same, for a caller that says where its local state is.
pub fn clock_read_in(place: Place, state: LocalState) -> u64 {
    read(place, Some(state))
}

#[inline(never)]
fn read(place: Place, state: Option<LocalState>) -> u64 {
    let ex = context::required("the clock", place);
    // SAFETY: a current execution is valid, and no reference into it is held over the step.
    unsafe {
        if (*ex).phase != Phase::Running {
            sync::given_up(ex);
            return (*ex).time();
        }
        let op = (*ex).reading(place);
        if let Some(state) = state {
            spin::compare_clock(&mut *ex, sync::site(place), state);
        }
        let late = sync::step_on(ex, op, place).value == 1;
        if (*ex).phase != Phase::Running {
            return (*ex).time();
        }
        (*ex).has_read(late)
    }
}

/// The time of the running thread, without a reading: what a limit that is given as a duration starts from.
pub fn clock_now() -> u64 {
    with_running(Execution::time).unwrap_or(0)
}

/// Says that the running thread has named a time, as the limit of a wait or otherwise: when it is late, it is later than that.
pub fn clock_limit(limit: u64) {
    with_running(|ex| ex.name_limit(limit));
}

/// The running thread starts a wait that lasts so many nanoseconds at most. The limit is kept here, because it is not part of the local
/// state of a thread that waits again and again.
pub fn clock_start_wait(nanoseconds: u64) {
    with_running(|ex| {
        let until = ex.time().saturating_add(nanoseconds);
        ex.name_limit(until);
        ex.threads[ex.current.index()].seldom_mut().clock.until = until;
    });
}

/// The wait of the running thread has reached its limit: it is later than that.
pub fn clock_end_wait() {
    with_running(|ex| {
        let until = ex.threads[ex.current.index()].seldom().clock.until;
        ex.move_clock(until.saturating_add(1));
    });
}

/// The running thread has waited until `limit`: it is later than that.
pub fn clock_reach(limit: u64) {
    with_running(|ex| {
        ex.name_limit(limit);
        ex.move_clock(limit.saturating_add(1));
    });
}

/// The running thread has let so many nanoseconds pass.
pub fn clock_pass(nanoseconds: u64) {
    with_running(|ex| {
        let to = ex.time().saturating_add(nanoseconds);
        ex.name_limit(to);
        ex.move_clock(to);
    });
}

fn with_running<R>(f: impl FnOnce(&mut Execution) -> R) -> Option<R> {
    let ex = context::current();
    // SAFETY: a current execution is valid, and the borrow ends with the call, in which no thread is suspended.
    unsafe { (!ex.is_null() && (*ex).phase == Phase::Running).then(|| f(&mut *ex)) }
}
