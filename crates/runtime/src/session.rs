//! One check: execution after execution, on one OS thread.

use crate::caveats::KEPT;
use crate::context::{self, Entered};
use crate::cycles::Rule;
use crate::driver::Settings;
use crate::execution::{Execution, Noted, Phase};
use crate::fiber::{self, Exit, Fiber, Resume, Said, Stacks};
use crate::front::{Front, Place};
use crate::livelock::{Course, Fair};
use crate::polling::{Modes, Restart};
use crate::quarantine::Quarantine;
use crate::watchdog::Watched;
use crate::{panics, signals, statics, threads};
use corosensei::CoroutineResult;
use explore::{
    Caveat, CaveatKind, Decision, End, Executed, Explorer, Failure, FailureKind, Options, Schedule, Site,
    Stop, StopReason, ThreadId, View,
};
use std::cell::Cell;
use std::panic::AssertUnwindSafe;

/// What one execution gave.
#[derive(Debug)]
pub struct Once {
    /// The search wants another one.
    pub again: bool,
    /// How it ended.
    pub end: End,
    /// What went wrong. The trace is empty unless it was recorded.
    pub failure: Option<Box<Failure>>,
    /// Failures of other threads in the same execution, with [`Settings::keep_going`]. Each has a token of its own.
    pub more: Vec<Failure>,
    /// The test does something for which executions have to be run in another way from now on: this one does not count, and
    /// the search must start again.
    pub restart: bool,
    /// Why the execution was stopped, and the search with it: a hard limit, or a limit of one execution.
    pub stopped: Option<Box<Stop>>,
    /// The choices that were made; empty unless something went wrong. Threads are numbered in the order in which this
    /// execution spawned them, as a fresh session numbers them when it follows the schedule.
    pub schedule: Schedule,
    /// What may be a livelock at its end.
    pub(crate) suspicion: Option<Box<Suspicion>>,
    /// What the continuation of the execution came to, if there was one.
    pub(crate) course: Option<Course>,
    /// The race of a native program at which it failed.
    pub(crate) race: Option<[Place; 2]>,
}

impl Once {
    /// An execution that ended without anything to report.
    fn plain(again: bool, end: End) -> Once {
        Once {
            again,
            end,
            failure: None,
            more: Vec::new(),
            restart: false,
            stopped: None,
            schedule: Schedule::default(),
            suspicion: None,
            course: None,
            race: None,
        }
    }
}

/// An execution that may be a livelock.
#[derive(Debug)]
pub(crate) struct Suspicion {
    /// Where threads repeat themselves.
    pub(crate) places: Vec<Place>,
    /// The choices that were made, with the numbers that threads have in the session.
    pub(crate) schedule: Schedule,
    /// A hash of the words of all objects and of what the threads are about to do, in which local states.
    pub(crate) state: u64,
    /// After so many steps it has shown what it repeats.
    pub(crate) shown_after: u64,
    /// The threads can repeat themselves for ever while all others are blocked.
    pub(crate) may_not_end: bool,
}

/// The executions of one program on the calling OS thread, with what is kept from one to the next: the numbers of threads,
/// stacks, and memory.
pub struct Session {
    /// `None` only while it is being dropped.
    execution: Option<Box<Execution>>,
    stacks: Stacks,
}

thread_local! {
    /// What the last check on this OS thread used, with its memory and its fibers.
    static LAST: Cell<Option<Box<Execution>>> = const { Cell::new(None) };
}

/// Stands where no search is connected.
struct NoExplorer;

impl Explorer for NoExplorer {
    fn begin(&mut self) {}
    fn next_thread(&mut self, _view: &View<'_>) -> Decision {
        Decision::Stop
    }
    fn next_option(&mut self, _options: Options<'_>) -> u32 {
        0
    }
    fn executed(&mut self, _event: Executed<'_>) {}
    fn end(&mut self, _end: End, _view: &View<'_>) -> bool {
        false
    }
}

static mut NO_EXPLORER: NoExplorer = NoExplorer;

impl Session {
    /// A session with nothing run yet.
    ///
    /// # Panics
    ///
    /// Inside a controlled thread: checks cannot be nested.
    pub fn new(settings: &Settings) -> Session {
        assert!(
            context::current().is_null(),
            "`raddle::check` was called inside a check: a test that is being checked cannot check another one"
        );
        panics::install();
        if crate::front::front().is_none() {
            crate::frees::install();
        }
        signals::install();
        let mut execution = LAST
            .take()
            .unwrap_or_else(|| Box::new(Execution::new(Settings::default(), &raw mut NO_EXPLORER)));
        execution.renew(settings);
        execution.settings.max_threads = settings.max_threads.clamp(1, explore::MAX_THREADS);
        let this = &raw mut *execution;
        Watched::begin(&mut execution.watched, settings, this);
        execution.stop_word = execution.watched.stop_word();
        Session { execution: Some(execution), stacks: Stacks::take() }
    }

    fn execution(&self) -> &Execution {
        self.execution.as_deref().expect("a session has its execution until it is dropped")
    }

    /// A session that runs executions as another one does.
    pub fn like(settings: &Settings, modes: Modes) -> Session {
        let mut session = Session::new(settings);
        if let Some(execution) = &mut session.execution {
            execution.modes = modes;
            // It follows one schedule.
            execution.settings.samples = true;
        }
        session
    }

    /// How executions are run by now.
    pub fn modes(&self) -> Modes {
        self.execution().modes
    }

    /// What the executions of this session have left out.
    pub fn caveats(&self) -> Vec<Caveat> {
        self.execution().caveats.all()
    }

    /// Whether a thread was refused an option because of the bound on options in a row.
    pub(crate) fn refused_option(&self) -> bool {
        self.execution().refused_option
    }

    /// Forgets the caveats of one kind: the search starts again and notes what it still leaves out.
    pub fn forget_caveats(&mut self, kind: CaveatKind) {
        if let Some(execution) = &mut self.execution {
            execution.caveats.forget(kind);
        }
    }

    /// Continues executions under a fair schedule, or no more.
    pub(crate) fn continue_after(&mut self, fair: Option<Fair>) {
        if let Some(execution) = &mut self.execution {
            execution.fair = fair.map(Box::new);
        }
    }

    /// Notes something that the session leaves out at these places.
    pub(crate) fn note(&mut self, kind: CaveatKind, text: &'static str, places: &[Place]) {
        if let Some(execution) = &mut self.execution {
            places.iter().for_each(|p| execution.caveats.add(kind, text.into(), *p));
        }
    }

    /// Executions continue after so many races that they meet first.
    pub(crate) fn pass_races(&mut self, number: u32) {
        if let Some(execution) = &mut self.execution {
            execution.passes = number;
        }
    }

    /// Records the callers of each step in executions that are recorded.
    pub(crate) fn record_callers(&mut self) {
        if let Some(execution) = &mut self.execution {
            execution.with_callers = true;
        }
    }

    /// Sets after how many fruitless turns a thread gives way. The search must start again.
    pub(crate) fn set_turns(&mut self, turns: u32) {
        self.forget_caveats(CaveatKind::Turns);
        if let Some(execution) = &mut self.execution {
            execution.modes.turns = turns;
            (execution.gave_way, execution.bounded_rounds) = (false, false);
        }
    }

    /// Counts rounds by place from now on, with one turn; see [`Modes::rounds_by_place`]. The search must start again.
    pub(crate) fn count_rounds_by_place(&mut self) {
        self.set_turns(1);
        if let Some(execution) = &mut self.execution {
            execution.modes.rounds_by_place = true;
        }
    }

    /// Clears stacks from now on, if threads were compared with their earlier states and stacks were not cleared. Says whether that is so: the
    /// search must start again.
    pub(crate) fn clean_stacks(&mut self) -> bool {
        let Some(execution) = &mut self.execution else { return false };
        let learns = execution.compared_states && !execution.modes.clean_stacks;
        execution.modes.clean_stacks |= learns;
        learns
    }

    /// Keeps memory that a test frees from being allocated again in the same execution, if the test keeps addresses in atomics and memory was allocated
    /// again. Says whether that is new: the search must start again.
    pub(crate) fn keep_freed(&mut self) -> bool {
        let Some(execution) = &mut self.execution else { return false };
        let comes_back = !execution.modes.keeps_freed || execution.modes.gives_back;
        let learns = execution.compared_addresses && comes_back && Quarantine::is_available();
        if learns {
            (execution.modes.keeps_freed, execution.modes.gives_back) = (true, false);
            Caveat::new(CaveatKind::Reuse, KEPT).add_to(&mut execution.caveats.named);
        }
        learns
    }

    /// A number that tells executions apart in which recorded steps differ: that of the last one.
    pub(crate) fn digest(&self) -> u64 {
        self.execution.as_ref().map_or(0, |ex| ex.digest())
    }

    /// Whether a destructor that an `Arc` of std's ran has taken steps.
    pub(crate) fn has_owners_of_std(&self) -> bool {
        self.execution.as_ref().is_some_and(|ex| ex.owners.of_std)
    }

    /// Looks for destructors that an `Arc` of std's runs in all executions from now on. Says whether that is new: the search must start
    /// again.
    pub(crate) fn watch_owners(&mut self) -> bool {
        let Some(execution) = &mut self.execution else { return false };
        let learns = execution.front.is_none() && !execution.owners.of_std && !execution.owners.always;
        execution.owners.always |= learns;
        learns
    }

    /// Watches all threads from their beginning from now on, if threads come back to earlier states. Says whether that is new: the search must
    /// start again.
    pub(crate) fn watch_eagerly(&mut self) -> bool {
        let Some(execution) = &mut self.execution else { return false };
        let settings = &execution.settings;
        let learns = execution.compared_states
            && !execution.modes.eager
            && settings.spin_loops
            && !settings.samples
            && settings.rule == Rule::Removable;
        (execution.modes.eager, execution.modes.clean_stacks) =
            (execution.modes.eager | learns, execution.modes.clean_stacks | learns);
        learns
    }

    /// How many steps the last execution had.
    pub(crate) fn last_steps(&self) -> u64 {
        self.execution().steps
    }

    /// Whether a thread gave way while another one could run.
    pub(crate) fn gave_way(&self) -> bool {
        self.execution().gave_way
    }

    /// Whether a thread was stopped because it has gone through as many rounds as it may.
    pub(crate) fn bounded_rounds(&self) -> bool {
        self.execution().bounded_rounds
    }

    /// Why the search has to stop, if it was asked to.
    pub fn stop_requested(&self) -> Option<Stop> {
        self.execution().stop_requested()
    }

    /// How many steps have been taken in all.
    pub fn total_steps(&self) -> u64 {
        self.execution().total_steps
    }

    /// Runs `test` once, under the schedule that `explorer` gives. With `record` a failure has its full trace. The explorer must lie on
    /// the heap: where executions have processes of their own, changes to what lies on the stack are lost.
    pub fn run_once(&mut self, explorer: &mut dyn Explorer, test: &dyn Fn(), record: bool) -> Once {
        match self.execution().front {
            Some(front) if front.is_isolated() => self.run_apart(front, explorer, test, record),
            _ => self.run_here(explorer, test, record),
        }
    }

    /// The same in a process of its own. Only what was allocated comes back from there, so the result does, and everything
    /// in the tables that lies on stacks of that process is forgotten.
    #[cold]
    fn run_apart(
        &mut self,
        front: &'static dyn Front,
        explorer: &mut dyn Explorer,
        test: &dyn Fn(),
        record: bool,
    ) -> Once {
        if let Some(execution) = &mut self.execution {
            // The counter of the process that runs the execution is lost with it.
            execution.epochs.stock();
        }
        let result: *mut Option<Once> = Box::into_raw(Box::new(None));
        let ended = front.isolate(&mut || {
            let once = self.run_here(explorer, test, record);
            if let Some(execution) = &mut self.execution {
                execution.threads.iter_mut().for_each(forget_fiber);
            }
            // SAFETY: the box lives until below, in both processes.
            unsafe { *result = Some(once) };
        });
        // SAFETY: made above, and used by nobody else any more.
        let once = *unsafe { Box::from_raw(result) };
        match (ended, once) {
            (Ok(()), Some(once)) => once,
            _ if self.stop_requested().is_some() => {
                let stopped = self.stop_requested().map(Box::new);
                Once { stopped, ..Once::plain(false, End::Cut) }
            }
            (ended, _) => {
                let why = ended.err().map_or_else(|| "its process left no result".to_owned(), |c| c.0);
                self.crashed(why)
            }
        }
    }

    /// The process of an execution ended in the middle of it. The search was told of all that was done by then.
    fn crashed(&mut self, why: String) -> Once {
        let Some(execution) = &mut self.execution else { unreachable!("see `Session::execution`") };
        for thread in &mut execution.threads {
            forget_fiber(thread);
            thread.running = false;
            std::mem::forget(thread.body.take());
        }
        let thread = Some(execution.current);
        execution.note_failure(FailureKind::Signal, format!("the execution broke off: {why}"), None, thread);
        execution.end = Some(End::Cut);
        let failure = judge(execution, End::Cut).0;
        let schedule = execution.schedule();
        Once { failure, schedule, ..Once::plain(false, End::Cut) }
    }

    fn run_here(&mut self, explorer: &mut dyn Explorer, test: &dyn Fn(), record: bool) -> Once {
        let Some(execution) = &mut self.execution else { unreachable!("see `Session::execution`") };
        let ex: *mut Execution = &raw mut **execution;
        // SAFETY: `ex` points into the box of this session, which is borrowed for the whole call and not otherwise used;
        // from here on everything goes through this pointer. The explorer and the test outlive the call, and all fibers
        // that could use them have ended, or will never run again, when it returns.
        unsafe {
            (*ex).reset(record);
            (*ex).start_std_locals();
            (*ex).explorer =
                std::mem::transmute::<*mut (dyn Explorer + '_), *mut (dyn Explorer + 'static)>(explorer);
            (*(*ex).explorer).begin();
            (*ex).take_script();
            let entered = Entered::new(ex);
            let _quarantine = (*ex).modes.keeps_freed.then(|| Quarantine::new((*ex).modes.gives_back));
            if let Some(front) = (*ex).front {
                crate::seldom();
                front.begin();
            }
            (*ex).test = std::mem::transmute::<*const (dyn Fn() + '_), *const (dyn Fn() + 'static)>(test);
            self.start_main(ex);
            let ran = std::panic::catch_unwind(AssertUnwindSafe(|| self.resume_fibers(ex)));
            (*ex).leave_user_code();
            if ran.is_err() || (*ex).search_panicked {
                crate::seldom();
                // A bug of the search: it goes up as a panic of whoever called the check.
                (*ex).search_panicked = false;
                self.tear_down(ex);
                drop(entered);
                (*ex).explorer = &raw mut NO_EXPLORER;
                panic!("the search panicked; see the message above");
            }
            (*ex).end_std_locals();
            if (*ex).restart_at_end && (*ex).restart.is_none() {
                (*ex).restart = Some(Restart::FrontLearned);
            }
            if let Some(why) = (*ex).restart {
                crate::seldom();
                self.tear_down(ex);
                drop(entered);
                (*ex).explorer = &raw mut NO_EXPLORER;
                (*ex).modes.change(why);
                return Once { restart: true, ..Once::plain(true, End::Cut) };
            }
            if (*ex).failure.is_none()
                && let Some(stop) = (*ex).stopped.take()
            {
                crate::seldom();
                let mut stop = Box::new(stop);
                if stop.reason == StopReason::Limit {
                    stop.replay = (*ex).schedule().to_string();
                }
                let suspicion = if (*ex).suspect { Some(Box::new((*ex).suspicion())) } else { None };
                self.tear_down(ex);
                (*ex).forget_script();
                drop(entered);
                (*ex).explorer = &raw mut NO_EXPLORER;
                return Once { stopped: Some(stop), suspicion, ..Once::plain(false, End::Cut) };
            }
            let end = (*ex).end.unwrap_or(End::Cut);
            let clean = end == End::Complete && (*ex).live.is_empty();
            let ok = clean && (*ex).failure.is_none() && (*ex).panics == 0;
            let (mut found, mut more) = if ok { (None, Vec::new()) } else { judge(&mut *ex, end) };
            if clean
                && found.is_none()
                && (*ex).settings.leaks
                && let Some((message, place)) = (*ex).front.and_then(|f| f.leak())
            {
                (*ex).note_failure(FailureKind::Leak, message, Some(Place::at(place)), None);
                found = judge(&mut *ex, end).0;
            }
            (*ex).given_up_for = found.as_ref().map(|f| format!("{}: {}", f.kind.name(), f.message));
            self.tear_down(ex);
            if clean && found.is_none() && (*ex).settings.leaks {
                found = leaked(&*ex).or_else(|| kept(&*ex));
            }
            (*ex).note_plain_race();
            if clean && (found.is_none() || (*ex).notes_all() || (*ex).passes > 0) {
                let mut at_end = (*ex).used_after_end().or_else(|| (*ex).shared_while_alone());
                let before = if found.is_some() { (*ex).panics_that_fail() } else { 0 };
                if let Some(failure) = &mut at_end
                    && let Ok(schedule) = failure.replay.parse::<Schedule>()
                {
                    failure.replay = schedule.passing(before).to_string();
                }
                match at_end {
                    Some(at_end) if found.is_none() || (*ex).passes == before => found = Some(at_end),
                    Some(at_end) if (*ex).notes_all() => more.push(*at_end),
                    _ => {}
                }
            }
            (*ex).forget_script();
            let again = (*(*ex).explorer).end(end, &(*ex).view());
            drop(entered);
            (*ex).explorer = &raw mut NO_EXPLORER;
            let notes_race = (*ex).met_races.get_mut().last.is_some();
            if found.is_none() & more.is_empty() & !(*ex).suspect & (*ex).fair.is_none() & !notes_race {
                return Once::plain(again, end);
            }
            crate::seldom();
            let spins = found.as_ref().is_some_and(|f| f.kind == FailureKind::Livelock);
            let suspicion = if (*ex).suspect || spins { Some(Box::new((*ex).suspicion())) } else { None };
            let schedule = if found.is_some() || (*ex).suspect {
                failing_schedule(&*ex, found.as_deref())
            } else {
                Schedule::default()
            };
            let course = (*ex).fair.as_ref().and_then(|f| f.course());
            let race = (*ex).met_races.get_mut().last.take();
            Once {
                again,
                end,
                failure: found,
                more,
                restart: false,
                stopped: None,
                schedule,
                suspicion,
                course,
                race,
            }
        }
    }

    /// # Safety
    ///
    /// `ex` is this session's execution, just reset.
    unsafe fn start_main(&mut self, ex: *mut Execution) {
        // SAFETY: by the contract; the borrow ends here.
        let ex = unsafe { &mut *ex };
        let main = ex.intern(None).unwrap_or(ThreadId::MAIN);
        ex.enter_thread(main);
        let thread = &mut ex.threads[main.index()];
        thread.stack_size = ex.settings.stack_size;
        ex.awaken(main, None, Site(0));
    }

    /// The loop from which all fibers are resumed.
    ///
    /// # Safety
    ///
    /// `ex` is this session's execution, the current one, and no reference into it is alive.
    unsafe fn resume_fibers(&mut self, ex: *mut Execution) {
        // SAFETY: by the contract; references into the execution end before a fiber is resumed. A fiber is resumed in
        // place: the table of threads has its full capacity from the start, so it does not move when threads are added.
        unsafe {
            let mut next = (*ex).decide();
            while let Some(t) = next {
                let thread: *mut threads::Thread = &mut (&mut (*ex).threads)[t.index()];
                if !is_equipped(&*thread) {
                    self.equip(ex, t);
                }
                become_current(ex, t);
                let Some(fiber) = &mut (*thread).fiber else { break };
                (*ex).in_fiber = true;
                let result = fiber.resume(Resume::Go);
                (*ex).in_fiber = false;
                // Meanwhile it may have handed over to another one.
                let t = (*ex).current;
                let thread: *mut threads::Thread = &mut (&mut (*ex).threads)[t.index()];
                next = match result {
                    CoroutineResult::Yield(Said::Waits) => (*ex).next,
                    CoroutineResult::Yield(Said::Ended) => {
                        (*thread).running = false;
                        if (*ex).search_panicked || (*ex).end.is_some() { None } else { (*ex).decide() }
                    }
                    // The watchdog made it leave its code, because the search has to stop.
                    CoroutineResult::Return(Exit::Interrupted) => {
                        crate::seldom();
                        (*thread).running = false;
                        self.unequip(thread);
                        (*ex).end = Some(End::Cut);
                        (*ex).stop_for_limit();
                        None
                    }
                    // It has noted why.
                    CoroutineResult::Return(Exit::Crashed) => {
                        crate::seldom();
                        (*thread).running = false;
                        self.unequip(thread);
                        (*ex).others_continue()
                    }
                    // A fiber is retired only between executions: this one ran out of stack.
                    CoroutineResult::Return(_) => {
                        crate::seldom();
                        (*thread).running = false;
                        self.unequip(thread);
                        let message = signals::overflow_message(&*ex);
                        let place = crate::record::place_of((&(*ex).pending)[t.index()].site);
                        if !(*ex).passes_failure(FailureKind::Signal) {
                            (*ex).note_failure(FailureKind::Signal, message, place, Some(t));
                        }
                        (*ex).others_continue()
                    }
                };
            }
            if let Some(front) = (*ex).front {
                crate::seldom();
                front.switch(None);
            }
        }
    }

    /// Gives a thread that is not running a fiber for its stack size.
    ///
    /// # Safety
    ///
    /// As for `resume_fibers`.
    #[cold]
    unsafe fn equip(&mut self, ex: *mut Execution, t: ThreadId) {
        // SAFETY: by the contract, and as in `resume_fibers`.
        unsafe {
            let thread: *mut threads::Thread = &mut (&mut (*ex).threads)[t.index()];
            retire(&mut (*thread).fiber);
            self.unequip(thread);
            let stack = self.stacks.get((*thread).stack_size);
            (*thread).stack_floor = fiber::floor(&stack);
            (*thread).fiber_size = (*thread).stack_size;
            (*thread).fiber = Some(make_fiber(stack, ex, t));
        }
    }

    /// Takes the stack of a fiber that has returned.
    ///
    /// # Safety
    ///
    /// `thread` is valid, and no reference to it is alive.
    unsafe fn unequip(&mut self, thread: *mut threads::Thread) {
        // SAFETY: by the contract.
        if let Some(fiber) = unsafe { (*thread).fiber.take() } {
            self.stacks.put(fiber.into_stack());
        }
    }

    /// Ends all fibers that have not ended, the youngest first: a thread may use what lies on the stack of the one that
    /// spawned it (a scope), never the other way round. Their destructors run; operations do nothing.
    ///
    /// # Safety
    ///
    /// As for `resume_fibers`.
    unsafe fn tear_down(&mut self, ex: *mut Execution) {
        // SAFETY: by the contract, and as in `resume_fibers`.
        unsafe {
            (*ex).phase = Phase::TearingDown;
            if let Some(front) = (*ex).front {
                self.abandon(ex);
                return front.end();
            }
            (*ex).enter_user_code();
            ((*ex).looking, (*ex).tracking) = (false, false);
            // Threads that have all ended without a panic left nothing.
            let left = if (*ex).live.is_empty() && (*ex).panics == 0 { 0 } else { (*ex).order.len() };
            (*ex).current = ThreadId::MAIN;
            for i in (0..left).rev() {
                let t = (&(*ex).order)[i];
                let thread: *mut threads::Thread = &mut (&mut (*ex).threads)[t.index()];
                (*ex).current = t;
                (*ex).teardown_ops = 0;
                if (*thread).running
                    && let Some(mut fiber) = (*thread).fiber.take()
                {
                    // A fiber that unwinds from a panic must not get a second one: its operations come back.
                    let how = if (*thread).panicking { Resume::Go } else { Resume::Unwind };
                    (*ex).in_fiber = true;
                    let result = fiber.resume(how);
                    (*ex).in_fiber = false;
                    (*thread).running = false;
                    match result {
                        CoroutineResult::Yield(Said::Ended) => (*thread).fiber = Some(fiber),
                        CoroutineResult::Return(_) => self.stacks.put(fiber.into_stack()),
                        // It asked to be left alone. What is on its stack leaks, and so does the stack.
                        CoroutineResult::Yield(Said::Waits) => std::mem::forget(fiber),
                    }
                }
                if let Some(body) = (*thread).body.take() {
                    let _ = std::panic::catch_unwind(AssertUnwindSafe(move || body.discard()));
                }
                if let Some(payload) = (*thread).take_payload() {
                    let _ = std::panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
                }
            }
            crate::watch::put_back_statics(&mut *ex);
            statics::drop_copies(ex);
            (*ex).leave_user_code();
            (*ex).end_std_locals();
        }
    }
}

impl Session {
    /// Ends all fibers that have not ended, without running any more of their code: what they hold is the program's memory,
    /// which is put back before the next execution. Each thread keeps its stack, so that addresses stay what they are.
    ///
    /// # Safety
    ///
    /// As for `resume_fibers`.
    unsafe fn abandon(&mut self, ex: *mut Execution) {
        // SAFETY: by the contract. A fiber that is reset never runs again.
        unsafe {
            for i in 0..(*ex).order.len() {
                let t = (&(*ex).order)[i];
                let thread: *mut threads::Thread = &mut (&mut (*ex).threads)[t.index()];
                prepare_fiber(ex, t);
                (*thread).body = None;
                (*thread).take_payload();
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(execution) = self.execution.take() else { return };
        execution.watched.stop();
        // An OS thread that ends has no more use for it.
        let _ = LAST.try_with(|last| last.set(Some(execution)));
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        for thread in &mut self.threads {
            retire(&mut thread.fiber);
        }
    }
}

/// Whether a thread has the fiber that it is to run on.
#[inline(always)]
fn is_equipped(thread: &threads::Thread) -> bool {
    thread.running || thread.fiber.is_some() && thread.fiber_size == thread.stack_size
}

/// What runs next is the code of `t`.
///
/// # Safety
///
/// `ex` is the current execution, `t` is equipped, and no reference into the execution is alive. The caller goes on with the fiber of `t`, and
/// uses no thread-local variable before it has.
#[inline(always)]
unsafe fn become_current(ex: *mut Execution, t: ThreadId) {
    // SAFETY: by the contract.
    unsafe {
        (*ex).current = t;
        let thread: *mut threads::Thread = &mut (&mut (*ex).threads)[t.index()];
        (*ex).own = thread;
        (*thread).running = true;
        ((*ex).stack_floor, (*ex).frames_end) = ((*thread).stack_floor, (*thread).frames_end);
        if (*thread).may_loop | (*thread).cycles.is_used() | (*ex).watchful {
            resume_loop(&mut *ex, &*thread);
        } else {
            ((*ex).tracking, (*ex).looking, (*ex).due) = (false, false, false);
        }
        (*ex).repeat = None;
        if (*ex).recording {
            crate::seldom();
            // A write of the thread that stops has happened.
            (*ex).finish_plain_writes();
        }
        if let Some(front) = (*ex).front {
            front.switch(Some(t));
            // Thread-local storage is another one now.
            context::enter(ex);
        }
    }
}

/// A thread that may be in a loop continues.
#[inline(always)]
fn resume_loop(ex: &mut Execution, thread: &threads::Thread) {
    ex.tracking = !thread.cycles.is_empty() || ex.modes.eager;
    ex.looking = ex.tracking || !thread.window.is_empty() || ex.modes.clean_stacks;
    ex.looking |= ex.fair.is_some() && ex.is_fair();
    ex.due = thread.turns.due;
    ex.attend |= ex.due;
}

/// Suspends the running fiber and lets the thread go on that is next. Where that one has its fiber already, it goes on at once, without
/// the loop that resumes fibers. Returns when the fiber is resumed.
///
/// # Safety
///
/// As for [`crate::sync::suspend`].
#[inline(never)]
pub(crate) unsafe fn go_on_with_next(ex: *mut Execution) -> Resume {
    // SAFETY: by the contract. The yielder lives as long as the fiber; that of the other thread is suspended, or waits for a body.
    unsafe {
        let yielder = (&(*ex).threads)[(*ex).current.index()].yielder;
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        if let Some(t) = (*ex).next
            && t != (*ex).current
            && (*ex).phase == Phase::Running
        {
            let thread: *const threads::Thread = &(&(*ex).threads)[t.index()];
            if is_equipped(&*thread)
                && let Some(fiber) = &(*thread).fiber
            {
                become_current(ex, t);
                return (*yielder).hand_over(fiber);
            }
        }
        (*yielder).suspend(Said::Waits)
    }
}

/// Makes the fiber of a thread that has ended, or is given up, ready for another body. It keeps its stack.
///
/// # Safety
///
/// `ex` is the current execution, no reference into it is alive, and the code of `t` that is on the fiber never continues.
#[inline(always)]
pub(crate) unsafe fn prepare_fiber(ex: *mut Execution, t: ThreadId) {
    // SAFETY: by the contract. A fiber that is reset never runs again.
    unsafe {
        let thread: *mut threads::Thread = &mut (&mut (*ex).threads)[t.index()];
        if (*thread).running {
            (*thread).running = false;
            if let Some(mut fiber) = (*thread).fiber.take() {
                fiber.force_reset();
                (*thread).fiber = Some(make_fiber(fiber.into_stack(), ex, t));
            }
        }
    }
}

/// Forgets a fiber whose stack is in another process.
fn forget_fiber(thread: &mut threads::Thread) {
    if let Some(mut fiber) = thread.fiber.take() {
        // SAFETY: whatever is on the stack is out of reach.
        unsafe { fiber.force_reset() };
        std::mem::forget(fiber.into_stack());
    }
}

/// Ends a fiber that waits for a body.
fn retire(fiber: &mut Option<Fiber>) {
    if let Some(fiber) = fiber {
        let retired = fiber.resume(Resume::Retire);
        debug_assert!(matches!(retired, CoroutineResult::Return(Exit::Done)));
    }
}

/// # Safety
///
/// `ex` outlives the fiber, which is resumed only as `t`, when it is `t`'s turn.
unsafe fn make_fiber(stack: corosensei::stack::DefaultStack, ex: *mut Execution, t: ThreadId) -> Fiber {
    Fiber::with_stack(stack, move |yielder, mut how| {
        // SAFETY: by the contract. The yielder lives as long as the fiber.
        unsafe {
            let bottom = 0u8;
            let thread = &mut (&mut (*ex).threads)[t.index()];
            thread.yielder = yielder;
            thread.frames_end = std::ptr::from_ref(&bottom) as usize & !7;
            (*ex).frames_end = thread.frames_end;
            let (low, high) = (*ex).stacks;
            (*ex).stacks = (low.min(thread.stack_floor), high.max(thread.frames_end));
            while how == Resume::Go {
                threads::live(ex, t);
                how = yielder.suspend(Said::Ended);
            }
        }
        Exit::Done
    })
}

/// Judges an execution that did not end with all threads at their ends: gives its failure, and others with [`Settings::keep_going`].
#[cold]
#[inline(never)]
fn judge(ex: &mut Execution, end: End) -> (Option<Box<Failure>>, Vec<Failure>) {
    // Where the execution was cut, a panic may still have been taken by a join that did not come to run.
    let noted_now = ex.failure.is_none();
    let mut panics = match end {
        End::Complete => panics::failures(ex),
        // A panic that has left the first thread is one that nobody can take. A thread that was stopped does not change that.
        End::Pruned if panics::has_left_main(ex) => panics::failures(ex),
        _ => Vec::new(),
    };
    let stopped = ex.met_races.get_mut().has_failed();
    if (stopped || !noted_now) && !panics.is_empty() && !panics::has_left_main(ex) {
        // The thread that has stopped may be the one that would join those that panicked.
        let all = panics.len();
        panics.retain(|p| p.thread.is_some_and(|t| ex.threads[t.index()].detached));
        if panics.len() < all {
            Caveat::new(CaveatKind::Depth, PANICS_AFTER_FAILURE).add_to(&mut ex.caveats.named);
        }
    }
    let count = panics.len();
    for (noted, passed) in panics.iter_mut().zip(ex.met_races.get_mut().passed()..) {
        noted.passed = Some(passed);
    }
    let mut more = std::mem::take(&mut ex.more);
    let (noted, cycle) = match ex.failure.take() {
        Some(noted) => (Some(noted), Vec::new()),
        None if !panics.is_empty() => {
            // A schedule that is followed may lead to a later one. A panic that nobody took came before whatever blocks.
            let which = (ex.passes - ex.met_races.get_mut().passed().min(ex.passes)) as usize;
            (Some(panics.remove(if which < count { which } else { 0 })), Vec::new())
        }
        None if end == End::Complete => split(ex.blocked_failure().or_else(|| ex.lock_deadlock())),
        None if matches!(end, End::Pruned | End::Cut) => split(ex.lock_deadlock()),
        None => (None, Vec::new()),
    };
    let Some(noted) = noted else { return (None, Vec::new()) };
    // Whatever was noted before was told when it was found.
    if let Some(front) = crate::front::front().filter(|_| noted_now) {
        front.failed(&noted.message);
    }
    // The write that fails has not been performed.
    let fails_before = [FailureKind::DataRace, FailureKind::UseAfterFree, FailureKind::OutOfBounds];
    if fails_before.contains(&noted.kind)
        && ex.unfinished.last().is_some_and(|at| at + 1 == ex.recorded.len())
    {
        ex.unfinished.pop();
    }
    ex.finish_plain_writes();
    if ex.notes_all() {
        more.append(&mut panics);
    }
    let more = more.into_iter().map(|noted| ex.full_failure(noted)).collect();
    let mut failure = ex.full_failure(noted);
    failure.cycle = cycle;
    (Some(Box::new(failure)), more)
}

fn split(found: Option<(Noted, Vec<ThreadId>)>) -> (Option<Noted>, Vec<ThreadId>) {
    found.map_or((None, Vec::new()), |(noted, cycle)| (Some(noted), cycle))
}

const PANICS_AFTER_FAILURE: &str = "threads panicked in an execution in which another one had stopped at a failure: whether that \
     one would have handled the panics is not known";

/// The schedule up to the failure. The other threads may have continued after it.
fn failing_schedule(ex: &Execution, found: Option<&Failure>) -> Schedule {
    found.and_then(|f| f.replay.parse().ok()).unwrap_or_else(|| ex.schedule())
}

/// A counted object whose count is not 0 at the end.
fn leaked(ex: &Execution) -> Option<Box<Failure>> {
    let i = ex.objects.iter().position(|o| o.counted && o.word != 0)?;
    Some(leak(ex, i))
}

/// A block that was not freed, or a tracked value that was not dropped.
fn kept(ex: &Execution) -> Option<Box<Failure>> {
    let (message, place) = ex.heap.leak()?;
    let noted = crate::execution::Noted {
        kind: FailureKind::Leak,
        message,
        location: Some(place.to_string()),
        thread: None,
        help: None,
        at: None,
        passed: None,
    };
    Some(Box::new(ex.full_failure(noted)))
}

#[cold]
#[inline(never)]
fn leak(ex: &Execution, i: usize) -> Box<Failure> {
    let object = &ex.objects[i];
    let name = ex.object_name(explore::ObjectId(i as u32)).unwrap_or_default();
    let references = if object.word == 1 { "reference" } else { "references" };
    let location = object.place.map(|p| p.to_string());
    let message = format!(
        "{name} was never dropped: {} {references} left at the end, made at {}",
        object.word,
        location.as_deref().unwrap_or("an unknown place")
    );
    let noted = crate::execution::Noted {
        kind: FailureKind::Leak,
        message,
        location,
        thread: None,
        help: None,
        at: None,
        passed: None,
    };
    Box::new(ex.full_failure(noted))
}
