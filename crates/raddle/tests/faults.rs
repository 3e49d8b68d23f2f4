//! Programs that do what a checked program should not: each is answered with a report that names the cause, never with a crash
//! without a word and never with a hang.
//!
//! Where the process ends, the case runs in a child, which is this binary again.

mod common;

use common::{default, fails, fails_with, outcomes, plain, says, stops_with, verified, verified_with};
use raddle::FailureKind::{self, Deadlock, Leak, Livelock, Nondeterminism, Panic, Signal};
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use raddle::{Config, Verdict, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicUsize as RealAtomic;
use std::time::{Duration, Instant};

/// Panics when it is dropped.
struct Sour(&'static str);

impl Drop for Sour {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// What a closure panics with.
#[track_caller]
fn panic_of(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("a panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().expect("a text").to_string(),
    }
}

/// Two threads that lose an update in some schedules.
fn lost_update() {
    let n = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| n.store(n.load(SeqCst) + 1, SeqCst));
        }
    });
    assert_eq!(n.into_inner(), 2, "an update was lost");
}

/// Two threads and one atomic: 20 executions.
fn three_times_each() {
    let n = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| (0..3).for_each(|_| _ = n.fetch_add(1, SeqCst)));
        }
    });
}

mod panics {
    use super::*;

    #[test]
    fn a_panic_in_a_destructor_is_the_panic_of_its_thread() {
        let failure = fails(Panic, || drop(Sour("dropped")));
        assert_eq!(failure.message, "dropped");
        assert!(failure.location.is_some_and(|l| l.contains("faults.rs")));
        verified(|| {
            let panics = thread::spawn(|| {
                let _sour = Sour("at the end of its scope");
            });
            assert!(panics.join().is_err());
        });
    }

    #[test]
    fn a_panic_in_the_destructor_of_what_a_mutex_holds() {
        verified(|| {
            let m = Arc::new(Mutex::new(Some(Sour("taken out"))));
            let panics = thread::spawn({
                let m = m.clone();
                move || *m.lock().unwrap() = None
            });
            assert!(panics.join().is_err());
            assert!(m.is_poisoned());
        });
    }

    #[test]
    fn a_panic_that_is_caught_is_none() {
        verified(|| {
            let n = AtomicUsize::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                n.fetch_add(1, SeqCst);
                panic!("caught");
            }));
            assert!(caught.is_err() && !thread::panicking());
            assert_eq!(n.load(SeqCst), 1);
        });
    }

    #[test]
    fn the_first_panic_is_reported_and_not_the_poison_that_it_left() {
        let failure = fails_with(plain(), Panic, || {
            let m = Arc::new(Mutex::new(0));
            let first = thread::spawn({
                let m = m.clone();
                move || {
                    let _guard = m.lock().unwrap();
                    panic!("the cause");
                }
            });
            // Goes on once the guard is gone, and may end before the other thread has.
            while !m.is_poisoned() {}
            let _ = m.lock().unwrap();
            first.join().unwrap();
        });
        assert_eq!(failure.message, "the cause");
    }

    #[test]
    fn a_payload_that_is_no_text_is_reported_as_such() {
        let failure = fails(Panic, || std::panic::panic_any(17));
        says(&failure.message, &["payload", "not a text"]);
    }
}

mod limits {
    use super::*;

    #[test]
    fn seventy_threads_work() {
        let report = verified_with(plain(), || {
            let all: Vec<_> = (0..70).map(|i| thread::spawn(move || i)).collect();
            let sum: usize = all.into_iter().map(|t| t.join().unwrap()).sum();
            assert_eq!(sum, 69 * 70 / 2);
        });
        assert_eq!((report.stats.executions, report.stats.threads), (1, 71));
    }

    #[test]
    fn seventy_threads_of_which_three_meet() {
        let n = || std::sync::Arc::new(AtomicUsize::new(0));
        let report = verified_with(plain(), || {
            let (n, own) = (n(), n());
            let all: Vec<_> = (0..70)
                .map(|i| {
                    let n = n.clone();
                    thread::spawn(move || {
                        if i % 30 == 5 {
                            n.fetch_add(1, SeqCst);
                        }
                    })
                })
                .collect();
            own.fetch_add(1, SeqCst);
            all.into_iter().for_each(|t| t.join().unwrap());
            assert_eq!(n.load(SeqCst), 3);
        });
        // By construction: 3!.
        assert_eq!(report.stats.executions, 6);
    }

    #[test]
    fn more_threads_than_allowed_are_refused_by_the_name_of_the_setting() {
        let spawn = |n: usize| move || (0..n).for_each(|_| drop(thread::spawn(|| ())));
        let failure = stops_with(default().max_threads(4), spawn(4));
        says(&failure.text, &["max_threads", "RADDLE_MAX_THREADS"]);
        verified_with(default().max_threads(4), spawn(3));
        let failure = stops_with(default(), spawn(1_000));
        says(&failure.text, &["max_threads", "at most"]);
    }

    #[inline(never)]
    fn recurse(n: usize, at: &AtomicUsize, with_steps: bool) -> usize {
        if n == 0 {
            return 0;
        }
        if with_steps {
            at.load(SeqCst);
        }
        let room = std::hint::black_box([n; 64]);
        room[n % 64] + recurse(n - 1, at, with_steps)
    }

    #[test]
    fn a_recursion_that_is_too_deep_names_the_stack_size() {
        for with_steps in [false, true] {
            let failure = fails(Signal, || {
                let n = AtomicUsize::new(0);
                n.store(1, SeqCst);
                recurse(1_000_000, &n, with_steps);
            });
            says(
                &failure.message,
                &["stack overflow", "2048 KiB", "Config::stack_size", "RADDLE_STACK_SIZE"],
            );
            assert!(failure.replay.starts_with("rd1-"));
        }
    }

    #[test]
    fn a_recursion_that_is_too_deep_in_a_thread_names_the_thread() {
        let failure = fails(Signal, || {
            let deep = thread::Builder::new().name("deep".into());
            let deep = deep.spawn(|| recurse(1_000_000, &AtomicUsize::new(0), false)).unwrap();
            let _ = deep.join();
        });
        says(&failure.message, &["deep"]);
    }

    /// A test in which the second thread may set a flag before the first one looks, which then does something.
    fn if_late(does: fn()) -> impl Fn() + Sync + 'static {
        move || {
            let n = Arc::new(AtomicUsize::new(0));
            let other = thread::spawn({
                let n = n.clone();
                move || n.store(1, SeqCst)
            });
            if n.load(SeqCst) == 1 {
                does();
            }
            other.join().unwrap();
        }
    }

    struct Panics;

    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("the second");
        }
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    #[test]
    fn what_would_end_the_process_is_a_failure_with_its_schedule() {
        fn read_null() {
            let nothing = std::hint::black_box(std::ptr::null::<u32>());
            // SAFETY: wrong: that is the test.
            std::hint::black_box(unsafe { nothing.read_volatile() });
        }
        extern "C" fn cannot_unwind() {
            panic!("a panic in C");
        }
        fn panic_twice() {
            let _later = Panics;
            panic!("the first");
        }
        type Case = (FailureKind, fn(), &'static [&'static str]);
        let cases: [Case; 5] = [
            (Signal, read_null, &["SIGSEGV", "null pointer"]),
            (FailureKind::Abort, || cannot_unwind(), &["cannot unwind", "a panic in C"]),
            (FailureKind::Abort, || std::process::abort(), &["abort"]),
            (FailureKind::Abort, panic_twice, &["the second", "the first", "faults.rs"]),
            (FailureKind::ExitCode, || std::process::exit(0), &["ended its own process"]),
        ];
        // Each of them twice: a check must leave nothing behind.
        for (kind, does, words) in cases.iter().chain(&cases) {
            let failure = fails(*kind, if_late(*does));
            says(&failure.message, words);
            assert!(failure.replay.starts_with("rd1-"));
            assert!(!failure.trace.is_empty());
            let at = failure.location.unwrap_or_default();
            assert!(at.contains("faults.rs"), "{kind:?} at {at:?}");
        }
    }

    #[test]
    fn more_stack_helps_and_checks_go_on_after_an_overflow() {
        let deep = || _ = recurse(2_000, &AtomicUsize::new(0), true);
        for _ in 0..3 {
            fails_with(default().stack_size(256 << 10), Signal, deep);
            verified_with(default().stack_size(4 << 20), deep);
            verified(|| {
                let deep = thread::Builder::new().stack_size(4 << 20).spawn(deep).unwrap();
                deep.join().unwrap();
            });
        }
    }

    #[test]
    fn a_thread_that_never_ends_is_cut_by_the_step_limit() {
        let failure = stops_with(default().max_steps(1_000), || {
            let n = AtomicUsize::new(0);
            loop {
                n.fetch_add(1, SeqCst);
            }
        });
        says(&failure.text, &["thread 0 (main)", "1000 steps", "Config::max_steps", "RADDLE_MAX_STEPS"]);
        assert!(failure.location.is_some_and(|l| l.contains("faults.rs")));
    }

    #[test]
    fn a_thread_that_never_ends_beside_others_is_named() {
        let failure = stops_with(default().max_steps(1_000), || {
            let n = std::sync::Arc::new(AtomicUsize::new(0));
            let counter = thread::Builder::new().name("counter".into());
            let counter = counter.spawn({
                let n = n.clone();
                move || loop {
                    n.fetch_add(1, SeqCst);
                }
            });
            let _: Result<(), _> = counter.unwrap().join();
        });
        says(&failure.text, &["thread 1 (counter)"]);
    }

    #[test]
    fn a_search_that_is_stopped_says_so() {
        let report = default().max_executions(3).run(three_times_each);
        assert_eq!((report.verdict, report.stats.executions), (Verdict::Incomplete, 3));
        says(&report.guarantee, &["gave up after 3 executions"]);
        assert!(!report.passed());
    }
}

mod waiting {
    use super::*;

    #[test]
    fn two_threads_that_look_at_each_other_for_ever_are_a_livelock() {
        let failure = fails(Livelock, || {
            let flags = [AtomicBool::new(false), AtomicBool::new(false)];
            thread::scope(|s| {
                for i in 0..2 {
                    let flags = &flags;
                    s.spawn(move || {
                        while !flags[1 - i].load(SeqCst) {}
                        flags[i].store(true, SeqCst);
                    });
                }
            });
        });
        says(&failure.message, &["livelock", "thread 1 spins on atomic", "thread 2 spins on atomic"]);
    }

    #[test]
    fn two_threads_that_step_aside_for_each_other_for_ever_do_not_end() {
        // One of them ends, and the other steps aside for it for ever.
        let failure = fails_with(default().max_steps(2_000), Livelock, || {
            let wants = [AtomicBool::new(true), AtomicBool::new(true)];
            thread::scope(|s| {
                for i in 0..2 {
                    let wants = &wants;
                    s.spawn(move || {
                        while wants[1 - i].load(SeqCst) {
                            wants[i].store(false, SeqCst);
                            wants[i].store(true, SeqCst);
                        }
                    });
                }
            });
        });
        says(&failure.message, &["spins on atomic"]);
    }

    #[test]
    fn a_guard_that_was_forgotten_is_named_as_the_holder() {
        let failure = fails(Deadlock, || {
            let m = Mutex::new(());
            thread::scope(|s| {
                let forgets = thread::Builder::new().name("forgets".into());
                forgets.spawn_scoped(s, || std::mem::forget(m.lock().unwrap())).unwrap();
                drop(m.lock().unwrap());
            });
        });
        says(&failure.message, &["deadlock", "waits for mutex", "held by thread 1 (forgets)"]);
    }

    #[test]
    fn a_forgotten_reader_is_named() {
        let failure = fails(Deadlock, || {
            let lock = RwLock::new(());
            std::mem::forget(lock.read().unwrap());
            drop(lock.read().unwrap());
            drop(lock.write().unwrap());
        });
        says(&failure.message, &["waits for", "held for reading by"]);
    }

    #[test]
    fn two_threads_that_wait_for_each_others_message() {
        let failure = fails(Deadlock, || {
            let (to_a, a) = mpsc::channel::<()>();
            let (to_b, b) = mpsc::channel::<()>();
            let other = thread::spawn(move || {
                a.recv().unwrap();
                to_b.send(()).unwrap();
            });
            b.recv().unwrap();
            to_a.send(()).unwrap();
            other.join().unwrap();
        });
        says(
            &failure.message,
            &["deadlock", "thread 0 (main) waits for a message", "thread 1 waits for a message"],
        );
    }

    #[test]
    fn a_bounded_channel_that_nobody_empties() {
        let failure = fails(Deadlock, || {
            let (tx, _rx) = mpsc::sync_channel(1);
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        says(&failure.message, &["waits for room"]);
    }

    #[test]
    fn a_cycle_of_three_locks_is_shown() {
        let failure = fails(Deadlock, || {
            let m: [_; 3] = std::array::from_fn(|_| Mutex::new(()));
            thread::scope(|s| {
                for i in 0..3 {
                    let m = &m;
                    s.spawn(move || {
                        let _first = m[i].lock().unwrap();
                        let _second = m[(i + 1) % 3].lock().unwrap();
                    });
                }
            });
        });
        assert_eq!(failure.cycle.len(), 3, "{}", failure.message);
        says(&failure.message, &["held by thread 1", "held by thread 2", "held by thread 3"]);
    }

    #[test]
    fn a_thread_that_nobody_joins_and_that_never_ends_is_a_leak() {
        let failure = fails_with(plain(), Leak, || {
            let parked = thread::Builder::new().name("parked".into());
            parked.spawn(thread::park).unwrap();
        });
        says(&failure.message, &["thread 1 (parked)", "never joined", "never ends"]);
        let failure = fails_with(plain(), Leak, || {
            let m = std::sync::Arc::new((Mutex::new(()), Condvar::new()));
            thread::spawn(move || drop(m.1.wait(m.0.lock().unwrap()).unwrap()));
        });
        says(&failure.message, &["never joined", "waits on condvar"]);
    }

    #[test]
    fn a_thread_that_joins_itself_by_way_of_another() {
        let failure = fails(Deadlock, || {
            let handle = std::sync::Arc::new(std::sync::Mutex::new(None::<thread::JoinHandle<()>>));
            let (tx, rx) = mpsc::channel();
            let it = thread::spawn({
                let handle = handle.clone();
                move || {
                    rx.recv().unwrap();
                    let me = handle.lock().unwrap().take().unwrap();
                    let _ = me.join();
                }
            });
            *handle.lock().unwrap() = Some(it);
            tx.send(()).unwrap();
        });
        says(&failure.message, &["waits for the end of thread 1"]);
    }
}

mod determinism {
    use super::*;

    #[test]
    fn a_program_that_does_something_else_the_second_time_is_told_what() {
        let runs = RealAtomic::new(0);
        let failure = fails(Nondeterminism, || {
            let n = AtomicUsize::new(0);
            if runs.fetch_add(1, SeqCst) == 0 {
                n.load(SeqCst);
            } else {
                n.store(1, SeqCst);
            }
            thread::scope(|s| {
                s.spawn(|| n.fetch_add(1, SeqCst));
                n.fetch_add(1, SeqCst);
            });
        });
        says(&failure.message, &["not deterministic", "`load` at", "`store` at", "faults.rs", "thread 0"]);
        assert!(failure.help.is_some_and(|h| h.contains("raddle::choose")));
    }

    #[test]
    fn a_program_that_differs_where_an_execution_leaves_the_last_one_is_told() {
        let runs = RealAtomic::new(0);
        let failure = fails(Nondeterminism, || {
            let n = AtomicUsize::new(0);
            thread::scope(|s| {
                s.spawn(|| n.fetch_add(1, SeqCst));
                if runs.fetch_add(1, SeqCst) == 0 {
                    n.load(SeqCst);
                } else {
                    n.store(1, SeqCst);
                }
            });
        });
        says(&failure.message, &["not deterministic", "`load`", "`store` at"]);
    }

    #[test]
    fn a_program_that_reads_another_value_the_second_time_is_told() {
        let runs = RealAtomic::new(0);
        let failure = fails(Nondeterminism, || {
            let n = AtomicUsize::new(runs.fetch_add(1, SeqCst));
            n.load(SeqCst);
            thread::scope(|s| {
                s.spawn(|| n.load(SeqCst));
                n.fetch_add(1, SeqCst);
            });
        });
        says(&failure.message, &["not deterministic"]);
    }

    #[test]
    fn a_failure_that_does_not_come_again_is_no_plain_failure() {
        let runs = RealAtomic::new(0);
        let failure = fails(Nondeterminism, || {
            three_times_each();
            assert_ne!(runs.fetch_add(1, SeqCst), 4, "only once");
        });
        says(&failure.message, &["not deterministic", "only once", "second run ended without a failure"]);
    }

    #[test]
    fn a_token_shows_its_failure_again_and_only_that() {
        let report = default().run(lost_update);
        let token = &report.failures[0].replay;
        let again = default().replay(token).run(lost_update);
        assert_eq!(
            (again.verdict, again.stats.executions, again.algorithm.as_str()),
            (Verdict::Failure, 1, "replay")
        );
        assert_eq!(again.failures[0].message, report.failures[0].message);
        assert_eq!(again.failures[0].trace, report.failures[0].trace);
    }

    #[test]
    fn a_token_of_a_bug_that_is_gone_passes_but_does_not_verify() {
        let token = default().run(lost_update).failures.remove(0).replay;
        let fixed = default().replay(&token).run(|| {
            let n = AtomicUsize::new(0);
            thread::scope(|s| {
                for _ in 0..2 {
                    s.spawn(|| {
                        n.load(SeqCst);
                        n.store(2, SeqCst);
                    });
                }
            });
            assert_eq!(n.into_inner(), 2);
        });
        assert_ne!(fixed.verdict, Verdict::Verified);
        says(&fixed.guarantee, &["one execution"]);
    }

    #[test]
    fn a_token_of_another_program_does_not_fit() {
        let token = default().run(lost_update).failures.remove(0).replay;
        let report = default().replay(&token).run(|| {
            let m = Mutex::new(0);
            thread::scope(|s| {
                s.spawn(|| *m.lock().unwrap() += 1);
                s.spawn(|| *m.lock().unwrap() += 1);
            });
        });
        assert_eq!(report.failures.len(), 1, "{}", report.guarantee);
        assert_eq!(report.failures[0].kind, Nondeterminism);
    }

    #[test]
    fn a_damaged_token_is_refused() {
        let token = default().run(lost_update).failures.remove(0).replay;
        let damaged = [&token[..token.len() - 2], "rd1-", "rd1-!!!", "hello", ""];
        for bad in damaged {
            let text = panic_of(|| drop(Config::new().replay(bad)));
            assert!(text.contains("token"), "{bad:?}: {text}");
        }
        let mut flipped = token.clone().into_bytes();
        let last = flipped.len() - 5;
        flipped[last] = if flipped[last] == b'A' { b'B' } else { b'A' };
        let flipped = String::from_utf8(flipped).unwrap();
        says(&panic_of(|| drop(Config::new().replay(&flipped))), &["token"]);
    }
}

mod misuse {
    use super::*;

    #[test]
    fn a_check_inside_a_check_is_refused() {
        let failure = fails(Panic, || raddle::check(|| ()));
        says(&failure.message, &["`raddle::check` was called inside a check"]);
        // And the outer one goes on as if nothing had been.
        verified(three_times_each);
    }

    #[test]
    fn types_outside_a_check_say_where_they_were_used() {
        static OUTSIDE: AtomicUsize = AtomicUsize::new(0);
        let uses: [(&str, fn()); 6] = [
            ("an atomic", || _ = OUTSIDE.load(SeqCst)),
            ("a `Mutex`", || drop(Mutex::new(()).lock())),
            ("a thread", || drop(thread::spawn(|| ()))),
            ("a channel", || _ = mpsc::channel::<()>().1.try_recv()),
            ("`choose`", || _ = raddle::choose(2)),
            ("`thread::park`", thread::park),
        ];
        for (what, used) in uses {
            let text = panic_of(used);
            assert!(text.contains("outside `raddle::check`"), "{what}: {text}");
        }
        says(&panic_of(uses[0].1), &["an atomic of raddle", "faults.rs"]);
        says(&panic_of(uses[1].1), &["a `Mutex` of raddle", "faults.rs"]);
    }

    #[test]
    fn types_on_an_os_thread_of_their_own_are_outside() {
        let failure = fails(Panic, || {
            let n = std::sync::Arc::new(AtomicUsize::new(0));
            let real = std::thread::spawn({
                let n = n.clone();
                move || n.load(SeqCst)
            });
            if let Err(payload) = real.join() {
                std::panic::resume_unwind(payload);
            }
        });
        says(&failure.message, &["outside `raddle::check`"]);
    }

    #[test]
    fn an_unknown_algorithm_is_refused_with_the_known_ones() {
        let text = panic_of(|| drop(Config::new().algorithm("optimum")));
        says(&text, &["no algorithm `optimum`", "optimal", "source", "dpor"]);
    }

    #[test]
    fn two_checks_on_two_os_threads_share_a_static_and_do_not_disturb_each_other() {
        static SHARED: AtomicUsize = AtomicUsize::new(5);
        static LOCK: Mutex<usize> = Mutex::new(7);
        let one = |add: usize| {
            let report = plain().run(move || {
                let both = [0, 1].map(|_| {
                    thread::spawn(move || {
                        (0..3).for_each(|_| _ = SHARED.fetch_add(add, SeqCst));
                        *LOCK.lock().unwrap() += add;
                    })
                });
                both.into_iter().for_each(|t| t.join().unwrap());
                assert_eq!((SHARED.load(SeqCst), *LOCK.lock().unwrap()), (5 + 6 * add, 7 + 2 * add));
            });
            assert!(report.passed(), "{:?}", report.failures);
            report.stats.executions
        };
        let alone = one(1);
        std::thread::scope(|s| {
            let all: [_; 4] =
                std::array::from_fn(|i| s.spawn(move || (0..20).map(|_| one(i + 1)).collect::<Vec<_>>()));
            for t in all {
                assert_eq!(t.join().unwrap(), [alone; 20]);
            }
        });
    }

    #[test]
    fn a_check_that_failed_leaves_nothing_behind_for_the_next() {
        static LEFT: Mutex<usize> = Mutex::new(0);
        let stuck = || {
            let _held = LEFT.lock().unwrap();
            let _again = LEFT.lock().unwrap();
        };
        for _ in 0..3 {
            fails(Deadlock, stuck);
            let seen = outcomes(|| {
                let mut n = LEFT.lock().unwrap();
                *n += 1;
                *n
            });
            assert_eq!(seen, [1].into());
        }
    }

    #[test]
    fn a_failed_check_panics_with_its_report() {
        let text = panic_of(|| Config::new().quiet(true).check(lost_update));
        says(&text, &["assertion", "an update was lost", "RADDLE_REPLAY=rd1-", "faults.rs"]);
    }
}

/// Cases in which the process ends, or which read the environment.
mod processes {
    use super::*;

    const CASE: &str = "RADDLE_FAULTS_CASE";

    struct Ended {
        code: Option<i32>,
        out: String,
        err: String,
    }

    /// Runs a case in a child with these variables. What takes longer than a test may take is a hang.
    fn child(case: &str, variables: &[(&str, &str)]) -> Ended {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::a_case_in_a_child", "--ignored", "--nocapture", "--test-threads=1"])
            .env_clear()
            .env(CASE, case)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let start = Instant::now();
        let mut hung = false;
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(20) {
                hung = true;
                child.kill().unwrap();
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let out = child.wait_with_output().unwrap();
        let code = out.status.code();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&out.stdout), text(&out.stderr));
        assert!(!hung, "`{case}` with {variables:?} hangs, having said:\n{out}{err}");
        Ended { code, out, err }
    }

    #[test]
    #[ignore = "runs in a child process of the others"]
    fn a_case_in_a_child() {
        let case = std::env::var(CASE).unwrap_or_default();
        match case.as_str() {
            "destructor of what is given up" => raddle::check(|| {
                let m = Mutex::new(());
                let _sour = Sour("nobody finished");
                let _held = m.lock().unwrap();
                drop(m.lock());
            }),
            "real mutex" => raddle::check(|| {
                let real = std::sync::Arc::new(std::sync::Mutex::new(()));
                let n = std::sync::Arc::new(AtomicUsize::new(0));
                let other = thread::spawn({
                    let (real, n) = (real.clone(), n.clone());
                    move || {
                        let _guard = real.lock().unwrap();
                        n.fetch_add(1, SeqCst);
                    }
                });
                let guard = real.lock().unwrap();
                n.fetch_add(1, SeqCst);
                drop(guard);
                other.join().unwrap();
            }),
            "real loop" => raddle::check(|| {
                AtomicUsize::new(0).store(1, SeqCst);
                loop {
                    std::hint::spin_loop();
                }
            }),
            "real loop at once" => raddle::check(|| {
                loop {
                    std::hint::spin_loop();
                }
            }),
            "three times each" => show(three_times_each),
            "lost update" => show(lost_update),
            "checked lost update" => raddle::check(lost_update),
            "leak" => show(|| std::mem::forget(Arc::new(1))),
            "weak" => show(|| _ = AtomicUsize::new(0).compare_exchange_weak(0, 1, SeqCst, SeqCst)),
            "park" => show(|| {
                thread::current().unpark();
                thread::park();
            }),
            "flag" => show(|| {
                let flag = AtomicBool::new(false);
                thread::scope(|s| {
                    s.spawn(|| flag.store(true, SeqCst));
                    while !flag.load(SeqCst) {}
                });
            }),
            "deep" => show(|| _ = deep(1_000)),
            "four threads" => show(|| (0..3).for_each(|_| drop(thread::spawn(|| ())))),
            _ => panic!("no case {case:?}"),
        }
    }

    #[inline(never)]
    fn deep(n: usize) -> usize {
        let room = std::hint::black_box([n; 64]);
        if n == 0 { 0 } else { room[n % 64] + deep(n - 1) }
    }

    /// Prints what the parent looks at.
    fn show(f: fn()) {
        let report = Config::new().run(f);
        println!("verdict {:?}", report.verdict);
        println!("algorithm {}", report.algorithm);
        println!("executions {}", report.stats.executions);
        for failure in &report.failures {
            println!("failure {} {}", failure.kind.name(), failure.message);
            println!("preemptions {}", failure.preemptions);
            println!("token {}", failure.replay);
        }
    }

    #[test]
    fn a_destructor_that_panics_while_its_execution_is_given_up_is_explained() {
        let Ended { err, .. } = child("destructor of what is given up", &[]);
        says(&err, &["nobody finished", "RADDLE_REPLAY=rd1-"]);
        // What was wrong before that is what the user should hear of.
        says(&err, &["deadlock"]);
    }

    #[test]
    fn a_lock_of_std_that_blocks_stops_the_check() {
        let Ended { code, err, .. } = child("real mutex", &[("RADDLE_WATCHDOG", "1")]);
        assert!(code.is_some_and(|c| c != 0), "{err}");
        says(&err, &["something that raddle", "control, such as", "`std`", "rd1-"]);
    }

    #[test]
    fn a_loop_without_steps_stops_the_check() {
        let Ended { code, err, .. } = child("real loop", &[("RADDLE_WATCHDOG", "1")]);
        assert!(code.is_some_and(|c| c != 0), "{err}");
        says(&err, &["of CPU time", "RADDLE_WATCHDOG", "faults.rs", "rd1-"]);
    }

    #[test]
    fn a_loop_before_the_first_step_stops_the_check_as_well() {
        let Ended { code, err, .. } = child("real loop at once", &[("RADDLE_WATCHDOG", "1")]);
        assert!(code.is_some_and(|c| c != 0), "{err}");
        says(&err, &["of CPU time"]);
    }

    #[test]
    fn the_variables_are_honoured() {
        // The program, a variable, and what is then printed.
        let rows = [
            ("three times each", "RADDLE_QUIET", "1", "executions 20"),
            ("three times each", "RADDLE_ALGORITHM", "dpor", "algorithm dpor"),
            (
                "three times each",
                "RADDLE_MAX_EXECUTIONS",
                "3",
                "verdict Incomplete\nalgorithm optimal\nexecutions 3",
            ),
            ("three times each", "RADDLE_MAX_SECONDS", "0", "verdict Incomplete"),
            ("three times each", "RADDLE_MAX_SECONDS", "60", "verdict Verified"),
            ("three times each", "RADDLE_MAX_STEPS", "5", "verdict Incomplete"),
            ("four threads", "RADDLE_MAX_THREADS", "4", "verdict Verified"),
            ("four threads", "RADDLE_MAX_THREADS", "3", "verdict Incomplete"),
            ("deep", "RADDLE_STACK_SIZE", "4000000", "verdict Verified"),
            ("deep", "RADDLE_STACK_SIZE", "65536", "failure signal"),
            ("leak", "RADDLE_LEAKS", "1", "failure leak"),
            ("leak", "RADDLE_LEAKS", "0", "verdict Verified"),
            ("weak", "RADDLE_SPURIOUS_FAILURES", "on", "executions 2"),
            ("weak", "RADDLE_SPURIOUS_FAILURES", "off", "executions 1"),
            ("flag", "RADDLE_SPIN_LOOPS", "yes", "verdict Verified"),
            ("lost update", "RADDLE_KEEP_GOING", "1", "executions 4"),
            ("lost update", "RADDLE_SHRINK", "0", "verdict Failure"),
        ];
        let mut wrong = String::new();
        for (case, variable, value, expected) in rows {
            let Ended { out, err, .. } = child(case, &[(variable, value)]);
            if !out.contains(expected) {
                wrong +=
                    &format!("{variable}={value} on `{case}`: expected `{expected}`, found:\n{out}{err}\n");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    }

    #[test]
    fn a_report_is_printed_unless_it_should_be_quiet() {
        let loud = child("three times each", &[]);
        says(&loud.err, &["verified", "20 executions"]);
        let quiet = child("three times each", &[("RADDLE_QUIET", "1")]);
        assert!(!quiet.err.contains("verified"), "{}", quiet.err);
    }

    #[test]
    fn values_that_make_no_sense_are_refused_by_name() {
        let rows = [
            ("RADDLE_ALGORITHM", "best", "no algorithm `best`"),
            ("RADDLE_MAX_EXECUTIONS", "many", "invalid digit"),
            ("RADDLE_MAX_EXECUTIONS", "-1", "invalid digit"),
            ("RADDLE_MAX_SECONDS", "soon", "invalid float"),
            ("RADDLE_MAX_SECONDS", "-1", "say a number of seconds"),
            ("RADDLE_MAX_SECONDS", "nan", "say a number of seconds"),
            ("RADDLE_TIMEOUTS", "patient=5", "does not say how"),
            ("RADDLE_STACK_SIZE", "999999999999", "at most"),
            ("RADDLE_MAX_STEPS", "1e3", "invalid digit"),
            ("RADDLE_MAX_THREADS", "", ""),
            ("RADDLE_STACK_SIZE", "1MB", "invalid digit"),
            ("RADDLE_KEEP_GOING", "maybe", "say 1 or 0"),
            ("RADDLE_QUIET", "2", "say 1 or 0"),
            ("RADDLE_WATCHDOG", "x", "invalid digit"),
            ("RADDLE_REPLAY", "rd1-AAA", "token"),
        ];
        for (variable, value, why) in rows {
            let Ended { code, err, .. } = child("three times each", &[(variable, value)]);
            assert_ne!(code, Some(0), "{variable}={value}: {err}");
            says(&err, &[&format!("{variable} is set to {value:?}"), why]);
        }
    }

    #[test]
    fn the_printed_command_shows_the_failure_again() {
        let first = child("checked lost update", &[]);
        assert_ne!(first.code, Some(0));
        says(&first.err, &["an update was lost", "cargo test", "RADDLE_REPLAY="]);
        let after = first.err.split("RADDLE_REPLAY=").nth(1).unwrap();
        let token: String =
            after.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
        let again = child("lost update", &[("RADDLE_REPLAY", &token)]);
        says(&again.out, &["verdict Failure", "algorithm replay", "executions 1", "an update was lost"]);
        let damaged = child("lost update", &[("RADDLE_REPLAY", &token[..token.len() - 1])]);
        assert_ne!(damaged.code, Some(0));
        says(&damaged.err, &["RADDLE_REPLAY is set to", "token"]);
    }

    #[test]
    fn a_kind_has_the_name_that_reports_use() {
        assert_eq!(FailureKind::ExitCode.name(), "exit-code");
        assert_eq!(FailureKind::Nondeterminism.name(), "nondeterminism");
    }
}

#[test]
fn nobody_may_count_on_being_woken_for_no_reason() {
    use raddle::sync::{Condvar, Mutex};
    let report = raddle::Config::new().quiet(true).run(|| {
        let (lock, never) = (Mutex::new(()), Condvar::new());
        drop(never.wait(lock.lock().unwrap()));
    });
    assert_eq!(report.verdict, raddle::Verdict::Failure, "{report:?}");
    assert_eq!(report.failures[0].kind, raddle::FailureKind::Deadlock, "{report:?}");
    let report = raddle::Config::new().quiet(true).run(raddle::thread::park);
    assert_eq!(report.failures[0].kind, raddle::FailureKind::Deadlock, "{report:?}");
}
