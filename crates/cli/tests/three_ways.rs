//! The same program in C, as a check over raddle's types and as a test over std's: one verdict, and one kind of failure.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

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

fn over_std() -> BTreeMap<String, Value> {
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
        .env("CARGO_TARGET_DIR", temporary.join("three-ways"))
        .current_dir(folder())
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
    let std = over_std();
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
