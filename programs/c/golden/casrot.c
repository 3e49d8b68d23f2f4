// casrot(N): thread i (1..N) tries to move x from i-1 to i with a compare-exchange. One that fails is a read.
// From: the tests of other model checkers, as a description.
// Holds: nothing is asserted. 2: 2, 3: 5, 5: 43.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static atomic_int x;

static void *rotate(void *arg) {
    int i = (int)(intptr_t)arg;
    int before = i - 1;
    atomic_compare_exchange_strong(&x, &before, i);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, rotate, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
