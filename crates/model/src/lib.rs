//! Concurrent C programs as control-flow automata, and their interpreter.
//!
//! [`Program`] is what everything else works on: variables, threads, locations, transitions. [`Terms`] holds its expressions.
//! [`read_file`] makes one of C text, [`Builder`] without, and [`Interpreter`] says what one means.
//!
//! **Invariant:** nothing is proved here, and nothing of C is approximated in silence: what the lowering does not know is refused
//! with file, line and reason.

#![forbid(unsafe_code)]

mod builder;
mod c;
mod flatten;
mod flow;
mod passes;
mod program;
mod reach;
mod run;
mod state;
mod term;
mod text;
mod values;

pub use builder::Builder;
pub use c::{Options, Refusal, read_file, read_text};
pub use program::{
    Accesses, Action, ErrorKind, FileId, Location, LocationId, LocationKind, Program, Scope, Span, Sync,
    SyncId, SyncKind, Thread, ThreadId, Transition, TransitionId, Var,
};
pub use reach::{Reach, Reached, Reduction};
pub use run::{CannotRun, Execution, Explored, Runner};
pub use state::{Interpreter, NoRun, State, Step, TooWide, Wrong};
pub use term::{
    Assign, Binary, Node, Place, Term, Terms, Type, Unary, VarId, apply_binary, apply_unary, convert,
};
