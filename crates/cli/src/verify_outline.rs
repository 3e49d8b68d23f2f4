//! `raddle verify --outline`: what the annotations of a C file claim, and whether it holds.

use ::model::{Annotated, Options};
use ::verify::{Condition, ConditionKind, Outline, Place, Status};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(path: &Path, options: &Options, seconds: f64, as_json: bool) -> ExitCode {
    let found = Annotated::read_file(path, options).and_then(|file| {
        if file.annotations.is_empty() {
            let reason =
                "there are no annotations: expected comments such as /*@ requires ...; ensures ...; */";
            return Err(::model::Refusal {
                file: file.file().to_owned(),
                line: 0,
                reason: reason.to_owned(),
            });
        }
        ::verify::check_outline(&file, seconds)
    });
    let outline = match found {
        Ok(outline) => outline,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let source = Source::of(path);
    let text = if as_json { format!("{}\n", to_json(&outline)) } else { to_text(&outline, &source) };
    // Whoever reads it may have seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let code = match (outline.failing().count(), outline.undecided().count()) {
        (0, 0) => 0,
        (0, _) => 3,
        _ => 1,
    };
    ExitCode::from(code)
}

/// The lines of the file, to show statements as they were written.
pub(crate) struct Source {
    name: String,
    lines: Vec<String>,
}

impl Source {
    pub(crate) fn of(path: &Path) -> Source {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        Source { name: path.display().to_string(), lines: text.lines().map(str::to_owned).collect() }
    }

    /// A line without its annotations.
    pub(crate) fn line(&self, file: &str, n: u32) -> Option<String> {
        let line = self.lines.get((n as usize).checked_sub(1)?).filter(|_| file == self.name)?;
        let code = line.split("//").next().unwrap_or_default();
        let code = code.split("/*").next().unwrap_or_default().trim();
        (!code.is_empty()).then(|| code.to_owned())
    }
}

const KINDS: [(ConditionKind, &str); 8] = [
    (ConditionKind::Triple, "triples"),
    (ConditionKind::Assertion, "assertions"),
    (ConditionKind::Call, "calls"),
    (ConditionKind::Sequential, "sequential"),
    (ConditionKind::Interference, "non-interference"),
    (ConditionKind::Initial, "initial"),
    (ConditionKind::Final, "final"),
    (ConditionKind::Check, "checks"),
];

/// `72 conditions: 10 sequential, 60 non-interference, 1 initial, 1 final; and 2 checks of the code itself`.
fn counts(o: &Outline) -> String {
    let checks = o.count(ConditionKind::Check);
    let parts: Vec<String> = KINDS
        .iter()
        .filter(|(k, _)| *k != ConditionKind::Check && o.count(*k) > 0)
        .map(|(k, name)| format!("{} {name}", o.count(*k)))
        .collect();
    let all = o.conditions.len() - checks;
    let mut text = format!("{all} condition{}", if all == 1 { "" } else { "s" });
    if !parts.is_empty() {
        text += &format!(" ({})", parts.join(", "));
    }
    if checks > 0 {
        let s = if checks == 1 { "" } else { "s" };
        text += &format!(", and {checks} check{s} of indices, divisions, locks and assertions in the code");
    }
    text
}

fn at(p: &Place) -> String {
    if p.line == 0 { p.file.clone() } else { format!("{}:{}", p.file, p.line) }
}

/// What went wrong, in a sentence.
fn headline(c: &Condition) -> String {
    match c.kind {
        ConditionKind::Triple if c.from.line == c.to.line => {
            format!("`{}`: a round of the loop does not keep its invariant", c.of)
        }
        ConditionKind::Triple => format!("`{}`: what is claimed at {} does not follow", c.of, at(&c.to)),
        ConditionKind::Assertion => format!("`{}`: the assertion at {} does not follow", c.of, at(&c.to)),
        ConditionKind::Call => {
            format!(
                "`{}`: what is required at {} does not follow where the function is called",
                c.of,
                at(&c.to)
            )
        }
        ConditionKind::Check => format!("`{}`: nothing keeps {} from going wrong", c.of, at(&c.to)),
        ConditionKind::Sequential => {
            format!("`{}`: a step does not lead to what stands at {}", c.of, at(&c.to))
        }
        ConditionKind::Interference => format!("`{}`: a step destroys what stands at {}", c.of, at(&c.to)),
        ConditionKind::Initial => format!("what stands at {} does not hold at the start", at(&c.to)),
        ConditionKind::Final => format!("what is claimed at {} does not hold in the end", at(&c.to)),
    }
}

fn show(c: &Condition, source: &Source, word: &str) -> String {
    let says = match c.status {
        Status::Unknown(_) => format!("`{}`: what is claimed at {}", c.of, at(&c.to)),
        _ => headline(c),
    };
    let mut out = format!("{word} {says} ({})\n", c.kind.name());
    out += &format!("  assumed  {}  {}\n", at(&c.from), c.from.what);
    for line in &c.steps {
        if let Some(code) = source.line(&c.from.file, *line) {
            out += &format!("  step     {}:{line}  {code}\n", c.from.file);
        }
    }
    out += &format!("  claimed  {}  {}\n", at(&c.to), c.to.what);
    match &c.status {
        Status::Holds => {}
        Status::Unknown(why) => out += &format!("  unknown  {why}\n"),
        Status::Fails(e) => {
            let list = |l: &[(String, String)]| {
                let part = |(name, value): &(String, String)| {
                    if name.ends_with(" at") || value == "free" || value.starts_with("held by") {
                        format!("{name} {value}")
                    } else {
                        format!("{name} = {value}")
                    }
                };
                l.iter().map(part).collect::<Vec<_>>().join(", ")
            };
            out += &format!("  example  {}\n", list(&e.before));
            if !e.after.is_empty() {
                out += &format!("  after it {}\n", list(&e.after));
            }
        }
    }
    out
}

fn to_text(o: &Outline, source: &Source) -> String {
    let mut out = String::new();
    for c in &o.conditions {
        match c.status {
            Status::Holds => {}
            Status::Fails(_) => out += &format!("{}\n", show(c, source, "FAILS")),
            Status::Unknown(_) => out += &format!("{}\n", show(c, source, "UNKNOWN")),
        }
    }
    let (failing, unknown) = (o.failing().count(), o.undecided().count());
    let word = match (failing, unknown) {
        (0, 0) => "all hold".to_owned(),
        (0, n) => format!("{n} undecided, the others hold"),
        (1, 0) => "1 fails".to_owned(),
        (n, 0) => format!("{n} fail"),
        (n, m) => format!("{n} fail, {m} undecided"),
    };
    out += &format!("{}: {word}: {}\n", source.name, counts(o));
    for r in &o.remarks {
        out += &format!("note: {r}\n");
    }
    out + "integers are bit-vectors, as in C; formulas compare them as numbers\n"
}

fn to_json(o: &Outline) -> Value {
    let place = |p: &Place| json!({ "file": p.file, "line": p.line, "what": p.what });
    let list = |l: &[(String, String)]| -> Value {
        l.iter().map(|(n, v)| (n.clone(), Value::from(v.clone()))).collect::<serde_json::Map<_, _>>().into()
    };
    let condition = |c: &Condition| {
        let mut out = json!({
            "kind": c.kind.name(), "of": c.of, "assumed": place(&c.from), "claimed": place(&c.to), "steps": c.steps,
            "status": match &c.status { Status::Holds => "holds", Status::Fails(_) => "fails", Status::Unknown(_) => "unknown" },
        });
        match &c.status {
            Status::Holds => {}
            Status::Unknown(why) => out["reason"] = why.clone().into(),
            Status::Fails(e) => {
                out["example"] = json!({ "before": list(&e.before), "after": list(&e.after) })
            }
        }
        out
    };
    let counts: serde_json::Map<String, Value> =
        KINDS.iter().map(|(k, name)| ((*name).to_owned(), o.count(*k).into())).collect();
    let verdict = match (o.failing().count(), o.undecided().count()) {
        (0, 0) => "holds",
        (0, _) => "unknown",
        _ => "fails",
    };
    json!({
        "verdict": verdict, "integers": "bit-vectors", "counts": counts,
        "conditions": o.conditions.iter().map(condition).collect::<Vec<_>>(), "remarks": o.remarks,
    })
}
