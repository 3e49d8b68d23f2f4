//! Bounded partial-order reduction against every interleaving within the bound, on random programs: the same local states and
//! the same terminal states, with each optimisation alone, with none and with all.

mod support;
mod within;

use explore::BoundKind::{self, *};
use support::{Program, Rng, Stmt, random_program, shrink};
use within::{Within, bpor, dfs};

/// Programs with more interleavings within the bound than this are passed over.
const TOO_MANY: u64 = 1_500;

const SWITCHES: [&str; 9] = ["none", "tr", "at", "ro", "bo", "ss", "tr,at,ro,bo,ss", "bo,ss", "tr,at,ro,bo"];

/// Bounds to search within, each with limits.
fn settings() -> Vec<Vec<(BoundKind, u32)>> {
    let mut out = vec![];
    let ranges = [
        (Depth, 1..6),
        (Contexts, 0..4),
        (Preemptions, 0..4),
        (Delta, 0..4),
        (Delays, 0..4),
        (Fair, 0..3),
        (LocalDepth, 1..6),
        (LocalContexts, 0..4),
        (ThreadContexts, 1..4),
    ];
    for (kind, limits) in ranges {
        out.extend(limits.map(|c| vec![(kind, c)]));
    }
    for fair in 0..2 {
        for c in 0..3 {
            out.push(vec![(Preemptions, c), (Fair, fair)]);
            out.push(vec![(Contexts, c), (Fair, fair)]);
            out.push(vec![(ThreadContexts, c + 1), (Fair, fair)]);
            out.push(vec![(Delta, c), (Fair, fair)]);
            out.push(vec![(Delays, c), (Fair, fair)]);
        }
    }
    out.extend([
        vec![(LocalDepth, 4), (LocalContexts, 1)],
        vec![(Depth, 6), (Preemptions, 1)],
        vec![(Preemptions, 1), (Contexts, 3)],
        vec![(Delta, 1), (LocalDepth, 5)],
    ]);
    out
}

/// A random program; where fairness counts threads also yield and spin.
fn program(seed: u64, yields: bool) -> Program {
    let mut p = random_program(seed);
    let mut g = Rng(seed ^ 0xfa1e);
    if !yields {
        return p;
    }
    if g.below(2) == 0 {
        // Threads that wait for each other.
        let n = 2 + g.below(2) as usize;
        p = Program::of(
            (0..n)
                .map(|_| {
                    let mut body = vec![];
                    for _ in 0..1 + g.below(3) {
                        let x = g.below(2) as u8;
                        body.push(match g.below(6) {
                            0 | 1 => Stmt::Spin(x),
                            2 => Stmt::Yield,
                            3 => Stmt::Read(x, 0),
                            4 => Stmt::Critical(0, vec![Stmt::Write(x, g.below(2))]),
                            _ => Stmt::Write(x, 1),
                        });
                    }
                    body
                })
                .collect(),
        );
    } else {
        for t in &mut p.threads {
            for _ in 0..g.below(3) {
                t.insert(g.below(t.len() as u64 + 1) as usize, Stmt::Yield);
            }
        }
    }
    p
}

/// Programs whose threads may spin for ever can be searched to the end within a fair bound only.
fn spins(p: &Program) -> bool {
    format!("{:?}", p.threads).contains("Spin")
}

/// What is wrong with a search, if anything.
fn wrong(p: &Program, at: &[(BoundKind, u32)], on: &str, oracle: &Within) -> Option<String> {
    let seen = bpor(p, at, on, 20 * TOO_MANY);
    if !seen.finished {
        return Some(format!("does not end: {} executions", seen.leaves));
    }
    let lost = |a: &Within, b: &Within| {
        (a.locals.difference(&b.locals).count(), a.terminals.difference(&b.terminals).count())
    };
    // A weak compare-exchange may turn out to be over a local bound after it ran; then its state is not within the bound.
    let by_weak = at.iter().any(|b| matches!(b.0, LocalContexts | LocalDepth))
        && format!("{:?}", p.threads).contains("CasWeak");
    let (less, more) = (lost(oracle, &seen), lost(&seen, oracle));
    if less.1 + more.1 > 0 || (!by_weak && less.0 + more.0 > 0) {
        return Some(format!("local and terminal states: {less:?} lost, {more:?} invented"));
    }
    if oracle.saturated && !seen.saturated {
        return Some("refuses what no execution needs".into());
    }
    None
}

fn oracle(p: &Program, at: &[(BoundKind, u32)], limit: u64) -> Option<Within> {
    if spins(p) && at.iter().all(|b| b.0 != Fair) {
        return None;
    }
    // A program that can go on for ever within the bound has no end to compare.
    Some(dfs(p, at, limit)).filter(|o| o.finished && o.too_long == 0)
}

/// Compares on one program within one setting; says whether it was small enough.
fn compare(seed: u64, at: &[(BoundKind, u32)], switches: &[&str], limit: u64) -> bool {
    let yields = at.iter().any(|b| matches!(b.0, Fair | Delays));
    let p = program(seed, yields);
    let Some(o) = oracle(&p, at, limit) else { return false };
    for on in switches {
        if let Some(why) = wrong(&p, at, on, &o) {
            let fails = |q: &Program| oracle(q, at, limit).is_some_and(|o| wrong(q, at, on, &o).is_some());
            let small = shrink(p.clone(), fails);
            let o = oracle(&small, at, limit).unwrap();
            let how = wrong(&small, at, on, &o);
            panic!("seed {seed} within {at:?} with {on}: {why}\nsmaller: {how:?}\n{small:#?}");
        }
    }
    true
}

#[test]
fn bounded_reduction_sees_what_every_interleaving_within_the_bound_shows() {
    let settings = settings();
    let mut compared = 0;
    for seed in 0..4_000u64 {
        let at = &settings[seed as usize % settings.len()];
        compared += compare(seed, at, &SWITCHES, 300) as u64;
    }
    assert!(compared >= 2_000, "only {compared} programs were small enough to compare");
}

#[test]
#[ignore = "takes many minutes: 100,000 programs on demand"]
fn bounded_reduction_sees_what_every_interleaving_within_the_bound_shows_on_100_000_programs() {
    let from = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1_000_000u64);
    let only = std::env::var("BOUND").unwrap_or_default();
    let settings: Vec<_> = settings().into_iter().filter(|s| format!("{s:?}").contains(&only)).collect();
    let (mut compared, mut seed) = (0u64, from);
    while compared < 100_000 {
        let at = &settings[seed as usize % settings.len()];
        compared += compare(seed, at, &SWITCHES, TOO_MANY) as u64;
        seed += 1;
        if seed.is_multiple_of(2_000) {
            eprintln!("{compared} programs compared, up to seed {seed}");
        }
    }
}
