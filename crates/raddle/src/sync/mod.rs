//! Locks, conditions, once-only values, barriers, channels, atomics and counted references, with std's names and signatures.
//!
//! Blocking is what the search sees: a thread that waits for ever is reported as a deadlock, with who waits for what.

mod arc;
pub mod atomic;
mod barrier;
mod condvar;
mod lazy_lock;
mod mirror;
pub mod mpsc;
mod mutex;
mod once;
mod once_lock;
mod pointer;
mod poison;
mod raw;
mod rwlock;

pub use arc::{Arc, Weak};
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
#[expect(deprecated, reason = "std still has it")]
pub use once::ONCE_INIT;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
