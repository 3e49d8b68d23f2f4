//! Operations, what they did, and the one dependence relation.
//!
//! Everything the search knows of a program is the next [`Op`] of each thread and, once it has run, its [`Access`]:
//! what it turned out to do to its object. A compare-exchange that failed is a read, one that succeeded is a write; a
//! `try_lock` that failed is a read. Dependence is decided on accesses, so it is exact for the execution at hand, and
//! it lives in [`Access::conflicts`] alone.

use crate::ids::{ObjectId, ThreadId};
use serde::{Deserialize, Serialize};

/// What kind of operation a thread announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum OpKind {
    /// Atomic load.
    Load,
    /// Store; `a` is the new value. For one that is not atomic (its order is [`MemoryOrder::None`]) it is known when it runs.
    Store,
    /// Atomic read-modify-write that always writes; `a` is the new value, known when it runs.
    Rmw,
    /// Compare-exchange from `a` to `b`.
    CompareExchange,
    /// The weak form: one that would succeed always has a second outcome, option 1, a spurious failure. Where no such failure
    /// is to be explored the operation is announced as a [`OpKind::CompareExchange`].
    CompareExchangeWeak,
    /// A fence. Under sequential consistency it orders nothing that is not ordered already.
    Fence,
    /// Acquire a mutex; blocks while it is held.
    Lock,
    /// Acquire a mutex if it is free.
    TryLock,
    /// Release a mutex.
    Unlock,
    /// Acquire a reader-writer lock for reading. `a` is 0 for a lock that prefers readers. It is [`Op::ARRIVES`] or
    /// [`Op::HAS_WAITED`] for a lock whose waiting writers hold up new readers.
    ReadLock,
    /// Acquire for reading if no writer holds it. `a` is nonzero if waiting writers count as well.
    TryReadLock,
    /// Release a read lock. `a` as for [`OpKind::TryReadLock`].
    ReadUnlock,
    /// Acquire a reader-writer lock for writing. `a` as for [`OpKind::ReadLock`].
    WriteLock,
    /// Acquire for writing if nobody holds it.
    TryWriteLock,
    /// Release a write lock.
    WriteUnlock,
    /// Start to wait on a condition variable: releases the mutex `other` in the same step.
    Wait,
    /// Return from waiting. `b` names the notification that allows it (0: none yet); `a` has the
    /// [`Op::MAY_TIME_OUT`] and [`Op::MAY_WAKE_SPURIOUSLY`] bits. Taking the mutex again is a [`OpKind::Lock`] of its own.
    Wake,
    /// Wake one waiter; the option is the thread that is woken.
    NotifyOne,
    /// Wake all waiters.
    NotifyAll,
    /// Put a message into a channel; blocks while a bounded one is full. `a` is the capacity, `u64::MAX` for none.
    Send,
    /// Put a message if there is room. `a` as for [`OpKind::Send`].
    TrySend,
    /// On a channel of capacity 0: wait until message number `b` was taken.
    SendDone,
    /// On a channel of capacity 0: say that a receiver waits.
    RecvReady,
    /// Take a message; blocks while there is none and a sender lives. `a` is the capacity.
    Recv,
    /// Take a message if there is one (also what a receive with a timeout does). `a` is the capacity.
    TryRecv,
    /// One more sender.
    AddSender,
    /// One sender fewer.
    DropSender,
    /// The receiver is gone.
    DropReceiver,
    /// Arrive at a barrier of `a` threads.
    Arrive,
    /// Leave the barrier after generation `a` is complete.
    Pass,
    /// Wait for this thread's token and take it. `a` has the same bits as for [`OpKind::Wake`].
    Park,
    /// Give a thread its token.
    Unpark,
    /// Make a thread; the object is the life of the new thread, `a` its number.
    Spawn,
    /// The first step of a thread.
    Start,
    /// The last step of a thread.
    End,
    /// Wait for the end of a thread.
    Join,
    /// Ask whether a thread has ended.
    IsFinished,
    /// One more reference to a counted object.
    CountUp,
    /// One reference fewer; who takes the last one sees it. `a` is 1 when it matters who that is.
    CountDown,
    /// Look at the count.
    CountRead,
    /// Let others run. Independent of everything.
    Yield,
    /// Choose one of `a` values.
    Choose,
    /// A thread repeats the same reads of the same values: wait until one of them changes.
    Await,
    /// Wait for ever: an assumption does not hold here.
    Assume,
    /// Copy the word of the object to the object `other`, in one step. `a` is that word, and `b` the word of `other` before: both
    /// are known when it runs. Statements of model programs do this; no Rust program does.
    Assign,
    /// Take one from a semaphore; blocks while it is 0.
    SemWait,
    /// Take one from a semaphore if it is not 0.
    SemTryWait,
    /// Give one to a semaphore.
    SemPost,
    /// Change a queue of bytes, as a read from a pipe or a write to it does. Both halves of the word must be at least those of `b`:
    /// it blocks until they are. `a` is the new word, known when it runs.
    Transfer,
    /// The same if the halves are large enough.
    TryTransfer,
}

/// What the value that an operation gives to its thread may decide of what the thread does next. A front end that has read the
/// program knows; one that only runs it says [`Decides::Anything`].
///
/// Whatever is said must hold through memory too: a value that is written and read back later decides what that read decides.
/// So an [`OpKind::Assign`], whose value goes to memory alone, decides what the word that it writes may decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Decides {
    /// Which operations come next, and on which objects.
    #[default]
    Anything,
    /// On which objects the next operations are, but not which they are.
    Addresses,
    /// Neither: at most the values that are written.
    Nothing,
}

/// The memory order an operation asked for. The interleaving search records it; the order of accesses is sequentially
/// consistent whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum MemoryOrder {
    /// Not an atomic access.
    #[default]
    None,
    /// `Relaxed`.
    Relaxed,
    /// `Acquire`.
    Acquire,
    /// `Release`.
    Release,
    /// `AcqRel`.
    AcqRel,
    /// `SeqCst`.
    SeqCst,
}

/// The next operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// With which memory order.
    pub order: MemoryOrder,
    /// On which object.
    pub object: ObjectId,
    /// On which second object: the mutex of a [`OpKind::Wait`].
    pub other: ObjectId,
    /// First operand; its meaning depends on the kind.
    pub a: u64,
    /// Second operand; its meaning depends on the kind.
    pub b: u64,
    /// What its value decides.
    pub decides: Decides,
}

impl OpKind {
    /// Whether a step of this kind may be disabled, or may touch more than one object.
    #[inline]
    pub(crate) fn is_special(self) -> bool {
        matches!(self, OpKind::Wait | OpKind::Assign) || self.may_block()
    }

    /// Whether a step of this kind may be disabled.
    #[inline(always)]
    fn may_block(self) -> bool {
        use OpKind::*;
        matches!(
            self,
            Lock | ReadLock
                | WriteLock
                | Wake
                | Send
                | SendDone
                | Recv
                | Pass
                | Park
                | Join
                | Await
                | Assume
                | Start
                | SemWait
                | Transfer
        )
    }
}

impl Op {
    /// Bit of `a`: the wait has a time limit, so it may return with nobody having woken it.
    pub const MAY_TIME_OUT: u64 = 1;
    /// Bit of `a`: the wait may return for no reason.
    pub const MAY_WAKE_SPURIOUSLY: u64 = 2;
    /// Bit of `a`: nothing else in the program can run, so time passes. Such a step happens after everything before.
    pub const TIME_PASSES: u64 = 4;
    /// Value of `a`: an attempt to take a reader-writer lock that does not block. A failed attempt notes in the lock that its
    /// thread waits.
    pub const ARRIVES: u64 = 1;
    /// Value of `a`: a further attempt, which blocks until the note of the last attempt is gone.
    pub const HAS_WAITED: u64 = 2;
    /// The capacity of a channel without one.
    pub const UNBOUNDED: u64 = u64::MAX;

    /// An operation on one object.
    #[inline]
    pub const fn new(kind: OpKind, object: ObjectId) -> Op {
        Op {
            kind,
            order: MemoryOrder::None,
            object,
            other: ObjectId::NONE,
            a: 0,
            b: 0,
            decides: Decides::Anything,
        }
    }

    /// An operation on no object.
    #[inline]
    pub const fn local(kind: OpKind) -> Op {
        Op::new(kind, ObjectId::NONE)
    }

    /// The same with operands.
    #[must_use]
    #[inline]
    pub const fn with(mut self, a: u64, b: u64) -> Op {
        self.a = a;
        self.b = b;
        self
    }

    /// The same with a memory order.
    #[must_use]
    #[inline]
    pub const fn ordered(mut self, order: MemoryOrder) -> Op {
        self.order = order;
        self
    }

    /// The same, with what its value decides.
    #[must_use]
    #[inline]
    pub const fn deciding(mut self, decides: Decides) -> Op {
        self.decides = decides;
        self
    }

    /// Whether it is the same step of the program as `other`: what may change between the moment a thread announces
    /// an operation and the moment it runs (who woke it, the value a read-modify-write computes) does not count.
    #[inline(always)]
    pub fn same_step(&self, other: &Op) -> bool {
        use OpKind::*;
        let operands = match self.kind {
            Rmw | Wake | Park | Assign | Await => true,
            Transfer | TryTransfer => self.b == other.b,
            // A program in machine code does this itself, when its turn has come.
            Store if self.order == MemoryOrder::None => true,
            _ => self.a == other.a && self.b == other.b,
        };
        self.kind == other.kind && self.object == other.object && self.other == other.other && operands
    }

    /// Whether the value that it has seen must be the same when it is replayed. A plain access of a program in machine code may be to a whole
    /// structure, whose padding is left over from other calls. A value that matters decides a later step.
    #[inline]
    pub(crate) fn has_fixed_value(&self) -> bool {
        !(matches!(self.kind, OpKind::Load | OpKind::Store) && self.order == MemoryOrder::None)
    }

    /// Whether it writes its second object, too.
    pub(crate) fn writes_other(&self) -> bool {
        matches!(self.kind, OpKind::Wait | OpKind::Assign)
    }

    /// Whether the operation may be disabled: it waits for another thread in some states.
    #[inline(always)]
    pub fn may_block(&self) -> bool {
        self.kind.may_block()
    }

    /// Whether the operation may enable another thread (a *release* in the words of the bounded-search papers).
    /// A write can end an [`OpKind::Await`], so writes count.
    pub fn releases(&self) -> bool {
        use OpKind::*;
        !matches!(
            self.kind,
            Load | Fence
                | Lock
                | TryReadLock
                | ReadLock
                | Wake
                | Pass
                | Park
                | Start
                | Join
                | IsFinished
                | CountUp
                | CountRead
                | Yield
                | Choose
                | Await
                | Assume
                | AddSender
                | SendDone
                | SemWait
        )
    }

    /// Whether an executed `earlier` and a later `self` on the same object could ever be enabled in one state. Only
    /// pairs that certainly cannot say no; classic DPOR skips those (Flanagan and Godefroid 2005, section 3).
    pub fn may_be_coenabled(&self, earlier: &Op) -> bool {
        use OpKind::*;
        if matches!(self.kind, ReadLock | WriteLock) && self.a != 0 {
            return true;
        }
        let never = matches!(
            (earlier.kind, self.kind),
            (Unlock | Wait, Lock | Unlock)
                | (ReadUnlock | WriteUnlock, WriteLock | WriteUnlock)
                | (WriteUnlock, ReadLock)
                | (Lock, Unlock)
                | (WriteLock, WriteUnlock | ReadUnlock)
                | (Spawn, Start)
                | (End, Join)
                | (Arrive, Pass)
                | (Recv | TryRecv, SendDone)
        );
        !never && (self.kind != Wake || self.a != 0)
    }
}

/// What an executed operation did to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Mode {
    /// Nothing that another thread can see.
    Local,
    /// Looked at it. For an await `aux` is the word that was seen before.
    Read,
    /// Changed it; ordered with everything else on the object.
    Write,
    /// Took a read lock.
    ReadTaken,
    /// Gave a read lock back.
    ReadGiven,
    /// Did not get a read lock.
    ReadRefused,
    /// Did not get a write lock.
    WriteRefused,
    /// Began to wait on a condition variable.
    Waiting,
    /// Woke somebody.
    Notified,
    /// Found nobody to wake.
    NotifiedNobody,
    /// Was woken; `aux` is the [`Access::cause`] of the notification.
    WokenBy,
    /// Woke up with nobody having woken it.
    WokenAlone,
    /// Sent message `aux & 0xffff_ffff`; the upper half is the number, plus one, of the receive that made room.
    Sent,
    /// Received message `aux`.
    Received,
    /// Learned that message `aux` was taken.
    Delivered,
    /// Found no message number `aux`.
    FoundEmpty,
    /// Found no room.
    FoundFull,
    /// Found no message and no sender.
    FoundClosed,
    /// A sender came.
    SenderCame,
    /// A sender went.
    SenderGone,
    /// The receiver went.
    ReceiverGone,
    /// Found no receiver.
    SendRefused,
    /// Arrived at a barrier before the last one.
    ArrivedEarly,
    /// Arrived last, and so completed generation `aux`.
    ArrivedLast,
    /// Left a barrier after generation `aux`.
    Passed,
    /// Gave a token.
    TokenGiven,
    /// Took a token.
    TokenTaken,
    /// Went on without a token.
    TokenMissed,
    /// Counted up.
    CountedUp,
    /// Counted down, not to zero.
    CountedDown,
    /// Counted down to zero, and that matters.
    CountedOut,
}

/// What an executed operation did to one object, with the number that some modes carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// What it did.
    pub mode: Mode,
    /// A number whose meaning depends on the mode.
    pub aux: u64,
}

impl Access {
    /// Nothing another thread can see.
    pub const LOCAL: Access = Access { mode: Mode::Local, aux: 0 };

    /// An access without a number.
    #[inline]
    pub const fn new(mode: Mode) -> Access {
        Access { mode, aux: 0 }
    }

    /// The stable name of an event: its thread and its place among that thread's events.
    #[inline]
    pub const fn cause(thread: ThreadId, seq: u32) -> u64 {
        ((thread.0 as u64 + 1) << 32) | seq as u64
    }

    /// **The dependence relation**, for two accesses of one object by different threads: whether swapping them when
    /// they are next to each other could change a value, or whether one of them is enabled. `self` and `other` may be
    /// given in either order; `self_cause` and `other_cause` are the stable names of the two events.
    #[inline]
    pub fn conflicts(&self, self_cause: u64, other: &Access, other_cause: u64) -> bool {
        use Mode::*;
        match (self.mode, other.mode) {
            (Read, Read) | (Local, _) | (_, Local) => false,
            (Write, _) | (_, Write) => true,
            // Reader-writer locks: readers come and go freely among themselves.
            (ReadTaken | ReadGiven, ReadTaken | ReadGiven) => false,
            (ReadRefused | WriteRefused, ReadRefused | WriteRefused) => false,
            (ReadRefused, ReadTaken | ReadGiven) | (ReadTaken | ReadGiven, ReadRefused) => false,
            (WriteRefused, ReadTaken | ReadGiven) | (ReadTaken | ReadGiven, WriteRefused) => true,
            // Condition variables.
            (WokenBy, Notified) => self.aux == other_cause,
            (Notified, WokenBy) => other.aux == self_cause,
            (WokenBy, _) | (_, WokenBy) => false,
            (Waiting | WokenAlone, Waiting | WokenAlone) => false,
            (NotifiedNobody, NotifiedNobody) => false,
            // Channels.
            (Sent, Received) => {
                self.message() == other.message() || self.room_made_by() == Some(other.message())
            }
            (Received, Sent) => {
                other.message() == self.message() || other.room_made_by() == Some(self.message())
            }
            (Delivered, Received) | (Received, Delivered) => self.message() == other.message(),
            (Delivered, _) | (_, Delivered) => false,
            (FoundEmpty, Sent) => self.message() == other.message(),
            (Sent, FoundEmpty) => other.message() == self.message(),
            (SenderGone | SenderCame, FoundEmpty | FoundClosed) => true,
            (FoundEmpty | FoundClosed, SenderGone | SenderCame) => true,
            (SenderGone | SenderCame, _) | (_, SenderGone | SenderCame) => false,
            (FoundEmpty | FoundClosed, FoundEmpty | FoundClosed) => false,
            (FoundFull, FoundFull) | (SendRefused, SendRefused) => false,
            // Barriers: only who comes last matters.
            (ArrivedLast, Passed) | (Passed, ArrivedLast) => self.aux == other.aux,
            (ArrivedEarly, ArrivedEarly | Passed) | (Passed, ArrivedEarly | Passed) => false,
            // Tokens.
            (TokenGiven, TokenGiven) => false,
            // Counts.
            (CountedUp | CountedDown, CountedUp | CountedDown) => false,
            (CountedUp, CountedOut) | (CountedOut, CountedUp) => true,
            _ => true,
        }
    }

    /// Whether it is what it is only while the count of its object is high enough.
    #[inline]
    pub(crate) fn depends_on_count(&self) -> bool {
        matches!(self.mode, Mode::ArrivedEarly | Mode::CountedDown)
    }

    fn message(&self) -> u64 {
        self.aux & 0xffff_ffff
    }

    fn room_made_by(&self) -> Option<u64> {
        (self.aux >> 32).checked_sub(1)
    }

    /// Whether the access conflicts with every other access that can come before it on its object, so that a walk
    /// back over the object's history may stop at it.
    #[inline]
    pub fn is_total(&self) -> bool {
        matches!(self.mode, Mode::Write)
    }
}
