//! The one trait between a running program and a search.

use crate::ids::{EventIndex, ObjectId, Site, ThreadId, ThreadSet};
use crate::op::{Access, Op};
use crate::trace::Event;

/// What a thread has announced.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Its next operation.
    pub op: Op,
    /// Where in the source.
    pub site: Site,
    /// What [`OpKind::Await`](crate::OpKind::Await) waits on is in the view's `awaited`, from here, this many.
    pub awaited: (u32, u32),
}

/// The state of all threads at a scheduling point.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// What each thread has announced, by thread number. Entries of threads that are not in `live` mean nothing.
    pub pending: &'a [Pending],
    /// Threads that exist and have not ended.
    pub live: ThreadSet,
    /// Threads whose operation can run now.
    pub enabled: ThreadSet,
    /// The thread that ran last.
    pub current: Option<ThreadId>,
    /// Threads whose last step was a yield: by default others go first.
    pub yielded: ThreadSet,
    /// How many objects have been numbered so far; `u32::MAX` if numbers are names that all executions share.
    pub objects: u32,
    /// By object: a name that the object has in every execution, or 0 where the front end knows none. A search gets by without,
    /// but may then try a sequence that it need not.
    pub names: &'a [u64],
    /// The objects that awaiting threads wait on, each with the word that was seen.
    pub awaited: &'a [(ObjectId, u64)],
}

impl View<'_> {
    /// The name of an object, or 0.
    pub(crate) fn name(&self, object: ObjectId) -> u64 {
        self.names.get(object.index()).copied().unwrap_or(0)
    }

    /// What a thread at an [`OpKind::Await`](crate::OpKind::Await) waits on.
    pub fn awaited_by(&self, t: ThreadId) -> &[(ObjectId, u64)] {
        let (from, count) = self.pending[t.index()].awaited;
        &self.awaited[from as usize..(from + count) as usize]
    }
}

/// The answer to *which thread goes next*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// This one; it is enabled.
    Run(ThreadId),
    /// None: whatever this execution could still show is seen elsewhere, or it was refused; give it up.
    Stop,
}

/// The outcomes one operation may have in the state in which it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Options<'a> {
    /// One of the numbers below this.
    Below(u32),
    /// The same, but an execution in which it is not 0 does not count from here on, whatever comes: a search may leave it out.
    First(u32),
    /// One of these.
    Of(&'a [u32]),
}

impl Options<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Options::Below(n) | Options::First(n) => *n as usize,
            Options::Of(s) => s.len(),
        }
    }

    /// How many of them, the first ones, lead to executions that count.
    pub fn wanted(&self) -> usize {
        match self {
            Options::First(_) => 1,
            _ => self.len(),
        }
    }

    /// Whether there are none, which no front end may ask for.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The i-th.
    pub fn get(&self, i: usize) -> u32 {
        match self {
            Options::Below(_) | Options::First(_) => i as u32,
            Options::Of(s) => s[i],
        }
    }
}

/// An operation that has run.
#[derive(Clone, Copy, Debug)]
pub struct Executed<'a> {
    /// By whom.
    pub thread: ThreadId,
    /// What it was.
    pub op: Op,
    /// What it did to its object.
    pub access: Access,
    /// The object's word before.
    pub before: u64,
    /// The value the thread got.
    pub value: u64,
    /// Whether it succeeded.
    pub ok: bool,
    /// Where in the source.
    pub site: Site,
    /// The objects an [`OpKind::Await`](crate::OpKind::Await) waited on, each with the word that was seen before.
    pub awaited: &'a [(ObjectId, u64)],
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// No thread can take a step: all have ended, or those that have not wait for ever.
    Complete,
    /// The same, but an assumption did not hold: the execution does not count.
    Assumed,
    /// No thread can take a step, and one of them was stopped because it only repeats what it has done: the execution shows
    /// nothing beyond its steps, and whether it could end is seen elsewhere.
    Pruned,
    /// Its last step is a spurious failure that its thread is about to try again, in the same local state: nothing has changed. The
    /// execution in which the step succeeds, which was explored before, shows all that can follow. So no race of this one needs to be
    /// reversed.
    Undone,
    /// The search itself stopped it.
    Stopped,
    /// It was cut while threads could still run (a limit was hit).
    Cut,
}

/// A search, as a running program sees it.
///
/// A front end calls, for each execution: [`begin`](Explorer::begin); then, for each step,
/// [`next_thread`](Explorer::next_thread), for an operation with several outcomes [`next_option`](Explorer::next_option),
/// and [`executed`](Explorer::executed); last [`end`](Explorer::end), which says whether to run again.
///
/// A search over interleavings lets each read see the latest write. A search for weak memory also decides
/// [`read_from`](Explorer::read_from).
pub trait Explorer {
    /// A new execution starts.
    fn begin(&mut self);

    /// Which of the enabled threads goes next? There is at least one.
    fn next_thread(&mut self, view: &View<'_>) -> Decision;

    /// The next step of `after` comes after what `before` has done so far: it was spawned by it, or has joined it. A front end
    /// may make spawns and joins steps of their own, or tell them here: they conflict with nothing, so nothing is lost.
    fn ordered(&mut self, before: ThreadId, after: ThreadId) {
        let _ = (before, after);
    }

    /// The operation of the thread that was just chosen has several outcomes: which one?
    fn next_option(&mut self, options: Options<'_>) -> u32;

    /// Which of these writes does the read see? They are given oldest first.
    fn read_from(&mut self, _thread: ThreadId, _op: &Op, writes: &[EventIndex]) -> usize {
        writes.len() - 1
    }

    /// The operation of the chosen thread has run.
    fn executed(&mut self, event: Executed<'_>);

    /// Whether the thread that has just run goes on with this step, whatever the others can do. Then the front end takes it as if
    /// [`next_thread`](Explorer::next_thread) had said so, and need not look who else could run. To be asked only where the threads that
    /// are enabled, and the objects, are those of the last view.
    fn goes_on(&mut self, next: &Pending) -> bool {
        let _ = next;
        false
    }

    /// What the execution that has just begun is going to do first, as it did before. A front end may take these steps without
    /// asking: whoever runs it checks that thread, operation, place and result are those of the event, and then says so with
    /// [`skip`](Explorer::skip), before it calls anything else. An event that does not come again as it was, or that has several
    /// outcomes, is for [`next_thread`](Explorer::next_thread) and the rest, as all that come after it. A front end that goes back to
    /// a state that it has kept, instead of running to it again, skips any of them; only [`ordered`](Explorer::ordered) is called
    /// in between, where it was.
    fn script(&self) -> &[Event] {
        &[]
    }

    /// Whether the last step is the only one so far that no earlier execution took, and all that differs from one that was explored is its
    /// outcome.
    fn differs_in_outcome(&self) -> bool {
        false
    }

    /// So many steps of the script have been taken.
    fn skip(&mut self, steps: usize) {
        let _ = steps;
    }

    /// The execution is over; `true` asks for another one.
    fn end(&mut self, end: End, view: &View<'_>) -> bool;

    /// Why the search refuses to go on, when a replayed step met another operation than before.
    fn divergence(&self) -> Option<&Divergence> {
        None
    }
}

/// A replayed prefix met another operation than the one recorded: the program is not deterministic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// At which step.
    pub step: usize,
    /// The thread that was to run.
    pub thread: ThreadId,
    /// What it did the first time, and where.
    pub expected: Option<(Op, Site)>,
    /// What it wanted to do now, and where; `None` when it could not run at all.
    pub found: Option<(Op, Site)>,
    /// The execution was over before that step.
    pub ended: bool,
}
