//! What surrounds a test: locks that prefer writers, the clock, pointers into cells, destructors of thread-locals, types of std.
// What these tests do to cells is right or wrong on purpose: the checks say which.
#![allow(clippy::undocumented_unsafe_blocks, clippy::redundant_closure, clippy::deref_addrof)]

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use raddle::thread;
use raddle::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use raddle::{CaveatKind, Config, FailureKind, Report, Verdict};

fn run(test: impl Fn()) -> Report {
    Config::new().quiet(true).run(test)
}

fn kinds(report: &Report) -> Vec<CaveatKind> {
    report.caveats.iter().map(|c| c.kind).filter(|k| *k != CaveatKind::MemoryOrder).collect()
}

/// The check holds, and nothing was left out.
#[track_caller]
fn verified(test: impl Fn()) -> Report {
    let report = run(test);
    assert_eq!(report.verdict, Verdict::Verified, "{}", raddle::to_json(&report));
    report
}

/// The check fails with a message that has this in it, and its token leads there again.
#[track_caller]
fn fails(kind: FailureKind, text: &str, test: impl Fn()) {
    let report = run(&test);
    let json = raddle::to_json(&report);
    assert_eq!(report.failures.first().map(|f| f.kind), Some(kind), "{json}");
    assert!(report.failures[0].message.contains(text), "{json}");
    let again = Config::new().quiet(true).replay(&report.failures[0].replay).run(test);
    assert_eq!(again.failures.first().map(|f| f.kind), Some(kind), "{}", raddle::to_json(&again));
}

#[test]
fn a_second_read_lock_deadlocks_behind_a_waiting_writer() {
    let recursive = || {
        let lock = Arc::new(RwLock::new(0));
        let writer = thread::spawn({
            let lock = lock.clone();
            move || *lock.write().unwrap() += 1
        });
        let (a, b) = (lock.read().unwrap(), lock.read().unwrap());
        drop((a, b));
        writer.join().unwrap();
    };
    fails(FailureKind::Deadlock, "waits to write", recursive);
    // Another thread takes the second one.
    fails(FailureKind::Deadlock, "waits to write", || {
        let lock = RwLock::new(0);
        thread::scope(|s| {
            s.spawn(|| *lock.write().unwrap() += 1);
            let held = lock.read().unwrap();
            let other = s.spawn(|| *lock.read().unwrap());
            other.join().unwrap();
            drop(held);
        });
    });
    // A reader waits for a message of another one.
    fails(FailureKind::Deadlock, "waits to write", || {
        let lock = RwLock::new(0);
        let (send, receive) = mpsc::channel();
        thread::scope(|s| {
            s.spawn(|| *lock.write().unwrap() += 1);
            s.spawn(|| send.send(*lock.read().unwrap()).unwrap());
            let held = lock.read().unwrap();
            let _ = receive.recv().unwrap();
            drop(held);
        });
    });
}

#[test]
fn readers_that_do_not_wait_for_each_other_are_not_held_up_for_ever() {
    // Two readers and a writer: the writer comes before, between and after both. Between, two orders of the readers.
    let report = verified(|| {
        let lock = RwLock::new(0);
        thread::scope(|s| {
            s.spawn(|| *lock.write().unwrap() += 1);
            s.spawn(|| *lock.read().unwrap());
            assert!(*lock.read().unwrap() <= 1);
        });
    });
    assert_eq!(report.stats.executions, 4);
    // Two writers wait for readers, and for each other.
    verified(|| {
        let (lock, other) = (RwLock::new(0), Mutex::new(0));
        thread::scope(|s| {
            s.spawn(|| *lock.write().unwrap() += 1);
            s.spawn(|| *lock.write().unwrap() += 1);
            let seen = lock.read().unwrap();
            *other.lock().unwrap() += *seen;
        });
        assert_eq!(*lock.read().unwrap(), 2);
    });
    // A writer takes the lock twice, and readers come between.
    verified(|| {
        let (lock, other) = (RwLock::new(0), Mutex::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                *lock.write().unwrap() += 1;
                *lock.write().unwrap() += 1;
            });
            s.spawn(|| {
                let seen = lock.read().unwrap();
                *other.lock().unwrap() += *seen;
            });
        });
    });
}

#[test]
fn try_read_fails_while_a_writer_waits() {
    fails(FailureKind::Panic, "nobody writes", || {
        let lock = RwLock::new(0);
        thread::scope(|s| {
            let held = lock.read().unwrap();
            s.spawn(|| drop(lock.write()));
            assert!(lock.try_read().is_ok(), "nobody writes");
            drop(held);
        });
    });
    verified(|| {
        let lock = RwLock::new(0);
        thread::scope(|s| {
            let held = lock.read().unwrap();
            s.spawn(|| drop(lock.try_write()));
            assert!(lock.try_read().is_ok(), "nobody waits");
            drop(held);
        });
    });
    verified(|| {
        let lock = RwLock::new(0);
        thread::scope(|s| {
            s.spawn(|| *lock.write().unwrap() += 1);
            let mut held = raddle::sync::RwLockWriteGuard::downgrade(lock.write().unwrap());
            for _ in 0..2 {
                drop(held);
                held = lock.read().unwrap();
            }
            drop(lock.try_read());
        });
        assert!(lock.try_read().is_ok());
    });
}

#[test]
fn a_deadline_is_reached_by_waiting_and_by_being_late() {
    fails(FailureKind::Panic, "deadline passed", || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let setter = thread::spawn({
            let pair = pair.clone();
            move || {
                *pair.0.lock().unwrap() = true;
                pair.1.notify_one();
            }
        });
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut set = pair.0.lock().unwrap();
        while !*set {
            let now = Instant::now();
            assert!(now < deadline, "deadline passed");
            set = pair.1.wait_timeout(set, deadline - now).unwrap().0;
        }
        drop(set);
        setter.join().unwrap();
    });
    // Without a wait: between two readings.
    fails(FailureKind::Panic, "slow", || {
        let start = Instant::now();
        assert!(start.elapsed() < Duration::from_secs(3_000), "slow");
    });
    // Longer than an hour, if it was named.
    fails(FailureKind::Panic, "slow", || {
        let end = Instant::now() + Duration::from_secs(1_000_000);
        assert!(Instant::now() < end, "slow");
    });
    fails(FailureKind::Panic, "the date", || {
        let start = SystemTime::now();
        assert!(start > UNIX_EPOCH);
        assert!(SystemTime::now().duration_since(start).unwrap().is_zero(), "the date");
    });
}

#[test]
fn a_loop_that_polls_the_clock_ends() {
    fails(FailureKind::Panic, "timeout", || {
        let flag = Arc::new(AtomicBool::new(false));
        let setter = thread::spawn({
            let flag = flag.clone();
            move || {
                thread::sleep(Duration::from_millis(10));
                flag.store(true, SeqCst);
            }
        });
        let start = Instant::now();
        while !flag.load(SeqCst) {
            assert!(start.elapsed() < Duration::from_secs(1), "timeout");
            thread::yield_now();
        }
        setter.join().unwrap();
    });
    // Nobody sets the flag: the loop ends when the thread is late.
    let report = run(|| {
        let flag = AtomicBool::new(false);
        let start = Instant::now();
        while !flag.load(SeqCst) && start.elapsed() < Duration::from_secs(1) {
            thread::yield_now();
        }
    });
    assert_eq!((report.verdict, kinds(&report)), (Verdict::NoFailureWithCaveats, vec![CaveatKind::Clock]));
    // When nothing else can run time passes, however often the thread was late.
    fails(FailureKind::Panic, "the second deadline", || {
        for _ in 0..3 {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(10) {
                thread::yield_now();
            }
        }
        panic!("behind the second deadline");
    });
}

#[test]
fn time_never_runs_backwards_along_happens_before() {
    for late in [1, 2] {
        let report = Config::new().quiet(true).late(late).run(|| {
            let cell = Mutex::new(None);
            let first = thread::scope(|s| {
                s.spawn(|| *cell.lock().unwrap() = Some(Instant::now()));
                let mine = Instant::now();
                if let Some(theirs) = *cell.lock().unwrap() {
                    assert!(Instant::now() >= theirs);
                }
                mine
            });
            assert!(Instant::now() >= first);
            assert!(Instant::now() >= cell.lock().unwrap().unwrap());
        });
        assert!(report.failures.is_empty(), "{}", raddle::to_json(&report));
    }
    // A sleep takes as long as it says, or longer.
    let report = run(|| {
        let start = Instant::now();
        thread::spawn(|| thread::sleep(Duration::from_secs(7_200))).join().unwrap();
        assert!(start.elapsed() >= Duration::from_secs(7_200));
    });
    assert!(report.failures.is_empty(), "{}", raddle::to_json(&report));
    // One reading can be late, and there is no second one: nothing is left out.
    verified(|| {
        let now = Instant::now();
        thread::spawn(move || assert_eq!(now, now)).join().unwrap();
    });
}

struct Shared(UnsafeCell<u32>);
// SAFETY: not at all; the tests below are about what comes of it.
unsafe impl Sync for Shared {}
impl Shared {
    fn get(&self) -> *mut u32 {
        self.0.get()
    }
}

#[test]
fn pointers_of_unsafe_cells_read_and_write() {
    // SAFETY, for all of these: only one controlled thread runs at a time.
    verified(|| {
        let cell = Shared(UnsafeCell::new(7));
        thread::scope(|s| {
            s.spawn(|| assert_eq!(unsafe { *cell.get() }, 7));
            assert_eq!(unsafe { *cell.get() }, 7);
        });
    });
    fails(FailureKind::DataRace, "write", || {
        let cell = Shared(UnsafeCell::new(7));
        thread::scope(|s| {
            s.spawn(|| unsafe { *cell.get() += 1 });
            std::hint::black_box(unsafe { *cell.get() });
        });
    });
    fails(FailureKind::DataRace, "write", || {
        let cell = Shared(UnsafeCell::new(7));
        thread::scope(|s| {
            s.spawn(|| unsafe { *cell.get() = 8 });
            unsafe { *cell.get() = 8 };
        });
    });
    verified(|| {
        let (cell, turn) = (Shared(UnsafeCell::new(0)), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                unsafe { *cell.get() = 1 };
                turn.store(true, SeqCst);
            });
            if turn.load(SeqCst) {
                unsafe { *cell.get() += 1 };
            }
        });
        assert!(cell.0.into_inner() >= 1);
    });
    // A pointer that is kept and written through after the other thread has had its turn.
    fails(FailureKind::DataRace, "write", || {
        let (cell, turn) = (Arc::new(Shared(UnsafeCell::new(0))), Arc::new(AtomicBool::new(false)));
        let other = thread::spawn({
            let (cell, turn) = (cell.clone(), turn.clone());
            move || {
                let kept = cell.get();
                turn.store(true, SeqCst);
                unsafe { *kept = 1 };
            }
        });
        if turn.load(SeqCst) {
            let _ = cell.0.with(|p| unsafe { *p });
        }
        other.join().unwrap();
    });
}

static DROPS: AtomicU32 = AtomicU32::new(0);
struct Counts;
impl Drop for Counts {
    fn drop(&mut self) {
        DROPS.fetch_add(1, SeqCst);
    }
}
raddle::thread_local! {
    static COUNTS: Counts = const { Counts };
    static PLAIN: u32 = const { 5 };
}

#[test]
fn a_scope_does_not_wait_for_destructors_of_thread_locals() {
    fails(FailureKind::Assertion, "assertion", || {
        thread::scope(|s| {
            s.spawn(|| COUNTS.with(|_| ()));
        });
        assert_eq!(DROPS.load(SeqCst), 1);
    });
    // The order of two drops, and whether each is before or after the load: 0, 1 or 2 of them, by either thread.
    let report = verified(|| {
        thread::scope(|s| {
            s.spawn(|| COUNTS.with(|_| ()));
            s.spawn(|| COUNTS.with(|_| ()));
        });
        assert!(DROPS.load(SeqCst) <= 2);
    });
    assert!(report.stats.executions >= 6);
    // A join of the handle does, and so does a join of a thread without a scope.
    verified(|| {
        thread::scope(|s| s.spawn(|| COUNTS.with(|_| ())).join().unwrap());
        assert_eq!(DROPS.load(SeqCst), 1);
    });
    verified(|| {
        thread::spawn(|| COUNTS.with(|_| ())).join().unwrap();
        assert_eq!(DROPS.load(SeqCst), 1);
    });
    // What has no destructor costs nothing, and panics are told as before.
    let report = verified(|| {
        thread::scope(|s| {
            s.spawn(|| PLAIN.with(|n| assert_eq!(*n, 5)));
        });
    });
    assert_eq!(report.stats.executions, 1);
    fails(FailureKind::Panic, "in the scope", || {
        thread::scope(|s| {
            s.spawn(|| COUNTS.with(|_| panic!("in the scope")));
        });
    });
}

static mut RAW: u32 = 0;
static PLAIN_ATOMIC: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
static OURS: AtomicU32 = AtomicU32::new(5);

fn call_by_pointer() {
    type Add = fn(&std::sync::atomic::AtomicU64, u64, std::sync::atomic::Ordering) -> u64;
    let add: Add = std::hint::black_box(std::sync::atomic::AtomicU64::fetch_add);
    add(&PLAIN_ATOMIC, 1, SeqCst);
}

/// Tests of this workspace are optimised, so functions of std are called here through pointers that the compiler does not see through.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn types_of_std_inside_a_check_are_named() {
    use std::hint::black_box;
    use std::sync::atomic::Ordering;
    let named = |what: &str, report: Report| {
        let found = report.caveats.iter().any(|c| {
            matches!(c.kind, CaveatKind::ForeignTypes | CaveatKind::Races)
                && c.text.contains(what)
                && c.places.iter().any(|p| p.starts_with("environment::") || p == "a closure")
        });
        assert!(
            found && report.verdict == Verdict::NoFailureWithCaveats,
            "{what}: {}",
            raddle::to_json(&report)
        );
    };
    type Store = fn(&std::sync::atomic::AtomicU32, u32, Ordering);
    named(
        "atomics",
        run(|| {
            let n = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
            let m = n.clone();
            let store: Store = black_box(std::sync::atomic::AtomicU32::store);
            thread::spawn(move || store(&m, 1, SeqCst)).join().unwrap();
        }),
    );
    // In a closure of a thread, in a function behind a pointer, and behind a trait object.
    named(
        "atomics",
        run(|| {
            let other = thread::spawn(|| {
                let store: Store = black_box(std::sync::atomic::AtomicU32::store);
                store(&std::sync::atomic::AtomicU32::new(0), 1, SeqCst);
            });
            other.join().unwrap();
        }),
    );
    named(
        "atomics",
        run(|| {
            let f: fn() = black_box(call_by_pointer);
            thread::spawn(move || f()).join().unwrap();
        }),
    );
    named(
        "atomics",
        run(|| {
            let f: Box<dyn Fn() + Send> = black_box(Box::new(|| {
                let store: Store = black_box(std::sync::atomic::AtomicU32::store);
                store(&std::sync::atomic::AtomicU32::new(0), 1, SeqCst);
            }));
            thread::spawn(move || f()).join().unwrap();
        }),
    );
    named(
        "locks",
        run(|| {
            type Lock<'a> =
                fn(&'a std::sync::Mutex<u32>) -> std::sync::LockResult<std::sync::MutexGuard<'a, u32>>;
            let n = std::sync::Mutex::new(1);
            let lock: Lock<'_> = black_box(std::sync::Mutex::lock);
            *lock(&n).unwrap() += 1;
        }),
    );
    named(
        "clock",
        run(|| {
            let now: fn() -> std::time::Instant = black_box(std::time::Instant::now);
            let start = now();
            thread::spawn(move || assert!(now() >= start)).join().unwrap();
        }),
    );
    // A cell that threads share by a reference, and one under a lock.
    fn end<T>(value: T) {
        let end: unsafe fn(*mut Arc<T>) = black_box(std::ptr::drop_in_place::<Arc<T>>);
        let mut shared = std::mem::ManuallyDrop::new(Arc::new(value));
        // SAFETY: it is not used any more.
        unsafe { end(&raw mut *shared) };
    }
    named("std's cells", run(|| end((1, std::cell::Cell::new(1)))));
    verified(|| end(Mutex::new(std::cell::RefCell::new(1))));
    named(
        "static mut",
        run(|| {
            // SAFETY: only one controlled thread runs at a time.
            let add = || unsafe { *(&raw mut RAW) += 1 };
            let other = thread::spawn(add);
            add();
            other.join().unwrap();
        }),
    );
    named(
        "static mut",
        run(|| {
            thread::spawn(|| PLAIN_ATOMIC.fetch_add(1, SeqCst)).join().unwrap();
        }),
    );
}

#[test]
fn an_ordinary_test_has_no_caveats() {
    verified(|| {
        let (n, m) = (Arc::new(Mutex::new(vec![1])), Arc::new(AtomicU32::new(0)));
        let done = Arc::new((Mutex::new(false), Condvar::new()));
        let other = thread::Builder::new().name("other".to_owned()).spawn({
            let (n, m, done) = (n.clone(), m.clone(), done.clone());
            move || {
                n.lock().unwrap().push(format!("{}", m.fetch_add(1, SeqCst)).len());
                *done.0.lock().unwrap() = true;
                done.1.notify_all();
            }
        });
        println!("{:?}", n.lock().unwrap());
        let guard = done.1.wait_while(done.0.lock().unwrap(), |d| !*d).unwrap();
        assert!(*guard);
        drop(guard);
        other.unwrap().join().unwrap();
        assert_eq!(OURS.fetch_add(1, SeqCst), 5);
        PLAIN.with(|n| assert_eq!(*n, 5));
        assert_eq!((n.lock().unwrap().len(), m.load(SeqCst)), (2, 1));
    });
}

#[test]
fn to_ask_for_the_end_of_a_thread_or_for_a_count_orders_nothing() {
    struct Shared(raddle::cell::UnsafeCell<i32>);
    // SAFETY: none, which is what is found.
    unsafe impl Sync for Shared {}
    let cell = || raddle::sync::Arc::new(Shared(raddle::cell::UnsafeCell::new(0)));
    // SAFETY: as above.
    let write = |c: &Shared| c.0.with_mut(|p| unsafe { *p = 1 });
    let asks_for_the_end = move || {
        let shared = cell();
        let other = shared.clone();
        let t = raddle::thread::spawn(move || write(&other));
        if t.is_finished() {
            write(&shared);
        }
        t.join().unwrap();
    };
    let asks_for_the_count = move || {
        let shared = cell();
        let other = shared.clone();
        let t = raddle::thread::spawn(move || write(&other));
        if raddle::sync::Arc::strong_count(&shared) == 1 {
            write(&shared);
        }
        t.join().unwrap();
    };
    let tests: [&dyn Fn(); 2] = [&asks_for_the_end, &asks_for_the_count];
    for test in tests {
        let report = raddle::Config::new().quiet(true).run(test);
        assert_eq!(report.failures[0].kind, raddle::FailureKind::DataRace, "{report:?}");
    }
}

#[test]
fn who_waits_for_a_message_for_ever_gets_it() {
    let report = raddle::Config::new().quiet(true).run(|| {
        let (tx, rx) = raddle::sync::mpsc::channel();
        let t = raddle::thread::spawn(move || tx.send(1).unwrap());
        assert_eq!(rx.recv_timeout(std::time::Duration::MAX), Ok(1));
        t.join().unwrap();
    });
    assert_eq!(report.verdict, raddle::Verdict::NoFailureWithCaveats, "{report:?}");
    assert_eq!(report.caveats[0].kind, raddle::CaveatKind::Patient);
}

#[test]
fn time_has_passed_when_a_wait_times_out() {
    use raddle::time::Instant;
    let report = raddle::Config::new().quiet(true).run(|| {
        let pair = (raddle::sync::Mutex::new(()), raddle::sync::Condvar::new());
        let limit = std::time::Duration::from_millis(1);
        let deadline = Instant::now() + limit;
        let mut guard = pair.0.lock().unwrap();
        while Instant::now() <= deadline {
            guard = pair.1.wait_timeout(guard, limit).unwrap().0;
        }
    });
    assert!(report.passed(), "{report:?}");
}

/// A function of the test, which is not part of its caller.
#[inline(never)]
fn increment(n: &AtomicU32) {
    let mut seen = n.load(SeqCst);
    while let Err(found) = n.compare_exchange(seen, seen + 1, SeqCst, SeqCst) {
        seen = found;
    }
}

#[test]
fn a_compare_exchange_of_our_atomics_is_not_one_of_std() {
    verified(|| {
        let n = Arc::new(AtomicU32::new(0));
        let other = thread::spawn({
            let n = n.clone();
            move || increment(&n)
        });
        increment(&n);
        other.join().unwrap();
        assert_eq!(n.load(SeqCst), 2);
    });
}

static DROPPED: AtomicU32 = AtomicU32::new(0);

struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, SeqCst);
    }
}

raddle::thread_local! {
    static HAS_DESTRUCTOR: Dropped = const { Dropped };
}

#[test]
fn destructors_of_thread_locals_may_run_after_is_finished() {
    fails(FailureKind::Assertion, "left: 0", || {
        let other = thread::spawn(|| HAS_DESTRUCTOR.with(|_| ()));
        while !other.is_finished() {
            thread::yield_now();
        }
        assert_eq!(DROPPED.load(SeqCst), 1);
        other.join().unwrap();
    });
    fails(FailureKind::Assertion, "left: 0", || {
        thread::scope(|s| {
            let other = s.spawn(|| HAS_DESTRUCTOR.with(|_| ()));
            while !other.is_finished() {
                thread::yield_now();
            }
            assert_eq!(DROPPED.load(SeqCst), 1);
        });
    });
    verified(|| {
        let other = thread::spawn(|| HAS_DESTRUCTOR.with(|_| ()));
        while !other.is_finished() {
            thread::yield_now();
        }
        other.join().unwrap();
        assert_eq!(DROPPED.load(SeqCst), 1);
    });
}

/// Runs a check with timeouts that are patient.
fn patiently(test: impl Fn()) -> Report {
    Config::new().quiet(true).timeouts("patient").run(test)
}

/// The check holds where timeouts are patient, and says so, and fails otherwise.
#[track_caller]
fn holds_with_patience(test: impl Fn()) {
    let report = patiently(&test);
    assert_eq!(report.verdict, Verdict::NoFailureWithCaveats, "{}", raddle::to_json(&report));
    assert_eq!(kinds(&report), [CaveatKind::Patient], "{}", raddle::to_json(&report));
    assert_eq!(run(test).verdict, Verdict::Failure);
}

#[test]
fn patient_sleeps_end_when_nothing_else_can_run() {
    holds_with_patience(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let setter = thread::spawn({
            let flag = flag.clone();
            move || {
                thread::sleep(Duration::from_secs(3));
                flag.store(true, SeqCst);
            }
        });
        assert!(!flag.load(SeqCst), "the sleep was too short");
        setter.join().unwrap();
    });
}

#[test]
fn patient_sleeps_and_waits_end_in_the_order_of_their_limits() {
    holds_with_patience(|| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let sleepers = [30, 10, 20].map(|ms| {
            let order = order.clone();
            thread::spawn(move || {
                match ms {
                    10 => thread::park_timeout(Duration::from_millis(ms)),
                    _ => thread::sleep(Duration::from_millis(ms)),
                }
                order.lock().unwrap().push(ms);
            })
        });
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
        let order = order.lock().unwrap();
        let place = |ms| order.iter().position(|o| *o == ms);
        assert!(place(20) < place(30), "{order:?}");
    });
    // Two sleeps of 10 ms end at 20 ms.
    holds_with_patience(|| {
        let twice = Arc::new(AtomicBool::new(false));
        let sleeper = thread::spawn({
            let twice = twice.clone();
            move || {
                thread::sleep(Duration::from_millis(10));
                thread::sleep(Duration::from_millis(10));
                twice.store(true, SeqCst);
            }
        });
        thread::sleep(Duration::from_millis(15));
        assert!(!twice.load(SeqCst));
        sleeper.join().unwrap();
    });
}

#[test]
fn patient_readings_are_late_when_nothing_else_can_run() {
    holds_with_patience(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let setter = thread::spawn({
            let flag = flag.clone();
            move || {
                thread::sleep(Duration::from_millis(250));
                flag.store(true, SeqCst);
            }
        });
        let start = Instant::now();
        while !flag.load(SeqCst) {
            assert!(start.elapsed() < Duration::from_secs(1), "it took too long");
            thread::sleep(Duration::from_millis(10));
        }
        setter.join().unwrap();
    });
    // A loop that polls the clock ends.
    holds_with_patience(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let setter = thread::spawn({
            let flag = flag.clone();
            move || flag.store(true, SeqCst)
        });
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(10) {
            thread::yield_now();
        }
        assert!(flag.load(SeqCst), "the other thread has not run");
        setter.join().unwrap();
    });
}

#[test]
fn patience_hides_no_failure_that_does_not_depend_on_time() {
    let report = patiently(|| {
        let n = Arc::new(AtomicU32::new(0));
        let other = thread::spawn({
            let n = n.clone();
            move || {
                thread::sleep(Duration::from_millis(1));
                let seen = n.load(SeqCst);
                n.store(seen + 1, SeqCst);
            }
        });
        thread::sleep(Duration::from_millis(1));
        let seen = n.load(SeqCst);
        n.store(seen + 1, SeqCst);
        other.join().unwrap();
        assert_eq!(n.load(SeqCst), 2, "an update was lost");
    });
    assert_eq!(report.verdict, Verdict::Failure, "{}", raddle::to_json(&report));
}

/// Limits that mean for ever are not passed by a late reading.
#[test]
fn late_readings_do_not_pass_limits_of_a_hundred_years() {
    let report = run(|| {
        let limit = Instant::now() + Duration::from_secs(u32::MAX.into());
        assert!(Instant::now() < limit);
    });
    assert_eq!(report.verdict, Verdict::NoFailureWithCaveats, "{}", raddle::to_json(&report));
    assert!(kinds(&report).contains(&CaveatKind::Patient), "{}", raddle::to_json(&report));
}

struct Flagged(UnsafeCell<u32>, AtomicU32);
// SAFETY: whether accesses are ordered is what the checks find out.
unsafe impl Sync for Flagged {}

#[test]
fn an_access_to_a_cell_lasts_as_long_as_its_closure() {
    fn overlap(first: impl Fn(&Flagged) + Send + Sync + Copy + 'static) -> impl Fn() {
        move || {
            let shared = Arc::new(Flagged(UnsafeCell::new(0), AtomicU32::new(0)));
            let other = thread::spawn({
                let shared = shared.clone();
                move || first(&shared)
            });
            if shared.1.load(SeqCst) == 1 {
                shared.0.with_mut(|p| unsafe { *p += 1 });
            }
            other.join().unwrap();
        }
    }
    fails(
        FailureKind::DataRace,
        "",
        overlap(|s| {
            s.0.with(|p| {
                s.1.store(1, SeqCst);
                let _ = unsafe { *p };
            });
        }),
    );
    fails(
        FailureKind::DataRace,
        "",
        overlap(|s| {
            s.0.with_mut(|p| {
                s.1.store(1, SeqCst);
                unsafe { *p += 1 };
            });
        }),
    );
    verified(overlap(|s| {
        s.0.with_mut(|p| {
            s.1.store(2, SeqCst);
            unsafe { *p += 1 };
        });
        s.1.store(1, SeqCst);
    }));
}

#[test]
fn a_successful_get_mut_comes_after_the_drop_of_the_other_reference() {
    verified(|| {
        let mut shared = Arc::new(Flagged(UnsafeCell::new(0), AtomicU32::new(0)));
        let other = thread::spawn({
            let shared = shared.clone();
            move || unsafe { *shared.0.get() = 1 }
        });
        if let Some(alone) = Arc::get_mut(&mut shared) {
            assert_eq!(unsafe { *alone.0.get() }, 1);
        }
        other.join().unwrap();
    });
}

struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("in the destructor");
    }
}

raddle::thread_local! {
    static PANICS: Panics = const { Panics };
}

#[test]
fn a_panic_in_a_destructor_of_a_thread_local_ends_the_process() {
    fails(FailureKind::Panic, "in the destructor", || {
        let _ = thread::spawn(|| PANICS.with(|_| ())).join();
    });
}

/// Reads a file, in a function that is not part of its caller.
#[inline(never)]
fn read_file() -> usize {
    std::fs::read("/dev/null").map_or(1, |bytes| bytes.len())
}

#[test]
fn files_inside_a_check_are_named() {
    let report = run(|| assert_eq!(read_file(), 0));
    assert_eq!(kinds(&report), [CaveatKind::State], "{}", raddle::to_json(&report));
}

#[test]
fn a_search_without_an_execution_that_counts_is_not_called_verified() {
    let two = || {
        let n = AtomicU32::new(0);
        thread::scope(|s| {
            s.spawn(|| n.fetch_add(1, SeqCst));
            n.fetch_add(1, SeqCst);
        });
        n.load(SeqCst)
    };
    let nothing: [&dyn Fn(); 3] =
        [&|| raddle::assume(false), &|| raddle::assume(raddle::choose(3) == 3), &|| {
            raddle::assume(two() == 3)
        }];
    for test in nothing {
        let report = run(test);
        assert_eq!(report.verdict, Verdict::NoFailureWithCaveats, "{}", raddle::to_json(&report));
        assert_eq!((kinds(&report), report.stats.executions), (vec![CaveatKind::Inputs], 0));
    }
    // One execution that counts is enough.
    verified(|| raddle::assume(raddle::choose(3) == 2));
    verified(|| raddle::assume(two() == 2));
    let within = |bound: &str| {
        Config::new().quiet(true).algorithm("bpor").bound(bound).run(|| {
            two();
        })
    };
    let report = within("depth=2");
    assert_eq!(report.verdict, Verdict::NoFailureWithinBound, "{}", raddle::to_json(&report));
    assert_eq!((kinds(&report), report.stats.executions), (vec![CaveatKind::Depth], 0));
    let report = within("depth=50");
    assert!(kinds(&report).is_empty() && report.stats.executions == 2, "{}", raddle::to_json(&report));
}
