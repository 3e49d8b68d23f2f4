// N threads with K atomic increments of one variable each.
// From: by construction (N*K)! / (K!)^N classes; the program with which the speed of the search is measured.
// Holds: the sum. 2 x 3: 20, 3 x 2: 90, 3 x 3: 1680.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif
#ifndef K
#define K 3
#endif

static atomic_int x;

static void *increment(void *arg) {
    (void)arg;
    for (int k = 0; k < K; k++)
        atomic_fetch_add(&x, 1);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, increment, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    assert(atomic_load(&x) == N * K);
    return 0;
}
