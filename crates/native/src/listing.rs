//! Every execution of a program in a file, for whoever compares two searches: `RADDLE_EXECUTIONS=FILE`.
//!
//! One line for each class of executions that have the same happens-before order: its name, how often it was seen, and the steps
//! of each thread with the values they got. The last line says what the search took. A name does not depend on addresses, so that the
//! same program written for another front end has the same ones. With `RADDLE_JSON` the program is checked afterwards, as without the list.
//!
//! ```text
//! 54c6…  1  0: Load 2 2  1: Rmw 0 1  2: Rmw 1 2
//! end 2 executions 0 blocked finished
//! ```
//!
//! A step is its kind, the value that the thread got, and the value that it wrote: for those that write, 0 otherwise.

use explore::{Event, OpKind, Trace};
use raddle::Config;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Explores to the end, past all failures, and writes the file. Gives the exit code of the process.
pub(crate) fn write(config: &Config, program: fn(), path: &str) -> u8 {
    let mut classes: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    let (stats, finished) = config.each_execution(program, |trace| match trace {
        Some(trace) => classes.entry(trace.class()).or_insert_with(|| (0, steps(trace))).0 += 1,
        None => classes.clear(),
    });
    let mut text = String::new();
    for (class, (times, steps)) in classes {
        let _ = writeln!(text, "{class:016x}  {times}{steps}");
    }
    let end = if finished { "finished" } else { "stopped" };
    let _ = writeln!(text, "end {} executions {} blocked {end}", stats.executions, stats.blocked);
    if let Err(e) = std::fs::write(path, text) {
        crate::start::die(&format!("cannot write {path}: {e}"));
    }
    if finished { 0 } else { 3 }
}

fn steps(trace: &Trace) -> String {
    let threads = trace.events().iter().map(|e| e.thread.index() + 1).max().unwrap_or(0);
    let mut of = vec![String::new(); threads];
    for event in trace.events() {
        let text = &mut of[event.thread.index()];
        let _ = write!(text, " {:?} {} {}", event.op.kind, event.value, written(event));
    }
    let mut out = String::new();
    for (thread, steps) in of.iter().enumerate().filter(|(_, steps)| !steps.is_empty()) {
        let _ = write!(out, "  {thread}:{steps}");
    }
    out
}

fn written(event: &Event) -> u64 {
    match event.op.kind {
        OpKind::Store | OpKind::Rmw => event.op.a,
        OpKind::CompareExchange | OpKind::CompareExchangeWeak if event.ok => event.op.b,
        _ => 0,
    }
}
