//! Mutexes that check for errors say so instead of waiting for themselves, or of being given back by who does not have them.

mod support;

use model::{ErrorKind, Program};
use support::{read, refused, states};

const MORE: &str = "typedef int pthread_mutexattr_t; void check(int c) { if (!c) reach_error(); }";

/// One that is initialised while the program runs, and one that is from the start.
fn forms(body: &str, globals: &str) -> [Program; 2] {
    let early = format!(
        "{MORE} pthread_mutex_t m; {globals} int main(void) {{ pthread_t t; pthread_mutexattr_t a; pthread_mutexattr_init(&a);
         pthread_mutexattr_settype(&a, 2); pthread_mutex_init(&m, &a); {body} return 0; }}"
    );
    let late = format!(
        "{MORE} pthread_mutex_t m = {{ {{ 0, 0, 0, 0, 2, 0 }} }}; {globals}
         int main(void) {{ pthread_t t; {body} return 0; }}"
    );
    [read(&early), read(&late)]
}

fn right(body: &str, globals: &str) {
    for p in forms(body, globals) {
        let found = states(&p);
        assert_eq!((found.errors, found.deadlocks), (0, 0), "{body}\n{p}");
    }
}

fn wrong(body: &str, globals: &str, kind: ErrorKind) {
    for p in forms(body, globals) {
        assert_eq!(support::kind(&states(&p)), Some(kind), "{body}\n{p}");
    }
}

#[test]
fn who_has_it_is_told_so() {
    right(
        "check(pthread_mutex_lock(&m) == 0); check(pthread_mutex_lock(&m) == 35); check(pthread_mutex_trylock(&m) == 16);
         check(pthread_mutex_timedlock(&m, 0) == 35); check(pthread_mutex_unlock(&m) == 0); check(pthread_mutex_unlock(&m) == 1);
         check(pthread_mutex_trylock(&m) == 0); check(pthread_mutex_unlock(&m) == 0);",
        "",
    );
    wrong("pthread_mutex_lock(&m); if (pthread_mutex_lock(&m)) reach_error();", "", ErrorKind::Assertion);
    wrong("pthread_mutex_lock(&m); pthread_mutex_destroy(&m);", "", ErrorKind::LockMisuse);
    wrong("pthread_mutex_destroy(&m); pthread_mutex_unlock(&m);", "", ErrorKind::LockMisuse);
}

#[test]
fn it_keeps_others_out() {
    let f = "int x; void *f(void *p) { check(pthread_mutex_lock(&m) == 0); x++; check(pthread_mutex_lock(&m) == 35);
        x--; check(pthread_mutex_unlock(&m) == 0); return 0; }";
    let main = "pthread_create(&t, 0, f, 0); check(pthread_mutex_unlock(&m) == 1); int r = pthread_mutex_trylock(&m);
        if (r == 0) { check(x == 0); check(pthread_mutex_unlock(&m) == 0); } else check(r == 16); pthread_join(t, 0);";
    right(main, f);
    let timed =
        main.replace("pthread_mutex_trylock(&m)", "pthread_mutex_timedlock(&m, 0)").replace("16", "110");
    right(&timed, f);
    wrong(&main.replace("check(r == 16)", "reach_error()"), f, ErrorKind::Assertion);
    wrong(main, &f.replace("check(pthread_mutex_lock(&m) == 0);", ""), ErrorKind::Assertion);
}

#[test]
fn waits_with_it() {
    let f = "pthread_cond_t c; int go; void *f(void *p) { pthread_mutex_lock(&m); while (!go) check(pthread_cond_wait(&c, &m) == 0);
        check(pthread_mutex_unlock(&m) == 0); return 0; }";
    right(
        "pthread_create(&t, 0, f, 0); check(pthread_cond_wait(&c, &m) == 1); check(pthread_cond_timedwait(&c, &m, 0) == 1);
         pthread_mutex_lock(&m); go = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); pthread_join(t, 0);",
        f,
    );
    right(
        "pthread_mutex_lock(&m); int r = pthread_cond_timedwait(&c, &m, 0); check(r == 110); check(pthread_mutex_unlock(&m) == 0);",
        "pthread_cond_t c;",
    );
}

#[test]
fn plain_ones_beside_it_are_as_they_were() {
    right(
        "check(pthread_mutex_lock(&n) == 0); check(pthread_mutex_unlock(&n) == 0); pthread_mutex_t *p = __VERIFIER_nondet_bool() ? &m : &n;
         check(pthread_mutex_lock(p) == 0); check(pthread_mutex_unlock(p) == 0);",
        "pthread_mutex_t n;",
    );
    wrong("pthread_mutex_unlock(&n);", "pthread_mutex_t n;", ErrorKind::LockMisuse);
    let twice = format!(
        "{MORE} pthread_mutex_t m; int main(void) {{ pthread_mutex_lock(&m); pthread_mutexattr_t a; pthread_mutexattr_init(&a);
         pthread_mutexattr_settype(&a, 2); pthread_mutex_init(&m, &a); return 0; }}"
    );
    assert!(refused(&twice).contains("before its kind is known"));
}
