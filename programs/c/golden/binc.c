// binc(N): N threads, one atomic increment of x, then one of y.
// From: the usual family for counting; (N!)^2 classes.
// Holds: nothing is asserted. 3: 36, 4: 576.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_int x, y;

static void *increment(void *arg) {
    (void)arg;
    atomic_fetch_add(&x, 1);
    atomic_fetch_add(&y, 1);
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
