// main destroys a mutex while a thread may hold it.
// Fails: `lock-misuse`, when the thread has not yet unlocked. With -DFIXED main joins it first.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t m;
static atomic_int was_in;

static void *holder(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    atomic_store(&was_in, 1);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_mutex_init(&m, NULL);
    pthread_create(&t, NULL, holder, NULL);
    while (!atomic_load(&was_in))
        sched_yield();
#ifdef FIXED
    pthread_join(t, NULL);
#endif
    pthread_mutex_destroy(&m);
#ifndef FIXED
    pthread_join(t, NULL);
#endif
    return 0;
}
