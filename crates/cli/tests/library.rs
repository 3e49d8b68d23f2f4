//! Functions of the C and C++ libraries: what they touch is touched by the program, their hidden state is shared, and what they leave
//! behind does not reach the next execution.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const RADDLE: &str = env!("CARGO_BIN_EXE_raddle");

/// A directory of a test, which is empty when the test starts.
fn place(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("library-{test}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The command in a directory, without variables that would change what it does.
fn command(directory: &Path, program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("RADDLE_")) {
        command.env_remove(name);
    }
    // Cargo has libraries looked for where an older build of ours may lie.
    command.env_remove("LD_LIBRARY_PATH");
    command.env("RADDLE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command.current_dir(directory).env("RADDLE_MAX_SECONDS", "60");
    command
}

fn compile(directory: &Path, sources: &[&str]) -> PathBuf {
    let program = directory.join("program");
    let out = command(directory, Path::new(RADDLE))
        .args(["cc", "-w"])
        .args(sources)
        .args(["-lm", "-lstdc++", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    program
}

fn run(directory: &Path, program: &Path, args: &[&str]) -> Value {
    let out = command(directory, program).args(args).env("RADDLE_JSON", "1").output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{args:?}: {e}: {text}{}", String::from_utf8_lossy(&out.stderr)))
}

/// The verdict, with the kinds of failures and caveats.
fn verdict(report: &Value) -> String {
    let kinds = |name: &str| -> Vec<&str> {
        report[name].as_array().into_iter().flatten().filter_map(|f| f["kind"].as_str()).collect()
    };
    let words = [vec![report["verdict"].as_str().unwrap_or("?")], kinds("failures"), kinds("caveats")];
    words.concat().join(" ")
}

fn check(test: &str, name: &str, source: &str) -> (PathBuf, Value) {
    let directory = place(test);
    fs::write(directory.join(name), source).unwrap();
    let program = compile(&directory, &[name]);
    let report = run(&directory, &program, &[]);
    (directory, report)
}

/// Functions whose results come from outside of the program.
const FROM_OUTSIDE: [&str; 2] = ["getrandom", "getentropy"];

fn table(test: &str, source: &str) {
    let directory = place(test);
    let source = format!("{}/tests/library/{source}", env!("CARGO_MANIFEST_DIR"));
    let program = compile(&directory, &[&source]);
    let names = command(&directory, &program).env("RADDLE_OFF", "1").output().unwrap().stdout;
    let names = String::from_utf8(names).unwrap();
    assert!(names.lines().count() > 10);
    let mut wrong = Vec::new();
    for (i, name) in names.lines().enumerate() {
        for (form, right) in [("racy", "failure data-race"), ("ordered", "verified")] {
            let right = match (name, form) {
                // Values from outside are explored once, which is a caveat.
                _ if FROM_OUTSIDE.contains(&name) && form == "ordered" => "no-failure-with-caveats inputs",
                // The domain stays for later executions.
                ("textdomain", "ordered") => "no-failure-with-caveats state",
                // In one of the two orders the descriptor is closed.
                ("iconv_descriptor", "racy") => "failure use-after-free",
                _ => right,
            };
            let got = verdict(&run(&directory, &program, &[&i.to_string(), form]));
            let got = if form == "racy" { got.trim_end_matches(" inputs") } else { &got };
            if got != right {
                wrong.push(format!("{name} {form}: {got}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn calls_of_the_c_library_touch_what_they_are_handed() {
    table("c", "calls.c");
}

#[test]
fn calls_into_the_cxx_library_touch_their_objects() {
    table("cxx", "calls.cpp");
}

#[test]
fn searches_and_comparisons_read_up_to_what_decides_them() {
    // `s` is "abcdefg", `n` a number and another one, `r` has a `c` near its end. `w` is `s` as a wide string.
    let calls = [
        "strchr(s, 'c') != 0",
        "strspn(s, \"ab\")",
        "strcspn(s, \"c\")",
        "strpbrk(s, \"c\") != 0",
        "strstr(s, \"bc\") != 0",
        "memchr(s, 'c', 8) != 0",
        "strcmp(s, \"abd\")",
        "strncmp(s, \"abd\", 8)",
        "memcmp(s, \"abdabdab\", 8)",
        "strcasecmp(s, \"ABD\")",
        "strncasecmp(s, \"ABD\", 8)",
        "strcasestr(s, \"BC\") != 0",
        "memmem(s, 8, \"bc\", 2) != 0",
        "strchrnul(s, 'c') != 0",
        "index(s, 'c') != 0",
        "rawmemchr(s, 'c') != 0",
        "memrchr(r, 'c', 8) != 0",
        "atoi(n)",
        "atol(n)",
        "strtol(n, 0, 10)",
        "strtoull(n, 0, 10)",
        "strtoimax(n, 0, 10)",
        "strtod(n, 0)",
        "strtof(n, 0)",
        "atof(n)",
        "wcschr(w, L'c') != 0",
        "wcsspn(w, L\"ab\")",
        "wcscspn(w, L\"c\")",
        "wcspbrk(w, L\"c\") != 0",
        "wcsstr(w, L\"bc\") != 0",
        "wmemchr(w, L'c', 8) != 0",
        "wcscmp(w, L\"abd\")",
        "wcsncmp(w, L\"abd\", 8)",
        "wcscasecmp(w, L\"ABD\")",
        "wmemcmp(w, L\"abdabdab\", 8)",
    ];
    let mut text = format!(
        "{HEAD}#include <strings.h>\n#include <inttypes.h>\n#include <wchar.h>\n\
         static char s[16] = \"abcdefg\", n[16] = \"12 3456\", r[16] = \"abcdecg\"; static wchar_t w[16] = L\"abcdefg\";\n\
         static volatile long sink; static int is_behind;\n\
         static void *t(void *a) {{ int i = is_behind ? 5 : 1; s[i] = s[i]; n[i] = n[i]; w[i] = w[i];\n\
         r[is_behind ? 1 : 6] = r[1]; return a; }}\n\
         int main(int argc, char **argv) {{ is_behind = !strcmp(argv[2], \"behind\"); pthread_t h; pthread_create(&h, 0, t, 0);\n\
         switch (atoi(argv[1])) {{\n"
    );
    for (i, call) in calls.iter().enumerate() {
        text += &format!("case {i}: sink = {call}; break;\n");
    }
    text += "}\npthread_join(h, 0); return 0; }\n";
    let directory = place("searches");
    fs::write(directory.join("program.c"), text).unwrap();
    let program = compile(&directory, &["-fno-builtin", "program.c"]);
    let mut wrong = Vec::new();
    for (i, call) in calls.iter().enumerate() {
        for (form, right) in [("behind", "verified"), ("within", "failure data-race")] {
            let got = verdict(&run(&directory, &program, &[&i.to_string(), form]));
            if got != right {
                wrong.push(format!("{call} {form}: {got}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Runs a program of which each row is one program, with its verdict.
fn rows(test: &str, source: &str) {
    let directory = place(test);
    let source = format!("{}/tests/library/{source}", env!("CARGO_MANIFEST_DIR"));
    let program = compile(&directory, &[&source]);
    let rows = command(&directory, &program).env("RADDLE_OFF", "1").output().unwrap().stdout;
    let rows = String::from_utf8(rows).unwrap();
    assert!(rows.lines().count() > 10, "{rows}");
    let mut wrong = Vec::new();
    for (i, row) in rows.lines().enumerate() {
        let (name, right) = row.split_once('\t').unwrap();
        let report = run(&directory, &program, &[&i.to_string()]);
        let got = verdict(&report);
        if got != right {
            wrong.push(format!("{name}: {got}, not {right}: {}", report["failures"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn state_of_the_process_is_shared_by_threads() {
    rows("state", "state.c");
}

#[test]
fn the_library_uses_memory_that_it_was_handed_before() {
    rows("handed", "handed.c");
}

#[test]
fn exceptions_are_shared_by_counted_references() {
    rows("exceptions", "exceptions.cpp");
}

const HEAD: &str = "#define _GNU_SOURCE\n#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n\
                    #include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include <fcntl.h>\n#include <sys/mman.h>\n\
                    #include <sys/stat.h>\n#include <locale.h>\n#include <fenv.h>\n#include <errno.h>\n";

/// Programs, and the verdict of each.
fn programs(test: &str, rows: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (name, right, body) in rows {
        let (_, report) = check(&format!("{test}-{name}"), "program.c", &format!("{HEAD}{body}"));
        let got = verdict(&report);
        if got != *right {
            wrong.push(format!("{name}: {got}, not {right}: {}", report["failures"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn loops_that_call_impure_functions_are_not_pruned() {
    let looping = |call: &str, test: &str| {
        format!(
            "static atomic_int flag; static FILE *f; static int fd;\n\
             static void *t(void *a) {{ flag = 1; return 0; }}\n\
             int main(void) {{ f = fopen(\"/etc/passwd\", \"r\"); fd = open(\"/etc/passwd\", O_RDONLY);\n\
             pthread_t h; pthread_create(&h, 0, t, 0); int n = 0; char b[9] = \"a b c\", *p = b;\n\
             while (!flag && n < 2) {{ {call}; }}\n\
             pthread_join(h, 0); assert(!({test})); return 0; }}\n"
        )
    };
    // The position is not in the thread's local state: without the call the loop would seem to repeat itself.
    let first = looping("fgetc(f); if (ftell(f) == 3) break", "ftell(f) == 3");
    let second = looping("if (lseek(fd, 1, SEEK_CUR) == 3) break", "lseek(fd, 0, SEEK_CUR) == 3");
    let rows =
        [("fgetc", "failure assertion", first.as_str()), ("lseek", "failure assertion", second.as_str())];
    programs("loops", &rows);
}

#[test]
fn blocks_that_the_library_allocates_belong_to_the_program() {
    let body = |make: &str, other: &str| {
        format!(
            "#include <dirent.h>\nstatic char *p; static size_t n;\nstatic void *t(void *a) {{ free(p); return 0; }}\n\
             int main(void) {{ {make}; pthread_t h; pthread_create(&h, 0, t, 0); {other}; pthread_join(h, 0); return 0; }}\n"
        )
    };
    let makers = [
        ("realpath", "p = realpath(\"/\", 0)"),
        ("getcwd", "p = getcwd(0, 0)"),
        ("directory", "p = get_current_dir_name()"),
        (
            "scandir",
            "struct dirent **l; int k = scandir(\"/\", &l, 0, 0); p = (char *)l[0]; for (int i = 1; i < k; i++) free(l[i]); free(l)",
        ),
        ("memstream", "FILE *f = open_memstream(&p, &n); fputc('x', f); fclose(f)"),
        ("strdup", "p = strdup(\"x\")"),
    ];
    for (name, make) in makers {
        let (racy, right) = (body(make, "volatile char c = p[0]"), body(make, ""));
        programs(
            "blocks",
            &[(name, "failure data-race", racy.as_str()), (&format!("{name}-right"), "verified", &right)],
        );
    }
}

#[test]
fn results_that_the_next_call_overwrites_are_shared() {
    let body = |head: &str, mine: &str, other: &str, ordered: bool| {
        let (before, after) = if ordered { (mine, "") } else { ("", mine) };
        format!(
            "#include <pwd.h>\n#include <time.h>\n{head}\nstatic volatile char c;\nstatic void *t(void *a) {{ {other}; return 0; }}\n\
             int main(void) {{ {before}; pthread_t h; pthread_create(&h, 0, t, 0); {after}; pthread_join(h, 0); return 0; }}\n"
        )
    };
    let rows = [
        (
            "getpwnam",
            "static struct passwd *p;",
            "p = getpwnam(\"root\"); c = p->pw_name[0]",
            "getpwnam(\"root\")",
        ),
        ("environ", "extern char **environ;", "c = environ[0][0]", "setenv(\"NEW_ONE\", \"x\", 1)"),
        (
            "localtime_r",
            "static time_t now; static struct tm tm;",
            "localtime_r(&now, &tm)",
            "setenv(\"TZ\", \"UTC\", 1)",
        ),
    ];
    for (name, head, mine, other) in rows {
        let (racy, right) = (body(head, mine, other, false), body(head, mine, other, true));
        programs(
            "results",
            &[(name, "failure data-race", racy.as_str()), (&format!("{name}-right"), "verified", &right)],
        );
    }
}

#[test]
fn what_is_out_of_reach_is_named_or_refused() {
    let beside = |call: &str| {
        format!(
            "#include <sched.h>\n#include <dlfcn.h>\n#include <sys/sem.h>\n#include <sys/shm.h>\n#include <sys/inotify.h>\n#include <x86intrin.h>\n\
             #include <error.h>\n#include <fts.h>\n#include <nl_types.h>\n#include <signal.h>\n\
             static void *t(void *a) {{ return 0; }}\n\
             int main(void) {{ pthread_t h; pthread_create(&h, 0, t, 0); {call}; pthread_join(h, 0); return 0; }}\n"
        )
    };
    let rows = [
        ("cpu", "no-failure-with-caveats inputs", "sched_getcpu()"),
        (
            "urandom",
            "no-failure-with-caveats inputs",
            "char c; int f = open(\"/dev/urandom\", O_RDONLY); read(f, &c, 1); close(f)",
        ),
        ("ticks", "no-failure-with-caveats clock", "volatile long x = __rdtsc()"),
        ("symbol", "no-failure-with-caveats library", "dlsym(RTLD_DEFAULT, \"memmove\")"),
        // Functions with state of their own that is not modelled are named, whatever they are called with.
        ("counted", "no-failure-with-caveats library", "error(0, 0, \"x\")"),
        (
            "tree",
            "no-failure-with-caveats library",
            "char *p[] = { \"/etc\", 0 }; fts_open(p, FTS_PHYSICAL, 0)",
        ),
        ("messages", "no-failure-with-caveats library", "catopen(\"x\", 0)"),
        ("mask", "incomplete", "sighold(SIGUSR1)"),
        ("clock", "incomplete", "struct timespec t = { 1 }; clock_settime(99, &t)"),
        ("memory", "no-failure-with-caveats channel", "shmget(IPC_PRIVATE, 4096, 0600)"),
        ("watch", "no-failure-with-caveats channel", "close(inotify_init())"),
        ("semaphores", "incomplete", "semget(IPC_PRIVATE, 1, 0600)"),
    ];
    for (name, right, call) in rows {
        programs("reach", &[(name, right, beside(call).as_str())]);
    }
}

#[test]
fn what_is_printed_to_memory_has_an_order() {
    let body = |print: &str, test: &str| {
        format!(
            "static char *b; static size_t n; static FILE *f;\n\
             static void *t(void *a) {{ fputc('x', f); return 0; }}\n\
             int main(void) {{ f = open_memstream(&b, &n); pthread_t h; pthread_create(&h, 0, t, 0); {print}; {test}\n\
             pthread_join(h, 0); fflush(f); assert(n < 3); fclose(f); free(b); return 0; }}\n"
        )
    };
    let order =
        body("fprintf(f, \"y\")", "pthread_join(h, 0); fflush(f); assert(!strcmp(b, \"yx\")); return 0;");
    let size = body("fflush(f)", "assert(n == 0);");
    let both = body("fprintf(f, \"y\")", "");
    programs(
        "memstream",
        &[
            ("order", "failure assertion", order.as_str()),
            ("size", "failure assertion", size.as_str()),
            ("both", "verified", both.as_str()),
        ],
    );
}

#[test]
fn standard_streams_that_another_thread_closes_are_closed() {
    let body = |close: &str, mine: &str, late: &str| {
        format!(
            "static void *t(void *a) {{ {close}; return 0; }}\n\
             int main(void) {{ char c; pthread_t h; pthread_create(&h, 0, t, 0); {mine}; pthread_join(h, 0); {late}; return 0; }}\n"
        )
    };
    let read = body("close(0)", "assert(read(0, &c, 1) >= 0)", "");
    let write = body("close(1)", "assert(write(1, \"x\", 1) == 1)", "");
    let puts = body("fclose(stdout)", "puts(\"x\")", "");
    let ordered = body("fclose(stdout); close(0)", "", "assert(write(1, \"x\", 1) == -1 && errno == EBADF)");
    let used =
        body("write(1, \"x\", 1); puts(\"x\")", "assert(write(1, \"x\", 1) == 1); puts(\"y\")", "close(1)");
    programs(
        "closed",
        &[
            ("read", "failure assertion", read.as_str()),
            ("write", "failure assertion", write.as_str()),
            ("puts", "failure use-after-free", puts.as_str()),
            ("ordered", "verified", ordered.as_str()),
            ("used", "verified", used.as_str()),
        ],
    );
}

#[test]
fn calls_fail_as_the_c_library_makes_them_fail() {
    let common = "#include <semaphore.h>\n#include <limits.h>\n#include <sys/syscall.h>\n#include <sys/uio.h>\n\
                  static struct timespec bad = { 0, 1000000000 }; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
                  static pthread_cond_t c = PTHREAD_COND_INITIALIZER; static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER; static sem_t s;\n";
    let body = |test: &str| format!("{common}int main(void) {{ {test} return 0; }}\n");
    let times = body(
        "sem_init(&s, 0, 1); assert(sem_timedwait(&s, &bad) == -1 && errno == EINVAL);\n\
         assert(pthread_rwlock_timedwrlock(&rw, &bad) == EINVAL);\n\
         pthread_mutex_lock(&m); assert(pthread_cond_timedwait(&c, &m, &bad) == EINVAL); pthread_mutex_unlock(&m);\n\
         assert(pthread_mutex_timedlock(&m, &bad) == 0); pthread_mutex_unlock(&m);",
    );
    let overflow = body(
        "sem_init(&s, 0, SEM_VALUE_MAX); assert(sem_post(&s) == -1 && errno == EOVERFLOW);\n\
         sem_wait(&s); assert(sem_post(&s) == 0);",
    );
    let numbers = format!(
        "{common}static int mine[2];\nstatic void *t(void *a) {{ *(int *)a = gettid(); assert(syscall(SYS_gettid) == gettid()); return 0; }}\n\
         int main(void) {{ pthread_t h; pthread_create(&h, 0, t, &mine[0]); t(&mine[1]); pthread_join(h, 0);\n\
         assert(mine[1] == getpid() && mine[0] != mine[1]); return 0; }}\n"
    );
    let invalid = body(
        "struct timespec t = { 0 }; struct itimerspec i = { 0 }; timer_t timer; int fd[2]; char byte;\n\
         assert(clock_gettime(99, &t) == -1 && errno == EINVAL);\n\
         assert(clock_nanosleep(99, 0, &t, 0) == EINVAL);\n\
         assert(timer_create(99, 0, &timer) == -1 && errno == EINVAL);\n\
         assert(pthread_mutex_clocklock(&m, 99, &t) == EINVAL);\n\
         assert(pipe2(fd, 0x12345) == -1 && errno == EINVAL);\n\
         assert(pipe(fd) == 0 && lseek(fd[0], 0, SEEK_CUR) == -1 && errno == ESPIPE);\n\
         assert(fsync(fd[1]) == -1 && errno == EINVAL);\n\
         struct iovec one[1] = {{ &byte, 1 }}; volatile int count = -1;\n\
         assert(writev(fd[1], one, count) == -1 && errno == EINVAL);\n\
         assert(writev(open(\"/dev/null\", O_WRONLY), one, count) == -1 && errno == EINVAL);\n\
         assert(pthread_rwlock_wrlock(&rw) == 0 && pthread_rwlock_timedwrlock(&rw, &t) == EDEADLK);\n\
         assert(pthread_getconcurrency() == 0 && pthread_setconcurrency(3) == 0 && pthread_getconcurrency() == 3);",
    );
    let texts = "static void *t(void *a) { return strsignal(777) + strerror(7777)[0]; }\n\
                 int main(void) { pthread_t a, b; pthread_create(&a, 0, t, 0); pthread_create(&b, 0, t, 0);\n\
                 pthread_join(a, 0); pthread_join(b, 0); return 0; }\n";
    let concurrency = "static void *t(void *a) { pthread_setconcurrency(2); return 0; }\n\
                 int main(void) { pthread_t a; pthread_create(&a, 0, t, 0); assert(pthread_getconcurrency() == 0);\n\
                 pthread_join(a, 0); return 0; }\n";
    programs(
        "codes",
        &[
            ("invalid", "verified", invalid.as_str()),
            ("texts", "verified", texts),
            ("concurrency", "failure assertion", concurrency),
            ("times", "verified", times.as_str()),
            ("overflow", "verified", overflow.as_str()),
            ("numbers", "verified", numbers.as_str()),
        ],
    );
}

#[test]
fn locks_inside_the_cxx_library_are_waited_for() {
    let head = "#include <cassert>\n#include <memory>\n#include <memory_resource>\n#include <thread>\n";
    let pointers = "std::shared_ptr<int> p = std::make_shared<int>(0), q;\n\
                    int main() { std::thread t([] { std::atomic_store(&p, std::make_shared<int>(1)); });\n\
                    auto mine = std::atomic_load(&p); assert(*mine == 0); t.join(); }\n";
    let resource = "std::pmr::monotonic_buffer_resource r;\n\
                    int main() { std::thread t([] { (void)r.allocate(8); }); (void)r.allocate(8); t.join(); }\n";
    for (name, right, body) in [
        ("pointers", "failure assertion", pointers.to_owned()),
        ("pointers-right", "verified", pointers.replace("*mine == 0", "*mine == 0 || *mine == 1")),
        ("resource", "no-failure-with-caveats library", resource.to_owned()),
    ] {
        let (_, report) = check(&format!("locks-{name}"), "program.cpp", &format!("{head}{body}"));
        assert_eq!(verdict(&report), right, "{name}: {report:#}");
    }
}

/// Without `<iostream>`, the C++ library makes its locale when the program first needs it.
#[test]
fn a_locale_that_main_needs_first_is_there_in_all_executions() {
    let head = "#include <cassert>\n#include <locale>\n#include <regex>\n#include <thread>\n";
    let matches = "int main() { std::regex r(\"a+b\"); int n = 0;\n\
                   std::thread t([&] { n += std::regex_match(\"aab\", r); }); RACE t.join(); assert(n == 1 + EXTRA); }\n";
    let right = matches.replace("RACE", "").replace("EXTRA", "0");
    let racy = matches.replace("RACE", "n += std::regex_match(\"b\", r);").replace("EXTRA", "0");
    let facet = "int main() { std::locale l; bool up = false;\n\
                 std::thread t([&] { up = std::use_facet<std::ctype<char>>(l).is(std::ctype_base::upper, 'A'); });\n\
                 t.join(); assert(up); }\n";
    for (name, wrong, body) in
        [("regex", false, right), ("regex-race", true, racy), ("facet", false, facet.to_owned())]
    {
        let (_, report) = check(&format!("locale-{name}"), "program.cpp", &format!("{head}{body}"));
        let verdict = verdict(&report);
        match wrong {
            true => assert_eq!(verdict, "failure data-race", "{name}: {report:#}"),
            false => assert!(
                !verdict.contains("failure") || verdict.starts_with("no-failure"),
                "{name}: {report:#}"
            ),
        }
    }
}

#[test]
fn streams_of_cxx_share_files() {
    let head = "#include <cassert>\n#include <fstream>\n#include <iostream>\n#include <mutex>\n#include <sstream>\n#include <string>\n\
                #include <thread>\n";
    let file = |writer: &str, reader: &str| {
        format!(
            "int main() {{ {{ std::ofstream f(\"file\"); f << \"old\"; }}\n\
             std::thread a([] {{ {writer} }}), b([] {{ {reader} }}); a.join(); b.join();\n\
             std::ifstream i(\"file\"); std::string s; i >> s; assert(s != \"old\"); }}\n"
        )
    };
    let new = "std::ofstream f(\"file\"); f << \"new\";";
    let read = |right: &str| format!("std::ifstream i(\"file\"); std::string s; i >> s; assert({right});");
    let append =
        "std::ofstream f(\"file\", std::ios::in | std::ios::out); f.seekp(0, std::ios::end); f << \"ab\";";
    let lost = "void app() { std::ofstream f(\"file\", std::ios::in | std::ios::out); f.seekp(0, std::ios::end); f << \"ab\"; }\n\
                int main() { { std::ofstream f(\"file\"); } std::thread a(app), b(app); a.join(); b.join();\n\
                std::ifstream i(\"file\"); std::string s; i >> s; assert(s.size() == 4); }\n";
    let guarded =
        lost.replace("void app() {", "std::mutex m; void app() { std::lock_guard<std::mutex> g(m);");
    // A stream that was open before `main`, and that each execution closes.
    let before = "std::mutex m; std::ofstream f(\"log\"); void log(int n) { std::lock_guard<std::mutex> g(m); f << n << std::flush; }\n\
                  int main() { std::thread a(log, 1), b(log, 2); a.join(); b.join(); std::ifstream i(\"log\"); std::string s; i >> s;\n\
                  assert(s == \"12\" || s == \"21\"); f.close(); }\n";
    let put = "char c[4] = \"abc\"; int main() { std::streambuf *p = new std::stringbuf; std::thread a([p] { p->sputn(c, 3); });\n\
               MIDDLE c[1] = 1; OTHER delete p; }\n";
    let get = put
        .replace("p->sputn(c, 3)", "p->sgetn(c, 3)")
        .replace("new std::stringbuf", "new std::stringbuf(\"xyz\")");
    let racy = |text: &str| text.replace("MIDDLE", "").replace("OTHER", "a.join();");
    let joined = |text: &str| text.replace("MIDDLE", "a.join();").replace("OTHER", "");
    let flags =
        "int main() { std::thread a([] { std::cout << std::hex << 1; }); MIDDLE std::cout << 2; OTHER }\n";
    for (name, right, body) in [
        ("order", "failure assertion", file(new, &read("s == \"new\""))),
        ("empty", "failure assertion", file(new, &read("!s.empty()"))),
        ("any", "verified", file(new, &read("s == \"old\" || s == \"new\" || s.empty()"))),
        ("append", "verified", file(append, &read("s == \"old\" || s == \"oldab\""))),
        ("lost", "failure assertion", lost.to_owned()),
        ("guarded", "verified", guarded),
        ("before", "verified", before.to_owned()),
        ("put", "failure data-race", racy(put)),
        ("put-joined", "verified", joined(put)),
        ("get", "failure data-race", racy(&get)),
        ("get-joined", "verified", joined(&get)),
        ("flags", "failure data-race", racy(flags)),
        ("flags-joined", "verified", joined(flags)),
    ] {
        let (_, report) = check(&format!("files-{name}"), "program.cpp", &format!("{head}{body}"));
        assert_eq!(verdict(&report), right, "{name}: {report:#}");
    }
}

#[test]
fn threads_do_not_share_the_position_in_a_buffer() {
    let program = |before: &str, after: &str| {
        format!(
            "#include <sstream>\n#include <thread>\nint main() {{ std::stringbuf b(\"abc\"); std::thread t([&] {{ {before} }});\n\
             {after} t.join(); {before} {after} }}\n"
        )
    };
    for (name, right, before, after) in [
        ("bump", "failure data-race", "b.sbumpc();", "b.sbumpc();"),
        ("next", "failure data-race", "b.snextc();", "b.sgetc();"),
        ("put", "failure data-race", "b.sputc('x');", "b.in_avail();"),
        ("seek", "failure data-race", "b.pubseekpos(0);", "b.sgetc();"),
        ("look", "verified", "b.sgetc();", "b.sgetc();"),
        ("alone", "verified", "", "b.sbumpc(); b.sputc('y'); b.pubseekpos(1);"),
    ] {
        let (_, report) = self::check(&format!("buffer-{name}"), "program.cpp", &program(before, after));
        assert_eq!(verdict(&report), right, "{name}: {report:#}");
    }
}

#[test]
fn arrays_that_the_cxx_library_is_handed_are_as_long_as_it_is_told() {
    let head = "#include <fstream>\n#include <locale>\n#include <sstream>\n#include <thread>\n";
    let facet = "auto &f = std::use_facet<std::ctype<char>>(std::locale());";
    let on_heap = |size: u32, body: &str| {
        format!(
            "int main() {{ char *h = new char[{size}]; for (int i = 0; i < {size}; i++) h[i] = 'a'; {body} delete[] h; }}\n"
        )
    };
    let input = "std::istringstream s(\"hello world, a long text\");";
    let set = "std::ofstream o; o.rdbuf()->pubsetbuf(h, 16); o.open(\"out\"); o << \"hello\"; o.close();";
    let shared = "char buffer[64]; int main() { std::ofstream f; f.rdbuf()->pubsetbuf(buffer, 64); f.open(\"out\");\n\
                  std::thread t([] { BEFORE }); f << \"hello\"; t.join(); f.close(); AFTER }\n";
    let change = "buffer[3] = 1;";
    for (name, right, body) in [
        ("upper", "failure out-of-bounds", on_heap(4, &format!("{facet} f.toupper(h, h + 8);"))),
        ("upper-fits", "verified", on_heap(8, &format!("{facet} f.toupper(h, h + 8); f.tolower(h, h + 8);"))),
        ("widen-fits", "verified", on_heap(8, &format!("{facet} f.widen(h, h + 4, h + 4);"))),
        ("read", "failure out-of-bounds", on_heap(4, &format!("{input} s.read(h, 8);"))),
        ("getline", "failure out-of-bounds", on_heap(4, &format!("{input} s.getline(h, 10);"))),
        ("readsome", "failure out-of-bounds", on_heap(4, &format!("{input} s.readsome(h, 8);"))),
        (
            "fit",
            "verified",
            on_heap(20, &format!("{input} s.read(h, 8); s.getline(h, 20); s.readsome(h, 3);")),
        ),
        ("set", "failure out-of-bounds", on_heap(4, set)),
        ("set-fits", "verified", on_heap(16, set)),
        (
            "set-and-freed",
            "failure use-after-free",
            on_heap(16, &set.replace("o <<", "delete[] h; h = nullptr; o <<")),
        ),
        ("shared", "failure data-race", shared.replace("BEFORE", change).replace("AFTER", "")),
        ("shared-later", "verified", shared.replace("BEFORE", "").replace("AFTER", change)),
    ] {
        let (_, report) = self::check(&format!("arrays-{name}"), "program.cpp", &format!("{head}{body}"));
        assert_eq!(verdict(&report), right, "{name}: {report:#}");
    }
}

#[test]
fn functions_that_depend_on_the_locale_race_with_setlocale() {
    let body = |call: &str, order: [&str; 2]| {
        format!(
            "#include <ctype.h>\n#include <time.h>\nstatic char b[20]; static struct tm tm; static volatile double d;\n\
             static void *t(void *x) {{ {call}; return 0; }}\n\
             int main(void) {{ pthread_t h; {} pthread_create(&h, 0, t, 0); {} pthread_join(h, 0); return 0; }}\n",
            order[0], order[1]
        )
    };
    let set = "setlocale(LC_ALL, \"C.UTF-8\");";
    let mut rows = Vec::new();
    let calls = [
        ("sprintf", "sprintf(b, \"%d %-5.1f\", 1, 1.5)"),
        ("snprintf", "snprintf(b, 9, \"%lg\", 1.5)"),
        ("strtod", "d = strtod(\"1.5\", 0)"),
        ("strcoll", "d = strcoll(b, \"a\")"),
        ("strftime", "strftime(b, 9, \"%A\", &tm)"),
        ("toupper", "d = toupper(b[0])"),
        ("isalpha", "d = isalpha(b[0])"),
        ("isspace", "d = isspace(b[0])"),
        ("isupper-of-a-digit", "d = isupper(b[0]) && isdigit(b[0])"),
    ];
    for (name, call) in calls {
        rows.push((name.to_owned(), "failure data-race", body(call, ["", set])));
        rows.push((format!("{name}-later"), "verified", body(call, [set, ""])));
    }
    rows.push(("integers".to_owned(), "verified", body("sprintf(b, \"%5d%%e\", 1)", ["", set])));
    // What is a digit does not depend on the locale.
    rows.push(("isdigit".to_owned(), "verified", body("d = isdigit(b[0])", ["", set])));
    rows.push(("isxdigit".to_owned(), "verified", body("d = isxdigit(b[0])", ["", set])));
    let rows: Vec<_> =
        rows.iter().map(|(name, right, text)| (name.as_str(), *right, text.as_str())).collect();
    programs("locale", &rows);
}

#[test]
fn streams_from_before_main_are_the_same_in_each_execution() {
    let body = |main: &str| {
        format!(
            "static FILE *f; static atomic_int n; __attribute__((constructor)) static void before(void) {{\n\
             f = fopen(\"early\", \"w+\"); fputs(\"abc\", f); }}\n\
             static void *t(void *x) {{ n++; return 0; }}\n\
             int main(void) {{ pthread_t a, b; pthread_create(&a, 0, t, 0); pthread_create(&b, 0, t, 0); pthread_join(a, 0);\n\
             pthread_join(b, 0); assert(ftell(f) == 3); {main} return 0; }}\n"
        )
    };
    let rows = [
        ("closed", "verified", body("fputs(\"de\", f); assert(fclose(f) == 0);")),
        (
            "open",
            "verified",
            body("fputs(\"de\", f); assert(ftell(f) == 5); rewind(f); assert(fgetc(f) == 'a');"),
        ),
        ("after", "failure use-after-free", body("fclose(f); fputs(\"de\", f);")),
    ];
    let rows: Vec<_> = rows.iter().map(|(name, right, text)| (*name, *right, text.as_str())).collect();
    programs("early", &rows);
}

#[test]
fn programs_may_define_functions_with_names_of_the_library() {
    let rows = [
        (
            "write",
            "verified",
            "atomic_int x; ssize_t write(int a, const void *p, size_t n) { x++; return 0; }\n\
             static void *t(void *a) { write(1, 0, 0); return 0; }\n\
             int main(void) { pthread_t a, b; pthread_create(&a, 0, t, 0); pthread_create(&b, 0, t, 0); pthread_join(a, 0);\n\
             pthread_join(b, 0); assert(x == 2); return 0; }\n",
        ),
        (
            "strlen",
            "verified",
            "atomic_int x; size_t strlen(const char *s) { x++; return 7; } int open(const char *p, int f, ...) { x++; return 3; }\n\
             static void *t(void *a) { assert(strlen(a) == 7); assert(open(\"x\", 0) == 3); return 0; }\n\
             int main(void) { pthread_t a; pthread_create(&a, 0, t, \"x\"); pthread_join(a, 0); assert(x == 2); return 0; }\n",
        ),
    ];
    programs("own", &rows);
    let directory = place("own-two-files");
    let text = "#include <pthread.h>\nint memcmp(int); static void *t(void *a) { return (void *)(long)memcmp(1); }\n\
                int main(void) { pthread_t a; void *r; pthread_create(&a, 0, t, 0); pthread_join(a, &r); return r != (void *)5; }\n";
    fs::write(directory.join("a.c"), text).unwrap();
    fs::write(directory.join("b.c"), "int memcmp(int x) { return x + 4; }\n").unwrap();
    let program = compile(&directory, &["-fno-builtin", "a.c", "b.c"]);
    assert_eq!(verdict(&run(&directory, &program, &[])), "verified");
}

#[test]
fn memory_that_is_mapped_twice_is_one_place() {
    let two = |race: &str| {
        format!(
            "static int *a, *b; static atomic_int go;\n\
             static void *t(void *x) {{ *a = 1; go = 1; return 0; }}\n\
             int main(void) {{ int f = memfd_create(\"m\", 0); assert(ftruncate(f, 4096) == 0);\n\
             a = mmap(0, 4096, 3, MAP_SHARED, f, 0); b = mmap(0, 4096, 3, MAP_SHARED, f, 0);\n\
             pthread_t h; pthread_create(&h, 0, t, 0); {race} pthread_join(h, 0); assert(*b == 1); return 0; }}\n"
        )
    };
    let atomics = "static atomic_int *a, *b;\n\
                   static void *t(void *x) { atomic_fetch_add(a, 1); return 0; }\n\
                   int main(void) { int f = memfd_create(\"m\", 0); assert(ftruncate(f, 4096) == 0);\n\
                   a = mmap(0, 4096, 3, MAP_SHARED, f, 0); b = mmap(0, 4096, 3, MAP_SHARED, f, 0);\n\
                   pthread_t h; pthread_create(&h, 0, t, 0); int v = atomic_load(b); atomic_store(b, v + 1); pthread_join(h, 0);\n\
                   assert(*a == 2); return 0; }\n";
    let (racy, ordered) = (two("*b = 2;"), two("while (!go) {} *b = 1;"));
    let rows = [
        ("racy", "failure data-race", racy.as_str()),
        ("ordered", "verified", ordered.as_str()),
        ("atomic", "failure assertion", atomics),
    ];
    programs("aliases", &rows);
}

#[test]
fn shared_positions_are_explored() {
    let file = "static FILE *f; static int got[2];\n\
                static void *t(void *a) { got[0] = fgetc(f); return 0; }\n\
                int main(void) { f = fopen(\"/etc/passwd\", \"r\"); int first = fgetc(f), second = fgetc(f); rewind(f);\n\
                pthread_t h; pthread_create(&h, 0, t, 0); got[1] = fgetc(f); pthread_join(h, 0);\n\
                assert(got[0] == FIRST); return 0; }\n";
    let (one, two) = (file.replace("FIRST", "first"), file.replace("FIRST", "second"));
    let rows = [
        ("one", "failure assertion", one.as_str()),
        ("other", "failure assertion", two.as_str()),
        (
            "offset",
            "failure assertion",
            "static int f; static char a, b; static void *t(void *x) { read(f, &a, 1); return 0; }\n\
             int main(void) { f = open(\"/etc/passwd\", O_RDONLY); char all[2]; pread(f, all, 2, 0);\n\
             pthread_t h; pthread_create(&h, 0, t, 0); read(f, &b, 1); pthread_join(h, 0); assert(b == all[0]); return 0; }\n",
        ),
        (
            "printing",
            "verified",
            "static void *t(void *x) { printf(\"a\\n\"); puts(\"b\"); return 0; }\n\
             int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); printf(\"c\\n\"); pthread_join(h, 0); return 0; }\n",
        ),
        (
            "locked",
            "verified",
            "static void *t(void *x) { flockfile(stdout); putchar_unlocked('a'); flockfile(stdout); funlockfile(stdout);\n\
             funlockfile(stdout); return 0; }\n\
             int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); t(0); printf(\"x\"); pthread_join(h, 0); return 0; }\n",
        ),
        (
            "stream-deadlock",
            "failure deadlock",
            "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
             static void *t(void *x) { flockfile(stdout); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); funlockfile(stdout);\n\
             return 0; }\n\
             int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); pthread_mutex_lock(&m); printf(\"x\");\n\
             pthread_mutex_unlock(&m); pthread_join(h, 0); return 0; }\n",
        ),
    ];
    programs("positions", &rows);
}

#[test]
fn executions_do_not_inherit_state() {
    // Two increments give several executions; each must find what the first one found.
    let threads = "static atomic_int n; static void *t(void *x) { n++; return 0; }\n\
                   static void two(void) { pthread_t a, b; pthread_create(&a, 0, t, 0); pthread_create(&b, 0, t, 0);\n\
                   pthread_join(a, 0); pthread_join(b, 0); }\n";
    let body = |main: &str| format!("{threads}int main(void) {{ two(); {main} return 0; }}\n");
    let rows = [
        ("umask", body("assert(umask(0) != 0); ")),
        ("cwd", body("char b[99]; getcwd(b, 99); assert(strcmp(b, \"/\")); chdir(\"/\"); ")),
        ("rounding", body("assert(fegetround() == FE_TONEAREST); fesetround(FE_UPWARD); ")),
        ("locale", body("assert(!strcmp(setlocale(LC_ALL, 0), \"C\")); setlocale(LC_ALL, \"C.UTF-8\"); ")),
        ("environment", body("assert(!getenv(\"NEW\")); setenv(\"NEW\", \"1\", 1); ")),
        (
            "buffer",
            body("static char b[256]; setvbuf(stdout, b, _IOFBF, 256); printf(\"x\"); assert(b[0] == 'x'); "),
        ),
        ("made", body("int f = open(\"made\", O_CREAT | O_EXCL | O_WRONLY, 0600); assert(f >= 0); ")),
        (
            "appended",
            body("FILE *f = fopen(\"grows\", \"a\"); fputs(\"x\", f); assert(ftell(f) == 1); fclose(f); "),
        ),
        ("directory", body("assert(mkdir(\"sub\", 0700) == 0); ")),
        ("options", body("char *v[] = { \"p\", \"-a\", \"-b\", 0 }; assert(getopt(3, v, \"ab\") == 'a'); ")),
    ];
    let rows: Vec<_> = rows.iter().map(|(name, text)| (*name, "verified", text.as_str())).collect();
    programs("state", &rows);
    let each = "static double r; static void *t(void *x) { fesetround(FE_UPWARD); return 0; }\n\
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); assert(fegetround() == FE_TONEAREST);\n\
                return 0; }\n";
    programs("state", &[("rounding-of-threads", "verified", each)]);
    let lasting = body("nice(0); ");
    programs("state", &[("lasting", "no-failure-with-caveats state", lasting.as_str())]);
}

#[test]
fn unknown_functions_with_shared_pointers_are_named() {
    let rows = [
        (
            "shared",
            "no-failure-with-caveats library",
            "#include <argz.h>\nstatic char b[9] = \"a\"; static void *t(void *x) { return (void *)argz_count(b, 2); }\n\
             int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); return 0; }\n",
        ),
        (
            "private",
            "verified",
            "#include <argz.h>\nstatic void *t(void *x) { char b[9] = \"a\"; return (void *)argz_count(b, 2); }\n\
             int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); return 0; }\n",
        ),
        (
            "plain",
            "verified",
            "#include <math.h>\n#include <ctype.h>\n#include <time.h>\nstatic double d; static char b[9];\n\
             static void *t(void *x) { d = sqrt(abs(rand())) + pow(2, 3); b[0] = toupper('x'); qsort(b, 0, 1, 0); sleep(1);\n\
             return malloc(3); }\n\
             int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); void *p; pthread_join(h, &p); free(p);\n\
             fprintf(stderr, \"%s %f\\n\", b, d); return 0; }\n",
        ),
    ];
    programs("unknown", &rows);
}

#[test]
fn calls_with_invalid_arguments_give_what_they_give_without_raddle() {
    let directory = place("invalid");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/arguments/calls.c");
    let source = source.to_str().unwrap();
    let plain = directory.join("plain");
    let made = Command::new("gcc").args(["-w", source, "-o"]).arg(&plain).status().unwrap();
    assert!(made.success());
    let expected = Command::new(&plain).output().unwrap();
    assert!(expected.status.success());
    fs::write(directory.join("expected.h"), &expected.stdout).unwrap();
    let header = format!("-DEXPECTED=\"{}\"", directory.join("expected.h").display());
    let program = compile(&directory, &[source, &header]);
    let report = run(&directory, &program, &[]);
    assert!(verdict(&report).starts_with("verified"), "{report:#}");
}

#[test]
fn strings_that_the_library_keeps_or_looks_up_are_read() {
    const CASES: [(&str, &str); 9] = [
        ("getenv", "static char b[] = \"A=1\"; static void *f(void *a) { getenv(\"A\"); return 0; }
            int main(void) { putenv(b); pthread_t t; pthread_create(&t, 0, f, 0); b[0] = 'B'; pthread_join(t, 0); }"),
        ("setenv", "static char b[] = \"A=1\"; static void *f(void *a) { setenv(\"A\", \"2\", 1); return 0; }
            int main(void) { putenv(b); pthread_t t; pthread_create(&t, 0, f, 0); b[0] = 'B'; pthread_join(t, 0); }"),
        ("flag-of-an-option", "static int flag; static char *v[] = {\"p\", \"--abc\", 0};
            static void *f(void *a) { struct option o[] = {{\"abc\", 0, &flag, 1}, {0}}; getopt_long(2, v, \"\", o, 0); return 0; }
            int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); int x = flag; pthread_join(t, 0); return x; }"),
        ("index-of-an-option", "static int which; static char *v[] = {\"p\", \"--abc\", 0};
            static void *f(void *a) { struct option o[] = {{\"abc\", 0, 0, 1}, {0}}; getopt_long(2, v, \"\", o, &which); return 0; }
            int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); int x = which; pthread_join(t, 0); return x; }"),
        ("text-of-an-option", "static char b[] = \"-a\"; static char *v[] = {\"p\", b, 0}; static void *f(void *a) { getopt(2, v, \"ab\"); return 0; }
            int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); b[1] = 'b'; pthread_join(t, 0); }"),
        ("hasmntopt", "static char b[] = \"rw,ro\"; static void *f(void *a) { struct mntent m = {.mnt_opts = b}; hasmntopt(&m, \"ro\"); return 0; }
            int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); b[3] = 'x'; pthread_join(t, 0); }"),
        ("hsearch", "static char b[] = \"ab\"; static void *f(void *a) { hsearch((ENTRY){\"ab\", 0}, FIND); return 0; }
            int main(void) { hcreate(8); hsearch((ENTRY){b, 0}, ENTER); pthread_t t; pthread_create(&t, 0, f, 0); b[1] = 'x'; pthread_join(t, 0); }"),
        ("sem_open", "static char d[] = \"/ab\"; static void *f(void *a) { sem_open(d, O_CREAT, 0600, 1); return 0; }
            int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); d[1] = 'x'; pthread_join(t, 0); }"),
        ("numbers-of-random", "static char st[128]; static void *f(void *a) { random(); return 0; }
            int main(void) { initstate(1, st, 128); pthread_t t; pthread_create(&t, 0, f, 0); memset(st + 4, 0, 124); pthread_join(t, 0); }"),
    ];
    const HEADERS: &str = "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <getopt.h>\n#include <mntent.h>\n#include <pthread.h>\n#include <search.h>\n\
        #include <semaphore.h>\n#include <stdlib.h>\n#include <string.h>\n";
    for (name, text) in CASES {
        let directory = place(&format!("kept-{name}"));
        let source = directory.join("program.c");
        fs::write(&source, format!("{HEADERS}{text}")).unwrap();
        let program = compile(&directory, &[source.to_str().unwrap()]);
        let found = verdict(&run(&directory, &program, &[]));
        assert!(found.starts_with("failure data-race"), "{name}: {found}");
    }
}
