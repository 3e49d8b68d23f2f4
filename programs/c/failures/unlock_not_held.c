// A thread unlocks a mutex that nobody holds, if the other one was there before it.
// Fails: `lock-misuse`.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int skip;

static void *locker(void *arg) {
    (void)arg;
    if (!atomic_load(&skip))
        pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *skipper(void *arg) {
    (void)arg;
    atomic_store(&skip, 1);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, locker, NULL);
    pthread_create(&t[1], NULL, skipper, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
