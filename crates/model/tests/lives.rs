//! Locks and the like that were destroyed, threads that were joined or detached: they may not be used any more.

mod support;

use model::{ErrorKind, Options};
use support::{ASSERT, executions, kind, read, read_with, refused, states};

const MORE: &str = "typedef struct { int dummy; } pthread_attr_t; typedef int pthread_spinlock_t;";

/// What goes wrong, in words.
fn wrong(text: &str) -> Option<String> {
    let p = read(&format!("{MORE} {text}"));
    let found = states(&p);
    assert!(matches!(kind(&found), None | Some(ErrorKind::LockMisuse)), "{text}\n{p}");
    match found.wrong?.0 {
        model::Wrong::Error { thread, location, .. } => match &p.thread(thread).location(location).kind {
            model::LocationKind::Error { message, .. } => Some(message.clone()),
            _ => None,
        },
        model::Wrong::Deadlock => None,
    }
}

fn fine(text: &str) {
    assert_eq!(wrong(text), None, "{text}");
}

fn fails(text: &str, message: &str) {
    assert_eq!(wrong(text).as_deref(), Some(message), "{text}");
}

/// A program whose `main` makes one thread, and does something beside it and something after it.
fn pair(globals: &str, thread: &str, beside: &str, after: &str) -> String {
    format!(
        "{globals} void *f(void *p) {{ {thread} return 0; }}
         int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); {beside} pthread_join(t, 0); {after} return 0; }}"
    )
}

#[test]
fn what_is_held_or_waited_at_may_not_be_destroyed() {
    let section = "pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m);";
    let (m, destroy) = ("pthread_mutex_t m; int x;", "pthread_mutex_destroy(&m);");
    fine(&pair(m, section, "", destroy));
    // It is not held any more once it was given back.
    let told = "pthread_mutex_lock(&m); pthread_mutex_unlock(&m); x = 1;";
    fine(&pair(m, told, "while (!x); pthread_mutex_destroy(&m);", ""));
    let seen = "while (!x);";
    fails(&pair(m, section, &format!("{seen} {destroy}"), ""), "`m` is destroyed while a thread holds it");
    for (how, give) in [("rdlock", "read"), ("wrlock", "write")] {
        let l = "pthread_rwlock_t l; int x;";
        let own = format!("pthread_rwlock_{how}(&l); x = 1; pthread_rwlock_unlock(&l);");
        fine(&pair(l, &own, "", "pthread_rwlock_destroy(&l);"));
        let beside = format!("{seen} pthread_rwlock_destroy(&l);");
        assert_eq!(
            wrong(&pair(l, &own, &beside, "")).as_deref(),
            Some("`l` is destroyed while a thread holds it"),
            "to {give}"
        );
    }
    let b = "pthread_barrier_t b; int x;";
    let main = |beside: &str, after: &str| {
        format!(
            "{b} void *f(void *p) {{ pthread_barrier_wait(&b); return 0; }}
             int main(void) {{ pthread_t t[2]; pthread_barrier_init(&b, 0, 2);
             for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f, 0); {beside}
             for (int i = 0; i < 2; i++) pthread_join(t[i], 0); {after} return 0; }}"
        )
    };
    fine(&main("", "pthread_barrier_destroy(&b);"));
    assert!(wrong(&main("pthread_barrier_destroy(&b);", "")).is_some());
    // Who is let through does not use it any more.
    let through = "pthread_barrier_t b; void *f(void *p) { pthread_barrier_wait(&b); return 0; }
        int main(void) { pthread_t t; pthread_barrier_init(&b, 0, 2); pthread_create(&t, 0, f, 0);
        pthread_barrier_wait(&b); pthread_barrier_destroy(&b); return 0; }";
    fine(through);
}

#[test]
fn a_condition_variable_may_go_when_all_were_woken() {
    let text = |wake: &str| {
        format!(
            "pthread_mutex_t m; pthread_cond_t c; int waits, go;
             void *f(void *p) {{ pthread_mutex_lock(&m); waits = 1; while (!go) pthread_cond_wait(&c, &m);
               pthread_mutex_unlock(&m); return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); int w;
               do {{ pthread_mutex_lock(&m); w = waits; if (w) {{ go = 1; {wake} }} pthread_mutex_unlock(&m); }} while (!w);
               pthread_cond_destroy(&c); pthread_join(t, 0); pthread_mutex_destroy(&m); return 0; }}"
        )
    };
    fine(&text("pthread_cond_broadcast(&c);"));
    fails(&text(""), "`c` is destroyed while a thread waits at it");
    fails(
        "pthread_cond_t c; int main(void) { pthread_cond_destroy(&c); pthread_cond_signal(&c); return 0; }",
        "`c` is used after it was destroyed",
    );
}

#[test]
fn what_was_destroyed_is_used_no_more_until_it_is_set_up_again() {
    for (ty, name, uses, setup) in [
        (
            "pthread_mutex_t",
            "pthread_mutex_destroy",
            &["pthread_mutex_lock(&o);", "pthread_mutex_trylock(&o);", "pthread_mutex_unlock(&o);"][..],
            "pthread_mutex_init(&o, 0);",
        ),
        (
            "pthread_spinlock_t",
            "pthread_spin_destroy",
            &["pthread_spin_lock(&o);"],
            "pthread_spin_init(&o, 0);",
        ),
        (
            "pthread_rwlock_t",
            "pthread_rwlock_destroy",
            &["pthread_rwlock_rdlock(&o);", "pthread_rwlock_wrlock(&o);", "pthread_rwlock_trywrlock(&o);"],
            "pthread_rwlock_init(&o, 0);",
        ),
        (
            "pthread_cond_t",
            "pthread_cond_destroy",
            &["pthread_cond_broadcast(&o);"],
            "pthread_cond_init(&o, 0);",
        ),
        (
            "pthread_barrier_t",
            "pthread_barrier_destroy",
            &["pthread_barrier_wait(&o);"],
            "pthread_barrier_init(&o, 0, 1);",
        ),
        (
            "sem_t",
            "sem_destroy",
            &["sem_post(&o);", "sem_wait(&o);", "sem_trywait(&o);", "int n; sem_getvalue(&o, &n);"],
            "sem_init(&o, 0, 1);",
        ),
    ] {
        let main = |body: &str| format!("{ty} o; int main(void) {{ {setup} {name}(&o); {body} return 0; }}");
        fails(&main(&format!("{name}(&o);")), "`o` is destroyed a second time");
        for u in uses {
            // Given back by who does not have it: that is wrong anyway.
            let given = u.contains("_unlock");
            let says = wrong(&main(u)).unwrap();
            assert!(says == "`o` is used after it was destroyed" || given, "{u}: {says}");
            if !given {
                fine(&main(&format!("{setup} {u}")));
            }
        }
        fine(&main(setup));
    }
    // Who waits for a semaphore cannot be told from who is about to.
    let s = "sem_t s; void *f(void *p) { sem_wait(&s); return 0; }
        int main(void) { pthread_t t; sem_init(&s, 0, 0); pthread_create(&t, 0, f, 0); sem_destroy(&s); return 0; }";
    fails(s, "`s` is used after it was destroyed");
}

#[test]
fn a_variable_of_a_block_is_a_new_one_each_time() {
    fine(
        "int main(void) { for (int i = 0; i < __VERIFIER_nondet_uchar(); i++) { pthread_mutex_t m = { 0 };
         pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_destroy(&m); } return 0; }",
    );
    fails(
        "pthread_mutex_t m; int main(void) { for (int i = 0; i < __VERIFIER_nondet_uchar(); i++) {
         pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_destroy(&m); } return 0; }",
        "`m` is used after it was destroyed",
    );
    // Which of them is destroyed is known when it runs.
    let which = |i: &str| {
        format!(
            "pthread_mutex_t m[2]; int main(void) {{ unsigned i = __VERIFIER_nondet_uchar(); if (i > 1) return 0;
             pthread_mutex_destroy(&m[i]); pthread_mutex_lock(&m[{i}]); return 0; }}"
        )
    };
    fine(&which("1 - i"));
    fails(&which("0"), "`m[0]` is used after it was destroyed");
}

#[test]
fn a_lock_that_was_never_given_back_is_a_new_one_where_it_is_set_up_again() {
    // What the code after the lock does is seen, each time. Whoever reads it as the same lock finds a deadlock there, and nothing after it.
    let lock = "pthread_mutex_lock(&m); n++;";
    let twice = |body: &str| {
        format!(
            "int n; {body}
             int main(void) {{ for (int i = 0; i < 2; i++) f(); assert(n != 2); return 0; }}"
        )
    };
    for text in [
        twice(&format!("void f(void) {{ pthread_mutex_t m; pthread_mutex_init(&m, 0); {lock} }}")),
        twice(&format!("void f(void) {{ pthread_mutex_t m = {{ 0 }}; {lock} }}")),
        twice("struct s { int x; pthread_mutex_t m[2]; }; void f(void) { struct s s; pthread_mutex_lock(&s.m[1]); n++; }"),
        twice("void f(void) { pthread_spinlock_t m; pthread_spin_init(&m, 0); pthread_spin_lock(&m); n++; }"),
        twice("void f(void) { pthread_rwlock_t m; pthread_rwlock_init(&m, 0); pthread_rwlock_wrlock(&m); n++; }"),
        format!(
            "int n; int main(void) {{ again: ; pthread_mutex_t m; pthread_mutex_init(&m, 0); {lock} if (n < 2) goto again;
             assert(n != 2); return 0; }}"
        ),
    ] {
        let p = read(&format!("{MORE} {ASSERT} {text}"));
        assert_eq!(kind(&states(&p)), Some(ErrorKind::Assertion), "{text}\n{p}");
    }
    // One that lasts is locked when it is initialized again.
    let lasting = twice(&format!("pthread_mutex_t m; void f(void) {{ pthread_mutex_init(&m, 0); {lock} }}"));
    fails(&format!("{ASSERT} {lasting}"), "`m` is initialized while a thread holds it");
    // One that is not is still the same.
    let same = format!("{MORE} {ASSERT} pthread_mutex_t m; {}", twice(&format!("void f(void) {{ {lock} }}")));
    let found = states(&read(&same));
    assert_eq!((kind(&found), found.deadlocks), (None, 1));
}

#[test]
fn a_thread_is_joined_or_detached_once() {
    let main = |body: &str| {
        format!(
            "void *f(void *p) {{ return 0; }} int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); {body} return 0; }}"
        )
    };
    fine(&main("pthread_join(t, 0);"));
    fine(&main("pthread_detach(t);"));
    fine(&main("if (__VERIFIER_nondet_bool()) pthread_join(t, 0); else pthread_detach(t);"));
    for (body, does) in [
        ("pthread_join(t, 0); pthread_join(t, 0);", "joined"),
        ("pthread_detach(t); pthread_join(t, 0);", "joined"),
        ("pthread_detach(t); pthread_detach(t);", "detached"),
        ("pthread_join(t, 0); pthread_detach(t);", "detached"),
        ("if (__VERIFIER_nondet_bool()) pthread_detach(t); pthread_join(t, 0);", "joined"),
    ] {
        fails(&main(body), &format!("`f` is {does} after it was joined or detached"));
    }
    // Of itself, and of one that only the run knows.
    fails(
        "void *f(void *p) { pthread_detach(pthread_self()); return 0; }
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }",
        "`f` is joined after it was joined or detached",
    );
    let either = |last: &str| {
        format!(
            "pthread_t t[2]; void *f(void *p) {{ return 0; }} void *g(void *p) {{ return 0; }}
             int main(void) {{ pthread_create(&t[0], 0, f, 0); pthread_create(&t[1], 0, g, 0);
             unsigned i = __VERIFIER_nondet_uchar(); if (i > 1) return 0; pthread_detach(t[i]); {last} return 0; }}"
        )
    };
    fine(&either("pthread_join(t[1 - i], 0);"));
    fails(&either("pthread_join(t[i], 0);"), "`f` is joined after it was joined or detached");
    fails(&either("pthread_join(t[1], 0);"), "`g` is joined after it was joined or detached");
}

#[test]
fn a_thread_that_is_made_detached_is_not_joined() {
    let text = |state: &str, after: &str| {
        format!(
            "void *f(void *p) {{ return 0; }} int main(void) {{ pthread_t t; pthread_attr_t a; pthread_attr_init(&a);
             pthread_attr_setdetachstate(&a, {state}); pthread_create(&t, &a, f, 0); {after} return 0; }}"
        )
    };
    fine(&text("0", "pthread_join(t, 0);"));
    fine(&text("1", ""));
    fails(&text("1", "pthread_join(t, 0);"), "`f` is joined after it was joined or detached");
    fails(&text("1", "pthread_detach(t);"), "`f` is detached after it was joined or detached");
    let either = text("__VERIFIER_nondet_bool()", "pthread_join(t, 0);");
    assert!(refused(&format!("{MORE} {either}")).contains("whether threads are detached is not known"));
    // Two ways lead to the value that it has.
    let either = text("0", "").replace(
        "pthread_create(",
        "if (__VERIFIER_nondet_bool()) pthread_attr_setdetachstate(&a, 1); pthread_create(",
    );
    fine(&either);
    let joined =
        either.replace("return 0; }}", "").replace("(&t, &a, f, 0);", "(&t, &a, f, 0); pthread_join(t, 0);");
    fails(&joined, "`f` is joined after it was joined or detached");
}

#[test]
fn who_destroys_nothing_pays_nothing() {
    let plain = "int x; pthread_mutex_t m; void *f(void *p) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return 0; }
        int main(void) { pthread_t t[2]; pthread_mutex_init(&m, 0); pthread_create(&t[0], 0, f, 0); pthread_create(&t[1], 0, f, 0);
        pthread_join(t[0], 0); pthread_join(t[1], 0);";
    let (a, b) = (
        read(&format!("{plain} return 0; }}")),
        read(&format!("{plain} pthread_mutex_destroy(&m); return 0; }}")),
    );
    assert!(!a.to_string().contains("destroy") && !a.to_string().contains("init"), "{a}");
    assert_eq!(a.vars.len(), b.vars.len(), "who holds a mutex says whether it was destroyed");
    assert_eq!(executions(&a, "optimal"), executions(&b, "optimal"));
    let detached = plain.replace("pthread_join(t[0], 0)", "pthread_detach(t[0])");
    let c =
        read(&format!("{} return 0; }}", detached.replace("pthread_join(t[1], 0)", "pthread_detach(t[1])")));
    assert!(!c.to_string().contains("gone"), "{c}");
    let options = Options { lock_misuse: false, ..Options::default() };
    let p = read_with(
        "pthread_mutex_t m; int main(void) { pthread_mutex_destroy(&m); pthread_mutex_lock(&m); return 0; }",
        &options,
    );
    assert_eq!(states(&p).errors, 0);
}

#[test]
fn threads_wait_at_a_condition_variable_with_one_mutex_at_a_time() {
    let wait = |m: &str, x: &str| {
        format!(
            "pthread_mutex_lock(&{m}); while (!{x}) pthread_cond_wait(&c, &{m}); pthread_mutex_unlock(&{m});"
        )
    };
    let set = |m: &str, x: &str| {
        format!("pthread_mutex_lock(&{m}); {x} = 1; pthread_cond_broadcast(&c); pthread_mutex_unlock(&{m});")
    };
    let globals = "pthread_mutex_t m, n; pthread_cond_t c; int x, y;";
    let program = |second: &str, body: &str| {
        format!(
            "{globals} void *f(void *p) {{ {} return 0; }} void *g(void *p) {{ {second} return 0; }}
             int main(void) {{ pthread_t t, u; pthread_create(&t, 0, f, 0); {body} return 0; }}",
            wait("m", "x")
        )
    };
    let start = "pthread_create(&u, 0, g, 0);";
    let joins = "pthread_join(t, 0); pthread_join(u, 0);";
    let (m, n) = (set("m", "x"), set("n", "y"));
    let why = "two threads wait at `c` with two different mutexes";
    fails(&program(&wait("n", "y"), &format!("{start} {m} {n} {joins}")), why);
    fine(&program(&wait("m", "y"), &format!("{start} {m} {} {joins}", set("m", "y"))));
    // One after the other.
    let after = format!("{m} pthread_join(t, 0); {start} {n} pthread_join(u, 0);");
    fine(&program(&wait("n", "y"), &after));
}
