//! Loops that look at data under a lock.
#![allow(missing_docs)]

mod common;

use common::{fails_with, found, outcomes_with, plain, verified_with};
use raddle::FailureKind::{Assertion, Livelock};
use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex, RwLock};
use raddle::{Config, thread};
use std::collections::BTreeSet;

/// So that a loop that is not cut ends, and fails.
fn limited() -> Config {
    plain().max_executions(20_000).max_steps(20_000)
}

#[test]
fn two_that_poll_the_same_lock_do_not_wake_each_other() {
    verified_with(limited(), || {
        let m = Mutex::new(false);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while !*m.lock().unwrap() {
                        thread::yield_now();
                    }
                });
            }
            *m.lock().unwrap() = true;
        });
    });
}

#[test]
fn one_that_polls_sees_every_value_that_it_could_see() {
    let seen = outcomes_with(limited(), || {
        let m = Mutex::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                for value in [1, 2, 3] {
                    *m.lock().unwrap() = value;
                }
            });
            loop {
                let value = *m.lock().unwrap();
                if value != 0 {
                    break value;
                }
            }
        })
    });
    assert_eq!(seen, BTreeSet::from([1, 2, 3]));
}

#[test]
fn one_that_polls_two_locks_goes_on_when_either_changes() {
    let seen = outcomes_with(limited(), || {
        let (a, b) = (Mutex::new(false), RwLock::new(false));
        thread::scope(|s| {
            s.spawn(|| *a.lock().unwrap() = true);
            s.spawn(|| *b.write().unwrap() = true);
            loop {
                if *a.lock().unwrap() {
                    break 'a';
                }
                if *b.read().unwrap() {
                    break 'b';
                }
                thread::yield_now();
            }
        })
    });
    assert_eq!(seen, BTreeSet::from(['a', 'b']));
}

#[test]
fn a_change_before_a_wait_is_a_change() {
    verified_with(limited(), || {
        let (m, c) = (Mutex::new((false, false)), Condvar::new());
        thread::scope(|s| {
            s.spawn(|| {
                let mut guard = m.lock().unwrap();
                guard.0 = true;
                while !guard.1 {
                    guard = c.wait(guard).unwrap();
                }
            });
            while !m.lock().unwrap().0 {
                thread::yield_now();
            }
            m.lock().unwrap().1 = true;
            c.notify_one();
        });
    });
}

#[test]
fn polling_for_what_never_comes_is_a_livelock() {
    let failure = fails_with(limited(), Livelock, || {
        let m = Mutex::new(false);
        thread::scope(|s| {
            s.spawn(|| *m.lock().unwrap() = false);
            while !*m.lock().unwrap() {
                thread::yield_now();
            }
        });
    });
    assert!(failure.message.contains("what mutex #1 guards"), "{}", failure.message);
}

#[test]
fn a_loop_that_ends_when_a_try_fails_ends() {
    verified_with(limited(), || {
        let (m, seen) = (Mutex::new(0), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                let _guard = m.lock().unwrap();
                while !seen.load(SeqCst) {
                    thread::yield_now();
                }
            });
            while m.try_lock().is_ok() {
                thread::yield_now();
            }
            seen.store(true, SeqCst);
        });
    });
    verified_with(limited(), || {
        let (l, seen) = (RwLock::new(0), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                let _guard = l.write().unwrap();
                while !seen.load(SeqCst) {
                    thread::yield_now();
                }
            });
            while l.try_read().is_ok() {
                thread::yield_now();
            }
            seen.store(true, SeqCst);
        });
    });
    verified_with(limited(), || {
        let (l, seen) = (RwLock::new(0), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                let _guard = l.read().unwrap();
                while !seen.load(SeqCst) {
                    thread::yield_now();
                }
            });
            while l.try_write().is_ok() {
                thread::yield_now();
            }
            seen.store(true, SeqCst);
        });
    });
}

#[test]
fn a_try_that_fails_after_some_that_did_not_is_explored() {
    let seen = outcomes_with(limited(), || {
        let m = Mutex::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                drop(m.lock().unwrap());
                *m.lock().unwrap() = 1;
            });
            let mut before = 0;
            loop {
                match m.try_lock() {
                    Err(_) => return ("held", before),
                    Ok(guard) if *guard == 1 => return ("ready", before),
                    Ok(_) => before = 1,
                }
                thread::yield_now();
            }
        })
    });
    assert_eq!(seen, BTreeSet::from([("held", 0), ("held", 1), ("ready", 0), ("ready", 1)]));
}

#[test]
fn tries_that_succeed_for_ever_are_a_livelock() {
    fails_with(limited(), Livelock, || {
        let m = Mutex::new(0);
        thread::scope(|s| {
            s.spawn(|| drop(m.lock().unwrap()));
            while m.try_lock().is_ok() {
                thread::yield_now();
            }
        });
    });
    fails_with(limited(), Livelock, || {
        let l = RwLock::new(0);
        thread::scope(|s| {
            s.spawn(|| drop(l.read().unwrap()));
            while l.try_read().is_ok() {
                thread::yield_now();
            }
        });
    });
}

/// Tries that all fail because another thread looks again and again.
fn tries_while_another_polls() {
    let (m, tries) = (Mutex::new(false), Mutex::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            let mut failed = 0;
            for _ in 0..4 {
                failed += m.try_lock().is_err() as u32;
                *tries.lock().unwrap() += 1;
            }
            assert!(failed < 4);
            *m.lock().unwrap() = true;
        });
        while !*m.lock().unwrap() {
            thread::yield_now();
        }
    });
}

#[test]
fn where_others_try_the_lock_nothing_is_cut_and_nothing_claimed() {
    // Each failed try needs another round of the one that polls: cutting its rounds would lose the failure.
    let report = limited().max_executions(2_000).run(tries_while_another_polls);
    assert!(!report.passed(), "{}", report.guarantee);
}

fn breaks_after_polling() {
    let m = Mutex::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            *m.lock().unwrap() = 1;
            *m.lock().unwrap() = 2;
        });
        let seen = loop {
            let value = *m.lock().unwrap();
            if value != 0 {
                break value;
            }
        };
        assert_eq!(seen, 2);
    });
}

#[test]
fn a_failure_after_polling_is_found_shown_and_replayed() {
    let failure = found(Assertion, breaks_after_polling);
    assert!(failure.trace.iter().any(|s| s.operation == "change"), "{:#?}", failure.trace);
}

/// A loop that looks at a count sees what its own steps saw, and not what other threads have made of the real count since.
#[test]
fn a_count_is_polled_with_several_pauses_in_a_turn() {
    use raddle::hint::spin_loop;
    use raddle::sync::Arc;
    use raddle::thread::{spawn, yield_now};
    let verified = |test: fn()| {
        let report = raddle::Config::new().quiet(true).run(test);
        assert_eq!(report.verdict, raddle::Verdict::Verified, "{report:?}");
    };
    verified(|| {
        let mine = Arc::new(());
        let other = mine.clone();
        let t = spawn(move || drop(other));
        while Arc::strong_count(&mine) > 1 {
            spin_loop();
            spin_loop();
        }
        t.join().unwrap();
    });
    verified(|| {
        let strong = Arc::new(());
        let weak = Arc::downgrade(&strong);
        let t = spawn(move || drop(strong));
        while weak.strong_count() > 0 {
            spin_loop();
            yield_now();
        }
        t.join().unwrap();
    });
    verified(|| {
        let mut mine = Arc::new(1);
        let other = mine.clone();
        let t = spawn(move || drop(other));
        while Arc::get_mut(&mut mine).is_none() {
            yield_now();
            yield_now();
        }
        t.join().unwrap();
    });
}
