// A spin lock that looks before it tries again.
// From: common knowledge.
// Holds: mutual exclusion. With -DBUG=1 it looks and then takes, in two steps. With -DBUG=2 it is given back with no release
// order: nothing orders what was done inside with the next owner, which is a data race even where the machine forgives it.
#ifndef BUG
#define BUG 0
#endif
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef THREADS
#define THREADS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif

static int inside;
static atomic_int taken;

static void lock(void) {
#if BUG == 1
    while (atomic_load_explicit(&taken, memory_order_acquire))
        sched_yield();
    atomic_store_explicit(&taken, 1, memory_order_release);
#else
    while (atomic_exchange_explicit(&taken, 1, memory_order_acquire))
        while (atomic_load_explicit(&taken, memory_order_relaxed))
            sched_yield();
#endif
}

static void unlock(void) {
#if BUG == 2
    atomic_store_explicit(&taken, 0, memory_order_relaxed);
#else
    atomic_store_explicit(&taken, 0, memory_order_release);
#endif
}

static void *enter_and_leave(void *arg) {
    (void)arg;
    for (int k = 0; k < ROUNDS; k++) {
        lock();
        // Two threads in here at once are a data race; with `--races sync` they lose an update.
        inside++;
        unlock();
    }
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, enter_and_leave, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert(inside == THREADS * ROUNDS);
    return 0;
}
