//! Eager reduction against every interleaving, on random programs.

mod support;

use support::{Program, Rng, Stmt, TOO_MANY, random_program, search, shrink, wrong};

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

/// A random program of reads and writes with few branches, and now and then something that may block: long sections.
fn straight_program(seed: u64) -> Program {
    let mut g = Rng(seed);
    let threads = 2 + g.below(3) as usize;
    let blocking = g.below(3);
    let variables = 1 + g.below(3);
    let statement = |g: &mut Rng| {
        let (x, r) = (g.below(variables) as u8, g.below(3) as u8);
        match g.below(16 + 2 * blocking) {
            0..5 => Stmt::Write(x, 1 + g.below(2)),
            5..8 => Stmt::Read(x, r),
            8..10 => Stmt::WriteReg(x, r, 1),
            10..12 => Stmt::Add(x),
            12 => Stmt::Cas(x, 0, 2, r),
            13 => Stmt::If(r, 1, vec![Stmt::Write(x, 2)]),
            14 => Stmt::IfElse(r, 0, vec![Stmt::Add(x)], vec![Stmt::Read(0, r)]),
            15 => Stmt::Yield,
            16 => Stmt::Critical(0, vec![Stmt::Write(x, 1)]),
            17 => Stmt::Await(x, 0),
            18 => Stmt::Unpark(0),
            _ => Stmt::TryCritical(0, vec![Stmt::Add(x)]),
        }
    };
    let body = |_| (0..1 + g.below([0, 0, 6, 4, 3][threads])).map(|_| statement(&mut g)).collect();
    Program::of((0..threads).map(body).collect())
}

/// The same, where the last thread spawns the first and joins it: in the order of a section the first has ended by then.
fn joining_program(seed: u64) -> Program {
    let mut p = straight_program(seed);
    let mut g = Rng(seed);
    let last = p.threads.last_mut().expect("there are threads");
    let from = g.below(last.len() as u64 + 1) as usize;
    let to = from + g.below((last.len() - from) as u64 + 1) as usize;
    last.insert(to, Stmt::Join(0));
    last.insert(from, Stmt::Spawn(0));
    Program { spawned: vec![0], silent: g.below(3) > 0, known: g.below(2) == 0, ..p }
}

#[test]
fn what_comes_after_a_join_is_not_in_the_section_of_what_comes_before() {
    let p = Program {
        threads: vec![
            vec![Stmt::Write(0, 1)],
            vec![Stmt::Spawn(0), Stmt::Write(1, 1), Stmt::Join(0), Stmt::Write(0, 2)],
        ],
        spawned: vec![0],
        silent: true,
        ..Program::default()
    };
    for a in EAGER {
        let seen = search(&p, a, TOO_MANY);
        assert_eq!((seen.executions, seen.blocked), (1, 0), "{a}");
    }
}

#[test]
fn threads_that_are_spawned_and_joined_lose_nothing() {
    assert!(compare(0..300, joining_program) >= 150);
}

#[test]
fn eager_search_sees_what_every_interleaving_shows() {
    let compared = compare(2_000_000..2_000_700, random_program);
    assert!(compared >= 300, "only {compared} programs were small enough to compare");
}

#[test]
fn what_is_known_of_the_values_makes_sections_longer_and_loses_nothing() {
    let known = |seed| Program { known: true, ..straight_program(seed) };
    assert!(compare(0..500, known) >= 250);
    assert!(compare(1_000..1_300, straight_program) >= 150);
    assert!(compare(2_500..2_700, |seed| Program { known: true, ..random_program(seed) }) >= 80);
}

#[test]
#[ignore = "takes minutes: 100,000 programs on demand"]
fn eager_search_sees_what_every_interleaving_shows_on_100_000_programs() {
    let mut seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(3_000_000u64);
    let mut compared = 0;
    while compared < 100_000 {
        let (numbered, known) = (seed.is_multiple_of(4_000), seed.is_multiple_of(3_000));
        let make =
            [random_program, straight_program, random_program, joining_program][(seed / 1_000 % 4) as usize];
        compared += compare(seed..seed + 1_000, |s| Program { numbered, known, ..make(s) });
        seed += 1_000;
        eprintln!("{compared} programs compared, up to seed {seed}");
    }
}
