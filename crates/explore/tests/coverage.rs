//! Counting what a search sees, from outside.

mod support;

use explore::{Counting, Coverage, Meter, Plan, Progress, Stats};
use support::{Program, Stmt::*, TOO_MANY, once, random_program, search};

const SEARCHES: [&str; 6] = ["optimal", "source", "dpor", "sleep", "hb-cache", "none"];

fn plain(algorithm: &str) -> Box<dyn Progress> {
    Plan::of(algorithm).unwrap().search(Meter::unlimited()).unwrap()
}

fn counted(p: &Program, algorithm: &str) -> Counting {
    let mut counting = Counting::new(plain(algorithm));
    while once(p, &mut counting) {}
    counting
}

/// Executions, classes and local states.
fn numbers(threads: Vec<Vec<support::Stmt>>, algorithm: &str) -> (u64, u64, u64) {
    let counting = counted(&Program { silent: true, ..Program::of(threads) }, algorithm);
    let Coverage { classes, states, .. } = counting.coverage();
    (counting.stats().executions, classes, states)
}

#[test]
fn classes_and_local_states_of_programs_where_they_can_be_counted_by_hand() {
    for a in SEARCHES {
        // A thread's i-th addition after j of the other's: any order of the i - 1 and the j before it, C(i-1+j, j); summed over
        // i = 1..3 and j = 0..3 that is 34, for two threads 68.
        let (executions, classes, states) = numbers(vec![vec![Add(0), Add(0), Add(0)]; 2], a);
        assert_eq!((executions, classes, states), (20, 20, 68), "{a}");
        // The writer comes after any set of readers; a reader comes first, or sees the write, with any set of the other two before it.
        let readers = vec![vec![Write(0, 1)], vec![Read(0, 0)], vec![Read(0, 0)], vec![Read(0, 0)]];
        let (_, classes, states) = numbers(readers, a);
        assert_eq!((classes, states), (8, 8 + 3 * (1 + 4)), "{a}");
        // Threads that share nothing: each has one local state a step.
        let (executions, classes, states) = numbers(vec![vec![Add(0), Add(0)], vec![Add(1), Add(1)]], a);
        assert_eq!((classes, states), (1, 4), "{a}");
        assert_eq!(executions, if a == "none" { 6 } else { 1 }, "{a}");
    }
}

#[test]
fn what_a_thread_saw_happen_in_another_order_is_another_local_state() {
    // Two writers and a reader of one variable. Each is first, after one of the others, or after both in either order.
    for a in SEARCHES {
        let (_, classes, states) = numbers(vec![vec![Write(0, 1)], vec![Write(0, 2)], vec![Read(0, 0)]], a);
        assert_eq!((classes, states), (6, 3 * 5), "{a}");
    }
}

#[test]
fn a_search_that_is_counted_does_what_it_does_alone_and_all_complete_searches_see_the_same() {
    let mut compared = 0;
    for seed in 0..220 {
        let p = random_program(seed);
        let oracle = search(&p, "none", TOO_MANY);
        if !oracle.finished {
            continue;
        }
        compared += 1;
        let all = counted(&p, "none");
        for a in SEARCHES {
            let counting = counted(&p, a);
            let mut alone = plain(a);
            while once(&p, &mut *alone) {}
            let stats: (Stats, Stats) = (counting.stats(), alone.stats());
            assert_eq!(stats.0, stats.1, "{a} on seed {seed}");
            assert_eq!(
                counting.classes().iter().copied().collect::<std::collections::BTreeSet<_>>(),
                oracle.classes.keys().copied().collect(),
                "{a} on seed {seed}: classes"
            );
            assert_eq!(counting.states(), all.states(), "{a} on seed {seed}: local states");
        }
    }
    assert!(compared > 80, "only {compared} programs were small enough");
}

#[test]
fn the_curve_goes_up_from_the_first_execution_to_the_last() {
    for (k, executions) in [(2, 6), (3, 20), (6, 924)] {
        let counting = counted(&Program { silent: true, ..Program::of(vec![vec![Add(0); k]; 2]) }, "optimal");
        let Coverage { classes, states, curve } = counting.coverage();
        assert_eq!(classes, executions);
        assert_eq!((curve[0].runs, curve[0].classes), (1, 1));
        let last = curve.last().unwrap();
        assert_eq!((last.runs, last.classes, last.states), (executions, classes, states));
        assert!(curve.windows(2).all(|w| w[0].runs < w[1].runs));
        assert!(curve.windows(2).all(|w| w[0].classes <= w[1].classes && w[0].states <= w[1].states));
        assert!(curve.iter().all(|p| p.classes == p.runs), "an optimal search sees a new class each time");
        assert!(curve.len() < 400, "{} points", curve.len());
    }
}

#[test]
fn a_search_that_starts_again_has_seen_nothing() {
    let p = Program::of(vec![vec![Add(0)], vec![Add(0)]]);
    let mut counting = Counting::new(plain("optimal"));
    assert!(once(&p, &mut counting));
    assert_eq!(counting.coverage().classes, 1);
    counting.restart();
    assert_eq!(counting.coverage(), Coverage::default());
    while once(&p, &mut counting) {}
    assert_eq!((counting.coverage().classes, counting.coverage().curve.len()), (2, 2));
}
