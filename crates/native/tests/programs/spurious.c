// Programs that tell wrong rules for spurious events from the right one, one for each CASE. Each fails where FOUND is what can happen.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int x, y, z, f, r;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
#ifndef MOST
#define MOST 3
#endif

static int weak(atomic_int *o, int from, int to) { return atomic_compare_exchange_weak(o, &from, to); }

#if CASE == 1
// Failures that are counted.
static void *t(void *a) {
    int n = 0;
    while (!weak(&x, 0, 1))
        if (++n == MOST) break;
    assert(n != FOUND);
    return a;
}
static void *u(void *a) { return a; }
#elif CASE == 2
// Waits that are counted: they may all end spuriously.
static void *t(void *a) {
    pthread_mutex_lock(&m);
    int n;
    for (n = 0; n < MOST && !f; n++) pthread_cond_wait(&c, &m);
    assert(f || n != FOUND);
    pthread_mutex_unlock(&m);
    return a;
}
static void *u(void *a) {
    pthread_mutex_lock(&m);
    f = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return a;
}
#elif CASE == 3
// A notification that is lost, because the waiter was awake when it came.
static void *t(void *a) {
    pthread_mutex_lock(&m);
    while (!f) {
        pthread_cond_wait(&c, &m);
        r = 1;
    }
    pthread_mutex_unlock(&m);
    return a;
}
static void *u(void *a) {
    while (!r) {}
    pthread_mutex_lock(&m);
#ifdef FIXED
    f = 1;
#endif
    pthread_mutex_unlock(&m);
    f = 1;
    pthread_cond_signal(&c);
    return a;
}
#elif CASE == 4
// Writes of a loop that another thread sees.
static void *t(void *a) {
    while (!weak(&x, 0, 1)) y = 1;
    return a;
}
static void *u(void *a) {
    for (int i = 0; i < MOST; i++) {
        if (!y) return a;
        y = 0;
    }
    assert(!FOUND);
    return a;
}
#elif CASE == 5
// The other threads continue when one is stopped.
static void *t(void *a) {
    while (!weak(&x, 0, 1))
        if (y) {
            z = 2;
            break;
        }
    return a;
}
static void *u(void *a) {
    y = 1;
    return a;
}
#elif CASE == 6
// Two threads that act on each other for ever, until one of them is at the right place.
static void *t(void *a) {
    while (!f) atomic_fetch_xor(&x, 1);
    return a;
}
static void *u(void *a) {
    while (!x) {
        y = 1;
        y = 0;
    }
    f = 1;
    return a;
}
#elif CASE == 7
// Timed waits in a loop: with a deadline, and with a limit for each.
static void *t(void *a) {
    struct timespec until = {2000000000, 0};
    pthread_mutex_lock(&m);
    int n = 0;
    while (!f) {
        if (pthread_cond_timedwait(&c, &m, &until)) r = 1;
#ifdef COUNTED
        if (++n == MOST) break;
#endif
    }
    assert(f || n != FOUND);
    pthread_mutex_unlock(&m);
    return a;
}
static void *u(void *a) {
    pthread_mutex_lock(&m);
    f = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return a;
}
#endif

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, t, 0);
    pthread_create(&b, 0, u, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
#if CASE == 5
    assert(z != FOUND);
#endif
}
