//! Programs whose counts are known: by construction, from the papers, or from two other tools that agree on them.

mod support;

use support::{Program, Stmt, Stmt::*, search, unbounded};

/// Searches that complete each class once.
const ONCE: [&str; 8] = ["optimal", "source", "dpor", "epor", "epor-sh", "sleep", "least", "hb-cache"];

/// A row of a table: every algorithm must find this many classes, and those that complete a class once as many executions.
fn classes(name: &str, p: &Program, expected: u64) {
    for a in unbounded() {
        if a == "none" && expected > 200 {
            continue;
        }
        let seen = search(p, a, 2_000_000);
        assert!(seen.finished, "{name}: {a} does not end");
        assert_eq!(seen.classes.len() as u64, expected, "{name}: classes found by {a}");
        if ONCE.contains(&a) {
            assert_eq!(seen.executions, expected, "{name}: executions of {a}");
        }
        if a == "optimal" {
            assert_eq!(seen.blocked, 0, "{name}: blocked executions of {a}");
        }
    }
}

fn repeat(n: usize, body: Vec<Stmt>) -> Program {
    Program::of(vec![body; n])
}

#[test]
fn threads_that_lock_one_mutex_once_have_as_many_classes_as_orders() {
    for (n, orders) in [(2, 2), (3, 6), (4, 24)] {
        classes(&format!("lock({n})"), &repeat(n, vec![Critical(0, vec![])]), orders);
    }
    let seen = search(&repeat(6, vec![Critical(0, vec![])]), "optimal", u64::MAX);
    assert_eq!((seen.executions, seen.blocked), (720, 0));
}

#[test]
fn increments_of_one_variable_interleave_in_multinomially_many_ways() {
    for (threads, increments, expected) in [(2, 3, 20), (3, 2, 90)] {
        classes(&format!("{threads} x {increments}"), &repeat(threads, vec![Add(0); increments]), expected);
    }
    let seen = search(&repeat(3, vec![Add(0); 3]), "optimal", u64::MAX);
    assert_eq!((seen.executions, seen.blocked), (1_680, 0));
}

#[test]
fn one_fetch_add_on_each_of_two_variables() {
    classes("binc(3)", &repeat(3, vec![Add(0), Add(1)]), 36);
    let seen = search(&repeat(4, vec![Add(0), Add(1)]), "optimal", u64::MAX);
    assert_eq!(seen.executions, 576);
}

#[test]
fn readers_see_a_writer_or_do_not() {
    for (n, expected) in [(2, 4), (4, 16)] {
        let mut threads = vec![vec![Write(0, 1)]];
        threads.extend(vec![vec![Read(0, 0)]; n]);
        classes(&format!("readers({n})"), &Program::of(threads), expected);
    }
    let mut threads = vec![vec![Write(0, 1)]];
    threads.extend(vec![vec![Read(0, 0)]; 8]);
    assert_eq!(search(&Program::of(threads), "optimal", u64::MAX).executions, 256);
}

#[test]
fn writers_and_one_reader() {
    let mut threads: Vec<_> = (1..=3).map(|v| vec![Write(0, v)]).collect();
    threads.push(vec![Read(0, 0)]);
    classes("3 writers", &Program::of(threads), 24);
    let mut threads: Vec<_> = (1..=5).map(|v| vec![Write(0, v)]).collect();
    threads.push(vec![Read(0, 0)]);
    assert_eq!(search(&Program::of(threads), "optimal", u64::MAX).executions, 720);
}

#[test]
fn a_failed_compare_exchange_counts_as_a_read() {
    for (n, expected) in [(2, 2), (3, 5), (5, 43)] {
        let threads = (1..=n).map(|i| vec![Cas(0, i - 1, i, 0)]).collect();
        classes(&format!("casrot({n})"), &Program::of(threads), expected);
    }
}

#[test]
fn two_loads_and_a_store_on_each_side_while_main_looks_on() {
    let fib = |n| {
        let side = |x: u8, y: u8| vec![vec![Read(x, 0), Read(y, 1), Write(x, 1)]; n].concat();
        Program::of(vec![side(0, 1), side(1, 0), vec![Read(0, 0), Read(1, 0)]])
    };
    assert_eq!(search(&fib(2), "source", u64::MAX).executions, 140);
    assert_eq!(search(&fib(2), "optimal", u64::MAX).executions, 140);
    assert_eq!(search(&fib(3), "optimal", u64::MAX).executions, 1_698);
}

#[test]
fn the_small_program_of_the_first_paper_has_three_classes() {
    classes(
        "x=1; x=2 || y=1; x=3",
        &Program::of(vec![vec![Write(0, 1), Write(0, 2)], vec![Write(1, 1), Write(0, 3)]]),
        3,
    );
}

#[test]
fn a_cycle_of_three_needs_only_two_first_steps_and_source_sets_block_once() {
    let side = |x: u8, y: u8| vec![Read(x, 0), If(0, 0, vec![Write(y, 1)])];
    let p = Program::of(vec![side(0, 2), side(1, 0), side(2, 1)]);
    let optimal = search(&p, "optimal", u64::MAX);
    let source = search(&p, "source", u64::MAX);
    assert_eq!((optimal.executions, optimal.blocked), (4, 0));
    assert_eq!((source.executions, source.blocked), (4, 1));
}

#[test]
fn readers_of_a_lock_commute() {
    let mut threads = vec![vec![Writing(0, vec![])]];
    threads.extend(vec![vec![Reading(0, vec![])]; 3]);
    classes("rwlock, 1 writer, 3 readers", &Program::of(threads), 8);
}

#[test]
fn only_the_last_to_come_to_a_barrier_matters() {
    classes("barrier(3)", &repeat(3, vec![Arrive(0, 3)]), 3);
}

#[test]
fn messages_of_two_senders_interleave_and_the_receiver_does_not() {
    let send = vec![Send(0, u64::MAX); 3];
    let p = Program::of(vec![send.clone(), send, vec![Recv(0, u64::MAX, 0); 6]]);
    let seen = search(&p, "optimal", u64::MAX);
    assert_eq!((seen.executions, seen.blocked), (20, 0));
}

/// A program of Coons 2013 with its counts: every interleaving, classes, and Coons' form of DPOR.
struct Row(&'static str, Program, [u64; 3]);

fn coons() -> Vec<Row> {
    let p = Program::of;
    let lost = || vec![Read(0, 0), WriteReg(0, 0, 1)];
    let locked = || vec![Critical(0, lost())];
    let child = || vec![Read(0, 0), WriteReg(0, 0, 1)];
    let (a, b, c, d, x, y) = (2, 3, 4, 5, 0, 1);
    let w = |v| Write(v, 1);
    let r = |v| Read(v, 0);
    vec![
        Row("G1", p(vec![vec![w(a), w(b)], vec![w(c), w(d)]]), [6, 1, 1]),
        Row("G2", p(vec![vec![w(a), w(x)], vec![w(x)]]), [3, 2, 2]),
        Row("G3", p(vec![vec![w(x)]; 3]), [6, 6, 6]),
        Row("G4", p(vec![vec![w(x)], vec![r(x)], vec![r(x)]]), [6, 4, 5]),
        Row("G5", p(vec![vec![w(x), r(y)], vec![w(y), r(x)]]), [6, 3, 4]),
        Row("G6", p(vec![lost(), lost()]), [6, 4, 6]),
        Row(
            "G7",
            Program {
                threads: vec![vec![Spawn(1), Spawn(2), Join(1), Join(2), r(x)], child(), child()],
                spawned: vec![1, 2],
                count: 2,
                ..Program::default()
            },
            [251, 4, 220],
        ),
        Row("G8", p(vec![locked(); 2]), [2, 2, 2]),
        Row("G9", p(vec![locked(); 3]), [6, 6, 6]),
        Row(
            "G10",
            p(vec![
                vec![Critical(0, vec![Critical(1, vec![])])],
                vec![Critical(1, vec![Critical(0, vec![])])],
            ]),
            [6, 3, 6],
        ),
        Row("G11", p(vec![vec![w(a), Acquire(0), w(b), w(c)], vec![w(d), Acquire(0)]]), [8, 2, 3]),
        Row("G12", p(vec![vec![w(x), EndStep], vec![Join(0), r(x)]]), [1, 1, 1]),
        Row("G12b", p(vec![vec![w(x), EndStep], vec![r(d), Join(0), r(x)]]), [3, 1, 3]),
        Row(
            "G13",
            p(vec![vec![w(x), w(y)], vec![Read(y, 0), IfElse(0, 1, vec![w(x)], vec![Read(c, 1)])]]),
            [6, 2, 3],
        ),
        Row("G14", p(vec![vec![Acquire(0), Release(0), w(x)], vec![w(x), Acquire(0), w(x)]]), [11, 4, 10]),
        Row(
            "G14b",
            p(vec![vec![Acquire(0), w(x), Release(0), r(x)], vec![w(x), Acquire(0), w(x)]]),
            [14, 6, 13],
        ),
        Row("G15", p(vec![vec![w(a), w(b), w(c)], vec![w(d), w(x)], vec![w(6), r(x)]]), [210, 2, 3]),
        Row("G16", p(vec![vec![w(a)], vec![w(x), w(y)], vec![r(x), w(y)]]), [30, 4, 6]),
        Row("G17", p(vec![vec![w(x)], vec![r(y), r(x)], vec![r(x)]]), [12, 4, 9]),
        Row("G18", p(vec![vec![Acquire(0), r(x), Release(0)], vec![r(y), Acquire(0)]]), [5, 2, 4]),
        Row("G19", p(vec![vec![w(x), w(7)], vec![Await(7, 0), r(x)], vec![r(x), w(7)]]), [24, 9, 15]),
    ]
}

#[test]
fn the_programs_of_paper_000_have_their_counts() {
    for Row(name, p, [interleavings, expected, per_thread]) in coons() {
        classes(name, &p, expected);
        assert_eq!(search(&p, "none", u64::MAX).executions, interleavings, "{name}: interleavings");
        assert_eq!(search(&p, "dpor-per-thread", u64::MAX).executions, per_thread, "{name}: Coons' DPOR");
    }
}
