//! How programs and their threads end: destructors, handlers, thread-specific data, exit codes.

mod common;

use common::Right::{Fails, Verified};
use common::run_table;

const DESTRUCTOR: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
atomic_int n;
static void check(void) { assert(n != BAD); }
#if HOW == 1
__attribute__((destructor)) static void bye(void) { check(); }
#elif HOW == 2
__attribute__((constructor)) static void hello(void) { atexit(check); }
#elif HOW == 3
static void bye(int code, void *p) { assert(code == 0); assert(p == &n); check(); }
__attribute__((constructor)) static void hello(void) { on_exit(bye, (void *)&n); }
#elif HOW == 4
static void late(void) { check(); }
__attribute__((destructor)) static void bye(void) { atexit(late); }
#elif HOW == 5
static void bye(void) { check(); }
#endif
static void *t1(void *u) { n = 1; return 0; }
static void *t2(void *u) { n = 2; return 0; }
int main(void) {
    pthread_t a, b;
#if HOW == 5
    at_quick_exit(bye);
#endif
    pthread_create(&a, 0, t1, 0);
    pthread_create(&b, 0, t2, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
#if HOW == 5
    quick_exit(0);
#elif HOW == 6
    atexit(check);
    _exit(0);
#elif HOW == 7
    at_quick_exit(check);
    exit(0);
#elif HOW == 8
    atexit(check);
    quick_exit(0);
#elif HOW == 9
    atexit(check);
    pthread_exit(0);
#endif
    return 0;
}
"#;

#[test]
fn what_runs_at_the_end_runs_in_every_execution() {
    let fails: [&[&str]; 14] = [
        &["-DHOW=1", "-DBAD=1"],
        &["-DHOW=1", "-DBAD=2"],
        &["-DHOW=2", "-DBAD=1"],
        &["-DHOW=2", "-DBAD=2"],
        &["-DHOW=3", "-DBAD=1"],
        &["-DHOW=3", "-DBAD=2"],
        &["-DHOW=4", "-DBAD=1"],
        &["-DHOW=4", "-DBAD=2"],
        &["-DHOW=5", "-DBAD=1"],
        &["-DHOW=5", "-DBAD=2"],
        &["-DHOW=9", "-DBAD=1"],
        &["-DHOW=9", "-DBAD=2"],
        &["-DHOW=1", "-DBAD=1", "RADDLE_ISOLATE=1"],
        &["-DHOW=2", "-DBAD=2", "RADDLE_ISOLATE=1"],
    ];
    let holds: [&[&str]; 4] =
        [&["-DHOW=1", "-DBAD=3"], &["-DHOW=6", "-DBAD=1"], &["-DHOW=7", "-DBAD=1"], &["-DHOW=8", "-DBAD=2"]];
    let fails = fails.map(|flags| ("destructor.c", flags, DESTRUCTOR, Fails("assertion")));
    let holds = holds.map(|flags| ("destructor.c", flags, DESTRUCTOR, Verified));
    run_table(&fails);
    run_table(&holds);
}

const STATIC: &str = r#"
#include <pthread.h>
#include <string>
#include <vector>
struct Log { std::vector<int> lines; int n = 0; ~Log() { n = -1; } void add() { n++; } };
#ifdef LOCAL
static Log &log_() { static Log l; return l; }
#else
Log global;
static Log &log_() { return global; }
#endif
static void *t(void *) { log_().add(); return nullptr; }
int main() {
    pthread_t a;
    log_();
    pthread_create(&a, nullptr, t, nullptr);
#ifdef JOIN
    pthread_join(a, nullptr);
#endif
    return 0;
}
"#;

const THREAD_LOCAL: &str = r#"
#include <atomic>
#include <cassert>
#include <pthread.h>
std::atomic<int> ended;
struct Own { ~Own() { ended++; } int n = 0; };
static thread_local Own own;
static void *t(void *) { own.n = 1; return nullptr; }
int main() {
    pthread_t a;
    pthread_create(&a, nullptr, t, nullptr);
#ifndef RACE
    pthread_join(a, nullptr);
#endif
    assert(ended == 1);
#ifdef RACE
    pthread_join(a, nullptr);
#endif
    return 0;
}
"#;

#[test]
fn destructors_of_objects_are_explored() {
    run_table(&[
        ("static.cpp", &[], STATIC, Fails("data-race")),
        ("static.cpp", &["-DJOIN"], STATIC, Verified),
        ("static.cpp", &["-DLOCAL"], STATIC, Fails("data-race")),
        ("static.cpp", &["-DLOCAL", "-DJOIN"], STATIC, Verified),
        ("thread_local.cpp", &[], THREAD_LOCAL, Verified),
        ("thread_local.cpp", &["-DRACE"], THREAD_LOCAL, Fails("assertion")),
    ]);
}

const KEYS: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
static pthread_key_t k;
static atomic_int called, code;
static sem_t set, go;
static void d(void *p) {
    int n = atomic_fetch_add(&called, 1);
#ifdef AGAIN
    if (n < AGAIN) pthread_setspecific(k, p);
#endif
}
static void *t(void *u) {
    pthread_setspecific(k, (void *)1);
    sem_post(&set);
#ifdef WAIT
    sem_wait(&go);
#endif
#ifdef GET
    code = pthread_getspecific(k) != 0;
#endif
    return 0;
}
int main(void) {
    pthread_t x;
    sem_init(&set, 0, 0);
    sem_init(&go, 0, 0);
    pthread_key_create(&k, d);
    pthread_create(&x, 0, t, 0);
    sem_wait(&set);
#ifdef DELETE
    assert(pthread_key_delete(k) == 0);
#endif
    sem_post(&go);
    pthread_join(x, 0);
#ifdef GET
    assert(code == GET);
#endif
    assert(called == WANT);
    return 0;
}
"#;

#[test]
fn a_deleted_key_has_no_destructor() {
    run_table(&[
        ("key.c", &["-DWANT=1"], KEYS, Verified),
        ("key.c", &["-DWANT=0", "-DDELETE"], KEYS, Fails("assertion")),
        ("key.c", &["-DWANT=1", "-DDELETE"], KEYS, Fails("assertion")),
        ("key.c", &["-DWANT=0", "-DDELETE", "-DWAIT"], KEYS, Verified),
        ("key.c", &["-DWANT=called", "-DDELETE", "-DGET=1"], KEYS, Fails("assertion")),
        ("key.c", &["-DWANT=called", "-DDELETE", "-DGET=0"], KEYS, Fails("assertion")),
        ("key.c", &["-DWANT=4", "-DAGAIN=9"], KEYS, Verified),
        ("key.c", &["-DWANT=3", "-DAGAIN=2"], KEYS, Verified),
    ]);
}

const CODES: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
static atomic_int n;
static void *t(void *u) {
    if (atomic_fetch_add(&n, 1) == 1) {
#if HOW == 1
        exit(3);
#elif HOW == 2
        _exit(3);
#elif HOW == 3
        quick_exit(3);
#endif
    }
    return 0;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, t, 0);
    int seen = atomic_fetch_add(&n, 1);
    pthread_join(a, 0);
#if HOW == 4
    return seen ? 3 : 0;
#elif HOW == 5
    exit(seen ? 256 + 3 : 0);
#elif HOW == 6
    exit(seen ? 256 : 0);
#endif
    return 0;
}
"#;

/// Two threads end the process. The second call of `exit` waits, so the handler runs once and sees one of two codes.
const TWO_EXITS: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int runs, who;
static void bye(void) {
    assert(atomic_fetch_add(&runs, 1) == 0);
    assert(who != BAD);
}
static void *t(void *u) { who = 1; exit(0); }
int main(void) {
    pthread_t a;
    atexit(bye);
    pthread_create(&a, 0, t, 0);
    who = 2;
    return 0;
}
"#;

#[test]
fn an_exit_code_is_a_failure() {
    let code = Fails("exit-code");
    run_table(&[
        ("codes.c", &["-DHOW=1"], CODES, code),
        ("codes.c", &["-DHOW=2"], CODES, code),
        ("codes.c", &["-DHOW=3"], CODES, code),
        ("codes.c", &["-DHOW=4"], CODES, code),
        ("codes.c", &["-DHOW=5"], CODES, code),
        ("codes.c", &["-DHOW=6"], CODES, Verified),
        ("codes.c", &["-DHOW=4", "RADDLE_EXIT_CODES=0"], CODES, Verified),
        ("two_exits.c", &["-DBAD=3"], TWO_EXITS, Verified),
        ("two_exits.c", &["-DBAD=1"], TWO_EXITS, Fails("assertion")),
        ("two_exits.c", &["-DBAD=2"], TWO_EXITS, Fails("assertion")),
    ]);
}

const READY: &str = r#"
#include <future>
#include <thread>
static int written;
static thread_local struct Last { ~Last() { written = 7; } } last;
int main() {
#if HOW == 1
    std::promise<int> p;
    auto f = p.get_future();
    std::thread t([&] { p.set_value_at_thread_exit(5); });
    if (f.get() != 5) return 1;
#elif HOW == 2
    std::promise<void> p;
    auto f = p.get_future();
    std::thread t([q = std::move(p)]() mutable { q.set_value_at_thread_exit(); });
    f.wait();
#elif HOW == 3
    std::promise<int> p;
    auto f = p.get_future();
    std::thread t([&] { p.set_exception_at_thread_exit(std::make_exception_ptr(1)); });
    try { f.get(); return 1; } catch (int) { }
#elif HOW == 4
    std::packaged_task<int()> p([] { return 5; });
    auto f = p.get_future();
    std::thread t([&] { p.make_ready_at_thread_exit(); });
    if (f.get() != 5) return 1;
#elif HOW == 5 /* thread_local objects end before */
    std::promise<int> p;
    auto f = p.get_future();
    std::thread t([&] { (void)&last; p.set_value_at_thread_exit(5); });
    f.get();
    if (written != 7) return 1;
#elif HOW == 6 /* what follows the call is not ordered */
    std::promise<int> p;
    auto f = p.get_future();
    std::thread t([&] { p.set_value(5); written = 1; });
    f.get();
    if (written != 1) return 1;
#elif HOW == 7 /* nobody waits any more */
    std::thread t;
    {
        std::promise<int> p;
        auto f = p.get_future();
        t = std::thread([p = std::move(p)]() mutable { p.set_value_at_thread_exit(5); });
    }
#endif
    t.join();
    return 0;
}
"#;

#[test]
fn a_result_can_become_ready_when_its_thread_ends() {
    run_table(&[
        ("ready.cpp", &["-DHOW=1"], READY, Verified),
        ("ready.cpp", &["-DHOW=2"], READY, Verified),
        ("ready.cpp", &["-DHOW=3"], READY, Verified),
        ("ready.cpp", &["-DHOW=4"], READY, Verified),
        ("ready.cpp", &["-DHOW=5"], READY, Verified),
        ("ready.cpp", &["-DHOW=6"], READY, Fails("data-race")),
        ("ready.cpp", &["-DHOW=7"], READY, Verified),
    ]);
}
