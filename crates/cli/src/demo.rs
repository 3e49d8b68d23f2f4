//! `raddle demo`: finds the bug of [`bank`](crate::bank), shows it, and replays it.

use crate::{bank, terminal};
use explore::{Report, Verdict};
use report::Style;
use std::fmt::Write;
use std::process::ExitCode;

pub(crate) fn run(algorithm: Option<&str>, token: Option<&str>, as_json: bool) -> ExitCode {
    // The variables are for tests, and whoever calls the demo may have set them for one: here the options decide.
    let names: Vec<_> = std::env::vars_os().map(|(name, _)| name).collect();
    let style = Style { command: Some(command()), ..terminal::style() };
    for name in names.iter().filter(|n| n.to_string_lossy().starts_with("RADDLE_")) {
        // SAFETY: this process has one thread, so nobody else reads or writes the environment now.
        unsafe { std::env::remove_var(name) };
    }
    if let Some(token) = token {
        let report = replay(token);
        let code = if report.verdict == Verdict::Failure { 0 } else { 1 };
        return terminal::print(&show(&report, &style, as_json), code);
    }
    let found = match search(algorithm) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("raddle: {error}");
            return ExitCode::from(2);
        }
    };
    let Some(failure) = found.failures.first() else {
        eprintln!("raddle: the demo's bug was not found; this is a bug of raddle's own");
        return terminal::print(&show(&found, &style, as_json), 1);
    };
    let again = replay(&failure.replay);
    let same = again.failures.iter().any(|f| f.kind == failure.kind && f.message == failure.message);
    if !same {
        eprintln!("raddle: the replay did not fail the same way; this is a bug of raddle's own");
    }
    let mut out = String::new();
    if as_json {
        out.push_str(&show(&found, &style, true));
    } else {
        let _ = write!(out, "{}\n{}\n", program(), show(&found, &style, false));
        if same {
            let _ = writeln!(
                out,
                "Replayed {}: it failed the same way, in one execution.\n\
                 `raddle --help` shows how to write such a test.",
                failure.replay
            );
        }
    }
    terminal::print(&out, if same { 0 } else { 1 })
}

/// What to type to replay: this program may not be on the path, so it is named as it was called.
fn command() -> String {
    let program = std::env::args().next().unwrap_or_else(|| "raddle".into());
    format!("{program} demo --replay {{token}}")
}

fn search(algorithm: Option<&str>) -> Result<Report, explore::UnknownAlgorithm> {
    let mut config = raddle::Config::new().quiet(true);
    if let Some(name) = algorithm {
        config = config.try_algorithm(name)?;
    }
    Ok(config.run(bank::payments_add_up))
}

fn replay(token: &str) -> Report {
    raddle::Config::new().quiet(true).replay(token).run(bank::payments_add_up)
}

fn show(report: &Report, style: &Style, as_json: bool) -> String {
    if as_json { report::json::render(report) } else { report::text::render(report, style) }
}

/// The source of the program, with the line numbers that the trace names.
fn program() -> String {
    let source = include_str!("bank.rs");
    let from = source.lines().position(|l| l.starts_with("/// Pays")).unwrap_or(0);
    let mut out = "Two threads pay into one account (crates/cli/src/bank.rs):\n\n".to_owned();
    for (i, line) in source.lines().enumerate().skip(from) {
        let _ = writeln!(out, "{}", format!("{:5} | {line}", i + 1).trim_end());
    }
    out
}
