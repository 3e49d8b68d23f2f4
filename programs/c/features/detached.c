// Detached threads, by attribute and by pthread_detach; main waits for them with a semaphore.
// Holds: both have worked when main goes on. With -DBUG main waits for one of them only.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

static sem_t done;
static atomic_int work;

static void *worker(void *arg) {
    (void)arg;
    atomic_fetch_add(&work, 1);
    sem_post(&done);
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_attr_t detached;
    sem_init(&done, 0, 0);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_create(&t, &detached, worker, NULL);
    pthread_attr_destroy(&detached);
    pthread_create(&t, NULL, worker, NULL);
    pthread_detach(t);
    sem_wait(&done);
#ifndef BUG
    sem_wait(&done);
#endif
    assert(atomic_load(&work) == 2);
    return 0;
}
