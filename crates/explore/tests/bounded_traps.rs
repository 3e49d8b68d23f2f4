//! Programs that catch a wrong bounded search, each shown to catch it.
//!
//! Most of the mistakes are those of a published text; see the errata in the modules that they would be in.

mod support;
mod within;

use explore::{BoundKind, BoundKind::*, Mistake, mistaken};
use support::{Program, Stmt, Stmt::*};
use within::{Within, bpor, dfs, plan, program, run, run_until, wrong_bpor};

const X: u8 = 0;
const Y: u8 = 1;
const A: u8 = 2;
const E: u8 = 7;

fn w(v: u8) -> Stmt {
    Write(v, 1)
}

fn r(v: u8) -> Stmt {
    Read(v, 0)
}

fn p(threads: &[&[Stmt]]) -> Program {
    Program::of(threads.iter().map(|t| t.to_vec()).collect())
}

/// A program, bounds, what is right, and a mistake with the optimisations that bring it out and what it gives.
struct Trap {
    program: Program,
    at: Vec<(BoundKind, u32)>,
    right: (usize, usize),
    mistake: Mistake,
    on: &'static str,
    wrong: (usize, usize),
}

impl Trap {
    fn holds(self) {
        let oracle = dfs(&self.program, &self.at, u64::MAX);
        assert_eq!(oracle.counts(), self.right, "every interleaving");
        for on in ["none", "tr", "at", "ro", "bo", "ss", "bo,ss", "tr,ro", "tr,at,ro,bo", "all"] {
            let seen = bpor(&self.program, &self.at, on, u64::MAX);
            assert_eq!(seen.sets(), oracle.sets(), "with {on}");
        }
        let seen: Within = wrong_bpor(&self.program, &self.at, self.on, self.mistake);
        assert_eq!(seen.counts(), self.wrong, "{:?} with {}", self.mistake, self.on);
    }
}

#[test]
fn t1_a_preemption_bound_needs_a_point_where_the_block_began() {
    let (mistake, on) = (Mistake::Naive, "none");
    Trap { program: program("G2"), at: vec![(Preemptions, 0)], right: (5, 2), mistake, on, wrong: (3, 1) }
        .holds();
    let leaves = bpor(&program("G2"), &[(Preemptions, 0)], "none", u64::MAX).leaves;
    let naive = wrong_bpor(&program("G2"), &[(Preemptions, 0)], "none", Mistake::Naive).leaves;
    assert_eq!((leaves, naive), (2, 1));
}

#[test]
fn t1b_a_context_bound_needs_all_threads_or_the_running_one() {
    let (mistake, on) = (Mistake::Naive, "none");
    Trap { program: program("G2"), at: vec![(Contexts, 1)], right: (5, 2), mistake, on, wrong: (4, 1) }
        .holds();
}

#[test]
fn t2_a_depth_bound_needs_all_threads() {
    let (mistake, on) = (Mistake::Naive, "none");
    Trap { program: program("G11"), at: vec![(Depth, 3)], right: (5, 1), mistake, on, wrong: (3, 0) }.holds();
}

#[test]
fn t3_a_thread_that_came_asleep_is_no_answer_to_a_race() {
    let (mistake, on) = (Mistake::SleeperAnswers, "ss");
    Trap { program: program("G17"), at: vec![], right: (11, 4), mistake, on, wrong: (10, 3) }.holds();
}

#[test]
fn t4_a_dependence_is_found_transitive_at_the_release_or_not_at_all() {
    let (mistake, on) = (Mistake::TransitiveAtAcquire, "tr,ro");
    Trap { program: program("G18"), at: vec![], right: (6, 2), mistake, on, wrong: (5, 1) }.holds();
}

#[test]
fn t5_a_preemption_bound_needs_the_point_before_a_release() {
    let (mistake, on) = (Mistake::NoPointAtRelease, "tr,at,ro,bo");
    Trap {
        program: program("G14b"),
        at: vec![(Preemptions, 1)],
        right: (21, 5),
        mistake,
        on,
        wrong: (19, 4),
    }
    .holds();
}

#[test]
fn t6_under_a_preemption_bound_what_was_not_all_seen_must_not_sleep() {
    let (mistake, on) = (Mistake::AlwaysSleeps, "ss");
    let program = p(&[&[r(A), w(X)], &[r(X)]]);
    Trap { program, at: vec![(Preemptions, 0)], right: (5, 2), mistake, on, wrong: (4, 1) }.holds();
}

#[test]
fn t7_a_point_for_the_bound_stays_one_for_sleep_sets() {
    let (mistake, on) = (Mistake::SleepsAsPrinted, "ss");
    let program = p(&[&[r(A), w(X)], &[w(X)], &[r(X)]]);
    assert_eq!(bpor(&program, &[(Preemptions, 0)], "all", u64::MAX).leaves, 6);
    Trap { program, at: vec![(Preemptions, 0)], right: (16, 6), mistake, on, wrong: (10, 2) }.holds();
}

#[test]
fn t8_even_then_the_printed_rule_of_sleep_sets_loses_states() {
    let (mistake, on) = (Mistake::SleepsAsPrintedForGood, "ss");
    let program = p(&[&[w(X), Await(E, 0), w(X)], &[w(X), w(E), w(X)]]);
    Trap { program, at: vec![(Preemptions, 1)], right: (20, 5), mistake, on, wrong: (18, 4) }.holds();
}

#[test]
fn t8b_a_block_that_sleeps_is_woken_by_what_comes_next_too() {
    let (mistake, on) = (Mistake::NextDoesNotWake, "tr,at,ro,bo,ss");
    Trap {
        program: program("G14b"),
        at: vec![(Preemptions, 1)],
        right: (21, 5),
        mistake,
        on,
        wrong: (19, 4),
    }
    .holds();
}

#[test]
fn t9_a_fair_search_begins_with_who_yielded_least() {
    let (mistake, on) = (Mistake::AnyFairThread, "none");
    let program = p(&[&[Yield, w(X)], &[Yield], &[Yield, Yield, r(X)]]);
    Trap { program, at: vec![(Fair, 1)], right: (8, 2), mistake, on, wrong: (6, 1) }.holds();
}

#[test]
fn t10_reads_do_not_change_the_local_context_of_each_other() {
    let program = p(&[&[r(X)], &[w(X), w(Y), r(X)], &[r(Y)]]);
    let contexts = dfs(&program, &[(Contexts, 1)], u64::MAX);
    assert_eq!(contexts.locals.len(), 12);
    for on in ["none", "tr", "ss", "all"] {
        let seen = bpor(&program, &[(LocalContexts, 1)], on, u64::MAX);
        assert!(seen.locals.is_superset(&contexts.locals), "with {on}");
    }
    let wrong = wrong_bpor(&program, &[(LocalContexts, 1)], "all", Mistake::LocalContextsAsPrinted);
    assert!(!wrong.locals.is_superset(&contexts.locals));
}

#[test]
fn t11_a_writer_is_charged_for_what_readers_had_seen() {
    let program = p(&[&[w(Y)], &[r(Y), r(X)], &[w(X)]]);
    let at = [(LocalDepth, 3)];
    let depth = dfs(&program, &[(Depth, 3)], u64::MAX);
    assert_eq!(depth.locals.len(), 9);
    assert_eq!(dfs(&program, &at, u64::MAX).locals, depth.locals);
    assert_eq!(bpor(&program, &at, "all", u64::MAX).locals, depth.locals);
    let wrong = mistaken(&plan("none", &at, "all"), Mistake::LocalDepthAsPrinted).unwrap();
    assert_eq!(run(&program, wrong, u64::MAX).locals.len(), 10);
}

#[test]
fn t12_under_a_delta_bound_the_printed_rule_of_sleep_sets_loses_states() {
    let (mistake, on) = (Mistake::SleepsAsPrinted, "ss");
    let program = p(&[&[w(E), r(X)], &[w(X), Await(E, 0), w(X)]]);
    Trap { program, at: vec![(Delta, 1)], right: (11, 3), mistake, on, wrong: (9, 2) }.holds();
}

#[test]
fn t13_the_printed_fair_bound_lets_a_thread_spin_for_ever() {
    let at = [(Fair, 1)];
    let seen = dfs(&program("F1"), &at, u64::MAX);
    assert_eq!((seen.leaves, seen.too_long), (5, 0));
    let mut wrong = mistaken(&plan("none", &at, "all"), Mistake::FairAsPrinted).unwrap();
    assert!(run_until(&program("F1"), &mut *wrong, 10, 1_000, |_, _| false).too_long > 0);
}

#[test]
fn t14_a_delta_bound_needs_whoever_is_cheaper() {
    let (mistake, on) = (Mistake::Naive, "none");
    let program = p(&[&[r(X)], &[r(X)], &[w(X)]]);
    assert_eq!(bpor(&program, &[(Delta, 1)], "all", u64::MAX).leaves, 3);
    Trap { program, at: vec![(Delta, 1)], right: (7, 3), mistake, on, wrong: (5, 2) }.holds();
}
