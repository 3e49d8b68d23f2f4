// One Rust program for each function, which is compiled over the types of std and over those of raddle. `programs.c` has the same in C.
// Each name ends in what is right: `holds`, or a kind of failure.

use sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use sync::{Arc, Barrier, Condvar, Mutex, RwLock};
use time::Duration;

macro_rules! all_programs {
    ($each:ident) => {
        $each! {
            atomic_adds_hold lost_update_asserts locks_hold opposite_locks_deadlock wait_in_loop_holds wait_once_asserts
            lost_notification_deadlock second_read_lock_deadlock barrier_holds spin_until_set_holds nobody_sets_livelock
            publish_holds timed_wait_in_loop_holds timed_wait_once_asserts sleep_as_order_asserts try_lock_fails_asserts
            exchange_counts_hold two_notified_one_deadlock join_orders_holds dekker_holds
        }
    };
}

fn two<T: Send + Sync + 'static>(shared: T, first: fn(&T), second: fn(&T)) -> Arc<T> {
    let shared = Arc::new(shared);
    let other = shared.clone();
    let t = thread::spawn(move || first(&other));
    second(&shared);
    t.join().unwrap();
    shared
}

fn atomic_adds_hold() {
    let add = |n: &AtomicU32| {
        n.fetch_add(1, SeqCst);
    };
    assert_eq!(two(AtomicU32::new(0), add, add).load(SeqCst), 2);
}

fn lost_update_asserts() {
    let add = |n: &AtomicU32| n.store(n.load(SeqCst) + 1, SeqCst);
    assert_eq!(two(AtomicU32::new(0), add, add).load(SeqCst), 2);
}

fn locks_hold() {
    let add = |n: &Mutex<u32>| *n.lock().unwrap() += 1;
    assert_eq!(*two(Mutex::new(0), add, add).lock().unwrap(), 2);
}

fn opposite_locks_deadlock() {
    two(
        (Mutex::new(()), Mutex::new(())),
        |l| drop((l.0.lock().unwrap(), l.1.lock().unwrap())),
        |l| drop((l.1.lock().unwrap(), l.0.lock().unwrap())),
    );
}

fn set(p: &(Mutex<bool>, Condvar)) {
    *p.0.lock().unwrap() = true;
    p.1.notify_one();
}

fn wait_in_loop_holds() {
    two((Mutex::new(false), Condvar::new()), set, |p| {
        let mut is_set = p.0.lock().unwrap();
        while !*is_set {
            is_set = p.1.wait(is_set).unwrap();
        }
    });
}

fn wait_once_asserts() {
    two((Mutex::new(false), Condvar::new()), set, |p| {
        let mut is_set = p.0.lock().unwrap();
        if !*is_set {
            is_set = p.1.wait(is_set).unwrap();
        }
        assert!(*is_set);
    });
}

fn lost_notification_deadlock() {
    two((Mutex::new(false), Condvar::new()), |p| p.1.notify_one(), |p| {
        drop(p.1.wait(p.0.lock().unwrap()).unwrap());
    });
}

fn second_read_lock_deadlock() {
    two(RwLock::new(0), |l| *l.write().unwrap() = 1, |l| drop((l.read().unwrap(), l.read().unwrap())));
}

fn barrier_holds() {
    let wait = |b: &(Barrier, AtomicU32)| {
        b.1.fetch_add(1, SeqCst);
        b.0.wait();
        assert_eq!(b.1.load(SeqCst), 2);
    };
    two((Barrier::new(2), AtomicU32::new(0)), wait, wait);
}

fn spin_until_set_holds() {
    two(AtomicBool::new(false), |f| f.store(true, SeqCst), |f| while !f.load(SeqCst) {});
}

fn nobody_sets_livelock() {
    two(AtomicBool::new(false), |_| (), |f| while !f.load(SeqCst) {});
}

fn publish_holds() {
    two(
        (AtomicU32::new(0), AtomicBool::new(false)),
        |p| {
            p.0.store(1, SeqCst);
            p.1.store(true, SeqCst);
        },
        |p| assert!(!p.1.load(SeqCst) || p.0.load(SeqCst) == 1),
    );
}

fn timed_wait_in_loop_holds() {
    two((Mutex::new(false), Condvar::new()), set, |p| {
        let mut is_set = p.0.lock().unwrap();
        while !*is_set {
            is_set = p.1.wait_timeout(is_set, Duration::from_millis(10)).unwrap().0;
        }
    });
}

fn timed_wait_once_asserts() {
    two((Mutex::new(false), Condvar::new()), set, |p| {
        let mut is_set = p.0.lock().unwrap();
        if !*is_set {
            is_set = p.1.wait_timeout(is_set, Duration::from_millis(10)).unwrap().0;
        }
        assert!(*is_set);
    });
}

fn sleep_as_order_asserts() {
    two(AtomicBool::new(false), |f| f.store(true, SeqCst), |f| {
        thread::sleep(Duration::from_millis(100));
        assert!(f.load(SeqCst));
    });
}

fn try_lock_fails_asserts() {
    two(Mutex::new(0), |m| *m.lock().unwrap() += 1, |m| assert!(m.try_lock().is_ok()));
}

fn exchange_counts_hold() {
    let add = |n: &AtomicU32| {
        let mut seen = n.load(SeqCst);
        while let Err(found) = n.compare_exchange(seen, seen + 1, SeqCst, SeqCst) {
            seen = found;
        }
    };
    assert_eq!(two(AtomicU32::new(0), add, add).load(SeqCst), 2);
}

fn two_notified_one_deadlock() {
    let wait = |p: &(Mutex<u32>, Condvar)| {
        let mut n = p.0.lock().unwrap();
        while *n == 0 {
            n = p.1.wait(n).unwrap();
        }
    };
    let p = Arc::new((Mutex::new(0), Condvar::new()));
    let waiters = [p.clone(), p.clone()].map(|p| thread::spawn(move || wait(&p)));
    *p.0.lock().unwrap() = 1;
    p.1.notify_one();
    for t in waiters {
        t.join().unwrap();
    }
}

fn join_orders_holds() {
    let n = Arc::new(AtomicU32::new(0));
    let other = n.clone();
    thread::spawn(move || other.store(1, SeqCst)).join().unwrap();
    assert_eq!(n.load(SeqCst), 1);
}

fn dekker_holds() {
    two(
        (AtomicBool::new(false), AtomicBool::new(false), AtomicU32::new(0)),
        |s| {
            s.0.store(true, SeqCst);
            if !s.1.load(SeqCst) {
                s.2.fetch_add(1, SeqCst);
            }
        },
        |s| {
            s.1.store(true, SeqCst);
            if !s.0.load(SeqCst) {
                assert_eq!(s.2.fetch_add(1, SeqCst), 0);
            }
        },
    );
}
