//! Data of threads under keys.

mod support;

use model::ErrorKind;
use support::{kind, read, refused, states};

const MORE: &str = "typedef unsigned pthread_key_t; typedef int pthread_once_t; void check(int c) { if (!c) reach_error(); }";

fn right(text: &str) {
    let p = read(&format!("{MORE} {text}"));
    let found = states(&p);
    assert_eq!((found.errors, found.deadlocks), (0, 0), "{text}\n{p}");
}

fn wrong(text: &str, expected: ErrorKind) {
    let p = read(&format!("{MORE} {text}"));
    assert_eq!(kind(&states(&p)), Some(expected), "{text}\n{p}");
}

/// Two threads that run `body`, after `main` has made a key, and `main` after both.
fn two(globals: &str, key: &str, body: &str, after: &str) -> String {
    format!(
        "{globals} pthread_key_t k; {key} void *f(void *p) {{ {body} return 0; }}
         int main(void) {{ pthread_t t[2]; pthread_key_create(&k, {}); pthread_create(&t[0], 0, f, (void *)1);
         pthread_create(&t[1], 0, f, (void *)2); pthread_join(t[0], 0); pthread_join(t[1], 0); {after} return 0; }}",
        if key.is_empty() { "0" } else { "d" }
    )
}

#[test]
fn each_thread_has_its_own() {
    let body = "check(pthread_getspecific(k) == 0); check(pthread_setspecific(k, p) == 0); check(pthread_getspecific(k) == p);
        for (int i = 0; i < __VERIFIER_nondet_bool() + 1; i++) { check(pthread_getspecific(k) == (i ? 0 : p)); pthread_setspecific(k, 0); }";
    right(&two("", "", body, "check(pthread_getspecific(k) == 0);"));
    wrong(&two("", "", &body.replace("(i ? 0 : p)", "p"), ""), ErrorKind::Assertion);
    // What it points to may be another's.
    let shared = "int *q = __VERIFIER_nondet_bool() ? &x : &y; pthread_setspecific(k, q); *(int *)pthread_getspecific(k) = 1; check(*q == 1);";
    right(&two("int x, y;", "", shared, "check(x + y);"));
    wrong(&two("int x, y;", "", shared, "check(x);"), ErrorKind::Assertion);
}

#[test]
fn keys_are_told_apart() {
    let text = |which: &str| {
        format!(
            "pthread_key_t k[2]; void *f(void *p) {{ pthread_setspecific(k[0], p); check(pthread_getspecific({which}) == 0); return 0; }}
             int main(void) {{ pthread_t t; pthread_key_create(&k[0], 0); pthread_key_create(&k[1], 0); check(k[0] != k[1]);
             pthread_create(&t, 0, f, (void *)1); pthread_join(t, 0); return 0; }}"
        )
    };
    right(&text("k[1]"));
    wrong(&text("k[0]"), ErrorKind::Assertion);
    wrong("pthread_key_t k; int main(void) { pthread_getspecific(k); return 0; }", ErrorKind::InvalidPointer);
    // One that the first thread makes that comes.
    right(
        "pthread_key_t k; pthread_once_t o; void make(void) { pthread_key_create(&k, 0); }
         void *f(void *p) { pthread_once(&o, make); pthread_setspecific(k, p); check(pthread_getspecific(k) == p); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, (void *)1); f((void *)2); pthread_join(t, 0); return 0; }",
    );
    let why = refused(&format!(
        "{MORE} pthread_key_t k; int main(void) {{ for (int i = 0; i < __VERIFIER_nondet_bool(); i++) pthread_key_create(&k, 0); return 0; }}"
    ));
    assert!(why.contains("a key that is made in a loop"), "{why}");
}

#[test]
fn what_is_left_at_the_end_is_handed_over() {
    let d =
        "void d(void *p) { __sync_fetch_and_add(&sum, (int)(long)p); check(pthread_getspecific(k) == 0); }";
    let sum = "int sum;";
    right(&two(sum, d, "pthread_setspecific(k, p);", "check(sum == 3);"));
    wrong(&two(sum, d, "pthread_setspecific(k, p);", "check(sum != 3);"), ErrorKind::Assertion);
    // Whoever has nothing has nothing to hand over, and who leaves early has.
    right(&two(
        sum,
        d,
        "if (p == (void *)1) { pthread_setspecific(k, p); pthread_exit(0); }",
        "check(sum == 1);",
    ));
    right(&two(sum, d, "pthread_setspecific(k, p); pthread_setspecific(k, 0);", "check(sum == 0);"));
    // It comes before who joins the thread goes on, and not when `main` returns.
    right(&two(sum, d, "", "pthread_setspecific(k, (void *)1); return 0;"));
    // What is left again is handed over again, four times.
    let again = "void d(void *p) { __sync_fetch_and_add(&sum, 1); pthread_setspecific(k, p); }";
    right(&two(sum, again, "pthread_setspecific(k, p);", "check(sum == 8);"));
    let twice = "void d(void *p) { __sync_fetch_and_add(&sum, 1); if ((long)p > 1) pthread_setspecific(k, (void *)1); }";
    right(&two(sum, twice, "pthread_setspecific(k, p);", "check(sum == 3);"));
    // In `main` too, if it ends as a thread.
    wrong(
        "pthread_key_t k; void d(void *p) { reach_error(); }
         int main(void) { pthread_key_create(&k, d); pthread_setspecific(k, (void *)1); pthread_exit(0); }",
        ErrorKind::Assertion,
    );
    let ends = two(sum, "void d(void *p) { pthread_exit(0); }", "pthread_setspecific(k, p);", "");
    assert!(refused(&format!("{MORE} {ends}")).contains("ends in a function of a key"));
}

#[test]
fn the_order_of_several_functions_is_not_followed() {
    let text = |second: &str| {
        format!(
            "pthread_key_t k, l; int x; void d(void *p) {{ x = 1; }} void e(void *p) {{ x = 2; }}
             void *f(void *p) {{ pthread_setspecific(k, (void *)1); {second} return 0; }}
             int main(void) {{ pthread_t t; pthread_key_create(&k, d); pthread_key_create(&l, e); pthread_create(&t, 0, f, 0);
             pthread_join(t, 0); check(x == 1); return 0; }}"
        )
    };
    right(&text(""));
    wrong(&text("pthread_setspecific(l, (void *)1);"), ErrorKind::Bound);
}

#[test]
fn a_key_that_was_deleted_is_none() {
    let d = "void d(void *p) { reach_error(); }";
    right(&two("", d, "", "pthread_key_delete(k);"));
    wrong(&two("", "", "", "pthread_key_delete(k); pthread_getspecific(k);"), ErrorKind::InvalidPointer);
    wrong(&two("", "", "", "pthread_key_delete(k); pthread_key_delete(k);"), ErrorKind::InvalidPointer);
    // Its function is called no more.
    let late = |wait: &str| {
        format!(
            "pthread_key_t k; int go, set; {d} void *f(void *p) {{ pthread_setspecific(k, p); set = 1; {wait} return 0; }}
             int main(void) {{ pthread_t t; pthread_key_create(&k, d); pthread_create(&t, 0, f, (void *)1); while (!set);
             pthread_key_delete(k); go = 1; pthread_join(t, 0); return 0; }}"
        )
    };
    right(&late("while (!go);"));
    wrong(&late(""), ErrorKind::Assertion);
}
