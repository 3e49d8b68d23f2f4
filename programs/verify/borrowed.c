// borrowed: two threads read under a reader-writer lock, and a third one writes.
// Holds: a reader sees the same twice. With -DBUG one of the readers gives back what it never took.
#include <assert.h>
#include <pthread.h>

pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int x;

void *reader(void *arg) {
    pthread_rwlock_rdlock(&l); /* read */
    int first = x;
    assert(first == x);
    pthread_rwlock_unlock(&l); /* read */
    return arg;
}

void *other(void *arg) {
#ifdef BUG
    if (pthread_rwlock_tryrdlock(&l) == 0)
        pthread_rwlock_unlock(&l);
    pthread_rwlock_unlock(&l);
#else
    if (pthread_rwlock_tryrdlock(&l) == 0)
        pthread_rwlock_unlock(&l);
#endif
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, reader, 0);
    pthread_create(&u, 0, other, 0);
    pthread_rwlock_wrlock(&l);
    x = 1;
    pthread_rwlock_unlock(&l);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
