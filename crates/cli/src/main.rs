//! The `raddle` command: argument parsing, what to show, exit codes. It holds no algorithm.

mod algorithms;
mod bank;
mod compare;
mod demo;
mod help;
mod model;
mod terminal;

use clap::{Args, Parser, Subcommand, builder::PossibleValuesParser};
use explore::Schedule;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "raddle", version, about = help::ABOUT, long_about = help::LONG_ABOUT, after_long_help = help::AFTER)]
#[command(arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List every algorithm, what it guarantees, and where it comes from
    Algorithms(AlgorithmsArgs),
    /// Search one program in several ways, and show what each took and saw
    #[command(long_about = help::COMPARE, after_long_help = help::COMPARE_AFTER)]
    Compare(Box<compare::CompareArgs>),
    /// List every order in which executions can be taken, and what each one promises
    Orders(AlgorithmsArgs),
    /// Find a lost update in a small program, show how it comes about, and replay it
    #[command(long_about = help::DEMO)]
    Demo(DemoArgs),
    /// Show a C program as control-flow automata: what the proofs work on
    #[command(long_about = model::ABOUT)]
    Model(model::ModelArgs),
}

#[derive(Args)]
struct AlgorithmsArgs {
    /// Print an array of objects instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct DemoArgs {
    /// How to search (`raddle algorithms` says what each one does)
    #[arg(long, value_name = "NAME", value_parser = algorithm_names())]
    algorithm: Option<String>,

    /// Run one schedule again instead of searching: the token of a report
    #[arg(long, value_name = "TOKEN", value_parser = token, conflicts_with = "algorithm")]
    replay: Option<String>,

    /// Print the report as one JSON object instead of text
    #[arg(long)]
    json: bool,
}

fn algorithm_names() -> PossibleValuesParser {
    PossibleValuesParser::new(explore::algorithms().iter().map(|a| a.name))
}

/// Checks that a text is a token, so that a damaged one is a mistake on the command line and not a failed run.
fn token(text: &str) -> Result<String, explore::TokenError> {
    text.parse::<Schedule>().map(|_| text.to_owned())
}

fn main() -> ExitCode {
    // A wrong command line ends here with exit code 2 and says what would be right.
    match Cli::parse().command {
        Command::Algorithms(args) => algorithms::run(args.json),
        Command::Compare(args) => compare::run(&args),
        Command::Orders(args) => algorithms::run_orders(args.json),
        Command::Model(args) => model::run(&args),
        Command::Demo(args) => demo::run(args.algorithm.as_deref(), args.replay.as_deref(), args.json),
    }
}
