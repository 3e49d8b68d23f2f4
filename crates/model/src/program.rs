//! Programs as control-flow automata: what every engine works on.
//!
//! A [`Program`] has variables, shared and local, and a fixed number of [`Thread`]s. A thread is an automaton: locations, and
//! [`Transition`]s between them. **The meaning of a transition is its guard, its parallel assignments and its set of
//! nondeterministic inputs, and nothing else.** In a state where the guard holds it may be taken; all values and indices are those
//! of the state before; a havocked place gets any value of its type. Synchronisation is written in these terms as well: a mutex
//! is a variable, and to lock it is a transition with the guard `m == 0` and the assignment `m := thread + 1`. So an engine needs
//! to know nothing of locks. What a transition *is* says its [`Action`], for those who can make use of it.
//!
//! | object | its variables |
//! |---|---|
//! | mutex | the number of its owner plus one, or 0 |
//! | reader-writer lock | how many read; the number of the writer plus one, or 0 |
//! | semaphore | its count |
//! | barrier | how many have arrived; how many it takes |
//! | condition variable | none of its own: see `Thread::waiting` |
//! | thread | `Thread::life`, and `Thread::waiting`: the number of the condition variable or barrier it waits at, plus one |
//!
//! Invariants, checked by [`Program::check`]:
//! - a transition of a thread names the thread's own locals and shared variables (one that creates a thread may assign that
//!   thread's locals, which nobody reads before);
//! - a transition that is not [`Action::Atomic`] accesses at most one shared place, or the variables of one synchronisation step;
//! - which shared place a transition accesses depends on locals alone.
//!
//! Several transitions of one location can be enabled at once only where the program has a choice (which waiter a signal wakes,
//! a spurious wake-up). Where none is, the thread waits: [`Location::may_block`] says where that can be.

use crate::term::{Assign, Place, Term, Terms, Type, VarId};
pub use explore::ThreadId;
use std::fmt;

/// A file that text came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u16);

/// A place in the source; line 0 is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// In which file.
    pub file: FileId,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 where it is not known.
    pub column: u32,
}

/// A location of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationId(pub u32);

impl LocationId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A transition of a thread: its index among [`Thread::transitions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransitionId(pub u32);

impl TransitionId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A synchronisation object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SyncId(pub u32);

impl SyncId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Who can see a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Every thread.
    Shared,
    /// One thread.
    Local(ThreadId),
}

/// A variable, or an array of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Its name, different from that of all others: `x`, `node.next`, `worker.i`.
    pub name: String,
    /// The type of its value, or of each cell.
    pub ty: Type,
    /// How many cells; `None` for a variable that is no array.
    pub len: Option<u32>,
    /// Who can see it.
    pub scope: Scope,
    /// Its value at the start: one for each cell.
    pub init: Vec<u64>,
    /// Whether it belongs to a synchronisation object or to the life of a thread, and not to the program's own data.
    pub internal: bool,
    /// Whether it is declared atomic: accesses to it are no data races.
    pub atomic: bool,
    /// Whether it is a union: steps may access some of its bytes, and two accesses need not be to the same.
    pub parts: bool,
    /// Where it was declared.
    pub span: Span,
}

impl Var {
    /// How many cells it has.
    pub fn cells(&self) -> usize {
        self.len.unwrap_or(1) as usize
    }

    /// Whether every thread can see it.
    pub fn is_shared(&self) -> bool {
        self.scope == Scope::Shared
    }
}

/// What kind of synchronisation object, with its variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncKind {
    /// A mutex.
    Mutex {
        /// The owner's number plus one, or 0.
        owner: VarId,
    },
    /// A reader-writer lock.
    RwLock {
        /// How many threads read.
        readers: VarId,
        /// The writer's number plus one, or 0.
        writer: VarId,
    },
    /// A condition variable: threads that wait say so in their own [`Thread::waiting`].
    Condition,
    /// A barrier: threads that wait say so in their own [`Thread::waiting`].
    Barrier {
        /// How many have arrived since it was last complete.
        arrived: VarId,
        /// How many it takes.
        needed: VarId,
    },
    /// A semaphore.
    Semaphore {
        /// Its count.
        count: VarId,
    },
}

/// A synchronisation object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sync {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SyncKind,
    /// The variable that its initialization writes, where that may happen while other threads run: uses of the object that are not
    /// ordered with it are races on this variable.
    pub initialized: Option<VarId>,
    /// Where it was declared.
    pub span: Span,
}

/// What went wrong, at an error location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// An assertion does not hold, or a place was reached that must not be.
    Assertion,
    /// An index past the end of its array.
    OutOfBounds,
    /// A pointer that points nowhere is followed.
    InvalidPointer,
    /// A division by zero, or one whose result the type does not hold.
    Division,
    /// A shift by less than nothing, or by the width or more.
    Shift,
    /// A lock is used against its rules.
    LockMisuse,
    /// The result of signed arithmetic, or of a conversion to a signed type, is no number of its type.
    Overflow,
    /// The program exits with a code other than 0.
    ExitCode,
    /// The program calls `abort`.
    Abort,
    /// A loop or a recursion went on beyond the bound under which the program was read.
    Bound,
}

impl ErrorKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Assertion => "assertion",
            ErrorKind::OutOfBounds => "out-of-bounds",
            ErrorKind::InvalidPointer => "invalid-pointer",
            ErrorKind::Division => "division",
            ErrorKind::Shift => "shift",
            ErrorKind::LockMisuse => "lock-misuse",
            ErrorKind::Overflow => "overflow",
            ErrorKind::ExitCode => "exit-code",
            ErrorKind::Abort => "abort",
            ErrorKind::Bound => "bound",
        }
    }
}

/// What a location is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocationKind {
    /// The thread goes on from here.
    Normal,
    /// The thread has ended. There is no transition from here.
    End,
    /// The whole program has ended: `exit`, or the end of `main`. What others could still do they could have done before; that
    /// they do not is no deadlock.
    Exit,
    /// An assumption of the program does not hold: the execution does not count. That others wait is no deadlock.
    Halt,
    /// Something is wrong.
    Error {
        /// What.
        kind: ErrorKind,
        /// In words.
        message: String,
    },
}

/// Something of the source at a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// An annotation: an index into [`crate::Noted::notes`].
    Note(u32),
    /// A function begins: an index into [`crate::Noted::calls`].
    Enter(u32),
    /// It returns.
    Leave(u32),
    /// A call that stands for its contract is over, and arrays have any content: an index into [`crate::Noted::forgets`].
    Forget(u32),
    /// The head of a loop of the source: `while` or `for`.
    Head,
    /// Where a thread starts: on this line it goes through a loop whose head is no location, as its rounds follow each other.
    Unrolled(u32),
}

/// A location of a thread's automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// What it is.
    pub kind: LocationKind,
    /// The label that the program gives it, if it does.
    pub label: Option<String>,
    /// Where the next statement is.
    pub span: Span,
    /// Whether there are states in which the thread waits here for another one.
    pub may_block: bool,
    /// Whether a step from here is an atomic block that may have to wait for an assumption. An execution in which it does not hold does not
    /// count, so a thread that waits here is not in a deadlock.
    pub assumes: bool,
    /// Whether it is the head of a loop: every cycle of the automaton goes through such a location.
    pub loop_head: bool,
    /// What stands, begins or ends here, in a program that was read with its annotations.
    pub marks: Vec<Mark>,
}

/// What a transition is, besides what it does to variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// It touches no shared variable.
    Local,
    /// It reads one shared place.
    Read,
    /// It writes one shared place.
    Write,
    /// It reads and writes one shared place in one step: `atomic_fetch_add`, a statement of a model.
    Update,
    /// It writes `desired` to one shared place if that has the value `expected`; both are over locals. Of such a location there is
    /// one transition for the success and one for the failure.
    CompareExchange {
        /// The value that must be there.
        expected: Term,
        /// The value that is written.
        desired: Term,
    },
    /// Several accesses in one step: an atomic block. Its guard may block.
    Atomic,
    /// Take a mutex.
    Lock(SyncId),
    /// Take a mutex if it is free, or find that it is not.
    TryLock(SyncId),
    /// Give a mutex back.
    Unlock(SyncId),
    /// Take a reader-writer lock for reading.
    ReadLock(SyncId),
    /// The same if nobody writes.
    TryReadLock(SyncId),
    /// Take it for writing.
    WriteLock(SyncId),
    /// The same if nobody has it.
    TryWriteLock(SyncId),
    /// Give a reader-writer lock back that was taken for reading.
    ReadUnlock(SyncId),
    /// Give a reader-writer lock back that was taken for writing.
    WriteUnlock(SyncId),
    /// Start to wait at a condition variable and give the mutex back.
    Wait {
        /// The condition variable.
        condition: SyncId,
        /// The mutex.
        mutex: SyncId,
    },
    /// Return from waiting, before the mutex is taken again.
    Wake {
        /// The condition variable.
        condition: SyncId,
        /// Nobody has woken it.
        spurious: bool,
    },
    /// Return from waiting because the time is over, before the mutex is taken again. When that is nobody knows: it may be at once.
    TimeOut {
        /// The condition variable.
        condition: SyncId,
    },
    /// Wake one thread that waits; one transition for each thread that may be, and one for nobody.
    Signal {
        /// The condition variable.
        condition: SyncId,
        /// Who is woken.
        woken: Option<ThreadId>,
    },
    /// Wake all threads that wait.
    Broadcast(SyncId),
    /// Arrive at a barrier; one transition for who comes last, one for the others.
    Arrive {
        /// The barrier.
        barrier: SyncId,
        /// Whether it is the last.
        last: bool,
    },
    /// Go on after a barrier was complete.
    Pass(SyncId),
    /// Take one from a semaphore.
    SemWait(SyncId),
    /// The same if there is one.
    SemTryWait(SyncId),
    /// Give one to a semaphore.
    SemPost(SyncId),
    /// Set up a synchronisation object while the program runs: `pthread_barrier_init`, `sem_init`.
    SyncInit(SyncId),
    /// Put an end to a synchronisation object: `pthread_mutex_destroy`.
    Destroy(SyncId),
    /// Make a thread.
    Create(ThreadId),
    /// The last step of a thread that somebody joins.
    End,
    /// Wait for the end of a thread.
    Join(ThreadId),
}

impl Action {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Action::Local => "local",
            Action::Read => "read",
            Action::Write => "write",
            Action::Update => "update",
            Action::CompareExchange { .. } => "compare-exchange",
            Action::Atomic => "atomic",
            Action::Lock(_) => "lock",
            Action::TryLock(_) => "try-lock",
            Action::Unlock(_) => "unlock",
            Action::ReadLock(_) => "read-lock",
            Action::TryReadLock(_) => "try-read-lock",
            Action::WriteLock(_) => "write-lock",
            Action::TryWriteLock(_) => "try-write-lock",
            Action::ReadUnlock(_) => "read-unlock",
            Action::WriteUnlock(_) => "write-unlock",
            Action::Wait { .. } => "wait",
            Action::Wake { .. } => "wake",
            Action::TimeOut { .. } => "time out",
            Action::Signal { .. } => "signal",
            Action::Broadcast(_) => "broadcast",
            Action::Arrive { .. } => "arrive",
            Action::Pass(_) => "pass",
            Action::SemWait(_) => "sem-wait",
            Action::SemTryWait(_) => "sem-try-wait",
            Action::SemPost(_) => "sem-post",
            Action::SyncInit(_) => "init",
            Action::Destroy(_) => "destroy",
            Action::Create(_) => "create",
            Action::End => "end",
            Action::Join(_) => "join",
        }
    }

    /// The synchronisation object, if it is a step on one.
    pub fn sync(self) -> Option<SyncId> {
        use Action::*;
        match self {
            Lock(s) | TryLock(s) | Unlock(s) | ReadLock(s) | TryReadLock(s) | WriteLock(s)
            | TryWriteLock(s) | ReadUnlock(s) | WriteUnlock(s) | Broadcast(s) | Pass(s) | SemWait(s)
            | SemTryWait(s) | SemPost(s) | SyncInit(s) | Destroy(s) => Some(s),
            Wait { condition: s, .. }
            | Wake { condition: s, .. }
            | TimeOut { condition: s }
            | Signal { condition: s, .. } => Some(s),
            Arrive { barrier: s, .. } => Some(s),
            Local | Read | Write | Update | CompareExchange { .. } | Atomic | Create(_) | End | Join(_) => {
                None
            }
        }
    }

    /// Whether the step waits until its guard holds.
    pub fn may_block(self) -> bool {
        use Action::*;
        matches!(self, Lock(_) | ReadLock(_) | WriteLock(_) | Wake { .. } | Pass(_) | SemWait(_) | Join(_))
    }

    /// Whether it is a spurious wake-up: a state in which nothing else can happen is a deadlock nevertheless.
    pub fn is_spurious(self) -> bool {
        matches!(self, Action::Wake { spurious: true, .. })
    }
}

/// An edge of a thread's automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// From here.
    pub from: LocationId,
    /// To here.
    pub to: LocationId,
    /// What must hold: a truth value over the state before.
    pub guard: Term,
    /// What gets which value, all at once. No two parts assign the same variable, nor certainly the same cell; where two may be
    /// the same cell the later one wins.
    pub assigns: Vec<Assign>,
    /// What gets any value of its type: nondeterministic input. None of them is assigned as well.
    pub havoc: Vec<Place>,
    /// What it is.
    pub action: Action,
    /// Where in the source.
    pub span: Span,
    /// For an access by an atomic operation: what it orders.
    pub order: Order,
    /// The operand of an expression that it belongs to: the number plus one in [`Program::operands`], or 0.
    pub operand: u32,
    /// The fences around its access.
    pub fences: Fences,
}

/// The fences that a thread passes in one transition. A fence is not a step of its own: it orders accesses of its thread, and steps are
/// sequentially consistent all the same. It matters for data races.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fences {
    /// Before the access, or of a transition without one.
    pub before: Fence,
    /// After the access.
    pub after: Fence,
}

impl Fences {
    /// One fence alone.
    pub fn one(fence: Fence) -> Fences {
        Fences { before: fence, after: Fence::default() }
    }

    /// The fences of two transitions in one. `access` says which of the two, by itself, has an access that others can see.
    pub(crate) fn then(self, next: Fences, access: (bool, bool)) -> Fences {
        match access {
            (false, _) => Fences { before: self.before.and(self.after).and(next.before), after: next.after },
            (true, false) => {
                Fences { before: self.before, after: self.after.and(next.before).and(next.after) }
            }
            // A fence between two accesses of one step orders nothing that the step itself does not.
            (true, true) => Fences { before: self.before, after: next.after },
        }
    }
}

/// The accesses that a fence orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fence {
    /// Reads before the fence acquire.
    pub acquires: bool,
    /// Writes after the fence release.
    pub releases: bool,
}

impl Fence {
    /// A fence with this memory order.
    pub fn of(order: Order) -> Fence {
        Fence { acquires: order.acquires(), releases: order.releases() }
    }

    fn and(self, other: Fence) -> Fence {
        Fence { acquires: self.acquires | other.acquires, releases: self.releases | other.releases }
    }
}

/// An operator of the source, a call or a list of initializers: C does not say in which order its operands are evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Where it is.
    pub span: Span,
    /// What it has: operands, arguments, initializers.
    pub what: &'static str,
    /// Which one of the source it is.
    pub source: u32,
    /// The operand around it: the number plus one in [`Program::operands`], or 0.
    pub around: u32,
    /// Whether one operand calls a function that changes what another operand depends on.
    pub dependent: bool,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its operator: an index into [`Program::operators`].
    pub operator: u32,
    /// Which of the operands it is.
    pub side: u32,
}

/// What an access orders, as C's memory orders say. Steps are sequentially consistent all the same; it matters for data races.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The source says nothing: a plain access, or an operator on what is declared atomic, which orders all.
    #[default]
    Unsaid,
    /// Atomic, and orders nothing.
    Relaxed,
    /// Whoever reads knows what was before the write.
    Acquire,
    /// Whoever reads it may know what was before.
    Release,
    /// Both; sequentially consistent accesses too.
    Both,
    /// A plain access, also to what is declared atomic: through a pointer that does not say so.
    Plain,
}

impl Order {
    /// Whether a read with it learns what was before the write that it reads.
    pub fn acquires(self) -> bool {
        !matches!(self, Order::Relaxed | Order::Release | Order::Plain)
    }

    /// Whether a write with it tells what was before.
    pub fn releases(self) -> bool {
        !matches!(self, Order::Relaxed | Order::Acquire | Order::Plain)
    }
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its name: `main`, `worker`, `worker#2`.
    pub name: String,
    /// Where it starts.
    pub entry: LocationId,
    /// Its locations, by number.
    pub locations: Vec<Location>,
    /// Its transitions.
    pub transitions: Vec<Transition>,
    /// The transitions from each location.
    pub out: Vec<Vec<TransitionId>>,
    /// For a thread that another one makes: a shared variable that is [`Thread::UNBORN`] at first, [`Thread::ALIVE`] once it is made
    /// and, if somebody joins it, [`Thread::ENDED`] at last. The guards of the transitions from its entry, which nothing leads back
    /// to, ask for `ALIVE`.
    pub life: Option<VarId>,
    /// For a thread that waits at condition variables or barriers: a shared variable with the number of the object plus one, or 0.
    pub waiting: Option<VarId>,
}

impl Location {
    /// The annotations that stand here: indices into [`crate::Noted::notes`].
    pub fn notes(&self) -> impl Iterator<Item = u32> {
        self.marks.iter().filter_map(|m| match m {
            Mark::Note(n) => Some(*n),
            _ => None,
        })
    }

    /// The calls that are over here and leave arrays with any content: indices into [`crate::Noted::forgets`].
    pub fn forgets(&self) -> impl Iterator<Item = u32> {
        self.marks.iter().filter_map(|m| match m {
            Mark::Forget(n) => Some(*n),
            _ => None,
        })
    }
}

impl Thread {
    /// The thread was not made yet.
    pub const UNBORN: u64 = 0;
    /// The thread was made.
    pub const ALIVE: u64 = 1;
    /// The thread has ended.
    pub const ENDED: u64 = 2;

    /// The location with this number.
    pub fn location(&self, l: LocationId) -> &Location {
        &self.locations[l.index()]
    }

    /// The transition with this number.
    pub fn transition(&self, t: TransitionId) -> &Transition {
        &self.transitions[t.index()]
    }

    /// The transitions from a location.
    pub fn from(&self, l: LocationId) -> impl Iterator<Item = (TransitionId, &Transition)> {
        self.out[l.index()].iter().map(|t| (*t, &self.transitions[t.index()]))
    }

    /// The locations, with their numbers.
    pub fn location_ids(&self) -> impl Iterator<Item = LocationId> + use<> {
        (0..self.locations.len() as u32).map(LocationId)
    }

    /// The locations at which something is wrong.
    pub fn errors(&self) -> impl Iterator<Item = (LocationId, ErrorKind, &str)> {
        self.locations.iter().enumerate().filter_map(|(i, l)| match &l.kind {
            LocationKind::Error { kind, message } => Some((LocationId(i as u32), *kind, &message[..])),
            _ => None,
        })
    }
}

/// A concurrent program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Every expression.
    pub terms: Terms,
    /// Every variable.
    pub vars: Vec<Var>,
    /// Every synchronisation object.
    pub syncs: Vec<Sync>,
    /// Every thread; thread 0 is `main`.
    pub threads: Vec<Thread>,
    /// The names of the files that spans are in.
    pub files: Vec<String>,
    /// The operators whose operands are evaluated in the order of the source, although C leaves the order open.
    pub operators: Vec<Operator>,
    /// Their operands that have steps.
    pub operands: Vec<Operand>,
    /// Loops that the source has a way out of, which no run takes: the values of variables that nothing assigns decide it.
    pub never_left: Vec<NeverLeft>,
    /// The calls of `abort` that end a run like a failed assumption and are not errors.
    pub assumed_aborts: Vec<Span>,
    /// The operations that look at addresses in a way that holds for one layout of memory only.
    pub address_uses: Vec<(Span, AddressUse)>,
}

/// How an operation looks at addresses, so that its result may be another one where objects lie elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressUse {
    /// Handles of threads, of which one may be gone: a later thread may have the same.
    Handle,
    /// Addresses of variables of functions that have returned or of threads that have ended: later ones may lie there.
    Local,
    /// The order of addresses, or their bits.
    Value,
}

/// A loop of the source that is never left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeverLeft {
    /// Whose.
    pub thread: ThreadId,
    /// Where it starts.
    pub from: Span,
    /// The line on which it ends.
    pub to: u32,
}

impl Program {
    /// A variable.
    pub fn var(&self, v: VarId) -> &Var {
        &self.vars[v.index()]
    }

    /// The name of a variable.
    pub fn name(&self, v: VarId) -> &str {
        &self.vars[v.index()].name
    }

    /// The variable with this name.
    pub fn var_named(&self, name: &str) -> Option<VarId> {
        self.vars.iter().position(|v| v.name == name).map(|i| VarId(i as u32))
    }

    /// A thread.
    pub fn thread(&self, t: ThreadId) -> &Thread {
        &self.threads[t.index()]
    }

    /// The threads, with their numbers.
    pub fn thread_ids(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.threads.len() as u16).map(ThreadId)
    }

    /// A synchronisation object.
    pub fn sync(&self, s: SyncId) -> &Sync {
        &self.syncs[s.index()]
    }

    /// A term as text.
    pub fn show(&self, t: Term) -> String {
        self.terms.show(t, &|v| self.name(v))
    }

    /// A place as text.
    pub fn show_place(&self, p: Place) -> String {
        match p.index {
            None => self.name(p.var).to_owned(),
            Some(i) => format!("{}[{}]", self.name(p.var), self.show(i)),
        }
    }

    /// A place in the source as text: `file:line`.
    pub fn show_span(&self, s: Span) -> String {
        match self.files.get(s.file.0 as usize) {
            Some(file) if s.line > 0 => format!("{file}:{}", s.line),
            _ => "?".to_owned(),
        }
    }

    /// The shared places that a transition reads (in its guard, in values and in indices) and writes, each once.
    pub fn accesses(&self, t: &Transition) -> Accesses {
        let mut out = Accesses::default();
        let see = |p: Place, list: &mut Vec<Place>| {
            if self.var(p.var).is_shared() && !list.contains(&p) {
                list.push(p);
            }
        };
        let reads = |term: Term, out: &mut Accesses| self.terms.places(term, &mut |p| see(p, &mut out.reads));
        reads(t.guard, &mut out);
        for a in &t.assigns {
            reads(a.value, &mut out);
        }
        for p in t.assigns.iter().map(|a| a.place).chain(t.havoc.iter().copied()) {
            if let Some(i) = p.index {
                reads(i, &mut out);
            }
            see(p, &mut out.writes);
        }
        out
    }

    /// Whether the program keeps the promises of this module; what it breaks first otherwise.
    pub fn check(&self) -> Result<(), String> {
        for v in &self.vars {
            if v.init.len() != v.cells() {
                return Err(format!(
                    "`{}` has {} initial values for {} cells",
                    v.name,
                    v.init.len(),
                    v.cells()
                ));
            }
        }
        for (id, thread) in self.thread_ids().zip(&self.threads) {
            for (n, t) in thread.transitions.iter().enumerate() {
                let bad = |why: &str| Err(format!("transition {n} of `{}`: {why}", thread.name));
                if t.from.index() >= thread.locations.len() || t.to.index() >= thread.locations.len() {
                    return bad("it leads from or to no location");
                }
                if !matches!(thread.location(t.from).kind, LocationKind::Normal) {
                    return bad("it leaves a location at which the thread has ended");
                }
                if !thread.out[t.from.index()].contains(&TransitionId(n as u32)) {
                    return bad("its location does not know it");
                }
                if self.terms.ty(t.guard) != Type::BOOL {
                    return bad("its guard is no truth value");
                }
                if let Some(why) = self.wrong(id, t) {
                    return bad(&why);
                }
            }
        }
        Ok(())
    }

    fn wrong(&self, id: ThreadId, t: &Transition) -> Option<String> {
        let foreign = |v: VarId| matches!(self.var(v).scope, Scope::Local(owner) if owner != id);
        let mut wrong = None;
        let mut look = |term: Term| {
            self.terms.places(term, &mut |p| {
                if foreign(p.var) {
                    wrong = Some(format!("it reads `{}` of another thread", self.name(p.var)));
                }
                if p.index.is_some() != self.var(p.var).len.is_some() {
                    wrong = Some(format!("it does not read `{}` as what it is", self.name(p.var)));
                }
            });
        };
        look(t.guard);
        for a in &t.assigns {
            look(a.value);
            a.place.index.iter().for_each(|i| look(*i));
        }
        t.havoc.iter().filter_map(|p| p.index).for_each(&mut look);
        if wrong.is_some() {
            return wrong;
        }
        for (i, a) in t.assigns.iter().enumerate() {
            let made = match t.action {
                Action::Create(child) => self.var(a.place.var).scope == Scope::Local(child),
                _ => false,
            };
            if foreign(a.place.var) && !made {
                return Some(format!("it assigns `{}` of another thread", self.name(a.place.var)));
            }
            if self.terms.ty(a.value) != self.var(a.place.var).ty {
                return Some(format!("it assigns `{}` a value of another type", self.name(a.place.var)));
            }
            if t.assigns[..i].iter().any(|b| b.place == a.place) || t.havoc.contains(&a.place) {
                return Some(format!("it assigns `{}` twice", self.show_place(a.place)));
            }
        }
        let accesses = self.accesses(t);
        let internal = |p: &&Place| self.var(p.var).internal;
        let mut data: Vec<Place> = Vec::new();
        for p in accesses.reads.iter().chain(&accesses.writes).filter(|p| !internal(p)) {
            if !data.contains(p) {
                data.push(*p);
            }
        }
        if t.action != Action::Atomic && data.len() > 1 {
            return Some("it is not atomic, and accesses more than one shared place".to_owned());
        }
        if t.action == Action::Local && (!accesses.reads.is_empty() || !accesses.writes.is_empty()) {
            // Only the guard that asks for the life of the thread may be added to a local step.
            let life = self.thread(id).life;
            if !accesses.writes.is_empty() || accesses.reads.iter().any(|p| Some(p.var) != life) {
                return Some("it is said to be local, and accesses something shared".to_owned());
            }
        }
        for i in data.iter().filter_map(|p| p.index) {
            let mut shared = false;
            self.terms.places(i, &mut |p| shared |= self.var(p.var).is_shared());
            if shared && t.action != Action::Atomic {
                return Some("its index reads something shared".to_owned());
            }
        }
        None
    }
}

/// What a transition does to shared places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Those that it reads.
    pub reads: Vec<Place>,
    /// Those that it writes.
    pub writes: Vec<Place>,
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)
    }
}
