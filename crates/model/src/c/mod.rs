//! From C text to automata.
//!
//! The file is preprocessed and parsed (`source.rs`), what no compiler takes is refused (`constraints.rs`), types and declarations are read (`ctype.rs`, `decl.rs`, `globals.rs`), and
//! `main` and every thread that it makes are lowered, functions inlined: statements (`statement.rs`, `loops.rs`), expressions
//! (`expr.rs`, `operators.rs`, `constant.rs`), places and what is done to them (`lvalue.rs`, `access.rs`, `aggregate.rs`, `heap.rs`, `fresh.rs`, `reuse.rs`),
//! calls (`calls.rs`, `pthreads.rs`, `atomics.rs`, `clocks.rs`, `keys.rs`), all over the steps of `steps.rs`. What is known at that time, the values
//! of locals on the way here (`Env`), folds conditions, unrolls loops that make threads, and resolves pointers. What is not known
//! is split into cases: over the cells that a pointer may point to, over the locks of an array.
//!
//! Lowering runs until the set of objects whose address is taken does not grow any more: only those can be reached by a pointer, and
//! only those of a function are shared.
//!
//! | understood | not, and refused |
//! |---|---|
//! | integers of all widths, `_Bool`, enumerations, arrays whose length is known there, texts, structures of these (copied field by field), bit-fields, unions of up to 8 bytes, pointers to named objects and functions, thread-local variables | floating point, other unions, other arrays of variable length, access through a pointer of another type |
//! | functions (inlined, recursion up to a bound; through a pointer each that it may be), all loops, `switch`, `goto`, short-circuit, statements as values | assembly, calls of functions that are not known, variable numbers of arguments |
//! | `pthread_create` (each thread once, loops unrolled, up to a bound where their length is not known), `join`, `exit`, `once`, mutexes, also recursive ones and those that check for errors, keys, clocks, spin locks, condition variables, barriers, reader-writer locks, semaphores, time limits (the time may be over at once), C11's threads | special kinds of locks, cancellation |
//! | C11 atomics, `__atomic_*` and `__sync_*`, all sequentially consistent | |
//! | `assert`, `reach_error`, a label `ERROR`, `__VERIFIER_assume`, `__VERIFIER_nondet_*`, atomic blocks and functions | inputs of other types |
//! | `malloc(sizeof(T))`, `malloc(n * sizeof(T))`, `calloc`, `realloc`, `free`: an object for each call, up to a bound in a loop, or one that was given back | allocations of other sizes |
//!
//! **Invariant:** a statement that is not understood exactly is refused, with its place and the reason. Left undefined by C and given
//! a meaning here: signed arithmetic wraps around; operands are evaluated from left to right, the right side of an assignment before
//! the left; the value of a variable that was never set is any value; memory does not run out; a local of a function that has
//! returned stays.

mod access;
mod addresses;
mod aggregate;
mod annotated;
mod atomics;
mod attributes;
mod calls;
mod clocks;
mod constant;
mod constraints;
mod ctype;
mod decl;
mod evaluation;
mod expr;
mod fresh;
mod globals;
mod heap;
mod keys;
mod lifetimes;
mod loops;
mod lower;
mod lvalue;
mod operators;
mod pthreads;
mod reuse;
mod scan;
mod source;
mod statement;
mod steps;

pub use annotated::{Annotated, Defined};
pub use source::lines_made_of;

use crate::passes;
use crate::program::Program;
use std::collections::BTreeSet;
use std::path::Path;
use thiserror::Error;

/// Why a program cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {}", self.place(), self.sentence())]
pub struct Refusal {
    /// The file.
    pub file: String,
    /// The line; 0 if the whole file is meant.
    pub line: u32,
    /// What about it.
    pub reason: String,
}

impl Refusal {
    /// The reason as a sentence: what is only named is not supported.
    fn sentence(&self) -> String {
        if !self.names_unsupported() {
            return self.reason.clone();
        }
        let plural =
            ["attributes ", "calls ", "more ", "parameters ", "several ", "structures ", "two ", "words "];
        let verb = if plural.iter().any(|p| self.reason.starts_with(p)) { "are" } else { "is" };
        format!("{} {verb} not supported", self.reason)
    }

    /// Whether the reason names something that is not supported, and is not a sentence about a mistake.
    fn names_unsupported(&self) -> bool {
        const STARTS: [&str; 8] = [
            "there is ",
            "syntax error",
            "expected ",
            "the preprocessor ",
            "the file ",
            "this is ",
            "this does ",
            "whether ",
        ];
        const ENDS: [&str; 11] = [
            " is missing",
            " fails",
            " is not constant",
            " is not complete",
            " is assigned",
            " are wanted",
            " is too large",
            " is no pointer",
            " arguments",
            "twice",
            "of another kind",
        ];
        const PARTS: [&str; 8] = [
            "` is ",
            "` has ",
            "` calls ",
            " has no field",
            " refuse",
            "does not say",
            "cannot",
            "the call has ",
        ];
        let reason = self.reason.as_str();
        // A part of speech that starts with an article may end like a sentence: "a structure that is not complete".
        let named = reason.starts_with("a ") && reason.contains(" that is ")
            || reason.contains(" of a type that is ");
        named
            || !(STARTS.iter().any(|s| reason.starts_with(s))
                || ENDS.iter().any(|s| reason.ends_with(s))
                || PARTS.iter().any(|s| reason.contains(s)))
    }

    /// Whether a compiler may take the program all the same: it uses what is not supported here.
    pub fn is_unsupported(&self) -> bool {
        self.names_unsupported()
            || self.reason.starts_with("the function `") && self.reason.ends_with("is not known")
            || self.reason.ends_with(" is not constant")
    }

    pub(super) fn place(&self) -> String {
        if self.line == 0 { self.file.clone() } else { format!("{}:{}", self.file, self.line) }
    }
}

/// How a program is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// How deep a function may call itself before that is an error location of kind `Bound`.
    /// Half as deep, or a quarter and so on, where it calls itself in so many ways that all of them are too many.
    pub recursion: u32,
    /// How often a loop that makes threads may go round.
    pub unroll: u32,
    /// How often a loop that makes threads may go round where that is not known when it is read, before that is an error location of
    /// kind `Bound`.
    pub rounds: u32,
    /// How many objects a call of `malloc` in a loop can make before that is an error location of kind `Bound`.
    pub allocations: u8,
    /// Whether threads may wake up from a condition variable for no reason, and a weak compare-exchange may fail for none. Both
    /// are allowed by the standards; a loop that waits then has endless executions.
    pub spurious: bool,
    /// Whether a lock that is given back by who does not hold it is an error.
    pub lock_misuse: bool,
    /// Whether reaching a label `ERROR` is an error in a program that never calls `reach_error`, as verification tasks have it.
    pub error_labels: bool,
    /// Whether an exit code of the program other than 0 is an error of kind `ExitCode`.
    pub exit_codes: bool,
    /// Whether a call of `abort` is an error of kind `Abort` in a program that never calls `reach_error`. Verification tasks, which do, call it
    /// where an assumption does not hold.
    pub aborts: bool,
    /// Whether signed arithmetic whose result does not fit its type, and a conversion to a signed type that changes the number, are
    /// errors of kind `Overflow`. Where none can be reached, integers of the program are mathematical ones: signed values are
    /// never cut (unsigned ones wrap around, as C says). Arithmetic on signed atomic variables is refused then: it wraps by
    /// definition, and no check can come between its read and its write.
    pub overflow: bool,
    /// Whether local steps become part of the steps next to them. Without, every assignment is a step.
    pub compress: bool,
    /// Whether places that have a label keep their location.
    pub keep_labels: bool,
    /// Whether heads of loops keep their location ([`crate::Mark::Head`]), so that whoever is at the loop is there.
    pub keep_loops: bool,
    /// Whether line markers of a preprocessed file count: they say which file and line the text after them came from. Without, places
    /// are those of the file itself, and all else is the same.
    pub line_markers: bool,
    /// More words for the preprocessor, such as `-DN=3`.
    pub preprocessor: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            recursion: 16,
            unroll: 1000,
            rounds: 4,
            allocations: 4,
            spurious: false,
            lock_misuse: true,
            error_labels: false,
            exit_codes: false,
            aborts: false,
            overflow: false,
            compress: true,
            keep_labels: false,
            keep_loops: false,
            line_markers: true,
            preprocessor: Vec::new(),
        }
    }
}

/// Reads a C file; one that ends in `.i` is taken to be preprocessed.
pub fn read_file(path: &Path, options: &Options) -> Result<Program, Refusal> {
    lower(&source::read(path, options)?, options)
}

/// Reads preprocessed C text. `name` is what messages call it.
///
/// ```
/// let program = model::read_text("count.c", "int x; int main(void) { x = x + 1; return x; }", &model::Options::default()).unwrap();
/// assert_eq!(program.threads.len(), 1);
/// let refused = model::read_text("f.c", "\n\nfloat f; int main(void) { return f > 1; }", &model::Options::default());
/// assert!(refused.unwrap_err().to_string().starts_with("f.c:3: "));
/// ```
pub fn read_text(name: &str, text: &str, options: &Options) -> Result<Program, Refusal> {
    lower(&source::parse(name, text.to_owned())?, options)
}

/// How often everything is lowered until the objects that pointers can point to are known.
const LOWERED: usize = 50;

fn lower(source: &source::Source, options: &Options) -> Result<Program, Refusal> {
    let named = |mut r: Refusal| {
        source::with_dollars(&mut r.reason);
        r
    };
    let mut lowering = settled(source, options, lower::Lowering::run).map_err(named)?;
    lowering.tell_looks();
    let (builder, interior) = lowering.into_parts();
    let mut program = passes::finish(builder, &interior, options).map_err(named)?;
    program.vars.iter_mut().for_each(|v| source::with_dollars(&mut v.name));
    program.syncs.iter_mut().for_each(|s| source::with_dollars(&mut s.name));
    for t in &mut program.threads {
        source::with_dollars(&mut t.name);
        for l in &mut t.locations {
            l.label.iter_mut().for_each(source::with_dollars);
            if let crate::LocationKind::Error { message, .. } = &mut l.kind {
                source::with_dollars(message);
            }
        }
    }
    Ok(program)
}

/// Everything lowered by `run`, again and again until the objects that pointers can point to are known.
fn settled<'s>(
    source: &'s source::Source,
    options: &'s Options,
    run: impl Fn(&mut lower::Lowering<'s>) -> Result<(), Refusal>,
) -> Result<lower::Lowering<'s>, Refusal> {
    constraints::check(source)?;
    let mut taken = BTreeSet::new();
    let mut early = Vec::new();
    let (mut clocks, mut keys) = (BTreeSet::new(), Vec::new());
    let mut recursion = options.recursion;
    let (mut compared, mut gave) = (reuse::Compared::default(), BTreeSet::new());
    let mut main_leaves = false;
    for _ in 0..LOWERED {
        let mut lowering = lower::Lowering::new(source, options, &taken, &early, &clocks, &keys);
        lowering.recursion = recursion;
        lowering.main_leaves = main_leaves;
        lowering.noted.compared = compared;
        lowering.noted.gave = gave.clone();
        let done = run(&mut lowering);
        if lowering.is_crowded() && recursion > 1 {
            recursion /= 2;
            continue;
        }
        let (more, now) = (lowering.taken(), lowering.early());
        // What is refused may be so only because an address was not known to be taken yet.
        let same = lowering.clocks.now.is_subset(&clocks)
            && lowering.keys.now == keys
            && lowering.noted.compares.or(compared) == compared
            && (!compared.any() || lowering.noted.gives.is_subset(&gave));
        if more.iter().all(|t| taken.contains(t)) && now == early && same {
            done?;
            if !main_leaves && lowering.threads_outlive_main() {
                main_leaves = true;
                continue;
            }
            return Ok(lowering);
        }
        taken.extend(more);
        clocks.extend(&lowering.clocks.now);
        compared = compared.or(lowering.noted.compares);
        gave.append(&mut lowering.noted.gives);
        keys = std::mem::take(&mut lowering.keys.now);
        early = now;
    }
    let (file, _) = source.lines.at(0);
    let reason = "which objects pointers point to does not settle".to_owned();
    Err(Refusal { file: file.to_owned(), line: 0, reason })
}
