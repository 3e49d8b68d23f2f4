//! `raddle check`, `raddle cc` and `raddle compare` on C programs, as a user runs them.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of a test, which is empty when the test starts.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Place {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("check-{test}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("tmp")).unwrap();
        Place(path)
    }

    fn with(test: &str, files: &[(&str, &str)]) -> Place {
        let place = Place::new(test);
        for (name, text) in files {
            fs::create_dir_all(place.0.join(name).parent().unwrap()).unwrap();
            fs::write(place.0.join(name), text).unwrap();
        }
        place
    }

    /// The command in this directory, without variables that would change what it does.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("RADDLE_")) {
            command.env_remove(name);
        }
        // Cargo has libraries looked for where an older build of ours may lie.
        command.env_remove("LD_LIBRARY_PATH");
        for name in ["CC", "CXX", "MAKEFLAGS", "CARGO_MAKEFLAGS", "MFLAGS"] {
            command.env_remove(name);
        }
        command.env("RADDLE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command.env("TMPDIR", self.0.join("tmp")).current_dir(&self.0);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(RADDLE).args(args).output().unwrap()
    }

    fn check(&self, args: &[&str]) -> Output {
        self.run(&[&["check"], args].concat())
    }

    fn json(&self, args: &[&str]) -> (Option<i32>, Value) {
        let output = self.check(&[&["--json"], args].concat());
        let value = serde_json::from_str(&out(&output))
            .unwrap_or_else(|e| panic!("{e}: {}{}", out(&output), err(&output)));
        (output.status.code(), value)
    }
}

const RADDLE: &str = env!("CARGO_BIN_EXE_raddle");

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn example(name: &str) -> String {
    format!("{}/../../examples/c/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Whether a program is on this machine; tests that need another one than the C compiler do nothing without it.
fn have(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
}

/// Two threads, each with three increments: 20 orders.
const COUNTER: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifndef TIMES
#define TIMES 3
#endif
static atomic_int n;
static void *count(void *arg) { for (int i = 0; i < TIMES; i++) atomic_fetch_add(&n, 1); return arg; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, count, 0);
    pthread_create(&b, 0, count, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(n == 2 * TIMES);
    return 0;
}
";

/// Two threads that both lock, with the function that does it in another file.
const MAIN: &str = "\
#include <assert.h>
#include <pthread.h>
#include \"shared.h\"
static void *run(void *arg) { add(); return arg; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(get() == 2 * STEP);
    return 0;
}
";
const SHARED: &str = "\
#include <pthread.h>
#include \"shared.h\"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
void add(void) { pthread_mutex_lock(&lock); total += STEP; pthread_mutex_unlock(&lock); }
int get(void) { return total; }
";
const HEADER: &str = "void add(void); int get(void);\n";

#[test]
fn a_deadlock_is_found_shown_and_replayed() {
    let place = Place::new("deadlock");
    let bank = example("bank.c");
    let output = place.check(&[&bank]);
    let text = out(&output);
    assert_eq!(output.status.code(), Some(1), "{text}{}", err(&output));
    for part in
        ["failure: deadlock", "thread 1 waits for", "held by thread 2", "preempts thread 1", "1 preemption\n"]
    {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colours when it is not a terminal");
    let line = text.lines().find_map(|l| l.trim().strip_prefix("replay  ")).unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[..4], [RADDLE, "check", bank.as_str(), "--replay"], "{line}");
    let again = place.check(&words[2..]);
    assert_eq!(again.status.code(), Some(1), "{}", err(&again));
    assert!(
        out(&again).contains("failure: deadlock") && out(&again).contains("replay, memory sc: 1 execution")
    );
    assert_eq!(fs::read_dir(place.0.join("tmp")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_correct_program_is_verified() {
    let place = Place::with("verified", &[("counter.c", COUNTER)]);
    let (code, report) = place.json(&["counter.c"]);
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("verified")), "{report}");
    assert_eq!((&report["executions"], &report["blocked"]), (&Value::from(20), &Value::from(0)));
    assert_eq!(report["guarantee"], "verified: all 20 executions");
    let (code, none) = place.json(&["counter.c", "--algorithm", "none"]);
    assert_eq!(
        (code, &none["executions"], &none["algorithm"]),
        (Some(0), &Value::from(20), &Value::from("none"))
    );
}

#[test]
fn the_options_of_a_search_are_kept() {
    let place = Place::with("options", &[("counter.c", COUNTER)]);
    let (code, report) = place.json(&["counter.c", "--bound", "preemptions=1"]);
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("no-failure-within-bound")), "{report}");
    assert_eq!((&report["executions"], &report["bound"]), (&Value::from(6), &Value::from("preemptions=1")));
    let (code, report) = place.json(&["counter.c", "--max-executions", "7"]);
    assert_eq!((code, &report["verdict"]), (Some(3), &Value::from("incomplete")), "{report}");
    let (code, report) =
        place.json(&["counter.c", "--order", "random", "--seed", "7", "--max-executions", "5"]);
    assert_eq!(code, Some(3));
    assert!(report["guarantee"].as_str().unwrap().contains("seed 7"), "{report}");
    let (code, report) = place.json(&["counter.c", "--max-steps", "2"]);
    assert_eq!((code, &report["stopped"]["reason"]), (Some(3), &Value::from("limit")), "{report}");
    let (_, report) = place.json(&["counter.c", "--races", "ignore"]);
    assert_eq!(report["caveats"][0]["kind"], "races", "{report}");
}

#[test]
fn files_flags_and_arguments_reach_the_program() {
    let files = [
        ("main.c", MAIN),
        ("shared.c", SHARED),
        ("include/shared.h", HEADER),
        (
            "args.c",
            "#include <assert.h>\n#include <string.h>\nint main(int c, char **v) { assert(c == 3 && !strcmp(v[0], \"args\") && !strcmp(v[1], \"-x\") \
                    && !strcmp(v[2], \"a b\")); return 0; }\n",
        ),
    ];
    let place = Place::with("flags", &files);
    for flags in
        [&["-Iinclude", "-D", "STEP=2", "-std=c11"][..], &["--cflags", "-I include -DSTEP=2 -O2 -Wall"]]
    {
        let output = place.check(&[flags, &["main.c", "shared.c"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
        assert!(out(&output).contains("verified: all 2 executions"), "{}", out(&output));
    }
    let output = place.check(&["args.c", "--", "-x", "a b"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
}

#[test]
fn cpp_is_known_by_its_ending_and_may_be_mixed_with_c() {
    let main = "\
#include <cassert>
#include <pthread.h>
extern \"C\" { void add(void); int get(void); }
template <int N> struct Pair {
    pthread_t threads[N];
    Pair() { for (auto &t : threads) pthread_create(&t, nullptr, [](void *a) { add(); return a; }, nullptr); }
    ~Pair() { for (auto &t : threads) pthread_join(t, nullptr); }
};
int main() { { Pair<2> pair; } assert(get() == 2); }
";
    let shared = "int restrict_is_a_word_of_c(int *restrict p) { return *p; }\n".to_owned() + SHARED;
    let place = Place::with("cpp", &[("main.cpp", main), ("shared.c", &shared), ("shared.h", HEADER)]);
    let output = place.check(&["main.cpp", "shared.c", "-DSTEP=1"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    assert!(out(&output).contains("verified: all 2 executions"), "{}", out(&output));
}

#[test]
fn every_compiler_on_this_machine_gives_the_same_executions() {
    let plain = "\
#include <pthread.h>
static int x;
static void *add(void *arg) { x++; return arg; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";
    let place = Place::with("compilers", &[("counter.c", COUNTER), ("plain.c", plain)]);
    for cc in ["gcc", "gcc-12", "gcc-13", "gcc-14", "clang", "clang-14", "clang-16", "clang-19"]
        .into_iter()
        .filter(|c| have(c))
    {
        for (file, races, executions) in [("counter.c", "report", 20), ("plain.c", "sync", 4)] {
            let output = place
                .command(RADDLE)
                .env("CC", cc)
                .args(["check", "--json", "--races", races, file])
                .output()
                .unwrap();
            let report: Value =
                serde_json::from_str(&out(&output)).unwrap_or_else(|e| panic!("{cc} {e}: {}", err(&output)));
            assert_eq!(report["executions"], executions, "{cc} {file}");
            assert_eq!(report["verdict"], "verified", "{cc} {file}");
            assert_eq!(err(&output), "", "{cc} {file}");
        }
    }
}

/// Exit code 2, nothing on standard output, and each of these on standard error.
#[track_caller]
fn refused(output: &Output, parts: &[&str]) {
    assert_eq!(output.status.code(), Some(2), "{}{}", out(output), err(output));
    assert_eq!(out(output), "");
    for part in parts {
        assert!(err(output).contains(part), "{part} is missing in\n{}", err(output));
    }
}

#[test]
fn a_file_that_is_no_program_is_refused_in_words() {
    let files = [
        ("counter.c", COUNTER),
        ("empty.c", ""),
        ("notes.txt", "hello\n"),
        ("lib.rs", "fn main() {}\n"),
        ("head.h", "int x;\n"),
        ("broken.c", "int main(void) { return y; }\n"),
        ("no_main.c", "int x;\nvoid f(void) { x = 1; }\n"),
        ("missing.c", "int f(void);\nint main(void) { return f(); }\n"),
    ];
    let place = Place::with("files", &files);
    refused(&place.check(&["nowhere.c"]), &["there is no file nowhere.c"]);
    refused(&place.check(&["."]), &[". is a directory", "--project"]);
    refused(&place.check(&["empty.c"]), &["empty.c is empty"]);
    refused(&place.check(&["notes.txt"]), &["notes.txt is nothing that can be checked", ".cpp"]);
    refused(&place.check(&["counter.c", "lib.rs"]), &["lib.rs is Rust", "raddle::check"]);
    refused(&place.check(&["head.h"]), &["head.h is a header"]);
    refused(&place.check(&["/bin/sh"]), &["/bin/sh was not made by raddle", "raddle cc"]);
    refused(
        &place.check(&["broken.c"]),
        &["broken.c:1", "y", "raddle: broken.c was not made into a program"],
    );
    refused(&place.check(&["no_main.c"]), &["there is no `main`"]);
    refused(&place.check(&["missing.c"]), &["`f", "nowhere defined"]);
    refused(&place.check(&["counter.c", "counter.c"]), &["two `main`s"]);
    assert_eq!(fs::read_dir(place.0.join("tmp")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_command_line_that_cannot_be_meant_is_refused() {
    let place = Place::with("line", &[("counter.c", COUNTER)]);
    let check = |args: &[&str]| place.check(&[&["counter.c"], args].concat());
    refused(&check(&["--memory", "tso"]), &["'tso' for '--memory", "only supported memory model is `sc`"]);
    refused(&check(&["--algorithm", "optimall"]), &["optimal"]);
    refused(&check(&["--bound", "lemons=2"]), &["preemptions"]);
    refused(&check(&["--bound", "fair=1", "--algorithm", "dpor"]), &["dpor", "bound"]);
    refused(&check(&["--races", "maybe"]), &["report"]);
    refused(&check(&["--replay", "nonsense"]), &["--replay"]);
    refused(&check(&["--gdb"]), &["--replay"]);
    refused(&check(&["--max-seconds", "0"]), &["above 0"]);
    refused(&check(&["--cflags", "'x"]), &["never closed"]);
    refused(&check(&["-static"]), &["-static", "statically linked"]);
    refused(&check(&["--cflags", "-m32"]), &["-m32", "64-bit"]);
    refused(&check(&["-fsanitize=address"]), &["address", "leave it out"]);
    refused(&check(&["-fopenmp"]), &["OpenMP"]);
}

const INPUT: &str = "extern int __VERIFIER_nondet_int(void);
extern unsigned char __VERIFIER_nondet_uchar(void);
#include <assert.h>
int main(void) { int x = __VERIFIER_nondet_int(); unsigned char c = __VERIFIER_nondet_uchar(); assert(x != 5 || c != 7); }
";

#[test]
fn inputs_that_the_type_does_not_have_are_a_caveat_and_no_proof() {
    let place = Place::with("inputs", &[("input.c", INPUT)]);
    for numbers in ["4294967301", "9223372036854775807", "300", "-3..-1"] {
        let (code, report) = place.json(&["input.c", "--inputs", numbers]);
        assert_eq!(code, Some(0), "{report}");
        assert_ne!(report["verdict"], "verified", "{numbers}: {report}");
        assert_eq!(report["caveats"][0]["kind"], "inputs", "{numbers}: {report}");
    }
    for numbers in ["a", "5..3", ""] {
        let output = place.check(&["input.c", &format!("--inputs={numbers}")]);
        assert_eq!(output.status.code(), Some(2), "{numbers}: {}{}", out(&output), err(&output));
        assert!(err(&output).contains("RADDLE_NONDET"), "{}", err(&output));
        assert!(!err(&output).contains("failure"), "{}", err(&output));
    }
}

#[test]
fn names_and_sizes_that_cannot_be_used_are_refused_in_words() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::with("sizes", &[("counter.c", COUNTER)]);
    let output = place.check(&["counter.c", "--stack-size", "999999999999"]);
    assert_eq!(output.status.code(), Some(2), "{}{}", out(&output), err(&output));
    assert!(
        err(&output).contains("RADDLE_STACK_SIZE") && err(&output).contains("at most"),
        "{}",
        err(&output)
    );
    let name = std::ffi::OsStr::from_bytes(b"n\xff.c");
    fs::copy(place.0.join("counter.c"), place.0.join(name)).unwrap();
    let output = place.command(RADDLE).arg("check").arg(name).output().unwrap();
    refused(&output, &["not valid UTF-8"]);
}

#[test]
fn a_machine_without_a_compiler_says_what_to_install() {
    let place = Place::with("compiler", &[("counter.c", COUNTER), ("x.cpp", "int main() {}\n")]);
    let with = |path: &str, cc: &str, file: &str| {
        let mut command = place.command(RADDLE);
        if !cc.is_empty() {
            command.env("CC", cc);
        }
        command.env("PATH", path).args(["check", file]).output().unwrap()
    };
    refused(&with("/nowhere", "", "counter.c"), &["there is no C compiler", "apt install gcc"]);
    refused(&with("/nowhere", "", "x.cpp"), &["there is no C++ compiler", "apt install g++"]);
    let path = std::env::var("PATH").unwrap();
    refused(&with(&path, "no-such-cc", "counter.c"), &["CC is set to \"no-such-cc\"", "no such program"]);
    refused(&with(&path, "true", "counter.c"), &["neither gcc nor clang"]);
    // A cross compiler, as far as its words go.
    let cross = place.0.join("cross-cc");
    fs::write(&cross, "#!/bin/sh\necho 'Target: aarch64-linux-gnu\ngcc version 12.2.0' >&2\n").unwrap();
    fs::set_permissions(&cross, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    refused(
        &with(&path, cross.to_str().unwrap(), "counter.c"),
        &["compiles for aarch64", "64-bit x86 Linux only"],
    );
}

#[test]
fn what_is_not_instrumented_is_never_called_verified() {
    let locked = "\
static int word;
void add_lock(void) { __asm__ volatile(\"incl %0\" : \"+m\"(word)); }
void barrier(void) { __asm__ volatile(\"\" ::: \"memory\"); __asm__ volatile(\"pause\"); }
int main(void) { barrier(); add_lock(); return 0; }
";
    let files = [
        ("locked.c", locked),
        ("main.c", MAIN),
        ("shared.c", SHARED),
        ("shared.h", HEADER),
        (
            "fork.c",
            "#include <unistd.h>\nint \
            main(int c, char **v) { return c > 9 ? fork() : 0; }\n",
        ),
        (
            "socket.c",
            "#include <sys/socket.h>\nint main(void) { return socket(AF_UNIX, SOCK_STREAM, 0) < 0; }\n",
        ),
    ];
    let place = Place::with("unseen", &files);
    let (code, report) = place.json(&["locked.c"]);
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("no-failure-with-caveats")), "{report}");
    let guarantee = report["guarantee"].as_str().unwrap();
    assert!(guarantee.contains("the caveat below") && !guarantee.contains("verified"), "{report}");
    let caveats = report["caveats"].as_array().unwrap();
    assert_eq!(caveats.len(), 1, "barriers and pauses are no news: {caveats:?}");
    assert_eq!((&caveats[0]["kind"], &caveats[0]["places"][0]), (&"assembly".into(), &"locked.c:2".into()));
    assert!(caveats[0]["text"].as_str().unwrap().starts_with("inline assembly in `add_lock`"), "{caveats:?}");

    let made = place.command("cc").args(["-DSTEP=1", "-c", "shared.c"]).status().unwrap();
    assert!(made.success());
    let (_, report) = place.json(&["main.c", "shared.o", "-DSTEP=1"]);
    assert_eq!(report["verdict"], "no-failure-with-caveats", "{report}");
    assert_eq!(
        report["caveats"][0]["text"],
        "shared.o is not instrumented: the accesses of `add` and `get` to memory are not seen"
    );

    let made = place.run(&["cc", "-DSTEP=1", "-c", "shared.c"]);
    assert!(made.status.success(), "{}", err(&made));
    let (_, report) = place.json(&["main.c", "shared.o", "-DSTEP=1"]);
    assert_eq!(report["verdict"], "verified", "{report}");

    let output = place.check(&["fork.c"]);
    assert!(err(&output).contains("fork.c calls `fork`, which starts another process"), "{}", err(&output));

    let (_, report) = place.json(&["socket.c"]);
    assert_eq!(report["verdict"], "no-failure-with-caveats", "{report}");
    assert_eq!(report["caveats"][0]["kind"], "channel", "{report}");
}

#[test]
fn a_program_that_takes_its_process_away_is_not_verified() {
    // `exit_group` and `kill` behind the C library.
    let gone = "int main(void) { __asm__ volatile(\"syscall\" :: \"a\"(231), \"D\"(0) : \"rcx\", \"r11\", \"memory\"); return 0; }\n";
    let killed = "#include <unistd.h>\nint main(void) { long n = 62; __asm__ volatile(\"syscall\" : \"+a\"(n) : \"D\"((long)getpid()), \
                  \"S\"(9L) : \"rcx\", \"r11\", \"memory\"); return 0; }\n";
    let left = "#include <sys/syscall.h>\n#include <unistd.h>\nint main(void) { syscall(SYS_exit_group, CODE); return 0; }\n";
    let place = Place::with("gone", &[("gone.c", gone), ("killed.c", killed), ("left.c", left)]);
    // By `syscall` it is `_exit`.
    let (code, report) = place.json(&["left.c", "-DCODE=0"]);
    assert_eq!((code, &report["verdict"]), (Some(0), &"verified".into()), "{report}");
    let (code, report) = place.json(&["left.c", "-DCODE=3"]);
    assert_eq!((code, &report["failures"][0]["kind"]), (Some(1), &"exit-code".into()), "{report}");
    for file in ["gone.c", "killed.c"] {
        let output = place.check(&[file]);
        assert!(
            output.status.code().is_some_and(|c| c == 1 || c == 3),
            "{file}: {:?} {}",
            output.status,
            out(&output)
        );
        assert!(!out(&output).contains("verified:"), "{}", out(&output));
        let (code, report) = place.json(&[file]);
        assert!(code != Some(0) && report["verdict"] != "verified", "{report}");
    }
}

#[test]
fn a_make_project_is_built_with_the_drop_in_compiler() {
    let makefile = "\
CFLAGS = -O2 -Wall -DSTEP=1 -MMD
app: main.o libshared.a
\t$(CC) -o $@ main.o -L. -lshared -lpthread
libshared.a: shared.o
\t$(AR) rcs $@ $^
";
    let files = [("Makefile", makefile), ("main.c", MAIN), ("shared.c", SHARED), ("shared.h", HEADER)];
    let place = Place::with("make", &files);
    let made = place.command("make").arg(format!("CC={RADDLE} cc")).output().unwrap();
    assert!(made.status.success(), "{}{}", out(&made), err(&made));
    assert_eq!(fs::read_to_string(place.0.join("main.d")).unwrap().trim(), "main.o: main.c shared.h");
    let run = place.command("./app").output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert!(err(&run).contains("verified: all 2 executions"), "{}", err(&run));
    let run =
        place.command("./app").env("RADDLE_JSON", "1").env("RADDLE_MAX_EXECUTIONS", "1").output().unwrap();
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
    assert_eq!(serde_json::from_str::<Value>(&out(&run)).unwrap()["executions"], 1);
    let checked = place.json(&["./app", "--algorithm", "dpor"]);
    assert_eq!((checked.0, &checked.1["algorithm"]), (Some(0), &Value::from("dpor")));
    for (name, value, part) in [
        ("RADDLE_BOUND", "lemons=1", "preemptions"),
        ("RADDLE_BUOND", "1", "no variable RADDLE_BUOND"),
        ("RADDLE_ALGORITHM", "x", "optimal"),
    ] {
        let run = place.command("./app").env(name, value).output().unwrap();
        refused(&run, &[part]);
    }
}

#[test]
fn the_failure_of_a_program_that_explores_itself_says_how_to_replay_it() {
    let place = Place::new("own-replay");
    let made = place.run(&["cc", &example("bank.c"), "-o", "bank"]);
    assert!(made.status.success(), "{}", err(&made));
    let run = place.command("./bank").output().unwrap();
    let text = err(&run);
    assert_eq!(run.status.code(), Some(1), "{text}");
    let line = text.lines().find_map(|l| l.trim().strip_prefix("replay  ")).unwrap();
    let token = line
        .strip_prefix("RADDLE_REPLAY=")
        .and_then(|l| l.strip_suffix(" ./bank"))
        .unwrap_or_else(|| panic!("{line}"));
    let again = place.command("./bank").env("RADDLE_REPLAY", token).output().unwrap();
    assert_eq!(again.status.code(), Some(1), "{}", err(&again));
    assert!(err(&again).contains("failure: deadlock"), "{}", err(&again));
}

#[test]
fn the_compiler_has_one_name_where_it_must_and_passes_on_what_is_not_ours() {
    let place = Place::with("names", &[("counter.c", COUNTER), ("flags", "-DTIMES=2\n-o 'the counter'\n")]);
    std::os::unix::fs::symlink(RADDLE, place.0.join("raddle-cc")).unwrap();
    let made = place.command("./raddle-cc").args(["@flags", "counter.c"]).output().unwrap();
    assert!(made.status.success(), "{}", err(&made));
    let run = place.command("./the counter").output().unwrap();
    assert!(err(&run).contains("verified: all 6 executions"), "{}", err(&run));
    let version = place.command("./raddle-cc").arg("--version").output().unwrap();
    assert!(version.status.success() && !out(&version).contains("raddle"), "{}", out(&version));
    let text = place.run(&["cc", "-E", "counter.c"]);
    assert!(out(&text).contains("count(void *arg)"), "{}", err(&text));
    let text = place.run(&["cc", "-S", "counter.c", "-o", "-"]);
    assert!(out(&text).contains("__tsan_func_entry"), "{}{}", out(&text), err(&text));
    let bad = place.run(&["cc", "-static", "counter.c"]);
    refused(&bad, &["statically linked"]);
}

#[test]
fn a_cmake_project_is_checked_by_target_and_built_with_the_drop_in_compiler() {
    if !have("cmake") || !have("make") {
        return;
    }
    let lists = "\
cmake_minimum_required(VERSION 3.10)
project(demo C)
find_package(Threads REQUIRED)
add_library(shared STATIC lib/shared.c)
target_include_directories(shared PUBLIC lib)
target_compile_definitions(shared PUBLIC STEP=1)
add_executable(app main.c)
target_link_libraries(app shared Threads::Threads m)
add_executable(other counter.c)
target_link_libraries(other Threads::Threads)
";
    let files = [
        ("CMakeLists.txt", lists),
        ("main.c", MAIN),
        ("lib/shared.c", SHARED),
        ("lib/shared.h", HEADER),
        ("counter.c", COUNTER),
    ];
    let place = Place::with("cmake", &files);
    let made = place
        .command("cmake")
        .args([
            "-B",
            "build",
            "-G",
            "Unix Makefiles",
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            "-DCMAKE_BUILD_TYPE=Release",
        ])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}{}", out(&made), err(&made));
    let (code, report) = place.json(&["--project", ".", "--target", "app"]);
    assert_eq!((code, &report["executions"]), (Some(0), &Value::from(2)), "{report}");
    let (_, report) = place.json(&["--project", "build", "--target", "other"]);
    assert_eq!(
        (&report["verdict"], &report["executions"]),
        (&Value::from("verified"), &Value::from(20)),
        "{report}"
    );
    refused(
        &place.check(&["--project", "build", "--target", "nothing"]),
        &["no target `nothing`", "app, other, shared"],
    );
    refused(&place.check(&["--project", "build"]), &["several targets", "--target"]);
    refused(
        &place.check(&["--project", "lib"]),
        &["has no compile_commands.json", "CMAKE_EXPORT_COMPILE_COMMANDS"],
    );

    std::os::unix::fs::symlink(RADDLE, place.0.join("raddle-cc")).unwrap();
    let compiler = format!("-DCMAKE_C_COMPILER={}", place.0.join("raddle-cc").display());
    let made = place.command("cmake").args(["-B", "ours", &compiler]).output().unwrap();
    assert!(made.status.success(), "{}{}", out(&made), err(&made));
    let made = place.command("cmake").args(["--build", "ours"]).output().unwrap();
    assert!(made.status.success(), "{}{}", out(&made), err(&made));
    let run = place.command("ours/app").output().unwrap();
    assert!(err(&run).contains("verified: all 2 executions"), "{}", err(&run));
}

#[test]
fn a_database_without_targets_is_one_program() {
    let files = [("src/main.c", MAIN), ("src/shared.c", SHARED), ("include/shared.h", HEADER)];
    let place = Place::with("database", &files);
    let entry = |file: &str| {
        serde_json::json!({ "directory": place.0, "file": format!("src/{file}.c"),
            "arguments": ["cc", "-O2", "-DSTEP=1", "-Iinclude", "-c", "-o", format!("{file}.o"), format!("src/{file}.c")] })
    };
    fs::write(
        place.0.join("compile_commands.json"),
        serde_json::json!([entry("main"), entry("shared")]).to_string(),
    )
    .unwrap();
    let (code, report) = place.json(&["--project", "."]);
    assert_eq!((code, &report["verdict"]), (Some(0), &Value::from("verified")), "{report}");
    refused(&place.check(&["--project", ".", "--target", "main"]), &["does not say which target"]);
    fs::write(place.0.join("compile_commands.json"), "[").unwrap();
    refused(&place.check(&["--project", "."]), &["is not JSON"]);
}

#[test]
fn another_library_of_the_same_name_on_the_search_path_is_not_taken() {
    let place = Place::with(
        "search-path",
        &[("p.c", "int main(void) { return 0; }\n"), ("libraddle_native.so", "none")],
    );
    for more in [&["p.c", "-o", "p"][..], &["./p"]] {
        let mut command = place.command(RADDLE);
        let output = command.arg("check").args(more).env("LD_LIBRARY_PATH", &place.0).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    }
}

#[test]
fn gdb_stops_where_the_failure_is_found() {
    if !have("gdb") {
        return;
    }
    let race = "\
#include <pthread.h>
static int shared_word;
static void *write_it(void *arg) { shared_word = 1; return arg; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, write_it, 0);
    write_it(0);
    pthread_join(t, 0);
    return 0;
}
";
    let place = Place::with("gdb", &[("race.c", race)]);
    let (code, report) = place.json(&["race.c"]);
    assert_eq!((code, &report["failures"][0]["kind"]), (Some(1), &Value::from("data-race")), "{report}");
    let token = report["failures"][0]["replay"].as_str().unwrap();
    let mut command = place.command(RADDLE);
    let output = command
        .args(["check", "race.c", "--replay", token, "--gdb"])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = out(&output) + &err(&output);
    assert!(text.contains("raddle: data race on "), "{text}");
    assert!(
        text.contains("write_it") && text.contains("race.c:3"),
        "the stack of the program is shown:\n{text}"
    );
    assert_eq!(place.check(&["race.c", "-o", "race"]).status.code(), Some(1));
    let mut command = place.command(RADDLE);
    let without = command
        .env("PATH", "/nowhere")
        .args(["check", "./race", "--replay", token, "--gdb"])
        .output()
        .unwrap();
    refused(&without, &["there is no gdb", "apt install gdb"]);
}

#[test]
fn the_library_is_written_once_and_where_it_can_be() {
    let place = Place::with("library", &[("counter.c", COUNTER)]);
    let cache = place.0.join("the cache, with, commas");
    let children: Vec<_> = (0..3)
        .map(|_| {
            let mut command = place.command(RADDLE);
            command
                .env("RADDLE_CACHE", &cache)
                .args(["check", "counter.c", "--json"])
                .stdout(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    }
    let versions: Vec<_> = fs::read_dir(&cache).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(versions.len(), 1);
    assert_eq!(fs::read_dir(&versions[0]).unwrap().count(), 1, "the library and nothing beside it");

    // A home that is no directory cannot be written to, whoever we are.
    let mut command = place.command(RADDLE);
    command.env_remove("RADDLE_CACHE").env_remove("XDG_CACHE_HOME").env("HOME", "/dev/null");
    let output = command.args(["check", "counter.c"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        fs::read_dir(place.0.join("tmp")).unwrap().any(|e| e
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("raddle-"))
    );
    let output = place
        .command(RADDLE)
        .env("RADDLE_CACHE", "/dev/null/x")
        .args(["check", "counter.c"])
        .output()
        .unwrap();
    refused(&output, &["cannot write the library"]);
}

#[test]
fn a_kept_program_explores_itself() {
    let place = Place::with("kept", &[("counter.c", COUNTER)]);
    assert_eq!(place.check(&["counter.c", "-o", "kept"]).status.code(), Some(0));
    let run = place.command("./kept").output().unwrap();
    assert!(err(&run).contains("verified: all 20 executions"), "{}", err(&run));
    refused(&place.check(&["./kept", "-DX"]), &["come too late"]);
    refused(&place.check(&["./kept", "counter.c"]), &["checked alone"]);
}

#[test]
fn searches_of_a_c_program_are_compared() {
    let place = Place::with("compare", &[("counter.c", COUNTER)]);
    let args = [
        "compare",
        "counter.c",
        "--algorithms",
        "optimal,none",
        "--bounds",
        "0..2,none",
        "--plot",
        "seen.svg",
    ];
    let output = place.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    assert!(text.starts_with("counter.c\n"), "{text}");
    for plan in ["optimal", "none"] {
        let row =
            text.lines().find(|l| l.split(' ').next() == Some(plan)).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(row.split_whitespace().nth(1), Some("20"), "{text}");
        let bounded = text.lines().find(|l| l.starts_with(&format!("{plan}@preemptions=1 "))).unwrap();
        assert_eq!(bounded.split_whitespace().nth(1), Some("6"), "{text}");
    }
    assert!(fs::read_to_string(place.0.join("seen.svg")).unwrap().contains("<svg"));
    let output = place.run(&["compare", &example("bank.c"), "--algorithms", "optimal,dpor", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let all: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(all["rows"][1]["failure"]["kind"], "deadlock", "{all}");
    refused(&place.run(&["compare", "nothing.c"]), &["there is no file nothing.c"]);
    refused(&place.run(&["compare", "counter.c", "--size", "3"]), &["--size"]);
}

#[test]
fn a_search_that_is_interrupted_ends_and_leaves_nothing_behind() {
    let place = Place::with("interrupted", &[("counter.c", COUNTER)]);
    // Thousands of years, unless somebody stops it.
    let mut command = place.command(RADDLE);
    command
        .args(["check", "counter.c", "-DTIMES=100"])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let started = std::time::Instant::now();
    // It is ready to be told when it has started the program.
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let running = || {
        let all = fs::read_to_string(&children).unwrap_or_default();
        let name = |pid: &str| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        all.split_whitespace().any(|pid| name(pid).trim() == "counter")
    };
    while !running() && started.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}{}", out(&output), err(&output));
    let said = out(&output) + &err(&output);
    assert!(said.contains("NOT verified") || said.contains("nothing is verified"), "{said}");
    assert_eq!(fs::read_dir(place.0.join("tmp")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_meson_project_is_checked_by_target_and_built_with_the_drop_in_compiler() {
    if !have("meson") || !have("ninja") {
        println!(
            "skipped: meson and ninja are not both here (Debian, Ubuntu: `apt install meson ninja-build`)"
        );
        return;
    }
    let build = "\
project('demo', 'c')
threads = dependency('threads')
lib = include_directories('lib')
shared = static_library('shared', 'lib/shared.c', include_directories: lib, c_args: '-DSTEP=1')
executable('app', 'main.c', include_directories: lib, link_with: shared, dependencies: threads, c_args: '-DSTEP=1')
executable('other', 'counter.c', dependencies: threads)
";
    let files = [
        ("meson.build", build),
        ("main.c", MAIN),
        ("lib/shared.c", SHARED),
        ("lib/shared.h", HEADER),
        ("counter.c", COUNTER),
    ];
    let place = Place::with("meson", &files);
    let made = place.command("meson").args(["setup", "build"]).output().unwrap();
    assert!(made.status.success(), "{}{}", out(&made), err(&made));
    let (code, report) = place.json(&["--project", ".", "--target", "app"]);
    assert_eq!((code, &report["executions"]), (Some(0), &Value::from(2)), "{report}");
    let (_, report) = place.json(&["--project", "build", "--target", "other"]);
    assert_eq!(report["executions"], Value::from(20), "{report}");
    refused(
        &place.check(&["--project", "build", "--target", "nothing"]),
        &["no target `nothing`", "app", "other"],
    );

    let ours = |program: &str, args: &[&str]| {
        place.command(program).env("CC", format!("{RADDLE} cc")).args(args).output().unwrap()
    };
    let made = ours("meson", &["setup", "ours"]);
    assert!(made.status.success(), "{}{}", out(&made), err(&made));
    let made = ours("ninja", &["-C", "ours"]);
    assert!(made.status.success(), "{}{}", out(&made), err(&made));
    let run = place.command("ours/app").output().unwrap();
    assert!(err(&run).contains("verified: all 2 executions"), "{}", err(&run));
}

#[test]
fn gdb_shows_where_each_thread_of_a_deadlock_is_in_the_program() {
    if !have("gdb") {
        println!("skipped: there is no gdb");
        return;
    }
    let deadlock = "\
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void second_of_first(int depth) {
    pthread_mutex_lock(&b); /* line 4 */
    pthread_mutex_unlock(&b);
    (void)depth;
}
static void *first(void *arg) {
    pthread_mutex_lock(&a);
    second_of_first(17); /* line 10 */
    pthread_mutex_unlock(&a);
    return arg;
}
static void *second(void *arg) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a); /* line 16 */
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return arg;
}
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, first, 0);
    pthread_create(&u, 0, second, 0);
    pthread_join(t, 0); /* line 25 */
    pthread_join(u, 0);
    return 0;
}
";
    let place = Place::with("gdb-deadlock", &[("deadlock.c", deadlock)]);
    let (_, report) = place.json(&["deadlock.c"]);
    assert_eq!(report["failures"][0]["kind"], Value::from("deadlock"), "{report}");
    let token = report["failures"][0]["replay"].as_str().unwrap();
    let mut command = place.command(RADDLE);
    command.args(["check", "deadlock.c", "--replay", token, "--gdb"]);
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let text = out(&output) + &err(&output);
    for frames in [
        &["main (", "deadlock.c:25"][..],
        &["second_of_first (depth=17)", "deadlock.c:4", "first (", "deadlock.c:10"],
        &["second (", "deadlock.c:16"],
    ] {
        let mut rest = text.as_str();
        for part in frames {
            let at = rest.find(part).unwrap_or_else(|| panic!("no {part:?} of {frames:?} in:\n{text}"));
            rest = &rest[at..];
        }
    }
}

#[test]
fn a_program_that_explores_itself_refuses_what_it_does_not_know_and_names_what_it_does() {
    let place = Place::with("environment", &[("counter.c", COUNTER)]);
    let made = place.run(&["cc", "-pthread", "counter.c", "-o", "counter"]);
    assert!(made.status.success(), "{}", err(&made));
    for (name, value, says) in [
        ("RADDLE_ALGORITHM", "nonsense", "there are: bpor,"),
        ("RADDLE_BOUND", "nonsense=1", "the kinds are depth,"),
        ("RADDLE_BOUND", "nonsense", "preemptions=2"),
        ("RADDLE_ORDER", "nonsense", "there are: depth-first,"),
        ("RADDLE_RACES", "nonsense", "`report`, `ignore` or `sync`"),
        ("RADDLE_EXIT_CODES", "nonsense", "say 1 or 0"),
        ("RADDLE_NONSENSE", "1", "no variable RADDLE_NONSENSE"),
        ("RADDLE_REPLAY", "nonsense", "rd1-"),
    ] {
        let run = place.command("./counter").env(name, value).output().unwrap();
        refused(&run, &[name, says]);
    }
}

#[test]
fn a_program_that_waits_inside_the_c_library_for_the_outside_says_so() {
    let reader = "\
#include <stdio.h>
#include <sys/inotify.h>
int main(void) {
    int p = inotify_init();
    if (p < 0) return 1;
    FILE *f = fdopen(p, \"r\");
    return fgetc(f) == 'x'; /* line 7 */
}
";
    let place = Place::with("outside", &[("reader.c", reader)]);
    let mut command = place.command(RADDLE);
    let output = command.env("RADDLE_WATCHDOG", "1").args(["check", "--json", "reader.c"]).output().unwrap();
    let report: Value = serde_json::from_str(&out(&output)).unwrap();
    let failure = &report["stopped"];
    assert_eq!(failure["reason"], "limit", "{failure:#}");
    assert!(failure["text"].as_str().unwrap().contains("waits in the kernel"), "{failure:#}");
    assert!(failure["location"].as_str().unwrap().contains("reader.c:7"), "{failure:#}");
}

#[test]
fn standard_input_that_is_never_closed_holds_up_nobody_but_who_reads_it() {
    let reader = "#include <stdio.h>\nint main(void) { return getchar() == 'x'; }\n";
    let place = Place::with("input", &[("counter.c", COUNTER), ("reader.c", reader)]);
    let run = |file: &str, give: Option<&str>| {
        let mut command = place.command(RADDLE);
        command.env("RADDLE_WATCHDOG", "1").args(["check", file, "--exit-codes"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take();
        if let Some(text) = give {
            std::io::Write::write_all(&mut input.take().unwrap(), text.as_bytes()).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        drop(input);
        out(&output)
    };
    let text = run("counter.c", None);
    assert!(text.contains("verified: all 20 executions"), "{text}");
    let text = run("reader.c", None);
    assert!(text.contains("waits in the kernel for something from outside"), "{text}");
    let text = run("reader.c", Some("x"));
    assert!(text.contains("the program ends with exit code 1"), "what is given is read: {text}");
}

#[test]
fn a_main_that_calls_nothing_and_returns_another_code_than_0_fails_at_main() {
    let program = "\n\nint main(void) { return 3; }\n";
    let place = Place::with("returns", &[("returns.c", program)]);
    let (code, report) = place.json(&["returns.c"]);
    assert_eq!((code, &report["failures"][0]["kind"]), (Some(1), &"exit-code".into()), "{report:#}");
    let location = report["failures"][0]["location"].as_str();
    assert!(location.is_some_and(|at| at.contains("returns.c:3")), "{report:#}");
}

/// Memory of the search that a process of one execution had freed was still in use: what was damaged depended on the length of names.
#[test]
fn a_failure_in_a_process_of_its_own_is_reported_as_elsewhere() {
    let program = "#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int ready; static int data;\n\
                   static void *set(void *x) { data = 1; atomic_store_explicit(&ready, 1, memory_order_relaxed); return 0; }\n\
                   int main(void) { pthread_t t; pthread_create(&t, 0, set, 0);\n\
                   while (!atomic_load_explicit(&ready, memory_order_relaxed)); int d = data; pthread_join(t, 0); return d != 1; }\n";
    for name in ["a.c", "abcd.c", "abcdefghij.c", "abcdefghijklmnop.c"] {
        let place = Place::with("isolated", &[(name, program)]);
        let (_, here) = place.json(&[name]);
        let (code, apart) = place.json(&[name, "--isolate"]);
        assert_eq!((code, &apart["failures"][0]["kind"]), (Some(1), &"data-race".into()), "{apart:#}");
        assert_eq!(apart["failures"][0]["message"], here["failures"][0]["message"], "{name}");
        assert_eq!(apart["failures"][0]["trace"], here["failures"][0]["trace"], "{name}");
    }
}

#[test]
fn a_handler_that_ends_the_process_decides_the_exit_code() {
    let program = |register: &str, end: &str, code: u8| {
        format!(
            "#include <stdlib.h>\n#include <unistd.h>\nstatic void ends(void) {{ _exit({code}); }}\n\
             int main(void) {{ {register}(ends); {end}; }}\n"
        )
    };
    let place = Place::new("handlers");
    for (register, end) in [("atexit", "exit(5)"), ("atexit", "return 5"), ("at_quick_exit", "quick_exit(5)")]
    {
        for code in [0, 4] {
            fs::write(place.0.join("program.c"), program(register, end, code)).unwrap();
            let (exit, report) = place.json(&["program.c"]);
            let message = report["failures"][0]["message"].as_str().unwrap_or("");
            let right = if code == 0 { exit == Some(0) } else { message.ends_with("exit code 4") };
            assert!(right, "{register}, {end}, {code}: {report:#}");
        }
    }
}

#[test]
fn failures_before_main_are_failures_and_threads_before_main_are_refused() {
    let failing = "#include <assert.h>\n__attribute__((constructor)) static void early(void) { assert(0); }\nint main(void) { return 0; }\n";
    let starting = "#include <pthread.h>\nstatic pthread_t t;\nstatic void *run(void *x) { return 0; }\n\
                    __attribute__((constructor)) static void early(void) { pthread_create(&t, 0, run, 0); }\n\
                    int main(void) { return pthread_join(t, 0); }\n";
    let place = Place::with("early", &[("failing.c", failing), ("starting.c", starting)]);
    let (code, report) = place.json(&["failing.c"]);
    assert_eq!((code, &report["failures"][0]["kind"]), (Some(1), &"assertion".into()), "{report:#}");
    assert_eq!(report["failures"][0]["location"], "failing.c:2", "{report:#}");
    let (code, report) = place.json(&["starting.c"]);
    assert_eq!((code, &report["verdict"]), (Some(2), &"error".into()), "{report:#}");
    assert!(report["error"].as_str().unwrap().contains("before `main`"), "{report:#}");
}

#[test]
fn a_livelock_that_some_fair_schedules_leave_is_a_caveat_unless_told_otherwise() {
    let place = Place::new("livelock");
    let program = format!("{}/../../programs/c/failures/livelock.c", env!("CARGO_MANIFEST_DIR"));
    let (code, report) = place.json(&[&program]);
    assert_eq!((code, &report["verdict"]), (Some(0), &"no-failure-with-caveats".into()), "{report:#}");
    let caveat = &report["caveats"][0];
    assert_eq!(
        (&caveat["kind"], caveat["places"].as_array().map(Vec::len)),
        (&"may-not-end".into(), Some(1))
    );
    let (code, report) = place.json(&[&program, "--livelocks", "all"]);
    assert_eq!((code, &report["failures"][0]["kind"]), (Some(1), &"livelock".into()), "{report:#}");
    assert!(!report.to_string().contains("it seems"), "{report:#}");
}

/// Loops that wait for others: what is right about each is a verdict, and the kind of its failure or of its only caveat.
#[test]
fn loops_that_wait_for_others_are_judged_as_fair_schedules_go() {
    const COMMON: &str = r#"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#include <semaphore.h>
#include <errno.h>
static atomic_int flag, held, x, y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int data;
static void *set(void *u) { atomic_store(&flag, 1); return 0; }
static void *locked(void *u) { pthread_mutex_lock(&m); data = 1; pthread_mutex_unlock(&m); return 0; }
static void *idle(void *u) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
static void take(int *n) { int e = 0; while (!atomic_compare_exchange_strong(&held, &e, 1)) { e = 0; if (n) ++*n; } }
static void give(void) { atomic_store(&held, 0); }
static void *spin(void *u) { int n = 0; take(u ? &n : 0); data++; give(); return 0; }
static void *never(void *u) { for (;;) { take(0); int d = data; give(); if (d) return 0; } }
static void *steps_back(void *u) { for (;;) { atomic_fetch_add(&x, 1); if (atomic_load(&flag)) return 0; atomic_fetch_sub(&x, 1); } }
static void timed(int *n) { pthread_mutex_lock(&m); while (!data) { struct timespec t = { 1, 0 }; pthread_cond_timedwait(&c, &m, &t); if (n) ++*n; } pthread_mutex_unlock(&m); }
#define WITH(f, body) int main(void) { int n = 0; pthread_t t; pthread_create(&t, 0, f, 0); body; pthread_join(t, 0); return 0; }
"#;
    let cases: [(&str, &str, &str, &str); 16] = [
        (
            "polls, writes and takes it back",
            "WITH(set, while (!atomic_load(&flag)) { atomic_store(&x, 1); atomic_store(&x, 0); })",
            "verified",
            "",
        ),
        (
            "polls and writes",
            "WITH(set, while (!atomic_load(&flag)) atomic_fetch_add(&x, 1))",
            "no-failure-with-caveats",
            "turns",
        ),
        (
            "polls, writes and sleeps",
            "WITH(set, while (!atomic_load(&flag)) { atomic_fetch_add(&x, 1); usleep(9); })",
            "no-failure-with-caveats",
            "turns",
        ),
        (
            "counts its looks",
            "WITH(set, while (!atomic_load(&flag)) n++)",
            "no-failure-with-caveats",
            "turns",
        ),
        (
            "counts and yields",
            "WITH(set, while (!atomic_load(&flag)) { n++; sched_yield(); })",
            "no-failure-with-caveats",
            "turns",
        ),
        (
            "tries five times",
            "WITH(idle, for (; n < 5; n++) if (!pthread_mutex_trylock(&m)) { pthread_mutex_unlock(&m); break; })",
            "verified",
            "",
        ),
        (
            "tries and counts",
            "WITH(idle, while (pthread_mutex_trylock(&m)) n++; pthread_mutex_unlock(&m))",
            "no-failure-with-caveats",
            "turns",
        ),
        ("waits with a timeout", "WITH(locked, timed(0))", "verified", ""),
        ("waits with a timeout and counts", "WITH(locked, timed(&n))", "no-failure-with-caveats", "spurious"),
        ("waits with a timeout for ever", "WITH(idle, timed(0))", "failure", "livelock"),
        ("spins on a lock", "WITH(spin, spin(0))", "verified", ""),
        ("spins on a lock and counts", "WITH(spin, spin(&x))", "no-failure-with-caveats", "turns"),
        (
            "polls under a lock",
            "WITH(locked, do { pthread_mutex_lock(&m); n = data; pthread_mutex_unlock(&m); } while (!n))",
            "verified",
            "",
        ),
        ("two poll under a spin lock for ever", "WITH(never, never(0))", "failure", "livelock"),
        ("two write and take it back for ever", "WITH(steps_back, steps_back(0))", "failure", "livelock"),
        (
            "counts for ever",
            "int main(void) { unsigned n = 0; while (!atomic_load(&flag)) n++; return n; }",
            "incomplete",
            "",
        ),
    ];
    let place = Place::new("fair");
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(what, program, verdict, kind)| {
            fs::write(place.0.join("waits.c"), format!("{COMMON}{program}")).unwrap();
            let (code, report) = place.json(&["waits.c", "--max-steps", "20000"]);
            let kinds: Vec<&str> = [&report["failures"], &report["caveats"]]
                .iter()
                .flat_map(|list| list.as_array().unwrap())
                .map(|one| one["kind"].as_str().unwrap())
                .collect();
            let expected: &[&str] = if kind.is_empty() { &[] } else { std::slice::from_ref(kind) };
            let right = report["verdict"] == **verdict && kinds == expected;
            (!right).then(|| format!("{what}: {code:?}, {}, {kinds:?}", report["verdict"]))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Loops that end when a lock that they try is held, or is not: each goes on when another thread takes the lock, ends with it or not.
#[test]
fn loops_that_try_go_on_when_a_lock_is_taken() {
    const COMMON: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <semaphore.h>
#include <assert.h>
static atomic_int x, seen;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t p;
static sem_t s;
static int ready;
#define M(f) pthread_mutex_##f(&m)
#define L(f) pthread_rwlock_##f(&l)
#define P(f) pthread_spin_##f(&p)
#define POLL(try, unlock) for (;;) { if (try) continue; int r = ready; unlock; if (r) break; }
#define WITH(other, body) static void *t(void *u) { other; return 0; } \
    int main(void) { int n = 0; pthread_t a; sem_init(&s, 0, 1); P(init_); pthread_create(&a, 0, t, 0); body; pthread_join(a, 0); return n < 0; }
#define pthread_spin_init_(p) pthread_spin_init(p, 0)
#define HOLD(lock, unlock) lock; while (!seen); unlock
"#;
    const VERIFIED: (&str, &str) = ("verified", "");
    const LIVELOCK: (&str, &str) = ("failure", "livelock");
    const ASSERTION: (&str, &str) = ("failure", "assertion");
    const TURNS: (&str, &str) = ("no-failure-with-caveats", "turns");
    let cases: [(&str, (&str, &str)); 24] = [
        // The other thread keeps the lock until the loop has ended, or for ever.
        ("WITH(HOLD(M(lock), M(unlock)), while (!M(trylock)) M(unlock); seen = 1)", VERIFIED),
        ("WITH(M(lock), while (!M(trylock)) M(unlock))", VERIFIED),
        ("WITH(HOLD(P(lock), P(unlock)), while (!P(trylock)) P(unlock); seen = 1)", VERIFIED),
        ("WITH(HOLD(L(wrlock), L(unlock)), while (!L(tryrdlock)) L(unlock); seen = 1)", VERIFIED),
        ("WITH(L(wrlock), while (!L(tryrdlock)) L(unlock))", VERIFIED),
        ("WITH(HOLD(L(wrlock), L(unlock)), while (!L(trywrlock)) L(unlock); seen = 1)", VERIFIED),
        ("WITH(HOLD(L(rdlock), L(unlock)), while (!L(trywrlock)) L(unlock); seen = 1)", VERIFIED),
        ("WITH(HOLD(sem_wait(&s), sem_post(&s)), while (!sem_trywait(&s)) sem_post(&s); seen = 1)", VERIFIED),
        ("WITH(sem_wait(&s), while (!sem_trywait(&s)) sem_post(&s))", VERIFIED),
        // It changes what the lock guards, perhaps after a round without a change.
        ("WITH(M(lock); ready = 1; M(unlock), POLL(M(trylock), M(unlock)))", VERIFIED),
        ("WITH(L(wrlock); ready = 1; L(unlock), POLL(L(tryrdlock), L(unlock)))", VERIFIED),
        (
            "WITH(M(lock); M(unlock); M(lock); ready = 1; M(unlock), \
             POLL((M(trylock) ? (assert(!x), 1) : 0), M(unlock)))",
            VERIFIED,
        ),
        // A try that fails after some that did not.
        (
            "WITH(M(lock); M(unlock); x = 1; M(lock); x = 9; M(unlock); seen = 1, \
             while (!M(trylock)) { M(unlock); if (seen) return 0; } assert(x != 9))",
            ASSERTION,
        ),
        (
            "WITH(L(wrlock); L(unlock); x = 1; L(wrlock); x = 9; L(unlock); seen = 1, \
             while (!L(tryrdlock)) { L(unlock); if (seen) return 0; } assert(x != 9))",
            ASSERTION,
        ),
        // Nobody ends these.
        ("WITH(M(lock); M(unlock), while (!M(trylock)) M(unlock))", LIVELOCK),
        ("WITH(L(rdlock), while (!L(tryrdlock)) L(unlock))", LIVELOCK),
        ("WITH(L(rdlock); L(unlock), while (!L(trywrlock)) L(unlock))", LIVELOCK),
        ("WITH(sem_wait(&s); sem_post(&s), while (!sem_trywait(&s)) sem_post(&s))", LIVELOCK),
        ("WITH(x = 1, POLL(M(trylock), M(unlock)))", LIVELOCK),
        ("WITH(POLL(M(trylock), M(unlock)), POLL(M(trylock), M(unlock)))", LIVELOCK),
        ("WITH(POLL(L(tryrdlock), L(unlock)), POLL(L(tryrdlock), L(unlock)))", LIVELOCK),
        // These count their rounds.
        ("WITH(HOLD(M(lock), M(unlock)), while (!M(trylock)) { M(unlock); n++; } seen = 1)", TURNS),
        ("WITH(HOLD(L(wrlock), L(unlock)), while (!L(tryrdlock)) { L(unlock); n++; } seen = 1)", TURNS),
        (
            "WITH(M(lock); ready = 1; M(unlock), \
             for (int r = 0; !r; n++) { M(lock); r = ready; M(unlock); })",
            TURNS,
        ),
    ];
    let place = Place::new("tries");
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(program, (verdict, kind))| {
            fs::write(place.0.join("tries.c"), format!("{COMMON}{program}")).unwrap();
            let (_, report) = place.json(&["tries.c", "--max-steps", "20000"]);
            let all = [&report["failures"], &report["caveats"]];
            let mut kinds: Vec<&str> = all
                .iter()
                .flat_map(|list| list.as_array().into_iter().flatten())
                .filter_map(|one| one["kind"].as_str())
                .collect();
            // Other executions of a program with a livelock may end.
            kinds.retain(|k| *kind != "livelock" || *k != "may-not-end");
            let expected: &[&str] = if kind.is_empty() { &[] } else { std::slice::from_ref(kind) };
            let right = report["verdict"] == **verdict && kinds == expected;
            (!right).then(|| format!("{program}: {}, {kinds:?}", report["verdict"]))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn threads_that_step_back_from_each_other_end() {
    let head = "#include <cassert>\n#include <mutex>\n#include <thread>\nstd::mutex m, n, o; int x, y;\n";
    // What the other thread does, what main does, the verdict, and the caveat or failure.
    for (name, other, own, verdict, kind) in [
        ("same order", "std::scoped_lock l(m, n); x++;", "std::scoped_lock l(m, n); x++;", "verified", ""),
        (
            "other order",
            "std::scoped_lock l(n, m); x++;",
            "std::scoped_lock l(m, n); x++;",
            "no-failure-with-caveats",
            "turns",
        ),
        (
            "three locks",
            "std::scoped_lock l(n, m, o); x++;",
            "std::scoped_lock l(o, m, n); x++;",
            "no-failure-with-caveats",
            "turns",
        ),
        (
            "two of three locks",
            "std::scoped_lock l(n, m); x++; y++;",
            "{ std::scoped_lock l(m, n); x++; } std::scoped_lock l(o); y++;",
            "failure",
            "data-race",
        ),
    ] {
        let text = format!("{head}int main() {{ std::thread t([] {{ {other} }}); {{ {own} }} t.join(); }}");
        let place = Place::with("step-back", &[("back.cpp", text.as_str())]);
        let (_, report) = place.json(&["back.cpp", "--turns", "1"]);
        assert_eq!(report["verdict"], verdict, "{name}: {report:#}");
        let list = if verdict == "failure" { &report["failures"] } else { &report["caveats"] };
        let kinds: Vec<&str> = list.as_array().unwrap().iter().filter_map(|c| c["kind"].as_str()).collect();
        assert_eq!(kinds.is_empty(), kind.is_empty(), "{name}: {report:#}");
        assert!(kind.is_empty() || kinds.contains(&kind), "{name}: {report:#}");
    }
}

#[test]
fn threads_and_processes_behind_our_back_are_refused_by_name() {
    let head = "#define _GNU_SOURCE\n#include <spawn.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n";
    for (name, statement, says) in [
        ("raw", "return syscall(SYS_fork) < 0;", "syscall(SYS_fork)"),
        ("raw-clone", "return syscall(SYS_clone, 0, 0, 0, 0, 0) < 0;", "syscall(SYS_clone)"),
        ("fork", "return fork() < 0;", "`fork`"),
        (
            "spawn",
            "char *none[] = {0}; return posix_spawn(0, \"/bin/true\", 0, 0, none, none);",
            "`posix_spawn`",
        ),
    ] {
        let text = format!("{head}int main(void) {{ {statement} }}\n");
        let place = Place::with(&format!("behind-{name}"), &[("main.c", &text)]);
        let (code, report) = place.json(&["main.c"]);
        let failure = &report["stopped"];
        assert_eq!((code, &failure["reason"]), (Some(3), &Value::from("limit")), "{name}: {report:#}");
        let message = failure["text"].as_str().unwrap();
        assert!(message.contains(says) && message.contains("not under control"), "{name}: {message}");
    }
}

/// The waiter looks first, but nobody ever notifies it.
const NOT_NOTIFIED: &str = "\
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void *set(void *p) { pthread_mutex_lock(&m); ready = 1; pthread_mutex_unlock(&m); return p; }
static void *waits(void *p) {
    pthread_mutex_lock(&m);
    if (!ready) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, set, 0);
    pthread_create(&b, 0, waits, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
";

#[test]
fn a_notification_that_never_comes_is_a_deadlock_although_waits_may_end_for_no_reason() {
    let place = Place::with("not-notified", &[("waits.c", NOT_NOTIFIED)]);
    for algorithm in ["optimal", "source", "dpor", "none"] {
        let (code, report) = place.json(&["waits.c", "--algorithm", algorithm]);
        assert_eq!(
            (code, report["failures"][0]["kind"].as_str()),
            (Some(1), Some("deadlock")),
            "{algorithm}"
        );
        let token = report["failures"][0]["replay"].as_str().unwrap();
        let (_, again) = place.json(&["waits.c", "--replay", token]);
        assert_eq!(again["failures"][0]["message"], report["failures"][0]["message"], "{algorithm}");
    }
}

#[test]
fn what_the_c_library_prints_to_memory_and_what_a_string_of_cpp_holds_can_race() {
    let printing = "\
#include <pthread.h>
#include <stdio.h>
static char text[64] = \"old\";
static void *writer(void *p) { sprintf(text, \"%d %s %.1f\", 1, \"new\", 2.5); return p; }
static void *reader(void *p) { char copy[64]; snprintf(copy, sizeof copy, \"%5d %g <%s>\", 1, 1.5, text); return p; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
";
    let string = "\
#include <string>
#include <thread>
std::string s;
int main() {
    std::thread a([] { s += \"x\"; }), b([] { s += \"yy\"; });
    a.join();
    b.join();
}
";
    let place = Place::with("library-races", &[("printing.c", printing), ("string.cpp", string)]);
    for what in [&["printing.c"] as &[&str], &["string.cpp", "-std=c++17"]] {
        let (code, report) = place.json(what);
        let kind = report["failures"][0]["kind"].as_str();
        assert_eq!((code, kind), (Some(1), Some("data-race")), "{what:?}");
    }
}

#[test]
fn what_is_printed_is_what_the_c_library_prints() {
    let text = "\
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
static int into(char *to, size_t n, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(to, n, format, list);
    va_end(list);
    return length;
}
int main(void) {
    char a[200], b[8];
    int n = sprintf(a, \"%d %u %ld %5.2f %Lf %s %.*s %c %x %g %g %g %g %g %g %g %g %s %d\", -1, 2u, 3L, 4.5, 5.5L, \"six\", 2,
                    \"seven\", 'c', 255, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, \"end\", 9);
    assert(!strcmp(a, \"-1 2 3  4.50 5.500000 six se c ff 1 2 3 4 5 6 7 8 end 9\"));
    assert(n == (int)strlen(a));
    assert(snprintf(b, sizeof b, \"%s\", \"longer than that\") == 16 && !strcmp(b, \"longer \"));
    assert(snprintf(NULL, 0, \"%d\", 1234) == 4);
    assert(into(b, sizeof b, \"%d%s\", 12, \"ab\") == 4 && !strcmp(b, \"12ab\"));
    assert(printf(\"%s %d\\n\", \"hello\", 1) == 8);
    return 0;
}
";
    let place = Place::with("printed", &[("printed.c", text)]);
    let (code, report) = place.json(&["printed.c"]);
    assert_eq!((code, report["verdict"].as_str()), (Some(0), Some("verified")), "{report}");
}

/// Checks programs and lists those whose verdict, kind of failure or caveat is another: `name`, `program`, `verdict`, `kind`.
fn wrong_answers(
    place: &Place,
    compiler: &str,
    file: &str,
    args: &[&str],
    cases: &[(&str, String, &str, &str)],
) -> Vec<String> {
    let wrong = |(name, program, verdict, kind): &(&str, String, &str, &str)| {
        fs::write(place.0.join(file), program).unwrap();
        let mut command = place.command(RADDLE);
        command.args(["check", "--json", file]).args(args).env("CC", compiler).env("CXX", compiler);
        let output = command.output().unwrap();
        let code = output.status.code();
        let report: Value =
            serde_json::from_str(&out(&output)).unwrap_or_else(|e| panic!("{e}: {}", err(&output)));
        let kinds: Vec<&str> = [&report["failures"], &report["caveats"]]
            .iter()
            .flat_map(|list| list.as_array().unwrap())
            .map(|one| one["kind"].as_str().unwrap())
            .collect();
        let expected: &[&str] = if kind.is_empty() { &[] } else { std::slice::from_ref(kind) };
        let right = report["verdict"] == **verdict && kinds == expected;
        (!right).then(|| format!("{compiler}, {name}: {code:?}, {}, {kinds:?}", report["verdict"]))
    };
    cases.iter().filter_map(wrong).collect()
}

#[test]
fn atomics_of_any_size_are_steps() {
    let c = |size: usize, body: &str| {
        let fields: String = (1..size / 4).map(|i| format!(" int f{i};")).collect();
        format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
             typedef struct {{ int a;{fields} }} P;\n_Atomic P s; P plain; int d;\n\
             struct {{ P s; int d; }} beside __attribute__((aligned(8)));\n\
             pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
             #define WITH(f, body) int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); body; pthread_join(t, 0); }}\n{body}\n"
        )
    };
    let hand_over = |order: &str| {
        format!(
            "void *f(void *u) {{ d = 7; P v = {{1}}; atomic_store_explicit(&s, v, {order}); return 0; }}
             WITH(f, P v = atomic_load(&s); if (v.a) d++)"
        )
    };
    let spin = "void *f(void *u) { d = 7; P v = {1}; atomic_store(&s, v); return 0; }
        WITH(f, P v; do v = atomic_load(&s); while (!v.a); assert(d == 7))";
    let lost = "void *f(void *u) { P v = s; v.a++; s = v; return 0; }
        WITH(f, f(0); pthread_join(t, 0); P v = s; assert(v.a == 2); return 0)";
    let exchanged =
        "void *f(void *u) { P v = {1}, old = atomic_exchange(&s, v); if (old.a) d = 1; return 0; }
        WITH(f, f(0); pthread_join(t, 0); assert(d == 1); return 0)";
    let counted = "void *f(void *u) { P v = atomic_load(&s), n; do { n = v; n.a++; }
        while (!atomic_compare_exchange_weak(&s, &v, n)); return 0; }
        WITH(f, f(0); pthread_join(t, 0); P v = s; assert(v.a == 2); return 0)";
    let mixed = "void *f(void *u) { P v = {1}; __atomic_store(&plain, &v, __ATOMIC_SEQ_CST); return 0; }
        WITH(f, (&plain.a)[1] = 2)";
    let beside = "void *f(void *u) { P v = {1}; __atomic_store(&beside.s, &v, __ATOMIC_SEQ_CST);
            pthread_mutex_lock(&m); beside.d++; pthread_mutex_unlock(&m); return 0; }
        WITH(f, P v; __atomic_load(&beside.s, &v, __ATOMIC_SEQ_CST);
            for (int n = 0; !n;) { pthread_mutex_lock(&m); n = beside.d; pthread_mutex_unlock(&m); })";
    let place = Place::new("large-atomics");
    let args = ["--cflags", "-w -latomic"];
    let mut wrong = Vec::new();
    // clang pads a structure of 12 bytes to 16, and its compare-exchange reads beyond the expected value.
    for (compiler, sizes) in [("gcc", [12, 40]), ("clang", [16, 24])].into_iter().filter(|(c, _)| have(c)) {
        for size in sizes {
            let cases = [
                ("hands over", c(size, &hand_over("memory_order_seq_cst")), "verified", ""),
                ("waits", c(size, spin), "verified", ""),
                ("loses an update", c(size, lost), "failure", "assertion"),
                ("exchanges", c(size, exchanged), "verified", ""),
                ("counts", c(size, counted), "verified", ""),
                ("is mixed with plain accesses", c(size, mixed), "failure", "data-race"),
                ("lies beside a plain variable", c(size, beside), "verified", ""),
            ];
            wrong.extend(wrong_answers(&place, compiler, "large.c", &args, &cases));
        }
    }
    let relaxed = c(24, &hand_over("memory_order_relaxed"));
    fs::write(place.0.join("relaxed.c"), relaxed).unwrap();
    let (_, report) = place.json(&["relaxed.c", "--cflags", "-latomic"]);
    if report["failures"][0]["kind"] != "data-race" {
        wrong.push(format!("relaxed: {}", report["verdict"]));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn large_atomics_of_cpp_are_steps() {
    let cpp = |size: usize, body: &str| {
        format!(
            "#include <atomic>\n#include <cassert>\n#include <thread>\nstruct S {{ int a[{}]; }};\n\
             std::atomic<S> s; int d;\nint main() {{ {body} }}\n",
            size / 4
        )
    };
    let order = "std::thread t([] { s.store({{1}}); }); S v = s.load(); t.join(); assert(v.a[0] == 0);";
    let spin =
        "std::thread t([] { d = 1; s.store({{1}}); }); while (!s.load().a[0]) {} assert(d == 1); t.join();";
    let swap = "std::thread t([] { d = 1; s.exchange({{1}}); }); S e{}, n{{2}};
        if (!s.compare_exchange_strong(e, n)) assert(e.a[0] == 1 && d == 1);
        t.join(); assert(s.load().a[0] == 1 && s.is_lock_free() == s.is_lock_free());";
    let place = Place::new("large-atomics-cpp");
    let mut wrong = Vec::new();
    for (compiler, sizes) in [("g++", [12, 40]), ("clang++", [12, 24])].into_iter().filter(|(c, _)| have(c)) {
        for size in sizes {
            let cases = [
                ("order", cpp(size, order), "failure", "assertion"),
                ("spin", cpp(size, spin), "verified", ""),
                ("swap", cpp(size, swap), "verified", ""),
            ];
            let args = ["--cflags", "-w -std=c++17 -latomic"];
            wrong.extend(wrong_answers(&place, compiler, "large.cpp", &args, &cases));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn streams_in_memory_are_used_by_several_threads() {
    let with = |body: &str| {
        format!(
            "#define _GNU_SOURCE\n#include <assert.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
             char data[] = \"a\\nb\\n\", l[2][8], out[8], *text; size_t n; FILE *f; int k;\n\
             pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
             void *get(void *p) {{ fgets(p, 8, f); return 0; }}\n\
             void *put(void *p) {{ fputs(p, f); return 0; }}\n\
             void *count(void *p) {{ pthread_mutex_lock(&m); fputc('a' + k++, f); pthread_mutex_unlock(&m); return 0; }}\n\
             ssize_t make(void *p, char *b, size_t n) {{ b[0] = 'a'; return 1; }}\n\
             #define TWO(f, x, y) pthread_t a, b; pthread_create(&a, 0, f, x); pthread_create(&b, 0, f, y); \\\n\
             pthread_join(a, 0); pthread_join(b, 0)\nint main(void) {{ assert(!text && !out[0]); {body} }}\n"
        )
    };
    let cases = [
        (
            "lines go to either thread",
            with("f = fmemopen(data, 4, \"r\"); TWO(get, l[0], l[1]); assert(l[0][0] == 'a');"),
            "failure",
            "assertion",
        ),
        (
            "each line goes to one thread",
            with("f = fmemopen(data, 4, \"r\"); TWO(get, l[0], l[1]); assert(l[0][0] != l[1][0]);"),
            "verified",
            "",
        ),
        (
            "a stream with pending output is left open",
            with("f = fmemopen(out, 8, \"w\"); TWO(count, 0, 0); assert(k == 2);"),
            "verified",
            "",
        ),
        (
            "the length of what both write",
            with("f = open_memstream(&text, &n); TWO(count, 0, 0); fflush(f); assert(n == 2);"),
            "verified",
            "",
        ),
        (
            "the order of what both write",
            with(
                "f = open_memstream(&text, &n); TWO(put, \"x\", \"y\"); fclose(f); char c = *text; free(text);
                  assert(c == 'x');",
            ),
            "failure",
            "assertion",
        ),
    ];
    let place = Place::new("streams-in-memory");
    let wrong = wrong_answers(&place, "gcc", "streams.c", &["--max-seconds", "20"], &cases);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let refused =
        with("cookie_io_functions_t io = { make }; f = fopencookie(0, \"r\", io); TWO(get, l[0], l[1]);");
    fs::write(place.0.join("cookie.c"), refused).unwrap();
    let output = place.check(&["cookie.c"]);
    assert!(output.status.code() == Some(3) && out(&output).contains("`fopencookie`"), "{}", out(&output));
}

#[test]
fn waiting_writers_hold_up_readers_where_the_lock_says_so() {
    let with = |kind: &str, body: &str| {
        format!(
            "#define _GNU_SOURCE\n#include <assert.h>\n#include <pthread.h>\n#include <time.h>\npthread_rwlock_t l; int x;\n\
             void *w(void *p) {{ pthread_rwlock_wrlock(&l); x++; pthread_rwlock_unlock(&l); return 0; }}\n\
             void *r(void *p) {{ pthread_rwlock_rdlock(&l); int y = x; pthread_rwlock_unlock(&l); return 0; }}\n\
             void *b(void *p) {{ pthread_rwlock_rdlock(&l); x++; pthread_rwlock_unlock(&l); return 0; }}\n\
             void *rr(void *p) {{ pthread_rwlock_rdlock(&l); r(0); pthread_rwlock_unlock(&l); return 0; }}\n\
             #define WITH(f) pthread_t t; pthread_create(&t, 0, f, 0)\n\
             int main(void) {{ pthread_rwlockattr_t at; pthread_rwlockattr_init(&at);\n\
             pthread_rwlockattr_setkind_np(&at, PTHREAD_RWLOCK_PREFER_{kind}_NP); pthread_rwlock_init(&l, &at);\n\
             {body} pthread_join(t, 0); pthread_rwlock_destroy(&l); }}\n"
        )
    };
    let strict = |body: &str| with("WRITER_NONRECURSIVE", body);
    let tries = "int e; pthread_rwlock_rdlock(&l); WITH(w); e = pthread_rwlock_tryrdlock(&l);
        if (!e) pthread_rwlock_unlock(&l); pthread_rwlock_unlock(&l); assert(!e);";
    let timed = "struct timespec until = {1}; WITH(r);
        if (!pthread_rwlock_timedwrlock(&l, &until)) pthread_rwlock_unlock(&l);";
    let cases = [
        ("reads twice", strict("WITH(w); rr(0);"), "failure", "deadlock"),
        ("reads twice, readers first", with("READER", "WITH(w); rr(0);"), "verified", ""),
        // The C library treats this kind as the default.
        ("reads twice, writers first but recursive", with("WRITER", "WITH(w); rr(0);"), "verified", ""),
        ("reads twice without a writer", strict("WITH(rr); rr(0);"), "verified", ""),
        ("tries while a writer waits", strict(tries), "failure", "assertion"),
        ("tries, readers first", with("READER", tries), "verified", ""),
        (
            "reads and writes",
            strict("WITH(w); r(0); w(0); pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l);"),
            "verified",
            "",
        ),
        ("writes under a read lock", strict("WITH(b); r(0);"), "failure", "data-race"),
        ("a writer with a timeout", strict(timed), "no-failure-with-caveats", "patient"),
        ("a writer with a timeout, readers first", with("READER", timed), "verified", ""),
    ];
    let place = Place::new("waiting-writers");
    let wrong = wrong_answers(&place, "gcc", "lock.c", &[], &cases);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn notifications_at_the_end_of_a_thread_arrive() {
    let with = |threads: &str, wanted: usize| {
        format!(
            "#include <condition_variable>\n#include <mutex>\n#include <thread>\n\
             std::mutex m; std::condition_variable c; int n;\n\
             int main() {{ auto f = [] {{ std::unique_lock<std::mutex> l(m); n++;\n\
             std::notify_all_at_thread_exit(c, std::move(l)); }};\n{threads}\n\
             {{ std::unique_lock<std::mutex> l(m); while (n != {wanted}) c.wait(l); }}\n\
             for (auto &t : all) t.join(); }}\n"
        )
    };
    let cases = [
        ("one", with("std::thread all[] = { std::thread(f) };", 1), "verified", ""),
        ("two", with("std::thread all[] = { std::thread(f), std::thread(f) };", 2), "verified", ""),
        ("one too few", with("std::thread all[] = { std::thread(f) };", 2), "failure", "deadlock"),
    ];
    let place = Place::new("at-thread-exit");
    if have("g++") {
        let wrong = wrong_answers(&place, "g++", "exit.cpp", &["--cflags", "-std=c++17"], &cases);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn weak_exchanges_fail_spuriously_with_every_compiler() {
    let c = |body: &str| {
        format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
             #define CAS(p, e, n) atomic_compare_exchange_weak(p, e, n)\natomic_int x;\n{body}\n"
        )
    };
    let once = |call: &str| c(&format!("int main(void) {{ int e = 0; int ok = {call}; assert(ok); }}"));
    let add = "void *add(void *a) { int e = x; while (!CAS(&x, &e, e + 1)) ; return a; }
        int main(void) { pthread_t t; pthread_create(&t, 0, add, 0); add(0); pthread_join(t, 0); assert(x == 2); }";
    let place = Place::new("weak-exchanges");
    let mut wrong = Vec::new();
    for compiler in ["gcc", "clang", "clang-14", "clang-16"].into_iter().filter(|c| have(c)) {
        let cases = [
            ("weak", once("atomic_compare_exchange_weak(&x, &e, 1)"), "failure", "assertion"),
            (
                "built in",
                once("__atomic_compare_exchange_n((int *)&x, &e, 1,\n 1, 5, 5)"),
                "failure",
                "assertion",
            ),
            ("a macro", once("CAS(&x, &e, 1)"), "failure", "assertion"),
            ("strong", once("atomic_compare_exchange_strong(&x, &e, 1)"), "verified", ""),
            (
                "built in and strong",
                once("__atomic_compare_exchange_n((int *)&x, &e, 1, 0, 5, 5)"),
                "verified",
                "",
            ),
            ("tried again", c(add), "verified", ""),
        ];
        wrong.extend(wrong_answers(&place, compiler, "weak.c", &[], &cases));
    }
    let cpp = |call: &str| {
        format!(
            "#include <atomic>\n#include <cassert>\nstd::atomic<long> x;\nint main() {{ long e = 0; bool ok = x.{call}(e, 1); assert(ok); }}\n"
        )
    };
    for compiler in ["g++", "clang++", "clang++-14", "clang++-16"].into_iter().filter(|c| have(c)) {
        let cases = [
            ("weak", cpp("compare_exchange_weak"), "failure", "assertion"),
            ("strong", cpp("compare_exchange_strong"), "verified", ""),
        ];
        wrong.extend(wrong_answers(&place, compiler, "weak.cpp", &[], &cases));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn handles_that_are_compared_inline_may_have_come_back() {
    let c = |body: &str| {
        format!(
            "#include <pthread.h>\n#include <stdlib.h>\npthread_t last;\nvoid *f(void *a) {{ {body} return a; }}\n\
             int main(void) {{ for (int i = 0; i < 2; i++) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); }} }}\n"
        )
    };
    let compares = c("if (last == pthread_self()) abort(); last = pthread_self();");
    let sequence = c("last = pthread_self();");
    let ids = "#include <cstdlib>\n#include <thread>\nstd::thread::id last;\n\
        void f() { if (last == std::this_thread::get_id()) abort(); last = std::this_thread::get_id(); }\n\
        int main() { for (int i = 0; i < 2; i++) { std::thread t(f); t.join(); } }\n";
    let owner = "#include <thread>\n#include <mutex>\nstd::mutex m; std::thread::id owner; int wrong;\n\
        void f() { m.lock(); owner = std::this_thread::get_id(); if (owner != std::this_thread::get_id()) wrong = 1;\n\
            owner = std::thread::id(); m.unlock(); }\n\
        int main() { for (int i = 0; i < 2; i++) { std::thread t(f); t.join(); } return wrong; }\n";
    let place = Place::new("compared-handles");
    for (compiler, file, text, caveats) in [
        ("gcc", "a.c", &compares[..], 1),
        ("gcc", "b.c", &sequence[..], 0),
        ("clang", "a.c", &compares[..], 1),
        ("clang", "b.c", &sequence[..], 0),
        ("g++", "a.cpp", ids, 1),
        ("g++", "b.cpp", owner, 0),
        ("clang++", "a.cpp", ids, 1),
        ("clang++", "b.cpp", owner, 0),
    ] {
        if !have(compiler) {
            continue;
        }
        fs::write(place.0.join(file), text).unwrap();
        let variable = if file.ends_with("cpp") { "CXX" } else { "CC" };
        let output =
            place.command(RADDLE).env(variable, compiler).args(["check", "--json", file]).output().unwrap();
        let report: Value = serde_json::from_str(&out(&output)).unwrap();
        let found = report["caveats"].as_array().unwrap();
        assert!(report["failures"].as_array().unwrap().is_empty(), "{compiler} {file}: {report}");
        assert_eq!(found.len(), caveats, "{compiler} {file}: {report}");
        assert!(found.iter().all(|c| c["kind"] == "reuse"), "{compiler} {file}: {report}");
    }
}

#[test]
fn a_weak_compare_exchange_that_is_tried_again_costs_no_more_than_a_strong_one() {
    let program = "#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int x;
void *f(void *u) { int v = atomic_load(&x); while (!EXCHANGE(&x, &v, v + 1)); return 0; }
int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++) pthread_create(&t[i], 0, f, 0);
    for (int i = 0; i < N; i++) pthread_join(t[i], 0);
    assert(x == N);
    return 0;
}
";
    let place = Place::with("weak-exchange", &[("weak.c", program)]);
    for (threads, executions) in [("-DN=2", 4), ("-DN=3", 48)] {
        for exchange in ["strong", "weak"] {
            let exchange = format!("-DEXCHANGE=atomic_compare_exchange_{exchange}");
            for level in ["-O0", "-O2"] {
                let (code, report) = place.json(&["weak.c", level, threads, &exchange]);
                assert_eq!(
                    (code, &report["verdict"], &report["executions"]),
                    (Some(0), &Value::from("verified"), &Value::from(executions)),
                    "{level} {exchange}: {report}"
                );
            }
        }
    }
}

/// A search in which no execution counts says so; one that counts is enough.
#[test]
fn assumptions_that_never_hold_are_a_caveat() {
    let program = |condition: &str| {
        format!(
            "#include <assert.h>\n_Bool __VERIFIER_nondet_bool(void);\nvoid __VERIFIER_assume(int);\n\
             int main(void) {{ int x = __VERIFIER_nondet_bool(); __VERIFIER_assume({condition}); assert(x <= 1); return 0; }}\n"
        )
    };
    let (never, once) = (program("x > 1"), program("x == 1"));
    let place = Place::with("assumptions", &[("never.c", &never), ("once.c", &once)]);
    let (code, report) = place.json(&["never.c"]);
    assert_eq!((code, &report["verdict"]), (Some(0), &"no-failure-with-caveats".into()), "{report:#}");
    assert_eq!(
        (&report["caveats"][0]["kind"], &report["executions"]),
        (&"inputs".into(), &0.into()),
        "{report:#}"
    );
    let (code, report) = place.json(&["once.c"]);
    assert_eq!((code, &report["verdict"]), (Some(0), &"verified".into()), "{report:#}");
}
