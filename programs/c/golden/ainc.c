// ainc(N): N threads, one atomic increment of x each.
// From: the usual family for counting; N! classes, since increments of one variable do not commute.
// Holds: nothing is asserted; the count is the point. 3: 6, 4: 24.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_int x;

static void *increment(void *arg) {
    (void)arg;
    atomic_fetch_add(&x, 1);
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
