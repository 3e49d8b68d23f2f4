//! Runs loom, shuttle and raddle on the same tests, in one process, and compares what they cost.
//!
//! All times are CPU times of this process, so that other work on the machine matters little; all results are ratios of
//! one run. `--quick` leaves out what takes loom many seconds.

mod clock;
mod flat;
mod programs;
mod scaling;
mod table;
mod tools;

use clap::Parser;
use std::process::ExitCode;
use tools::Effort;

#[derive(Parser)]
#[command(about = "Runs loom, shuttle and raddle on the same tests and compares their CPU time")]
struct Cli {
    /// Leave out the tests that take loom many seconds, and do not fail
    #[arg(long, conflicts_with_all = ["flat", "threads"])]
    quick: bool,

    /// Also run what takes minutes: all interleavings of four threads on one mutex
    #[arg(long, conflicts_with_all = ["quick", "flat", "threads"])]
    all: bool,

    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,

    /// Instead: watch the memory of raddle over ten million executions
    #[arg(long, conflicts_with = "threads")]
    flat: bool,

    /// Instead: the cost of a step of raddle with 2 to 64 threads
    #[arg(long)]
    threads: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let passed = if cli.flat {
        flat::run(cli.json)
    } else if cli.threads {
        scaling::run(cli.json)
    } else {
        let effort = match (cli.quick, cli.all) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::All,
            _ => Effort::Usual,
        };
        let rows = tools::run(effort, |row| {
            if !cli.json {
                eprintln!("measured {} with {}", row.test, row.tool);
            }
        });
        let requirements = table::requirements(&rows);
        print!(
            "{}",
            if cli.json { table::json(&rows, &requirements) } else { table::text(&rows, &requirements) }
        );
        cli.quick || requirements.iter().all(|r| r.passed == Some(true))
    };
    ExitCode::from(if passed { 0 } else { 1 })
}
