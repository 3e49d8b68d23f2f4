//! Threads that give way: loops that count, write, or take locks while they wait for others end, and what is left out is named.

mod common;

use common::default;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{CaveatKind, Config, Report, Verdict, thread};
use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

/// All outcomes of a test, and the report.
fn outcomes(config: Config, test: impl Fn() -> u64) -> (BTreeSet<u64>, Report) {
    let seen = StdMutex::new(BTreeSet::new());
    let report = config.run(|| {
        let outcome = test();
        seen.lock().unwrap().insert(outcome);
    });
    (seen.into_inner().unwrap(), report)
}

fn ends_with_caveat(report: &Report) {
    assert_eq!(report.verdict, Verdict::NoFailureWithCaveats, "{}", report.guarantee);
    let turns: Vec<_> = report.caveats.iter().filter(|c| c.kind == CaveatKind::Turns).collect();
    assert_eq!(turns.len(), 1, "{:?}", report.caveats);
    assert!(turns[0].text.contains("--turns") && turns[0].places[0].contains("turns.rs"), "{turns:?}");
}

#[test]
fn a_loop_that_counts_its_looks_ends() {
    let (_, report) = outcomes(default(), || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let t = thread::spawn(move || other.store(true, SeqCst));
        let mut looks = 0u64;
        while !flag.load(SeqCst) {
            looks += 1;
            thread::yield_now();
        }
        t.join().unwrap();
        std::hint::black_box(looks)
    });
    ends_with_caveat(&report);
}

#[test]
fn a_loop_that_counts_in_an_atomic_ends() {
    let (_, report) = outcomes(default(), || {
        let (flag, spins) = (Arc::new(AtomicBool::new(false)), AtomicU32::new(0));
        let other = flag.clone();
        let t = thread::spawn(move || other.store(true, SeqCst));
        while !flag.load(SeqCst) {
            spins.fetch_add(1, SeqCst);
            thread::yield_now();
        }
        t.join().unwrap();
        u64::from(spins.load(SeqCst))
    });
    ends_with_caveat(&report);
}

/// Looks at a flag up to `n` times beside a thread that sets it: the looks it took, by hand 0 to `n`.
fn looks_up_to(n: u64) -> impl Fn() -> u64 {
    move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let t = thread::spawn(move || other.store(true, SeqCst));
        let mut looks = 0;
        while looks < n && !flag.load(SeqCst) {
            looks += 1;
        }
        t.join().unwrap();
        looks
    }
}

#[test]
fn a_loop_that_ends_by_itself_is_verified_with_all_its_turns() {
    for n in [1, 3, 5, 20, 40, 100] {
        let (seen, report) = outcomes(default(), looks_up_to(n));
        assert_eq!(report.verdict, Verdict::Verified, "{n}: {}", report.guarantee);
        assert_eq!(seen, (0..=n).collect(), "{n}");
        assert_eq!(report.stats.executions, n + 1, "{n}");
    }
}

#[test]
fn exactly_the_executions_with_so_many_fruitless_turns_are_explored() {
    // The first look is no turn. With at most k fruitless turns in a row the loop looks k + 1 times in vain, and once more when the
    // flag is set; a thread that gives way takes no other path before that.
    for k in 1..6 {
        let (seen, report) = outcomes(default().turns(k), looks_up_to(50));
        let k = u64::from(k);
        assert!((0..=k + 1).all(|looks| seen.contains(&looks)), "{k}: {seen:?}");
        assert!(seen.iter().all(|looks| *looks <= k + 1), "{k}: {seen:?}");
        ends_with_caveat(&report);
    }
    // A loop that ends before it has to give way is left alone.
    let (seen, report) = outcomes(default().turns(3), looks_up_to(4));
    assert_eq!((seen.len(), report.verdict), (5, Verdict::Verified), "{}", report.guarantee);
}

#[test]
fn a_lock_that_is_tried_five_times_is_given_up_in_some_execution() {
    let (seen, report) = outcomes(default(), || {
        let lock = Arc::new((Mutex::new(0), AtomicU32::new(0)));
        let other = lock.clone();
        let t = thread::spawn(move || {
            let _held = other.0.lock().unwrap();
            other.1.store(1, SeqCst);
        });
        let got = (0..5).any(|_| lock.0.try_lock().is_ok());
        t.join().unwrap();
        u64::from(got)
    });
    assert_eq!(report.verdict, Verdict::Verified, "{}", report.guarantee);
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn a_thread_that_gave_way_goes_on_when_nobody_else_can() {
    // Both look at what nobody changes, and stop by themselves.
    let (seen, report) = outcomes(default().turns(2), || {
        let x = Arc::new(AtomicU32::new(0));
        let other = x.clone();
        let look = |x: &AtomicU32| (0..9).map(|_| u64::from(x.load(SeqCst))).sum::<u64>();
        let t = thread::spawn(move || look(&other));
        look(&x) + t.join().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([0]));
    ends_with_caveat(&report);
}

#[test]
fn failures_behind_many_turns_are_found_and_replayed() {
    let test = || {
        let x = Arc::new(AtomicU32::new(0));
        let other = x.clone();
        let t = thread::spawn(move || other.store(1, SeqCst));
        let looks = (0..40).take_while(|_| x.load(SeqCst) == 0).count();
        t.join().unwrap();
        assert!(looks < 38, "looked {looks} times");
    };
    let report = default().run(test);
    assert_eq!(report.verdict, Verdict::Failure, "{}", report.guarantee);
    let again = default().replay(&report.failures[0].replay).run(test);
    assert_eq!(again.failures[0].message, report.failures[0].message);
}

#[test]
fn true_livelocks_are_still_found() {
    let report = default().run(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
    });
    assert_eq!(report.failures[0].kind, raddle::FailureKind::Livelock);
}
