//! What a user reads when a C program fails: the order of the rows, callers, names of parts, all failures, errors as JSON.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes a program and runs `raddle check` on it: the exit code, standard output.
fn check(name: &str, program: &str, args: &[&str]) -> (Option<i32>, String) {
    check_file(name, "p.c", program, args)
}

/// [`check`] for a file with another name than `p.c`.
fn check_file(name: &str, file: &str, program: &str, args: &[&str]) -> (Option<i32>, String) {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reports-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(file), program).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.env("RADDLE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    let output = command.current_dir(&folder).args(["check", file]).args(args).output().unwrap();
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

/// The kind, the place and the message of a failure.
fn essence(failure: &Value) -> [String; 3] {
    ["kind", "location", "message"].map(|k| failure[k].as_str().unwrap_or_default().to_owned())
}

#[test]
fn every_failure_behind_a_race_has_a_token_of_its_own() {
    let program = "\
#include <assert.h>
#include <pthread.h>
static int a, b, c;
static void *t(void *p) { a = 1; b = 1; c = 1; return p; }
int main(void) {
    pthread_t x;
    pthread_create(&x, 0, t, 0);
    a = 2; b = 2; c++;
    pthread_join(x, 0);
    assert(a == 7);
}
";
    for isolate in [&[][..], &["--isolate"]] {
        let (_, report) = check("tokens", program, &[&["--keep-going", "--json"], isolate].concat());
        let report: Value = serde_json::from_str(&report).unwrap();
        let failures = report["failures"].as_array().unwrap();
        let kinds: Vec<&str> = failures.iter().filter_map(|f| f["kind"].as_str()).collect();
        assert_eq!(kinds.iter().filter(|k| **k == "data-race").count(), 3, "{isolate:?}: {kinds:?}");
        assert_eq!(kinds.iter().filter(|k| **k == "assertion").count(), 1, "{isolate:?}: {kinds:?}");
        for failure in failures {
            let token = failure["replay"].as_str().unwrap();
            let (_, again) = check("tokens", program, &[&["--json", "--replay", token], isolate].concat());
            let again: Value = serde_json::from_str(&again).unwrap();
            assert_eq!(essence(&again["failures"][0]), essence(failure), "{token} {isolate:?}");
        }
    }
}

/// The failures of a C program with `--keep-going`, sorted, as kinds and assertions or messages. Each token shows its failure again, unless
/// another algorithm has found it.
fn all_failures(name: &str, program: &str, options: &[&str]) -> Vec<String> {
    let (_, report) = check(name, program, &[&["--keep-going", "--json"], options].concat());
    let report: Value = serde_json::from_str(&report).unwrap();
    assert!(report["open"] == 0 && report["stopped"].is_null(), "{name}: {report}");
    let mut found = vec![];
    for failure in report["failures"].as_array().unwrap() {
        let token = failure["replay"].as_str().unwrap();
        if !options.contains(&"--algorithm") {
            let (_, again) = check(name, program, &[&["--json", "--replay", token], options].concat());
            let again: Value = serde_json::from_str(&again).unwrap();
            assert_eq!(essence(&again["failures"][0]), essence(failure), "{name}: {token} {options:?}");
        }
        let message = failure["message"].as_str().unwrap();
        let quoted = message.split('`').nth(1).unwrap_or(message);
        found.push(format!("{} {quoted}", failure["kind"].as_str().unwrap()));
    }
    found.sort();
    found
}

const TWO_THREADS: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int x, y, flag;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int plain;
static void *u(void *p) { U; return p; }
static void *v(void *p) { V; return p; }
int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, u, 0);
    pthread_create(&t, 0, v, 0);
    MAIN;
    pthread_join(s, 0);
    pthread_join(t, 0);
}
";

#[test]
fn keep_going_finds_failures_of_threads_that_share_nothing() {
    let some = "pthread_mutex_lock(&m); y++; pthread_mutex_unlock(&m)";
    for (name, main, u, v, right) in [
        // Both always fail, with and without a step before.
        ("always", "", "assert(x == 1)", "assert(y == 2)", &["assertion x == 1", "assertion y == 2"][..]),
        ("local", "", "assert(p)", "assert(p == (void *)1)", &["assertion p", "assertion p == (void *)1"]),
        // One always fails, and the other one in some schedules.
        ("some", "y = 1", "assert(x == 1)", "assert(y == 0)", &["assertion x == 1", "assertion y == 0"]),
        (
            "other",
            "y = 1",
            "assert(x == 1)",
            "int r = y; if (r) assert(r == 2); else assert(r == 3)",
            &["assertion r == 2", "assertion r == 3", "assertion x == 1"],
        ),
        (
            "under a lock",
            some,
            "assert(x == 1)",
            "pthread_mutex_lock(&m); assert(y == 0)",
            &["assertion x == 1", "assertion y == 0"],
        ),
        // The failure of one thread is all that the other one sees.
        (
            "seen",
            "",
            "x = 1; assert(y == 2)",
            "if (x) assert(x == 2)",
            &["assertion x == 2", "assertion y == 2"],
        ),
        // The other one waits for what comes after the failure.
        ("waits", "", "assert(x == 1); flag = 1", "while (!flag); assert(0 && flag)", &["assertion x == 1"]),
        (
            "polls",
            "y = 1",
            "assert(x == 1); flag = 1",
            "while (!flag) assert(y == 0)",
            &["assertion x == 1", "assertion y == 0"],
        ),
        // The first thread fails, too.
        (
            "three",
            "assert(x == 3)",
            "assert(x == 1)",
            "assert(y == 2)",
            &["assertion x == 1", "assertion x == 3", "assertion y == 2"],
        ),
        // Other kinds of failures.
        ("abort", "", "x = 1; abort()", "assert(y == 2)", &["abort ", "assertion y == 2"]),
        ("exit", "", "x = 1; exit(3)", "assert(y == 2)", &["assertion y == 2", "exit-code "]),
        ("crash", "", "*(volatile int *)p = 1", "free(&x)", &["invalid-free ", "signal "]),
        ("race", "plain = 1", "assert(x == 1)", "plain = 2", &["assertion x == 1", "data-race "]),
    ] {
        let program = TWO_THREADS.replace("MAIN;", &format!("{main};"));
        let program = program.replace("U;", &format!("{u};")).replace("V;", &format!("{v};"));
        let isolate = &["--isolate"][..];
        for options in [&[][..], &["--algorithm", "none"], isolate] {
            if options == isolate && !["always", "abort", "race"].contains(&name) {
                continue;
            }
            let found = all_failures("neighbours", &program, options);
            let is_one = |f: &String, r: &&str| f == *r || r.ends_with(' ') && f.starts_with(*r);
            let same = found.len() == right.len() && found.iter().zip(right).all(|(f, r)| is_one(f, r));
            assert!(same, "{name} {options:?}: {found:?}, not {right:?}");
        }
    }
}

#[test]
fn a_crash_and_a_double_free_beside_other_threads_are_deterministic() {
    let program = |first: &str, second: &str| {
        format!(
            "#include <pthread.h>\n#include <stdlib.h>\nstatic int *p, x;\n\
             static void *t(void *a) {{ {first} x++; return a; }}\n\
             int main(void) {{ p = malloc(4); pthread_t h; pthread_create(&h, 0, t, 0); {second} x++; pthread_join(h, 0); return 0; }}\n"
        )
    };
    let take = "int *q = p; p = 0; free(q);";
    for (name, text, right) in [
        ("double-free", program(take, take), &["double-free"][..]),
        ("null", program("p = 0;", "if (p) *p = 1;"), &["signal"]),
        (
            "both",
            program(take, "if (p) *p = 1; int *q = p; free(q);"),
            &["double-free", "signal", "use-after-free"],
        ),
    ] {
        for algorithm in ["optimal", "none"] {
            let options = ["--races", "sync", "--keep-going", "--json", "--algorithm", algorithm];
            let (code, report) = check(&format!("crash-{name}"), &text, &options);
            let report: Value = serde_json::from_str(&report).unwrap();
            let mut kinds: Vec<&str> =
                report["failures"].as_array().unwrap().iter().filter_map(|f| f["kind"].as_str()).collect();
            kinds.sort_unstable();
            kinds.dedup();
            assert_eq!((code, &kinds[..]), (Some(1), right), "{name} {algorithm}: {}", report["failures"]);
        }
    }
}

#[test]
fn assignments_of_structures_are_shown_with_what_they_write() {
    let program = "\
#include <assert.h>
#include <stdlib.h>
struct S { int a, b; long c; };
static struct S *p, t = {1, 2, 3};
static void copy(void) { *p = t; }
int main(void) { p = malloc(sizeof *p); copy(); assert(p->a == 7); }
";
    let (_, report) = check("structure", program, &[]);
    assert!(report.contains("write p->a = 1"), "{report}");
}

#[test]
fn both_accesses_of_a_race_between_ranges_are_shown() {
    let head = "#include <pthread.h>\n#include <string.h>\n#include <unistd.h>\n#include <fcntl.h>\nstatic struct S { int x[20]; } s, other;\n";
    for (name, mine, others, first, last) in [
        ("element", "s.x[7] = 3", "s = other", "write s.x[7] = 3", "write s.x[7]"),
        (
            "memset",
            "memset(&s, 1, sizeof s)",
            "volatile int v = s.x[5]; (void)v",
            "write s.x[5] = 16843009",
            "read s.x[5]: 16843009",
        ),
        (
            "read",
            "memset(&s, 0, sizeof s)",
            "int d = open(\"/etc/passwd\", O_RDONLY); if (read(d, s.x + 3, 8) < 0) return a; close(d)",
            "write s.x[3] = 0",
            "write s.x[3]",
        ),
    ] {
        let program = format!(
            "{head}static void *t(void *a) {{ {others}; return a; }}\n\
             int main(void) {{ pthread_t h; pthread_create(&h, 0, t, 0); {mine}; pthread_join(h, 0); }}\n"
        );
        let (_, report) = check(&format!("ranges-{name}"), &program, &[]);
        let (before, after) = (row(&report, first), row(&report, &format!("{last}  p.c:6")));
        assert!(before < after, "{report}");
        assert!(after < row(&report, "✗ data-race"), "{report}");
    }
}

#[test]
fn an_access_that_a_return_does_not_wait_for_is_shown() {
    let program = "\
#include <pthread.h>
#include <stdatomic.h>
static atomic_int done, on;
static void *t(void *a) { *(int *)a = 1; done = 1; return 0; }
static void go(void) { int x = 0; pthread_t h; pthread_create(&h, 0, t, &x); pthread_detach(h); on = 1; }
int main(void) { go(); while (!done) {} return 0; }
";
    let (_, report) = check("return", program, &[]);
    assert!(report.contains("the return of the function"), "{report}");
    assert!(row(&report, "  write ") < row(&report, "  end of "), "{report}");
}

#[test]
fn padding_of_structures_is_not_nondeterminism() {
    let program = "\
#include <pthread.h>
#include <stdlib.h>
struct S { signed char f; short g; int h; };
static struct S s;
static int x;
static struct S make(int v) { struct S r; r.f = v; r.g = 1; r.h = 2; return r; }
static void *t(void *a) { s = make(16); x = 1; return a; }
static void *u(void *a) { s = make(3); if (x) abort(); return a; }
int main(void) {
    pthread_t h, i;
    pthread_create(&h, 0, t, 0);
    pthread_create(&i, 0, u, 0);
    pthread_join(h, 0);
    pthread_join(i, 0);
    return s.g - 1;
}
";
    let (_, report) = check("padding", program, &["--races", "sync", "--keep-going", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let kinds: Vec<&str> =
        report["failures"].as_array().unwrap().iter().filter_map(|f| f["kind"].as_str()).collect();
    assert_eq!((kinds, &report["open"]), (vec!["abort"], &0.into()), "{report:#}");
}

#[test]
fn a_control_of_pthread_once_has_its_name() {
    let program = "\
#include <pthread.h>
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void f(void) { pthread_once(&once, f); }
int main(void) { pthread_once(&once, f); }
";
    let (_, report) = check("once", program, &[]);
    assert!(report.contains("waits for once") && !report.contains("once+"), "{report}");
}

#[test]
fn one_execution_is_not_plural() {
    let program = "int main(void) { return 0; }\n";
    let (_, report) = check("one", program, &["--max-executions", "1"]);
    assert!(!report.contains("1 executions"), "{report}");
    let two = "#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int x; static void *t(void *a) { x++; return a; }\n\
               int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); x++; pthread_join(h, 0); return 0; }\n";
    let (_, report) = check("one-of-two", two, &["--max-executions", "1"]);
    assert!(report.contains("1 execution") && !report.contains("1 executions"), "{report}");
}

#[test]
fn a_check_that_cannot_start_says_so_as_json_too() {
    for (program, args) in [
        ("int main(void) { return x; }\n", &["--json"][..]),
        ("int main(void) { return 0; }\n", &["--json", "--replay", "zz"]),
        ("int main(void) { return 0; }\n", &["--json=yes"]),
    ] {
        let (code, report) = check("error", program, args);
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!((code, &report["verdict"]), (Some(2), &"error".into()), "{report}");
    }
}

#[test]
fn a_search_can_prefer_variables_and_functions_of_a_c_program_by_name() {
    for order in ["best-first=variable=m", "best-first=method=p.c:5,preemptions"] {
        let (code, report) = check("names", LOST_UPDATE, &["--order", order]);
        assert_eq!(code, Some(1), "{order}: {report}");
        assert!(report.contains("best-first="), "{order}: {report}");
    }
}

#[test]
fn locals_of_a_function_that_waits_inside_a_library_have_names() {
    let program = "\
#include <condition_variable>
#include <mutex>
#include <thread>
struct gate {
    std::mutex m;
    std::condition_variable opened;
    bool open = false;
    void pass() { std::unique_lock l(m); opened.wait(l, [this] { return open; }); }
};
int main() {
    gate g;
    std::thread t([&] { g.pass(); });
    t.join();
}
";
    let (code, report) = check_file("library-frames", "p.cpp", program, &[]);
    assert_eq!(code, Some(1), "{report}");
    assert!(report.contains("thread 1 waits on g.opened for a notification"), "{report}");
    assert!(report.contains("releases g.m"), "{report}");
}

#[test]
fn accesses_and_blocks_of_headers_are_at_lines_of_the_program() {
    let program = "\
#include <map>
#include <thread>
static std::map<int, int> squares;
static void add(int n) {
    squares[n] = n * n;
}
int main() {
    std::thread t(add, 1);
    add(2);
    t.join();
}
";
    let (code, report) = check_file("headers", "p.cpp", program, &[]);
    assert_eq!(code, Some(1), "{report}");
    assert!(report.contains("data race on squares"), "{report}");
    assert!(!report.contains("stl_") && !report.contains("/usr/"), "{report}");
}

#[test]
fn reads_of_string_literals_are_not_shown() {
    let program = "\
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int x;
static void *w(void *a) { return a; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, w, 0);
    pthread_join(t, 0);
    if (x == 0) { printf(\"%s is %d\\n\", \"x\", x); abort(); }
    return 0;
}
";
    let (code, report) = check("literals", program, &[]);
    assert_eq!(code, Some(1), "{report}");
    assert!(report.contains("read x: 0") && !report.contains("read 0x"), "{report}");
}

#[test]
fn the_block_of_a_failure_is_seen_to_be_freed() {
    let program = "\
#include <pthread.h>
#include <stdlib.h>
static struct { int a, b; } *p;
static void *w(void *arg) { p->b = 1; return arg; }
int main(void) {
    pthread_t t;
    p = malloc(sizeof *p);
    pthread_create(&t, 0, w, 0);
    p->b = 7;
    free(p);
    pthread_join(t, 0);
    return 0;
}
";
    let (code, report) = check("freed", program, &["--races", "ignore"]);
    assert_eq!(code, Some(1), "{report}");
    // The last value is the one that the program wrote, not the filler of the freed block, and the write that fails is not performed.
    let write = row(&report, "write p->b = 7");
    let free = row(&report, "free the block of p->a");
    assert!(write < free && free < row(&report, "write p->b  "), "{report}");
}

#[test]
fn a_failure_after_many_steps_is_reported_in_time() {
    let program = "\
#include <pthread.h>
#include <stdatomic.h>
static atomic_int steps;
static int plain;
static void *w(void *arg) {
    for (int i = 0; i < 49000; i++) atomic_fetch_add(&steps, 1);
    plain++;
    return arg;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, w, 0);
    pthread_create(&b, 0, w, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";
    // A table whose cost grew with the square of the rows took ten times as long.
    let (code, report) = check("many-steps", program, &["--max-seconds", "10"]);
    assert_eq!(code, Some(1), "{report}");
    assert!(report.contains("data race on plain") && report.len() < 200_000, "{report}");
}

#[test]
fn a_failure_that_needs_a_handler_of_a_signal_is_replayed() {
    let program = "\
#include <pthread.h>
#include <signal.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void h(int s) { (void)s; pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); }
static void *w(void *arg) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return arg; }
int main(void) {
    pthread_t t;
    signal(SIGUSR1, h);
    pthread_create(&t, 0, w, 0);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, 0);
    return 0;
}
";
    let (code, report) = check("handler", program, &[]);
    assert_eq!(code, Some(1), "{report}");
    let token = report.lines().find_map(|l| l.trim().strip_prefix("token")).expect("a token").trim();
    let (code, again) = check("handler", program, &["--replay", token]);
    assert!(code == Some(1) && again.contains("deadlock"), "{report}\n{again}");
}
