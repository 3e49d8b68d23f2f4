//! The cost of a step as the number of threads grows: at most linear.

use crate::clock::cpu_seconds;
use serde_json::json;

const THREADS: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Additions of one execution, shared among its threads.
const ADDITIONS: usize = 1_280;
/// Executions of one check; they differ only in a choice at the beginning, so that setting up a check costs little.
const EXECUTIONS: u64 = 64;
const SECONDS: f64 = 0.3;
/// Room for what a machine that also does other work adds.
const SLACK: f64 = 1.2;

/// Threads that have nothing to do with each other.
fn program(threads: usize) {
    use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    raddle::choose(EXECUTIONS as _);
    let handles: Vec<_> = (0..threads)
        .map(|_| {
            let own = AtomicUsize::new(0);
            raddle::thread::spawn(move || {
                for _ in 0..ADDITIONS / threads {
                    own.fetch_add(1, SeqCst);
                }
            })
        })
        .collect();
    for handle in handles {
        handle.join().unwrap();
    }
}

/// Nanoseconds of CPU time for one step.
fn cost(threads: usize) -> f64 {
    let start = cpu_seconds();
    let mut steps = 0;
    loop {
        let report = raddle::Config::new().quiet(true).run(move || program(threads));
        assert!(report.passed() && report.stats.executions == EXECUTIONS, "{}", report.guarantee);
        steps += report.stats.steps;
        let seconds = cpu_seconds() - start;
        if seconds >= SECONDS {
            return seconds * 1e9 / steps as f64;
        }
    }
}

/// Says whether the cost of a step grows at most linearly with the number of threads.
pub(crate) fn run(as_json: bool) -> bool {
    let costs: Vec<(usize, f64)> = THREADS.iter().map(|n| (*n, cost(*n))).collect();
    let (least, first) = costs[0];
    let linear = |n: usize| first * n as f64 / least as f64 * SLACK;
    let passed = costs.iter().all(|(n, cost)| *cost <= linear(*n));
    if as_json {
        let rows: Vec<_> =
            costs.iter().map(|(n, c)| json!({ "threads": n, "nanoseconds_per_step": c })).collect();
        println!("{:#}", json!({ "rows": rows, "passed": passed }));
        return passed;
    }
    println!("{:>7} {:>12} {:>18}", "threads", "CPU ns/step", "times that of 2");
    for (n, cost) in &costs {
        println!("{n:>7} {cost:>12.1} {:>16.2} x", cost / first);
    }
    println!("{}  the cost of a step grows at most linearly", if passed { "PASS" } else { "FAIL" });
    passed
}
