//! One limit on preemptions after the other: `optimal` goes on from what the limit before had cut.

mod preempting;
mod support;

use explore::{Meter, Mistake, Plan, Promise, Round, mistaken};
use preempting::{Found, explore, numbered, plain, small};
use std::collections::BTreeMap;
use support::{Program, Rng, Stmt::*, execute, random_program, shrink};

fn plan(name: &str) -> Plan {
    Plan { bounds: vec!["preemptions=0..".parse().unwrap()], ..Plan::of(name).unwrap() }
}

/// What one limit after the other gave.
struct Grown {
    /// By class that was run to its end: in which round, and how often.
    classes: BTreeMap<u64, (usize, u64)>,
    rounds: Vec<Round>,
    runs: u64,
    blocked: u64,
    promise: Promise,
    finished: bool,
}

/// Runs a search within one limit after the other to the end, or for at most `limit` executions.
fn grow(p: &Program, plan: &Plan, little_room: bool, limit: u64) -> Grown {
    let mut search = if little_room {
        mistaken(plan, Mistake::LittleRoom).unwrap()
    } else {
        plan.search(Meter::unlimited()).unwrap()
    };
    let (mut classes, mut runs) = (BTreeMap::new(), 0);
    loop {
        let round = search.rounds().len();
        let (shown, again) = execute(p, &mut *search);
        runs += 1;
        assert_eq!(search.divergence(), None);
        if let Some(shown) = shown {
            classes.entry(shown.class).or_insert((round, 0)).1 += 1;
        }
        if !again || runs >= limit {
            let stats = search.stats();
            assert_eq!(stats.executions + stats.assumed + stats.blocked + stats.over_bound, runs);
            return Grown {
                classes,
                rounds: search.rounds().to_vec(),
                runs,
                blocked: stats.blocked,
                promise: search.promise(),
                finished: search.finished(),
            };
        }
    }
}

/// What is wrong with `optimal` within one limit after the other.
fn wrong_with(p: &Program, oracle: &Found, unbounded: u64) -> Option<String> {
    let grown = grow(p, &plan("optimal"), false, 1_000_000);
    if !grown.finished || grown.promise != Promise::Everything {
        return Some(format!("it ends with {:?}", grown.promise));
    }
    if grown.classes.values().any(|c| c.1 > 1) {
        return Some("a class is run twice".into());
    }
    for (i, round) in grown.rounds.iter().enumerate() {
        let within = oracle.within(round.limit);
        let known = |class: &u64| grown.classes.get(class).is_some_and(|c| c.0 <= i + 1);
        let lost = within.iter().filter(|c| !known(c)).count();
        if lost > 0 || !round.complete || round.covered != within.len() as u64 {
            return Some(format!(
                "{lost} of {} classes lost within {}: {round:?}",
                within.len(),
                round.limit
            ));
        }
        let before = i.checked_sub(1).map_or(0, |k| grown.rounds[k].covered);
        if (round.new, round.executions) != (round.covered - before, round.covered - before) {
            return Some(format!("{before} classes before {round:?}"));
        }
    }
    let last = grown.rounds.last().map_or(0, |r| r.limit);
    if last < oracle.saturation() || grown.classes.len() as u64 > unbounded {
        return Some(format!("it ends after {last}, with {} classes", grown.classes.len()));
    }
    let mut sums = SUMS.lock().unwrap();
    sums.0 += grown.runs;
    sums.1 += grown.classes.len() as u64;
    sums.2 += grown.blocked;
    // That takes longer than all the rest.
    if unbounded < 1_000 {
        let anew = grown.rounds.iter().map(|r| explore(p, "optimal", Some(r.limit), u64::MAX).explored());
        sums.3 += anew.sum::<u64>();
    }
    None
}

/// Runs, classes, blocked ones, and runs that begin anew for each limit, of all programs.
static SUMS: std::sync::Mutex<(u64, u64, u64, u64)> = std::sync::Mutex::new((0, 0, 0, 0));

fn wrong(p: &Program, too_many: u64) -> Option<String> {
    let oracle = explore(p, "none", None, too_many);
    let unbounded = explore(p, "optimal", None, 4 * too_many).explored();
    if oracle.finished { wrong_with(p, &oracle, unbounded) } else { None }
}

/// Compares it on programs from these seeds; gives how many programs were compared, and how many of them needed several rounds.
fn compare(seeds: std::ops::Range<u64>, make: fn(u64) -> Program, too_many: u64) -> (u64, u64) {
    let (mut compared, mut several) = (0, 0);
    for (seed, p, oracle, unbounded) in small(seeds, make, too_many) {
        compared += 1;
        several += (oracle.saturation() > 0) as u64;
        if wrong_with(&p, &oracle, unbounded).is_some() {
            let small = shrink(p.clone(), |q| wrong(q, too_many).is_some());
            panic!("seed {seed}: {:?}\n{small:#?}", wrong(&small, too_many));
        }
    }
    (compared, several)
}

/// Two to five threads.
fn plain_program(seed: u64) -> Program {
    let mut g = Rng(seed ^ 0x7777);
    let threads = 2 + g.below(4) as usize;
    plain(g, threads)
}

#[test]
fn each_limit_covers_the_classes_within_it_and_no_class_is_run_twice() {
    let all = [
        compare(200_000..201_500, random_program, 1_000),
        compare(0..1_500, plain_program, 2_000),
        compare(300_000..300_300, numbered, 1_000),
    ];
    let (compared, several) = all.iter().fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
    eprintln!("{:?}", SUMS.lock().unwrap());
    assert!(compared >= 1_500 && several >= 500, "only {compared} programs, {several} with several rounds");
}

#[test]
#[ignore = "takes long: 100,000 programs on demand"]
fn one_limit_after_the_other_on_100_000_programs() {
    let mut seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(2_000_000u64);
    let mut compared = 0;
    while compared < 100_000 {
        let make = [random_program, plain_program, plain_program, numbered][(seed / 500 % 4) as usize];
        compared += compare(seed..seed + 500, make, 4_000).0;
        seed += 500;
        eprintln!("{compared} programs compared, up to seed {seed}; {:?}", SUMS.lock().unwrap());
    }
}

/// Threads that add to each other.
fn fib(n: usize) -> Program {
    let side = |x: u8, y: u8| vec![vec![Read(x, 0), Read(y, 1), Write(x, 1)]; n].concat();
    Program::of(vec![side(0, 1), side(1, 0)])
}

#[test]
fn a_round_goes_on_where_the_one_before_stopped() {
    let p = fib(3);
    let all = explore(&p, "optimal", None, u64::MAX).explored();
    let grown = grow(&p, &plan("optimal"), false, u64::MAX);
    assert_eq!((grown.classes.len() as u64, grown.blocked), (all, 0));
    // Begun anew for each limit it would be all of these.
    let anew: u64 =
        grown.rounds.iter().map(|r| explore(&p, "optimal", Some(r.limit), u64::MAX).explored()).sum();
    assert!(2 * grown.runs < anew, "{} runs; {anew} begun anew", grown.runs);
}

#[test]
fn without_room_for_what_is_put_off_a_round_begins_anew() {
    let p = fib(2);
    let (room, none) =
        (grow(&p, &plan("optimal"), false, u64::MAX), grow(&p, &plan("optimal"), true, u64::MAX));
    let covered = |g: &Grown| g.rounds.iter().map(|r| (r.limit, r.covered, r.new)).collect::<Vec<_>>();
    assert_eq!(covered(&room), covered(&none));
    assert!(none.classes.values().any(|c| c.1 > 1), "nothing was run again");
    assert!(none.finished && none.promise == Promise::Everything);
}

#[test]
#[ignore = "prints how many executions it takes"]
fn what_it_takes() {
    let mut add = vec![vec![Add(0), Add(1)]; 4];
    add.truncate(4);
    let programs = [
        ("fib(3)", fib(3)),
        ("fib(4)", fib(4)),
        ("binc(4)", Program::of(add)),
        ("plain 3", Program::of(vec![vec![Read(0, 0), Write(1, 1), Read(2, 1), Write(0, 2)]; 3])),
    ];
    for (name, p) in programs {
        let all = explore(&p, "optimal", None, u64::MAX).explored();
        let start = std::time::Instant::now();
        let grown = grow(&p, &plan("optimal"), false, u64::MAX);
        let first = start.elapsed();
        let start = std::time::Instant::now();
        let anew: Vec<u64> =
            grown.rounds.iter().map(|r| explore(&p, "optimal", Some(r.limit), u64::MAX).explored()).collect();
        let second = start.elapsed();
        eprintln!(
            "{name}: {all} without a limit; {} runs in {} rounds ({first:?}); begun anew {} ({second:?}): {anew:?}",
            grown.runs,
            grown.rounds.len(),
            anew.iter().sum::<u64>(),
        );
    }
}

#[test]
fn a_step_below_which_something_is_put_off_does_not_cover_what_it_is_not_part_of() {
    // Not even at its own node: a class was lost for good.
    let p = Program::of(vec![
        vec![Write(0, 1), Cas(2, 1, 2, 1)],
        vec![Cas(1, 0, 0, 1)],
        vec![Cas(0, 0, 1, 0), IfElse(1, 1, vec![Read(0, 1)], vec![Write(0, 2)])],
        vec![IfElse(1, 1, vec![Read(2, 1)], vec![Write(2, 2)]), Cas(1, 1, 0, 0)],
    ]);
    assert_eq!(wrong(&p, 1_000_000), None);
    assert_eq!(grow(&p, &plan("optimal"), false, u64::MAX).classes.len(), 12);
}

#[test]
fn what_is_found_below_a_settled_step_may_lead_back_along_one_that_is_not() {
    // The notification is settled when thread 2 goes first, but below it thread 3 has written before thread 1 tries the lock; and below
    // the write of thread 3 something is put off. A class was lost for good.
    let p = Program::of(vec![
        vec![NotifyAll(0)],
        vec![TryCritical(0, vec![])],
        vec![Wait(0, 0), Write(0, 2)],
        vec![Write(0, 0)],
    ]);
    assert_eq!(wrong(&p, 1_000_000), None);
    assert_eq!(grow(&p, &plan("optimal"), false, u64::MAX).classes.len(), 13);
}
