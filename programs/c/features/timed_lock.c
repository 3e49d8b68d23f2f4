// pthread_mutex_timedlock: a timeout may fire whenever the mutex is held.
// Holds: the code is 0 or ETIMEDOUT, and the lock is held only with 0. With -DBUG a timeout is not thought of, and the counter is
// changed without the lock.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *patient(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    counter++;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *impatient(void *arg) {
    (void)arg;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    int code = pthread_mutex_timedlock(&m, &until);
#ifdef BUG
    counter++;
    if (code == 0)
        pthread_mutex_unlock(&m);
#else
    assert(code == 0 || code == ETIMEDOUT);
    if (code == 0) {
        counter++;
        pthread_mutex_unlock(&m);
    }
#endif
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, patient, NULL);
    pthread_create(&t[1], NULL, impatient, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
#ifdef BUG
    assert(counter == 2);
#else
    assert(counter == 1 || counter == 2);
#endif
    return 0;
}
