//! Loops that look at data under a lock: `while !*ready.lock().unwrap() { yield_now() }`.
//!
//! To take a lock, look, and give it back changes the lock twice, so it is no look in the sense of [`crate::spin`]. It becomes
//! one by keeping, beside each lock, a *version* of what it guards: whoever gives the lock back after a change (the guard was
//! used as `&mut`, or poisoned the lock) first takes a step that raises it. Then taking a lock is a look at the version, giving
//! it back without a change is nothing, and the rule of [`crate::spin`] applies: a thread that comes back to where it was waits
//! until a version, or another word that it saw, differs.
//!
//! # Why it loses nothing
//!
//! One more turn of such a loop finds what the last one found, since it is under the lock, and leaves everything as it was. It
//! may keep others waiting for the lock, but not for ever, and whoever waits cannot tell for how long. Only those who *try* the
//! lock can tell that it is held; where a thread does that to a lock that another one polls, nothing is cut. A thread that tries
//! the lock that it polls has seen that it was free, so the lock itself is one of the words that end its wait. Two things are
//! taken for granted: data under a lock is changed through `&mut` or through our own cells and atomics, not through a
//! `std::cell::Cell`; and what the loop does besides is in its local state, as everywhere.
//!
//! Versions cost a step for each change under a lock, so there are none until a thread is seen to take and give back the same
//! lock at the same place again and again without a change. Then the search starts anew, with versions.

use crate::context;
use crate::execution::{Execution, Phase};
use crate::objects::Handle;
use crate::sync;
use crate::{Class, Place, Request};
use explore::{MemoryOrder, ObjectId, Op, OpKind, Site, ThreadId};

/// After so many rounds of the same lock at the same place, with hardly anything in between, a thread polls.
const POLLS: u32 = 3;
/// Steps that a round may take.
const ROUND: u32 = 16;

/// Why the search has to start again, in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    /// The test asks whether a thread has ended, so ends are steps.
    EndsAreSteps,
    /// The test polls under a lock, so locks have versions.
    LocksHaveVersions,
    /// The test also tries such a lock, so that must not be.
    NoVersions,
    /// A thread could be held up by a writer that waits for a lock which others read, so writers that wait are seen.
    WritersWait,
    /// A thread of a scope has thread-locals to drop when its closure has ended, so the end of the closure is a step.
    ClosuresEnd,
    /// A handle was dropped without a join, and the value of its thread has a destructor, so both owners of such values leave them by steps.
    OwnersLeave,
    /// The test reads the clock after threads were compared without it, so clocks are part of local states.
    ReadsClock,
    /// A block was freed whose address another allocation of the test could get, so addresses come back; see [`crate::heap`].
    AddressesComeBack,
    /// Local states of a thread are compared, so stacks are wiped: what lies there must not depend on earlier executions.
    ComparesStates,
    /// A thread went another way than was expected of it after a look.
    NoPredictions,
    /// Whether there is a data race depends on what is done through a pointer to a cell, so such accesses are watched; see [`crate::watch`].
    WatchesCells,
    /// Addresses are compared that come from the allocator, so what it gives out again is decided here; see [`crate::quarantine`].
    GivesBack,
    /// The test makes hash maps, so each thread has keys of its own, which are the same in all executions; see [`crate::std_locals`].
    MakesHashMaps,
    /// The front end has learned something of the program, and keeps it itself.
    FrontLearned,
}

/// How executions are run: found out on the way, kept over the executions of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Modes {
    /// The end of a thread is a step. It is only when the test asks whether a thread has ended: nobody else can tell an end
    /// from the last step before it.
    pub(crate) ends_are_steps: bool,
    /// Locks have versions.
    pub(crate) versions: bool,
    /// They must not have.
    pub(crate) no_versions: bool,
    /// The end of the closure of a scoped thread is a step, before its thread-locals are dropped: a scope waits for the closures.
    pub(crate) closures_end: bool,
    /// The two owners of the value that a thread leaves, the thread and its handle, leave it by steps: the last one drops it.
    pub(crate) owners_leave: bool,
    /// Waiting writers of reader-writer locks hold up new readers; see [`crate::rwlock`].
    pub(crate) writers_wait: bool,
    /// A thread took a reader-writer lock for writing, in this execution or an earlier one.
    pub(crate) has_writer: bool,
    /// A thread read the clock, in this execution or an earlier one.
    pub(crate) reads_clock: bool,
    /// A thread did something that depends on whether waiting writers hold up new readers, in this execution or an earlier one.
    pub(crate) tells_waiting_writers: bool,
    /// Addresses of freed blocks are given out again; see [`crate::heap`].
    pub(crate) reuse: bool,
    /// Stacks are wiped where a thread starts, and below its operations; see [`crate::spin`].
    pub(crate) wipes_stacks: bool,
    /// How deep in their stacks threads were compared with their earlier states, where that is deeper than is wiped below an operation anyway.
    pub(crate) wiped_depth: usize,
    /// After how many fruitless turns a thread gives way; 0 for what the settings say. See [`crate::turns`].
    pub(crate) turns: u32,
    /// A thread that comes back to a place has gone through a round of a loop there, whatever its local state is. See `rounds` in
    /// [`crate::cycles`].
    pub(crate) rounds_by_place: bool,
    /// The steps of all threads are watched from the beginning, with their local states, so that loops are cut when they first come back to
    /// a state. See [`crate::cycles`].
    pub(crate) eager: bool,
    /// Stacks are wiped below every operation, also of programs in machine code. See [`crate::spin`].
    pub(crate) clean_stacks: bool,
    /// What a thread does after a look is not taken for granted before it has done it. See [`crate::cycles`].
    pub(crate) no_predictions: bool,
    /// Threads have keys of their own for hash maps. See [`crate::std_locals`].
    pub(crate) hashes: bool,
    /// What is added to the keys.
    pub(crate) hash_seed: u64,
    /// Accesses through pointers to cells are seen where they happen. See [`crate::watch`].
    pub(crate) watches_cells: bool,
    /// Memory that a thread frees is not allocated again before the execution has ended. See [`crate::quarantine`].
    pub(crate) keeps_freed: bool,
    /// But an allocation of the test gets the block of its size that the test freed last. See [`crate::quarantine`].
    pub(crate) gives_back: bool,
    /// An execution in which threads repeat themselves for ever is a failure, whether or not it was confirmed. See [`crate::livelock`].
    pub(crate) report_suspects: bool,
}

impl Modes {
    pub(crate) fn change(&mut self, why: Restart) {
        match why {
            Restart::EndsAreSteps => self.ends_are_steps = true,
            Restart::LocksHaveVersions => self.versions = true,
            Restart::FrontLearned => {}
            Restart::MakesHashMaps => self.hashes = true,
            Restart::GivesBack => (self.keeps_freed, self.gives_back) = (true, true),
            Restart::WatchesCells => self.watches_cells = true,
            Restart::AddressesComeBack => self.reuse = true,
            Restart::NoPredictions => self.no_predictions = true,
            Restart::ReadsClock => self.reads_clock = true,
            Restart::ComparesStates => self.wipes_stacks = true,
            Restart::ClosuresEnd => self.closures_end = true,
            Restart::OwnersLeave => self.owners_leave = true,
            Restart::WritersWait => self.writers_wait = true,
            Restart::NoVersions => (self.versions, self.no_versions) = (false, true),
        }
    }
}

/// A lock with the version of its data.
pub(crate) struct Versioned {
    pub(crate) lock: ObjectId,
    pub(crate) version: ObjectId,
    tried: By,
    polled: By,
}

/// Who did something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Nobody,
    One(ThreadId),
    Several,
}

impl By {
    fn and(self, t: ThreadId) -> By {
        match self {
            By::Nobody => By::One(t),
            By::One(u) if u == t => self,
            _ => By::Several,
        }
    }
}

/// The rounds of a thread with one lock at one place.
pub(crate) struct Rounds {
    lock: ObjectId,
    site: Site,
    count: u32,
    /// The step of the last one.
    at: u32,
}

impl Execution {
    fn versioned(&mut self, lock: ObjectId) -> &mut Versioned {
        let i = match self.versioned.iter().position(|v| v.lock == lock) {
            Some(i) => i,
            None => {
                let version = self.enter(Class::Version, 0, None);
                let name = self.names[lock.index()];
                self.names[version.index()] = if name == 0 { 0 } else { name ^ 1 << 61 };
                self.versioned.push(Versioned { lock, version, tried: By::Nobody, polled: By::Nobody });
                self.versioned.len() - 1
            }
        };
        &mut self.versioned[i]
    }

    /// The object that holds the version of what a lock guards.
    pub(crate) fn version_of(&mut self, lock: ObjectId) -> ObjectId {
        self.versioned(lock).version
    }

    /// The running thread has tried a lock. If it `reads` now, it has seen that nobody writes, which no word says alone: readers that
    /// come and go are independent of it.
    pub(crate) fn has_tried(&mut self, lock: ObjectId, reads: bool) {
        let t = self.current;
        let v = self.versioned(lock);
        v.tried = if reads { By::Several } else { v.tried.and(t) };
        self.see_who_tries(lock);
    }

    /// The running thread waits for a change of what these locks guard.
    pub(crate) fn has_polled(&mut self, version: ObjectId) {
        let t = self.current;
        if let Some(v) = self.versioned.iter_mut().find(|v| v.version == version) {
            v.polled = v.polled.and(t);
            let lock = v.lock;
            self.see_who_tries(lock);
        }
    }

    fn see_who_tries(&mut self, lock: ObjectId) {
        let v = self.versioned(lock);
        let told_apart = match (v.tried, v.polled) {
            (By::Nobody, _) | (_, By::Nobody) => false,
            (By::One(t), By::One(u)) => t != u,
            _ => true,
        };
        if told_apart {
            self.restart = Some(Restart::NoVersions);
        }
    }

    /// The running thread gave a lock back without a change.
    fn gave_back_unchanged(&mut self, lock: ObjectId, site: Site) {
        if self.modes.versions || self.modes.no_versions || !self.settings.spin_loops {
            return;
        }
        let thread = &mut self.threads[self.current.index()];
        let seq = thread.seq;
        let rounds = &mut thread.seldom_mut().rounds;
        rounds.retain(|r| seq - r.at <= ROUND);
        match rounds.iter_mut().find(|r| r.lock == lock && r.site == site) {
            None => rounds.push(Rounds { lock, site, count: 1, at: seq }),
            Some(r) => {
                (r.count, r.at) = (r.count + 1, seq);
                if r.count >= POLLS {
                    self.restart = Some(Restart::LocksHaveVersions);
                }
            }
        }
    }
}

/// Says that what a lock guards is changed, by a thread that holds it, before it gives it back.
pub fn changed(lock: &Handle, class: Class, place: Place) {
    let ex = context::for_operation("a lock", place);
    // SAFETY: a current execution is valid, and no reference into it is held over the step.
    unsafe {
        if (*ex).phase != Phase::Running {
            return;
        }
        if (*ex).tracking || (*ex).fair.is_some() {
            crate::cycles::forget(&mut *ex);
        }
        if !(*ex).modes.versions && !(*ex).any_stopped {
            return;
        }
        let lock = (*ex).resolve(lock, class, 0, place);
        if (*ex).any_stopped {
            let at = (*ex).log.len();
            (*ex).changed_under.push((lock, at));
        }
        if !(*ex).modes.versions {
            return;
        }
        let version = (*ex).version_of(lock);
        let next = (*ex).word(version) + 1;
        sync::step_on(ex, Op::new(OpKind::Store, version).with(next, 0), place);
        // A loop that changes what the lock guards gets somewhere.
        crate::turns::saw_change(&mut *ex);
    }
}

/// Gives a lock back: `kind` says how it was held, `change` whether what it guards may have changed.
#[inline(always)]
pub fn unlock(lock: &Handle, class: Class, kind: OpKind, change: bool, place: Place) {
    if change {
        changed(lock, class, place);
    }
    sync::step(Request {
        kind,
        object: lock,
        class,
        initial: 0,
        a: 0,
        b: 0,
        order: MemoryOrder::None,
        place,
    });
    if !change {
        unchanged(lock, class, place);
    }
}

/// Says that a lock was given back and that what it guards is as it was.
#[inline(never)]
pub fn unchanged(lock: &Handle, class: Class, place: Place) {
    let ex = context::for_operation("a lock", place);
    // SAFETY: a current execution is valid; the borrow ends here.
    unsafe {
        if (*ex).phase == Phase::Running {
            let lock = (*ex).resolve(lock, class, 0, place);
            (*ex).gave_back_unchanged(lock, sync::site(place));
        }
    }
}
