//! `raddle verify --races`: what locks tell about races, and what executions show, side by side.

use crate::verify_outline::Source;
use ::model::{Program, ThreadId, TransitionId, VarId};
use ::verify::{HappensBefore, Locksets};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// How many executions are followed.
pub(crate) const EXECUTIONS: u64 = 100_000;

pub(crate) fn run(path: &Path, program: &Program, seconds: f64, as_json: bool) -> ExitCode {
    let locks = ::verify::locksets(program);
    let orders = ::verify::happens_before(program, EXECUTIONS, seconds);
    let rows = rows(program, &locks, &orders);
    let source = Source::of(path);
    let text = if as_json {
        format!("{}\n", to_json(program, &rows, &orders, locks.by_rules))
    } else {
        to_text(program, &rows, &orders, &source)
    };
    // Whoever reads it may have seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(code(&rows, &orders, locks.by_rules))
}

type Pair = ((ThreadId, TransitionId), (ThreadId, TransitionId));

/// What both checks say of a variable.
struct Row {
    var: VarId,
    /// By locks: a pair that no lock keeps apart.
    warned: Option<Pair>,
    /// The locks that are always held.
    guards: Vec<String>,
    /// Whether threads access it at the same time at all.
    concurrent: bool,
    /// By executions: a pair that nothing orders.
    raced: Option<Pair>,
    /// Those two may be to different bytes.
    apart: bool,
}

impl Row {
    fn is_sure(&self) -> bool {
        self.raced.is_some() && !self.apart
    }
}

/// Whether two accesses to a union may be to different bytes of it: neither is to all of them.
pub(crate) fn may_be_apart(p: &Program, var: VarId, (first, second): Pair) -> bool {
    let writes_all =
        |(t, e): (ThreadId, TransitionId)| p.thread(t).transition(e).action == ::model::Action::Write;
    p.var(var).parts && !writes_all(first) && !writes_all(second)
}

fn rows(p: &Program, locks: &Locksets, orders: &Result<HappensBefore, String>) -> Vec<Row> {
    let mut out = Vec::new();
    for (n, v) in p.vars.iter().enumerate() {
        let var = VarId(n as u32);
        let initializes = p.syncs.iter().any(|s| s.initialized == Some(var));
        if !initializes && (v.internal || !v.is_shared() || v.name.contains('%')) {
            continue;
        }
        let warned = locks.warnings.iter().find(|(a, _)| a.place.var == var);
        let warned = warned.map(|(a, b)| ((a.thread, a.transition), (b.thread, b.transition)));
        let raced = orders.as_ref().ok().and_then(|o| o.of(var)).map(|r| (r.first, r.second));
        let guards = locks.guards.get(&var).into_iter().flatten().map(|s| p.sync(*s).name.clone()).collect();
        let apart = raced.is_some_and(|pair| may_be_apart(p, var, pair));
        out.push(Row { var, warned, guards, concurrent: locks.guards.contains_key(&var), raced, apart });
    }
    out
}

/// The subject of a row: a variable, or the initialization of a lock and the like.
fn name(p: &Program, var: VarId) -> &str {
    p.syncs.iter().find(|s| s.initialized == Some(var)).map_or_else(|| p.name(var), |s| s.name.as_str())
}

fn code(rows: &[Row], orders: &Result<HappensBefore, String>, by_rules: bool) -> u8 {
    if rows.iter().any(Row::is_sure) {
        return 1;
    }
    if rows.iter().any(|r| r.apart) {
        return 3;
    }
    // Locks that are used by their rules miss nothing: without a warning there is no race, however many executions there are.
    let clear = by_rules && rows.iter().all(|r| r.warned.is_none());
    let all = orders.as_ref().is_ok_and(|o| o.all);
    if clear || all { 0 } else { 3 }
}

fn by_locks(r: &Row) -> String {
    match (&r.warned, r.concurrent) {
        (Some(_), _) => "RACE?".to_owned(),
        (None, false) => "never at once".to_owned(),
        (None, true) if r.guards.is_empty() => "fine".to_owned(),
        (None, true) => format!("under {}", r.guards.join(", ")),
    }
}

fn by_orders(r: &Row, orders: &Result<HappensBefore, String>) -> &'static str {
    match (&r.raced, orders) {
        (Some(_), _) if r.apart => "RACE?",
        (Some(_), _) => "RACE",
        (None, Ok(o)) if o.all => "none",
        (None, Ok(_)) => "none so far",
        (None, Err(_)) => "unknown",
    }
}

fn access(p: &Program, (t, e): (ThreadId, TransitionId), var: VarId, source: &Source) -> String {
    let e = p.thread(t).transition(e);
    let a = p.accesses(e);
    let word = if a.writes.iter().any(|q| q.var == var) { "writes" } else { "reads" };
    let file = p.files.get(e.span.file.0 as usize).cloned().unwrap_or_default();
    let code = source.line(&file, e.span.line).unwrap_or_default();
    format!("{} {word} it at {}  {code}", p.thread(t).name, p.show_span(e.span))
}

fn summary(orders: &Result<HappensBefore, String>) -> String {
    match orders {
        Ok(o) if o.all => {
            format!("all {} executions were followed, one for each order of dependent steps", o.executions)
        }
        Ok(o) => format!("{} executions were followed, and there are more", o.executions),
        Err(why) => format!("executions were not followed: {why}"),
    }
}

fn to_text(p: &Program, rows: &[Row], orders: &Result<HappensBefore, String>, source: &Source) -> String {
    let wide = rows.iter().map(|r| name(p, r.var).len()).max().unwrap_or(0).max("variable".len());
    let cells: Vec<String> = rows.iter().map(by_locks).collect();
    let second = cells.iter().map(String::len).max().unwrap_or(0).max("by locks".len());
    let mut out = format!("{:wide$}  {:second$}  by happens-before\n", "variable", "by locks");
    for (r, locks) in rows.iter().zip(&cells) {
        out += &format!("{:wide$}  {locks:second$}  {}\n", name(p, r.var), by_orders(r, orders));
    }
    for r in rows {
        let (pair, word) = match (&r.raced, &r.warned) {
            (Some(pair), _) if r.apart => {
                (pair, "nothing orders these two, perhaps to different bytes of a union")
            }
            (Some(pair), _) => (pair, "nothing orders these two"),
            (None, Some(pair)) => (pair, "no lock keeps these two apart"),
            _ => continue,
        };
        out += &format!("\n`{}`: {word}\n", name(p, r.var));
        out += &format!("  {}\n  {}\n", access(p, pair.0, r.var, source), access(p, pair.1, r.var, source));
        if r.raced.is_none() {
            out += match orders {
                Ok(o) if o.all => "  but something else orders them in every execution\n",
                _ => "  whether something else orders them is not known\n",
            };
        }
    }
    out + &format!("\n{}\n", summary(orders))
}

fn to_json(p: &Program, rows: &[Row], orders: &Result<HappensBefore, String>, by_rules: bool) -> Value {
    let place = |(t, e): (ThreadId, TransitionId)| json!({ "thread": p.thread(t).name, "place": p.show_span(p.thread(t).transition(e).span) });
    let pair = |x: &Option<Pair>| x.map(|(a, b)| vec![place(a), place(b)]);
    let row = |r: &Row| {
        json!({
            "variable": name(p, r.var), "locks": by_locks(r), "guards": r.guards, "happens-before": by_orders(r, orders),
            "warning": pair(&r.warned), "race": pair(&r.raced),
        })
    };
    json!({
        "verdict": match code(rows, orders, by_rules) { 0 => "none", 1 => "race", _ => "unknown" },
        "variables": rows.iter().map(row).collect::<Vec<_>>(),
        "executions": orders.as_ref().map_or(0, |o| o.executions),
        "all": orders.as_ref().is_ok_and(|o| o.all),
        "summary": summary(orders),
    })
}
