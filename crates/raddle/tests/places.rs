//! The kind and the place that a report gives for a failure.

mod common;

use common::{found, says, verified};
use raddle::FailureKind;
use raddle::sync::{Arc, Once, OnceLock};
use raddle::thread;

#[test]
fn a_wait_for_what_never_comes_is_a_deadlock() {
    let failure = found(FailureKind::Deadlock, || {
        let cell = Arc::new(OnceLock::<u32>::new());
        let other = cell.clone();
        let waits = thread::spawn(move || *other.wait());
        waits.join().unwrap();
    });
    says(&failure.message, &["waits"]);
    found(FailureKind::Deadlock, || Once::new().wait());
    // Only one of two orders makes the value.
    found(FailureKind::Deadlock, || {
        let cell = OnceLock::new();
        let flag = raddle::sync::atomic::AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| flag.store(true, raddle::sync::atomic::Ordering::SeqCst));
            s.spawn(|| {
                if !flag.load(raddle::sync::atomic::Ordering::SeqCst) {
                    let _ = cell.set(1);
                }
            });
            assert_eq!(*cell.wait(), 1);
        });
    });
    verified(|| {
        let cell = OnceLock::new();
        let once = Once::new();
        thread::scope(|s| {
            s.spawn(|| assert_eq!(*cell.wait(), 3));
            s.spawn(|| once.wait());
            s.spawn(|| once.call_once(|| ()));
            cell.set(3).unwrap();
        });
    });
}

#[test]
fn a_panic_inside_of_std_is_at_the_users_call() {
    let line = line!() + 3;
    let failure = found(FailureKind::Panic, || {
        let bytes = [200u8, 100];
        let sum: u8 = std::hint::black_box(bytes).iter().sum();
        assert_eq!(sum, 1);
    });
    let location = failure.location.unwrap();
    assert!(location.contains(&format!("places.rs:{line}")), "{location}: {}", failure.message);
    says(&failure.message, &["overflow", "library/core"]);
}

#[test]
fn a_scope_waits_for_ever_for_a_handle_that_is_forgotten() {
    let failure = found(FailureKind::Deadlock, || {
        thread::scope(|s| std::mem::forget(s.spawn(|| 1)));
    });
    says(&failure.message, &["forgotten"]);
    verified(|| {
        thread::scope(|s| {
            let joined = s.spawn(|| 1);
            let dropped = s.spawn(|| 2);
            let moved = s.spawn(|| 3);
            s.spawn(move || assert_eq!(moved.join().unwrap(), 3));
            drop(dropped);
            assert_eq!(joined.join().unwrap(), 1);
        });
    });
}
