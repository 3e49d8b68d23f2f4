//! Missed signal: a buffer for one item, and one condition for all who wait.

use super::Log;
use crate::Variant;
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

struct Buffer {
    full: Mutex<bool>,
    changed: Condvar,
    variant: Variant,
}

impl Buffer {
    /// Waits until the buffer is as wanted, and turns it round.
    fn turn(&self, wanted: bool) {
        let full = self.full.lock().unwrap();
        let mut full = self.changed.wait_while(full, |f| *f != wanted).unwrap();
        *full = !wanted;
        drop(full);
        match self.variant {
            Variant::Correct => self.changed.notify_all(),
            // The bug: a consumer can wake a consumer, which finds nothing, while the producer sleeps on.
            Variant::Buggy => self.changed.notify_one(),
        }
    }
}

pub(crate) fn missed_signal(consumers: usize, variant: Variant) {
    let (buffer, log) = (Buffer { full: Mutex::new(false), changed: Condvar::new(), variant }, Log::new());
    thread::scope(|s| {
        s.spawn(|| {
            for _ in 0..consumers {
                buffer.turn(false);
            }
        });
        for _ in 0..consumers {
            s.spawn(|| {
                buffer.turn(true);
                log.note();
            });
        }
    });
}
