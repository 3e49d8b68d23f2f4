//! With `Config::keep_going` every failure of a test is found, also of threads that share nothing with another one that fails.

mod common;

use common::default;
use raddle::Config;
use raddle::boxed::Box;
use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicPtr, AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::thread;

/// The failures, as sorted kinds and messages. Each token shows its failure again.
#[track_caller]
fn all_failures(config: Config, f: impl Fn() + Copy) -> Vec<String> {
    let report = config.keep_going(true).run(f);
    assert!(report.stats.open == 0 && report.stopped.is_none(), "{}", report.guarantee);
    let mut found: Vec<String> = vec![];
    for failure in &report.failures {
        let again = default().replay(&failure.replay).run(f);
        let essence = |f: &raddle::Failure| (f.kind, f.message.clone(), f.location.clone(), f.thread);
        assert_eq!(again.failures.iter().map(essence).collect::<Vec<_>>(), [essence(failure)], "replayed");
        let text = failure.message.lines().next().unwrap_or_default();
        found.push(format!("{} {text}", failure.kind.name()));
    }
    found.sort();
    found
}

/// Checks under several searches that these failures are found, each named by how it starts.
#[track_caller]
fn fails(right: &[&str], f: impl Fn() + Copy) {
    for algorithm in ["optimal", "source", "dpor", "none"] {
        let found = all_failures(default().algorithm(algorithm), f);
        let same = found.len() == right.len() && found.iter().zip(right).all(|(f, r)| f.starts_with(r));
        assert!(same, "{algorithm}: {found:?}, not {right:?}");
    }
}

fn shared() -> Arc<AtomicU32> {
    Arc::new(AtomicU32::new(0))
}

#[test]
fn two_threads_that_always_panic() {
    fails(&["panic first", "panic second"], || {
        let x = shared();
        let (y, z) = (x.clone(), x.clone());
        let first = thread::spawn(move || {
            if y.load(SeqCst) == 0 {
                panic!("first")
            }
        });
        let second = thread::spawn(move || {
            if z.load(SeqCst) == 0 {
                panic!("second")
            }
        });
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn threads_that_panic_without_a_step() {
    fails(&["assertion assertion `left == right` failed: third", "panic first", "panic second"], || {
        let all: [fn(); 3] = [|| panic!("first"), || panic!("second"), || assert_eq!(1, 2, "third")];
        all.into_iter().for_each(|f| drop(thread::spawn(f)));
    });
}

#[test]
fn one_that_always_panics_and_one_that_panics_in_some_schedules() {
    fails(&["panic always", "panic sometimes"], || {
        let x = shared();
        let y = x.clone();
        thread::spawn(|| panic!("always"));
        thread::spawn(move || {
            if y.load(SeqCst) == 1 {
                panic!("sometimes")
            }
        });
        x.store(1, SeqCst);
    });
}

#[test]
fn threads_of_a_scope() {
    fails(&["panic first", "panic second"], || {
        thread::scope(|s| {
            s.spawn(|| panic!("first"));
            s.spawn(|| panic!("second"));
        });
    });
}

#[test]
fn the_first_thread_beside_another_one() {
    fails(&["panic other", "panic own"], || {
        thread::spawn(|| panic!("other"));
        panic!("own");
    });
}

#[test]
fn a_panic_that_is_handled_is_not_a_failure() {
    fails(&["panic second"], || {
        let first = thread::spawn(|| panic!("first"));
        let second = thread::spawn(|| panic!("second"));
        assert!(first.join().is_err());
        drop(second);
    });
    fails(&["panic second"], || {
        let second = thread::spawn(|| panic!("second"));
        thread::scope(|s| {
            assert!(s.spawn(|| panic!("first")).join().is_err());
        });
        drop(second);
    });
}

struct Plain(UnsafeCell<u32>);
// SAFETY: the tests race on purpose.
unsafe impl Sync for Plain {}
// SAFETY: as above.
unsafe impl Send for Plain {}

/// A data race ends the execution, which the report says.
#[test]
fn a_data_race_may_hide_failures() {
    let report = default().keep_going(true).run(|| {
        let a = Arc::new(Plain(UnsafeCell::new(0)));
        let b = a.clone();
        thread::spawn(|| panic!("always"));
        // SAFETY: none; this is the race.
        let racing = thread::spawn(move || b.0.with_mut(|p| unsafe { *p = 1 }));
        // SAFETY: as above.
        a.0.with_mut(|p| unsafe { *p = 2 });
        let _ = racing.join();
    });
    assert!(report.failures.iter().any(|f| f.kind == raddle::FailureKind::DataRace));
    assert!(report.caveats.iter().any(|c| c.text.contains("may be left")), "{:?}", report.caveats);
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
fn crashes_beside_panics_and_other_crashes() {
    fn null() -> *mut u32 {
        std::hint::black_box(std::ptr::null_mut())
    }
    fails(&["panic always", "signal SIGSEGV", "signal SIGSEGV"], || {
        let x = shared();
        let y = x.clone();
        // SAFETY: none; this is the crash.
        thread::spawn(|| unsafe { null().write_volatile(1) });
        // SAFETY: as above.
        thread::spawn(move || y.load(SeqCst) == 1 && unsafe { null().add(3).read_volatile() } == 0);
        thread::spawn(|| panic!("always"));
        x.store(1, SeqCst);
    });
    fails(&["panic sometimes", "signal SIGSEGV"], || {
        let x = shared();
        let y = x.clone();
        // SAFETY: none; this is the crash.
        let crashing = thread::spawn(|| unsafe { null().write_volatile(1) });
        thread::spawn(move || {
            if y.load(SeqCst) == 1 {
                panic!("sometimes")
            }
        });
        x.store(1, SeqCst);
        crashing.join().unwrap();
    });
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
fn a_panic_that_a_crashed_thread_might_handle_is_named() {
    let report = default().keep_going(true).run(|| {
        let panicking = thread::spawn(|| panic!("handled"));
        // SAFETY: none; this is the crash.
        unsafe { std::hint::black_box(std::ptr::null_mut::<u32>()).write_volatile(1) };
        assert!(panicking.join().is_err());
    });
    assert_eq!(report.failures.len(), 1, "{:?}", report.failures);
    assert!(report.caveats.iter().any(|c| c.text.contains("handled the panics")), "{:?}", report.caveats);
}

#[test]
fn a_deadlock_in_some_schedules_beside_a_panic_in_others() {
    fails(&["deadlock deadlock", "panic late"], || {
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let other = locks.clone();
        let t = thread::spawn(move || {
            let _first = other.0.lock().unwrap();
            *other.1.lock().unwrap() += 1;
        });
        {
            let mut second = locks.1.lock().unwrap();
            *second += 1;
            drop(locks.0.lock().unwrap());
        }
        t.join().unwrap();
        if *locks.1.lock().unwrap() == 2 {
            panic!("late");
        }
    });
}

/// Which of two threads frees a block again depends on what is not a step, so such a failure ends the execution.
#[test]
fn a_block_that_two_threads_free_is_deterministic() {
    let config = || default().spurious(32).turns(64).leaks(false).keep_going(true);
    let report = config().run(|| {
        let x = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
        let y = x.clone();
        let first = thread::spawn(move || {
            let p = Box::into_raw(Box::new(AtomicU32::new(7)));
            x.store(p, SeqCst);
            // SAFETY: it is freed here if the other thread has not done so; that it may have is the failure.
            drop(unsafe { Box::from_raw(p) });
            drop(Box::new(AtomicU32::new(7)));
        });
        let second = thread::spawn(move || {
            let p = y.swap(std::ptr::null_mut(), SeqCst);
            if !p.is_null() {
                // SAFETY: as above.
                drop(unsafe { Box::from_raw(p) });
            }
        });
        first.join().unwrap();
        second.join().unwrap();
    });
    let kinds: Vec<_> = report.failures.iter().map(|f| f.kind.name()).collect();
    assert!(!kinds.is_empty() && !kinds.contains(&"nondeterminism"), "{kinds:?}");
}
