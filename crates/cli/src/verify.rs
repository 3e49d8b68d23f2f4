//! `raddle verify`: whether a C program can go wrong, for all inputs and all schedules.

use ::model::{Interpreter, Program, Wrong};
use ::verify::{Budget, Options, Outcome, Verdict};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// What `raddle verify --help` says.
pub(crate) const ABOUT: &str =
    "Reads a C program with pthreads and answers whether it can go wrong, for all inputs and all schedules.

The program is not run: it is read as automata (`raddle model` shows them). Threads may loop for ever. `safe` comes with a proof
that was checked by code of its own, `unsafe` with a run that was replayed. Integers are bit-vectors, as in C; signed arithmetic
wraps around.

`--engine imc` finds schedules that keep the program safe, fair and free of deadlocks for every input, also of programs that are
not safe: `partially-safe` means that there are such schedules and that something goes wrong without. `--schedules DIR` writes them
as soon as they are there (docs/verify-schedules.md).

Exit codes:
  0  safe
  1  unsafe, or safe under some schedules only (partially-safe)
  2  the program cannot be read, or the command line is wrong
  3  unknown, with the reason";

#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// The C file; one that ends in .i is taken to be preprocessed
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Which engine decides
    #[arg(long, value_name = "NAME", default_value = "portfolio", value_parser = names())]
    engine: String,

    /// A deadlock is wrong too
    #[arg(long)]
    deadlocks: bool,

    /// Give up after so many seconds
    #[arg(long, value_name = "N", default_value_t = 60.0)]
    seconds: f64,

    /// Define a macro for the preprocessor
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    schedules: crate::schedules::ScheduleArgs,
}

fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(::verify::engines().iter().map(|e| e.name))
}

pub(crate) fn run(args: &VerifyArgs) -> ExitCode {
    let read = ::model::Options {
        preprocessor: args.define.iter().map(|d| format!("-D{d}")).collect(),
        ..::model::Options::default()
    };
    let program = match ::model::read_file(&args.file, &read) {
        Ok(program) => program,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let engine = match ::verify::engine(&args.engine) {
        Ok(listed) => (listed.make)(),
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let budget = Budget { seconds: Some(args.seconds), work: None };
    let options = Options { deadlocks: args.deadlocks, budget };
    let mut out = if args.schedules.is_asked() {
        if args.engine != "imc" {
            eprintln!("error: schedules and the tree come from --engine imc");
            return ExitCode::from(2);
        }
        match args.schedules.run(&program, &options) {
            Ok(out) => out,
            Err(why) => {
                eprintln!("error: {why}");
                return ExitCode::from(2);
            }
        }
    } else {
        engine.verify(&program, &options)
    };
    ::verify::believe_nothing(&program, &options, &mut out);
    let text = if args.json { json(&program, &out) } else { text(&program, &out) };
    // Whoever reads it may have seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(match out.verdict {
        Verdict::Safe(_) => 0,
        Verdict::Unsafe(_) | Verdict::PartiallySafe { .. } => 1,
        Verdict::Unknown(_) => 3,
    })
}

pub(crate) fn what(program: &Program, wrong: &Wrong) -> String {
    match wrong {
        Wrong::Deadlock => "deadlock".to_owned(),
        Wrong::Error { thread, location, kind } => {
            let thread = program.thread(*thread);
            let message = match &thread.location(*location).kind {
                ::model::LocationKind::Error { message, .. } => message.as_str(),
                _ => "",
            };
            format!("{} in `{}`: {message}", kind.name(), thread.name)
        }
    }
}

fn counts(out: &Outcome) -> String {
    let counts: Vec<String> = out.counts.iter().map(|(name, n)| format!("{n} {name}")).collect();
    format!("{} ({}, {:.2} s)", out.engine, counts.join(", "), out.seconds)
}

fn text(program: &Program, out: &Outcome) -> String {
    let mut text = format!("{}: {}\n", out.verdict.name(), counts(out));
    match &out.verdict {
        Verdict::Safe(_) => text += "the proof was checked\n",
        Verdict::Unknown(why) => text += &format!("{why}\n"),
        Verdict::Unsafe(trace) | Verdict::PartiallySafe { trace, .. } => {
            if let Verdict::PartiallySafe { schedules, .. } = &out.verdict {
                text += &format!("schedules that keep it safe: {}; without one:\n", schedules.len());
            }
            text += &format!("{}\n", what(program, &trace.wrong));
            text += &Interpreter::new(program).show_run(&trace.steps).unwrap_or_default();
        }
    }
    text
}

fn json(program: &Program, out: &Outcome) -> String {
    let counts: serde_json::Map<String, serde_json::Value> =
        out.counts.iter().map(|(name, n)| ((*name).to_owned(), (*n).into())).collect();
    let mut all = serde_json::json!({
        "verdict": out.verdict.name(), "engine": out.engine, "integers": "bit-vectors",
        "counts": counts, "seconds": out.seconds,
    });
    if let Verdict::Unknown(why) = &out.verdict {
        all["reason"] = why.to_string().into();
    }
    if let Some(trace) = out.verdict.trace() {
        let run = Interpreter::new(program).show_run(&trace.steps).unwrap_or_default();
        all["wrong"] = what(program, &trace.wrong).into();
        all["trace"] = run.lines().map(str::trim).collect::<Vec<_>>().into();
    }
    format!("{all}\n")
}
