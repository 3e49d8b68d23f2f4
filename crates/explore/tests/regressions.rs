//! Programs on which a reduction was once wrong, as the random search found and shrank them.

mod support;

use explore::Op;
use support::{Program, Stmt::*, TOO_MANY, search, unbounded, wrong};

fn right(p: &Program) {
    let oracle = search(p, "none", TOO_MANY);
    assert!(oracle.finished);
    for a in unbounded() {
        assert_eq!(wrong(p, a, &oracle), None, "{a}");
    }
}

fn all_right(threads: Vec<Vec<support::Stmt>>) {
    right(&Program::of(threads));
}

#[test]
fn a_race_is_turned_round_for_each_outcome_of_a_step_that_moves_with_it() {
    all_right(vec![vec![Add(0)], vec![Cas(0, 1, 1, 0)], vec![Choose(2, 0)]]);
}

#[test]
fn branches_for_all_outcomes_of_a_step_cover_together() {
    all_right(vec![vec![Write(0, 1)], vec![Cas(1, 0, 1, 0), Choose(2, 0)], vec![Read(0, 0), Write(1, 2)]]);
}

#[test]
fn a_branch_for_one_outcome_does_not_cover_the_other() {
    all_right(vec![
        vec![WriteReg(0, 0, 1)],
        vec![WriteReg(0, 0, 1)],
        vec![CasWeak(1, 0, 2, 1)],
        vec![CasWeak(1, 1, 0, 0)],
    ]);
}

#[test]
fn a_spurious_failure_wakes_less_than_a_success() {
    all_right(vec![vec![CasWeak(1, 1, 0, 0)], vec![Add(1), Read(1, 1)]]);
    all_right(vec![vec![Cas(0, 1, 2, 1)], vec![CasWeak(0, 0, 0, 0), WriteReg(0, 1, 1)]]);
}

#[test]
fn to_arrive_early_depends_on_how_many_are_to_come() {
    all_right(vec![vec![Yield], vec![Arrive(0, 2)], vec![Yield, Arrive(0, 2)]]);
    all_right(vec![vec![Down(0)], vec![Down(0)], vec![Yield]]);
}

#[test]
fn a_thread_that_reads_and_then_writes_one_lock_is_stuck_by_itself() {
    all_right(vec![vec![Reading(0, vec![])], vec![Reading(0, vec![Writing(0, vec![])])]]);
}

#[test]
fn a_writer_comes_before_nested_readers() {
    all_right(vec![vec![Reading(0, vec![Reading(0, vec![])])], vec![Writing(0, vec![])]]);
}

#[test]
fn threads_left_blocked_when_all_others_sleep_are_still_in_races() {
    all_right(vec![
        vec![Await(1, 1), Read(0, 1)],
        vec![WriteReg(1, 1, 1), Add(0)],
        vec![Cas(1, 1, 0, 1), WriteReg(1, 0, 1)],
    ]);
}

#[test]
fn either_of_two_tokens_lets_a_parked_thread_go() {
    all_right(vec![vec![Unpark(1)], vec![Park], vec![Unpark(1)]]);
}

#[test]
fn persistent_sets_hold_for_what_a_receive_may_become() {
    let (send, receive) = (vec![Send(0, Op::UNBOUNDED)], vec![TryRecv(0, Op::UNBOUNDED, 1)]);
    all_right(vec![send.clone(), receive.clone(), receive, send]);
    all_right(vec![vec![TrySend(0, 1), TrySend(0, 1)], vec![Recv(0, 1, 0)]]);
    all_right(vec![vec![DropSender(0)], vec![TryRecv(0, 1, 1)]]);
}

#[test]
fn a_failed_try_lock_can_be_co_enabled_with_the_release() {
    all_right(vec![vec![TryWriting(0, vec![])], vec![Reading(0, vec![])], vec![TryWriting(0, vec![])]]);
}

#[test]
fn whether_a_thread_has_ended_is_seen_both_ways() {
    right(&Program {
        threads: vec![vec![Spawn(1), IsFinished(1, 2)], vec![]],
        spawned: vec![1],
        count: 2,
        ..Program::default()
    });
}

#[test]
fn an_answer_that_leans_on_a_sleeping_step_is_looked_at_again() {
    all_right(vec![
        vec![Read(1, 1)],
        vec![WriteReg(1, 1, 1)],
        vec![WriteReg(0, 1, 1)],
        vec![Write(0, 0), Await(0, 1), Cas(1, 1, 2, 1)],
    ]);
}

#[test]
fn a_step_on_an_object_met_later_is_compared_by_what_its_thread_saw() {
    let threads = vec![
        vec![Cas(1, 0, 0, 0)],
        vec![Write(0, 1), Send(0, Op::UNBOUNDED)],
        vec![Read(0, 0)],
        vec![CasWeak(1, 1, 1, 0)],
    ];
    right(&Program { numbered: true, ..Program::of(threads) });
}

#[test]
fn a_barrier_that_is_passed_late_is_not_held_up_by_the_next_round() {
    all_right(vec![vec![Arrive(0, 2)], vec![Arrive(0, 2)], vec![Arrive(0, 2)], vec![Arrive(0, 2)]]);
}

#[test]
fn a_count_that_nothing_else_touches_stays_what_it_is() {
    let threads =
        vec![vec![Add(1)], vec![Writing(0, vec![Down(0)])], vec![Read(1, 0), Reading(0, vec![Park])]];
    right(&Program { count: 4, ..Program::of(threads) });
}

#[test]
fn two_words_that_are_awaited_may_change_back() {
    all_right(vec![
        vec![Write(0, 0), Write(0, 1), Write(1, 0)],
        vec![Read(0, 0), If(0, 1, vec![Read(1, 1), If(1, 1, vec![Await(0, 1), Read(1, 1)])])],
    ]);
}

#[test]
fn a_wait_that_moves_takes_all_that_is_independent_with_it() {
    right(&Program {
        silent: true,
        threads: vec![
            vec![Spawn(3), Write(1, 2)],
            vec![Write(0, 1)],
            vec![Await(1, 0)],
            vec![WriteReg(1, 1, 1), Write(0, 1)],
        ],
        spawned: vec![3],
        count: 4,
        ..Program::default()
    });
}

#[test]
fn a_receive_that_finds_nothing_when_it_comes_first_conflicts_with_more() {
    let threads = vec![
        vec![WriteReg(0, 1, 1), DropSender(0)],
        vec![Read(0, 0), Send(0, Op::UNBOUNDED)],
        vec![Cas(0, 0, 2, 0), TryRecv(0, Op::UNBOUNDED, 0)],
    ];
    right(&Program { count: 3, ..Program::of(threads) });
}

#[test]
fn a_race_that_was_answered_before_a_step_with_outcomes_is_not_answered_for_one_of_them() {
    let threads = vec![
        vec![Add(2)],
        vec![Add(2), Arrive(0, 2)],
        vec![CasWeak(0, 1, 1, 0)],
        vec![Cas(0, 0, 1, 1), Cas(1, 0, 0, 1)],
    ];
    right(&Program { numbered: true, count: 4, ..Program::of(threads) });
}

#[test]
fn an_outcome_that_is_seen_below_a_branch_further_up_is_covered_further_down() {
    all_right(vec![
        vec![Read(1, 1)],
        vec![Write(1, 0), TryWriting(0, vec![])],
        vec![CasWeak(1, 0, 0, 1)],
        vec![TryWriting(0, vec![])],
    ]);
}

#[test]
fn whom_a_notification_wakes_is_not_mixed_up_with_what_a_compare_exchange_does() {
    right(&Program {
        silent: true,
        threads: vec![
            vec![Spawn(3), NotifyOne(0)],
            vec![CasWeak(0, 0, 0, 1)],
            vec![Wait(0, 0)],
            vec![CasWeak(0, 0, 1, 0)],
        ],
        spawned: vec![3],
        count: 4,
        ..Program::default()
    });
}

#[test]
fn a_step_may_take_its_other_outcome_at_another_place() {
    all_right(vec![
        vec![Write(1, 0)],
        vec![CasWeak(0, 0, 2, 0), Await(0, 1)],
        vec![Cas(1, 1, 0, 1), Cas(1, 0, 0, 1)],
        vec![CasWeak(0, 1, 1, 1), Await(1, 1), Write(0, 1)],
    ]);
}

#[test]
fn five_threads_keep_all_twelve_classes() {
    right(&Program::of(vec![
        vec![Read(1, 1)],
        vec![Write(0, 1)],
        vec![Write(1, 1)],
        vec![Read(1, 0)],
        vec![Write(0, 2), Read(0, 1)],
    ]));
}

#[test]
fn six_threads_keep_all_thirty_two_classes() {
    right(&Program::of(vec![
        vec![Read(1, 0)],
        vec![Read(1, 0), Read(0, 0)],
        vec![Add(0)],
        vec![Read(0, 1)],
        vec![Write(1, 0)],
        vec![Read(1, 1)],
    ]));
}
