//! Eager search on automata of C text: the programs of Metzler (2020), chapter 3. Never more executions than classes, and the checks
//! that a section saves.

mod support;

#[path = "support/metzler.rs"]
mod metzler;

use metzler::{ROWS, program};
use support::search;

fn read(text: &str) -> model::Program {
    model::read_text("test.c", text, &model::Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_class_is_completed_once_on_the_automata_of_the_thesis() {
    for row in ROWS.iter().filter(|r| r.classes <= 512) {
        let p = read(&program(row.program, row.size));
        for algorithm in ["source", "optimal", "epor", "epor-sh"] {
            let seen = search(&p, algorithm, &[]);
            assert!(seen.finished);
            assert_eq!(seen.stats.executions, row.classes, "{} ({}) {algorithm}", row.name, row.size);
        }
    }
}

#[test]
fn rings_and_the_last_zero_have_their_traces_and_their_cycles() {
    for (n, traces) in (2..).zip([2, 6, 14, 30, 62, 126]) {
        let seen = search(&read(&program("ring", n)), "epor", &[]).stats;
        // The two orientations that are cycles, which two threads do not have.
        assert_eq!((seen.executions, seen.unsatisfiable), (traces, if n == 2 { 0 } else { 2 }), "ring ({n})");
    }
    for (n, traces, cycles) in [(2, 6, 10), (3, 90, 4_006), (4, 786, 64_750), (5, 5_730, 1_042_846)] {
        let p = read(&program("ring-extended", n));
        let seen = search(&p, "epor", &[]).stats;
        assert_eq!((seen.executions, seen.unsatisfiable), (traces, cycles), "ring extended ({n})");
        assert_eq!(search(&p, "epor-sh", &[]).stats.executions, traces, "short sections ({n})");
    }
    for (n, traces) in (2..).zip([2, 6, 16, 40]) {
        for algorithm in ["source", "optimal", "epor", "epor-sh"] {
            let seen = search(&read(&program("last-zero", n)), algorithm, &[]).stats;
            assert_eq!(seen.executions, traces, "last zero ({n}) {algorithm}");
        }
    }
}

#[test]
fn a_section_looks_at_each_pair_once_where_nothing_branches() {
    for n in [3, 5, 7] {
        for name in ["readers-writers", "ring"] {
            let p = read(&program(name, n));
            let races = search(&p, "epor", &[]).stats.race_checks;
            assert_eq!(races, u64::from(n * (n - 1) / 2), "{name} ({n})");
        }
    }
    // The numbers of the thesis for source sets: each earlier event is looked at for each event.
    let races = |name, n| search(&read(&program(name, n)), "source", &[]).stats.race_checks;
    assert_eq!([2, 3, 4, 5].map(|n| races("readers-writers", n)), [2, 12, 47, 153]);
    assert_eq!([3, 4].map(|n| races("ring", n)), [18, 80]);
    assert_eq!([2, 3, 4].map(|n| races("ring-extended", n)), [34, 1029, 14734]);
    assert_eq!(races("indexer", 11), 946);
}

#[test]
fn a_copy_to_or_from_what_is_written_together_elsewhere_loses_nothing() {
    // The atomic block makes y and z one object; the copies between x, y and z meet them there.
    let p = support::read(
        "int x = 1, y, z;
         void *f(void *a) { __VERIFIER_atomic_begin(); y = x; __VERIFIER_atomic_end(); return 0; }
         void *g(void *a) { __VERIFIER_atomic_begin(); y = y + 1; z = z + y; __VERIFIER_atomic_end(); return 0; }
         void *h(void *a) { __VERIFIER_atomic_begin(); x = z; __VERIFIER_atomic_end(); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); pthread_create(&t, 0, h, 0);
           return 0; }",
    );
    let all = model::Reach { keep_finals: true, ..model::Reach::default() };
    let finals = all.search(&model::Interpreter::new(&p)).unwrap().finals;
    assert!(finals.len() > 3);
    for algorithm in ["source", "optimal", "epor", "epor-sh", "dpor"] {
        assert_eq!(search(&p, algorithm, &[]).finals, finals, "{algorithm}");
    }
}

#[test]
fn an_index_that_is_cut_to_its_array_ends_no_section() {
    // The check that `q[me] & 1` is within `c` never fails, so the pointer decides an address and no branch.
    let p = read(&program("shared-pointer", 10));
    let [eager, source] = ["epor", "source"].map(|a| search(&p, a, &[]).stats);
    assert_eq!((eager.executions, source.executions), (21, 21));
    assert!(eager.race_checks < source.race_checks, "{} {}", eager.race_checks, source.race_checks);
}
