//! The reductions, one file each.

mod block_sleep;
pub(crate) mod bounded;
pub(crate) mod bpor;
pub(crate) mod dpor;
pub(crate) mod dpor_per_thread;
pub(crate) mod epor;
pub(crate) mod hb_cache;
pub(crate) mod lazy;
pub(crate) mod least;
pub(crate) mod nidhugg;
pub(crate) mod none;
pub(crate) mod optimal;
pub(crate) mod pairwise;
mod postponed;
pub(crate) mod sleep;
pub(crate) mod source;
mod wakeup;
