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
//!
//! Where the program is to be patient ([`Settings::patient`](crate::Settings::patient)), time passes only when nothing else can run, up to
//! the earliest limit: that of a wait or of a sleep. A reading is then late only if its thread polls the clock and nothing else can happen.
//! A patient limit is never one that a late reading goes past.

use crate::context;
use crate::execution::{Execution, Phase};
use crate::memory::LocalState;
use crate::polling::Restart;
use crate::spin::{self, On, Probe};
use crate::{Place, sync};
use explore::{CaveatKind, Op, OpKind, ThreadId, ThreadSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What tells the choice of a clock reading from other choices.
pub(crate) const CLOCK: u64 = 2;

/// How much later than every limit a late thread is, in nanoseconds.
const LATE: u64 = 3_600 * 1_000_000_000;

/// The verdict names patience in these words.
pub(crate) const PATIENT: &str = "timed waits and sleeps end by their limits, and readings of the clock are late, only when nothing else can run \
                                  (--timeouts any, Config::timeouts)";

/// The same where only limits that mean for ever are patient.
pub(crate) const FOR_EVER: &str = "timed waits and sleeps of a hundred years and more end by their limits only when nothing else can run \
                                   (--timeouts any, Config::timeouts)";

/// How often a thread that polls the clock, when nothing else can run, finds that time has passed.
const MOST_RELEASES: u32 = 8;

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
    /// The latest limit that was reached because nothing else could run.
    reached: u64,
    /// The threads for which it was reached, and whose waits have not ended yet.
    pub(crate) waking: ThreadSet,
}

impl Times {
    pub(crate) fn clear(&mut self) {
        self.moved.clear();
        self.reached = 0;
        self.waking = ThreadSet::EMPTY;
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
    /// The earliest of its limits that are patient. A late reading is before it.
    patient: Option<u64>,
    /// It polls the clock and nothing else can run: its next reading is late.
    released: bool,
    /// How often that was so.
    releases: u32,
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
        TIME_PASSED.store(true, Ordering::Relaxed);
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
        let now = self.time();
        let is_patient = self.is_patient(limit.saturating_sub(now));
        let clock = &mut self.threads[self.current.index()].seldom_mut().clock;
        if is_patient {
            clock.patient = Some(clock.patient.filter(|p| *p > now).map_or(limit, |p| p.min(limit)));
        } else {
            clock.named = clock.named.max(limit);
        }
    }

    /// Whether a limit that is so many nanoseconds away is reached only when nothing else can run.
    fn is_patient(&self, nanoseconds: u64) -> bool {
        self.settings.patient.is_some_and(|least| Duration::from_nanos(nanoseconds) >= least)
    }

    /// Whether readings of the clock are late only when nothing else can run.
    fn reads_patiently(&self) -> bool {
        self.settings.patient.is_some_and(|least| least <= Duration::from_nanos(LATE))
    }

    /// How patience is named in a report.
    pub(crate) fn patience(&self) -> &'static str {
        if self.settings.patient == Some(crate::driver::CENTURY) { FOR_EVER } else { PATIENT }
    }

    /// When a wait of the running thread is over that starts now.
    pub(crate) fn limit_after(&mut self, duration: Duration) -> u64 {
        let now = self.time().max(self.times.reached);
        now.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Nothing else could run, so it is this late now.
    pub(crate) fn reached(&mut self, limit: u64) {
        self.times.reached = self.times.reached.max(limit);
    }

    /// Nothing can run, and no wait has a limit: threads that poll the clock find it late, where that happens only now, or where the bound
    /// on late readings keeps them from it. Says whether there are any.
    pub(crate) fn release_readers(&mut self) -> bool {
        let (patient, late) = (self.reads_patiently(), self.settings.late);
        let mut any = false;
        for t in self.live.iter() {
            let seldom = self.threads[t.index()].seldom();
            let is_refused = late > 0 && seldom.clock.late >= late;
            let polls = self.pending[t.index()].op.kind == OpKind::Await
                && seldom.polls_clock
                && (patient || is_refused)
                && seldom.clock.releases < MOST_RELEASES;
            if polls {
                let clock = &mut self.threads[t.index()].seldom_mut().clock;
                clock.released = true;
                clock.releases += 1;
                self.pending[t.index()].op.a |= Op::TIME_PASSES;
                self.enabled.insert(t);
                self.times.waking.insert(t);
                any = true;
            }
        }
        any
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
        let clock = self.threads[self.current.index()].seldom().clock;
        if self.reads_patiently() {
            if self.settings.late > 0 {
                self.caveats.note_at(CaveatKind::Patient, PATIENT, place);
            }
            return Op::local(OpKind::Choose).with(1, CLOCK);
        }
        let times = self.settings.late;
        let may_be_late = clock.late < times;
        if may_be_late && clock.patient.is_some() {
            self.caveats.note_at(CaveatKind::Patient, self.patience(), place);
        }
        if !may_be_late {
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
        let released = self.threads[self.current.index()].seldom().clock.released;
        if late || released {
            let now = self.time();
            let clock = &mut self.threads[self.current.index()].seldom_mut().clock;
            clock.late += late as u32;
            clock.released = false;
            let before = clock.patient.filter(|p| *p > now && !released).map_or(u64::MAX, |p| p - 1);
            let to = now.max(clock.named).saturating_add(LATE).min(before);
            self.move_clock(to);
        }
        self.time()
    }
}

/// A clock has moved in some execution since somebody asked.
static TIME_PASSED: AtomicBool = AtomicBool::new(false);

/// Whether a thread has slept, has waited until a time limit or has read a late time, in any execution of this process since the last call.
pub fn take_time_passed() -> bool {
    TIME_PASSED.swap(false, Ordering::Relaxed)
}

/// Reads the clock of the running thread: nanoseconds since the execution started.
#[inline(always)]
pub fn clock_read(place: Place) -> u64 {
    spin::watch(OpKind::Choose, || Probe { kind: OpKind::Choose, on: On::Nothing, a: 0, b: CLOCK, place });
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
    let ex = context::for_operation("the clock", place);
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

/// The running thread sleeps until nothing else can run, if sleeps of this length are patient. Says whether they are; if not, nothing has
/// happened yet.
pub fn clock_sleep_patiently(nanoseconds: u64, place: Place) -> bool {
    let ex = context::for_operation("`sleep`", place);
    // SAFETY: a current execution is valid, and no reference into it is held over the step.
    unsafe {
        if nanoseconds == 0 || (*ex).phase != Phase::Running || !(*ex).is_patient(nanoseconds) {
            return false;
        }
        let text = (*ex).patience();
        (*ex).caveats.note_at(CaveatKind::Patient, text, place);
        let t = (*ex).current;
        let until = (*ex).limit_after(Duration::from_nanos(nanoseconds));
        (&mut (*ex).threads)[t.index()].seldom_mut().timed = Some((until, true));
        let nobody = (*ex).sleep_of(t);
        let op = Op::new(OpKind::Park, nobody);
        if sync::turn(ex, op, sync::site(place)) {
            let op = (&(*ex).pending)[t.index()].op;
            (*ex).finish(op, 0);
            (*ex).move_clock(until);
        }
        true
    }
}

/// How a call with a limit ends, as decided before it waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// Limits of this length are not patient: nothing is decided.
    Impatient,
    /// The call waits for what it needs, and the limit is not reached. [`clock_wait_ended`] follows.
    Waits,
    /// The limit is reached: nothing else could run.
    TimesOut,
}

/// Decides whether a call with a limit waits for what it needs, or for its limit, if limits of this length are patient. In the second case
/// the limit is reached when this returns.
pub fn clock_decide_patiently(nanoseconds: u64, place: Place) -> Patience {
    let ex = context::for_operation("a wait with a limit", place);
    // SAFETY: a current execution is valid, and no reference into it is held over the steps.
    unsafe {
        if nanoseconds == 0 || (*ex).phase != Phase::Running || !(*ex).is_patient(nanoseconds) {
            return Patience::Impatient;
        }
        let choice = Op::local(OpKind::Choose).with(2, sync::LIMIT);
        if sync::step_on(ex, choice, place).value == 1 {
            clock_sleep_patiently(nanoseconds, place);
            return Patience::TimesOut;
        }
        let until = (*ex).limit_after(Duration::from_nanos(nanoseconds));
        let seldom = (&mut (*ex).threads)[(*ex).current.index()].seldom_mut();
        (seldom.timed, seldom.limited) = (Some((until, false)), true);
        Patience::Waits
    }
}

/// The wait that was decided on is over.
pub fn clock_wait_ended() {
    with_running(|ex| {
        let t = ex.current.index();
        let seldom = ex.threads[t].seldom_mut();
        (seldom.timed, seldom.limited) = (None, false);
    });
}

fn with_running<R>(f: impl FnOnce(&mut Execution) -> R) -> Option<R> {
    let ex = context::current();
    // SAFETY: a current execution is valid, and the borrow ends with the call, in which no thread is suspended.
    unsafe { (!ex.is_null() && (*ex).phase == Phase::Running).then(|| f(&mut *ex)) }
}
