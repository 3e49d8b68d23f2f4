// sync: one thread waits until num is zero and increments it, the other waits until it is not and decrements it.
// From: SV-COMP's pthread/sync01; written from the description.
// Holds: both end, and num is 1 again. With -DBUG the first looks at num before it takes the lock: the signal may be gone when it
// waits, and the program deadlocks.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER;
static atomic_int num = 1;

static void *increment(void *arg) {
    (void)arg;
#ifdef BUG
    int is_full = num > 0;
    pthread_mutex_lock(&m);
    if (is_full)
        pthread_cond_wait(&empty, &m);
#else
    pthread_mutex_lock(&m);
    while (num > 0)
        pthread_cond_wait(&empty, &m);
#endif
    num++;
    pthread_cond_signal(&full);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *decrement(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    while (num == 0)
        pthread_cond_wait(&full, &m);
    num--;
    pthread_cond_signal(&empty);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, increment, NULL);
    pthread_create(&t[1], NULL, decrement, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(num == 1);
    return 0;
}
