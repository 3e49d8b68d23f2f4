//! Threads that poll under spin locks of several kinds, beside one that sets what they wait for.
#![allow(missing_docs)]

mod common;

use common::default;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{FailureKind, Report, Verdict, hint, thread};

/// A lock whose waiters spin.
trait Spin: Default + Sync {
    fn lock(&self);
    fn unlock(&self);
}

#[derive(Default)]
struct TestAndSet(AtomicBool);

impl Spin for TestAndSet {
    fn lock(&self) {
        while self.0.swap(true, SeqCst) {}
    }
    fn unlock(&self) {
        self.0.store(false, SeqCst);
    }
}

/// Tests, and tests again while it sets.
#[derive(Default)]
struct TestTestAndSet(AtomicBool);

impl Spin for TestTestAndSet {
    fn lock(&self) {
        loop {
            while self.0.load(SeqCst) {}
            if !self.0.swap(true, SeqCst) {
                return;
            }
        }
    }
    fn unlock(&self) {
        self.0.store(false, SeqCst);
    }
}

#[derive(Default)]
struct CompareExchange(AtomicU32);

impl Spin for CompareExchange {
    fn lock(&self) {
        while self.0.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
            hint::spin_loop();
        }
    }
    fn unlock(&self) {
        self.0.store(0, SeqCst);
    }
}

#[derive(Default)]
struct Weak(AtomicU32);

impl Spin for Weak {
    fn lock(&self) {
        while self.0.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_err() {}
    }
    fn unlock(&self) {
        self.0.store(0, SeqCst);
    }
}

/// `pollers` threads look at a flag under the lock until another thread has set it there.
fn polls<L: Spin>(pollers: usize) -> impl Fn() {
    move || {
        let (lock, flag) = (L::default(), AtomicBool::new(false));
        thread::scope(|s| {
            for _ in 0..pollers {
                s.spawn(|| {
                    loop {
                        lock.lock();
                        let set = flag.load(SeqCst);
                        lock.unlock();
                        if set {
                            break;
                        }
                    }
                });
            }
            lock.lock();
            flag.store(true, SeqCst);
            lock.unlock();
        });
    }
}

fn is_verified(report: &Report) {
    assert_eq!(report.verdict, Verdict::Verified, "{}", report.guarantee);
    assert!(report.caveats.is_empty(), "{:?}", report.caveats);
}

#[test]
fn a_poller_under_a_spin_lock_beside_a_setter_is_verified() {
    is_verified(&default().run(polls::<TestAndSet>(1)));
    is_verified(&default().run(polls::<TestTestAndSet>(1)));
    is_verified(&default().run(polls::<CompareExchange>(1)));
    is_verified(&default().run(polls::<Weak>(1)));
}

#[test]
fn two_pollers_under_a_spin_lock_beside_a_setter_are_verified() {
    is_verified(&default().run(polls::<TestAndSet>(2)));
}

#[test]
fn a_poller_that_nobody_ends_is_a_livelock() {
    let report = default().run(|| {
        let (lock, flag) = (TestAndSet::default(), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                lock.lock();
                lock.unlock();
            });
            loop {
                lock.lock();
                let set = flag.load(SeqCst);
                lock.unlock();
                if set {
                    break;
                }
            }
        });
    });
    assert_eq!(report.verdict, Verdict::Failure, "{}", report.guarantee);
    assert_eq!(report.failures[0].kind, FailureKind::Livelock);
}

#[test]
fn what_a_poller_sees_in_a_lock_that_is_released_too_early_is_found() {
    let report = default().run(|| {
        let (lock, flag, data) = (TestTestAndSet::default(), AtomicBool::new(false), AtomicU32::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                loop {
                    lock.lock();
                    let (set, value) = (flag.load(SeqCst), data.load(SeqCst));
                    lock.unlock();
                    if set {
                        assert_eq!(value, 1);
                        break;
                    }
                }
            });
            lock.lock();
            flag.store(true, SeqCst);
            lock.unlock();
            data.store(1, SeqCst);
        });
    });
    assert_eq!(report.verdict, Verdict::Failure, "{}", report.guarantee);
    let failure = &report.failures[0];
    assert_eq!(failure.kind, FailureKind::Assertion, "{}", failure.message);
}
