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
    // Cargo has libraries looked for where an older build of ours may lie.
    command.env_remove("LD_LIBRARY_PATH");
    command.env("RADDLE_CACHE", temporary.join("cache")).env("CARGO_TARGET_DIR", temporary.join(target));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(project));
    command.args(["raddle", "test", "--std", "--offline"]);
    command
}

fn text(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

type Reports = BTreeMap<String, Value>;

/// The reports of all tests of a project, by name.
fn run(project: &str, options: &[&str]) -> Reports {
    let out = command(project, project).arg("--json").args(options).output().unwrap();
    assert_eq!(out.status.code(), Some(1), "some fail: {}", text(&out));
    let lines = String::from_utf8_lossy(&out.stdout).into_owned();
    let lines = lines.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
    lines.map(|v| (v["test"].as_str().unwrap().to_owned(), v)).collect()
}

fn reports() -> &'static Reports {
    static REPORTS: OnceLock<Reports> = OnceLock::new();
    REPORTS.get_or_init(|| run("rust-project", &["--max-seconds", "20"]))
}

/// The same tests of time, with failures that need a thread to be late.
fn at_any_time() -> &'static Reports {
    static REPORTS: OnceLock<Reports> = OnceLock::new();
    REPORTS.get_or_init(|| {
        let mut all = run("rust-project", &["environment::", "--timeouts", "any", "--max-seconds", "20"]);
        all.extend(run("rust-project", &["timing::", "--timeouts", "any", "--max-seconds", "20"]));
        all
    })
}

/// The failure of a test that needs a thread to be late is reported as a caveat, and as a failure where that is asked for.
fn fails_if_late(test: &str, says: &str) {
    assert!(no_failure_in(reports(), test));
    let caveats = reports()[test]["report"]["caveats"].to_string();
    assert!(caveats.contains("patient") && caveats.contains(says), "{test}: {caveats}");
    fails_in(at_any_time(), test, "panic", says);
}

/// The same with all accesses looked at.
fn with_accesses() -> &'static Reports {
    static REPORTS: OnceLock<Reports> = OnceLock::new();
    REPORTS.get_or_init(|| run("rust-project", &["--accesses", "--max-seconds", "20"]))
}

/// parking_lot and crossbeam, which have much to explore: so many executions are enough for each of the bugs.
fn of_crates() -> &'static Reports {
    static REPORTS: OnceLock<Reports> = OnceLock::new();
    REPORTS.get_or_init(|| run("rust-crates", &["--max-executions", "20000"]))
}

fn verified_in(reports: &Reports, test: &str) -> u64 {
    let report = &reports[test]["report"];
    assert_eq!(report["verdict"], "verified", "{test}: {report:#}");
    report["executions"].as_u64().unwrap()
}

fn is_verified(test: &str) -> u64 {
    verified_in(reports(), test)
}

fn fails_in(reports: &Reports, test: &str, kind: &str, says: &str) {
    let report = &reports[test]["report"];
    assert_eq!(report["verdict"], "failure", "{test}: {report:#}");
    let failure = &report["failures"][0];
    assert_eq!(failure["kind"], kind, "{test}: {failure:#}");
    assert!(failure["message"].as_str().unwrap().contains(says), "{test}: {failure:#}");
}

fn fails_with(test: &str, kind: &str, says: &str) {
    fails_in(reports(), test, kind, says);
}

/// What is said of a search, and whether it came to its end.
fn no_failure_in(reports: &Reports, test: &str) -> bool {
    let report = &reports[test]["report"];
    let verdict = report["verdict"].as_str().unwrap();
    assert!(["no-failure-with-caveats", "incomplete"].contains(&verdict), "{test}: {report:#}");
    verdict != "incomplete"
}

const RIGHT: [&str; 13] = [
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
    "knows_its_package",
    "a_panic_that_is_joined",
];

#[test]
fn programs_over_types_of_std_that_are_right_are_verified() {
    for test in RIGHT {
        is_verified(&format!("right::{test}"));
        let line = &reports()[&format!("right::{test}")];
        assert_eq!(line["direct"], true, "{test} is run without its harness");
        assert_eq!((&line["target"], &line["kind"]), (&"rust_project".into(), &"lib".into()));
    }
}

#[test]
fn what_does_not_interfere_is_run_once() {
    assert_eq!(is_verified("right::adds"), 2, "either addition can be first");
    assert_eq!(is_verified("right::locals"), 1);
    assert_eq!(is_verified("right::threads_that_do_nothing"), 1);
    assert_eq!(is_verified("right::threads_that_make_threads"), 1);
    assert_eq!(is_verified("right::scoped_and_joined"), 1);
    // Each thread, or the one that made it, is the last to drop the result.
    assert_eq!(is_verified("right::scoped_and_left"), 8);
    assert_eq!(reports()["right::never_run"]["verdict"], "ignored");
    // Of two readings none is late, or the first, or the second.
    assert!(no_failure_in(reports(), "right::seeds_and_clocks"));
    assert_eq!(reports()["right::seeds_and_clocks"]["report"]["executions"], 3);
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
    for reports in [reports(), with_accesses()] {
        fails_in(reports, "wrong::lost_update", "panic", "left: 1");
        fails_in(reports, "wrong::opposite_orders", "deadlock", "waits for");
        fails_in(reports, "wrong::lost_wake_up", "deadlock", "");
        fails_in(reports, "wrong::reads_again_while_a_writer_waits", "deadlock", "waits for");
        fails_in(reports, "wrong::order_of_messages", "panic", "right: Ok(2)");
        fails_in(reports, "wrong::nobody_unparks", "deadlock", "");
    }
    fails_with("wrong::fails_beside_a_loop_that_parks_with_a_limit", "panic", "always");
    fails_with("wrong::opposite_orders", "deadlock", "held by");
    fails_with("wrong::ends_the_process", "exit-code", "exit code 0");
    fails_with("wrong::ends_the_process_before_it_returns", "exit-code", "exit code 0");
}

#[test]
fn a_scope_can_be_printed_while_its_threads_run() {
    is_verified("scopes::printed_while_a_thread_runs");
    is_verified("scopes::printed_by_a_thread");
}

#[test]
fn the_greatest_and_the_least_value_are_steps() {
    for reports in [reports(), with_accesses()] {
        for ty in ["u32", "u64", "i8", "i16", "usize"] {
            fails_in(reports, &format!("greatest::loses_{ty}"), "panic", "left: 1");
        }
        verified_in(reports, "greatest::all_are_seen");
    }
}

#[test]
fn accesses_that_are_not_atomic_make_no_false_alarms() {
    for test in RIGHT {
        verified_in(with_accesses(), &format!("right::{test}"));
    }
}

#[test]
fn bugs_in_programs_over_parking_lot_and_crossbeam_are_found() {
    let all = of_crates();
    fails_in(all, "wrong::two_critical_sections", "panic", "left: 1");
    fails_in(all, "wrong::opposite_orders", "deadlock", "");
    fails_in(all, "wrong::lost_wake_up", "deadlock", "");
    fails_in(all, "wrong::reads_again_while_a_writer_waits", "deadlock", "");
    fails_in(all, "wrong::scope_lost_update", "panic", "left: 1");
    fails_in(all, "wrong::nobody_unparks", "deadlock", "");
    fails_in(all, "wrong::the_owner_loses_a_job", "panic", "left: None");
}

#[test]
fn programs_over_parking_lot_and_crossbeam_that_are_right_have_no_failure_and_are_not_called_verified() {
    let large = ["condvar", "epochs"];
    let small =
        ["mutex", "try_lock", "rwlock", "once", "scope", "parker", "wait_group", "sharded_lock", "deque"];
    for test in small.iter().chain(&large) {
        let ended = no_failure_in(of_crates(), &format!("right::{test}"));
        assert!(ended || large.contains(test), "{test} was not explored to its end");
        // Both have `unsafe` code, and parking_lot inline assembly.
        let report = &of_crates()[&format!("right::{test}")]["report"];
        let warnings = report["caveats"].to_string();
        for krate in ["crossbeam_epoch", "parking_lot"] {
            assert!(warnings.contains(krate) && warnings.contains("unsafe code"), "{test}: {report:#}");
        }
    }
}

#[test]
fn memory_that_is_freed_too_early_is_found_where_all_accesses_are_looked_at() {
    // Freeing is no atomic operation: as it stands nothing is seen, and that is said.
    no_failure_in(of_crates(), "wrong::freed_too_early");
    let exact = ["--accesses", "wrong::freed_too_early", "--exact"];
    fails_in(&run("rust-crates", &exact), "wrong::freed_too_early", "data-race", "");
}

#[test]
#[ignore = "fetches crates"]
fn programs_over_channels_and_queues_of_crossbeam_are_judged_as_they_are() {
    let fetched = Command::new(env!("CARGO"))
        .args(["fetch", "--locked"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rust-channels"))
        .output()
        .unwrap();
    assert!(fetched.status.success(), "{}", text(&fetched));
    let all = run("rust-channels", &["--max-executions", "20000"]);
    for test in ["unbounded_channel", "bounded_channel", "rendezvous", "array_queue", "seg_queue"] {
        let ended = no_failure_in(&all, &format!("right::{test}"));
        assert!(ended || test == "bounded_channel", "{test} was not explored to its end");
    }
    fails_in(&all, "wrong::order_of_messages", "panic", "right: Ok(2)");
    fails_in(&all, "wrong::both_send_first", "deadlock", "");
    fails_in(&all, "wrong::no_room", "panic", "there was room");
}

#[test]
#[ignore = "takes minutes"]
fn programs_over_parking_lot_and_crossbeam_have_no_failure_in_all_executions() {
    for options in
        [&["right::", "--max-seconds", "600"][..], &["right::", "--accesses", "--max-seconds", "600"]]
    {
        let out = command("rust-crates", "rust-crates").arg("--json").args(options).output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{}", text(&out));
    }
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
fn numbers_of_threads_that_depend_on_the_schedule_are_named_where_they_are_printed() {
    let numbers = &reports()["numbers::of_children"]["report"];
    assert!(no_failure_in(reports(), "numbers::of_children"), "{numbers:#}");
    assert_eq!(numbers["caveats"][0]["kind"], "inputs", "{numbers:#}");
    assert!(numbers["caveats"].to_string().contains("ThreadId"), "{numbers:#}");
    // One thread makes all others, or nobody looks.
    is_verified("numbers::of_threads_of_one");
    is_verified("numbers::of_children_compared");
}

#[test]
fn a_thread_that_uses_more_stack_than_it_asks_for_is_named() {
    for test in ["numbers::of_bytes_on_a_small_stack", "numbers::of_bytes_on_the_usual_stack"] {
        let report = &reports()[test]["report"];
        assert!(no_failure_in(reports(), test), "{report:#}");
        assert_eq!(report["caveats"][0]["kind"], "state", "{report:#}");
        assert_eq!(report["caveats"].as_array().unwrap().len(), 1, "{report:#}");
    }
    is_verified("numbers::of_bytes_that_fit");
}

#[test]
fn a_clock_of_the_world_that_never_goes_back_is_named_where_it_is_read_twice() {
    let caveats = |test: &str| reports()[test]["report"]["caveats"].to_string();
    assert!(caveats("numbers::of_the_calendar_twice").contains("SystemTime never goes back"));
    for test in ["numbers::of_the_calendar", "right::seeds_and_clocks", "environment::deadline"] {
        assert!(!caveats(test).contains("SystemTime"), "{test}: {}", caveats(test));
    }
}

#[test]
fn mistakes_of_the_user_are_named() {
    for (option, value) in
        [("--algorithm", "nosuch"), ("--bound", "nosuch=2"), ("--timeouts", "nosuch"), ("--max-seconds", "x")]
    {
        let out = command("rust-project", "rust-project").args([option, value]).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{}", text(&out));
        assert!(text(&out).contains(option) && !text(&out).contains("RADDLE_"), "{}", text(&out));
        assert!(!text(&out).contains("Compiling") && !text(&out).contains("test right::"), "{}", text(&out));
    }
    let none = command("rust-project", "rust-project").arg("no_such_test").output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none).contains("no test has a name like \"no_such_test\""), "{}", text(&none));
}

/// A table of all tests ends the run, and the limit of the whole run leaves out the rest.
#[test]
fn a_run_ends_with_a_table_and_has_a_limit() {
    let out = command("rust-project", "rust-project")
        .args(["environment::", "--max-seconds", "20"])
        .output()
        .unwrap();
    let said = text(&out);
    assert_eq!(out.status.code(), Some(1), "{said}");
    let row = |name: &str, verdict: &str| {
        let line = said.lines().find(|l| l.starts_with(name) && l.contains(" s"));
        assert!(line.is_some_and(|l| l.contains(verdict)), "{name}: {verdict} in {said}");
    };
    row("environment::is_small", "verified");
    row("environment::parks_once", "FAILED");
    assert!(said.contains("with --cfg miri") && said.contains("(1 of 11)"), "{said}");
    let none = command("rust-project", "rust-project")
        .args(["environment::", "--max-total-seconds", "0.000001"])
        .output()
        .unwrap();
    let said = text(&none);
    assert_eq!(none.status.code(), Some(3), "{said}");
    assert!(said.contains("not run") && said.contains("--max-total-seconds"), "{said}");
}

/// Only what is tested is compiled with the cfg that shrinks tests.
#[test]
fn the_tested_crate_is_compiled_with_the_cfg_of_miri_unless_told_otherwise() {
    let options = ["environment::is_small", "--exact", "--json", "--no-cfg-miri"];
    let out = command("rust-project", "rust-plain-cfg").args(options).output().unwrap();
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(report["report"]["verdict"], "failure", "{report:#}");
    assert_eq!(report["cfg"], serde_json::json!([]));
}

#[test]
fn time_is_the_clock_of_the_search() {
    fails_if_late("environment::deadline", "deadline passed");
    no_failure_in(reports(), "environment::polls_the_clock");
    no_failure_in(reports(), "environment::time_does_not_run_backwards");
}

#[test]
fn waits_with_a_limit_end_in_every_way() {
    is_verified("environment::waits_with_a_limit_in_a_loop");
    is_verified("environment::parks_with_a_limit_in_a_loop");
    fails_if_late("environment::is_set_before_the_limit", "timed out: true");
    no_failure_in(reports(), "environment::waits_no_time");
    // Who waits for 136 years waits for ever, and the report says so.
    assert!(no_failure_in(reports(), "environment::waits_for_ever"));
    assert_eq!(reports()["environment::waits_for_ever"]["report"]["caveats"][0]["kind"], "patient");
}

#[test]
fn sleeps_and_limits_that_are_long_enough_are_no_failure() {
    fails_if_late("timing::sleeps_long_enough", "too late");
    fails_if_late("timing::sleeps_in_order", "[10, 20, 30]");
    fails_if_late("timing::receives_in_time", "no message");
    // What fails in any case is a failure, and its token leads there with the command that is printed.
    fails_with("timing::sleeps_and_loses_an_update", "panic", "an update was lost");
    is_verified("timing::receives_or_not");
}

/// Whether a late thread is to blame takes a second search. Without the time for one, nothing is said.
#[test]
fn a_failure_that_may_need_a_late_thread_is_none_without_the_time_to_see() {
    for test in ["timing::sleeps_in_order", "timing::receives_in_time"] {
        for seconds in ["0.000001", "0.01", "0.02", "0.03", "0.05", "0.1"] {
            let options = [test, "--exact", "--json", "--max-seconds", seconds];
            let out = command("rust-project", "rust-project").args(options).output().unwrap();
            let report: Value = serde_json::from_slice(&out.stdout).unwrap();
            // There may be enough time.
            assert!([Some(0), Some(3)].contains(&out.status.code()), "{seconds}: {report:#}");
            assert_eq!(report["report"]["failures"], serde_json::json!([]), "{seconds}: {report:#}");
            assert!(seconds != "0.000001" || report["report"]["verdict"] == "incomplete", "{report:#}");
        }
    }
}

#[test]
fn the_order_of_a_hash_map_is_one_of_many() {
    assert!(no_failure_in(reports(), "timing::first_of_a_map"));
    assert_eq!(reports()["timing::first_of_a_map"]["report"]["caveats"][0]["kind"], "inputs");
}

#[test]
fn races_in_what_std_copies_are_found_where_all_accesses_are_looked_at() {
    let exact = ["--accesses", "wrong::copies_without_a_lock", "--exact"];
    fails_in(&run("rust-crates", &exact), "wrong::copies_without_a_lock", "data-race", "");
}

#[test]
fn spurious_ends_are_explored_or_named() {
    fails_with("environment::parks_once", "panic", "nobody has unparked it");
    assert!(no_failure_in(reports(), "environment::exchanges_weakly"));
    assert_eq!(reports()["environment::exchanges_weakly"]["report"]["caveats"][0]["kind"], "spurious");
}

#[test]
fn the_address_of_a_box_that_was_freed_comes_back() {
    fails_in(of_crates(), "wrong::a_box_comes_back", "panic", "another box");
    let exact = ["--accesses", "wrong::a_box_comes_back", "--exact"];
    fails_in(&run("rust-crates", &exact), "wrong::a_box_comes_back", "panic", "another box");
}

#[test]
fn addresses_that_come_back_to_one_thread_are_found_or_named() {
    for reports in [reports(), with_accesses()] {
        fails_in(reports, "exchange_of_a_freed_box", "panic", "another box");
        fails_in(reports, "exchange_of_a_box_of_a_thread_that_has_ended", "panic", "another box");
        assert!(no_failure_in(reports, "number_of_a_freed_box"));
        let caveats = reports["number_of_a_freed_box"]["report"]["caveats"].to_string();
        assert!(caveats.contains("turns addresses into numbers"), "{caveats}");
    }
    let all = run("rust-project", &["--reuse", "all", "number_of_a_freed_box", "--exact"]);
    fails_in(&all, "number_of_a_freed_box", "panic", "left");
}

use std as rt;

#[path = "../../raddle/tests/idioms/bodies.rs"]
#[macro_use]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "only the list is used here")]
mod bodies;

/// Names of the idioms that `bodies.rs` lists, with the kinds of failures of wrong ones.
mod idioms {
    pub(crate) type Wrong = (&'static str, &'static [&'static str]);

    macro_rules! names {
        (right: $($right:ident),*; wrong: $($wrong:ident => $kinds:expr),*; races: $($race:ident),*;) => {
            pub(crate) const RIGHT: &[&str] = &[$(stringify!($right)),*];
            pub(crate) const WRONG: &[Wrong] = &[$((stringify!($wrong), &$kinds)),*];
            pub(crate) const RACES: &[&str] = &[$(stringify!($race)),*];
        };
    }

    list!(names);
}

#[test]
fn idioms_of_users_have_the_verdicts_that_they_have_over_raddles_types() {
    let reports = run("rust-idioms", &["--max-executions", "20000", "--max-seconds", "20"]);
    assert_eq!(reports.len(), idioms::RIGHT.len() + idioms::WRONG.len() + idioms::RACES.len());
    for name in idioms::RIGHT {
        let report = &reports[&format!("right::{name}")]["report"];
        assert_ne!(report["verdict"], "failure", "{name}: {:#}", report["failures"][0]["message"]);
    }
    for (name, kinds) in idioms::WRONG {
        let report = &reports[&format!("wrong::{name}")]["report"];
        assert_eq!(report["verdict"], "failure", "{name}: {report:#}");
        let kind = report["failures"][0]["kind"].as_str().unwrap();
        // An assertion is a panic here.
        let kinds: Vec<&str> = kinds.iter().map(|k| if *k == "assertion" { "panic" } else { k }).collect();
        assert!(kinds.contains(&kind), "{name}: {:#}", report["failures"][0]);
    }
    // Plain accesses of unsafe code are not looked at, which is said.
    for name in idioms::RACES {
        let report = &reports[&format!("races::{name}")]["report"];
        assert_ne!(report["verdict"], "verified", "{name}: {report:#}");
    }
    let races =
        run("rust-idioms", &["races::", "--accesses", "--max-executions", "20000", "--max-seconds", "20"]);
    for name in idioms::RACES {
        fails_in(&races, &format!("races::{name}"), "data-race", "");
    }
}

/// Tests of published crates, which are fetched by name. None of them has a bug that its own tests show, so each failure is a false one.
#[test]
#[ignore = "fetches crates and takes minutes"]
fn tests_of_published_crates_have_no_failure() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("published");
    let _ = std::fs::remove_dir_all(&folder);
    let names = ["crossbeam-utils", "spin", "once_cell", "bus", "parking_lot"];
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("src/lib.rs"), "").unwrap();
    let needs: String = names.iter().map(|n| format!("{n} = \"*\"\n")).collect();
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n{needs}[workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let cargo = |directory: &Path, args: &[&str]| {
        let out = Command::new(env!("CARGO")).args(args).current_dir(directory).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", text(&out));
        out.stdout
    };
    let about = cargo(&folder, &["metadata", "--format-version=1"]);
    let about: Value = serde_json::from_slice(&about).unwrap();
    let mut failures = Vec::new();
    for name in names {
        let package = about["packages"].as_array().unwrap().iter().find(|p| p["name"] == name).unwrap();
        let source = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        let here = folder.join(name);
        let copied = Command::new("cp").arg("-r").arg(source).arg(&here).status().unwrap();
        assert!(copied.success());
        let manifest = std::fs::read_to_string(here.join("Cargo.toml")).unwrap();
        std::fs::write(here.join("Cargo.toml"), manifest + "\n[workspace]\n").unwrap();
        cargo(&here, &["fetch"]);
        let mut tests = command("rust-project", "published-target");
        tests.current_dir(&here).args(["--json", "--max-seconds", "10", "--max-total-seconds", "240"]);
        let out = tests.output().unwrap();
        let lines = String::from_utf8_lossy(&out.stdout).into_owned();
        let all: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert!(!all.is_empty(), "{name}: {}", text(&out));
        for one in all.iter().filter(|o| o["report"]["verdict"] == "failure") {
            failures.push(format!("{name}: {}: {:#}", one["test"], one["report"]["failures"][0]["message"]));
        }
        println!("{name}: {} tests", all.len());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
