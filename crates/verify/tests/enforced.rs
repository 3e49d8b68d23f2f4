//! What schedules become for those who run programs under them: sections and symbolic traces (Metzler 2020, chapter 5), and programs
//! run by them, step by step.

#[path = "support/automata.rs"]
mod automata;
#[path = "support/game.rs"]
mod game;
#[path = "../../model/tests/support/metzler.rs"]
mod metzler;
mod support;

use automata::{double_lock, one_producer_one_consumer};
use game::run_in_sections;
use model::{
    Assign, Builder, Interpreter, LocationId, Place, Program, Runner, State, Step, Term, ThreadId,
    TransitionId, Type, VarId,
};
use std::collections::HashSet;
use std::ops::ControlFlow;
use verify::{
    Answer, BitSolver, Budget, Event, Following, Options, Schedule, ScheduleNode, Sections, Solver,
    SymbolicTrace, TraceOrder, check_schedule, schedules,
};

/// Numbers without a pattern that matters here.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// The first schedule of a program.
fn first_schedule(p: &Program, deadlocks: bool) -> Schedule {
    let options = Options { deadlocks, budget: Budget { seconds: None, work: Some(20_000) } };
    let mut first = None;
    schedules(p, &options, 1, &mut |event| {
        if let Event::Schedule { schedule, .. } = event {
            first.get_or_insert(schedule.clone());
        }
        ControlFlow::Continue(())
    });
    let first = first.expect("there is one");
    check_schedule(p, &first).unwrap();
    first
}

#[test]
fn the_first_schedule_of_the_thesis_alternates_in_one_section_with_its_label_at_the_start() {
    // Figures 4.2 and 4.6: at the start of a round the buffer is empty and the lock is free, and only the producer may go.
    for cells in [1, 5, 1000] {
        let p = one_producer_one_consumer(cells, true);
        let s = first_schedule(&p, false);
        let turns: Vec<u16> = s.nodes.iter().map(|n| n.next[0].0.0).collect();
        assert_eq!(turns, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1], "{cells} cells");
        assert!(s.nodes.iter().all(|n| n.next.len() == 1), "one thread may go, and its branch is known");
        assert_eq!(s.nodes[9].next[0].2, 0, "the round closes where it began");
        let sections = Sections::of(&p, &s);
        assert_eq!((sections.all.len(), &sections.first, &sections.all[0].next), (1, &vec![0], &vec![0]));
        assert_eq!(run_in_sections(&p, &sections, 100), 10, "the lock leaves one order");
        // With the labels of the thesis it is as good: count is 0 at the start, and 1 from the step on that counts up to the one that
        // counts down. Ours are weaker for more than one cell, and the same for one.
        let [count, m] = ["count", "m"].map(|v| p.var_named(v).unwrap());
        let mut thesis = s.clone();
        let [count, m] = [count, m].map(|v| thesis.terms.var(v, Type::INT));
        for (n, node) in thesis.nodes.iter_mut().enumerate() {
            let numbers = [i32::from((4..9).contains(&n)), i32::from(n % 5 != 0)];
            let is = |terms: &mut model::Terms, v, k| {
                let k = terms.int(k);
                terms.eq(v, k)
            };
            let (items, taken) =
                (is(&mut thesis.terms, count, numbers[0]), is(&mut thesis.terms, m, numbers[1]));
            let (ours, label) = (node.label, thesis.terms.and(items, taken));
            let mut solver = BitSolver::for_program(&p);
            let mut implies = |a: Term, b: Term| {
                let not = thesis.terms.not(b);
                solver.check(&thesis.terms, &[a, not]) == Answer::Unsat
            };
            assert!(implies(label, ours), "{cells} cells, node {n}");
            assert_eq!(n == 0 && implies(ours, label), n == 0 && cells == 1, "{cells} cells: at the start");
            node.label = label;
        }
        check_schedule(&p, &thesis).unwrap();
    }
}

#[test]
fn a_producer_that_goes_round_alone_is_refused_as_unfair() {
    // The cover of the start by the end of the producer's round: nothing goes wrong, and the consumer can go.
    let p = one_producer_one_consumer(5, false);
    let mut terms = p.terms.clone();
    let m = p.var_named("m").unwrap();
    let (now, zero, yes) = (terms.var(m, Type::INT), terms.int(0), terms.boolean(true));
    let free = terms.eq(now, zero);
    let steps: [&[(u32, usize)]; 5] = [&[(0, 1)], &[(1, 2), (2, 4)], &[(3, 3)], &[(4, 4)], &[(5, 0)]];
    let node = |(n, steps): (usize, &[(u32, usize)])| ScheduleNode {
        locations: [LocationId(n as u32), LocationId(0)].into(),
        label: if n == 0 { free } else { yes },
        next: steps.iter().map(|(e, to)| (ThreadId(0), TransitionId(*e), *to)).collect(),
    };
    let nodes = steps.into_iter().enumerate().map(node).collect();
    let why = check_schedule(&p, &Schedule { terms, nodes }).unwrap_err().to_string();
    assert!(why.ends_with("leaves out thread 1"), "{why}");
}

#[test]
fn the_two_locks_of_the_thesis_are_one_section_that_never_deadlocks() {
    // Figure 4.10: bodies alternate, T1 first. 100,000 rounds in any order that the section allows.
    let p = double_lock([[0, 1, 1, 0], [1, 0, 1, 0]], true, true);
    let s = first_schedule(&p, true);
    assert_eq!(s.nodes.iter().map(|n| n.next[0].0.0).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    let sections = Sections::of(&p, &s);
    assert_eq!((sections.all.len(), &sections.first, &sections.all[0].next), (1, &vec![0], &vec![0]));
    run_in_sections(&p, &sections, 1000);
    let (run, mut at, mut turns) = (Interpreter::new(&p), sections.start(), 0);
    let (mut state, mut random) = (run.initial(), Random(1));
    while turns < 100_000 * sections.all[0].events.len() {
        let free = sections.free(&at);
        let (thread, transition) = free[random.below(free.len())];
        let (_, next) = run.successors(&state, thread).unwrap().pop().expect("whoever may go can");
        assert!(run.wrong(&next).is_none());
        (state, turns) = (next, turns + 1);
        sections.went(&mut at, thread, transition);
    }
    // Left alone they do: the error is in the program.
    assert_eq!(model::Reach::default().search(&run).unwrap().deadlocks, 1);
}

/// Threads, their transitions and the nodes after them.
type Steps<'a> = &'a [(u16, u32, usize)];

/// Figure 5.6, T1: while (1) { x = 1; if (z == 0) y = 1; } and T2: while (1) { y = 0; x = 0; }, and its schedule.
fn figure_5_6() -> (Program, Schedule) {
    let mut b = Builder::new();
    let [x, y, z] = ["x", "y", "z"].map(|v| b.shared(v, Type::INT, 0));
    let (t1, t2) = (b.thread("T1"), b.thread("T2"));
    let own = b.local(t1, "t", Type::INT, 0);
    let (yes, zero, one) = (b.terms().boolean(true), b.terms().int(0), b.terms().int(1));
    let (seen, read) = (b.value(z), b.value(own));
    let (is, is_not) = (b.terms().eq(read, zero), b.terms().ne(read, zero));
    let set = |v, value| vec![Assign { place: Place::scalar(v), value }];
    let a: Vec<LocationId> =
        std::iter::once(b.here(t1)).chain((1..6).map(|_| b.location(t1)).collect::<Vec<_>>()).collect();
    b.step(t1, a[0], a[1], yes, set(x, one));
    b.step(t1, a[1], a[2], yes, set(own, seen));
    b.step(t1, a[2], a[3], is, Vec::new());
    b.step(t1, a[2], a[5], is_not, Vec::new());
    b.step(t1, a[3], a[4], yes, set(y, one));
    b.step(t1, a[4], a[0], yes, Vec::new());
    b.step(t1, a[5], a[0], yes, Vec::new());
    let c = [b.here(t2), b.location(t2)];
    b.step(t2, c[0], c[1], yes, set(y, zero));
    b.step(t2, c[1], c[0], yes, set(x, zero));
    let p = b.finish();
    let mut terms = p.terms.clone();
    let label = terms.boolean(true);
    let node = |(at, next): &([usize; 2], Steps<'_>)| ScheduleNode {
        locations: [a[at[0]], c[at[1]]].into(),
        label,
        next: next.iter().map(|(t, e, to)| (ThreadId(*t), TransitionId(*e), *to)).collect(),
    };
    // The start, and v1 to v7.
    let nodes: [([usize; 2], Steps<'_>); 8] = [
        ([0, 0], &[(0, 0, 1)]),
        ([1, 0], &[(0, 1, 2)]),
        ([2, 0], &[(1, 0, 3)]),
        ([2, 1], &[(1, 1, 4)]),
        ([2, 0], &[(0, 2, 5), (0, 3, 6)]),
        ([3, 0], &[(0, 4, 7)]),
        ([5, 0], &[(0, 6, 0)]),
        ([4, 0], &[(0, 5, 0)]),
    ];
    let schedule = Schedule { terms, nodes: nodes.iter().map(node).collect() };
    check_schedule(&p, &schedule).unwrap();
    (p, schedule)
}

#[test]
fn the_sections_of_the_thesis_order_the_two_writes_to_one_variable_and_nothing_else() {
    // The text there has an edge from the first write to that of y; it goes to the write to x.
    let (p, schedule) = figure_5_6();
    let sections = Sections::of(&p, &schedule);
    let ways: Vec<(usize, usize)> = sections.all.iter().map(|s| (s.from, s.to)).collect();
    assert_eq!(ways, [(0, 4), (4, 0), (4, 0)]);
    assert_eq!(sections.first, [0]);
    assert_eq!(
        sections.all.iter().map(|s| s.next.clone()).collect::<Vec<_>>(),
        [vec![1, 2], vec![0], vec![0]]
    );
    let after: Vec<&[usize]> = sections.all[0].events.iter().map(|e| &e.after[..]).collect();
    assert_eq!(after, [&[][..], &[], &[], &[0]], "e1 before e4");
    assert!(
        sections.all[1..]
            .iter()
            .flat_map(|s| &s.events)
            .all(|e| e.after.is_empty() && e.thread == ThreadId(0))
    );
    // The steps of T1 and T2 in the first section, in any order that it allows.
    let keeps = |order: &[u16]| {
        let mut at = sections.start();
        for t in order {
            let free = sections.free(&at);
            let (thread, transition) = *free.iter().find(|f| f.0.0 == *t)?;
            sections.went(&mut at, thread, transition);
        }
        Some(at)
    };
    let done = keeps(&[0, 1, 0, 1]).expect("e1 e3 e2 e4");
    assert_eq!(keeps(&[1, 0, 0, 1]), Some(done.clone()), "e3 e1 e2 e4");
    assert_eq!(keeps(&[1, 1]), None, "e3 e4 e1 e2");
    // T1 goes on to its write of y, or does not, when all of that is over.
    assert_eq!(keeps(&[0, 0, 0]), None);
    assert_eq!(keeps(&[0, 0, 1, 0]), None);
    assert_eq!(sections.free(&done), [(ThreadId(0), TransitionId(2)), (ThreadId(0), TransitionId(3))]);
    run_in_sections(&p, &sections, 1000);
}

/// Figure 5.1: the pointers x and y come in, and point into memory of two cells.
fn figure_5_1() -> Program {
    support::read(
        "int m[2];
         void *t1(void *x) { int a = m[(long)x]; m[(long)x] = a + 1; int c = m[(long)x]; assert(c == a + 1); return 0; }
         void *t2(void *y) { int b = m[(long)y]; m[(long)y] = b + 1; return 0; }
         int main(void) { long x = __VERIFIER_nondet_bool(), y = __VERIFIER_nondet_bool(); pthread_t t;
           pthread_create(&t, 0, t1, (void *)x); pthread_create(&t, 0, t2, (void *)y); pthread_exit(0); }",
    )
}

/// All runs that keep to a trace, with all inputs: the threads in order, and whether the run went wrong. Nobody may be stuck.
fn runs(p: &Program, trace: &SymbolicTrace) -> Vec<(Vec<Step>, State)> {
    fn grow(
        run: &Interpreter<'_>,
        state: &State,
        at: &Following<'_>,
        steps: &mut Vec<Step>,
        out: &mut Vec<(Vec<Step>, State)>,
    ) {
        let mut end = true;
        for t in run.program().thread_ids().filter(|t| run.is_enabled(state, *t)) {
            if !at.may_go(run, state, t) {
                continue;
            }
            end = false;
            for (step, next) in run.successors(state, t).unwrap() {
                let mut at = at.clone();
                at.went(t);
                steps.push(step);
                grow(run, &next, &at, steps, out);
                steps.pop();
            }
        }
        if end {
            out.push((steps.clone(), state.clone()));
        }
    }
    let (run, mut out) = (Interpreter::new(p), Vec::new());
    grow(&run, &run.initial(), &trace.follow(), &mut Vec::new(), &mut out);
    out
}

#[test]
fn one_symbolic_trace_keeps_the_program_of_the_thesis_safe_for_all_inputs() {
    let p = figure_5_1();
    let run = Interpreter::new(&p);
    // Main makes both, the first does all that it does, and then the second.
    let (mut state, mut steps) = (run.initial(), Vec::new());
    for t in [0, 0, 0, 0, 1, 1, 1, 2, 2] {
        let (step, next) = run.successors(&state, ThreadId(t)).unwrap().remove(0);
        steps.push(step);
        state = next;
    }
    let trace = SymbolicTrace::of(&p, &steps).unwrap();
    let show = |e: &TraceOrder| (e.before, e.after, trace.terms.show(e.condition, &|v| p.name(v)));
    let edges: Vec<(usize, usize, String)> = trace.edges.iter().map(show).collect();
    let same = || "t1.x == t2.y".to_owned();
    let yes = || "true".to_owned();
    // Who is made comes after that. What the first thread writes comes before the second one reads, and what it reads, at last in its
    // assertion, before the second one writes: if both pointers are the same.
    assert_eq!(
        edges,
        [(2, 4, yes()), (3, 7, yes()), (5, 7, same()), (4, 8, same()), (5, 8, same()), (6, 8, same())]
    );
    let places = ["x", "y"].map(|v| {
        p.vars
            .iter()
            .position(|w| w.name.ends_with(&format!(".{v}")) && w.name != format!("main.{v}"))
            .unwrap()
    });
    let pointers = |s: &State| places.map(|v| run.value(s, VarId(v as u32), 0));
    let tally = |trace: &SymbolicTrace| {
        let (mut same, mut other, mut wrong) = (HashSet::new(), HashSet::new(), 0);
        for (steps, end) in runs(&p, trace) {
            assert!(run.is_over(&end) || !p.thread_ids().any(|t| run.is_live(&end, t)), "nobody is stuck");
            let [x, y] = pointers(&end);
            let order: Vec<u16> = steps.iter().map(|s| s.thread.0).filter(|t| *t > 0).collect();
            wrong += usize::from(run.wrong(&end).is_some());
            if x == y {
                same.insert(order)
            } else {
                other.insert(order)
            };
        }
        (same.len(), other.len(), wrong)
    };
    // With different pointers anything goes. With the same, the read of the assertion and that of the second thread commute.
    assert_eq!(tally(&trace), (2, 10, 0));
    let (same, other, wrong) = tally(&trace.prefix(0));
    assert!(same > 2 && other == 10 && wrong > 0, "without the trace it goes wrong");
}

#[test]
fn a_table_filled_under_part_of_a_trace_is_one_of_those_that_were_verified() {
    // Indexer (15): with all twelve constraints of its first trace, with eleven, and so on until nobody waits for anybody. The table is the
    // same in the end whoever fills a cell, as two write the same there; so who filled it is compared as well.
    let p =
        model::read_text("indexer.c", &metzler::program("indexer", 15), &model::Options::default()).unwrap();
    let (run, table) = (Interpreter::new(&p), p.var_named("table").unwrap());
    let filled = |steps: &[Step]| -> Vec<(u64, u64, ThreadId)> {
        let states = run.replay(steps).unwrap();
        let mut out = Vec::new();
        for (step, (before, after)) in steps.iter().zip(states.iter().zip(&states[1..])) {
            let written = p.accesses(p.thread(step.thread).transition(step.transition)).writes;
            if let Some(index) = written.iter().find(|w| w.var == table).and_then(|w| w.index) {
                let cell = run.eval(before, index);
                out.push((cell, run.value(after, table, cell), step.thread));
            }
        }
        out.sort();
        out
    };
    let runner = Runner::new(&p).unwrap();
    let mut search = explore::Plan::of("optimal").unwrap().search(explore::Meter::unlimited()).unwrap();
    let (mut verified, mut first) = (HashSet::new(), None);
    let mut executions = runner.executions();
    loop {
        let done = executions.next(&mut *search).unwrap();
        assert_eq!((done.end, &done.wrong), (explore::End::Complete, &None));
        assert!(verified.insert(filled(done.run)), "every class once");
        first.get_or_insert_with(|| done.run.to_vec());
        if !done.again {
            break;
        }
    }
    assert_eq!(verified.len(), 4096);
    let trace = SymbolicTrace::of(&p, &first.expect("there is one")).unwrap();
    // That a thread is made before it goes is no constraint.
    let waits =
        |t: &SymbolicTrace| t.edges.iter().filter(|e| t.events[e.before].thread != ThreadId(0)).count();
    assert_eq!(waits(&trace), 12);
    for constraints in 0..=12 {
        let shortest = (0..=trace.events.len()).find(|n| waits(&trace.prefix(*n)) == constraints);
        let part = trace.prefix(shortest.expect("they come one by one"));
        let (mut waited, mut ends) = (0, HashSet::new());
        for seed in 0..100 {
            let (mut at, mut state, mut random) = (part.follow(), run.initial(), Random(seed));
            let mut steps = Vec::new();
            loop {
                let can: Vec<ThreadId> = p.thread_ids().filter(|t| run.is_enabled(&state, *t)).collect();
                if can.is_empty() {
                    break;
                }
                let may: Vec<ThreadId> =
                    can.iter().copied().filter(|t| at.may_go(&run, &state, *t)).collect();
                assert!(!may.is_empty(), "never blocked");
                waited += can.len() - may.len();
                let thread = may[random.below(may.len())];
                let (step, next) = run.successors(&state, thread).unwrap().remove(0);
                state = next;
                steps.push(step);
                at.went(thread);
            }
            let filled = filled(&steps);
            assert!(verified.contains(&filled), "{constraints} constraints: a table that was not verified");
            ends.insert(filled);
        }
        assert_eq!(waited > 0, constraints > 0, "{constraints} constraints");
        assert!(ends.len() <= 1 << (12 - constraints), "{constraints} constraints leave so many open");
        assert!(ends.len() > 1 || constraints > 0, "nobody is held back");
    }
}

#[test]
fn ways_that_meet_are_not_written_down_for_each_of_them() {
    // Forty ways into sixty steps that are the same for all.
    let mut b = Builder::new();
    let t = b.thread("T");
    let (yes, start) = (b.terms().boolean(true), b.here(t));
    let ways: Vec<LocationId> = (0..40).map(|_| b.location(t)).collect();
    let rest: Vec<LocationId> = (0..=60).map(|_| b.location(t)).collect();
    for way in &ways {
        b.step(t, start, *way, yes, Vec::new());
        b.step(t, *way, rest[0], yes, Vec::new());
    }
    for pair in rest.windows(2) {
        b.step(t, pair[0], pair[1], yes, Vec::new());
    }
    b.set_kind(t, rest[60], model::LocationKind::End);
    let p = b.finish();
    // A node for each location.
    let mut terms = p.terms.clone();
    let label = terms.boolean(true);
    let node = |at: u32| ScheduleNode {
        locations: [LocationId(at)].into(),
        label,
        next: p.thread(t).from(LocationId(at)).map(|(id, e)| (t, id, e.to.index())).collect(),
    };
    let schedule = Schedule { nodes: (0..p.thread(t).locations.len() as u32).map(node).collect(), terms };
    check_schedule(&p, &schedule).unwrap();
    let sections = Sections::of(&p, &schedule);
    assert_eq!(sections.all.len(), 41);
    assert_eq!(sections.all.iter().map(|s| s.events.len()).sum::<usize>(), 40 * 2 + 60);
    assert_eq!(run_in_sections(&p, &sections, 1000), 1 + 40 + 61);
}
