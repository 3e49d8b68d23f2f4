//! How soon searches find bugs, and what it costs to search within a bound.
//!
//! Two tables. The first has ten seeded bugs in programs that are too large to be searched in full, and says how many executions each
//! search takes to the bug. The second has programs of the literature, and says what bounded searches cost at each bound. Plans are
//! text: one that this library does not know is left out, and the bench says so. All times are CPU times.

mod bounds;
mod bugs;
mod table;

use clap::Parser;
use raddle::Plan;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "How soon searches find bugs, and what it costs to search within a bound")]
struct Cli {
    /// Fewer executions, seeds and seconds
    #[arg(long)]
    quick: bool,

    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,

    /// Only the bugs
    #[arg(long, conflicts_with = "bounds")]
    bugs: bool,

    /// Only the bounds
    #[arg(long)]
    bounds: bool,

    /// Only the bugs, with this search, as the table has it; may be given again
    #[arg(long, value_name = "PLAN", conflicts_with = "bounds")]
    plan: Vec<String>,

    /// The most executions to a bug [default: 100000, quick: 5000]
    #[arg(long, value_name = "N")]
    executions: Option<u64>,

    /// The most CPU seconds for one search [default: 5, quick: 0.5]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,

    /// Seeds for each random search [default: 10, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
}

/// How much to spend.
#[derive(Clone, Copy)]
struct Effort {
    executions: u64,
    seconds: f64,
    seeds: u64,
}

/// A plan that this library cannot run.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Skipped {
    plan: String,
    why: String,
}

/// The plan, if this library can run it on anything.
fn known(text: &str) -> Result<Plan, Skipped> {
    // The first sentence says what is missing; what there is instead is for people who type.
    let skipped = |why: String| Skipped {
        plan: text.to_owned(),
        why: why.split(';').next().unwrap_or_default().to_owned(),
    };
    let plan: Plan = text.parse().map_err(|e: raddle::BadPlan| skipped(e.to_string()))?;
    match raddle::Config::new().max_executions(1).measure(&plan, || ()) {
        Ok(_) => Ok(plan),
        Err(e) => Err(skipped(e.to_string())),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let (executions, seconds, seeds) = if cli.quick { (5_000, 0.5, 3) } else { (100_000, 5.0, 10) };
    let effort = Effort {
        executions: cli.executions.unwrap_or(executions),
        seconds: cli.seconds.unwrap_or(seconds),
        seeds: cli.seeds.unwrap_or(seeds),
    };
    if !(effort.seconds > 0.0 && effort.seconds < 1e9 && effort.executions > 0) {
        eprintln!("bounded-bench: --seconds and --executions must be above 0");
        return ExitCode::from(2);
    }
    let progress = |what: &str| eprintln!("measured {what}");
    let bugs = (!cli.bounds).then(|| bugs::run(effort, &cli.plan, progress));
    let bounds = (!cli.bugs && cli.plan.is_empty()).then(|| bounds::run(effort, progress));
    if cli.json {
        println!("{:#}", serde_json::json!({ "bugs": bugs, "bounds": bounds }));
    } else {
        bugs.iter().for_each(|b| print!("{}", bugs::text(b)));
        bounds.iter().for_each(|b| print!("{}", bounds::text(b)));
    }
    ExitCode::SUCCESS
}
