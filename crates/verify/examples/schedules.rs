//! The table of the thesis on iterative Impact (4.1), run here: CPU time to the first schedule and to the complete verdict, the
//! checks of schedules and proofs included. `cargo run --release -p raddle-verify --example schedules`; with words, the rows that
//! contain one of them, or C files.

#[path = "../tests/support/mod.rs"]
mod support;
#[path = "../tests/support/thesis.rs"]
mod thesis;

use std::ops::ControlFlow;
use support::{producer_consumer, read};
use verify::{Budget, Event, Options, Verdict, check, schedules};

/// Seconds of CPU time of this thread so far (Linux), else 0.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn main() {
    let rows = [
        ("prod.-cons. 1p1c 1000", producer_consumer(1, 1, 1000), "2 m 0 s", "over 72 h"),
        ("prod.-cons. 2p2c 1000", producer_consumer(2, 2, 1000), "23 m 47 s", "over 72 h"),
        ("prod.-cons. 4p4c 1000", producer_consumer(4, 4, 1000), "4 h 29 m 53 s", "over 72 h"),
        ("prod.-cons. 1p1c 5", producer_consumer(1, 1, 5), "2 s", "2 m 28 s"),
        ("prod.-cons. 2p2c 5", producer_consumer(2, 2, 5), "18 s", "1 m 16 s"),
        ("prod.-cons. 4p4c 5", producer_consumer(4, 4, 5), "2 m 41 s", "9 m 44 s"),
        ("double lock", thesis::double_lock(true), "0 s", "0 s"),
        ("file system", thesis::file_system(), "0 s", "0 s"),
        ("barrier, ring of 2", thesis::ring(2), "1 s", "4 m 14 s"),
        ("barrier, ring of 3", thesis::ring(3), "-", "-"),
        ("prod.-cons., Fig. 4.2, 5", thesis::overflowing(5), "-", "-"),
        ("prod.-cons., Fig. 4.2, 1000", thesis::overflowing(1000), "-", "-"),
        ("race, Fig. 4.12, 2p2c 5", thesis::racy(2, 2, 5), "-", "-"),
        ("double lock, Fig. 4.10", thesis::double_lock(false), "-", "-"),
        ("declared, Fig. 4.15a", thesis::declared(true), "-", "-"),
        ("declared, Fig. 4.15b", thesis::declared(false), "-", "-"),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "| program | verdict | first schedule | its nodes | complete | nodes | paper: first | paper: complete |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut programs: Vec<(String, model::Program, &str, &str)> = Vec::new();
    for (name, text, first, complete) in rows {
        if wanted.is_empty() || wanted.iter().any(|w| name.contains(&w[..])) {
            programs.push((name.to_owned(), read(&text), first, complete));
        }
    }
    for file in wanted.iter().filter(|w| w.ends_with(".c")) {
        match model::read_file(std::path::Path::new(file), &model::Options::default()) {
            Ok(p) => programs.push((file.clone(), p, "-", "-")),
            Err(why) => eprintln!("{why}"),
        }
    }
    for (name, program, first_then, complete_then) in programs {
        let deadlocks = name.contains("4.10") || name.contains("4.15");
        let options = Options { deadlocks, budget: Budget { seconds: Some(60.0), work: None } };
        let start = cpu();
        let mut first = None;
        let found = schedules(&program, &options, 1, &mut |event| {
            if let Event::Schedule { schedule, .. } = event {
                first.get_or_insert((cpu() - start, schedule.nodes.len()));
            }
            ControlFlow::Continue(())
        });
        let mut word = found.outcome.verdict.name().to_owned();
        match &found.outcome.verdict {
            Verdict::Safe(proof) => {
                if let Err(why) = check(&program, &options, proof) {
                    word = why.to_string();
                }
            }
            Verdict::Unknown(why) => word = format!("unknown: {why}"),
            _ => {}
        }
        let all = cpu() - start;
        let (first, size) = first.map_or(("-".to_owned(), 0), |(s, n)| (format!("{s:.2} s"), n));
        let nodes = found.outcome.count("nodes").unwrap_or(0);
        println!(
            "| {name} | {word} | {first} | {size} | {all:.2} s | {nodes} | {first_then} | {complete_then} |"
        );
    }
}
