//! Whether threads that repeat themselves do so for ever: an execution is continued under fair schedules.
//!
//! A livelock is *suspected* where nothing can run except threads that wait for a change or were stopped because they repeat
//! themselves, and where an execution has reached the step limit. The same steps are run again and then continued: round robin, with no
//! pruning, no spurious events, and timed waits that time out when the turn of their thread comes.
//!
//! - If the continuation ends, the threads do not have to repeat themselves for ever.
//! - After each step the state of the whole program is hashed: the words of all objects, and the local state of each thread. A state
//!   that comes back again and again, with every thread that could run having run in between, is a *fair cycle*.
//! - From there, nine other fair schedules are tried: one step each, and eight at random in which no thread waits for long. If all come
//!   to fair cycles, the livelock is *confirmed*, and reported as a failure.
//!
//! The local state is that of [`crate::spin`], taken at each operation; between operations whose state is not taken, the
//! values that the thread has got since are hashed. A change of memory that is not part of this makes the state a new one.

use crate::execution::Execution;
use crate::session::Session;
use explore::{End, Explorer, OpKind, Schedule, ThreadId, ThreadSet};
use std::collections::HashMap;

/// The most steps of a continuation.
const MOST_STEPS: u64 = 20_000;
/// So often a state must come back. A loop that counts where it is not seen ends before.
const TIMES: u32 = 24;
/// How many steps a turn of a thread has, round robin.
const QUANTUM: u32 = 8;
/// No thread waits for longer than so many steps in a continuation at random.
const PATIENCE: u32 = 12;

/// Who runs next in a continuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// A turn lasts until the thread yields, blocks, or has taken so many steps.
    RoundRobin(u32),
    /// At random, from this seed.
    Random(u64),
}

/// What a continuation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// The execution ends, or fails in another way.
    Ends,
    /// A fair cycle, first met after so many steps of the continuation.
    Cycle(u64),
    /// Neither was seen.
    Unknown,
}

/// The continuation of an execution.
pub(crate) struct Fair {
    /// How many steps come first.
    after: u64,
    /// How many steps of the continuation are round robin before the policy decides.
    first: u64,
    policy: Policy,
    active: bool,
    /// Steps of the continuation.
    steps: u64,
    /// By thread: its last known local state, with what it has got since.
    states: Vec<u64>,
    /// By thread: how many steps it has waited for while it could run.
    waited: Vec<u32>,
    /// How many changes there were that are in no state.
    changes: u64,
    /// Something was chosen that could have been chosen otherwise.
    chose: bool,
    turn: u32,
    last: Option<ThreadId>,
    random: u64,
    /// When each state was met first, and how often.
    met: HashMap<u64, (u64, u32)>,
    /// The threads that could run, and the thread that ran, at each step.
    ran: Vec<(ThreadSet, ThreadId)>,
    course: Option<Course>,
}

fn mix(h: u64, word: u64) -> u64 {
    (h ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29)
}

impl Fair {
    pub(crate) fn new(after: u64, first: u64, policy: Policy) -> Fair {
        let random = match policy {
            Policy::Random(seed) => seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            Policy::RoundRobin(_) => 1,
        };
        Fair {
            after,
            first,
            policy,
            active: false,
            steps: 0,
            states: vec![0; explore::MAX_THREADS],
            waited: vec![0; explore::MAX_THREADS],
            changes: 0,
            chose: false,
            turn: 0,
            last: None,
            random,
            met: HashMap::new(),
            ran: Vec::new(),
            course: None,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 20) as usize % n.max(1)
    }

    fn pick(&mut self, enabled: ThreadSet, yielded: ThreadSet) -> ThreadId {
        let policy = if self.steps < self.first { Policy::RoundRobin(QUANTUM) } else { self.policy };
        let picked = match policy {
            Policy::RoundRobin(quantum) => {
                let stays =
                    |t: &ThreadId| enabled.contains(*t) && !yielded.contains(*t) && self.turn < quantum;
                match self.last.filter(stays) {
                    Some(t) => t,
                    None => {
                        self.turn = 0;
                        let after = self.last.map_or(0, |t| t.index() + 1);
                        let next = enabled.iter().find(|t| t.index() >= after).or(enabled.first());
                        next.unwrap_or(ThreadId::MAIN)
                    }
                }
            }
            Policy::Random(_) => {
                let longest = enabled.iter().max_by_key(|t| self.waited[t.index()]);
                match longest.filter(|t| self.waited[t.index()] >= PATIENCE) {
                    Some(t) => t,
                    None => {
                        let n = self.below(enabled.iter().count());
                        enabled.iter().nth(n).unwrap_or(ThreadId::MAIN)
                    }
                }
            }
        };
        self.turn = if self.last == Some(picked) { self.turn + 1 } else { 1 };
        self.last = Some(picked);
        for t in enabled.iter() {
            self.waited[t.index()] = if t == picked { 0 } else { self.waited[t.index()] + 1 };
        }
        picked
    }

    /// Whether every thread that could run since that step has run.
    fn is_fair_since(&self, from: u64) -> bool {
        let (mut could, mut ran) = (ThreadSet::EMPTY, ThreadSet::EMPTY);
        for (enabled, thread) in &self.ran[from as usize..] {
            could = could.or(enabled);
            ran.insert(*thread);
        }
        could.minus(&ran).is_empty()
    }
}

impl Execution {
    /// Whether the execution is being continued under a fair schedule.
    #[inline(always)]
    pub(crate) fn is_fair(&self) -> bool {
        self.fair.as_ref().is_some_and(|f| f.active)
    }

    /// Before the search is asked: decides who runs in a continuation. `None` where the search decides; otherwise the thread, if any.
    #[cold]
    pub(crate) fn continue_fairly(&mut self) -> Option<Option<ThreadId>> {
        let fair = self.fair.as_deref_mut()?;
        if !fair.active {
            if self.steps < fair.after {
                return None;
            }
            self.start_fair();
        }
        if self.restart.is_some() {
            self.end = Some(End::Cut);
            return Some(None);
        }
        let state = self.global_state();
        let (enabled, yielded) = (self.enabled, self.yielded);
        let fair = self.fair.as_deref_mut()?;
        let over = if enabled.is_empty() {
            Some(Course::Ends)
        } else if fair.steps >= MOST_STEPS || fair.chose {
            Some(Course::Unknown)
        } else {
            let now = fair.steps;
            // A schedule at random is in no state.
            let position = match fair.policy {
                Policy::RoundRobin(_) => mix(fair.turn as u64, fair.last.map_or(0, |t| t.0 as u64 + 1)),
                Policy::Random(_) => 0,
            };
            let met = fair.met.entry(mix(state, position)).or_insert((now, 0));
            met.1 += 1;
            let (since, times) = *met;
            (times >= TIMES && fair.is_fair_since(since)).then_some(Course::Cycle(since))
        };
        if let Some(course) = over {
            fair.course = Some(course);
            self.end = Some(End::Cut);
            return Some(None);
        }
        let picked = fair.pick(enabled, yielded);
        fair.ran.push((enabled, picked));
        fair.steps += 1;
        Some(Some(picked))
    }

    /// The steps that come first have run: threads that wait for a change, or were stopped, run again.
    fn start_fair(&mut self) {
        for t in self.live.iter() {
            let limited = self.waits_with_limit(t);
            let op = &mut self.pending[t.index()].op;
            let spins = op.kind == OpKind::Await && op.a & 3 == 0;
            if spins {
                op.a |= explore::Op::TIME_PASSES;
            }
            if limited {
                op.a |= explore::Op::TIME_PASSES | explore::Op::MAY_TIME_OUT;
            }
            let stopped = op.kind == OpKind::Assume && op.a == crate::cycles::STOPPED;
            if limited {
                self.yielded.insert(t);
            }
            if spins || limited || stopped {
                self.enabled.insert(t);
            }
        }
        for thread in &mut self.threads {
            thread.turns.clear();
            thread.window.clear();
        }
        (self.turns, self.due) = (u32::MAX, false);
        (self.repeat, self.arriving) = (None, None);
        self.looking = true;
        if let Some(fair) = &mut self.fair {
            fair.active = true;
        }
    }

    /// A hash of all words and local states.
    fn global_state(&self) -> u64 {
        let Some(fair) = &self.fair else { return 0 };
        let mut h = mix(0x9E37_79B9_7F4A_7C15, fair.changes);
        for object in &self.objects {
            h = mix(h, object.word);
        }
        for t in self.live.iter() {
            let p = &self.pending[t.index()];
            h = mix(h, t.0 as u64);
            h = mix(h, fair.states[t.index()]);
            h = mix(h, p.op.kind as u64 ^ (p.op.object.0 as u64) << 8);
            h = mix(h, p.site.0 as u64);
            // Who notified a thread is the number of a step.
            let notified = p.op.kind == OpKind::Wake && p.op.b != 0;
            h = mix(h, notified as u64 | (self.enabled.contains(t) as u64) << 1);
        }
        h
    }

    /// The running thread is about to announce an operation in this local state.
    pub(crate) fn note_fair_state(&mut self, state: u64) {
        let t = self.current.index();
        if let Some(fair) = &mut self.fair {
            fair.states[t] = state;
        }
    }

    /// The running thread has taken a step in a continuation.
    #[cold]
    pub(crate) fn note_fair_step(&mut self, t: ThreadId, kind: OpKind, value: u64, ok: bool) {
        self.looking = true;
        if let Some(fair) = &mut self.fair
            && fair.active
        {
            let state = &mut fair.states[t.index()];
            *state = mix(mix(*state, value), kind as u64 | (ok as u64) << 8);
        }
    }

    /// Something has changed that is in no state.
    pub(crate) fn note_hidden_change(&mut self) {
        if let Some(fair) = &mut self.fair {
            fair.changes += 1;
        }
    }

    /// The option of an operation in a continuation.
    pub(crate) fn fair_option(&mut self, options: usize, waiters: bool) -> usize {
        match &mut self.fair {
            Some(fair) if waiters => match fair.policy {
                Policy::Random(_) => fair.below(options),
                Policy::RoundRobin(_) => 0,
            },
            Some(fair) => {
                fair.chose = true;
                0
            }
            None => 0,
        }
    }
}

/// Something was learned of the program, so the search has to start again.
pub(crate) struct Learned;

/// Continues the execution of a schedule of the session.
fn continued(
    session: &mut Session,
    test: &dyn Fn(),
    schedule: &Schedule,
    first: u64,
    policy: Policy,
) -> Result<Course, Learned> {
    let mut replay = crate::driver::boxed_replay(schedule);
    session.continue_after(Some(Fair::new(schedule.threads().len() as u64, first, policy)));
    let once = session.run_once(&mut *replay, test, false);
    session.continue_after(None);
    if once.restart {
        return Err(Learned);
    }
    if once.stopped.is_some() || replay.divergence().is_some() {
        return Ok(Course::Unknown);
    }
    Ok(once.course.unwrap_or(Course::Ends))
}

/// Whether threads go on for ever after the steps of a schedule of the session, under all fair schedules that are tried.
pub(crate) fn confirm(
    session: &mut Session,
    test: &dyn Fn(),
    schedule: &Schedule,
) -> Result<Course, Learned> {
    let course = continued(session, test, schedule, u64::MAX, Policy::RoundRobin(QUANTUM))?;
    let from = match course {
        Course::Cycle(from) => from,
        Course::Ends => return Ok(course),
        // Other schedules may end.
        Course::Unknown => 0,
    };
    let others = std::iter::once(Policy::RoundRobin(1)).chain((1..=8).map(Policy::Random));
    let tried = if course == Course::Unknown { 1 } else { 9 };
    for policy in others.take(tried) {
        match continued(session, test, schedule, from, policy)? {
            Course::Cycle(_) => {}
            Course::Unknown if course == Course::Unknown => {}
            other => return Ok(other),
        }
    }
    Ok(course)
}

/// What becomes of the threads after the steps of a schedule of the session if each takes one step at a time.
pub(crate) fn in_lockstep(
    session: &mut Session,
    test: &dyn Fn(),
    schedule: &Schedule,
) -> Result<Course, Learned> {
    continued(session, test, schedule, 0, Policy::RoundRobin(1))
}

impl Fair {
    pub(crate) fn course(&self) -> Option<Course> {
        self.course
    }
}
