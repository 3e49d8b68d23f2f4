//! Every reduction against every interleaving, on random programs.

mod support;

use explore::{Meter, Plan, Trace};
use support::{
    Program, Rng, Stmt, TOO_MANY, execute_in, random_program, search, shrink, unbounded, wide_program, wrong,
};

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

/// A random program of 9 to 20 threads, most of which have one step: clocks have room for eight threads at first.
fn very_wide_program(seed: u64) -> Program {
    use Stmt::*;
    let mut g = Rng(seed ^ 0x9999);
    let threads = 9 + g.below(12) as usize;
    let body = |t: usize| {
        let own = 8 + t as u8;
        let shared = g.below(2) as u8;
        match g.below(12) {
            0 => vec![Read(shared, 0)],
            1 => vec![Write(shared, t as u64)],
            2 => vec![Add(shared), Read(own, 0)],
            3 => vec![Critical(0, vec![Add(shared)])],
            _ => vec![Write(own, 1)],
        }
    };
    Program::of((0..threads).map(body).collect())
}

#[test]
fn executions_of_many_threads_may_be_cut_anywhere() {
    for seed in 0..150 {
        let p = very_wide_program(seed);
        for a in unbounded().filter(|a| *a != "none") {
            let longest = 1 + (seed as usize * 7) % 17;
            let mut s = Plan::of(a).unwrap().search(Meter::unlimited()).unwrap();
            for _ in 0..12 {
                let mut trace = Trace::new();
                if !execute_in(&p, &mut *s, &mut trace, longest, false).3 {
                    break;
                }
            }
        }
    }
}

#[test]
fn reductions_agree_on_programs_of_more_threads_than_clocks_have_room_for() {
    let mut compared = 0;
    for seed in 0..200 {
        let p = very_wide_program(seed);
        let source = search(&p, "source", 300);
        if !source.finished {
            continue;
        }
        compared += 1;
        for a in ["optimal", "dpor", "nidhugg-dpor", "epor"] {
            assert_eq!(wrong(&p, a, &source), None, "{a} on seed {seed}");
        }
    }
    assert!(compared >= 60, "only {compared} programs were small enough to compare");
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
