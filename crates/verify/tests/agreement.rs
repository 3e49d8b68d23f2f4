//! All engines agree with each other and with the search over interleavings on random programs; every proof is checked, and every
//! trace replayed.

mod support;

use explore::{Meter, Plan};
use model::{Interpreter, Program, Reach, Runner, State, ThreadId, Wrong};
use std::collections::HashSet;
use support::small::Rng;
use support::{read, run};
use verify::{Budget, Options, engines};

/// A random program with few states: two or three threads, some in endless loops, locks, branches, inputs,
/// pointers, a union, atomic steps.
fn random_program(seed: u64, loops: bool) -> String {
    let mut g = Rng(seed);
    let threads = 2 + g.below(2);
    let mut text =
        String::from("int x, y, a[2], *h; union { char low; int all; } u; pthread_mutex_t m, n; sem_t s;\n");
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
            text += &match g.below(15) {
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
                11 => format!("{{ int *q = r == 1 ? &x : h; *q = (*q + {k}) % 3; }}\n"),
                12 => format!("u.all = {k}; if (u.low != {k}) r = 1;\n"),
                13 => format!(
                    "pthread_mutex_lock(&m); {w} = {k}; assert({w} == {k}); pthread_mutex_unlock(&m);\n"
                ),
                _ => format!(
                    "pthread_mutex_lock(&m); pthread_mutex_lock(&{lock}); pthread_mutex_unlock(&{lock}); pthread_mutex_unlock(&m);\n"
                ),
            };
        }
        text += if endless { "} return 0; }\n" } else { "return 0; }\n" };
    }
    text += "int main(void) { pthread_t t[3]; h = calloc(1, sizeof(int)); sem_init(&s, 0, 1);\n";
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
    reach.errors > 0 || deadlocks && (reach.deadlocks > 0 || !ends && is_stuck(p, what))
}

/// Whether some threads are stuck while others run on, in some state. Each such thread takes no step in any state from there on.
fn is_stuck(p: &Program, what: &str) -> bool {
    let run = Interpreter::new(p);
    let all = |from: State| {
        let (mut seen, mut open) = (HashSet::from([from.clone()]), vec![from]);
        while let Some(s) = open.pop() {
            for t in p.thread_ids() {
                for (_, next) in run.successors(&s, t).unwrap() {
                    if seen.insert(next.clone()) {
                        open.push(next);
                    }
                }
            }
        }
        seen
    };
    let Some(stuck) = all(run.initial()).into_iter().find(|s| run.some_are_stuck(s) && !run.all_wait(s))
    else {
        return false;
    };
    let after = all(stuck);
    let never = |t: ThreadId| after.iter().all(|s| run.is_live(s, t) && !run.is_enabled(s, t));
    assert!(p.thread_ids().any(never), "a thread that is stuck runs again: {what}");
    assert!(after.iter().all(|s| run.is_deadlock(s)), "a deadlock ends: {what}");
    true
}

/// How many programs of how many each engine is asked about. The cheap ones are asked about all; rounds answer nothing for safe
/// programs, and slowly; runs that do not end are unrolled for ever.
const EVERY: &[(&str, u64)] = &[
    ("explicit", 1),
    ("explicit-symmetric", 2),
    ("impact", 8),
    ("impact-monotonic", 8),
    ("portfolio", 1),
    ("contexts", 4),
    ("bdd", 20),
    ("bdd-backward", 20),
    ("predabs", 40),
    ("bmc", 40),
    ("lal-reps", 100),
];

/// What came out of a comparison.
#[derive(Default)]
struct Agreed {
    safe: u64,
    wrong: u64,
    unknown: u64,
    answers: u64,
    seconds: std::collections::BTreeMap<&'static str, f64>,
}

/// Compares engines on programs: on every n-th program as the table says, or on all. Each program is asked about with deadlocks or
/// without, in turns.
fn agree(seeds: std::ops::Range<u64>, loops: bool, all: bool) -> Agreed {
    let mut out = Agreed::default();
    // With `ENGINES=impact,bdd` these alone.
    let named = std::env::var("ENGINES").ok();
    for seed in seeds {
        let text = random_program(seed, loops);
        let p = read(&text);
        let deadlocks = seed % 2 == 0;
        let what = format!("seed {seed}, deadlocks: {deadlocks}\n{text}\n{p}");
        let wrong = goes_wrong(&p, deadlocks, !loops, &what);
        out.safe += u64::from(!wrong);
        out.wrong += u64::from(wrong);
        for e in engines().iter().filter(|e| named.as_ref().is_none_or(|n| n.split(',').any(|n| n == e.name)))
        {
            // An engine that is not in the table is asked about some.
            let every = EVERY.iter().find(|(name, _)| *name == e.name).map_or(10, |(_, every)| *every);
            if !all && seed / 2 % every != 0 {
                continue;
            }
            let (work, sure) = match e.name {
                "bmc" => (9, false),
                "lal-reps" => (1500, false),
                _ => (3000, true),
            };
            let options = Options { deadlocks, budget: Budget { seconds: Some(5.0), work: Some(work) } };
            let found = run(e.name, &p, &options);
            *out.seconds.entry(e.name).or_default() += found.seconds;
            out.answers += 1;
            match found.verdict.name() {
                "safe" => assert!(!wrong, "{} finds nothing: {what}", e.name),
                "unsafe" | "partially-safe" => assert!(wrong, "{} finds something: {what}", e.name),
                _ => out.unknown += u64::from(sure),
            }
        }
    }
    println!(
        "{} safe, {} wrong, {} of {} answers unknown, {:.1?}",
        out.safe, out.wrong, out.unknown, out.answers, out.seconds
    );
    out
}

/// Both answers occur, and few are open.
fn is_telling(a: &Agreed) {
    assert!(a.safe * 8 > a.wrong && a.wrong * 8 > a.safe, "both answers occur: {} and {}", a.safe, a.wrong);
    assert!(a.unknown * 20 < a.answers, "most are decided: {} of {} are not", a.unknown, a.answers);
}

#[test]
fn all_engines_agree_on_programs_that_end() {
    is_telling(&agree(0..1200, false, false));
}

#[test]
fn all_engines_agree_on_programs_with_endless_loops() {
    is_telling(&agree(100_000..101_200, true, false));
}

#[test]
#[ignore = "long: every engine on thousands of programs"]
fn all_engines_agree_on_thousands_of_programs() {
    is_telling(&agree(10_000..12_000, false, true));
    is_telling(&agree(20_000..22_000, true, true));
}
