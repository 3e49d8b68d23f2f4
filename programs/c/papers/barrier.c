// N threads meet at a barrier made of a lock and a condition, PHASES times; each counts the phases it has seen.
// From: Metzler's thesis, the benchmark "barrier"; the barrier is our own.
// Holds: nobody leaves before all have come. With -DBUG the barrier waits for the count to be zero instead of for the next
// generation: a fast thread comes round again, the count is no longer zero, and both sleep for ever.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif
#ifndef PHASES
#define PHASES 2
#endif

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static int arrived, generation;
static atomic_int phase[N];

static void barrier(void) {
    pthread_mutex_lock(&m);
    int mine = generation;
    if (++arrived == N) {
        arrived = 0;
        generation++;
        pthread_cond_broadcast(&all_here);
    } else {
#ifdef BUG
        (void)mine;
        while (arrived != 0)
            pthread_cond_wait(&all_here, &m);
#else
        while (mine == generation)
            pthread_cond_wait(&all_here, &m);
#endif
    }
    pthread_mutex_unlock(&m);
}

static void *work(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int k = 1; k <= PHASES; k++) {
        phase[me] = k;
        barrier();
        for (int i = 0; i < N; i++)
            assert(phase[i] >= k);
    }
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
