// N threads meet at a pthread barrier; one of them is told that it was the last.
// Holds: all that was written before the barrier is seen after it, and one thread has the serial code. With -DBUG the barrier is
// for one less than there are: some go through early (an assertion), and the last one waits for ever (a deadlock).
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static pthread_barrier_t barrier;
static atomic_int arrived, serial;

static void *meet(void *arg) {
    (void)arg;
    atomic_fetch_add(&arrived, 1);
    int code = pthread_barrier_wait(&barrier);
    if (code == PTHREAD_BARRIER_SERIAL_THREAD)
        atomic_fetch_add(&serial, 1);
    else
        assert(code == 0);
    int seen = atomic_load(&arrived);
    assert(seen == N);
    return NULL;
}

int main(void) {
    pthread_t t[N];
#ifdef BUG
    pthread_barrier_init(&barrier, NULL, N - 1);
#else
    pthread_barrier_init(&barrier, NULL, N);
#endif
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, meet, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    assert(atomic_load(&serial) == 1);
    pthread_barrier_destroy(&barrier);
    return 0;
}
