// rwlock: pthreads' lock for readers and writers around two variables, for ever.
// Holds: readers see both equal. With -DBUG the writer takes the lock as a reader.
#include <assert.h>
#include <pthread.h>

pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
_Bool a, b;

void *writer(void *arg) {
    while (1) {
#ifdef BUG
        pthread_rwlock_rdlock(&l);
#else
        pthread_rwlock_wrlock(&l); /* writer */
#endif
        a = !a;
        b = !b;
        pthread_rwlock_unlock(&l); /* writer */
    }
    return arg;
}

void *reader(void *arg) {
    while (1) {
        pthread_rwlock_rdlock(&l); /* reader */
        _Bool x = a, y = b;
        pthread_rwlock_unlock(&l); /* reader */
        assert(x == y);
    }
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    pthread_create(&t, 0, reader, 0);
    pthread_create(&t, 0, reader, 0);
    return 0;
}
