//! The numbers of Qadeer's lectures, "Algorithmic verification of concurrent programs": states, executions, classes of executions,
//! preemptions, contexts; and those of the programs in Metzler's thesis. Everything is counted here from definitions, one step after
//! the other, and compared with what the searches of `crates/model` count.

#[path = "support/automata.rs"]
mod automata;
mod support;

use automata::{double_lock, one_producer_one_consumer};
use model::{Builder, Interpreter, Place, Program, Reach, State, Step, SyncId, Term, ThreadId, Type, VarId};
use std::collections::{BTreeMap, BTreeSet};
use support::small::increments;
use support::{read, run, within};
use verify::{Certificate, Options, Verdict};

/// T1 = acquire m; x := 1; release m; acquire n; y := 1; release n. T2 = acquire m; x := 2; release m.
fn two_locks_in_a_row() -> Program {
    let mut b = Builder::new();
    let (x, y) = (b.shared("x", Type::INT, 0), b.shared("y", Type::INT, 0));
    let (m, n) = (b.mutex("m"), b.mutex("n"));
    let (t1, t2) = (b.thread("T1"), b.thread("T2"));
    let (one, two) = (b.terms().int(1), b.terms().int(2));
    let mut write = |t: ThreadId, lock: SyncId, var: VarId, value: Term| {
        b.lock(t, lock);
        b.assign(t, var, value);
        b.unlock(t, lock);
    };
    write(t1, m, x, one);
    write(t1, n, y, one);
    write(t2, m, x, two);
    b.finish()
}

/// Once, each gives its locks back in the order in which it took them, the last one first.
fn double_lock_once() -> Program {
    double_lock([[0, 1, 1, 0], [1, 0, 0, 1]], false, false)
}

/// Everything that is reached from the start without memory: a tree.
struct Tree<'p> {
    run: Interpreter<'p>,
    nodes: u64,
    /// Executions that end, each with the state at its end.
    ends: Vec<(Vec<Step>, State)>,
}

impl<'p> Tree<'p> {
    fn of(p: &'p Program) -> Tree<'p> {
        let mut tree = Tree { run: Interpreter::new(p), nodes: 0, ends: Vec::new() };
        let first = tree.run.initial();
        tree.grow(&mut Vec::new(), first, &mut |_| false);
        tree
    }

    /// The part of the tree that is left when steps are skipped for which `skip` says so.
    fn grow(&mut self, so_far: &mut Vec<Step>, s: State, skip: &mut dyn FnMut(&[Step]) -> bool) {
        self.nodes += 1;
        let mut end = true;
        for t in self.run.program().thread_ids() {
            for (step, next) in self.run.successors(&s, t).unwrap() {
                end = false;
                so_far.push(step);
                if !skip(so_far) {
                    self.grow(so_far, next, skip);
                }
                so_far.pop();
            }
        }
        if end {
            self.ends.push((so_far.clone(), s));
        }
    }

    /// How many executions have which number of something.
    fn histogram(&self, of: impl Fn(&[Step]) -> u64) -> Vec<(u64, u64)> {
        let mut out = BTreeMap::new();
        for (steps, _) in &self.ends {
            *out.entry(of(steps)).or_insert(0) += 1;
        }
        out.into_iter().collect()
    }

    /// Switches away from a thread that could go on.
    fn preemptions(&self, steps: &[Step]) -> u64 {
        let states = self.run.replay(steps).unwrap();
        let switched = |i: &usize| {
            let before = steps[i - 1].thread;
            before != steps[*i].thread && self.run.enabled(&states[*i], before).next().is_some()
        };
        (1..steps.len()).filter(switched).count() as u64
    }

    fn classes(&self) -> usize {
        let p = self.run.program();
        self.ends.iter().map(|(steps, _)| order(p, steps)).collect::<BTreeSet<_>>().len()
    }
}

/// The most contexts that a thread has.
fn contexts(steps: &[Step]) -> u64 {
    let mut count: BTreeMap<ThreadId, u64> = BTreeMap::new();
    for (i, s) in steps.iter().enumerate() {
        if i == 0 || steps[i - 1].thread != s.thread {
            *count.entry(s.thread).or_insert(0) += 1;
        }
    }
    count.into_values().max().unwrap_or(0)
}

/// Whether one of two steps writes what the other one accesses.
fn dependent(p: &Program, a: &Step, b: &Step) -> bool {
    let of = |s: &Step| p.accesses(p.thread(s.thread).transition(s.transition));
    let (x, y) = (of(a), of(b));
    let meets = |u: &[Place], v: &[Place]| u.iter().any(|q| v.iter().any(|r| q.var == r.var));
    a.thread == b.thread
        || meets(&x.writes, &y.writes)
        || meets(&x.writes, &y.reads)
        || meets(&x.reads, &y.writes)
}

type Clock = BTreeMap<ThreadId, usize>;

/// A thread, the how manieth of its events, and its clock.
type Event = (ThreadId, usize, Vec<(ThreadId, usize)>);

/// The clocks of all events: what happens before each. Two executions are equivalent if these are the same.
fn clocks(p: &Program, steps: &[Step]) -> Vec<Clock> {
    let mut all: Vec<Clock> = Vec::new();
    for (i, s) in steps.iter().enumerate() {
        let mut clock = Clock::new();
        for j in (0..i).filter(|j| dependent(p, &steps[*j], s)) {
            for (t, n) in &all[j] {
                let at = clock.entry(*t).or_insert(0);
                *at = (*at).max(*n);
            }
        }
        *clock.entry(s.thread).or_insert(0) = steps[..=i].iter().filter(|u| u.thread == s.thread).count();
        all.push(clock);
    }
    all
}

/// The order that an execution makes, whatever linear order it is.
fn order(p: &Program, steps: &[Step]) -> BTreeSet<Event> {
    let all = clocks(p, steps);
    let event = |(s, c): (&Step, &Clock)| (s.thread, c[&s.thread], c.clone().into_iter().collect());
    steps.iter().zip(&all).map(event).collect()
}

/// Algorithm A: what leads to an order that was seen is skipped. Nodes and leaves.
fn with_memory_of_orders(p: &Program) -> (u64, usize) {
    let mut tree = Tree { run: Interpreter::new(p), nodes: 0, ends: Vec::new() };
    let mut seen = BTreeSet::new();
    let first = tree.run.initial();
    tree.grow(&mut Vec::new(), first, &mut |steps| !seen.insert(order(p, steps)));
    (tree.nodes, tree.ends.len())
}

/// Algorithm B: what is not the least of its class in the order of dictionaries is skipped. With `t` the thread of the new event and
/// `p` the place of the last event before it that happens before it: if there is a larger thread after `p`, it is not.
fn least_of_each_class(p: &Program) -> (u64, usize) {
    let mut tree = Tree { run: Interpreter::new(p), nodes: 0, ends: Vec::new() };
    let first = tree.run.initial();
    tree.grow(&mut Vec::new(), first, &mut |steps| {
        let (last, before) = steps.split_last().expect("there is a new event");
        let after = before.iter().rposition(|s| dependent(p, s, last)).map_or(0, |i| i + 1);
        before[after..].iter().any(|s| last.thread < s.thread)
    });
    (tree.nodes, tree.ends.len())
}

/// The value of the first variable.
fn x(tree: &Tree<'_>, s: &State) -> u64 {
    tree.run.value(s, VarId(0), 0)
}

#[test]
fn one_thread_counts_to_one_in_one_execution() {
    let p = increments(1, false);
    let tree = Tree::of(&p);
    assert_eq!((tree.ends.len(), x(&tree, &tree.ends[0].1)), (1, 1));
}

#[test]
fn two_increments_without_a_lock_have_the_numbers_of_the_lectures() {
    let p = increments(2, false);
    let all = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((all.states, all.transitions), (22, 28));
    let tree = Tree::of(&p);
    assert_eq!((tree.ends.len(), tree.nodes, tree.classes()), (20, 69, 4));
    let wrong: Vec<&Vec<Step>> = tree.ends.iter().filter(|e| x(&tree, &e.1) != 2).map(|e| &e.0).collect();
    assert_eq!(wrong.len(), 18);
    assert!(wrong.iter().all(|w| tree.preemptions(w) >= 1), "no error without a preemption");
    assert_eq!(tree.histogram(|e| tree.preemptions(e)), [(0, 2), (1, 4), (2, 8), (3, 4), (4, 2)]);
    assert_eq!(tree.histogram(contexts), [(1, 2), (2, 12), (3, 6)]);
    assert_eq!(wrong.iter().map(|w| contexts(w)).min(), Some(2));
}

#[test]
fn two_increments_with_a_lock_have_the_numbers_of_the_lectures() {
    let p = increments(2, true);
    let all = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((all.states, all.transitions), (21, 20));
    let tree = Tree::of(&p);
    assert_eq!((tree.ends.len(), tree.classes()), (2, 2));
    assert!(tree.ends.iter().all(|e| x(&tree, &e.1) == 2));
}

#[test]
fn the_question_of_the_lectures_is_no_after_21_states_and_without_the_lock_yes_after_22() {
    // Wrong: x is not 2, and both are at their ends.
    for (locked, states, wrong) in [(true, 21, false), (false, 22, true)] {
        let p = increments(2, locked);
        let run = Interpreter::new(&p);
        let all = Reach { keep_finals: true, ..Reach::default() }.search(&run).unwrap();
        assert_eq!(all.states, states, "locked: {locked}");
        assert_eq!(all.finals.iter().any(|s| run.value(s, VarId(0), 0) != 2), wrong, "locked: {locked}");
    }
}

#[test]
fn a_writer_and_two_readers_have_four_orders() {
    // Metzler 2020, figure 3.1: the writer before both readers, before one of them, or before none.
    let mut b = Builder::new();
    let x = b.shared("x", Type::INT, 0);
    let writer = b.thread("T1");
    let one = b.terms().int(1);
    b.assign(writer, x, one);
    for name in ["T2", "T3"] {
        let t = b.thread(name);
        let own = b.local(t, "t", Type::INT, 0);
        let now = b.value(x);
        b.assign(t, own, now);
    }
    let p = b.finish();
    let tree = Tree::of(&p);
    assert_eq!((tree.ends.len(), tree.classes()), (6, 4));
    let before = |steps: &[Step]| {
        let at =
            |t: u16| steps.iter().position(|s| s.thread == ThreadId(t)).expect("each thread has one step");
        (at(0) < at(1), at(0) < at(2))
    };
    let orders: BTreeSet<(bool, bool)> = tree.ends.iter().map(|e| before(&e.0)).collect();
    assert_eq!(orders.len(), 4, "{orders:?}");
}

#[test]
fn three_increments_without_a_lock_have_the_numbers_of_the_lectures() {
    let p = increments(3, false);
    let all = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((all.states, all.transitions), (175, 288));
    let tree = Tree::of(&p);
    assert_eq!((tree.ends.len(), tree.nodes, tree.classes()), (1680, 5248, 36));
    assert_eq!(tree.ends.iter().filter(|e| x(&tree, &e.1) != 3).count(), 1674);
}

#[test]
fn two_locks_in_a_row_have_the_numbers_of_the_lectures() {
    let p = two_locks_in_a_row();
    let all = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((all.states, all.transitions), (28, 36));
    let tree = Tree::of(&p);
    assert_eq!((tree.ends.len(), tree.nodes, tree.classes()), (21, 81, 2));
    assert_eq!(tree.histogram(|e| tree.preemptions(e)), [(0, 2), (1, 3), (2, 6), (3, 6), (4, 3), (5, 1)]);
    // T1 T2 is no execution: the lock is taken. T1 T1 T1 T2 T2 T2 is one, and with T1 T1 T1 after it one that ends.
    let run = &tree.run;
    let go = |threads: &[u16]| {
        let mut s = run.initial();
        for t in threads {
            s = run.successors(&s, ThreadId(*t)).unwrap().pop()?.1;
        }
        Some(s)
    };
    assert!(go(&[0, 1]).is_none());
    assert!(go(&[0, 0, 0, 1, 1, 1]).is_some());
    let end = go(&[0, 0, 0, 1, 1, 1, 0, 0, 0]).unwrap();
    assert!(p.thread_ids().all(|t| run.enabled(&end, t).next().is_none()) && !run.is_deadlock(&end));
}

#[test]
fn both_algorithms_of_the_lectures_see_each_class_once() {
    for (name, p, nodes, leaves) in [
        ("two increments", increments(2, false), 23, 4),
        ("with a lock", increments(2, true), 21, 2),
        ("two locks in a row", two_locks_in_a_row(), 28, 2),
        ("three increments", increments(3, false), 222, 36),
        ("double lock", double_lock_once(), 20, 3),
    ] {
        assert_eq!(with_memory_of_orders(&p), (nodes, leaves), "{name}: a cache of orders");
        assert_eq!(least_of_each_class(&p), (nodes, leaves), "{name}: the least of each class");
        // Sleep sets are the second of them.
        let sleeping = Reach { stateful: false, sleep: true, ..Reach::default() };
        let found = sleeping.search(&Interpreter::new(&p)).unwrap();
        assert_eq!((found.states, found.ends), (nodes, leaves as u64), "{name}: sleep sets");
    }
}

#[test]
fn the_double_lock_deadlocks_in_one_state_two_executions_and_one_class() {
    let p = double_lock_once();
    let tree = Tree::of(&p);
    let stuck: Vec<_> = tree.ends.iter().filter(|e| tree.run.is_deadlock(&e.1)).collect();
    assert_eq!((tree.ends.len(), stuck.len()), (6, 2));
    assert_eq!(stuck.iter().map(|e| &e.1).collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(stuck.iter().map(|e| order(&p, &e.0)).collect::<BTreeSet<_>>().len(), 1);
}

/// How many executions n threads of k steps can have with c preemptions: choose(nk, c) (n + c)!.
fn bound(n: u64, k: u64, c: u64) -> u64 {
    let choose = (0..c).fold(1, |all, i| all * (n * k - i) / (i + 1));
    choose * (1..=n + c).product::<u64>()
}

#[test]
fn executions_within_preemptions_are_no_more_than_the_bound_says() {
    let values = [(2, 3, 0), (2, 3, 1), (2, 3, 2), (2, 5, 1), (3, 3, 1)].map(|(n, k, c)| bound(n, k, c));
    assert_eq!(values, [2, 36, 360, 60, 216]);
    let p = increments(2, false);
    let tree = Tree::of(&p);
    let within: Vec<u64> =
        (0..=4).map(|c| tree.ends.iter().filter(|e| tree.preemptions(&e.0) <= c).count() as u64).collect();
    assert_eq!(within, [2, 6, 14, 18, 20]);
    assert!(within.iter().zip(0..).all(|(found, c)| *found <= bound(2, 3, c)));
}

#[test]
fn bounded_model_checking_finds_the_error_after_six_steps_and_is_complete_after_ten() {
    // A seventh step into the error, which a third thread takes when both have ended.
    let text = |lock: &str, unlock: &str| {
        let mut b = Builder::new();
        let x = b.shared("x", Type::INT, 0);
        let done = b.shared("done", Type::INT, 0);
        let l = b.mutex("l");
        for n in 0..2 {
            let t = b.thread(&format!("T{n}"));
            let own = b.local(t, "t", Type::INT, 0);
            if !lock.is_empty() {
                b.lock(t, l);
            }
            let (now, one) = (b.value(x), b.terms().int(1));
            b.assign(t, own, now);
            let value = b.value(own);
            let more = b.terms().add(value, one);
            b.assign(t, own, more);
            let (value, ended) = (b.value(own), b.value(done));
            let ended = b.terms().add(ended, one);
            let yes = b.terms().boolean(true);
            let set = |var, value| model::Assign { place: Place::scalar(var), value };
            b.then(t, yes, vec![set(x, value), set(done, ended)]);
            if !unlock.is_empty() {
                b.unlock(t, l);
            }
        }
        let c = b.thread("check");
        let (now, ended, two) = (b.value(x), b.value(done), b.terms().int(2));
        let (all, wrong) = (b.terms().eq(ended, two), b.terms().ne(now, two));
        let both = b.terms().and(all, wrong);
        let error = b.error_location(c, model::ErrorKind::Assertion, "x is 2");
        let from = b.here(c);
        b.step(c, from, error, both, Vec::new());
        b.set_may_block(c, from);
        b.finish()
    };
    let out = run("bmc", &text("", ""), &within(100));
    let Verdict::Unsafe(trace) = &out.verdict else { panic!("{:?}", out.verdict) };
    assert_eq!(trace.steps.len(), 6 + 1);
    for k in 0..=6 {
        assert_eq!(
            run("bmc", &text("", ""), &within(k)).verdict.name(),
            "unknown",
            "nothing within {k} steps"
        );
    }
    let Verdict::Safe(Certificate::Depth(depth)) = run("bmc", &text("l", "l"), &within(100)).verdict else {
        panic!("all runs end");
    };
    assert_eq!(depth, 10);
}

#[test]
fn the_producer_and_the_consumer_of_the_thesis_have_its_states() {
    for (n, states) in [(1, 12), (2, 21), (5, 48)] {
        let p = one_producer_one_consumer(n, false);
        let found = Reach::default().search(&Interpreter::new(&p)).unwrap();
        assert_eq!((found.states, found.deadlocks, found.errors), (states, 0, 0), "{n} cells");
        // Whoever is at an error has the lock, so that the other is at its start: one state for each.
        let p = one_producer_one_consumer(n, true);
        let found = Reach::default().search(&Interpreter::new(&p)).unwrap();
        assert_eq!(found.errors, 2, "{n} cells: overflow and underflow");
        // The shortest: the consumer goes first.
        let (_, steps) = found.wrong.unwrap();
        assert_eq!(steps.iter().map(|s| s.thread.0).collect::<Vec<_>>(), [1, 1], "{n} cells");
    }
}

#[test]
fn the_double_lock_of_the_thesis_has_eleven_states_and_in_one_order_nine() {
    let p = double_lock([[0, 1, 1, 0], [1, 0, 1, 0]], true, true);
    let found = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((found.states, found.deadlocks), (11, 1));
    let p = double_lock([[0, 1, 1, 0], [0, 1, 1, 0]], true, true);
    let found = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((found.states, found.deadlocks), (9, 0));
}

#[test]
fn a_check_outside_the_lock_is_wrong_whatever_the_size_of_the_buffer() {
    for n in [1, 2, 5] {
        let p = read(&format!(
            "int count; pthread_mutex_t m;
             void *produce(void *a) {{ while (1) if (count < {n}) {{ pthread_mutex_lock(&m); assert(count < {n}); count++;
               pthread_mutex_unlock(&m); }} return 0; }}
             void *consume(void *a) {{ while (1) if (count > 0) {{ pthread_mutex_lock(&m); assert(count > 0); count--;
               pthread_mutex_unlock(&m); }} return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, produce, 0); pthread_create(&t, 0, produce, 0);
               pthread_create(&t, 0, consume, 0); pthread_create(&t, 0, consume, 0); return 0; }}"
        ));
        assert_eq!(run("explicit", &p, &within(200_000)).verdict.name(), "unsafe", "{n} cells");
    }
}

#[test]
fn an_assumption_that_waits_keeps_inode_and_busy_together() {
    // Metzler 2020, figure 4.15: whoever waits for both to be equal finds them so.
    let p = read(
        "int inode, busy, block;
         void *t1(void *a) { while (1) { __VERIFIER_atomic_begin(); if (!inode) { busy = 1; inode = 1; } __VERIFIER_atomic_end();
           __VERIFIER_atomic_begin(); __VERIFIER_assume(inode && busy); block = 1; __VERIFIER_atomic_end(); } return 0; }
         void *t2(void *a) { while (1) { __VERIFIER_atomic_begin(); __VERIFIER_assume(!busy); block = 0; __VERIFIER_atomic_end(); }
           return 0; }
         void *t3(void *a) { while (1) { __VERIFIER_atomic_begin(); __VERIFIER_assume(inode == busy); inode = 0; busy = 0;
           __VERIFIER_atomic_end(); __VERIFIER_atomic_begin(); assert(inode == busy); __VERIFIER_atomic_end(); } return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, t1, 0); pthread_create(&t, 0, t2, 0); pthread_create(&t, 0, t3, 0);
           return 0; }",
    );
    let options = Options { deadlocks: true, ..within(5000) };
    for engine in ["explicit", "bdd", "impact"] {
        assert_eq!(run(engine, &p, &options).verdict.name(), "safe", "{engine}");
    }
}

#[test]
fn locksets_and_happens_before_say_of_the_lectures_programs_what_is_to_be_expected() {
    for (name, p, racy) in [
        ("two increments", increments(2, false), true),
        ("with a lock", increments(2, true), false),
        ("two locks in a row", two_locks_in_a_row(), false),
    ] {
        let x = p.var_named("x").unwrap();
        assert_eq!(verify::locksets(&p).warns_of(x), racy, "{name}");
        let found = verify::races(&p, verify::Budget::default()).unwrap();
        assert_eq!(found.iter().any(|r| r.var == x), racy, "{name}");
        assert!(racy || found.is_empty(), "{name}");
    }
}

#[test]
fn of_six_classes_of_the_symbolic_trace_one_is_wrong() {
    // Metzler 2020, figure 5.1: x and y are the same variable, or they are not.
    let text = |y: &str| {
        read(&format!(
            "int v, w; void *t1(void *p) {{ int *x = &v; int a = *x; *x = a + 1; int c = *x; assert(c == a + 1); return 0; }}
             void *t2(void *p) {{ int *y = &{y}; int b = *y; *y = b + 1; return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, t1, 0); pthread_create(&t, 0, t2, 0); return 0; }}"
        ))
    };
    for (y, classes, wrong) in [("w", 1, 0), ("v", 6, 1)] {
        let p = text(y);
        let runner = model::Runner::new(&p).unwrap();
        let mut search = explore::Plan::of("optimal").unwrap().search(explore::Meter::unlimited()).unwrap();
        let (mut found, mut bad) = (0, 0);
        let mut executions = runner.executions();
        loop {
            let done = executions.next(&mut *search).unwrap();
            if done.end == explore::End::Complete {
                found += 1;
                bad += u64::from(done.wrong.is_some());
            }
            if !done.again {
                break;
            }
        }
        assert_eq!((found, bad), (classes, wrong), "x and &{y}");
    }
}
