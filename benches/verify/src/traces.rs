//! Eager search (EPOR) on automata against source sets, as in the tables of Metzler (2020), chapter 3 and appendix A: C text, made
//! automata, run by the interpreter.

#[path = "../../../crates/model/tests/support/metzler.rs"]
mod metzler;

use crate::usage::cpu_seconds;
use explore::{Meter, Plan, Stats};
use metzler::ROWS;

/// One search: what it counted, and its seconds.
fn search(text: &str, algorithm: &str) -> (Stats, f64) {
    let p = model::read_text("program.c", text, &model::Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let runner = model::Runner::new(&p).unwrap_or_else(|e| panic!("{e}"));
    let mut search = Plan::of(algorithm).expect("an algorithm").search(Meter::unlimited()).expect("a search");
    let start = cpu_seconds();
    let seen = runner.search(&mut *search, u64::MAX).unwrap_or_else(|e| panic!("{e}"));
    assert!(seen.finished, "{algorithm} finishes");
    (seen.stats, cpu_seconds() - start)
}

/// The table.
pub(crate) fn table(large: bool) {
    println!(
        "| program | classes | algorithm | executions | race checks | paper | dependency checks | paper | seconds | paper |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for row in ROWS.iter().filter(|r| large || r.classes <= 10_000) {
        let text = metzler::program(row.program, row.size);
        for (i, (name, algorithm)) in
            [("source", "source"), ("EPOR", "epor"), ("EPOR-SH", "epor-sh")].iter().enumerate()
        {
            let (stats, seconds) = search(&text, algorithm);
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
                "| {first} | {classes} | {name} | {}{note} | {} | {} | {} | {} | {seconds:.3} | {} |",
                stats.executions,
                stats.race_checks,
                paper(races),
                // Source sets ask the clocks of events, not pairs of steps.
                if i == 0 { "–".to_owned() } else { stats.dependency_checks.to_string() },
                paper(dependencies),
                paper(time),
            );
        }
    }
}
