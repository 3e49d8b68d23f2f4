//! Upgrade deadlock: a reader-writer lock whose readers can become writers.

use crate::Variant;
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

#[derive(Default)]
struct State {
    readers: usize,
    writing: bool,
    upgrading: bool,
}

struct Lock {
    state: Mutex<State>,
    changed: Condvar,
}

impl Lock {
    fn read(&self) {
        let state = self.state.lock().unwrap();
        let mut state = self.changed.wait_while(state, |s| s.writing).unwrap();
        state.readers += 1;
    }

    /// From a reader to a writer.
    fn upgrade(&self, variant: Variant) {
        let mut state = self.state.lock().unwrap();
        if variant == Variant::Correct && state.upgrading {
            // Only one reader can wait for the others to leave; the second one leaves and queues.
            state.readers -= 1;
            self.changed.notify_all();
            state = self.changed.wait_while(state, |s| s.writing || s.readers > 0).unwrap();
        } else {
            // The bug: two come here, and each waits for the other to stop reading.
            state.upgrading = true;
            state = self.changed.wait_while(state, |s| s.readers > 1).unwrap();
            state.upgrading = false;
            state.readers = 0;
        }
        state.writing = true;
    }

    fn done_reading(&self) {
        self.state.lock().unwrap().readers -= 1;
        self.changed.notify_all();
    }

    fn done_writing(&self) {
        self.state.lock().unwrap().writing = false;
        self.changed.notify_all();
    }
}

/// The first thread that finds the value missing makes it.
pub(crate) fn upgrade(threads: usize, variant: Variant) {
    let lock = Lock { state: Mutex::new(State::default()), changed: Condvar::new() };
    let made = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                lock.read();
                // Not a step: the lock protects it.
                if made.load(std::sync::atomic::Ordering::Relaxed) {
                    lock.done_reading();
                } else {
                    lock.upgrade(variant);
                    made.store(true, std::sync::atomic::Ordering::Relaxed);
                    lock.done_writing();
                }
            });
        }
    });
}
