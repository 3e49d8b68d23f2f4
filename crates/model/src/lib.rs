//! Concurrent C programs as control-flow automata, and their interpreter.
//!
//! [`Program`] is what everything else works on: variables, threads, locations, transitions. [`Terms`] holds its expressions.
//! [`read_file`] makes one of C text, [`Builder`] without, and [`Interpreter`] says what one means.
//!
//! # For engines
//!
//! A state gives each thread a location and each variable a value. It starts with [`Thread::entry`] and [`Var::init`]. A step takes one
//! transition of one thread: its guard holds before, its assignments and inputs make what is after; nothing else changes. So the weakest
//! precondition of a transition is `guard => substitute(post, assigns)` for all values of its inputs ([`Terms::substitute`]). A state is
//! wrong where a thread is at a location of kind [`LocationKind::Error`], or where no thread can go on although one has not ended
//! ([`Interpreter::is_deadlock`] says what counts). Two transitions of different threads are independent if neither writes what the other
//! accesses ([`Program::accesses`]). [`Location::may_block`] and [`Location::loop_head`] say where a thread can wait and where cycles
//! close; [`Program::flattened`] puts single variables in place of arrays. [`Interpreter::replay`] checks a counterexample, and
//! [`Interpreter::show_run`] prints it.
//!
//! **Invariant:** nothing is proved here, and nothing of C is approximated in silence: what the lowering does not know is refused
//! with file, line and reason.

#![forbid(unsafe_code)]

mod builder;
mod c;
mod code;
mod flatten;
mod flow;
mod hashing;
pub mod notes;
mod passes;
mod program;
mod ranges;
mod reach;
mod run;
mod settle;
mod state;
mod stepper;
mod term;
mod text;
mod values;
mod waits;

pub use builder::Builder;
pub use c::{Annotated, Defined, Options, Refusal, lines_made_of, read_file, read_text};
pub use hashing::{WordHash, WordHasher};
pub use notes::{
    Annotation, AtCall, ByContract, Call, CallContract, Clause, Named, Names, Note, Noted, Start,
};
pub use program::{
    Accesses, Action, AddressUse, ErrorKind, Fence, Fences, FileId, Location, LocationId, LocationKind, Mark,
    NeverLeft, Operand, Operator, Order, Program, Scope, Span, Sync, SyncId, SyncKind, Thread, ThreadId,
    Transition, TransitionId, Var,
};
pub use reach::{Reach, Reached, Reduction};
pub use run::{CannotRun, Execution, Executions, Explored, Runner};
pub use state::{Interpreter, NoRun, State, Step, TooWide, Wrong};
pub use stepper::Stepper;
pub use term::{
    Assign, Binary, Node, Place, Term, Terms, Type, Unary, VarId, apply_binary, apply_unary, convert,
};
pub use waits::{Logic, Waits};
