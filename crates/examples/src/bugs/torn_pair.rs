//! Torn pair: two numbers that change together.

use super::{Log, busy};
use crate::Variant;
use raddle::sync::Mutex;
use raddle::thread;

pub(crate) fn torn_pair(readers: usize, variant: Variant) {
    let (pair, log) = (Mutex::new((0, 0)), Log::new());
    thread::scope(|s| {
        s.spawn(|| match variant {
            Variant::Correct => {
                let mut pair = pair.lock().unwrap();
                pair.0 += 1;
                pair.1 += 1;
            }
            // The bug: each change is protected, the pair is not.
            Variant::Buggy => {
                pair.lock().unwrap().0 += 1;
                pair.lock().unwrap().1 += 1;
            }
        });
        for reader in 1..=readers {
            let (pair, log) = (&pair, &log);
            s.spawn(move || {
                busy(4 * reader);
                let (left, right) = *pair.lock().unwrap();
                assert_eq!(left, right, "the pair is torn");
                log.note();
            });
        }
    });
}
