//! What the tests share: a prelude that stands for the headers, and short ways to read and search.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "each test file uses its own part")]

pub mod small;

use explore::{Meter, Plan};
use model::{ErrorKind, Explored, Interpreter, Options, Program, Reach, Reached, Runner, Wrong};
pub use small::Rng;

/// The types of pthreads and of C11's atomics, so that no preprocessor is needed.
pub const PRELUDE: &str = "typedef unsigned long pthread_t; typedef struct { int dummy; } pthread_mutex_t; \
    typedef struct { int dummy; } pthread_cond_t; typedef struct { int dummy; } pthread_rwlock_t; \
    typedef struct { int dummy; } pthread_barrier_t; typedef struct { int dummy; } sem_t; \
    typedef _Atomic int atomic_int; typedef _Bool bool; typedef unsigned long size_t;";

/// What `assert` is.
pub const ASSERT: &str = "void reach_error(void); void assert(int c) { if (!c) reach_error(); }";

/// Reads a program after the prelude, which is on its first line.
pub fn read_with(text: &str, options: &Options) -> Program {
    match model::read_text("test.c", &format!("{PRELUDE} {text}"), options) {
        Ok(p) => p,
        Err(e) => panic!("{e}"),
    }
}

/// Reads a program.
pub fn read(text: &str) -> Program {
    read_with(text, &Options::default())
}

/// Why a program is refused.
pub fn refused(text: &str) -> String {
    match model::read_text("test.c", &format!("{PRELUDE} {text}"), &Options::default()) {
        Ok(p) => panic!("it is not refused:\n{p}"),
        Err(e) => e.to_string(),
    }
}

/// Searches a program with an algorithm and bounds.
pub fn search(p: &Program, algorithm: &str, bounds: &[&str]) -> Explored {
    let mut plan = Plan::of(algorithm).unwrap();
    plan.bounds = bounds.iter().map(|b| b.parse().unwrap()).collect();
    let mut search = plan.search(Meter::unlimited()).unwrap();
    let mut runner = Runner::new(p).unwrap();
    runner.keep_finals = true;
    runner.search(&mut *search, u64::MAX).unwrap()
}

/// How many executions an algorithm takes to see everything.
pub fn executions(p: &Program, algorithm: &str) -> u64 {
    let seen = search(p, algorithm, &[]);
    assert!(seen.finished, "{algorithm} does not finish");
    seen.stats.executions
}

/// All states of a program.
pub fn states(p: &Program) -> Reached {
    let found = Reach::default().search(&Interpreter::new(p)).unwrap();
    assert!(found.finished);
    found
}

/// What kind of error was found, if one was.
pub fn kind(found: &Reached) -> Option<ErrorKind> {
    match found.wrong.as_ref()?.0 {
        Wrong::Error { kind, .. } => Some(kind),
        Wrong::Deadlock => None,
    }
}
