//! One execution: what every thread has announced, what can run, and what a step does.
//!
//! The functions here never suspend. [`crate::sync`] and [`crate::threads`] put them together with the suspensions.

use crate::cycles::{self, STOPPED};
use crate::driver::Settings;
use crate::foreign::Blocks;
use crate::front::{self, Front};
use crate::memory::Unsettled;
use crate::objects::{Epochs, Object};
use crate::polling::{Modes, Restart, Versioned};
use crate::races::{Met, Races};
use crate::record::{Logged, Recorded};
use crate::spin;
use crate::statics::Statics;
use crate::threads::{Panicked, Thread};
use crate::turns;
use crate::watchdog::Watched;
use crate::{Class, Done, Place};
use explore::semantics::Applied;
use explore::{
    Access, Decision, End, Event, Executed, Explorer, Failure, FailureKind, MAX_THREADS, ObjectId, Op,
    OpKind, Options, Pending, Site, Stop, StopReason, ThreadId, ThreadSet, View, semantics,
};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// What operations do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// They are steps.
    Running,
    /// Nothing: the execution is given up.
    TearingDown,
}

/// A failure as it is noted while the program runs; the rest is added at the end.
pub(crate) struct Noted {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    pub(crate) location: Option<String>,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) help: Option<String>,
    /// How much of the execution came before it, where that is known.
    pub(crate) at: Option<Moment>,
    /// How many other failures the execution has met before this one; as many as in all if this is not known.
    pub(crate) passed: Option<u32>,
}

impl Noted {
    /// The thread that failed by itself, and where. Threads that wait for each other have not.
    fn failed_at(&self) -> Option<(ThreadId, FailureKind, Option<&str>)> {
        let waits = matches!(self.kind, FailureKind::Deadlock | FailureKind::Livelock | FailureKind::Leak);
        self.thread.filter(|_| !waits && self.at.is_some()).map(|t| (t, self.kind, self.location.as_deref()))
    }
}

/// Steps that are the same again and again.
pub(crate) struct Repeated {
    /// Where they start in the log.
    pub(crate) from: usize,
    /// How many there are.
    steps: usize,
    /// After how many they come again.
    pub(crate) period: usize,
    /// The threads that take them.
    who: Vec<String>,
}

/// A point of an execution: how much was recorded by then.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) rows: usize,
    pub(crate) steps: usize,
    pub(crate) options: usize,
}

/// The state of the running execution. Its vectors are cleared, not freed, between executions.
pub(crate) struct Execution {
    /// What the session leaves out by now.
    pub(crate) caveats: crate::caveats::Noted,
    /// Atomic operations with weak orders.
    pub(crate) weak: crate::orders::Weak,
    pub(crate) settings: Settings,
    /// Set for programs that are not made of our Rust types.
    pub(crate) front: Option<&'static dyn Front>,
    pub(crate) explorer: *mut dyn Explorer,
    /// What the main thread runs.
    pub(crate) test: *const dyn Fn(),
    pub(crate) watched: Arc<Watched>,
    /// The number that handles cache.
    pub(crate) epoch: u32,
    pub(crate) epochs: Epochs,
    pub(crate) phase: Phase,
    /// The thread whose code runs.
    pub(crate) current: ThreadId,
    /// What this execution is to do first; see [`Explorer::script`]. Valid until the search is told of a step that is not in it.
    script: *const [Event],
    /// How many steps of the script were taken.
    scripted: usize,
    /// How many of these the search was told of.
    told: usize,
    /// The thread that runs next, after the current fiber suspended itself; `None` when the execution is over.
    pub(crate) next: Option<ThreadId>,
    /// How it ended, once it has.
    pub(crate) end: Option<End>,
    pub(crate) pending: Vec<Pending>,
    pub(crate) threads: Vec<Thread>,
    /// The entry of the thread whose fiber runs. The table has room for all threads from the start, so it stays where it is.
    pub(crate) own: *mut Thread,
    pub(crate) live: ThreadSet,
    pub(crate) enabled: ThreadSet,
    pub(crate) yielded: ThreadSet,
    /// Threads whose announced operation may block on its object's word.
    pub(crate) blocking: ThreadSet,
    /// Threads that stand at an `Await`.
    awaiting: ThreadSet,
    awaiters: u32,
    last: Option<ThreadId>,
    /// What awaiting threads wait on, each with the word that was seen.
    pub(crate) awaited: Vec<(ObjectId, u64)>,
    /// A thread was stopped because it repeats itself.
    pub(crate) any_stopped: bool,
    /// States of all threads and words, as hashes, where the rule for loops asks for them; see [`crate::cycles::Rule::RepeatedState`].
    pub(crate) states: Vec<u64>,
    /// From then on: the locks under which something was changed, and how many steps there had been.
    pub(crate) changed_under: Vec<(ObjectId, usize)>,
    pub(crate) objects: Vec<Object>,
    /// By object: what it is called in every execution, or 0.
    pub(crate) names: Vec<u64>,
    pub(crate) statics: Statics,
    /// The threads of this execution in the order in which they were spawned.
    pub(crate) order: Vec<ThreadId>,
    /// The next number for a thread that no execution of the session has met.
    pub(crate) next_thread_id: usize,
    pub(crate) steps: u64,
    pub(crate) total_steps: u64,
    /// No other session of the process has this number, and it is not 0.
    pub(crate) session: u32,
    /// One short record a step.
    pub(crate) log: Vec<Logged>,
    /// The chosen options, and whether each is the number of a thread.
    pub(crate) options: Vec<(u32, bool)>,
    pub(crate) recording: bool,
    /// Callers are recorded with each step.
    pub(crate) with_callers: bool,
    /// An execution continues after so many failures that it meets first.
    pub(crate) passes: u32,
    /// Failures of other threads after the first one, with [`Settings::keep_going`].
    pub(crate) more: Vec<Noted>,
    pub(crate) met_races: RefCell<Met>,
    pub(crate) recorded: Vec<Recorded>,
    /// The records of plain writes whose values are not known yet.
    pub(crate) unfinished: Vec<usize>,
    pub(crate) races: Races,
    pub(crate) failure: Option<Noted>,
    /// Why the search stops with this execution.
    pub(crate) stopped: Option<Stop>,
    /// Not 0 once the search has to stop; see [`crate::limits`].
    pub(crate) stop_word: *const AtomicU8,
    /// What the execution is given up for, in words.
    pub(crate) given_up_for: Option<String>,
    /// Why the process is about to abort.
    pub(crate) last_words: Option<String>,
    /// A fiber's code runs, not the loop that resumes fibers.
    pub(crate) in_fiber: bool,
    /// The execution is one of the first of a check, which keep values of objects; see [`crate::outside`].
    pub(crate) keeps_values: bool,
    /// Where objects were met.
    pub(crate) met_addresses: crate::objects::Addresses,
    /// Memory was freed while there was one thread: which objects were in it is not known.
    pub(crate) freed_alone: bool,
    /// The search itself panicked, on the stack of a fiber.
    pub(crate) search_panicked: bool,
    /// Operations of the fiber that is being given up.
    pub(crate) teardown_ops: u32,
    /// Below this address the running fiber has too little stack for an operation.
    pub(crate) stack_floor: usize,
    /// Where the frames of the running fiber begin.
    pub(crate) frames_end: usize,
    /// The running thread has looks in its window; see [`crate::spin`].
    pub(crate) looking: bool,
    /// The running thread has steps in its window of cycles; see [`crate::cycles`].
    pub(crate) tracking: bool,
    /// The operation that is about to be announced, where its local state was asked for.
    pub(crate) arriving: Option<spin::Key>,
    /// A thread was refused an option because of the bound on options in a row, in an execution of the session.
    pub(crate) refused_option: bool,
    /// The execution continues as one that was explored before.
    pub(crate) same_as_earlier: bool,
    /// Local states were compared without the clock, although it had moved.
    pub(crate) ignored_clock: bool,
    /// It was noted, in this session, that spurious wake-ups and spurious failures are turned off.
    pub(crate) noted_off: (bool, bool),
    /// The running thread may have to give way; see [`crate::turns`].
    pub(crate) due: bool,
    /// Something may have to be done before the next step; see [`crate::sync`].
    pub(crate) attend: bool,
    /// A thread of this execution has panicked.
    pub(crate) any_panicking: bool,
    /// Threads keep variables of std's when they are suspended; see [`crate::std_locals`].
    pub(crate) swaps_locals: bool,
    /// The key of the next hash map when the execution started.
    pub(crate) first_key: u64,
    /// The search has said that there are data races; see [`crate::races`].
    pub(crate) plain_race_noted: bool,
    /// Threads may be in loops wherever they continue, by the modes of the session.
    pub(crate) watchful: bool,
    /// After how many fruitless turns a thread gives way.
    pub(crate) turns: u32,
    /// A thread gave way while another one could run, since this was last reset.
    pub(crate) gave_way: bool,
    /// A thread was stopped because it has gone through as many rounds as it may; see [`crate::cycles`].
    pub(crate) bounded_rounds: bool,
    /// How the execution is continued where a livelock is suspected; see [`crate::livelock`].
    pub(crate) fair: Option<Box<crate::livelock::Fair>>,
    /// Threads repeat themselves at the end of the execution, and nobody has changed what they see.
    pub(crate) suspect: bool,
    /// A thread was found in a local state in which it was before, in this execution or an earlier one.
    pub(crate) compared_states: bool,
    /// The test keeps addresses in atomics, in this execution or an earlier one.
    pub(crate) compared_addresses: bool,
    /// Where the operation that is about to run comes back to a state its thread was in before.
    pub(crate) repeat: Option<spin::Repeat>,
    waiters: Vec<u32>,
    /// Threads that run on to their next operation before the search is asked: they were spawned, or the thread they join
    /// has ended. Neither is a step. Those before `ran_on` have.
    running_on: Vec<ThreadId>,
    /// The running thread has spawned threads that come to their first operations before its own next one; see [`Execution::may_defer`].
    pub(crate) deferred: bool,
    ran_on: usize,
    /// How many panics came out of threads.
    pub(crate) panics: u64,
    /// How executions of this session are run.
    pub(crate) modes: Modes,
    /// The search must start again, because of this.
    pub(crate) restart: Option<Restart>,
    /// The locks that have versions in this execution.
    pub(crate) versioned: Vec<Versioned>,
    /// The program has ended its process: whoever still waits is no failure.
    pub(crate) exited: bool,
    /// The search must start again once this execution has come to its end.
    pub(crate) restart_at_end: bool,
    /// Signals may interrupt threads before each of their steps.
    pub(crate) interrupts: bool,
    /// A write of the running thread that has had its turn, but whose value is not known yet; see [`crate::memory`].
    pub(crate) unsettled: Option<Unsettled>,
    /// Blocks that nobody may interrupt.
    pub(crate) blocks: Blocks,
    /// How many read locks of our types are held.
    pub(crate) read_locks: u32,
    /// What happened to clocks.
    pub(crate) times: crate::time::Times,
    /// What the test has allocated through us.
    pub(crate) heap: crate::heap::Heap,
    /// Pointers to cells that may still be used.
    pub(crate) lent: crate::lent::Lending,
    /// Ends and lone uses of objects.
    pub(crate) lifetimes: crate::lifetimes::Lifetimes,
    /// Destructors that an `Arc` of std's runs; see [`crate::owners`].
    pub(crate) owners: crate::owners::Owners,
    /// Cells whose accesses are watched.
    pub(crate) watch: crate::watch::Watch,
    /// Room for what an await has seen.
    pub(crate) seen: Vec<(ObjectId, u64)>,
    /// Room for accesses of steps that happen before another one.
    pub(crate) accesses: Vec<(ObjectId, Access)>,
    /// Addresses between which the stacks of threads lie that have ended; empty if none has.
    pub(crate) ended_stacks: (usize, usize),
    /// All stacks that threads ever had lie between these.
    pub(crate) stacks: (usize, usize),
    /// How many threads were spawned and not joined yet.
    pub(crate) unjoined: u32,
}

const fn bit(kind: OpKind) -> u64 {
    1 << kind as u8
}

/// Kinds after which more is to be done than to store the word.
const SPECIAL: u64 = bit(OpKind::Wait)
    | bit(OpKind::NotifyOne)
    | bit(OpKind::NotifyAll)
    | bit(OpKind::End)
    | bit(OpKind::Yield);

/// Kinds that may have several outcomes.
const CHOOSING: u64 = bit(OpKind::Choose) | bit(OpKind::NotifyOne) | bit(OpKind::CompareExchangeWeak);

/// The word of the life of a thread that has not ended, as [`semantics::apply`] has it.
const RUNNING: u64 = 2;

/// The bits of the name of an object that a thread sleeps with.
const SLEEP: u64 = 1 << 62 | 1 << 60 | 1;

/// How many children of a thread have numbers that no other thread of the execution has.
const OWN_NUMBERS: usize = 16;

/// The number of a thread that is about to be spawned.
pub(crate) enum NextId {
    /// That of a sibling that was joined.
    Again(ThreadId),
    /// One that an earlier execution of the session gave to this child.
    Known(ThreadId),
    /// A new one.
    New(ThreadId),
}

impl NextId {
    pub(crate) fn id(&self) -> ThreadId {
        match self {
            NextId::Again(id) | NextId::Known(id) | NextId::New(id) => *id,
        }
    }
}

/// Stands where there is no test.
static NO_TEST: fn() = || ();

/// A pending operation that means nothing.
const NOTHING: Pending = Pending { op: Op::local(OpKind::Yield), site: Site(0), awaited: (0, 0) };

impl Execution {
    pub(crate) fn new(settings: Settings, explorer: *mut dyn Explorer) -> Execution {
        Execution {
            settings,
            front: None,
            explorer,
            test: &raw const NO_TEST,
            watched: Watched::nobody(),
            epoch: 0,
            epochs: Epochs::default(),
            phase: Phase::Running,
            current: ThreadId::MAIN,
            script: &[],
            scripted: 0,
            told: 0,
            next: None,
            end: None,
            pending: Vec::with_capacity(MAX_THREADS),
            // Fibers run while they lie in this vector, so it must never move.
            threads: Vec::with_capacity(MAX_THREADS),
            own: std::ptr::null_mut(),
            live: ThreadSet::EMPTY,
            enabled: ThreadSet::EMPTY,
            yielded: ThreadSet::EMPTY,
            blocking: ThreadSet::EMPTY,
            awaiting: ThreadSet::EMPTY,
            awaiters: 0,
            last: None,
            awaited: Vec::new(),
            any_stopped: false,
            states: Vec::new(),
            changed_under: Vec::new(),
            objects: Vec::new(),
            names: Vec::new(),
            statics: Statics::default(),
            order: Vec::new(),
            next_thread_id: 0,
            steps: 0,
            total_steps: 0,
            session: next_session(),
            log: Vec::new(),
            options: Vec::new(),
            recording: false,
            with_callers: false,
            passes: 0,
            more: Vec::new(),
            met_races: RefCell::default(),
            recorded: Vec::new(),
            unfinished: Vec::new(),
            races: Races::default(),
            failure: None,
            stopped: None,
            stop_word: &raw const crate::limits::OF_FRONT,
            given_up_for: None,
            last_words: None,
            in_fiber: false,
            keeps_values: false,
            met_addresses: Default::default(),
            freed_alone: false,
            search_panicked: false,
            caveats: crate::caveats::Noted::default(),
            weak: crate::orders::Weak::default(),
            teardown_ops: 0,
            stack_floor: 0,
            frames_end: 0,
            looking: false,
            tracking: false,
            arriving: None,
            refused_option: false,
            ignored_clock: false,
            same_as_earlier: false,
            noted_off: (false, false),
            due: false,
            attend: false,
            any_panicking: false,
            swaps_locals: false,
            first_key: 0,
            plain_race_noted: false,
            watchful: false,
            turns: u32::MAX,
            gave_way: false,
            bounded_rounds: false,
            fair: None,
            suspect: false,
            compared_states: false,
            compared_addresses: false,
            repeat: None,
            waiters: Vec::new(),
            running_on: Vec::new(),
            deferred: false,
            ran_on: 0,
            panics: 0,
            modes: Modes::default(),
            restart: None,
            versioned: Vec::new(),
            exited: false,
            restart_at_end: false,
            interrupts: false,
            unsettled: None,
            blocks: Blocks::default(),
            read_locks: 0,
            times: Default::default(),
            heap: crate::heap::Heap::default(),
            lifetimes: Default::default(),
            owners: crate::owners::Owners::default(),
            watch: Default::default(),
            lent: Default::default(),
            seen: Vec::new(),
            accesses: Vec::new(),
            unjoined: 0,
            ended_stacks: (usize::MAX, 0),
            stacks: (usize::MAX, 0),
        }
    }

    /// Makes everything ready for another check.
    pub(crate) fn renew(&mut self, settings: &Settings) {
        self.settings.clone_from(settings);
        self.front = front::front();
        self.pending.clear();
        self.next_thread_id = 0;
        self.total_steps = 0;
        self.session = next_session();
        let rounds_by_place = settings.rule == crate::cycles::Rule::RoundsByPlace;
        let eager = rounds_by_place
            || matches!(settings.rule, crate::cycles::Rule::Eager | crate::cycles::Rule::RepeatedState);
        // A sample is not started again: its executions are counted.
        let wipes_stacks = settings.samples;
        self.modes = Modes { eager, rounds_by_place, clean_stacks: eager, wipes_stacks, ..Modes::default() };
        (self.compared_states, self.compared_addresses) = (false, false);
        self.with_callers = false;
        self.passes = 0;
        self.search_panicked = false;
        (self.gave_way, self.bounded_rounds) = (false, false);
        self.fair = None;
        self.caveats.clear();
        self.plain_race_noted = false;
        self.weak.clear();
        self.lifetimes.renew();
        self.owners = crate::owners::Owners::default();
        (self.refused_option, self.ignored_clock, self.noted_off) = (false, false, (false, false));
    }

    /// Makes everything ready for the next execution.
    pub(crate) fn reset(&mut self, recording: bool) {
        self.epoch = self.epochs.next();
        self.keeps_values = self.front.is_none() && crate::outside::starts();
        self.met_addresses.clear();
        self.freed_alone = false;
        self.weak.reset();
        self.met_races.get_mut().clear();
        self.phase = Phase::Running;
        self.next = None;
        self.end = None;
        self.same_as_earlier = false;
        self.live = ThreadSet::EMPTY;
        self.enabled = ThreadSet::EMPTY;
        self.yielded = ThreadSet::EMPTY;
        self.blocking = ThreadSet::EMPTY;
        self.awaiting = ThreadSet::EMPTY;
        self.awaiters = 0;
        // It runs before anybody takes a step: whoever takes the first one while it could go on preempts it.
        self.last = Some(ThreadId::MAIN);
        self.awaited.clear();
        self.any_stopped = false;
        self.states.clear();
        self.changed_under.clear();
        self.objects.clear();
        if let Some(labels) = &self.settings.labels {
            labels.reset();
        }
        self.names.clear();
        self.order.clear();
        self.steps = 0;
        self.log.clear();
        self.options.clear();
        self.recording = recording;
        self.recorded.clear();
        if recording {
            // Not while the test runs, whose own blocks come from the same allocator.
            self.recorded.reserve(256);
        }
        self.unfinished.clear();
        self.races.reset();
        self.failure = None;
        self.more.clear();
        self.stopped = None;
        self.given_up_for = None;
        self.last_words = None;
        self.running_on.clear();
        self.ran_on = 0;
        self.deferred = false;
        self.panics = 0;
        self.restart = None;
        self.versioned.clear();
        (self.looking, self.tracking) = (false, false);
        (self.repeat, self.arriving) = (None, None);
        self.suspect = false;
        (self.due, self.any_panicking) = (false, false);
        self.owners.reset();
        self.attend = self.owners.watching && self.front.is_none();
        self.watchful = self.modes.eager | self.modes.clean_stacks | self.fair.is_some();
        self.turns = match (self.modes.turns, self.settings.turns) {
            (0, None) => crate::driver::FIRST_TURNS,
            (0, Some(0)) => u32::MAX,
            (0, Some(n)) | (n, _) => n,
        };
        self.read_locks = 0;
        self.times.clear();
        self.lent.clear();
        self.watch.clear();
        self.lifetimes.clear();
        self.heap.clear();
        self.exited = false;
        self.unsettled = None;
        self.blocks.reset();
        self.restart_at_end = false;
        self.interrupts = false;
        self.unjoined = 0;
        self.ended_stacks = (usize::MAX, 0);
    }

    /// The number that the next child of a thread will have; `None` when there are no numbers left.
    ///
    /// The first children of a thread have numbers of their own. A later one takes over the number of a sibling that the parent has
    /// joined, after it had spawned half as many: all that the sibling did happens before all that the new thread does, so both together are one sequence of steps.
    /// The choice depends on the past of the parent alone.
    pub(crate) fn next_id(&self, parent: ThreadId) -> Option<NextId> {
        let p = &self.threads[parent.index()];
        if p.spawned >= OWN_NUMBERS
            && let Some(id) = p.joined_children.first()
        {
            return Some(NextId::Again(*id));
        }
        match p.children.get(p.spawned) {
            Some(id) => Some(NextId::Known(*id)),
            None => (self.next_thread_id < MAX_THREADS)
                .then_some(NextId::New(ThreadId(self.next_thread_id as u16))),
        }
    }

    /// The number of the next child of a thread (of the main thread itself for `None`), the same in all executions of a
    /// session. `None` when there are no numbers left.
    pub(crate) fn intern(&mut self, parent: Option<ThreadId>) -> Option<ThreadId> {
        let next = match parent {
            None if self.next_thread_id > 0 => NextId::Known(ThreadId::MAIN),
            None => NextId::New(ThreadId::MAIN),
            Some(p) => self.next_id(p)?,
        };
        let id = match next {
            NextId::Again(id) => {
                if let Some(p) = parent {
                    self.threads[p.index()].joined_children.remove(0);
                }
                return Some(id);
            }
            NextId::Known(id) => id,
            NextId::New(id) => {
                self.next_thread_id += 1;
                self.pending.push(NOTHING);
                match self.threads.get_mut(id.index()) {
                    // What an earlier check left.
                    Some(thread) => thread.children.clear(),
                    None => self.threads.push(Thread::default()),
                }
                self.threads[id.index()].parent = parent;
                self.threads[id.index()].path = match parent {
                    None => 1,
                    Some(p) => {
                        let p = &mut self.threads[p.index()];
                        p.children.push(id);
                        path_of_child(p.path, p.spawned + 1)
                    }
                };
                id
            }
        };
        if let Some(p) = parent {
            self.threads[p.index()].spawned += 1;
        }
        (self.order.len() < self.settings.max_threads).then_some(id)
    }

    /// Enters a thread that will be spawned.
    #[inline(always)]
    pub(crate) fn enter_thread(&mut self, id: ThreadId) {
        if self.threads[id.index()].entered == self.epoch {
            // It continues the sequence of steps of a thread that has ended.
            return self.threads[id.index()].renew();
        }
        let rank = self.order.len() as u16;
        self.order.push(id);
        let thread = &mut self.threads[id.index()];
        thread.reset();
        thread.rank = rank;
        thread.entered = self.epoch;
    }

    /// The object that the end of a thread changes.
    pub(crate) fn life_of(&mut self, t: ThreadId) -> ObjectId {
        if let Some(life) = self.threads[t.index()].seldom().life {
            return life;
        }
        let life = self.enter(Class::Thread, RUNNING, None);
        self.names[life.index()] = 1 << 62 | (t.0 as u64) << 1;
        self.threads[t.index()].seldom_mut().life = Some(life);
        life
    }

    /// The object that the end of the body of a scoped thread changes.
    pub(crate) fn closure_of(&mut self, t: ThreadId) -> ObjectId {
        if let Some(closure) = self.threads[t.index()].seldom().closure {
            return closure;
        }
        let closure = self.enter(Class::Thread, 0, None);
        self.names[closure.index()] = 1 << 62 | 1 << 60 | (t.0 as u64) << 1;
        self.threads[t.index()].seldom_mut().closure = Some(closure);
        closure
    }

    /// The object that parking and unparking a thread changes.
    pub(crate) fn token_of(&mut self, t: ThreadId) -> ObjectId {
        if let Some(token) = self.threads[t.index()].seldom().token {
            return token;
        }
        let token = self.enter(Class::Token, 0, None);
        self.names[token.index()] = 1 << 62 | (t.0 as u64) << 1 | 1;
        self.threads[t.index()].seldom_mut().token = Some(token);
        token
    }

    /// What a thread waits for that sleeps until nothing else can run: a token that nobody gives.
    pub(crate) fn sleep_of(&mut self, t: ThreadId) -> ObjectId {
        if let Some(sleep) = self.threads[t.index()].seldom().sleep {
            return sleep;
        }
        let sleep = self.enter(Class::Token, 0, None);
        self.names[sleep.index()] = SLEEP | (t.0 as u64) << 1;
        self.threads[t.index()].seldom_mut().sleep = Some(sleep);
        sleep
    }

    /// Whether an object is one that a thread sleeps with.
    pub(crate) fn is_sleep(&self, object: ObjectId) -> bool {
        self.objects.get(object.index()).is_some_and(|o| o.class == Class::Token)
            && self.names[object.index()] & SLEEP == SLEEP
    }

    /// A thread that was spawned runs on to its first operation.
    pub(crate) fn awaken(&mut self, id: ThreadId, parent: Option<ThreadId>, site: Site) {
        self.live.insert(id);
        self.pending[id.index()] = Pending { op: Op::local(OpKind::Start), site, awaited: (0, 0) };
        self.running_on.push(id);
        if let Some(parent) = parent {
            self.unjoined += 1;
            self.ordered(parent, id);
        }
    }

    /// Whether the thread that was just spawned may come to its first operation later than at once, which costs less: together with others, and
    /// before the running thread meets another object.
    ///
    /// The last execution did what this one does, up to the next step of the running thread at least. So what this thread does to objects that
    /// the new one uses has been seen. Objects are numbered as they were. Addresses of new memory may differ, where a test can tell.
    pub(crate) fn may_defer(&self) -> bool {
        // SAFETY: as in `next_of_script`.
        let is_replayed = unsafe { (&*self.script).len() } > self.scripted;
        let is_first = self.running_on.len() - self.ran_on == 1;
        let by_address = self.compared_addresses
            | self.modes.keeps_freed
            | self.modes.watches_cells
            | !self.heap.is_empty();
        is_replayed && (self.deferred || is_first) && !by_address
    }

    /// The running thread continues to its next operation after the threads that it has spawned have come to theirs.
    pub(crate) fn run_on_after_children(&mut self, site: Site) {
        let t = self.current;
        self.pending[t.index()] = Pending { op: Op::local(OpKind::Start), site, awaited: (0, 0) };
        self.enabled.remove(t);
        if self.deferred {
            self.running_on.push(t);
        } else if let Some(child) = self.running_on.pop() {
            // Siblings of the running thread may have to start, too: its children come first, as they did where nothing is deferred.
            let at = self.ran_on;
            self.running_on.splice(at..at, [child, t]);
        }
        self.next = self.decide();
    }

    /// Takes the script of the execution that has just begun.
    pub(crate) fn take_script(&mut self) {
        // SAFETY: as in `decide`.
        self.script = unsafe { (*self.explorer).script() };
        (self.scripted, self.told) = (0, 0);
    }

    /// The next event of the script, if it is one that can be taken without asking.
    #[inline]
    fn next_of_script(&self) -> Option<&Event> {
        // SAFETY: nothing but `skip` and `ordered` is called on the search until the script has come to its end, and neither
        // changes the events; see `forget_script`.
        unsafe { (&*self.script).get(self.scripted) }.filter(|e| e.options == 1)
    }

    /// From here on the search is asked: its events may change.
    #[cold]
    pub(crate) fn forget_script(&mut self) {
        self.tell();
        self.script = &[];
        self.scripted = 0;
        self.told = 0;
    }

    /// Tells the search of the steps of the script that were taken.
    #[inline]
    fn tell(&mut self) {
        if self.told < self.scripted {
            // SAFETY: as in `decide`.
            unsafe { (*self.explorer).skip(self.scripted - self.told) };
            self.told = self.scripted;
        }
    }

    /// Whether the execution differs from an earlier one only in the outcome of the step that was just taken.
    #[cold]
    pub(crate) fn differs_in_outcome(&self) -> bool {
        debug_assert!(self.told == self.scripted, "a step with several outcomes is not in the script");
        // SAFETY: as in `decide`.
        unsafe { (*self.explorer).differs_in_outcome() }
    }

    /// Tells the search that the next step of `after` comes after what `before` has done.
    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        self.tell();
        // SAFETY: as in `decide`.
        unsafe { (*self.explorer).ordered(before, after) };
    }

    /// The thread that the running one joins has ended.
    pub(crate) fn joined(&mut self, target: ThreadId, site: Site) {
        let t = self.current;
        let thread = &mut self.threads[target.index()];
        if !thread.joined {
            thread.joined = true;
            let parent = thread.parent;
            self.unjoined -= 1;
            let own = &mut self.threads[t.index()];
            // Most threads have few children, and none of them is needed again.
            if own.spawned >= OWN_NUMBERS / 2 && parent == Some(t) {
                own.joined_children.push(target);
            }
        }
        self.note_quietly(OpKind::Join, target, site);
        self.ordered(target, t);
    }

    /// The running thread waits for another one to end. It must suspend itself unless this says that it may go on at once.
    pub(crate) fn announce_join(&mut self, target: ThreadId, site: Site) -> bool {
        let t = self.current;
        self.may_wait_as_reader();
        let op = Op::local(OpKind::Join).with(target.0 as u64, 0);
        self.threads[target.index()].joiners += 1;
        self.pending[t.index()] = Pending { op, site, awaited: (0, 0) };
        self.enabled.remove(t);
        self.next = self.decide();
        self.next == Some(t)
    }

    /// Keeps a record of something that is no step: a spawn, a join.
    #[inline]
    pub(crate) fn note_quietly(&mut self, kind: OpKind, other: ThreadId, site: Site) {
        let thread = self.current;
        if kind == OpKind::Spawn && self.looking {
            spin::changed(self);
        }
        let turns = &mut self.threads[thread.index()].turns;
        if !turns.is_empty() {
            turns.saw_change();
            self.due = false;
        }
        if self.recording {
            crate::seldom();
            self.record_quietly(&Op::local(kind).with(other.0 as u64, 0), site);
        }
        self.log.push(Logged::quiet(thread, kind, other));
    }

    /// The running thread has ended: those that join it run on.
    pub(crate) fn ended(&mut self) {
        let t = self.current;
        self.live.remove(t);
        self.enabled.remove(t);
        let thread = &mut self.threads[t.index()];
        thread.ended = true;
        thread.frames_gone |= !thread.left_process;
        if self.front.is_some() && thread.frames_gone {
            let (low, high) = &mut self.ended_stacks;
            (*low, *high) = ((*low).min(thread.stack_floor), (*high).max(thread.frames_end));
        }
        if thread.joiners > 0 && !thread.left_process {
            let mut left = thread.joiners;
            for u in self.live.iter() {
                let op = &self.pending[u.index()].op;
                if op.kind == OpKind::Join && op.a == t.0 as u64 {
                    self.running_on.push(u);
                    left -= 1;
                    if left == 0 {
                        break;
                    }
                }
            }
        }
    }

    /// Whether pointers to cells may be in use.
    #[inline]
    pub(crate) fn has_lent(&self) -> bool {
        !self.lent.is_empty() | !self.watch.is_empty()
    }

    /// Whether user code runs, not the search.
    pub(crate) fn in_user_code(&self) -> bool {
        self.watched.user.load(Ordering::Relaxed)
    }

    /// What runs from here on is the test's.
    pub(crate) fn enter_user_code(&self) {
        self.watched.user.store(true, Ordering::Relaxed);
    }

    /// What runs from here on is ours.
    pub(crate) fn leave_user_code(&self) {
        self.watched.user.store(false, Ordering::Relaxed);
    }

    /// How the search sees the threads.
    pub(crate) fn view(&self) -> View<'_> {
        View {
            pending: &self.pending,
            live: self.live,
            enabled: self.enabled,
            current: self.last,
            yielded: self.yielded,
            objects: self.objects.len() as u32,
            names: &self.names,
            awaited: &self.awaited,
        }
    }

    /// The running thread announces its next operation. Says whether it may run at once; otherwise it must suspend
    /// itself, and [`Execution::next`] says who runs instead.
    #[inline(always)]
    pub(crate) fn announce(&mut self, op: Op, site: Site) -> bool {
        let t = self.current;
        self.pending[t.index()] = Pending { op, site, awaited: (0, 0) };
        self.enabled.insert(t);
        if op.may_block() {
            self.announce_blocking(t);
        }
        self.next = self.decide();
        self.next == Some(t)
    }

    /// The same for an operation that may have to wait. It is taken from where it was just put: an operation whose address goes
    /// nowhere stays in registers.
    fn announce_blocking(&mut self, t: ThreadId) {
        self.may_wait_as_reader();
        let op = &self.pending[t.index()].op;
        let word = self.word(op.object);
        if !semantics::enabled(op, word, t) {
            self.enabled.remove(t);
        }
        if self.fair.is_some() && self.is_fair() && self.waits_with_limit(t) {
            self.pending[t.index()].op.a |= Op::TIME_PASSES | Op::MAY_TIME_OUT;
            self.enabled.insert(t);
            self.yielded.insert(t);
        }
        let op = &self.pending[t.index()].op;
        // Whether these can run depends on more than the word, and is kept up to date by those who change it.
        if !matches!(op.kind, OpKind::Wake | OpKind::Await | OpKind::Assume) {
            let object = op.object.index();
            self.blocking.insert(t);
            self.objects[object].waiters += 1;
        }
    }

    /// The running thread waits until one of the words it has seen differs. `how` is 0 if it spins, 1 if that is
    /// a lock whose holder changed it last, 2 if it is another one.
    pub(crate) fn announce_await(&mut self, seen: &[(ObjectId, u64)], how: u64, site: Site) -> bool {
        self.may_wait_as_reader();
        let t = self.current;
        let start = self.awaited.len() as u32;
        self.awaited.extend_from_slice(seen);
        let first = seen.first().map_or(ObjectId::NONE, |s| s.0);
        let awaited = (start, seen.len() as u32);
        self.pending[t.index()] = Pending { op: Op::new(OpKind::Await, first).with(how, 0), site, awaited };
        self.awaiting.insert(t);
        self.awaiters += 1;
        self.recheck_awaiting();
        self.next = self.decide();
        self.next == Some(t)
    }

    #[inline]
    pub(crate) fn word(&self, object: ObjectId) -> u64 {
        self.objects.get(object.index()).map_or(0, |o| o.word)
    }

    /// Asks the search who goes next. `None`: the execution is over, and `end` says how.
    #[inline(always)]
    pub(crate) fn decide(&mut self) -> Option<ThreadId> {
        match self.running_on.get(self.ran_on) {
            None => match self.thread_of_script() {
                None => self.ask_search(),
                next => next,
            },
            Some(t) => {
                let t = *t;
                self.deferred = false;
                self.ran_on += 1;
                if self.ran_on == self.running_on.len() {
                    self.running_on.clear();
                    self.ran_on = 0;
                }
                Some(t)
            }
        }
    }

    /// The thread that the script takes next, if it wants to do what it did.
    #[inline(always)]
    fn thread_of_script(&self) -> Option<ThreadId> {
        if self.is_stopping() {
            return None;
        }
        let e = self.next_of_script()?;
        let p = self.pending.get(e.thread.index())?;
        let same = self.enabled.contains(e.thread) && e.op.same_step(&p.op) && e.site == p.site;
        same.then_some(e.thread)
    }

    #[inline(never)]
    fn ask_search(&mut self) -> Option<ThreadId> {
        if self.fair.is_some()
            && !self.is_stopping()
            && let Some(next) = self.continue_fairly()
        {
            return next;
        }
        if self.enabled.is_empty() && (self.live.is_empty() || !self.nobody_can_run()) {
            self.end = Some(self.natural_end());
            return None;
        }
        if self.is_stopping() {
            self.stop_for_limit();
            return None;
        }
        if self.steps >= self.settings.max_steps {
            self.took_too_long();
            return None;
        }
        if self.restart.is_some() {
            self.end = Some(End::Cut);
            return None;
        }
        if !self.script.is_empty() {
            self.forget_script();
        }
        if let Some(labels) = &self.settings.labels {
            labels.announced(&self.pending, self.live);
        }
        self.watched.user.store(false, Ordering::Relaxed);
        let decision = if self.times.waking.is_empty() {
            // SAFETY: the explorer is borrowed by `run_once` for longer than the execution runs, and it is used only
            // through this pointer meanwhile. It knows nothing of this execution, so it cannot come back to it.
            unsafe { (*self.explorer).next_thread(&self.view()) }
        } else {
            self.next_of_waking()
        };
        self.watched.user.store(true, Ordering::Relaxed);
        match decision {
            Decision::Run(t) => {
                assert!(self.enabled.contains(t), "the search chose thread {t}, which cannot run");
                Some(t)
            }
            Decision::Stop => {
                self.end = Some(End::Stopped);
                None
            }
        }
    }

    /// Time has passed for several threads at once. All of them take the step that ends their waits before anything else happens: such a step
    /// comes after all earlier ones, and what the threads do afterwards is not ordered by it.
    #[cold]
    fn next_of_waking(&mut self) -> Decision {
        let mut waking = ThreadSet::EMPTY;
        for t in self.times.waking.iter() {
            if self.enabled.contains(t) && self.pending[t.index()].op.a & Op::TIME_PASSES != 0 {
                waking.insert(t);
            }
        }
        self.times.waking = waking;
        let enabled = if waking.is_empty() { self.enabled } else { waking };
        let all = std::mem::replace(&mut self.enabled, enabled);
        // SAFETY: as in `ask_search`.
        let decision = unsafe { (*self.explorer).next_thread(&self.view()) };
        self.enabled = all;
        decision
    }

    /// Whether the search was asked to stop.
    #[inline(always)]
    fn is_stopping(&self) -> bool {
        // SAFETY: the word is a static, or part of `watched`, which lives as long.
        unsafe { (*self.stop_word).load(Ordering::Relaxed) != 0 }
    }

    /// Why the search has to stop, if it was asked to.
    pub(crate) fn stop_requested(&self) -> Option<Stop> {
        // SAFETY: as in `is_stopping`.
        match unsafe { (*self.stop_word).load(Ordering::Relaxed) } {
            0 => None,
            word => Some(self.stop_of(word)),
        }
    }

    /// What a stop word means here.
    pub(crate) fn stop_of(&self, word: u8) -> Stop {
        use crate::limits::{COMPUTES, WAITS, stop_of};
        let limit = self.settings.watchdog.unwrap_or_default();
        let text = match word {
            COMPUTES => format!(
                "{} computed for {limit:.0?} of CPU time without any operation of raddle's types. If the computation ends, allow it more \
                 (Config::watchdog, RADDLE_WATCHDOG)",
                self.thread_label(self.current)
            ),
            WAITS => format!(
                "{} took no step for {limit:.0?}: it waits inside something that raddle does not control, such as a lock or channel of \
                 `std` that another thread of the test holds, I/O, or a sleep. Use raddle's types in its place",
                self.thread_label(self.current)
            ),
            _ => return stop_of(word),
        };
        let location =
            crate::record::place_of(self.pending[self.current.index()].site).map(|p| p.to_string());
        let thread = Some(self.rank(self.current));
        Stop { reason: StopReason::Limit, text, location, thread, replay: String::new() }
    }

    /// The search has to stop: this execution ends here.
    #[cold]
    pub(crate) fn stop_for_limit(&mut self) {
        if self.stopped.is_none() {
            self.stopped = self.stop_requested();
        }
        self.end = Some(End::Cut);
    }

    fn natural_end(&mut self) -> End {
        if !self.live.is_empty()
            && let Some(end) = self.end_of_waiting()
        {
            return end;
        }
        if !self.exited && self.front.is_some_and(|f| f.stuck()) {
            return End::Pruned;
        }
        End::Complete
    }

    /// How the execution ends because of threads that wait, if they decide it.
    #[inline(never)]
    fn end_of_waiting(&mut self) -> Option<End> {
        let stands_at = |a: u64| {
            let assumes = move |op: &Op| op.kind == OpKind::Assume && op.a == a;
            self.live.iter().any(|t| assumes(&self.pending[t.index()].op))
        };
        // The loop that waits there ends when its thread is late, which is explored where it reads the clock.
        let polls_clock = |t: ThreadId| {
            self.pending[t.index()].op.kind == OpKind::Await && self.threads[t.index()].seldom().polls_clock
        };
        if stands_at(0) || self.live.iter().any(polls_clock) {
            return Some(End::Assumed);
        }
        let pruned =
            |t: ThreadId| self.waits_with_limit(t) || self.gives_way(t) || self.is_interrupted_elsewhere(t);
        if self.live.iter().any(pruned) {
            return Some(End::Pruned);
        }
        if stands_at(STOPPED) {
            self.suspect = self.stopped_in_place();
            let reported = self.suspect && (self.modes.report_suspects || self.settings.all_livelocks);
            if !reported {
                return Some(End::Pruned);
            }
        }
        None
    }

    /// Whether a thread waits for a signal that does not come, or does not take one that is pending. In another execution it does not
    /// wait for it, or takes it.
    fn is_interrupted_elsewhere(&self, t: ThreadId) -> bool {
        let op = &self.pending[t.index()].op;
        op.kind == OpKind::Await && op.a == crate::foreign::OPTIONAL
            || self.interrupts && self.front.is_some_and(|f| f.has_signal(t))
    }

    /// Whether a thread waits for a notification, for its token or in a call with a limit, and would not wait for ever: that its limit
    /// is reached is another end of the wait, which is explored too.
    pub(crate) fn waits_with_limit(&self, t: ThreadId) -> bool {
        let seldom = self.threads[t.index()].seldom();
        let waits = matches!(self.pending[t.index()].op.kind, OpKind::Wake | OpKind::Park) || seldom.limited;
        waits && seldom.timed.is_some()
    }

    /// Nobody can run: a thread that gave way continues, or time passes. Says whether anybody can run now.
    #[cold]
    fn nobody_can_run(&mut self) -> bool {
        let may_run =
            |t: ThreadId| self.waits_with_limit(t) || self.pending[t.index()].op.kind == OpKind::Assume;
        let others_may_run = self.exited || self.live.iter().any(may_run);
        self.release(others_may_run) || self.let_time_pass()
    }

    /// Nobody can run: of the waits that are patient, those with the earliest limit end now. Says whether there are any.
    #[cold]
    fn let_time_pass(&mut self) -> bool {
        let limit = |ex: &Execution, t: ThreadId| {
            let timed = ex.threads[t.index()].seldom().timed.filter(|_| ex.waits_with_limit(t));
            timed.filter(|(_, patient)| *patient).map(|(limit, _)| limit)
        };
        // A thread that was stopped because it repeats itself can run on in the execution that shows the same without. One that has stopped
        // at a failure may as well be late with it, so time does not pass.
        if self.failure.is_some() || self.passes > 0 && self.exited {
            return false;
        }
        if self.live.iter().any(|t| self.pending[t.index()].op.kind == OpKind::Assume) {
            return false;
        }
        let Some(first) = self.live.iter().filter_map(|t| limit(self, t)).min() else {
            return self.release_readers();
        };
        self.reached(first);
        for t in self.live.iter() {
            if limit(self, t) == Some(first) {
                self.pending[t.index()].op.a |= Op::TIME_PASSES | Op::MAY_TIME_OUT;
                self.enabled.insert(t);
                self.times.waking.insert(t);
            }
        }
        true
    }

    #[cold]
    fn took_too_long(&mut self) {
        let busiest =
            self.order.iter().copied().max_by_key(|t| self.threads[t.index()].seq).unwrap_or(ThreadId::MAIN);
        let place = crate::record::place_of(self.pending[busiest.index()].site);
        self.end = Some(End::Cut);
        // A failure whatever the others do.
        if self.lock_deadlock().is_some() {
            return;
        }
        // The others may wait in a loop for the thread that has stopped at its failure.
        if self.failure.is_some() {
            if let Some(place) = place {
                self.caveats.add(explore::CaveatKind::Depth, CUT_AFTER_FAILURE.into(), place);
            }
            return;
        }
        self.suspect = true;
        let repeated = self.over_and_over();
        if self.modes.report_suspects {
            let (what, who) = match &repeated {
                Some(r) => (format!("the same {} steps", r.period), r.who.join(" and ")),
                None => ("their steps".to_owned(), self.thread_label(busiest)),
            };
            let message = format!("livelock: {who} repeat {what} for ever, and keep each other from ending");
            return self.note_failure(FailureKind::Livelock, message, place, Some(busiest));
        }
        let repeated = repeated.map_or(String::new(), |r| {
            let Repeated { steps, period, who, .. } = r;
            format!(
                ". The last {steps} of them are the same {period} again and again, by {}",
                who.join(" and ")
            )
        });
        let message = format!(
            "{} took {} steps without the execution ending, {} steps in all{repeated}. If it would end, allow it more \
             (--max-steps, Config::max_steps, RADDLE_MAX_STEPS)",
            self.thread_label(busiest),
            self.threads[busiest.index()].seq,
            self.steps,
        );
        self.note_failure(FailureKind::Limit, message, place, Some(busiest));
    }

    /// What an execution did last that took too many steps, if it was the same again and again. The values that were written are not
    /// compared.
    pub(crate) fn over_and_over(&self) -> Option<Repeated> {
        /// The most steps that are looked for as a turn of the loop, how many turns there must be, and how many steps may come after.
        const LONGEST: usize = 500;
        const TURNS: usize = 5;
        const AFTER: usize = 32;
        let key = |l: &Logged| (l.thread, l.kind, l.object, l.mode, l.ok);
        let same = |end: usize, period: usize| {
            let steps = self.log[..end].iter().rev();
            let earlier = steps.clone().skip(period);
            steps.zip(earlier).take_while(|(a, b)| key(a) == key(b)).count() + period
        };
        // The last steps may be others: the search tries them after all the rest.
        let ends = (0..=AFTER).filter_map(|after| self.log.len().checked_sub(after));
        let turn = ends.flat_map(|end| (1..=LONGEST.min(end)).map(move |p| (end, p)));
        let turn = turn.map(|(end, p)| (end, p, same(end, p))).find(|(_, p, steps)| *steps >= p * TURNS);
        let (end, period, steps) = turn?;
        let turn = &self.log[end - period..end];
        let mut threads: Vec<ThreadId> = turn.iter().map(|l| l.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let who = threads.iter().map(|t| self.thread_label(*t)).collect();
        Some(Repeated { from: end - steps, steps, period, who })
    }

    /// Remembers a failure unless there is one already. A limit that is reached stops the search.
    pub(crate) fn note_failure(
        &mut self,
        kind: FailureKind,
        message: String,
        place: Option<Place>,
        thread: Option<ThreadId>,
    ) {
        if kind == FailureKind::Limit {
            // A limit of ours is not a failure of the program.
            if let (Some(_), Some(place)) = (&self.failure, place) {
                let text = format!(
                    "the execution was cut after a failure, while other threads continued: {message}"
                );
                return self.caveats.add(explore::CaveatKind::Depth, text.into(), place);
            }
            if self.stopped.is_none() {
                let location = place.map(|p| p.to_string());
                let thread = thread.map(|t| self.rank(t));
                let reason = StopReason::Limit;
                self.stopped = Some(Stop { reason, text: message, location, thread, replay: String::new() });
            }
            return;
        }
        let counts = self.met_races.get_mut().note(kind);
        if !counts || self.failure.is_some() && !self.notes_all() {
            return;
        }
        let location = place.map(|p| p.to_string());
        let (at, passed) = (Some(self.now()), Some(self.met_races.get_mut().passed()));
        let noted = Noted { kind, message, location, thread, help: None, at, passed };
        if self.failure.is_some() {
            self.more.push(noted);
            return;
        }
        if let Some(front) = crate::front::front() {
            front.failed(&noted.message);
        }
        self.failure = Some(noted);
    }

    /// Whether all failures of an execution are noted, and not only the first one.
    pub(crate) fn notes_all(&self) -> bool {
        self.settings.keep_going && !self.recording
    }

    /// Whether the other threads continue after such a failure. What they would have done decides which of their steps race with those
    /// before the failure, and so what else there is to explore. Their own failures are failures of the program: nothing orders them after
    /// the first one, whose thread may as well be late.
    ///
    /// In Rust tests what is not a step, such as to free memory or to access a cell, decides which of two threads meets a data race, or the
    /// use of freed memory. To the search that would be a thread that does one thing and then another. So these end the execution.
    pub(crate) fn continues_after(&self, kind: FailureKind) -> bool {
        self.notes_all() && self.is_of_one_thread(kind)
    }

    fn is_of_one_thread(&self, kind: FailureKind) -> bool {
        use FailureKind::{Abort, ExitCode, Signal};
        self.front.is_some() || matches!(kind, Signal | Abort | ExitCode)
    }

    /// Whether the failure at which the running thread stands is only passed by: the schedule that is followed leads to a later one.
    pub(crate) fn passes_failure(&self, kind: FailureKind) -> bool {
        self.failure.is_none()
            && self.is_of_one_thread(kind)
            && self.met_races.borrow().passed() < self.passes
    }

    /// How many panics are failures of an execution in which all threads have ended.
    pub(crate) fn panics_that_fail(&self) -> u32 {
        crate::panics::failures(self).len() as u32
    }

    /// The execution ends at a failure, though all failures are wanted.
    #[cold]
    pub(crate) fn note_end_at_failure(&mut self, place: Option<Place>) {
        if let Some(place) = place.filter(|_| self.notes_all()) {
            self.caveats.add(explore::CaveatKind::Depth, ENDS_AT_FAILURE.into(), place);
        }
    }

    /// The failure that was noted last.
    pub(crate) fn last_noted(&mut self) -> Option<&mut Noted> {
        self.more.last_mut().or(self.failure.as_mut())
    }

    /// The running thread has failed and left its fiber. The execution ends, or the other threads continue: gives the next one.
    #[cold]
    pub(crate) fn others_continue(&mut self) -> Option<ThreadId> {
        if self.failure.is_some() && !self.notes_all() {
            self.end = Some(End::Cut);
            return None;
        }
        self.met_races.get_mut().count_failure();
        self.exited = true;
        let t = self.current;
        self.threads[t.index()].left_process = true;
        if self.front.is_some() {
            self.ended();
            return self.decide();
        }
        // A thread of a Rust test has no result that others could take, so it does not count as ended.
        let at = self.pending[t.index()].site;
        self.announce(Op::local(OpKind::Assume).with(cycles::FAILED, 0), at);
        self.next
    }

    /// The point that the execution has come to.
    pub(crate) fn now(&self) -> Moment {
        Moment { rows: self.recorded.len(), steps: self.log.len(), options: self.options.len() }
    }

    /// The outcome that the operation which is about to run will have, where it has several.
    #[inline(always)]
    pub(crate) fn option(&mut self, op: &Op) -> u32 {
        if CHOOSING >> op.kind as u8 & 1 == 0 {
            return 0;
        }
        // A copy, so that the operation stays in registers where this is not called.
        let op = *op;
        self.choose_option(&op)
    }

    /// Whether a weak compare-exchange of the running thread on this object may fail spuriously. If not, it counts as a strong one.
    pub(crate) fn may_fail_spuriously(&mut self, object: ObjectId, place: Place) -> bool {
        if self.fair.is_some() && self.is_fair() {
            return false;
        }
        if !self.settings.spurious_cas || self.settings.spurious == 0 {
            if !self.noted_off.1 {
                self.note_off(false, place);
            }
            return false;
        }
        cycles::may_fail(self, object, place)
    }

    /// Notes that spurious wake-ups, or spurious failures, are not explored, because they are turned off.
    #[cold]
    pub(crate) fn note_off(&mut self, wakeups: bool, place: Place) {
        let text = match (self.settings.spurious, wakeups) {
            (0, true) => "spurious wake-ups were not explored (--spurious 0, Config::spurious)",
            (0, false) => {
                "spurious failures of weak compare-exchanges were not explored (--spurious 0, Config::spurious)"
            }
            (_, true) => {
                "spurious wake-ups were not explored (--no-spurious-wakeups, Config::spurious_wakeups)"
            }
            (_, false) => {
                "spurious failures of weak compare-exchanges were not explored (RADDLE_SPURIOUS_FAILURES, \
                 Config::spurious_failures)"
            }
        };
        self.caveats.add(explore::CaveatKind::Spurious, text.into(), place);
        let noted = if wakeups { &mut self.noted_off.0 } else { &mut self.noted_off.1 };
        *noted = true;
    }

    #[inline(never)]
    fn choose_option(&mut self, op: &Op) -> u32 {
        match op.kind {
            OpKind::Choose if op.b == crate::sync::SIGNAL => {
                let comes = self.front.is_none_or(|f| f.can_come(self.current));
                self.ask(if comes { Asked::Below(2) } else { Asked::First(2) })
            }
            OpKind::Choose if op.a > 1 => self.ask(Asked::Below(op.a as u32)),
            OpKind::NotifyOne => {
                self.waiters.clear();
                for u in self.live.iter() {
                    let p = &self.pending[u.index()].op;
                    if p.kind == OpKind::Wake && p.object == op.object && p.b == 0 {
                        self.waiters.push(u.0 as u32);
                    }
                }
                match self.waiters[..] {
                    [] => 0,
                    [only] => only,
                    _ => self.ask(Asked::Waiters),
                }
            }
            OpKind::CompareExchangeWeak if self.word(op.object) == op.a => self.ask(Asked::Below(2)),
            _ => 0,
        }
    }

    /// Whether a weak compare-exchange that would succeed fails spuriously (1), as a choice.
    #[cold]
    pub(crate) fn option_to_fail(&mut self) -> u32 {
        self.ask(Asked::Below(2))
    }

    fn ask(&mut self, asked: Asked) -> u32 {
        if !self.script.is_empty() {
            self.forget_script();
        }
        if self.fair.is_some() && self.is_fair() {
            return match asked {
                Asked::Below(n) => self.fair_option(n as usize, false) as u32,
                Asked::First(_) => 0,
                Asked::Waiters => {
                    let k = self.fair_option(self.waiters.len(), true);
                    self.waiters[k]
                }
            };
        }
        let options = match asked {
            Asked::Below(n) => Options::Below(n),
            Asked::First(n) => Options::First(n),
            Asked::Waiters => Options::Of(&self.waiters),
        };
        self.watched.user.store(false, Ordering::Relaxed);
        // SAFETY: as in `decide`.
        let option = unsafe { (*self.explorer).next_option(options) };
        self.watched.user.store(true, Ordering::Relaxed);
        self.options.push((option, matches!(asked, Asked::Waiters)));
        option
    }

    /// Runs the announced operation of the current thread, whose turn it is.
    #[inline(never)]
    pub(crate) fn finish(&mut self, op: Op, option: u32) -> Done {
        self.finish_here(op, option)
    }

    /// The same, for where the kind is known to the compiler: most of this depends on it.
    #[inline(always)]
    pub(crate) fn finish_here(&mut self, op: Op, option: u32) -> Done {
        let t = self.current;
        let ti = t.index();
        let before = self.word(op.object);
        let applied = semantics::apply_here(&op, before, t, option);
        let Pending { site, awaited, .. } = self.pending[ti];
        // What is handed on in branches that are seldom taken is copied there, field by field, so that it stays in registers here.
        if self.recording {
            crate::seldom();
            let Op { kind, order, object, other, a, b, decides } = op;
            let op = Op { kind, order, object, other, a, b, decides };
            let Applied { word, access: Access { mode, aux }, value, ok } = applied;
            let applied = Applied { word, access: Access { mode, aux }, value, ok };
            self.record(&op, option, before, &applied, site);
        }
        if op.may_block() {
            self.unblock(t, op.object);
        }
        self.last = Some(t);
        if !self.yielded.is_empty() {
            self.yielded.remove(t);
        }
        self.steps += 1;
        self.total_steps += 1;
        self.watched.steps.store(self.total_steps, Ordering::Relaxed);
        self.log.push(Logged::new(t, &op, before, &applied));
        if applied.word != before {
            let object = &mut self.objects[op.object.index()];
            object.word = applied.word;
            if object.waiters > 0 {
                self.recheck(op.object);
            }
            if self.awaiters > 0 {
                self.recheck_awaiting();
            }
        }
        let special = SPECIAL >> op.kind as u8 & 1 == 1;
        debug_assert!(std::ptr::eq(self.own, &self.threads[ti]));
        if special {
            // SAFETY: a fiber runs, so this is the entry of its thread; the borrow ends here.
            unsafe { (*self.own).seq += 1 };
            self.after(t, op, option, applied.ok);
        }
        // Most steps change a word, by a thread that is in no loop.
        let plain = applied.word != before
            && (turns::TRIES | bit(OpKind::Choose)) >> op.kind as u8 & 1 == 0
            && !(spin::LOCKS >> op.kind as u8 & 1 == 1 && self.modes.versions)
            && !self.looking;
        // SAFETY: as above; nothing else looks at the entry before the last use of the borrow.
        let thread = unsafe { &mut *self.own };
        thread.seq += u32::from(!special);
        if plain && thread.turns.is_empty() {
            if matches!(op.kind, OpKind::CompareExchange | OpKind::CompareExchangeWeak) {
                thread.cycles.forget_arrival();
            }
            if thread.cycles.comes_again(op.object, before, applied.word, site) {
                let Op { kind, order, object, other, a, b, decides } = op;
                let op = Op { kind, order, object, other, a, b, decides };
                let Applied { word, access: Access { mode, aux }, value, ok } = applied;
                let applied = Applied { word, access: Access { mode, aux }, value, ok };
                cycles::keep(self, op, site, before, &applied, option);
            }
        } else {
            crate::seldom();
            thread.may_loop = true;
            let Op { kind, order, object, other, a, b, decides } = op;
            let op = Op { kind, order, object, other, a, b, decides };
            let Applied { word, access: Access { mode, aux }, value, ok } = applied;
            let applied = Applied { word, access: Access { mode, aux }, value, ok };
            spin::after_step(self, &op, site, before, &applied, option);
            turns::after_step(self, &op, site, before, &applied, option);
        }
        if self.fair.is_some() && self.is_fair() {
            crate::seldom();
            self.note_fair_step(t, op.kind, applied.value, applied.ok);
        }
        if let Some(e) = self.next_of_script()
            && (e.value, e.access) == (applied.value, applied.access)
        {
            self.scripted += 1;
            return Done { value: applied.value, ok: applied.ok };
        }
        if !self.script.is_empty() {
            self.forget_script();
        }
        self.watched.user.store(false, Ordering::Relaxed);
        // SAFETY: as in `decide`.
        unsafe {
            (*self.explorer).executed(Executed {
                thread: t,
                op,
                access: applied.access,
                before,
                value: applied.value,
                ok: applied.ok,
                site,
                awaited: &self.awaited[awaited.0 as usize..(awaited.0 + awaited.1) as usize],
            });
        }
        self.watched.user.store(true, Ordering::Relaxed);
        Done { value: applied.value, ok: applied.ok }
    }

    fn unblock(&mut self, t: ThreadId, object: ObjectId) {
        if self.blocking.remove(t) {
            self.objects[object.index()].waiters -= 1;
        }
        if self.awaiting.remove(t) {
            self.awaiters -= 1;
        }
    }

    /// The word of an object changed: which of the threads that wait for it can run?
    fn recheck(&mut self, object: ObjectId) {
        let word = self.word(object);
        for u in self.blocking.iter() {
            let op = &self.pending[u.index()].op;
            if op.object == object {
                if semantics::enabled(op, word, u) {
                    self.enabled.insert(u);
                } else {
                    self.enabled.remove(u);
                }
            }
        }
    }

    pub(crate) fn recheck_awaiting(&mut self) {
        for u in self.awaiting.iter() {
            let (from, n) = self.pending[u.index()].awaited;
            let released = self.pending[u.index()].op.a & Op::TIME_PASSES != 0;
            let differs = released
                || self.awaited[from as usize..(from + n) as usize]
                    .iter()
                    .any(|(object, seen)| self.objects[object.index()].word != *seen);
            if differs {
                self.enabled.insert(u);
            } else {
                self.enabled.remove(u);
            }
        }
    }

    /// What some kinds of steps do besides changing their object's word.
    #[inline(never)]
    fn after(&mut self, t: ThreadId, op: Op, option: u32, ok: bool) {
        let ti = t.index();
        match op.kind {
            OpKind::Yield => {
                self.may_wait_as_reader();
                self.yielded.insert(t);
            }
            OpKind::Wait => {
                let word = semantics::apply_other(&op, self.word(op.other));
                self.objects[op.other.index()].word = word;
                if self.objects[op.other.index()].waiters > 0 {
                    self.recheck(op.other);
                }
                if self.awaiters > 0 {
                    self.recheck_awaiting();
                }
            }
            OpKind::NotifyOne | OpKind::NotifyAll if ok => {
                let cause = Access::cause(t, self.threads[ti].seq);
                for u in self.live.iter() {
                    let p = &mut self.pending[u.index()].op;
                    let meant = op.kind == OpKind::NotifyAll || u.0 as u32 == option;
                    if meant && p.kind == OpKind::Wake && p.object == op.object && p.b == 0 {
                        p.b = cause;
                        self.enabled.insert(u);
                    }
                }
            }
            OpKind::End => self.ended(),
            _ => {}
        }
    }

    /// The first panic that nobody took by joining its thread, or that of the main thread.
    pub(crate) fn unseen_panic(&self) -> Option<(ThreadId, &Panicked)> {
        self.order
            .iter()
            .filter_map(|t| self.threads[t.index()].seldom().panicked.as_ref().map(|p| (*t, p)))
            .filter(|(_, p)| !p.seen)
            .min_by_key(|(_, p)| p.at)
    }

    /// `thread 2 (name)`, with the number that a replay will give it.
    pub(crate) fn thread_label(&self, t: ThreadId) -> String {
        match self.threads.get(t.index()) {
            Some(thread) => match (thread.seldom().name.as_deref(), t) {
                (Some(name), _) => format!("thread {} ({name})", thread.rank),
                (None, ThreadId::MAIN) => "thread 0 (main)".to_string(),
                (None, _) => format!("thread {}", thread.rank),
            },
            None => format!("thread {t}"),
        }
    }

    /// The number of a thread in the order of spawns of this execution, by which tokens and reports name it: a fresh
    /// session that runs the same schedule gives the same numbers.
    pub(crate) fn rank(&self, t: ThreadId) -> ThreadId {
        ThreadId(self.threads[t.index()].rank)
    }

    /// Whatever is left to say once the threads, the trace and the token are known.
    pub(crate) fn full_failure(&self, noted: Noted) -> Failure {
        let threads = self.thread_infos(noted.failed_at());
        let variables = self.variables_of(&noted);
        Failure {
            kind: noted.kind,
            message: noted.message,
            location: noted.location,
            thread: noted.thread.map(|t| self.rank(t)),
            replay: self.schedule_to(noted.at, noted.passed).to_string(),
            preemptions: self.recorded.iter().filter(|r| r.preempts.is_some()).count(),
            threads,
            cycle: Vec::new(),
            after: noted.at.map(|at| self.shown_before(at.rows, &variables)),
            trace: self.trace(&variables),
            help: noted.help,
            output: None,
        }
    }

    /// The thread before `t`, if `t` goes on while that one could have.
    pub(crate) fn preempted_by(&self, t: ThreadId) -> Option<ThreadId> {
        self.last.filter(|l| *l != t && self.enabled.contains(*l) && !self.yielded.contains(*l))
    }
}

const CUT_AFTER_FAILURE: &str = "the execution was cut at the limit of steps after a failure, while other threads continued \
     (--max-steps, Config::max_steps)";

const ENDS_AT_FAILURE: &str =
    "executions end at this failure: failures of other threads may be left behind it";

enum Asked {
    Below(u32),
    First(u32),
    Waiters,
}

fn next_session() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// See [`Thread::path`].
fn path_of_child(parent: u64, number: usize) -> u64 {
    parent.rotate_left(5).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(number as u64)
}
