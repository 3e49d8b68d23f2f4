// An error-checking mutex says EDEADLK to one who holds it already and EPERM to one who does not: no failure, but a return value.
// Holds: exactly that. With -DBUG the second thread takes it for granted that it finds the mutex free.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t m;
static atomic_int held;

static void *holder(void *arg) {
    (void)arg;
    int code = pthread_mutex_lock(&m);
    assert(code == 0);
    atomic_store(&held, 1);
    code = pthread_mutex_lock(&m);
    assert(code == EDEADLK);
    atomic_store(&held, 0);
    code = pthread_mutex_unlock(&m);
    assert(code == 0);
    return NULL;
}

static void *meddler(void *arg) {
    (void)arg;
    int code = pthread_mutex_unlock(&m);
    assert(code == EPERM);
    code = pthread_mutex_trylock(&m);
    if (code == 0) {
        int seen = atomic_load(&held);
        assert(seen == 0);
        pthread_mutex_unlock(&m);
    } else {
#ifdef BUG
        assert(0);
#else
        assert(code == EBUSY);
#endif
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_mutexattr_t checking;
    pthread_mutexattr_init(&checking);
    pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&m, &checking);
    pthread_mutexattr_destroy(&checking);
    pthread_create(&t[0], NULL, holder, NULL);
    pthread_create(&t[1], NULL, meddler, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
