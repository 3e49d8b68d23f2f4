//! Ticket overflow: a ticket lock whose tickets have too few digits.

use super::busy;
use crate::Variant;
use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::{hint, thread};

struct TicketLock {
    next: AtomicUsize,
    serving: AtomicUsize,
    /// How many different tickets there are.
    tickets: usize,
    value: UnsafeCell<usize>,
}

// SAFETY: threads touch the value only between taking the lock and giving it back. Where the lock fails to keep them apart (the bug
// of this program), raddle still runs one thread at a time, and reports the race.
unsafe impl Sync for TicketLock {}

impl TicketLock {
    fn add(&self) {
        let mine = self.next.fetch_add(1, SeqCst) % self.tickets;
        while self.serving.load(SeqCst) % self.tickets != mine {
            hint::spin_loop();
        }
        // SAFETY: one thread runs at a time, and the pointer does not leave the closure.
        self.value.with_mut(|value| unsafe { *value += 1 });
        self.serving.fetch_add(1, SeqCst);
    }
}

/// One more thread than `size`.
pub(crate) fn ticket_lock(size: usize, variant: Variant) {
    let threads = size + 1;
    // The bug: when all threads want the lock at once, the last one has the ticket of the first.
    let tickets = if variant == Variant::Correct { threads } else { size };
    let lock = TicketLock {
        next: AtomicUsize::new(0),
        serving: AtomicUsize::new(0),
        tickets,
        value: UnsafeCell::new(0),
    };
    thread::scope(|s| {
        for thread in 0..threads {
            let lock = &lock;
            s.spawn(move || {
                busy(2 * thread);
                lock.add();
            });
        }
    });
    assert_eq!(lock.value.into_inner(), threads);
}
