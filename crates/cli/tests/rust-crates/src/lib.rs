//! Small programs over parking_lot and crossbeam, some right and some wrong.

#[cfg(test)]
mod right {
    use crossbeam_deque::{Steal, Worker};
    use crossbeam_epoch as epoch;
    use crossbeam_utils::sync::{Parker, ShardedLock, WaitGroup};
    use crossbeam_utils::thread as scoped;
    use parking_lot::{Condvar, Mutex, Once, RwLock};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn mutex() {
        let n = Arc::new(Mutex::new(0));
        let other = n.clone();
        let t = thread::spawn(move || *other.lock() += 1);
        *n.lock() += 1;
        t.join().unwrap();
        assert_eq!(*n.lock(), 2);
    }

    #[test]
    fn try_lock() {
        let n = Arc::new(Mutex::new(0));
        let other = n.clone();
        let t = thread::spawn(move || other.try_lock().map(|mut n| *n += 1).is_some());
        let here = n.try_lock().map(|mut n| *n += 1).is_some();
        let there = t.join().unwrap();
        assert!(here || there);
        assert_eq!(*n.lock(), here as i32 + there as i32);
    }

    #[test]
    fn rwlock() {
        let pair = Arc::new(RwLock::new((0, 0)));
        let other = pair.clone();
        let t = thread::spawn(move || {
            let mut pair = other.write();
            pair.0 += 1;
            pair.1 += 1;
        });
        let seen = *pair.read();
        assert_eq!(seen.0, seen.1);
        t.join().unwrap();
        assert_eq!(*pair.read(), (1, 1));
    }

    #[test]
    fn condvar() {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = pair.clone();
        let t = thread::spawn(move || {
            *other.0.lock() = true;
            other.1.notify_one();
        });
        let mut ready = pair.0.lock();
        while !*ready {
            pair.1.wait(&mut ready);
        }
        drop(ready);
        t.join().unwrap();
    }

    #[test]
    fn once() {
        static ONCE: Once = Once::new();
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let make = || {
            ONCE.call_once(|| {
                MADE.fetch_add(1, SeqCst);
            });
            assert_eq!(MADE.load(SeqCst), 1);
        };
        let t = thread::spawn(make);
        make();
        t.join().unwrap();
    }

    #[test]
    fn scope() {
        let n = AtomicUsize::new(0);
        scoped::scope(|s| {
            s.spawn(|_| n.fetch_add(1, SeqCst));
            n.fetch_add(1, SeqCst);
        })
        .unwrap();
        assert_eq!(n.load(SeqCst), 2);
    }

    #[test]
    fn parker() {
        let flag = Arc::new(AtomicUsize::new(0));
        let parker = Parker::new();
        let (other, unparker) = (flag.clone(), parker.unparker().clone());
        let t = thread::spawn(move || {
            other.store(1, SeqCst);
            unparker.unpark();
        });
        while flag.load(SeqCst) == 0 {
            parker.park();
        }
        t.join().unwrap();
    }

    #[test]
    fn wait_group() {
        let done = Arc::new(AtomicUsize::new(0));
        let group = WaitGroup::new();
        let (other, there) = (done.clone(), group.clone());
        let t = thread::spawn(move || {
            other.store(1, SeqCst);
            drop(there);
        });
        group.wait();
        assert_eq!(done.load(SeqCst), 1);
        t.join().unwrap();
    }

    #[test]
    fn sharded_lock() {
        let n = Arc::new(ShardedLock::new(0));
        let other = n.clone();
        let t = thread::spawn(move || *other.write().unwrap() += 1);
        assert!(*n.read().unwrap() <= 1);
        t.join().unwrap();
    }

    /// A job is done once, by its owner or by a thief.
    #[test]
    fn deque() {
        let jobs = Worker::new_lifo();
        jobs.push(1);
        jobs.push(2);
        let thief = jobs.stealer();
        let t = thread::spawn(move || loop {
            match thief.steal() {
                Steal::Success(job) => return Some(job),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        });
        let here = [jobs.pop(), jobs.pop()];
        let mut all: Vec<i32> = here.into_iter().chain([t.join().unwrap()]).flatten().collect();
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    }

    /// A value is freed when nobody can still look at it.
    #[test]
    fn epochs() {
        struct Node(AtomicUsize);
        let head = Arc::new(epoch::Atomic::new(Node(AtomicUsize::new(1))));
        let other = head.clone();
        let t = thread::spawn(move || {
            let guard = epoch::pin();
            let old = other.swap(epoch::Owned::new(Node(AtomicUsize::new(2))), SeqCst, &guard);
            // SAFETY: nobody finds it any more, and it is freed when all who did have gone on.
            unsafe { guard.defer_destroy(old) };
            guard.flush();
        });
        {
            let guard = epoch::pin();
            // SAFETY: the pointer is never null, and what it points to lives as long as the guard.
            let seen = unsafe { head.load(SeqCst, &guard).deref() }.0.load(SeqCst);
            assert!(seen == 1 || seen == 2);
        }
        t.join().unwrap();
    }
}

#[cfg(test)]
mod wrong {
    use crossbeam_deque::{Steal, Worker};
    use crossbeam_epoch as epoch;
    use crossbeam_utils::sync::Parker;
    use crossbeam_utils::thread as scoped;
    use parking_lot::{Condvar, Mutex, RwLock};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::Arc;
    use std::thread;

    /// The lock is given back between the look and the change.
    #[test]
    fn two_critical_sections() {
        let n = Arc::new(Mutex::new(0));
        let other = n.clone();
        let add = |n: &Mutex<i32>| {
            let seen = *n.lock();
            *n.lock() = seen + 1;
        };
        let t = thread::spawn(move || add(&other));
        add(&n);
        t.join().unwrap();
        assert_eq!(*n.lock(), 2);
    }

    #[test]
    fn opposite_orders() {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = locks.clone();
        let t = thread::spawn(move || {
            let _b = other.1.lock();
            let _a = other.0.lock();
        });
        let a = locks.0.lock();
        let b = locks.1.lock();
        drop((a, b));
        t.join().unwrap();
    }

    #[test]
    fn lost_wake_up() {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = pair.clone();
        let t = thread::spawn(move || {
            other.1.notify_one();
        });
        pair.1.wait(&mut pair.0.lock());
        t.join().unwrap();
    }

    #[test]
    fn reads_again_while_a_writer_waits() {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let t = thread::spawn(move || *other.write() = 1);
        let first = lock.read();
        let second = lock.read();
        assert_eq!(*first, *second);
        drop((first, second));
        t.join().unwrap();
    }

    #[test]
    fn scope_lost_update() {
        let n = AtomicUsize::new(0);
        scoped::scope(|s| {
            s.spawn(|_| n.store(n.load(SeqCst) + 1, SeqCst));
            n.store(n.load(SeqCst) + 1, SeqCst);
        })
        .unwrap();
        assert_eq!(n.load(SeqCst), 2);
    }

    #[test]
    fn nobody_unparks() {
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        let t = thread::spawn(move || unparker.unpark());
        parker.park();
        parker.park();
        t.join().unwrap();
    }

    /// The owner is not the only one who takes jobs.
    #[test]
    fn the_owner_loses_a_job() {
        let jobs = Worker::new_lifo();
        jobs.push(1);
        let thief = jobs.stealer();
        let t = thread::spawn(move || matches!(thief.steal(), Steal::Success(_)));
        assert_eq!(jobs.pop(), Some(1));
        t.join().unwrap();
    }

    /// Freed at once, though somebody may still look at it.
    #[test]
    fn freed_too_early() {
        struct Node(AtomicUsize);
        let head = Arc::new(epoch::Atomic::new(Node(AtomicUsize::new(1))));
        let other = head.clone();
        let t = thread::spawn(move || {
            let guard = epoch::pin();
            let old = other.swap(epoch::Owned::new(Node(AtomicUsize::new(2))), SeqCst, &guard);
            // SAFETY: not given, and that is the bug: others may have found it before.
            drop(unsafe { old.into_owned() });
        });
        let guard = epoch::pin();
        // SAFETY: as above.
        let seen = unsafe { head.load(SeqCst, &guard).deref() }.0.load(SeqCst);
        assert!(seen == 1 || seen == 2);
        drop(guard);
        t.join().unwrap();
    }

    #[test]
    fn a_box_comes_back() {
        let new = |n: u64| Box::into_raw(Box::new(n)) as usize;
        // SAFETY: each address comes from `new` and is freed once.
        let free = |p: usize| drop(unsafe { Box::from_raw(p as *mut u64) });
        let slot = Arc::new((AtomicUsize::new(new(1)), AtomicUsize::new(0)));
        let other = slot.clone();
        let t = thread::spawn(move || {
            let old = other.0.swap(0, SeqCst);
            if old == 0 {
                return;
            }
            free(old);
            other.1.fetch_add(1, SeqCst);
            let p = new(2);
            if other.0.compare_exchange(0, p, SeqCst, SeqCst).is_err() {
                free(p);
            }
        });
        let (p, version) = (slot.0.load(SeqCst), slot.1.load(SeqCst));
        if p != 0 && slot.0.compare_exchange(p, 0, SeqCst, SeqCst).is_ok() {
            assert_eq!(slot.1.load(SeqCst), version, "another box");
            free(p);
        }
        t.join().unwrap();
        let p = slot.0.load(SeqCst);
        if p != 0 {
            free(p);
        }
    }

    /// The accesses are made by code of std.
    #[test]
    fn copies_without_a_lock() {
        struct Text(std::cell::UnsafeCell<String>);
        // SAFETY: none; the race is what the test is about.
        unsafe impl Sync for Text {}
        let text = Arc::new(Text(String::from("abc").into()));
        let other = text.clone();
        let t = thread::spawn(move || unsafe { (*other.0.get()).as_bytes_mut().copy_from_slice(b"xyz") });
        let copy = unsafe { (*text.0.get()).clone() };
        t.join().unwrap();
        drop(copy);
    }
}
