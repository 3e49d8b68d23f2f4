//! Lost wake-up: workers wait until main says go.

use super::{Log, busy};
use crate::Variant;
use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

pub(crate) fn lost_wakeup(workers: usize, variant: Variant) {
    let (go, lock, changed, log) = (AtomicBool::new(false), Mutex::new(()), Condvar::new(), Log::new());
    thread::scope(|s| {
        for _ in 0..workers {
            s.spawn(|| {
                match variant {
                    Variant::Correct => {
                        let mut guard = lock.lock().unwrap();
                        while !go.load(SeqCst) {
                            guard = changed.wait(guard).unwrap();
                        }
                    }
                    // The bug: main can say go between the look and the wait, and does not say it again.
                    Variant::Buggy => {
                        if !go.load(SeqCst) {
                            let guard = lock.lock().unwrap();
                            drop(changed.wait(guard).unwrap());
                        }
                    }
                }
                log.note();
            });
        }
        busy(8);
        let guard = (variant == Variant::Correct).then(|| lock.lock().unwrap());
        go.store(true, SeqCst);
        drop(guard);
        changed.notify_all();
    });
}
