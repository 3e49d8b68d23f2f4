//! What the types do, as sets of outcomes over all executions.
//!
//! Each test runs a program under the optimal search and compares the set of what it can give with what std allows: no
//! outcome too few, none too many.

use raddle::Config;
use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::*};
use raddle::sync::mpsc::{self, RecvTimeoutError, TryRecvError, TrySendError};
use raddle::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, TryLockError, Weak,
};
use raddle::thread;
use std::collections::BTreeSet;
use std::sync::Mutex as RealMutex;
use std::time::Duration;

/// Without spurious wake-ups and failures: most tests are about something else.
fn plain() -> Config {
    Config::new().algorithm("optimal").spurious_wakeups(false).spurious_failures(false).quiet(true)
}

/// Everything `f` can give. It must not fail.
fn outcomes_with<T: Ord>(config: Config, f: impl Fn() -> T) -> BTreeSet<T> {
    let seen = Box::new(RealMutex::new(BTreeSet::new()));
    let report = config.run(|| {
        let outcome = f();
        seen.lock().unwrap().insert(outcome);
    });
    assert!(report.passed(), "{:?} {:#?}", report.verdict, report.failures);
    seen.into_inner().unwrap()
}

#[track_caller]
fn assert_outcomes<T: Ord + std::fmt::Debug, const N: usize>(f: impl Fn() -> T, expected: [T; N]) {
    assert_eq!(outcomes_with(plain(), f), BTreeSet::from(expected));
}

/// Every execution is fine.
fn holds(f: impl Fn()) {
    outcomes_with(plain(), f);
}

/// The kinds of what goes wrong.
fn failures(f: impl Fn()) -> BTreeSet<&'static str> {
    plain().keep_going(true).run(f).failures.iter().map(|failure| failure.kind.name()).collect()
}

/// What a thread panicked with.
fn message(result: thread::Result<()>) -> String {
    let payload = result.expect_err("the thread panicked");
    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a text")
}

mod mutex {
    use super::*;

    #[test]
    fn a_panic_while_it_is_held_poisons_it() {
        holds(|| {
            let m = Arc::new(Mutex::new(1));
            assert!(!m.is_poisoned());
            let panics = thread::spawn({
                let m = m.clone();
                move || {
                    let mut guard = m.lock().unwrap();
                    *guard = 2;
                    panic!("while it is held");
                }
            });
            assert_eq!(message(panics.join()), "while it is held");
            assert!(m.is_poisoned());
            assert_eq!(**m.lock().unwrap_err().get_ref(), 2);
            assert!(matches!(m.try_lock(), Err(TryLockError::Poisoned(_))));
            m.clear_poison();
            assert_eq!(*m.lock().unwrap(), 2);
        });
    }

    #[test]
    fn a_guard_taken_while_panicking_does_not_poison() {
        struct LocksInDrop(Arc<Mutex<i32>>);
        impl Drop for LocksInDrop {
            fn drop(&mut self) {
                assert!(thread::panicking());
                *self.0.lock().unwrap() += 1;
            }
        }
        holds(|| {
            let m = Arc::new(Mutex::new(0));
            let held = LocksInDrop(m.clone());
            let panics = thread::spawn(move || {
                let _held = held;
                panic!("no");
            });
            assert!(panics.join().is_err());
            assert_eq!(*m.lock().unwrap(), 1);
        });
    }

    #[test]
    fn poison_is_seen_by_who_comes_later_and_only_by_them() {
        assert_outcomes(
            || {
                let m = Arc::new(Mutex::new(()));
                let panics = thread::spawn({
                    let m = m.clone();
                    move || {
                        let _guard = m.lock().unwrap();
                        panic!("no");
                    }
                });
                let seen = m.is_poisoned();
                panics.join().unwrap_err();
                seen
            },
            [false, true],
        );
    }

    #[test]
    fn poison_stays_with_the_value() {
        holds(|| {
            let mut m = Mutex::new(5);
            thread::scope(|s| {
                let panics = s.spawn(|| {
                    let _guard = m.lock().unwrap();
                    panic!("no");
                });
                panics.join().unwrap_err();
            });
            assert_eq!(**m.get_mut().unwrap_err().get_ref(), 5);
            assert_eq!(m.into_inner().unwrap_err().into_inner(), 5);
        });
    }

    #[test]
    fn locking_twice_is_a_deadlock() {
        let twice = || {
            let m = Mutex::new(());
            let _first = m.lock().unwrap();
            let _second = m.lock().unwrap();
        };
        assert_eq!(failures(twice), BTreeSet::from(["deadlock"]));
    }

    #[test]
    fn try_lock_fails_exactly_while_another_holds_it() {
        assert_outcomes(
            || {
                let m = Arc::new(Mutex::new(()));
                let other = thread::spawn({
                    let m = m.clone();
                    move || drop(m.lock().unwrap())
                });
                let got = m.try_lock().is_ok();
                other.join().unwrap();
                assert!(m.try_lock().is_ok());
                got
            },
            [false, true],
        );
    }

    #[test]
    fn an_unsized_one_works() {
        holds(|| {
            let m: &Mutex<[i32]> = &Mutex::new([1, 2, 3]);
            m.lock().unwrap()[1] = 5;
            assert_eq!(*m.lock().unwrap(), [1, 5, 3]);
        });
    }
}

mod rwlock {
    use super::*;

    #[test]
    fn readers_hold_it_together() {
        holds(|| {
            let lock = Arc::new(RwLock::new(1));
            let both = Arc::new(Barrier::new(2));
            let other = thread::spawn({
                let (lock, both) = (lock.clone(), both.clone());
                move || {
                    let value = lock.read().unwrap();
                    both.wait();
                    *value
                }
            });
            let value = lock.read().unwrap();
            // Nobody gets here unless both are in.
            both.wait();
            assert_eq!(*value + other.join().unwrap(), 2);
        });
    }

    #[test]
    fn a_writer_keeps_all_others_out() {
        assert_outcomes(
            || {
                let lock = Arc::new(RwLock::new(0));
                let writer = thread::spawn({
                    let lock = lock.clone();
                    move || {
                        let mut value = lock.write().unwrap();
                        *value = 1;
                        *value = 2;
                    }
                });
                let read = lock.try_read().ok().map(|value| *value);
                writer.join().unwrap();
                read
            },
            [None, Some(0), Some(2)],
        );
    }

    #[test]
    fn a_reader_keeps_writers_out_and_no_other_reader() {
        holds(|| {
            let lock = RwLock::new(0);
            let _reader = lock.read().unwrap();
            assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
            assert!(lock.try_read().is_ok());
        });
    }

    #[test]
    fn only_a_writer_that_panics_poisons_it() {
        holds(|| {
            let lock = Arc::new(RwLock::new(0));
            let panic_with = |write: bool| {
                let lock = lock.clone();
                let panics = thread::spawn(move || {
                    let _guards = if write {
                        (Some(lock.write().unwrap()), None)
                    } else {
                        (None, Some(lock.read().unwrap()))
                    };
                    panic!("no");
                });
                panics.join().unwrap_err();
            };
            panic_with(false);
            assert!(!lock.is_poisoned() && lock.read().is_ok());
            panic_with(true);
            assert!(lock.is_poisoned() && lock.read().is_err() && lock.write().is_err());
            lock.clear_poison();
            assert!(lock.read().is_ok());
        });
    }

    #[test]
    fn no_writer_comes_between_when_a_writer_becomes_a_reader() {
        holds(|| {
            let lock = Arc::new(RwLock::new(0));
            let other = thread::spawn({
                let lock = lock.clone();
                move || *lock.write().unwrap() = 9
            });
            let mut writer = lock.write().unwrap();
            *writer = 1;
            let reader = RwLockWriteGuard::downgrade(writer);
            assert_eq!(*reader, 1);
            // It fails if the other writer waits.
            assert!(lock.try_read().is_ok_and(|second| *second == 1) || lock.try_read().is_err());
            drop(reader);
            other.join().unwrap();
        });
    }
}

mod condvar {
    use super::*;

    #[test]
    fn notify_one_may_wake_any_waiter() {
        struct State {
            waiting: u32,
            woken: Vec<u32>,
        }
        assert_outcomes(
            || {
                let shared = Arc::new((Mutex::new(State { waiting: 0, woken: Vec::new() }), Condvar::new()));
                let waiters: Vec<_> = (0..2)
                    .map(|me| {
                        let shared = shared.clone();
                        thread::spawn(move || {
                            let mut state = shared.0.lock().unwrap();
                            state.waiting += 1;
                            state = shared.1.wait(state).unwrap();
                            state.woken.push(me);
                        })
                    })
                    .collect();
                // Only executions in which both wait when they are notified.
                raddle::assume(shared.0.lock().unwrap().waiting == 2);
                shared.1.notify_one();
                shared.1.notify_one();
                for waiter in waiters {
                    waiter.join().unwrap();
                }
                let state = shared.0.lock().unwrap();
                state.woken.clone()
            },
            [vec![0, 1], vec![1, 0]],
        );
    }

    #[test]
    fn who_is_woken_by_one_notification_is_any_and_only_one() {
        assert_outcomes(
            || {
                let shared = Arc::new((Mutex::new((0, Vec::new(), false)), Condvar::new()));
                let waiters: Vec<_> = (0..2)
                    .map(|me| {
                        let shared = shared.clone();
                        thread::spawn(move || {
                            let mut state = shared.0.lock().unwrap();
                            state.0 += 1;
                            state = shared.1.wait(state).unwrap();
                            if !state.2 {
                                state.1.push(me);
                            }
                        })
                    })
                    .collect();
                raddle::assume(shared.0.lock().unwrap().0 == 2);
                shared.1.notify_one();
                let mut state = shared.0.lock().unwrap();
                let woken = state.1.clone();
                state.2 = true;
                drop(state);
                shared.1.notify_all();
                for waiter in waiters {
                    waiter.join().unwrap();
                }
                woken
            },
            [vec![], vec![0], vec![1]],
        );
    }

    /// Waits once, with `if` where it must be `while`. Says whether what it waited for had happened.
    fn waits_once() -> bool {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let setter = thread::spawn({
            let shared = shared.clone();
            move || {
                *shared.0.lock().unwrap() = true;
                shared.1.notify_one();
            }
        });
        let mut ready = shared.0.lock().unwrap();
        if !*ready {
            ready = shared.1.wait(ready).unwrap();
        }
        let seen = *ready;
        drop(ready);
        setter.join().unwrap();
        seen
    }

    #[test]
    fn a_wait_may_end_for_no_reason_unless_that_is_turned_off() {
        assert_eq!(outcomes_with(plain(), waits_once), BTreeSet::from([true]));
        assert_eq!(outcomes_with(plain().spurious_wakeups(true), waits_once), BTreeSet::from([false, true]));
    }

    #[test]
    fn waiting_in_a_loop_is_right_with_spurious_wake_ups() {
        let right = || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let setter = thread::spawn({
                let shared = shared.clone();
                move || {
                    *shared.0.lock().unwrap() = true;
                    shared.1.notify_one();
                }
            });
            let guard = shared.1.wait_while(shared.0.lock().unwrap(), |ready| !*ready).unwrap();
            assert!(*guard);
            drop(guard);
            setter.join().unwrap();
        };
        outcomes_with(plain().spurious_wakeups(true), right);
    }

    #[test]
    fn a_wait_that_nobody_ends_is_a_deadlock() {
        let lost = || {
            let (m, c) = (Mutex::new(()), Condvar::new());
            c.notify_one();
            drop(c.wait(m.lock().unwrap()).unwrap());
        };
        assert_eq!(failures(lost), BTreeSet::from(["deadlock"]));
    }

    #[test]
    fn a_timed_wait_may_time_out_or_be_notified() {
        assert_outcomes(
            || {
                let shared = Arc::new((Mutex::new(false), Condvar::new()));
                let setter = thread::spawn({
                    let shared = shared.clone();
                    move || {
                        *shared.0.lock().unwrap() = true;
                        shared.1.notify_one();
                    }
                });
                let ready = shared.0.lock().unwrap();
                let outcome = if *ready {
                    None
                } else {
                    let (ready, result) = shared.1.wait_timeout(ready, Duration::from_secs(3600)).unwrap();
                    Some((*ready, result.timed_out()))
                };
                setter.join().unwrap();
                outcome
            },
            // It may also time out and then find that it was set before it got the mutex again.
            [None, Some((false, true)), Some((true, true)), Some((true, false))],
        );
    }

    #[test]
    fn a_timed_wait_alone_times_out() {
        holds(|| {
            let (m, c) = (Mutex::new(()), Condvar::new());
            let (guard, result) = c.wait_timeout(m.lock().unwrap(), Duration::from_millis(1)).unwrap();
            assert!(result.timed_out());
            let (_guard, result) = c.wait_timeout_while(guard, Duration::ZERO, |()| true).unwrap();
            assert!(result.timed_out());
        });
    }

    #[test]
    fn waiting_gives_the_mutex_back_and_sees_its_poison() {
        holds(|| {
            let shared = Arc::new((Mutex::new(()), Condvar::new()));
            let panics = thread::spawn({
                let shared = shared.clone();
                move || {
                    let _guard = shared.0.lock().unwrap();
                    shared.1.notify_one();
                    panic!("while it is held");
                }
            });
            if let Ok(guard) = shared.0.lock() {
                assert!(shared.1.wait(guard).is_err());
            }
            panics.join().unwrap_err();
        });
    }

    #[test]
    fn two_mutexes_at_once_are_refused() {
        let two = || {
            let shared = Arc::new((Mutex::new(()), Mutex::new(()), Condvar::new()));
            let other = thread::spawn({
                let shared = shared.clone();
                move || drop(shared.2.wait(shared.0.lock().unwrap()))
            });
            drop(shared.2.wait(shared.1.lock().unwrap()));
            other.join().unwrap();
        };
        assert!(failures(two).contains("panic"));
    }
}

mod once {
    use super::*;

    #[test]
    fn an_initialiser_runs_once_and_is_done_for_all() {
        static ONCE: Once = Once::new();
        static RUNS: AtomicU32 = AtomicU32::new(0);
        assert_outcomes(
            || {
                assert!(!ONCE.is_completed());
                let init = |me: u32| {
                    let mut mine = None;
                    ONCE.call_once(|| {
                        RUNS.fetch_add(1, Relaxed);
                        mine = Some(me);
                    });
                    assert!(ONCE.is_completed());
                    assert_eq!(RUNS.load(Relaxed), 1);
                    mine
                };
                let other = thread::spawn(move || init(1));
                let here = init(0);
                here.or(other.join().unwrap())
            },
            [Some(0), Some(1)],
        );
    }

    #[test]
    fn a_panic_poisons_it_until_it_is_forced() {
        holds(|| {
            static ONCE: Once = Once::new();
            let panics = || thread::spawn(|| ONCE.call_once(|| panic!("first"))).join();
            assert_eq!(message(panics()), "first");
            assert!(message(panics()).contains("Once instance has previously been poisoned"));
            assert!(!ONCE.is_completed());
            ONCE.call_once_force(|state| assert!(state.is_poisoned()));
            assert!(ONCE.is_completed());
            ONCE.call_once(|| unreachable!());
        });
    }

    #[test]
    fn waiting_for_it_ends_when_it_is_done() {
        static ONCE: Once = Once::new();
        static VALUE: AtomicU32 = AtomicU32::new(0);
        holds(|| {
            let other = thread::spawn(|| ONCE.call_once(|| VALUE.store(1, Relaxed)));
            ONCE.wait();
            assert_eq!(VALUE.load(Relaxed), 1);
            other.join().unwrap();
        });
    }

    #[test]
    fn a_once_lock_in_a_static_is_empty_in_each_execution_and_written_once() {
        static CELL: OnceLock<String> = OnceLock::new();
        assert_outcomes(
            || {
                assert!(CELL.get().is_none());
                let other = thread::spawn(|| CELL.set("there".to_owned()).is_ok());
                let here = CELL.set("here".to_owned()).is_ok();
                assert_ne!(here, other.join().unwrap());
                CELL.get().unwrap().clone()
            },
            ["here".to_owned(), "there".to_owned()],
        );
    }

    #[test]
    fn a_once_lock_waits_for_the_initialiser_of_another() {
        assert_outcomes(
            || {
                let cell = Arc::new(OnceLock::new());
                let other = thread::spawn({
                    let cell = cell.clone();
                    move || *cell.get_or_init(|| 1)
                });
                let here = *cell.get_or_init(|| 2);
                assert_eq!(here, other.join().unwrap());
                here
            },
            [1, 2],
        );
    }

    #[test]
    fn a_once_lock_stays_empty_when_its_initialiser_panics() {
        holds(|| {
            let mut cell = Arc::new(OnceLock::new());
            let panics = thread::spawn({
                let cell = cell.clone();
                move || {
                    cell.get_or_init(|| panic!("no"));
                }
            });
            panics.join().unwrap_err();
            assert!(cell.get().is_none());
            assert_eq!(*cell.get_or_init(|| 5), 5);
            let cell = Arc::get_mut(&mut cell).unwrap();
            assert_eq!(cell.take(), Some(5));
            assert!(cell.get().is_none());
            assert_eq!(cell.set(6), Ok(()));
            assert_eq!(cell.clone().into_inner(), Some(6));
            assert_eq!(OnceLock::from(7).get(), Some(&7));
        });
    }

    #[test]
    fn a_lazy_lock_in_a_static_is_made_once_in_each_execution() {
        static MADE: AtomicU32 = AtomicU32::new(0);
        static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![MADE.fetch_add(1, Relaxed)]);
        holds(|| {
            assert!(LazyLock::get(&LAZY).is_none());
            let other = thread::spawn(|| LAZY[0]);
            assert_eq!(LAZY[0], 0);
            assert_eq!(other.join().unwrap(), 0);
            assert_eq!(MADE.load(Relaxed), 1);
        });
    }

    #[test]
    fn a_lazy_lock_is_poisoned_by_a_panic() {
        static LAZY: LazyLock<u32> = LazyLock::new(|| panic!("first"));
        holds(|| {
            let panics = || thread::spawn(|| drop(LazyLock::force(&LAZY).to_string())).join();
            assert_eq!(message(panics()), "first");
            assert!(message(panics()).contains("LazyLock instance has previously been poisoned"));
        });
    }

    #[test]
    fn a_lazy_lock_can_be_owned() {
        holds(|| {
            let n = 5;
            let mut lazy = LazyLock::new(|| n + 1);
            assert_eq!(LazyLock::get_mut(&mut lazy), None);
            *LazyLock::force_mut(&mut lazy) += 1;
            assert_eq!(*lazy, 7);
            *lazy += 1;
            assert_eq!(LazyLock::get(&lazy), Some(&8));
        });
    }
}

mod statics {
    use super::*;

    #[test]
    fn every_const_constructor_works_and_starts_afresh_in_each_execution() {
        static ATOMIC: AtomicU32 = AtomicU32::new(3);
        static POINTER: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
        static MUTEX: Mutex<Vec<u32>> = Mutex::new(Vec::new());
        static LOCK: RwLock<Option<Box<u32>>> = RwLock::new(None);
        static CONDVAR: Condvar = Condvar::new();
        static BARRIER: Barrier = Barrier::new(2);
        static WEAK: Mutex<Weak<u32>> = Mutex::new(Weak::new());
        static ARC: Mutex<Option<Arc<u32>>> = Mutex::new(None);
        holds(|| {
            assert_eq!(ATOMIC.fetch_add(1, Relaxed), 3);
            assert!(POINTER.swap(Box::leak(Box::new(0)), Relaxed).is_null());
            // SAFETY: it was leaked above and is not used again.
            drop(unsafe { Box::from_raw(POINTER.swap(std::ptr::null_mut(), Relaxed)) });
            MUTEX.lock().unwrap().push(1);
            assert_eq!(MUTEX.lock().unwrap().len(), 1);
            assert_eq!(LOCK.write().unwrap().replace(Box::new(1)), None);
            CONDVAR.notify_all();
            let other = thread::spawn(|| BARRIER.wait().is_leader());
            assert_ne!(BARRIER.wait().is_leader(), other.join().unwrap());
            assert!(WEAK.lock().unwrap().upgrade().is_none());
            // Not a leak: the static has it at the end.
            assert!(ARC.lock().unwrap().replace(Arc::new(1)).is_none());
            *WEAK.lock().unwrap() = Arc::downgrade(ARC.lock().unwrap().as_ref().unwrap());
        });
    }

    #[test]
    fn poison_does_not_outlive_an_execution() {
        static MUTEX: Mutex<()> = Mutex::new(());
        holds(|| {
            assert!(!MUTEX.is_poisoned());
            let panics = |_| {
                thread::spawn(|| {
                    let _guard = MUTEX.lock();
                    panic!("no");
                })
            };
            let threads = [0, 1].map(panics);
            for thread in threads {
                thread.join().unwrap_err();
            }
            assert!(MUTEX.is_poisoned());
        });
    }
}

mod barrier {
    use super::*;

    #[test]
    fn exactly_one_is_the_leader_and_it_may_be_any() {
        assert_outcomes(
            || {
                let barrier = Arc::new(Barrier::new(3));
                let threads = [(); 2].map(|()| {
                    let barrier = barrier.clone();
                    thread::spawn(move || barrier.wait().is_leader())
                });
                let mut leaders = vec![barrier.wait().is_leader()];
                leaders.extend(threads.map(|thread| thread.join().unwrap()));
                leaders
            },
            [vec![true, false, false], vec![false, true, false], vec![false, false, true]],
        );
    }

    #[test]
    fn it_can_be_used_again() {
        holds(|| {
            let shared = Arc::new((Barrier::new(2), AtomicU32::new(0)));
            let other = thread::spawn({
                let shared = shared.clone();
                move || {
                    shared.1.store(1, Relaxed);
                    shared.0.wait();
                    shared.0.wait();
                    shared.1.load(Relaxed)
                }
            });
            shared.0.wait();
            assert_eq!(shared.1.load(Relaxed), 1);
            shared.1.store(2, Relaxed);
            shared.0.wait();
            assert_eq!(other.join().unwrap(), 2);
        });
    }

    #[test]
    fn one_for_nobody_does_not_wait() {
        holds(|| assert!(Barrier::new(0).wait().is_leader()));
    }
}

mod arc {
    use super::*;

    #[test]
    fn the_last_reference_may_be_dropped_in_any_thread() {
        struct SaysWho(std::sync::Arc<RealMutex<Option<thread::ThreadId>>>);
        impl Drop for SaysWho {
            fn drop(&mut self) {
                *self.0.lock().unwrap() = Some(thread::current().id());
            }
        }
        assert_outcomes(
            || {
                let who = std::sync::Arc::default();
                let value = Arc::new(SaysWho(std::sync::Arc::clone(&who)));
                let other = thread::spawn({
                    let value = value.clone();
                    move || drop(value)
                });
                drop(value);
                other.join().unwrap();
                let who = who.lock().unwrap().unwrap();
                who == thread::current().id()
            },
            [false, true],
        );
    }

    #[test]
    fn references_to_what_needs_no_drop_are_dropped_in_one_execution() {
        let report = plain().run(|| {
            let value = Arc::new(1);
            let threads = [(); 3].map(|()| {
                let value = value.clone();
                thread::spawn(move || drop(value))
            });
            drop(value);
            for thread in threads {
                thread.join().unwrap();
            }
        });
        assert!(report.passed());
        assert_eq!(report.stats.executions, 1);
    }

    #[test]
    fn try_unwrap_may_fail_for_both_or_give_the_value_to_either() {
        assert_outcomes(
            || {
                let a = Arc::new(5);
                let b = a.clone();
                let other = thread::spawn(move || Arc::try_unwrap(b).is_ok());
                let here = Arc::try_unwrap(a).is_ok();
                (here, other.join().unwrap())
            },
            [(false, false), (false, true), (true, false)],
        );
    }

    #[test]
    fn into_inner_gives_the_value_to_exactly_one() {
        assert_outcomes(
            || {
                let a = Arc::new(5);
                let b = a.clone();
                let other = thread::spawn(move || Arc::into_inner(b).is_some());
                let here = Arc::into_inner(a).is_some();
                (here, other.join().unwrap())
            },
            [(false, true), (true, false)],
        );
    }

    #[test]
    fn a_weak_reference_is_upgraded_as_long_as_there_is_a_strong_one() {
        assert_outcomes(
            || {
                let strong = Arc::new(5);
                let weak = Arc::downgrade(&strong);
                let other = thread::spawn(move || drop(strong));
                let upgraded = weak.upgrade().is_some();
                other.join().unwrap();
                assert!(weak.upgrade().is_none());
                assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
                upgraded
            },
            [false, true],
        );
    }

    #[test]
    fn counts_are_seen_as_they_change() {
        assert_outcomes(
            || {
                let a = Arc::new(5);
                let other = thread::spawn({
                    let a = a.clone();
                    move || {
                        let weak = Arc::downgrade(&a);
                        drop(a);
                        drop(weak);
                    }
                });
                let counts = (Arc::strong_count(&a), Arc::weak_count(&a));
                other.join().unwrap();
                assert_eq!((Arc::strong_count(&a), Arc::weak_count(&a)), (1, 0));
                counts
            },
            [(1, 0), (1, 1), (2, 0), (2, 1)],
        );
    }

    #[test]
    fn get_mut_needs_the_only_reference() {
        assert_outcomes(
            || {
                let mut a = Arc::new(5);
                let other = thread::spawn({
                    let a = a.clone();
                    move || {
                        let weak = Arc::downgrade(&a);
                        drop(a);
                        weak.upgrade().is_some()
                    }
                });
                let alone = Arc::get_mut(&mut a).is_some();
                assert!(other.join().unwrap());
                assert!(Arc::get_mut(&mut a).is_some());
                alone
            },
            [false, true],
        );
    }

    #[test]
    fn get_mut_is_never_given_while_a_weak_reference_can_be_upgraded() {
        let both = || {
            let mut a = Arc::new(AtomicU32::new(0));
            let weak = Arc::downgrade(&a);
            let b = a.clone();
            let other = thread::spawn(move || {
                // The weak reference comes and goes, the strong one as well.
                let second = Arc::downgrade(&b);
                drop(b);
                let up = weak.upgrade();
                drop(weak);
                let again = up.as_ref().map(Arc::downgrade);
                drop((second, up, again));
            });
            if let Some(alone) = Arc::get_mut(&mut a) {
                *alone.get_mut() += 1;
            }
            other.join().unwrap();
        };
        // That the real count agrees is asserted inside; here, that both answers are given.
        holds(both);
    }

    #[test]
    fn make_mut_takes_a_clone_if_it_is_shared_and_leaves_weak_references_behind() {
        holds(|| {
            let mut a = Arc::new(5);
            let b = a.clone();
            *Arc::make_mut(&mut a) += 1;
            assert_eq!((*a, *b), (6, 5));
            let weak = Arc::downgrade(&a);
            *Arc::make_mut(&mut a) += 1;
            assert!(weak.upgrade().is_none());
            assert_eq!(*a, 7);
            *Arc::make_mut(&mut a) += 1;
            assert_eq!((Arc::strong_count(&a), Arc::unwrap_or_clone(a)), (1, 8));
        });
    }

    #[test]
    fn a_value_that_is_never_dropped_is_a_leak() {
        assert_eq!(failures(|| std::mem::forget(Arc::new(5))), BTreeSet::from(["leak"]));
        let cycle = || {
            struct Node(Mutex<Option<Arc<Node>>>);
            let node = Arc::new(Node(Mutex::new(None)));
            *node.0.lock().unwrap() = Some(node.clone());
        };
        assert_eq!(failures(cycle), BTreeSet::from(["leak"]));
    }

    #[test]
    fn a_cycle_of_weak_references_is_no_leak() {
        holds(|| {
            struct Node(Weak<Node>, u32);
            let node = Arc::new_cyclic(|me| {
                assert!(me.upgrade().is_none());
                Node(me.clone(), 5)
            });
            assert_eq!(node.0.upgrade().unwrap().1, 5);
            let mut node = node;
            assert!(Arc::get_mut(&mut node).is_none());
        });
    }

    #[test]
    fn pointers_keep_the_count() {
        holds(|| {
            let a = Arc::new("value".to_owned());
            let weak = Arc::downgrade(&a).into_raw();
            let raw = Arc::into_raw(a.clone());
            assert_eq!(Arc::strong_count(&a), 2);
            // SAFETY: the pointers come from `into_raw`, and each is turned back as often as it was made.
            unsafe {
                Arc::increment_strong_count(raw);
                assert_eq!(Arc::strong_count(&a), 3);
                Arc::decrement_strong_count(raw);
                let b = Arc::from_raw(raw);
                assert!(Arc::ptr_eq(&a, &b));
                assert_eq!(*Weak::from_raw(weak).upgrade().unwrap(), "value");
            }
            assert_eq!((Arc::strong_count(&a), Arc::weak_count(&a)), (1, 0));
        });
    }

    #[test]
    fn it_can_be_made_of_what_std_makes_it_of() {
        holds(|| {
            assert_eq!(*Arc::<str>::from("text"), *"text");
            assert_eq!(*Arc::<[i32]>::from(vec![1, 2]), [1, 2]);
            assert_eq!(*(1..4).collect::<Arc<[_]>>(), [1, 2, 3]);
            assert_eq!(*Arc::<i32>::from(Box::new(5)), 5);
            let dynamic = Arc::coerce(Arc::new(|| 7), |f| f as std::sync::Arc<dyn Fn() -> i32 + Send + Sync>);
            assert_eq!(dynamic.clone()(), 7);
            let any = Arc::coerce(Arc::new(5u8), |a| a as std::sync::Arc<dyn std::any::Any + Send + Sync>);
            assert_eq!(*any.downcast::<u8>().unwrap(), 5);
        });
    }

    #[test]
    fn outside_of_a_check_it_is_an_ordinary_one() {
        let a = Arc::new(5);
        let weak = Arc::downgrade(&a);
        assert_eq!((Arc::strong_count(&a), Arc::weak_count(&a)), (1, 1));
        assert_outcomes(|| Arc::strong_count(&a.clone()), [2]);
        assert_eq!(weak.upgrade().as_deref(), Some(&5));
        drop(weak);
        assert_eq!(Arc::try_unwrap(a), Ok(5));
    }
}

mod channel {
    use super::*;

    #[test]
    fn messages_of_two_senders_come_in_any_order_and_the_end_when_both_are_gone() {
        assert_outcomes(
            || {
                let (sender, receiver) = mpsc::channel();
                let other = thread::spawn({
                    let sender = sender.clone();
                    move || {
                        sender.send(1).unwrap();
                        sender.send(2).unwrap();
                    }
                });
                sender.send(3).unwrap();
                drop(sender);
                let all: Vec<_> = receiver.iter().collect();
                other.join().unwrap();
                assert!(receiver.recv().is_err());
                assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
                all
            },
            [vec![1, 2, 3], vec![1, 3, 2], vec![3, 1, 2]],
        );
    }

    #[test]
    fn the_end_of_the_last_sender_wakes_the_receiver() {
        holds(|| {
            let (sender, receiver) = mpsc::channel::<()>();
            let other = thread::spawn(move || drop(sender));
            assert!(receiver.recv().is_err());
            other.join().unwrap();
        });
    }

    #[test]
    fn a_message_for_nobody_comes_back() {
        assert_outcomes(
            || {
                let (sender, receiver) = mpsc::channel();
                let other = thread::spawn(move || drop(receiver));
                let sent = sender.send(5).map_err(|error| error.0);
                other.join().unwrap();
                assert_eq!(sender.send(6).unwrap_err().0, 6);
                sent
            },
            [Ok(()), Err(5)],
        );
    }

    #[test]
    fn messages_that_nobody_took_are_dropped_with_the_receiver() {
        holds(|| {
            let (sender, receiver) = mpsc::channel();
            let message = Arc::new(());
            sender.send(message.clone()).unwrap();
            drop(receiver);
            assert_eq!(Arc::strong_count(&message), 1);
        });
    }

    /// How many messages have been sent when the receiver takes the first.
    fn ahead(bound: usize) -> u32 {
        let (sender, receiver) = mpsc::sync_channel(bound);
        let sent = Arc::new(AtomicU32::new(0));
        let other = thread::spawn({
            let sent = sent.clone();
            move || {
                for n in 0..3 {
                    sender.send(n).unwrap();
                    sent.fetch_add(1, Relaxed);
                }
            }
        });
        let ahead = sent.load(Relaxed);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
        other.join().unwrap();
        ahead
    }

    #[test]
    fn a_bounded_channel_blocks_when_it_is_full() {
        assert_outcomes(|| ahead(0), [0]);
        assert_outcomes(|| ahead(1), [0, 1]);
        assert_outcomes(|| ahead(2), [0, 1, 2]);
    }

    #[test]
    fn try_send_needs_room() {
        assert_outcomes(
            || {
                {
                    let (sender, receiver) = mpsc::sync_channel(1);
                    sender.try_send(1).unwrap();
                    let other = thread::spawn(move || {
                        assert_eq!(receiver.recv(), Ok(1));
                        receiver
                    });
                    let second = sender.try_send(2);
                    let receiver = other.join().unwrap();
                    drop(receiver);
                    assert_eq!(sender.try_send(3), Err(TrySendError::Disconnected(3)));
                    second
                }
                .map_err(|error| matches!(error, TrySendError::Full(2)))
            },
            [Ok(()), Err(true)],
        );
    }

    #[test]
    fn try_send_on_a_rendezvous_needs_a_receiver_that_waits() {
        assert_outcomes(
            || {
                let (sender, receiver) = mpsc::sync_channel(0);
                let other = thread::spawn(move || receiver.recv().ok());
                let met = sender.try_send(5).is_ok();
                drop(sender);
                assert_eq!(other.join().unwrap(), met.then_some(5));
                met
            },
            [false, true],
        );
    }

    #[test]
    fn two_senders_cannot_meet_one_receiver() {
        assert_outcomes(
            || {
                let (sender, receiver) = mpsc::sync_channel(0);
                let other = thread::spawn(move || receiver.recv().ok());
                let second = thread::spawn({
                    let sender = sender.clone();
                    move || sender.try_send(1).is_ok()
                });
                let met = (sender.try_send(0).is_ok(), second.join().unwrap());
                drop(sender);
                other.join().unwrap();
                met
            },
            [(false, false), (false, true), (true, false)],
        );
    }

    #[test]
    fn a_rendezvous_that_does_not_take_place_gives_the_message_back() {
        assert_outcomes(
            || {
                let (sender, receiver) = mpsc::sync_channel(0);
                let other = thread::spawn(move || {
                    let taken = receiver.try_recv().ok();
                    drop(receiver);
                    taken
                });
                let sent = sender.send(5).map_err(|error| error.0);
                let taken = other.join().unwrap();
                assert_eq!(taken.is_some(), sent.is_ok());
                sent
            },
            [Ok(()), Err(5)],
        );
    }

    #[test]
    fn a_receive_with_a_timeout_may_time_out_or_not() {
        assert_outcomes(
            || {
                let (sender, receiver) = mpsc::channel();
                let other = thread::spawn(move || sender.send(5).unwrap());
                let first = receiver.recv_timeout(Duration::from_secs(3600));
                other.join().unwrap();
                if first.is_ok() {
                    let second = receiver.recv_timeout(Duration::ZERO);
                    assert_eq!(second, Err(RecvTimeoutError::Disconnected));
                }
                first.map_err(|error| error == RecvTimeoutError::Timeout)
            },
            [Ok(5), Err(true)],
        );
    }

    #[test]
    fn try_recv_finds_a_message_or_not() {
        assert_outcomes(
            || {
                let (sender, receiver) = mpsc::channel();
                let other = thread::spawn({
                    let sender = sender.clone();
                    move || sender.send(5).unwrap()
                });
                let first = receiver.try_recv().ok();
                other.join().unwrap();
                let rest: Vec<_> = receiver.try_iter().collect();
                assert_eq!(first.is_none(), rest == [5]);
                drop(sender);
                first
            },
            [None, Some(5)],
        );
    }

    #[test]
    fn waiting_for_a_message_that_never_comes_is_a_deadlock() {
        let waits = || {
            let (_sender, receiver) = mpsc::channel::<()>();
            let _ = receiver.recv();
        };
        assert_eq!(failures(waits), BTreeSet::from(["deadlock"]));
    }
}

mod threads {
    use super::*;

    #[test]
    fn a_panic_is_what_join_gives() {
        holds(|| {
            let panics = thread::spawn(|| std::panic::panic_any(5u8));
            assert_eq!(panics.join().unwrap_err().downcast_ref::<u8>(), Some(&5));
            assert_eq!(thread::spawn(|| "fine").join().unwrap(), "fine");
        });
    }

    #[test]
    fn a_panic_that_nobody_joins_is_a_failure() {
        assert_eq!(failures(|| drop(thread::spawn(|| panic!("unseen")))), BTreeSet::from(["panic"]));
    }

    #[test]
    fn is_finished_becomes_true() {
        assert_outcomes(
            || {
                let other = thread::spawn(|| ());
                let finished = other.is_finished();
                other.join().unwrap();
                finished
            },
            [false, true],
        );
    }

    #[test]
    fn threads_have_names_and_identities() {
        holds(|| {
            assert_eq!(thread::current().name(), Some("main"));
            let builder = thread::Builder::new().name("worker".to_owned()).stack_size(64 * 1024);
            let worker =
                builder.spawn(|| (thread::current().name().map(str::to_owned), thread::current().id()));
            let worker = worker.unwrap();
            assert_eq!(worker.thread().name(), Some("worker"));
            let id = worker.thread().id();
            assert_ne!(id, thread::current().id());
            assert_eq!(worker.join().unwrap(), (Some("worker".to_owned()), id));
            assert!(thread::spawn(|| thread::current().name().is_none()).join().unwrap());
        });
    }

    #[test]
    fn a_token_is_kept_until_it_is_taken() {
        holds(|| {
            thread::current().unpark();
            thread::park();
            let other = thread::spawn(thread::park);
            other.thread().unpark();
            other.join().unwrap();
        });
    }

    #[test]
    fn there_is_one_token_at_most() {
        let twice = || {
            thread::current().unpark();
            thread::current().unpark();
            thread::park();
            thread::park();
        };
        assert_eq!(failures(twice), BTreeSet::from(["deadlock"]));
    }

    #[test]
    fn park_may_return_for_no_reason_unless_that_is_turned_off() {
        let parks = || {
            let ready = Arc::new(AtomicBool::new(false));
            let here = thread::current();
            let other = thread::spawn({
                let ready = ready.clone();
                move || {
                    ready.store(true, Release);
                    here.unpark();
                }
            });
            thread::park();
            let seen = ready.load(Acquire);
            other.join().unwrap();
            seen
        };
        assert_eq!(outcomes_with(plain(), parks), BTreeSet::from([true]));
        assert_eq!(outcomes_with(plain().spurious_wakeups(true), parks), BTreeSet::from([false, true]));
    }

    #[test]
    fn park_with_a_timeout_returns() {
        holds(|| thread::park_timeout(Duration::from_secs(3600)));
    }

    #[test]
    fn waiting_on_a_condition_does_not_take_the_token() {
        holds(|| {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            thread::current().unpark();
            let setter = thread::spawn({
                let shared = shared.clone();
                move || {
                    *shared.0.lock().unwrap() = true;
                    shared.1.notify_one();
                }
            });
            drop(shared.1.wait_while(shared.0.lock().unwrap(), |ready| !*ready).unwrap());
            thread::park();
            setter.join().unwrap();
        });
    }

    #[test]
    fn a_scope_waits_for_its_threads_which_may_borrow() {
        assert_outcomes(
            || {
                let mut order = Vec::new();
                let shared = Mutex::new(&mut order);
                let sum = thread::scope(|s| {
                    let one = s.spawn(|| {
                        shared.lock().unwrap().push(1);
                        10
                    });
                    thread::Builder::new()
                        .name("two".to_owned())
                        .spawn_scoped(s, || {
                            shared.lock().unwrap().push(2);
                            // A thread of the scope may make another.
                            s.spawn(|| shared.lock().unwrap().push(3));
                        })
                        .unwrap();
                    one.join().unwrap() + 1
                });
                assert_eq!(sum, 11);
                order
            },
            [vec![1, 2, 3], vec![2, 1, 3], vec![2, 3, 1]],
        );
    }

    #[test]
    fn a_scope_passes_on_the_panic_of_a_thread_that_nobody_joined() {
        holds(|| {
            let outer = thread::spawn(|| {
                thread::scope(|s| {
                    s.spawn(|| panic!("inside"));
                });
            });
            assert_eq!(message(outer.join()), "a scoped thread panicked");
            let fine = thread::spawn(|| {
                thread::scope(|s| {
                    assert!(s.spawn(|| panic!("inside")).join().is_err());
                });
            });
            fine.join().unwrap();
        });
    }

    #[test]
    fn a_scope_also_waits_when_its_closure_panics() {
        holds(|| {
            let done = Arc::new(AtomicBool::new(false));
            let outer = thread::spawn({
                let done = done.clone();
                move || {
                    thread::scope(|s| {
                        s.spawn(|| done.store(true, Relaxed));
                        panic!("of the closure");
                    })
                }
            });
            assert_eq!(message(outer.join()), "of the closure");
            assert!(done.load(Relaxed));
        });
    }

    #[test]
    fn a_mutex_held_outside_a_scope_is_poisoned_by_a_panic_inside() {
        holds(|| {
            let m = Arc::new(Mutex::new(()));
            let panics = thread::spawn({
                let m = m.clone();
                move || {
                    let _guard = m.lock().unwrap();
                    thread::scope(|s| {
                        s.spawn(thread::yield_now);
                        panic!("inside");
                    })
                }
            });
            assert_eq!(message(panics.join()), "inside");
            assert!(m.is_poisoned());
        });
    }
}

/// Loops that wait for another thread end, whatever they look at.
mod spinning {
    use super::*;

    /// Another thread does `f`; this one waits in a loop.
    fn ends(set: impl Fn(&AtomicBool) + Copy + Send + 'static, wait: impl Fn(&AtomicBool)) {
        holds(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let setter = thread::spawn({
                let flag = flag.clone();
                move || set(&flag)
            });
            wait(&flag);
            setter.join().unwrap();
        });
    }

    #[test]
    fn on_a_load_with_a_hint_a_yield_or_nothing() {
        let set = |flag: &AtomicBool| flag.store(true, Release);
        ends(set, |flag| {
            while !flag.load(Acquire) {
                raddle::hint::spin_loop();
            }
        });
        ends(set, |flag| {
            while !flag.load(Acquire) {
                thread::yield_now();
            }
        });
        ends(set, |flag| while !flag.load(Acquire) {});
    }

    #[test]
    fn on_a_spin_lock() {
        fn locked(lock: impl Fn(&AtomicBool) + Sync) {
            assert_outcomes(
                || {
                    let shared = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
                    let add = |shared: &(AtomicBool, AtomicU32)| {
                        lock(&shared.0);
                        let value = shared.1.load(Relaxed);
                        shared.1.store(value + 1, Relaxed);
                        shared.0.store(false, Release);
                    };
                    thread::scope(|s| {
                        s.spawn(|| add(&shared));
                        add(&shared);
                    });
                    shared.1.load(Relaxed)
                },
                [2],
            );
        }
        locked(|lock| while lock.swap(true, Acquire) {});
        locked(|lock| while lock.compare_exchange(false, true, Acquire, Relaxed).is_err() {});
        locked(|lock| {
            while lock.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
                while lock.load(Relaxed) {}
            }
        });
    }

    #[test]
    fn on_what_does_not_wait() {
        holds(|| {
            let other = thread::spawn(|| ());
            while !other.is_finished() {}
            other.join().unwrap();
        });
        holds(|| {
            let m = Arc::new(Mutex::new(0));
            let other = thread::spawn({
                let m = m.clone();
                move || *m.lock().unwrap() += 1
            });
            while m.try_lock().is_err() {}
            other.join().unwrap();
        });
        holds(|| {
            let (sender, receiver) = mpsc::channel();
            let other = thread::spawn(move || sender.send(5).unwrap());
            let received = loop {
                if let Ok(received) = receiver.try_recv() {
                    break received;
                }
            };
            assert_eq!(received, 5);
            other.join().unwrap();
        });
        holds(|| {
            let mut a = Arc::new(5);
            let other = thread::spawn({
                let a = a.clone();
                move || drop(a)
            });
            while Arc::get_mut(&mut a).is_none() {}
            while Arc::strong_count(&a) != 1 {}
            other.join().unwrap();
        });
    }

    #[test]
    fn what_nobody_ends_is_reported() {
        let kinds = failures(|| {
            let flag = AtomicBool::new(false);
            while !flag.load(Acquire) {
                raddle::hint::spin_loop();
            }
        });
        assert_eq!(kinds, BTreeSet::from(["livelock"]));
    }
}

mod locals {
    use super::*;
    use std::cell::{Cell, RefCell};

    #[test]
    fn each_thread_of_each_execution_has_its_own() {
        raddle::thread_local! {
            static COUNT: Cell<u32> = const { Cell::new(1) };
            static NAMES: RefCell<Vec<u32>> = RefCell::new(vec![COUNT.get()]);
        }
        let shared = || {
            assert_eq!(COUNT.get(), 1);
            COUNT.set(2);
            let other = thread::spawn(|| {
                assert_eq!(COUNT.replace(5), 1);
                NAMES.with_borrow_mut(|names| names.push(7));
                NAMES.take()
            });
            assert_eq!(NAMES.with_borrow(Vec::clone), [2]);
            assert_eq!(other.join().unwrap(), [5, 7]);
            assert_eq!(COUNT.take(), 2);
        };
        holds(shared);
        holds(shared);
    }

    #[test]
    fn destructors_run_when_the_thread_ends_and_before_it_is_joined() {
        struct Notes(&'static str, std::sync::Arc<RealMutex<Vec<&'static str>>>);
        impl Drop for Notes {
            fn drop(&mut self) {
                // Its own value cannot be reached any more.
                assert!(LOCAL.try_with(|_| ()).is_err());
                self.1.lock().unwrap().push(self.0);
            }
        }
        raddle::thread_local! {
            static LOCAL: RefCell<Option<Notes>> = const { RefCell::new(None) };
        }
        holds(|| {
            let notes = std::sync::Arc::<RealMutex<Vec<_>>>::default();
            let other = thread::spawn({
                let notes = notes.clone();
                move || {
                    LOCAL.set(Some(Notes("local", notes.clone())));
                    notes.lock().unwrap().push("body");
                }
            });
            other.join().unwrap();
            assert_eq!(*notes.lock().unwrap(), ["body", "local"]);
        });
    }

    #[test]
    fn a_thread_that_does_not_use_it_does_not_make_it() {
        static MADE: AtomicU32 = AtomicU32::new(0);
        raddle::thread_local! {
            #[allow(dead_code)]
            pub(crate) static LAZY: u32 = MADE.fetch_add(1, Relaxed)
        }
        holds(|| {
            thread::spawn(|| ()).join().unwrap();
            assert_eq!(MADE.load(Relaxed), 0);
            LAZY.with(|made| assert_eq!(*made, 0));
            LAZY.with(|made| assert_eq!(*made, 0));
            assert_eq!(MADE.load(Relaxed), 1);
        });
    }
}

mod atomics {
    use super::*;
    use raddle::sync::atomic::*;

    #[test]
    fn every_method_gives_what_stds_gives() {
        macro_rules! compare {
            ($($name:ident $int:ty)*) => {$(
                let (ours, stds) = ($name::new(100), std::sync::atomic::$name::new(100));
                macro_rules! same {
                    ($method:ident($arg:expr)) => {
                        assert_eq!(ours.$method($arg, SeqCst), stds.$method($arg, SeqCst));
                        assert_eq!(ours.load(SeqCst), stds.load(SeqCst), stringify!($method));
                    };
                }
                for value in [0, 1, 7, <$int>::MAX, <$int>::MIN, <$int>::MAX / 2] {
                    same!(fetch_add(value));
                    same!(fetch_sub(value / 3));
                    same!(fetch_xor(value));
                    same!(fetch_and(value | 5));
                    same!(fetch_nand(value));
                    same!(fetch_or(value & 9));
                    same!(fetch_max(value));
                    same!(fetch_min(value));
                    same!(swap(value));
                    ours.store(value, SeqCst);
                    assert_eq!(ours.compare_exchange(value, 3, SeqCst, Relaxed), Ok(value));
                    assert_eq!(ours.compare_exchange(value | 64, 4, SeqCst, Relaxed), Err(3));
                    assert_eq!(ours.compare_exchange_weak(3, 4, SeqCst, Relaxed), Ok(3));
                    assert_eq!(ours.fetch_update(SeqCst, SeqCst, |v| v.checked_add(1)), Ok(4));
                    assert_eq!(ours.try_update(SeqCst, SeqCst, |_| None), Err(5));
                    assert_eq!(ours.update(SeqCst, SeqCst, |v| v + 1), 5);
                    stds.store(6, SeqCst);
                }
                let mut ours = ours;
                *ours.get_mut() += 1;
                assert_eq!(format!("{ours:?}"), "7");
                assert_eq!(ours.fetch_add(1, SeqCst), 7);
                assert_eq!(ours.into_inner(), 8);
            )*};
        }
        holds(|| {
            compare!(AtomicU8 u8 AtomicU16 u16 AtomicU32 u32 AtomicU64 u64 AtomicUsize usize);
            compare!(AtomicI8 i8 AtomicI16 i16 AtomicI32 i32 AtomicI64 i64 AtomicIsize isize);
        });
    }

    #[test]
    fn the_bool_and_the_pointer_too() {
        holds(|| {
            let flag = AtomicBool::new(true);
            assert!(flag.fetch_not(SeqCst));
            assert!(!flag.fetch_nand(true, SeqCst));
            assert!(flag.fetch_and(false, SeqCst));
            assert!(!flag.fetch_or(true, SeqCst));
            assert!(flag.fetch_xor(true, SeqCst));
            assert_eq!(flag.compare_exchange(true, false, SeqCst, SeqCst), Err(false));
            assert!(!flag.into_inner());

            let mut values = [1u32, 2, 3];
            let first = values.as_mut_ptr();
            let mut pointer = AtomicPtr::new(first);
            assert_eq!(pointer.fetch_ptr_add(1, SeqCst), first);
            // SAFETY: it points to the second value.
            assert_eq!(unsafe { *pointer.load(SeqCst) }, 2);
            assert_eq!(pointer.fetch_byte_add(4, SeqCst), first.wrapping_add(1));
            assert_eq!(pointer.fetch_ptr_sub(2, SeqCst), first.wrapping_add(2));
            assert_eq!(pointer.fetch_or(1, SeqCst), first);
            assert_eq!(pointer.fetch_and(!1, SeqCst).addr(), first.addr() | 1);
            assert_eq!(pointer.compare_exchange(first, std::ptr::null_mut(), SeqCst, SeqCst), Ok(first));
            assert!(pointer.get_mut().is_null());
        });
    }

    #[test]
    fn orders_that_make_no_sense_are_refused() {
        let refused = |f: fn(&AtomicU32)| {
            let panics = thread::spawn(move || f(&AtomicU32::new(0)));
            message(panics.join())
        };
        holds(move || {
            assert!(refused(|a| _ = a.load(Release)).starts_with("there is no such thing as a release load"));
            assert!(refused(|a| _ = a.load(AcqRel)).contains("acquire-release load"));
            assert!(refused(|a| a.store(1, Acquire)).contains("an acquire store"));
            assert!(refused(|a| a.store(1, AcqRel)).contains("an acquire-release store"));
            assert!(refused(|a| _ = a.compare_exchange(0, 1, SeqCst, Release)).contains("release failure"));
            assert!(refused(|_| fence(Relaxed)).contains("relaxed fence"));
            fence(SeqCst);
            compiler_fence(SeqCst);
        });
    }

    #[test]
    fn a_weak_compare_exchange_may_fail_for_no_reason_unless_that_is_turned_off() {
        let once = || AtomicU32::new(0).compare_exchange_weak(0, 1, SeqCst, SeqCst);
        assert_eq!(outcomes_with(plain(), once), BTreeSet::from([Ok(0)]));
        assert_eq!(outcomes_with(plain().spurious_failures(true), once), BTreeSet::from([Ok(0), Err(0)]));
        let strong = || AtomicU32::new(0).compare_exchange(0, 1, SeqCst, SeqCst);
        assert_eq!(outcomes_with(plain().spurious_failures(true), strong), BTreeSet::from([Ok(0)]));
    }

    #[test]
    fn an_update_is_atomic() {
        assert_outcomes(
            || {
                let n = Arc::new(AtomicU32::new(0));
                let other = thread::spawn({
                    let n = n.clone();
                    move || n.update(SeqCst, SeqCst, |n| n + 1)
                });
                n.update(SeqCst, SeqCst, |n| n * 3 + 1);
                other.join().unwrap();
                n.load(SeqCst)
            },
            [2, 4],
        );
    }

    /// A stack with pointers: addresses differ from execution to execution, the program does not.
    #[test]
    fn pointers_do_not_make_a_program_nondeterministic() {
        struct Node(u32, *mut Node);
        struct Stack(AtomicPtr<Node>);
        impl Stack {
            fn push(&self, value: u32) {
                let node = Box::into_raw(Box::new(Node(value, std::ptr::null_mut())));
                loop {
                    let head = self.0.load(Acquire);
                    // SAFETY: nobody else has the node yet.
                    unsafe { (*node).1 = head };
                    if self.0.compare_exchange(head, node, Release, Relaxed).is_ok() {
                        return;
                    }
                }
            }
        }
        impl Drop for Stack {
            fn drop(&mut self) {
                let mut next = *self.0.get_mut();
                while !next.is_null() {
                    // SAFETY: every node was made by a box, and the stack owns it alone.
                    next = unsafe { Box::from_raw(next) }.1;
                }
            }
        }
        let waste = RealMutex::new(Vec::new());
        assert_outcomes(
            || {
                // Something else that moves the addresses about.
                let mut waste = waste.lock().unwrap();
                waste.push(vec![0u8; 16]);
                drop(waste);
                let stack = Arc::new(Stack(AtomicPtr::default()));
                let threads = [1, 2].map(|value| {
                    let stack = stack.clone();
                    thread::spawn(move || stack.push(value))
                });
                stack.push(0);
                for thread in threads {
                    thread.join().unwrap();
                }
                let mut values = Vec::new();
                let mut next = stack.0.load(Acquire);
                while !next.is_null() {
                    // SAFETY: the stack owns its nodes, and all other threads have ended.
                    let node = unsafe { &*next };
                    values.push(node.0);
                    next = node.1;
                }
                values
            },
            [vec![0, 1, 2], vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]],
        );
    }

    /// A queue whose two ends begin with one node, which any thread may be the first to look at.
    #[test]
    fn pointers_that_atomics_were_made_with_do_not_either() {
        struct Node(u32, AtomicPtr<Node>);
        fn node(value: u32) -> *mut Node {
            Box::into_raw(Box::new(Node(value, AtomicPtr::default())))
        }
        struct Queue {
            head: AtomicPtr<Node>,
            tail: AtomicPtr<Node>,
        }
        impl Queue {
            fn new() -> Queue {
                let first = node(0);
                Queue { head: AtomicPtr::new(first), tail: AtomicPtr::new(first) }
            }
            fn push(&self, value: u32) {
                let new = node(value);
                loop {
                    let tail = self.tail.load(Acquire);
                    // SAFETY: nodes live as long as the queue.
                    let next = unsafe { &(*tail).1 };
                    let behind = next.load(Acquire);
                    if !behind.is_null() {
                        let _ = self.tail.compare_exchange(tail, behind, AcqRel, Relaxed);
                    } else if next.compare_exchange(behind, new, AcqRel, Relaxed).is_ok() {
                        let _ = self.tail.compare_exchange(tail, new, AcqRel, Relaxed);
                        return;
                    }
                }
            }
        }
        impl Drop for Queue {
            fn drop(&mut self) {
                let mut next = *self.head.get_mut();
                while !next.is_null() {
                    // SAFETY: every node was made by a box, and the queue owns it alone.
                    next = *unsafe { Box::from_raw(next) }.1.get_mut();
                }
            }
        }
        let waste = RealMutex::new(Vec::new());
        assert_outcomes(
            || {
                waste.lock().unwrap().push(vec![0u8; 24]);
                let queue = Arc::new(Queue::new());
                let other = thread::spawn({
                    let queue = queue.clone();
                    move || queue.push(1)
                });
                queue.push(2);
                other.join().unwrap();
                let mut values = Vec::new();
                let mut next = queue.head.load(Acquire);
                while !next.is_null() {
                    // SAFETY: nodes live as long as the queue.
                    let node = unsafe { &*next };
                    values.push(node.0);
                    next = node.1.load(Acquire);
                }
                values
            },
            [vec![0, 1, 2], vec![0, 2, 1]],
        );
    }

    #[test]
    fn outside_of_a_check_they_can_be_made_and_taken_apart_but_not_used() {
        let mut a = AtomicU32::new(1);
        *a.get_mut() += 1;
        assert_eq!(format!("{a:?}"), "2");
        assert_eq!(a.into_inner(), 2);
        let used = std::panic::catch_unwind(|| AtomicU32::new(1).load(SeqCst));
        assert!(used.is_err());
    }
}

mod cells {
    use super::*;
    use raddle::cell::{Cell, UnsafeCell};

    struct Shared(UnsafeCell<u32>);
    // SAFETY: it is not: that is what the tests are about. Controlled threads never run at the same time.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    #[test]
    fn two_writes_that_nothing_orders_are_a_race() {
        let races = || {
            let shared = Arc::new(Shared(UnsafeCell::new(0)));
            let other = thread::spawn({
                let shared = shared.clone();
                // SAFETY: the pointer is good during the call.
                move || shared.0.with_mut(|p| unsafe { *p += 1 })
            });
            // SAFETY: as above.
            shared.0.with_mut(|p| unsafe { *p += 1 });
            other.join().unwrap();
        };
        assert_eq!(failures(races), BTreeSet::from(["data-race"]));
    }

    #[test]
    fn a_read_and_a_write_that_nothing_orders_are_a_race() {
        let races = || {
            let shared = Arc::new(Shared(UnsafeCell::new(0)));
            let other = thread::spawn({
                let shared = shared.clone();
                // SAFETY: the pointer is good during the call.
                move || shared.0.with(|p| unsafe { *p })
            });
            // SAFETY: as above.
            unsafe { *shared.0.get() += 1 };
            other.join().unwrap();
        };
        assert_eq!(failures(races), BTreeSet::from(["data-race"]));
    }

    #[test]
    fn reads_side_by_side_and_writes_under_a_lock_are_none() {
        holds(|| {
            let shared = Arc::new((Shared(UnsafeCell::new(0)), Mutex::new(())));
            let add = {
                let shared = shared.clone();
                move || {
                    let _guard = shared.1.lock().unwrap();
                    // SAFETY: the lock is held.
                    shared.0.0.with_mut(|p| unsafe { *p += 1 });
                }
            };
            let other = thread::spawn(add.clone());
            add();
            other.join().unwrap();
            let read = {
                let shared = shared.clone();
                // SAFETY: nobody writes any more.
                move || shared.0.0.with(|p| unsafe { *p })
            };
            let other = thread::spawn(read.clone());
            assert_eq!(read() + other.join().unwrap(), 4);
        });
    }

    #[test]
    fn a_cell_in_a_static_starts_afresh() {
        static SHARED: Shared = Shared(UnsafeCell::new(5));
        let once = || {
            SHARED.0.with_mut(|p| {
                // SAFETY: one thread uses it.
                unsafe {
                    *p += raddle::choose(2) as u32;
                    *p
                }
            })
        };
        assert_outcomes(once, [5, 6]);
    }

    #[test]
    fn a_cell_is_stds() {
        holds(|| {
            let (a, b) = (Cell::new(1), Cell::new(2));
            a.swap(&b);
            a.update(|n| n * 10);
            assert_eq!((a.get(), b.replace(7), b.take()), (20, 1, 7));
            assert_eq!(a.clone(), Cell::new(20));
            assert_eq!(format!("{a:?}"), format!("{:?}", std::cell::Cell::new(20)));
        });
    }
}

mod data {
    use super::*;

    #[test]
    fn every_choice_is_made() {
        assert_outcomes(|| raddle::choose(3), [0, 1, 2]);
        assert_outcomes(raddle::any::<Option<bool>>, [None, Some(false), Some(true)]);
        assert_outcomes(raddle::any::<()>, [()]);
        assert_eq!(outcomes_with(plain(), raddle::any::<(bool, std::cmp::Ordering)>).len(), 6);
        assert_eq!(outcomes_with(plain(), raddle::any::<[bool; 3]>).len(), 8);
        let bytes = outcomes_with(plain(), raddle::any::<i8>);
        assert_eq!((bytes.len(), bytes.first(), bytes.last()), (256, Some(&-128), Some(&127)));
    }

    #[test]
    fn an_assumption_leaves_executions_out() {
        assert_outcomes(
            || {
                let n = raddle::choose(5);
                raddle::assume(n % 2 == 1);
                n
            },
            [1, 3],
        );
    }
}

mod weak_orders {
    use raddle::sync::Arc;
    use raddle::sync::atomic::{AtomicU32, Ordering, fence};
    use raddle::{Config, Report, Verdict, thread};

    fn report(test: impl Fn() + Send + Sync + 'static) -> Report {
        let report = Config::new().quiet(true).run(test);
        assert_eq!(report.verdict, Verdict::Verified, "{report:?}");
        report
    }

    /// Two threads that each add with this order.
    fn adds(order: Ordering) -> Report {
        report(move || {
            let n = Arc::new(AtomicU32::new(0));
            let other = thread::spawn({
                let n = n.clone();
                move || n.fetch_add(1, order)
            });
            n.fetch_add(1, order);
            other.join().unwrap();
        })
    }

    #[test]
    fn orders_weaker_than_sequential_consistency_are_named_with_their_places() {
        for order in [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel] {
            let report = adds(order);
            assert_eq!(report.caveats.len(), 1, "{order:?}: {report:?}");
            assert_eq!(report.caveats[0].kind, explore::CaveatKind::MemoryOrder);
            assert_eq!(report.caveats[0].places.len(), 2, "{report:?}");
            assert!(report.guarantee.contains("under sequential consistency"), "{}", report.guarantee);
        }
        assert!(adds(Ordering::SeqCst).caveats.is_empty());
    }

    #[test]
    fn orders_that_nobody_can_observe_are_not_named() {
        // Before the thread starts, after it has ended, and on an object of one thread.
        let report = report(|| {
            let n = Arc::new(AtomicU32::new(0));
            n.store(1, Ordering::Relaxed);
            let other = thread::spawn({
                let n = n.clone();
                move || {
                    AtomicU32::new(0).store(1, Ordering::Relaxed);
                    n.fetch_add(1, Ordering::SeqCst)
                }
            });
            n.fetch_add(1, Ordering::SeqCst);
            other.join().unwrap();
            assert_eq!(n.load(Ordering::Relaxed), 3);
        });
        assert!(report.caveats.is_empty(), "{report:?}");
    }

    #[test]
    fn a_weak_fence_counts_and_reference_counts_do_not() {
        let report = report(|| {
            let n = Arc::new(AtomicU32::new(0));
            let other = thread::spawn({
                let n = n.clone();
                move || {
                    fence(Ordering::Acquire);
                    n.fetch_add(1, Ordering::SeqCst)
                }
            });
            n.fetch_add(1, Ordering::SeqCst);
            other.join().unwrap();
        });
        assert_eq!(report.caveats.len(), 1, "{report:?}");
        assert_eq!(report.caveats[0].places.len(), 1, "{report:?}");
    }
}
