//! Time to the bug.

use crate::table::{aligned, short};
use crate::{Effort, Skipped, known};
use examples::{Example, Variant};
use raddle::Plan;
use serde::Serialize;
use std::time::Duration;

/// The searches, and whether they are random: those are run with several seeds.
const PLANS: [(&str, bool); 12] = [
    ("optimal", false),
    ("dpor", false),
    ("best-first=preemptions", false),
    ("best-first=random", true),
    ("@preemptions=0..", false),
    ("optimal@preemptions=0..", false),
    ("random", true),
    ("pct=3", true),
    ("pos", true),
    ("urw", true),
    ("portfolio", true),
    ("epor", false),
];

/// What one search did with one bug.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cell {
    plan: &'static str,
    bug: &'static str,
    size: usize,
    seeds: u64,
    /// In how many of the runs the bug was found.
    found: u64,
    /// The mean over all runs; one that did not find the bug counts with all that it ran, so that this is a lower bound then.
    executions: f64,
    cpu_milliseconds: f64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Bugs {
    most_executions: u64,
    cells: Vec<Cell>,
    skipped: Vec<Skipped>,
}

/// Measures these searches, or all if there are none.
pub(crate) fn run(effort: Effort, only: &[String], mut progress: impl FnMut(&str)) -> Bugs {
    let (mut cells, mut skipped) = (Vec::new(), Vec::new());
    for (text, random) in PLANS {
        if !only.is_empty() && !only.iter().any(|o| o == text.trim_start_matches('@')) {
            continue;
        }
        let plan = match known(text) {
            Ok(plan) => plan,
            Err(why) => {
                skipped.push(why);
                continue;
            }
        };
        for example in examples::all().iter().filter(|e| e.bug.is_some()) {
            match measure(&plan, example, if random { effort.seeds } else { 1 }, effort) {
                Ok(cell) => cells.push(Cell { plan: text, ..cell }),
                Err(why) => skipped.push(Skipped { plan: format!("{text} on {}", example.name), why }),
            }
        }
        progress(text);
    }
    Bugs { most_executions: effort.executions, cells, skipped }
}

fn measure(plan: &Plan, example: &Example, seeds: u64, effort: Effort) -> Result<Cell, String> {
    let (mut found, mut executions, mut seconds) = (0, 0, 0.0);
    for seed in 1..=seeds {
        let plan = Plan { seed, ..plan.clone() };
        let config = example
            .config()
            .max_executions(effort.executions)
            .max_time(Duration::from_secs_f64(effort.seconds));
        let row = config
            .measure(&plan, example.program(example.large, Variant::Buggy))
            .map_err(|e| e.to_string())?;
        if let Some(failure) = &row.failure {
            let expected = example.bug.map(|b| b.name());
            if Some(failure.kind.name()) != expected {
                return Err(format!("found {} instead: {}", failure.kind.name(), failure.message));
            }
            found += 1;
        }
        executions += row.runs;
        seconds += row.cpu_seconds;
    }
    Ok(Cell {
        plan: "",
        bug: example.name,
        size: example.large,
        seeds,
        found,
        executions: executions as f64 / seeds as f64,
        cpu_milliseconds: seconds * 1e3 / seeds as f64,
    })
}

type Value = fn(&Cell) -> f64;

pub(crate) fn text(bugs: &Bugs) -> String {
    let tables: [(&str, Value); 2] = [
        ("Executions to the bug", |c| c.executions),
        ("CPU milliseconds to the bug", |c| c.cpu_milliseconds),
    ];
    let mut out = String::new();
    for (title, value) in tables {
        out.push_str(&format!(
            "{title}, at most {} executions; `>` where some run did not find it, and `-` where none did:\n\n",
            bugs.most_executions
        ));
        let names: Vec<&Example> = examples::all().iter().filter(|e| e.bug.is_some()).collect();
        let mut rows = vec![std::iter::once("search".to_owned()).collect::<Vec<_>>()];
        rows[0].extend(names.iter().map(|e| format!("{}({})", e.name, e.large)));
        rows[0].push("found".to_owned());
        for (plan, _) in PLANS {
            let of = |e: &Example| bugs.cells.iter().find(|c| c.plan == plan && c.bug == e.name);
            if !bugs.cells.iter().any(|c| c.plan == plan) {
                continue;
            }
            let mut row = vec![plan.trim_start_matches('@').to_owned()];
            row.extend(names.iter().map(|e| match of(e) {
                None => "?".to_owned(),
                Some(c) if c.found == 0 => "-".to_owned(),
                Some(c) if c.found < c.seeds => format!(">{}", short(value(c))),
                Some(c) => short(value(c)),
            }));
            let found = names.iter().filter(|e| of(e).is_some_and(|c| c.found == c.seeds)).count();
            row.push(format!("{found}/{}", names.len()));
            rows.push(row);
        }
        out.push_str(&aligned(&rows));
        out.push('\n');
    }
    for s in &bugs.skipped {
        out.push_str(&format!("left out: {}: {}\n", s.plan, s.why));
    }
    out.push('\n');
    out
}
