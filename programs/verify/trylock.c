// trylock: threads that get a lock if it is free, and do something else if not, for ever.
// Holds: what is done is done under the lock. With -DBUG one goes on in either case.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;

void *try_(void *arg) {
    int me = (int)(long)arg;
    while (1) {
        int busy = pthread_mutex_trylock(&m);
#ifndef BUG
        if (busy) /* busy */
            continue;
#endif
        x = me;
        assert(x == me);
        if (!busy)
            pthread_mutex_unlock(&m);
    }
    return 0;
}

int main(void) {
    pthread_t t;
    for (long i = 0; i < 3; i++)
        pthread_create(&t, 0, try_, (void *)i);
    return 0;
}
