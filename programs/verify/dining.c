// dining: philosophers with a fork between each two, for ever. The question is for deadlocks.
// Holds: the last one takes its forks the other way round. With -DBUG all take the left one first.
#include <pthread.h>

#ifndef N
#define N 3
#endif

pthread_mutex_t fork_[N];

void *dine(void *arg) {
    int me = (int)(long)arg;
    int left = me, right = (me + 1) % N;
#ifndef BUG
    if (me == N - 1) { /* the last one */
        left = 0;
        right = N - 1;
    }
#endif
    while (1) {
        pthread_mutex_lock(&fork_[left]);
        pthread_mutex_lock(&fork_[right]);
        pthread_mutex_unlock(&fork_[right]);
        pthread_mutex_unlock(&fork_[left]);
    }
    return 0;
}

int main(void) {
    pthread_t t[N];
    for (long i = 0; i < N; i++)
        pthread_create(&t[i], 0, dine, (void *)i);
    pthread_join(t[0], 0);
    return 0;
}
