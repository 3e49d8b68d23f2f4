//! The command as a user runs it.

use serde_json::Value;
use std::process::{Command, Output};

fn raddle(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RADDLE_")) {
        command.env_remove(name);
    }
    command.args(args).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn names() -> impl Iterator<Item = &'static str> {
    explore::algorithms().iter().map(|a| a.name)
}

#[test]
fn the_demo_finds_the_lost_payment_shows_it_and_replays_it() {
    let output = raddle(&["demo"]);
    let text = out(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", err(&output));
    for part in [
        "a payment was lost",
        "preempts",
        "load atomic",
        "store atomic",
        "src/bank.rs:",
        "failed the same way",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(text.contains("shortest schedule found: 1 preemption\n"), "{text}");
    assert!(!text.contains('\x1b'), "no colours when it is not a terminal");
}

#[test]
fn every_algorithm_finds_the_lost_payment() {
    let needs_no_bound =
        |name: &&str| explore::Plan::of(name).unwrap().search(explore::Meter::unlimited()).is_ok();
    for name in names().filter(needs_no_bound) {
        let output = raddle(&["demo", "--json", "--algorithm", name]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", err(&output));
        let report: Value = serde_json::from_str(&out(&output)).unwrap();
        assert_eq!(report["verdict"], "failure", "{name}");
        assert_eq!(report["failures"][0]["kind"], "assertion", "{name}");
    }
}

#[test]
fn the_token_of_the_demo_runs_the_same_failure_again() {
    let found: Value = serde_json::from_str(&out(&raddle(&["demo", "--json"]))).unwrap();
    let token = found["failures"][0]["replay"].as_str().unwrap();
    let output = raddle(&["demo", "--json", "--replay", token]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let again: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(again["failures"][0]["message"], found["failures"][0]["message"]);
    assert_eq!(again["failures"][0]["trace"], found["failures"][0]["trace"]);
    assert!(
        out(&raddle(&["demo"]))
            .contains(&format!("{} demo --replay {token}\n", env!("CARGO_BIN_EXE_raddle")))
    );
}

#[test]
fn the_algorithms_are_listed_with_what_they_guarantee_and_where_they_come_from() {
    let table = raddle(&["algorithms"]);
    assert_eq!(table.status.code(), Some(0));
    let text = out(&table);
    let listed: Vec<Value> = serde_json::from_str(&out(&raddle(&["algorithms", "--json"]))).unwrap();
    assert_eq!(listed.len(), names().count());
    for (name, object) in names().zip(&listed) {
        assert!(text.lines().any(|l| l.split(' ').next() == Some(name)), "{name} is missing in\n{text}");
        assert_eq!(object["name"], name);
        for field in ["guarantee", "source", "summary"] {
            assert!(!object[field].as_str().unwrap().is_empty(), "{name} has no {field}");
        }
    }
}

#[test]
fn the_orders_are_listed_with_the_algorithms_and_by_themselves() {
    let short = out(&raddle(&["algorithms"]));
    let text = out(&raddle(&["orders"]));
    let listed: Vec<Value> = serde_json::from_str(&out(&raddle(&["orders", "--json"]))).unwrap();
    assert_eq!(listed.len(), explore::orders().len());
    for (order, object) in explore::orders().iter().zip(&listed) {
        for text in [&short, &text] {
            assert!(
                text.lines().any(|l| l.split(' ').next() == Some(order.name)),
                "{} in\n{text}",
                order.name
            );
        }
        assert_eq!(object["name"], order.name);
        assert_eq!(object["guarantee"], order.guarantee);
    }
}

#[test]
fn an_algorithm_that_does_not_exist_is_a_mistake_with_a_suggestion() {
    let output = raddle(&["demo", "--algorithm", "optmal"]);
    assert_eq!(output.status.code(), Some(2));
    let text = err(&output);
    assert!(text.contains("a similar value exists: 'optimal'"), "{text}");
    for name in names() {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn a_wrong_command_line_has_exit_code_2_and_says_what_would_be_right() {
    for (args, says) in [
        (&[][..], "Usage: raddle"),
        (&["demmo"][..], "a similar subcommand exists: 'demo'"),
        (&["demo", "--jsn"][..], "a similar argument exists: '--json'"),
        (&["demo", "--replay", "hello"][..], "a replay token starts with `rd1-`"),
        (&["demo", "--replay", "rd1-AAAA"][..], "damaged"),
    ] {
        let output = raddle(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(err(&output).contains(says), "{args:?}: {}", err(&output));
        assert!(!err(&output).contains("panicked"), "{args:?}: {}", err(&output));
    }
}

#[test]
fn the_help_names_every_variable_that_is_read() {
    let source = include_str!("../../raddle/src/config.rs");
    let text = out(&raddle(&["--help"]));
    let quoted: Vec<&str> = source.split('"').skip(1).step_by(2).collect();
    let is_name = |s: &&&str| {
        s.len() > 3
            && s.chars().all(|c| c.is_ascii_uppercase() || c == '_')
            && !["COLUMNS", "RADDLE_", "RUST_TEST_NOCAPTURE"].contains(*s)
    };
    let names: Vec<_> = quoted.iter().filter(is_name).filter(|s| !s.starts_with("NO_")).collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        let name = name.trim_start_matches("RADDLE_");
        assert!(text.contains(&format!("  RADDLE_{name}=")), "RADDLE_{name} is missing in\n{text}");
    }
}

#[test]
fn the_help_teaches() {
    let output = raddle(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let text = out(&output);
    for part in ["raddle::check(||", "Exit codes:", "RADDLE_REPLAY", "raddle demo", "algorithms"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert_eq!(out(&raddle(&["--version"])), format!("raddle {}\n", env!("CARGO_PKG_VERSION")));
}
