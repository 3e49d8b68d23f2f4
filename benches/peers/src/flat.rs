//! Memory over a long search: it must not grow with the number of executions.

use crate::clock::{cpu_seconds, max_rss_megabytes};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const EXECUTIONS: u64 = 10_000_000;
const EVERY: u64 = 1_000_000;
const LIMIT_MEGABYTES: f64 = 100.0;

/// Four threads that add to one atomic four times each: 63,063,000 classes, so that the search does not end by itself.
fn program() {
    use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    let atomic = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let atomic = atomic.clone();
            raddle::thread::spawn(move || {
                for _ in 0..4 {
                    atomic.fetch_add(1, SeqCst);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Says whether the memory stayed under the limit.
pub(crate) fn run(as_json: bool) -> bool {
    let (count, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (counting, finished) = (count.clone(), done.clone());
    let search = std::thread::spawn(move || {
        let report = raddle::Config::new().quiet(true).max_executions(EXECUTIONS).run(move || {
            counting.fetch_add(1, Ordering::Relaxed);
            program();
        });
        finished.store(true, Ordering::Release);
        report
    });

    if !as_json {
        println!("{:>12} {:>10} {:>12}", "executions", "max RSS", "CPU us/exec");
    }
    let (mut rows, mut next, mut last) = (Vec::new(), EVERY, (0, cpu_seconds()));
    loop {
        let ended = done.load(Ordering::Acquire);
        let n = count.load(Ordering::Relaxed);
        if n >= next || (ended && n > last.0) {
            let (rss, now) = (max_rss_megabytes(), cpu_seconds());
            let cost = (now - last.1) * 1e6 / (n - last.0) as f64;
            if !as_json {
                println!("{n:>12} {rss:>7.1} MB {cost:>12.2}");
            }
            rows.push(
                json!({ "executions": n, "max_rss_megabytes": rss, "microseconds_per_execution": cost }),
            );
            (next, last) = (n - n % EVERY + EVERY, (n, now));
        }
        if ended {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let report = match search.join() {
        Ok(report) => report,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    let rss = max_rss_megabytes();
    let enough = report.failures.is_empty() && count.load(Ordering::Relaxed) >= EXECUTIONS;
    let passed = enough && rss <= LIMIT_MEGABYTES;
    if as_json {
        println!(
            "{:#}",
            json!({ "rows": rows, "max_rss_megabytes": rss, "limit": LIMIT_MEGABYTES, "passed": passed })
        );
    } else {
        println!("{}", report.guarantee);
        let verdict = if passed { "PASS" } else { "FAIL" };
        println!("{verdict}  at most {LIMIT_MEGABYTES} MB over {EXECUTIONS} executions: {rss:.1} MB");
    }
    passed
}
