//! Threads that poll under spin locks of several kinds, beside one that sets what they wait for.
#![allow(missing_docs)]

mod common;

use common::default;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{CaveatKind, FailureKind, LoopRule, Report, Verdict, hint, thread};

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

/// The search ends: what it left out, if anything, is named.
#[track_caller]
fn ends(report: &Report) {
    let verdicts = [Verdict::Verified, Verdict::NoFailureWithCaveats];
    assert!(verdicts.contains(&report.verdict), "{} {:?}", report.guarantee, report.stopped);
    let bounded = report.caveats.iter().any(|c| c.kind == CaveatKind::Turns);
    assert_eq!(bounded, report.verdict == Verdict::NoFailureWithCaveats, "{:?}", report.caveats);
}

#[test]
fn pollers_that_see_each_other_retry_end() {
    ends(&default().turns(1).max_executions(100_000).run(polls::<CompareExchange>(2)));
}

#[test]
fn pollers_that_test_before_they_set_end() {
    let report = default().max_executions(300_000).run(polls::<TestTestAndSet>(2));
    ends(&report);
    // The last round of the search is a small one.
    let run = report.stats.executions + report.stats.pruned;
    assert!(run < 20_000, "{:?}", report.stats);
}

#[test]
fn looks_of_a_thread_that_is_stopped_for_them_hold_up_no_other() {
    let report =
        default().loop_rule(LoopRule::Eager).turns(32).max_executions(40_000).run(polls::<TestAndSet>(2));
    is_verified(&report);
    let run = report.stats.executions + report.stats.pruned;
    assert!(run < 20_000, "{:?}", report.stats);
}

/// Each of two threads polls under the lock for what the other one sets there.
fn polls_both<L: Spin>() -> impl Fn() {
    move || {
        let (lock, flags) = (L::default(), [AtomicBool::new(false), AtomicBool::new(false)]);
        let part = |own: usize| {
            lock.lock();
            flags[own].store(true, SeqCst);
            lock.unlock();
            loop {
                lock.lock();
                let set = flags[1 - own].load(SeqCst);
                lock.unlock();
                if set {
                    break;
                }
            }
        };
        thread::scope(|s| {
            s.spawn(|| part(0));
            part(1);
        });
    }
}

#[test]
fn pollers_with_two_critical_sections_each_are_verified() {
    is_verified(&default().run(polls_both::<TestAndSet>()));
    is_verified(&default().run(polls_both::<TestTestAndSet>()));
    is_verified(&default().run(polls_both::<CompareExchange>()));
}

/// Takes both locks or none: tries the second one, and releases the first where that fails.
fn with_both(first: &AtomicBool, second: &AtomicBool, work: impl Fn()) {
    let (mut first, mut second) = (first, second);
    loop {
        while first.swap(true, SeqCst) {}
        if !second.swap(true, SeqCst) {
            break;
        }
        first.store(false, SeqCst);
        // Begins with the one that was taken, as `std::lock` of C++ does.
        std::mem::swap(&mut first, &mut second);
    }
    work();
    second.store(false, SeqCst);
    first.store(false, SeqCst);
}

#[test]
fn threads_that_step_back_from_each_other_end_with_a_caveat() {
    let report = default().max_executions(100_000).run(|| {
        let (m, n, count) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU32::new(0));
        let add = || count.store(count.load(SeqCst) + 1, SeqCst);
        thread::scope(|s| {
            s.spawn(|| with_both(&n, &m, add));
            with_both(&m, &n, add);
        });
        assert_eq!(count.load(SeqCst), 2);
    });
    ends(&report);
    assert_eq!(report.verdict, Verdict::NoFailureWithCaveats, "{}", report.guarantee);
}

#[test]
fn what_goes_wrong_after_some_steps_back_is_found() {
    // The lock is taken without the second one after three failures.
    let report = default().max_executions(100_000).run(|| {
        let (m, n, count) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU32::new(0));
        let impatient = |first: &AtomicBool, second: &AtomicBool| {
            for _ in 0..3 {
                while first.swap(true, SeqCst) {}
                if !second.swap(true, SeqCst) {
                    break;
                }
                first.store(false, SeqCst);
            }
            let seen = count.load(SeqCst);
            count.store(seen + 1, SeqCst);
        };
        thread::scope(|s| {
            s.spawn(|| impatient(&n, &m));
            with_both(&m, &n, || {
                let seen = count.load(SeqCst);
                count.store(seen + 1, SeqCst);
                // Nobody else is here.
                assert_eq!(count.load(SeqCst), seen + 1);
            });
        });
    });
    assert_eq!(report.verdict, Verdict::Failure, "{}", report.guarantee);
}

/// A push that fails while there are two elements. Its frame is large, and most of it is written only where the push succeeds.
fn pushes(tail: &AtomicU32, head: &AtomicU32) -> bool {
    let n = tail.load(SeqCst);
    if n - head.load(SeqCst) == 2 {
        return false;
    }
    let mut room = [0u64; 600];
    std::hint::black_box(&mut room)[1] = 1;
    let text = format!("push {n}");
    std::hint::black_box(&text);
    tail.store(n + 1, SeqCst);
    true
}

#[test]
fn what_the_search_leaves_deep_in_the_stack_is_not_part_of_local_states() {
    let report = default().run(|| {
        let (tail, head) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                for _ in 0..3 {
                    while !pushes(&tail, &head) {
                        hint::spin_loop();
                    }
                }
            });
            for n in 0..3 {
                while tail.load(SeqCst) == n {
                    hint::spin_loop();
                }
                head.store(n + 1, SeqCst);
            }
        });
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report:?}");
    // Each loop is cut after the same number of turns, wherever its frames lie.
    assert!(report.stats.executions < 400, "{}", report.stats.executions);
}
