//! Reader-writer locks whose waiting writers hold up new readers, as std's do on Linux.
//!
//! A second read lock of one thread deadlocks there if a writer has come to wait between the two, and `try_read` fails while a
//! writer waits. The lock notes that a writer waits, so the first attempt of a writer is a step of its own, which every reader can
//! tell. That costs executions, and most programs cannot tell the difference.
//!
//! # When it matters
//!
//! Every execution of a lock that prefers readers is one of a lock that prefers writers: each writer just comes late. So the steps
//! are left out until one of two things is seen in a program that also has a writer:
//!
//! * A thread that holds a read lock announces an operation that may block, or yields. A deadlock needs such a thread: whoever is
//!   held up by a waiting writer is held up until all readers have gone, and a reader that never goes is blocked, or polls.
//! * A thread calls `try_read`.
//!
//! The part of an execution before the first of these is an execution of the lock that prefers readers, so it is seen there. Then the
//! search starts again, with the steps.

use crate::context;
use crate::execution::{Execution, Phase};
use crate::polling::Restart;
use explore::Op;

impl Execution {
    /// The running thread does something that depends on whether waiting writers hold up new readers.
    #[cold]
    fn tells_waiting_writers(&mut self) {
        self.modes.tells_waiting_writers = true;
        self.see_waiting_writers();
    }

    fn see_waiting_writers(&mut self) {
        let modes = &self.modes;
        if modes.has_writer && modes.tells_waiting_writers && !modes.writers_wait && self.restart.is_none() {
            self.restart = Some(Restart::WritersWait);
        }
    }

    /// The running thread announces an operation that may block, or yields.
    #[inline]
    pub(crate) fn may_wait_as_reader(&mut self) {
        if self.read_locks > 0 && self.threads[self.current.index()].seldom().read_locks > 0 {
            self.tells_waiting_writers();
        }
    }
}

/// The operand with which the running thread takes, tries and releases reader-writer locks: 0 while waiting writers hold up nobody.
pub fn rw_attempt() -> u64 {
    let ex = context::current();
    // SAFETY: a current execution is valid.
    if !ex.is_null() && unsafe { (*ex).modes.writers_wait } { Op::ARRIVES } else { 0 }
}

/// Says that the running thread is about to take a reader-writer lock for writing.
pub fn rw_writes() {
    with_running(|ex| {
        ex.modes.has_writer = true;
        ex.see_waiting_writers();
    });
}

/// Says that the running thread is about to try to take a reader-writer lock for reading.
pub fn rw_tries_to_read() {
    with_running(Execution::tells_waiting_writers);
}

/// Says that the running thread has taken a read lock (`true`) or released one.
pub fn rw_reads(taken: bool) {
    with_running(|ex| {
        ex.read_locks = if taken { ex.read_locks + 1 } else { ex.read_locks.saturating_sub(1) };
        let held = &mut ex.threads[ex.current.index()].seldom_mut().read_locks;
        *held = if taken { *held + 1 } else { held.saturating_sub(1) };
    });
}

fn with_running(f: impl FnOnce(&mut Execution)) {
    let ex = context::current();
    // SAFETY: a current execution is valid, and the borrow ends with the call, in which no thread is suspended.
    unsafe {
        if !ex.is_null() && (*ex).phase == Phase::Running {
            f(&mut *ex);
        }
    }
}
