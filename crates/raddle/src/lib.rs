//! Checks concurrent Rust code under every schedule that can matter.
//!
//! A test replaces `std::sync`, `std::thread`, `std::cell`, `std::hint` and `std::time` by the modules of the same names here, and
//! runs its body under [`check`]. The items have std's own names and signatures; constructors are `const`, so statics
//! work, and every execution finds them as new.
//!
//! ```
//! use raddle::sync::atomic::{AtomicU32, Ordering};
//! use raddle::{sync::Arc, thread};
//!
//! raddle::check(|| {
//!     let n = Arc::new(AtomicU32::new(0));
//!     let other = thread::spawn({
//!         let n = n.clone();
//!         move || n.fetch_add(1, Ordering::SeqCst)
//!     });
//!     n.fetch_add(1, Ordering::SeqCst);
//!     other.join().unwrap();
//!     assert_eq!(n.load(Ordering::SeqCst), 2);
//! });
//! ```
//!
//! Memory that comes from [`alloc`] and [`boxed`] is checked for use after free and leaks, and its addresses come back.
//!
//! This crate decides nothing about schedules: its types announce steps to the runtime.

pub mod alloc;
pub mod boxed;
pub mod cell;
mod compare;
mod config;
pub mod hint;
mod nondet;
mod object;
mod spill;
pub mod sync;
pub mod thread;
pub mod time;

pub use compare::render_comparison;
pub use config::{Config, check, to_json};
pub use explore::{BadPlan, Compared, Comparison, Coverage, Plan};
pub use explore::{Caveat, CaveatKind, Failure, FailureKind, Report, Stats, Stop, StopReason, Verdict};
pub use nondet::{Nondet, any, assume, choose};
#[doc(hidden)]
pub use runtime::Rule as LoopRule;
