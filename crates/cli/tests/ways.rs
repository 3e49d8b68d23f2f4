//! `raddle verify` and `raddle check` on the same programs: each has the verdict that its first line says, and the two never
//! contradict each other.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

fn json(args: &[&str]) -> serde_json::Value {
    let out = Command::new(env!("CARGO_BIN_EXE_raddle")).args(args).output().unwrap();
    serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|e| panic!("{args:?}: {e}\n{}", String::from_utf8_lossy(&out.stderr)))
}

/// What is said of a program: what `verify` finds and what `check` finds, each `-` where it is not asked.
fn expected(text: &str) -> (String, String) {
    let line =
        text.lines().next().and_then(|l| l.strip_prefix("// verify: ")).expect("the first line says it");
    let (verify, check) = line.split_once(", check: ").expect("both are said");
    (verify.to_owned(), check.to_owned())
}

/// What `verify` says, in the words of the table.
fn found(report: &serde_json::Value) -> &'static str {
    let kinds: Vec<&str> =
        report["caveats"].as_array().unwrap().iter().filter_map(|c| c["kind"].as_str()).collect();
    match (report["verdict"].as_str().unwrap_or(""), &kinds[..]) {
        ("unsafe", _) => "unsafe",
        ("safe", []) => "safe",
        ("safe", kinds) if kinds.contains(&"evaluation-order") => "open",
        ("safe", kinds) if kinds.contains(&"races") => "race",
        ("safe", kinds) if kinds.contains(&"aborts") => "aborts",
        ("safe", kinds) if kinds.contains(&"may-not-end") => "endless",
        ("safe", ["memory-order"]) => "sc",
        _ => "something else",
    }
}

fn differs(file: &PathBuf) -> Option<String> {
    let name = file.display().to_string();
    let (verify, check) = expected(&std::fs::read_to_string(file).unwrap());
    let report = json(&["verify", &name, "--json", "--no-replay", "--seconds", "30"]);
    let said = found(&report);
    // An order that C leaves open may be explored as well as named.
    if said != verify && !(verify == "open" && said == "unsafe") {
        return Some(format!("{name}: verify says {said}, {verify} is right: {report}"));
    }
    if check == "-" {
        return None;
    }
    let report = json(&["check", &name, "--json", "--max-seconds", "20"]);
    let fails = report["failures"].as_array().is_some_and(|f| !f.is_empty());
    let named = report["verdict"] == "no-failure-with-caveats";
    if check == "fails or caveats" {
        // The compiler has one of the orders that C leaves open.
        return (!fails && !named)
            .then(|| format!("{name}: check says {}, {check} is right: {report}", report["verdict"]));
    }
    if fails != (check == "fails") {
        return Some(format!("{name}: check says {}, it {check}: {report}", report["verdict"]));
    }
    if named != (check == "caveats") {
        return Some(format!("{name}: check says {}, {check} is right: {report}", report["verdict"]));
    }
    // What is safe without a caveat does not fail, and what is unsafe does, or `check` names what it leaves out.
    match (said, fails || named) {
        ("safe" | "sc", true) | ("unsafe", false) => Some(format!("{name}: verify says {said}, check not")),
        _ => None,
    }
}

#[test]
fn both_ways_to_a_program_have_the_verdict_that_is_right() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/ways");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 60);
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut wrong = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(differs(file));
        }
        wrong
    };
    let wrong = std::thread::scope(|s| {
        let other = s.spawn(worker);
        let mut wrong = worker();
        wrong.extend(other.join().unwrap());
        wrong
    });
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}
