// spin_lock: a lock of one flag that is taken with an exchange, for ever.
// Holds: one thread at a time. With -DBUG the flag is looked at and set in two steps.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef THREADS
#define THREADS 3
#endif

atomic_int taken;
int x;

void *enter(void *arg) {
    int me = (int)(long)arg;
    while (1) {
#ifdef BUG
        while (atomic_load(&taken))
            ;
        atomic_store(&taken, 1);
#else
        while (atomic_exchange(&taken, 1)) /* take */
            ;
#endif
        x = me;
        assert(x == me);
        atomic_store(&taken, 0);
    }
    return 0;
}

int main(void) {
    pthread_t t;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t, 0, enter, (void *)i);
    return 0;
}
