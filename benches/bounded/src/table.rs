//! Numbers side by side.

/// A table: the first column to the left, the others to the right, with a line end after each line.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            let w = widths[c];
            line.push_str(&if c == 0 { format!("{cell:w$}") } else { format!("  {cell:>w$}") });
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Two or three digits.
pub(crate) fn short(n: f64) -> String {
    match n {
        n if n > 0.0 && n < 0.095 => format!("{n:.2}"),
        n if n < 9.95 => format!("{n:.1}").trim_end_matches(".0").to_owned(),
        n if n < 9_999.5 => format!("{n:.0}"),
        n if n < 999_500.0 => format!("{:.0}k", n / 1e3),
        n => format!("{:.1}M", n / 1e6),
    }
}
