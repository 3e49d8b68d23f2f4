//! `raddle verify --atomic`: which functions might as well run without interruption, and which lock guards which variable.

use crate::verify_outline::Source;
use ::model::{Action, Annotated, Interpreter, Options, Program, Step};
use ::verify::{Atomicity, Broken, FunctionAtomicity, GuardChecked, Serial};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// How many executions are searched for one that breaks a function.
const EXECUTIONS: u64 = 100_000;

pub(crate) fn run(path: &Path, options: &Options, seconds: f64, as_json: bool) -> ExitCode {
    let found =
        Annotated::read_file(path, options).and_then(|f| ::verify::atomicity(&f, EXECUTIONS, seconds));
    let found = match found {
        Ok(found) => found,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let source = Source::of(path);
    let text = if as_json { format!("{}\n", to_json(&found)) } else { to_text(&found, &source) };
    // Whoever reads it may have seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(code(&found))
}

/// What is declared decides: what is only inferred is no claim.
fn code(a: &Atomicity) -> u8 {
    let declared = || a.functions.iter().filter(|f| f.declared.is_some());
    let wrong = declared().any(|f| matches!(f.serial, Serial::No(_)))
        || a.guards.iter().any(|g| !g.without.is_empty());
    let open = declared().any(|f| matches!(f.serial, Serial::Unknown(_)));
    match (wrong, open) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 0,
    }
}

fn word(f: &FunctionAtomicity) -> &'static str {
    match f.serial {
        Serial::ByMovers => "atomic",
        Serial::BySearch(_) => "atomic",
        Serial::No(_) => "NOT ATOMIC",
        Serial::Unknown(_) => "unknown",
    }
}

fn why(f: &FunctionAtomicity) -> String {
    let steps: Vec<String> = f.way.iter().map(|w| w.0.letter().to_string()).collect();
    let steps = if steps.is_empty() { "local".to_owned() } else { steps.join(" ") };
    match &f.serial {
        Serial::ByMovers => format!("{steps} = {}", f.mover.letter()),
        Serial::BySearch(n) => {
            format!("{steps} = {}, but none of all {n} executions breaks it", f.mover.letter())
        }
        Serial::No(_) => format!("{steps} = {}, and a run breaks it", f.mover.letter()),
        Serial::Unknown(why) => format!("{steps} = {}; {why}", f.mover.letter()),
    }
}

fn lock(p: &Program, s: ::model::SyncId) -> &str {
    &p.sync(s).name
}

fn guard(p: &Program, g: &GuardChecked) -> (&'static str, String) {
    let inferred: Vec<&str> = g.inferred.iter().map(|s| lock(p, *s)).collect();
    match g.declared {
        Some((s, _)) if g.without.is_empty() => ("guarded", format!("by {}, as declared", lock(p, s))),
        Some((s, _)) => (
            "NOT GUARDED",
            format!("by {}, as declared: {} accesses without it", lock(p, s), g.without.len()),
        ),
        None if inferred.is_empty() => ("not guarded", "no lock is held at all accesses".to_owned()),
        None => ("guarded", format!("by {}", inferred.join(", "))),
    }
}

/// The steps of a run that others can see, those of the function marked.
fn show_run(p: &Program, b: &Broken, source: &Source) -> String {
    let run = Interpreter::new(p);
    let Ok(states) = run.replay(&b.run) else { return String::new() };
    let mut out = String::new();
    let wide = b.run.iter().map(|s| p.thread(s.thread).name.len()).max().unwrap_or(0);
    // What comes after the third access changes nothing.
    let shown = || b.run.iter().enumerate().take(b.accesses[2] + 1);
    let place = |s: &Step| p.show_span(p.thread(s.thread).transition(s.transition).span);
    let far = shown().map(|(_, s)| place(s).len()).max().unwrap_or(0);
    for (n, step) in shown() {
        let e = p.thread(step.thread).transition(step.transition);
        if matches!(e.action, Action::Local | Action::End) {
            continue;
        }
        let mark = if b.accesses.contains(&n) {
            '>'
        } else if b.inside[n] {
            '|'
        } else {
            ' '
        };
        let span = place(step);
        let file = p.files.get(e.span.file.0 as usize).cloned().unwrap_or_default();
        let code = source.line(&file, e.span.line).unwrap_or_default();
        let what = what(p, &run, &states, step, n);
        out += &format!("  {mark} {:wide$}  {span:far$}  {what:<24}  {code}\n", p.thread(step.thread).name);
    }
    out
}

/// What a step did: `reads balance (10)`, `locks l`.
fn what(p: &Program, run: &Interpreter<'_>, states: &[::model::State], step: &Step, n: usize) -> String {
    let e = p.thread(step.thread).transition(step.transition);
    match e.action {
        Action::Create(t) => return format!("creates {}", p.thread(t).name),
        Action::Join(t) => return format!("joins {}", p.thread(t).name),
        _ => {}
    }
    if let Some(s) = e.action.sync() {
        return format!("{} {}", e.action.name(), lock(p, s));
    }
    let a = p.accesses(e);
    let mut parts = Vec::new();
    for (list, word, state) in [(&a.reads, "reads", &states[n]), (&a.writes, "writes", &states[n + 1])] {
        for q in list.iter().filter(|q| !p.var(q.var).internal) {
            if let Some(c) = run.place_cell(&states[n], *q) {
                let (v, i) = run.place_of(c);
                let name =
                    if p.var(v).len.is_some() { format!("{}[{i}]", p.name(v)) } else { p.name(v).to_owned() };
                parts.push(format!("{word} {name} ({})", p.var(v).ty.value(state.values[c])));
            }
        }
    }
    parts.join(", ")
}

fn to_text(a: &Atomicity, source: &Source) -> String {
    let p = &a.program;
    let mut out = String::new();
    let wide = a
        .functions
        .iter()
        .map(|f| f.name.len())
        .chain(a.guards.iter().map(|g| p.name(g.var).len()))
        .max()
        .unwrap_or(0);
    out += "functions (R right mover, L left mover, B both, A atomic, C not atomic)\n";
    for f in &a.functions {
        let said = if f.declared.is_some() { "declared" } else { "inferred" };
        out += &format!("  {:wide$}  {:<11}  {said}  {}\n", f.name, word(f), why(f));
    }
    if !a.guards.is_empty() {
        out += "shared variables\n";
    }
    for g in &a.guards {
        let (word, why) = guard(p, g);
        out += &format!("  {:wide$}  {word:<11}  {why}\n", p.name(g.var));
    }
    for g in a.guards.iter().filter(|g| !g.without.is_empty()) {
        let Some((s, line)) = g.declared else { continue };
        out += &format!(
            "\n`{}` is declared to be guarded by `{}` ({}:{line}), and is accessed without it:\n",
            p.name(g.var),
            lock(p, s),
            p.show_span(p.var(g.var).span).rsplit_once(':').map_or("?", |x| x.0)
        );
        for x in &g.without {
            let e = p.thread(x.thread).transition(x.transition);
            let file = p.files.get(e.span.file.0 as usize).cloned().unwrap_or_default();
            let code = source.line(&file, e.span.line).unwrap_or_default();
            let word = if x.write { "writes" } else { "reads" };
            out += &format!("  {} {word} it at {}  {code}\n", p.thread(x.thread).name, p.show_span(e.span));
        }
    }
    // What is not declared is no claim, unless nothing is.
    let any = a.functions.iter().any(|f| f.declared.is_some());
    for f in a.functions.iter().filter(|f| f.declared.is_some() || !any) {
        if let Serial::No(b) = &f.serial {
            let place = |n: usize| {
                let s = &b.run[n];
                p.show_span(p.thread(s.thread).transition(s.transition).span)
            };
            let [x, y, z] = b.accesses;
            out += &format!(
                "\n`{}` ({}:{}) is interrupted: {} at {} comes after {} and before {}, and neither order can change\n",
                f.name,
                p.files.first().map_or("?", String::as_str),
                f.line,
                p.thread(b.run[y].thread).name,
                place(y),
                place(x),
                place(z)
            );
            out += &format!("(| is a step of `{}`, > one of the three)\n", f.name);
            out += &show_run(p, b, source);
        }
    }
    out
}

fn to_json(a: &Atomicity) -> Value {
    let p = &a.program;
    let place = |s: &Step| p.show_span(p.thread(s.thread).transition(s.transition).span);
    let function = |f: &FunctionAtomicity| {
        let steps: Vec<Value> =
            f.way.iter().map(|(m, line)| json!({ "mover": m.letter().to_string(), "line": line })).collect();
        let mut out = json!({
            "name": f.name, "line": f.line, "declared": f.declared.is_some(), "mover": f.mover.letter().to_string(),
            "steps": steps,
            "atomic": match f.serial {
                Serial::ByMovers | Serial::BySearch(_) => json!(true),
                Serial::No(_) => json!(false),
                Serial::Unknown(_) => Value::Null,
            },
            "why": why(f),
        });
        if let Serial::No(b) = &f.serial {
            out["accesses"] = b.accesses.iter().map(|n| place(&b.run[*n])).collect::<Vec<_>>().into();
            let run = Interpreter::new(p).show_run(&b.run).unwrap_or_default();
            out["run"] = run.lines().map(str::trim).collect::<Vec<_>>().into();
        }
        out
    };
    let guarded = |g: &GuardChecked| {
        let at = |x: &::verify::Access| p.show_span(p.thread(x.thread).transition(x.transition).span);
        json!({
            "variable": p.name(g.var),
            "declared": g.declared.map(|(s, _)| lock(p, s).to_owned()),
            "inferred": g.inferred.iter().map(|s| lock(p, *s)).collect::<Vec<_>>(),
            "without": g.without.iter().map(at).collect::<Vec<_>>(),
        })
    };
    json!({
        "verdict": match code(a) { 0 => "holds", 1 => "fails", _ => "unknown" },
        "functions": a.functions.iter().map(function).collect::<Vec<_>>(),
        "variables": a.guards.iter().map(guarded).collect::<Vec<_>>(),
    })
}
