//! `raddle algorithms`: the table.

use crate::terminal;
use explore::Algorithm;
use serde_json::json;
use std::process::ExitCode;

pub(crate) fn run(as_json: bool) -> ExitCode {
    let all = explore::algorithms();
    let text = if as_json { objects(all) } else { table(all, terminal::style().width) };
    terminal::print(&text, 0)
}

fn objects(all: &[Algorithm]) -> String {
    let rows: Vec<_> = all
        .iter()
        .map(
            |a| json!({ "name": a.name, "guarantee": a.guarantee, "source": a.source, "summary": a.summary }),
        )
        .collect();
    format!("{:#}\n", serde_json::Value::Array(rows))
}

/// Name, guarantee and source side by side; what each one does below, where there is room for a sentence.
fn table(all: &[Algorithm], width: usize) -> String {
    let name = all.iter().map(|a| a.name.len()).max().unwrap_or(0).max("algorithm".len());
    let rest = width.saturating_sub(name + 4).max(20);
    let source = all.iter().map(|a| a.source.chars().count()).max().unwrap_or(0).min(rest * 2 / 5);
    let guarantee = rest - source;
    let mut out = format!("{:name$}  {:guarantee$}  {}\n", "algorithm", "guarantee", "from");
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
    out.push_str(
        "Use one with `raddle::Config::new().algorithm(NAME)`, or for any test with RADDLE_ALGORITHM=NAME.\n",
    );
    out
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
    fn the_table_fits_its_width() {
        for width in [60, 80, 100] {
            let text = table(explore::algorithms(), width);
            for line in text.lines().take_while(|l| !l.starts_with("Use")) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}
