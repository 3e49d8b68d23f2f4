//! Hints. [`spin_loop`] tells the search that the thread waits for another one.

use explore::{MemoryOrder, OpKind};
use runtime::Place;

pub use std::hint::{assert_unchecked, black_box, select_unpredictable, unreachable_unchecked};

/// Says that the thread waits in a loop: others go first.
///
/// ```
/// use raddle::sync::{Arc, atomic::{AtomicBool, Ordering}};
///
/// raddle::check(|| {
///     let ready = Arc::new(AtomicBool::new(false));
///     let setter = raddle::thread::spawn({
///         let ready = ready.clone();
///         move || ready.store(true, Ordering::Release)
///     });
///     while !ready.load(Ordering::Acquire) {
///         raddle::hint::spin_loop();
///     }
///     setter.join().unwrap();
/// });
/// ```
#[inline(always)]
#[track_caller]
pub fn spin_loop() {
    runtime::local_step(OpKind::Yield, MemoryOrder::None, Place::caller());
}
