//! Programs as C. Many are one executable, whose number of arguments says which of them to be.

use crate::program::{At, Buffer, Call, LITERALS, Place, Program, SIZES, Stmt, Value, member_size};
use std::fmt::Write;

const PRELUDE: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static union { uint8_t b[8]; uint16_t h[4]; uint32_t d[2]; uint64_t q[1]; } word[2];
static uint64_t data[2];
static volatile uint64_t flag[2];
static char buffer[2][8];
static void *pointer[2];
static pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t sem;

#define LOAD(a) __atomic_load_n(&(a), __ATOMIC_SEQ_CST)
#define STORE(a, v) __atomic_store_n(&(a), v, __ATOMIC_SEQ_CST)
#define ADD(a, v) __atomic_fetch_add(&(a), v, __ATOMIC_SEQ_CST)
#define EXCHANGE(a, v) __atomic_exchange_n(&(a), v, __ATOMIC_SEQ_CST)
#define CAS(a, from, to, weak) ({ __typeof__(a) e = (from); \
    __atomic_compare_exchange_n(&(a), &e, to, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); })
#define MALLOC(p) do { (p) = malloc(8); *(uint64_t *)(p) = 7; } while (0)
#define SIGN(n) ((n) < 0 ? 3 : (n) > 0)
#define WHERE(base, found) ((found) ? (uint64_t)((char *)(found) - (base)) : 9)

static const struct timespec until = {2000000000, 0};
static uint64_t wait_for(int timed) {
    if (timed) return pthread_cond_timedwait(&c, &m[0], &until) != 0;
    pthread_cond_wait(&c, &m[0]);
    return 0;
}
static int by_byte(const void *a, const void *b) { return *(const unsigned char *)a - *(const unsigned char *)b; }

#define STRUCTURE(N, TYPE, COUNT) \
    struct s##N { TYPE a[COUNT]; }; \
    static struct s##N g##N##_0, g##N##_1; \
    static __attribute__((noinline)) struct s##N make##N(int v) { \
        struct s##N s; \
        for (int i = 0; i < COUNT; i++) s.a[i] = v; \
        return s; \
    } \
    static __attribute__((noinline)) struct s##N same##N(struct s##N s) { return s; } \
    static __attribute__((noinline)) uint64_t sum##N(struct s##N s) { \
        uint64_t sum = 0; \
        for (int i = 0; i < COUNT; i++) sum += (uint64_t)s.a[i] * (i + 1); \
        return sum; \
    }
"#;

fn at(a: At) -> String {
    let member = match a.size {
        1 => 'b',
        2 => 'h',
        4 => 'd',
        _ => 'q',
    };
    format!("word[{}].{member}[{}]", a.word, a.index)
}

fn value(v: Value) -> String {
    match v {
        Value::Const(n) => format!("{n}"),
        Value::Reg(r) => format!("r{r}"),
    }
}

fn place(p: Place, size: usize) -> String {
    match p {
        Place::Global(g) => format!("g{size}_{g}"),
        Place::Local => "own".to_owned(),
    }
}

fn text(b: Buffer) -> String {
    let name = if b.which == 2 { "text".to_owned() } else { format!("buffer[{}]", b.which) };
    if b.offset == 0 { name } else { format!("{name} + {}", b.offset) }
}

fn pointer(p: Option<u8>) -> String {
    p.map_or("(void *)0".to_owned(), |p| format!("p{p}"))
}

fn call(c: Call) -> String {
    let t = text;
    match c {
        Call::Memcpy(d, s, n) => format!("memcpy({}, {}, {n});", t(d), t(s)),
        Call::Memmove(which, to, from, n) => {
            let (d, s) = (Buffer { which, offset: to }, Buffer { which, offset: from });
            format!("memmove({}, {}, {n});", t(d), t(s))
        }
        Call::Memset(d, v, n) => format!("memset({}, {v}, {n});", t(d)),
        Call::StrcpyLiteral(d, l) => format!("strcpy({}, \"{}\");", t(d), LITERALS[l as usize]),
        Call::Strcpy(d, s) => format!("strcpy({}, {});", t(d), t(s)),
        Call::Strncpy(d, s, n) => format!("strncpy({}, {}, {n});", t(d), t(s)),
        Call::Strcat(d, s) => format!("strcat({}, {});", t(d), t(s)),
        Call::Strlen(s, r) => format!("r{r} = strlen({});", t(s)),
        Call::Strcmp(a, b, r) => format!("r{r} = SIGN(strcmp({}, {}));", t(a), t(b)),
        Call::Memcmp(a, b, n, r) => format!("r{r} = SIGN(memcmp({}, {}, {n}));", t(a), t(b)),
        Call::Strchr(s, c, r) => format!("{{ char *f = strchr({0}, {c}); r{r} = WHERE({0}, f); }}", t(s)),
        Call::Memchr(s, c, n, r) => {
            format!("{{ char *f = memchr({0}, {c}, {n}); r{r} = WHERE({0}, f); }}", t(s))
        }
        Call::Print(d, v, n) => format!("snprintf({}, {n}, \"%d\", {v});", t(d)),
        Call::PrintText(d, s) => format!("snprintf({}, {}, \"%s\", {});", t(d), 8 - d.offset, t(s)),
        Call::Atoi(s, r) => format!("r{r} = atoi({});", t(s)),
        Call::Scan(s, r) => format!("{{ int n; if (sscanf({}, \"%d\", &n) == 1) r{r} = n; }}", t(s)),
        Call::Sort(d, n) => format!("qsort({}, {n}, 1, by_byte);", t(d)),
    }
}

/// A statement without others inside.
fn simple(s: &Stmt, size: usize) -> String {
    let g = |p: &Place| place(*p, size);
    let member = |i: u8| i as usize % (size / member_size(size));
    match s {
        Stmt::Load(a, r) => format!("r{r} = LOAD({});", at(*a)),
        Stmt::Store(a, v) => format!("STORE({}, {});", at(*a), value(*v)),
        Stmt::Add(a, k, r) => format!("r{r} = ADD({}, {});", at(*a), *k as i64),
        Stmt::Exchange(a, v, r) => format!("r{r} = EXCHANGE({}, {});", at(*a), value(*v)),
        Stmt::Cas { at: a, from, to, weak, r } => {
            format!("r{r} = CAS({}, {from}, {to}, {});", at(*a), *weak as u8)
        }
        Stmt::CasCounted { at: a, from, to, most, r } => {
            format!("r{r} = 0; while (!CAS({}, {from}, {to}, 1)) if (++r{r} == {most}) break;", at(*a))
        }
        Stmt::CasAdd(a, k) => {
            let order = "__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST";
            let attempt = format!("__atomic_compare_exchange_n(&{}, &old, old + {k}, 1, {order})", at(*a));
            format!("{{ __typeof__({0}) old = LOAD({0}); while (!{attempt}) ; }}", at(*a))
        }
        Stmt::Read(v, r) => format!("r{r} = data[{v}];"),
        Stmt::Write(v, n) => format!("data[{v}] = {};", value(*n)),
        Stmt::Bump(v) => format!("data[{v}]++;"),
        Stmt::ReadFlag(f, r) => format!("r{r} = flag[{f}];"),
        Stmt::WriteFlag(f, n) => format!("flag[{f}] = {};", value(*n)),
        Stmt::Wait { timed, r } => format!("r{r} = wait_for({});", *timed as u8),
        Stmt::WaitWhile { variable, value, timed, most: 0, .. } => {
            format!("while (data[{variable}] == {value}) wait_for({});", *timed as u8)
        }
        Stmt::WaitWhile { variable, value, timed, most, r } => format!(
            "r{r} = 0; while (data[{variable}] == {value}) {{ wait_for({}); if (++r{r} == {most}) break; }}",
            *timed as u8
        ),
        Stmt::Signal => "pthread_cond_signal(&c);".to_owned(),
        Stmt::Broadcast => "pthread_cond_broadcast(&c);".to_owned(),
        Stmt::Post => "sem_post(&sem);".to_owned(),
        Stmt::Down => "sem_wait(&sem);".to_owned(),
        Stmt::DownTimed(r) => format!("r{r} = sem_timedwait(&sem, &until) != 0;"),
        Stmt::DownCounted(most, r) => {
            format!("r{r} = 0; while (sem_timedwait(&sem, &until)) if (++r{r} == {most}) break;")
        }
        Stmt::Fill(p, v) => format!("{} = make{size}({v});", g(p)),
        Stmt::Init(p, v) => format!("{} = (struct s{size}){{{{{v}}}}};", g(p)),
        Stmt::Sum(p, r) => format!("r{r} = sum{size}({});", g(p)),
        Stmt::Copy(to, from) => format!("{} = {};", g(to), g(from)),
        Stmt::Pass(to, from) => format!("{} = same{size}({});", g(to), g(from)),
        Stmt::Member(p, i, r) => format!("r{r} = {}.a[{}];", g(p), member(*i)),
        Stmt::SetMember(p, i, v) => format!("{}.a[{}] = {v};", g(p), member(*i)),
        Stmt::Call(c) => call(*c),
        Stmt::New(p) => format!("MALLOC(p{p});"),
        Stmt::Free(p) => format!("free(p{p});"),
        Stmt::PointerLoad(x, p) => format!("p{p} = LOAD(pointer[{x}]);"),
        Stmt::PointerStore(x, p) => format!("STORE(pointer[{x}], {});", pointer(*p)),
        Stmt::PointerExchange(x, p, q) => format!("p{q} = EXCHANGE(pointer[{x}], {});", pointer(*p)),
        Stmt::PointerCas(x, e, n, r) => {
            format!("r{r} = CAS(pointer[{x}], p{e}, {}, 0);", pointer(*n))
        }
        Stmt::Equal(p, q, r) => format!("r{r} = p{p} == p{q};"),
        Stmt::Poke(p, v) => format!("if (p{p}) *(uint64_t *)p{p} = {v};"),
        Stmt::Peek(p, r) => format!("if (p{p}) r{r} = *(uint64_t *)p{p};"),
        Stmt::Poll(a, v, yields) => {
            format!("while (LOAD({}) != {v}) {};", at(*a), if *yields { "sched_yield()" } else { "" })
        }
        Stmt::PollCounted { at: a, value, most, r } => {
            format!("r{r} = 0; while (LOAD({}) != {value}) if (++r{r} == {most}) break;", at(*a))
        }
        Stmt::PollFlag(f, v) => format!("while (flag[{f}] != {v}) ;"),
        Stmt::Assert(r, v, n) => format!("assert(r{r} != {v} && \"number {n}.\");"),
        other => unreachable!("{other:?} has a body"),
    }
}

fn block(body: &[Stmt], size: usize, depth: usize, out: &mut String) {
    for s in body {
        let (before, inside, after) = match s {
            Stmt::Critical(m, b) => {
                (format!("pthread_mutex_lock(&m[{m}]);"), b, format!("pthread_mutex_unlock(&m[{m}]);"))
            }
            Stmt::TimedCritical(m, r, b) => (
                format!("{{ int got = pthread_mutex_timedlock(&m[{m}], &until) == 0; if (got) {{"),
                b,
                format!("pthread_mutex_unlock(&m[{m}]); }} r{r} = got; }}"),
            ),
            Stmt::If(r, v, b) => (format!("if (r{r} == {v}) {{"), b, "}".to_owned()),
            other => (simple(other, size), &vec![], String::new()),
        };
        let indent = " ".repeat(4 * depth);
        let _ = writeln!(out, "{indent}{before}");
        block(inside, size, depth + 1, out);
        if !after.is_empty() {
            let _ = writeln!(out, "{indent}{after}");
        }
    }
}

/// The functions of one program; `main_K` creates and joins the threads, and returns the sum.
pub(crate) fn functions(p: &Program, k: usize, out: &mut String) {
    let size = p.size;
    for (t, body) in p.threads.iter().enumerate() {
        let _ = writeln!(
            out,
            "static void *thread_{k}_{t}(void *unused) {{\n    uint64_t r0 = 0, r1 = 0, r2 = 0;"
        );
        let text = format!("{body:?}");
        if text.contains("Local") {
            let _ = writeln!(out, "    struct s{size} own = {{{{0}}}};");
        }
        if text.contains("which: 2") || text.contains("Memmove(2") {
            let _ = writeln!(out, "    char text[8] = {{0}};");
        }
        let heap = ["Pointer", "New", "Free", "Equal", "Peek", "Poke"];
        if heap.iter().any(|h| text.contains(h)) {
            let _ = writeln!(out, "    void *p0 = 0, *p1 = 0;");
        }
        block(body, size, 1, out);
        let _ = writeln!(out, "    return (void *)((r0 * 31 + r1) * 31 + r2);\n}}");
    }
    let _ = writeln!(out, "static uint64_t main_{k}(void) {{\n    uint64_t s = 0;");
    for t in 0..p.threads.len() {
        let _ = writeln!(out, "    pthread_t t{t}; void *got{t};");
    }
    for t in 0..p.threads.len() {
        let _ = writeln!(out, "    pthread_create(&t{t}, 0, thread_{k}_{t}, 0);");
    }
    for t in 0..p.threads.len() {
        let _ = writeln!(out, "    pthread_join(t{t}, &got{t});");
    }
    for v in ["word[%].q[0]", "data[%]", "flag[%]"] {
        for i in 0..2 {
            let _ = writeln!(out, "    s = s * 31 + {};", v.replace('%', &i.to_string()));
        }
    }
    for g in 0..2 {
        let byte = format!("((unsigned char *)&g{size}_{g})[i]");
        let _ = writeln!(out, "    for (int i = 0; i < {size}; i++) s = s * 31 + {byte};");
    }
    let _ = writeln!(out, "    for (int i = 0; i < 16; i++) s = s * 31 + ((unsigned char *)buffer)[i];");
    for t in 0..p.threads.len() {
        let _ = writeln!(out, "    s = s * 31 + (uint64_t)got{t};");
    }
    let _ = writeln!(out, "    return s;\n}}");
}

/// All programs in one file.
pub(crate) fn file(programs: &[&Program]) -> String {
    let mut out = PRELUDE.to_owned();
    for size in SIZES {
        let member = match size {
            8 => 1,
            n => member_size(n),
        };
        let _ = writeln!(out, "STRUCTURE({size}, uint{}_t, {})", 8 * member, size / member);
    }
    for (k, p) in programs.iter().enumerate() {
        functions(p, k, &mut out);
    }
    // The last step of `main` stores the sum, so the list of executions has it. The number of arguments says which program to run.
    out += "static _Atomic uint64_t state;\nint main(int argc, char **argv) {\n    uint64_t s = 0;\n";
    out += "    sem_init(&sem, 0, 0);\n    switch (argc - 1) {\n";
    for k in 0..programs.len() {
        let _ = writeln!(out, "    case {k}: s = main_{k}(); break;");
    }
    out += "    }\n    state = s;\n    return 0;\n}\n";
    out
}
