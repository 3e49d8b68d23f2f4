// ring(N): thread i copies x[i] to x[i+1], a load and a store.
// From: Metzler's thesis, figure 3.3a, with its one line in two steps. By construction 2^N - 1 classes: each load comes before or
// after the store of the thread before it, and not all of them after.
// Holds: nothing is asserted. 2: 3, 3: 7, 6: 63, 10: 1023.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 6
#endif

static atomic_int x[N];

static void *copy(void *arg) {
    int i = (int)(intptr_t)arg;
    int value = atomic_load(&x[i]);
    atomic_store(&x[(i + 1) % N], value);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, copy, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
