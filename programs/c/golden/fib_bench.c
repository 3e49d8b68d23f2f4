// fib_bench(N): one thread adds j to i, the other i to j, N times each (two loads in that order, one store); main looks at both.
// From: the SV-COMP family of that name, here for its count; svcomp/fib_bench.c has the property.
// Holds: nothing is asserted. 2: 140, 3: 1698.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static atomic_int i = 1, j = 1;

static void *first(void *arg) {
    (void)arg;
    for (int k = 0; k < N; k++) {
        int a = atomic_load(&i);
        int b = atomic_load(&j);
        atomic_store(&i, a + b);
    }
    return NULL;
}

static void *second(void *arg) {
    (void)arg;
    for (int k = 0; k < N; k++) {
        int a = atomic_load(&j);
        int b = atomic_load(&i);
        atomic_store(&j, a + b);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    (void)atomic_load(&i);
    (void)atomic_load(&j);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
