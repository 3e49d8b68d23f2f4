//! The loop of a check: executions until the search has no more, and full reports for what failed.

use crate::callers;
use crate::cycles::Rule;
use crate::front;
use crate::labels::Labels;
use crate::livelock::{self, Course, Learned};
use crate::outside::{self, OneCheck};
use crate::polling::{Modes, Restart};
use crate::races;
use crate::record;
use crate::session::{Once, Session, Suspicion};
use explore::{
    Caveat, CaveatKind, Divergence, Failure, FailureKind, Follow, Guide, OpKind, Progress, Promise, Replay,
    Schedule, Stats, Stop, StopReason, ThreadId, simpler,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How threads are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The most threads an execution may have over its whole life, the main one included; at most
    /// [`explore::MAX_THREADS`].
    pub max_threads: usize,
    /// The most steps an execution may take.
    pub max_steps: u64,
    /// Bytes of stack for each thread, besides what operations need.
    pub stack_size: usize,
    /// A weak compare-exchange that would succeed may also fail.
    pub spurious_cas: bool,
    /// Waiting on a condition variable and parking may end spuriously.
    pub spurious_wakeups: bool,
    /// How often a thread may read a late time in an execution; see the crate's module `time`.
    pub late: u32,
    /// So many spurious failures, spurious ends of waits and timeouts in a row, by one thread on one object, are explored where the program
    /// can tell them apart. See the crate's module `cycles`. 0 turns the spurious ones off.
    pub spurious: u32,
    /// Waits that take at least so long time out only when nothing else can run. By default it is so long that the program means for ever.
    pub patient: Option<Duration>,
    /// The search has a bound, so a preemption costs something.
    pub bounded: bool,
    /// When a thread that repeats itself is stopped. All rules but the default are wrong, and exist for tests that have to notice.
    pub rule: Rule,
    /// Executions are a sample: another one that differs in a choice may never be run.
    pub samples: bool,
    /// A thread that can only look again at what it has seen waits for a change; see the crate's module `spin`.
    pub spin_loops: bool,
    /// Threads that can repeat themselves for ever under some fair schedules are a failure, not only those that must. See the crate's module
    /// `livelock`.
    pub all_livelocks: bool,
    /// After how many turns in a row that saw no change a thread gives way; 0 for never. `None` starts with `FIRST_TURNS`, and takes other
    /// numbers where that costs too much or leaves something out. See the crate's module `turns`.
    pub turns: Option<u32>,
    /// A thread that computes for so long (CPU time) without a step is stopped, and so is one that waits for so long in the kernel: it is
    /// stuck in something that is not controlled. `None` waits for ever.
    pub watchdog: Option<Duration>,
    /// The search stops at this time, in the middle of an execution too.
    pub stop_at: Option<Instant>,
    /// The search stops after some number of executions.
    pub limited: bool,
    /// An `Arc` that is never given back is a failure.
    pub leaks: bool,
    /// Go on after a failure and collect all that differ.
    pub keep_going: bool,
    /// Look for a schedule with fewer preemptions for each failure.
    pub shrink: bool,
    /// Where names of places and objects are written down, for a search that wants them.
    pub labels: Option<Arc<Labels>>,
}

/// Whoever waits for so long means to wait for ever.
pub(crate) const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl Default for Settings {
    fn default() -> Self {
        Settings {
            max_threads: explore::MAX_THREADS,
            max_steps: 100_000,
            stack_size: 2 << 20,
            spurious_cas: true,
            spurious_wakeups: true,
            late: 1,
            spurious: 1,
            patient: Some(CENTURY),
            bounded: false,
            rule: Rule::default(),
            samples: false,
            spin_loops: true,
            all_livelocks: false,
            watchdog: Some(Duration::from_secs(10)),
            turns: None,
            stop_at: None,
            limited: false,
            leaks: true,
            keep_going: false,
            shrink: true,
            labels: None,
        }
    }
}

/// The bounds of a search that deepens, one after the other; see [`Settings::spurious`].
pub const DEEPENING: [u32; 4] = [1, 2, 4, 8];

/// The most failures that are collected.
const MOST_FAILURES: usize = 100;

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The failures, with full traces.
    pub failures: Vec<Failure>,
    /// What the executions left out.
    pub caveats: Vec<Caveat>,
    /// Why the search stopped before its end, unless its budget of executions was spent.
    pub stopped: Option<Stop>,
    /// A thread was refused a spurious wake-up, a spurious failure or a timeout because of [`Settings::spurious`]: with a greater
    /// bound there may be more to see.
    pub refused_option: bool,
    /// What an earlier round was complete for, with fewer turns of loops that see no change, where the last one was not finished.
    pub completed: Option<Completed>,
}

/// A complete round of a search.
#[derive(Clone, Debug)]
pub struct Completed {
    /// Its numbers.
    pub stats: Stats,
    /// What it promises.
    pub promise: Promise,
    /// What was done within each limit.
    pub rounds: Vec<explore::Round>,
    /// What it left out.
    caveats: Vec<Caveat>,
}

/// After how many fruitless turns a thread gives way at first. Loops that end by themselves take no more, as a rule, so that most programs are
/// explored once.
pub(crate) const FIRST_TURNS: u32 = 32;

/// After so many steps of a program with loops that are cut, it is worth while to cut them as early as possible: the search starts again, and
/// each step costs more. The steps take less than a second.
const MANY: u64 = 5_000_000;
/// The same for executions, where the search has a budget: it may be spent before there are so many steps.
const MANY_OF_BUDGET: u64 = 3_000;
/// The same for single executions with so many steps, in which threads may keep each other from coming back to a state.
const LONG: u64 = 1_000;

/// The rounds of a search, each with another number of turns after which threads give way.
struct Rounds {
    /// The number, unless the settings fix it.
    turns: Option<u32>,
    /// Executions of this round.
    runs: u64,
    /// Their steps.
    steps: u64,
    /// When a thread was first seen to have given way.
    start: Option<Instant>,
    /// Rounds are counted by place; see [`Modes::rounds_by_place`].
    by_place: bool,
    completed: Option<Completed>,
}

/// What to do after an execution.
enum Next {
    /// Whatever the search wants.
    GoOn,
    /// Start again with this number of turns.
    Turns(u32),
    /// Start again with one turn, and count rounds by place.
    ByPlace,
    /// Stop: an earlier round is complete.
    Stop,
}

impl Rounds {
    fn new(settings: &Settings) -> Rounds {
        let turns = if settings.turns.is_some() { None } else { Some(FIRST_TURNS) };
        Rounds { turns, runs: 0, steps: 0, start: None, by_place: false, completed: None }
    }

    /// An execution has run. Rounds that take too long are abandoned.
    fn ran(&mut self, session: &Session) -> Next {
        self.runs += 1;
        self.steps += session.last_steps();
        let Some(turns) = self.turns.filter(|_| session.gave_way()) else { return Next::GoOn };
        crate::seldom();
        let start = *self.start.get_or_insert_with(Instant::now);
        let (most, seconds) = match (&self.completed, turns) {
            (None, FIRST_TURNS) => (2_000, 1.0),
            (None, _) => (20_000, 10.0),
            (Some(_), _) => (20_000, 3.0),
        };
        if self.runs <= most && (!self.runs.is_multiple_of(16) || start.elapsed().as_secs_f64() < seconds) {
            return Next::GoOn;
        }
        match &self.completed {
            Some(_) => Next::Stop,
            None if turns == FIRST_TURNS => Next::Turns(3),
            // Threads that step back from each other may do so in very many ways.
            None if turns == 3 && session.bounded_rounds() => Next::Turns(1),
            // They may also come back to a state after several rounds only.
            None if turns == 1 && session.bounded_rounds() && !self.by_place => Next::ByPlace,
            None => Next::GoOn,
        }
    }

    /// An execution took too many steps. With fewer turns it may end.
    fn too_long(&self, session: &Session) -> Next {
        match self.turns.filter(|_| session.gave_way() && self.completed.is_none()) {
            Some(FIRST_TURNS) => Next::Turns(3),
            _ => Next::GoOn,
        }
    }

    /// The search has come to its end.
    fn completed(&mut self, session: &Session, search: &dyn Progress) -> Next {
        let Some(turns) = self.turns.filter(|_| session.gave_way() && search.finished()) else {
            return Next::GoOn;
        };
        self.completed = Some(Completed {
            stats: search.stats(),
            promise: search.promise(),
            rounds: search.rounds().to_vec(),
            caveats: session.caveats(),
        });
        match turns {
            // More was too much already.
            1 if self.by_place => Next::GoOn,
            1 => Next::Turns(2),
            3 => Next::Turns(8),
            8 if self.runs < 5_000 => Next::Turns(32),
            32 if self.runs < 500 => Next::Turns(128),
            128 if self.runs < 500 => Next::Turns(512),
            _ => Next::GoOn,
        }
    }

    fn restart(&mut self, turns: u32) {
        (self.turns, self.runs, self.steps, self.start) = (Some(turns), 0, 0, None);
    }
}

impl Found {
    fn of(failures: Vec<Failure>) -> Found {
        Found { failures, ..Found::default() }
    }
}

/// How long a failure may still be recorded when the time is up.
const GRACE: Duration = Duration::from_millis(500);

/// Runs `test` under every schedule that the search wants and gives what failed, with full traces.
///
/// A failing schedule is run again, in a session of its own, to record it, and to look for a simpler one that fails alike.
/// After each execution `progress` is called.
pub fn check(
    settings: &Settings,
    search: &mut dyn Progress,
    test: &dyn Fn(),
    progress: &mut dyn FnMut(&dyn Progress),
) -> Found {
    let _check = OneCheck::of(test);
    let mut failures: Vec<Failure> = Vec::new();
    let mut stopped = None;
    let mut session = Session::new(settings);
    let mut rounds = Rounds::new(settings);
    let mut doubts = Doubts::new();
    // A divergence that an `Arc` of std's may be the reason of, and after how many executions without one it is reported.
    let mut doubtful: Option<(Failure, u64)> = None;
    let mut runs = 0u64;
    loop {
        let mut once = session.run_once(search, test, false);
        if let Some(stop) = once.stopped.take() {
            crate::seldom();
            if let Some(suspicion) = once.suspicion.filter(|_| stop.reason == StopReason::Limit) {
                match doubts.at_limit(settings, &mut session, test, &stop, &suspicion) {
                    Ok(None) => {}
                    Ok(Some(failure)) => {
                        progress(search);
                        failures.push(failure);
                        break;
                    }
                    Err(Learned) => {
                        search.restart();
                        continue;
                    }
                }
            }
            if stop.reason == StopReason::Limit
                && let Next::Turns(turns) = rounds.too_long(&session)
            {
                rounds.restart(turns);
                session.set_turns(turns);
                search.restart();
                continue;
            }
            stopped = Some(*stop);
            break;
        }
        if once.restart {
            crate::seldom();
            search.restart();
            continue;
        }
        progress(search);
        runs += 1;
        if runs.is_power_of_two() {
            outside::captured_is_changed();
        }
        if session.has_owners_of_std() {
            doubtful = None;
        }
        // It did not turn out to be one that tells.
        if let Some((failure, left)) = &mut doubtful {
            crate::seldom();
            *left -= 1;
            if *left == 0 || search.divergence().is_some() || !once.again {
                failures.push(failure.clone());
                break;
            }
        }
        if let Some(divergence) = search.divergence() {
            crate::seldom();
            // Local states may have depended on what earlier executions left on the stacks, and addresses on what they freed.
            if session.clean_stacks() || session.keep_freed() {
                search.restart();
                continue;
            }
            // An `Arc` of std's tells threads what the others do, and the search does not see it.
            if session.watch_owners() {
                doubtful = Some((nondeterminism(divergence, &once.schedule), 2 * runs + 16));
                search.restart();
                continue;
            }
            if session.has_owners_of_std() {
                if search.tolerate() {
                    search.restart();
                    continue;
                }
                stopped = Some(Stop {
                    reason: StopReason::Limit,
                    text: "a std `Arc` runs a destructor that takes steps, and this search must see which thread drops its last \
                           reference (use raddle's `Arc`)"
                        .to_owned(),
                    location: None,
                    thread: None,
                    replay: String::new(),
                });
                break;
            }
            failures.push(nondeterminism(divergence, &once.schedule));
            break;
        }
        let suspicion = once.suspicion.take();
        if let Some(suspicion) = &suspicion
            && !settings.all_livelocks
            && doubts.judge(settings, &mut session, test, &mut once, suspicion).is_err()
        {
            search.restart();
            continue;
        }
        if let Some(found) = once.failure {
            crate::seldom();
            // The race is the last one of an execution.
            let last = once.more.last().unwrap_or(&found);
            let race = once.race.filter(|_| last.kind == FailureKind::DataRace);
            let mut starts_again = false;
            for found in std::iter::once(*found).chain(once.more) {
                if failures.iter().any(|f| same(f, &found)) {
                    continue;
                }
                let schedule = found.replay.parse().unwrap_or_else(|_| once.schedule.clone());
                let report_suspects = suspicion.is_some();
                let modes = Modes { report_suspects, ..session.modes() };
                let differs = |f: &Failure| f.kind == FailureKind::Nondeterminism;
                let differed = differs(&found);
                let failure = full(settings, modes, test, found, &schedule);
                // As above.
                if !differed && differs(&failure) && (session.clean_stacks() || session.keep_freed()) {
                    starts_again = true;
                    break;
                }
                failures.push(failure);
            }
            if starts_again {
                search.restart();
                continue;
            }
            if !settings.keep_going || failures.len() >= MOST_FAILURES {
                break;
            }
            // The thread that races has stopped there: what lies behind is explored by executions that continue.
            if let Some(race) = race {
                races::continue_after(race);
                search.restart();
                continue;
            }
        }
        let next = match once.again {
            true => rounds.ran(&session),
            false => rounds.completed(&session, search),
        };
        // Loops that are cut earlier may make the difference.
        let has_budget = settings.limited || settings.stop_at.is_some();
        let many = rounds.steps >= MANY
            || has_budget && rounds.runs >= MANY_OF_BUDGET
            || session.last_steps() >= LONG
            || matches!(next, Next::Turns(3));
        if many && once.again && session.watch_eagerly() {
            crate::seldom();
            (rounds.runs, rounds.steps, rounds.start) = (0, 0, None);
            search.restart();
            continue;
        }
        match next {
            Next::Turns(turns) => {
                crate::seldom();
                rounds.restart(turns);
                session.set_turns(turns);
                search.restart();
            }
            Next::ByPlace => {
                crate::seldom();
                rounds.restart(1);
                rounds.by_place = true;
                session.count_rounds_by_place();
                search.restart();
            }
            Next::Stop => break,
            Next::GoOn if !once.again => break,
            Next::GoOn => {}
        }
        if let Some(stop) = session.stop_requested() {
            crate::seldom();
            stopped = Some(stop);
            break;
        }
    }
    let refused_option = session.refused_option();
    let mut caveats = session.caveats();
    if failures.is_empty() && session.modes().hashes && depends_on_hashes(settings, session.modes(), test) {
        Caveat::new(CaveatKind::Inputs, HASHES).add_to(&mut caveats);
    }
    // A change that the only execution makes is not met by another one.
    if runs > 1 && outside::captured_is_changed() {
        Caveat::new(CaveatKind::State, CAPTURED).add_to(&mut caveats);
    }
    let asked = |s: &Stop| matches!(s.reason, StopReason::Interrupt | StopReason::CpuLimit);
    let completed = rounds
        .completed
        .filter(|_| !search.finished() && failures.is_empty() && !stopped.as_ref().is_some_and(asked));
    if let Some(completed) = &completed {
        caveats.retain(|c| c.kind != CaveatKind::Turns);
        completed.caveats.iter().for_each(|c| c.clone().add_to(&mut caveats));
        stopped = None;
    }
    callers::show_users_places(&mut failures);
    Found { failures, caveats, stopped, refused_option, completed }
}

const CAPTURED: &str = "variables that the closure captures are changed: they are not put back between executions (make them in the closure that is \
                        checked; a `Box` may gather results of all executions)";

const HASHES: &str = "what threads do depends on the order of the elements of a hash map, which is random: one order was explored (use a `BTreeMap`)";

/// Whether the first execution is another one with other keys of hash maps.
#[cold]
fn depends_on_hashes(settings: &Settings, modes: Modes, test: &dyn Fn()) -> bool {
    const SEEDS: u64 = 8;
    let digest = |hash_seed: u64| {
        let mut replay = Box::new(Replay::loose(Schedule::default()));
        let mut session = Session::like(settings, Modes { hash_seed, ..modes });
        let mut once = session.run_once(&mut *replay, test, true);
        for _ in 0..MOST_LESSONS {
            if !once.restart {
                break;
            }
            once = session.run_once(&mut *replay, test, true);
        }
        (session.digest(), once.failure.is_some())
    };
    let first = digest(0);
    // The keys are far from those of other threads and maps, which count up from theirs.
    (1..SEEDS).any(|n| digest(n << 32) != first)
}

/// What is done about suspected livelocks.
struct Doubts {
    /// How many of them may still be looked into.
    left: u32,
    spent: Duration,
    /// States from which the threads were seen to end.
    ending: HashSet<u64>,
}

/// Threads can repeat themselves for ever, but do not have to.
const MAY_NOT_END: &str = "threads can keep repeating themselves here without ending: some fair schedules end this and others do not (--livelocks all, \
     Config::all_livelocks)";

impl Doubts {
    fn new() -> Doubts {
        Doubts { left: 2_000, spent: Duration::ZERO, ending: HashSet::new() }
    }

    /// Whether the threads of an execution go on for ever.
    fn confirm(
        &mut self,
        session: &mut Session,
        test: &dyn Fn(),
        suspicion: &Suspicion,
    ) -> Result<Course, Learned> {
        if self.left == 0 || self.spent > Duration::from_secs(10) {
            return Ok(Course::Unknown);
        }
        self.left -= 1;
        let start = Instant::now();
        let course = livelock::confirm(session, test, &suspicion.schedule);
        self.spent += start.elapsed();
        course
    }

    /// Threads repeat themselves at the end of an execution: a livelock that is confirmed is its failure. One that is not is a caveat,
    /// unless the threads were only stopped before others had their turn.
    #[cold]
    fn judge(
        &mut self,
        settings: &Settings,
        session: &mut Session,
        test: &dyn Fn(),
        once: &mut Once,
        suspicion: &Suspicion,
    ) -> Result<(), Learned> {
        let modes = session.modes();
        let known = self.ending.contains(&suspicion.state);
        let course = if known { Course::Ends } else { self.confirm(session, test, suspicion)? };
        if course == Course::Ends {
            self.ending.insert(suspicion.state);
        }
        if let Course::Cycle(_) = course {
            if once.failure.is_none() {
                let modes = Modes { report_suspects: true, ..modes };
                once.failure = recorded(settings, modes, test, &once.schedule).failure.map(Box::new);
            }
            if once.failure.is_some() {
                return Ok(());
            }
        }
        // Another failure is one whatever the threads that repeat themselves do.
        let spins = once.failure.as_ref().is_some_and(|f| f.kind == FailureKind::Livelock);
        if spins {
            once.failure = None;
        }
        let may_not_end = suspicion.may_not_end
            && !known
            && course == Course::Ends
            && self.left > 0
            && livelock::in_lockstep(session, test, &suspicion.schedule)? != Course::Ends;
        if course != Course::Ends || may_not_end || spins {
            session.note(CaveatKind::MayNotEnd, MAY_NOT_END, &suspicion.places);
        }
        Ok(())
    }

    /// The failure of an execution that reached the step limit, if that is a livelock.
    #[cold]
    fn at_limit(
        &mut self,
        settings: &Settings,
        session: &mut Session,
        test: &dyn Fn(),
        stop: &Stop,
        suspicion: &Suspicion,
    ) -> Result<Option<Failure>, Learned> {
        let Ok(schedule) = stop.replay.parse::<Schedule>() else { return Ok(None) };
        let confirmed =
            settings.all_livelocks || matches!(self.confirm(session, test, suspicion)?, Course::Cycle(_));
        if !confirmed {
            return Ok(None);
        }
        let modes = Modes { report_suspects: true, ..session.modes() };
        let steps = schedule.threads().len().min(suspicion.shown_after as usize).max(1);
        let settings = Settings { max_steps: steps as u64, ..settings.clone() };
        let passed = schedule.passed();
        let schedule = Schedule::new(schedule.threads()[..steps].to_vec(), schedule.options().to_vec());
        let schedule = schedule.passing(passed);
        Ok(recorded(&settings, modes, test, &schedule).failure)
    }
}

/// Runs `test` once, under a schedule that was recorded, and gives what failed, with its full trace.
///
/// What a search learns of machine code changes its steps. Where the schedule does not fit what is known at first, `search`, which
/// should be the one that the schedule is from, goes over the program again, and the schedule is tried at each failure that it finds.
pub fn replay(settings: &Settings, schedule: &Schedule, search: &mut dyn Progress, test: &dyn Fn()) -> Found {
    let _check = OneCheck::of(test);
    let mut found = replayed(settings, schedule, search, test);
    callers::show_users_places(&mut found.failures);
    found
}

fn replayed(settings: &Settings, schedule: &Schedule, search: &mut dyn Progress, test: &dyn Fn()) -> Found {
    let Recorded { failure, divergence, stopped, .. } = recorded(settings, Modes::default(), test, schedule);
    let found = |failure: Option<Failure>| Found::of(failure.into_iter().collect());
    if stopped.is_some() {
        return Found { stopped, ..found(failure) };
    }
    if failure.is_none() || divergence.is_some() {
        // The token may be from a search that went on with more options in a row.
        for spurious in DEEPENING.into_iter().filter(|n| *n != settings.spurious) {
            let settings = Settings { spurious, ..settings.clone() };
            let again = recorded(&settings, Modes::default(), test, schedule);
            if again.failure.is_some() && again.divergence.is_none() {
                return found(again.failure);
            }
        }
    }
    if failure.is_none() && divergence.is_none() {
        // It may be a data race that was seen where accesses through pointers to cells are watched.
        if front::front().is_none() {
            let modes = Modes { watches_cells: true, ..Modes::default() };
            let again = recorded(settings, modes, test, schedule);
            if again.failure.is_some() && again.divergence.is_none() {
                return found(again.failure);
            }
        }
        // It may be one of a livelock that was confirmed.
        let modes = Modes { report_suspects: true, ..Modes::default() };
        let failure = recorded(settings, modes, test, schedule).failure;
        // Or of a search that had learned what handlers of signals access: without that they interrupt nobody there.
        if failure.is_none()
            && let Some(front) = front::front().filter(|f| f.has_handlers())
        {
            front.forget();
            return found(searched(settings, schedule, search, test, MOST_TRIES));
        }
        return found(failure);
    }
    let Some(divergence) = divergence else { return found(failure) };
    // The token may be from a search that has learned what a schedule alone does not tell, and took other steps.
    let learned = [
        Restart::LocksHaveVersions,
        Restart::WritersWait,
        Restart::ClosuresEnd,
        Restart::OwnersLeave,
        Restart::ReadsClock,
        Restart::AddressesComeBack,
        Restart::WatchesCells,
    ];
    for which in 1..1u32 << learned.len() {
        let mut modes = Modes::default();
        let chosen = learned.iter().enumerate().filter(|(i, _)| which >> i & 1 == 1);
        chosen.for_each(|(_, why)| modes.change(*why));
        let again = recorded(settings, modes, test, schedule);
        if again.stopped.is_some() {
            return Found { stopped: again.stopped, ..found(again.failure) };
        }
        if again.divergence.is_none() {
            return found(again.failure);
        }
    }
    // Or from one that cut loops earlier.
    for eager in [true, false] {
        let modes = Modes { eager, clean_stacks: true, ..Modes::default() };
        let again = recorded(settings, modes, test, schedule);
        if again.divergence.is_none() {
            return Found { stopped: again.stopped, ..found(again.failure) };
        }
    }
    // Or from one in which threads gave way after another number of turns.
    for turns in [3, 8, 128, 512, 1, 2] {
        for eager in [false, true] {
            let modes = Modes { turns, eager, clean_stacks: eager, ..Modes::default() };
            let again = recorded(settings, modes, test, schedule);
            if again.divergence.is_none() {
                return Found { stopped: again.stopped, ..found(again.failure) };
            }
        }
    }
    if let Some(front) = front::front() {
        front.forget();
        if let Some(failure) = searched(settings, schedule, search, test, usize::MAX) {
            return found(Some(failure));
        }
    }
    found(Some(nondeterminism(&divergence, schedule)))
}

/// The failure of a schedule from a search like this one, which has learned more by then than the schedule alone can tell.
fn searched(
    settings: &Settings,
    schedule: &Schedule,
    search: &mut dyn Progress,
    test: &dyn Fn(),
    most: usize,
) -> Option<Failure> {
    let mut session = Session::new(settings);
    for _ in 0..most {
        let once = session.run_once(search, test, false);
        if once.restart {
            search.restart();
            continue;
        }
        if once.failure.is_some()
            && let Recorded { failure: Some(failure), divergence: None, .. } =
                recorded(settings, session.modes(), test, schedule)
        {
            return Some(failure);
        }
        if !once.again || session.stop_requested().is_some() || search.divergence().is_some() {
            return None;
        }
    }
    None
}

/// Runs `test` once along a run that was found elsewhere, and gives what failed, with its full trace and a token of its own.
pub fn follow(settings: &Settings, guide: &Guide, test: &dyn Fn()) -> Found {
    let labels = Arc::new(Labels::default());
    let watched = Settings { labels: Some(labels.clone()), ..settings.clone() };
    let mut follow = Box::new(Follow::new(guide.clone(), labels));
    let mut session = Session::new(&watched);
    // What is learned of the program changes its steps, a few times at most.
    for _ in 0..MOST_LESSONS {
        let once = session.run_once(&mut *follow, test, false);
        if !once.restart {
            let failure = once.failure.map(|f| full(settings, session.modes(), test, *f, &once.schedule));
            return Found { stopped: once.stopped.map(|s| *s), ..Found::of(failure.into_iter().collect()) };
        }
    }
    Found::default()
}

/// Whether two failures are one to the user.
fn same(a: &Failure, b: &Failure) -> bool {
    a.kind == b.kind && a.location == b.location && a.message == b.message
}

/// Whether a schedule that was run again failed as before. A message that raddle writes names places as well as it can at the time,
/// and may find a better name in the second run; so what happened is compared, and not how it is called. The text of a panic, an
/// assertion or an exception is the program's own. Addresses in it differ where the program's memory does not come from us.
fn repeats(a: &Failure, b: &Failure) -> bool {
    use FailureKind::*;
    let own_text = matches!(a.kind, Assertion | Panic | Abort | UncaughtException | ExitCode);
    a.kind == b.kind
        && a.location == b.location
        && a.thread == b.thread
        && (!own_text || without_addresses(&a.message) == without_addresses(&b.message))
}

/// A text with each number that is large enough for an address replaced.
fn without_addresses(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        out += before;
        let hex = from.strip_prefix("0x");
        let digits = hex.unwrap_or(from);
        let end =
            digits.find(|c: char| !(if hex.is_some() { c.is_ascii_hexdigit() } else { c.is_ascii_digit() }));
        let (digits, after) = digits.split_at(end.unwrap_or(digits.len()));
        let number = u64::from_str_radix(digits, if hex.is_some() { 16 } else { 10 });
        match number {
            Ok(n) if n >= 1 << 32 => out.push('#'),
            _ => out += &from[..from.len() - after.len()],
        }
        rest = after;
    }
    out + rest
}

/// Runs a failing schedule again and records it.
fn full(settings: &Settings, modes: Modes, test: &dyn Fn(), found: Failure, schedule: &Schedule) -> Failure {
    // The failure is known by now. What is left of the time, and a little more, is for showing it well.
    let stop_at = settings.stop_at.map(|at| at.max(Instant::now() + GRACE));
    let settings = &Settings { stop_at, ..settings.clone() };
    let mut best = match recorded(settings, modes, test, schedule) {
        Recorded { failure: Some(again), .. } if repeats(&again, &found) => again,
        Recorded { stopped: Some(_), .. } => return found,
        Recorded { addresses: true, .. } => match fails_again(settings, modes, test, &found, schedule) {
            Some(again) => again,
            None => return Failure { help: Some(OTHER_ADDRESSES.to_owned()), ..found },
        },
        Recorded { failure, divergence, .. } => return differs(found, failure, divergence),
    };
    // Another schedule may lead to a state from which the threads can end.
    let livelock = best.kind == FailureKind::Livelock;
    if settings.shrink && !livelock && cost(&best) > (0, 0) {
        shrink(settings, modes, test, &mut best, schedule);
    }
    with_callers(settings, modes, test, &best).unwrap_or(best)
}

/// The failure of a schedule that depends on which addresses the allocator gives out, if it comes again in a few attempts. To record
/// the callers of steps takes memory in between, so that is left out.
fn fails_again(
    settings: &Settings,
    modes: Modes,
    test: &dyn Fn(),
    found: &Failure,
    schedule: &Schedule,
) -> Option<Failure> {
    let mut session = Session::like(settings, modes);
    session.pass_races(schedule.passed());
    (0..ATTEMPTS).find_map(|_| {
        let once = session.run_once(&mut *boxed_replay(schedule), test, true);
        once.failure.filter(|again| repeats(again, found)).map(|again| *again)
    })
}

/// So often a failure is looked for that depends on addresses.
const ATTEMPTS: usize = 8;

const OTHER_ADDRESSES: &str = "this needs memory that is freed and allocated again at the same address, and the allocator did not do \
                               that when the schedule was run again, so there is no trace";

/// The same failure, recorded with the callers of each step.
fn with_callers(settings: &Settings, modes: Modes, test: &dyn Fn(), best: &Failure) -> Option<Failure> {
    let schedule: Schedule = best.replay.parse().ok()?;
    let mut replay = boxed_replay(&schedule);
    let mut session = Session::like(settings, modes);
    session.pass_races(schedule.passed());
    session.record_callers();
    let once = session.run_once(&mut *replay, test, true);
    let exact = !once.restart && explore::Explorer::divergence(&*replay).is_none();
    once.failure.filter(|f| exact && same(f, best)).map(|f| *f)
}

/// A replay on the heap: where executions have processes of their own only the heap is shared, and explorers are changed there.
pub(crate) fn boxed_replay(schedule: &Schedule) -> Box<Replay> {
    Box::new(Replay::strict(schedule.clone()))
}

/// One recorded run of a schedule, in a session of its own so that threads have the numbers of the schedule.
fn recorded(settings: &Settings, modes: Modes, test: &dyn Fn(), schedule: &Schedule) -> Recorded {
    let mut replay = boxed_replay(schedule);
    let mut session = Session::like(settings, modes);
    session.pass_races(schedule.passed());
    session.record_callers();
    let mut once = session.run_once(&mut *replay, test, true);
    for _ in 0..MOST_LESSONS {
        if !once.restart {
            break;
        }
        once = session.run_once(&mut *replay, test, true);
    }
    let divergence = explore::Explorer::divergence(&*replay).cloned();
    let addresses = session.caveats().iter().any(|c| c.text == crate::caveats::ADDRESSES);
    Recorded { failure: once.failure.map(|f| *f), divergence, stopped: once.stopped.map(|s| *s), addresses }
}

/// What one recorded run gave.
struct Recorded {
    failure: Option<Failure>,
    divergence: Option<Divergence>,
    /// The program compared addresses.
    addresses: bool,
    stopped: Option<Stop>,
}

/// How often a schedule is run again because something was learned of the program on the way.
const MOST_LESSONS: usize = 8;

/// How many schedules are tried to find a simpler failure.
const MOST_TRIES: usize = 300;

/// What makes a failure hard to read: preemptions, and then waits that end spuriously.
fn cost(failure: &Failure) -> (usize, usize) {
    (failure.preemptions, chance_wakes(failure).count())
}

/// The steps at which it is decided that a wait ends spuriously, by their place in the schedule.
fn chance_wakes(failure: &Failure) -> impl Iterator<Item = usize> + '_ {
    let steps = failure.trace.iter().filter(|s| s.step > 0 && s.detail.as_deref() == Some(record::SPURIOUS));
    steps.map(|s| s.step - 1)
}

/// Looks for a schedule with fewer preemptions that fails alike, or with as many and fewer waits that end for no reason. What is
/// found is the start of the next round.
fn shrink(settings: &Settings, modes: Modes, test: &dyn Fn(), best: &mut Failure, schedule: &Schedule) {
    let mut schedule = schedule.clone();
    let mut tries = 0;
    'rounds: while cost(best) > (0, 0) {
        let preempted = best.trace.iter().filter(|s| s.preempts.is_some()).map(|s| s.step - 1);
        let candidates: Vec<Schedule> = preempted
            .filter_map(|i| without_preemption(&schedule, i))
            .chain(chance_wakes(best).flat_map(|i| without_wake(&schedule, best, i)))
            .chain(simpler(&schedule).take_while(|_| best.preemptions > 0))
            .collect();
        for candidate in candidates {
            tries += 1;
            if tries > MOST_TRIES {
                return;
            }
            // Steps that cannot be taken any more are passed over.
            let mut replay = Box::new(Replay::loose(candidate));
            let once = Session::like(settings, modes).run_once(&mut *replay, test, true);
            if once.stopped.is_some_and(|s| s.reason != StopReason::Limit) {
                return;
            }
            if let Some(again) = once.failure.filter(|f| repeats(f, best) && cost(f) < cost(best)) {
                schedule = once.schedule;
                *best = *again;
                continue 'rounds;
            }
        }
        return;
    }
}

/// The schedule in which the thread that ran before step `i` goes on with its next block of steps before step `i`.
fn without_preemption(schedule: &Schedule, i: usize) -> Option<Schedule> {
    let threads = schedule.threads();
    let before = *threads.get(i.checked_sub(1)?)?;
    let start = (i..threads.len()).find(|j| threads[*j] == before)?;
    let end = (start..threads.len()).find(|j| threads[*j] != before).unwrap_or(threads.len());
    let mut out = threads[..i].to_vec();
    out.extend_from_slice(&threads[start..end]);
    out.extend_from_slice(&threads[i..start]);
    out.extend_from_slice(&threads[end..]);
    Some(Schedule::new(out, schedule.options().to_vec()))
}

/// Schedules in which the wait that is decided at step `i` does not end spuriously: without the thread's steps up to its next
/// wait, and without all of its steps from there on. What can go on then does.
fn without_wake(schedule: &Schedule, failure: &Failure, i: usize) -> Vec<Schedule> {
    let threads = schedule.threads();
    let Some(thread) = threads.get(i).copied() else { return Vec::new() };
    let waits = failure.trace.iter().filter(|s| s.step > i + 1 && s.thread == thread);
    let next = waits.filter(|s| s.operation == record::operation(OpKind::Wait)).map(|s| s.step - 1).next();
    // Which of the options decided it is not known.
    let options = schedule.options();
    let chosen: Vec<usize> = (0..options.len()).filter(|k| options[*k] != 0).collect();
    let without = |until: usize| {
        let kept = threads.iter().enumerate().filter(|(k, t)| **t != thread || *k <= i || *k >= until);
        let kept: Vec<ThreadId> = kept.map(|(_, t)| *t).collect();
        let other = chosen.iter().map(move |k| {
            let mut options = options.to_vec();
            options[*k] = 0;
            Schedule::new(kept.clone(), options)
        });
        other.collect::<Vec<_>>()
    };
    next.into_iter().chain([threads.len()]).flat_map(without).collect()
}

/// The schedule of a failure led to something else.
fn differs(found: Failure, again: Option<Failure>, divergence: Option<Divergence>) -> Failure {
    let second = match (&again, &divergence) {
        (_, Some(d)) => describe(d),
        (Some(f), None) => {
            let at = f.location.as_ref().map_or_else(String::new, |at| format!(" (at {at})"));
            format!("the second run ended with {}: {}{at}", f.kind.name(), f.message)
        }
        (None, None) => "the second run ended without a failure".to_string(),
    };
    let message = format!(
        "the test is not deterministic: its first run under this schedule ended with {}: {}{}; {second}",
        found.kind.name(),
        found.message,
        found.location.as_ref().map_or_else(String::new, |at| format!(" (at {at})"))
    );
    let shown = again.unwrap_or_else(|| found.clone());
    Failure {
        kind: FailureKind::Nondeterminism,
        message,
        location: found.location,
        thread: found.thread,
        replay: found.replay,
        preemptions: shown.preemptions,
        threads: shown.threads,
        cycle: Vec::new(),
        trace: shown.trace,
        after: shown.after,
        help: Some(help()),
        output: None,
    }
}

/// The advice for a program that is not deterministic.
fn help() -> String {
    let rule = "a checked test must do the same whenever its threads are scheduled the same way: no time, no random numbers, no addresses, \
                no state kept from one execution to the next";
    // The types are those of Rust tests.
    let types =
        "; use `raddle::choose` for choices, and raddle's `Arc` for a value whose destructor takes steps";
    format!("{rule}{}", if front::front().is_some() { "" } else { types })
}

fn nondeterminism(d: &Divergence, schedule: &Schedule) -> Failure {
    let location = d.found.or(d.expected).and_then(|(_, site)| record::place_of(site)).map(|p| p.to_string());
    Failure {
        kind: FailureKind::Nondeterminism,
        message: format!("the test is not deterministic: {}", describe(d)),
        location,
        thread: Some(d.thread),
        replay: schedule.to_string(),
        preemptions: 0,
        threads: Vec::new(),
        cycle: Vec::new(),
        trace: Vec::new(),
        after: None,
        help: Some(help()),
        output: None,
    }
}

fn describe(d: &Divergence) -> String {
    let say = |what: &Option<(explore::Op, explore::Site)>| match what {
        Some((op, site)) => {
            let place = record::place_of(*site).map_or_else(String::new, |p| format!(" at {p}"));
            format!("`{}`{place}", record::operation(op.kind))
        }
        None => "nothing: it could not run".to_string(),
    };
    if d.ended {
        let first = d
            .expected
            .as_ref()
            .map_or_else(|| "could run".to_string(), |_| format!("did {}", say(&d.expected)));
        return format!(
            "at step {}, thread {} {first} the first time, and now the execution is over before that step",
            d.step + 1,
            d.thread
        );
    }
    let (mut first, mut now) = (say(&d.expected), say(&d.found));
    if let (Some((before, _)), Some((after, _))) = (&d.expected, &d.found)
        && before.kind == after.kind
    {
        if (before.object, before.other) != (after.object, after.other) {
            now += ", on another object";
        } else if (before.a, before.b) != (after.a, after.b) {
            let operands = |op: &explore::Op| match op.kind {
                OpKind::CompareExchange | OpKind::CompareExchangeWeak => {
                    format!(" of {:#x} to {:#x}", op.a, op.b)
                }
                _ => format!(" with the value {:#x}", op.a),
            };
            first += &operands(before);
            now += &operands(after);
        }
    }
    format!(
        "at step {}, thread {} did {first} the first time, and now wants to do {now}",
        d.step + 1,
        d.thread
    )
}
