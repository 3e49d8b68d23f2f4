//! The generated programs over raddle's types.

use raddle::boxed::Box as Block;
use raddle::{sync, thread};

/// A variable that is not atomic.
pub(crate) struct Var(raddle::cell::UnsafeCell<u64>);

// SAFETY: every access is checked for data races.
unsafe impl Sync for Var {}

impl Var {
    fn new(value: u64) -> Var {
        Var(raddle::cell::UnsafeCell::new(value))
    }
    fn read(&self) -> u64 {
        // SAFETY: the pointer is good during the call.
        self.0.with(|p| unsafe { *p })
    }
    fn write(&self, value: u64) {
        // SAFETY: as above.
        self.0.with_mut(|p| unsafe { *p = value });
    }
}

fn rest(yields: bool) {
    if yields {
        thread::yield_now();
    }
}

include!("rust_run.rs");
