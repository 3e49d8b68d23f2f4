//! The programs of `programs/`, with what `raddle check` is to say of each: verdict, kind of failure, number of executions. Where the
//! manifest says so, the search without reduction must say the same and see the same happens-before classes.
//!
//! Those that are marked `slow` are left to `--ignored`.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const RADDLE: &str = env!("CARGO_BIN_EXE_raddle");

/// One table of the manifest.
#[derive(Clone, Debug, Default)]
struct Case {
    line: usize,
    file: String,
    defines: Vec<String>,
    args: Vec<String>,
    flags: Vec<String>,
    verdict: String,
    kind: Option<String>,
    executions: Option<u64>,
    none_agrees: bool,
    slow: bool,
}

impl Case {
    fn name(&self) -> String {
        let defines = self.defines.iter().map(|d| format!(" -D{d}"));
        let flags = self.flags.iter().map(|f| format!(" {f}"));
        let rest: String = defines.chain(flags).collect();
        format!("line {}: {}{rest}", self.line, self.file)
    }

    fn set(&mut self, key: &str, value: &str) {
        let text = || value.trim_matches('"').to_owned();
        let list = || -> Vec<String> {
            serde_json::from_str(value).unwrap_or_else(|e| panic!("{key} = {value}: {e}"))
        };
        let yes = || assert_eq!(value, "true", "{key}");
        match key {
            "file" => self.file = text(),
            "verdict" => self.verdict = text(),
            "kind" => self.kind = Some(text()),
            "defines" => self.defines = list(),
            "args" => self.args = list(),
            "flags" => self.flags = list().iter().flat_map(|f| f.split(' ')).map(str::to_owned).collect(),
            "executions" => self.executions = Some(value.parse().expect("a number")),
            "none_agrees" => (self.none_agrees, _) = (true, yes()),
            "slow" => (self.slow, _) = (true, yes()),
            _ => panic!("the manifest has no key {key}"),
        }
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")
}

fn cases() -> Vec<Case> {
    let text = fs::read_to_string(directory().join("expected.toml")).unwrap();
    let mut all: Vec<Case> = vec![];
    for (number, line) in text.lines().enumerate() {
        if line == "[[program]]" {
            all.push(Case { line: number + 1, ..Case::default() });
        } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let case = all.last_mut().expect("a table first");
            case.set(key.trim(), value.trim());
        }
    }
    all
}

/// A command without variables that would change what it does.
fn command(program: impl AsRef<std::ffi::OsStr>, place: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("RADDLE_")) {
        command.env_remove(name);
    }
    // Cargo has libraries looked for where an older build of ours may lie.
    command.env_remove("LD_LIBRARY_PATH");
    command.env_remove("CC").env_remove("CXX").env("TMPDIR", place);
    command.env("RADDLE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command
}

/// Runs `raddle check`, and gives its report.
fn check(case: &Case, what: &[&str], more: &[&str], place: &Path) -> Result<Value, String> {
    let mut command = command(RADDLE, place);
    command.arg("check").args(what).args(more).args(&case.flags);
    command.args(["--json", "--no-spurious-wakeups", "--no-spurious-failures", "--max-seconds", "120"]);
    if !case.args.is_empty() {
        command.arg("--").args(&case.args);
    }
    if case.file.ends_with("infinite_loop.c") {
        // Until then nothing can be seen of it.
        command.env("RADDLE_WATCHDOG", "2");
    }
    let output = command.output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&out)
        .map_err(|e| format!("{e}: {}, {out}{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// What is wrong with what a report says.
fn judge(case: &Case, report: &Value, counts: bool) -> Result<(), String> {
    let failure = &report["failures"][0];
    let said = || match failure["message"].as_str() {
        Some(message) => format!("{}: {message}", failure["kind"]),
        None => report["guarantee"].to_string(),
    };
    let mut verdict = report["verdict"].as_str().unwrap_or_default();
    // What these tests turn off themselves is named, and that is all.
    let caveats = report["caveats"].as_array().map_or(&[][..], Vec::as_slice);
    let turned_off =
        |c: &serde_json::Value| c["text"].as_str().is_some_and(|t| t.contains("Config::spurious_"));
    if verdict == "no-failure-with-caveats" && caveats.iter().all(turned_off) {
        verdict = "verified";
    }
    if !case.verdict.split('|').any(|v| v == verdict) {
        return Err(format!("{verdict} instead of {}: {}", case.verdict, said()));
    }
    if let (Some(kinds), Some(kind)) = (&case.kind, failure["kind"].as_str())
        && !kinds.split('|').any(|k| k == kind)
    {
        return Err(format!("{kind} instead of {kinds}: {}", said()));
    }
    if let Some(executions) = case.executions.filter(|_| counts) {
        if report["executions"] != executions {
            return Err(format!("{} executions instead of {executions}: {}", report["executions"], said()));
        }
        if report["blocked"] != 0 && !case.flags.iter().any(|f| f == "--bound") {
            return Err(format!("{} blocked executions", report["blocked"]));
        }
    }
    Ok(())
}

/// The happens-before classes of a program, with the values of all steps.
fn classes(case: &Case, program: &str, algorithm: &str, place: &Path) -> Result<BTreeSet<String>, String> {
    let list = place.join(algorithm);
    let mut command = command(program, place);
    for flag in case.flags.chunks(2) {
        match flag {
            [name, value] if name == "--races" => command.env("RADDLE_RACES", value),
            [name] if name == "--leaks" => command.env("RADDLE_LEAKS", "1"),
            _ => return Err(format!("{flag:?} together with `none_agrees` is not foreseen")),
        };
    }
    command.args(&case.args).env("RADDLE_EXECUTIONS", &list).env("RADDLE_ALGORITHM", algorithm);
    command.env("RADDLE_SPURIOUS_WAKEUPS", "0").env("RADDLE_SPURIOUS_FAILURES", "0");
    command.env("RADDLE_MAX_EXECUTIONS", "50000");
    let output = command.output().unwrap();
    let text = fs::read_to_string(&list)
        .map_err(|e| format!("{algorithm}: {e}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let Some(end) = text.lines().last().filter(|l| l.ends_with(" finished")) else {
        return Err(format!("{algorithm} did not finish"));
    };
    let lines = text.lines().filter(|l| *l != end);
    // How often a class was seen is the difference between the two.
    let class = |line: &str| -> String {
        let mut parts = line.split("  ");
        let name = parts.next().unwrap_or_default().to_owned();
        parts.skip(1).fold(name, |all, part| all + "  " + part)
    };
    Ok(lines.map(class).collect())
}

/// What is to be compiled, and how, into what.
fn compiled(case: &Case, program: &str) -> Vec<String> {
    let source = directory().join(&case.file).display().to_string();
    let mut what: Vec<String> = vec![source, "-o".into(), program.to_owned()];
    what.extend(case.defines.iter().map(|d| format!("-D{d}")));
    if case.file.ends_with(".cpp") {
        what.push("-std=c++20".into());
    }
    what
}

fn run(case: &Case, place: &Path) -> Result<(), String> {
    let program = place.join("program").display().to_string();
    let what = compiled(case, &program);
    let what: Vec<&str> = what.iter().map(String::as_str).collect();
    judge(case, &check(case, &what, &[], place)?, true)?;
    if case.none_agrees {
        let report = check(case, &[&program], &["--algorithm", "none"], place)?;
        judge(case, &report, false).map_err(|e| format!("without reduction: {e}"))?;
        // An execution that fails ends there, and what others had done by then is no class of its own.
        if case.verdict == "verified" {
            let (all, optimal) =
                (classes(case, &program, "none", place)?, classes(case, &program, "optimal", place)?);
            let (lost, extra) = (all.difference(&optimal).count(), optimal.difference(&all).count());
            if lost + extra > 0 {
                return Err(format!("{lost} of {} classes lost, {extra} invented", all.len()));
            }
            if case.executions.is_some_and(|n| n != all.len() as u64) {
                return Err(format!("{} classes", all.len()));
            }
        }
    }
    Ok(())
}

/// Where accesses are steps, and a process that knows nothing of the program yet is given the token, it fails in the same way.
fn replay(case: &Case, place: &Path) -> Result<(), String> {
    let program = place.join("program").display().to_string();
    let what = compiled(case, &program);
    let what: Vec<&str> = what.iter().map(String::as_str).collect();
    let case = Case { flags: vec!["--races".into(), "sync".into()], ..case.clone() };
    let found = check(&case, &what, &[], place)?;
    judge(&case, &found, false)?;
    let token = found["failures"][0]["replay"].as_str().ok_or("no token")?;
    let again = check(&case, &[&program], &["--replay", token], place)?;
    let say = |report: &Value| {
        let failure = &report["failures"][0];
        format!("{} at {}: {}", failure["kind"], failure["location"], failure["message"])
    };
    if say(&again) == say(&found) {
        Ok(())
    } else {
        Err(format!("{}\n    again: {}", say(&found), say(&again)))
    }
}

/// Runs cases two at a time, and says which did not do as they should.
fn run_all(name: &str, cases: &[Case], run: fn(&Case, &Path) -> Result<(), String>) {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(vec![]);
    std::thread::scope(|s| {
        for worker in 0..2 {
            let (next, wrong) = (&next, &wrong);
            s.spawn(move || {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let place =
                        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("programs-{name}-{worker}"));
                    let _ = fs::remove_dir_all(&place);
                    fs::create_dir_all(&place).unwrap();
                    if let Err(what) = run(case, &place) {
                        wrong.lock().unwrap().push(format!("{}\n    {what}", case.name()));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_program_is_judged_as_the_manifest_says() {
    let quick: Vec<Case> = cases().into_iter().filter(|c| !c.slow).collect();
    run_all("quick", &quick, run);
}

#[test]
#[ignore = "takes minutes"]
fn every_slow_program_is_judged_as_the_manifest_says() {
    let slow: Vec<Case> = cases().into_iter().filter(|c| c.slow).collect();
    run_all("slow", &slow, run);
}

/// The programs with an assertion that fails, or a deadlock.
fn failing(start: &str) -> Vec<Case> {
    let is_one = |c: &Case| {
        let kind = c.kind.as_deref().unwrap_or_default();
        c.file.starts_with(start) && !c.slow && (kind.starts_with("assertion") || kind == "deadlock")
    };
    cases().into_iter().filter(is_one).collect()
}

#[test]
fn failures_of_cpp_programs_replay_where_accesses_are_steps() {
    let cases = failing("cpp/");
    assert!(cases.len() >= 8, "{}", cases.len());
    run_all("replay", &cases, replay);
}

#[test]
#[ignore = "takes a minute"]
fn failures_of_c_programs_replay_where_accesses_are_steps() {
    let cases = failing("c/");
    assert!(cases.len() >= 40, "{}", cases.len());
    run_all("replay-c", &cases, replay);
}

#[test]
fn the_manifest_names_every_program() {
    let named: BTreeSet<PathBuf> = cases().iter().map(|c| directory().join(&c.file)).collect();
    let mut left = vec![directory().join("c"), directory().join("cpp")];
    let mut missing = vec![];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "c" || e == "cpp") && !named.contains(&path) {
            missing.push(path);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
