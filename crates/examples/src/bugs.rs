//! Ten bugs, each beside its repair, one file each.
//!
//! In most of them threads also add to a counter when they are done. That is harmless, but has many orders, and a search that goes
//! deep first tries all of them before it comes back to where the bug is. In some, threads are busy with something of their own
//! before they come to the place of the bug, one longer than the other: a search that draws threads at random seldom gets two of
//! them there at the same time.

mod aba;
mod barrier;
mod double_checked;
mod lost_update;
mod lost_wakeup;
mod missed_signal;
mod order;
mod ticket_lock;
mod torn_pair;
mod upgrade;

pub(crate) use aba::aba;
pub(crate) use barrier::barrier;
pub(crate) use double_checked::double_checked;
pub(crate) use lost_update::lost_update;
pub(crate) use lost_wakeup::lost_wakeup;
pub(crate) use missed_signal::missed_signal;
pub(crate) use order::order;
pub(crate) use ticket_lock::ticket_lock;
pub(crate) use torn_pair::torn_pair;
pub(crate) use upgrade::upgrade;

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// What threads do when they are done.
struct Log(AtomicUsize);

impl Log {
    const fn new() -> Log {
        Log(AtomicUsize::new(0))
    }

    fn note(&self) {
        for _ in 0..2 {
            self.0.fetch_add(1, SeqCst);
        }
    }
}

/// Steps that have nothing to do with any other thread.
fn busy(steps: usize) {
    let own = AtomicUsize::new(0);
    for _ in 0..steps {
        own.fetch_add(1, SeqCst);
    }
}
