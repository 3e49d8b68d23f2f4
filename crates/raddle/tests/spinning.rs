//! Threads that poll under spin locks of several kinds, beside one that sets what they wait for.
#![allow(missing_docs)]

mod common;

use common::default;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Report, Verdict, hint, thread};

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
fn polls<L: Spin>(pollers: usize) -> Report {
    let report = default().max_time(std::time::Duration::from_secs(20)).run(move || {
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
    });
    println!("{:?} {} {:?} {:?}", report.verdict, report.guarantee, report.stats, report.caveats);
    for f in &report.failures {
        println!("{f:?}");
    }
    report
}

#[test]
fn one_poller_under_a_spin_lock() {
    for report in [polls::<TestAndSet>(1), polls::<TestTestAndSet>(1), polls::<CompareExchange>(1), polls::<Weak>(1)] {
        assert_eq!(report.verdict, Verdict::Verified, "{}", report.guarantee);
    }
}

#[test]
fn two_pollers_under_a_spin_lock() {
    for report in [polls::<TestAndSet>(2), polls::<TestTestAndSet>(2), polls::<CompareExchange>(2), polls::<Weak>(2)] {
        assert_eq!(report.verdict, Verdict::Verified, "{}", report.guarantee);
    }
}
