// N threads increment x in two steps, a load and a store.
// From: Qadeer's slides (the interference example). Two threads have 20 interleavings there (with a local step) and 4 classes,
// three have 36.
// Holds: nothing, or with -DBUG the property that does not: that no increment is lost. 2: 4, 3: 36.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static atomic_int x;

static void *increment(void *arg) {
    (void)arg;
    int t = atomic_load(&x);
    atomic_store(&x, t + 1);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, increment, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
#ifdef BUG
    assert(atomic_load(&x) == N);
#endif
    return 0;
}
