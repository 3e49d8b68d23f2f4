//! Ticket overflow: a ticket lock whose tickets have too few digits.

use crate::Variant;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::{hint, thread};

struct TicketLock {
    next: AtomicUsize,
    serving: AtomicUsize,
    /// How many different tickets there are.
    tickets: usize,
}

impl TicketLock {
    fn lock(&self) {
        let mine = self.next.fetch_add(1, SeqCst) % self.tickets;
        while self.serving.load(SeqCst) % self.tickets != mine {
            hint::spin_loop();
        }
    }

    fn unlock(&self) {
        self.serving.fetch_add(1, SeqCst);
    }
}

/// One more thread than `size`.
pub(crate) fn ticket_lock(size: usize, variant: Variant) {
    let threads = size + 1;
    // The bug: when all threads want the lock at once, the last one has the ticket of the first.
    let tickets = if variant == Variant::Correct { threads } else { size };
    let lock = TicketLock { next: AtomicUsize::new(0), serving: AtomicUsize::new(0), tickets };
    let inside = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                lock.lock();
                assert_eq!(inside.fetch_add(1, SeqCst), 0, "two threads hold the lock");
                inside.fetch_sub(1, SeqCst);
                lock.unlock();
            });
        }
    });
}
