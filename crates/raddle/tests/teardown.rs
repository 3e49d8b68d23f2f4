//! Executions that are given up: destructors run, and what they do with our types must be harmless.
//!
//! Each program ends in a deadlock, so that threads are abandoned in the middle, and must be reported as just that.

use raddle::Config;
use raddle::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use raddle::sync::{Arc, LazyLock, Mutex, RwLock, mpsc};
use raddle::thread;

#[track_caller]
fn is_a_deadlock(f: impl Fn()) {
    let report = Config::new().spurious_wakeups(false).quiet(true).run(f);
    let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind.name()).collect();
    assert_eq!(kinds, ["deadlock"]);
}

/// Waits for ever.
fn wait_for_ever() {
    let m = Mutex::new(());
    let _first = m.lock().unwrap();
    let _second = m.lock().unwrap();
}

struct Node(*mut Node);

/// A stack whose destructor pops with compare-exchange, as many do: it must see what it wrote.
#[derive(Default)]
struct Stack(AtomicPtr<Node>);

impl Stack {
    fn push(&self) {
        let node = Box::into_raw(Box::new(Node(std::ptr::null_mut())));
        loop {
            let head = self.0.load(Acquire);
            // SAFETY: nobody else has the node yet.
            unsafe { (*node).0 = head };
            if self.0.compare_exchange(head, node, Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> bool {
        loop {
            let head = self.0.load(Acquire);
            if head.is_null() {
                return false;
            }
            // SAFETY: one thread pops, so the node is there until it is freed below.
            let next = unsafe { (*head).0 };
            if self.0.compare_exchange(head, next, AcqRel, Acquire).is_ok() {
                // SAFETY: it was made by a box and is in no list any more.
                drop(unsafe { Box::from_raw(head) });
                return true;
            }
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        while self.pop() {}
    }
}

#[test]
fn a_destructor_that_loops_on_an_atomic_ends_and_frees_once() {
    is_a_deadlock(|| {
        let stack = Stack::default();
        stack.push();
        stack.push();
        wait_for_ever();
    });
}

#[test]
fn what_a_static_holds_is_dropped_once_with_each_execution() {
    static STACK: LazyLock<Stack> = LazyLock::new(Stack::default);
    is_a_deadlock(|| {
        STACK.push();
        wait_for_ever();
    });
    let report = Config::new().quiet(true).run(|| {
        let other = thread::spawn(|| STACK.push());
        STACK.push();
        other.join().unwrap();
    });
    assert!(report.passed(), "{:#?}", report.failures);
}

#[test]
fn a_count_of_the_users_own_goes_down_to_zero() {
    struct Counted(*mut AtomicU32, std::sync::Arc<std::sync::atomic::AtomicU32>);
    // SAFETY: the count is atomic.
    unsafe impl Send for Counted {}
    impl Drop for Counted {
        fn drop(&mut self) {
            // SAFETY: the count lives until the last of them is dropped.
            if unsafe { &*self.0 }.fetch_sub(1, AcqRel) == 1 {
                // SAFETY: this is the last.
                drop(unsafe { Box::from_raw(self.0) });
                self.1.fetch_add(1, Relaxed);
            }
        }
    }
    let freed = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let made = std::sync::atomic::AtomicU32::new(0);
    is_a_deadlock(|| {
        made.fetch_add(1, Relaxed);
        let count = Box::into_raw(Box::new(AtomicU32::new(2)));
        let (a, b) = (Counted(count, freed.clone()), Counted(count, freed.clone()));
        let _other = thread::spawn(move || {
            let _b = b;
            wait_for_ever();
        });
        let _a = a;
        wait_for_ever();
    });
    assert_eq!(freed.load(Relaxed), made.load(Relaxed));
}

#[test]
fn a_destructor_that_joins_a_thread_that_never_ends_is_left_alone() {
    struct Pool(Option<thread::JoinHandle<()>>);
    impl Drop for Pool {
        fn drop(&mut self) {
            self.0.take().unwrap().join().unwrap();
        }
    }
    is_a_deadlock(|| {
        let _pool = Pool(Some(thread::spawn(wait_for_ever)));
        wait_for_ever();
    });
}

#[test]
fn a_destructor_that_locks_meets_no_poison_that_the_program_did_not_make() {
    struct Locks(Arc<Mutex<u32>>, Arc<RwLock<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
            *self.1.write().unwrap() += 1;
            assert!(!self.0.is_poisoned());
        }
    }
    is_a_deadlock(|| {
        let (m, l) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
        let _locks = Locks(m.clone(), l.clone());
        let _other = thread::spawn({
            let (m, l) = (m.clone(), l.clone());
            move || {
                let (_m, _l) = (m.lock().unwrap(), l.write().unwrap());
                wait_for_ever();
            }
        });
        wait_for_ever();
    });
}

#[test]
fn channels_and_scopes_are_given_up_quietly() {
    is_a_deadlock(|| {
        let value = Mutex::new(String::from("borrowed"));
        let (sender, receiver) = mpsc::sync_channel::<String>(0);
        thread::scope(|s| {
            s.spawn(|| {
                let _guard = value.lock().unwrap();
                sender.send("never taken".to_owned()).unwrap();
                sender.send("never sent".to_owned())
            });
            s.spawn(|| drop(value.lock()));
            wait_for_ever();
        });
        drop(receiver);
    });
}
