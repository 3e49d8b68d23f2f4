//! Searches over states: the numbers that slides and thesis give for their programs, and agreement of all ways to search.

mod support;

use explore::{Meter, Plan};
use model::{
    Action, Assign, Builder, Interpreter, LocationId, Order, Place, Program, Reach, Reached, Reduction,
    Runner, Step, SyncId, SyncKind, Term, ThreadId, Transition, Type, VarId, Wrong,
};
use std::collections::BTreeSet;
use support::small::{increments, increments_with};
use support::{executions, read, search};

fn reach(p: &Program, how: Reach) -> Reached {
    how.search(&Interpreter::new(p)).unwrap()
}

fn states(p: &Program) -> Reached {
    reach(p, Reach::default())
}

fn tree(p: &Program) -> Reached {
    reach(p, Reach { stateful: false, ..Reach::default() })
}

fn plus(b: &mut Builder, v: VarId, n: i32) -> Term {
    let (old, n) = (b.value(v), b.terms().int(n));
    b.terms().add(old, n)
}

/// Two locks after each other, and one.
fn two_sections() -> Program {
    let mut b = Builder::new();
    b.check_locks(false);
    let (x, y) = (b.shared("x", Type::INT, 0), b.shared("y", Type::INT, 0));
    let (m, n) = (b.mutex("m"), b.mutex("n"));
    let t = b.thread("T1");
    for (lock, var) in [(m, x), (n, y)] {
        b.lock(t, lock);
        let one = b.terms().int(1);
        b.assign(t, var, one);
        b.unlock(t, lock);
    }
    let t = b.thread("T2");
    b.lock(t, m);
    let two = b.terms().int(2);
    b.assign(t, x, two);
    b.unlock(t, m);
    b.finish()
}

/// Two threads that take two locks in the same order or not, once, and give them back in the reverse order.
fn double_lock() -> Program {
    let mut b = Builder::new();
    b.check_locks(false);
    let (m1, m2) = (b.mutex("m1"), b.mutex("m2"));
    for (first, second) in [(m1, m2), (m2, m1)] {
        let t = b.thread("T");
        b.lock(t, first);
        b.lock(t, second);
        b.unlock(t, second);
        b.unlock(t, first);
    }
    b.finish()
}

/// The same in rounds as the thesis prints it: with a critical section, and m2 given back first.
fn double_lock_rounds(same_order: bool) -> Program {
    let mut b = Builder::new();
    b.check_locks(false);
    let (m1, m2) = (b.mutex("m1"), b.mutex("m2"));
    for (first, second) in [(m1, m2), if same_order { (m1, m2) } else { (m2, m1) }] {
        let t = b.thread("T");
        let start = b.here(t);
        b.lock(t, first);
        b.lock(t, second);
        let yes = b.terms().boolean(true);
        b.then(t, yes, vec![]);
        b.unlock(t, m2);
        unlock_to(&mut b, t, m1, start);
    }
    b.finish()
}

/// Gives a mutex back on the way to a location.
fn unlock_to(b: &mut Builder, t: ThreadId, m: SyncId, to: LocationId) {
    let SyncKind::Mutex { owner } = b.program().sync(m).kind else { panic!("no mutex") };
    let ty = b.program().var(owner).ty;
    let (from, guard, free) = (b.here(t), b.terms().boolean(true), b.terms().constant(0, ty));
    let assigns = vec![Assign { place: Place::scalar(owner), value: free }];
    let span = b.span();
    b.edge(
        t,
        Transition {
            from,
            to,
            guard,
            assigns,
            havoc: vec![],
            action: Action::Unlock(m),
            span,
            order: Order::Unsaid,
            operand: 0,
            fences: model::Fences::default(),
        },
    );
}

/// One producer and one consumer with a counter; where there is nothing to do that is an error, or not.
fn producer_consumer(n: i32, erroneous: bool) -> Program {
    let mut b = Builder::new();
    b.check_locks(false);
    let count = b.shared("count", Type::INT, 0);
    let m = b.mutex("mutex");
    for (name, by) in [("produce", 1), ("consume", -1)] {
        let t = b.thread(name);
        let start = b.here(t);
        b.lock(t, m);
        let (value, limit) = (b.value(count), b.terms().int(if by > 0 { n } else { 0 }));
        let room = if by > 0 { b.terms().lt(value, limit) } else { b.terms().lt(limit, value) };
        let (yes, no) = b.branch(t, room);
        b.go_on_at(t, yes);
        let always = b.terms().boolean(true);
        b.then(t, always, vec![]);
        let more = plus(&mut b, count, by);
        let counted = b.here(t);
        let before_unlock = if erroneous { b.location(t) } else { no };
        b.step(t, counted, before_unlock, always, vec![Assign { place: Place::scalar(count), value: more }]);
        if erroneous {
            let kind =
                model::LocationKind::Error { kind: model::ErrorKind::Assertion, message: "no room".into() };
            b.set_kind(t, no, kind);
        }
        b.go_on_at(t, before_unlock);
        unlock_to(&mut b, t, m, start);
    }
    b.finish()
}

#[test]
fn increments_have_the_states_and_executions_of_the_slides() {
    // Program; states, transitions; executions, nodes of the tree; happens-before classes.
    let rows = [
        ("one", increments(1, false), (4, 3), (1, 4), 1),
        ("two, no lock", increments(2, false), (22, 28), (20, 69), 4),
        ("two, locked", increments(2, true), (21, 20), (2, 21), 2),
        ("three, no lock", increments(3, false), (175, 288), (1680, 5248), 36),
        ("two sections", two_sections(), (28, 36), (21, 81), 2),
    ];
    for (name, p, graph, paths, classes) in rows {
        let s = states(&p);
        assert_eq!((s.states, s.transitions), graph, "{name}: states and transitions");
        let t = tree(&p);
        assert_eq!((t.ends, t.states), paths, "{name}: executions and nodes");
        assert_eq!(executions(&p, "optimal"), classes, "{name}: classes");
        assert!(s.finished && t.finished && s.deadlocks == 0, "{name}");
    }
}

#[test]
fn an_increment_can_be_lost_without_a_lock_and_not_with_one() {
    let p = increments(2, false);
    let s = reach(&p, Reach { keep_finals: true, ..Reach::default() });
    let x = p.var_named("x").unwrap();
    let run = Interpreter::new(&p);
    let mut ends: Vec<u64> = s.finals.iter().map(|s| run.value(s, x, 0)).collect();
    ends.sort_unstable();
    assert_eq!(ends.first(), Some(&1));
    assert_eq!(ends.last(), Some(&2));
    let locked = increments(2, true);
    let run = Interpreter::new(&locked);
    let s = reach(&locked, Reach { keep_finals: true, ..Reach::default() });
    let x = locked.var_named("x").unwrap();
    assert!(s.finals.iter().all(|s| run.value(s, x, 0) == 2));
}

#[test]
fn sleep_sets_visit_as_many_nodes_as_the_slides_count() {
    let rows = [
        ("two, no lock", increments(2, false), 23, 4),
        ("two, locked", increments(2, true), 21, 2),
        ("two sections", two_sections(), 28, 2),
        ("three, no lock", increments(3, false), 222, 36),
        ("double lock", double_lock(), 20, 3),
    ];
    for (name, p, nodes, leaves) in rows {
        let s = reach(&p, Reach { stateful: false, sleep: true, ..Reach::default() });
        assert_eq!((s.states, s.ends), (nodes, leaves), "{name}");
    }
}

#[test]
fn bounded_searches_run_as_many_executions_as_the_slides_count() {
    // Without any reduction: executions with at most 0, 1, 2, ... preemptions, and contexts of each thread.
    let within = |p: &Program, bound: &str, most: std::ops::RangeInclusive<u32>| -> Vec<u64> {
        most.map(|k| search(p, "none", &[&format!("{bound}={k}")]).stats.executions).collect()
    };
    let two = increments_with(2, false, true);
    assert_eq!(within(&two, "preemptions", 0..=5), [2, 6, 14, 18, 20, 20]);
    assert_eq!(within(&two, "thread-contexts", 1..=4), [2, 14, 20, 20]);
    let lost = |bound: &str| {
        let x = two.var_named("x").unwrap();
        let run = Interpreter::new(&two);
        search(&two, "none", &[bound]).finals.iter().any(|s| run.value(s, x, 0) != 2)
    };
    assert!(!lost("preemptions=0") && lost("preemptions=1"), "nothing is lost without a preemption");
    assert!(!lost("thread-contexts=1") && lost("thread-contexts=2"), "it takes two contexts");
    assert_eq!(within(&two_sections(), "preemptions", 0..=5), [2, 5, 11, 17, 20, 21]);
}

#[test]
fn both_algorithms_of_the_slides_visit_as_many_nodes_as_these_count() {
    let rows = [
        ("two, no lock", increments_with(2, false, true), 23, 4),
        ("two, locked", increments_with(2, true, true), 21, 2),
        ("two sections", two_sections(), 28, 2),
        ("three, no lock", increments_with(3, false, true), 222, 36),
        ("double lock", double_lock(), 20, 3),
    ];
    for (name, p, nodes, leaves) in rows {
        for algorithm in ["hb-cache", "least"] {
            let runner = Runner::new(&p).unwrap();
            let mut search = Plan::of(algorithm).unwrap().search(Meter::unlimited()).unwrap();
            let mut executions = runner.executions();
            let mut seen = BTreeSet::from([Vec::new()]);
            loop {
                let before = search.stats().executions;
                let done = executions.next(&mut *search).unwrap();
                let shared = done.run.iter().filter(|s| is_seen(&p, s)).map(|s| s.thread.0);
                let threads: Vec<u16> = shared.collect();
                // The step after which an execution is cut is one that is skipped.
                let visited = threads.len() - usize::from(search.stats().executions == before);
                seen.extend((1..=visited).map(|k| threads[..k].to_vec()));
                if !done.again {
                    break;
                }
            }
            let ends = search.stats().executions;
            assert_eq!((seen.len(), ends), (nodes, leaves), "{name}, {algorithm}");
        }
    }
}

/// Whether a step is one that a search is asked about.
fn is_seen(p: &Program, s: &Step) -> bool {
    let action = p.thread(s.thread).transition(s.transition).action;
    !matches!(action, Action::Local | Action::Create(_) | Action::Join(_) | Action::End)
}

#[test]
fn two_locks_the_other_way_round_deadlock_in_one_state() {
    let p = double_lock();
    assert_eq!(states(&p).deadlocks, 1);
    let t = tree(&p);
    assert_eq!((t.ends, t.deadlocks), (6, 2), "two of six executions");
    let s = states(&double_lock_rounds(false));
    assert_eq!((s.states, s.deadlocks), (11, 1));
    let corrected = states(&double_lock_rounds(true));
    assert_eq!((corrected.states, corrected.deadlocks), (9, 0));
    let (wrong, run) = s.wrong.unwrap();
    assert_eq!(wrong, Wrong::Deadlock);
    assert_eq!(run.len(), 2, "the shortest way takes two steps");
}

#[test]
fn a_producer_and_a_consumer_with_one_lock_are_safe_and_never_stuck() {
    for (n, count) in [(1, 12), (2, 21), (5, 48)] {
        let s = states(&producer_consumer(n, false));
        assert!(s.finished && s.errors == 0 && s.deadlocks == 0);
        assert_eq!(s.states, count, "a buffer of {n}");
        let s = states(&producer_consumer(n, true));
        let (wrong, run) = s.wrong.unwrap();
        assert!(matches!(wrong, Wrong::Error { thread: ThreadId(1), .. }), "the consumer comes first");
        assert_eq!(run.len(), 2);
        assert_eq!(s.errors, 2, "the buffer is full, or it is empty");
    }
}

#[test]
fn an_assertion_between_two_writes_fails_after_three_steps() {
    // The program with which partial-order reduction and covering go wrong together.
    let p = read(
        "int x; _Bool __VERIFIER_nondet_bool(void);
         void *one(void *p) { if (__VERIFIER_nondet_bool()) x = 1; x = 0; return 0; }
         void *two(void *p) { if (x != 0) reach_error(); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, one, 0); pthread_create(&t, 0, two, 0); return 0; }",
    );
    let s = states(&p);
    let (wrong, run) = s.wrong.unwrap();
    assert!(matches!(wrong, Wrong::Error { .. }));
    let by_threads: Vec<u16> = run.iter().map(|s| s.thread.0).filter(|t| *t > 0).collect();
    assert_eq!(by_threads, [1, 1, 2]);
    assert_eq!(Interpreter::new(&p).replay(&run).unwrap().len(), run.len() + 1);
    assert!(search(&p, "optimal", &[]).failures.iter().any(|f| f.0 == wrong));
}

#[test]
fn branching_has_the_traces_that_the_thesis_gives() {
    for (n, traces) in [(2, 11), (3, 28), (4, 103), (5, 311)] {
        let p = read(&format!(
            "int x[{n}];
             void *f(void *p) {{ int tid = (int)(long)p;
               for (int k = 0; k < 2; k++) if (x[tid] == 0) x[(tid + 1) % {n}] = 1;
               return 0; }}
             int main(void) {{ pthread_t t; for (long i = 0; i < {n}; i++) pthread_create(&t, 0, f, (void *)i); return 0; }}"
        ));
        for algorithm in ["optimal", "source", "epor", "epor-sh"] {
            assert_eq!(executions(&p, algorithm), traces, "{algorithm} on {n} threads");
        }
    }
}

#[test]
fn an_access_through_a_shared_pointer_is_two_steps() {
    for n in [1, 2, 3, 5] {
        let p = read(&format!(
            "int c0, c1; int *_Atomic p0 = &c0, *_Atomic p1 = &c1;
             void *f(void *p) {{ for (int k = 0; k < {n}; k++) __sync_fetch_and_add(p0, 1); p1 = &c0; return 0; }}
             void *g(void *p) {{ for (int k = 0; k < {n}; k++) __sync_fetch_and_add(p1, 1); p0 = &c1; return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }}"
        ));
        for algorithm in ["optimal", "source", "epor", "epor-sh"] {
            assert_eq!(executions(&p, algorithm), 2 * n + 1, "{algorithm}, {n} times");
        }
        assert_eq!(search(&p, "optimal", &[]).stats.blocked, 0);
    }
}

#[test]
fn a_check_of_a_value_just_written_fails_in_one_of_six_traces() {
    let text = |y: &str| {
        format!(
            "int m, n;
             void *one(void *p) {{ int *x = &m; int a = *x; *x = a + 1; if (*x != a + 1) reach_error(); return 0; }}
             void *two(void *p) {{ int *y = &{y}; int b = *y; *y = b + 1; return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, one, 0); pthread_create(&t, 0, two, 0); return 0; }}"
        )
    };
    let apart = search(&read(&text("n")), "optimal", &[]);
    assert_eq!((apart.stats.executions, apart.failures.len()), (1, 0));
    let same = search(&read(&text("m")), "optimal", &[]);
    assert_eq!((same.stats.executions, same.failures.len()), (6, 1));
}

#[test]
fn an_index_that_is_read_in_a_step_of_its_own_loses_no_state() {
    // x[0] and x[1] are m0 and m1 of the printed programs; a copy is one step there.
    let copy =
        |to: &str, from: &str| format!("__VERIFIER_atomic_begin(); {to} = {from}; __VERIFIER_atomic_end();");
    let small = ["x[m3 % 2] = 2;".to_owned(), copy("m3", "x[1]"), "x[1] = 1; x[0] = 1;".to_owned()];
    let large = [
        format!("x[m2 % 2] = 1; {}", copy("m2", "x[0]")),
        format!("{} int r = m2; m2 = 1;", copy("m3", "m3")),
        "x[0] = 2; int r = x[0];".to_owned(),
    ];
    for (bodies, traces, ends) in [(small, 7, 5), (large, 14, 5)] {
        let [a, b, c] = bodies;
        let p = read(&format!(
            "int m2, m3, x[2];
             void *a(void *p) {{ {a} return 0; }} void *b(void *p) {{ {b} return 0; }} void *c(void *p) {{ {c} return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); pthread_create(&t, 0, b, 0);
                              pthread_create(&t, 0, c, 0); return 0; }}"
        ));
        let all = reach(&p, Reach { keep_finals: true, ..Reach::default() });
        let shared: Vec<(VarId, u64)> = [("m2", 0), ("m3", 0), ("x", 0), ("x", 1)]
            .iter()
            .filter_map(|(n, i)| Some((p.var_named(n)?, *i)))
            .collect();
        let run = Interpreter::new(&p);
        let seen = |finals: &std::collections::BTreeSet<model::State>| {
            let values =
                |s: &model::State| shared.iter().map(|(v, i)| run.value(s, *v, *i)).collect::<Vec<_>>();
            finals.iter().map(values).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(seen(&all.finals).len(), ends);
        for algorithm in ["optimal", "source", "dpor", "epor", "epor-sh"] {
            let found = search(&p, algorithm, &[]);
            assert_eq!(seen(&found.finals), seen(&all.finals), "{algorithm}");
            if algorithm != "dpor" {
                assert_eq!(found.stats.executions, traces, "{algorithm}");
            }
        }
    }
}

#[test]
fn a_write_through_an_index_that_another_thread_writes_has_five_traces() {
    // Metzler 2020, figure 3.2; the same if y is 1 at first.
    for y in [0, 1] {
        let p = read(&format!(
            "int x[2], y = {y}, z;
             void *a(void *p) {{ y = 0; x[y] = 1; return 0; }}
             void *b(void *p) {{ if (x[0] == 0) z = 1; return 0; }}
             void *c(void *p) {{ y = 1; return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); pthread_create(&t, 0, b, 0);
                              pthread_create(&t, 0, c, 0); return 0; }}"
        ));
        for algorithm in ["optimal", "source", "epor", "epor-sh"] {
            assert_eq!(executions(&p, algorithm), 5, "{algorithm}, y is {y} at first");
        }
    }
}

/// Every way to search states.
fn ways() -> Vec<Reach> {
    let mut all = Vec::new();
    for stateful in [true, false] {
        for reduction in [Reduction::None, Reduction::Static] {
            for sleep in [false, true] {
                all.push(Reach { stateful, reduction, sleep, keep_finals: true, ..Reach::default() });
            }
        }
    }
    all
}

/// A random program of two or three threads without loops: locks, branches, inputs, assertions.
fn random_program(seed: u64) -> String {
    let mut g = support::Rng(seed);
    let threads = 2 + g.below(2);
    let mut text =
        String::from("int x, y, a[2]; pthread_mutex_t m, n; _Bool __VERIFIER_nondet_bool(void);\n");
    let mut left = if threads == 2 { 7 } else { 6 };
    for t in 0..threads {
        text += &format!("void *f{t}(void *p) {{ int r = 0;\n");
        let statements = 1 + g.below(3);
        for _ in 0..statements {
            if left == 0 {
                break;
            }
            left -= 1;
            let v = ["x", "y", "a[0]", "a[r & 1]"][g.below(4) as usize];
            let k = g.below(3);
            let lock = ["m", "n"][g.below(2) as usize];
            text += &match g.below(9) {
                0 => format!("{v} = {k};\n"),
                1 => format!("r = {v};\n"),
                2 => format!("{v} = r + {k};\n"),
                3 => format!("if ({v} == {k}) x = {k} + 1;\n"),
                4 => format!("pthread_mutex_lock(&{lock}); {v} = r; pthread_mutex_unlock(&{lock});\n"),
                5 => format!("r = __sync_fetch_and_add(&{v}, 1);\n"),
                6 => format!("if ({v} == 2) reach_error();\n"),
                7 => "if (__VERIFIER_nondet_bool()) r = 1;\n".to_owned(),
                _ => format!(
                    "pthread_mutex_lock(&m); pthread_mutex_lock(&{lock}); pthread_mutex_unlock(&{lock}); pthread_mutex_unlock(&m);\n"
                ),
            };
        }
        text += "return 0; }\n";
    }
    text += "int main(void) { pthread_t t;\n";
    for t in 0..threads {
        text += &format!("pthread_create(&t, 0, f{t}, 0);\n");
    }
    text + "return 0; }\n"
}

#[test]
fn all_searches_agree_on_random_programs() {
    random_programs(0..100);
}

fn random_programs(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let text = random_program(seed);
        let p = read(&text);
        let all = ways().into_iter().map(|w| (w, reach(&p, w))).collect::<Vec<_>>();
        let oracle = &all[0].1;
        for (way, found) in &all {
            assert!(found.finished, "seed {seed} {way:?}");
            assert_eq!(found.finals, oracle.finals, "seed {seed} {way:?}\n{text}");
            assert_eq!(found.errors > 0, oracle.errors > 0, "seed {seed} {way:?}\n{text}");
            assert_eq!(found.deadlocks > 0, oracle.deadlocks > 0, "seed {seed} {way:?}\n{text}");
            if let Some((wrong, run)) = &found.wrong {
                let run_of = Interpreter::new(&p);
                let last = run_of.replay(run).unwrap().pop().unwrap();
                assert_eq!(run_of.wrong(&last).as_ref(), Some(wrong), "seed {seed} {way:?}");
            }
        }
        let flat = p.flattened(100).unwrap();
        flat.check().unwrap();
        let found = reach(&flat, Reach { keep_finals: true, ..Reach::default() });
        assert_eq!(
            (found.states, found.transitions),
            (oracle.states, oracle.transitions),
            "seed {seed}, flat\n{text}"
        );
        assert_eq!(found.finals, oracle.finals, "seed {seed}, flat\n{text}");
        let classes = executions(&p, "optimal");
        for algorithm in ["optimal", "source", "dpor", "epor", "epor-sh", "bpor", "nidhugg-dpor"] {
            let found = search(&p, algorithm, &[]);
            assert_eq!(found.finals, oracle.finals, "seed {seed} {algorithm}\n{text}");
            if matches!(algorithm, "source" | "epor" | "epor-sh") {
                assert_eq!(found.stats.executions, classes, "seed {seed} {algorithm}\n{text}");
            }
        }
    }
}

/// A random program with what makes threads wait: condition variables, barriers, reader-writer locks, semaphores, spin loops,
/// atomic blocks.
fn random_waiting_program(seed: u64) -> String {
    let mut g = support::Rng(seed ^ 0xabcdef);
    let threads = 2 + g.below(2);
    let mut text = String::from(
        "int x, y; pthread_mutex_t m; pthread_cond_t c; pthread_rwlock_t l; pthread_barrier_t b; sem_t s;\n",
    );
    let mut left = if threads == 2 { 5 } else { 4 };
    let kinds = [g.below(10), g.below(10), g.below(10)];
    for t in 0..threads {
        text += &format!("void *f{t}(void *p) {{ int r = 0;\n");
        for _ in 0..1 + g.below(3) {
            if left == 0 {
                break;
            }
            left -= 1;
            let v = ["x", "y"][g.below(2) as usize];
            text += &match kinds[g.below(3) as usize] {
                0 => format!(
                    "pthread_mutex_lock(&m); while ({v} == 0) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);\n"
                ),
                1 => format!(
                    "pthread_mutex_lock(&m); {v} = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);\n"
                ),
                2 => format!("{v} = 1; pthread_cond_broadcast(&c);\n"),
                3 => format!("{v} = r + 1; pthread_barrier_wait(&b); r = x;\n"),
                4 => format!("pthread_rwlock_rdlock(&l); r = {v}; pthread_rwlock_unlock(&l);\n"),
                5 => format!("pthread_rwlock_wrlock(&l); {v} = r; pthread_rwlock_unlock(&l);\n"),
                6 => format!("sem_wait(&s); {v} = 2; sem_post(&s);\n"),
                7 => format!("while ({v} != 1) ; r = y;\n"),
                8 => format!(
                    "__VERIFIER_atomic_begin(); r = x; y = r + 1; {v} = 1; __VERIFIER_atomic_end();\n"
                ),
                _ => format!(
                    "if (pthread_mutex_trylock(&m) == 0) {{ {v} = 1; pthread_mutex_unlock(&m); }} else r = 3;\n"
                ),
            };
        }
        text += "return 0; }\n";
    }
    text += "int main(void) { pthread_t t; pthread_barrier_init(&b, 0, 2); sem_init(&s, 0, 1);\n";
    for t in 0..threads {
        text += &format!("pthread_create(&t, 0, f{t}, 0);\n");
    }
    text + "return 0; }\n"
}

#[test]
fn searches_over_states_and_over_schedules_agree_where_threads_wait() {
    waiting_programs(0..60);
}

#[test]
#[ignore = "long: hundreds of programs"]
fn searches_agree_on_many_programs() {
    waiting_programs(1000..1600);
    random_programs(1000..2000);
}

fn waiting_programs(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let text = random_waiting_program(seed);
        let p = read(&text);
        let oracle = reach(&p, Reach { keep_finals: true, ..Reach::default() });
        assert!(oracle.finished);
        // Heads of loops as locations change no behaviour.
        let kept =
            support::read_with(&text, &model::Options { keep_loops: true, ..model::Options::default() });
        let found = reach(&kept, Reach { keep_finals: true, ..Reach::default() });
        let ends = |found: &Reached| (found.finals.len(), found.deadlocks > 0, found.errors > 0);
        assert_eq!(ends(&found), ends(&oracle), "seed {seed}, heads of loops kept\n{text}");
        for reduction in [Reduction::None, Reduction::Static] {
            for sleep in [false, true] {
                let found = reach(&p, Reach { reduction, sleep, keep_finals: true, ..Reach::default() });
                assert_eq!(found.finals, oracle.finals, "seed {seed} {reduction:?} {sleep}\n{text}");
            }
        }
        for algorithm in ["optimal", "source", "dpor", "epor", "bpor"] {
            let found = search(&p, algorithm, &[]);
            assert!(found.finished, "seed {seed} {algorithm}\n{text}");
            // A thread that spins for ever ends an execution, but no state of the automata.
            let ends: std::collections::BTreeSet<_> = found
                .finals
                .iter()
                .filter(|s| p.thread_ids().all(|t| !Interpreter::new(&p).is_enabled(s, t)))
                .cloned()
                .collect();
            assert_eq!(ends, oracle.finals, "seed {seed} {algorithm}\n{text}");
        }
    }
}

#[test]
fn static_persistent_sets_use_what_threads_can_still_do() {
    // The second thread never touches x: its steps need not be interleaved with those of the first.
    let p = read(
        "int x, y;
         void *f(void *p) { x = 1; x = 2; x = 3; return 0; }
         void *g(void *p) { y = 1; y = 2; y = 3; int t = x; return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }",
    );
    let none = tree(&p);
    let fixed = reach(&p, Reach { stateful: false, reduction: Reduction::Static, ..Reach::default() });
    assert!(fixed.states < none.states / 2, "{} of {}", fixed.states, none.states);
    assert_eq!(reach(&p, Reach { keep_finals: true, ..Reach::default() }).finals.len(), 4);
}
