//! Broken barrier: one that is used again.

use super::Log;
use crate::Variant;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

const ROUNDS: usize = 2;

struct Barrier {
    arrived: AtomicUsize,
    round: Mutex<usize>,
    changed: Condvar,
    threads: usize,
}

impl Barrier {
    fn wait(&self, round: usize, variant: Variant) {
        if self.arrived.fetch_add(1, SeqCst) + 1 != self.threads {
            let now = self.round.lock().unwrap();
            drop(self.changed.wait_while(now, |now| *now == round).unwrap());
            return;
        }
        if variant == Variant::Correct {
            self.arrived.store(0, SeqCst);
        }
        *self.round.lock().unwrap() += 1;
        self.changed.notify_all();
        // The bug: whoever has arrived for the next round by now is forgotten.
        if variant == Variant::Buggy {
            self.arrived.store(0, SeqCst);
        }
    }
}

pub(crate) fn barrier(threads: usize, variant: Variant) {
    let barrier =
        Barrier { arrived: AtomicUsize::new(0), round: Mutex::new(0), changed: Condvar::new(), threads };
    let log = Log::new();
    thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                for round in 0..ROUNDS {
                    barrier.wait(round, variant);
                }
                log.note();
            });
        }
    });
}
