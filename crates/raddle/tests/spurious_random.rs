//! Random programs with spurious wake-ups, timeouts and spurious failures, compared with brute force: all end states, whether there is a
//! deadlock, and all local states of all threads, both ways.
//!
//! `RADDLE_TEST_PROGRAMS=1000:20000 cargo test -p raddle --test spurious_random -- --ignored` compares the programs of these numbers.

mod spurious;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::{Config, LoopRule};
use spurious::Ins::{self, *};
use spurious::{
    Explored, Program, brute_force, brute_force_within, explored, is_well_formed, program, retry_program,
    shrunk, small_program, spin_program,
};

const MOST_EXECUTIONS: u64 = 6_000;

/// More options in a row than any program can tell apart.
fn exact(algorithm: &str) -> Config {
    Config::new().algorithm(algorithm).spurious(32).max_steps(300).max_executions(MOST_EXECUTIONS)
}

/// How a program compares.
#[derive(PartialEq, Eq, Debug)]
enum Compared {
    Same,
    /// The search, or brute force, did not come to its end.
    TooLarge,
    /// The text says how they differ.
    Different(String),
}

fn compare(program: &Program, config: Config) -> Compared {
    let Some(right) = brute_force(program) else { return Compared::TooLarge };
    let Explored { seen, complete, failure, report } = explored(program, config);
    let stats = &report.stats;
    let run = stats.executions + stats.blocked + stats.assumed + stats.pruned + stats.over_bound;
    // Threads that step back from each other for ever are bounded, which the report says.
    let all_rounds = report.caveats.iter().all(|c| c.kind != raddle::CaveatKind::Turns);
    let complete = complete && run + 10 < MOST_EXECUTIONS && stats.open == 0 && all_rounds;
    let unreal = seen.without(&right);
    let lost = if complete { right.without(&seen) } else { String::new() };
    let bounded = report.caveats.iter().any(|c| c.kind == raddle::CaveatKind::Spurious);
    if unreal.is_empty() && lost.is_empty() && failure.is_none() && !bounded {
        return if complete { Compared::Same } else { Compared::TooLarge };
    }
    let mut text = String::new();
    for (what, found) in [("lost", lost), ("unreal", unreal), ("failure", failure.unwrap_or_default())] {
        if !found.is_empty() {
            text += &format!("{what}:\n{found}\n");
        }
    }
    text += &format!("{:?} {:?} {:?}\n", report.verdict, report.stopped, report.stats);
    if bounded {
        text += "the bound on spurious events was reached\n";
    }
    Compared::Different(text)
}

/// Compares the programs of these numbers; says how many there were and how many were too large.
fn compare_all(seeds: std::ops::Range<u64>, config: &dyn Fn() -> Config, stop: usize) -> (u64, u64) {
    compare_each(seeds.map(|seed| (seed, program(seed))), config, stop)
}

/// The same for these programs.
fn compare_each(
    programs: impl Iterator<Item = (u64, Program)>,
    config: &dyn Fn() -> Config,
    stop: usize,
) -> (u64, u64) {
    let (mut same, mut too_large) = (0, 0);
    let mut different = Vec::new();
    for (seed, whole) in programs {
        assert!(is_well_formed(&whole), "seed {seed}: {whole:?}");
        match compare(&whole, config()) {
            Compared::Same => same += 1,
            Compared::TooLarge => too_large += 1,
            Compared::Different(how) => {
                eprintln!("seed {seed}: {whole:?}\n{how}");
                let differs = |p: &Program| matches!(compare(p, config()), Compared::Different(_));
                let small = shrunk(&whole, differs);
                let text = format!("seed {seed}: {small:?}\n{:?}", compare(&small, config()));
                eprintln!("{}", text.replace("\\n", "\n"));
                different.push(text);
                if different.len() >= stop {
                    break;
                }
            }
        }
    }
    assert!(different.is_empty(), "{} programs differ", different.len());
    (same, too_large)
}

#[test]
fn random_programs_have_exactly_the_outcomes_of_brute_force() {
    for (algorithm, seeds) in [("optimal", 0..150), ("source", 150..250)] {
        let count = seeds.end - seeds.start;
        let (same, too_large) = compare_all(seeds, &|| exact(algorithm), 1);
        assert!(too_large * 5 < count, "{algorithm}: {same} compared, {too_large} too large");
    }
}

#[test]
fn programs_with_spin_locks_have_exactly_the_outcomes_of_brute_force() {
    for (algorithm, seeds) in [("optimal", 0..24), ("source", 24..36)] {
        let count = seeds.end - seeds.start;
        let programs = seeds.map(|seed| (seed, spin_program(seed)));
        let (same, too_large) = compare_each(programs, &|| exact(algorithm), 1);
        assert!(too_large * 2 < count, "{algorithm}: {same} compared, {too_large} too large");
    }
}

/// The same with threads that are watched from their beginning.
#[test]
fn loops_that_are_cut_early_have_exactly_the_outcomes_of_brute_force() {
    for (algorithm, seeds) in [("optimal", 200..250), ("source", 320..345)] {
        let count = seeds.end - seeds.start;
        let eager = || exact(algorithm).loop_rule(LoopRule::Eager);
        let both = seeds.flat_map(|seed| [(seed, spin_program(seed)), (seed, program(seed))]);
        let (same, too_large) = compare_each(both, &eager, 1);
        assert!(too_large * 2 < count, "{algorithm}: {same} compared, {too_large} too large");
    }
}

/// The same with programs that are so small that nearly all are compared.
#[test]
fn small_programs_whose_loops_are_cut_early_have_exactly_the_outcomes_of_brute_force() {
    for (algorithm, seeds) in [("optimal", 0..100), ("source", 200..250)] {
        let count = seeds.end - seeds.start;
        let eager = || exact(algorithm).loop_rule(LoopRule::Eager);
        let programs = seeds.map(|seed| (seed, small_program(seed)));
        let (same, too_large) = compare_each(programs, &eager, 1);
        assert!(too_large * 5 < count, "{algorithm}: {same} compared, {too_large} too large");
    }
}

#[test]
#[ignore = "takes long"]
fn many_small_programs_whose_loops_are_cut_early_have_exactly_the_outcomes_of_brute_force() {
    let text = std::env::var("RADDLE_TEST_PROGRAMS").unwrap_or_else(|_| "300:5000".to_owned());
    let (from, to) = text.split_once(':').expect("FROM:TO");
    let number = |n: &str| n.parse::<u64>().expect("a number");
    for algorithm in ["optimal", "source"] {
        let eager = || exact(algorithm).loop_rule(LoopRule::Eager);
        let programs = (number(from)..number(to)).map(|seed| (seed, small_program(seed)));
        let (same, too_large) = compare_each(programs, &eager, 5);
        println!("{algorithm}: {same} compared, {too_large} too large");
    }
}

#[test]
#[ignore = "takes long"]
fn many_programs_with_spin_locks_have_exactly_the_outcomes_of_brute_force() {
    let text = std::env::var("RADDLE_TEST_PROGRAMS").unwrap_or_else(|_| "0:5000".to_owned());
    let (from, to) = text.split_once(':').expect("FROM:TO");
    let number = |n: &str| n.parse::<u64>().expect("a number");
    for algorithm in ["optimal", "source"] {
        for rule in [LoopRule::Removable, LoopRule::Eager] {
            let programs = (number(from)..number(to)).map(|seed| (seed, spin_program(seed)));
            let (same, too_large) = compare_each(programs, &|| exact(algorithm).loop_rule(rule), 5);
            println!("{algorithm}, {rule:?}: {same} compared, {too_large} too large");
        }
    }
}

#[test]
#[ignore = "takes long"]
fn many_random_programs_have_exactly_the_outcomes_of_brute_force() {
    let text = std::env::var("RADDLE_TEST_PROGRAMS").unwrap_or_else(|_| "0:10000".to_owned());
    let (from, to) = text.split_once(':').expect("FROM:TO");
    let number = |n: &str| n.parse::<u64>().expect("a number");
    let algorithms = std::env::var("RADDLE_TEST_ALGORITHMS").unwrap_or_else(|_| "optimal,source".to_owned());
    for algorithm in algorithms.split(',') {
        let (same, too_large) = compare_all(number(from)..number(to), &|| exact(algorithm), 5);
        println!("{algorithm}: {same} compared, {too_large} too large");
    }
}

/// How many programs were compared, how many of them were bounded, and how many were too large.
#[derive(Default, Debug)]
struct Counts {
    compared: u64,
    bounded: u64,
    too_large: u64,
}

/// Compares searches of the programs of these numbers, in which threads give up after so many rounds, with all interleavings under the same
/// rule. What was not bounded must be all that the program can do.
fn compare_rounds(seeds: std::ops::Range<u64>, rule: LoopRule, turns: u32, most: u64) -> Counts {
    let mut counts = Counts::default();
    let complete = |e: &Explored| e.complete && e.report.stats.open == 0;
    for seed in seeds {
        let program = retry_program(seed);
        assert!(is_well_formed(&program), "seed {seed}: {program:?}");
        let config = |algorithm: &str| exact(algorithm).loop_rule(rule).turns(turns).max_executions(most);
        let Some(right) = brute_force(&program) else { continue };
        let all = explored(&program, config("none"));
        assert_eq!(all.failure, None, "seed {seed}: {program:?}");
        let searches = ["optimal", "source", "dpor"].map(|a| (a, explored(&program, config(a))));
        for (algorithm, found) in &searches {
            assert_eq!(found.failure, None, "seed {seed}, {algorithm}: {program:?}");
            assert_eq!(found.seen.without(&right), "", "unreal, seed {seed}, {algorithm}: {program:?}");
        }
        let bounded = |e: &Explored| e.report.caveats.iter().any(|c| c.kind == raddle::CaveatKind::Turns);
        if !complete(&all) || !searches.iter().all(|(_, e)| complete(e)) {
            counts.too_large += 1;
            continue;
        }
        for (algorithm, found) in &searches {
            let about = || format!("seed {seed}, {algorithm}: {program:?}");
            assert_eq!(all.seen.without(&found.seen), "", "lost, {}", about());
            // Rounds by place leave other executions in other orders of independent steps, as the runtime's `cycles.rs` says. So a search may see an
            // outcome that all interleavings under the rule do not have. It is one that the program has without the rule: `right` was asked above.
            if rule != LoopRule::RoundsByPlace {
                assert_eq!(
                    found.seen.without(&all.seen),
                    "",
                    "more than with all interleavings, {}",
                    about()
                );
            }
            assert!(
                bounded(found) || right.without(&found.seen).is_empty(),
                "lost without a caveat, {}",
                about()
            );
        }
        counts.compared += 1;
        counts.bounded += bounded(&all) as u64;
    }
    counts
}

#[test]
fn bounded_rounds_are_the_same_in_all_interleavings() {
    let counts = compare_rounds(0..60, LoopRule::Eager, 1, 15_000);
    assert!(counts.compared > 30 && counts.bounded > 15, "{counts:?}");
}

#[test]
fn rounds_that_are_counted_by_place_lose_nothing_without_a_caveat() {
    let counts = compare_rounds(0..40, LoopRule::RoundsByPlace, 1, 15_000);
    assert!(counts.compared > 20 && counts.bounded > 15, "{counts:?}");
    // A program of which searches once had more outcomes than all interleavings under the rule.
    compare_rounds(600_890..600_891, LoopRule::RoundsByPlace, 1, 15_000);
}

#[test]
#[ignore = "takes long"]
fn bounded_rounds_are_the_same_in_all_interleavings_of_many_programs() {
    let text = std::env::var("RADDLE_TEST_PROGRAMS").unwrap_or_else(|_| "0:3000".to_owned());
    let (from, to) = text.split_once(':').expect("FROM:TO");
    let number = |n: &str| n.parse::<u64>().expect("a number");
    for (rule, turns) in [(LoopRule::Eager, 1), (LoopRule::Eager, 2), (LoopRule::RoundsByPlace, 1)] {
        println!("{rule:?}, {turns}: {:?}", compare_rounds(number(from)..number(to), rule, turns, 50_000));
    }
}

/// Compares the programs of these numbers within a number of preemptions: nothing may be missing, and nothing may be unreal.
fn compare_within(preemptions: u32, seeds: std::ops::Range<u64>, algorithm: &str) -> (u64, u64) {
    let (mut same, mut too_large) = (0, 0);
    for seed in seeds {
        let program = program(seed);
        // The threads start together only where none has to know the others.
        if program.iter().flatten().any(|i| matches!(i, Unpark(_))) {
            continue;
        }
        let (Some(all), Some(within)) = (brute_force(&program), brute_force_within(&program, preemptions))
        else {
            too_large += 1;
            continue;
        };
        let config = exact(algorithm).bound(&format!("preemptions={preemptions}"));
        let Explored { seen, failure, report, .. } = explored(&program, config);
        assert_eq!(failure, None, "seed {seed}: {program:?}");
        assert_eq!(seen.without(&all), "", "unreal, seed {seed}: {program:?}");
        let stats = &report.stats;
        let run = stats.executions + stats.blocked + stats.assumed + stats.pruned + stats.over_bound;
        if report.stopped.is_some() || stats.open > 0 || run + 10 >= MOST_EXECUTIONS {
            too_large += 1;
            continue;
        }
        let lost = within.without(&seen);
        assert_eq!(lost, "", "lost, seed {seed}: {program:?} {stats:?}");
        same += 1;
    }
    (same, too_large)
}

#[test]
fn nothing_is_lost_within_a_number_of_preemptions() {
    for preemptions in [0, 1, 2] {
        let (same, too_large) = compare_within(preemptions, 0..100, "bpor");
        assert!(too_large * 5 < same, "{preemptions}: {same} compared, {too_large} too large");
    }
}

#[test]
#[ignore = "takes long"]
fn nothing_is_lost_in_many_programs_within_a_number_of_preemptions() {
    for preemptions in [0, 1, 2] {
        println!("{preemptions}: {:?} compared, too large", compare_within(preemptions, 100..2000, "bpor"));
    }
}

// ---------------------------------------------------------------------------------------------------------------------------
// Wrong rules, and the smallest programs that tell them from the right one.

/// Numbers of random programs that a wrong rule gets wrong.
fn caught(rule: LoopRule, seeds: std::ops::Range<u64>) -> Vec<u64> {
    let differs = |seed: &u64| {
        let config = exact("source").loop_rule(rule);
        matches!(compare(&program(*seed), config), Compared::Different(_))
    };
    seeds.filter(differs).collect()
}

#[test]
fn random_programs_catch_wrong_rules() {
    for (rule, seed) in WITNESSES {
        assert_eq!(caught(rule, seed..seed + 1), [seed], "{rule:?}");
    }
}

const WRONG: [LoopRule; 9] = [
    LoopRule::OneInARow,
    LoopRule::LooksOnly,
    LoopRule::SamePlace,
    LoopRule::OwnChangesIgnored,
    LoopRule::LooksOfOthersIgnored,
    LoopRule::PhaseIgnored,
    LoopRule::EndsExecution,
    LoopRule::UndoesCycles,
    LoopRule::RepeatedState,
];

/// A number of a random program for each rule that some of the first catch. The others are caught by the programs below.
const WITNESSES: [(LoopRule, u64); 6] = [
    (LoopRule::OneInARow, 0),
    (LoopRule::LooksOnly, 0),
    (LoopRule::SamePlace, 0),
    (LoopRule::EndsExecution, 19),
    (LoopRule::UndoesCycles, 19),
    (LoopRule::RepeatedState, 7),
];

#[test]
#[ignore = "takes long"]
fn how_many_random_programs_catch_a_wrong_rule() {
    let text = std::env::var("RADDLE_TEST_PROGRAMS").unwrap_or_else(|_| "0:300".to_owned());
    let (from, to) = text.split_once(':').expect("FROM:TO");
    let number = |n: &str| n.parse::<u64>().expect("a number");
    for rule in WRONG.into_iter().rev() {
        let caught = caught(rule, number(from)..number(to));
        println!("{rule:?}: {}, {:?}", caught.len(), &caught[..caught.len().min(8)]);
    }
}

/// A program, and the wrong rule that it tells from the right one.
fn tells(name: &str, program: Vec<Vec<Ins>>, rule: LoopRule) {
    assert!(is_well_formed(&program), "{name}");
    for algorithm in ["optimal", "source"] {
        assert_eq!(compare(&program, exact(algorithm)), Compared::Same, "{name}, {algorithm}");
    }
    let wrong = compare(&program, exact("optimal").loop_rule(rule));
    assert!(matches!(wrong, Compared::Different(_)), "{name}: {rule:?} is not caught: {wrong:?}");
}

#[test]
fn trap_1_failures_that_are_counted() {
    // n = 0; while (!cas_weak(x, 0, 1)) if (++n == 3) break;
    let t = vec![Set(1, 0), WeakCas(0, 0, 0, 1), IfNot(0, 0, 6), Count(1), If(1, 3, 6), Jump(1)];
    let seen = explored(&vec![t.clone()], exact("optimal")).seen;
    assert_eq!(seen.ends.iter().map(|e| e.1[0][1]).collect::<Vec<_>>(), [3, 0, 1, 2]);
    tells("counted failures", vec![t], LoopRule::OneInARow);
}

#[test]
fn trap_2_waits_that_are_counted() {
    // for (n = 0; n < 3 && !ready; n++) wait(c, m);
    let t = vec![Lock, Set(1, 0), Load(0, 0), IfNot(0, 0, 8), If(1, 3, 8), Wait, Count(1), Jump(2), Unlock];
    tells("counted waits", vec![t], LoopRule::SamePlace);
}

#[test]
fn trap_3_a_notification_that_is_lost() {
    // T: lock m; while (!f) { wait(c, m); r = 1; } unlock m.  U: await r; lock m; unlock m; f = 1; notify c.
    let t = vec![Lock, Load(0, 0), IfNot(0, 0, 6), Wait, Store(1, 1), Jump(1), Unlock];
    let u = vec![Load(0, 1), If(0, 0, 0), Lock, Unlock, Store(0, 1), Notify(true)];
    let both = vec![t, u];
    assert!(explored(&both, exact("optimal")).seen.deadlock);
    tells("lost notification", both, LoopRule::LooksOfOthersIgnored);
}

#[test]
fn trap_4_writes_that_another_thread_reads() {
    // T: while (!cas_weak(x, 0, 1)) y = 1.  U waits for y and takes it back, three times.
    let t = vec![WeakCas(0, 0, 0, 1), IfNot(0, 0, 4), Store(1, 1), Jump(0)];
    let u = (0..3).flat_map(|n| [Load(0, 1), If(0, 0, 3 * n), Store(1, 0)]).collect();
    tells("writes that are read", vec![t, u], LoopRule::OwnChangesIgnored);
}

#[test]
fn trap_5_the_others_continue() {
    // T: while (!cas_weak(x, 0, 1)) if (y) { z = 2; break; }  U: y = 1.
    let t = vec![WeakCas(0, 0, 0, 1), IfNot(0, 0, 5), Load(0, 1), If(0, 0, 0), Store(2, 2)];
    assert_eq!(compare(&vec![t, vec![Store(1, 1)]], exact("source")), Compared::Same);
    // T: while (!y) { x = 1; x = 0; }  U: y = 1.
    let t = vec![Load(0, 1), IfNot(0, 0, 5), Store(0, 1), Store(0, 0), Jump(0)];
    let both = vec![t, vec![Store(1, 1)]];
    tells("others continue", both.clone(), LoopRule::EndsExecution);
    tells("others continue", both, LoopRule::UndoesCycles);
}

#[test]
fn a_timeout_after_a_notification_is_not_the_notification() {
    // T waits with a limit until it times out. V says that it waits. U notifies one of them when T has waited once and V waits. If T takes
    // the notification and then times out, V waits for ever.
    let t = vec![Lock, WaitTimed(0), Store(2, 1), If(0, 0, 1), Unlock];
    let v = vec![Lock, Store(0, 1), Wait, Unlock];
    let u = vec![Load(0, 0), If(0, 0, 0), Load(0, 2), If(0, 0, 2), Lock, Notify(false), Unlock];
    tells("timeout after notification", vec![t, v, u], LoopRule::PhaseIgnored);
}

#[test]
fn failures_of_a_weak_compare_exchange_that_is_tried_again_are_pruned() {
    // Where a thread writes to its frame for the first time between two attempts, one failure may be told from none, and no more. Of a
    // failure f and a success s of each of two threads there are these orders: s, s: 2. f s, s: 3, twice. f s, f s: 4.
    for (threads, executions) in [(1, 1..=2), (2, 2..=2 + 3 + 3 + 4)] {
        let t = vec![WeakCas(0, 0, 0, 0), If(0, 0, 0)];
        let report = explored(&vec![t; threads], exact("optimal")).report;
        assert!(executions.contains(&report.stats.executions), "{threads} threads: {:?}", report.stats);
    }
}

/// Threads that increment by a compare-exchange, which they try until it succeeds.
fn increments(threads: usize, weak: bool) {
    let x = Arc::new(AtomicUsize::new(0));
    let increment = move |x: &AtomicUsize| {
        let mut seen = x.load(SeqCst);
        loop {
            let tried = if weak {
                x.compare_exchange_weak(seen, seen + 1, SeqCst, SeqCst)
            } else {
                x.compare_exchange(seen, seen + 1, SeqCst, SeqCst)
            };
            match tried {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
    };
    let all: Vec<_> = (0..threads)
        .map(|_| {
            let x = x.clone();
            raddle::thread::spawn(move || increment(&x))
        })
        .collect();
    all.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(x.load(SeqCst), threads);
}

#[test]
fn a_weak_compare_exchange_that_is_tried_again_costs_no_more_than_a_strong_one() {
    for algorithm in ["optimal", "source", "dpor"] {
        for (threads, most) in [(1, 1), (2, 4), (3, 48)] {
            let config = || Config::new().algorithm(algorithm).quiet(true);
            let strong = config().run(move || increments(threads, false));
            let weak = config().run(move || increments(threads, true));
            assert_eq!(weak.verdict, raddle::Verdict::Verified, "{weak:?}");
            assert_eq!(weak.stats.executions, strong.stats.executions, "{algorithm}: {:?}", weak.stats);
            assert!(algorithm != "optimal" || strong.stats.executions == most, "{:?}", strong.stats);
        }
    }
}

#[test]
fn a_counted_spurious_failure_is_not_undone() {
    // The thread gives up after a failure, or counts it: both are seen.
    for (most, executions) in [(1, 2), (2, 3), (3, 4)] {
        let report = Config::new().quiet(true).spurious(8).run(move || {
            let (x, mut failures) = (AtomicUsize::new(0), 0);
            while failures < most && x.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_err() {
                failures += 1;
            }
            assert_eq!(x.load(SeqCst), (failures < most) as usize);
        });
        assert_eq!(report.stats.executions, executions, "{:?}", report.stats);
    }
}

#[test]
fn trap_6_a_repeated_state_of_all_threads_does_not_end_an_execution() {
    // T: while (!f) { x ^= 1; }  U: f = 1.
    let t = vec![Load(0, 2), IfNot(0, 0, 4), Toggle(0, 0), Jump(0)];
    tells("repeated state", vec![t, vec![Store(2, 1)]], LoopRule::RepeatedState);
    // T: while (!f) x ^= 1.  U: while (!x) { y = 1; y = 0; } f = 1.
    let t = vec![Load(0, 2), IfNot(0, 0, 4), Toggle(0, 0), Jump(0)];
    let u = vec![Load(0, 0), IfNot(0, 0, 5), Store(1, 1), Store(1, 0), Jump(0), Store(2, 1)];
    for algorithm in ["optimal", "source"] {
        let compared = compare(&vec![t.clone(), u.clone()], exact(algorithm));
        assert_eq!(compared, Compared::Same, "{algorithm}");
    }
}
