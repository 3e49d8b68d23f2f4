//! Eager reduction against every interleaving, on random programs.

mod support;

use support::{Program, Stmt, TOO_MANY, random_program, search, shrink, wrong};

const EAGER: [&str; 2] = ["epor", "epor-sh"];

/// What is wrong with a search: a class lost or completed twice, a final state lost or invented.
fn is_wrong(p: &Program, algorithm: &str) -> Option<String> {
    let oracle = search(p, "none", TOO_MANY);
    if oracle.finished { wrong(p, algorithm, &oracle) } else { None }
}

/// Compares both forms on programs from these seeds; gives how many were compared.
fn compare(seeds: std::ops::Range<u64>, make: impl Fn(u64) -> Program) -> u64 {
    let mut compared = 0;
    for seed in seeds {
        let p = make(seed);
        let oracle = search(&p, "none", TOO_MANY);
        if !oracle.finished {
            continue;
        }
        compared += 1;
        for a in EAGER {
            if let Some(how) = wrong(&p, a, &oracle) {
                let small = shrink(p, |q| is_wrong(q, a).is_some());
                panic!("{a} on seed {seed}: {how}; smaller: {:?}\n{small:#?}", is_wrong(&small, a));
            }
        }
    }
    compared
}

#[test]
fn eager_search_sees_what_every_interleaving_shows() {
    let compared = compare(2_000_000..2_003_000, random_program);
    assert!(compared >= 1_200, "only {compared} programs were small enough to compare");
}

#[test]
#[ignore = "takes minutes: 100,000 programs on demand"]
fn eager_search_sees_what_every_interleaving_shows_on_100_000_programs() {
    let mut seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(3_000_000u64);
    let mut compared = 0;
    while compared < 100_000 {
        let numbered = seed.is_multiple_of(4_000);
        compared += compare(seed..seed + 1_000, |s| Program { numbered, ..random_program(s) });
        seed += 1_000;
        eprintln!("{compared} programs compared, up to seed {seed}");
    }
}
