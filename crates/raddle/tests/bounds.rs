//! Searches within bounds, from the outside.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Config, Verdict, hint, thread};

/// Two increments, each a load and a store.
fn lost_update() {
    let x = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || x.store(x.load(SeqCst) + 1, SeqCst))
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(x.load(SeqCst), 2);
}

/// Increments under a lock.
fn locked() {
    let x = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || *x.lock().unwrap() += 1)
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(*x.lock().unwrap(), 2);
}

#[test]
fn a_lost_update_takes_one_preemption() {
    for algorithm in ["none", "bpor", "bpor-base"] {
        let within = |bound: &str| Config::new().algorithm(algorithm).bound(bound).run(lost_update);
        let none = within("preemptions=0");
        assert_eq!(none.verdict, Verdict::NoFailureWithinBound, "{algorithm}: {}", none.guarantee);
        assert!(none.guarantee.contains("0 preemptions"), "{}", none.guarantee);
        for bound in
            ["preemptions=1", "delays=1", "delta=1", "contexts=4", "thread-contexts=2", "preemptions=0.."]
        {
            let one = within(bound);
            assert_eq!(one.verdict, Verdict::Failure, "{algorithm} within {bound}: {}", one.guarantee);
        }
    }
}

#[test]
fn a_bound_that_refuses_nothing_verifies() {
    for bound in [
        "preemptions=0..",
        "contexts=0..",
        "delta=0..",
        "delays=0..",
        "depth=1..",
        "fair=0..",
        "local-depth=1..",
        "local-contexts=0..",
        "thread-contexts=1..",
    ] {
        for algorithm in ["none", "bpor", "bpor-base"] {
            let report = Config::new().algorithm(algorithm).bound(bound).run(locked);
            assert_eq!(report.verdict, Verdict::Verified, "{algorithm} within {bound}: {}", report.guarantee);
        }
    }
}

#[test]
fn without_an_algorithm_a_bound_is_searched_with_reduction() {
    assert_eq!(Config::new().bound("preemptions=0").run(locked).algorithm, "optimal");
    assert_eq!(Config::new().bound("preemptions=0..").run(locked).algorithm, "bpor");
    assert_eq!(Config::new().bound("delta=0").run(locked).algorithm, "bpor");
}

#[test]
fn one_limit_after_the_other_says_what_each_covers() {
    let report = Config::new().algorithm("optimal").bound("preemptions=0..").run(|| {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    x.fetch_add(1, SeqCst);
                    y.fetch_add(1, SeqCst);
                    x.fetch_add(1, SeqCst);
                });
            }
        });
    });
    assert_eq!(report.verdict, Verdict::Verified, "{}", report.guarantee);
    assert!(report.rounds.len() > 2 && report.rounds.iter().all(|r| r.complete), "{:?}", report.rounds);
    let last = report.rounds[report.rounds.len() - 1];
    let new: u64 = report.rounds.iter().map(|r| r.new).sum();
    assert_eq!((last.over_bound, new), (0, last.executions), "each class is new once: {:?}", report.rounds);
    assert!(raddle::to_json(&report).contains("\"rounds\""));
}

#[test]
fn a_thread_that_spins_with_others_is_searched_within_a_fair_bound() {
    let report = Config::new().bound("fair=1").bound("preemptions=1").run(|| {
        let ready = Arc::new(AtomicUsize::new(0));
        let other = ready.clone();
        let t = thread::spawn(move || other.store(1, SeqCst));
        while ready.load(SeqCst) == 0 {
            hint::spin_loop();
            thread::yield_now();
        }
        t.join().unwrap();
    });
    assert!(report.passed(), "{}", report.guarantee);
}
