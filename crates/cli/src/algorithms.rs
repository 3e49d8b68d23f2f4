//! `raddle algorithms` and `raddle orders`: the tables.

use crate::terminal;
use serde_json::json;
use std::process::ExitCode;

/// A row of a table.
struct Row {
    name: &'static str,
    guarantee: &'static str,
    source: &'static str,
    summary: &'static str,
}

fn algorithms() -> Vec<Row> {
    let row = |a: &explore::Algorithm| Row {
        name: a.name,
        guarantee: a.guarantee,
        source: a.source,
        summary: a.summary,
    };
    explore::algorithms().iter().map(row).collect()
}

fn orders() -> Vec<Row> {
    let row = |o: &explore::OrderInfo| Row {
        name: o.name,
        guarantee: o.guarantee,
        source: o.source,
        summary: o.summary,
    };
    explore::orders().iter().map(row).collect()
}

pub(crate) fn run(as_json: bool) -> ExitCode {
    let width = terminal::style().width;
    let text = if as_json { objects(&algorithms()) } else { all_algorithms(width) };
    terminal::print(&text, 0)
}

pub(crate) fn run_orders(as_json: bool) -> ExitCode {
    let width = terminal::style().width;
    let text = if as_json { objects(&orders()) } else { all_orders(width) };
    terminal::print(&text, 0)
}

fn objects(rows: &[Row]) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(
            |a| json!({ "name": a.name, "guarantee": a.guarantee, "source": a.source, "summary": a.summary }),
        )
        .collect();
    format!("{:#}\n", serde_json::Value::Array(rows))
}

fn all_algorithms(width: usize) -> String {
    let mut out = table("algorithm", &algorithms(), width);
    let rows = orders();
    let name = rows.iter().map(|r| r.name.len()).max().unwrap_or(0);
    out.push_str("Orders of executions (`raddle orders` says more):\n");
    for r in &rows {
        let line = format!("{:name$}  {}", r.name, r.summary);
        out.push_str(&elide(&line, width));
        out.push('\n');
    }
    out.push_str(
        "\nUse one with `raddle::Config::new().algorithm(NAME)`, or for any test with RADDLE_ALGORITHM=NAME;\n\
         an order with `.order(ORDER)` or RADDLE_ORDER=ORDER.\n",
    );
    out
}

fn all_orders(width: usize) -> String {
    let mut out = table("order", &orders(), width);
    out.push_str(
        "Use one with `raddle::Config::new().order(ORDER)`, or for any test with RADDLE_ORDER=ORDER.\n",
    );
    out
}

/// Name, guarantee and source side by side; what each one does below, where there is room for a sentence.
fn table(what: &str, all: &[Row], width: usize) -> String {
    let name = all.iter().map(|a| a.name.len()).max().unwrap_or(0).max(what.len());
    let rest = width.saturating_sub(name + 4).max(20);
    let source = all.iter().map(|a| a.source.chars().count()).max().unwrap_or(0).min(rest * 2 / 5);
    let guarantee = rest - source;
    let mut out = format!("{what:name$}  {:guarantee$}  {}\n", "guarantee", "from");
    for a in all {
        let (left, right) = (wrap(a.guarantee, guarantee), wrap(a.source, source));
        for i in 0..left.len().max(right.len()) {
            let of = |lines: &[String]| lines.get(i).cloned().unwrap_or_default();
            let first = if i == 0 { a.name } else { "" };
            let line = format!("{first:name$}  {:guarantee$}  {}", of(&left), of(&right));
            out.push_str(line.trim_end());
            out.push('\n');
        }
        for line in wrap(a.summary, width.saturating_sub(name + 4)) {
            out.push_str(&format!("{:name$}    {line}\n", ""));
        }
        out.push('\n');
    }
    out
}

/// The text in one line of at most so many columns.
fn elide(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(width.saturating_sub(3)).collect();
            format!("{}...", kept.trim_end())
        }
    }
}

/// The text in lines of at most so many columns, broken at spaces.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_fit_their_width() {
        for width in [60, 80, 100] {
            for text in [all_algorithms(width), all_orders(width)] {
                for line in text.lines().take_while(|l| !l.starts_with("Use")) {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                }
            }
        }
    }
}
