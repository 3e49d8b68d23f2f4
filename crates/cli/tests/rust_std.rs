//! `cargo raddle test --std` on a crate that knows nothing of raddle, as a user runs it.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

fn command(project: &str, target: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-raddle"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("RADDLE_") || text.starts_with("CARGO_ENCODED") || text == "RUSTFLAGS" {
            command.env_remove(&name);
        }
    }
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    command.env("RADDLE_CACHE", temporary.join("cache")).env("CARGO_TARGET_DIR", temporary.join(target));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(project));
    command.args(["raddle", "test", "--std", "--offline"]);
    command
}

fn text(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

/// The reports of all tests of the project, by name.
fn reports() -> &'static BTreeMap<String, Value> {
    static REPORTS: OnceLock<BTreeMap<String, Value>> = OnceLock::new();
    REPORTS.get_or_init(|| {
        let out =
            command("rust-project", "rust-project").args(["--json", "--max-seconds", "20"]).output().unwrap();
        assert_eq!(out.status.code(), Some(1), "some fail: {}", text(&out));
        let lines = String::from_utf8_lossy(&out.stdout).into_owned();
        let lines = lines.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
        lines.map(|v| (v["test"].as_str().unwrap().to_owned(), v)).collect()
    })
}

fn is_verified(test: &str) -> u64 {
    let report = &reports()[test]["report"];
    assert_eq!(report["verdict"], "verified", "{test}: {report:#}");
    report["executions"].as_u64().unwrap()
}

fn fails_with(test: &str, kind: &str, says: &str) {
    let report = &reports()[test]["report"];
    assert_eq!(report["verdict"], "failure", "{test}: {report:#}");
    let failure = &report["failures"][0];
    assert_eq!(failure["kind"], kind, "{test}: {failure:#}");
    assert!(failure["message"].as_str().unwrap().contains(says), "{test}: {failure:#}");
}

#[test]
fn programs_over_types_of_std_that_are_right_are_verified() {
    for test in [
        "adds",
        "mutex",
        "scope",
        "condvar",
        "rwlock",
        "once",
        "once_lock",
        "barrier",
        "park",
        "channel",
        "locals",
        "seeds_and_clocks",
        "a_panic_that_is_joined",
    ] {
        is_verified(&format!("right::{test}"));
        assert_eq!(reports()[&format!("right::{test}")]["direct"], true, "{test} is run without its harness");
    }
}

#[test]
fn what_does_not_interfere_is_run_once() {
    assert_eq!(is_verified("right::adds"), 2, "either addition can be first");
    assert_eq!(is_verified("right::locals"), 1);
    assert_eq!(is_verified("right::seeds_and_clocks"), 1);
}

#[test]
fn tests_that_should_panic_or_return_a_result_are_judged_by_the_harness() {
    for test in ["right::panics", "right::returns"] {
        assert_eq!(is_verified(test), 1);
        assert_eq!(reports()[test]["direct"], false);
    }
    fails_with("wrong::returns_an_error", "exit-code", "101");
}

#[test]
fn bugs_in_programs_over_types_of_std_are_found() {
    fails_with("wrong::lost_update", "panic", "left: 1");
    fails_with("wrong::opposite_orders", "deadlock", "held by");
    fails_with("wrong::lost_wake_up", "deadlock", "");
    fails_with("wrong::reads_again_while_a_writer_waits", "deadlock", "");
    fails_with("wrong::order_of_messages", "panic", "right: Ok(2)");
    fails_with("wrong::nobody_unparks", "deadlock", "");
}

#[test]
fn a_failing_schedule_of_a_test_can_be_run_again() {
    let token = reports()["wrong::lost_update"]["report"]["failures"][0]["replay"].as_str().unwrap();
    let again = command("rust-project", "rust-project")
        .args(["wrong::lost_update", "--exact", "--replay", token])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(1), "{}", text(&again));
    assert!(text(&again).contains("left: 1"), "{}", text(&again));
}

#[test]
fn mistakes_of_the_user_are_named() {
    let none = command("rust-project", "rust-project").arg("no_such_test").output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none).contains("no test has a name like \"no_such_test\""), "{}", text(&none));
}
