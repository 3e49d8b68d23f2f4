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
