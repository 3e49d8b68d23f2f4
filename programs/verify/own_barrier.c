// own_barrier: a barrier of a counter, a generation, a lock and a condition, passed for ever.
// Holds: no thread is a round ahead of another while both are between the barriers. With -DBUG the generation is not counted, and a
// thread that is fast passes the next one alone.
#include <assert.h>
#include <pthread.h>

#define N 2

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t all = PTHREAD_COND_INITIALIZER;
int arrived;
_Bool generation;
_Bool phase[N];

void barrier(void) {
    pthread_mutex_lock(&m);
    _Bool mine = generation;
    arrived++;
    if (arrived == N) {
        arrived = 0;
#ifndef BUG
        generation = !generation;
#endif
        pthread_cond_broadcast(&all);
    } else {
#ifdef BUG
        if (arrived != 0)
            pthread_cond_wait(&all, &m);
        (void)mine;
#else
        while (generation == mine) /* wait */
            pthread_cond_wait(&all, &m);
#endif
    }
    pthread_mutex_unlock(&m);
}

void *work(void *arg) {
    int me = (int)(long)arg;
    while (1) {
        phase[me] = !phase[me];
        barrier(); /* written */
        assert(phase[0] == phase[1]);
#ifndef BUG
        barrier(); /* read */
#endif
    }
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, (void *)0);
    pthread_create(&b, 0, work, (void *)1);
    pthread_join(a, 0);
    return 0;
}
