//! Turns a [`Report`](explore::Report) into something to look at: text for a terminal, JSON for a program. A
//! [`Comparison`](explore::Comparison) of several searches becomes a table, JSON, or a plot.
//!
//! This crate knows only the values of the search. It runs nothing, reads no environment and writes nowhere: what the
//! terminal can do and how a test is run again is the caller's to say, in a [`Style`].
//!
//! ```
//! use explore::{Report, Stats, Verdict};
//! let stats = Stats { executions: 24, ..Stats::default() };
//! let report = Report {
//!     verdict: Verdict::Verified,
//!     guarantee: report::guarantee(Verdict::Verified, &explore::Promise::Everything, &stats, None, None, &[]),
//!     algorithm: "optimal".into(),
//!     bound: None,
//!     memory: "sc".into(),
//!     stats,
//!     failures: vec![],
//!     stopped: None,
//!     rounds: vec![],
//!     caveats: vec![],
//!     warnings: vec![],
//!     seconds: 0.004,
//! };
//! assert_eq!(
//!     report::text::render(&report, &report::Style::default()),
//!     "raddle: verified: all 24 executions\n  optimal, memory sc: 24 executions, 0 blocked, 4 ms\n"
//! );
//! ```

#![forbid(unsafe_code)]

pub mod compare;
mod guarantee;
pub mod json;
mod numbers;
mod paint;
pub mod plot;
mod style;
pub mod text;
mod trace;

pub use guarantee::{guarantee, spent};
pub use numbers::{count, duration, short_count, short_duration};
pub use style::Style;
