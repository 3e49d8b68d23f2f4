//! `raddle verify --schedules DIR` and `--art FILE`: what iterative Impact finds, as files.
//!
//! The format of a schedule is told in `docs/verify-schedules.md`.

use ::model::{LocationKind, Program};
use ::verify::{Art, Event, Kind, Options, Outcome, Schedule, Trace};
use clap::Args;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// What can be asked of the engine `imc` alone.
#[derive(Args)]
pub(crate) struct ScheduleArgs {
    /// Write each safe schedule to a file in this directory as soon as it is there, and each counterexample (--engine imc)
    #[arg(long, value_name = "DIR")]
    schedules: Option<PathBuf>,

    /// At most so many schedules
    #[arg(long, value_name = "N", default_value_t = 8, requires = "schedules")]
    most_schedules: usize,

    /// Write the abstract reachability tree: data if the name ends in .json, else a picture for Graphviz (--engine imc)
    #[arg(long, value_name = "FILE")]
    art: Option<PathBuf>,
}

impl ScheduleArgs {
    /// Whether any of it is asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.schedules.is_some() || self.art.is_some()
    }

    /// Runs the engine and writes the files; the outcome, or why a file cannot be written.
    pub(crate) fn run(&self, program: &Program, options: &Options) -> Result<Outcome, String> {
        if let Some(dir) = &self.schedules {
            std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        }
        let hash = hash(program);
        let (mut schedules, mut traces) = (0, 0);
        let mut failed = None;
        let most = if self.schedules.is_some() { self.most_schedules } else { 1 };
        let found = ::verify::schedules(program, options, most, &mut |event| {
            let Some(dir) = &self.schedules else { return ControlFlow::Continue(()) };
            let (name, value) = match event {
                Event::Schedule { schedule, seconds } => {
                    schedules += 1;
                    let name = format!("schedule-{schedules:03}.json");
                    eprintln!("{name}: {} nodes, after {seconds:.2} s", schedule.nodes.len());
                    (name, schedule_json(program, &hash, schedule))
                }
                Event::Counterexample { trace, seconds } => {
                    traces += 1;
                    let name = format!("counterexample-{traces:03}.json");
                    eprintln!("{name}: {} steps, after {seconds:.2} s", trace.steps.len());
                    (name, trace_json(program, &hash, trace))
                }
            };
            match write(&dir.join(name), &pretty(&value)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(why) => {
                    failed = Some(why);
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(path) = &self.art {
            let is_data = path.extension().is_some_and(|e| e == "json");
            let text = match is_data {
                true => pretty(&art_json(program, &hash, &found.art)),
                false => art_dot(program, &found.art),
            };
            write(path, &text)?;
        }
        failed.map_or(Ok(found.outcome), Err)
    }
}

/// Writes a file as a whole: whoever watches the directory sees no part of one.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let part = path.with_extension("part");
    let both = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    both.map_err(|e| format!("{}: {e}", path.display()))
}

/// One node a line, so that it can be read.
fn pretty(value: &Value) -> String {
    let Value::Object(fields) = value else { return format!("{value}\n") };
    let field = |(name, value): (&String, &Value)| match value {
        Value::Array(items) if items.len() > 1 => {
            let lines: Vec<String> = items.iter().map(|v| format!("    {v}")).collect();
            format!("  {}: [\n{}\n  ]", json!(name), lines.join(",\n"))
        }
        other => format!("  {}: {other}", json!(name)),
    };
    format!("{{\n{}\n}}\n", fields.iter().map(field).collect::<Vec<_>>().join(",\n"))
}

/// The automata of a program as one number (FNV-1a of their text), so that no schedule is used for another one.
fn hash(program: &Program) -> String {
    let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    let h = program.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{h:016x}")
}

fn threads(program: &Program) -> Value {
    program.threads.iter().map(|t| json!(t.name)).collect()
}

fn locations(at: &[::model::LocationId]) -> Value {
    at.iter().map(|l| json!(l.0)).collect()
}

fn schedule_json(program: &Program, hash: &str, schedule: &Schedule) -> Value {
    let node = |n: &::verify::ScheduleNode| {
        let next: Vec<Value> = n
            .next
            .iter()
            .map(|(thread, transition, to)| {
                let t = program.thread(*thread).transition(*transition);
                json!({
                    "thread": thread.0, "transition": transition.0, "to": to, "at": program.show_span(t.span),
                    "action": t.action.name(), "does": program.show_transition(t),
                })
            })
            .collect();
        let label = schedule.terms.show(n.label, &|v| program.name(v));
        json!({ "locations": locations(&n.locations), "label": label, "next": next })
    };
    let sections = ::verify::Sections::of(program, schedule);
    let event = |e: &::verify::SectionEvent| {
        let mut event = json!({ "thread": e.thread.0, "transition": e.transition.0 });
        if !e.after.is_empty() {
            event["after"] = json!(e.after);
        }
        event
    };
    let section = |s: &::verify::Section| {
        let events: Vec<Value> = s.events.iter().map(event).collect();
        json!({ "from": s.from, "to": s.to, "events": events, "next": s.next })
    };
    json!({
        "format": "raddle-schedule-1", "program": hash, "files": program.files, "threads": threads(program),
        "nodes": schedule.nodes.iter().map(node).collect::<Vec<_>>(),
        "first_sections": sections.first, "sections": sections.all.iter().map(section).collect::<Vec<_>>(),
    })
}

fn trace_json(program: &Program, hash: &str, trace: &Trace) -> Value {
    let step = |s: &::model::Step| {
        let t = program.thread(s.thread).transition(s.transition);
        json!({
            "thread": s.thread.0, "transition": s.transition.0, "inputs": s.inputs, "at": program.show_span(t.span),
            "does": program.show_transition(t),
        })
    };
    json!({
        "format": "raddle-counterexample-1", "program": hash, "threads": threads(program),
        "wrong": crate::verify::what(program, &trace.wrong),
        "steps": trace.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

fn kind(k: Kind) -> &'static str {
    match k {
        Kind::Followed => "followed",
        Kind::Open => "open",
        Kind::Covered(_) => "covered",
        Kind::Impossible => "impossible",
        Kind::Wrong => "wrong",
    }
}

fn art_json(program: &Program, hash: &str, art: &Art) -> Value {
    let node = |n: &::verify::ArtNode| {
        let label = art.terms.show(n.label, &|v| program.name(v));
        let mut value = json!({
            "locations": locations(&n.locations), "label": label, "kind": kind(n.kind), "lost": n.lost,
        });
        if let Some((parent, thread, transition)) = n.parent {
            let t = program.thread(thread).transition(transition);
            value["parent"] = json!(parent);
            value["thread"] = json!(thread.0);
            value["transition"] = json!(transition.0);
            value["at"] = json!(program.show_span(t.span));
        }
        if let Kind::Covered(by) = n.kind {
            value["covered_by"] = json!(by);
        }
        value
    };
    json!({
        "format": "raddle-art-1", "program": hash, "files": program.files, "threads": threads(program),
        "nodes": art.nodes.iter().map(node).collect::<Vec<_>>(),
    })
}

/// Cuts a text that is too long for a picture.
fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn art_dot(program: &Program, art: &Art) -> String {
    let names: Vec<&str> = program.threads.iter().map(|t| &t.name[..]).collect();
    let title = format!(
        "lines of {}; dashed: covered, grey: impossible, red: wrong, pale red: lost",
        names.join(", ")
    );
    let mut out =
        format!("digraph art {{\n  label=\"{}\"; labelloc=t; fontname=\"sans-serif\";\n", quoted(&title));
    out += " node [shape=box, fontname=\"sans-serif\", fontsize=10, style=filled, fillcolor=white];\n  \
         edge [fontname=\"sans-serif\", fontsize=9];\n";
    // What synchronisation is known to be says the place already.
    let is_own = |text: &str| {
        let name = |c: char| c.is_alphanumeric() || "_.#%".contains(c);
        let internal = |word: &str| program.vars.iter().any(|v| v.internal && v.name == word);
        !text.split(|c| !name(c)).any(internal)
    };
    for (i, n) in art.nodes.iter().enumerate() {
        let label = art.terms.show(n.label, &|v| program.name(v));
        let parts: Vec<String> =
            label.split(" && ").filter(|p| is_own(p) && *p != "true").map(|p| short(p, 40)).collect();
        let places: Vec<String> = program
            .threads
            .iter()
            .zip(&n.locations)
            .map(|(t, l)| match &t.location(*l).kind {
                LocationKind::Normal if t.location(*l).span.line > 0 => t.location(*l).span.line.to_string(),
                LocationKind::Normal => format!("({})", l.0),
                LocationKind::End | LocationKind::Exit => "end".to_owned(),
                LocationKind::Halt => "halt".to_owned(),
                LocationKind::Error { .. } => "ERROR".to_owned(),
            })
            .collect();
        let mut text = format!("{i}: {}", places.join(", "));
        let mut shown = parts.iter().take(4).peekable();
        while let Some(part) = shown.next() {
            text += &format!("\n{part}");
            if shown.peek().is_none() && parts.len() > 4 {
                text += "\n…";
            }
        }
        let look = match n.kind {
            Kind::Wrong => ", fillcolor=\"#f4b6b6\"",
            Kind::Impossible => ", fillcolor=\"#dddddd\", fontcolor=\"#777777\"",
            Kind::Covered(_) => ", style=\"filled,dashed\"",
            Kind::Open => ", fillcolor=\"#fff3c4\"",
            Kind::Followed if n.lost => ", fillcolor=\"#f9dede\"",
            Kind::Followed => "",
        };
        out += &format!("  n{i} [label=\"{}\"{look}];\n", quoted(&text));
        if let Some((parent, thread, transition)) = n.parent {
            let t = program.thread(thread);
            let e = t.transition(transition);
            let text = format!("{} {}", t.name, short(&program.show_transition(e), 40));
            out += &format!("  n{parent} -> n{i} [label=\"{}\"];\n", quoted(&text));
        }
        if let Kind::Covered(by) = n.kind {
            out += &format!("  n{i} -> n{by} [style=dotted, constraint=false];\n");
        }
    }
    out + "}\n"
}
