//! Spin loops end, lose nothing, and are reported when nobody can end them.
#![allow(missing_docs)]

mod common;

use common::*;
use explore::FailureKind;
use runtime::Place;
use runtime::Settings;
use std::cell::RefCell;
use std::collections::BTreeSet;

fn all(test: impl Fn()) -> Found {
    explore_with(&Settings { keep_going: true, max_steps: 2000, ..settings() }, Naive::default(), test)
}

fn ends(test: impl Fn()) -> u64 {
    let found = all(test);
    assert!(found.failures.is_empty(), "{:#?}", found.failures[0]);
    assert!(found.executions < 200_000);
    found.executions
}

#[test]
fn a_loop_with_nothing_in_it_ends() {
    ends(|| {
        let flag = shared(Atomic::new(0));
        let f = flag.clone();
        let t = spawn(move || f.store(1));
        while flag.load() == 0 {}
        join(t);
    });
}

#[test]
fn a_loop_with_a_yield_ends() {
    let n = ends(|| {
        let flag = shared(Atomic::new(0));
        let f = flag.clone();
        let t = spawn(move || f.store(1));
        while flag.load() == 0 {
            yield_now();
        }
        join(t);
    });
    assert!(n < 1000, "{n}");
}

#[inline(never)]
fn is_set(flag: &Atomic, depth: u32) -> bool {
    let pad = std::hint::black_box([depth; 20]);
    if depth > 0 { is_set(flag, depth - 1) && pad[3] == depth } else { flag.load() != 0 }
}

#[test]
fn a_loop_that_looks_through_functions_ends() {
    ends(|| {
        let flag = shared(Atomic::new(0));
        let f = flag.clone();
        let t = spawn(move || f.store(1));
        while !is_set(&flag, 4) {
            yield_now();
        }
        join(t);
    });
}

#[test]
fn spin_locks_end() {
    let cas = |lock: &Atomic| while !lock.cas(0, 1) {};
    let swap = |lock: &Atomic| {
        while lock.swap(1) == 1 {
            yield_now();
        }
    };
    let test_and_test = |lock: &Atomic| {
        loop {
            while lock.load() == 1 {
                yield_now();
            }
            if lock.cas_weak(0, 1) {
                break;
            }
        }
    };
    for acquire in [cas as fn(&Atomic), swap, test_and_test] {
        ends(|| {
            let (lock, n) = (shared(Atomic::new(0)), shared(Atomic::new(0)));
            let (l, m) = (lock.clone(), n.clone());
            let t = spawn(move || {
                acquire(&l);
                let v = m.load();
                m.store(v + 1);
                l.store(0);
            });
            acquire(&lock);
            let v = n.load();
            n.store(v + 1);
            lock.store(0);
            join(t);
            assert_eq!(n.load(), 2);
        });
    }
}

#[test]
fn a_loop_over_two_variables_sees_both_change() {
    ends(|| {
        let (a, b) = (shared(Atomic::new(0)), shared(Atomic::new(0)));
        let (a1, b1) = (a.clone(), b.clone());
        let t = spawn(move || {
            b1.store(1);
            a1.store(1);
        });
        while a.load() == 0 || b.load() == 0 {
            yield_now();
        }
        join(t);
    });
}

#[test]
fn a_bounded_retry_sees_all_its_turns() {
    let seen = RefCell::new(BTreeSet::new());
    ends(|| {
        let flag = shared(Atomic::new(0));
        let f = flag.clone();
        let t = spawn(move || f.store(1));
        let mut turn = None;
        for i in 0..6 {
            if flag.load() == 1 {
                turn = Some(i);
                break;
            }
        }
        seen.borrow_mut().insert(turn);
        join(t);
    });
    let expected = [None, Some(0), Some(1), Some(2), Some(3), Some(4), Some(5)];
    assert_eq!(seen.into_inner(), expected.into_iter().collect());
}

#[test]
fn a_loop_that_counts_in_a_register_is_not_cut() {
    // The counter only shows in what the loop does at its end.
    let seen = RefCell::new(BTreeSet::new());
    ends(|| {
        let flag = shared(Atomic::new(0));
        let f = flag.clone();
        let t = spawn(move || f.store(1));
        let mut n = 0u64;
        while flag.load() == 0 && n < 5 {
            n += 1;
            yield_now();
        }
        seen.borrow_mut().insert(n);
        join(t);
    });
    assert_eq!(seen.into_inner(), (0..=5).collect());
}

#[test]
fn every_value_is_still_seen() {
    let seen = RefCell::new(BTreeSet::new());
    ends(|| {
        let x = shared(Atomic::new(0));
        let y = x.clone();
        let t = spawn(move || {
            y.store(1);
            y.store(2);
            y.store(0);
            y.store(3);
        });
        let v = loop {
            let v = x.load();
            if v != 0 {
                break v;
            }
        };
        seen.borrow_mut().insert(v);
        join(t);
    });
    assert_eq!(seen.into_inner(), [1, 2, 3].into_iter().collect());
}

#[test]
fn waiting_for_the_end_of_a_thread_ends() {
    ends(|| {
        let t = spawn(|| ());
        while !runtime::is_finished(t, Place::caller()) {
            yield_now();
        }
    });
}

#[test]
fn a_loop_that_nobody_ends_is_a_livelock() {
    let found = all(|| {
        let flag = shared(Atomic::new(0));
        let f = flag.clone();
        let t = spawn(move || while f.load() == 0 {});
        join(t);
    });
    assert_eq!(found.failures.len(), 1);
    let f = &found.failures[0];
    assert_eq!(f.kind, FailureKind::Livelock);
    assert!(f.message.contains("thread 1 spins on atomic #1 = 0"), "{}", f.message);
    assert!(f.location.as_deref().unwrap().contains("spin_loops.rs"));
}

#[test]
fn a_loop_that_only_yields_is_a_livelock() {
    let found = all(|| {
        loop {
            yield_now();
        }
    });
    assert_eq!(found.failures[0].kind, FailureKind::Livelock);
    assert!(found.failures[0].message.contains("spins for ever"), "{}", found.failures[0].message);
}

#[test]
fn two_threads_that_wait_for_each_other_are_a_livelock() {
    let found = all(|| {
        let (a, b) = (shared(Atomic::new(0)), shared(Atomic::new(0)));
        let (a1, b1) = (a.clone(), b.clone());
        spawn(move || {
            while a1.load() == 0 {
                yield_now();
            }
            b1.store(1);
        });
        while b.load() == 0 {
            yield_now();
        }
        a.store(1);
    });
    assert!(found.failures.iter().all(|f| f.kind == FailureKind::Livelock));
    assert!(!found.failures.is_empty());
}
