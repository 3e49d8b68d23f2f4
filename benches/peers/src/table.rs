//! The table, and whether raddle is as fast as it must be.

use crate::tools::Row;
use serde::Serialize;
use std::fmt::Write;

/// Something that must hold, and whether it does.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Requirement {
    pub(crate) what: String,
    pub(crate) required: f64,
    /// `None` when it was not measured.
    pub(crate) found: Option<f64>,
    pub(crate) passed: Option<bool>,
}

fn find<'a>(rows: &'a [Row], test: &str, tool: &str) -> Option<&'a Row> {
    rows.iter().find(|r| r.test == test && r.tool == tool)
}

/// What raddle promises: how much faster it is than loom and shuttle, and that it runs no more than it must.
pub(crate) fn requirements(rows: &[Row]) -> Vec<Requirement> {
    let speed = |tool: &str| {
        let raddle = find(rows, "A", "raddle")?.microseconds_per_execution;
        // The fastest mode of a tool counts.
        rows.iter()
            .filter(|r| r.test == "A" && r.tool.starts_with(tool))
            .map(|r| r.microseconds_per_execution / raddle)
            .min_by(f64::total_cmp)
    };
    let total = || Some(find(rows, "B4", "loom")?.milliseconds / find(rows, "B4", "raddle")?.milliseconds);
    let at_least = |what: &str, required: f64, found: Option<f64>| Requirement {
        what: what.into(),
        required,
        found,
        passed: found.map(|f| f >= required),
    };
    let mut out = vec![
        at_least("A: executions per CPU second, times loom's", 40.0, speed("loom")),
        at_least("A: executions per CPU second, times shuttle's fastest mode", 4.0, speed("shuttle")),
        at_least("B4: total CPU time, times less than loom's", 10_000.0, total()),
    ];
    for row in rows.iter().filter(|r| r.tool == "raddle") {
        out.push(Requirement {
            what: format!("{}: raddle's executions are exactly the classes", row.test),
            required: row.classes as f64,
            found: Some(row.executions as f64),
            passed: Some(row.executions == row.classes),
        });
    }
    out
}

pub(crate) fn json(rows: &[Row], requirements: &[Requirement]) -> String {
    format!("{:#}\n", serde_json::json!({ "rows": rows, "requirements": requirements }))
}

pub(crate) fn text(rows: &[Row], requirements: &[Requirement]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<6} {:<15} {:>10} {:>10} {:>12} {:>12} {:>12}",
        "test", "tool", "executions", "us/exec", "CPU ms", "us/exec", "CPU total"
    );
    let _ = writeln!(
        out,
        "{:<6} {:<15} {:>10} {:>10} {:>12} {:>25}",
        "", "", "", "", "of a check", "as multiples of raddle's"
    );
    let mut test = "";
    for row in rows {
        if row.test != test {
            test = row.test;
            let _ = writeln!(out, "\n{test}: {}; classes: {}", row.about, row.classes);
        }
        let raddle = find(rows, row.test, "raddle");
        let ratio = |of: fn(&Row) -> f64| raddle.map_or(String::new(), |r| times(of(row) / of(r)));
        // A random search can be made as short as one likes, so its total says nothing.
        let total = if row.exhaustive { ratio(|r| r.milliseconds) } else { "-".into() };
        let _ = writeln!(
            out,
            "{:<6} {:<15} {:>10} {:>10.2} {:>12.3} {:>12} {:>12}",
            "",
            row.tool,
            row.executions,
            row.microseconds_per_execution,
            row.milliseconds,
            ratio(|r| r.microseconds_per_execution),
            total,
        );
    }
    out.push('\n');
    for r in requirements {
        let found = r.found.map_or("not measured".into(), |f| format!("{f:.1}"));
        let verdict = match r.passed {
            Some(true) => "PASS",
            Some(false) => "FAIL",
            None => "----",
        };
        let _ = writeln!(out, "{verdict}  {}: {found} (required: {})", r.what, r.required);
    }
    out
}

fn times(ratio: f64) -> String {
    match ratio {
        r if r < 99.5 => format!("{r:.1} x"),
        r => format!("{r:.0} x"),
    }
}
