// Readers that want to become writers: they let go and lock again. With -DBUG they lock for writing while they hold it for reading.
// Holds: nobody waits for ever. With -DBUG every execution ends in a deadlock: glibc lets one that reads wait for itself.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *upgrade(void *arg) {
    (void)arg;
    pthread_rwlock_rdlock(&lock);
    int missing = value == 0;
#ifndef BUG
    pthread_rwlock_unlock(&lock);
#endif
    if (missing) {
        pthread_rwlock_wrlock(&lock);
        value++;
        pthread_rwlock_unlock(&lock);
    }
#ifdef BUG
    pthread_rwlock_unlock(&lock);
#endif
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, upgrade, NULL);
    pthread_create(&t[1], NULL, upgrade, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(value == 1 || value == 2);
    return 0;
}
