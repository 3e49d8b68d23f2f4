//! Iterative Impact on the programs of Metzler's thesis, chapter 4: verdicts, first schedules, and what a schedule has to stand.

#[path = "support/game.rs"]
mod game;
mod support;
#[path = "support/thesis.rs"]
mod thesis;

use game::run_under;
use model::{Builder, Interpreter, LocationId, Program, State, Term, Terms, ThreadId, Type};
use std::collections::HashSet;
use std::ops::ControlFlow;
use support::{producer_consumer, read, stands};
use verify::{Answer, BitSolver, Budget, Event, Found, Options, Schedule, Solver, check_schedule, schedules};

/// Runs the engine; what it found, and its schedules. Everything is checked.
fn imc(p: &Program, deadlocks: bool, most: usize) -> (Found, Vec<Schedule>) {
    let options = Options { deadlocks, budget: Budget { seconds: None, work: Some(20_000) } };
    let mut all = Vec::new();
    let found = schedules(p, &options, most, &mut |event| {
        if let Event::Schedule { schedule, .. } = event {
            all.push(schedule.clone());
        }
        ControlFlow::Continue(())
    });
    stands(p, &options, &found.outcome);
    for s in &all {
        check_schedule(p, s).unwrap();
    }
    (found, all)
}

/// The threads in the order in which a schedule lets them go, each once in a row, for so many turns, taking the first input and the
/// first thread that is allowed. Steps by which main makes the others, and they begin, are left out.
fn turns(p: &Program, s: &Schedule, many: usize) -> Vec<u16> {
    turns_with(p, s, None, many)
}

/// The same, but one thread goes first if it is allowed to.
fn turns_with(p: &Program, s: &Schedule, first: Option<ThreadId>, many: usize) -> Vec<u16> {
    let run = Interpreter::new(p);
    let (mut state, mut at, mut out) = (run.initial(), 0, Vec::new());
    while out.len() < many {
        let next = &s.nodes[at].next;
        let wanted = next.iter().find(|e| out.is_empty() && Some(e.0) == first);
        let Some((thread, ..)) = wanted.or(next.first()).copied() else { break };
        let begins = state.locations[thread.index()] == p.thread(thread).entry;
        let (step, next) = run.successors(&state, thread).unwrap().remove(0);
        let edge = s.nodes[at].next.iter().find(|e| e.0 == thread && e.1 == step.transition).unwrap();
        (state, at) = (next, edge.2);
        if thread != ThreadId(0) && !begins && out.last() != Some(&thread.0) {
            out.push(thread.0);
        }
    }
    out
}

/// The locations at which a thread is in the runs that a schedule allows.
fn visited(p: &Program, s: &Schedule, thread: ThreadId) -> HashSet<LocationId> {
    let run = Interpreter::new(p);
    let mut seen = HashSet::from([(run.initial(), 0)]);
    let mut stack = vec![(run.initial(), 0)];
    while let Some((state, n)) = stack.pop() {
        for (t, e, to) in &s.nodes[n].next {
            for (step, next) in run.successors(&state, *t).unwrap() {
                if step.transition == *e && seen.insert((next.clone(), *to)) {
                    stack.push((next, *to));
                }
            }
        }
    }
    seen.iter().map(|(state, _)| state.locations[thread.index()]).collect()
}

#[test]
fn a_correct_producer_and_consumer_are_safe_and_their_first_schedule_is_there_before() {
    // Figures 4.3 and 4.9. That cost does not grow with the buffer shows in the nodes and in the questions asked.
    for threads in [1, 2, 4] {
        let mut cost = Vec::new();
        for n in [5, 1000] {
            let p = read(&producer_consumer(threads, threads, n));
            let (found, all) = imc(&p, false, 1);
            assert_eq!(found.outcome.verdict.name(), "safe", "{threads}p{threads}c, {n} cells");
            assert_eq!(all.len(), 1);
            let first: Vec<u16> = (1..=2 * threads as u16).collect();
            assert_eq!(turns(&p, &all[0], 2 * threads as usize), first, "who goes first");
            cost.push((found.outcome.count("nodes"), found.outcome.count("refinements"), all[0].nodes.len()));
        }
        assert_eq!(cost[0], cost[1], "the cost does not grow with the buffer");
    }
}

#[test]
fn each_further_schedule_lets_one_more_thread_go_first() {
    // Section 4.5.1: the i-th schedule allows, besides what those before it do, that the i-th thread goes first, then the others in order.
    let p = read(&producer_consumer(4, 4, 1000));
    let (found, all) = imc(&p, false, 8);
    assert_eq!(found.outcome.verdict.name(), "safe");
    assert_eq!(all.len(), 8);
    for (i, s) in (1..).zip(&all) {
        for first in 1..=8 {
            // Who is not allowed to go first waits for those before it.
            let mut order: Vec<u16> = (1..=8).collect();
            if first <= i {
                order.remove(first as usize - 1);
                order.insert(0, first);
            }
            assert_eq!(
                turns_with(&p, s, Some(ThreadId(first)), 8),
                order,
                "schedule {i}, thread {first} first"
            );
        }
    }
    assert!(all.windows(2).all(|w| w[0].nodes.len() < w[1].nodes.len()), "they allow more and more");
}

/// The nodes of a schedule at which turns begin, for so many turns: whose it is, and a state there.
fn beginnings(p: &Program, s: &Schedule, many: usize) -> Vec<(u16, usize, State)> {
    let run = Interpreter::new(p);
    let (mut state, mut at, mut out) = (run.initial(), 0, Vec::<(u16, usize, State)>::new());
    while out.len() < many {
        let thread = s.nodes[at].next[0].0;
        let begins = state.locations[thread.index()] == p.thread(thread).entry;
        if thread != ThreadId(0) && !begins && out.last().is_none_or(|l| l.0 != thread.0) {
            out.push((thread.0, at, state.clone()));
        }
        let (step, next) = run.successors(&state, thread).unwrap().remove(0);
        let edge = s.nodes[at].next.iter().find(|e| e.0 == thread && e.1 == step.transition).unwrap();
        (state, at) = (next, edge.2);
    }
    out
}

/// Formulas over the counter of a program, and what labels say of it.
struct Counter<'p> {
    program: &'p Program,
    terms: Terms,
    solver: BitSolver,
    count: Term,
}

impl<'p> Counter<'p> {
    fn of(program: &'p Program, schedule: &Schedule) -> Counter<'p> {
        let mut terms = schedule.terms.clone();
        let var = program.var_named("count").unwrap();
        let count = terms.var(var, program.var(var).ty);
        Counter { program, terms, solver: BitSolver::for_program(program), count }
    }

    fn number(&mut self, n: i32) -> Term {
        let ty = self.program.var(self.program.var_named("count").unwrap()).ty;
        self.terms.constant(u64::from(n as u32), ty)
    }

    /// `count + k > 0`.
    fn positive(&mut self, k: i32) -> Term {
        let (k, zero) = (self.number(k), self.number(0));
        let sum = self.terms.add(self.count, k);
        self.terms.lt(zero, sum)
    }

    /// `count != n`.
    fn is_not(&mut self, n: i32) -> Term {
        let n = self.number(n);
        self.terms.ne(self.count, n)
    }

    fn implies(&mut self, all: &[Term], what: Term) -> bool {
        let mut all = all.to_vec();
        all.push(self.terms.not(what));
        self.solver.check(&self.terms, &all) == Answer::Unsat
    }
}

#[test]
fn the_first_schedule_of_four_producers_and_consumers_rests_on_the_predicates_of_the_thesis() {
    // Where a full or an empty buffer fails, the first schedule lets all go in order, and what the labels have to say are the eight
    // predicates of section 4.5.1. Before the first producer: count != 1000, 999, 998, 997, that four find room. After it: count > 0,
    // count + 1 > 0, count + 2 > 0, count + 3 > 0, that four find an item, the last consumer first. Ours say more than that: room for
    // those who were tried in another order.
    let p = read(&thesis::overflowing_with(4, 4, 1000));
    let (found, all) = imc(&p, false, 1);
    assert_eq!(found.outcome.verdict.name(), "partially-safe");
    assert_eq!(turns(&p, &all[0], 16), [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    let mut counter = Counter::of(&p, &all[0]);
    for (thread, node, _) in beginnings(&p, &all[0], 24) {
        let label = [all[0].nodes[node].label];
        let room: Vec<bool> = (0..4)
            .map(|k| {
                let room = counter.is_not(1000 - k);
                counter.implies(&label, room)
            })
            .collect();
        let items: Vec<bool> = (0..4)
            .map(|k| {
                let item = counter.positive(k);
                counter.implies(&label, item)
            })
            .collect();
        // For the producers that are left, each of which takes one cell.
        let left = 5usize.saturating_sub(thread.into());
        assert!(room[..left].iter().all(|r| *r), "room before the turn of thread {thread}: {room:?}");
        match thread {
            1 => assert_eq!(items, [false, true, true, true], "the buffer may be empty before a round"),
            _ => assert_eq!(items, [true; 4], "items before the turn of thread {thread}"),
        }
    }
}

#[test]
fn where_a_full_or_an_empty_buffer_is_left_alone_the_bounds_of_the_counter_are_enough() {
    // Figure 4.9. The predicates of the thesis keep its schedule away from a full and an empty buffer. Ours goes both ways where
    // a thread asks for room or for an item, so it need not know whether there is any: that the counter is between 0 and 1000 is enough
    // for what comes after the question, and every turn leads back to it. That is all that labels say where turns begin.
    let p = read(&producer_consumer(4, 4, 1000));
    let (_, all) = imc(&p, false, 1);
    let mut counter = Counter::of(&p, &all[0]);
    let run = Interpreter::new(&p);
    // In the first round they say more: it is the first.
    for (thread, node, state) in beginnings(&p, &all[0], 24).into_iter().skip(8) {
        let label = all[0].nodes[node].label;
        let (zero, most) = (counter.number(0), counter.number(1000));
        let (least, most) = (counter.terms.le(zero, counter.count), counter.terms.le(counter.count, most));
        let bounds = counter.terms.all([least, most]);
        assert!(counter.implies(&[label], bounds), "the turn of thread {thread}");
        // Locks and lives of threads are as they are.
        let mut known = vec![bounds];
        for (i, v) in p.vars.iter().enumerate().filter(|(_, v)| v.internal && v.len.is_none()) {
            let var = model::VarId(i as u32);
            let now = counter.terms.var(var, v.ty);
            let value = counter.terms.constant(run.value(&state, var, 0), v.ty);
            known.push(counter.terms.eq(now, value));
        }
        assert!(counter.implies(&known, label), "they say no more at the turn of thread {thread}");
        for k in 0..4 {
            let room = counter.is_not(1000 - k);
            assert!(!counter.implies(&[label], room), "the turn of thread {thread}: {k}");
        }
        let item = counter.positive(0);
        assert!(!counter.implies(&[label], item), "the turn of thread {thread}");
    }
}

#[test]
fn a_buffer_of_any_size_is_proved_after_the_first_schedule_too() {
    // Labels with as few guards as possible count the cells one by one here; those with more do not. Whether main waits or not.
    for (ending, schedules) in [("pthread_join(t, 0); pthread_join(u, 0); return 0;", 3), ("return 0;", 1)] {
        let mut cost = Vec::new();
        for n in [5, 1000] {
            let p = read(&format!(
                "int buffer[{n}], count; pthread_mutex_t m;
                 void *produce(void *a) {{ int item = 0; while (1) {{ pthread_mutex_lock(&m);
                   if (count < {n}) {{ assert(count < {n}); buffer[count] = item++; count++; }} pthread_mutex_unlock(&m); }} return 0; }}
                 void *consume(void *a) {{ while (1) {{ pthread_mutex_lock(&m);
                   if (count > 0) {{ assert(count > 0); count--; int item = buffer[count]; }} pthread_mutex_unlock(&m); }} return 0; }}
                 int main(void) {{ pthread_t t, u; pthread_create(&t, 0, produce, 0); pthread_create(&u, 0, consume, 0); {ending} }}"
            ));
            let (found, all) = imc(&p, false, schedules);
            assert_eq!(found.outcome.verdict.name(), "safe", "{n} cells, {ending}");
            assert_eq!(all.len(), schedules, "{n} cells, {ending}");
            cost.push(found.outcome.count("nodes"));
        }
        assert_eq!(cost[0], cost[1], "the proof does not grow with the buffer");
    }
}

#[test]
fn ways_that_no_run_takes_leave_nobody_out() {
    // The third writes once, and has to do so between the question and the write of the first; after that it waits for ever, which labels say.
    // But one branch of the second that is impossible then was covered by a node where the third can still go: it seemed to be
    // left out whatever the scheduler does, and no schedule was found.
    let p = read(&thesis::program(
        "int x, y; pthread_mutex_t m, n; sem_t s;",
        &[
            "while (1) { assert(y != 2); pthread_mutex_lock(&m); pthread_mutex_lock(&n); y = 1; pthread_mutex_unlock(&m);
             pthread_mutex_unlock(&n); }",
            "int r = 0; while (1) { assert(y == r || x != 1); assert(y == r || y != 0); }",
            "while (1) { sem_wait(&s); y = 2; }",
        ],
    )
    .replace("int main(void) {", "int main(void) { sem_init(&s, 0, 1);"));
    // Where deadlocks are looked for the third is in one, under every schedule that is fair.
    let (found, all) = imc(&p, false, 1);
    assert_eq!(found.outcome.verdict.name(), "partially-safe");
    run_under(&p, &all[0], 10_000);
}

#[test]
fn a_node_that_turns_out_to_be_lost_stands_for_no_other_any_more() {
    // The second has to read y between the two writes of the first, and not for the first time. Nodes at which it must not go yet were
    // found to be lost while they stood for others at which it may: there was no way on from those, nor were they lost.
    let p = read(&thesis::program(
        "int x, y; pthread_mutex_t m; pthread_cond_t c;",
        &[
            "int r = 0; while (1) { r = x; y = (r + 1) & 3; pthread_mutex_lock(&m); y = 1; pthread_cond_signal(&c);
             pthread_mutex_unlock(&m); if (__VERIFIER_nondet_bool()) r = 1; else r = 2; }",
            "int r = 0; while (1) { r = y; x = (r + 1) & 3; assert(x != 2); }",
            "",
        ],
    ));
    let (found, all) = imc(&p, false, 1);
    assert_eq!(found.outcome.verdict.name(), "partially-safe");
    run_under(&p, &all[0], 10_000);
}

#[test]
fn where_a_full_or_an_empty_buffer_fails_the_first_schedule_alternates() {
    // Figure 4.2: the cover that lets the producer go round alone is no schedule.
    for n in [1, 5, 1000] {
        let p = read(&thesis::overflowing(n));
        let (found, all) = imc(&p, false, 1);
        assert_eq!(found.outcome.verdict.name(), "partially-safe", "{n} cells");
        assert!(found.outcome.verdict.trace().is_some());
        assert_eq!(turns(&p, &all[0], 6), [1, 2, 1, 2, 1, 2], "{n} cells");
        run_under(&p, &all[0], 1000);
        // One thread may go at a time, and the producer is the first.
        assert!(all[0].nodes.iter().all(|s| s.next.iter().all(|e| e.0 == s.next[0].0)));
        assert_eq!(turns_with(&p, &all[0], Some(ThreadId(2)), 2), [1, 2]);
    }
}

#[test]
fn two_locks_the_other_way_round_are_used_without_a_deadlock() {
    // Figure 4.10. Without asking for deadlocks nothing is wrong; schedules are free of them all the same.
    for deadlocks in [false, true] {
        let p = read(&thesis::double_lock(false));
        let (found, all) = imc(&p, deadlocks, 1);
        assert_eq!(found.outcome.verdict.name(), if deadlocks { "partially-safe" } else { "safe" });
        assert_eq!(turns(&p, &all[0], 4), [1, 2, 1, 2]);
        run_under(&p, &all[0], 1000);
        let p = read(&thesis::double_lock(true));
        assert_eq!(imc(&p, deadlocks, 1).0.outcome.verdict.name(), "safe");
    }
}

#[test]
fn a_check_outside_the_lock_is_wrong_and_safe_in_rounds() {
    // Figure 4.12.
    for n in [1, 2, 5] {
        let p = read(&thesis::racy(2, 2, n));
        let (found, all) = imc(&p, false, 1);
        assert_eq!(found.outcome.verdict.name(), "partially-safe", "{n} cells");
        assert_eq!(turns(&p, &all[0], 4), [1, 2, 3, 4], "{n} cells");
        run_under(&p, &all[0], 10_000);
    }
}

#[test]
fn a_lock_that_changes_with_time_is_proved() {
    // Figure 4.14.
    let p = read(&thesis::file_system());
    let (found, all) = imc(&p, true, 1);
    assert_eq!(found.outcome.verdict.name(), "safe");
    run_under(&p, &all[0], 10_000);
}

#[test]
fn synchronisation_comes_from_assumptions() {
    // Figure 4.15 a: in order. 4.15 b: the third has to free the block before the second can do anything.
    let verdict = |p: &Program| {
        let reached = model::Reach::default().search(&Interpreter::new(p)).unwrap();
        assert_eq!(reached.errors, 0, "nothing is asserted");
        if reached.deadlocks > 0 { "partially-safe" } else { "safe" }
    };
    let p = read(&thesis::declared(true));
    let (found, all) = imc(&p, true, 1);
    assert_eq!(found.outcome.verdict.name(), verdict(&p));
    assert_eq!(turns(&p, &all[0], 6), [1, 2, 3, 1, 2, 3]);
    // The second thread finds it busy whenever it comes: it is never past the question.
    assert_eq!(visited(&p, &all[0], ThreadId(2)).len(), 2, "where it begins, and the head of its loop");
    assert!(visited(&p, &all[0], ThreadId(1)).len() > 2);
    run_under(&p, &all[0], 10_000);
    let p = read(&thesis::declared(false));
    let (found, all) = imc(&p, true, 1);
    assert_eq!(found.outcome.verdict.name(), verdict(&p));
    let order = turns(&p, &all[0], 9);
    // The thesis begins with the third; here the first has a turn before, and then they go round in the order of the thesis.
    assert_eq!(order[1..7], [3, 2, 1, 3, 2, 1], "the third before the second before the first");
    // All of them do something useful: each writes, the second as well.
    for t in [1, 2, 3].map(ThreadId) {
        let taken: HashSet<_> =
            all[0].nodes.iter().flat_map(|n| &n.next).filter(|e| e.0 == t).map(|e| e.1).collect();
        let writes = |e| p.accesses(p.thread(t).transition(e)).writes.iter().any(|w| !p.var(w.var).internal);
        assert!(taken.into_iter().any(writes), "thread {t}");
    }
    run_under(&p, &all[0], 10_000);
    // Whatever both are at first.
    let p = read(&thesis::declared(false).replace("busy, inode;", "busy = 1, inode = 1;"));
    let (found, all) = imc(&p, true, 1);
    assert_eq!(found.outcome.verdict.name(), verdict(&p));
    run_under(&p, &all[0], 10_000);
}

#[test]
fn threads_in_a_ring_wait_for_each_other_at_barriers() {
    let p = read(&thesis::ring(2));
    let (found, all) = imc(&p, true, 1);
    assert_eq!(found.outcome.verdict.name(), "safe");
    run_under(&p, &all[0], 10_000);
}

#[test]
fn a_cover_does_not_hide_what_another_thread_sees() {
    // Wachter, Kroening, Ouaknine: missed where reduction and covers are combined lightly.
    let p = read(&thesis::trap());
    let (found, all) = imc(&p, false, 2);
    assert_eq!(found.outcome.verdict.name(), "partially-safe");
    all.iter().for_each(|s| assert!(run_under(&p, s, 1000) > 3));
}

#[test]
fn what_is_lost_in_any_order_is_not_tried_in_every_order() {
    // The second fails unless the first writes between its write and its assertion, which the first schedules that are tried do not see to.
    // All of what they lead to is lost. Steps there that commute with all others (the third thread, the lock that one thread alone
    // takes, the beginning of each) were tried in every order, and no schedule was found within the nodes for that.
    let p = read(&thesis::program(
        "int x, y; pthread_mutex_t m, n;",
        &[
            "pthread_mutex_lock(&m); pthread_mutex_lock(&n); x = 0; pthread_mutex_unlock(&m); pthread_mutex_unlock(&n);
             assert(x != 2);",
            "int r = 0; assert(y == r || y != 0); pthread_mutex_lock(&n); r = x; x = (r + 1) & 3; pthread_mutex_unlock(&n);
             assert(x == r || x != 1);",
            "",
        ],
    ));
    for deadlocks in [false, true] {
        let (found, all) = imc(&p, deadlocks, 1);
        assert_eq!(found.outcome.verdict.name(), "partially-safe");
        run_under(&p, &all[0], 1000);
        let nodes = found.outcome.count("nodes").unwrap();
        assert!(nodes < 1000, "{nodes} nodes");
    }
}

#[test]
fn who_may_be_left_behind_at_the_end_is_not_waited_for() {
    // Nobody joins the first thread: its step commutes with all others and fails, and the program may end before it.
    let p = read(
        "int x; void *f(void *a) { assert(0); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 1; return 0; }",
    );
    let (found, all) = imc(&p, false, 1);
    assert_eq!(found.outcome.verdict.name(), "partially-safe");
    run_under(&p, &all[0], 100);
}

#[test]
fn wherever_the_search_for_a_schedule_is_broken_off_what_is_proved_after_it_stands() {
    // Half of the work is for schedules: with each amount of it the search ends elsewhere.
    for text in [producer_consumer(1, 1, 5), thesis::double_lock(true), thesis::file_system()] {
        let p = read(&text);
        for work in (1..150).chain([20_000]) {
            let options = Options { deadlocks: false, budget: Budget { seconds: None, work: Some(work) } };
            let found = schedules(&p, &options, 2, &mut |_| ControlFlow::Continue(()));
            stands(&p, &options, &found.outcome);
            assert!(work < 150 || found.outcome.verdict.name() == "safe");
        }
    }
}

#[test]
fn where_whoever_goes_first_fails_there_is_no_schedule() {
    let p = read(&thesis::program("int x;", &["x = 1; assert(x == 2);", "while (x != 1) ; assert(0);"]));
    let (found, all) = imc(&p, false, 1);
    assert_eq!(found.outcome.verdict.name(), "unsafe");
    assert!(all.is_empty());
    // Not to let it go at all would be safe, and unfair.
    let p = read(&thesis::program("int x;", &["assert(x == 1);", "while (1) x = 0;"]));
    assert_eq!(imc(&p, false, 1).0.outcome.verdict.name(), "unsafe");
}

#[test]
fn who_waits_for_ever_is_left_out_only_where_it_cannot_go() {
    // The first takes the lock and keeps it; the second would fail. That it never can go is fair.
    let p = read(&thesis::program(
        "int x; pthread_mutex_t m;",
        &["pthread_mutex_lock(&m); while (1) x = 1;", "pthread_mutex_lock(&m); assert(0);"],
    ));
    let (found, all) = imc(&p, false, 1);
    assert_eq!(found.outcome.verdict.name(), "partially-safe");
    let fair = &all[0];
    run_under(&p, fair, 100);
    // The same schedule with the second one's lock free all the time is not.
    let p = read(&thesis::program(
        "int x; pthread_mutex_t m;",
        &[
            "pthread_mutex_lock(&m); while (1) { x = 1; pthread_mutex_unlock(&m); pthread_mutex_lock(&m); }",
            "pthread_mutex_lock(&m); assert(0);",
        ],
    ));
    assert_eq!(imc(&p, false, 1).0.outcome.verdict.name(), "unsafe");
}

#[test]
fn inputs_are_never_constrained() {
    // Whatever comes in decides who may go next, and both answers are in the schedule.
    let p = read(&thesis::program(
        "int x, y;",
        &[
            "int r = __VERIFIER_nondet_int(); if (r > 7) { x = 1; } else { x = 2; } y = 1;",
            "assert(x != 2 || y == 1);",
        ],
    ));
    let (found, all) = imc(&p, false, 1);
    assert_eq!(found.outcome.verdict.name(), "partially-safe");
    let branches = |n: &verify::ScheduleNode| n.next.iter().filter(|e| e.0 == ThreadId(1)).count() == 2;
    assert!(all[0].nodes.iter().any(branches));
}

#[test]
fn a_schedule_with_anything_taken_away_is_refused() {
    let p = read(&thesis::overflowing(5));
    let (_, all) = imc(&p, false, 1);
    let good = &all[0];
    let mut labels = 0;
    for n in 0..good.nodes.len() {
        let mut broken = good.clone();
        let yes = broken.terms.boolean(true);
        broken.nodes[n].label = yes;
        labels += usize::from(check_schedule(&p, &broken).is_err());
        for e in 0..good.nodes[n].next.len() {
            let mut broken = good.clone();
            broken.nodes[n].next.remove(e);
            assert!(check_schedule(&p, &broken).is_err(), "a step of node {n} is not needed");
            let mut broken = good.clone();
            broken.nodes[n].next[e].2 = 0;
            let same = good.nodes[n].next[e].2 == 0;
            assert_eq!(check_schedule(&p, &broken).is_ok(), same, "a step of node {n} leads anywhere");
        }
    }
    assert!(labels > good.nodes.len() / 3, "labels matter: {labels} of {}", good.nodes.len());
    // One that goes round without the consumer: the first lap of the producer, closed.
    let p = read(&producer_consumer(1, 1, 5));
    let (_, all) = imc(&p, false, 1);
    let mut unfair = all[0].clone();
    let head = |n: &verify::ScheduleNode| n.next.first().map(|e| e.0) == Some(ThreadId(2));
    let waiting: Vec<usize> = (0..unfair.nodes.len()).filter(|n| head(&unfair.nodes[*n])).collect();
    let producer = (0..unfair.nodes.len()).find(|n| {
        unfair.nodes[*n].next.first().map(|e| e.0) == Some(ThreadId(1))
            && waiting.iter().any(|w| unfair.nodes[*w].locations == unfair.nodes[*n].locations)
    });
    let producer = producer.expect("the producer starts where the consumer does");
    let mut closed = 0;
    for n in 0..unfair.nodes.len() {
        for e in 0..unfair.nodes[n].next.len() {
            let to = unfair.nodes[n].next[e].2;
            if waiting.contains(&to) && unfair.nodes[to].locations == unfair.nodes[producer].locations {
                unfair.nodes[n].next[e].2 = producer;
                closed += 1;
            }
        }
    }
    assert!(closed > 0);
    let why = check_schedule(&p, &unfair).unwrap_err().to_string();
    assert!(why.contains("leaves out thread") || why.contains("leaves the label"), "{why}");
}

#[test]
fn a_schedule_that_leaves_somebody_out_is_refused_for_that_alone() {
    // Two threads that go round for ever, with nothing that could go wrong and no label that says anything.
    let mut b = Builder::new();
    let x = b.shared("x", Type::INT, 0);
    for _ in 0..2 {
        let t = b.thread("T");
        let (start, yes, one) = (b.here(t), b.terms().boolean(true), b.terms().int(1));
        let assign = model::Assign { place: model::Place::scalar(x), value: one };
        b.step(t, start, start, yes, vec![assign]);
    }
    let p = b.finish();
    let mut terms = p.terms.clone();
    let (label, locations) =
        (terms.boolean(true), Box::from(p.threads.iter().map(|t| t.entry).collect::<Vec<_>>()));
    let goes = |next: &[(u16, usize)]| {
        let next = next.iter().map(|(t, to)| (ThreadId(*t), model::TransitionId(0), *to)).collect();
        verify::ScheduleNode { locations: Clone::clone(&locations), label, next }
    };
    let check = |nodes| check_schedule(&p, &Schedule { terms: terms.clone(), nodes });
    check(vec![goes(&[(0, 1)]), goes(&[(1, 0)])]).unwrap();
    for (one, other) in [(0, 1), (1, 0)] {
        let why = check(vec![goes(&[(one, 0)])]).unwrap_err().to_string();
        assert!(why.ends_with(&format!("leaves out thread {other}")), "{why}");
        // One fair way round does not make up for one that is not.
        let why = check(vec![goes(&[(one, 0), (other, 1)]), goes(&[(one, 0)])]).unwrap_err().to_string();
        assert!(why.ends_with(&format!("leaves out thread {other}")), "{why}");
    }
}

#[test]
fn a_buffer_of_any_size_has_a_schedule() {
    // Figures 4.2 and 4.3 with an input for the size: there is no end to what a full proof of figure 4.2 would unwind.
    let text = |otherwise: &str| {
        let turn = |has: &str, does: &str| {
            format!(
                "while (1) {{ pthread_mutex_lock(&m); if ({has}) count = count {does}; {otherwise} pthread_mutex_unlock(&m); }}"
            )
        };
        let threads = [turn("count < n", "+ 1"), turn("count > 0", "- 1")];
        thesis::program("int n, count; pthread_mutex_t m;", &[&threads[0], &threads[1]]).replace(
            "int main(void) {",
            "int main(void) { int k = __VERIFIER_nondet_int(); __VERIFIER_assume(k > 0); n = k;",
        )
    };
    let p = read(&text("else reach_error();"));
    let (found, all) = imc(&p, false, 1);
    assert_eq!(found.outcome.verdict.name(), "partially-safe");
    assert_eq!(all.len(), 1, "safe, fair and without deadlock for every size");
    let p = read(&text(""));
    assert_eq!(imc(&p, false, 1).0.outcome.verdict.name(), "safe");
}

#[test]
fn the_tree_has_covers_and_its_counterexamples() {
    let p = read(&thesis::overflowing(5));
    let (found, _) = imc(&p, false, 1);
    let kinds = |k: fn(&verify::Kind) -> bool| found.art.nodes.iter().filter(|n| k(&n.kind)).count();
    assert!(kinds(|k| matches!(k, verify::Kind::Covered(_))) > 0);
    assert!(kinds(|k| matches!(k, verify::Kind::Wrong)) > 0);
    assert!(kinds(|k| matches!(k, verify::Kind::Impossible)) > 0);
    for (i, n) in found.art.nodes.iter().enumerate() {
        assert_eq!(n.parent.is_none(), i == 0);
        assert!(n.parent.is_none_or(|(above, ..)| above < i));
    }
}
