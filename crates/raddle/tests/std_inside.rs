//! Parts of std inside a check that belong to threads or change what threads do: `std::thread::panicking`, hash maps, and std's `Arc` around
//! a value whose destructor takes steps.

mod common;

use common::{default, fails_with, says, verified};
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, mpsc};
use raddle::{CaveatKind, FailureKind, Report, Verdict, thread};
use std::collections::{HashMap, HashSet};
use std::sync::Arc as StdArc;

static WORD: AtomicUsize = AtomicUsize::new(0);

/// A value whose destructor takes steps.
struct Loud;

impl Drop for Loud {
    fn drop(&mut self) {
        WORD.fetch_add(1, SeqCst);
        WORD.fetch_add(10, SeqCst);
    }
}

/// What a check says that is not to fail.
#[track_caller]
fn caveats(algorithm: &str, f: impl Fn()) -> Report {
    let report = default().algorithm(algorithm).run(f);
    let failures: Vec<_> = report.failures.iter().map(|f| &f.message).collect();
    assert!(report.failures.is_empty(), "{algorithm}: {failures:?}");
    report
}

#[track_caller]
fn names(report: &Report, kind: CaveatKind, text: &str) {
    assert_eq!(report.verdict, Verdict::NoFailureWithCaveats, "{:?}", report.caveats);
    let named = report.caveats.iter().any(|c| c.kind == kind && c.text.contains(text));
    assert!(named, "{:?}", report.caveats);
}

fn dropped_by_the_last() {
    let a = StdArc::new(Loud);
    let other = thread::spawn({
        let a = a.clone();
        move || {
            WORD.load(SeqCst);
            drop(a);
            WORD.load(SeqCst);
        }
    });
    WORD.load(SeqCst);
    drop(a);
    WORD.load(SeqCst);
    other.join().unwrap();
    assert_eq!(WORD.load(SeqCst), 11);
}

fn three_owners() {
    let a = StdArc::new(Loud);
    let all: Vec<_> = (0..2)
        .map(|_| {
            let a = a.clone();
            thread::spawn(move || {
                WORD.load(SeqCst);
                drop(a);
            })
        })
        .collect();
    drop(a);
    all.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(WORD.load(SeqCst), 11);
}

fn around_a_sender() {
    let (tx, rx) = mpsc::channel::<u32>();
    let tx = StdArc::new(Mutex::new(tx));
    let other = thread::spawn({
        let tx = tx.clone();
        move || tx.lock().unwrap().send(1).unwrap()
    });
    tx.lock().unwrap().send(2).unwrap();
    drop(tx);
    assert_eq!(rx.iter().sum::<u32>(), 3);
    other.join().unwrap();
}

#[test]
fn a_destructor_that_an_arc_of_std_runs_is_a_caveat_and_not_a_failure() {
    for program in [dropped_by_the_last, three_owners, around_a_sender] {
        for algorithm in ["optimal", "source", "sleep", "dpor"] {
            names(&caveats(algorithm, program), CaveatKind::ForeignTypes, "a std `Arc` runs a destructor");
        }
    }
}

#[test]
fn arcs_of_std_without_such_destructors_are_no_caveat() {
    verified(|| {
        let n = StdArc::new(AtomicUsize::new(0));
        let other = thread::spawn({
            let n = n.clone();
            move || n.fetch_add(1, SeqCst)
        });
        n.fetch_add(1, SeqCst);
        drop(n);
        other.join().unwrap();
    });
    // The last one is dropped when there are no other threads.
    verified(|| {
        let a = StdArc::new(Loud);
        let other = thread::spawn({
            let a = a.clone();
            move || {
                drop(a);
                WORD.load(SeqCst)
            }
        });
        other.join().unwrap();
        drop(a);
    });
    // Ours takes steps, also around something of std's that is owned alone.
    verified(|| {
        let a = Arc::new((Loud, Box::new(Loud)));
        let other = thread::spawn({
            let a = a.clone();
            move || drop(a)
        });
        drop(a);
        other.join().unwrap();
    });
}

#[test]
fn a_failure_in_such_a_program_is_still_found() {
    let failure = fails_with(default(), FailureKind::Assertion, || {
        let a = StdArc::new(Loud);
        let other = thread::spawn({
            let a = a.clone();
            move || {
                WORD.load(SeqCst);
                drop(a);
            }
        });
        WORD.load(SeqCst);
        drop(a);
        assert_eq!(WORD.load(SeqCst), 11);
        other.join().unwrap();
    });
    says(&failure.message, &["assertion"]);
}

/// A destructor that tells whether its thread unwinds, several steps long.
struct Tells<'a>(&'a AtomicUsize, &'a AtomicBool);

impl Drop for Tells<'_> {
    fn drop(&mut self) {
        for _ in 0..2 {
            self.0.fetch_add(1, SeqCst);
            if std::thread::panicking() {
                self.1.store(true, SeqCst);
            }
        }
    }
}

#[test]
fn only_a_thread_that_unwinds_panics() {
    for both in [false, true] {
        verified(move || {
            let (n, first, second) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicBool::new(false));
            thread::scope(|s| {
                let t = s.spawn(|| {
                    let _tells = Tells(&n, &first);
                    panic!("the first one");
                });
                let u = s.spawn(|| {
                    let _tells = Tells(&n, &second);
                    assert!(!both, "the second one");
                });
                assert!(!std::thread::panicking());
                n.fetch_add(1, SeqCst);
                assert!(!std::thread::panicking() && !thread::panicking());
                assert!(t.join().is_err());
                assert_eq!(u.join().is_err(), both);
                assert!(!std::thread::panicking());
            });
            assert!(first.load(SeqCst));
            assert_eq!(second.load(SeqCst), both);
        });
    }
    assert!(!std::thread::panicking());
}

#[test]
fn a_lock_of_a_user_that_asks_std_is_poisoned_by_its_own_thread_alone() {
    struct Lock {
        locked: Mutex<()>,
        poisoned: AtomicBool,
    }
    struct Guard<'a>(&'a Lock, #[expect(dead_code, reason = "held")] raddle::sync::MutexGuard<'a, ()>);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.poisoned.store(true, SeqCst);
            }
        }
    }
    impl Lock {
        fn new() -> Lock {
            Lock { locked: Mutex::new(()), poisoned: AtomicBool::new(false) }
        }
        fn lock(&self) -> Guard<'_> {
            Guard(self, self.locked.lock().unwrap_or_else(|e| e.into_inner()))
        }
    }
    verified(|| {
        let (a, b) = (Lock::new(), Lock::new());
        thread::scope(|s| {
            let t = s.spawn(|| {
                let _guard = a.lock();
                panic!("with the first lock");
            });
            drop(b.lock());
            drop(b.lock());
            assert!(t.join().is_err());
        });
        assert!(a.poisoned.load(SeqCst));
        assert!(!b.poisoned.load(SeqCst), "its users did not panic");
    });
}

#[test]
fn a_panic_that_is_caught_leaves_nothing() {
    verified(|| {
        let n = AtomicUsize::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let _tells = Tells(&n, &AtomicBool::new(false));
                    panic!("caught");
                }));
                assert!(caught.is_err());
                n.fetch_add(1, SeqCst);
                assert!(!std::thread::panicking());
            });
            n.fetch_add(1, SeqCst);
            assert!(!std::thread::panicking());
        });
    });
}

/// Stores the keys of a map one after the other, in its order.
fn stores_in_order(n: usize) {
    let map: HashMap<usize, usize> = (0..n).map(|i| (i, i)).collect();
    for key in map.keys() {
        WORD.store(*key, SeqCst);
    }
}

#[test]
fn the_order_of_a_hash_map_that_decides_what_threads_do_is_a_caveat() {
    let report = caveats("optimal", || {
        let other = thread::spawn(|| stores_in_order(8));
        stores_in_order(8);
        other.join().unwrap();
    });
    names(&report, CaveatKind::Inputs, "order of the elements of a hash map");
    // Also if only one thread has a map, and it is a set.
    let report = caveats("optimal", || {
        let other = thread::spawn(|| WORD.load(SeqCst));
        for key in (0..8).collect::<HashSet<usize>>() {
            WORD.store(key, SeqCst);
        }
        other.join().unwrap();
    });
    names(&report, CaveatKind::Inputs, "order of the elements of a hash map");
}

#[test]
fn hash_maps_whose_order_does_not_matter_are_no_caveat() {
    verified(|| {
        let sum = |n: usize| {
            let map: HashMap<usize, usize> = (0..n).map(|i| (i, i)).collect();
            WORD.fetch_add(map.values().sum(), SeqCst);
        };
        let other = thread::spawn(move || sum(5));
        sum(6);
        other.join().unwrap();
        assert_eq!(WORD.load(SeqCst), 25);
    });
}
