// recursive_mutex: a function that has the lock calls one that takes it again.
// Holds: no update is lost, and nobody waits for ever. With -DBUG the mutex is a plain one, which waits for itself (a deadlock).
#include <assert.h>
#include <pthread.h>

pthread_mutex_t m;
int balance;

void add(int n) {
    pthread_mutex_lock(&m); /* inner */
    balance += n;
    pthread_mutex_unlock(&m); /* inner */
}

void *twice(void *arg) {
    pthread_mutex_lock(&m); /* outer */
    int before = balance;
    add(1);
    add(1);
    assert(balance == before + 2);
    pthread_mutex_unlock(&m); /* outer */
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
#ifndef BUG
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
#endif
    pthread_mutex_init(&m, &kind);
    pthread_mutexattr_destroy(&kind);
    pthread_create(&a, 0, twice, 0);
    pthread_create(&b, 0, twice, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(balance == 4);
    return 0;
}
