// The programs of `src/programs.rs` in C. `-DPROGRAM=name` says which one is `main`.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static atomic_uint n, counter;
static atomic_bool flag, other_flag;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned plain;

static void two(void *first(void *), void *second(void *)) {
    pthread_t t;
    pthread_create(&t, 0, first, 0);
    second(0);
    pthread_join(t, 0);
}

static void *add(void *a) { atomic_fetch_add(&n, 1); return a; }
static void atomic_adds_hold(void) { two(add, add); assert(n == 2); }

static void *load_and_store(void *a) { unsigned seen = n; n = seen + 1; return a; }
static void lost_update_asserts(void) { two(load_and_store, load_and_store); assert(n == 2); }

static void *add_locked(void *a) { pthread_mutex_lock(&m); plain++; pthread_mutex_unlock(&m); return a; }
static void locks_hold(void) { two(add_locked, add_locked); assert(plain == 2); }

static void *both(pthread_mutex_t *x, pthread_mutex_t *y) {
    pthread_mutex_lock(x); pthread_mutex_lock(y); pthread_mutex_unlock(y); pthread_mutex_unlock(x);
    return 0;
}
static void *one_way(void *a) { (void)a; return both(&m, &m2); }
static void *other_way(void *a) { (void)a; return both(&m2, &m); }
static void opposite_locks_deadlock(void) { two(one_way, other_way); }

static void *set(void *a) {
    pthread_mutex_lock(&m); plain = 1; pthread_mutex_unlock(&m);
    pthread_cond_signal(&c);
    return a;
}
static void *wait_in_loop(void *a) {
    pthread_mutex_lock(&m);
    while (!plain) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return a;
}
static void wait_in_loop_holds(void) { two(set, wait_in_loop); }

static void *wait_once(void *a) {
    pthread_mutex_lock(&m);
    if (!plain) pthread_cond_wait(&c, &m);
    assert(plain);
    pthread_mutex_unlock(&m);
    return a;
}
static void wait_once_asserts(void) { two(set, wait_once); }

static void *notify(void *a) { pthread_cond_signal(&c); return a; }
static void *wait_blindly(void *a) {
    pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);
    return a;
}
static void lost_notification_deadlock(void) { two(notify, wait_blindly); }

static pthread_rwlock_t rw;
static void *write_lock(void *a) { pthread_rwlock_wrlock(&rw); plain = 1; pthread_rwlock_unlock(&rw); return a; }
static void *read_twice(void *a) {
    pthread_rwlock_rdlock(&rw); pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw); pthread_rwlock_unlock(&rw);
    return a;
}
static void second_read_lock_deadlock(void) {
    pthread_rwlockattr_t how;
    pthread_rwlockattr_init(&how);
    pthread_rwlockattr_setkind_np(&how, 2 /* writers that wait come first, as with std's lock */);
    pthread_rwlock_init(&rw, &how);
    two(write_lock, read_twice);
}

static void *arrive(void *a) {
    atomic_fetch_add(&n, 1); pthread_barrier_wait(&barrier); assert(n == 2);
    return a;
}
static void barrier_holds(void) { pthread_barrier_init(&barrier, 0, 2); two(arrive, arrive); }

static void *set_flag(void *a) { flag = true; return a; }
static void *nothing(void *a) { return a; }
static void *spin(void *a) { while (!flag) {} return a; }
static void spin_until_set_holds(void) { two(set_flag, spin); }
static void nobody_sets_livelock(void) { two(nothing, spin); }

static void *publish(void *a) { n = 1; flag = true; return a; }
static void *use(void *a) { assert(!flag || n == 1); return a; }
static void publish_holds(void) { two(publish, use); }

static void wait_a_while(void) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec++;
    pthread_cond_timedwait(&c, &m, &limit);
}
static void *timed_wait_in_loop(void *a) {
    pthread_mutex_lock(&m);
    while (!plain) wait_a_while();
    pthread_mutex_unlock(&m);
    return a;
}
static void timed_wait_in_loop_holds(void) { two(set, timed_wait_in_loop); }

static void *timed_wait_once(void *a) {
    pthread_mutex_lock(&m);
    if (!plain) wait_a_while();
    assert(plain);
    pthread_mutex_unlock(&m);
    return a;
}
static void timed_wait_once_asserts(void) { two(set, timed_wait_once); }

static void *sleep_and_look(void *a) { usleep(100000); assert(flag); return a; }
static void sleep_as_order_asserts(void) { two(set_flag, sleep_and_look); }

static void *try_lock(void *a) { assert(pthread_mutex_trylock(&m) == 0); pthread_mutex_unlock(&m); return a; }
static void try_lock_fails_asserts(void) { two(add_locked, try_lock); }

static void *exchange(void *a) {
    unsigned seen = n;
    while (!atomic_compare_exchange_strong(&n, &seen, seen + 1)) {}
    return a;
}
static void exchange_counts_hold(void) { two(exchange, exchange); assert(n == 2); }

static void two_notified_one_deadlock(void) {
    pthread_t a, b;
    pthread_create(&a, 0, wait_in_loop, 0);
    pthread_create(&b, 0, wait_in_loop, 0);
    set(0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

static void join_orders_holds(void) {
    pthread_t t;
    pthread_create(&t, 0, add, 0);
    pthread_join(t, 0);
    assert(n == 1);
}

static void *enter(void *a) { flag = true; if (!other_flag) atomic_fetch_add(&counter, 1); return a; }
static void *enter_too(void *a) { other_flag = true; if (!flag) assert(atomic_fetch_add(&counter, 1) == 0); return a; }
static void dekker_holds(void) { two(enter, enter_too); }

int main(void) { PROGRAM(); }
