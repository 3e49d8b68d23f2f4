// cas_counter: threads count up by compare-and-exchange until it succeeds, and join.
// Holds: no step is lost. With -DBUG they write what they have read and one more.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef THREADS
#define THREADS 3
#endif

atomic_int count;

void *up(void *arg) {
#ifdef BUG
    int seen = atomic_load(&count);
    atomic_store(&count, seen + 1);
#else
    int seen = atomic_load(&count);
    while (!atomic_compare_exchange_strong(&count, &seen, seen + 1)) /* again */
        ;
#endif
    return arg;
}

int main(void) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, up, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], 0);
    assert(count == THREADS);
    return 0;
}
