//! Variables that the closure of a check captures: they were made outside, and each execution must begin with what was made.

mod common;

use common::{default, verified};
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, OnceLock, RwLock};
use raddle::{Caveat, CaveatKind, Report, Verdict, cell, thread};

/// Two threads add one each.
fn add_twice(add: impl Fn() + Sync) {
    thread::scope(|s| {
        s.spawn(&add);
        s.spawn(&add);
    });
}

#[test]
fn a_captured_mutex_that_is_set_before_it_is_used_is_fine() {
    let m = Mutex::new(7);
    verified(|| {
        *m.lock().unwrap() = 0;
        add_twice(|| *m.lock().unwrap() += 1);
        assert_eq!(*m.lock().unwrap(), 2);
    });
}

#[test]
fn captured_locks_begin_with_their_values() {
    let (m, l) = (Mutex::new(7), RwLock::new(1));
    verified(|| {
        add_twice(|| {
            *m.lock().unwrap() += 1;
            *l.write().unwrap() += 1;
        });
        assert_eq!((*m.lock().unwrap(), *l.read().unwrap()), (9, 3));
    });
}

#[test]
fn captured_values_of_other_types_begin_afresh() {
    let once = OnceLock::new();
    let cell = cell::Cell::new(3);
    let many = cell::RefCell::new([1, 2]);
    let shared = Arc::new(Mutex::new((1, false)));
    let std_shared = std::sync::Arc::new(Mutex::new(5));
    let boxed = Box::new(RwLock::new(1));
    let n = AtomicU32::new(4);
    verified(|| {
        assert_eq!((once.get(), cell.get(), *many.borrow()), (None, 3, [1, 2]));
        cell.set(cell.get() + 1);
        many.borrow_mut()[1] += 1;
        add_twice(|| {
            let _ = once.set(9);
            shared.lock().unwrap().0 += 1;
            *std_shared.lock().unwrap() += 1;
            *boxed.write().unwrap() += 1;
            n.fetch_add(1, SeqCst);
        });
        assert_eq!((once.get(), cell.get(), *many.borrow()), (Some(&9), 4, [1, 3]));
        assert_eq!((*shared.lock().unwrap(), *std_shared.lock().unwrap()), ((3, false), 7));
        assert_eq!((*boxed.read().unwrap(), n.load(SeqCst)), (3, 6));
    });
}

fn only_state(report: &Report) {
    assert_eq!(report.verdict, Verdict::NoFailureWithCaveats, "{}", raddle::to_json(report));
    let kinds: Vec<CaveatKind> = report.caveats.iter().map(|c: &Caveat| c.kind).collect();
    assert_eq!(kinds, [CaveatKind::State], "{}", raddle::to_json(report));
}

#[test]
fn what_a_captured_lock_owns_is_named() {
    let list = Mutex::new(vec![1]);
    only_state(&default().run(|| {
        let mut list = list.lock().unwrap();
        list.clear();
        list.push(2);
        raddle::choose(2);
    }));
    let name = OnceLock::new();
    only_state(&default().run(|| {
        raddle::choose(2);
        let _ = name.set("a name".to_owned());
        assert!(name.get().is_some());
    }));
}

#[test]
fn the_poison_of_a_captured_lock_does_not_stay() {
    let list = Mutex::new(vec![1]);
    let n = RwLock::new(1);
    let report = default().run(|| {
        assert!(list.lock().is_ok() && n.read().is_ok());
        let panics = || {
            let _list = list.lock().unwrap();
            let _n = n.write().unwrap();
            panic!("it holds both");
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        let x = AtomicU32::new(0);
        add_twice(|| x.store(1, SeqCst));
    });
    only_state(&report);
}

#[test]
fn a_failure_over_a_captured_lock_is_not_called_nondeterminism() {
    let m = Mutex::new(0);
    let failure = common::found(raddle::FailureKind::Assertion, || {
        let (a, b) = (|| *m.lock().unwrap() += 1, || *m.lock().unwrap() *= 2);
        thread::scope(|s| {
            s.spawn(a);
            s.spawn(b);
        });
        assert_eq!(*m.lock().unwrap(), 2);
    });
    assert!(failure.message.contains("left"), "{}", failure.message);
}

#[test]
fn a_lock_that_several_checks_use_begins_with_what_each_finds() {
    let m = Mutex::new(1);
    for _ in 0..3 {
        verified(|| {
            let before = *m.lock().unwrap();
            add_twice(|| *m.lock().unwrap() += 1);
            assert_eq!(*m.lock().unwrap(), before + 2);
        });
    }
}

/// Two executions.
fn two() {
    raddle::choose(2);
}

#[test]
fn captured_variables_that_keep_a_value_are_named() {
    let n = std::cell::Cell::new(0);
    only_state(&default().run(|| {
        two();
        n.set(n.get() + 1);
        assert!(n.get() < 100);
    }));
    // Behind a reference to a structure.
    struct Counts {
        name: &'static str,
        first: std::cell::Cell<bool>,
    }
    let counts = Counts { name: "counts", first: std::cell::Cell::new(true) };
    let counts = &counts;
    only_state(&default().run(move || {
        two();
        counts.first.set(false);
        assert_eq!(counts.name, "counts");
    }));
    // In the closure itself.
    let list = std::cell::RefCell::new(vec![1]);
    only_state(&default().run(move || {
        two();
        list.borrow_mut().push(1);
    }));
}

#[test]
fn captured_variables_that_do_not_change_are_fine() {
    let (n, list, name) = (std::cell::Cell::new(1), std::cell::RefCell::new(Vec::with_capacity(2)), "name");
    let (lock, condvar) = (Mutex::new(false), raddle::sync::Condvar::new());
    verified(|| {
        list.borrow_mut().push(2);
        list.borrow_mut().pop();
        thread::scope(|s| {
            s.spawn(|| {
                *lock.lock().unwrap() = true;
                condvar.notify_one();
            });
            let mut ready = lock.lock().unwrap();
            while !*ready {
                ready = condvar.wait(ready).unwrap();
            }
        });
        assert_eq!((n.get(), name.len()), (1, 4));
    });
}

#[test]
fn a_captured_lazy_value_is_made_in_each_execution() {
    let lazy = raddle::sync::LazyLock::new(|| 7);
    let seen = raddle::sync::LazyLock::new(|| two);
    verified(|| {
        assert_eq!(raddle::sync::LazyLock::get(&lazy), None);
        (*seen)();
        add_twice(|| assert_eq!(*lazy, 7));
    });
}
