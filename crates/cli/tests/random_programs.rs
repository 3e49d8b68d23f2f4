//! The random programs of the search, as C: the same program is run by the interpreter that the search is tested with, and
//! compiled and run by `raddle`. Both must see the same happens-before classes, as often, with the same values in each step and
//! the same state at the end.
//!
//! Many programs are compiled as one, which is told which of them to be. A program that differs is made smaller and printed as C.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod compiled;
#[path = "../../explore/tests/support/mod.rs"]
mod support;

use compiled::{RADDLE, command, place};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Program, Stmt, random_program, shrink, wide_program};

/// Programs with more executions than this are passed over.
const TOO_MANY: u64 = 2_000;

/// How many variables programs may have.
const VARIABLES: usize = 3;

/// The program as it is in C: its first thread is `main`, which makes the others and waits for them, then looks at every variable.
fn with_main(p: &Program) -> Program {
    let up = |t: u8| t + 1;
    let mut main: Vec<Stmt> =
        (0..p.threads.len() as u8).filter(|t| !p.spawned.contains(t)).map(|t| Stmt::Spawn(up(t))).collect();
    main.extend((0..p.threads.len() as u8).filter(|t| !joined(p).contains(t)).map(|t| Stmt::Join(up(t))));
    main.extend((0..VARIABLES as u8).map(|x| Stmt::Read(x, 0)));
    main.push(Stmt::Write(VARIABLES as u8, 0));
    let mut threads = vec![main];
    threads.extend(p.threads.iter().map(|b| b.iter().map(|s| renumbered(s, up)).collect()));
    let spawned = (1..threads.len() as u8).collect();
    Program { silent: true, numbered: false, known: false, threads, spawned, count: p.count }
}

fn renumbered(s: &Stmt, up: impl Fn(u8) -> u8) -> Stmt {
    match s {
        Stmt::Spawn(t) => Stmt::Spawn(up(*t)),
        Stmt::Join(t) => Stmt::Join(up(*t)),
        other => other.clone(),
    }
}

/// Threads that another one than `main` waits for.
fn joined(p: &Program) -> Vec<u8> {
    let all = p.threads.iter().flatten();
    all.filter_map(|s| if let Stmt::Join(t) = s { Some(*t) } else { None }).collect()
}

/// How variables are accessed: by atomic operations, or by plain ones that are steps (`--races sync`).
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Atomic,
    Plain,
}

/// Whether C can say all of it, and says the same.
fn is_c(p: &Program, how: How) -> bool {
    let text = format!("{:?}", p.threads);
    let atomic_only = ["Add(", "Cas(", "CasWeak(", "Spawn("];
    if how == How::Plain && atomic_only.iter().any(|a| text.contains(a)) {
        return false;
    }
    // Options in a row are bounded, and the interpreter has no such rule.
    let once = |b: &Vec<Stmt>, what: &str| format!("{b:?}").matches(what).count() < 2;
    p.threads
        .iter()
        .all(|b| once(b, "WaitTimed(") && once(b, "CasWeak(") && b.iter().all(|s| stmt_is_c(s, false)))
}

fn stmt_is_c(s: &Stmt, writing: bool) -> bool {
    let body = |b: &Vec<Stmt>, writing: bool| b.iter().all(|s| stmt_is_c(s, writing));
    match s {
        Stmt::Read(..) | Stmt::Write(..) | Stmt::WriteReg(..) | Stmt::Add(_) => true,
        Stmt::Cas(..) | Stmt::CasWeak(..) | Stmt::Choose(2, _) | Stmt::Yield => true,
        Stmt::Acquire(_) | Stmt::Wait(..) | Stmt::WaitTimed(..) => true,
        Stmt::NotifyOne(_) | Stmt::NotifyAll(_) | Stmt::Spawn(_) | Stmt::Join(_) | Stmt::Arrive(0, 2) => true,
        Stmt::Critical(_, b) | Stmt::TryCritical(_, b) | Stmt::If(_, _, b) => body(b, writing),
        // Who holds a lock for writing is told so when it asks for it again, instead of waiting for ever.
        Stmt::Reading(_, b) => !writing && body(b, writing),
        Stmt::Writing(_, b) => !writing && body(b, true),
        Stmt::TryReading(_, b) => body(b, writing),
        Stmt::TryWriting(_, b) => body(b, true),
        Stmt::IfElse(_, _, a, b) => body(a, writing) && body(b, writing),
        _ => false,
    }
}

/// What all programs of a file share.
const PRELUDE: &str = r#"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

_Bool __VERIFIER_nondet_bool(void);
#ifdef PLAIN
static uint64_t x[3], state;
#define GET(v) (v)
#define PUT(v, n) ((v) = (n))
#else
static _Atomic uint64_t x[3], state;
#define GET(v) atomic_load(&(v))
#define PUT(v, n) atomic_store(&(v), n)
#endif
static pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t b;
static pthread_t threads[8];
static uint64_t left[8]; /* by thread */
#define REGISTERS uint64_t r0 = 0, r1 = 0, r2 = 0, r5 = 0, r6 = 0
#define SUM (((r0 * 31 + r1) * 31 + r2) * 31 + r5) * 31 + r6

#ifndef PLAIN
static uint64_t cas(_Atomic uint64_t *at, uint64_t old, uint64_t new) {
    return atomic_compare_exchange_strong(at, &old, new);
}
static uint64_t cas_weak(_Atomic uint64_t *at, uint64_t old, uint64_t new) {
    return atomic_compare_exchange_weak(at, &old, new);
}
#endif
static uint64_t wait(void) {
    pthread_mutex_lock(&m[0]);
    pthread_cond_wait(&c, &m[0]);
    pthread_mutex_unlock(&m[0]);
    return 1;
}
static uint64_t wait_timed(void) {
    struct timespec until = {2000000000, 0};
    pthread_mutex_lock(&m[0]);
    uint64_t woken = pthread_cond_timedwait(&c, &m[0], &until) == 0;
    pthread_mutex_unlock(&m[0]);
    return woken;
}
static uint64_t arrive(void) { return pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD; }

"#;

fn c_block(block: &[Stmt], out: &mut String) {
    for s in block {
        let mut line = |text: String| {
            let _ = writeln!(out, "    {text}");
        };
        let around = |before: String, b: &[Stmt], after: String, out: &mut String| {
            let _ = writeln!(out, "    {before}");
            c_block(b, out);
            let _ = writeln!(out, "    {after}");
        };
        match s {
            Stmt::Read(x, r) => line(format!("r{r} = GET(x[{x}]);")),
            Stmt::Write(x, v) => line(format!("PUT(x[{x}], {v});")),
            Stmt::WriteReg(x, r, d) => line(format!("PUT(x[{x}], r{r} + {d});")),
            Stmt::Add(x) => line(format!("atomic_fetch_add(&x[{x}], 1);")),
            Stmt::Cas(x, a, b, r) => line(format!("r{r} = cas(&x[{x}], {a}, {b});")),
            Stmt::CasWeak(x, a, b, r) => line(format!("r{r} = cas_weak(&x[{x}], {a}, {b});")),
            Stmt::Choose(_, r) => line(format!("r{r} = __VERIFIER_nondet_bool();")),
            Stmt::Yield => line("sched_yield();".into()),
            Stmt::Acquire(m) => line(format!("pthread_mutex_lock(&m[{m}]);")),
            Stmt::Wait(..) => line("r6 = wait();".to_owned()),
            Stmt::WaitTimed(..) => line("r6 = wait_timed();".to_owned()),
            Stmt::NotifyOne(_) => line("pthread_cond_signal(&c);".into()),
            Stmt::NotifyAll(_) => line("pthread_cond_broadcast(&c);".into()),
            Stmt::Arrive(..) => line("r5 = arrive();".to_owned()),
            Stmt::Spawn(u) => line(format!("pthread_create(&threads[{u}], 0, NAME({u}), 0);")),
            Stmt::Join(u) => line(format!("pthread_join(threads[{u}], 0);")),
            Stmt::Critical(m, b) => around(
                format!("pthread_mutex_lock(&m[{m}]);"),
                b,
                format!("pthread_mutex_unlock(&m[{m}]);"),
                out,
            ),
            Stmt::TryCritical(m, b) => around(
                format!("if (pthread_mutex_trylock(&m[{m}]) == 0) {{"),
                b,
                format!("pthread_mutex_unlock(&m[{m}]); }}"),
                out,
            ),
            Stmt::Reading(_, b) => {
                around("pthread_rwlock_rdlock(&l);".into(), b, "pthread_rwlock_unlock(&l);".into(), out);
            }
            Stmt::Writing(_, b) => {
                around("pthread_rwlock_wrlock(&l);".into(), b, "pthread_rwlock_unlock(&l);".into(), out);
            }
            Stmt::TryReading(_, b) => {
                let after = "pthread_rwlock_unlock(&l); }".into();
                around("if (pthread_rwlock_tryrdlock(&l) == 0) {".into(), b, after, out);
            }
            Stmt::TryWriting(_, b) => {
                let after = "pthread_rwlock_unlock(&l); }".into();
                around("if (pthread_rwlock_trywrlock(&l) == 0) {".into(), b, after, out);
            }
            Stmt::If(r, v, b) => around(format!("if (r{r} == {v}) {{"), b, "}".into(), out),
            Stmt::IfElse(r, v, a, b) => {
                around(format!("if (r{r} == {v}) {{"), a, "} else {".into(), out);
                c_block(b, out);
                let _ = writeln!(out, "    }}");
            }
            other => unreachable!("{other:?} is not C"),
        }
    }
}

/// The program as a function `main_K` of a C file; threads are numbered from 0, as in the random program. What is left in their registers
/// they leave in a variable, or, where to write one is a step, they give it to `main`, which waits for all of them then.
fn c_program(p: &Program, k: usize, how: How, out: &mut String) {
    let _ = writeln!(out, "#define NAME(t) thread_{k}_##t");
    for t in 0..p.threads.len() {
        let _ = writeln!(out, "static void *NAME({t})(void *);");
    }
    for (t, block) in p.threads.iter().enumerate() {
        let _ = writeln!(out, "static void *NAME({t})(void *arg) {{\n    REGISTERS;");
        c_block(block, out);
        let _ = match how {
            How::Atomic => writeln!(out, "    left[{t}] = SUM;\n    return arg;\n}}"),
            How::Plain => writeln!(out, "    (void)arg;\n    return (void *)(SUM);\n}}"),
        };
    }
    let _ = writeln!(out, "static void main_{k}(void) {{\n    uint64_t s = 0;");
    let all = || 0..p.threads.len() as u8;
    type Name = fn(u8) -> String;
    let (handle, result): (Name, Name) = match how {
        How::Atomic => (|t| format!("threads[{t}]"), |t| format!("left[{t}]")),
        How::Plain => (|t| format!("t{t}"), |t| format!("(uint64_t)got{t}")),
    };
    for t in all().filter(|_| how == How::Plain) {
        let _ = writeln!(out, "    pthread_t t{t};\n    void *got{t};");
    }
    for t in all().filter(|t| !p.spawned.contains(t)) {
        let _ = writeln!(out, "    pthread_create(&{}, 0, NAME({t}), 0);", handle(t));
    }
    for t in all().filter(|t| !joined(p).contains(t)) {
        let into = if how == How::Plain { format!("&got{t}") } else { "0".to_owned() };
        let _ = writeln!(out, "    pthread_join({}, {into});", handle(t));
    }
    for x in 0..VARIABLES {
        let _ = writeln!(out, "    s = s * 31 + GET(x[{x}]);");
    }
    for t in all() {
        let _ = writeln!(out, "    s = s * 31 + {};", result(t));
    }
    let _ = writeln!(out, "    PUT(state, s);\n}}\n#undef NAME");
}

/// All programs in one file.
fn c_file(programs: &[Program], how: How) -> String {
    let mut out = if how == How::Plain { "#define PLAIN\n".to_owned() } else { String::new() };
    out += PRELUDE;
    for (k, p) in programs.iter().enumerate() {
        c_program(p, k, how, &mut out);
    }
    // The number of arguments says which one, as to read an argument might be a step.
    out += "int main(int argc, char **argv) {\n    (void)argv;\n    pthread_barrier_init(&b, 0, 2);\n";
    out += "    switch (argc - 1) {\n";
    for k in 0..programs.len() {
        let _ = writeln!(out, "    case {k}: main_{k}(); break;");
    }
    out += "    }\n    return 0;\n}\n";
    out
}

/// What is left at the end, in the words of the interpreter, as `main` adds it up. The first thread is `main`.
fn sum(state: &str, threads: usize) -> u64 {
    let (registers, words) = state.split_once("]] ").expect("registers, then words");
    let numbers = registers.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty());
    let numbers: Vec<u64> = numbers.map(|n| n.parse().expect("a number")).collect();
    let variable = |i: usize| {
        let found = words.split_once(&format!("Var({i}): ")).map_or("0", |(_, rest)| rest);
        found.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok()).unwrap_or(0)
    };
    let fold = |values: Vec<u64>| values.iter().fold(0u64, |s, v| s.wrapping_mul(31).wrapping_add(*v));
    let left = numbers.chunks(8).skip(1).take(threads - 1).map(|r| fold(vec![r[0], r[1], r[2], r[5], r[6]]));
    fold((0..VARIABLES).map(variable).chain(left).collect())
}

/// What the interpreter sees with the optimal search.
struct Expected {
    executions: u64,
    /// By class: the states at the end of those executions in which nobody was left waiting, or none.
    classes: BTreeMap<u64, Option<u64>>,
    /// It has a timed wait. The compiled program decides beforehand how it ends, which is a step that the interpreter does not have, so
    /// only the states are compared.
    timed: bool,
}

fn expected(p: &Program) -> Option<Expected> {
    let whole = with_main(p);
    let mut plan = explore::Plan::of("optimal").unwrap().search(explore::Meter::unlimited()).unwrap();
    let mut classes = BTreeMap::new();
    loop {
        let before = explore::Progress::stats(&*plan).executions;
        let (shown, again) = support::execute(&whole, &mut *plan);
        let stats = explore::Progress::stats(&*plan);
        if let Some(shown) = shown.filter(|_| stats.executions > before) {
            let left = (!shown.stuck).then(|| sum(&shown.state, whole.threads.len()));
            classes.insert(shown.class, left);
        }
        if stats.executions + stats.blocked > TOO_MANY {
            return None;
        }
        if !again {
            let timed = format!("{:?}", p.threads).contains("WaitTimed(");
            return Some(Expected { executions: stats.executions, classes, timed });
        }
    }
}

fn compile(programs: &[Program], how: How, place: &Path) -> PathBuf {
    let (source, program) = (place.join("programs.c"), place.join("programs"));
    fs::write(&source, c_file(programs, how)).unwrap();
    let output =
        command(RADDLE).arg("cc").arg(&source).arg("-pthread").arg("-o").arg(&program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// How the compiled program differs from the interpreted one.
fn difference(expected: &Expected, how: How, program: &Path, k: usize) -> Option<String> {
    let list = program.with_extension(format!("{k}.list"));
    let output = command(program)
        .args(vec!["x"; k])
        .env("RADDLE_EXECUTIONS", &list)
        .env("RADDLE_SPURIOUS_WAKEUPS", "0")
        .env("RADDLE_RACES", if how == How::Plain { "sync" } else { "report" })
        .env("RADDLE_MAX_EXECUTIONS", (4 * TOO_MANY).to_string())
        .env("RADDLE_KEEP_GOING", "1")
        .output()
        .unwrap();
    let Ok(text) = fs::read_to_string(&list) else {
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        return Some(format!("it ended with {}: {said}", output.status));
    };
    let _ = fs::remove_file(&list);
    let (lines, end) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
    let wanted = format!("end {} executions 0 blocked finished", expected.executions);
    let mut seen: BTreeMap<u64, &str> = BTreeMap::new();
    for line in lines.lines() {
        let (class, rest) = line.split_once("  ").expect("a class and its steps");
        seen.insert(u64::from_str_radix(class, 16).expect("a hexadecimal number"), rest);
    }
    let state = |steps: &str| -> Option<u64> {
        let main = steps.split("  ").find_map(|t| t.strip_prefix("0: "))?;
        main.rsplit_once(' ')?.1.parse().ok()
    };
    if expected.timed {
        let wanted: BTreeSet<u64> = expected.classes.values().filter_map(|left| *left).collect();
        let seen: BTreeSet<u64> = seen.values().filter_map(|steps| state(steps)).collect();
        let differs = seen != wanted || !end.ends_with(" finished");
        return differs.then(|| format!("{end}: the states {seen:?} instead of {wanted:?}"));
    }
    if end != wanted {
        return Some(format!("`{end}` instead of `{wanted}`"));
    }
    let lost = expected.classes.keys().filter(|c| !seen.contains_key(c)).count();
    if lost > 0 || seen.len() != expected.classes.len() {
        return Some(format!("{lost} of {} classes lost, {} seen", expected.classes.len(), seen.len()));
    }
    for (class, left) in &expected.classes {
        let stored = state(seen[class]);
        let whole = seen[class].contains("  0: ") && stored.is_some();
        if whole != left.is_some() || stored.is_some_and(|s| Some(s) != *left) {
            return Some(format!("the state {stored:?} is left instead of {left:?}: {}", seen[class]));
        }
    }
    None
}

/// A program that differs, with how it is to be read.
fn report(p: &Program, how: How, seed: u64, what: &str) -> String {
    let alone = |q: &Program| {
        is_c(q, how)
            && expected(q).is_some_and(|e| {
                let place = place("random-smaller");
                difference(&e, how, &compile(std::slice::from_ref(q), how, &place), 0).is_some()
            })
    };
    let small = if alone(p) { shrink(p.clone(), alone) } else { p.clone() };
    let mut text = String::new();
    c_program(&small, 0, how, &mut text);
    format!("seed {seed}: {what}\nsmaller: {small:?}\n{text}")
}

/// Checks the C programs among those of these seeds: gives them as text, and how many executions they had.
fn check(name: &str, how: How, seeds: std::ops::Range<u64>, wanted: usize) -> (Vec<String>, u64) {
    let mut chosen = vec![];
    for seed in seeds {
        let p = if seed % 8 == 0 { wide_program(seed) } else { random_program(seed) };
        if chosen.len() < wanted
            && is_c(&p, how)
            && let Some(e) = expected(&p).filter(|e| e.executions > 3)
        {
            chosen.push((seed, p, e));
        }
    }
    let place = place(&format!("random-{name}"));
    let programs: Vec<Program> = chosen.iter().map(|(_, p, _)| p.clone()).collect();
    let program = compile(&programs, how, &place);
    let next = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while let Some((k, (seed, p, e))) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|k| chosen.get(k).map(|c| (k, c)))
                {
                    if let Some(what) = difference(e, how, &program, k) {
                        panic!("{}", report(p, how, *seed, &what));
                    }
                }
            });
        }
    });
    (programs.iter().map(|p| format!("{p:?}")).collect(), chosen.iter().map(|(.., e)| e.executions).sum())
}

#[test]
fn three_hundred_random_programs_have_the_same_classes_in_c() {
    let (programs, executions) = check("ci", How::Atomic, 0..20_000, 300);
    assert_eq!(programs.len(), 300);
    assert!(executions > 10_000, "{executions}: the programs are too simple to show anything");
    for statement in [
        "Read(",
        "Write(",
        "WriteReg(",
        "Add(",
        "Cas(",
        "CasWeak(",
        "Choose(",
        "If(",
        "Critical(",
        "TryCritical(",
        "Reading(",
        "Writing(",
        "TryReading(",
        "TryWriting(",
        "Wait(",
        "WaitTimed(",
        "NotifyOne(",
        "NotifyAll(",
        "Arrive(",
        "Spawn(",
        "Join(",
    ] {
        let some = programs.iter().filter(|p| p.contains(statement)).count();
        assert!(some >= 5, "only {some} programs have {statement}..)");
    }
}

#[test]
fn random_programs_of_plain_accesses_have_the_same_classes_in_c() {
    let (programs, executions) = check("plain", How::Plain, 0..20_000, 150);
    assert_eq!(programs.len(), 150);
    assert!(executions > 2_000, "{executions}: the programs are too simple to show anything");
}

#[test]
#[ignore = "takes minutes"]
fn thousands_of_random_programs_have_the_same_classes_in_c() {
    for part in 0..12 {
        let how = if part % 3 == 2 { How::Plain } else { How::Atomic };
        let from = 100_000 * (part + 1);
        let (programs, executions) = check(&format!("part-{part}"), how, from..from + 40_000, 500);
        println!("{} programs, {executions} executions", programs.len());
        assert_eq!(programs.len(), 500);
    }
}

/// The comparison is worth something only if it notices.
#[test]
fn a_program_that_is_not_the_same_is_told_apart() {
    use Stmt::{Add, Critical, Read, Write};
    let of = |threads: Vec<Vec<Stmt>>| Program::of(threads);
    let programs = [
        of(vec![vec![Add(0)], vec![Add(0), Read(0, 0)]]),
        of(vec![vec![Add(0)], vec![Read(0, 0), Add(0)]]),
        of(vec![vec![Write(0, 1)], vec![Add(0), Read(0, 0)]]),
        of(vec![vec![Add(1)], vec![Add(1), Read(1, 0)]]),
        of(vec![vec![Critical(0, vec![])], vec![Critical(0, vec![]), Read(0, 0)]]),
    ];
    let compiled = compile(&programs, How::Atomic, &place("random-apart"));
    for (i, p) in programs.iter().enumerate() {
        let expected = expected(p).expect("it is small");
        for k in 0..programs.len() {
            let found = difference(&expected, How::Atomic, &compiled, k);
            assert_eq!(found.is_some(), i != k, "{i} against {k}: {found:?}");
        }
    }
}
