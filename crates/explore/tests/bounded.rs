//! Bounded partial-order reduction against every interleaving within the bound, on random programs: the same local states and
//! the same terminal states, with each optimisation alone, with none and with all.

mod support;
mod within;

use explore::BoundKind::{self, *};
use explore::{Limit, Meter, Mistake, Plan, Promise, Trace, mistaken};
use support::{Program, Rng, Stmt, execute_in, random_program, shrink};
use within::{Within, bpor, dfs, plan, run, wrong_bpor};

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

/// Threads that do little but block and let each other go on: that is what prices depend on. Locks need not be given back.
fn blocking_program(seed: u64) -> Program {
    let mut g = Rng(seed ^ 0xb10c);
    let threads = 2 + g.below(2) as usize;
    let body = |g: &mut Rng| {
        let mut out = vec![];
        for _ in 0..2 + g.below([0, 0, 4, 2][threads]) {
            let x = g.below(2) as u8;
            out.push(match g.below(12) {
                0 | 1 => Stmt::Read(x, 0),
                2 | 3 => Stmt::Write(x, 1),
                4 => Stmt::Critical(x, vec![]),
                5 | 6 => Stmt::Critical(0, vec![Stmt::Write(x, 1)]),
                7 => Stmt::Acquire(x),
                8 => Stmt::Await(7, 0),
                9 => Stmt::Write(7, 1),
                10 if g.below(2) == 0 => Stmt::Send(0, 1),
                10 => Stmt::Recv(0, 1, 0),
                _ => Stmt::If(0, 1, vec![Stmt::Write(x, 1)]),
            });
        }
        out
    };
    Program::of((0..threads).map(|_| body(&mut g)).collect())
}

/// A random program; where fairness counts threads also yield and spin.
fn program(seed: u64, yields: bool) -> Program {
    let mut g = Rng(seed ^ 0xfa1e);
    let mut p = if g.below(3) == 0 { blocking_program(seed) } else { random_program(seed) };
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
    for seed in 0..12_000u64 {
        let at = &settings[seed as usize % settings.len()];
        compared += compare(seed, at, &SWITCHES, 300) as u64;
    }
    assert!(compared >= 6_000, "only {compared} programs were small enough to compare");
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

/// Programs without yields, small enough to search without a bound.
fn small_programs(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Program, Within)> {
    seeds.filter_map(|seed| {
        let p = random_program(seed);
        let all = dfs(&p, &[], 400);
        all.finished.then_some((seed, p, all))
    })
}

const RANGES: [(BoundKind, u32); 9] = [
    (Depth, 1),
    (Contexts, 0),
    (Preemptions, 0),
    (Delta, 0),
    (Delays, 0),
    (Fair, 0),
    (LocalDepth, 1),
    (LocalContexts, 0),
    (ThreadContexts, 1),
];

#[test]
fn a_greater_limit_shows_more_until_nothing_is_refused_and_then_everything() {
    for (seed, p, all) in small_programs(200_000..200_150) {
        for (kind, least) in RANGES {
            let mut last = Within::default();
            for c in least.. {
                let seen = bpor(&p, &[(kind, c)], "all", 10_000);
                let at = format!("seed {seed}, {}={c}", kind.name());
                assert!(seen.locals.is_superset(&last.locals), "{at}");
                assert!(seen.terminals.is_superset(&last.terminals), "{at}");
                if seen.saturated {
                    assert_eq!(seen.sets(), all.sets(), "{at}");
                    break;
                }
                last = seen;
            }
        }
    }
}

#[test]
fn where_nothing_is_refused_the_bound_costs_no_execution() {
    for (seed, p, _) in small_programs(210_000..210_400) {
        for on in ["bo", "bo,ss", "tr,ro,bo,ss", "all"] {
            let free = bpor(&p, &[], on, 10_000).leaves;
            for kind in BoundKind::all() {
                let seen = bpor(&p, &[(kind, 60)], on, 10_000);
                assert!(seen.saturated);
                assert_eq!(seen.leaves, free, "seed {seed}, {} with {on}", kind.name());
            }
        }
    }
}

#[test]
fn a_local_bound_never_costs_more_executions_than_no_bound() {
    for (seed, p, _) in small_programs(220_000..220_400) {
        for on in ["none", "tr,ro", "all"] {
            let free = bpor(&p, &[], on, 10_000).leaves;
            for at in [(LocalDepth, 3), (LocalDepth, 5), (LocalContexts, 1), (LocalContexts, 2)] {
                let leaves = bpor(&p, &[at], on, 10_000).leaves;
                assert!(leaves <= free, "seed {seed}, {at:?} with {on}: {leaves} instead of {free}");
            }
        }
    }
}

#[test]
fn local_depth_shows_the_local_states_of_that_depth() {
    for (seed, p, _) in small_programs(230_000..230_600) {
        if format!("{:?}", p.threads).contains("CasWeak") {
            continue;
        }
        for c in 1..6 {
            let (depth, local) = (dfs(&p, &[(Depth, c)], 10_000), dfs(&p, &[(LocalDepth, c)], 10_000));
            assert_eq!(local.locals, depth.locals, "seed {seed}, depth {c}");
        }
    }
}

#[test]
fn local_contexts_show_at_least_the_local_states_of_as_many_contexts() {
    for (seed, p, _) in small_programs(240_000..240_600) {
        for c in 0..4 {
            let contexts = dfs(&p, &[(Contexts, c)], 10_000);
            let local = bpor(&p, &[(LocalContexts, c)], "all", 10_000);
            assert!(local.locals.is_superset(&contexts.locals), "seed {seed}, {c} contexts");
        }
    }
}

#[test]
fn delays_and_delta_are_one_measure_where_nobody_yields() {
    for (seed, p, _) in small_programs(250_000..250_300) {
        for c in 0..4 {
            let (delta, delays) = (dfs(&p, &[(Delta, c)], 10_000), dfs(&p, &[(Delays, c)], 10_000));
            assert_eq!(delta.leaves, delays.leaves, "seed {seed}, {c}");
            assert_eq!(delta.sets(), delays.sets(), "seed {seed}, {c}");
        }
    }
}

/// A plan with one bound that grows.
fn growing(algorithm: &str, kind: BoundKind, first: u32, last: Option<u32>) -> Plan {
    Plan { bounds: vec![Limit { kind, first, last }], ..Plan::of(algorithm).unwrap() }
}

#[test]
fn one_limit_after_the_other_ends_when_nothing_is_refused_and_has_then_seen_everything() {
    for (seed, p, all) in small_programs(260_000..260_150) {
        for (kind, least) in RANGES {
            for algorithm in ["none", "bpor"] {
                let s = growing(algorithm, kind, least, None).search(Meter::unlimited()).unwrap();
                let seen = run(&p, s, 100_000);
                let at = format!("seed {seed}, {} by {algorithm}", kind.name());
                assert!(seen.finished, "{at}");
                assert_eq!(seen.promise, Some(Promise::Everything), "{at}");
                assert_eq!(seen.sets(), all.sets(), "{at}");
                assert!(seen.rounds.iter().all(|r| r.complete), "{at}");
                let limits: Vec<_> = seen.rounds.iter().map(|r| r.limit).collect();
                assert_eq!(limits, (least..least + limits.len() as u32).collect::<Vec<_>>(), "{at}");
            }
        }
    }
}

#[test]
fn every_interleaving_is_run_once_over_all_rounds() {
    for (seed, p, _) in small_programs(270_000..270_300) {
        for (kind, least) in RANGES {
            let s = growing("none", kind, least, Some(least + 3)).search(Meter::unlimited()).unwrap();
            let seen = run(&p, s, 100_000);
            for r in &seen.rounds {
                let anew = dfs(&p, &[(kind, r.limit)], 100_000);
                let so_far: u64 =
                    seen.rounds.iter().filter(|o| o.limit <= r.limit).map(|o| o.executions).sum();
                let at = format!("seed {seed}, {}={}", kind.name(), r.limit);
                assert_eq!(so_far, anew.complete, "{at}");
                assert_eq!(r.new, r.executions, "{at}");
            }
            let limit = seen.rounds.last().unwrap().limit;
            let anew = dfs(&p, &[(kind, limit)], 100_000);
            assert_eq!(seen.sets(), anew.sets(), "seed {seed}, {}={limit}", kind.name());
            assert_eq!(seen.promise, anew.promise, "seed {seed}, {}={limit}", kind.name());
        }
    }
}

#[test]
fn where_there_is_no_room_for_what_was_refused_the_next_round_begins_anew() {
    let mut anew = 0;
    for (seed, p, all) in small_programs(275_000..275_200) {
        for (kind, least) in RANGES {
            let s = mistaken(&growing("none", kind, least, None), Mistake::LittleRoom).unwrap();
            let seen = run(&p, s, 100_000);
            assert!(seen.finished);
            assert_eq!(seen.sets(), all.sets(), "seed {seed}, {}", kind.name());
            assert_eq!(seen.promise, Some(Promise::Everything), "seed {seed}, {}", kind.name());
            for r in &seen.rounds {
                let so_far: u64 = seen.rounds.iter().filter(|o| o.limit <= r.limit).map(|o| o.new).sum();
                let within = dfs(&p, &[(kind, r.limit)], 100_000).complete;
                assert_eq!(so_far, within, "seed {seed}, {}={}", kind.name(), r.limit);
            }
            anew += (seen.complete > all.complete) as u64;
        }
    }
    assert!(anew > 50, "only {anew} searches ran out of room");
}

#[test]
fn a_second_bound_holds_in_every_round() {
    for (seed, p, _) in small_programs(280_000..280_200) {
        for algorithm in ["none", "bpor"] {
            let mut plan = growing(algorithm, Preemptions, 0, None);
            plan.bounds.insert(0, Limit::at(Depth, 5));
            let seen = run(&p, plan.search(Meter::unlimited()).unwrap(), 100_000);
            let depth = dfs(&p, &[(Depth, 5)], 100_000);
            assert!(seen.finished);
            assert_eq!(seen.sets(), depth.sets(), "seed {seed} by {algorithm}");
            if !depth.saturated {
                let k = seen.rounds.last().unwrap().limit;
                let within = format!("{} and 5 steps", Preemptions.say(k));
                assert_eq!(seen.promise, Some(Promise::Within(within)), "seed {seed} by {algorithm}");
            }
        }
    }
}

#[test]
fn an_interrupted_search_promises_what_its_last_complete_round_does() {
    let p = Program::of(vec![vec![Stmt::Add(0), Stmt::Add(0), Stmt::Add(0)]; 2]);
    for algorithm in ["none", "bpor"] {
        let budget = explore::Budget { executions: Some(12), seconds: None };
        let meter = Meter::new(budget, Box::new(|| 0.0));
        let seen = run(&p, growing(algorithm, Preemptions, 0, None).search(meter).unwrap(), 100);
        assert!(!seen.finished);
        let last = seen.rounds.iter().rev().find(|r| r.complete).unwrap().limit;
        assert_eq!(seen.promise, Some(Promise::Within(Preemptions.say(last))), "{algorithm}");
        assert!(!seen.rounds.last().unwrap().complete);
        let one = Meter::new(explore::Budget { executions: Some(1), seconds: None }, Box::new(|| 0.0));
        let seen = run(&p, growing(algorithm, Preemptions, 0, None).search(one).unwrap(), 100);
        assert!(matches!(seen.promise, Some(Promise::Nothing(_))), "{algorithm}");
    }
}

#[test]
fn plans_that_cannot_be_searched_say_what_to_do() {
    let error = |algorithm: &str, bounds: &[&str]| {
        let bounds = bounds.iter().map(|b| b.parse().unwrap()).collect();
        let plan = Plan { bounds, ..Plan::of(algorithm).unwrap() };
        plan.search(Meter::unlimited()).err().unwrap().to_string()
    };
    assert!(error("source", &["preemptions=1"]).contains("take `bpor`"));
    assert!(error("bpor", &["preemptions=0..", "delta=0.."]).contains("single limit"));
    assert!(error("none", &["fair=1", "fair=2"]).contains("leave `fair=2` out"));
    let plan = Plan { optimisations: "tr".parse().unwrap(), ..Plan::of("source").unwrap() };
    assert!(plan.search(Meter::unlimited()).err().unwrap().to_string().contains("take `bpor`"));
    let plan = Plan { bounds: vec!["contexts=2".parse().unwrap()], ..Plan::default() };
    assert_eq!(plan.algorithm().name, "bpor");
}

/// The final states that a search shows, by the names of things and not by their numbers.
fn final_states(p: &Program, plan: &Plan, limit: u64) -> Option<std::collections::BTreeSet<String>> {
    let mut s = plan.search(Meter::unlimited()).unwrap();
    let mut states = std::collections::BTreeSet::new();
    for _ in 0..limit {
        let before = s.stats().executions;
        let mut trace = Trace::new();
        let (_, state, _, again) = execute_in(p, &mut *s, &mut trace, 400, true);
        if s.stats().executions > before {
            states.insert(state);
        }
        if !again {
            return Some(states);
        }
    }
    None
}

#[test]
fn bounded_reduction_is_right_when_objects_are_numbered_as_they_are_met() {
    let settings = settings();
    let mut compared = 0;
    for seed in 300_000..301_500u64 {
        let at = &settings[seed as usize % settings.len()];
        let p = Program { numbered: true, ..random_program(seed) };
        let Some(oracle) = final_states(&p, &plan("none", at, "all"), 300) else { continue };
        compared += 1;
        for on in ["none", "ss", "all"] {
            let seen = final_states(&p, &plan("bpor", at, on), 10_000).unwrap();
            assert_eq!(seen, oracle, "seed {seed} within {at:?} with {on}");
        }
    }
    assert!(compared >= 800, "only {compared} programs were small enough to compare");
}

#[test]
fn reduction_that_merely_leaves_out_what_is_over_the_bound_loses_states() {
    for at in
        [(Preemptions, 0), (Preemptions, 1), (Contexts, 0), (Depth, 3), (Delta, 1), (Delays, 1), (Fair, 0)]
    {
        let (mut compared, mut lost) = (0, 0);
        for seed in 400_000..400_300 {
            let p = program(seed, matches!(at.0, Fair | Delays));
            let Some(o) = oracle(&p, &[at], 300) else { continue };
            compared += 1;
            lost += (wrong_bpor(&p, &[at], "none", Mistake::Naive).sets() != o.sets()) as u64;
        }
        assert!(lost * 20 > compared, "{at:?}: only {lost} of {compared} programs tell");
    }
}
