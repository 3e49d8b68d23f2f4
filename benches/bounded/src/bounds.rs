//! What it costs to search within a number of preemptions.

use crate::table::{aligned, short};
use crate::{Effort, Skipped, known};
use examples::Variant;
use raddle::Verdict;
use serde::Serialize;
use std::time::Duration;

const PROGRAMS: [(&str, usize); 7] = [
    ("readers", 8),
    ("filesystem", 14),
    ("indexer", 12),
    ("fib", 3),
    ("lastzero", 5),
    ("mutex", 4),
    ("mutex", 7),
];
const ALGORITHMS: [&str; 6] = ["none", "bpor-base", "bpor", "source-bpor", "lazy-bpor", "optimal"];
const MOST_PREEMPTIONS: u32 = 4;

/// What one search took.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cell {
    program: String,
    algorithm: &'static str,
    /// `None` is no bound.
    preemptions: Option<u32>,
    /// Whether it ran to its end; if not, the numbers are those at which it stopped.
    complete: bool,
    executions: u64,
    blocked: u64,
    over_bound: u64,
    cpu_milliseconds: f64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Bounds {
    most_seconds: f64,
    cells: Vec<Cell>,
    skipped: Vec<Skipped>,
}

pub(crate) fn run(effort: Effort, mut progress: impl FnMut(&str)) -> Bounds {
    let (mut cells, mut skipped): (Vec<Cell>, Vec<Skipped>) = (Vec::new(), Vec::new());
    for (name, size) in PROGRAMS {
        let Some(example) = examples::example(name) else { continue };
        let program = format!("{name}({size})");
        for algorithm in ALGORITHMS {
            let bounds = (0..=MOST_PREEMPTIONS).map(Some);
            // Without a bound, only the search that all are compared with.
            for preemptions in bounds.chain((algorithm == "optimal").then_some(None)) {
                let text = match preemptions {
                    Some(k) => format!("{algorithm}@preemptions={k}"),
                    None => algorithm.to_owned(),
                };
                let plan = match known(&text) {
                    Ok(plan) => plan,
                    Err(why) => {
                        let why = Skipped { plan: format!("{algorithm} within preemptions"), ..why };
                        if !skipped.iter().any(|s| s.plan == why.plan) {
                            skipped.push(why);
                        }
                        continue;
                    }
                };
                let config = example.config().max_time(Duration::from_secs_f64(effort.seconds));
                match config.measure(&plan, example.program(size, Variant::Correct)) {
                    Ok(row) => cells.push(Cell {
                        program: program.clone(),
                        algorithm,
                        preemptions,
                        complete: !matches!(row.verdict, Verdict::Failure | Verdict::Incomplete),
                        executions: row.stats.executions,
                        blocked: row.stats.blocked,
                        over_bound: row.stats.over_bound,
                        cpu_milliseconds: row.cpu_seconds * 1e3,
                    }),
                    Err(e) => skipped.push(Skipped { plan: text, why: e.to_string() }),
                }
                // A larger bound only has more to see.
                if cells.last().is_some_and(|c| !c.complete && c.preemptions.is_some())
                    && algorithm != "optimal"
                {
                    break;
                }
            }
        }
        progress(&program);
    }
    Bounds { most_seconds: effort.seconds, cells, skipped }
}

pub(crate) fn text(bounds: &Bounds) -> String {
    let mut out = format!(
        "Executions, complete + cut, and CPU milliseconds within so many preemptions; `>` where {} s were not enough:\n\n",
        bounds.most_seconds
    );
    let mut rows = vec![vec!["program".to_owned(), "preemptions".to_owned()]];
    for a in ALGORITHMS.iter().filter(|a| bounds.cells.iter().any(|c| c.algorithm == **a)) {
        rows[0].extend([(*a).to_owned(), "ms".to_owned()]);
    }
    for (name, size) in PROGRAMS {
        let program = format!("{name}({size})");
        for preemptions in (0..=MOST_PREEMPTIONS).map(Some).chain([None]) {
            let here = |a: &str| {
                bounds
                    .cells
                    .iter()
                    .find(|c| c.program == program && c.algorithm == a && c.preemptions == preemptions)
            };
            if ALGORITHMS.iter().all(|a| here(a).is_none()) {
                continue;
            }
            let mut row =
                vec![program.clone(), preemptions.map_or_else(|| "any".to_owned(), |k| k.to_string())];
            for a in ALGORITHMS.iter().filter(|a| bounds.cells.iter().any(|c| c.algorithm == **a)) {
                row.extend(match here(a) {
                    None => ["-".to_owned(), "-".to_owned()],
                    Some(c) => {
                        let more = if c.complete { "" } else { ">" };
                        let cut = match c.blocked + c.over_bound {
                            0 => String::new(),
                            n => format!(" + {}", short(n as f64)),
                        };
                        [format!("{more}{}{cut}", short(c.executions as f64)), short(c.cpu_milliseconds)]
                    }
                });
            }
            rows.push(row);
        }
    }
    out.push_str(&aligned(&rows));
    out.push('\n');
    for s in &bounds.skipped {
        out.push_str(&format!("left out: {}: {}\n", s.plan, s.why));
    }
    out
}
