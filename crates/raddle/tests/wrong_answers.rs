//! Questions that other checkers of Rust programs were seen to answer wrongly, with the right answers.
//!
//! They miss behaviours, raise false alarms, do not end, or do not have what std has. What needs a weak memory model is not here:
//! memory is sequentially consistent.

mod common;

use common::{
    default, fails, fails_with, found, outcomes, outcomes_with, plain, says, verified, verified_with,
};
use raddle::FailureKind::{Assertion, DataRace, Deadlock, Leak, Panic};
use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*, fence};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use raddle::{hint, thread};
use std::collections::BTreeSet;
use std::time::Duration;

/// Two threads, each of which does one of these with its number; what they give.
fn both<T: Send>(f: impl Fn(usize) -> T + Sync) -> (T, T) {
    thread::scope(|s| {
        let f = &f;
        let other = s.spawn(move || f(1));
        (f(0), other.join().unwrap())
    })
}

#[test]
fn store_buffering_with_sequentially_consistent_accesses_never_gives_two_zeros() {
    let seen = outcomes(|| {
        let x = [AtomicUsize::new(0), AtomicUsize::new(0)];
        both(|i| {
            x[i].store(1, SeqCst);
            x[1 - i].load(SeqCst)
        })
    });
    assert_eq!(seen, BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
}

#[test]
fn store_buffering_with_sequentially_consistent_fences_never_gives_two_zeros() {
    let seen = outcomes(|| {
        let x = [AtomicUsize::new(0), AtomicUsize::new(0)];
        both(|i| {
            x[i].store(1, Relaxed);
            fence(SeqCst);
            x[1 - i].load(Relaxed)
        })
    });
    assert_eq!(seen, BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
}

#[test]
fn a_swap_and_a_store_are_atomic() {
    // The swap comes before the store or after it; it never takes what the store overwrites afterwards.
    let seen = outcomes(|| {
        let x = AtomicUsize::new(0);
        let old = thread::scope(|s| {
            s.spawn(|| x.store(1, Release));
            x.swap(2, AcqRel)
        });
        (old, x.into_inner())
    });
    assert_eq!(seen, BTreeSet::from([(0, 1), (1, 2)]));
}

#[test]
fn a_load_that_adds_nothing_loses_no_outcome() {
    let program = |redundant: bool| {
        outcomes(move || {
            let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
            thread::scope(|s| {
                s.spawn(|| x.store(1, Relaxed));
                s.spawn(|| y.store(1, Relaxed));
                if redundant {
                    x.load(Relaxed);
                }
                (x.load(Relaxed), y.load(Relaxed))
            })
        })
    };
    let all = BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!(program(false), all);
    assert_eq!(program(true), all);
}

#[test]
fn two_try_locks_do_not_deadlock() {
    let seen = outcomes(|| {
        let m = Mutex::new(());
        both(|_| m.try_lock().is_ok())
    });
    assert_eq!(seen, BTreeSet::from([(false, true), (true, false), (true, true)]));
    // In opposite orders, too.
    verified(|| {
        let m = [Mutex::new(()), Mutex::new(())];
        both(|i| {
            let first = m[i].try_lock();
            let second = m[1 - i].try_lock();
            first.is_ok() && second.is_ok()
        });
    });
}

#[test]
fn waiting_on_a_condition_does_not_take_the_token_of_park() {
    verified(|| {
        let (m, c) = (Mutex::new(false), Condvar::new());
        thread::scope(|s| {
            let parker = s.spawn(|| {
                let mut ready = m.lock().unwrap();
                while !*ready {
                    ready = c.wait(ready).unwrap();
                }
                drop(ready);
                thread::park();
            });
            // The token comes before, while, or after it waits for the condition.
            parker.thread().unpark();
            *m.lock().unwrap() = true;
            c.notify_one();
        });
    });
}

#[test]
fn a_weak_compare_exchange_may_fail_for_no_reason() {
    let once = || AtomicUsize::new(0).compare_exchange_weak(0, 1, SeqCst, SeqCst);
    assert_eq!(outcomes_with(default(), once), BTreeSet::from([Ok(0), Err(0)]));
    assert_eq!(outcomes(once), BTreeSet::from([Ok(0)]));
    // A loop that tries again is right, and its check ends.
    verified(|| {
        let x = AtomicUsize::new(0);
        both(|_| {
            let mut now = x.load(Relaxed);
            while let Err(other) = x.compare_exchange_weak(now, now + 1, SeqCst, Relaxed) {
                now = other;
            }
        });
        assert_eq!(x.into_inner(), 2);
    });
    // One that takes a failure for a change is not.
    found(Panic, || {
        let x = AtomicUsize::new(0);
        if let Err(seen) = x.compare_exchange_weak(0, 1, SeqCst, SeqCst) {
            assert!(seen != 0, "somebody else was faster");
        }
    });
}

/// One waits until it is ready, looking again after each wake-up or not.
fn hand_over(look_again: bool) {
    let (m, c) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            *m.lock().unwrap() = true;
            c.notify_one();
        });
        let mut ready = m.lock().unwrap();
        if look_again {
            while !*ready {
                ready = c.wait(ready).unwrap();
            }
        } else if !*ready {
            ready = c.wait(ready).unwrap();
        }
        assert!(*ready, "woken before it is ready");
    });
}

#[test]
fn a_wait_under_an_if_instead_of_a_while_is_caught() {
    verified(|| hand_over(true));
    says(&found(Panic, || hand_over(false)).message, &["woken before it is ready"]);
    // Only a wake-up for no reason shows it here.
    verified_with(plain(), || hand_over(false));
}

#[test]
fn a_wait_under_an_if_is_caught_without_spurious_wake_ups_when_another_can_take_the_message() {
    let program = || {
        let (m, c) = (Mutex::new(0), Condvar::new());
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let mut messages = m.lock().unwrap();
                    if *messages == 0 {
                        messages = c.wait(messages).unwrap();
                    }
                    *messages =
                        i32::checked_sub(*messages, 1).filter(|n| *n >= 0).expect("there is a message");
                });
            }
            for _ in 0..2 {
                *m.lock().unwrap() += 1;
                c.notify_one();
            }
        });
    };
    fails_with(plain(), Panic, program);
}

#[test]
fn a_wait_with_a_timeout_may_time_out_and_may_not() {
    let wait = || {
        let (m, c) = (Mutex::new(false), Condvar::new());
        thread::scope(|s| {
            s.spawn(|| {
                *m.lock().unwrap() = true;
                c.notify_one();
            });
            let ready = m.lock().unwrap();
            if *ready {
                return None;
            }
            let (ready, result) = c.wait_timeout(ready, Duration::from_secs(3600)).unwrap();
            Some((*ready, result.timed_out()))
        })
    };
    // Not waited at all; notified; timed out before, and after, the other one was there.
    let seen = outcomes(wait);
    assert_eq!(seen, BTreeSet::from([None, Some((false, true)), Some((true, false)), Some((true, true))]));
    // And when nobody ever notifies, it is no deadlock.
    verified(|| {
        let (m, c) = (Mutex::new(()), Condvar::new());
        let (_guard, result) =
            c.wait_timeout_while(m.lock().unwrap(), Duration::from_secs(3600), |()| true).unwrap();
        assert!(result.timed_out());
    });
}

#[test]
fn notify_one_may_wake_the_one_that_came_later() {
    // The first to wait is the first to be woken in some executions, and the second in others.
    let seen = outcomes(|| {
        let state = Mutex::new((Vec::new(), Vec::new()));
        let (c, coming) = (Condvar::new(), AtomicUsize::new(0));
        thread::scope(|s| {
            for i in 0..2 {
                let (state, c, coming) = (&state, &c, &coming);
                s.spawn(move || {
                    let mut g = state.lock().unwrap();
                    g.0.push(i);
                    coming.fetch_add(1, SeqCst);
                    g = c.wait(g).unwrap();
                    g.1.push(i);
                    drop(g);
                    c.notify_one();
                });
            }
            while coming.load(SeqCst) < 2 {
                thread::yield_now();
            }
            // Who has this lock knows that both wait.
            let _both_wait = state.lock().unwrap();
            c.notify_one();
        });
        let (came, woken) = state.into_inner().unwrap();
        came == woken
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn when_all_senders_are_gone_a_receiver_gets_an_error() {
    verified(|| {
        let (tx, rx) = mpsc::channel::<u32>();
        thread::scope(|s| {
            let other = tx.clone();
            s.spawn(move || drop(tx));
            s.spawn(move || drop(other));
            assert_eq!(rx.recv(), Err(mpsc::RecvError));
        });
    });
    verified(|| {
        let (tx, rx) = mpsc::channel();
        let sender = thread::spawn(move || tx.send(1).unwrap());
        assert_eq!(rx.iter().collect::<Vec<_>>(), [1]);
        sender.join().unwrap();
    });
    // One that is kept by mistake is a deadlock, and the report says what is waited for.
    let failure = fails(Deadlock, || {
        let (tx, rx) = mpsc::channel();
        let other = tx.clone();
        thread::spawn(move || other.send(1).unwrap());
        assert_eq!(rx.iter().count(), 1);
        drop(tx);
    });
    says(&failure.message, &["waits for a message", "1 living sender"]);
}

#[test]
fn a_spin_lock_with_nothing_in_its_loop_ends() {
    for threads in [2, 3] {
        verified(move || {
            let (lock, n) = (AtomicBool::new(false), AtomicUsize::new(0));
            thread::scope(|s| {
                for _ in 0..threads {
                    s.spawn(|| {
                        while lock.swap(true, Acquire) {}
                        n.store(n.load(Relaxed) + 1, Relaxed);
                        lock.store(false, Release);
                    });
                }
            });
            assert_eq!(n.into_inner(), threads);
        });
    }
}

#[test]
fn waiting_for_a_flag_ends_with_a_hint_with_a_yield_and_with_nothing() {
    let waits: [fn(); 3] = [|| (), hint::spin_loop, thread::yield_now];
    for wait in waits {
        verified(move || {
            let flag = AtomicBool::new(false);
            thread::scope(|s| {
                s.spawn(|| flag.store(true, Release));
                while !flag.load(Acquire) {
                    wait();
                }
            });
        });
    }
}

/// Runs a program that looks again and again; should its check not end by itself, it stops and fails.
#[track_caller]
fn polling_ends(f: impl Fn()) {
    verified_with(plain().max_executions(2_000).max_steps(20_000), f);
}

#[test]
fn waiting_for_a_thread_or_a_message_by_looking_again_ends() {
    polling_ends(|| {
        let thread = thread::spawn(|| ());
        while !thread.is_finished() {
            thread::yield_now();
        }
    });
    polling_ends(|| {
        let (tx, rx) = mpsc::channel();
        let sender = thread::spawn(move || tx.send(1).unwrap());
        while rx.try_recv().is_err() {
            thread::yield_now();
        }
        sender.join().unwrap();
    });
    polling_ends(|| {
        let (one, other) = {
            let a = Arc::new(0);
            (a.clone(), a)
        };
        thread::spawn(move || drop(other));
        while Arc::strong_count(&one) > 1 {
            thread::yield_now();
        }
    });
}

#[test]
fn waiting_for_a_value_under_a_lock_by_looking_again_ends() {
    polling_ends(|| {
        let m = Mutex::new(false);
        thread::scope(|s| {
            s.spawn(|| *m.lock().unwrap() = true);
            while !*m.lock().unwrap() {
                thread::yield_now();
            }
        });
    });
    polling_ends(|| {
        let m = RwLock::new(false);
        thread::scope(|s| {
            s.spawn(|| *m.write().unwrap() = true);
            while !*m.read().unwrap() {
                thread::yield_now();
            }
        });
    });
    polling_ends(|| {
        let m = Mutex::new(false);
        thread::scope(|s| {
            s.spawn(|| *m.lock().unwrap() = true);
            while !m.try_lock().is_ok_and(|ready| *ready) {
                thread::yield_now();
            }
        });
    });
}

#[test]
fn waiting_for_a_value_under_a_lock_with_nothing_in_the_loop_ends() {
    polling_ends(|| {
        let m = Mutex::new(false);
        thread::scope(|s| {
            s.spawn(|| *m.lock().unwrap() = true);
            while !*m.lock().unwrap() {}
        });
    });
}

#[test]
fn a_loop_that_waits_for_either_of_two_words_ends_also_when_one_comes_back() {
    let one_comes_back = || {
        let (x, y) = (AtomicUsize::new(1), AtomicUsize::new(1));
        thread::scope(|s| {
            s.spawn(|| {
                x.store(0, SeqCst);
                x.store(1, SeqCst);
                y.store(0, SeqCst);
            });
            while x.load(SeqCst) == 1 && y.load(SeqCst) == 1 {}
        });
    };
    let of_two_writers = || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                x.store(1, SeqCst);
                x.store(0, SeqCst);
            });
            s.spawn(|| y.store(1, SeqCst));
            while x.load(SeqCst) == 0 && y.load(SeqCst) == 0 {}
        });
    };
    let programs: [&dyn Fn(); 2] = [&one_comes_back, &of_two_writers];
    for program in programs {
        // All of these complete each class once.
        let all = ["sleep", "dpor", "source", "optimal"];
        let counts = all.map(|a| verified_with(plain().algorithm(a), program).stats.executions);
        assert_eq!(counts, [counts[0]; 4], "{all:?}");
    }
}

#[test]
fn six_threads_can_be_spawned() {
    // By construction: 6! orders.
    let report = verified_with(plain(), || {
        let n = std::sync::Arc::new(AtomicUsize::new(0));
        let threads: [_; 6] = std::array::from_fn(|_| {
            let n = n.clone();
            thread::spawn(move || n.fetch_add(1, SeqCst))
        });
        let mut seen = threads.map(|t| t.join().unwrap());
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
    });
    assert_eq!((report.stats.executions, report.stats.threads), (720, 7));
}

#[test]
fn a_barrier_lets_all_through_together() {
    verified(|| {
        let (barrier, before) = (Barrier::new(3), AtomicUsize::new(0));
        let leaders = thread::scope(|s| {
            let threads: [_; 3] = std::array::from_fn(|_| {
                s.spawn(|| {
                    before.fetch_add(1, SeqCst);
                    let leads = barrier.wait().is_leader();
                    assert_eq!(before.load(SeqCst), 3);
                    leads
                })
            });
            threads.map(|t| t.join().unwrap())
        });
        assert_eq!(leaders.iter().filter(|leads| **leads).count(), 1);
    });
    let failure = fails(Deadlock, || {
        let barrier = Arc::new(Barrier::new(3));
        let other = thread::spawn({
            let barrier = barrier.clone();
            move || {
                barrier.wait();
            }
        });
        barrier.wait();
        other.join().unwrap();
    });
    says(&failure.message, &["deadlock", "waits at barrier", "2 have arrived"]);
}

#[test]
fn a_panic_in_a_thread_is_an_error_of_its_join() {
    verified(|| {
        let panics = thread::spawn(|| panic!("as it should"));
        let payload = panics.join().unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"as it should"));
    });
    // One that nobody looks at is a failure of the test, with the place of the panic.
    let failure = fails(Panic, || {
        thread::spawn(|| panic!("nobody looks"));
    });
    says(&failure.message, &["nobody looks"]);
    assert!(failure.location.is_some_and(|l| l.contains("wrong_answers.rs")));
    // Passed on by the one who joins, the first panic is what is reported.
    let failure = fails(Assertion, || thread::spawn(|| assert_eq!(1, 2)).join().unwrap());
    says(&failure.message, &["left: 1"]);
}

#[test]
fn an_arc_that_is_never_dropped_is_a_leak() {
    let failure = fails(Leak, || std::mem::forget(Arc::new(1)));
    says(&failure.message, &["never dropped", "1 reference", "wrong_answers.rs"]);
    // A cycle, in one schedule of two.
    struct Looped(Mutex<Option<Arc<Looped>>>);
    let failure = fails(Leak, || {
        let (a, keep) = (Arc::new(Looped(Mutex::new(None))), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| keep.store(true, SeqCst));
            if keep.load(SeqCst) {
                *a.0.lock().unwrap() = Some(a.clone());
            }
        });
    });
    says(&failure.message, &["never dropped"]);
    verified_with(default().leaks(false), || std::mem::forget(Arc::new(1)));
}

#[test]
fn a_race_on_a_cell_is_found_also_when_the_schedule_orders_it() {
    struct Shared(UnsafeCell<usize>);
    // SAFETY: the point of the test is that it is not; accesses are checked.
    unsafe impl Sync for Shared {}
    let publish = |store, load| {
        let (cell, flag) = (Shared(UnsafeCell::new(0)), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                let cell = &cell;
                // SAFETY: checked by raddle.
                cell.0.with_mut(|p| unsafe { *p = 1 });
                flag.store(true, store);
            });
            if flag.load(load) {
                // SAFETY: checked by raddle.
                assert_eq!(cell.0.with(|p| unsafe { *p }), 1);
            }
        });
    };
    verified(|| publish(Release, Acquire));
    found(DataRace, || publish(Relaxed, Acquire));
    found(DataRace, || publish(Release, Relaxed));
}

#[test]
fn a_compare_exchange_that_fails_orders_what_its_failure_order_says() {
    struct Shared(UnsafeCell<usize>);
    // SAFETY: the point of the test is that it is not; accesses are checked.
    unsafe impl Sync for Shared {}
    let publish = |success, failure| {
        let (cell, flag) = (Shared(UnsafeCell::new(0)), AtomicUsize::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                let cell = &cell;
                // SAFETY: checked by raddle.
                cell.0.with_mut(|p| unsafe { *p = 1 });
                flag.store(1, Release);
            });
            if flag.compare_exchange(0, 2, success, failure).is_err() {
                // SAFETY: checked by raddle.
                assert_eq!(cell.0.with(|p| unsafe { *p }), 1);
            }
        });
    };
    verified(|| publish(Acquire, Acquire));
    verified(|| publish(Relaxed, Acquire));
    verified(|| publish(Release, Acquire));
    found(DataRace, || publish(Acquire, Relaxed));
    found(DataRace, || publish(SeqCst, Relaxed));
}

#[test]
fn an_execution_that_ends_before_its_schedule_is_over_is_not_explored() {
    let first = std::cell::Cell::new(true);
    let report = default().run(|| {
        if first.replace(false) {
            let x = AtomicUsize::new(0);
            let (a, b) = both(|_| x.fetch_add(1, SeqCst));
            assert_ne!(a, b);
        }
    });
    assert_eq!(report.verdict, raddle::Verdict::Failure, "{}", report.guarantee);
    assert_eq!(report.failures[0].kind, raddle::FailureKind::Nondeterminism);
    assert!(report.failures[0].message.contains("over before that step"), "{}", report.failures[0].message);
}

#[test]
fn a_choice_of_many_takes_time_in_proportion() {
    // It took minutes when each outcome looked at all pairs of earlier ones.
    let report = default().run(|| assert!(raddle::choose(4000) < 4000));
    assert_eq!((report.verdict, report.stats.executions), (raddle::Verdict::Verified, 4000));
}
