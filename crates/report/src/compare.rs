//! A comparison as a table for people, as JSON for programs, and as a plot of what was seen over executions.

use crate::Style;
use crate::numbers::{count, short_duration};
use crate::paint::{Ink, Paint, columns, one_line, wrap};
use crate::plot::{Mark, Plot, Scale, Series, Unit};
use explore::{Compared, Comparison, Coverage, FirstFailure, Limit, Plan, Progress, Verdict};

/// The line of a search that has ended. `whole` says that no execution was cut short, which the search itself does not know.
pub fn row(
    plan: &Plan,
    search: &dyn Progress,
    whole: bool,
    runs: u64,
    cpu_seconds: f64,
    failure: Option<FirstFailure>,
) -> Compared {
    let (stats, promise) = (search.stats(), search.promise());
    let verdict = Verdict::of(failure.is_some(), search.finished() && whole, &promise, &[]);
    let spent = search.spent().map(crate::spent);
    let bounds: Vec<String> = plan.bounds.iter().map(Limit::to_string).collect();
    Compared {
        plan: plan.to_string(),
        algorithm: plan.algorithm().name.to_owned(),
        bound: (!bounds.is_empty()).then(|| bounds.join(",")),
        order: plan.order.to_string(),
        seed: plan.seed,
        verdict,
        guarantee: crate::guarantee(verdict, &promise, &stats, spent.as_deref(), search.estimate(), &[]),
        stats,
        runs,
        cpu_seconds,
        failure,
        coverage: None,
        reached: None,
    }
}

/// One JSON object with `program`, `rows` and `left_out`. A row has at least `plan`, `verdict`, `executions`, `blocked`,
/// `over_bound`, `runs`, `cpu_seconds`, `failure` (`null`, or `kind`, `message`, `after`, `replay`) and `coverage` (`null`, or
/// `classes`, `states`, `curve`).
pub fn json(comparison: &Comparison) -> String {
    match serde_json::to_value(comparison) {
        Ok(value) => format!("{value:#}\n"),
        // Only a type that refuses to be written can fail, and none of ours does; still, this is no place to panic.
        Err(error) => format!("{:#}\n", serde_json::json!({ "error": error.to_string() })),
    }
}

type Cell = fn(&Compared) -> String;

fn seen(row: &Compared, of: fn(&Coverage) -> u64) -> String {
    row.coverage.as_ref().map_or_else(|| "-".to_owned(), |c| count(of(c)))
}

/// The columns: a title, what stands in it, and whether the column is there even if it says nothing.
const COLUMNS: [(&str, Cell, bool); 10] = [
    ("executions", |r| count(r.stats.executions), true),
    ("blocked", |r| count(r.stats.blocked), true),
    ("over bound", |r| count(r.stats.over_bound), false),
    ("assumed", |r| count(r.stats.assumed), false),
    ("pruned", |r| count(r.stats.pruned), false),
    ("classes", |r| seen(r, |c| c.classes), false),
    ("states", |r| seen(r, |c| c.states), false),
    ("reached", |r| r.reached.map_or_else(|| "-".to_owned(), count), false),
    ("steps", |r| count(r.stats.steps), true),
    ("CPU", |r| short_duration(r.cpu_seconds), true),
];

/// The result of one search, in a few words.
fn result(row: &Compared) -> (Ink, String) {
    match (&row.failure, row.verdict) {
        (Some(f), _) => (Ink::Bad, format!("{} in execution {}", f.kind.name(), count(f.after))),
        (None, Verdict::Verified) => (Ink::Good, "verified".to_owned()),
        (None, Verdict::NoFailureWithCaveats) => (Ink::Good, "no failure, with caveats".to_owned()),
        (None, Verdict::NoFailureWithinBound) => (Ink::Good, "no failure within bound".to_owned()),
        (None, Verdict::Failure) => (Ink::Bad, "failed".to_owned()),
        (None, Verdict::Incomplete) => (Ink::Warning, "stopped early".to_owned()),
    }
}

/// The table, one line a plan, with a line end after each line. A column in which every row has nothing to say is left out. What
/// was left out of the comparison is said below, in lines that fit the width of the style.
pub fn text(comparison: &Comparison, style: &Style) -> String {
    let paint = Paint { colour: style.colour };
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text.trim_end());
        out.push('\n');
    };
    if let Some(program) = &comparison.program {
        line(&paint.paint(Ink::Strong, &one_line(program)));
    }
    let rows = &comparison.rows;
    if !rows.is_empty() {
        let plan = rows.iter().map(|r| columns(&r.plan)).max().unwrap_or(0).max(columns("algorithm"));
        let shown: Vec<(&str, Vec<String>, usize)> = COLUMNS
            .iter()
            .map(|(title, cell, always)| (*title, rows.iter().map(cell).collect::<Vec<_>>(), *always))
            .filter(|(_, cells, always)| *always || cells.iter().any(|c| c != "0" && c != "-"))
            .map(|(title, cells, _)| {
                let width = cells.iter().map(|c| columns(c)).max().unwrap_or(0).max(columns(title));
                (title, cells, width)
            })
            .collect();
        let titles: String = shown.iter().map(|(title, _, width)| format!("  {title:>width$}")).collect();
        line(&paint.paint(Ink::Faint, &format!("{:plan$}{titles}  result", "algorithm")));
        for (i, row) in rows.iter().enumerate() {
            let cells: String =
                shown.iter().map(|(_, cells, width)| format!("  {:>width$}", cells[i])).collect();
            let (ink, words) = result(row);
            line(&format!("{:plan$}{cells}  {}", row.plan, paint.paint(ink, &words)));
        }
    }
    for left in &comparison.left_out {
        let text = format!("left out: {}: {}", one_line(&left.plan), one_line(&left.why));
        wrap(&text, style.width).iter().for_each(|l| line(l));
    }
    out
}

/// What is counted on the vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Happens-before classes of complete executions.
    Classes,
    /// Local states of threads.
    States,
}

/// What is on the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Executions: complete, blocked and over the bound.
    Executions,
    /// CPU time of the search. Points whose time is not known are not drawn.
    Time,
}

/// How much each search had seen by when, in percent of the most that any of them saw.
///
/// Without a scale, the horizontal axis is logarithmic when the searches differ so much that a linear one would hide the short ones.
pub fn plot(comparison: &Comparison, measure: Measure, over: Over, scale: Option<Scale>) -> Plot {
    let of = |classes: u64, states: u64| if measure == Measure::Classes { classes } else { states };
    let covered = || comparison.rows.iter().filter_map(|r| r.coverage.as_ref().map(|c| (r, c)));
    let most = covered().map(|(_, c)| of(c.classes, c.states)).max().unwrap_or(0);
    let complete = covered().any(|(r, _)| r.verdict == Verdict::Verified);
    let series: Vec<Series> = covered()
        .map(|(row, c)| Series {
            name: row.plan.clone(),
            points: c
                .curve
                .iter()
                .filter_map(|p| {
                    let x = if over == Over::Executions { p.runs as f64 } else { p.cpu_seconds? };
                    Some((x, of(p.classes, p.states) as f64 * 100.0 / most.max(1) as f64))
                })
                .collect(),
            mark: match (&row.failure, row.verdict) {
                (Some(_), _) => Mark::Failed,
                (None, Verdict::Incomplete) => Mark::Stopped,
                (None, _) => Mark::Finished,
            },
        })
        .collect();
    let ends = || series.iter().filter_map(|s| s.points.last().map(|p| p.0));
    let spread = ends().fold(0.0, f64::max) / ends().fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE);
    let (what, all) = match measure {
        Measure::Classes => ("happens-before classes", "classes"),
        Measure::States => ("local states", "local states"),
    };
    let (unit, x_label) = match over {
        Over::Executions => (Unit::Count, "executions (complete, blocked and over the bound)"),
        Over::Time => (Unit::Seconds, "CPU time"),
    };
    let whole =
        if complete { format!("all {}", count(most)) } else { format!("the {} seen at most", count(most)) };
    Plot {
        title: comparison.program.clone().unwrap_or_else(|| what.to_owned()),
        x_label: x_label.to_owned(),
        y_label: format!("{all} seen, % of {whole}"),
        unit,
        scale: scale.unwrap_or(if spread >= 20.0 { Scale::Log } else { Scale::Linear }),
        series,
    }
}
