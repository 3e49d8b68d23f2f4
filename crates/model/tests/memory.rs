//! Memory that comes from `malloc`, unions, pointers to objects of other threads, and waits with a limit of time.

mod support;

use model::{ErrorKind, Program};
use support::{kind, read, refused, search, states};

#[test]
fn a_pointer_to_a_local_of_a_thread_that_comes_later_in_the_text_is_followed() {
    let p = read(
        "int *p; int done;
         void *f(void *a) { int own = 5; p = &own; while (!done) ; return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); while (!p) ; if (*p != 5) reach_error();
           *p = 6; done = 1; return 0; }",
    );
    assert_eq!(states(&p).errors, 0, "{p}");
}

#[test]
fn each_call_of_calloc_makes_an_object_and_in_a_loop_so_many() {
    let text = |times: u32| {
        read(&format!(
            "struct node {{ int value; struct node *next; }} *head;
             int main(void) {{ for (int i = 0; i < {times}; i++) {{ struct node *n = calloc(1, sizeof(struct node));
                 if (n == head || n->value || n->next) reach_error(); n->value = i + 1; n->next = head; head = n; }}
               int sum = 0; for (struct node *n = head; n; n = n->next) sum += n->value;
               if (sum != {times} * ({times} + 1) / 2) reach_error(); return 0; }}"
        ))
    };
    assert_eq!(states(&text(3)).errors, 0);
    let beyond = states(&text(9));
    assert_eq!(kind(&beyond), Some(ErrorKind::Bound), "more than the bound is neither right nor wrong");
}

#[test]
fn what_is_assigned_says_the_type_of_an_allocation() {
    let p = read(
        "struct timespec { long tv_sec; long tv_nsec; }; int a[4] = { [1 ... 2] = 5, 6 };
         int main(void) { char *text = calloc(8, 1); int *n = (int *)calloc(1, 4); struct timespec t;
           clock_gettime(0, &t); text[7] = 'x'; *n = 70000; if (text[0] || *n != 70000) reach_error();
           if (a[0] || a[1] != 5 || a[2] != 5 || a[3] != 6) reach_error(); return text[8]; }",
    );
    let found = states(&p);
    assert!(matches!(kind(&found), Some(ErrorKind::InvalidPointer | ErrorKind::OutOfBounds)), "{p}");
    assert_eq!(found.errors, 1, "only the last access is past the end");
}

#[test]
fn what_was_given_back_may_not_be_used_nor_given_back_again() {
    let text = |wait: &str, again: &str| {
        read(&format!(
            "int *p; void *f(void *a) {{ int v = *p; if (v != 0) reach_error(); return 0; }}
             int main(void) {{ pthread_t t; p = calloc(2, sizeof(int)); p[1] = 7; pthread_create(&t, 0, f, 0);
               {wait} free(p); {again} return 0; }}"
        ))
    };
    assert_eq!(states(&text("pthread_join(t, 0);", "")).errors, 0);
    assert_eq!(kind(&states(&text("", ""))), Some(ErrorKind::InvalidPointer));
    assert_eq!(kind(&states(&text("pthread_join(t, 0);", "free(p);"))), Some(ErrorKind::InvalidPointer));
    assert_eq!(states(&text("pthread_join(t, 0);", "free(0);")).errors, 0);
    let p = read("int x; int main(void) { free(&x); return 0; }");
    assert_eq!(kind(&states(&p)), Some(ErrorKind::InvalidPointer));
}

#[test]
fn a_lock_in_what_was_given_back_may_not_be_used() {
    let text = |before: &str, after: &str| {
        read(&format!(
            "struct o {{ pthread_mutex_t m; pthread_cond_t c; sem_t s; }};
             void *f(void *a) {{ struct o *o = a; {before} free(o); return 0; }}
             int main(void) {{ pthread_t t; struct o *o = malloc(sizeof *o); sem_init(&o->s, 0, 1);
               pthread_create(&t, 0, f, o); {after} return 0; }}"
        ))
    };
    for used in [
        "pthread_mutex_lock(&o->m); pthread_mutex_unlock(&o->m);",
        "if (!pthread_mutex_trylock(&o->m)) pthread_mutex_unlock(&o->m);",
        "pthread_cond_signal(&o->c);",
        "sem_post(&o->s);",
        "sem_wait(&o->s);",
    ] {
        assert_eq!(kind(&states(&text("", used))), Some(ErrorKind::InvalidPointer), "{used}");
        assert_eq!(states(&text(used, "pthread_join(t, 0);")).errors, 0, "{used}");
    }
}

#[test]
fn a_wait_is_with_the_mutex_that_the_pointer_points_to() {
    let text = |guard: &str, mutex: &str, condition: &str| {
        read(&format!(
            "struct gate {{ pthread_mutex_t m; pthread_cond_t c; int open; }} gates[2];
             void enter(struct gate *g) {{ pthread_mutex_lock(&g->m); {guard} (!g->open) pthread_cond_wait(&g->c, &g->m);
               if (!g->open) reach_error(); pthread_mutex_unlock(&g->m); }}
             void *f(void *a) {{ int n = __VERIFIER_nondet_bool(); enter(&gates[n]); return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); for (int i = 0; i < 2; i++) {{
               pthread_mutex_lock(&gates[{mutex}].m); gates[i].open = 1; pthread_cond_signal(&gates[{condition}].c);
               pthread_mutex_unlock(&gates[{mutex}].m); }} pthread_join(t, 0); return 0; }}"
        ))
    };
    let found = states(&text("while", "i", "i"));
    assert_eq!((found.errors, found.deadlocks), (0, 0));
    // The signal of one gate wakes nobody at the other.
    assert!(states(&text("while", "i", "!i")).deadlocks > 0);
    // One that is opened under the mutex of the other is not waited for.
    assert!(states(&text("while", "!i", "i")).deadlocks > 0);
}

#[test]
fn fields_of_a_union_are_the_low_bits_of_one_value() {
    let p = read(
        "union { unsigned char byte; unsigned short two; int four; } u = { 1 };
         void *f(void *a) { u.byte = 0xff; return 0; }
         int main(void) { pthread_t t; union { signed char low; int all; } own;
           if (u.four != 1) reach_error(); u.four = 0x12345678; if (u.byte != 0x78 || u.two != 0x5678) reach_error();
           own.all = 0x1ff; if (own.low != -1) reach_error(); own.low = 2; if (own.all != 0x102) reach_error();
           pthread_create(&t, 0, f, 0); pthread_join(t, 0); if (u.four != 0x123456ff) reach_error(); return 0; }",
    );
    assert_eq!(states(&p).errors, 0, "{p}");
    let says = refused("\nunion { char a; int b; } u;\nint main(void) { char *p = &u.a; return *p; }");
    assert!(says.starts_with("test.c:3:") && says.contains("a pointer of another type"), "{says}");
}

#[test]
fn a_pointer_of_another_type_is_not_taken_for_one_that_points_nowhere() {
    let p = read(
        "int x, y; char *p; void *f(void *a) { p = (char *)&y; return 0; }
         int main(void) { pthread_t t; p = (char *)&x; pthread_create(&t, 0, f, 0); return *p; }",
    );
    assert_eq!(kind(&states(&p)), Some(ErrorKind::Bound));
}

#[test]
fn a_wait_with_a_limit_ends_with_a_signal_or_without() {
    let text = |check: &str| {
        read(&format!(
            "struct timespec {{ long s; }} limit; int ready; pthread_mutex_t m; pthread_cond_t c;
             void *f(void *p) {{ pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
               return 0; }}
             int main(void) {{ pthread_t t; int r = 0; pthread_create(&t, 0, f, 0); pthread_mutex_lock(&m);
               if (!ready) r = pthread_cond_timedwait(&c, &m, &limit); if ({check}) reach_error();
               pthread_mutex_unlock(&m); return 0; }}"
        ))
    };
    // It may time out before the signal, or be woken by it; a result of neither kind there is not.
    for (check, errors) in [
        ("r == 0 && !ready", false),
        ("r != 0", true),
        ("r != 0 && r != 110", false),
        ("r != 0 && ready", true),
    ] {
        let p = text(check);
        assert_eq!(states(&p).errors > 0, errors, "{check}");
        assert_eq!(states(&p).deadlocks, 0);
        let failures = search(&p, "optimal", &[]).failures;
        assert_eq!(!failures.is_empty(), errors, "{check}: {failures:?}");
    }
    // Nobody signals: it goes on all the same.
    let p = read(
        "struct timespec { long s; } limit; pthread_mutex_t m; pthread_cond_t c; sem_t s;
         void *f(void *p) { if (pthread_mutex_timedlock(&m, &limit) == 0) pthread_mutex_unlock(&m); sem_timedwait(&s, &limit);
           return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_mutex_lock(&m);
           while (pthread_cond_timedwait(&c, &m, &limit) == 0) ; pthread_join(t, 0); return 0; }",
    );
    let found = states(&p);
    assert_eq!((found.errors, found.deadlocks), (0, 0), "{p}");
}

/// Another thread waits for a byte to be handed over, and something is wrong if it is 7; what the first one does is between.
fn handed_over(how: &str) -> Program {
    read(&format!(
        "struct box {{ unsigned char it; unsigned char other; }}; struct box *there; int k;
         void *f(void *a) {{ struct box *b = there; if (b && b->it == 7) reach_error(); return 0; }}
         int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0);
           struct box *p = malloc(sizeof *p); if (!p) abort(); {how} return 0; }}"
    ))
}

fn inputs(p: &Program) -> usize {
    p.threads.iter().flat_map(|t| &t.transitions).map(|e| e.havoc.len()).sum()
}

#[test]
fn what_is_filled_before_anybody_knows_of_it_is_no_input() {
    let p = handed_over("p->it = 1; p->other = 2; k++; there = p;");
    assert_eq!((inputs(&p), states(&p).errors), (0, 0), "{p}");
    let p = handed_over("struct box with = { 3, 4 }; *p = with; there = p;");
    assert_eq!((inputs(&p), states(&p).errors), (0, 0), "{p}");
    let p = handed_over("p->other = 2; there = p;");
    assert_eq!((inputs(&p), states(&p).errors > 0), (1, true), "only one part was filled: {p}");
    let p = read(
        "unsigned char *there; void *f(void *a) { if (there && *there == 7) reach_error(); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); unsigned char own; own = 5; there = &own; pthread_join(t, 0); return own; }",
    );
    assert_eq!((inputs(&p), states(&p).errors), (0, 0), "{p}");
}

#[test]
fn what_somebody_may_see_before_it_is_filled_has_any_value() {
    for how in [
        "there = p; p->it = 1;",
        "if (k) p->it = 1; there = p;",
        "switch (k) { case 1: p->it = 1; } there = p;",
        "unsigned char was = p->it; p->it = was; there = p;",
        "struct box *q = p; there = q; p->it = 1;",
        "void **to = (void **)&there; *to = p; p->it = 1;",
        "for (int i = 0; i < k; i++) p->it = 1; there = p;",
        "goto over; fill: p->it = 1; goto end; over: there = p; if (k) goto fill; end: ;",
    ] {
        let p = handed_over(how);
        assert!(states(&p).errors > 0, "{how}\n{p}");
    }
}

#[test]
fn what_is_made_in_a_loop_is_found_as_it_was_left() {
    let p = read(
        "unsigned char *there; void *f(void *a) { if (there && *there == 7) reach_error(); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0);
           for (int i = 0; i < 2; i++) { unsigned char own; own = 7 - 2 * i; there = &own; } return 0; }",
    );
    assert!(states(&p).errors > 0, "{p}");
}

#[test]
fn a_cell_of_what_was_given_back_is_gone_too() {
    for access in ["p[0] = 2;", "*p = 2;", "p[__VERIFIER_nondet_bool()] = 2;", "return p[1];", "p[1]++;"] {
        let text = |free: &str| {
            read(&format!(
                "int main(void) {{ unsigned char *p = malloc(2); p[0] = 1; p[1] = 1; {free} {access} return 0; }}"
            ))
        };
        assert_eq!(kind(&states(&text("free(p);"))), Some(ErrorKind::InvalidPointer), "{access}");
        assert_eq!(states(&text("")).errors, 0, "{access}");
    }
}

#[test]
fn what_is_made_larger_or_smaller_keeps_what_fits() {
    let right = |body: &str| {
        let p =
            read(&format!("struct s {{ char c; int *p; }}; int x; int main(void) {{ {body} return 0; }}"));
        let found = states(&p);
        assert_eq!((found.errors, kind(&found)), (0, None), "{body}\n{p}");
    };
    let wrong = |body: &str, expected: ErrorKind| {
        let p =
            read(&format!("struct s {{ char c; int *p; }}; int x; int main(void) {{ {body} return 0; }}"));
        assert_eq!(kind(&states(&p)), Some(expected), "{body}\n{p}");
    };
    let two = "unsigned char *p = malloc(2); p[0] = 1; p[1] = 2;";
    right(&format!(
        "{two} p = realloc(p, 3); p[2] = 3; if (p[0] != 1 || p[1] != 2 || p[2] != 3) reach_error(); free(p);"
    ));
    right(&format!("{two} p = realloc(p, 1); if (p[0] != 1) reach_error(); free(p);"));
    right("int *p = 0; p = realloc(p, sizeof(int)); *p = 4; if (*p != 4) reach_error(); free(p);");
    right(
        "struct s *p = malloc(sizeof(struct s)); p->c = 1; p->p = &x; p = realloc(p, 2 * sizeof(struct s)); p[1] = p[0];
         *p[1].p = 5; if (x != 5 || p[1].c != 1) reach_error(); free(p);",
    );
    // What comes to it is anything, the old one is gone, and what was given back cannot be made larger.
    wrong(&format!("{two} p = realloc(p, 3); if (p[2]) reach_error();"), ErrorKind::Assertion);
    wrong(&format!("{two} p = realloc(p, 1); p[1] = 1;"), ErrorKind::InvalidPointer);
    wrong(&format!("{two} unsigned char *q = realloc(p, 3); p[0] = 1; free(q);"), ErrorKind::InvalidPointer);
    wrong(&format!("{two} free(p); p = realloc(p, 3);"), ErrorKind::InvalidPointer);
    wrong("int *p = realloc(&x, 2 * sizeof(int));", ErrorKind::InvalidPointer);
    wrong("int *p = malloc(sizeof(int)); char *q = realloc((char *)p, 8);", ErrorKind::Bound);
    // Which one it is only the run knows.
    let either = "unsigned char *p = malloc(1), *q = malloc(1), *r; *p = 1; *q = 2; _Bool b = __VERIFIER_nondet_bool();
        r = realloc(b ? p : q, 2);";
    right(&format!("{either} if (r[0] != (b ? 1 : 2)) reach_error(); free(b ? q : p);"));
    wrong(&format!("{either} free(p);"), ErrorKind::InvalidPointer);
    // In a loop, up to the bound.
    let again = "unsigned char *p = malloc(1); *p = 7; for (int i = 0; i < 3; i++) p = realloc(p, 1); if (*p != 7) reach_error();";
    right(again);
    wrong(&again.replace("i < 3", "i < 9"), ErrorKind::Bound);
}

#[test]
fn an_array_may_be_as_long_as_a_value_that_is_known_there() {
    let text = |main: &str| {
        format!(
            "int x; void *f(void *p) {{ __sync_fetch_and_add(&x, 1); return 0; }} int first(int n, int a[n]) {{ return a[n - 1]; }}
             void run(int n) {{ pthread_t t[n]; for (int i = 0; i < n; i++) pthread_create(&t[i], 0, f, 0);
             for (int i = 0; i < n; i++) pthread_join(t[i], 0); if (sizeof t != 8 * n) reach_error(); }}
             int main(void) {{ {main} return 0; }}"
        )
    };
    let fine = |main: &str| assert_eq!(states(&read(&text(main))).errors, 0, "{main}");
    fine("int n = 2; run(n); run(1); if (x != 3) reach_error();");
    fine("int n = 3; int a[n]; n = 1; a[2] = 4; if (sizeof a != 12 || first(3, a) != 4) reach_error();");
    let past = states(&read(&text("int n = 3; int a[n]; a[n] = 1;")));
    assert_eq!(kind(&past), Some(ErrorKind::OutOfBounds));
    let why = refused(&text("for (int i = 1; i < __VERIFIER_nondet_int(); i++) { int a[i]; a[0] = 1; }"));
    assert!(why.contains("the length of an array is not constant"), "{why}");
}
