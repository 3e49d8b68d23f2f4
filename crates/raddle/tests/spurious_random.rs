//! Random programs with spurious wake-ups, timeouts and spurious failures, compared with brute force: all end states, whether there is a
//! deadlock, and all local states of all threads, both ways.
//!
//! `RADDLE_TEST_PROGRAMS=1000:20000 cargo test -p raddle --test spurious_random -- --ignored` compares the programs of these numbers.

mod spurious;

use raddle::Config;
use spurious::{Explored, Program, brute_force, explored, is_well_formed, program, shrunk};

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
    let complete = complete && run + 10 < MOST_EXECUTIONS && stats.open == 0;
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
    let (mut same, mut too_large) = (0, 0);
    let mut different = Vec::new();
    for seed in seeds {
        let whole = program(seed);
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
