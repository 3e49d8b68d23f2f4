// write_again: a function that takes a reader-writer lock to write is called with and without it.
// Holds: who has it is told so, and does not give it back twice. With -DBUG nobody looks at what it is told.
#include <assert.h>
#include <pthread.h>

pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int a, b;

static void set(int v) {
    int had = pthread_rwlock_wrlock(&l);
    a = v;
    b = v;
#ifdef BUG
    had = 0;
#endif
    if (!had) /* mine */
        pthread_rwlock_unlock(&l);
}

void *twice(void *arg) {
    pthread_rwlock_wrlock(&l); /* outer */
    set(1);
    a = 2;
    b = 2;
    pthread_rwlock_unlock(&l); /* outer */
    return arg;
}

void *once(void *arg) {
    set(3);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, twice, 0);
    pthread_create(&u, 0, once, 0);
    pthread_rwlock_rdlock(&l); /* look */
    assert(a == b && a != 1);
    pthread_rwlock_unlock(&l); /* look */
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
