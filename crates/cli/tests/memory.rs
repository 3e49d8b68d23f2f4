//! Memory of C programs under `raddle check`: its names, sizes, lives and costs. One table of small programs for each kind.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod compiled;

use compiled::{RADDLE, command, place};
use serde_json::Value;
use std::fs;
use std::io::Read;

/// What `raddle check` is to say of a program.
#[derive(Clone, Copy, Debug)]
enum Right {
    /// `verified`, without caveats.
    Verified,
    /// No failure; caveats are allowed.
    Holds,
    /// A failure of one of these kinds.
    Fails(&'static [&'static str]),
    /// No failure, and a caveat of this kind with a place.
    Named(&'static str),
}

use Right::{Fails, Holds, Named, Verified};

const HEADERS: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n#include <string.h>\n\
                       #include <stdint.h>\n#include <semaphore.h>\n#include <unistd.h>\n";

/// A name, options, the program without its headers, and what is right.
type Case = (&'static str, &'static str, &'static str, Right);

fn report(dir: &std::path::Path, name: &str, options: &str, text: &str) -> Value {
    let is_cxx = name.ends_with(".cpp");
    let file = dir.join(if is_cxx { name.to_owned() } else { format!("{name}.c") });
    fs::write(&file, if is_cxx { text.to_owned() } else { format!("{HEADERS}{text}") }).unwrap();
    let output = command(RADDLE)
        .args(["check", "--json", "--max-seconds", "60"])
        .arg(&file)
        .args(options.split_whitespace())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{name}: {e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn check(test: &str, cases: &[Case]) {
    let dir = place(&format!("memory-{test}"));
    for (name, options, text, right) in cases {
        let report = report(&dir, name, options, text);
        let verdict = report["verdict"].as_str().unwrap_or_default();
        let kind = report["failures"][0]["kind"].as_str().unwrap_or_default();
        let is_right = match right {
            Verified => verdict == "verified",
            Holds => kind.is_empty() && verdict != "incomplete",
            Fails(kinds) => kinds.contains(&kind),
            Named(kind) => {
                let caveats = report["caveats"].as_array().unwrap();
                let is_it = |c: &&Value| c["kind"] == *kind && c["places"][0].is_string();
                // Whatever races is explored as sequentially consistent.
                let others = caveats.iter().filter(|c| c["kind"] != "memory-order");
                verdict == "no-failure-with-caveats"
                    && others.clone().count() > 0
                    && others.clone().filter(is_it).count() == others.count()
            }
        };
        assert!(is_right, "{name} is to be {right:?}: {report:#}");
    }
}

#[test]
fn a_variable_on_a_stack_races_with_atomic_accesses_of_others() {
    const ADD: &str = "static void *add(void *p) { __atomic_fetch_add((int *)p, 1, 5); return 0; } int main(void) { pthread_t t; ";
    let program = |body: &str| format!("{ADD}{body} }}");
    let dir = place("memory-stacks");
    for (name, body, kind) in [
        ("scalar", "int x = 0; pthread_create(&t, 0, add, &x); x++; pthread_join(t, 0);", Some("data-race")),
        (
            "array",
            "int x[2] = {0}; pthread_create(&t, 0, add, &x[1]); x[1] = 2; pthread_join(t, 0);",
            Some("data-race"),
        ),
        (
            "copied",
            "int x = 0, y; pthread_create(&t, 0, add, &x); memcpy(&y, &x, 4); pthread_join(t, 0);",
            Some("data-race"),
        ),
        (
            "neighbour",
            "int x[2] = {0}; pthread_create(&t, 0, add, &x[1]); x[0] = 2; pthread_join(t, 0);",
            None,
        ),
        (
            "before and after",
            "int x = 1; x++; pthread_create(&t, 0, add, &x); pthread_join(t, 0); assert(x == 3);",
            None,
        ),
        (
            "atomic",
            "_Atomic int x = 1; pthread_create(&t, 0, add, &x); x++; pthread_join(t, 0); assert(x == 3);",
            None,
        ),
    ] {
        let report = report(&dir, &name.replace(' ', "-"), "", &program(body));
        assert_eq!(report["failures"][0]["kind"].as_str(), kind, "{name}: {report:#}");
        assert_eq!(report["verdict"] == "verified", kind.is_none(), "{name}: {report:#}");
    }
}

#[test]
fn races_on_the_heap_are_not_nondeterminism() {
    check(
        "names",
        &[
            (
                "two-blocks",
                "",
                "struct node { int v; }; static _Atomic(struct node *) g; static int r;
                static void *reader(void *a) { struct node *p = g; r = p->v; return 0; }
                int main(void) {
                    struct node *o = malloc(sizeof *o), *n = malloc(sizeof *n);
                    o->v = 1; n->v = 2; g = o;
                    pthread_t t; pthread_create(&t, 0, reader, 0);
                    struct node *old = atomic_exchange(&g, n);
                    old->v = 99; free(old);
                    pthread_join(t, 0); free(n); }",
                Fails(&["data-race", "use-after-free"]),
            ),
            (
                "three-threads",
                "",
                "static _Atomic(unsigned *) k; static atomic_int a; static pthread_t T1, T2;
                static void *t2(void *_) { unsigned *q = malloc(4); *q = 3; atomic_exchange(&k, q); a = 1; return 0; }
                static void *t1(void *_) { pthread_create(&T2, 0, t2, 0); atomic_load(&a);
                    unsigned r = 0, *q = k; if (q) r = *q; pthread_join(T2, 0); return (void *)(long)r; }
                int main(void) { pthread_create(&T1, 0, t1, 0);
                    unsigned *q = atomic_exchange(&k, 0); if (q) { *q = 9; free(q); } pthread_join(T1, 0); }",
                Fails(&["data-race", "use-after-free"]),
            ),
            (
                "tagged-pointers",
                "",
                "static atomic_uintptr_t head; static atomic_int seen;
                static void *w(void *a) { uintptr_t h = head; if (h & 1) seen++; return 0; }
                int main(void) { int *p = malloc(4); *p = 1; head = (uintptr_t)p;
                    pthread_t t; pthread_create(&t, 0, w, 0);
                    uintptr_t h = (uintptr_t)p; atomic_compare_exchange_strong(&head, &h, h | 1);
                    pthread_join(t, 0); assert(*(int *)(head & ~(uintptr_t)1) == 1); free(p); }",
                Verified,
            ),
            (
                "address-in-a-message",
                "",
                "static _Atomic(int *) g;
                static void *w(void *a) { free(g); return 0; }
                int main(void) { g = malloc(40); int *p = g; pthread_t t; pthread_create(&t, 0, w, 0);
                    p[3] = 1; pthread_join(t, 0); }",
                Fails(&["data-race", "use-after-free"]),
            ),
        ],
    );
}

#[test]
fn stacks_and_heaps_are_as_large_as_those_of_linux() {
    check(
        "sizes",
        &[
            (
                "four-megabytes-on-mains-stack",
                "",
                "int main(void) { char b[4 << 20]; memset(b, 1, sizeof b); return b[5] - 1; }",
                Verified,
            ),
            (
                "six-megabytes-on-a-threads-stack",
                "",
                "static void *w(void *a) { char b[6 << 20]; b[0] = 1; b[sizeof b - 1] = 1; return (void *)(long)b[0]; }
                int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); }",
                Verified,
            ),
            (
                "deep-recursion",
                "",
                "static int rec(int n) { char b[1000]; memset(b, n, sizeof b); return n ? rec(n - 1) + b[5] : 0; }
                static void *w(void *a) { rec(3000); return 0; }
                int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); return rec(3000) & 0; }",
                Verified,
            ),
            (
                "a-frame-larger-than-the-stack",
                "",
                "static void *w(void *a) { volatile char b[20 << 20]; b[0] = 1; return (void *)(long)b[0]; }
                int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); }",
                Fails(&["signal"]),
            ),
            (
                "a-large-block",
                "",
                "static char *p; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int n;
                static void *w(void *a) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); return 0; }
                int main(void) { size_t size = 64 << 20; p = malloc(size); memset(p, 1, size);
                    pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, w, 0);
                    for (int i = 0; i < 3; i++) pthread_join(t[i], 0); assert(n == 3); free(p); }",
                Verified,
            ),
            (
                "a-thousand-threads-one-after-the-other",
                "",
                "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int n; static __thread int own;
                static void *w(void *a) { assert(!own); own = 1;
                    pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); if (a) pthread_exit(0); return 0; }
                int main(void) { for (long i = 0; i < 1000; i++) {
                    pthread_t t; pthread_create(&t, 0, w, (void *)(i & 1)); pthread_join(t, 0); } assert(n == 1000); }",
                Verified,
            ),
            (
                "a-race-of-two-late-threads",
                "",
                "static int n;
                static void *w(void *a) { n++; return 0; }
                int main(void) { for (int i = 0; i < 40; i++) { pthread_t t, u; pthread_create(&t, 0, w, 0);
                    if (i == 30) pthread_create(&u, 0, w, 0);
                    pthread_join(t, 0); if (i == 30) pthread_join(u, 0); } }",
                Fails(&["data-race"]),
            ),
        ],
    );
}

/// Two late threads have each a number of their own: both orders are seen, and nothing else.
#[test]
fn threads_that_share_a_number_with_an_earlier_one_are_explored() {
    let dir = place("memory-late");
    let text = "static atomic_int n; static void *w(void *a) { n = (long)a; return 0; }
        int main(void) { for (long i = 0; i < 40; i++) { pthread_t t, u; pthread_create(&t, 0, w, (void *)1);
            if (i == 30) pthread_create(&u, 0, w, (void *)2);
            pthread_join(t, 0); if (i == 30) { pthread_join(u, 0); assert(n == 1 || n == 2); } } }";
    let report = report(&dir, "late", "", text);
    assert_eq!(
        (report["verdict"].as_str(), report["executions"].as_u64()),
        (Some("verified"), Some(2)),
        "{report:#}"
    );
}

#[test]
fn memory_of_a_program_with_one_thread_is_cheap() {
    let dir = place("memory-cheap");
    let text = "static char *p; static atomic_int n;
        static void *w(void *a) { n++; return 0; }
        int main(void) { p = malloc(1 << 20); for (int k = 0; k < 4; k++) for (int i = 0; i < 1 << 20; i++) p[i] = (char)i;
            pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, w, 0);
            for (int i = 0; i < 3; i++) pthread_join(t[i], 0); free(p); }";
    let report = report(&dir, "cheap", "", text);
    assert_eq!(
        (report["verdict"].as_str(), report["executions"].as_u64()),
        (Some("verified"), Some(6)),
        "{report:#}"
    );
    // Four million writes, six times. With a record for each byte this took seconds.
    assert!(report["seconds"].as_f64().unwrap() < 3.0, "{report:#}");
}

/// While there is one thread, accesses to the block or the variables that it has just accessed are let through.
#[test]
fn accesses_after_a_loop_of_the_only_thread_are_looked_at() {
    check(
        "after-loops",
        &[
            (
                "freed",
                "",
                "int main(void) { char *p = malloc(64); for (int i = 0; i < 64; i++) p[i] = 1; free(p); p[3] = 2; }",
                Fails(&["use-after-free"]),
            ),
            (
                "freed-and-read",
                "",
                "int main(void) { char *p = malloc(64); int s = 0; for (int i = 0; i < 64; i++) p[i] = 1;
                    for (int i = 0; i < 64; i++) s += p[i]; free(p); assert(s == 64 && p[3]); }",
                Fails(&["use-after-free"]),
            ),
            (
                "moved",
                "",
                "int main(void) { char *p = malloc(64); for (int i = 0; i < 64; i++) p[i] = 1; char *q = realloc(p, 128); p[3] = 2; free(q); }",
                Fails(&["use-after-free"]),
            ),
            (
                "behind-the-end",
                "",
                "int main(void) { char *p = malloc(60); for (int i = 0; i < 61; i++) p[i] = 1; free(p); }",
                Fails(&["out-of-bounds"]),
            ),
            (
                "partly-behind-the-end",
                "",
                "int main(void) { int *p = malloc(62); for (int i = 0; i < 16; i++) p[i] = 1; free(p); }",
                Fails(&["out-of-bounds"]),
            ),
            (
                "one-byte-unwritten",
                "",
                "int main(void) { char *p = malloc(64); int s = 0; for (int i = 0; i < 64; i++) if (i != 40) p[i] = 1;
                    for (int i = 0; i < 64; i++) s += p[i]; assert(s != 7); free(p); }",
                Named("uninitialised"),
            ),
            (
                "zeros",
                "",
                "int main(void) { char *p = calloc(64, 1); int s = 0; for (int i = 0; i < 64; i++) s += p[i];
                    for (int i = 0; i < 64; i += 2) p[i] = 1; for (int i = 0; i < 64; i++) s += p[i]; assert(s == 32); free(p); }",
                Verified,
            ),
            (
                "written-beside-a-thread",
                "",
                "static char a[64]; static void *w(void *x) { a[5] = 2; return 0; }
                int main(void) { pthread_t t; for (int i = 0; i < 64; i++) a[i] = 1; pthread_create(&t, 0, w, 0); a[5] = 3; pthread_join(t, 0); }",
                Fails(&["data-race"]),
            ),
            (
                "read-beside-a-thread",
                "",
                "static char a[64]; static void *w(void *x) { a[5] = 2; return 0; }
                int main(void) { pthread_t t; int s = 0; for (int i = 0; i < 64; i++) s += a[i]; pthread_create(&t, 0, w, 0);
                    s += a[5]; pthread_join(t, 0); assert(s < 9); }",
                Fails(&["data-race"]),
            ),
            (
                "alone-again",
                "",
                "static char a[64]; static void *w(void *x) { a[5] = 2; return 0; }
                int main(void) { pthread_t t; for (int i = 0; i < 64; i++) a[i] = 1; pthread_create(&t, 0, w, 0); pthread_join(t, 0);
                    for (int i = 0; i < 64; i++) a[i]++; assert(a[5] == 3); }",
                Verified,
            ),
            (
                "addresses-written",
                "",
                "static long *slot[8]; static void *w(void *x) { uintptr_t old = (uintptr_t)slot[5]; free(slot[5]); long *q = malloc(8);
                    assert((uintptr_t)q != old); free(q); return 0; }
                static void *v(void *x) { return 0; }
                int main(void) { pthread_t t, u; for (int i = 0; i < 8; i++) slot[i] = malloc(8); pthread_create(&t, 0, w, 0);
                    pthread_create(&u, 0, v, 0); pthread_join(t, 0); pthread_join(u, 0); for (int i = 0; i < 8; i++) if (i != 5) free(slot[i]); }",
                Fails(&["assertion"]),
            ),
        ],
    );
}

#[test]
fn memory_of_a_program_with_several_threads_is_cheap() {
    let dir = place("memory-shared-cheap");
    let text = "static char *p; static atomic_int n;
        static void *w(void *a) { n++; return 0; }
        int main(void) { p = malloc(1 << 20);
            pthread_t t[2]; for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, w, 0);
            for (int i = 0; i < 1 << 20; i++) p[i] = (char)i;
            for (int i = 0; i < 2; i++) pthread_join(t[i], 0); free(p); }";
    let (report, kilobytes) = peak(&dir, text);
    assert_eq!(report["verdict"], "verified", "{report:#}");
    // With a record for each byte it took more than 300 MB.
    assert!(kilobytes < 64 << 10, "{kilobytes} KB");
}

/// Compiles a program and runs it by itself. Gives its report, and the most memory that it had, in kilobytes.
fn peak(dir: &std::path::Path, text: &str) -> (Value, i64) {
    let file = dir.join("program.c");
    fs::write(&file, format!("{HEADERS}{text}")).unwrap();
    let program = dir.join("program");
    let made = command(RADDLE).args(["cc", "-pthread", "-o"]).args([&program, &file]).status().unwrap();
    assert!(made.success());
    #[expect(clippy::zombie_processes, reason = "`wait4` waits for it, and says how much memory it used")]
    let mut child =
        command(&program).env("RADDLE_JSON", "1").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let pid = child.id() as libc::pid_t;
    let mut report = String::new();
    child.stdout.take().unwrap().read_to_string(&mut report).unwrap();
    // SAFETY: the call writes to two live locals, for which zero is a value; nobody else waits for the process.
    let (waited, usage) = unsafe {
        let (mut status, mut usage) = (0, std::mem::zeroed::<libc::rusage>());
        (libc::wait4(pid, &raw mut status, 0, &raw mut usage), usage)
    };
    assert_eq!(waited, pid);
    let report: Value = serde_json::from_str(&report).unwrap_or_else(|e| panic!("{e}: {report}"));
    (report, usage.ru_maxrss)
}

#[test]
fn ranges_are_looked_at_by_pages() {
    let dir = place("memory-ranges-cheap");
    let text = "enum { SIZE = 4 << 20 }; static void *w(void *p) { memset(p, 1, SIZE); memcpy((char *)p + SIZE / 2, p, SIZE / 2); return 0; }
        int main(void) { pthread_t t[2]; char *p[2]; for (int i = 0; i < 2; i++) p[i] = malloc(SIZE);
            for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, w, p[i]);
            for (int i = 0; i < 2; i++) { pthread_join(t[i], 0); free(p[i]); } }";
    let (report, kilobytes) = peak(&dir, text);
    // A call counts as one access, however many bytes it has: threads that make many accesses let others run, which is a step.
    let found = (report["verdict"].as_str(), report["executions"].as_u64());
    assert_eq!(found, (Some("verified"), Some(1)), "{report:#}");
    // The blocks have 8 MB. With a record for each granule of eight bytes it took more than 30 MB.
    assert!(kilobytes < 22 << 10, "{kilobytes} KB");
}

#[test]
fn races_are_found_in_ranges() {
    const START: &str = "static char *p, *q; static _Atomic int flag; static void *other(void *a); int main(void) { p = calloc(8192, 1);
        q = calloc(8192, 1); pthread_t t; pthread_create(&t, 0, other, 0); ";
    let dir = place("memory-ranges");
    let all = "memset(p, 1, 8192);";
    for (name, main, other, races) in [
        ("range-and-byte", all, "p[4321] = 2;", true),
        ("byte-and-range", "p[4321] = 2;", all, true),
        ("range-and-read", all, "volatile char c = p[4321]; (void)c;", true),
        ("read-and-range", "memcpy(q, p, 8192);", "p[8191] = 2;", true),
        ("two-reads", "memcpy(q, p, 8192);", "volatile char c = p[8191]; (void)c;", false),
        ("two-copies", "memcpy(q, p, 4096);", "memcpy(q + 4096, p + 1000, 4096);", false),
        ("target", "memcpy(q, p, 4097);", "memcpy(q + 4096, p + 1000, 4096);", true),
        ("disjoint", "memset(p, 1, 4097);", "memset(p + 4097, 2, 4095);", false),
        ("overlap", "memset(p, 1, 4098);", "memset(p + 4097, 2, 4095);", true),
        ("published", "memset(p, 1, 8192); flag = 1;", "if (flag) memset(p, 2, 8192);", false),
        ("again", "memset(p, 1, 8192); flag = 1; p[4000] = 3;", "if (flag) memset(p, 2, 8192);", true),
        ("read-again", "memset(p, 1, 8192); flag = 1; memcpy(q, p, 4096);", "if (flag) p[4096] = 1;", false),
        ("read-there", "memset(p, 1, 8192); flag = 1; memcpy(q, p, 4096);", "if (flag) p[4095] = 1;", true),
        ("freed", "memset(p, 1, 8192);", "char *r = p; p = calloc(8192, 1); free(r);", true),
        ("atomic", all, "atomic_fetch_add((_Atomic int *)(p + 4320), 1);", true),
        ("beside-atomic", "memset(p, 1, 4320);", "atomic_fetch_add((_Atomic int *)(p + 4320), 1);", false),
        ("atomic-within", "atomic_fetch_add((_Atomic int *)(p + 4320), 1);", all, true),
    ] {
        let text = format!(
            "{START}{main} pthread_join(t, 0); free(p); free(q); }} static void *other(void *a) {{ {other} return 0; }}"
        );
        let report = report(&dir, name, "", &text);
        let kind = races.then_some("data-race");
        assert_eq!(report["failures"][0]["kind"].as_str(), kind, "{name}: {report:#}");
        assert_eq!(report["verdict"] == "verified", !races, "{name}: {report:#}");
    }
}

#[test]
fn races_are_found_in_each_byte_of_an_array() {
    const START: &str = "static char *p; static _Atomic int flag; static void *other(void *a); int main(void) { p = calloc(64, 1); pthread_t t;
        pthread_create(&t, 0, other, 0); ";
    let program = |main: &str, other: &str| {
        format!(
            "{START}{main} pthread_join(t, 0); free(p); }} static void *other(void *a) {{ {other} return 0; }}"
        )
    };
    let all = "for (int i = 0; i < 64; i++) p[i] = 1;";
    let dir = place("memory-bytes");
    for (name, main, other, races) in [
        ("write-write", all, "p[37] = 2;", true),
        ("write-read", all, "volatile char c = p[37]; (void)c;", true),
        ("read-write", "for (int i = 0; i < 64; i++) flag += p[i] > 9;", "p[37] = 2;", true),
        (
            "read-read",
            "for (int i = 0; i < 64; i++) flag += p[i] > 9;",
            "char c = p[37]; if (c > 9) flag = 2;",
            false,
        ),
        (
            "halves",
            "for (int i = 0; i < 32; i++) p[i] = 1;",
            "for (int i = 32; i < 64; i++) p[i] = 2;",
            false,
        ),
        (
            "interleaved",
            "for (int i = 0; i < 64; i += 2) p[i] = 1;",
            "for (int i = 1; i < 64; i += 2) p[i] = 2;",
            false,
        ),
        (
            "last-byte",
            "for (int i = 0; i < 37; i++) p[i] = 1;",
            "for (int i = 36; i < 64; i++) p[i] = 2;",
            true,
        ),
        ("word-and-byte", "((long *)p)[4] = 1;", "p[37] = 2;", true),
        ("word-and-neighbour", "((int *)p)[8] = 1;", "p[37] = 2;", false),
        ("range-and-byte", "memset(p, 1, 40);", "p[37] = 2;", true),
        ("range-and-neighbour", "memset(p, 1, 37);", "p[37] = 2;", false),
        (
            "published",
            "for (int i = 0; i < 64; i++) p[i] = 1; flag = 1;",
            "if (flag) for (int i = 0; i < 64; i++) p[i] = 2;",
            false,
        ),
        (
            "written-again",
            "for (int i = 0; i < 64; i++) p[i] = 1; flag = 1; p[37] = 3;",
            "if (flag) p[37] = 2;",
            true,
        ),
        (
            "neighbour-again",
            "for (int i = 0; i < 64; i++) p[i] = 1; flag = 1; p[38] = 3;",
            "if (flag) p[37] = 2;",
            false,
        ),
        (
            "read-again",
            "for (int i = 0; i < 64; i++) flag += p[i] > 9; flag = 1; if (p[37]) flag = 3;",
            "if (flag) p[37] = 2;",
            true,
        ),
        ("freed", "p[37] = 1; flag = 1;", "char *q = p; p = 0; q[3] = 4; free(q);", true),
        ("atomic-after-plain", "((int *)p)[9] = 1;", "atomic_fetch_add((_Atomic int *)(p + 36), 1);", true),
        ("plain-after-atomic", "atomic_fetch_add((_Atomic int *)(p + 36), 1);", "((int *)p)[9] = 1;", true),
        (
            "atomic-and-neighbour",
            "((int *)p)[8] = 1;",
            "atomic_fetch_add((_Atomic int *)(p + 36), 1);",
            false,
        ),
        (
            "atomic-in-mixed",
            "memset(p, 1, 64); p[36] = 1;",
            "atomic_fetch_add((_Atomic int *)(p + 36), 1);",
            true,
        ),
        (
            "published-atomic",
            "((int *)p)[9] = 1; flag = 1;",
            "if (flag) atomic_fetch_add((_Atomic int *)(p + 36), 1);",
            false,
        ),
    ] {
        let report = report(&dir, name, "", &program(main, other));
        let kind = races.then_some("data-race");
        assert_eq!(report["failures"][0]["kind"].as_str(), kind, "{name}: {report:#}");
        assert_eq!(report["verdict"] == "verified", !races, "{name}: {report:#}");
    }
}

#[test]
fn the_stack_of_a_thread_ends_with_it() {
    const USE: &str = "static _Atomic(int *) p; static void *t1(void *u) { int x = 0; p = &x; return 0; }";
    let programs = [
        ("plain-write", "static void *t2(void *u) { *p = 42; return 0; }"),
        ("plain-read", "static void *t2(void *u) { return (void *)(long)*p; }"),
        ("atomic", "static void *t2(void *u) { atomic_fetch_add((atomic_int *)p, 1); return 0; }"),
        ("memset", "static void *t2(void *u) { memset(p, 1, 4); return 0; }"),
    ];
    let main = "int main(void) { pthread_t a, b; pthread_create(&a, 0, t1, 0); pthread_join(a, 0);
        pthread_create(&b, 0, t2, 0); pthread_join(b, 0); }";
    let dir = place("memory-stacks");
    for (name, body) in programs {
        for options in ["", "--races sync"] {
            let report = report(&dir, name, options, &format!("{USE}\n{body}\n{main}"));
            assert_eq!(report["failures"][0]["kind"], "use-after-free", "{name} {options}: {report:#}");
        }
    }
    check(
        "stacks-in-use",
        &[(
            "while-it-runs",
            "",
            "static void *w(void *p) { atomic_fetch_add((atomic_int *)p, 1); return 0; }
            int main(void) { atomic_int n = 0; pthread_t a, b; pthread_create(&a, 0, w, &n); pthread_create(&b, 0, w, &n);
                pthread_join(a, 0); pthread_join(b, 0); assert(n == 2); }",
            Verified,
        )],
    );
}

#[test]
fn what_was_never_initialized_is_not_used() {
    check(
        "initialized",
        &[
            (
                "barrier",
                "",
                "static pthread_barrier_t b; int main(void) { pthread_barrier_wait(&b); }",
                Fails(&["lock-misuse"]),
            ),
            ("semaphore", "", "static sem_t s; int main(void) { sem_post(&s); }", Fails(&["lock-misuse"])),
            (
                "spin-lock",
                "",
                "static pthread_spinlock_t l; int main(void) { pthread_spin_lock(&l); pthread_spin_unlock(&l); }",
                Fails(&["lock-misuse"]),
            ),
            (
                "mutex-on-the-heap",
                "",
                "int main(void) { pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_lock(m); }",
                Fails(&["lock-misuse"]),
            ),
            (
                "condition-variable-on-the-heap",
                "",
                "int main(void) { pthread_cond_t *c = malloc(sizeof *c); pthread_cond_signal(c); }",
                Fails(&["lock-misuse"]),
            ),
            (
                "all-initialized",
                "",
                "static sem_t s; static pthread_spinlock_t l; static pthread_barrier_t b;
                static pthread_mutex_t m; static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
                int main(void) { sem_init(&s, 0, 1); sem_wait(&s); sem_destroy(&s); sem_init(&s, 0, 1); sem_wait(&s);
                    pthread_spin_init(&l, 0); for (int i = 0; i < 2; i++) { pthread_spin_lock(&l); pthread_spin_unlock(&l); }
                    pthread_barrier_init(&b, 0, 1); pthread_barrier_wait(&b);
                    pthread_mutex_lock(&m); pthread_cond_signal(&c); pthread_mutex_unlock(&m);
                    pthread_mutex_t *h = calloc(1, sizeof *h); pthread_mutex_lock(h); pthread_mutex_unlock(h); free(h);
                    pthread_rwlock_t *w = malloc(sizeof *w); pthread_rwlock_init(w, 0); pthread_rwlock_rdlock(w);
                    pthread_rwlock_unlock(w); free(w); }",
                Verified,
            ),
        ],
    );
}

#[test]
fn a_plain_flag_orders_where_accesses_are_steps() {
    const DESTROY: &str = "static pthread_mutex_t *m;
        static void *w(void *a) { pthread_mutex_lock(m); pthread_mutex_unlock(m); DONE; return 0; }
        int main(void) { pthread_t t; m = malloc(sizeof *m); pthread_mutex_init(m, 0); pthread_create(&t, 0, w, 0);
            WAIT; pthread_mutex_destroy(m); free(m); pthread_join(t, 0); }";
    let with = |flag: &str, done: &str, wait: &str| {
        format!("{flag}\n{}", DESTROY.replace("DONE", done).replace("WAIT", wait))
    };
    let dir = place("memory-flags");
    for (name, flag, done, wait, right) in [
        ("volatile", "static volatile int done;", "done = 1", "while (!done) ;", ""),
        ("atomic", "static atomic_int done;", "done = 1", "while (!done) ;", ""),
        ("two-flags", "static volatile int f, g;", "f = 1; g = 1", "while (!g) ; while (!f) ;", ""),
        ("no-flag", "", "(void)0", "(void)0", "use-after-free"),
        ("early-flag", "static volatile int done;", "(void)0", "(void)done", "lock-misuse"),
    ] {
        let report = report(&dir, name, "--races sync", &with(flag, done, wait));
        let kind = report["failures"][0]["kind"].as_str().unwrap_or_default();
        // Which of the two mistakes is met first is a matter of the order of the search.
        let both = ["lock-misuse", "use-after-free"];
        assert!(kind == right || both.contains(&kind) && both.contains(&right), "{name}: {report:#}");
    }
    check(
        "flags-on-stacks",
        &[
            (
                "volatile",
                "--races sync",
                "static void *w(void *p) { *(volatile int *)p = 1; return 0; }
                int main(void) { volatile int done = 0; pthread_t t; pthread_create(&t, 0, w, (void *)&done);
                    while (!done) ; pthread_join(t, 0); }",
                Holds,
            ),
            (
                "in-a-structure",
                "--races sync",
                "struct s { long pad; volatile int done; };
                static void *w(void *p) { ((struct s *)p)->done = 1; return 0; }
                int main(void) { struct s s = {0, 0}; pthread_t t; pthread_create(&t, 0, w, (void *)&s);
                    while (!s.done) ; pthread_join(t, 0); }",
                Holds,
            ),
        ],
    );
}

#[test]
fn freed_addresses_come_back() {
    check(
        "reuse",
        &[
            (
                "compare-with-what-was-freed",
                "",
                "static _Atomic(int *) x, y;
                static void *t(void *a) { y = malloc(4); return 0; }
                int main(void) { x = malloc(4); pthread_t h; pthread_create(&h, 0, t, 0);
                    int *p = atomic_exchange(&x, 0); free(p); int *q = y; assert(q != p); pthread_join(h, 0); }",
                Fails(&["assertion"]),
            ),
            (
                "compare-exchange",
                "",
                "static _Atomic(int *) cur; static atomic_int swapped;
                static void *swapper(void *a) { int *old = atomic_exchange(&cur, 0); free(old); swapped = 1;
                    cur = malloc(sizeof(int)); return 0; }
                int main(void) { cur = malloc(sizeof(int)); pthread_t h; pthread_create(&h, 0, swapper, 0);
                    int *seen = cur; int before = swapped; int *expected = seen;
                    if (seen && atomic_compare_exchange_strong(&cur, &expected, 0)) assert(swapped == before);
                    pthread_join(h, 0); }",
                Fails(&["assertion"]),
            ),
            (
                "tagged-number",
                "",
                "static atomic_uintptr_t cur;
                static void *t(void *a) { uintptr_t old = atomic_exchange(&cur, 0); free((void *)(old & ~(uintptr_t)1));
                    cur = (uintptr_t)malloc(16) | 1; return 0; }
                int main(void) { cur = (uintptr_t)malloc(16) | 1; uintptr_t first = cur; pthread_t h;
                    pthread_create(&h, 0, t, 0); pthread_join(h, 0); assert(cur != first); }",
                Fails(&["assertion"]),
            ),
            (
                "smaller-block-under-a-lock",
                "",
                "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static char *cur;
                static void *t(void *a) { pthread_mutex_lock(&m); char *old = cur; cur = 0; pthread_mutex_unlock(&m); free(old);
                    char *n = malloc(20); pthread_mutex_lock(&m); cur = n; pthread_mutex_unlock(&m); return 0; }
                int main(void) { cur = malloc(24); char *first = cur; pthread_t h; pthread_create(&h, 0, t, 0);
                    pthread_join(h, 0); assert(cur != first); }",
                Fails(&["assertion"]),
            ),
            (
                "a-larger-block-does-not-fit",
                "",
                "static _Atomic(char *) cur;
                static void *t(void *a) { free(atomic_exchange(&cur, 0)); cur = malloc(64); return 0; }
                int main(void) { cur = malloc(24); char *first = cur; pthread_t h; pthread_create(&h, 0, t, 0);
                    pthread_join(h, 0); assert(cur != first); free(cur); }",
                Verified,
            ),
            (
                "use-after-free-is-seen-first",
                "",
                "static _Atomic(int *) cur;
                static void *t(void *a) { free(atomic_exchange(&cur, 0)); int *n = malloc(4); *n = 1; cur = n; return 0; }
                int main(void) { int *p = malloc(4); *p = 0; cur = p; pthread_t h; pthread_create(&h, 0, t, 0);
                    pthread_join(h, 0); assert(*p == 1); }",
                Fails(&["use-after-free"]),
            ),
            (
                "private-blocks",
                "",
                "static atomic_int n;
                static void *t(void *a) { for (int i = 0; i < 3; i++) { int *p = malloc(4); *p = i; n += *p; free(p); } return 0; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); t(0); pthread_join(h, 0); assert(n == 6); }",
                Verified,
            ),
            (
                "a-stack-without-aba",
                "",
                "struct node { struct node *next; int v; }; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static struct node *top;
                static void push(int v) { struct node *n = malloc(sizeof *n); n->v = v;
                    pthread_mutex_lock(&m); n->next = top; top = n; pthread_mutex_unlock(&m); }
                static int pop(void) { pthread_mutex_lock(&m); struct node *n = top; if (n) top = n->next; pthread_mutex_unlock(&m);
                    int v = n ? n->v : 0; free(n); return v; }
                static void *t(void *a) { push(2); pop(); return 0; }
                int main(void) { push(1); pthread_t h; pthread_create(&h, 0, t, 0); push(4); pop(); pthread_join(h, 0);
                    pop(); assert(!top); }",
                Holds,
            ),
        ],
    );
    let dir = place("memory-reuse-off");
    let text = "static _Atomic(int *) x, y; static void *t(void *a) { y = malloc(4); return 0; }
        int main(void) { x = malloc(4); pthread_t h; pthread_create(&h, 0, t, 0);
            int *p = atomic_exchange(&x, 0); free(p); int *q = y; assert(q != p); pthread_join(h, 0); }";
    let off = report(&dir, "off", "--reuse off", text);
    assert_eq!(
        (off["verdict"].as_str(), off["caveats"][0]["kind"].as_str()),
        (Some("no-failure-with-caveats"), Some("reuse"))
    );
    let all = report(&dir, "all", "--reuse all", text);
    assert_eq!(all["failures"][0]["kind"], "assertion");
    // A token leads to the same failure with the option and without.
    let token = report(&dir, "token", "", text)["failures"][0]["replay"].as_str().unwrap().to_owned();
    for options in [format!("--replay {token}"), format!("--reuse all --replay {token}")] {
        assert_eq!(report(&dir, "token", &options, text)["failures"][0]["kind"], "assertion", "{options}");
    }
}

#[test]
fn what_malloc_can_choose_from_does_not_depend_on_who_took_an_address() {
    // Two calls of `malloc` are not ordered, so a search that runs each class once has as many executions as one with source sets, and the
    // same outcomes as all interleavings.
    let dir = place("memory-reuse-orders");
    for (name, text) in [
        (
            "two-take-one",
            "static _Atomic(void *) p; static int r[2];
            static void *t(void *a) { int i = (long)a; void *old = p, *q = malloc(16); r[i] = q == old; p = q; return 0; }
            int main(void) { void *x = malloc(16); p = x; pthread_t a, b; pthread_create(&a, 0, t, (void *)0); pthread_create(&b, 0, t, (void *)1);
                free(x); pthread_join(a, 0); pthread_join(b, 0); out(r[0] + 2 * r[1]); }",
        ),
        (
            "taken-and-freed-again",
            "static _Atomic(void *) p; static int r[2]; static void *x;
            static void *t(void *a) { void *q = malloc(16); r[0] = q == x; p = q; free(q); return 0; }
            int main(void) { x = malloc(16); p = x; pthread_t a; pthread_create(&a, 0, t, 0); free(x);
                void *z = malloc(16); r[1] = z == x; void *y = malloc(16); r[1] += 2 * (y == x); pthread_join(a, 0); out(r[0] + 2 * r[1]); }",
        ),
    ] {
        let text = format!("static void out(int n) {{ char s[] = {{'0' + n, 0}}; __assert_fail(s, \"\", 1, \"\"); }}\n{text}");
        let run = |algorithm: &str| {
            let options = format!("--reuse all --keep-going --algorithm {algorithm}");
            let report = report(&dir, &format!("{name}-{algorithm}"), &options, &text);
            let failures = report["failures"].as_array().unwrap();
            let mut seen: Vec<String> = failures.iter().map(|f| f["message"].to_string()).collect();
            seen.sort();
            (seen, report["executions"].as_u64())
        };
        let (all, _) = run("none");
        assert!(all.len() > 2, "{name}: {all:?}");
        let (optimal, source) = (run("optimal"), run("source"));
        assert_eq!(optimal, source, "{name}");
        assert_eq!(optimal.0, all, "{name}");
    }
}

#[test]
fn what_malloc_gives_out_has_contents_of_its_own() {
    check(
        "unwritten",
        &[
            (
                "malloc",
                "",
                "int main(void) { int *p = malloc(16); assert(p[0] != 0); free(p); }",
                Named("uninitialised"),
            ),
            (
                "branch-of-another-thread",
                "",
                "static void *t(void *a) { if (((char *)a)[3] == 7) abort(); return 0; }
                int main(void) { char *p = malloc(16); p[2] = 1; pthread_t h; pthread_create(&h, 0, t, p); pthread_join(h, 0); free(p); }",
                Named("uninitialised"),
            ),
            (
                "what-realloc-adds",
                "",
                "int main(void) { char *p = malloc(4); memset(p, 1, 4); p = realloc(p, 8); assert(p[3] == 1); assert(p[6] != 1); free(p); }",
                Named("uninitialised"),
            ),
            (
                "large",
                "",
                "int main(void) { char *p = malloc(1 << 20); p[1] = 0; assert(p[1] == 0); assert(p[5] == 0); free(p); }",
                Named("uninitialised"),
            ),
            (
                "sum",
                "",
                "int main(void) { long *p = malloc(8); ++*p; assert(*p != 0); free(p); }",
                Named("uninitialised"),
            ),
            (
                "atomic-sum",
                "",
                "int main(void) { atomic_int *p = malloc(4); atomic_fetch_add(p, 1); assert(*p != 0); free(p); }",
                Named("uninitialised"),
            ),
            (
                "volatile",
                "",
                "int main(void) { volatile short *p = malloc(2); assert(*p != 0); free((void *)p); }",
                Named("uninitialised"),
            ),
            (
                "copied-and-read",
                "",
                "int main(void) { char *p = malloc(8), *q = malloc(8); p[0] = 1; memcpy(q, p, 8); assert(q[0] == 1); assert(q[5] != 1); free(p); free(q); }",
                Named("uninitialised"),
            ),
            (
                "compared",
                "",
                "struct s { char c; int i; };
                int main(void) { struct s *p = malloc(sizeof *p), q = {0}; p->c = 0; p->i = 0; assert(memcmp(p, &q, sizeof q)); free(p); }",
                Named("uninitialised"),
            ),
            (
                "new.cpp",
                "",
                "#include <cassert>
                struct P { int x, y; P(int a) : x(a) {} };
                int main() { P *p = new P(3); assert(p->x == 3); assert(p->y != 7); delete p; }",
                Named("uninitialised"),
            ),
            (
                "written-first",
                "",
                "struct s { char c; int i; char name[20]; };
                static void *t(void *a) { struct s *p = a, *q = malloc(sizeof *q); *q = *p; memcpy(q, p, sizeof *q); struct s l = *q;
                    assert(l.i == 2 && !strcmp(l.name, \"ab\")); free(q); return 0; }
                int main(void) { struct s *p = malloc(sizeof *p); p->c = 1; p->i = 2; strcpy(p->name, \"ab\"); pthread_t h;
                    pthread_create(&h, 0, t, p); t(p); pthread_join(h, 0); p = realloc(p, 100); assert(p->i == 2); free(p); }",
                Verified,
            ),
            (
                "bytes-that-look-fresh",
                "",
                "int main(void) { unsigned char *p = malloc(4); p[0] = 0xbe; memset(p + 1, 0xbe, 3); assert(p[0] == 0xbe && p[2] == 0xbe);
                    unsigned char *q = realloc(p, 64); assert(q[3] == 0xbe); free(q); }",
                Verified,
            ),
            (
                "zeros",
                "",
                "int main(void) { char *p = calloc(1, 1 << 20); assert(!p[77]); p = realloc(p, 1 << 21); assert(!p[99]); free(p);
                    p = calloc(3, 5); assert(!p[14]); free(p); }",
                Verified,
            ),
            (
                "bit-fields",
                "",
                "struct b { unsigned a : 3, b : 5, c : 20; };
                int main(void) { struct b *p = malloc(sizeof *p); p->a = 1; p->b = 2; p->c = 7; assert(p->a == 1 && p->c == 7); free(p); }",
                Verified,
            ),
            (
                "containers.cpp",
                "",
                "#include <cassert>
                #include <functional>
                #include <list>
                #include <map>
                #include <memory>
                #include <optional>
                #include <string>
                #include <thread>
                #include <variant>
                #include <vector>
                struct A { std::optional<long> o; std::variant<int, std::string> v; std::function<int(int)> f; std::shared_ptr<int> p; };
                int main() { auto a = std::make_unique<A>(); int k = 3; a->f = [&k](int x) { return x + k; }; auto b = std::make_unique<A>(*a);
                    std::vector<std::function<int(int)>> w; w.push_back(a->f); w.push_back(b->f); std::map<int, std::string> m; m[1] = \"a\";
                    std::list<std::optional<long>> l; l.push_back({}); auto l2 = l; std::thread t([&] { assert(w[1](2) == 5); }); t.join(); }",
                Verified,
            ),
        ],
    );
}

#[test]
fn realloc_moves_a_block_or_leaves_it() {
    check(
        "realloc",
        &[
            (
                "stays",
                "",
                "int main(void) { int *p = malloc(16); *p = 1; int *q = realloc(p, 8); assert(q != p); free(q); }",
                Fails(&["assertion"]),
            ),
            (
                "moves",
                "",
                "int main(void) { int *p = malloc(16); *p = 1; int *q = realloc(p, 16); assert(q == p); free(q); }",
                Fails(&["assertion"]),
            ),
            (
                "the-old-pointer",
                "",
                "int main(void) { int *p = malloc(16); *p = 1; int *q = realloc(p, 8); int v = *p; free(q); return v - 1; }",
                Fails(&["use-after-free"]),
            ),
            (
                "what-was-cut-off",
                "",
                "int main(void) { int *p = malloc(16); p[3] = 1; p = realloc(p, 8); int v = p[3]; free(p); return v - 1; }",
                Fails(&["out-of-bounds"]),
            ),
            (
                "neither-is-seen",
                "",
                "int main(void) { int *p = malloc(16); p[0] = 1; p = realloc(p, 8); assert(p[0] == 1); p = realloc(p, 64); assert(p[0] == 1); free(p); }",
                Verified,
            ),
            (
                "off",
                "--reuse off",
                "int main(void) { int *p = malloc(16); p[0] = 1; p = realloc(p, 8); assert(p[0] == 1); free(p); }",
                Named("reuse"),
            ),
            (
                "takes-a-freed-address",
                "",
                "static _Atomic(char *) x, y;
                static void *t(void *a) { char *p = malloc(1); y = realloc(p, 4); return 0; }
                int main(void) { x = malloc(4); pthread_t h; pthread_create(&h, 0, t, 0);
                    char *p = atomic_exchange(&x, 0); free(p); char *q = y; assert(q != p); pthread_join(h, 0); }",
                Fails(&["assertion"]),
            ),
            (
                "size",
                "",
                "#include <malloc.h>\nint main(void) { void *p = malloc(20); assert(malloc_usable_size(p) == 20); free(p); }",
                Named("library"),
            ),
            (
                "allocated-before-main",
                "",
                "static _Atomic(int *) head; __attribute__((constructor)) static void init(void) { head = malloc(16); }
                static void *t(void *a) { int *p = atomic_exchange(&head, 0); free(p); int *q = malloc(16); assert(p != q); free(q); return 0; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); (void)atomic_load(&head); pthread_join(h, 0); }",
                Fails(&["assertion"]),
            ),
            (
                "allocated-before-main-and-kept",
                "",
                "static int *_Atomic head; __attribute__((constructor)) static void init(void) { head = malloc(16); *head = 3; }
                static void *t(void *a) { int *p = malloc(16); *p = 1; assert(p != head); free(p); return 0; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); t(0); pthread_join(h, 0); assert(*head == 3); free(head); }",
                Verified,
            ),
        ],
    );
}

#[test]
fn addresses_of_freed_blocks_are_not_compared() {
    check(
        "compared",
        &[
            (
                "grown-in-place",
                "",
                "int main(void) { int *p = malloc(16); *p = 1; int *q = realloc(p, 64); if (q == p) abort(); free(q); }",
                Named("reuse"),
            ),
            (
                "grown-and-used-alone",
                "",
                "int main(void) { int *p = malloc(16); *p = 1; int *q = realloc(p, 64); if (!q) return 1; assert(*q == 1); free(q); }",
                Verified,
            ),
            (
                "same-thread",
                "",
                "int main(void) { int *p = malloc(16), *old = p; free(p); p = malloc(16); if (p == old) abort(); free(p); }",
                Named("reuse"),
            ),
            (
                "same-thread-all",
                "--reuse all",
                "int main(void) { int *p = malloc(16), *old = p; free(p); p = malloc(16); assert(p != old); free(p); }",
                Fails(&["assertion"]),
            ),
            (
                "numbers",
                "",
                "int main(void) { void *p = malloc(16); uintptr_t old = (uintptr_t)p; free(p); p = malloc(8); int same = (uintptr_t)p == old; free(p); return same; }",
                Named("reuse"),
            ),
            (
                "not-published",
                "",
                "static atomic_int x; static void *t(void *a) { char *p = malloc(8), *old = p; x++; free(p); p = malloc(8); if (old != p) x++; free(p); return 0; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); x++; pthread_join(h, 0); }",
                Named("reuse"),
            ),
            (
                "both-were-there",
                "",
                "struct N { struct N *next; };
                int main(void) { struct N *a = malloc(8), *b = malloc(8); a->next = b; b->next = 0; struct N *gone = a; free(a);
                    for (struct N *n = b; n; n = n->next) assert(n != gone); free(b); }",
                Verified,
            ),
            (
                "too-large",
                "",
                "int main(void) { char *p = malloc(8), *old = p; free(p); p = malloc(64); assert(p != old); free(p); }",
                Verified,
            ),
            (
                "to-null",
                "",
                "int main(void) { char *p = malloc(8); free(p); char *q = malloc(8); assert(p != 0 && q != 0); free(q); }",
                Verified,
            ),
            (
                "containers.cpp",
                "",
                "#include <cassert>\n#include <list>\n#include <map>\n#include <memory>\n#include <string>\n#include <vector>\n
                int main() { std::vector<int> v; for (int i = 0; i < 9; i++) v.push_back(i); v.erase(v.begin());
                    std::map<int, std::string> m; m[1] = \"a\"; m.erase(1); m[2] = std::string(40, 'x'); m[2] += m[2];
                    std::list<int> l{1, 2, 3}; l.remove(2); l.push_back(7);
                    auto p = std::make_shared<int>(3); p = std::make_shared<int>(4); std::unique_ptr<int> u(new int); u.reset(new int(3));
                    assert(v.size() == 8 && m.size() == 1 && l.size() == 3); }",
                Verified,
            ),
        ],
    );
}

#[test]
fn addresses_are_looked_at_as_numbers() {
    check(
        "numbers",
        &[
            ("order-of-a-freed-one", "", "int main(void) { char *a = malloc(8); uintptr_t x = (uintptr_t)a; free(a); char *b = malloc(8); assert((uintptr_t)b > x); free(b); }", Named("reuse")),
            ("memcmp", "", "int main(void) { char *a = malloc(8), *c = a; free(a); char *b = malloc(8); assert(memcmp(&b, &c, sizeof b) != 0); free(b); }", Named("reuse")),
            ("remainder", "", "static unsigned h(void *p) { return (uintptr_t)p / 16 % 1021; }
                int main(void) { char *a = malloc(8); unsigned k = h(a); free(a); char *b = malloc(8); assert(h(b) != k); free(b); }", Named("reuse")),
            ("mask", "", "static unsigned h(void *p) { return (uintptr_t)p & 0xfffff; }
                int main(void) { char *a = malloc(8); unsigned k = h(a); free(a); char *b = malloc(8); assert(h(b) != k); free(b); }", Named("reuse")),
            ("hash-of-the-lower-half", "", "static unsigned h(void *p) { return (uint32_t)(uintptr_t)p * 2654435761u; }
                int main(void) { char *a = malloc(8); unsigned k = h(a); free(a); char *b = malloc(8); assert(h(b) != k); free(b); }", Named("reuse")),
            ("lower-half-in-a-variable", "", "static unsigned h(void *p) { uint32_t x = (uintptr_t)p; x ^= x >> 15; return x; }
                int main(void) { char *a = malloc(8); unsigned k = h(a); free(a); char *b = malloc(8); assert(h(b) != k); free(b); }", Named("reuse")),
            ("lower-half-of-a-result", "", "static unsigned h(void *p) { return (uintptr_t)p; }
                int main(void) { char *a = malloc(8); unsigned k = h(a); free(a); char *b = malloc(8); assert(h(b) != k); free(b); }", Named("reuse")),
            ("lowest-bytes", "", "static unsigned h(void *p) { return (uint16_t)(uintptr_t)p; }
                int main(void) { char *a = malloc(8); unsigned k = h(a); free(a); char *b = malloc(8); assert(h(b) != k); free(b); }", Named("reuse")),
            ("hash-of-bytes", "", "static unsigned h(void *p) { unsigned char *b = (unsigned char *)&p; unsigned x = 0; for (int i = 0; i < 8; i++) x = x * 31 + b[i]; return x; }
                int main(void) { char *a = malloc(8); unsigned k = h(a); free(a); char *b = malloc(8); assert(h(b) != k); free(b); }", Named("reuse")),
            ("hash-of-bytes-of-a-key", "", "struct K { void *p; long n; }; static unsigned h(struct K *k) { unsigned char *b = (unsigned char *)k; unsigned x = 0; for (unsigned i = 0; i < sizeof *k; i++) x = (x ^ b[i]) * 16777619u; return x; }
                int main(void) { struct K *k = malloc(sizeof *k); char *a = malloc(8); *k = (struct K){a, 1}; unsigned x = h(k); free(a); k->p = malloc(8); assert(h(k) != x); }", Named("reuse")),
            ("halves-of-a-union", "", "static unsigned h(void *p) { union { void *p; unsigned w[2]; } u = {p}; return u.w[0] ^ u.w[1]; }
                int main(void) { char *a = malloc(8); unsigned k = h(a); free(a); char *b = malloc(8); assert(h(b) != k); free(b); }", Named("reuse")),
            ("multiple", "", "static unsigned long h(void *p) { return (uintptr_t)p * 3; }
                int main(void) { char *a = malloc(8); unsigned long k = h(a); free(a); char *b = malloc(8); assert(h(b) % 1021 != k % 1021); free(b); }", Named("reuse")),
            ("shifted-to-the-left", "", "static unsigned long h(void *p) { return (uintptr_t)p << 16; }
                int main(void) { char *a = malloc(8); unsigned long k = h(a); free(a); char *b = malloc(8); assert(h(b) != k); free(b); }", Named("reuse")),
            ("as-a-double", "", "static double h(void *p) { return (double)(long)p; }
                int main(void) { char *a = malloc(8); double k = h(a); free(a); char *b = malloc(8); assert(h(b) != k); free(b); }", Named("reuse")),
            ("bytes-of-a-handle", "", "static unsigned h(pthread_t t) { unsigned char *b = (unsigned char *)&t; unsigned x = 0; for (int i = 0; i < 8; i++) x = x * 31 + b[i]; return x; } static void *f(void *a) { return a; }
                int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_join(a, 0); unsigned k = h(a); pthread_create(&b, 0, f, 0); pthread_join(b, 0); assert(h(b) != k); }", Named("reuse")),
            ("set.cpp", "", "#include <cassert>\n#include <set>\nint main() { std::set<void *> s; auto p = new int; s.insert(p); delete p; auto q = new int; assert(s.insert(q).second); }", Named("reuse")),
            ("unordered-set.cpp", "", "#include <cassert>\n#include <unordered_set>\nint main() { std::unordered_set<void *> s; auto p = new int; s.insert(p); delete p; auto q = new int; assert(s.insert(q).second); }", Named("reuse")),
            ("order-of-two-threads", "", "static uintptr_t p, q; static void *f(void *a) { p = (uintptr_t)malloc(8); return 0; } static void *g(void *a) { q = (uintptr_t)malloc(8); return 0; }
                int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0); pthread_join(t, 0); pthread_join(u, 0); assert(p < q); }", Named("reuse")),
            ("order-of-handles.cpp", "", "#include <cassert>\n#include <thread>\nint main() { std::thread a([] {}), b([] {}); bool l = a.get_id() < b.get_id(); a.join(); b.join(); assert(l); }", Named("reuse")),
            ("handles-in-a-table.cpp", "", "#include <cassert>\n#include <thread>\n#include <unordered_map>\nstatic std::unordered_map<std::thread::id, int> m; static void w(int i) { m[std::this_thread::get_id()] = i; }
                int main() { std::thread a(w, 1); a.join(); std::thread b(w, 2); b.join(); assert(m.size() == 2); }", Named("reuse")),
            ("handles-as-bytes", "", "static void *f(void *a) { return a; }
                int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_join(a, 0); pthread_create(&b, 0, f, 0); pthread_join(b, 0); assert(memcmp(&a, &b, sizeof a)); }", Named("reuse")),
            ("remainder-of-a-handle", "", "static unsigned long seen[8]; static int n;
                static void *f(void *a) { unsigned long h = (unsigned long)pthread_self() % 8191; for (int i = 0; i < n; i++) if (seen[i] == h) return 0; seen[n++] = h; return 0; }
                int main(void) { for (int i = 0; i < 2; i++) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); } assert(n == 2); }", Named("reuse")),
            ("owner-is-a-thread-local", "", "static _Thread_local char me; static char *owner; static int hits; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
                static void *f(void *a) { pthread_mutex_lock(&m); if (owner == &me) hits++; owner = &me; pthread_mutex_unlock(&m); return 0; }
                int main(void) { for (int i = 0; i < 2; i++) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); } assert(hits == 0); }", Named("reuse")),
            ("stack-of-a-thread-that-is-gone", "", "static uintptr_t x; static void *f(void *a) { int z; uintptr_t v = (uintptr_t)&z; if (x) assert(x != v); x = v; return 0; }
                int main(void) { for (int i = 0; i < 2; i++) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); } }", Named("reuse")),
            ("variable-of-a-function-that-returned", "", "static uintptr_t f(void) { int z; return (uintptr_t)&z; } static uintptr_t g(void) { int z[20]; return (uintptr_t)&z[3]; }
                int main(void) { uintptr_t x = f(), y = g(); assert(x != y); free(malloc(1)); }", Named("reuse")),
            // Common uses in ordinary programs.
            ("arithmetic-within-one-block", "", "static int a[8]; int main(void) { int *p = malloc(64), *old = malloc(64), n = 0; free(old); for (int *q = p; q < p + 16; q++) *q = 1, n++;
                for (int *q = a; q < a + 8; q++) n++; int b[8]; for (int *q = b; q != b + 8 && q < b + 8; q++) n++; assert(&p[5] - p == 5 && n == 32);
                char *s = (char *)p + 3; s = (char *)((uintptr_t)s & -(uintptr_t)16); assert(((uintptr_t)p & 7) == 0 && s == (char *)p); free(p); }", Verified),
            ("tags-and-lengths", "", "static void *f(void *a) { int n = 5; char v[n + (a != 0)]; v[0] = 1; return (void *)(uintptr_t)v[0]; }
                int main(void) { for (int i = 0; i < 2; i++) { pthread_t t; pthread_create(&t, 0, f, &t); pthread_join(t, 0); char *p = malloc(8); uintptr_t tagged = (uintptr_t)p | 1; assert(tagged & 1); free((void *)(tagged & ~(uintptr_t)1)); } }", Verified),
            ("hash-of-numbers", "", "int main(void) { free(malloc(8)); uint64_t h = 0x9e3779b97f4a7c15u; for (int i = 0; i < 50; i++) { h ^= h >> 13; h *= 0x5bd1e995u; h += h % 1021; } assert(h != 1); }", Verified),
            ("parts-of-numbers", "", "struct S { int a, b; long n; }; static int g(struct S s) { return s.a + s.b; } static int f(void *a) { return (int)(long)a; }
                int main(void) { char *p = malloc(16), *q; free(malloc(8)); for (int i = 0; i < 3; i++) { q = malloc(8); memset(q, 'a', 7); q[7] = 0; int n = (int)(q + 3 - q), w[9]; w[n] = f((void *)(long)n);
                    int is = q ? 1 : 0; assert(w[n] == 3 && is && strlen(q) == 7 && q[2] == 'a' && g((struct S){1, 2, 3}) == 3 && ((uintptr_t)q & 7) == 0); free(q); } free(p); }", Verified),
            ("strings-in-strings.cpp", "", "#include <string>\n#include <vector>\n#include <algorithm>\nint main() { std::u16string s(20, u'a'), t(30, u'b'); s.append(t); s.replace(2, 3, t.data(), 5); std::vector<std::string> v{\"b\", \"a\"}; std::sort(v.begin(), v.end()); return v[0] == \"a\" ? 0 : 1; }", Verified),
        ],
    );
}

#[test]
fn writes_that_are_easy_to_overlook() {
    check(
        "overlooked",
        &[
            ("calloc", "", "static _Atomic(int *) p; static void *f(void *a) { int *q = calloc(1, 8); atomic_store_explicit(&p, q, memory_order_relaxed); return 0; }
                int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); int *q = atomic_load_explicit(&p, memory_order_relaxed); if (q) assert(*q == 0); pthread_join(t, 0); }", Fails(&["data-race"])),
            ("calloc-published", "", "static _Atomic(int *) p; static void *f(void *a) { int *q = calloc(1, 8); p = q; return 0; }
                int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); int *q = p; if (q) assert(*q == 0); pthread_join(t, 0); free(p); }", Verified),
            ("expected-in-a-node", "", "struct N { struct N *next; int v; }; static _Atomic(struct N *) top;
                static void *f(void *a) { struct N *n = malloc(sizeof *n); n->v = 1; n->next = top; while (!atomic_compare_exchange_weak(&top, &n->next, n)); return 0; }
                int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); int c = 0; for (struct N *p = top; p;) { c++; struct N *q = p->next; free(p); p = q; } assert(c == 2); }", Verified),
            ("expected-that-others-read", "", "static atomic_int x; static int *e; static void *f(void *a) { atomic_compare_exchange_weak(&x, e, 1); return 0; }
                int main(void) { e = malloc(4); *e = 0; pthread_t t; pthread_create(&t, 0, f, 0); int v = *e; pthread_join(t, 0); assert(v == 0); free(e); }", Fails(&["data-race"])),
            ("rdtsc", "", "static void *f(void *a) { unsigned x, y; __asm__ volatile(\"rdtsc\" : \"=a\"(x), \"=d\"(y)); return 0; }
                int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); }", Named("inputs")),
        ],
    );
}

#[test]
fn release_sequences_go_on_with_stores_of_the_same_thread_before_cpp20() {
    const IN_CPP: &str = "#include <atomic>\n#include <cassert>\n#include <thread>\nstatic std::atomic<int> fl; static int d;
                int main() { std::thread t([] { d = 1; fl.store(1, std::memory_order_release); fl.store(2, std::memory_order_relaxed); }); if (fl.load(std::memory_order_acquire) == 2) assert(d == 1); t.join(); }";
    const OF_ANOTHER: &str = "static atomic_int fl; static int d; static void *f(void *a) { d = 1; atomic_store_explicit(&fl, 1, memory_order_release); return 0; }
        static void *g(void *a) { atomic_store_explicit(&fl, 2, memory_order_relaxed); return 0; }
        int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0); if (atomic_load_explicit(&fl, memory_order_acquire) == 2 && fl == 2) d = 2; pthread_join(t, 0); pthread_join(u, 0); }";
    check(
        "sequences",
        &[
            ("c", "", "static atomic_int fl; static int d; static void *f(void *a) { d = 1; atomic_store_explicit(&fl, 1, memory_order_release); atomic_store_explicit(&fl, 2, memory_order_relaxed); return 0; }
                int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); if (atomic_load_explicit(&fl, memory_order_acquire) == 2) assert(d == 1); pthread_join(t, 0); }", Holds),
            ("of-another-thread", "", OF_ANOTHER, Fails(&["data-race"])),
            ("cpp17.cpp", "--cflags -std=c++17", IN_CPP, Holds),
            ("cpp20.cpp", "--cflags -std=c++20", IN_CPP, Fails(&["data-race"])),
        ],
    );
}

#[test]
fn frames_and_thread_locals_end() {
    check(
        "frames",
        &[
            (
                "of-another-thread",
                "",
                "static int *_Atomic g; static void f(void) { int x = 5; g = &x; }
                static void *t(void *a) { *g = 3; return 0; }
                int main(void) { f(); pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); }",
                Fails(&["use-after-free"]),
            ),
            (
                "of-a-thread-that-waits",
                "",
                "static int *_Atomic g; static sem_t s; static void f(void) { int x = 5; g = &x; }
                static void *t(void *a) { f(); sem_wait(&s); return 0; }
                static void *u(void *a) { int *p = g; if (p) assert(*p != 77); sem_post(&s); return 0; }
                int main(void) { sem_init(&s, 0, 0); pthread_t h, i; pthread_create(&h, 0, t, 0); pthread_create(&i, 0, u, 0);
                    pthread_join(h, 0); pthread_join(i, 0); }",
                Fails(&["use-after-free"]),
            ),
            (
                "of-a-function-that-does-something-first",
                "",
                "static atomic_int done, on; static void *t(void *a) { *(int *)a = 1; done = 1; return 0; }
                static void go(void) { int x = 0; pthread_t h; pthread_create(&h, 0, t, &x); pthread_detach(h); on = 1; }
                int main(void) { go(); while (!done); }",
                Fails(&["data-race"]),
            ),
            (
                "atomic-of-a-function-that-does-something-first",
                "",
                "static atomic_int done, on; static void *t(void *a) { *(atomic_int *)a = 1; done = 1; return 0; }
                static void go(void) { atomic_int x = 0; pthread_t h; pthread_create(&h, 0, t, (void *)&x); pthread_detach(h); on = 1; }
                int main(void) { go(); while (!done); }",
                Fails(&["data-race", "use-after-free"]),
            ),
            (
                "of-a-function-that-waits",
                "",
                "static atomic_int done; static void *t(void *a) { *(int *)a = 1; done = 1; return 0; }
                static void go(void) { int x = 0; pthread_t h; pthread_create(&h, 0, t, &x); pthread_detach(h); while (!done); done = 0; }
                int main(void) { go(); go(); }",
                Verified,
            ),
            (
                "of-a-thread-that-ends",
                "",
                "static int *_Atomic g; static atomic_int on; static void *t(void *a) { int x = 0; g = &x; on = 1; return 0; }
                static void *u(void *a) { int *p = g; if (p) *p = 1; on = 2; return 0; }
                int main(void) { pthread_t h, i; pthread_create(&h, 0, t, 0); pthread_create(&i, 0, u, 0); pthread_join(h, 0); pthread_join(i, 0); }",
                Fails(&["data-race", "use-after-free"]),
            ),
            (
                "of-main",
                "",
                "static void *t(void *a) { *(int *)a = 1; return 0; }
                int main(void) { int x = 0; pthread_t h; pthread_create(&h, 0, t, &x); pthread_detach(h); return 0; }",
                Fails(&["use-after-free", "data-race"]),
            ),
            (
                "of-main-before-its-end",
                "",
                "static atomic_int on; static void *t(void *a) { *(int *)a = 1; on = 1; return 0; }
                int main(void) { int x = 0; pthread_t h; pthread_create(&h, 0, t, &x); pthread_detach(h); on = 2; return 0; }",
                Fails(&["use-after-free", "data-race"]),
            ),
            (
                "of-main-that-calls-exit",
                "",
                "static void *t(void *a) { *(int *)a = 1; return 0; }
                int main(void) { int x = 0; pthread_t h; pthread_create(&h, 0, t, &x); pthread_detach(h); exit(0); }",
                Verified,
            ),
            (
                "of-main-that-waits",
                "",
                "static void *t(void *a) { ((int *)a)[1] = 1; return 0; }
                int main(void) { int x[2] = {0}; pthread_t h; pthread_create(&h, 0, t, x); pthread_join(h, 0); return x[1] - 1; }",
                Verified,
            ),
            (
                "of-the-same-thread",
                "",
                "static int *_Atomic g; static void f(void) { int x = 5; g = &x; } int main(void) { f(); return *g == 77; }",
                Fails(&["use-after-free"]),
            ),
            (
                "of-the-same-thread-beside-others",
                "",
                "static int *_Atomic g; static void f(void) { int x = 5; g = &x; } static void *t(void *a) { f(); *g = 1; return 0; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); }",
                Fails(&["use-after-free"]),
            ),
            (
                "atomic",
                "",
                "static atomic_int *_Atomic g; static void f(void) { atomic_int x = 5; g = &x; } static void *t(void *a) { ++*g; return 0; }
                int main(void) { f(); pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); }",
                Fails(&["use-after-free"]),
            ),
            (
                "frames-that-are-there",
                "",
                "#include <alloca.h>\n#include <setjmp.h>\nstatic jmp_buf j; static int *_Atomic g; static pthread_barrier_t b;
                static void deep(int *p) { *p = 3; longjmp(j, 1); }
                static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
                static void f(void) { int x = 5; g = &x; pthread_barrier_wait(&b); pthread_barrier_wait(&b); assert(x == 6); }
                static void *t(void *a) { f(); return 0; }
                int main(void) { int v[3] = {3, 1, 2}; qsort(v, 3, 4, compare); int x = 0, n = 7; if (!setjmp(j)) deep(&x); char *p = alloca(100);
                    memset(p, 1, 100); char r[n]; memset(r, 0, n); assert(v[0] == 1 && p[99] == 1 && r[6] == 0);
                    pthread_barrier_init(&b, 0, 2); pthread_t h; pthread_create(&h, 0, t, 0); pthread_barrier_wait(&b); *g = 6;
                    pthread_barrier_wait(&b); pthread_join(h, 0); }",
                Verified,
            ),
            (
                "other-stacks",
                "",
                "#include <ucontext.h>\nstatic ucontext_t m, c; static int *p; static void f(void) { int x = 4; p = &x; swapcontext(&c, &m); *p += x; }
                int main(void) { int y = 1; getcontext(&c); c.uc_stack.ss_sp = malloc(65536); c.uc_stack.ss_size = 65536; c.uc_link = &m;
                    makecontext(&c, f, 0); swapcontext(&m, &c); *p = 7; int *q = &y; *q = 2; swapcontext(&m, &c); assert(y == 2); }",
                Holds,
            ),
            (
                "thread-local",
                "",
                "static _Thread_local int n = 3; static int *_Atomic g; static void *t(void *a) { n = 4; g = &n; return 0; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); assert(*g == 4); }",
                Fails(&["use-after-free"]),
            ),
            (
                "thread-local-after-pthread-exit",
                "",
                "static _Thread_local int n = 3; static int *_Atomic g; static void *t(void *a) { g = &n; pthread_exit(0); }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); *g = 4; }",
                Fails(&["use-after-free"]),
            ),
            (
                "thread-local-of-a-thread-that-is-there",
                "",
                "static _Thread_local int n = 3; static int *_Atomic g; static sem_t s, e;
                static void *t(void *a) { g = &n; sem_post(&s); sem_wait(&e); assert(n == 4); return 0; }
                int main(void) { sem_init(&s, 0, 0); sem_init(&e, 0, 0); pthread_t h; pthread_create(&h, 0, t, 0); sem_wait(&s); *g = 4;
                    sem_post(&e); pthread_join(h, 0); assert(n == 3); n = 5; }",
                Verified,
            ),
            (
                "value-of-a-key",
                "",
                "static pthread_key_t k; static void end(void *p) { assert(*(int *)p == 3); free(p); }
                static void *t(void *a) { int *p = malloc(4); *p = 3; pthread_setspecific(k, p); return 0; }
                int main(void) { pthread_key_create(&k, end); pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); }",
                Verified,
            ),
        ],
    );
}

#[test]
fn mapped_memory_changes_and_goes() {
    const START: &str = "#include <sys/mman.h>\nstatic char *p; static void *t(void *a) { ";
    const MAIN: &str = "; return 0; } int main(void) { p = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); p[0] = 1; pthread_t h; \
                        pthread_create(&h, 0, t, 0); ";
    let dir = place("memory-mapped");
    for (name, thread, main, right) in [
        (
            "unmapped",
            "munmap(p, 4096)",
            "int v = p[0]; pthread_join(h, 0); return v - 1; }",
            &["data-race"][..],
        ),
        (
            "dropped",
            "madvise(p, 4096, MADV_DONTNEED)",
            "int v = p[0]; pthread_join(h, 0); return v > 1; }",
            &["data-race"],
        ),
        ("protected", "mprotect(p, 4096, PROT_READ)", "p[0] = 2; pthread_join(h, 0); }", &["data-race"]),
        (
            "protected-from-all",
            "mprotect(p, 4096, PROT_NONE)",
            "int v = p[0]; pthread_join(h, 0); return v - 1; }",
            &["data-race"],
        ),
        ("later", "munmap(p, 4096)", "pthread_join(h, 0); return p[0] - 1; }", &["signal"]),
        (
            "read-only",
            "mprotect(p, 4096, PROT_READ)",
            "int v = p[0]; pthread_join(h, 0); return v - 1; }",
            &[],
        ),
        ("elsewhere", "munmap(p + 4096, 4096)", "int v = p[0]; pthread_join(h, 0); return v - 1; }", &[]),
        ("in-order", "madvise(p, 4096, MADV_DONTNEED)", "pthread_join(h, 0); return p[0]; }", &[]),
    ] {
        let report = report(&dir, name, "", &format!("{START}{thread}{MAIN}{main}"));
        match right {
            [] => assert_eq!(report["verdict"], "verified", "{name}: {report:#}"),
            [kind, ..] => assert_eq!(report["failures"][0]["kind"], *kind, "{name}: {report:#}"),
        }
    }
    check(
        "break",
        &[
            (
                "sbrk",
                "",
                "int main(void) { char *p = sbrk(4096); p[0] = 1; assert(p[0] == 1); }",
                Named("state"),
            ),
            ("asked", "", "int main(void) { assert(sbrk(0)); }", Verified),
        ],
    );
}

#[test]
fn errno_and_rounding_are_local_state() {
    check(
        "local-state",
        &[
            (
                "rounding",
                "",
                "static atomic_int f; static void next(void) { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() + 0x2000); }
                static int last(void) { return (__builtin_ia32_stmxcsr() & 0x6000) == 0x6000; }
                static void clear(void) { volatile char c[400]; for (int i = 0; i < 400; i++) c[i] = 0; }
                static void *t(void *a) { while (!f) { assert(!last()); clear(); next(); clear(); } return 0; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); f = 1; pthread_join(h, 0); }",
                Fails(&["assertion"]),
            ),
            (
                "errno",
                "",
                "#include <errno.h>\nstatic sem_t s; static atomic_int f;
                static void *t(void *a) { errno = 0; while (!f) { assert(errno != ERANGE);
                    if (errno == EAGAIN) strtol(\"99999999999999999999999\", 0, 10); else sem_trywait(&s); } return 0; }
                int main(void) { sem_init(&s, 0, 0); pthread_t h; pthread_create(&h, 0, t, 0); f = 1; pthread_join(h, 0); }",
                Fails(&["assertion"]),
            ),
            (
                "neither-changes",
                "",
                "#include <errno.h>\nstatic atomic_int f; static void *t(void *a) { errno = 3; while (!f) ; assert(errno == 3); return 0; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); f = 1; pthread_join(h, 0); }",
                Verified,
            ),
        ],
    );
}

/// A program of two threads that run `f`.
const TWO: &str = "int main(void) { pthread_t a, b; SETUP; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0); \
                   pthread_join(a, 0); pthread_join(b, 0); return 0; }\n";

#[test]
fn the_expected_value_of_a_compare_exchange_is_plain_memory() {
    let exchange = |declared: &str, setup: &str, call: &str| {
        let text = format!("{declared}\nstatic void *f(void *p) {{ {call}; return 0; }}\n{TWO}");
        &*text.replace("SETUP", setup).leak()
    };
    let strong = "atomic_compare_exchange_strong(&x, &e, 1)";
    let race: Right = Fails(&["data-race"]);
    let heap =
        |setup| exchange("atomic_int x = 5; int *e;", setup, "atomic_compare_exchange_strong(&x, e, 1)");
    check(
        "expected",
        &[
            ("shared", "", exchange("atomic_int x = 5; int e;", "", strong), race),
            (
                "local",
                "",
                exchange("atomic_int x = 5;", "", "int e = 0; atomic_compare_exchange_strong(&x, &e, 1)"),
                Verified,
            ),
            (
                "weak",
                "",
                exchange("atomic_int x = 5; int e;", "", "atomic_compare_exchange_weak(&x, &e, 1)"),
                race,
            ),
            ("byte", "", exchange("atomic_char x = 5; char e;", "", strong), race),
            ("long", "", exchange("atomic_long x = 5; long e;", "", strong), race),
            ("thread_local", "", exchange("atomic_int x = 5; _Thread_local int e;", "", strong), Verified),
            ("freed", "", heap("e = malloc(4); *e = 5; free(e)"), Fails(&["use-after-free"])),
            ("too_small", "", heap("e = malloc(2)"), Fails(&["out-of-bounds"])),
            (
                "locked",
                "",
                exchange(
                    "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; atomic_int x = 5; int e;",
                    "",
                    "pthread_mutex_lock(&m); atomic_compare_exchange_strong(&x, &e, 1); pthread_mutex_unlock(&m)",
                ),
                Verified,
            ),
        ],
    );
}

#[test]
fn wide_accesses_that_are_steps_may_be_torn() {
    let with = |declared: &str, writer: &str, reader: &str| {
        let text = format!(
            "{declared}\nstatic void *w(void *p) {{ {writer}; return 0; }}\nint main(void) {{ pthread_t t; pthread_create(&t, 0, w, 0); \
             {reader}; pthread_join(t, 0); return 0; }}\n"
        );
        &*text.leak()
    };
    let pair = "struct { long a, b; } s; volatile int ready; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;";
    let copies = "__typeof__(s) u = s; (void)u";
    check(
        "torn",
        &[
            ("copy", "--races sync", with(pair, "s.a = 1; s.b = 1", copies), Named("races")),
            (
                "assignment",
                "--races sync",
                with(pair, "static __typeof__(s) k = { 1, 1 }; s = k", "long r = s.b; (void)r"),
                Named("races"),
            ),
            ("wide", "--races sync", with("__int128 x;", "x = 1", "__int128 r = x; (void)r"), Named("races")),
            ("reads", "--races sync", with(pair, copies, copies), Verified),
            (
                "locked",
                "--races sync",
                with(
                    pair,
                    "pthread_mutex_lock(&m); s.a = 1; s.b = 1; pthread_mutex_unlock(&m)",
                    "pthread_mutex_lock(&m); __typeof__(s) u = s; (void)u; pthread_mutex_unlock(&m)",
                ),
                Verified,
            ),
            (
                "flag",
                "--races sync",
                with(pair, "s.a = 1; s.b = 1; ready = 1", "while (!ready) ; __typeof__(s) u = s; (void)u"),
                Verified,
            ),
            (
                "narrow",
                "--races sync",
                with(pair, "s.a = 1; s.b = 1", "long r = s.a; r += s.b; (void)r"),
                Verified,
            ),
        ],
    );
}

#[test]
fn races_that_are_explored_as_steps_are_named() {
    let program = |lock: &str, unlock: &str| {
        format!(
            "#include <assert.h>\n#include <pthread.h>\nint x, y, r, s;\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
             void *t(void *a) {{ {lock} x = 1; r = y; {unlock} return a; }}\n\
             int main(void) {{ pthread_t a; pthread_create(&a, 0, t, 0); {lock} y = 1; s = x; {unlock} pthread_join(a, 0); \
             assert(r || s); return 0; }}\n"
        )
    };
    let dir = place("memory-races-as-steps");
    let caveats = |name: &str, text: &str| {
        let report = report(&dir, name, "--races sync", text);
        assert_eq!(report["verdict"], "verified", "{report:#}");
        report["caveats"].as_array().unwrap().iter().map(|c| c["kind"].clone()).collect::<Vec<_>>()
    };
    // Store buffers let both threads read 0.
    assert_eq!(caveats("racy", &program("", "")), ["memory-order"]);
    let (lock, unlock) = ("pthread_mutex_lock(&m);", "pthread_mutex_unlock(&m);");
    assert!(caveats("locked", &program(lock, unlock)).is_empty());
}
