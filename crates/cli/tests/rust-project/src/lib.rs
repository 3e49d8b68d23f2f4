//! Small programs over std's own types, some right and some wrong.

#[cfg(test)]
mod right {
    use std::cell::Cell;
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn threads_that_do_nothing() {
        let all: Vec<_> = (0..5).map(|_| thread::spawn(|| thread::current().id())).collect();
        let ids: Vec<_> = all.into_iter().map(|t| t.join().unwrap()).collect();
        assert!((1..ids.len()).all(|i| !ids[..i].contains(&ids[i])));
        assert_eq!(thread::current().name(), Some("main"));
    }

    #[test]
    fn threads_that_make_threads() {
        let all: Vec<_> = (0..2).map(|_| thread::spawn(|| thread::spawn(|| ()).join().unwrap())).collect();
        all.into_iter().for_each(|t| t.join().unwrap());
    }

    #[test]
    fn scoped_and_joined() {
        thread::scope(|s| {
            let all: Vec<_> = (0..4).map(|_| s.spawn(|| ())).collect();
            all.into_iter().for_each(|t| t.join().unwrap());
        });
    }

    #[test]
    fn scoped_and_left() {
        let n = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| n.load(SeqCst));
            }
        });
    }

    #[test]
    #[ignore]
    fn never_run() {
        panic!("it is ignored");
    }

    #[test]
    fn adds() {
        let n = Arc::new(AtomicUsize::new(0));
        let other = n.clone();
        let t = thread::spawn(move || other.fetch_add(1, SeqCst));
        n.fetch_add(1, SeqCst);
        t.join().unwrap();
        assert_eq!(n.load(SeqCst), 2);
    }

    #[test]
    fn mutex() {
        let n = Arc::new(Mutex::new(0));
        let other = n.clone();
        let t = thread::spawn(move || *other.lock().unwrap() += 1);
        *n.lock().unwrap() += 1;
        t.join().unwrap();
        assert_eq!(*n.lock().unwrap(), 2);
    }

    #[test]
    fn scope() {
        let n = Mutex::new(0);
        thread::scope(|s| {
            s.spawn(|| *n.lock().unwrap() += 1);
            *n.lock().unwrap() += 1;
        });
        assert_eq!(n.into_inner().unwrap(), 2);
    }

    #[test]
    fn condvar() {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = pair.clone();
        let t = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            ready = pair.1.wait(ready).unwrap();
        }
        drop(ready);
        t.join().unwrap();
    }

    #[test]
    fn rwlock() {
        let n = Arc::new(RwLock::new(0));
        let other = n.clone();
        let t = thread::spawn(move || *other.write().unwrap() += 1);
        let seen = *n.read().unwrap();
        assert!(seen <= 1);
        t.join().unwrap();
        assert_eq!(*n.read().unwrap(), 1);
    }

    #[test]
    fn once() {
        static ONCE: Once = Once::new();
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let make = || ONCE.call_once(|| { MADE.fetch_add(1, SeqCst); });
        let t = thread::spawn(make);
        make();
        assert_eq!(MADE.load(SeqCst), 1);
        t.join().unwrap();
    }

    #[test]
    fn once_lock() {
        let cell = Arc::new(OnceLock::new());
        let other = cell.clone();
        let t = thread::spawn(move || *other.get_or_init(|| 1));
        let here = *cell.get_or_init(|| 2);
        assert_eq!(here, t.join().unwrap());
    }

    #[test]
    fn barrier() {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let t = thread::spawn(move || other.wait().is_leader());
        let here = barrier.wait().is_leader();
        assert!(here != t.join().unwrap());
    }

    #[test]
    fn park() {
        let flag = Arc::new(AtomicUsize::new(0));
        let (other, main) = (flag.clone(), thread::current());
        let t = thread::spawn(move || {
            other.store(1, SeqCst);
            main.unpark();
        });
        while flag.load(SeqCst) == 0 {
            thread::park();
        }
        t.join().unwrap();
    }

    #[test]
    fn channel() {
        let (sender, receiver) = mpsc::channel();
        let t = thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(receiver.recv(), Ok(7));
        t.join().unwrap();
    }

    #[test]
    fn locals() {
        thread_local!(static N: Cell<u32> = const { Cell::new(1) });
        N.set(2);
        let t = thread::spawn(|| N.replace(5));
        assert_eq!((t.join().unwrap(), N.get()), (1, 2));
    }

    #[test]
    fn seeds_and_clocks() {
        let map: HashMap<u32, u32> = (0..20).map(|i| (i, i)).collect();
        let t = thread::spawn(move || map.keys().next().copied());
        let start = Instant::now();
        thread::sleep(Duration::from_secs(100));
        assert!(start.elapsed() >= Duration::from_secs(100));
        assert!(t.join().unwrap().is_some());
    }

    #[test]
    fn knows_its_package() {
        let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
        assert_eq!(folder, env!("CARGO_MANIFEST_DIR"));
        assert_eq!(std::env::var("CARGO_PKG_NAME").unwrap(), "rust-project");
        assert_eq!(std::env::var("CARGO_PKG_VERSION").unwrap(), "0.1.0");
    }

    #[test]
    fn a_panic_that_is_joined() {
        assert!(thread::spawn(|| panic!("expected")).join().is_err());
    }

    #[test]
    #[should_panic(expected = "as it should")]
    fn panics() {
        panic!("as it should");
    }

    #[test]
    fn returns() -> Result<(), String> {
        thread::spawn(|| ()).join().map_err(|_| "it panicked".to_owned())
    }
}

/// Atomic operations that the compiler's pass leaves as they are.
/// Looks at threads of scopes from inside.
#[cfg(test)]
mod scopes {
    use std::thread;

    #[test]
    fn printed_while_a_thread_runs() {
        thread::scope(|s| {
            let t = s.spawn(|| 1);
            let text = format!("{s:?}");
            assert!(text.contains("Scope"), "{text}");
            drop(t);
        });
    }

    #[test]
    fn printed_by_a_thread() {
        thread::scope(|s| {
            s.spawn(move || assert!(format!("{s:?}").contains("num_running_threads: 1")));
        });
    }
}

#[cfg(test)]
mod greatest {
    use std::sync::atomic::{AtomicI16, AtomicI8, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};
    use std::thread;

    macro_rules! loses {
        ($($name:ident: $ty:ident $method:ident;)*) => {$(
            /// The greater or lesser value is lost between the load and the store.
            #[test]
            fn $name() {
                let a = $ty::new(1);
                thread::scope(|s| {
                    s.spawn(|| {
                        let v = a.load(SeqCst);
                        a.store(v, SeqCst);
                    });
                    let old = a.$method(if stringify!($method) == "fetch_max" { 3 } else { 0 }, SeqCst);
                    assert_eq!(old, 1);
                });
                assert_ne!(a.into_inner(), 1);
            }
        )*};
    }

    loses! {
        loses_u32: AtomicU32 fetch_max;
        loses_u64: AtomicU64 fetch_min;
        loses_i8: AtomicI8 fetch_max;
        loses_i16: AtomicI16 fetch_min;
        loses_usize: AtomicUsize fetch_max;
    }

    #[test]
    fn all_are_seen() {
        let (signed, unsigned) = (AtomicI8::new(-1), AtomicU64::new(1));
        thread::scope(|s| {
            s.spawn(|| (signed.fetch_max(-128, SeqCst), unsigned.fetch_max(u64::MAX, SeqCst)));
            s.spawn(|| (signed.fetch_max(1, SeqCst), unsigned.fetch_min(2, SeqCst)));
        });
        assert_eq!(signed.fetch_min(-5, SeqCst), 1);
        assert_eq!(signed.into_inner(), -5);
        assert!([2, u64::MAX].contains(&unsigned.into_inner()));
    }
}

#[cfg(test)]
mod wrong {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::{mpsc, Arc, Condvar, Mutex, RwLock};
    use std::thread;

    /// With patience the loop is always cut before the sleep ends.
    #[test]
    fn fails_beside_a_loop_that_parks_with_a_limit() {
        use std::time::Duration;
        let flag = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                while !flag.load(SeqCst) {
                    thread::park_timeout(Duration::from_millis(1));
                }
            });
            thread::sleep(Duration::from_millis(100));
            flag.store(true, SeqCst);
        });
        panic!("always");
    }

    #[test]
    fn lost_update() {
        let n = Arc::new(AtomicUsize::new(0));
        let other = n.clone();
        let t = thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
        n.store(n.load(SeqCst) + 1, SeqCst);
        t.join().unwrap();
        assert_eq!(n.load(SeqCst), 2);
    }

    #[test]
    fn opposite_orders() {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = locks.clone();
        let t = thread::spawn(move || {
            let _b = other.1.lock().unwrap();
            let _a = other.0.lock().unwrap();
        });
        let a = locks.0.lock().unwrap();
        let b = locks.1.lock().unwrap();
        drop((a, b));
        t.join().unwrap();
    }

    #[test]
    fn lost_wake_up() {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = pair.clone();
        let t = thread::spawn(move || other.1.notify_one());
        drop(pair.1.wait(pair.0.lock().unwrap()).unwrap());
        t.join().unwrap();
    }

    #[test]
    fn reads_again_while_a_writer_waits() {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let t = thread::spawn(move || *other.write().unwrap() = 1);
        let first = lock.read().unwrap();
        let second = lock.read().unwrap();
        assert_eq!(*first, *second);
        drop((first, second));
        t.join().unwrap();
    }

    #[test]
    fn order_of_messages() {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        let t = thread::spawn(move || other.send(1).unwrap());
        sender.send(2).unwrap();
        t.join().unwrap();
        assert_eq!(receiver.recv(), Ok(2));
    }

    #[test]
    fn nobody_unparks() {
        let t = thread::spawn(thread::park);
        t.join().unwrap();
    }

    #[test]
    fn ends_the_process() {
        let n = Arc::new(AtomicUsize::new(0));
        let other = {
            let n = n.clone();
            thread::spawn(move || n.store(1, SeqCst))
        };
        if n.load(SeqCst) == 1 {
            std::process::exit(0);
        }
        other.join().unwrap();
    }

    #[test]
    fn ends_the_process_before_it_returns() -> Result<(), String> {
        std::process::exit(0);
    }

    #[test]
    fn returns_an_error() -> Result<(), String> {
        let n = Arc::new(AtomicUsize::new(0));
        let other = n.clone();
        let t = thread::spawn(move || other.store(1, SeqCst));
        let seen = n.load(SeqCst);
        t.join().unwrap();
        if seen == 0 { Ok(()) } else { Err("it was faster".to_owned()) }
    }
}

#[cfg(test)]
mod environment {
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::sync::{Arc, Condvar, Mutex};
    use std::thread;
    use std::time::{Duration, Instant};

    /// As crates shrink tests for an interpreter.
    #[test]
    fn is_small() {
        assert!(cfg!(miri));
    }

    #[test]
    fn deadline() {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = pair.clone();
        let setter = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
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
    }

    #[test]
    fn polls_the_clock() {
        let flag = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| flag.store(true, SeqCst));
            let start = Instant::now();
            while !flag.load(SeqCst) && start.elapsed() < Duration::from_secs(1) {
                thread::yield_now();
            }
        });
    }

    #[test]
    fn time_does_not_run_backwards() {
        let start = Instant::now();
        let later = thread::spawn(move || {
            thread::sleep(Duration::from_secs(7_200));
            assert!(start.elapsed() >= Duration::from_secs(7_200));
            Instant::now()
        });
        let later = later.join().unwrap();
        assert!(Instant::now() >= later);
        assert!(later - start >= Duration::from_secs(7_200));
    }

    fn sets(pair: &Arc<(Mutex<bool>, Condvar)>) -> thread::JoinHandle<()> {
        let other = pair.clone();
        thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        })
    }

    #[test]
    fn waits_with_a_limit_in_a_loop() {
        let pair = Arc::default();
        let setter = sets(&pair);
        let mut set = pair.0.lock().unwrap();
        while !*set {
            set = pair.1.wait_timeout(set, Duration::from_millis(10)).unwrap().0;
        }
        drop(set);
        setter.join().unwrap();
    }

    #[test]
    fn parks_with_a_limit_in_a_loop() {
        let flag = Arc::new(AtomicBool::new(false));
        let (main, other) = (thread::current(), flag.clone());
        let setter = thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        while !flag.load(SeqCst) {
            thread::park_timeout(Duration::from_millis(10));
        }
        setter.join().unwrap();
    }

    #[test]
    fn waits_for_ever() {
        let pair = Arc::default();
        let setter = sets(&pair);
        let mut set = pair.0.lock().unwrap();
        while !*set {
            let (again, result) = pair.1.wait_timeout(set, Duration::from_secs(u32::MAX.into())).unwrap();
            set = again;
            assert!(*set || !result.timed_out());
        }
        drop(set);
        setter.join().unwrap();
    }

    #[test]
    fn is_set_before_the_limit() {
        let pair = Arc::default();
        let setter = sets(&pair);
        let (set, result) =
            pair.1.wait_timeout_while(pair.0.lock().unwrap(), Duration::from_secs(60), |set| !*set).unwrap();
        assert!(*set, "timed out: {}", result.timed_out());
        drop(set);
        setter.join().unwrap();
    }

    #[test]
    fn parks_once() {
        let flag = Arc::new(AtomicBool::new(false));
        let (main, other) = (thread::current(), flag.clone());
        let setter = thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        thread::park();
        assert!(flag.load(SeqCst), "nobody has unparked it");
        setter.join().unwrap();
    }

    #[test]
    fn waits_no_time() {
        let pair = (Mutex::new(false), Condvar::new());
        let guard = pair.0.lock().unwrap();
        let (guard, result) = pair.1.wait_timeout_while(guard, Duration::ZERO, |set| !*set).unwrap();
        assert!(result.timed_out());
        let limit = Duration::from_millis(1);
        let (mut guard, result) = pair.1.wait_timeout_while(guard, limit, |set| !*set).unwrap();
        assert!(result.timed_out());
        let deadline = Instant::now() + limit;
        while Instant::now() <= deadline {
            guard = pair.1.wait_timeout(guard, limit).unwrap().0;
        }
    }

    #[test]
    fn exchanges_weakly() {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let t = thread::spawn(move || other.load(SeqCst));
        let _ = flag.fetch_update(SeqCst, SeqCst, |_| Some(true));
        t.join().unwrap();
    }
}

#[cfg(test)]
mod timing {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::{mpsc, Arc, Mutex};
    use std::thread;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn sleeps_long_enough() {
        let n = Arc::new(AtomicUsize::new(0));
        let other = n.clone();
        let t = thread::spawn(move || {
            thread::sleep(3_000 * MS);
            other.store(1, SeqCst);
        });
        assert_eq!(n.load(SeqCst), 0, "too late");
        t.join().unwrap();
    }

    /// Which one that is depends on a seed.
    #[test]
    fn first_of_a_map() {
        let map: std::collections::HashMap<u32, u32> = (0..2).map(|i| (i, i)).collect();
        assert!(map.keys().next().is_some());
    }

    #[test]
    fn sleeps_in_order() {
        let order = Arc::new(Mutex::new(Vec::new()));
        let sleepers = [20, 10, 30].map(|ms| {
            let order = order.clone();
            thread::spawn(move || {
                thread::sleep(ms * MS);
                order.lock().unwrap().push(ms);
            })
        });
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [10, 20, 30]);
    }

    #[test]
    fn receives_in_time() {
        let (sender, receiver) = mpsc::channel();
        let t = thread::spawn(move || sender.send(1).unwrap());
        assert_eq!(receiver.recv_timeout(500 * MS), Ok(1), "no message");
        t.join().unwrap();
    }

    #[test]
    fn receives_or_not() {
        let (sender, receiver) = mpsc::channel();
        let t = thread::spawn(move || sender.send(1).unwrap());
        let _ = receiver.recv_timeout(MS);
        t.join().unwrap();
    }

    #[test]
    fn sleeps_and_loses_an_update() {
        let n = Arc::new(AtomicUsize::new(0));
        let other = n.clone();
        let add = |n: &AtomicUsize| {
            thread::sleep(MS);
            n.store(n.load(SeqCst) + 1, SeqCst);
        };
        let t = thread::spawn(move || add(&other));
        add(&n);
        t.join().unwrap();
        assert_eq!(n.load(SeqCst), 2, "an update was lost");
    }
}

#[cfg(test)]
mod numbers {
    use std::thread::{self, ThreadId};
    use std::time::{SystemTime, UNIX_EPOCH};

    fn number(id: ThreadId) -> u64 {
        let text = format!("{id:?}");
        text.strip_prefix("ThreadId(").unwrap().strip_suffix(')').unwrap().parse().unwrap()
    }

    /// The identities of two threads that two others make.
    fn children() -> [ThreadId; 2] {
        let child = || thread::spawn(|| thread::current().id()).join().unwrap();
        [thread::spawn(child), thread::spawn(child)].map(|t| t.join().unwrap())
    }

    #[test]
    fn of_children() {
        let [a, b] = children().map(number);
        assert!(a < b, "whose child has the smaller number is left to the schedule");
    }

    #[test]
    fn of_children_compared() {
        let [a, b] = children();
        assert_ne!(a, b);
    }

    #[test]
    fn of_threads_of_one() {
        let [a, b] = [(); 2].map(|()| thread::spawn(|| thread::current().id())).map(|t| t.join().unwrap());
        assert!(number(a) < number(b));
    }

    /// Needs some 4 KiB for each call.
    fn deep(calls: u32) -> u32 {
        let room = [calls as u8; 4096];
        std::hint::black_box(&room);
        if calls == 0 { 0 } else { deep(calls - 1) + u32::from(room[7]) }
    }

    fn with_stack(size: usize, calls: u32) {
        thread::Builder::new().stack_size(size).spawn(move || deep(calls)).unwrap().join().unwrap();
    }

    #[test]
    fn of_bytes_on_a_small_stack() {
        with_stack(64 << 10, 1000);
    }

    #[test]
    fn of_bytes_on_the_usual_stack() {
        thread::spawn(|| deep(1000)).join().unwrap();
    }

    #[test]
    fn of_bytes_that_fit() {
        with_stack(64 << 10, 5);
        with_stack(6 << 20, 1000);
        thread::spawn(|| deep(200)).join().unwrap();
    }

    #[test]
    fn of_the_calendar() {
        assert!(SystemTime::now() > UNIX_EPOCH);
    }

    #[test]
    fn of_the_calendar_twice() {
        let earlier = SystemTime::now();
        assert!(SystemTime::now().duration_since(earlier).is_ok(), "it may be set back in between");
    }
}
