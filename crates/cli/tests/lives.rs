//! Lives of objects in C and C++ programs under `raddle check`: locks, blocks, frames, and what is used before or after. One table of
//! small programs for each kind.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod compiled;

use compiled::{RADDLE, command, place};
use serde_json::Value;
use std::fs;

/// What `raddle check` is to say of a program.
#[derive(Clone, Copy, Debug)]
enum Right {
    /// `verified`, without caveats.
    Verified,
    /// A failure of one of these kinds.
    Fails(&'static [&'static str]),
    /// No failure, and caveats of this kind alone, with a place.
    Named(&'static str),
}

use Right::{Fails, Named, Verified};

const HEADERS: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n#include <string.h>\n\
                       #include <stdint.h>\n#include <semaphore.h>\n#include <unistd.h>\n";

/// A name, options, the program without its headers, and what is right.
type Case = (&'static str, &'static str, &'static str, Right);

fn check(test: &str, cases: &[Case]) {
    let dir = place(&format!("lives-{test}"));
    for (name, options, text, right) in cases {
        let is_cxx = name.ends_with(".cpp");
        let file = dir.join(if is_cxx { (*name).to_owned() } else { format!("{name}.c") });
        let headers = if is_cxx { "#include <cstdlib>\n" } else { HEADERS };
        fs::write(&file, format!("{headers}{text}")).unwrap();
        let output = command(RADDLE)
            .args(["check", "--json", "--max-seconds", "60"])
            .arg(&file)
            .args(options.split_whitespace())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let report: Value = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{name}: {e}: {text}{}", String::from_utf8_lossy(&output.stderr)));
        let kind = report["failures"][0]["kind"].as_str().unwrap_or_default();
        let caveats = report["caveats"].as_array().unwrap();
        let is_right = match right {
            Verified => report["verdict"] == "verified" && caveats.is_empty(),
            Fails(kinds) => kinds.contains(&kind),
            Named(kind) => {
                let is_it = |c: &Value| c["kind"] == *kind && c["places"][0].is_string();
                report["verdict"] == "no-failure-with-caveats" && caveats.iter().all(is_it)
            }
        };
        assert!(is_right, "{name} is to be {right:?}: {report:#}");
    }
}

#[test]
fn copies_of_locks_are_not_used() {
    const WRONG: Right = Fails(&["lock-misuse"]);
    check("copies_of_locks_are_not_used", &[
        ("copy-inited", "", "struct S { pthread_mutex_t m; int n; }; static struct S a, b;
            static void *t(void *x) { pthread_mutex_lock(&b.m); b.n++; pthread_mutex_unlock(&b.m); return 0; }
            int main(void) { pthread_mutex_init(&a.m, 0); b = a; pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", WRONG),
        ("copy-memcpy-heap", "", "struct S { pthread_mutex_t m; int n; }; static struct S a = { PTHREAD_MUTEX_INITIALIZER, 0 }; static struct S *b;
            static void *t(void *x) { pthread_mutex_lock(&b->m); b->n++; pthread_mutex_unlock(&b->m); return 0; }
            int main(void) { b = malloc(sizeof *b); pthread_mutex_lock(&a.m); pthread_mutex_unlock(&a.m); memcpy(b, &a, sizeof a); pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", WRONG),
        ("copy-realloc", "", "struct S { pthread_mutex_t m; int n; }; static struct S *b;
            static void *t(void *x) { pthread_mutex_lock(&b[0].m); b->n++; pthread_mutex_unlock(&b[0].m); return 0; }
            int main(void) { b = malloc(sizeof *b); b->n=0; pthread_mutex_init(&b->m, 0); b = realloc(b, 3 * sizeof *b); pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", WRONG),
        ("copy-by-value", "", "struct S { pthread_mutex_t m; int n; }; static struct S g; static int c;
            static struct S make(void) { struct S s; pthread_mutex_init(&s.m, 0); s.n = 0; return s; }
            static void *t(void *x) { pthread_mutex_lock(&g.m); c++; pthread_mutex_unlock(&g.m); return 0; }
            int main(void) { g = make(); pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", WRONG),
        ("copy-locked", "", "static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b;
            static void *t(void *x) { pthread_mutex_lock(&a); pthread_mutex_lock(&b); pthread_mutex_unlock(&b); pthread_mutex_unlock(&a); return 0; }
            int main(void) { pthread_mutex_lock(&a); b = a; pthread_mutex_unlock(&a); pthread_mutex_unlock(&b); pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", WRONG),
        ("copy-sem", "", "struct S { sem_t s; int n; }; static struct S a, b;
            static void *t(void *x) { sem_post(&b.s); return 0; }
            int main(void) { sem_init(&a.s, 0, 0); b = a; pthread_t p; pthread_create(&p, 0, t, 0); sem_wait(&b.s); pthread_join(p, 0); return 0; }", WRONG),
        ("copy-cond", "", "struct S { pthread_cond_t c; int n; }; static struct S a, b; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
            static void *t(void *x) { pthread_mutex_lock(&m); b.n = 1; pthread_cond_signal(&b.c); pthread_mutex_unlock(&m); return 0; }
            int main(void) { pthread_cond_init(&a.c, 0); b = a; pthread_t p; pthread_create(&p, 0, t, 0); pthread_mutex_lock(&m); while (!b.n) pthread_cond_wait(&b.c, &m); pthread_mutex_unlock(&m); pthread_join(p, 0); return 0; }", WRONG),
        ("copy-rwlock", "", "struct S { pthread_rwlock_t c; int n; }; static struct S a, b;
            static void *t(void *x) { pthread_rwlock_wrlock(&b.c); b.n = 1; pthread_rwlock_unlock(&b.c); return 0; }
            int main(void) { pthread_rwlock_init(&a.c, 0); b = a; pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", WRONG),
        ("copy-barrier", "", "static pthread_barrier_t a, b;
            static void *t(void *x) { pthread_barrier_wait(&b); return 0; }
            int main(void) { pthread_barrier_init(&a, 0, 2); b = a; pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", WRONG),
        ("copy-mtx", "", "#include <threads.h>
            struct S { mtx_t m; int n; }; static struct S a, b;
            static void *t(void *x) { mtx_lock(&b.m); b.n = 1; mtx_unlock(&b.m); return 0; }
            int main(void) { mtx_init(&a.m, mtx_plain); b = a; pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", WRONG),
        ("spin-copy", "", "static pthread_spinlock_t a, b;
            static void *t(void *x) { pthread_spin_lock(&b); pthread_spin_unlock(&b); return 0; }
            int main(void) { pthread_spin_init(&a, 0); b = a; pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", WRONG),
        ("swap-structs", "", "struct S { pthread_mutex_t m; int n; }; static struct S a = { PTHREAD_MUTEX_INITIALIZER, 1 }, b = { PTHREAD_MUTEX_INITIALIZER, 2 };
            static void *t(void *x) { pthread_mutex_lock(&a.m); a.n++; pthread_mutex_unlock(&a.m); return 0; }
            int main(void) { t(0); struct S c = a; a = b; b = c; pthread_mutex_lock(&b.m); pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); return 0; }", WRONG),
        ("copy-assign", "", "struct S { pthread_mutex_t m; int n; }; static struct S a = { PTHREAD_MUTEX_INITIALIZER, 0 }, b;
            static void *t(void *x) { pthread_mutex_lock(&b.m); b.n++; pthread_mutex_unlock(&b.m); return 0; }
            int main(void) { b = a; pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", Verified),
        ("copy-then-init", "", "struct S { pthread_mutex_t m; int n; }; static struct S a = { PTHREAD_MUTEX_INITIALIZER, 0 }, b;
            static void *t(void *x) { pthread_mutex_lock(&b.m); b.n++; pthread_mutex_unlock(&b.m); return 0; }
            int main(void) { pthread_mutex_lock(&a.m); a.n = 5; pthread_mutex_unlock(&a.m); b = a; pthread_mutex_init(&b.m, 0); pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); assert(b.n == 7); return 0; }", Verified),
        ("copy-unused", "", "struct S { pthread_mutex_t m; int n; }; static struct S a = { PTHREAD_MUTEX_INITIALIZER, 0 };
            static void *t(void *x) { pthread_mutex_lock(&a.m); a.n++; pthread_mutex_unlock(&a.m); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); struct S b = a; assert(b.n == 2); return 0; }", Verified),
        ("static-assign", "", "struct S { pthread_mutex_t m; int n; }; static struct S a;
            static void *t(void *x) { pthread_mutex_lock(&a.m); a.n++; pthread_mutex_unlock(&a.m); return 0; }
            int main(void) { a = (struct S){ .m = PTHREAD_MUTEX_INITIALIZER, .n = 3 }; pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); assert(a.n == 5); return 0; }", Verified),
        ("static-local-init", "", "struct S { pthread_mutex_t m; int n; };
            static void *t(void *x) { struct S *a = x; pthread_mutex_lock(&a->m); a->n++; pthread_mutex_unlock(&a->m); return 0; }
            int main(void) { struct S a = { .m = PTHREAD_MUTEX_INITIALIZER, .n = 3 }; pthread_t p; pthread_create(&p, 0, t, &a); t(&a); pthread_join(p, 0); assert(a.n == 5); return 0; }", Verified),
        ("static-heap-assign", "", "struct S { pthread_mutex_t m; pthread_cond_t c; int n; };
            static void *t(void *x) { struct S *a = x; pthread_mutex_lock(&a->m); a->n++; pthread_cond_signal(&a->c); pthread_mutex_unlock(&a->m); return 0; }
            int main(void) { struct S *a = malloc(sizeof *a); *a = (struct S){ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 3 }; pthread_t p; pthread_create(&p, 0, t, a); t(a); pthread_join(p, 0); assert(a->n == 5); free(a); return 0; }", Verified),
        ("static-const-template", "", "static const pthread_mutex_t init = PTHREAD_MUTEX_INITIALIZER; static pthread_mutex_t m; static int n;
            static void *t(void *x) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); return 0; }
            int main(void) { memcpy(&m, &init, sizeof m); pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", Verified),
        ("static-mutex-assign-tmp", "", "static pthread_mutex_t m; static int n;
            static void *t(void *x) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); return 0; }
            int main(void) { pthread_mutex_t tmp = PTHREAD_MUTEX_INITIALIZER; m = tmp; pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); return 0; }", Verified),
        ("save-restore", "", "struct S { pthread_mutex_t m; int n; }; static struct S a = { PTHREAD_MUTEX_INITIALIZER, 1 };
            static void *t(void *x) { pthread_mutex_lock(&a.m); a.n++; pthread_mutex_unlock(&a.m); return 0; }
            int main(void) { t(0); struct S c = a; memset(&a, 0, sizeof a); a = c; pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); return 0; }", Verified),
        ("memset-lock-reinit", "", "struct S { pthread_mutex_t m; int n; }; static struct S a;
            static void *t(void *x) { pthread_mutex_lock(&a.m); a.n++; pthread_mutex_unlock(&a.m); return 0; }
            int main(void) { pthread_mutex_init(&a.m, 0); t(0); pthread_mutex_destroy(&a.m); memset(&a, 0, sizeof a); pthread_mutex_init(&a.m, 0); pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); return 0; }", Verified),
        ("realloc-then-init", "", "struct S { pthread_mutex_t m; int n; }; static struct S *b;
            static void *t(void *x) { pthread_mutex_lock(&b[1].m); b[1].n++; pthread_mutex_unlock(&b[1].m); return 0; }
            int main(void) { b = malloc(sizeof *b); pthread_mutex_init(&b->m, 0); pthread_mutex_destroy(&b->m); b = realloc(b, 2 * sizeof *b); b[1].n = 0; pthread_mutex_init(&b[1].m, 0); pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); free(b); return 0; }", Verified),
        ("spin-ok", "", "static pthread_spinlock_t a; static int n;
            static void *t(void *x) { pthread_spin_lock(&a); n++; pthread_spin_unlock(&a); return 0; }
            int main(void) { pthread_spin_init(&a, 0); pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); pthread_spin_destroy(&a); return n - 2; }", Verified),
    ]);
}

#[test]
fn once_controls_live_as_long_as_their_memory() {
    const WRONG: Right = Fails(&["assertion", "lock-misuse", "use-after-free"]);
    check("once_controls_live_as_long_as_their_memory", &[
        ("once-reset", "", "static pthread_once_t o = PTHREAD_ONCE_INIT; static int n;
            static void f(void) { n++; }
            static void *t(void *x) { pthread_once(&o, f); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); o = (pthread_once_t)PTHREAD_ONCE_INIT; pthread_once(&o, f); assert(n == 1); return 0; }", WRONG),
        ("once-reset-race", "", "static pthread_once_t o = PTHREAD_ONCE_INIT; static _Atomic int n;
            static void f(void) { n++; }
            static void *t(void *x) { pthread_once(&o, f); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); o = (pthread_once_t)PTHREAD_ONCE_INIT; t(0); pthread_join(p, 0); return 0; }", WRONG),
        ("once-c11", "", "#include <threads.h>
            static once_flag o = ONCE_FLAG_INIT; static int n;
            static void f(void) { n++; }
            static void *t(void *x) { call_once(&o, f); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); o = (once_flag)ONCE_FLAG_INIT; call_once(&o, f); assert(n == 1); return 0; }", WRONG),
        ("once-uninit-heap", "", "static int n; static void f(void) { n++; }
            static void *t(void *x) { pthread_once(x, f); return 0; }
            int main(void) { pthread_once_t *s = malloc(sizeof *s); pthread_t p; pthread_create(&p, 0, t, s); t(s); pthread_join(p, 0); return 0; }", WRONG),
        ("once-freed-race", "", "static void f(void) { }
            static void *t(void *x) { pthread_once(x, f); return 0; }
            int main(void) { pthread_once_t *s = malloc(sizeof *s); *s = PTHREAD_ONCE_INIT; pthread_t p; pthread_create(&p, 0, t, s); pthread_once(s, f); free(s); pthread_join(p, 0); return 0; }", WRONG),
        ("once-reset-twice", "", "static pthread_once_t o = PTHREAD_ONCE_INIT; static int n;
            static void f(void) { n++; }
            static void *t(void *x) { pthread_once(&o, f); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); o = (pthread_once_t)PTHREAD_ONCE_INIT; pthread_once(&o, f); assert(n == 2); return 0; }", Verified),
        ("once-on-heap", "", "struct S { pthread_once_t o; int n; }; static int n;
            static void f(void) { n++; }
            static void *t(void *x) { struct S *s = x; pthread_once(&s->o, f); return 0; }
            int main(void) { struct S *s = malloc(sizeof *s); s->o = (pthread_once_t)PTHREAD_ONCE_INIT; pthread_t p; pthread_create(&p, 0, t, s); t(s); pthread_join(p, 0); free(s); assert(n == 1); return 0; }", Verified),
        ("once-local-twice", "", "static int n;
            static void f(void) { n++; }
            static void *t(void *x) { pthread_once(x, f); return 0; }
            static void go(void) { pthread_once_t o = PTHREAD_ONCE_INIT; pthread_t p; pthread_create(&p, 0, t, &o); t(&o); pthread_join(p, 0); }
            int main(void) { go(); go(); assert(n == 2); return 0; }", Verified),
    ]);
}

#[test]
fn the_first_thread_takes_its_variables_with_it() {
    const WRONG: Right = Fails(&["use-after-free"]);
    check("the_first_thread_takes_its_variables_with_it", &[
        ("main-exit-locals", "", "static void *t(void *x) { return (void*)(long)*(int *)x; }
            int main(void) { int v = 3; pthread_t p; pthread_create(&p, 0, t, &v); pthread_exit(0); }", WRONG),
        ("main-exit-write", "", "static void *t(void *x) { *(int *)x = 4; return 0; }
            static void go(void) { int v = 3; pthread_t p; pthread_create(&p, 0, t, &v); pthread_exit(0); }
            int main(void) { go(); }", WRONG),
        ("main-exit-mutex", "", "static void *t(void *x) { pthread_mutex_lock(x); pthread_mutex_unlock(x); return 0; }
            int main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_t p; pthread_create(&p, 0, t, &m); pthread_exit(0); }", WRONG),
        ("main-exit-atomic", "", "static void *t(void *x) { atomic_fetch_add((_Atomic int*)x, 1); return 0; }
            int main(void) { _Atomic int m = 0; pthread_t p; pthread_create(&p, 0, t, &m); pthread_exit(0); }", WRONG),
        ("main-exit-tls", "", "static __thread int tl;
            static void *t(void *x) { *(int*)x = 1; return 0; }
            int main(int c, char **v) { pthread_t p; pthread_create(&p, 0, t, &tl); pthread_exit(0); }", WRONG),
        ("main-exit-waited", "", "static sem_t s;
            static void *t(void *x) { int v = *(int *)x; sem_post(&s); return (void*)(long)v; }
            int main(void) { sem_init(&s, 0, 0); int v = 3; pthread_t p; pthread_create(&p, 0, t, &v); sem_wait(&s); pthread_exit(0); }", Verified),
        ("main-exit-global", "", "static int v;
            static void *t(void *x) { v++; return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, &v); pthread_exit(0); }", Verified),
        ("main-exit-argv", "", "static void *t(void *x) { char **a = x; return (void*)(long)(a[0][0] == 0); }
            int main(int c, char **v) { pthread_t p; pthread_create(&p, 0, t, v); pthread_exit(0); }", Verified),
        ("main-exit-other-uses-t1-stack", "", "static _Atomic(int *) g; static sem_t s;
            static void *t(void *x) { int v = 3; g = &v; sem_post(&s); exit(0); }
            int main(void) { sem_init(&s,0,0); pthread_t p; pthread_create(&p, 0, t, 0); sem_wait(&s); int r = *g; pthread_join(p, 0); return r * 0; }", Verified),
    ]);
}

#[test]
fn locks_are_not_held_when_their_memory_goes() {
    const WRONG: Right = Fails(&["lock-misuse"]);
    check("locks_are_not_held_when_their_memory_goes", &[
        ("del-locked-mutex.cpp", "", "#include <mutex>
            #include <thread>
            int main() { auto *m = new std::mutex; std::thread t([&]{ m->lock(); }); t.join(); delete m; }", WRONG),
        ("del-locked-own.cpp", "", "#include <mutex>
            #include <thread>
            int main() { auto *m = new std::mutex; std::thread t([&]{ std::lock_guard<std::mutex> g(*m); }); t.join(); m->lock(); delete m; }", WRONG),
        ("stack-locked-mutex.cpp", "", "#include <mutex>
            #include <thread>
            static void f() { std::mutex m; std::thread t([&]{ std::lock_guard<std::mutex> g(m); }); t.join(); m.lock(); }
            int main() { f(); }", WRONG),
        ("free-locked-mutex", "", "static void *t(void *x) { pthread_mutex_lock(x); return 0; }
            int main(void) { pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_init(m, 0); pthread_t p; pthread_create(&p, 0, t, m); pthread_join(p, 0); free(m); return 0; }", WRONG),
        ("free-locked-rwlock", "", "static void *t(void *x) { pthread_rwlock_rdlock(x); return 0; }
            int main(void) { pthread_rwlock_t *m = malloc(sizeof *m); pthread_rwlock_init(m, 0); pthread_t p; pthread_create(&p, 0, t, m); pthread_join(p, 0); free(m); return 0; }", WRONG),
        ("stack-held-mutex", "", "static void *t(void *x) { pthread_mutex_lock(x); return 0; }
            static void f(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_t p; pthread_create(&p, 0, t, &m); pthread_join(p, 0); }
            int main(void) { f(); return 0; }", WRONG),
        ("thread-stack-mutex-held", "", "static void *t(void *x) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&m); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); return 0; }", WRONG),
        ("barrier-freed-waiters", "", "static void *t(void *x) { pthread_barrier_wait(x); return 0; }
            int main(void) { pthread_barrier_t *b = malloc(sizeof *b); pthread_barrier_init(b, 0, 2); pthread_t p; pthread_create(&p, 0, t, b); pthread_barrier_wait(b); free(b); pthread_join(p, 0); return 0; }", WRONG),
        ("del-unlocked-mutex.cpp", "", "#include <mutex>
            #include <thread>
            int main() { auto *m = new std::mutex; std::thread t([&]{ std::lock_guard<std::mutex> g(*m); }); { std::lock_guard<std::mutex> g(*m); } t.join(); delete m; }", Verified),
        ("stack-unlocked-mutex.cpp", "", "#include <mutex>
            #include <thread>
            static void f() { std::mutex m; std::thread t([&]{ std::lock_guard<std::mutex> g(m); }); m.lock(); m.unlock(); t.join(); }
            int main() { f(); f(); }", Verified),
        ("free-undestroyed-mutex", "", "static void *t(void *x) { pthread_mutex_lock(x); pthread_mutex_unlock(x); return 0; }
            int main(void) { pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_init(m, 0); pthread_t p; pthread_create(&p, 0, t, m); pthread_join(p, 0); free(m); return 0; }", Verified),
        ("cleanup-stack-mutex-ok", "", "static void un(void *p) { pthread_mutex_unlock(p); }
            static void *t(void *x) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&m); pthread_cleanup_push(un, &m); pthread_exit(0); pthread_cleanup_pop(1); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); return 0; }", Verified),
        ("main-stack-mutex-held-exit", "", "static void *t(void *x) { return 0; }
            int main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_t p; pthread_create(&p, 0, t, 0); pthread_mutex_lock(&m); pthread_join(p, 0); exit(0); }", Verified),
        ("latch-unlock-destroy.cpp", "", "#include <thread>
            #include <mutex>
            #include <memory>
            struct S { std::mutex m; int n = 2; };
            static void rel(S *s) { s->m.lock(); bool last = --s->n == 0; s->m.unlock(); if (last) delete s; }
            int main() { S *s = new S; std::thread t(rel, s); rel(s); t.join(); }", Verified),
        ("rwlock-stack", "", "static void *t(void *x) { pthread_rwlock_rdlock(x); pthread_rwlock_unlock(x); return 0; }
            static void go(void) { pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; pthread_t p; pthread_create(&p, 0, t, &l); pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l); pthread_join(p, 0); }
            int main(void) { go(); go(); return 0; }", Verified),
    ]);
}

#[test]
fn blocks_are_freed_as_they_were_allocated() {
    const WRONG: Right = Fails(&["invalid-free"]);
    check("blocks_are_freed_as_they_were_allocated", &[
        ("mismatch-arr.cpp", "", "#include <thread>
            int main() { int *p = new int[4]; std::thread t([&]{ p[0] = 1; }); t.join(); delete p; }", WRONG),
        ("mismatch-arr2.cpp", "", "#include <thread>
            int main() { int *p = new int; std::thread t([&]{ p[0] = 1; }); t.join(); delete[] p; }", WRONG),
        ("mismatch-free.cpp", "", "#include <thread>
            #include <cstdlib>
            int main() { int *p = new int; std::thread t([&]{ p[0] = 1; }); t.join(); free(p); }", WRONG),
        ("mismatch-delete.cpp", "", "#include <thread>
            #include <cstdlib>
            int main() { int *p = (int*)malloc(4); std::thread t([&]{ p[0] = 1; }); t.join(); delete p; }", WRONG),
        ("mismatch-realloc.cpp", "", "#include <thread>
            #include <cstdlib>
            int main() { int *p = new int[2]; std::thread t([&]{ p[0] = 1; }); t.join(); p = (int*)realloc(p, 16); free(p); }", WRONG),
        ("unique-arr.cpp", "", "#include <memory>
            #include <thread>
            int main() { std::unique_ptr<int> p(new int[3]); std::thread t([&]{ *p = 1; }); t.join(); }", WRONG),
        ("delete-stack.cpp", "", "#include <thread>
            int main() { int b = 0; std::thread t([&]{ b++; }); t.join(); int *p = &b; delete p; }", WRONG),
        ("match-all.cpp", "", r#"#include <thread>
            #include <cstdlib>
            #include <cstring>
            #include <memory>
            #include <vector>
            #include <string>
            #include <new>
            struct A { int x; ~A() { x = 0; } }; struct alignas(64) B { int x; };
            int main() { int *p = (int*)malloc(4); int *q = new int; int *r = new int[3]; A *a = new A[2]; B *b = new B; B *bb = new B[2];
             void *raw = ::operator new(8); void *raw2 = operator new[](8); int *n = new (std::nothrow) int; char *d = strdup("hi");
             auto s = std::make_shared<A>(); std::unique_ptr<int[]> u(new int[3]); std::vector<int> v(3); std::string st(100, 'x');
             std::thread t([&]{ p[0] = 1; }); t.join(); free(p); delete q; delete[] r; delete[] a; delete b; delete[] bb; ::operator delete(raw); operator delete[](raw2); delete n; free(d); }"#, Verified),
        ("class-new.cpp", "", "#include <thread>
            #include <cstdlib>
            struct A { int x; static void *operator new(size_t n) { return malloc(n); } static void operator delete(void *p) { free(p); } };
            int main() { A *a = new A; std::thread t([&]{ a->x = 1; }); t.join(); delete a; }", Verified),
        ("own-global-new.cpp", "", "#include <thread>
            #include <cstdlib>
            #include <new>
            void *operator new(size_t n) { return malloc(n); } void operator delete(void *p) noexcept { free(p); } void operator delete(void *p, size_t) noexcept { free(p); }
            int main() { int *a = new int; std::thread t([&]{ *a = 1; }); t.join(); delete a; }", Verified),
        ("new-replaced-part.cpp", "", "#include <thread>
            #include <cstdlib>
            #include <new>
            void *operator new(std::size_t n) { void *p = malloc(n); if (!p) throw std::bad_alloc(); return p; }
            void operator delete(void *p) noexcept { free(p); }
            int main() { int *a = new int[3]; std::thread t([&]{ a[1] = 1; }); t.join(); delete[] a; }", Verified),
        ("new-throws.cpp", "", "#include <thread>
            #include <new>
            int main() { bool caught = false; std::thread t([&]{ try { char *p = new char[1ull << 46]; delete[] p; } catch (const std::bad_alloc &) { caught = true; } }); t.join(); int *n = new (std::nothrow) int; delete n; return caught ? 0 : 1; }", Verified),
        ("delete-void.cpp", "", "#include <thread>
            struct B { virtual ~B() = default; }; struct D : B { int x[4]; };
            int main() { B *b = new D; std::thread t([b]{ delete b; }); t.join(); }", Verified),
    ]);
}

#[test]
fn jumps_lead_to_functions_that_run() {
    const WRONG: Right = Fails(&["use-after-free"]);
    check("jumps_lead_to_functions_that_run", &[
        ("longjmp-returned", "", "#include <setjmp.h>
            static jmp_buf b; static int set(void) { return setjmp(b); }
            static void *t(void *x) { static int n; if (set() == 0 && n++ == 0) longjmp(b, 1); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); return 0; }", WRONG),
        ("longjmp-covered", "", "#include <setjmp.h>
            static jmp_buf b; static int n;
            static int set(void) { return setjmp(b); }
            static void deep(int k) { volatile int pad[16]; pad[0] = k; if (k) deep(k - 1); else if (n++ == 0) longjmp(b, 1); }
            static void *t(void *x) { if (set() == 0) deep(5); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); return 0; }", WRONG),
        ("longjmp-other-thread", "", "#include <setjmp.h>
            static jmp_buf b; static sem_t s, e;
            static void *t(void *x) { if (setjmp(b) == 0) { sem_post(&s); sem_wait(&e); } return 0; }
            int main(void) { sem_init(&s,0,0); sem_init(&e,0,0); pthread_t p; pthread_create(&p, 0, t, 0); sem_wait(&s); static int k; if (k++ == 0) longjmp(b, 1); sem_post(&e); pthread_join(p, 0); return 0; }", WRONG),
        ("longjmp-ok", "", "#include <setjmp.h>
            static _Atomic int n;
            static void deep(jmp_buf b, int k) { if (k) deep(b, k - 1); else longjmp(b, 1); }
            static void *t(void *x) { jmp_buf b; if (setjmp(b) == 0) deep(b, 3); else n++; return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); assert(n == 2); return 0; }", Verified),
        ("longjmp-loop-ok", "", "#include <setjmp.h>
            static _Atomic int n;
            static void *t(void *x) { jmp_buf b; volatile int k = 0; if (setjmp(b) < 2) { k++; n++; longjmp(b, k); } return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); t(0); pthread_join(p, 0); assert(n == 4); return 0; }", Verified),
    ]);
}

#[test]
fn atomic_init_is_not_atomic() {
    const WRONG: Right = Fails(&["data-race"]);
    check("atomic_init_is_not_atomic", &[
        ("atomic-init-race", "", "static _Atomic int a;
            static void *t(void *x) { return (void*)(long)atomic_load(&a); }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); atomic_init(&a, 1); pthread_join(p, 0); return 0; }", WRONG),
        ("atomic-init-macro", "", "#define SETUP(x) atomic_init(&(x), 7)
            static _Atomic int a;
            static void *t(void *x) { return (void*)(long)(atomic_load(&a) * 0); }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); SETUP(a); pthread_join(p, 0); return 0; }", WRONG),
        ("atomic-init-struct", "", "struct S { _Atomic long n; }; static struct S s;
            static void init(struct S *p) { atomic_init(&p->n, 0); }
            static void *t(void *x) { atomic_fetch_add(&s.n, 1); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); init(&s); pthread_join(p, 0); return 0; }", WRONG),
        ("atomic-init-cpp.cpp", "", "#include <atomic>
            #include <thread>
            static std::atomic<int> a;
            int main() { std::thread t([]{ a.load(); }); std::atomic_init(&a, 3); t.join(); }", WRONG),
        ("atomic-ctor-race.cpp", "", "#include <atomic>
            #include <thread>
            #include <new>
            alignas(std::atomic<int>) static char buf[sizeof(std::atomic<int>)];
            int main() { auto *a = new (buf) std::atomic<int>(0); std::thread t([&]{ a->load(); }); new (buf) std::atomic<int>(1); t.join(); }", WRONG),
        ("atomic-init-before", "", "static _Atomic int a;
            static void *t(void *x) { assert(atomic_load(&a) == 1); return 0; }
            int main(void) { pthread_t p; atomic_init(&a, 1); pthread_create(&p, 0, t, 0); pthread_join(p, 0); return 0; }", Verified),
        ("atomic-init-heap-published", "", "static _Atomic(_Atomic int *) g;
            static void *t(void *x) { _Atomic int *p = g; if (p) assert(*p == 1); return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); _Atomic int *a = malloc(4); atomic_init(a, 1); g = a; pthread_join(p, 0); free(a); return 0; }", Verified),
        ("atomic-init-cpp-ok.cpp", "", "#include <atomic>
            #include <thread>
            static std::atomic<int> a; static std::atomic<int*> p;
            int main() { std::atomic_init(&a, 3); std::atomic_init(&p, (int*)nullptr); std::thread t([]{ if (a.load() != 3) abort(); a.store(4); }); t.join(); return a.load() - 4; }", Verified),
        ("atomic-flag-init-race", "", "static atomic_flag f = ATOMIC_FLAG_INIT;
            static void *t(void *x) { return (void*)(long)(atomic_flag_test_and_set(&f) * 0); }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); f = (atomic_flag)ATOMIC_FLAG_INIT; pthread_join(p, 0); return 0; }", Verified),
    ]);
}

#[test]
fn objects_are_not_used_after_their_destructors() {
    check(
        "destructors",
        &[
            (
                "virtual.cpp",
                "",
                "#include <new>\nstruct B { virtual ~B() {} virtual int f() { return 1; } }; struct D : B { int x = 3; ~D() override {} int f() override { return x; } };
                int main() { void *m = malloc(sizeof(D)); B *p = new (m) D; p->~B(); int r = p->f(); free(m); return r - 1; }",
                Fails(&["signal"]),
            ),
            (
                "member.cpp",
                "",
                "#include <new>\nstruct T { int v = 4; ~T() {} };
                int main() { T *p = new (malloc(sizeof(T))) T; p->~T(); int r = p->v; free(p); return r - r; }",
                Named("uninitialised"),
            ),
            (
                "element.cpp",
                "",
                "#include <vector>\nstruct T { int v = 4; ~T() {} };
                int main() { std::vector<T> v(3); T &r = v.back(); v.pop_back(); int n = r.v; return n - n; }",
                Named("uninitialised"),
            ),
            (
                "made-again.cpp",
                "",
                "#include <cassert>\n#include <new>\nstruct T { int v; T(int n) : v(n) {} ~T() { v = 0; } };
                int main() { T *p = new (malloc(sizeof(T))) T(1); p->~T(); new (p) T(2); assert(p->v == 2); p->~T(); *(int *)p = 3; assert(*(int *)p == 3); free(p); }",
                Verified,
            ),
            (
                "bases.cpp",
                "",
                "#include <cassert>\n#include <memory>
                struct V { int a = 1; virtual ~V() { assert(a == 1); } }; struct L : virtual V { int l = 2; ~L() { assert(a == 1 && l == 2); } };
                struct R : virtual V { int r = 3; ~R() { assert(a == 1 && r == 3); } };
                struct X : L, R { int x = 4; ~X() { assert(a == 1 && l == 2 && r == 3 && x == 4); } };
                struct E { ~E() {} }; struct W { int k = 7; [[no_unique_address]] E e; ~W() { assert(k == 7); } }; struct F : E { int k = 5; ~F() { assert(k == 5); } };
                int main() { std::unique_ptr<V> v(new X); v.reset(); std::make_unique<X>(); std::make_unique<W>(); std::make_unique<F>(); std::make_shared<R>(); }",
                Verified,
            ),
            (
                "containers.cpp",
                "-std=c++20",
                "#include <cassert>\n#include <deque>\n#include <map>\n#include <memory>\n#include <optional>\n#include <string>\n#include <vector>
                struct T { int v; std::string s; T(int n) : v(n), s(30, 'x') {} T(const T &o) : v(o.v), s(o.s) {} T &operator=(const T &) = default; ~T() { v = 0; } };
                int main() { std::vector<T> v; for (int i = 0; i < 5; i++) v.emplace_back(i); v.erase(v.begin()); v.pop_back(); v.insert(v.begin(), T(9)); assert(v[0].v == 9 && v[1].v == 1);
                    std::deque<T> d; for (int i = 0; i < 9; i++) d.push_back(T(i)); d.pop_front(); d.pop_back(); d.push_back(T(3)); assert(d.front().v == 1 && d.back().v == 3);
                    auto o = std::make_unique<std::optional<T>>(T(3)); o->reset(); assert(!*o); o->emplace(4); assert((*o)->v == 4);
                    auto p = std::make_shared<T>(6); std::weak_ptr<T> w = p; p.reset(); assert(w.expired()); std::map<int, T> m; m.emplace(1, T(1)); m.erase(1); m.emplace(1, T(2)); assert(m.at(1).v == 2); }",
                Verified,
            ),
            (
                "free-list.cpp",
                "",
                "#include <cassert>\n#include <cstddef>
                struct N { static void *list; int v; N(int n) : v(n) {} ~N() {}
                    static void *operator new(std::size_t) { if (void *p = list) { list = *(void **)p; return p; } return malloc(16); }
                    static void operator delete(void *p) { *(void **)p = list; list = p; } };
                void *N::list;
                int main() { N *a = new N(1), *b = new N(2); delete a; delete b; N *c = new N(3); assert(c->v == 3); delete c; }",
                Verified,
            ),
        ],
    );
}

#[test]
fn indices_and_pointers_of_atomic_type_are_loaded_atomically() {
    check(
        "indices",
        &[
            (
                "index",
                "",
                "static _Atomic int i; static int a[4] = {1, 2, 3, 4}; static void *t(void *x) { i = 2; return x; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); int v = a[i]; assert(v == 1 || v == 3); pthread_join(h, 0); assert(a[i] == 3); }",
                Verified,
            ),
            (
                "index-is-explored",
                "",
                "static _Atomic int i; static int a[4] = {1, 2, 3, 4}; static void *t(void *x) { i = 2; return x; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); assert(a[i] == 1); pthread_join(h, 0); }",
                Fails(&["assertion"]),
            ),
            (
                "pointer",
                "",
                "static int a[4]; static _Atomic(int *) p = a; static void *t(void *x) { p = a + 1; return x; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); p[1] = 1; pthread_join(h, 0); assert(a[1] + a[2] == 1); }",
                Verified,
            ),
            (
                "member-through-pointer",
                "",
                "struct S { int n; atomic_uchar k; } s, *sp = &s; static int a[4]; static void *t(void *x) { sp->k = 1; return x; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); int v = a[sp->k]; int *e = &a[s.k]; pthread_join(h, 0); return v + (e - a > 1); }",
                Verified,
            ),
            (
                "evaluated-twice",
                "",
                "static atomic_size_t head; static int a[4]; static void *t(void *x) { head = 1; return x; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); a[head] += 1; a[head]++; pthread_join(h, 0); return a[3]; }",
                Verified,
            ),
            (
                "plain-index",
                "",
                "static int i; static _Atomic int j; static int a[4]; static void *t(void *x) { i = 2; j = 1; return x; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); int v = a[j] + a[i]; pthread_join(h, 0); return v; }",
                Fails(&["data-race"]),
            ),
            (
                "plain-elements",
                "",
                "static _Atomic int j; static int a[4]; static void *t(void *x) { a[j] = 2; return x; }
                int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); int v = a[j]; pthread_join(h, 0); return v; }",
                Fails(&["data-race"]),
            ),
        ],
    );
}

#[test]
fn references_to_variables_of_functions_that_returned() {
    const WRONG: Right = Fails(&["use-after-free", "data-race"]);
    check("references_to_variables_of_functions_that_returned", &[
        ("frame-other-thread", "", "static void *t(void *x) { *(int *)x = 1; return 0; }
            static void go(pthread_t *p) { int v = 0; pthread_create(p, 0, t, &v); }
            int main(void) { pthread_t p; go(&p); pthread_join(p, 0); return 0; }", WRONG),
        ("lambda-ref.cpp", "", "#include <thread>
            static std::thread mk() { int v = 0; return std::thread([&v]{ v++; }); }
            int main() { auto t = mk(); t.join(); }", WRONG),
        ("thread-ref.cpp", "", "#include <thread>
            #include <functional>
            static void f(int &v) { v++; }
            static std::thread mk() { int v = 0; return std::thread(f, std::ref(v)); }
            int main() { auto t = mk(); t.join(); }", WRONG),
        ("string-view-sso-tmp.cpp", "", r#"#include <string>
            #include <string_view>
            #include <thread>
            static std::string_view mk() { std::string s("abc"); return s; }
            int main() { std::string_view v = mk(); char c = 0; std::thread t([&]{ c = v[1]; }); t.join(); return 0; }"#, WRONG),
        ("lambda-val.cpp", "", "#include <thread>
            static std::thread mk() { int v = 0; return std::thread([v]() mutable { v++; }); }
            int main() { auto t = mk(); t.join(); }", Verified),
        ("async-ok.cpp", "", "#include <future>
            static int mk() { int v = 1; auto f = std::async(std::launch::async, [&]{ return v; }); return f.get(); }
            int main() { return mk() - 1; }", Verified),
        ("jthread-ok.cpp", "-std=c++20", "#include <thread>
            #include <mutex>
            int main() { std::mutex m; int n = 0; { std::jthread a([&]{ std::lock_guard l(m); n++; }); std::jthread b([&]{ std::lock_guard l(m); n++; }); } return n - 2; }", Verified),
        ("cv-stack-ok.cpp", "", "#include <thread>
            #include <mutex>
            #include <condition_variable>
            static void once() { std::mutex m; std::condition_variable c; bool r = false; std::thread t([&]{ std::lock_guard<std::mutex> l(m); r = true; c.notify_one(); }); { std::unique_lock<std::mutex> l(m); c.wait(l, [&]{ return r; }); } t.join(); }
            int main() { once(); once(); }", Verified),
    ]);
}

#[test]
fn what_was_left_out_is_named() {
    check("named", &[
        ("stacks-come-back", "", "static _Atomic(void *) g; 
            static void *t(void *x) { int v = 0; g = &v; return 0; }
            int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); void *a = g; pthread_create(&p, 0, t, 0); pthread_join(p, 0); void *b = g; assert(a != b); return 0; }", Named("reuse")),
        ("one-round-of-stacks", "", "struct N { _Atomic(struct N *) next; _Atomic int locked; }; static _Atomic(struct N *) tail; static int n;
            static void *t(void *x) { struct N me; me.next = 0; me.locked = 1; struct N *pred = atomic_exchange(&tail, &me); if (pred) { pred->next = &me; while (me.locked) ; } n++; struct N *e = &me; if (!me.next) { if (atomic_compare_exchange_strong(&tail, &e, 0)) return 0; while (!me.next) ; } me.next->locked = 0; return 0; }
            int main(void) { pthread_t p, q; pthread_create(&p, 0, t, 0); pthread_create(&q, 0, t, 0); pthread_join(p, 0); pthread_join(q, 0); return n - 2; }", Verified),
        ("uninitialised-local", "", "static int g; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
            static void *t(void *x) { int v; int w = v + 1; pthread_mutex_lock(&m); g += w == 77; pthread_mutex_unlock(&m); return 0; }
            int main(void) { pthread_t q; pthread_create(&q, 0, t, 0); t(0); pthread_join(q, 0); return 0; }", Named("uninitialised")),
        ("uninitialised-local-with-errors", "--cflags -Werror", "static int g; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
            static void *t(void *x) { int v; int w = v + 1; pthread_mutex_lock(&m); g += w == 77; pthread_mutex_unlock(&m); return 0; }
            int main(void) { pthread_t q; pthread_create(&q, 0, t, 0); t(0); pthread_join(q, 0); return 0; }", Named("uninitialised")),
    ]);
}

#[test]
fn arguments_of_thread_functions_are_accessed() {
    const WRONG: Right = Fails(&["data-race", "use-after-free"]);
    check("arguments", &[
        ("result-of-thrd-join", "", "#include <threads.h>
            static int r; static int f(void *x) { return 1; } static void *w(void *x) { r = 2; return 0; }
            int main(void) { thrd_t t; pthread_t p; thrd_create(&t, f, 0); pthread_create(&p, 0, w, 0); thrd_join(t, &r); pthread_join(p, 0); return 0; }", WRONG),
        ("result-of-thrd-join-ordered", "", "#include <threads.h>
            static int r; static int f(void *x) { r = 2; return 1; }
            int main(void) { thrd_t t; thrd_create(&t, f, 0); thrd_join(t, &r); return r - 1; }", Verified),
        ("time-of-a-wait", "", "#include <time.h>
            static struct timespec ts = { 5, 0 }; static sem_t s; static void *w(void *x) { ts.tv_sec = 2; return 0; }
            int main(void) { sem_init(&s, 0, 1); pthread_t p; pthread_create(&p, 0, w, 0); sem_timedwait(&s, &ts); pthread_join(p, 0); return 0; }", WRONG),
        ("time-of-a-lock", "", "#include <time.h>
            static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static void *w(void *x) { free(x); return 0; }
            int main(void) { struct timespec *ts = calloc(1, sizeof *ts); pthread_t p; pthread_create(&p, 0, w, ts); if (!pthread_mutex_timedlock(&m, ts)) pthread_mutex_unlock(&m); pthread_join(p, 0); return 0; }", WRONG),
        ("attributes-of-a-thread", "", "static pthread_attr_t a; static void *n(void *x) { return 0; } static void *w(void *x) { pthread_attr_setstacksize(&a, 1 << 20); return 0; }
            int main(void) { pthread_attr_init(&a); pthread_t p, q; pthread_create(&p, 0, w, 0); pthread_create(&q, &a, n, 0); pthread_join(p, 0); pthread_join(q, 0); return 0; }", WRONG),
        ("attributes-of-a-mutex", "", "static pthread_mutexattr_t a; static void *w(void *x) { pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE); return 0; }
            int main(void) { pthread_mutexattr_init(&a); pthread_mutex_t m; pthread_t p; pthread_create(&p, 0, w, 0); pthread_mutex_init(&m, &a); pthread_join(p, 0); return 0; }", WRONG),
        ("attributes-before", "", "static pthread_mutexattr_t a; static pthread_mutex_t m; static void *w(void *x) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
            int main(void) { pthread_mutexattr_init(&a); pthread_mutex_init(&m, &a); pthread_mutexattr_destroy(&a); pthread_t p; pthread_create(&p, 0, w, 0); w(0); pthread_join(p, 0); return 0; }", Verified),
    ]);
}
