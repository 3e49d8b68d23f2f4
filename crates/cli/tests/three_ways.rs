//! The same program in C, as a check over raddle's types and as a test over std's: one verdict, and one kind of failure.
//!
//! Some programs are written by hand; others are generated, as in `random_environment.rs`, whose interpreter says what is right.
//! `RADDLE_TEST_PROGRAMS=FROM:TO cargo test -p raddle-cli --test three_ways -- --ignored --nocapture` compares the programs of these seeds.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

#[allow(dead_code, reason = "programs of some families are not used here")]
#[path = "random_environment/c_source.rs"]
mod c_source;
mod compiled;
#[allow(dead_code, reason = "programs of some families are not used here")]
#[path = "random_environment/effects.rs"]
mod effects;
#[allow(dead_code, reason = "programs of some families are not used here")]
#[path = "random_environment/interpreter.rs"]
mod interpreter;
#[allow(dead_code, reason = "programs of some families are not used here")]
#[path = "random_environment/program.rs"]
mod program;

use interpreter::{Mode, RIGHT, outcomes};
use program::{Family, Program, program};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, time::Duration};

/// The Rust programs, over raddle's types.
mod programs {
    use raddle::{sync, thread, time};
    include!("three-ways/src/programs.rs");

    macro_rules! table {
        ($($name:ident)*) => { &[$( (stringify!($name), $name as fn()) ),*] };
    }
    pub(super) const ALL: &[(&str, fn())] = all_programs!(table);
}

/// What is said of a program.
fn said(report: &Value) -> &'static str {
    let kind = report["failures"][0]["kind"].as_str().unwrap_or_default();
    match (report["verdict"].as_str().unwrap_or_default(), kind) {
        ("verified", _) => "holds",
        // The clock and numbers of spurious events are named where they are bounded.
        ("no-failure-with-caveats", _) => "holds",
        ("failure", "assertion" | "panic" | "abort") => "asserts",
        ("failure", "deadlock") => "deadlock",
        ("failure", "livelock") => "livelock",
        _ => "something else",
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/three-ways")
}

fn in_c(name: &str) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_raddle"))
        .args(["check", "--json", "--max-seconds", "20"])
        .arg(folder().join("programs.c"))
        .args(["--cflags", &format!("-DPROGRAM={name} -Wno-unused-function")])
        .output()
        .unwrap();
    serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|e| panic!("{name}: {e}: {}", String::from_utf8_lossy(&out.stderr)))
}

fn over_std(folder: &Path, target: &str) -> BTreeMap<String, Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-raddle"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("RADDLE_") || text.starts_with("CARGO_ENCODED") || text == "RUSTFLAGS" {
            command.env_remove(&name);
        }
    }
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let out = command
        .env_remove("LD_LIBRARY_PATH")
        .env("RADDLE_CACHE", temporary.join("cache"))
        .env("CARGO_TARGET_DIR", temporary.join(target))
        .current_dir(folder)
        .args(["raddle", "test", "--std", "--offline", "--json", "--timeouts", "any", "--max-seconds", "20"])
        .output()
        .unwrap();
    let lines = String::from_utf8_lossy(&out.stdout).into_owned();
    let reports = lines.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
    let name = |v: &Value| v["test"].as_str().unwrap().rsplit("::").next().unwrap().to_owned();
    let all: BTreeMap<String, Value> = reports.map(|v| (name(&v), v["report"].clone())).collect();
    assert!(!all.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    all
}

#[test]
fn a_program_has_one_verdict_in_c_over_our_types_and_over_those_of_std() {
    let std = over_std(&folder(), "three-ways");
    let mut wrong = Vec::new();
    for (name, program) in programs::ALL {
        let right =
            ["asserts", "deadlock", "livelock"].into_iter().find(|k| name.ends_with(k)).unwrap_or("holds");
        let ours =
            raddle::Config::new().quiet(true).max_time(std::time::Duration::from_secs(20)).run(program);
        let ours: Value = serde_json::from_str(&raddle::to_json(&ours)).unwrap();
        for (way, report) in [("C", &in_c(name)), ("raddle's types", &ours), ("std's types", &std[*name])] {
            if said(report) != right {
                let failure = &report["failures"][0]["message"];
                wrong.push(format!("{name}, {way}: {} ({}, {failure})", said(report), report["verdict"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[path = "random_environment/over_raddle.rs"]
mod ours;

/// The generated programs over std's types, as tests: what comes before them in the file of their crate.
const OVER_STD: &str = r#"
#![cfg(test)]
#![allow(dead_code)]
#[path = "PROGRAMS/program.rs"]
mod program;
mod run {
    use std::boxed::Box as Block;
    use std::{sync, thread};

    pub(crate) struct Var(std::cell::UnsafeCell<u64>);
    unsafe impl Sync for Var {}
    impl Var {
        fn new(value: u64) -> Var {
            Var(std::cell::UnsafeCell::new(value))
        }
        fn read(&self) -> u64 {
            unsafe { *self.0.get() }
        }
        fn write(&self, value: u64) {
            unsafe { *self.0.get() = value }
        }
    }
    fn rest(yields: bool) {
        if yields {
            thread::yield_now();
        }
    }
    include!("PROGRAMS/rust_run.rs");
}
"#;

/// Families of programs that can be written in all three ways.
const FAMILIES: [Family; 3] = [Family::Waits, Family::Structures, Family::Polling];

/// What is right for a program. Nothing if it is large, can fail in several ways, or has data races, which a test over std's types does not show.
fn right(p: &Program) -> Option<&'static str> {
    if !ours::is_rust(p) {
        return None;
    }
    let all = outcomes(p, Mode::Report, RIGHT, 4_000).ok()?;
    match (all.race, all.failed.is_empty(), all.stuck || all.stuck_but_for_failures) {
        (false, true, false) => Some("holds"),
        (false, false, false) => Some("asserts"),
        (false, true, true) if all.stuck => Some("stuck"),
        _ => None,
    }
}

/// What is said of a generated program: a deadlock and a livelock are one.
fn said_of_generated(report: &Value) -> &'static str {
    match said(report) {
        "deadlock" | "livelock" => "stuck",
        other => other,
    }
}

/// Whether a report without a failure names behaviours of the environment that it leaves out: a test over std's types does not show which
/// compare-exchanges are weak.
fn leaves_out(report: &Value) -> bool {
    let kinds = ["spurious", "turns", "may-not-end", "clock"];
    let caveats = report["caveats"].as_array().into_iter().flatten();
    report["verdict"] == "no-failure-with-caveats"
        && caveats.filter_map(|c| c["kind"].as_str()).any(|k| kinds.contains(&k))
}

/// Compares the programs of these seeds in all three ways. Returns how many were compared, and how they differ.
fn compare_generated(family: Family, seeds: Range<u64>) -> (usize, Vec<String>) {
    let chosen: Vec<(u64, Program, &str)> = seeds
        .clone()
        .map(|seed| (seed, program(family, seed)))
        .filter_map(|(seed, p)| right(&p).map(|r| (seed, p, r)))
        .collect();
    let place = compiled::place(&format!("three-ways-{family:?}-{}", seeds.start));
    let programs: Vec<&Program> = chosen.iter().map(|(_, p, _)| p).collect();
    let (source, executable) = (place.join("programs.c"), place.join("programs"));
    fs::write(&source, c_source::file(&programs)).unwrap();
    let mut cc = compiled::command(compiled::RADDLE);
    let output = cc.arg("cc").arg(&source).args(["-w", "-pthread", "-o"]).arg(&executable).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random_environment");
    let mut text = OVER_STD.replace("PROGRAMS", folder.to_str().unwrap());
    for (seed, ..) in &chosen {
        let _ = writeln!(
            text,
            "#[test]\nfn seed_{seed}() {{\n    run::run(&std::sync::Arc::new(program::program(program::Family::{family:?}, \
             {seed})));\n}}"
        );
    }
    fs::create_dir_all(place.join("src")).unwrap();
    fs::write(place.join("src/lib.rs"), text).unwrap();
    let manifest =
        "[package]\nname = \"generated\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    fs::write(place.join("Cargo.toml"), manifest).unwrap();
    let std = over_std(&place, "three-ways-generated");
    let (mut compared, mut different) = (0, Vec::new());
    for (k, (seed, p, right)) in chosen.iter().enumerate() {
        let output = compiled::command(&executable)
            .args(vec!["x"; k])
            .env("RADDLE_JSON", "1")
            .env("RADDLE_SPURIOUS", "32")
            .env("RADDLE_MAX_SECONDS", "20")
            .output()
            .unwrap();
        let in_c: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("seed {seed}: {e}: {}", String::from_utf8_lossy(&output.stderr)));
        let config = raddle::Config::new().quiet(true).spurious(32).leaks(false).scan(false);
        let config = config.max_time(Duration::from_secs(20));
        let ours = config.run(|| {
            ours::run(&raddle::sync::Arc::new(p.clone()));
        });
        let ours: Value = serde_json::from_str(&raddle::to_json(&ours)).unwrap();
        let ways = [("C", &in_c), ("raddle's types", &ours), ("std's types", &std[&format!("seed_{seed}")])];
        // A search that stops at its limit says nothing.
        if ways.iter().any(|(_, r)| r["verdict"] == "incomplete") {
            continue;
        }
        compared += 1;
        for (way, report) in ways {
            if said_of_generated(report) != *right && !leaves_out(report) {
                let failure = &report["failures"][0]["message"];
                different.push(format!(
                    "{family:?}, seed {seed}, {way}: right {right}, found {} ({}, {failure})\n{p:?}",
                    said(report),
                    report["verdict"]
                ));
            }
        }
    }
    (compared, different)
}

#[test]
fn a_generated_program_has_one_verdict_in_all_three_ways() {
    for family in FAMILIES {
        let (compared, different) = compare_generated(family, 0..16);
        assert!(different.is_empty(), "{}", different.join("\n"));
        assert!(compared >= 6, "{family:?}: {compared} programs were compared");
    }
}

#[test]
#[ignore = "compares hundreds of programs, which takes minutes"]
fn hundreds_of_generated_programs_have_one_verdict() {
    let text = std::env::var("RADDLE_TEST_PROGRAMS").unwrap_or_else(|_| "100:300".to_owned());
    let (from, to) = text.split_once(':').expect("FROM:TO");
    let (from, to): (u64, u64) = (from.parse().expect("a number"), to.parse().expect("a number"));
    let mut all = Vec::new();
    for family in FAMILIES {
        let (compared, different) = compare_generated(family, from..to);
        println!("{family:?}: {compared} compared, {} differences", different.len());
        different.iter().for_each(|d| println!("{d}"));
        all.extend(different);
    }
    assert!(all.is_empty(), "{} programs differ", all.len());
}
