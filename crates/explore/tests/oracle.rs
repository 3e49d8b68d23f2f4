//! Every reduction against every interleaving, on random programs.

mod support;

use support::{Program, TOO_MANY, random_program, search, shrink, unbounded, wide_program, wrong};

fn is_wrong(p: &Program, algorithm: &str) -> Option<String> {
    let oracle = search(p, "none", TOO_MANY);
    if oracle.finished { wrong(p, algorithm, &oracle) } else { None }
}

std::thread_local! {
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// What is wrong, a lemma that does not hold included.
fn quietly(f: impl Fn() -> Option<String>) -> Option<String> {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    QUIET.set(false);
    outcome.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        Some(text.or(payload.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default())
    })
}

/// Compares all algorithms on programs from these seeds; gives how many programs were compared.
fn compare(seeds: std::ops::Range<u64>, make: impl Fn(u64) -> Program) -> u64 {
    compare_some(seeds, make, "")
}

/// The same for the algorithms in `which`, if it names any.
fn compare_some(seeds: std::ops::Range<u64>, make: impl Fn(u64) -> Program, which: &str) -> u64 {
    let mut compared = 0;
    // Every interleaving takes long on some programs; another reduction can stand in when one is suspected.
    let against = std::env::var("ORACLE").unwrap_or("none".to_owned());
    for seed in seeds {
        let p = make(seed);
        let oracle = search(&p, &against, TOO_MANY);
        if !oracle.finished {
            continue;
        }
        compared += 1;
        let wanted = |a: &&str| *a != "none" && (which.is_empty() || which.split(',').any(|w| w == *a));
        for a in unbounded().filter(wanted) {
            let outcome = quietly(|| wrong(&p, a, &oracle));
            if outcome.is_some() {
                let small = shrink(p.clone(), |q| quietly(|| is_wrong(q, a)).is_some());
                let how = quietly(|| is_wrong(&small, a));
                panic!("{a} on seed {seed}: {how:?}\n{small:#?}");
            }
        }
    }
    compared
}

#[test]
fn every_reduction_sees_what_every_interleaving_shows() {
    let compared = compare(0..4_500, random_program);
    assert!(compared >= 2_000, "only {compared} programs were small enough to compare");
}

#[test]
fn every_reduction_is_right_when_objects_are_numbered_as_they_are_met() {
    assert!(compare(100_000..101_200, numbered) >= 500);
}

#[test]
fn every_reduction_is_right_on_programs_of_many_threads() {
    assert!(compare(200_000..200_500, wide_program) >= 300);
}

#[test]
#[ignore = "takes minutes: 100,000 programs on demand"]
fn every_reduction_is_right_on_100_000_programs_of_many_threads() {
    on_demand(wide_program, "optimal,source,dpor,epor,nidhugg-dpor,bpor");
}

fn numbered(seed: u64) -> Program {
    Program { numbered: true, ..random_program(seed) }
}

#[test]
#[ignore = "takes minutes: 100,000 programs on demand"]
fn every_reduction_sees_what_every_interleaving_shows_on_100_000_programs() {
    on_demand(|seed| if seed / 1_000 % 4 == 0 { numbered(seed) } else { random_program(seed) }, "");
}

/// Compares 100,000 programs from `SEED` on: all algorithms, or those that `ALGORITHMS` or `usual` names.
fn on_demand(make: impl Fn(u64) -> Program, usual: &str) {
    let from = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1_000_000u64);
    let which = std::env::var("ALGORITHMS").unwrap_or(usual.to_owned());
    let mut compared = 0;
    let mut seed = from;
    while compared < 100_000 {
        compared += compare_some(seed..seed + 1_000, &make, &which);
        seed += 1_000;
        eprintln!("{compared} programs compared, up to seed {seed}");
    }
}
