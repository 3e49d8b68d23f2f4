//! Witnesses in the YAML format 2.x of SV-COMP: the run that violates a property, or invariants of loops.
//!
//! A violation is a sequence of waypoints, each with the thread that passes it (the concurrency extension of 2.2): where a thread
//! accesses something shared, what inputs return, and last the target. A proof is witnessed by what it says at the heads of loops
//! ([`verify::loop_invariants`]).
//!
//! Values are written as JSON writes them, which YAML takes as they are.

use crate::verify_svcomp::Property;
use ::model::{Action, Program, Span, Step, ThreadId, Wrong};
use ::verify::{Certificate, Race, Trace};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a witness is about.
pub(crate) struct Task<'a> {
    pub(crate) program: &'a Program,
    pub(crate) file: &'a Path,
    pub(crate) property: Property,
    /// Whether heads of loops are locations of the program.
    pub(crate) loops: bool,
}

/// A run that violates the property, as text.
pub(crate) fn violation(task: &Task<'_>, trace: &Trace) -> Result<String, String> {
    let mut content = passed(task, &trace.steps);
    let last = trace.steps.last().ok_or("the run has no steps")?;
    let numbers = numbers(task.program, &trace.steps);
    // The last step leads to where it goes wrong, and that is the target. The step may be one with a condition before it.
    let (thread, span) = match trace.wrong {
        Wrong::Error { thread, location, .. } => {
            (thread, task.program.thread(thread).location(location).span)
        }
        Wrong::Deadlock => (last.thread, task.program.thread(last.thread).transition(last.transition).span),
    };
    let who = numbers[thread.index()];
    content.push(segment(vec![waypoint(task, "target", who, span, None)]));
    entry(task, "violation_sequence", "2.2", content)
}

/// Two accesses that race, after a run: both are targets of the last segment.
pub(crate) fn race(task: &Task<'_>, race: &Race) -> Result<String, String> {
    let mut content = passed(task, &race.run);
    let numbers = numbers(task.program, &race.run);
    let target = |(t, e): (ThreadId, ::model::TransitionId)| {
        let span = task.program.thread(t).transition(e).span;
        waypoint(task, "target", numbers[t.index()], span, None)
    };
    content.push(segment(vec![target(race.first), target(race.second)]));
    entry(task, "violation_sequence", "2.2", content)
}

/// What holds at the heads of loops, as text.
pub(crate) fn correctness(task: &Task<'_>, certificate: &Certificate) -> Result<String, String> {
    let mut content = Vec::new();
    let name = task.file.display().to_string();
    let text = std::fs::read_to_string(task.file).map_err(|e| format!("{name} cannot be read: {e}"))?;
    let found = if task.loops {
        ::verify::loop_invariants(task.program, &name, &text, certificate)
    } else {
        Vec::new()
    };
    for i in found {
        content.push(json!({ "invariant": {
            "type": "loop_invariant",
            "location": location(task, i.span),
            "value": i.text,
            "format": "c_expression",
        }}));
    }
    entry(task, "invariant_set", "2.0", content)
}

/// The numbers of threads: 0 is `main`, the others count in the order in which they are made.
fn numbers(program: &Program, steps: &[Step]) -> Vec<usize> {
    let mut out = vec![0; program.threads.len()];
    let mut made = 0;
    for s in steps {
        if let Action::Create(child) = program.thread(s.thread).transition(s.transition).action {
            made += 1;
            out[child.index()] = made;
        }
    }
    out
}

/// The waypoints of a run, without its target.
fn passed(task: &Task<'_>, steps: &[Step]) -> Vec<Value> {
    let numbers = numbers(task.program, steps);
    let mut content = Vec::new();
    let mut before = None;
    for s in steps {
        let t = task.program.thread(s.thread).transition(s.transition);
        let who = numbers[s.thread.index()];
        for (place, bits) in t.havoc.iter().zip(&s.inputs) {
            let var = task.program.var(place.var);
            // Only calls for inputs have temporaries: other values were never set.
            if var.name.contains('%') {
                let constraint = json!({ "value": format!("\\result == {}", var.ty.value(*bits)), "format": "acsl_expression" });
                content.push(segment(vec![waypoint(task, "function_return", who, t.span, Some(constraint))]));
                before = None;
            }
        }
        let seen = (who, t.span.file, t.span.line);
        // A thread may end in several places, and who waits for that says so.
        let hidden = matches!(t.action, Action::Local | Action::End);
        if hidden || t.span.line == 0 || before == Some(seen) {
            continue;
        }
        before = Some(seen);
        let constraint = json!({ "value": "1", "format": "c_expression" });
        content.push(segment(vec![waypoint(task, "assumption", who, t.span, Some(constraint))]));
    }
    content
}

fn segment(waypoints: Vec<Value>) -> Value {
    json!({ "segment": waypoints })
}

fn waypoint(task: &Task<'_>, kind: &str, thread: usize, span: Span, constraint: Option<Value>) -> Value {
    let mut one =
        json!({ "type": kind, "action": "follow", "thread_id": thread, "location": location(task, span) });
    if let Some(c) = constraint {
        one["constraint"] = c;
    }
    json!({ "waypoint": one })
}

/// Without a column a place is the leftmost one of the line that fits.
fn location(task: &Task<'_>, span: Span) -> Value {
    let file = task.program.files.get(span.file.0 as usize).cloned();
    let mut out = json!({ "file_name": file.unwrap_or_else(|| task.file.display().to_string()), "line": span.line.max(1) });
    if span.column > 0 {
        out["column"] = span.column.into();
    }
    out
}

fn entry(task: &Task<'_>, kind: &str, version: &str, content: Vec<Value>) -> Result<String, String> {
    let name = task.file.display().to_string();
    let bytes = std::fs::read(task.file).map_err(|e| format!("{name} cannot be read: {e}"))?;
    let hash = sha256(&bytes);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    // In the order of the format's own examples: a map would sort them.
    let parts = [
        ("entry_type", json!(kind)),
        (
            "metadata",
            json!({
                    "format_version": version,
                    "uuid": uuid(&format!("{hash} {now} {} {content:?}", std::process::id())),
                    "creation_time": time((now / 1_000_000_000) as u64),
                    "producer": { "name": "raddle", "version": env!("CARGO_PKG_VERSION") },
                    "task": {
                        "input_files": [name],
                        "input_file_hashes": { name: hash },
                        "specification": task.property.specification(),
                        "data_model": "LP64",
                        "language": "C",
                    },
            }),
        ),
        ("content", Value::Array(content)),
    ];
    let mut text = String::new();
    for (n, (name, part)) in parts.iter().enumerate() {
        text += if n == 0 { "- " } else { "  " };
        text += &format!("{name}:");
        nested(part, 1, &mut text);
    }
    Ok(text)
}

/// A value in YAML's block style, after what stands before it on its line.
fn yaml(value: &Value, depth: usize, out: &mut String) {
    let indent = |out: &mut String, first: bool| {
        if !first {
            out.push_str(&"  ".repeat(depth));
        }
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (n, (name, field)) in fields.iter().enumerate() {
                indent(out, n == 0);
                // A name that is no plain word is quoted.
                let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                if plain {
                    out.push_str(name)
                } else {
                    out.push_str(&Value::from(name.as_str()).to_string())
                }
                out.push(':');
                nested(field, depth, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (n, item) in items.iter().enumerate() {
                indent(out, n == 0);
                out.push_str("- ");
                yaml(item, depth + 1, out);
            }
        }
        plain => {
            let _ = writeln!(out, "{plain}");
        }
    }
}

fn nested(value: &Value, depth: usize, out: &mut String) {
    let empty = value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(serde_json::Map::is_empty);
    if (value.is_object() || value.is_array()) && !empty {
        out.push('\n');
        out.push_str(&"  ".repeat(depth + 1));
        yaml(value, depth + 1, out);
    } else {
        out.push(' ');
        yaml(value, depth + 1, out);
    }
}

// ---- what metadata needs

/// A random-looking identifier of the form that RFC 4122 gives those of version 4.
fn uuid(of: &str) -> String {
    let h = sha256(of.as_bytes());
    let variant = ["8", "9", "a", "b"][usize::from_str_radix(&h[16..17], 16).unwrap_or(0) & 3];
    format!("{}-{}-4{}-{variant}{}-{}", &h[..8], &h[8..12], &h[13..16], &h[17..20], &h[20..32])
}

/// Seconds since 1970 as ISO 8601 writes them, in UTC.
fn time(seconds: u64) -> String {
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    // Counted from a first of March, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// SHA-256 (FIPS 180-4), which the format wants of every input file.
fn sha256(bytes: &[u8]) -> String {
    // The first 32 bits of the fractional parts of square and cube roots of primes.
    let primes: Vec<u64> =
        (2u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0)).take(64).collect();
    let root = |p: u64, power: u32| {
        // The root times 2^32, whole: the largest x with x^power <= p * 2^(32 * power).
        let (mut low, mut high) = (0u128, 1u128 << 40);
        while low + 1 < high {
            let x = (low + high) / 2;
            // x has at most 40 bits; a cube of 120 bits fits.
            if x.pow(power) <= u128::from(p) << (32 * power) { low = x } else { high = x }
        }
        low as u32
    };
    let k: Vec<u32> = primes.iter().map(|p| root(*p, 3)).collect();
    let mut h: Vec<u32> = primes[..8].iter().map(|p| root(*p, 2)).collect();
    let mut all = bytes.to_vec();
    all.push(0x80);
    while all.len() % 64 != 56 {
        all.push(0);
    }
    all.extend((bytes.len() as u64 * 8).to_be_bytes());
    for block in all.chunks_exact(64) {
        let mut w: Vec<u32> =
            block.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ w[i - 15] >> 3;
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ w[i - 2] >> 10;
            w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
        }
        let mut v = h.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let t1 = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(k[i]).wrapping_add(w[i]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(t1);
            v[0] = t1.wrapping_add(s0.wrapping_add(majority));
        }
        for (h, v) in h.iter_mut().zip(v) {
            *h = h.wrapping_add(v);
        }
    }
    h.iter().map(|w| format!("{w:08x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standard() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(sha256(long), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(time(0), "1970-01-01T00:00:00Z");
        assert_eq!(time(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(time(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(time(1_735_689_600), "2025-01-01T00:00:00Z");
    }

    #[test]
    fn an_identifier_has_the_form_of_version_4() {
        let id = uuid("x");
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert!(id[14..].starts_with('4') && "89ab".contains(&id[19..20]), "{id}");
    }
}
