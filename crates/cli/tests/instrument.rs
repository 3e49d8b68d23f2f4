//! Programs whose accesses compilers do not announce, and programs whose meaning instrumentation must not change.
//! Every program is run with each compiler on this machine.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of a test, which is empty when the test starts.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Place {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("instrument-{test}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("tmp")).unwrap();
        Place(path)
    }

    /// The command with a compiler for C and C++.
    fn command(&self, compiler: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("RADDLE_")) {
            command.env_remove(name);
        }
        // Cargo has libraries looked for where an older build of ours may lie.
        command.env_remove("LD_LIBRARY_PATH");
        let cpp = if compiler == "gcc" { "g++" } else { "clang++" };
        command.env("CC", compiler).env("CXX", cpp);
        command.env("RADDLE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command.env("TMPDIR", self.0.join("tmp")).current_dir(&self.0);
        if args.iter().any(|a| a.starts_with("-O")) {
            command.env("RADDLE_KEEP_O", "1");
        }
        command.args(args);
        command
    }

    /// Runs `raddle check`.
    fn check(&self, compiler: &str, args: &[&str]) -> Output {
        self.command(compiler, &[&["check", "--json"], args].concat()).output().unwrap()
    }

    /// The report on a program.
    fn report(&self, compiler: &str, name: &str, source: &str, options: &[&str]) -> Value {
        fs::write(self.0.join(name), source).unwrap();
        let output = self.check(compiler, &[&[name], options].concat());
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{compiler} {name}: {e}: {out}{err}"))
    }
}

/// The compilers on this machine.
fn compilers() -> Vec<&'static str> {
    let have = |c: &&str| Command::new(c).arg("--version").output().is_ok_and(|o| o.status.success());
    let found: Vec<_> = ["gcc", "clang"].into_iter().filter(have).collect();
    assert!(!found.is_empty(), "there is no C compiler");
    found
}

/// The kinds of the failures in a report.
fn failures(report: &Value) -> Vec<&str> {
    report["failures"].as_array().into_iter().flatten().filter_map(|f| f["kind"].as_str()).collect()
}

/// The kinds of the caveats in a report.
fn caveats(report: &Value) -> Vec<&str> {
    report["caveats"].as_array().into_iter().flatten().filter_map(|c| c["kind"].as_str()).collect()
}

#[test]
fn functions_without_a_declaration_have_the_type_that_the_compiler_knows() {
    let programs = [
        ("malloc", "int main(void) { int *p = malloc(4); *p = 1; return *p - 1; }"),
        ("calloc", "int main(void) { long *p = calloc(2, 8); return p[1] != 0; }"),
        ("strdup", "int main(void) { char *p = strdup(\"ab\"); return p[1] != 'b'; }"),
        ("strchr", "int main(void) { char s[] = \"ab\"; return strchr(s, 'b') - s != 1; }"),
        ("strrchr", "int main(void) { char s[] = \"aba\"; return strrchr(s, 'a') - s != 2; }"),
        ("strstr", "int main(void) { char s[] = \"abc\"; return *strstr(s, \"bc\") != 'b'; }"),
        ("strcpy", "int main(void) { char s[8], *p = strcpy(s, \"ab\"); return p[1] != 'b'; }"),
        ("memcpy", "int main(void) { char s[8], *p = memcpy(s, \"abcdefg\", 7); return p[6] != 'g'; }"),
        ("memset", "int main(void) { char s[8], *p = memset(s, 1, 8); return p[7] != 1; }"),
        ("strcat", "int main(void) { char s[8] = \"a\", *p = strcat(s, \"b\"); return p[1] != 'b'; }"),
        ("sqrt", "int main(int n, char **v) { double x = n; return sqrt(x * 4) != 2; }"),
        ("labs", "int main(int n, char **v) { return labs(-n * 0x500000000) >> 32 != 5; }"),
        ("printf", "int main(int n, char **v) { return printf(\"%d\\n\", n) != 2; }"),
    ];
    let place = Place::new("implicit");
    for compiler in compilers() {
        for (name, source) in programs {
            let report = place.report(compiler, &format!("{name}.c"), source, &["-w", "-std=gnu89"]);
            assert_eq!(report["verdict"], "verified", "{compiler} {name}: {report}");
        }
    }
}

#[test]
fn functions_of_the_program_with_names_of_the_c_library_are_its_own() {
    let programs = [
        ("static.c", "static int memcmp(int a) { return a + 1; } int main(void) { return memcmp(1) != 2; }"),
        (
            "length.c",
            "static int strlen(int *p) { return *p; } int main(void) { int n = 7; return strlen(&n) != 7; }",
        ),
        ("abs.cpp", "static int abs(int *p) { return *p; } int main() { int n = 7; return abs(&n) != 7; }"),
        (
            "member.cpp",
            "struct S { int n; int memcpy(int m) { return n = m; } int strcmp() { return n; } };\n\
             int main() { S s{0}; s.memcpy(3); return s.strcmp() != 3; }",
        ),
    ];
    let place = Place::new("own-names");
    for compiler in compilers() {
        for (name, source) in programs {
            let options: &[&str] = if name.ends_with(".c") { &["-w", "-fno-builtin"] } else { &["-w"] };
            let report = place.report(compiler, name, source, options);
            assert_eq!(report["verdict"], "verified", "{compiler} {name}: {report}");
        }
    }
}

const HEAD: &str = "
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <emmintrin.h>
#ifdef __clang__
#define KEEP __attribute__((noinline, optnone))
#else
#define KEEP __attribute__((noinline, noipa))
#endif
#define RUN(x) ((void (*)(void))x)()
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int is_locked;
static void enter(void) { if (is_locked) pthread_mutex_lock(&m); }
static void leave(void) { if (is_locked) pthread_mutex_unlock(&m); }
";

const MAIN: &str = "
static void *one(void *f) { enter(); RUN(f); leave(); return 0; }
int main(int count, char **words) {
    pthread_t a, b;
    int n = atoi(words[1]);
    is_locked = count > 2;
    pthread_create(&a, 0, one, (void *)pairs[n][0]);
    pthread_create(&b, 0, one, (void *)pairs[n][1]);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

/// Accesses that compilers leave bare, each beside a write of the same memory: declarations, the one, the other.
const BARE: [(&str, &str, &str, &str); 34] = [
    ("argument 1", "struct S { char a; } g; KEEP void use(struct S s) { (void)s; }", "use(g)", "g.a = 1"),
    (
        "argument 3",
        "struct S { char a[3]; } g; KEEP void use(struct S s) { (void)s; }",
        "use(g)",
        "g.a[2] = 1",
    ),
    ("argument 4", "struct S { int a; } g; KEEP void use(struct S s) { (void)s; }", "use(g)", "g.a = 1"),
    ("argument 8", "struct S { int a, b; } g; KEEP void use(struct S s) { (void)s; }", "use(g)", "g.b = 1"),
    (
        "argument 12",
        "struct S { int a, b, c; } g; KEEP void use(struct S s) { (void)s; }",
        "use(g)",
        "g.c = 1",
    ),
    ("argument 16", "struct S { long a, b; } g; KEEP void use(struct S s) { (void)s; }", "use(g)", "g.b = 1"),
    (
        "argument 24",
        "struct S { long a, b, c; } g; KEEP void use(struct S s) { (void)s; }",
        "use(g)",
        "g.c = 1",
    ),
    (
        "argument 65",
        "struct S { char a[65]; } g; KEEP void use(struct S s) { (void)s; }",
        "use(g)",
        "g.a[64] = 1",
    ),
    (
        "argument 200",
        "struct S { long a[25]; } g; KEEP void use(struct S s) { (void)s; }",
        "use(g)",
        "g.a[24] = 1",
    ),
    (
        "argument by pointer",
        "struct S { long a, b, c; } g, *p = &g; KEEP void use(struct S s) { (void)s; }",
        "use(*p)",
        "g.b = 1",
    ),
    (
        "result 4",
        "struct S { int a; } g; KEEP struct S f(void) { return (struct S){1}; }",
        "g = f()",
        "g.a = 2",
    ),
    (
        "result 12",
        "struct S { int a, b, c; } g; KEEP struct S f(void) { return (struct S){1, 2, 3}; }",
        "g = f()",
        "g.c = 2",
    ),
    (
        "result 24",
        "struct S { long a, b, c; } g; KEEP struct S f(void) { return (struct S){1, 2, 3}; }",
        "g = f()",
        "g.c = 2",
    ),
    (
        "result 200",
        "struct S { long a[25]; } g; KEEP struct S f(void) { struct S s = {{0}}; return s; }",
        "g = f()",
        "g.a[24] = 2",
    ),
    (
        "returned",
        "struct S { long a, b, c; } g; KEEP struct S f(void) { return g; }",
        "struct S s = f(); (void)s",
        "g.c = 2",
    ),
    ("copy", "struct S { long a, b, c; } g, h;", "g = h", "h.c = 2"),
    ("copy of 200", "struct S { long a[25]; } g, h;", "g = h", "h.a[24] = 2"),
    ("union", "union U { long a[3]; char c; } g; KEEP void use(union U s) { (void)s; }", "use(g)", "g.c = 1"),
    ("literal", "struct S { long a, b, c; } g;", "g = (struct S){1, 2, 3}", "g.b = 2"),
    ("memcpy 3", "char g[8], h[8];", "__builtin_memcpy(g, h, 3)", "h[2] = 1"),
    ("memcpy 24", "char g[32], h[32];", "__builtin_memcpy(g, h, 24)", "g[23] = 1"),
    ("memset 12", "char g[16];", "__builtin_memset(g, 1, 12)", "g[11] = 1"),
    ("memset 300", "char g[300];", "__builtin_memset(g, 1, 300)", "g[299] = 1"),
    ("strcpy", "char g[16];", "__builtin_strcpy(g, \"hello\")", "g[5] = 1"),
    ("memcmp", "char g[8], h[8]; int n;", "n = __builtin_memcmp(g, h, 8) == 0", "g[7] = 1"),
    ("bit-fields", "struct S { unsigned a : 3, b : 5; } g;", "g.a = 2", "g.b = 3"),
    ("complex", "_Complex double g, h;", "g = h", "__imag__ h = 1"),
    ("long double", "long double g, h;", "g = h", "g = 2"),
    ("wide integer", "__int128 g, h;", "g = h", "h = 2"),
    (
        "vector of 16",
        "typedef int V __attribute__((vector_size(16))); V g, h;",
        "g = h",
        "((int *)&h)[3] = 2",
    ),
    ("non-temporal", "int g;", "_mm_stream_si32(&g, 1)", "g = 2"),
    ("non-temporal 16", "__m128i g;", "_mm_stream_si128(&g, _mm_setzero_si128())", "((int *)&g)[3] = 2"),
    (
        "va_arg",
        "struct S { long a, b, c; } g; KEEP long f(int n, ...) { va_list l; va_start(l, n); struct S s = va_arg(l, struct S); \
         va_end(l); return s.a; }",
        "f(1, g)",
        "g.b = 1",
    ),
    (
        "wide atomic beside plain",
        "_Alignas(16) __int128 g;",
        "__sync_val_compare_and_swap(&g, 0, 1)",
        "((long *)&g)[1] = 1",
    ),
];

/// One program with all of the pairs: its argument says which one is run.
fn all_pairs() -> String {
    let mut source = HEAD.to_owned();
    const NAMES: [&str; 9] = ["S", "U", "V", "g", "h", "p", "n", "f", "use"];
    for (i, (_, declarations, first, second)) in BARE.iter().enumerate() {
        NAMES.iter().for_each(|n| source += &format!("#define {n} {n}_{i}\n"));
        source += &format!("{declarations}\nstatic void first_{i}(void) {{ {first}; }}\n");
        source += &format!("static void second_{i}(void) {{ {second}; }}\n");
        NAMES.iter().for_each(|n| source += &format!("#undef {n}\n"));
    }
    source += "static void (*const pairs[][2])(void) = {\n";
    (0..BARE.len()).for_each(|i| source += &format!("{{first_{i}, second_{i}}},\n"));
    source + "};\n" + MAIN
}

#[test]
fn accesses_that_compilers_leave_bare_are_seen() {
    let place = Place::new("bare");
    fs::write(place.0.join("pairs.c"), all_pairs()).unwrap();
    for compiler in compilers() {
        for level in ["-O0", "-O1", "-O2"] {
            let options = ["cc", "-w", "-mcx16", level, "pairs.c", "-o", "pairs", "-latomic"];
            let made = place.command(compiler, &options).output().unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            for (i, (name, ..)) in BARE.iter().enumerate() {
                let run = |locked: &[&str]| -> Value {
                    let mut command = Command::new(place.0.join("pairs"));
                    command
                        .arg(i.to_string())
                        .args(locked)
                        .env("RADDLE_JSON", "1")
                        .env_remove("LD_LIBRARY_PATH");
                    let output = command.output().unwrap();
                    serde_json::from_slice(&output.stdout)
                        .unwrap_or_else(|e| panic!("{compiler} {level} {name}: {e}: {output:?}"))
                };
                let report = run(&[]);
                assert_eq!(failures(&report), ["data-race"], "{compiler} {level} {name}: {report}");
                let report = run(&["locked"]);
                assert_eq!(report["verdict"], "verified", "{compiler} {level} {name}: {report}");
                assert_eq!(report["executions"], 2, "{compiler} {level} {name}: {report}");
            }
        }
    }
}

/// Starts two threads that run `w`, and waits for both.
const BOTH: &str = "
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, w, 0);
    pthread_create(&b, 0, w, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    END;
    return 0;
}
";

#[test]
fn inline_assembly_that_is_known_is_explored() {
    // A spin lock by exchange has eight executions, as the same program with `__atomic_exchange_n` has.
    let xchg = "static int lock, n;
static int xchg(int *p, int v) { __asm__ volatile(\"xchgl %0, %1\" : \"+r\"(v), \"+m\"(*p) :: \"memory\"); return v; }
static void *w(void *p) { while (xchg(&lock, 1)) __asm__ volatile(\"pause\"); n++; UNLOCK; return p; }";
    let unlock = "__asm__ volatile(\"movl $0, %0\" : \"=m\"(lock) :: \"memory\")";
    let by_exchange = format!("#define END assert(n == 2)\n#define UNLOCK xchg(&lock, 0)\n{xchg}");
    let by_store = format!("#define END assert(n == 2)\n#define UNLOCK {unlock}\n{xchg}");
    let none = format!("#define END (void)0\n#define UNLOCK (void)0\n{}", xchg.replace("n++", "lock = 0"));
    let kernel = "#define END assert(n == 2)\nstatic signed char lock = 1; static int n;
static void acquire(void) {
    __asm__ volatile(\"1: lock; decb %0\\n\\tjns 3f\\n2: rep; nop\\n\\tcmpb $0,%0\\n\\tjle 2b\\n\\tjmp 1b\\n3:\" : \"+m\"(lock) :: \"memory\");
}
static void release(void) { __asm__ volatile(\"movb $1,%0\" : \"+m\"(lock) :: \"memory\"); }
static void *w(void *p) { acquire(); n++; release(); return p; }";
    let add = "#define END assert(n == 2)\nstatic int n;
static void *w(void *p) { ADD; return p; }";
    let counted = |how: &str| {
        format!("#define ADD __asm__ volatile(\"{how}\" : \"+m\"(n) : \"r\"(1) : \"memory\", \"cc\")\n{add}")
    };
    let lost = "#define END assert(n == 2)\nstatic int n;
static int get(void) { int r; __asm__ volatile(\"movl %1,%0\" : \"=r\"(r) : \"m\"(n)); return r; }
static void set(int v) { __asm__ volatile(\"movl %1,%0\" : \"=m\"(n) : \"r\"(v)); }
static void *w(void *p) { set(get() + 1); return p; }";
    let compare = "#define END assert(n == 2)\nstatic int n;
static int cas(int old, int new) {
    int r;
    __asm__ volatile(\"lock; cmpxchgl %2, %1\" : \"=a\"(r), \"+m\"(n) : \"r\"(new), \"0\"(old) : \"memory\");
    return r == old;
}
static void *w(void *p) { if (!cas(0, 1)) cas(1, 2); return p; }";
    let unknown = "#define END (void)0\nstatic int n;
static void *w(void *p) { __asm__ volatile(\"incl %0\" : \"+m\"(n)); return p; }";
    let harmless = "#define END (void)0\nstatic int n; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static unsigned swap(unsigned x) { __asm__(\"bswap %0\" : \"+r\"(x)); return x; }
static void *w(void *p) {
    __asm__ volatile(\"\" ::: \"memory\");
    __asm__ volatile(\"sfence; lfence; pause; nop\");
    pthread_mutex_lock(&m);
    n += swap(1);
    pthread_mutex_unlock(&m);
    return p;
}";
    // The program, the verdict or failure, and the number of executions where it was counted by hand.
    let programs = [
        ("exchange", by_exchange, "verified", Some(8)),
        ("store", by_store, "verified", Some(8)),
        ("no order", none, "data-race", None),
        ("kernel", kernel.to_owned(), "verified", None),
        ("lock add", counted("lock; addl %1, %0"), "verified", Some(2)),
        ("lock inc", counted("lock incl %0"), "verified", Some(2)),
        ("xadd", counted("lock; xaddl %1, %0"), "verified", Some(2)),
        ("lost", lost.to_owned(), "assertion", None),
        ("compare", compare.to_owned(), "verified", None),
        ("unknown", unknown.to_owned(), "no-failure-with-caveats", None),
        ("harmless", harmless.to_owned(), "verified", Some(2)),
    ];
    let place = Place::new("assembly");
    for compiler in compilers() {
        for (name, source, wanted, executions) in &programs {
            let source = format!("#include <assert.h>\n#include <pthread.h>\n{source}{BOTH}");
            let report = place.report(compiler, "assembly.c", &source, &["-w", "--max-seconds", "20"]);
            match failures(&report)[..] {
                [kind] => assert_eq!(kind, *wanted, "{compiler} {name}: {report}"),
                _ => assert_eq!(report["verdict"], *wanted, "{compiler} {name}: {report}"),
            }
            if let Some(executions) = executions {
                assert_eq!(report["executions"], *executions, "{compiler} {name}: {report}");
            }
            if *name == "unknown" {
                assert_eq!(caveats(&report), ["assembly"], "{compiler}: {report}");
            }
        }
    }
}

#[test]
fn fences_in_assembly_order_accesses() {
    let source = "#include <assert.h>
#include <pthread.h>
static int data, flag;
static void *w(void *p) { data = 42; FENCE; __atomic_store_n(&flag, 1, __ATOMIC_RELAXED); return p; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, w, 0);
    while (!__atomic_load_n(&flag, __ATOMIC_RELAXED)) ;
    FENCE;
    assert(data == 42);
    pthread_join(t, 0);
    return 0;
}
";
    let place = Place::new("fences");
    for compiler in compilers() {
        for (fence, wanted) in [
            ("__asm__ volatile(\"mfence\" ::: \"memory\")", "verified"),
            ("__asm__ volatile(\"lock; addl $0,0(%%rsp)\" ::: \"memory\", \"cc\")", "verified"),
            ("__asm__ volatile(\"lock orq $0,-8(%%rsp)\" ::: \"memory\", \"cc\")", "verified"),
            ("__builtin_ia32_mfence()", "verified"),
            ("__sync_synchronize()", "verified"),
            ("__asm__ volatile(\"\" ::: \"memory\")", "failure"),
            ("__asm__ volatile(\"pause\" ::: \"memory\")", "failure"),
        ] {
            let source = format!("#define FENCE {fence}\n{source}");
            let report = place.report(compiler, "fence.c", &source, &["-w"]);
            assert_eq!(report["verdict"], wanted, "{compiler} {fence}: {report}");
        }
    }
}

#[test]
fn functions_without_instrumentation_are_named_where_it_matters() {
    let head = "#include <pthread.h>\n#include <stdlib.h>\n#define PLAIN __attribute__((no_sanitize(\"thread\"), noinline))\n#define END (void)0\n";
    let programs = [
        (
            "global",
            "static int n; PLAIN static void inc(void) { n++; } static void *w(void *p) { inc(); return p; }",
            true,
        ),
        (
            "heap",
            "PLAIN static void set(int *p) { *p = 1; } static void *w(void *p) { p = malloc(4); set(p); free(p); return 0; }",
            true,
        ),
        (
            "stack",
            "PLAIN static int sum(int *p) { return p[0] + p[1]; } static void *w(void *p) { int a[2] = {1, 2}; sum(a); return p; }",
            false,
        ),
        (
            "registers",
            "PLAIN static int twice(int n) { return 2 * n; } static void *w(void *p) { twice(1); return p; }",
            false,
        ),
        (
            "result",
            "struct S { long a, b, c; }; struct S make(long n) { return (struct S){n, n, n}; }\n\
             static void *w(void *p) { struct S s = make(1); return s.a == 1 ? p : 0; }",
            false,
        ),
    ];
    let place = Place::new("no-sanitize");
    for compiler in compilers() {
        for (name, source, noted) in programs {
            let report = place.report(compiler, "plain.c", &format!("{head}{source}{BOTH}"), &["-w"]);
            let (verdict, kinds): (_, &[&str]) =
                if noted { ("no-failure-with-caveats", &["uninstrumented"]) } else { ("verified", &[]) };
            assert_eq!(
                (report["verdict"].as_str(), &caveats(&report)[..]),
                (Some(verdict), kinds),
                "{compiler} {name}: {report}"
            );
        }
    }
}

#[test]
fn weak_orders_are_named_where_they_can_matter() {
    let head = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int x, y;\n#define END (void)0\n";
    let relaxed = "memory_order_relaxed";
    let programs = [
        ("relaxed", format!("static void *w(void *p) {{ atomic_fetch_add_explicit(&x, 1, {relaxed}); return p; }}"), true),
        (
            "release",
            "static void *w(void *p) { atomic_store_explicit(&x, 1, memory_order_release); return p; }".to_owned(),
            true,
        ),
        (
            "failed exchange",
            format!(
                "static void *w(void *p) {{ int e = 5; atomic_compare_exchange_strong_explicit(&x, &e, 1, memory_order_seq_cst, {relaxed}); return p; }}"
            ),
            true,
        ),
        (
            "fence",
            "static void *w(void *p) { atomic_thread_fence(memory_order_acquire); atomic_fetch_add(&x, 1); return p; }".to_owned(),
            true,
        ),
        ("sequential", "static void *w(void *p) { atomic_fetch_add(&x, 1); return p; }".to_owned(), false),
        (
            "own",
            format!("static void *w(void *p) {{ atomic_int z; atomic_init(&z, 0); atomic_store_explicit(&z, 1, {relaxed}); atomic_fetch_add(&x, 1); return p; }}"),
            false,
        ),
        (
            "before and after",
            format!(
                "#undef END\n#define END assert(atomic_load_explicit(&x, {relaxed}) == 2)\n\
                 static void *w(void *p) {{ atomic_fetch_add(&x, 1); return p; }}"
            ),
            false,
        ),
        (
            "mutex",
            "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static void *w(void *p) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return p; }".to_owned(),
            false,
        ),
    ];
    let place = Place::new("orders");
    for compiler in compilers() {
        for (name, source, noted) in &programs {
            let report = place.report(compiler, "orders.c", &format!("{head}{source}{BOTH}"), &["-w"]);
            let wanted: &[&str] = if *noted { &["memory-order"] } else { &[] };
            assert_eq!(
                (report["verdict"].as_str(), &caveats(&report)[..]),
                (Some("verified"), wanted),
                "{compiler} {name}: {report}"
            );
            let guarantee = report["guarantee"].as_str().unwrap();
            assert_eq!(
                guarantee.contains("under sequential consistency"),
                *noted,
                "{compiler} {name}: {report}"
            );
        }
    }
}

#[test]
fn orders_inside_the_library_of_cpp_do_not_count() {
    let source = "#include <atomic>\n#include <memory>\n#include <thread>\n
#ifdef WEAK\nstatic std::atomic<int> n;\n#endif
int main() {
    auto p = std::make_shared<int>(3);
    auto f = [p] {
        auto q = p;
#ifdef WEAK
        n.fetch_add(*q, std::memory_order_relaxed);
#endif
    };
    std::thread t(f), u(f);
    t.join();
    u.join();
}
";
    let place = Place::new("library-orders");
    for compiler in compilers() {
        let report = place.report(compiler, "shared.cpp", source, &[]);
        assert_eq!(
            (report["verdict"].as_str(), caveats(&report).len()),
            (Some("verified"), 0),
            "{compiler}: {report}"
        );
        let report = place.report(compiler, "shared.cpp", source, &["-DWEAK"]);
        assert_eq!(caveats(&report), ["memory-order"], "{compiler}: {report}");
    }
}

#[test]
fn volatile_variables_are_atomic_if_asked() {
    let source = "#include <pthread.h>
static volatile int flag;
static void *w(void *p) { flag = 1; return p; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, w, 0);
    while (!flag) ;
    pthread_join(t, 0);
    return 0;
}
";
    let place = Place::new("volatile");
    for compiler in compilers() {
        let report = place.report(compiler, "flag.c", source, &["-w"]);
        assert_eq!(failures(&report), ["data-race"], "{compiler}: {report}");
        let message = report["failures"][0]["message"].as_str().unwrap();
        assert!(message.contains("--volatile atomic"), "{compiler}: {message}");
        let report = place.report(compiler, "flag.c", source, &["-w", "--volatile", "atomic"]);
        assert_eq!(
            (report["verdict"].as_str(), &caveats(&report)[..1]),
            (Some("verified"), &["memory-order"][..]),
            "{compiler}: {report}"
        );
        // The data behind a flag is not ordered by it, as with relaxed atomics.
        let data = source
            .replace("flag = 1;", "n = 1; flag = 1;")
            .replace("while (!flag) ;", "while (!flag) ; n = 2;");
        let data = data.replace("static volatile", "static int n; static volatile");
        let report = place.report(compiler, "flag.c", &data, &["-w", "--volatile", "atomic"]);
        assert_eq!(failures(&report), ["data-race"], "{compiler}: {report}");
    }
}

#[test]
fn fields_and_elements_of_locals_that_others_know_are_seen() {
    let head = "#include <pthread.h>\n#include <stdlib.h>\nstruct S { long a, b, c; };\n\
                __attribute__((noinline)) struct S make(long n) { return (struct S){n, n, n}; }\n\
                static void *w(void *p) { ((long *)p)[1] = 2; return 0; }\n";
    let started = "pthread_t t; pthread_create(&t, 0, w, x);";
    let programs = [
        (
            "array",
            format!(
                "int main(void) {{ long x[4] = {{0}}; {started} x[1] = 3; pthread_join(t, 0); return 0; }}"
            ),
        ),
        (
            "field",
            format!(
                "int main(void) {{ struct S s = {{0}}, *x = &s; {started} s.b = 3; pthread_join(t, 0); return 0; }}"
            ),
        ),
        (
            "result",
            format!(
                "int main(void) {{ struct S s = {{0}}, *x = &s; {started} s = make(3); pthread_join(t, 0); return 0; }}"
            ),
        ),
        (
            "variable length",
            format!(
                "int main(int n, char **v) {{ long x[n + 3]; x[0] = 0; {started} x[1] = 3; pthread_join(t, 0); return 0; }}"
            ),
        ),
    ];
    let place = Place::new("locals");
    for compiler in compilers() {
        for level in ["-O0", "-O2"] {
            for (name, main) in &programs {
                let options = ["-w", level];
                let report = place.report(compiler, "locals.c", &format!("{head}{main}"), &options);
                assert_eq!(failures(&report), ["data-race"], "{compiler} {level} {name}: {report}");
                // After the join nobody else knows of it.
                let joined = main
                    .replace(" pthread_join(t, 0);", "")
                    .replace(started, &format!("{started} pthread_join(t, 0);"));
                let report = place.report(compiler, "locals.c", &format!("{head}{joined}"), &options);
                assert_eq!(report["verdict"], "verified", "{compiler} {level} {name}: {report}");
            }
        }
    }
}
