// test_and_test: a lock that is tried, and only looked at until it is free, before it is tried again.
// Whoever sees it free, fails to take it and looks again has not come round: the lock was free in between.
#include <assert.h>
#include <pthread.h>

#ifndef THREADS
#define THREADS 3
#endif

static volatile int taken;
static int paid;

static void *pay(void *arg) {
    while (!__sync_bool_compare_and_swap(&taken, 0, 1))
        while (__atomic_load_n(&taken, __ATOMIC_RELAXED))
            ;
    paid += 2;
    __sync_lock_release(&taken);
    return arg;
}

int main(void) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, pay, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], 0);
    assert(paid == 2 * THREADS);
    return 0;
}
