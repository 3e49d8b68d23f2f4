//! What operations do to objects: pure functions on one word of state for each object.
//!
//! Both sides use them: a front end to run the program, and the search to ask what an operation *would* do in a state
//! that it has not reached (whether a race can be turned round, and what the later event then becomes).
//!
//! | object | its word |
//! |---|---|
//! | atomic | the value |
//! | mutex | 0, or the owner's number plus one |
//! | reader-writer lock | readers in the low half, the writer's number plus one above, and who waits ([`RwWord`]) |
//! | condition variable | how many waiters nobody has notified yet |
//! | channel | [`Channel`] |
//! | barrier | arrivals of this generation in the low half, the generation in the high half |
//! | token | 0 or 1 |
//! | life of a thread | 0 unborn, 1 spawned, 2 started, 3 ended |
//! | counted object | the count |
//! | semaphore | its value |
//! | queue of bytes | how much can be read in the low half, how much can be written in the high half |

use crate::ids::ThreadId;
use crate::op::{Access, Mode, Op, OpKind};

/// The word of the life of a thread that has ended.
pub const FINISHED: u64 = 3;

/// What an operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The word afterwards.
    pub word: u64,
    /// What that was to the object.
    pub access: Access,
    /// The value the thread gets.
    pub value: u64,
    /// Whether it succeeded, for operations that can fail.
    pub ok: bool,
}

/// The word of a channel, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Channel {
    /// Messages sent so far.
    pub sent: u64,
    /// Messages taken so far.
    pub taken: u64,
    /// Living senders.
    pub senders: u64,
    /// On capacity 0: a receiver waits.
    pub ready: bool,
    /// The receiver is gone.
    pub closed: bool,
}

impl Channel {
    const COUNT: u64 = (1 << 20) - 1;
    const SENDERS: u64 = (1 << 20) - 1;

    /// From its word.
    pub fn unpack(w: u64) -> Channel {
        Channel {
            sent: w & Self::COUNT,
            taken: (w >> 20) & Self::COUNT,
            senders: (w >> 40) & Self::SENDERS,
            ready: w >> 62 & 1 == 1,
            closed: w >> 63 == 1,
        }
    }

    /// To its word.
    pub fn pack(self) -> u64 {
        (self.sent & Self::COUNT)
            | (self.taken & Self::COUNT) << 20
            | (self.senders & Self::SENDERS) << 40
            | (self.ready as u64) << 62
            | (self.closed as u64) << 63
    }

    fn room(&self, capacity: u64) -> bool {
        capacity == 0 || self.sent - self.taken < capacity
    }
}

/// The word of a reader-writer lock. A lock that prefers readers has a number of readers or a writer, and nothing else. A lock
/// whose waiting writers hold up new readers also notes who waits, as std's does on Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RwWord(pub u64);

impl RwWord {
    const READERS: u64 = 0xffff_ffff;
    const WRITER: u64 = 0xffff << 32;
    /// The bits from here on say whether a writer holds the lock or waits for it.
    pub const WRITER_FROM: u32 = 32;
    /// One more writer is between its first attempt and its success.
    const ONE_WRITER: u64 = 1 << 48;
    const WRITERS: u64 = 0x3fff << 48;
    /// Readers wait: no reader is let in.
    const READERS_WAIT: u64 = 1 << 62;
    /// Writers wait: no reader is let in.
    const WRITERS_WAIT: u64 = 1 << 63;

    /// How many readers hold it.
    pub fn readers(self) -> u64 {
        self.0 & Self::READERS
    }

    /// The number plus one of the writer that holds it, or 0.
    pub fn writer(self) -> u64 {
        (self.0 & Self::WRITER) >> 32
    }

    fn is_free(self) -> bool {
        self.0 & (Self::READERS | Self::WRITER) == 0
    }

    fn has(self, bits: u64) -> bool {
        self.0 & bits != 0
    }

    /// Whether a reader that has not waited gets in.
    fn lets_reader_in(self) -> bool {
        !self.has(Self::WRITER | Self::READERS_WAIT | Self::WRITERS_WAIT)
    }

    /// Whether a reader gets in that has waited and was woken: a waiting writer does not hold it up if others read.
    fn lets_woken_reader_in(self) -> bool {
        self.readers() > 0 && !self.has(Self::WRITER | Self::READERS_WAIT)
    }

    /// The word of a lock whose last holder has gone: one writer is woken, or all readers.
    fn released(self) -> u64 {
        let bits = if self.has(Self::WRITERS_WAIT) { Self::WRITERS_WAIT } else { Self::READERS_WAIT };
        self.0 & !bits
    }

    /// The word after `owner`, which holds the lock for writing, holds it for reading instead: readers that wait are woken.
    pub fn downgraded(self) -> u64 {
        (self.0 & !(Self::WRITER | Self::READERS_WAIT)) + 1
    }
}

/// An attempt to take a reader-writer lock whose waiting writers hold up new readers. All such steps are ordered.
fn apply_arrival(op: &Op, word: u64, owner: u64) -> Applied {
    let w = RwWord(word);
    let has_waited = op.a == Op::HAS_WAITED;
    let (after, ok) = match op.kind {
        OpKind::ReadLock if w.lets_reader_in() || has_waited && w.lets_woken_reader_in() => (word + 1, true),
        OpKind::ReadLock => (word | RwWord::READERS_WAIT, false),
        _ if w.is_free() => {
            let counted = has_waited && word & RwWord::WRITERS != 0;
            let rest = if counted { word - RwWord::ONE_WRITER } else { word };
            // Only one of the writers was woken: the others still wait.
            let others = has_waited && rest & RwWord::WRITERS != 0;
            let note = if others { RwWord::WRITERS_WAIT } else { 0 };
            (rest | owner << 32 | note, true)
        }
        _ => {
            let counted = if has_waited { word } else { word + RwWord::ONE_WRITER };
            (counted | RwWord::WRITERS_WAIT, false)
        }
    };
    let mode = if after == word { Mode::Read } else { Mode::Write };
    Applied { word: after, access: Access::new(mode), value: 0, ok }
}

/// Whether `op` of `thread` can run when its object's word is `word`. An [`OpKind::Await`] is decided by the front end,
/// which knows the values that were read.
#[inline]
pub fn enabled(op: &Op, word: u64, _thread: ThreadId) -> bool {
    use OpKind::*;
    match op.kind {
        Lock => word == 0,
        ReadLock | WriteLock if op.a == Op::ARRIVES => true,
        ReadLock if op.a == Op::HAS_WAITED => !RwWord(word).has(RwWord::READERS_WAIT),
        WriteLock if op.a == Op::HAS_WAITED => {
            RwWord(word).is_free() || !RwWord(word).has(RwWord::WRITERS_WAIT)
        }
        ReadLock => word >> 32 == 0,
        WriteLock => word == 0,
        Wake => op.b != 0 || op.a != 0,
        Park => word != 0 || op.a != 0,
        Send => {
            let c = Channel::unpack(word);
            c.closed || c.room(op.a)
        }
        SendDone => {
            let c = Channel::unpack(word);
            c.closed || c.taken > op.b
        }
        Recv => {
            let c = Channel::unpack(word);
            c.sent > c.taken || c.senders == 0
        }
        Pass => word >> 32 != op.a,
        Start => word == 1,
        Join => word == FINISHED,
        SemWait => word > 0,
        Transfer => meets(word, op.b),
        Await | Assume => false,
        _ => true,
    }
}

/// Whether both halves of the word of a queue are at least those of `least`.
#[inline]
pub fn meets(word: u64, least: u64) -> bool {
    word as u32 >= least as u32 && word >> 32 >= least >> 32
}

/// Runs `op`: what becomes of the word, what the thread sees, and what kind of access that was. `option` is the chosen
/// alternative where an operation has several.
///
/// An operation that is not enabled must not be applied.
pub fn apply(op: &Op, word: u64, thread: ThreadId, option: u32) -> Applied {
    apply_here(op, word, thread, option)
}

/// The same as [`apply`], for where the kind is known to the compiler.
#[inline(always)]
pub fn apply_here(op: &Op, word: u64, thread: ThreadId, option: u32) -> Applied {
    use OpKind::*;
    let owner = thread.0 as u64 + 1;
    let done = |word, mode, value| Applied { word, access: Access::new(mode), value, ok: true };
    let failed = |mode, value| Applied { word, access: Access::new(mode), value, ok: false };
    match op.kind {
        Load => done(word, Mode::Read, word),
        Store => done(op.a, Mode::Write, op.a),
        Rmw => done(op.a, Mode::Write, word),
        CompareExchange if word == op.a => done(op.b, Mode::Write, word),
        CompareExchangeWeak if word == op.a && option == 0 => done(op.b, Mode::Write, word),
        CompareExchange | CompareExchangeWeak => failed(Mode::Read, word),
        Lock => done(owner, Mode::Write, 0),
        SemWait => done(word - 1, Mode::Write, word),
        SemTryWait if word > 0 => done(word - 1, Mode::Write, word),
        SemTryWait => failed(Mode::Read, word),
        SemPost => done(word + 1, Mode::Write, word),
        Transfer => done(op.a, Mode::Write, word),
        TryTransfer if meets(word, op.b) => done(op.a, Mode::Write, word),
        TryTransfer => failed(Mode::Read, word),
        TryLock if word == 0 => done(owner, Mode::Write, 0),
        TryLock => failed(Mode::Read, word),
        Unlock => done(0, Mode::Write, 0),
        ReadLock | WriteLock if op.a != 0 => apply_arrival(op, word, owner),
        TryReadLock if op.a != 0 && RwWord(word).lets_reader_in() => done(word + 1, Mode::Write, 0),
        TryReadLock if op.a != 0 => failed(Mode::Read, word),
        ReadUnlock if op.a != 0 => {
            let left = RwWord(if RwWord(word).readers() > 0 { word - 1 } else { word });
            done(if left.is_free() { left.released() } else { left.0 }, Mode::Write, 0)
        }
        ReadLock => done(word + 1, Mode::ReadTaken, 0),
        TryReadLock if word >> 32 == 0 => done(word + 1, Mode::ReadTaken, 0),
        TryReadLock => failed(Mode::ReadRefused, word),
        ReadUnlock => done(word.saturating_sub(1), Mode::ReadGiven, 0),
        WriteLock => done(owner << 32, Mode::Write, 0),
        TryWriteLock if RwWord(word).is_free() => done(word | owner << 32, Mode::Write, 0),
        TryWriteLock => failed(Mode::WriteRefused, word),
        WriteUnlock => done(RwWord(word & !RwWord::WRITER).released(), Mode::Write, 0),
        Wait => done(word + 1, Mode::Waiting, 0),
        Wake if op.b != 0 => {
            Applied { word, access: Access { mode: Mode::WokenBy, aux: op.b }, value: op.b, ok: true }
        }
        Wake => Applied { word: word.saturating_sub(1), ..failed(Mode::WokenAlone, 0) },
        NotifyOne if word > 0 => done(word - 1, Mode::Notified, option as u64),
        NotifyAll if word > 0 => done(0, Mode::Notified, word),
        NotifyOne | NotifyAll => failed(Mode::NotifiedNobody, 0),
        Send | TrySend | SendDone | RecvReady | Recv | TryRecv | AddSender | DropSender | DropReceiver => {
            apply_channel(op, word)
        }
        Arrive => {
            let (arrived, generation) = ((word & 0xffff_ffff) + 1, word >> 32);
            if arrived >= op.a {
                let last = Access { mode: Mode::ArrivedLast, aux: generation };
                Applied { access: last, ..done((generation + 1) << 32, Mode::ArrivedLast, generation) }
            } else {
                Applied { ok: false, ..done(generation << 32 | arrived, Mode::ArrivedEarly, generation) }
            }
        }
        Pass => Applied { access: Access { mode: Mode::Passed, aux: op.a }, ..done(word, Mode::Passed, 0) },
        Park if word != 0 => done(0, Mode::TokenTaken, 0),
        Park => failed(Mode::TokenMissed, 0),
        Unpark => done(1, Mode::TokenGiven, 0),
        Spawn => done(1, Mode::Write, op.a),
        Start => done(2, Mode::Read, 0),
        End => done(FINISHED, Mode::Write, 0),
        Join => done(word, Mode::Read, 0),
        IsFinished => done(word, Mode::Read, (word == FINISHED) as u64),
        CountUp => done(word + 1, Mode::CountedUp, word + 1),
        CountDown => {
            let left = word.saturating_sub(1);
            let mode = if left == 0 && op.a == 1 { Mode::CountedOut } else { Mode::CountedDown };
            // A count of 0 is counted down only by mistake.
            Applied { ok: word > 0, ..done(left, mode, left) }
        }
        CountRead => done(word, Mode::Read, word),
        Choose => done(word, Mode::Local, option as u64),
        Await | Assign => done(word, Mode::Read, word),
        Yield | Fence | Assume => done(word, Mode::Local, 0),
    }
}

fn apply_channel(op: &Op, word: u64) -> Applied {
    use OpKind::*;
    let mut c = Channel::unpack(word);
    let mut ok = true;
    let mut value = 0;
    let access = match op.kind {
        Send | TrySend if c.closed => {
            ok = false;
            Access::new(Mode::SendRefused)
        }
        TrySend if (op.a == 0 && (!c.ready || c.sent > c.taken)) || !c.room(op.a) => {
            ok = false;
            value = 1;
            Access::new(Mode::FoundFull)
        }
        Send | TrySend => {
            let message = c.sent;
            let made_room =
                if op.a == 0 || op.a == Op::UNBOUNDED { 0 } else { (message + 1).saturating_sub(op.a) };
            c.sent += 1;
            value = message;
            if op.a == 0 && op.kind == TrySend {
                // The rendezvous takes place in this step: the receiver that waited has the message.
                Access::new(Mode::Write)
            } else {
                Access { mode: Mode::Sent, aux: message | made_room << 32 }
            }
        }
        SendDone => {
            ok = c.taken > op.b;
            if ok { Access { mode: Mode::Delivered, aux: op.b } } else { Access::new(Mode::SendRefused) }
        }
        RecvReady => {
            c.ready = true;
            Access::new(Mode::Write)
        }
        Recv | TryRecv if c.sent > c.taken => {
            value = c.taken;
            c.taken += 1;
            c.ready = false;
            Access { mode: Mode::Received, aux: value }
        }
        Recv | TryRecv if c.senders == 0 => {
            ok = false;
            value = 1;
            Access::new(Mode::FoundClosed)
        }
        Recv | TryRecv => {
            ok = false;
            c.ready = false;
            Access { mode: Mode::FoundEmpty, aux: c.taken }
        }
        AddSender => {
            c.senders += 1;
            Access::new(Mode::SenderCame)
        }
        DropSender => {
            c.senders = c.senders.saturating_sub(1);
            Access::new(Mode::SenderGone)
        }
        _ => {
            c.closed = true;
            Access::new(Mode::ReceiverGone)
        }
    };
    Applied { word: c.pack(), access, value, ok }
}

/// What the operation does to its second object: a wait gives its mutex back, an assignment writes what it read.
pub fn apply_other(op: &Op, word: u64) -> u64 {
    match op.kind {
        OpKind::Wait => 0,
        OpKind::Assign => op.a,
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ObjectId;

    const T: ThreadId = ThreadId(0);

    fn op(kind: OpKind) -> Op {
        Op::new(kind, ObjectId(0))
    }

    #[test]
    fn a_failed_compare_exchange_is_a_read() {
        let cas = op(OpKind::CompareExchange).with(1, 2);
        assert_eq!(apply(&cas, 0, T, 0).access.mode, Mode::Read);
        let won = apply(&cas, 1, T, 0);
        assert_eq!((won.access.mode, won.word, won.ok), (Mode::Write, 2, true));
    }

    #[test]
    fn a_bounded_channel_blocks_when_full_and_the_receive_that_makes_room_conflicts() {
        let send = op(OpKind::Send).with(1, 0);
        let one_sender = Channel { senders: 1, ..Channel::default() }.pack();
        let first = apply(&send, one_sender, T, 0);
        assert!(!enabled(&send, first.word, T));
        let taken = apply(&op(OpKind::Recv), first.word, T, 0);
        assert!(enabled(&send, taken.word, T));
        let second = apply(&send, taken.word, T, 0);
        assert!(second.access.conflicts(1, &taken.access, 2));
        assert!(first.access.conflicts(1, &taken.access, 2));
    }

    #[test]
    fn the_unbounded_channel_lets_a_receive_commute_with_a_later_send() {
        let send = op(OpKind::Send).with(Op::UNBOUNDED, 0);
        let w = Channel { senders: 1, ..Channel::default() }.pack();
        let a = apply(&send, w, T, 0);
        let b = apply(&send, a.word, T, 0);
        let r = apply(&op(OpKind::Recv), b.word, T, 0);
        assert!(r.access.conflicts(1, &a.access, 2));
        assert!(!r.access.conflicts(1, &b.access, 2));
    }

    #[test]
    fn a_transfer_waits_for_room_or_for_bytes() {
        let read = op(OpKind::Transfer).with(4 << 32, 1);
        let write = op(OpKind::Transfer).with(2 << 32 | 2, 2 << 32);
        let attempt = op(OpKind::TryTransfer).with(0, 1);
        let (empty, full) = (4 << 32, 1 << 32 | 3);
        assert!(!enabled(&read, empty, T) && enabled(&read, full, T));
        assert!(enabled(&write, empty, T) && !enabled(&write, full, T));
        let failed = apply(&attempt, empty, T, 0);
        assert_eq!((failed.access.mode, failed.word, failed.ok), (Mode::Read, empty, false));
        assert_eq!(apply(&read, full, T, 0).access.mode, Mode::Write);
    }

    #[test]
    fn only_the_last_to_arrive_conflicts_at_a_barrier() {
        let arrive = op(OpKind::Arrive).with(3, 0);
        let a = apply(&arrive, 0, T, 0);
        let b = apply(&arrive, a.word, T, 0);
        let c = apply(&arrive, b.word, T, 0);
        assert!(!a.access.conflicts(1, &b.access, 2));
        assert!(c.access.conflicts(1, &a.access, 2));
        assert!(enabled(&op(OpKind::Pass).with(0, 0), c.word, T));
    }
}
