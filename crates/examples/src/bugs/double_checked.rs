//! Double-checked locking: a value is made by whoever needs it first.

use super::{Log, busy};
use crate::Variant;
use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::thread;

pub(crate) fn double_checked(users: usize, variant: Variant) {
    let (ready, value, lock, log) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(()), Log::new());
    let get = || {
        if !ready.load(SeqCst) {
            let _guard = lock.lock().unwrap();
            if !ready.load(SeqCst) {
                match variant {
                    Variant::Correct => {
                        value.store(42, SeqCst);
                        ready.store(true, SeqCst);
                    }
                    // The bug: who comes now takes the fast path and finds nothing.
                    Variant::Buggy => {
                        ready.store(true, SeqCst);
                        value.store(42, SeqCst);
                    }
                }
            }
        }
        value.load(SeqCst)
    };
    thread::scope(|s| {
        for user in 0..users {
            let (get, log) = (&get, &log);
            s.spawn(move || {
                busy(4 * user);
                assert_eq!(get(), 42, "used before it was made");
                log.note();
            });
        }
    });
}
