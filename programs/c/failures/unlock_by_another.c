// A mutex is locked by one thread and unlocked by another.
// Fails: `lock-misuse`, in every execution.
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <stddef.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int locked;

static void *locker(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    atomic_store(&locked, 1);
    return NULL;
}

static void *unlocker(void *arg) {
    (void)arg;
    while (!atomic_load(&locked))
        sched_yield();
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, locker, NULL);
    pthread_create(&t[1], NULL, unlocker, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
