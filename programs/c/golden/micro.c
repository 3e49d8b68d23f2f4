// micro(N): N threads increment x twice, in two steps each, and then look at it.
// From: Sachinoglou's thesis, appendix. 3: 51318 classes.
// Holds: x is above zero once a thread has written it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_int x;

static void *increment(void *arg) {
    (void)arg;
    for (int k = 0; k < 2; k++) {
        int t = atomic_load(&x);
        atomic_store(&x, t + 1);
    }
    int now = atomic_load(&x);
    assert(now > 0);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, increment, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
