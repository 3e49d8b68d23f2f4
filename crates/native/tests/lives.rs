//! Lives of locks and threads: what is initialized, destroyed, joined or detached while it is in use.

mod common;

use common::{Right, run_table};

const MISUSE: Right = Right::Fails("lock-misuse");

/// The headers and the shorthand that the programs below begin with.
macro_rules! c {
    ($($line:literal)*) => {
        concat!(
            "#define _GNU_SOURCE\n#include <assert.h>\n#include <errno.h>\n#include <pthread.h>\n#include <semaphore.h>\n",
            "#include <signal.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n#include <string.h>\n#include <threads.h>\n",
            "#define START(t, f, a) pthread_create(&t, NULL, f, (void *)(long)(a))\n#define JOIN(t) pthread_join(t, NULL)\n",
            "#define M PTHREAD_MUTEX_INITIALIZER\n#define C PTHREAD_COND_INITIALIZER\n#define L PTHREAD_RWLOCK_INITIALIZER\n",
            $($line, "\n"),*
        )
    };
}

#[test]
fn an_object_in_use_must_not_be_initialized() {
    run_table(&[
        (
            "init_held_mutex.c",
            &[],
            c!("pthread_mutex_t m;"
               "int main(void) { pthread_mutex_init(&m, NULL); pthread_mutex_lock(&m); pthread_mutex_init(&m, NULL); }"),
            MISUSE,
        ),
        (
            "init_held_spin.c",
            &[],
            c!("pthread_spinlock_t l;"
               "int main(void) { pthread_spin_init(&l, 0); pthread_spin_lock(&l); pthread_spin_init(&l, 0); }"),
            MISUSE,
        ),
        (
            "init_held_rwlock.c",
            &[],
            c!("pthread_rwlock_t l;"
               "int main(void) { pthread_rwlock_init(&l, NULL); pthread_rwlock_rdlock(&l); pthread_rwlock_init(&l, NULL); }"),
            MISUSE,
        ),
        (
            // Whoever holds it waits for main: the order of the two is certain.
            "init_held_by_another.c",
            &[],
            c!("pthread_mutex_t m = M; sem_t s, e;"
               "void *f(void *a) { pthread_mutex_lock(&m); sem_post(&s); sem_wait(&e); return a; }"
               "int main(void) { pthread_t t; sem_init(&s, 0, 0); sem_init(&e, 0, 0); START(t, f, 0);"
               "    sem_wait(&s); pthread_mutex_init(&m, NULL); sem_post(&e); JOIN(t); }"),
            MISUSE,
        ),
        (
            "init_beside_lock.c",
            &[],
            c!("pthread_mutex_t m = M;"
               "void *f(void *a) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); pthread_mutex_init(&m, NULL); JOIN(t); }"),
            MISUSE,
        ),
        (
            "init_beside_init.c",
            &[],
            c!("pthread_mutex_t m;"
               "void *f(void *a) { pthread_mutex_init(&m, NULL); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); f(0); JOIN(t); }"),
            MISUSE,
        ),
        (
            "init_with_waiting_semaphore.c",
            &[],
            c!("sem_t s; atomic_int go;"
               "void *f(void *a) { go = 1; sem_wait(&s); return a; }"
               "int main(void) { pthread_t t; sem_init(&s, 0, 0); START(t, f, 0); while (!go) ; sem_init(&s, 0, 1); JOIN(t); }"),
            MISUSE,
        ),
        (
            "init_with_waiting_barrier.c",
            &[],
            c!("pthread_barrier_t b;"
               "void *f(void *a) { pthread_barrier_wait(&b); return a; }"
               "int main(void) { pthread_t t; pthread_barrier_init(&b, NULL, 2); START(t, f, 0);"
               "    pthread_barrier_init(&b, NULL, 2); pthread_barrier_wait(&b); JOIN(t); }"),
            MISUSE,
        ),
        (
            // The other thread may not have left the barrier.
            "init_before_barrier_is_left.c",
            &[],
            c!("pthread_barrier_t b;"
               "void *f(void *a) { pthread_barrier_wait(&b); return a; }"
               "int main(void) { pthread_t t; pthread_barrier_init(&b, NULL, 2); START(t, f, 0);"
               "    pthread_barrier_wait(&b); pthread_barrier_init(&b, NULL, 2); JOIN(t); }"),
            MISUSE,
        ),
        (
            // `pthread_barrier_destroy` waits until the other thread has left.
            "init_after_barrier_is_destroyed.c",
            &[],
            c!("pthread_barrier_t b;"
               "void *f(void *a) { pthread_barrier_wait(&b); return a; }"
               "int main(void) { pthread_t t; pthread_barrier_init(&b, NULL, 2); START(t, f, 0);"
               "    pthread_barrier_wait(&b); pthread_barrier_destroy(&b); pthread_barrier_init(&b, NULL, 2); JOIN(t); }"),
            Right::Verified,
        ),
        (
            // The waiter was notified and has not returned.
            "init_before_wait_is_left.c",
            &[],
            c!("pthread_cond_t c = C; pthread_mutex_t m = M; int r;"
               "void *f(void *a) { pthread_mutex_lock(&m); while (!r) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); pthread_mutex_lock(&m); r = 1; pthread_cond_signal(&c);"
               "    pthread_cond_init(&c, NULL); pthread_mutex_unlock(&m); JOIN(t); }"),
            MISUSE,
        ),
        (
            "init_after_condition_is_destroyed.c",
            &[],
            c!("pthread_cond_t c = C; pthread_mutex_t m = M; int r, n;"
               "void *f(void *a) { pthread_mutex_lock(&m); n = 1; while (!r) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); pthread_mutex_lock(&m); if (!n) { r = 1; pthread_mutex_unlock(&m); JOIN(t); return 0; }"
               "    r = 1; pthread_cond_broadcast(&c);"
               "    pthread_cond_destroy(&c); pthread_cond_init(&c, NULL); pthread_mutex_unlock(&m); JOIN(t); }"),
            Right::Verified,
        ),
        (
            "init_published_relaxed.c",
            &[],
            c!("pthread_mutex_t m; atomic_int r;"
               "void *f(void *a) { if (atomic_load_explicit(&r, memory_order_relaxed)) pthread_mutex_lock(&m); return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); pthread_mutex_init(&m, NULL);"
               "    atomic_store_explicit(&r, 1, memory_order_relaxed); JOIN(t); }"),
            MISUSE,
        ),
    ]);
}

#[test]
fn an_object_that_nobody_uses_may_be_initialized_again() {
    run_table(&[
        (
            "init_again.c",
            &[],
            c!("pthread_mutex_t m; pthread_cond_t c; sem_t s; pthread_barrier_t b; pthread_rwlock_t l; pthread_spinlock_t p;"
               "void *use(void *a) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_cond_signal(&c); sem_post(&s); sem_wait(&s);"
               "    pthread_barrier_wait(&b); pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l); pthread_rwlock_wrlock(&l);"
               "    pthread_rwlock_unlock(&l); pthread_spin_lock(&p); pthread_spin_unlock(&p); return a; }"
               "int main(void) { for (int i = 0; i < 3; i++) { pthread_mutex_init(&m, NULL); pthread_cond_init(&c, NULL);"
               "    sem_init(&s, 0, 0); pthread_barrier_init(&b, NULL, 1); pthread_rwlock_init(&l, NULL); pthread_spin_init(&p, 0);"
               "    use(0); pthread_t t; START(t, use, 0); JOIN(t); } }"),
            Right::Verified,
        ),
        (
            "init_after_destroy.c",
            &[],
            c!("pthread_mutex_t m;"
               "int main(void) { for (int i = 0; i < 3; i++) { pthread_mutex_init(&m, NULL); pthread_mutex_lock(&m);"
               "    pthread_mutex_unlock(&m); pthread_mutex_destroy(&m); } }"),
            Right::Verified,
        ),
        (
            "init_then_publish.c",
            &[],
            c!("pthread_mutex_t m; atomic_int r;"
               "void *f(void *a) { if (r) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); } return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); pthread_mutex_init(&m, NULL); r = 1; JOIN(t); }"),
            Right::Verified,
        ),
        (
            // Each thread makes nodes with locks of its own, and the other one uses them under a lock.
            "init_in_threads.c",
            &[],
            c!("struct node { pthread_mutex_t m; int x; } *_Atomic head;"
               "void *f(void *a) { struct node *n = malloc(sizeof *n); pthread_mutex_init(&n->m, NULL); n->x = 0;"
               "    struct node *o = atomic_exchange(&head, n); if (o) { pthread_mutex_lock(&o->m); o->x++; pthread_mutex_unlock(&o->m); } return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); f(0); JOIN(t); }"),
            Right::Verified,
        ),
        (
            "init_one_memory.c",
            &[],
            c!("union { pthread_mutex_t m; sem_t s; pthread_rwlock_t l; } u;"
               "int main(void) { pthread_mutex_init(&u.m, NULL); pthread_mutex_lock(&u.m); pthread_mutex_unlock(&u.m); pthread_mutex_destroy(&u.m);"
               "    sem_init(&u.s, 0, 1); sem_wait(&u.s); sem_destroy(&u.s); pthread_rwlock_init(&u.l, NULL); pthread_rwlock_rdlock(&u.l);"
               "    pthread_rwlock_unlock(&u.l); pthread_rwlock_destroy(&u.l); }"),
            Right::Verified,
        ),
        (
            // A block that is freed with a lock that is held.
            "init_held_in_freed_block.c",
            &["RADDLE_REUSE=all"],
            c!("void *f(void *a) { return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); for (int i = 0; i < 2; i++) { pthread_mutex_t *m = malloc(sizeof *m);"
               "    pthread_mutex_init(m, NULL); pthread_mutex_lock(m); free(m); } JOIN(t); }"),
            MISUSE,
        ),
        (
            // A function that returns with a lock of its own that is held.
            "init_held_on_stack.c",
            &[],
            c!("void f(void) { pthread_mutex_t m; pthread_mutex_init(&m, NULL); pthread_mutex_lock(&m); }"
               "int main(void) { f(); f(); }"),
            MISUSE,
        ),
    ]);
}

#[test]
fn an_initializer_that_is_assigned_counts_as_an_initialization() {
    run_table(&[
        (
            "assign_again.c",
            &[],
            c!("pthread_mutex_t m; pthread_rwlock_t l; pthread_cond_t c;"
               "void *f(void *a) { pthread_mutex_lock(&m); pthread_cond_signal(&c); pthread_mutex_unlock(&m); pthread_rwlock_wrlock(&l);"
               "    pthread_rwlock_unlock(&l); return a; }"
               "int main(void) { for (int i = 0; i < 2; i++) { m = (pthread_mutex_t)M; l = (pthread_rwlock_t)L; c = (pthread_cond_t)C;"
               "    pthread_t t; START(t, f, 0); f(0); JOIN(t); } }"),
            Right::Verified,
        ),
        (
            "assign_to_held_mutex.c",
            &[],
            c!("pthread_mutex_t m;"
               "int main(void) { for (int i = 0; i < 2; i++) { m = (pthread_mutex_t)M; pthread_mutex_lock(&m); } }"),
            MISUSE,
        ),
        (
            "clear_held_mutex.c",
            &[],
            c!("pthread_mutex_t m;"
               "int main(void) { for (int i = 0; i < 2; i++) { memset(&m, 0, sizeof m); pthread_mutex_lock(&m); } }"),
            MISUSE,
        ),
        (
            "assign_to_held_rwlock.c",
            &[],
            c!("pthread_rwlock_t l;"
               "int main(void) { for (int i = 0; i < 2; i++) { l = (pthread_rwlock_t)L; pthread_rwlock_rdlock(&l); } }"),
            MISUSE,
        ),
        (
            "assign_to_condition_with_waiter.c",
            &[],
            c!("pthread_cond_t c = C; pthread_mutex_t m = M; int r;"
               "void *f(void *a) { pthread_mutex_lock(&m); while (!r) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); pthread_mutex_lock(&m); r = 1; c = (pthread_cond_t)C;"
               "    pthread_cond_signal(&c); pthread_mutex_unlock(&m); JOIN(t); }"),
            MISUSE,
        ),
        (
            "assign_beside_lock.c",
            &[],
            c!("pthread_mutex_t m = M;"
               "void *f(void *a) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); m = (pthread_mutex_t)M; JOIN(t); }"),
            MISUSE,
        ),
        (
            // A wait releases the mutex, so it is not held where it is assigned to.
            "assign_after_wait.c",
            &[],
            c!("pthread_cond_t c = C; pthread_mutex_t m = M; int r;"
               "void *f(void *a) { pthread_mutex_lock(&m); while (!r) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); return a; }"
               "int main(void) { for (int i = 0; i < 2; i++) { pthread_t t; r = 0; START(t, f, 0); pthread_mutex_lock(&m); r = 1;"
               "    pthread_cond_signal(&c); pthread_mutex_unlock(&m); JOIN(t); m = (pthread_mutex_t)M; } }"),
            Right::Verified,
        ),
        (
            "assign_held_on_stack.c",
            &[],
            c!("void f(void) { pthread_mutex_t m = M; pthread_mutex_lock(&m); }"
               "int main(void) { f(); f(); }"),
            MISUSE,
        ),
        (
            // Neighbours of a lock in the same eight bytes are not a part of it.
            "assign_beside_spin.c",
            &[],
            c!("struct { pthread_spinlock_t l; int x; } s;"
               "void *f(void *a) { pthread_spin_lock(&s.l); pthread_spin_unlock(&s.l); return a; }"
               "int main(void) { pthread_t t; pthread_spin_init(&s.l, 0); START(t, f, 0); s.x = 1; f(0); JOIN(t); }"),
            Right::Verified,
        ),
        (
            "assign_cpp.cpp",
            &[],
            "#include <mutex>\n#include <thread>\n\
             struct shared { std::mutex m; int x = 0; };\n\
             void use(shared *s) { std::lock_guard<std::mutex> l(s->m); s->x++; }\n\
             void f() { shared s; std::thread t(use, &s); use(&s); t.join(); }\n\
             int main() { std::thread t(f); f(); t.join(); }\n",
            Right::Verified,
        ),
    ]);
}

#[test]
fn a_handle_must_not_be_used_after_its_thread_is_gone() {
    run_table(&[
        (
            "join_twice.c",
            &[],
            c!("void *f(void *a) { return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); JOIN(t); JOIN(t); }"),
            MISUSE,
        ),
        (
            "join_twice_c11.c",
            &[],
            c!("int f(void *a) { return a != NULL; }"
               "int main(void) { thrd_t t; thrd_create(&t, f, NULL); thrd_join(t, NULL); thrd_detach(t); }"),
            MISUSE,
        ),
        (
            "detach_after_join.c",
            &[],
            c!("void *f(void *a) { return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); JOIN(t); pthread_detach(t); }"),
            MISUSE,
        ),
        (
            "kill_after_join.c",
            &[],
            c!("void *f(void *a) { return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); JOIN(t); pthread_kill(t, 0); }"),
            MISUSE,
        ),
        (
            "join_detached.c",
            &[],
            c!("void *f(void *a) { return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); pthread_detach(t); JOIN(t); }"),
            MISUSE,
        ),
        (
            "detach_twice.c",
            &[],
            c!("void *f(void *a) { return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); pthread_detach(t); pthread_detach(t); }"),
            MISUSE,
        ),
        (
            "join_born_detached.c",
            &[],
            c!("void *f(void *a) { return a; }"
               "int main(void) { pthread_t t; pthread_attr_t a; pthread_attr_init(&a);"
               "    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED); pthread_create(&t, &a, f, NULL); JOIN(t); }"),
            MISUSE,
        ),
        (
            "join_detached_by_itself.c",
            &[],
            c!("void *f(void *a) { pthread_detach(pthread_self()); return a; }"
               "int main(void) { pthread_t t; START(t, f, 0); JOIN(t); }"),
            MISUSE,
        ),
        (
            "join_by_two.c",
            &[],
            c!("pthread_t t; void *f(void *a) { return a; }"
               "void *g(void *a) { JOIN(t); return a; }"
               "int main(void) { pthread_t u; START(t, f, 0); START(u, g, 0); JOIN(t); JOIN(u); }"),
            MISUSE,
        ),
        (
            "join_beside_detach.c",
            &[],
            c!("pthread_t t; void *f(void *a) { return a; }"
               "void *g(void *a) { pthread_detach(t); return a; }"
               "int main(void) { pthread_t u; START(t, f, 0); START(u, g, 0); JOIN(t); JOIN(u); }"),
            MISUSE,
        ),
        ("join_no_thread.c", &[], c!("int main(void) { pthread_t t = 0; JOIN(t); }"), MISUSE),
    ]);
}

#[test]
fn a_call_on_a_handle_that_is_valid_returns_what_the_c_library_returns() {
    run_table(&[
        (
            "join_oneself.c",
            &[],
            c!("void *f(void *a) { assert(JOIN(pthread_self()) == EDEADLK); pthread_detach(pthread_self());"
               "    assert(JOIN(pthread_self()) == EINVAL); return a; }"
               "int main(void) { pthread_t t; assert(JOIN(pthread_self()) == EDEADLK); START(t, f, 0); pthread_exit(NULL); }"),
            Right::Verified,
        ),
        (
            // The thread waits, so it has not ended.
            "join_detached_that_runs.c",
            &[],
            c!("sem_t s; void *f(void *a) { sem_wait(&s); return a; }"
               "int main(void) { pthread_t t; sem_init(&s, 0, 0); START(t, f, 0); assert(pthread_detach(t) == 0);"
               "    assert(pthread_detach(t) == EINVAL); assert(JOIN(t) == EINVAL); sem_post(&s); pthread_exit(NULL); }"),
            Right::Verified,
        ),
        (
            // Who comes second gets an error; both orders are explored.
            "join_by_two_while_it_runs.c",
            &[],
            c!("pthread_t t; sem_t s; void *f(void *a) { sem_wait(&s); return a; }"
               "void *g(void *a) { int r = JOIN(t); assert(r == 0 || r == EINVAL); if (r) sem_post(&s); return a; }"
               "int main(void) { pthread_t u, v; sem_init(&s, 0, 0); START(t, f, 0); START(u, g, 0); START(v, g, 1); JOIN(u); JOIN(v); }"),
            Right::Verified,
        ),
        (
            "join_order_is_explored.c",
            &[],
            c!("pthread_t t; sem_t s; void *f(void *a) { sem_wait(&s); return a; }"
               "void *g(void *a) { int r = JOIN(t); assert(r == 0 || a); if (r) sem_post(&s); return a; }"
               "int main(void) { pthread_t u, v; sem_init(&s, 0, 0); START(t, f, 0); START(u, g, 0); START(v, g, 1); JOIN(u); JOIN(v); }"),
            Right::Fails("assertion"),
        ),
        (
            // A detach of a thread that is being joined changes nothing.
            "detach_while_joined.c",
            &[],
            c!("pthread_t t; sem_t s; void *f(void *a) { sem_wait(&s); return a; }"
               "void *g(void *a) { assert(pthread_detach(t) == 0); sem_post(&s); return a; }"
               "int main(void) { pthread_t u; sem_init(&s, 0, 0); START(t, f, 0); START(u, g, 0); int r = JOIN(t);"
               "    assert(r == 0 || r == EINVAL); JOIN(u); }"),
            // `main` may come second, and the thread may have ended by then.
            MISUSE,
        ),
        (
            "kill_before_join.c",
            &[],
            c!("pthread_t t; void *f(void *a) { return a; }"
               "void *g(void *a) { pthread_kill(t, 0); return a; }"
               "int main(void) { pthread_t u; START(t, f, 0); START(u, g, 0); JOIN(u); JOIN(t); }"),
            Right::Verified,
        ),
        (
            "detach_only.c",
            &[],
            c!("void *f(void *a) { if (a) pthread_detach(pthread_self()); return a; }"
               "int main(void) { pthread_t t, u; START(t, f, 0); pthread_detach(t); START(u, f, 1); pthread_exit(NULL); }"),
            Right::Verified,
        ),
        (
            "try_to_join.c",
            &[],
            c!("sem_t s; void *f(void *a) { sem_wait(&s); return a; }"
               "int main(void) { pthread_t t; sem_init(&s, 0, 0); START(t, f, 0); assert(pthread_tryjoin_np(t, NULL) == EBUSY); sem_post(&s); JOIN(t); }"),
            Right::Verified,
        ),
    ]);
}

#[test]
fn threads_wait_on_a_condition_variable_with_one_mutex_at_a_time() {
    const BOTH: &str = c!("pthread_cond_t c = C; pthread_mutex_t m[2] = {M, M}; int r[2];"
        "void *f(void *a) { long i = (long)a; pthread_mutex_lock(&m[i]); while (!r[i]) pthread_cond_wait(&c, &m[i]);"
        "    pthread_mutex_unlock(&m[i]); return a; }"
        "void set(int i) { pthread_mutex_lock(&m[i]); r[i] = 1; pthread_cond_broadcast(&c); pthread_mutex_unlock(&m[i]); }"
        "int main(void) { pthread_t t, u; START(t, f, 0);"
        "#ifdef ONE_BY_ONE\n    set(0); JOIN(t); START(u, f, 1); set(1);\n#else\n    START(u, f, 1); set(0); set(1); JOIN(t);\n#endif\n"
        "    JOIN(u); }");
    run_table(&[
        ("two_mutexes.c", &[], BOTH, MISUSE),
        ("two_mutexes_one_by_one.c", &["-DONE_BY_ONE"], BOTH, Right::Verified),
    ]);
}
