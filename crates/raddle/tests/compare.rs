//! Several searches of one test, side by side.

mod common;

use common::plain;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::{Compared, FailureKind, Plan, Verdict, thread};
use std::time::Duration;

fn plans(text: &str) -> Vec<Plan> {
    Plan::list(text).unwrap()
}

/// Two threads that add to one atomic three times each, and to one of their own in between.
fn additions() {
    let (shared, own) = (AtomicUsize::new(0), [AtomicUsize::new(0), AtomicUsize::new(0)]);
    thread::scope(|s| {
        for own in &own {
            s.spawn(|| {
                for _ in 0..3 {
                    shared.fetch_add(1, SeqCst);
                    own.fetch_add(1, SeqCst);
                }
            });
        }
    });
}

/// A thread waits for another one. Its wait may end spuriously, so that local states are compared, for which the search starts again.
fn waiting() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            let mut guard = ready.lock().unwrap();
            while !*guard {
                guard = changed.wait(guard).unwrap();
            }
        });
        *ready.lock().unwrap() = true;
        changed.notify_one();
    });
}

fn lost_update() {
    let x = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| x.store(x.load(SeqCst) + 1, SeqCst));
        }
    });
    assert_eq!(x.into_inner(), 2);
}

fn classes(row: &Compared) -> u64 {
    row.coverage.as_ref().unwrap().classes
}

#[test]
fn all_classes_of_a_search_that_starts_again_are_counted() {
    let table = common::default().compare(&plans("optimal none"), waiting);
    let [optimal, all] = &table.rows[..] else { panic!("{table:?}") };
    assert_eq!(optimal.verdict, Verdict::Verified);
    assert_eq!(classes(optimal), optimal.stats.executions);
    assert_eq!(classes(optimal), classes(all));
}

#[test]
fn every_search_sees_the_same_classes_with_as_many_executions_as_it_needs() {
    let table = plain().compare(&plans("optimal source dpor sleep none"), additions);
    for row in &table.rows {
        assert_eq!(row.verdict, Verdict::Verified, "{}", row.plan);
        // The additions to the shared atomic in any order: 6! / (3! 3!).
        assert_eq!(classes(row), 20, "{}", row.plan);
        assert_eq!(row.coverage.as_ref().unwrap().states, table.rows[0].coverage.as_ref().unwrap().states);
        // By construction: 12! / (6! 6!) interleavings.
        let executions = if row.plan == "none" { 924 } else { 20 };
        assert_eq!(row.stats.executions, executions, "{}", row.plan);
        assert_eq!(row.runs, row.stats.executions + row.stats.blocked, "{}", row.plan);
        assert!(row.cpu_seconds > 0.0);
        let times: Vec<f64> =
            row.coverage.as_ref().unwrap().curve.iter().map(|p| p.cpu_seconds.unwrap()).collect();
        assert!(times.is_sorted() && times.iter().all(|t| *t <= row.cpu_seconds), "{}: {times:?}", row.plan);
    }
    assert_eq!(table.rows.len(), 5);
}

#[test]
fn a_row_has_the_numbers_of_a_check_with_the_same_plan() {
    for algorithm in ["optimal", "dpor", "none"] {
        let report = plain().algorithm(algorithm).run(additions);
        let table = plain().compare(&plans(algorithm), additions);
        assert_eq!(table.rows[0].stats, report.stats, "{algorithm}");
        assert_eq!(table.rows[0].guarantee, report.guarantee, "{algorithm}");
    }
}

#[test]
fn the_first_failure_is_named_with_its_execution_and_replays() {
    let table = plain().compare(&plans("optimal none"), lost_update);
    for row in &table.rows {
        let failure = row.failure.as_ref().unwrap();
        assert_eq!((row.verdict, failure.kind), (Verdict::Failure, FailureKind::Assertion), "{}", row.plan);
        assert_eq!(failure.after, row.runs, "{}: the search stops there", row.plan);
        assert!(failure.after > 1, "{}", row.plan);
        let again = plain().replay(&failure.replay).run(lost_update);
        assert_eq!(again.failures[0].message, failure.message, "{}", row.plan);
    }
}

#[test]
fn a_search_that_keeps_going_sees_all_classes_of_a_program_that_fails() {
    let table = plain().keep_going(true).compare(&plans("optimal none"), lost_update);
    for row in &table.rows {
        assert_eq!((row.verdict, classes(row)), (Verdict::Failure, 4), "{}", row.plan);
        assert!(row.failure.as_ref().unwrap().after < row.runs, "{}", row.plan);
    }
}

#[test]
fn budgets_hold_for_each_plan_and_what_is_counted_is_what_was_run() {
    let table = plain().max_executions(7).compare(&plans("optimal none"), additions);
    for row in &table.rows {
        assert_eq!((row.runs, row.verdict), (7, Verdict::Incomplete), "{}", row.plan);
        assert_eq!(row.coverage.as_ref().unwrap().curve.last().unwrap().runs, 7, "{}", row.plan);
    }
    assert_eq!(classes(&table.rows[0]), 7, "an optimal search sees a new class each time");
    assert!(classes(&table.rows[1]) < 7);

    let many = || {
        let x = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..5).for_each(|_| _ = x.fetch_add(1, SeqCst)));
            }
        });
    };
    let table = plain().max_time(Duration::from_millis(30)).compare(&plans("optimal"), many);
    let row = &table.rows[0];
    assert_eq!(row.verdict, Verdict::Incomplete);
    // Counting takes longer, and the time limit holds for both.
    let counted = row.coverage.as_ref().unwrap().curve.last().unwrap().runs;
    assert!((1..=row.runs).contains(&counted), "{counted} of {}", row.runs);
}

#[test]
fn a_plan_whose_parts_do_not_go_together_is_left_out_and_the_others_are_run() {
    let all = plans("optimal hb-cache@preemptions=1@depth=2@fair=3 none");
    let table = plain().compare(&all, lost_update);
    // Which parts go together is for the library to say; every plan is in one list or the other.
    assert_eq!(table.rows.len() + table.left_out.len(), 3);
    assert!(table.rows.iter().any(|r| r.plan == "optimal") && table.rows.iter().any(|r| r.plan == "none"));
    for left in &table.left_out {
        assert!(left.why.contains("bound"), "{}", left.why);
    }
}

#[test]
fn a_test_that_asks_whether_a_thread_has_ended_is_counted_from_the_start() {
    let program = || {
        let x = AtomicUsize::new(0);
        thread::scope(|s| {
            let other = s.spawn(|| x.fetch_add(1, SeqCst));
            let _ = other.is_finished();
        });
    };
    let report = plain().run(program);
    let table = plain().compare(&plans("optimal"), program);
    assert_eq!(table.rows[0].stats, report.stats);
    assert_eq!(classes(&table.rows[0]), report.stats.executions);
}

#[test]
fn a_deadlock_is_a_class_as_well() {
    let program = || {
        let locks = (Mutex::new(()), Mutex::new(()));
        thread::scope(|s| {
            for i in 0..2 {
                let (first, second) = if i == 0 { (&locks.0, &locks.1) } else { (&locks.1, &locks.0) };
                s.spawn(move || {
                    let _first = first.lock().unwrap();
                    let _second = second.lock().unwrap();
                });
            }
        });
    };
    let table = plain().keep_going(true).compare(&plans("optimal none"), program);
    assert_eq!(table.rows.iter().map(classes).collect::<Vec<_>>(), [3, 3]);
    assert_eq!(table.rows[0].failure.as_ref().unwrap().kind, FailureKind::Deadlock);
}
