//! The search behind raddle.
//!
//! This crate knows programs only as threads that announce operations. It holds the operations and their dependence,
//! vector clocks and traces, one file for each reduction, schedules as values, and the reports. It uses no `unsafe`, does
//! no I/O, and does not know which front end drives it: see [`Explorer`] for the contract.

#![forbid(unsafe_code)]

mod algorithms;
mod bounds;
mod budget;
mod caveats;
mod comparison;
mod coverage;
mod estimate;
mod explorer;
mod follow;
mod footprint;
mod ids;
mod least_preemptions;
mod op;
mod orders;
mod outcome;
mod plan;
mod plan_text;
mod reductions;
mod replay;
mod schedule;
mod search;
pub mod semantics;
mod trace;

pub use algorithms::{Algorithm, UnknownAlgorithm, algorithm, algorithms};
#[doc(hidden)]
pub use bounds::{Mistake, mistaken};
pub use bounds::{Optimisations, Properties, Round};
pub use budget::{Budget, Meter, Spent};
pub use caveats::{Caveat, CaveatKind};
pub use comparison::{Compared, Comparison, FirstFailure, LeftOut};
pub use coverage::{Counting, Coverage, Point, Times};
pub use explorer::{Decision, Divergence, End, Executed, Explorer, Options, Pending, View};
pub use follow::{Follow, Guide};
pub use ids::{EventIndex, MAX_THREADS, ObjectId, Site, ThreadId, ThreadSet, Threads};
pub use op::{Access, Decides, MemoryOrder, Mode, Op, OpKind};
pub use orders::{BestFirst, Delta, MemorySpill, Names, Order, OrderInfo, Priority, Spill, orders};
pub use outcome::{Failure, FailureKind, Report, Stats, Step, Stop, StopReason, ThreadInfo, Verdict};
pub use plan::{BadPlan, BoundKind, Limit, Plan};
pub use replay::{Replay, simpler};
pub use schedule::{Schedule, TokenError};
pub use search::{Progress, Promise};
pub use trace::{Event, Race, Trace};
