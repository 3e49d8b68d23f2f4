//! Blocks that are atomic as single steps: the answer stays, proofs still check, traces are runs of the program as it was.

mod support;

use model::{Interpreter, Program};
use support::small::Rng;
use support::{read, run, within};
use verify::{Budget, Certificate, Engine, Merged, Merging, Options, Verdict, check, engine};

/// A random program with many critical sections: some variables are always under one lock, others not.
fn random_program(seed: u64) -> String {
    let mut g = Rng(seed);
    let threads = 2 + g.below(2);
    let mut text = String::from("int x, y, z; pthread_mutex_t m, n; pthread_rwlock_t w;\n");
    let mut left = if threads == 2 { 5 } else { 4 };
    // Most programs keep their rules; where not, a variable is touched without its lock.
    let careless = g.below(3) == 0;
    for t in 0..threads {
        let endless = g.below(4) == 0;
        text += &format!("void *f{t}(void *p) {{ int r = 0;{}\n", if endless { " while (1) {" } else { "" });
        for _ in 0..1 + g.below(2) {
            if left == 0 {
                break;
            }
            left -= 1;
            let k = g.below(3);
            let (lock, v) = [("m", "x"), ("n", "y")][g.below(2) as usize];
            let body = match g.below(8) {
                0 => format!("{v} = ({v} + 1) % 3;"),
                1 => format!("r = {v}; {v} = (r + {k}) % 3;"),
                2 => format!("if ({v} == {k}) {v} = 0; else {v} = 1;"),
                3 => format!("r = {v}; assert({v} == r);"),
                4 => format!("assert({v} != {k});"),
                5 => format!("z = {k}; {v} = z % 3;"),
                6 => "r = __VERIFIER_nondet_bool(); if (r) x = x; ".to_owned(),
                _ => format!("r = {v}; z = r;"),
            };
            text += &match g.below(9) {
                0 if careless => format!("{body}\n"),
                1 => format!(
                    "pthread_mutex_lock(&m); pthread_mutex_lock(&n); {body} pthread_mutex_unlock(&n); pthread_mutex_unlock(&m);\n"
                ),
                2 => format!(
                    "pthread_mutex_lock(&n); pthread_mutex_lock(&m); {body} pthread_mutex_unlock(&m); pthread_mutex_unlock(&n);\n"
                ),
                3 if careless => format!(
                    "if (pthread_mutex_trylock(&{lock}) == 0) {{ {body} pthread_mutex_unlock(&{lock}); }}\n"
                ),
                4 => format!(
                    "pthread_rwlock_rdlock(&w); r = z; assert(r == z); pthread_rwlock_unlock(&w); pthread_mutex_lock(&{lock}); {body} pthread_mutex_unlock(&{lock});\n"
                ),
                5 => format!("pthread_rwlock_wrlock(&w); z = {k}; pthread_rwlock_unlock(&w);\n"),
                _ => format!("pthread_mutex_lock(&{lock}); {body} pthread_mutex_unlock(&{lock});\n"),
            };
        }
        text += if endless { "} return 0; }\n" } else { "return 0; }\n" };
    }
    text += "int main(void) { pthread_t t[3];\n";
    for t in 0..threads {
        text += &format!("pthread_create(&t[{t}], 0, f{t}, 0);\n");
    }
    if g.below(2) == 0 {
        for t in 0..threads {
            text += &format!("pthread_join(t[{t}], 0);\n");
        }
        text += &format!("assert(x != {} || y != 1);\n", g.below(3));
    }
    text + "return 0; }\n"
}

/// Runs an engine on the program with blocks in one step; what it answers must stand for the program as it was.
fn merged(name: &str, p: &Program, options: &Options) -> verify::Outcome {
    let out = Merging((engine(name).unwrap().make)()).verify(p, options);
    support::stands(p, options, &out);
    out
}

fn agree(seeds: std::ops::Range<u64>, names: &[&str]) -> (u64, u64, u64) {
    agree_within(Budget { seconds: Some(10.0), work: Some(40_000) }, seeds, names)
}

/// How many programs are safe, and how many are not; how many locations are gone.
fn agree_within(budget: Budget, seeds: std::ops::Range<u64>, names: &[&str]) -> (u64, u64, u64) {
    let (mut safe, mut wrong, mut gone) = (0, 0, 0);
    for seed in seeds {
        let text = random_program(seed);
        let p = read(&text);
        for deadlocks in [false, true] {
            let options = Options { deadlocks, budget };
            let expected = run("explicit", &p, &Options { deadlocks, ..within(40_000) });
            let word = expected.verdict.name();
            assert_ne!(word, "unknown", "seed {seed}: {:?}\n{text}", expected.verdict);
            let m = Merged::of(&p, deadlocks);
            gone += m.gone.len() as u64;
            if let Err(e) = m.program.check() {
                panic!("seed {seed}: {e}\n{text}\n{}", m.program);
            }
            for name in names {
                let found = merged(name, &p, &options);
                let same = match found.verdict.name() {
                    "unknown" => *name != "explicit",
                    // Under some schedules nothing goes wrong, under others something does.
                    "partially-safe" => word == "unsafe",
                    other => other == word,
                };
                assert!(
                    same,
                    "seed {seed}, {name}, deadlocks {deadlocks}: {:?}, not {word}\n{text}\n{p}\n{}",
                    found.verdict, m.program
                );
                if *name == "explicit" && word == "safe" {
                    assert!(found.count("states") <= expected.count("states"), "seed {seed}\n{text}");
                }
            }
            safe += u64::from(word == "safe");
            wrong += u64::from(word == "unsafe");
        }
    }
    (safe, wrong, gone)
}

#[test]
fn the_answer_is_the_same_with_blocks_in_one_step() {
    let (safe, wrong, gone) = agree(0..90, &["explicit", "bdd", "contexts", "impact"]);
    println!("{safe} safe, {wrong} unsafe, {gone} locations gone");
    assert!(safe > 30 && wrong > 30 && gone > 300, "{safe} safe, {wrong} unsafe, {gone} locations gone");
}

#[test]
fn every_engine_takes_blocks_in_one_step() {
    let rest = ["explicit-symmetric", "bdd-backward", "predabs", "bmc", "lal-reps", "imc", "portfolio"];
    let (safe, wrong, gone) = agree_within(Budget { seconds: Some(1.0), work: Some(3000) }, 90..96, &rest);
    assert!(safe > 0 && wrong > 0 && gone > 20, "{safe} safe, {wrong} unsafe, {gone} locations gone");
}

#[test]
#[ignore = "minutes"]
fn the_answer_is_the_same_for_thousands_of_programs() {
    agree(10_000..14_000, &["explicit", "impact"]);
    agree(20_000..21_000, &["explicit", "bdd", "bdd-backward", "contexts", "predabs", "impact"]);
}

#[test]
fn a_proof_that_leaves_out_a_location_at_which_others_may_come_is_refused() {
    let p = read(
        "int x; void *f(void *a) { int t = x; t = t + 1; x = t; return 0; }
         int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);
           pthread_join(a, 0); pthread_join(b, 0); assert(x == 2); return 0; }",
    );
    let options = within(5000);
    assert_eq!(merged("explicit", &p, &options).verdict.name(), "unsafe");
    // Every claim that a location of a thread is one at which nobody needs to be interrupted, with a proof of what is left.
    let mut tried = 0;
    for t in p.thread_ids().skip(1) {
        for l in p.thread(t).location_ids() {
            if let Ok(m) = Merged::again(&p, false, &[(t, l)]) {
                let out = run("explicit", &m.program, &options);
                assert_eq!(out.verdict.name(), "unsafe", "location {} may not go", l.0);
            } else {
                let inner = Box::new(Certificate::Depth(100));
                let claim = Certificate::Merged { gone: vec![(t, l)], inner };
                assert!(check(&p, &options, &claim).is_err());
                tried += 1;
            }
        }
    }
    assert!(tried > 2);
}

#[test]
fn two_locks_the_other_way_round_still_deadlock() {
    let p = read(
        "pthread_mutex_t m, n; int x, y;
         void *f(void *a) { pthread_mutex_lock(&m); pthread_mutex_lock(&n); x = 1; pthread_mutex_unlock(&n); pthread_mutex_unlock(&m); return 0; }
         void *g(void *a) { pthread_mutex_lock(&n); pthread_mutex_lock(&m); x = 2; pthread_mutex_unlock(&m); pthread_mutex_unlock(&n); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); pthread_join(t, 0); return 0; }",
    );
    let options = Options { deadlocks: true, ..within(5000) };
    assert_eq!(merged("explicit", &p, &options).verdict.name(), "unsafe");
    assert_eq!(merged("explicit", &p, &within(5000)).verdict.name(), "safe");
    let Verdict::Unsafe(trace) = merged("explicit", &p, &options).verdict else { panic!("they deadlock") };
    assert!(Interpreter::new(&p).replay(&trace.steps).is_ok());
}

#[test]
fn critical_sections_of_producers_and_consumers_become_single_steps() {
    // The prototype of the design went from 281 nodes to 25.
    for threads in [1, 2, 4] {
        let p = read(&support::producer_consumer(threads, threads, 1000));
        let options = within(20_000);
        let (before, after) = (run("impact", &p, &options), merged("impact", &p, &options));
        let nodes = |o: &verify::Outcome| o.count("nodes").unwrap();
        println!("{threads}p{threads}c: {} nodes, merged {}", nodes(&before), nodes(&after));
        assert_eq!((before.verdict.name(), after.verdict.name()), ("safe", "safe"));
        assert!(nodes(&after) < nodes(&before), "{} of {}", nodes(&after), nodes(&before));
    }
}
