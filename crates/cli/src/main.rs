//! The `raddle` command: argument parsing, what to show, exit codes. It holds no algorithm.

mod algorithms;
#[cfg(c_programs)]
mod asm;
mod atomic_indices;
mod bank;
#[cfg(c_programs)]
mod build;
#[cfg(c_programs)]
mod cc;
mod check;
mod compare;
mod compare_automata;
mod compared;
mod demo;
mod destroyed;
mod help;
#[cfg(c_programs)]
mod initialised;
mod library;
mod model;
#[cfg(c_programs)]
mod open_orders;
#[cfg(c_programs)]
mod project;
#[cfg(c_programs)]
mod reached;
mod reading;
#[cfg(c_programs)]
mod run;
#[cfg(c_programs)]
mod rust_entry;
#[cfg(c_programs)]
mod rust_std;
mod rust_test;
#[cfg(c_programs)]
mod scan;
mod schedules;
#[cfg(c_programs)]
mod scratch;
mod terminal;
#[cfg(c_programs)]
mod toolchain;
#[cfg(c_programs)]
mod touches;
mod verify;
mod verify_atomic;
mod verify_caveats;
mod verify_certificate;
mod verify_outline;
mod verify_races;
mod verify_replay;
mod verify_sources;
mod verify_svcomp;
mod verify_trace;
mod warnings;
mod weak;
mod witness;

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
    /// Compile a C or C++ program and run it under every schedule that can matter
    #[command(long_about = help::CHECK, after_long_help = help::CHECK_AFTER)]
    Check(Box<check::CheckArgs>),
    /// Compile C as cc does, into a program that explores itself when it is started
    #[command(long_about = help::CC, disable_help_flag = true)]
    Cc(CompilerArgs),
    /// Compile C++ as c++ does, into a program that explores itself when it is started
    #[command(name = "c++", visible_alias = "cxx", long_about = help::CC, disable_help_flag = true)]
    Cpp(CompilerArgs),
    /// Explore the tests of a Rust crate that uses std's own types
    #[command(long_about = rust_test::LONG_ABOUT)]
    Test(Box<rust_test::TestArgs>),
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
    /// Say whether a C program can go wrong, for all inputs and all schedules, with a proof or a run
    #[command(long_about = verify::ABOUT)]
    Verify(Box<verify::VerifyArgs>),
}

#[derive(Args)]
struct CompilerArgs {
    /// What to say to the compiler
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<String>,
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

/// Whether the command has an example of this name.
#[cfg(c_programs)]
fn example_exists(name: &str) -> bool {
    examples::example(name).is_some()
}

fn main() -> ExitCode {
    let Some(args) = std::env::args_os().map(|a| a.into_string().ok()).collect::<Option<Vec<String>>>()
    else {
        eprintln!("raddle: error: an argument is not valid UTF-8: rename the file, or make a link to it");
        return ExitCode::from(2);
    };
    // Build systems want a compiler to have one name: a link called raddle-cc is `raddle cc`.
    let called = args.first().and_then(|a| a.rsplit('/').next()).unwrap_or("");
    match (called, args.get(1).map(String::as_str)) {
        ("raddle-cc", _) => return compiler(false, args[1..].to_vec()),
        ("raddle-c++" | "raddle-cxx", _) => return compiler(true, args[1..].to_vec()),
        // A compiler's own --help and --version are wanted, not ours.
        (_, Some("cc")) if args.len() > 2 => return compiler(false, args[2..].to_vec()),
        (_, Some("c++" | "cxx")) if args.len() > 2 => return compiler(true, args[2..].to_vec()),
        _ => {}
    }
    if let Some(code) = rust_test::wrap_compiler(&args) {
        return code;
    }
    let args = check::name_compiler_flags(args);
    let as_json = args.iter().take_while(|a| *a != "--").any(|a| a == "--json" || a.starts_with("--json="));
    // A wrong command line ends here with exit code 2 and says what would be right.
    let cli = Cli::try_parse_from(args).unwrap_or_else(|e| {
        if as_json && e.use_stderr() {
            let text = e.to_string();
            let why = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            let object =
                serde_json::json!({ "verdict": "error", "error": why, "failures": [], "caveats": [] });
            println!("{object:#}");
        }
        e.exit()
    });
    match cli.command {
        Command::Check(args) => check::run(&args),
        Command::Cc(args) => compiler(false, args.args),
        Command::Cpp(args) => compiler(true, args.args),
        Command::Test(args) => rust_test::run(&args),
        Command::Algorithms(args) => algorithms::run(args.json),
        Command::Compare(args) => compare::run(&args),
        Command::Orders(args) => algorithms::run_orders(args.json),
        Command::Model(args) => reading::deep(|| model::run(&args)),
        Command::Verify(args) => reading::deep(|| verify::run(&args)),
        Command::Demo(args) => demo::run(args.algorithm.as_deref(), args.replay.as_deref(), args.json),
    }
}

#[cfg(c_programs)]
fn compiler(cpp: bool, args: Vec<String>) -> ExitCode {
    if args.is_empty() {
        println!("{}", help::CC);
        return ExitCode::from(2);
    }
    cc::drop_in(if cpp { toolchain::Language::Cpp } else { toolchain::Language::C }, args)
}

#[cfg(not(c_programs))]
fn compiler(_cpp: bool, _args: Vec<String>) -> ExitCode {
    eprintln!("raddle: {}", check::ELSEWHERE);
    ExitCode::from(2)
}
