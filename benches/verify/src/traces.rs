//! Eager search (EPOR) on automata against source sets, as in the tables of Metzler (2020), chapter 3 and appendix A: C text, made
//! automata, run by the interpreter.

#[path = "../../../crates/model/tests/support/metzler.rs"]
mod metzler;

use crate::usage::cpu_seconds;
use explore::{Meter, Plan, Stats};
use metzler::ROWS;

const ALGORITHMS: [(&str, &str); 3] = [("source", "source"), ("EPOR", "epor"), ("EPOR-SH", "epor-sh")];

/// Short searches are done again until they took so many seconds together.
const LONG_ENOUGH: f64 = 1.0;

/// What each algorithm counted, and its seconds: the least of several searches, one algorithm after the other, as what else the machine
/// does adds to some of them.
fn searches(text: &str) -> [(Stats, f64); 3] {
    let p = model::read_text("program.c", text, &model::Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let mut best: [Option<(Stats, f64)>; 3] = [const { None }; 3];
    let first = cpu_seconds();
    while best[0].is_none() || cpu_seconds() - first < LONG_ENOUGH {
        for ((_, algorithm), best) in ALGORITHMS.iter().zip(&mut best) {
            let runner = model::Runner::new(&p).unwrap_or_else(|e| panic!("{e}"));
            let mut search =
                Plan::of(algorithm).expect("an algorithm").search(Meter::unlimited()).expect("a search");
            let start = cpu_seconds();
            let seen = runner.search(&mut *search, u64::MAX).unwrap_or_else(|e| panic!("{e}"));
            let seconds = cpu_seconds() - start;
            assert!(seen.finished, "{algorithm} finishes");
            if best.as_ref().is_none_or(|b| seconds < b.1) {
                *best = Some((seen.stats, seconds));
            }
        }
    }
    best.map(|b| b.expect("each was searched"))
}

/// The dependency checks of source sets without clocks, as the thesis counts them.
fn pairwise(text: &str) -> u64 {
    let p = model::read_text("program.c", text, &model::Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let plan = Plan { pairwise: true, ..Plan::of("source").expect("an algorithm") };
    let mut search = plan.search(Meter::unlimited()).expect("a search");
    let runner = model::Runner::new(&p).unwrap_or_else(|e| panic!("{e}"));
    runner.search(&mut *search, u64::MAX).unwrap_or_else(|e| panic!("{e}")).stats.dependency_checks
}

/// The table.
pub(crate) fn table(large: bool) {
    println!(
        "| program | classes | algorithm | executions | race checks | paper | dependency checks | paper | seconds | paper |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for row in ROWS.iter().filter(|r| large || r.classes <= 10_000) {
        let text = metzler::program(row.program, row.size);
        let found = searches(&text);
        for (i, ((name, _), (stats, seconds))) in ALGORITHMS.iter().zip(found).enumerate() {
            let [time, traces, dependencies, races] = row.paper[i];
            assert!(stats.executions <= row.classes, "never more executions than classes");
            let paper = |n: f64| if n.is_nan() { "–".to_owned() } else { format!("{n}") };
            let first = if i == 0 { format!("{} ({})", row.name, row.size) } else { String::new() };
            let classes = if i == 0 { row.classes.to_string() } else { String::new() };
            // What the paper counted where it is not the number of classes.
            let note = if traces.is_nan() || traces == row.classes as f64 {
                String::new()
            } else {
                format!(" (paper: {traces})")
            };
            println!(
                "| {first} | {classes} | {name} | {}{note} | {} | {} | {} | {} | {seconds:.4} | {} |",
                stats.executions,
                stats.race_checks,
                paper(races),
                if i == 0 { pairwise(&text) } else { stats.dependency_checks },
                // For this size alone.
                paper(dependencies - row.before[i]),
                paper(time),
            );
        }
    }
}
