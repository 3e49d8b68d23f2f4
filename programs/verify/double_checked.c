// double_checked: an object is made once, whoever comes first, for which a lock is taken only if it is not there.
// Holds: everybody sees it whole. With -DBUG it is announced before it is made.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef THREADS
#define THREADS 3
#endif

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
atomic_bool ready;
int value, made;

void *use(void *arg) {
    if (!atomic_load(&ready)) {
        pthread_mutex_lock(&m); /* make */
        if (!atomic_load(&ready)) { /* again */
#ifdef BUG
            atomic_store(&ready, 1);
            value = 42;
#else
            value = 42; /* make */
            atomic_store(&ready, 1);
#endif
            made++;
        }
        pthread_mutex_unlock(&m); /* make */
    }
    assert(value == 42);
    return arg;
}

int main(void) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, use, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], 0);
    assert(made == 1);
    return 0;
}
