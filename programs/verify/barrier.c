// barrier: threads write a cell each, wait for each other, and read the next one's. Idea: Metzler 2020, the barrier of chapter 4.
// Holds: after the barrier every cell is there. With -DBUG the barrier waits for one thread too few.
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 3
#endif

pthread_barrier_t barrier;
int cell[N];

void *work(void *arg) {
    int me = (int)(long)arg;
    for (int round = 1; round <= 2; round++) {
        cell[me] = round;
        pthread_barrier_wait(&barrier); /* written */
        int other = cell[(me + 1) % N];
        assert(other == round);
        pthread_barrier_wait(&barrier); /* read */
    }
    return 0;
}

int main(void) {
    pthread_t t[N];
#ifdef BUG
    pthread_barrier_init(&barrier, 0, N - 1);
#else
    pthread_barrier_init(&barrier, 0, N);
#endif
    for (long i = 0; i < N; i++)
        pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    return 0;
}
