//! Hard limits of `raddle check`: the time limit, Ctrl-C, SIGTERM and the limit on CPU time hold whatever the program does, and the report
//! says what was covered.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const RADDLE: &str = env!("CARGO_BIN_EXE_raddle");

/// A program that does `statement` in a thread.
fn program(name: &str, statement: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limits");
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join(format!("{name}.c"));
    let text = format!(
        "#include <poll.h>\n#include <pthread.h>\n#include <signal.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
         #include <sys/epoll.h>\n#include <unistd.h>\n\
         int data[1000];\natomic_int x;\n\
         static int cmp(const void *a, const void *b) {{ return *(const int *)a - *(const int *)b; }}\n\
         static void *t(void *u) {{ {statement} return cmp == 0 ? u : 0; }}\n\
         int main(void) {{ pthread_t a; pthread_create(&a, 0, t, 0); pthread_join(a, 0); return 0; }}\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

fn command(file: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(RADDLE);
    for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("RADDLE_")) {
        command.env_remove(name);
    }
    // Cargo has libraries looked for where an older build of ours may lie.
    command.env_remove("LD_LIBRARY_PATH");
    command.env("RADDLE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command.arg("check").arg(file).arg("--json").args(options).stdin(Stdio::null());
    command
}

fn report(name: &str, output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}: {text}{errors}"));
    assert_eq!(output.status.code(), Some(3), "{name}: {report:#}");
    assert_eq!(report["verdict"], "incomplete", "{name}: {report:#}");
    assert_eq!(report["failures"], Value::Array(Vec::new()), "{name}");
    assert!(report["executions"].is_u64(), "{name}: {report:#}");
    report
}

/// Programs that do not end: each computes or takes steps in another way.
const ENDLESS: [(&str, &str, &[&str]); 5] = [
    ("registers", "for (volatile unsigned long i = 0;; i++);", &[]),
    ("plain", "for (unsigned i = 0;; i++) data[i % 1000] += i;", &[]),
    ("library", "for (;;) qsort(data, 1000, sizeof *data, cmp);", &[]),
    ("steps", "for (;;) atomic_fetch_add(&x, 1);", &["--max-steps", "1000000000"]),
    ("isolated", "for (volatile unsigned long i = 0;; i++);", &["--isolate"]),
];

#[test]
fn the_time_limit_is_hard() {
    for (name, statement, options) in ENDLESS {
        let file = program(name, statement);
        let start = Instant::now();
        let output = command(&file, &[options, &["--max-seconds", "0.5"]].concat()).output().unwrap();
        let took = start.elapsed();
        let report = report(name, &output);
        // What is refused at once is fine, too.
        if report["stopped"]["reason"] != "limit" {
            assert_eq!(report["stopped"]["reason"], "time", "{name}: {report:#}");
        }
        assert!(took < Duration::from_secs(4), "{name}: {took:?}");
    }
}

#[test]
fn a_search_that_is_asked_to_end_reports_what_it_covered() {
    let file = program("asked", "for (volatile unsigned long i = 0;; i++);");
    for (name, signal) in [("SIGINT", libc::SIGINT), ("SIGTERM", libc::SIGTERM)] {
        let mut command = command(&file, &[]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let start = Instant::now();
        // SAFETY: the child has not been waited for.
        unsafe { libc::kill(child.id() as libc::pid_t, signal) };
        let output = child.wait_with_output().unwrap();
        assert!(start.elapsed() < Duration::from_secs(3), "{name}");
        let report = report(name, &output);
        assert_eq!(report["stopped"]["reason"], "interrupt", "{name}: {report:#}");
        assert!(report["guarantee"].as_str().unwrap().contains(name), "{name}: {report:#}");
    }
}

#[test]
fn the_limit_on_cpu_time_is_one_of_the_search() {
    let file = program("cpu", "for (volatile unsigned long i = 0;; i++);");
    let out = file.with_extension("out");
    let made = command(&file, &["-o", out.to_str().unwrap(), "--max-seconds", "0.1"]).output().unwrap();
    assert_eq!(made.status.code(), Some(3));
    let output = Command::new("sh")
        .args(["-c", "ulimit -St 1; exec \"$0\""])
        .arg(&out)
        .env("RADDLE_JSON", "1")
        .output()
        .unwrap();
    let report = report("cpu", &output);
    assert_eq!(report["stopped"]["reason"], "cpu-limit", "{report:#}");
}

#[test]
fn a_long_computation_is_not_a_livelock() {
    let file = program("long", "for (volatile unsigned long i = 0; i < 600000000; i++);");
    let output = command(&file, &["--watchdog", "1"]).output().unwrap();
    if output.status.code() == Some(0) {
        return; // A machine that computes this in a second of CPU time.
    }
    let report = report("long", &output);
    let text = report["stopped"]["text"].as_str().unwrap();
    assert!(text.contains("computes for longer") && text.contains("--watchdog"), "{report:#}");
}
