//! Proofs about concurrent programs: for all inputs and all schedules, also of programs that never end.
//!
//! An [`Engine`] takes a [`model::Program`] and answers with a [`Verdict`]: *safe* with a [`Certificate`], *unsafe* with a [`Trace`],
//! *partially safe* with schedules, or *unknown* with the reason. [`engines`] lists them, [`engine`] finds one by its name.
//!
//! **Invariant:** no engine is believed. A trace leaves this crate only if the interpreter replays it ([`Verdict::of_trace`]), and a
//! certificate can be checked by [`check`], which shares no code with the engines but the solver.

#![forbid(unsafe_code)]

#[cfg(test)]
mod agreement;
mod atomicity;
mod bdd;
mod bits;
mod bmc;
mod budget;
mod certificate;
mod checker;
mod contexts;
mod diagrams;
mod endless;
mod engines;
mod evaluation;
mod executions;
mod explicit;
mod futures;
mod happens_before;
mod imc;
mod impact;
mod inputs;
mod loops;
mod merging;
mod models;
mod movers;
mod outcome;
mod outline;
mod packed;
mod portfolio;
mod predabs;
mod races;
mod ranges;
mod rounds;
mod sat;
mod saved;
mod scheduled;
mod sections;
mod smt;
mod solver;
mod symbolic;
mod symmetry;
#[cfg(test)]
mod testing;
mod traces;
mod unrolling;

pub use atomicity::{Atomicity, Broken, FunctionAtomicity, GuardChecked, Serial, atomicity};
pub use bits::BitSolver;
pub use budget::{Budget, Meter, Spent};
pub use certificate::{Certificate, Invariant, Tree, TreeEdge, TreeNode};
pub use checker::{Refuted, check};
pub use contexts::contexts_within;
pub use endless::{End, EndlessLoop, endless_loops};
pub use engines::{Engine, Listed, UnknownEngine, engine, engines};
pub use evaluation::{OpenOrder, open_orders};
pub use happens_before::{HappensBefore, OrderRace, happens_before};
pub use imc::{Art, ArtNode, Event, Found, Kind, schedules};
pub use loops::{LoopInvariant, loop_invariants};
pub use merging::{Merged, Merging};
pub use movers::{Mover, Movers, NotAtomic};
pub use outcome::{Count, Options, Outcome, Schedule, ScheduleNode, Trace, Unknown, Verdict};
pub use outline::{Condition, ConditionKind, Example, Outline, Place, Status, check_outline};
pub use packed::StateSet;
pub use portfolio::{believe_nothing, verify_checked};
pub use races::{Access, Locksets, Mode, Race, locksets, races, races_until};
pub use rounds::{Sequential, sequentialise};
pub use sat::{SatSolver, with_sat};
pub use saved::{BadFile, fingerprint, load, save};
pub use scheduled::check_schedule;
pub use sections::{InSections, Section, SectionEvent, Sections};
pub use smt::{NoSolver, SmtCommand, SmtSolver};
pub use solver::{Answer, Solver, with_solver};
pub use traces::{Following, SymbolicTrace, TraceEvent, TraceOrder};
