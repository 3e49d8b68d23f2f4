// Sleeps, yields and clocks order nothing: time is virtual, and what sleeps longer may still come first.
// Holds: clocks do not run backwards. With -DBUG the program relies on the longer sleep to come second.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static atomic_int x;

static void *short_sleeper(void *arg) {
    (void)arg;
    usleep(10);
    atomic_store(&x, 1);
    return NULL;
}

static void *long_sleeper(void *arg) {
    (void)arg;
    struct timespec before, after, nap = {.tv_nsec = 20 * 1000 * 1000};
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&nap, NULL);
    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert(after.tv_sec > before.tv_sec || (after.tv_sec == before.tv_sec && after.tv_nsec >= before.tv_nsec));
#ifdef BUG
    int seen = atomic_load(&x);
    assert(seen == 1);
#endif
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, short_sleeper, NULL);
    pthread_create(&t[1], NULL, long_sleeper, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
