//! What small programs become.

mod support;

use model::{ErrorKind, Interpreter, Options, Program, Reach};
use std::collections::BTreeSet;
use support::{executions, kind, read, read_with, search, states};

/// The edges of one thread, as text.
fn thread(p: &Program, name: &str) -> String {
    let text = p.to_string();
    let from = text.find(&format!(" {name}, from ")).unwrap_or_else(|| panic!("no `{name}` in\n{text}"));
    let rest = &text[from..];
    let rest = &rest[rest.find('\n').unwrap() + 1..];
    let end = rest.find("\nthread ").unwrap_or(rest.len());
    let lines =
        rest[..end].trim_end().lines().filter(|l| !l.trim().starts_with("local ") && !l.ends_with(":"));
    lines.map(|l| l.split("  @").next().unwrap_or(l).trim()).collect::<Vec<_>>().join("\n")
}

/// One thread that runs `body`, beside another that uses x, y and a, so that they are shared.
fn beside(body: &str) -> Program {
    read(&format!(
        "int x, y, a[4]; struct s {{ int v; struct s *next; }} s1, s2; pthread_mutex_t m; pthread_cond_t c;
         void *f(void *p) {{ {body} return 0; }}
         void *g(void *p) {{ x = 1; y = 1; a[0] = 1; s1.v = 1; s2.v = 2; s1.next = &s2; s2.next = 0; return 0; }}
         int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }}"
    ))
}

#[track_caller]
fn edges(body: &str, expected: &str) {
    let p = beside(body);
    let wanted: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(
        thread(&p, "f")
            .replace("f.life == 1 && ", "")
            .replace("[f.life == 1] ", "")
            .replace("[f.life == 1]", "skip"),
        wanted.join("\n"),
        "{p}"
    );
}

#[test]
fn each_shared_access_is_a_step() {
    edges(
        "x = x + y;",
        "0 -> 1: f.%0 := x\n1 -> 2: f.%1 := y\n2 -> 3: x := f.%0 + f.%1, f.%0 := 0, f.%1 := 0\n3: end",
    );
    edges("x++;", "0 -> 1: f.%0 := x\n1 -> 2: x := f.%0 + 1, f.%0 := 0\n2: end");
    edges("__sync_fetch_and_add(&x, 2);", "0 -> 1: x := x + 2\n1: end");
    edges("int i = x; a[i & 3] = 7;", "0 -> 1: f.i := x\n1 -> 2: a[u64(f.i & 3)] := 7\n2: end");
}

#[test]
fn a_shared_index_is_read_before_the_cell_is_touched() {
    edges(
        "a[x & 1] = y;",
        "0 -> 1: f.%0 := y\n1 -> 2: f.%1 := x\n2 -> 3: a[u64(f.%1 & 1)] := f.%0, f.%0 := 0, f.%1 := 0\n3: end",
    );
}

#[test]
fn an_index_that_may_be_too_high_is_checked() {
    let p = beside("int i = x; a[i] = 1;");
    let text = thread(&p, "f");
    assert!(text.contains("error out-of-bounds"), "{text}");
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!(s.errors, 0, "x is 0 or 1");
    let p = beside("int i = x * 8; a[i] = 1;");
    assert!(Reach::default().search(&Interpreter::new(&p)).unwrap().errors > 0);
}

#[test]
fn a_condition_on_something_shared_is_part_of_the_step_that_reads_it() {
    edges(
        "if (x > 2) y = 1; else y = 2;",
        "0 -> 1: [2 < x]\n0 -> 3: [2 >= x]\n1 -> 2: y := 1\n2: end\n3 -> 2: y := 2",
    );
    edges("while (x);", "0 -> 1: skip\n1 -> 1: [x != 0]\n1 -> 2: [x == 0]\n2: end");
}

#[test]
fn what_is_not_evaluated_is_not_read() {
    edges(
        "if (x && y) y = 3;",
        "0 -> 1: [x != 0]\n0 -> 3: [x == 0]\n1 -> 2: [y != 0]\n1 -> 3: [y == 0]\n2 -> 3: y := 3\n3: end",
    );
    edges(
        "int r = x ? y : 5; y = r;",
        "0 -> 1: [x != 0]\n0 -> 2: [x == 0] f.r := 5\n1 -> 2: f.r := y\n2 -> 3: y := f.r\n3: end",
    );
}

#[test]
fn a_switch_falls_through() {
    edges(
        "switch (x) { case 1: y = 1; case 2: y = 2; break; default: y = 3; }",
        "0 -> 1: [x == 1]\n0 -> 2: [x == 2]\n0 -> 4: [(x != 1 && x != 2)]\n1 -> 2: y := 1\n2 -> 3: y := 2\n3: end\n4 -> 3: y := 3",
    );
}

#[test]
fn jumps_go_where_they_say() {
    edges(
        "again: if (x == 0) goto again; y = 1;",
        "0 -> 1: skip\n1 -> 1: [x == 0]\n1 -> 2: [x != 0]\n2 -> 3: y := 1\n3: end",
    );
    edges(
        "for (int i = 0; i < 5; i++) { if (i == 1) continue; if (i == 3) break; x = i; }",
        "0 -> 1: f.i := 0
         1 -> 1: [f.i < 5 && f.i == 1] f.i := f.i + 1
         1 -> 2: [f.i >= 5]
         1 -> 2: [f.i < 5 && f.i != 1 && f.i == 3]
         1 -> 1: [f.i < 5 && f.i != 1 && f.i != 3] x := f.i, f.i := f.i + 1
         2: end",
    );
}

#[test]
fn a_pointer_is_followed_to_what_may_be_in_it() {
    let p = beside("struct s *q = &s1; while (q) { q->v = 5; q = q->next; }");
    let text = thread(&p, "f");
    assert!(text.contains("s1.v := 5") && text.contains("s2.v := 5"), "{text}");
    assert!(
        !text.contains("x := 5"),
        "a pointer to a structure does not point to an int of its own:\n{text}"
    );
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((s.errors, s.deadlocks), (0, 0));
}

#[test]
fn functions_are_inlined_with_their_results() {
    let p = read(
        "int x; int twice(int n) { if (n > 100) return 0; return n * 2; }
         int fact(int n) { if (n <= 1) return 1; return n * fact(n - 1); }
         void set(int *p, int v) { *p = v; }
         int main(void) { int l; set(&l, twice(21)); x = l + fact(5); if (x != 162) reach_error(); return 0; }",
    );
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!(s.errors, 0, "{p}");
}

#[test]
fn a_function_that_calls_itself_twice_is_read_less_deep() {
    let fib = |n: u32| {
        read(&format!(
            "int n = {n}; int fib(int n) {{ return n < 2 ? n : fib(n - 1) + fib(n - 2); }}
             void *f(void *a) {{ n = fib(n); return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); if (n != 8) reach_error();
               return 0; }}"
        ))
    };
    assert_eq!(states(&fib(6)).errors, 0);
    assert_eq!(kind(&states(&fib(5))), Some(ErrorKind::Assertion));
    assert_eq!(kind(&states(&fib(20))), Some(ErrorKind::Bound));
}

#[test]
fn a_recursion_without_an_end_is_an_error_of_its_bound() {
    let p = read(
        "int x, y; int f(int n) { if (x == n) return n; return f(n + 1); } void *g(void *p) { x = 5; return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, g, 0); y = f(1); return 0; }",
    );
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    let (wrong, _) = s.wrong.unwrap();
    assert!(matches!(wrong, model::Wrong::Error { kind: model::ErrorKind::Bound, .. }));
}

#[test]
fn a_variable_that_nothing_assigns_is_its_value() {
    let p = read(
        "const int limit = 3; int table[2] = { 5, 7 }, x, y = 1;
         void *f(void *p) { x = limit + table[1]; y = 2; return 0; } void *g(void *p) { x = y; return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }",
    );
    assert_eq!(thread(&p, "f"), "0 -> 1: [f.life == 1] x := 10\n1 -> 2: y := 2\n2: end", "{p}");
    assert_eq!(
        thread(&p, "g"),
        "0 -> 1: [g.life == 1] g.%0 := y\n1 -> 2: x := g.%0, g.%0 := 0\n2: end",
        "{p}"
    );
}

#[test]
fn atomic_blocks_are_single_steps() {
    let text = |begin: &str, end: &str| {
        format!(
            "int x, y; void *f(void *p) {{ {begin} int t = x; x = t + 1; y = y + t; {end} return 0; }}
             int main(void) {{ pthread_t t[2]; for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f, 0);
               for (int i = 0; i < 2; i++) pthread_join(t[i], 0); if (x != 2 || y != 1) reach_error(); return 0; }}"
        )
    };
    let p = read(&text("__VERIFIER_atomic_begin();", "__VERIFIER_atomic_end();"));
    assert!(
        thread(&p, "f").contains("atomic [") && thread(&p, "f").contains("x := x + 1, y := y + x"),
        "{p}"
    );
    assert_eq!(Reach::default().search(&Interpreter::new(&p)).unwrap().errors, 0);
    assert_eq!(executions(&p, "optimal"), 2);
    assert!(search(&p, "optimal", &[]).failures.is_empty());
    let p = read(&text("", ""));
    assert!(Reach::default().search(&Interpreter::new(&p)).unwrap().errors > 0);
    assert!(!search(&p, "optimal", &[]).failures.is_empty());
}

#[test]
fn an_assumption_in_an_atomic_block_waits() {
    let p = read(
        "int l, x; void __VERIFIER_atomic_acquire(void) { __VERIFIER_assume(l == 0); l = 1; }
         void *f(void *p) { __VERIFIER_atomic_acquire(); int t = x; x = t + 1; l = 0; return 0; }
         int main(void) { pthread_t t[2]; for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f, 0);
           for (int i = 0; i < 2; i++) pthread_join(t[i], 0); if (x != 2) reach_error(); return 0; }",
    );
    assert!(thread(&p, "f").contains("[f.life == 1 && l == 0] l := 1"), "{p}");
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((s.errors, s.deadlocks), (0, 0));
    assert!(search(&p, "optimal", &[]).failures.is_empty());
}

#[test]
fn a_condition_variable_hands_over() {
    let text = |signal: &str| {
        format!(
            "int ready, data; pthread_mutex_t m; pthread_cond_t c;
             void *f(void *p) {{ pthread_mutex_lock(&m); data = 7; ready = 1; {signal} pthread_mutex_unlock(&m); return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_mutex_lock(&m);
               while (!ready) pthread_cond_wait(&c, &m); if (data != 7) reach_error();
               pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }}"
        )
    };
    for signal in ["pthread_cond_signal(&c);", "pthread_cond_broadcast(&c);"] {
        for spurious in [false, true] {
            let p = read_with(&text(signal), &Options { spurious, ..Options::default() });
            let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
            assert_eq!((s.errors, s.deadlocks), (0, 0), "{p}");
        }
        let p = read(&text(signal));
        let seen = search(&p, "optimal", &[]);
        assert!(seen.finished && seen.failures.is_empty());
        assert_eq!(seen.stats.executions, 2);
    }
    let p = read(&text(""));
    assert!(Reach::default().search(&Interpreter::new(&p)).unwrap().deadlocks > 0);
    assert!(!search(&p, "optimal", &[]).failures.is_empty());
}

#[test]
fn barriers_reader_writer_locks_and_semaphores_work() {
    let p = read(
        "int x, y; pthread_barrier_t b;
         void *f(void *p) { x = 1; pthread_barrier_wait(&b); if (y != 1) reach_error(); return 0; }
         void *g(void *p) { y = 1; pthread_barrier_wait(&b); if (x != 1) reach_error(); return 0; }
         int main(void) { pthread_t t; pthread_barrier_init(&b, 0, 2); pthread_create(&t, 0, f, 0);
           pthread_create(&t, 0, g, 0); return 0; }",
    );
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((s.errors, s.deadlocks), (0, 0));
    assert!(search(&p, "optimal", &[]).failures.is_empty());
    let p = read(
        "int x; pthread_rwlock_t l;
         void *w(void *p) { pthread_rwlock_wrlock(&l); x = 1; x = 0; pthread_rwlock_unlock(&l); return 0; }
         void *r(void *p) { pthread_rwlock_rdlock(&l); if (x) reach_error(); pthread_rwlock_unlock(&l); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_create(&t, 0, r, 0);
           pthread_create(&t, 0, r, 0); return 0; }",
    );
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((s.errors, s.deadlocks), (0, 0));
    assert_eq!(executions(&p, "optimal"), 4, "each reader comes before the writer or after it");
    let p = read(
        "int x; sem_t s;
         void *f(void *p) { sem_wait(&s); int t = x; x = t + 1; sem_post(&s); return 0; }
         int main(void) { pthread_t t[2]; sem_init(&s, 0, 1); for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f, 0);
           for (int i = 0; i < 2; i++) pthread_join(t[i], 0); if (x != 2) reach_error(); return 0; }",
    );
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((s.errors, s.deadlocks), (0, 0));
    assert_eq!(executions(&p, "optimal"), 2);
}

#[test]
fn a_lock_that_is_not_held_may_not_be_given_back() {
    let p = beside("pthread_mutex_unlock(&m);");
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert!(matches!(s.wrong.unwrap().0, model::Wrong::Error { kind: model::ErrorKind::LockMisuse, .. }));
}

#[test]
fn a_thread_that_spins_waits_for_a_change() {
    let p = read(
        "int flag, x; void *f(void *p) { x = 1; flag = 1; return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); while (!flag); if (x != 1) reach_error(); return 0; }",
    );
    let seen = search(&p, "optimal", &[]);
    assert!(seen.finished && seen.failures.is_empty());
    assert!(seen.stats.executions >= 2);
    let p = read(
        "int flag; void *f(void *p) { flag = 0; return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); while (!flag); return 0; }",
    );
    assert_eq!(search(&p, "optimal", &[]).failures[0].0, model::Wrong::Deadlock, "nobody ever sets it");
}

#[test]
fn results_of_threads_are_handed_to_who_joins_them() {
    let p = read(
        "void *f(void *p) { return (void *)((long)p + 1); }
         int main(void) { pthread_t t; void *r; pthread_create(&t, 0, f, (void *)41); pthread_join(t, &r);
           if ((long)r != 42) reach_error(); return 0; }",
    );
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((s.errors, s.deadlocks), (0, 0), "{p}");
}

#[test]
fn a_file_goes_through_the_preprocessor_with_the_headers_of_the_system() {
    let folder = std::env::temp_dir().join(format!("raddle-model-lowering-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("count.c");
    let text = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
        atomic_int x;\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nint y;\n\
        void *f(void *arg) {\n  atomic_fetch_add(&x, 1);\n  pthread_mutex_lock(&m);\n  y++;\n  pthread_mutex_unlock(&m);\n  return NULL;\n}\n\
        int main(void) {\n  pthread_t t[N];\n  for (int i = 0; i < N; i++) pthread_create(&t[i], NULL, f, NULL);\n\
        \x20 for (int i = 0; i < N; i++) pthread_join(t[i], NULL);\n  assert(x + y == 2 * N);\n  printf(\"%d\\n\", y);\n  return 0;\n}\n";
    std::fs::write(&file, text).unwrap();
    let options = Options { preprocessor: vec!["-DN=3".into()], ..Options::default() };
    let p = model::read_file(&file, &options);
    std::fs::remove_dir_all(&folder).unwrap();
    let p = p.unwrap();
    assert_eq!(p.threads.len(), 4);
    let s = Reach::default().search(&Interpreter::new(&p)).unwrap();
    assert_eq!((s.errors, s.deadlocks), (0, 0));
    let lock = p.threads[1].transitions.iter().find(|t| t.action.name() == "lock").unwrap();
    assert!(p.show_span(lock.span).ends_with("count.c:11"), "{}", p.show_span(lock.span));
    let error = p.threads[0].errors().next().unwrap();
    assert_eq!(error.2, "x + y == 2 * N");
}

#[test]
fn heads_of_loops_are_locations_if_they_are_asked_for() {
    let text = "\nint x, y;\nvoid *f(void *p) {\n  while (1) {\n    x = 1;\n    for (int i = 0; i < 3; i++)\n      y = i;\n  }\n}\n\
        int main(void) {\n  pthread_t t;\n  for (int i = 0; i < 2; i++)\n    pthread_create(&t, 0, f, 0);\n  return x + y; }";
    let heads = |p: &Program, t: usize| -> Vec<u32> {
        let heads = p.threads[t].locations.iter().filter(|l| l.marks.contains(&model::Mark::Head));
        let mut lines: Vec<u32> = heads.map(|l| l.span.line).collect();
        lines.sort_unstable();
        lines
    };
    let kept = read_with(text, &Options { keep_loops: true, ..Options::default() });
    assert_eq!((heads(&kept, 1), heads(&kept, 2)), (vec![4, 6], vec![4, 6]));
    // The rounds of the loop that makes threads follow each other.
    assert_eq!(heads(&kept, 0), []);
    let main = &kept.threads[0];
    assert!(main.location(main.entry).marks.contains(&model::Mark::Unrolled(12)), "{kept}");
    assert!(heads(&read(text), 1).len() < 2, "else they go where that is possible");
}

/// How many states with an error can be reached.
fn errors(p: &Program) -> usize {
    Reach::default().search(&Interpreter::new(p)).unwrap().errors as usize
}

#[test]
fn what_comes_after_a_loop_in_an_atomic_block_is_not_lost() {
    let p = read(
        "int w, r, x;
         void *f(void *p) {
             __VERIFIER_atomic_begin();
             while (w != 0 || r != 0) { __VERIFIER_atomic_end(); __VERIFIER_atomic_begin(); }
             x = 3;
             __VERIFIER_atomic_end();
             return 0;
         }
         int main(void) {
             pthread_t t;
             w = 1;
             pthread_create(&t, 0, f, 0);
             w = 0;
             r = 0;
             if (x == 3) reach_error();
             return 0;
         }",
    );
    assert!(errors(&p) > 0, "{p}");
}

#[test]
fn a_condition_of_two_parts_at_a_loop_that_joins_threads_loses_nothing() {
    let p = read(
        "int stop, x; pthread_t t[2];
         void *f(void *p) { x = 1; return 0; }
         int main(void) {
             pthread_create(&t[0], 0, f, 0);
             pthread_create(&t[1], 0, f, 0);
             for (int i = 0; i < 2 && !stop; i++) pthread_join(t[i], 0);
             if (x == 1) reach_error();
             return 0;
         }",
    );
    assert!(errors(&p) > 0, "{p}");
}

#[test]
fn the_place_behind_an_array_has_an_address_and_nothing_in_it() {
    let with = |use_it: &str| {
        read(&format!(
            "int a[3] = {{ 1, 2, 3 }}, sum;
             int add(int *from, int *to) {{ int s = 0; for (; from < to; from++) s += *from; {use_it} return s; }}
             int main(void) {{ sum = add(&a[0], &a[3]); if (sum != 6) reach_error(); return 0; }}"
        ))
    };
    assert!(errors(&with("")) == 0);
    assert!(errors(&with("s += *to;")) > 0);
}

#[test]
fn a_range_of_cases_is_each_of_them() {
    for (n, wanted) in [(4, 0), (5, 1), (7, 1), (8, 0)] {
        let p = read(&format!(
            "int f(int n) {{ switch (n) {{ case 1: return 2; case 5 ... 7: return 1; default: return 0; }} }}
             int main(void) {{ if (f({n}) != {wanted}) reach_error(); return 0; }}"
        ));
        assert!(errors(&p) == 0, "{n}: {p}");
    }
}

#[test]
fn the_builtins_of_gcc_take_values_by_address_too_and_say_whether_they_may_fail() {
    let p = read(
        "int x; long y;
         int main(void) {
             int e = 0, d = 5, seen;
             if (!__atomic_compare_exchange(&x, &e, &d, 0, 5, 5)) reach_error();
             if (!__atomic_compare_exchange_n(&x, &d, 6, 0, 5, 5)) reach_error();
             __atomic_load(&x, &seen, 5);
             if (seen != 6) reach_error();
             long v = 7, old = 1;
             __atomic_store(&y, &v, 5);
             v = 8;
             __atomic_exchange(&y, &v, &old, 5);
             if (old != 7 || y != 8) reach_error();
             if (__atomic_fetch_nand(&x, 3, 5) != 6 || x != ~(6 & 3)) reach_error();
             return 0;
         }",
    );
    assert!(errors(&p) == 0, "{p}");
    let options = Options { spurious: true, ..Options::default() };
    let weak = read_with(
        "int x; int main(void) { int e = 0; if (!__atomic_compare_exchange_n(&x, &e, 1, 1, 5, 5)) reach_error(); }",
        &options,
    );
    assert!(errors(&weak) > 0, "{weak}");
}

#[test]
fn a_thread_ends_where_its_function_does() {
    let text = "int x;\nvoid *f(void *p)\n{\n    x = 1;\n    return 0;\n}\nvoid *g(void *p)\n{\n    x = 2;\n}\n\
                int main(void)\n{\n    pthread_t t, u, v;\n    pthread_create(&t, 0, f, 0);\n    pthread_create(&u, 0, g, 0);\n    \
                pthread_create(&v, 0, f, 0);\n    pthread_join(t, 0);\n    pthread_join(u, 0);\n    pthread_join(v, 0);\n    \
                return 0;\n}\n";
    let p = read(text);
    let end = |t: &model::Thread| {
        let ends = t.transitions.iter().filter(|e| e.action == model::Action::End);
        ends.map(|e| e.span.line).collect::<Vec<_>>()
    };
    assert_eq!([end(&p.threads[1]), end(&p.threads[2]), end(&p.threads[3])], [[5], [9], [5]], "{p}");
}

/// The cells of `a` that the second thread reads: those of an atomic block, where `i` is 1 or 2.
fn cells_read(block: &str) -> BTreeSet<String> {
    let p = read(&format!(
        "int a[4], k, out; _Atomic int c; void *f(void *q) {{ int i = 2; if (k) i = 1; \
         __VERIFIER_atomic_begin(); {block} __VERIFIER_atomic_end(); return 0; }} \
         int main(void) {{ pthread_t t; k = 1; pthread_create(&t, 0, f, 0); a[0] = 1; c = 1; pthread_join(t, 0); return out; }}"
    ));
    let reads = |e| p.accesses(e).reads;
    let all = p.threads[1].transitions.iter().flat_map(reads).filter(|q| p.name(q.var) == "a");
    all.map(|q| p.show_place(q)).collect()
}

#[test]
fn an_atomic_block_keeps_each_read_of_an_array_whose_value_is_not_used() {
    let (at, next) = ("a[u64(f.i)]", "a[u64(f.i - 1)]");
    let rows: [(&str, &[&str]); 6] = [
        // Others of the same array stay anyway.
        ("int s = a[i]; int t = a[3]; t = 0; out = s + t;", &[at, "a[3]"]),
        ("int s = a[3]; int t = a[i]; t = 0; out = s + t;", &[at, "a[3]"]),
        // The same index at two places is two cells.
        ("int t = a[i]; i = 3; t = a[i]; t = 0; out = t;", &[at, "a[3]"]),
        // What comes before the read says that its value does not matter.
        ("int x; if (c) x = 0; else x = 0; int t = a[i] * x; out = t;", &[at]),
        (
            "int x; if (c) { i = i - 1; x = 0; } else { i = i - 1; x = 0; } int t = a[i] * x; i = 3; out = t;",
            &[next],
        ),
        ("int t = a[i]; int s = a[3]; if (s) out = 1;", &[at, "a[3]"]),
    ];
    for (block, expected) in rows {
        let found = cells_read(block);
        assert_eq!(found, expected.iter().map(|s| (*s).to_owned()).collect(), "{block}");
    }
}

#[test]
fn a_function_of_the_program_is_its_own_text_whatever_its_name() {
    let p = read(
        "int x; void atomic_thread_fence(int order) { x = order; } int sched_yield(void) { return x + 1; } \
         int main(void) { atomic_thread_fence(5); __VERIFIER_assert(sched_yield() == 6); return 0; }",
    );
    let fences = |e: &model::Transition| e.fences != model::Fences::default();
    assert!(!p.threads.iter().flat_map(|t| &t.transitions).any(fences) && kind(&states(&p)).is_none(), "{p}");
}

#[test]
fn two_inputs_of_one_atomic_block_are_two() {
    for ask in ["a != b", "a && b", "!a && !b"] {
        let p = read(&format!(
            "int main(void) {{ __VERIFIER_atomic_begin(); _Bool a = __VERIFIER_nondet_bool(); _Bool b = __VERIFIER_nondet_bool();
               if ({ask}) reach_error(); __VERIFIER_atomic_end(); return 0; }}"
        ));
        assert_eq!(kind(&states(&p)), Some(ErrorKind::Assertion), "{ask}\n{p}");
    }
}
