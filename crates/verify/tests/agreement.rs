//! All engines agree with each other and with the search over interleavings on random programs; every proof is checked, and every
//! trace replayed.

mod support;

use explore::{Meter, Plan};
use model::{Interpreter, Program, Reach, Runner, Wrong};
use support::{read, run};
use verify::{Budget, Options, engines};

/// A small deterministic generator (splitmix64).
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// A random program with few states: two or three threads, some in endless loops, locks, branches, inputs, atomic steps.
fn random_program(seed: u64, loops: bool) -> String {
    let mut g = Rng(seed);
    let threads = 2 + g.below(2);
    let mut text = String::from("int x, y, a[2]; pthread_mutex_t m, n; sem_t s;\n");
    let mut left = if threads == 2 { 6 } else { 5 };
    for t in 0..threads {
        let endless = loops && g.below(3) == 0;
        text += &format!("void *f{t}(void *p) {{ int r = 0;{}\n", if endless { " while (1) {" } else { "" });
        for _ in 0..1 + g.below(3) {
            if left == 0 {
                break;
            }
            left -= 1;
            let v = ["x", "y", "a[0]", "a[r & 1]"][g.below(4) as usize];
            let w = ["x", "y"][g.below(2) as usize];
            let k = g.below(3);
            let lock = ["m", "n"][g.below(2) as usize];
            text += &match g.below(13) {
                0 => format!("{v} = {k};\n"),
                1 => format!("r = {v};\n"),
                2 => format!("{v} = (r + {k}) % 3;\n"),
                3 => format!("if ({v} == {k}) {w} = {k};\n"),
                4 => format!(
                    "pthread_mutex_lock(&{lock}); r = {v}; {w} = (r + 1) % 3; pthread_mutex_unlock(&{lock});\n"
                ),
                5 => format!("__VERIFIER_atomic_begin(); {w} = ({w} + 1) % 3; __VERIFIER_atomic_end();\n"),
                6 => format!("assert({v} != {k} || r != 1);\n"),
                7 => "if (__VERIFIER_nondet_bool()) r = 1; else r = 2;\n".to_owned(),
                8 => format!("sem_wait(&s); {w} = {k}; sem_post(&s);\n"),
                9 => format!(
                    "__VERIFIER_atomic_begin(); __VERIFIER_assume({w} != {k}); {w} = {k}; __VERIFIER_atomic_end();\n"
                ),
                10 => format!("r = __VERIFIER_nondet_bool() ? {w} : {k};\n"),
                11 => format!(
                    "pthread_mutex_lock(&m); {w} = {k}; assert({w} == {k}); pthread_mutex_unlock(&m);\n"
                ),
                _ => format!(
                    "pthread_mutex_lock(&m); pthread_mutex_lock(&{lock}); pthread_mutex_unlock(&{lock}); pthread_mutex_unlock(&m);\n"
                ),
            };
        }
        text += if endless { "} return 0; }\n" } else { "return 0; }\n" };
    }
    text += "int main(void) { pthread_t t[3]; sem_init(&s, 0, 1);\n";
    for t in 0..threads {
        text += &format!("pthread_create(&t[{t}], 0, f{t}, 0);\n");
    }
    if g.below(2) == 0 {
        for t in 0..threads {
            text += &format!("pthread_join(t[{t}], 0);\n");
        }
        text += &format!("assert(x != {});\n", g.below(3));
    }
    text + "return 0; }\n"
}

/// Whether the program goes wrong, by all states and, where it always ends, by all interleavings.
fn goes_wrong(p: &Program, deadlocks: bool, ends: bool, what: &str) -> bool {
    let reach = Reach { most: 200_000, ..Reach::default() }.search(&Interpreter::new(p)).unwrap();
    assert!(reach.finished, "{what}");
    let mut search = Plan::of("optimal").unwrap().search(Meter::unlimited()).unwrap();
    // Threads that wait for what the runner has no operation for are left to the search over states.
    if ends
        && let Ok(runner) = Runner::new(p)
        && let Ok(seen) = runner.search(&mut *search, u64::MAX)
    {
        assert!(seen.finished, "{what}");
        let error = seen.failures.iter().any(|f| matches!(f.0, Wrong::Error { .. }));
        assert_eq!(error, reach.errors > 0, "{what}");
    }
    reach.errors > 0 || deadlocks && reach.deadlocks > 0
}

/// Compares all engines on programs; how many were safe, and how many answers were *unknown*.
fn agree(seeds: std::ops::Range<u64>, loops: bool) -> (u64, u64) {
    let (mut safe, mut unknown) = (0, 0);
    for seed in seeds {
        let text = random_program(seed, loops);
        let p = read(&text);
        for deadlocks in [false, true] {
            let what = format!("seed {seed}, deadlocks: {deadlocks}\n{text}\n{p}");
            let wrong = goes_wrong(&p, deadlocks, !loops, &what);
            safe += u64::from(!wrong);
            // Rounds answer nothing for safe programs, and slowly; imc looks for schedules as well: they have tests of their own.
            for e in engines().iter().filter(|e| !["lal-reps", "imc"].contains(&e.name)) {
                // Runs that do not end are unrolled for ever: a few steps, and of few programs.
                let unrolls = e.name == "bmc";
                if unrolls && seed % 5 != 0 {
                    continue;
                }
                let work = Some(if unrolls { 9 } else { 3000 });
                let options = Options { deadlocks, budget: Budget { seconds: Some(5.0), work } };
                let out = run(e.name, &p, &options);
                match out.verdict.name() {
                    "safe" => assert!(!wrong, "{} finds nothing: {what}", e.name),
                    "unsafe" | "partially-safe" => assert!(wrong, "{} finds something: {what}", e.name),
                    _ => unknown += u64::from(!unrolls),
                }
            }
        }
    }
    (safe, unknown)
}

#[test]
fn all_engines_agree_on_programs_that_end() {
    let (safe, unknown) = agree(0..300, false);
    println!("{safe} safe, {unknown} unknown");
    assert!(safe > 150, "both answers occur: {safe}");
    assert!(unknown < 60, "most are decided: {unknown}");
}

#[test]
fn all_engines_agree_on_programs_with_endless_loops() {
    let (safe, unknown) = agree(1000..1300, true);
    println!("{safe} safe, {unknown} unknown");
    assert!(safe > 150, "both answers occur: {safe}");
    assert!(unknown < 60, "most are decided: {unknown}");
}

#[test]
#[ignore = "long: thousands of programs"]
fn all_engines_agree_on_thousands_of_programs() {
    agree(10_000..12_000, false);
    agree(20_000..22_000, true);
}
