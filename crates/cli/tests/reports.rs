//! What a user reads when a C program fails: the order of the rows, callers, names of parts, all failures, errors as JSON.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes a program and runs `raddle check` on it: the exit code, standard output.
fn check(name: &str, program: &str, args: &[&str]) -> (Option<i32>, String) {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reports-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("p.c"), program).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.env("RADDLE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    let output = command.current_dir(&folder).args(["check", "p.c"]).args(args).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The row that has a text.
fn row(report: &str, text: &str) -> usize {
    report.lines().position(|l| l.contains(text)).unwrap_or_else(|| panic!("no {text:?} in\n{report}"))
}

const LOST_UPDATE: &str = "\
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void take(void) { pthread_mutex_lock(&m); }
static void give(void) { pthread_mutex_unlock(&m); }
static int get(void) { take(); int y = x; give(); return y; }
static void set(int y) { take(); x = y; give(); }
static void *w(void *a) { set(get() + 1); return a; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, w, 0);
    w(0);
    pthread_join(t, 0);
    assert(x == 2);
    return 0;
}
";

#[test]
fn the_failure_stands_after_all_that_came_before_it() {
    let (code, report) = check("mark", LOST_UPDATE, &[]);
    assert_eq!(code, Some(1), "{report}");
    let mark = row(&report, "✗ assertion");
    assert!(mark > row(&report, "join thread 1"), "{report}");
    assert!(report.contains("main      failed (assertion), at p.c:15"), "{report}");
}

#[test]
fn plain_accesses_to_the_variables_of_a_failure_are_shown_with_their_values() {
    let (_, report) = check("plain", LOST_UPDATE, &[]);
    let reads = report.lines().filter(|l| l.contains("read x: 0")).count();
    let writes = report.lines().filter(|l| l.contains("write x = 1")).count();
    assert_eq!((reads, writes), (2, 2), "{report}");
    assert!(row(&report, "read x: 1") > row(&report, "join thread 1"), "{report}");
}

#[test]
fn steps_in_a_wrapper_show_who_called_it() {
    let (_, report) = check("wrapper", LOST_UPDATE, &[]);
    assert!(report.contains("p.c:5 < :7") && report.contains("p.c:5 < :8"), "{report}");
    let (_, json) = check("wrapper", LOST_UPDATE, &["--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let steps = json["failures"][0]["trace"].as_array().unwrap();
    let locks = steps.iter().filter(|s| s["operation"] == "lock");
    for lock in locks {
        assert!(lock["callers"][0].as_str().is_some_and(|c| c.starts_with("p.c:")), "{lock}");
    }
}

#[test]
fn parts_of_a_word_have_their_own_names_and_values() {
    let program = "\
#include <assert.h>
#include <pthread.h>
struct t { unsigned short next, owner; };
static union { unsigned both; struct t s; } l;
static int n;
static void *w(void *a) {
    unsigned r = __sync_fetch_and_add(&l.both, 1);
    while (__atomic_load_n(&l.s.owner, 5) != (unsigned short)r) ;
    n++;
    __sync_fetch_and_add(&l.s.owner, 1);
    return a;
}
int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); w(0); pthread_join(t, 0); assert(n == 3); return 0; }
";
    let (_, report) = check("parts", program, &[]);
    for text in ["fetch l.both: 0 -> 1", "load l.s.owner: 0", "fetch l.s.owner: 0 -> 1"] {
        row(&report, text);
    }
}

#[test]
fn keep_going_finds_failures_behind_a_failure() {
    let program = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int a;
static void *t(void *p) { atomic_load(&a); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return p; }
int main(void) {
    pthread_t x;
    pthread_create(&x, 0, t, 0);
    if (pthread_mutex_trylock(&m) == 0) assert(!\"first\");
    else assert(!\"second\");
}
";
    let (code, report) = check("both", program, &["--keep-going", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let found: Vec<&str> =
        report["failures"].as_array().unwrap().iter().filter_map(|f| f["message"].as_str()).collect();
    assert_eq!((code, found.len()), (Some(1), 2), "{found:?}");
    assert!(found[0].contains("first") && found[1].contains("second"), "{found:?}");
    let (_, one) = check("both", program, &["--json"]);
    let one: Value = serde_json::from_str(&one).unwrap();
    assert!(!one["guarantee"].as_str().unwrap().contains("no open branches"), "the search stopped: {one}");
}

#[test]
fn keep_going_finds_races_behind_a_race() {
    let program = "\
#include <pthread.h>
static int a, b, c, d;
static void *t(void *p) { a = 1; b = 1; if (d) c = 1; return p; }
int main(void) {
    pthread_t x;
    pthread_create(&x, 0, t, 0);
    a = 2; d = 1; b = 2; c = 2;
    pthread_join(x, 0);
}
";
    let (code, report) = check("races", program, &["--keep-going", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let found: Vec<&str> =
        report["failures"].as_array().unwrap().iter().filter_map(|f| f["message"].as_str()).collect();
    assert_eq!(code, Some(1));
    for name in ["a", "b", "d"] {
        let race = format!("data race on {name}:");
        assert_eq!(found.iter().filter(|f| f.starts_with(&race)).count(), 1, "{name}: {found:?}");
    }
}

#[test]
fn a_check_that_cannot_start_says_so_as_json_too() {
    let (code, report) = check("error", "int main(void) { return x; }\n", &["--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((code, &report["verdict"]), (Some(2), &"error".into()), "{report}");
}

#[test]
fn a_search_can_prefer_variables_and_functions_of_a_c_program_by_name() {
    for order in ["best-first=variable=m", "best-first=method=p.c:5,preemptions"] {
        let (code, report) = check("names", LOST_UPDATE, &["--order", order]);
        assert_eq!(code, Some(1), "{order}: {report}");
        assert!(report.contains("best-first="), "{order}: {report}");
    }
}
