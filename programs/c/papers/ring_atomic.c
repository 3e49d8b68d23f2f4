// ring(N): thread i copies x[i] to x[i+1] in one atomic step.
// From: Metzler's thesis, figure 3.3a. The thesis has 2^N - 2 traces: an atomic section conflicts only with its two neighbours.
// Holds: values only move on, so they stay among those of the start; and as no two neighbours can both come first, one value is lost at
// least. With -DBUG the copy is two steps, and all values can go round at once. Plain ints in atomic sections: check with `--races sync`.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void __VERIFIER_assert(int);

static int x[N];

static void *copy(void *arg) {
    int i = (int)(intptr_t)arg;
#ifdef BUG
    int value = x[i];
    x[(i + 1) % N] = value;
#else
    __VERIFIER_atomic_begin();
    x[(i + 1) % N] = x[i];
    __VERIFIER_atomic_end();
#endif
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        x[i] = i + 1;
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, copy, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < N; i++)
        __VERIFIER_assert(x[i] >= 1 && x[i] <= N);
    int moved = 0;
    for (int i = 0; i < N; i++)
        moved += x[(i + 1) % N] == i + 1;
    __VERIFIER_assert(moved < N);
    return 0;
}
