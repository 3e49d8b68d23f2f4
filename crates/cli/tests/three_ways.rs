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

use interpreter::{Mode, RIGHT, Rules, has, outcomes};
use program::{FAMILIES, Family, Program, Stmt, program};
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

fn over_std(folder: &Path, target: &str, more: &[&str]) -> BTreeMap<String, Value> {
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
        .args(more)
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
    let std = over_std(&folder(), "three-ways", &[]);
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
    pub(crate) struct Bytes(std::cell::UnsafeCell<[u8; 8]>);
    unsafe impl Sync for Bytes {}
    impl Bytes {
        fn new() -> Bytes {
            Bytes(std::cell::UnsafeCell::new([0; 8]))
        }
        fn at(&self, i: usize) -> *mut u8 {
            unsafe { self.0.get().cast::<u8>().add(i) }
        }
        fn read(&self, i: usize) -> u8 {
            unsafe { *self.at(i) }
        }
        fn copy(&self, to: usize, other: &Bytes, from: usize, n: usize) {
            if std::ptr::eq(self, other) {
                unsafe { std::ptr::copy(other.at(from), self.at(to), n) }
            } else {
                unsafe { std::ptr::copy_nonoverlapping(other.at(from), self.at(to), n) }
            }
        }
        fn fill(&self, at: usize, value: u8, n: usize) {
            unsafe { std::ptr::write_bytes(self.at(at), value, n) }
        }
        fn slice(&self, at: usize, n: usize) -> &[u8] {
            unsafe { std::slice::from_raw_parts(self.at(at), n) }
        }
        fn compare(&self, at: usize, other: &Bytes, from: usize, n: usize) -> std::cmp::Ordering {
            self.slice(at, n).cmp(other.slice(from, n))
        }
        fn find(&self, at: usize, value: u8, n: usize) -> Option<usize> {
            self.slice(at, n).iter().position(|b| *b == value)
        }
        fn sort(&self, at: usize, n: usize) {
            unsafe { std::slice::from_raw_parts_mut(self.at(at), n) }.sort_unstable();
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

/// What is right for a program. Nothing if it is large, or can fail in several ways.
fn right(p: &Program) -> Option<&'static str> {
    if !ours::is_rust(p) {
        return None;
    }
    let mode = if p.family == Family::Volatile { Mode::VolatileAtomic } else { Mode::Report };
    let all = outcomes(p, mode, RIGHT, 4_000).ok()?;
    // Whether a function accesses all that it may is left to it.
    let more = Rules { calls_access_more: true, ..RIGHT };
    if p.family == Family::Library && outcomes(p, mode, more, 4_000).ok()?.race != all.race {
        return None;
    }
    match (all.race, all.failed.is_empty(), all.stuck || all.stuck_but_for_failures) {
        (false, true, false) => Some("holds"),
        (false, false, false) => Some("asserts"),
        (false, true, true) if all.stuck => Some("stuck"),
        (true, true, false) => Some("races"),
        _ => None,
    }
}

/// What is said of a generated program: a deadlock and a livelock are one.
fn said_of_generated(report: &Value) -> &'static str {
    let kind = report["failures"][0]["kind"].as_str().unwrap_or_default();
    match said(report) {
        "deadlock" | "livelock" => "stuck",
        _ if ["data-race", "use-after-free", "double-free"].contains(&kind) => "races",
        other => other,
    }
}

/// The caveats that a way may have for a program.
fn is_allowed(way: &str, p: &Program, caveat: &str) -> bool {
    match caveat {
        // A test over std's types does not show which compare-exchanges are weak.
        "spurious" => way == STD && has_weak(p),
        // Flags are relaxed.
        "memory-order" => p.family == Family::Volatile,
        _ => false,
    }
}

fn has_weak(p: &Program) -> bool {
    let is =
        |s: &Stmt| matches!(s, Stmt::Cas { weak: true, .. } | Stmt::CasCounted { .. } | Stmt::CasAdd(..));
    p.threads.iter().any(|b| has(b, &is))
}

const STD: &str = "std's types";

/// Compares the programs of these families and seeds in all three ways. Returns how many were compared of each, and how they differ.
fn compare_generated(name: &str, families: &[Family], seeds: Range<u64>) -> (Vec<usize>, Vec<String>) {
    let each = families.iter().flat_map(|f| seeds.clone().map(move |seed| (*f, seed)));
    let chosen: Vec<(Family, u64, Program, &str)> = each
        .map(|(family, seed)| (family, seed, ours::in_rust(program(family, seed))))
        .filter_map(|(family, seed, p)| right(&p).map(|r| (family, seed, p, r)))
        .collect();
    let place = compiled::place(&format!("three-ways-{name}-{}", seeds.start));
    let programs: Vec<&Program> = chosen.iter().map(|(_, _, p, _)| p).collect();
    let (source, executable) = (place.join("programs.c"), place.join("programs"));
    fs::write(&source, c_source::file(&programs)).unwrap();
    let mut cc = compiled::command(compiled::RADDLE);
    let output = cc.arg("cc").arg(&source).args(["-w", "-pthread", "-o"]).arg(&executable).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random_environment");
    let mut text = OVER_STD.replace("PROGRAMS", folder.to_str().unwrap());
    for (family, seed, ..) in &chosen {
        let _ = writeln!(
            text,
            "#[test]\nfn seed_{family:?}_{seed}() {{\n    run::run(&std::sync::Arc::new(run::in_rust(program::program(\
             program::Family::{family:?}, {seed}))));\n}}"
        );
    }
    fs::create_dir_all(place.join("src")).unwrap();
    fs::write(place.join("src/lib.rs"), text).unwrap();
    let manifest =
        "[package]\nname = \"generated\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    fs::write(place.join("Cargo.toml"), manifest).unwrap();
    let std = over_std(&place, "three-ways-generated", &["--accesses", "--spurious", "32", "--reuse", "all"]);
    let (mut compared, mut different) = (vec![0; families.len()], Vec::new());
    for (k, (family, seed, p, right)) in chosen.iter().enumerate() {
        let mut command = compiled::command(&executable);
        command.args(vec!["x"; k]).env("RADDLE_JSON", "1").env("RADDLE_SPURIOUS", "32");
        command.env("RADDLE_REUSE", "all").env("RADDLE_MAX_SECONDS", "20");
        if *family == Family::Volatile {
            command.env("RADDLE_VOLATILE", "atomic");
        }
        let output = command.output().unwrap();
        let in_c: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
            panic!("{family:?}, {seed}: {e}: {}", String::from_utf8_lossy(&output.stderr))
        });
        // All loads of the interpreter are at one place, so turns say nothing.
        let config = raddle::Config::new().quiet(true).spurious(32).turns(64).leaks(false).scan(false);
        let config = config.max_time(Duration::from_secs(20));
        let ours = config.run(|| {
            ours::run(&raddle::sync::Arc::new(p.clone()));
        });
        let ours: Value = serde_json::from_str(&raddle::to_json(&ours)).unwrap();
        let ways = [("C", &in_c), ("raddle's types", &ours), (STD, &std[&format!("seed_{family:?}_{seed}")])];
        // A search that stops at its limit says nothing.
        if ways.iter().any(|(_, r)| r["verdict"] == "incomplete") {
            continue;
        }
        compared[families.iter().position(|f| f == family).unwrap()] += 1;
        for (way, report) in ways {
            let caveats = report["caveats"].as_array().into_iter().flatten();
            let caveats: Vec<&str> = caveats.filter_map(|c| c["kind"].as_str()).collect();
            let unknown = caveats.iter().find(|c| !is_allowed(way, p, c)).filter(|_| *right == "holds");
            // What is named as left out may be what fails.
            let leaves_out = report["verdict"] == "no-failure-with-caveats" && caveats.contains(&"spurious");
            let is_right = said_of_generated(report) == *right || way == STD && leaves_out;
            if !is_right || unknown.is_some() {
                let failure = &report["failures"][0]["message"];
                different.push(format!(
                    "{family:?}, seed {seed}, {way}: right {right}, found {} ({}, {failure}, {})\n{p:?}",
                    said(report),
                    report["verdict"],
                    report["caveats"],
                ));
            }
        }
    }
    (compared, different)
}

#[test]
fn a_generated_program_has_one_verdict_in_all_three_ways() {
    let families = [Family::Waits, Family::Structures, Family::Polling];
    let (compared, different) = compare_generated("all", &families, 0..8);
    assert!(different.is_empty(), "{}", different.join("\n"));
    for (family, n) in families.iter().zip(&compared) {
        assert!(*n >= 2, "{family:?}: {n} programs were compared");
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
        let (compared, different) = compare_generated(&format!("{family:?}"), &[family], from..to);
        println!("{family:?}: {} compared, {} differences", compared[0], different.len());
        different.iter().for_each(|d| println!("{d}"));
        all.extend(different);
    }
    assert!(all.is_empty(), "{} programs differ", all.len());
}
