// branching(N): thread i writes x[i+1] if x[i] is zero, twice. What is done depends on the schedule.
// From: Metzler's thesis, figure 3.3b, a line in a load and a store.
// Holds: some entry is written: whoever writes first has found a zero. With -DBUG it is asserted that all are, which fails.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static atomic_int x[N];

static void *branch(void *arg) {
    int i = (int)(intptr_t)arg;
    for (int k = 0; k < 2; k++)
        if (x[i] == 0)
            x[(i + 1) % N] = 1;
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, branch, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    int written = 0;
    for (int i = 0; i < N; i++)
        written += x[i];
    assert(written > 0);
#ifdef BUG
    assert(written == N);
#endif
    return 0;
}
