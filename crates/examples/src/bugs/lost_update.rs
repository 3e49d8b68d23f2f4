//! Lost update: a queue for many producers.

use super::{Log, busy};
use crate::Variant;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

const SLOTS: usize = 16;

pub(crate) fn lost_update(producers: usize, variant: Variant) {
    let slots: [_; SLOTS] = std::array::from_fn(|_| AtomicUsize::new(0));
    let (end, log) = (AtomicUsize::new(0), Log::new());
    thread::scope(|s| {
        for item in 1..=producers {
            let (slots, end, log) = (&slots, &end, &log);
            s.spawn(move || {
                busy(4 * item);
                let slot = if variant == Variant::Buggy && item == 1 {
                    // The bug: a second way in that was not changed with the first. What others add in between is lost.
                    let slot = end.load(SeqCst);
                    end.store(slot + 1, SeqCst);
                    slot
                } else {
                    end.fetch_add(1, SeqCst)
                };
                slots[slot].store(item, SeqCst);
                log.note();
            });
        }
    });
    assert_eq!(end.into_inner(), producers, "an item was lost");
}
