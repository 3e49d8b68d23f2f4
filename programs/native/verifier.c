// SV-COMP's intrinsics for a native run: smoke.sh links it with programs that use them. raddle brings its own.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t atomic_section = PTHREAD_MUTEX_INITIALIZER;

static unsigned roll(void) {
    static _Thread_local unsigned seed;
    if (!seed) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (unsigned)now.tv_nsec | 1;
    }
    return (unsigned)rand_r(&seed) >> 4;
}

int __VERIFIER_nondet_int(void) {
    return (int)(roll() % 4);
}

_Bool __VERIFIER_nondet_bool(void) {
    return roll() & 1;
}

// A run in which an assumption does not hold ends as if it had never been.
void __VERIFIER_assume(int holds) {
    if (!holds)
        _Exit(0);
}

void reach_error(void) {
    fputs("reach_error\n", stderr);
    abort();
}

void __VERIFIER_assert(int holds) {
    if (!holds)
        reach_error();
}

void __VERIFIER_atomic_begin(void) {
    pthread_mutex_lock(&atomic_section);
}

void __VERIFIER_atomic_end(void) {
    pthread_mutex_unlock(&atomic_section);
}
