//! What stands around a declaration, and what library functions say of calls that cannot be right.

mod support;

use model::{ErrorKind, Interpreter, Program, Reach, Wrong};
use support::{read, refused};

fn kind(p: &Program) -> Option<ErrorKind> {
    let found = Reach::default().search(&Interpreter::new(p)).unwrap();
    assert!(found.finished);
    match found.wrong.as_ref()?.0 {
        Wrong::Error { kind, .. } => Some(kind),
        Wrong::Deadlock => None,
    }
}

fn right(text: &str) {
    assert_eq!(kind(&read(text)), None, "{text}");
}

fn wrong(text: &str) {
    assert_eq!(kind(&read(text)), Some(ErrorKind::Assertion), "{text}");
}

const ASSERT: &str = "void check(int c) { if (!c) reach_error(); }";

#[test]
fn attributes_that_make_code_run_or_one_thing_another_are_refused() {
    let rows = [
        (
            "\nvoid f(int *p) { }\nint main(void) { { int x __attribute__((cleanup(f))) = 1; } return 0; }",
            "scope",
        ),
        (
            "\nvoid f(int *p) { }\nint main(void) { { __attribute__((cleanup(f))) int x = 1; } return 0; }",
            "scope",
        ),
        (
            "int g;\n\n__attribute__((constructor)) static void f(void) { g = 1; } int main(void) { return g; }",
            "before",
        ),
        (
            "int g; void f(void)\n\n__attribute__((__destructor__)); void f(void) { g = 1; } int main(void) { return g; }",
            "after",
        ),
        ("\n\ntypedef int v4 __attribute__((vector_size(16))); int main(void) { return 0; }", "vector"),
        ("\n\nint x __attribute__((alias(\"y\"))); int main(void) { return 0; }", "name"),
        (
            "\n\n#pragma pack(push, 1)\nstruct s { char c; int i; };\n#pragma pack(pop)\nint main(void) { return 0; }",
            "pack",
        ),
        ("\nint main(void) {\n goto nowhere; return 0; }", "no label"),
        ("\n\nstruct s { struct s x; } v; int main(void) { return 0; }", "not complete"),
    ];
    for (text, reason) in rows {
        let says = refused(text);
        assert!(says.starts_with("test.c:3:") && says.contains(reason), "{text}\nsays: {says}");
    }
}

#[test]
fn attributes_say_how_structures_lie_and_how_wide_integers_are() {
    right(&format!(
        "{ASSERT} struct t {{ char c; int i; }} __attribute__((packed)); struct u {{ int i; }} __attribute__((aligned(64)));
         struct v {{ char c; int i __attribute__((packed)); }}; struct w {{ char c; int i __attribute__((__aligned__(16))); }};
         struct x {{ struct t t; struct {{ char a; long b; }} __attribute__((packed)) in; }};
         typedef int byte __attribute__((mode(QI))); typedef unsigned __attribute__((__mode__(__DI__))) wide;
         struct t a; int main(void) {{ byte b = (byte)300; a.i = 7; struct t *p = &a;
           check(sizeof(struct t) == 5 && sizeof(struct u) == 64 && sizeof(struct v) == 5 && sizeof(struct w) == 32);
           check(sizeof(struct x) == 14 && b == 44 && sizeof b == 1 && sizeof(wide) == 8 && p->i == 7); return 0; }}"
    ));
}

#[test]
fn names_may_have_dollars_and_are_shown_with_them() {
    let p = read(
        "_Bool x$w_buff0, weak$$choice; int y; void *P$0(void *a) { y = '$'; x$w_buff0 = 1; return 0; } \
        int main(void) { pthread_t t; pthread_create(&t, 0, P$0, 0); weak$$choice = x$w_buff0; \
        char s[] = \"$\\\"$\"; if (sizeof s != 4) reach_error(); return 0; }",
    );
    assert_eq!(kind(&p), None);
    assert!(p.var_named("x$w_buff0").is_some(), "{p}");
    assert!(p.threads.iter().any(|t| t.name == "P$0"), "{p}");
    let says = refused("\nint main(void) { return no$body(1); }");
    assert!(says.contains("`no$body`"), "{says}");
}

#[test]
fn what_is_counted_on_the_way_to_an_address_is_counted() {
    let text = |n: u32| {
        format!(
            "{ASSERT} pthread_mutex_t l[3]; int a[3]; int main(void) {{ int i = 0; pthread_mutex_destroy(&l[i++]);
             printf(\"%p\", &a[i++]); check(i == {n}); return 0; }}"
        )
    };
    right(&text(2));
    wrong(&text(0));
}

#[test]
fn who_writes_is_told_so_instead_of_waiting_for_itself() {
    let text = |second: &str| {
        format!(
            "pthread_rwlock_t l; int x; void *f(void *a) {{ pthread_rwlock_wrlock(&l); x = 1; pthread_rwlock_unlock(&l); return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_rwlock_wrlock(&l);
             if (pthread_rwlock_{second}(&l) == 35) reach_error(); return 0; }}"
        )
    };
    wrong(&text("wrlock"));
    wrong(&text("rdlock"));
    // Who reads and wants to write waits for good.
    right(
        "pthread_rwlock_t l; int main(void) { pthread_rwlock_rdlock(&l); pthread_rwlock_wrlock(&l); reach_error(); return 0; }",
    );
}

#[test]
fn a_reader_writer_lock_is_given_back_by_who_has_it() {
    let text = |own: &str| {
        format!(
            "pthread_rwlock_t l; void *f(void *a) {{ {own} pthread_rwlock_unlock(&l); return 0; }}
             int main(void) {{ pthread_t t; pthread_rwlock_rdlock(&l); pthread_create(&t, 0, f, 0); pthread_join(t, 0);
             pthread_rwlock_unlock(&l); return 0; }}"
        )
    };
    assert_eq!(kind(&read(&text(""))), Some(ErrorKind::LockMisuse));
    right(&text("pthread_rwlock_rdlock(&l);"));
    right(&text("if (pthread_rwlock_tryrdlock(&l)) return 0;"));
}

#[test]
fn a_thread_does_not_wait_for_itself() {
    wrong(
        "void *f(void *a) { if (pthread_join(pthread_self(), 0) == 35) reach_error(); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }",
    );
    // The same where who it is comes from a variable.
    wrong(
        "pthread_t t; int go; void *f(void *a) { while (!go) ; if (pthread_join(t, 0) == 35) reach_error(); return 0; }
         int main(void) { pthread_create(&t, 0, f, 0); go = 1; pthread_join(t, 0); return 0; }",
    );
}

#[test]
fn a_barrier_for_nobody_and_a_semaphore_of_too_many_are_not_made() {
    let barrier = |n: &str| {
        format!(
            "pthread_barrier_t b; int main(void) {{ if (pthread_barrier_init(&b, 0, {n}) == 22) reach_error(); return 0; }}"
        )
    };
    wrong(&barrier("0"));
    wrong(&barrier("__VERIFIER_nondet_uchar()"));
    right(&barrier("1"));
    let semaphore = |n: &str| {
        format!("sem_t s; int main(void) {{ if (sem_init(&s, 0, {n}) == -1) reach_error(); return 0; }}")
    };
    wrong(&semaphore("2147483648u"));
    right(&semaphore("3"));
    assert_eq!(kind(&read(&semaphore("2147483647"))), Some(ErrorKind::Bound));
}

#[test]
fn a_loop_that_makes_threads_for_ever_is_followed_up_to_a_bound() {
    for head in ["while (1)", "for (;;)", "while (1) { if (__VERIFIER_nondet_bool()) break; else"] {
        let text = |most: u32| {
            let tail = if head.contains('{') { "}" } else { "" };
            format!(
                "int x; void *f(void *a) {{ x++; if (x > {most}) reach_error(); return 0; }}
                 int main(void) {{ pthread_t t; {head} pthread_create(&t, 0, f, 0); {tail} return 0; }}"
            )
        };
        let errors = |most| Reach::default().search(&Interpreter::new(&read(&text(most)))).unwrap().errors;
        assert!(errors(2) > errors(100), "{head}: three of them are followed");
        assert_eq!(kind(&read(&text(100))), Some(ErrorKind::Bound), "{head}");
    }
    // How often it goes round is known where something known ends it.
    right(
        "int x; void *f(void *a) { __sync_fetch_and_add(&x, 1); return 0; }
         int main(void) { pthread_t t[6]; int i = 0; while (1) { if (i == 6) break; pthread_create(&t[i++], 0, f, 0); }
         if (x > 6) reach_error(); return 0; }",
    );
}

#[test]
fn the_type_of_a_statement_as_a_value_is_that_of_what_it_ends_with() {
    right(&format!(
        "{ASSERT} struct in {{ int v; }}; struct out {{ int n; struct in in; }} o = {{ 1, {{ 7 }} }};
         int main(void) {{ int i = 3, j = 4; char c = 2;
           int k = ({{ __typeof__(({{ __typeof__(i++) a = (i++); __typeof__(j) b = j; a > b ? a : b; }})) a =
             ({{ __typeof__(i++) a = (i++); __typeof__(j) b = j; a > b ? a : b; }}); __typeof__(9) b = 9; a > b ? a : b; }});
           check(k == 9 && i == 4 && sizeof(({{ char d = c; d; }})) == 1 && sizeof(({{ struct in *p = &o.in; *p; }})) == 4);
           return 0; }}"
    ));
}

#[test]
fn the_result_of_a_thread_is_had_also_where_it_is_not_known_which_one_it_is() {
    let text = |n: u32| {
        format!(
            "{ASSERT} pthread_t t[2]; void *r[2]; void *f(void *a) {{ return (void *)((long)a * 3); }}
             int main(void) {{ pthread_t *p = t; for (int i = 0; i < 2; i++) pthread_create(p + i, 0, f, (void *)(i + 1L));
             for (int i = 0; i < 2; i++) pthread_join(p[i], r + i); check((long)r[0] + 2 * (long)r[1] == {n}); return 0; }}"
        )
    };
    right(&text(15));
    wrong(&text(12));
}

#[test]
fn what_is_assigned_is_found_before_its_value_is() {
    let text = |change: &str, after: &str| {
        format!(
            "{ASSERT} int i, a[2], y; int *p = a; int f(void) {{ i = 1; p = &y; return 5; }} struct {{ int (*f)(void); }} o = {{ f }};
             int main(void) {{ {change} check({after}); return 0; }}"
        )
    };
    for change in ["a[i] = f();", "*p = f();", "p[i] = f();", "a[i] = o.f();"] {
        right(&text(change, "a[0] == 5 && a[1] == 0 && y == 0"));
    }
    right(&text("y = i + o.f();", "y == 5"));
    // Also of what other threads see.
    let beside = |text: &str| {
        text.replace(
            "int main(void) {",
            "void *g(void *a) { i = 0; p = 0; return a; } void *(*h)(void *) = g; int main(void) {",
        )
    };
    right(&beside(&text("a[i] = f();", "a[0] == 5")));
}
