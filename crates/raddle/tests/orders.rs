//! Orders other than depth-first, as a test uses them.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Config, FailureKind, Report, Verdict, choose, thread};

const ORDERS: [&str; 17] = [
    "depth-first",
    "best-first",
    "best-first=dpor",
    "best-first=sleep,random",
    "best-first=preemptions,random",
    "best-first=method=tests/orders.rs",
    "best-first=variable=atomic #1,preemptions",
    "best-first=variable=orders.rs",
    "random-coverage",
    "random",
    "urw",
    "pct",
    "pct=2",
    "pct=5",
    "pos",
    "portfolio",
    "best-first=random,preemptions,sleep,method=none",
];

fn lost_update() {
    let n = Arc::new(AtomicU32::new(0));
    let add = |n: Arc<AtomicU32>| move || n.store(n.load(SeqCst) + 1, SeqCst);
    let other = thread::spawn(add(n.clone()));
    add(n.clone())();
    other.join().unwrap();
    assert_eq!(n.load(SeqCst), 2, "an update was lost");
}

fn nothing_wrong() {
    let n = Arc::new((Mutex::new(choose(2)), Condvar::new()));
    let other = thread::spawn({
        let n = n.clone();
        move || {
            *n.0.lock().unwrap() += 5;
            n.1.notify_one();
        }
    });
    let mut m = n.0.lock().unwrap();
    while *m < 5 {
        m = n.1.wait(m).unwrap();
    }
    drop(m);
    other.join().unwrap();
}

fn quiet(order: &str) -> Config {
    Config::new().order(order).seed(11).quiet(true)
}

#[test]
fn every_order_finds_a_lost_update_and_its_token_finds_it_again() {
    for order in ORDERS {
        let report = quiet(order).run(lost_update);
        assert_eq!(report.verdict, Verdict::Failure, "{order}: {}", report.guarantee);
        let failure = &report.failures[0];
        assert_eq!(failure.kind, FailureKind::Assertion, "{order}: {}", failure.message);
        let again = Config::new().replay(&failure.replay).quiet(true).run(lost_update);
        assert_eq!(again.verdict, Verdict::Failure, "{order}");
        assert_eq!(again.failures[0].message, failure.message, "{order}");
        assert_eq!(again.failures[0].trace, failure.trace, "{order}");
    }
}

#[test]
fn a_token_without_shrinking_is_the_execution_that_was_drawn() {
    for order in ORDERS {
        let failure = quiet(order).shrink(false).run(lost_update).failures[0].clone();
        let again = Config::new().replay(&failure.replay).quiet(true).run(lost_update);
        assert_eq!(again.failures[0].replay, failure.replay, "{order}");
    }
}

#[test]
fn a_sample_without_a_failure_is_incomplete_and_says_what_it_is() {
    for order in ["random", "urw", "pct", "pos"] {
        let report = quiet(order).max_executions(200).run(nothing_wrong);
        assert_eq!(report.verdict, Verdict::Incomplete, "{order}");
        assert!(!report.passed());
        let says = &report.guarantee;
        assert!(says.starts_with("no failure in 200 executions ("), "{says}");
        assert!(says.contains("seed 11") && says.contains("classes seen"), "{says}");
        assert!(!says.contains("verified") && !says.contains("complete"), "{says}");
        assert_eq!(report.algorithm, quiet(order).run(|| ()).algorithm);
    }
    let says = quiet("pct=2").max_executions(200).run(nothing_wrong).guarantee;
    assert!(says.contains("depth 2") && says.contains("1/(n k^1) = 0.0"), "{says}");
    let report = quiet("random").run(nothing_wrong);
    assert_eq!(report.stats.executions, 10_000);
    assert!(report.guarantee.contains("without a budget"), "{}", report.guarantee);
}

#[test]
fn best_first_is_complete_once_nothing_is_open() {
    let depth_first = Config::new().algorithm("dpor-no-sleep").quiet(true).run(nothing_wrong);
    assert_eq!(depth_first.verdict, Verdict::Verified);
    for order in ORDERS.into_iter().filter(|o| o.starts_with("best-first") || *o == "random-coverage") {
        let report = quiet(order).run(nothing_wrong);
        assert_eq!(report.verdict, Verdict::Verified, "{order}: {}", report.guarantee);
        assert!(report.stats.executions >= 4, "{order}");
    }
    // A portfolio ends with its systematic part.
    assert_eq!(quiet("portfolio").run(nothing_wrong).verdict, Verdict::Verified);
    // One that is cut says so, with the seed if chance took part.
    let cut = |order: &str| quiet(order).max_executions(2).run(nothing_wrong);
    assert_eq!(cut("best-first").verdict, Verdict::Incomplete);
    assert!(cut("best-first").guarantee.contains("open branch"), "{}", cut("best-first").guarantee);
    assert!(cut("random-coverage").guarantee.contains("seed 11"), "{}", cut("random-coverage").guarantee);
    let failed = quiet("best-first").run(lost_update).guarantee;
    assert!(failed.contains("open branch") && !failed.contains("no open"), "{failed}");
    let within = quiet("best-first").bound("preemptions=0").run(nothing_wrong);
    assert_eq!(within.verdict, Verdict::NoFailureWithinBound, "{}", within.guarantee);
    assert!(within.guarantee.contains("within 0 preemptions"), "{}", within.guarantee);
}

#[test]
fn best_first_finds_what_needs_few_preemptions_before_it_runs_through_the_rest() {
    let two_adders = || {
        let n = Arc::new(AtomicU32::new(0));
        let noise = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (n, noise) = (n.clone(), noise.clone());
                thread::spawn(move || {
                    n.store(n.load(SeqCst) + 1, SeqCst);
                    (0..4).for_each(|_| {
                        noise.fetch_add(1, SeqCst);
                    });
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(n.load(SeqCst), 2);
    };
    let count = |config: Config| {
        let report = config.quiet(true).run(two_adders);
        assert_eq!(report.verdict, Verdict::Failure);
        report.stats.executions
    };
    let depth_first = count(Config::new().algorithm("dpor-no-sleep"));
    let best_first = count(Config::new().order("best-first=variable=atomic #1,preemptions"));
    assert!(10 * best_first < depth_first, "best-first {best_first}, depth-first {depth_first}");
}

fn numbers(report: &Report) -> (Verdict, u64, u64, u64) {
    (report.verdict, report.stats.executions, report.stats.steps, report.stats.races)
}

#[test]
fn a_small_fringe_changes_nothing() {
    let test = || {
        let n = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let n = n.clone();
                thread::spawn(move || {
                    n.fetch_add(1, SeqCst);
                    n.fetch_add(1, SeqCst);
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
    };
    for order in ["best-first", "random-coverage"] {
        let big = quiet(order).run(test);
        let small = quiet(order).fringe_limit(10).run(test);
        assert_eq!(big.verdict, Verdict::Verified);
        assert!(big.stats.executions >= 90);
        assert_eq!(numbers(&big), numbers(&small), "{order}");
    }
}

#[test]
fn the_same_seed_runs_the_same_executions() {
    for order in ["random", "urw", "pct", "pos", "portfolio", "random-coverage"] {
        let run = |seed: u64| quiet(order).seed(seed).max_executions(30).run(lost_update);
        let (a, b) = (run(3), run(3));
        assert_eq!(numbers(&a), numbers(&b), "{order}");
        assert_eq!(a.failures, b.failures, "{order}");
    }
}

#[test]
fn a_test_that_does_not_repeat_itself_is_noticed() {
    for order in ["best-first", "random-coverage", "portfolio"] {
        let runs = std::sync::atomic::AtomicU32::new(0);
        let report = quiet(order).run(|| {
            let n = Arc::new(AtomicU32::new(0));
            let run = runs.fetch_add(1, SeqCst);
            let other = thread::spawn({
                let n = n.clone();
                move || n.fetch_add(1, SeqCst)
            });
            if run % 3 == 2 {
                n.fetch_add(1, SeqCst);
            } else {
                n.load(SeqCst);
                n.store(4, SeqCst);
            }
            n.load(SeqCst);
            other.join().unwrap();
        });
        assert_eq!(report.verdict, Verdict::Failure, "{order}: {}", report.guarantee);
        assert_eq!(report.failures[0].kind, FailureKind::Nondeterminism, "{order}");
    }
}
