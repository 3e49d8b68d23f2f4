//! Missed signal: a queue whose owner wakes a consumer only if somebody waits.

use super::{Log, busy};
use crate::Variant;
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

struct State {
    items: usize,
    waiting: usize,
}

struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    variant: Variant,
}

impl Queue {
    fn put(&self) {
        let mut state = self.state.lock().unwrap();
        state.items += 1;
        let somebody = state.waiting > 0;
        if self.variant == Variant::Buggy {
            // The bug: whoever waits is taken to be one, and to be on its way.
            state.waiting = 0;
        }
        drop(state);
        if somebody {
            self.changed.notify_one();
        }
    }

    fn take(&self) {
        let mut state = self.state.lock().unwrap();
        while state.items == 0 {
            state.waiting += 1;
            state = self.changed.wait(state).unwrap();
            state.waiting = state.waiting.saturating_sub(1);
        }
        state.items -= 1;
    }
}

/// Two consumers must wait at once, and main must be kept from putting anything until they do.
pub(crate) fn missed_signal(consumers: usize, variant: Variant) {
    let state = Mutex::new(State { items: 0, waiting: 0 });
    let (queue, log) = (Queue { state, changed: Condvar::new(), variant }, Log::new());
    thread::scope(|s| {
        for _ in 0..consumers {
            s.spawn(|| {
                busy(8);
                queue.take();
                log.note();
            });
        }
        (0..consumers).for_each(|_| queue.put());
    });
}
