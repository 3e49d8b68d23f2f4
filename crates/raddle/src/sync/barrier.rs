//! Waiting for each other.

use crate::object::{Live, Step};
use explore::OpKind;
use runtime::Class;
use runtime::Place;
use std::fmt;
use std::panic::RefUnwindSafe;

/// std's `Barrier`: the last of `n` threads to arrive is the leader.
///
/// ```
/// use raddle::sync::{Arc, Barrier};
///
/// raddle::check(|| {
///     let barrier = Arc::new(Barrier::new(2));
///     let other = raddle::thread::spawn({
///         let barrier = barrier.clone();
///         move || barrier.wait().is_leader()
///     });
///     let here = barrier.wait().is_leader();
///     assert_ne!(here, other.join().unwrap());
/// });
/// ```
pub struct Barrier {
    handle: Live,
    n: usize,
}

impl RefUnwindSafe for Barrier {}

/// Whether this thread was the last to arrive.
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// Makes a barrier for `n` threads; 0 counts as 1.
    #[inline]
    #[must_use]
    pub const fn new(n: usize) -> Barrier {
        Barrier { handle: Live::new(), n }
    }

    /// Waits until `n` threads have come here.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let place = Place::caller();
        let step = |kind, a| Step::new(kind, &self.handle, Class::Barrier, place).operands(a, 0).run();
        let arrived = step(OpKind::Arrive, self.n as u64);
        if !arrived.ok {
            step(OpKind::Pass, arrived.value);
        }
        BarrierWaitResult(arrived.ok)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl BarrierWaitResult {
    /// Whether it was. Exactly one of the threads is told so.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}
