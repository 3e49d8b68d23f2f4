//! Everything that programs synchronise with: small C and C++ programs, what is found in each, and in how many executions.
//! Where the same program can be written with raddle's own types, the two must take the same number.

mod common;

use common::{Ran, run};

/// How many executions raddle takes for the same program in Rust.
fn in_rust(test: impl Fn()) -> u64 {
    let report = raddle::Config::new().quiet(true).run(test);
    assert!(report.passed(), "{report:?}");
    report.stats.executions
}

mod locks {
    use super::*;
    use raddle::sync::{Arc, Mutex, RwLock};
    use raddle::thread;

    #[test]
    fn a_mutex_excludes_as_it_does_in_rust() {
        let rust = in_rust(|| {
            let x = Arc::new(Mutex::new(0));
            let add = |x: &Arc<Mutex<i32>>| {
                let x = x.clone();
                thread::spawn(move || *x.lock().unwrap() += 1)
            };
            let threads = [add(&x), add(&x), add(&x)];
            threads.into_iter().for_each(|t| t.join().unwrap());
        });
        assert_eq!(rust, 6);
        run("mutex.c", &[]).is_verified_in(rust);
    }

    #[test]
    fn two_locks_in_opposite_orders_are_a_deadlock_with_its_cycle() {
        let ran = run("abba.c", &[]);
        ran.fails_with(
            "deadlock",
            "thread 0 (main) waits for b, held by thread 1; thread 1 waits for a, held by thread 0",
        );
        assert_eq!(ran.report["failures"][0]["cycle"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn each_kind_of_mutex_returns_what_posix_says() {
        // The other thread tries the lock before, while, or after main holds it.
        run("kinds.c", &[]).is_verified_in(3);
    }

    #[test]
    fn broken_rules_of_mutexes_are_named() {
        let misuse = "lock-misuse";
        run("kinds.c", &["-DCASE=1"])
            .fails_with(misuse, "mutex n: it is unlocked by a thread that does not hold it");
        run("kinds.c", &["-DCASE=2"]).fails_with("deadlock", "waits for n, held by itself");
        run("kinds.c", &["-DCASE=3"]).fails_with(misuse, "mutex n: it is destroyed");
        run("kinds.c", &["-DCASE=4"]).fails_with(misuse, "it is used after it was destroyed");
        run("kinds.c", &["-DCASE=5"]).fails_with(misuse, "it is destroyed while it is locked");
    }

    #[test]
    fn a_mutex_that_may_be_in_use_must_not_be_destroyed_in_whatever_order_the_two_come() {
        run("destroy_race.c", &[]).fails_with("lock-misuse", "mutex m: it is made or destroyed");
        run("destroy_race.c", &["-DJOIN"]).is_verified_in(1);
    }

    #[test]
    fn memory_with_a_mutex_in_it_must_not_be_freed_while_it_may_be_in_use() {
        run("freed.c", &[]).fails_with("use-after-free", "while another thread may use it");
        run("freed.c", &["-DJOIN"]).is_verified_in(2);
    }

    #[test]
    fn a_loop_that_looks_under_a_lock_ends() {
        run("poll.c", &[]).is_verified_in(4);
        run("poll.cpp", &[]).is_verified_in(4);
        run("poll.c", &["-DNEVER"]).fails_with("livelock", "spins on what m guards");
    }

    #[test]
    fn readers_do_not_exclude_each_other() {
        let rust = in_rust(|| {
            let x = Arc::new(RwLock::new(0));
            let read = |x: &Arc<RwLock<i32>>| {
                let x = x.clone();
                thread::spawn(move || assert!([0, 2].contains(&*x.read().unwrap())))
            };
            let threads = [read(&x), read(&x)];
            *x.write().unwrap() += 2;
            threads.into_iter().for_each(|t| t.join().unwrap());
        });
        assert_eq!(rust, 4);
        run("rwlock.c", &[]).is_verified_in(rust);
    }

    #[test]
    fn broken_rules_of_reader_writer_locks_are_named() {
        run("rwlock.c", &["-DCASE=1"]).fails_with("deadlock", "waits for l, held for reading by thread 1");
        run("rwlock.c", &["-DCASE=2"])
            .fails_with("lock-misuse", "holds it neither for reading nor for writing");
    }

    #[test]
    fn spin_locks_are_locks() {
        run("spin.c", &[]).is_verified_in(2);
        run("spin.c", &["-DMISUSE"]).fails_with("lock-misuse", "unlocked by a thread that does not hold it");
    }

    #[test]
    fn locks_of_cpp_work() {
        run("thread.cpp", &[]).is_verified_in(2);
        // Twice as many as there are orders: the clock that a timed lock reads may be late.
        run("locks.cpp", &[]).is_verified_in(2 * 4);
    }
}

mod waiting {
    use super::*;
    use raddle::sync::{Arc, Barrier, Condvar, Mutex};
    use raddle::thread;

    #[test]
    fn a_condition_variable_is_explored_as_in_rust() {
        let rust = in_rust(|| {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let setter = thread::spawn({
                let pair = pair.clone();
                move || {
                    let mut ready = pair.0.lock().unwrap();
                    *ready = true;
                    pair.1.notify_one();
                }
            });
            let mut ready = pair.0.lock().unwrap();
            while !*ready {
                ready = pair.1.wait(ready).unwrap();
            }
            drop(ready);
            setter.join().unwrap();
        });
        // No wait; notified; the setter comes in a spurious end, or in the second one; notified after a spurious end. A third spurious
        // end only repeats what was done.
        assert_eq!(rust, 5);
        run("condvar.c", &[]).is_verified_in(rust);
        // Without spurious wake-ups: the setter comes first, or the waiter does.
        run("condvar.c", &["RADDLE_SPURIOUS_WAKEUPS=0"]).is_verified_in(2);
        run("condvar.cpp", &[]).is_verified_in(5);
    }

    /// A queue with room for one, two producers of two items each, and a consumer.
    fn queue() {
        struct Queue {
            item: Mutex<Option<u32>>,
            not_full: Condvar,
            not_empty: Condvar,
        }
        impl Queue {
            fn put(&self, item: u32) {
                let mut slot = self.item.lock().unwrap();
                while slot.is_some() {
                    slot = self.not_full.wait(slot).unwrap();
                }
                *slot = Some(item);
                self.not_empty.notify_one();
            }

            fn get(&self) -> u32 {
                let mut slot = self.item.lock().unwrap();
                while slot.is_none() {
                    slot = self.not_empty.wait(slot).unwrap();
                }
                let item = slot.take().unwrap();
                self.not_full.notify_one();
                item
            }
        }
        let queue =
            Arc::new(Queue { item: Mutex::new(None), not_full: Condvar::new(), not_empty: Condvar::new() });
        let producer = |item: u32| {
            let queue = queue.clone();
            thread::spawn(move || {
                queue.put(item);
                queue.put(item + 10);
            })
        };
        let threads = [producer(1), producer(2)];
        let sum: u32 = (0..4).map(|_| queue.get()).sum();
        assert_eq!(sum, 26);
        threads.into_iter().for_each(|t| t.join().unwrap());
    }

    #[test]
    fn a_queue_takes_as_many_executions_as_in_rust() {
        let report = raddle::Config::new().spurious_wakeups(false).quiet(true).run(queue);
        assert!(report.passed());
        assert_eq!(report.stats.executions, 2432);
        run("queue.c", &["RADDLE_SPURIOUS_WAKEUPS=0"]).is_verified_in(2432);
    }

    #[test]
    fn a_lost_wake_up_is_a_deadlock() {
        run("condvar.c", &["-DCASE=1"]).fails_with("deadlock", "waits on c for a notification");
    }

    #[test]
    fn broken_rules_of_condition_variables_are_named() {
        run("condvar.c", &["-DCASE=2"]).fails_with("lock-misuse", "a thread that does not hold it waits");
        run("condvar.c", &["-DCASE=3"]).fails_with("assertion", "ready");
        run("condvar.c", &["-DCASE=4"]).fails_with("lock-misuse", "condition variable c: it is");
    }

    #[test]
    fn a_timed_wait_times_out_or_wakes_for_nothing_first_and_time_has_passed_then() {
        // Each of the two readings of the clock may be late. The wait times out, or it ends spuriously and the next one times out; after a
        // second spurious end the thread is where it was.
        run("timedwait.c", &["RADDLE_LATE=2"]).is_verified_in(2 * 2 * 2);
        run("timedwait.c", &["RADDLE_LATE=2", "RADDLE_SPURIOUS_WAKEUPS=0"]).is_verified_in(2 * 2);
        assert_ne!(run("condvar.cpp", &["-DTIMED"]).verdict(), "failure");
    }

    #[test]
    fn spurious_events_are_explored_as_often_as_a_program_can_tell_them_apart() {
        let case =
            |n: &str, more: &[&str]| run("spurious.c", &[&[format!("-DCASE={n}").as_str()], more].concat());
        // No failure, one, two or three.
        for found in 0..=3 {
            case("1", &[&format!("-DFOUND={found}")]).fails_with("assertion", "n != FOUND");
        }
        case("1", &["-DFOUND=4"]).is_verified_in(4);
        // Each wait ends by the notification, or spuriously before or after the other thread had the lock; or there is none.
        case("2", &["-DFOUND=3"]).fails_with("assertion", "n != FOUND");
        case("2", &["-DFOUND=2"]).is_verified_in(1 + 2 * 3 + 1);
        let kinds = |ran: &Ran| {
            let failures = ran.report["failures"].as_array().expect("failures").iter();
            failures.map(|f| f["kind"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&case("3", &["RADDLE_KEEP_GOING=1"])), ["livelock", "deadlock"]);
        assert_eq!(kinds(&case("3", &["-DFIXED", "RADDLE_KEEP_GOING=1"])), ["livelock"]);
        case("4", &["-DFOUND=1"]).fails_with("assertion", "!FOUND");
        case("5", &["-DFOUND=2"]).fails_with("assertion", "z != FOUND");
        case("5", &["-DFOUND=3"]).is_verified();
        case("6", &[]).is_verified();
        // A loop of timed waits with one deadline needs no caveat.
        case("7", &["-DFOUND=9"]).is_verified();
        case("7", &["-DCOUNTED", "-DFOUND=3"]).fails_with("assertion", "n != FOUND");
        case("7", &["-DCOUNTED", "-DFOUND=4"]).is_verified();
    }

    #[test]
    fn a_barrier_tells_one_thread_that_it_was_the_last() {
        let rust = in_rust(|| {
            let barrier = Arc::new(Barrier::new(3));
            let meet = |b: &Arc<Barrier>| {
                let b = b.clone();
                thread::spawn(move || b.wait().is_leader())
            };
            let threads = [meet(&barrier), meet(&barrier)];
            let mut leaders = barrier.wait().is_leader() as u32;
            leaders += threads.into_iter().map(|t| t.join().unwrap() as u32).sum::<u32>();
            assert_eq!(leaders, 1);
        });
        assert_eq!(rust, 3);
        run("barrier.c", &[]).is_verified_in(rust);
    }

    #[test]
    fn semaphores_count_and_those_with_names_begin_anew() {
        run("semaphore.c", &[]).is_verified_in(1);
        run("semaphore.c", &["-DSTUCK"])
            .fails_with("deadlock", "waits for semaphore /raddle-test, which is 0");
    }

    #[test]
    fn a_lock_on_futexes_works_and_a_wake_up_left_out_is_a_deadlock() {
        run("futex.c", &[]).is_verified();
        run("futex.c", &["-DLOST"]).fails_with("deadlock", "waits on word for a notification");
    }

    #[test]
    fn what_cpp_waits_on_stands_on_futexes() {
        run("atomic_wait.cpp", &[]).is_verified();
        run("atomic_wait.cpp", &["-DLOST"]).fails_with("deadlock", "waits on flag for a notification");
        run("semaphores.cpp", &["-DCASE=1"]).is_verified();
        run("semaphores.cpp", &["-DCASE=2"]).is_verified();
        run("semaphores.cpp", &["-DCASE=3"]).is_verified();
        run("future.cpp", &[]).is_verified();
    }

    #[test]
    fn a_wake_up_publishes_nothing_but_the_word_does() {
        run("relaxed_wait.cpp", &[]).fails_with("data-race", "data race on data");
        run("relaxed_wait.cpp", &["-DACQUIRE"]).is_verified();
    }

    #[test]
    fn a_loop_with_a_deadline_can_be_late_and_need_not_be() {
        let deadline = run("deadline.c", &[]);
        assert_eq!(deadline.verdict(), "no-failure-with-caveats", "{}", deadline.report);
        assert_eq!(deadline.report["caveats"][0]["kind"], "clock", "{}", deadline.report);
        run("deadline.c", &["-DNEVER_LATE"]).fails_with("assertion", "!late");
    }

    #[test]
    fn loops_that_sleep_or_yield_end_when_the_flag_is_set() {
        // Each of the three readings of the clock may be late.
        run("sleeping.c", &["RADDLE_LATE=3"]).is_verified_in(3 * 8);
    }
}

mod threads {
    use super::*;
    use raddle::sync::{Arc, Once};
    use raddle::thread;

    #[test]
    fn once_runs_once_and_whoever_comes_meanwhile_waits() {
        let rust = in_rust(|| {
            let once = Arc::new(Once::new());
            let use_it = |once: &Arc<Once>| {
                let once = once.clone();
                thread::spawn(move || once.call_once(|| ()))
            };
            let threads = [use_it(&once), use_it(&once)];
            threads.into_iter().for_each(|t| t.join().unwrap());
        });
        assert_eq!(rust, 4);
        run("once.c", &[]).is_verified_in(rust);
    }

    #[test]
    fn an_exception_out_of_an_initialiser_leaves_it_to_the_next() {
        run("once.cpp", &[]).is_verified_in(16);
        run("statics.cpp", &[]).is_verified_in(4);
    }

    #[test]
    fn a_thread_that_leaves_runs_its_handlers_and_then_what_its_keys_ask_for() {
        run("keys.c", &[]).is_verified_in(1);
        run("locals.cpp", &[]).is_verified_in(1);
        run("locals.cpp", &["-DEXIT"]).is_verified_in(1);
    }

    #[test]
    fn the_process_goes_on_when_its_first_thread_leaves() {
        run("main_exit.c", &[]).is_verified_in(1);
        run("main_exit.c", &["-DSTUCK"]).fails_with("deadlock", "waits for m, held by itself");
    }

    #[test]
    fn joins_that_cannot_be_return_an_error() {
        // Two threads wait at one semaphore, and two posts wake them.
        run("detached.c", &[]).is_verified_in(4);
    }

    #[test]
    fn a_thread_is_called_by_the_name_it_gave_itself() {
        run("names.c", &[]).fails_with("deadlock", "thread 1 (worker bee) waits for m, held by itself");
    }

    #[test]
    fn cancelling_a_thread_is_refused_by_name() {
        run("cancel.c", &[]).fails_with("limit", "pthread_cancel is not modelled");
    }

    #[test]
    fn threads_of_c11_are_the_same_threads() {
        // `call_once`: either thread makes it, and the other one looks before or after. The wait: none is needed; the first or second one
        // ends by the signal, or spuriously after the signal; then the thread is where it was.
        run("c11.c", &[]).is_verified_in(4 * (1 + 2 + 2));
    }

    #[test]
    fn threads_of_cpp_stop_and_throw() {
        // As many as without spurious failures of the weak exchanges in `std::stop_token`, which are only tried again.
        run("jthread.cpp", &[]).is_verified_in(7);
        run("throwing.cpp", &[]).is_verified_in(6);
    }
}

mod verifier {
    use super::*;

    #[test]
    fn inputs_that_are_covered_whole_can_be_verified() {
        let ran = run("nondet.c", &[]);
        ran.is_verified_in(2);
        assert_eq!(ran.report["assumed"], 2);
    }

    #[test]
    fn inputs_that_are_not_are_named_and_never_verified() {
        let ran = run("nondet.c", &["-DWIDE=2"]);
        assert_eq!((ran.verdict(), ran.executions()), ("no-failure-with-caveats", 6));
        assert!(ran.report["caveats"][0]["text"].as_str().is_some_and(|w| w.contains("from -1 to 1")));
        run("nondet.c", &["-DWIDE=2", "RADDLE_NONDET=0..2"]).fails_with("assertion", "__VERIFIER_assert");
    }

    #[test]
    fn nobody_comes_between_the_steps_of_an_atomic_block() {
        let sync = "RADDLE_RACES=sync";
        run("atomic_block.c", &[sync]).is_verified_in(4);
        run("atomic_block.c", &["-DFUNCTION", sync]).is_verified_in(4);
        run("atomic_block.c", &["-DBROKEN", sync]).fails_with("assertion", "a == b");
    }

    #[test]
    fn without_reduction_the_verdicts_are_the_same() {
        let none = "RADDLE_ALGORITHM=none";
        for (file, flags) in [("mutex.c", &[][..]), ("condvar.c", &[]), ("once.c", &[])] {
            let ran = run(file, &[flags, &[none]].concat());
            assert_eq!(ran.verdict(), "verified", "{}", ran.what);
        }
        for flags in [&["RADDLE_RACES=sync", none][..], &["RADDLE_RACES=sync", "-DFUNCTION", none]] {
            assert_eq!(run("atomic_block.c", flags).verdict(), "verified");
        }
    }
}

mod arguments {
    use super::*;

    #[test]
    fn every_execution_is_handed_the_same_command_line_and_environment() {
        run("handed.c", &[]).is_verified_in(6);
        run("handed.c", &["RADDLE_ISOLATE=1"]).is_verified_in(6);
    }

    #[test]
    fn a_wait_for_a_signal_from_outside_is_a_caveat() {
        let ran = run("sigwait.c", &[]);
        assert_eq!(ran.report["caveats"][0]["kind"], "signal", "{}", ran.report);
        assert_ne!(ran.verdict(), "verified", "{}", ran.report);
    }
}

#[test]
fn every_call_with_a_limit_can_be_patient() {
    for how in 1..=13 {
        let how = format!("-DHOW={how}");
        run("patient.c", &[&how]).fails_with("assertion", "code == 0");
        let patient = run("patient.c", &[&how, "RADDLE_TIMEOUTS=patient"]);
        assert_eq!(patient.verdict(), "no-failure-with-caveats", "{how}: {}", patient.report);
        assert_eq!(patient.report["caveats"][0]["kind"], "patient", "{how}: {}", patient.report);
        if how != "-DHOW=11" {
            run("patient.c", &[&how, "-DSTUCK", "RADDLE_TIMEOUTS=patient"])
                .fails_with("assertion", "code == 0");
        }
    }
}
