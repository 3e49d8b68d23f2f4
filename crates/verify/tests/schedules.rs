//! Schedules of random programs stand up to being run, state by state; and there are none where there can be none.

#[path = "support/contended.rs"]
mod contended;
#[path = "support/game.rs"]
mod game;
mod support;

use contended::random_program;
use game::{Game, run_in_sections, run_under};
use std::ops::ControlFlow;
use support::{read, stands};
use verify::{Budget, Event, Options, Schedule, Sections, check_schedule, schedules};

/// How often each answer came.
#[derive(Debug, Default)]
struct Tally {
    safe: u32,
    partially: u32,
    wrong: u32,
    unknown: u32,
    schedules: u32,
    /// There is a fair scheduler that sees what a schedule does, and none was found.
    missed: u32,
}

fn compare(seeds: std::ops::Range<u64>, most: usize) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let text = random_program(seed);
        let p = read(&text);
        for deadlocks in [false, true] {
            let Some(game) = Game::of(&p, deadlocks, 3000) else { continue };
            let (won, fairly) = (game.is_won(), game.is_won_fairly());
            assert!(won || !fairly);
            // What a schedule cannot see it cannot make use of.
            let blindly = Game::without_values(&p, deadlocks, 3000).map(|g| g.is_won_fairly());
            assert!(fairly || blindly != Some(true));
            // Where every fair schedule leaves somebody waiting the search for one takes all that it has: some are enough.
            if deadlocks && !fairly && seed % 10 != 0 {
                continue;
            }
            let what = format!("seed {seed}, deadlocks: {deadlocks}\n{text}\n{p}");
            let budget = Budget { seconds: None, work: Some(16_000) };
            let options = Options { deadlocks, budget };
            let mut seen: Vec<Schedule> = Vec::new();
            let found = schedules(&p, &options, most, &mut |event| {
                if let Event::Schedule { schedule, .. } = event {
                    seen.push(schedule.clone());
                }
                ControlFlow::Continue(())
            });
            stands(&p, &options, &found.outcome);
            assert_eq!(found.schedules, seen.len());
            for s in &seen {
                check_schedule(&p, s).unwrap_or_else(|e| panic!("{e}: {what}"));
                run_under(&p, s, 200_000);
                run_in_sections(&p, &Sections::of(&p, s), 400_000);
                assert!(fairly, "no schedule can be fair and safe, but here is one: {what}");
                assert_ne!(blindly, Some(false), "one that sees no values cannot, but here is one: {what}");
            }
            tally.schedules += seen.len() as u32;
            let reach = model::Reach { most: 200_000, ..model::Reach::default() };
            let reach = reach.search(&model::Interpreter::new(&p)).unwrap();
            let goes_wrong = reach.errors > 0 || deadlocks && game.bad.contains(&true);
            match found.outcome.verdict.name() {
                "safe" => {
                    assert!(!goes_wrong, "it finds nothing: {what}");
                    tally.safe += 1;
                    if blindly.unwrap_or(fairly) && seen.is_empty() {
                        tally.missed += 1;
                        println!("missed: {what}");
                    }
                }
                "partially-safe" => {
                    assert!(goes_wrong, "it finds something: {what}");
                    assert!(!seen.is_empty());
                    tally.partially += 1;
                }
                "unsafe" => {
                    assert!(goes_wrong, "it finds something: {what}");
                    assert!(seen.is_empty(), "there is a schedule: {what}");
                    tally.wrong += 1;
                    if blindly.unwrap_or(fairly) {
                        tally.missed += 1;
                        println!("missed: {what}");
                    }
                }
                _ => {
                    tally.unknown += 1;
                    println!("unknown: {what}");
                }
            }
        }
    }
    tally
}

#[test]
fn schedules_of_random_programs_stand_up_to_being_run_and_are_found_where_there_are_any() {
    let t = compare(0..150, 3);
    println!("{t:?}");
    assert!(t.safe > 100 && t.partially > 30 && t.wrong > 10, "all answers occur: {t:?}");
    assert!(t.schedules > 300, "{t:?}");
    assert!(t.missed == 0 && t.unknown == 0, "all are found: {t:?}");
}

/// The seeds that the environment names, as in `SEEDS=50000..50300`, or these.
fn seeds(usual: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(named) = std::env::var("SEEDS") else { return usual };
    let (from, to) = named.split_once("..").expect("SEEDS is a range");
    from.parse().expect("a number")..to.parse().expect("a number")
}

#[test]
#[ignore = "long: thousands of programs"]
fn schedules_of_thousands_of_programs_stand_up_to_being_run() {
    let seeds = seeds(10_000..13_000);
    let many = seeds.end - seeds.start;
    let t = compare(seeds, 3);
    println!("{t:?}");
    // The search for one ends at some time.
    assert!(u64::from(t.missed + t.unknown) * 30 <= many, "most are found: {t:?}");
}
