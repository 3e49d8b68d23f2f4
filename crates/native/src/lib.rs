//! Runs a compiled C or C++ program under raddle.
//!
//! The program is compiled with the compiler's own thread instrumentation (`-fsanitize=thread`) and linked with this library
//! instead of the sanitizer's. The library is the `main` that is started: it runs the program's `main` again and again, each time
//! under another schedule, in the same process.
//!
//! - `start` takes the program over before its `main`; `report_out` sets the search up and ends the process with the report;
//! - `shim` is how a call comes in: with the place it comes from and, in loops, the local state of the thread;
//! - `access` and `atomics` are the callbacks of the instrumentation, `threads`, `mutex` and so on the functions that the
//!   program calls; each turns a call into announced steps and the result of the steps into what the C library would return;
//! - `table` gives addresses a lasting identity, and `front` answers what the runtime asks.
//!
//! # Rules inside
//!
//! Everything of a checked program runs on one OS thread, its threads being fibers, so statics here need no locks. Code may run
//! while the thread-local storage of another thread is in place. A fiber may be suspended inside any step and never come
//! back: nothing that needs a destructor may be alive there.
//!
//! **Invariant:** nothing here decides what to schedule.

// What is exported is exported to the program, by name.
#![allow(unreachable_pub)]
// Statics need no locks here (see above), and the compiler wants to see that each reference to one is meant.
#![allow(clippy::deref_addrof)]

mod access;
mod alone;
mod annotations;
mod arguments;
mod atomics;
mod attributes;
mod barrier;
mod c11;
mod changes;
mod channels;
mod condvar;
mod crash;
mod debugger;
mod exception_pointers;
mod exceptions;
mod file_locks;
mod files;
mod frames;
mod front;
mod functions;
mod futex;
mod heap;
mod isolate;
mod kept;
mod large;
mod leaving;
mod libc;
mod listing;
mod locals;
mod looks;
mod modules;
mod mutex;
mod names;
mod once;
mod operators;
mod options;
mod own_heap;
mod own_state;
mod pipes;
mod poll;
mod printing;
mod process;
mod quiet;
mod random;
mod real;
mod report_out;
mod reuse;
mod rust_tests;
mod rwlock;
mod semaphore;
mod shared_pointers;
mod shim;
mod signals;
mod start;
mod std_atomics;
mod std_locks;
mod std_threads;
mod storage;
mod strings;
mod sync;
mod system_calls;
mod table;
mod thread_exit;
mod threads;
mod time;
mod touch;
mod undefined;
mod unwritten;
mod verifier;
mod wide;

/// The runtime's own memory never comes from the heap of the program, which is put back between executions.
#[global_allocator]
static ALLOCATOR: own_heap::Own = own_heap::Own;
