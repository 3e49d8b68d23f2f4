//! Order violation: threads that use what is not there yet.

use super::{Log, busy};
use crate::Variant;
use raddle::sync::OnceLock;
use raddle::thread;

pub(crate) fn order(workers: usize, variant: Variant) {
    let (settings, log) = (OnceLock::new(), Log::new());
    thread::scope(|s| {
        if variant == Variant::Correct {
            settings.set(7).unwrap();
        }
        for _ in 0..workers {
            s.spawn(|| {
                busy(8);
                let _ = *settings.get().expect("used before it was set");
                log.note();
            });
        }
        // The bug: the threads are running already.
        if variant == Variant::Buggy {
            settings.set(7).unwrap();
        }
    });
}
