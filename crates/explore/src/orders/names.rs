//! Names that only a front end knows.

use crate::ids::{ObjectId, Site};
use std::fmt;

/// The names of places and of objects, for priorities that go by them (`method=NAME`, `variable=NAME`).
///
/// The Rust front end gives a place as `file:line:column` of the call (from `#[track_caller]`), and an object as
/// reports call it with the place where it was first used: `atomic #2 at src/queue.rs:31:9`.
pub trait Names: fmt::Debug + Send + Sync {
    /// The text of a place. It must be the same in all executions.
    fn site(&self, site: Site) -> Option<String>;

    /// What an object of the execution at hand is called.
    fn object(&self, object: ObjectId) -> Option<String>;
}
