// spawn_chain: a thread makes a thread that makes a thread; results come back by joins.
// Holds: 3 at the end. With -DBUG the middle one does not wait.
#include <assert.h>
#include <pthread.h>

int depth;

void *third(void *arg) {
    depth++;
    return arg;
}

void *second(void *arg) {
    pthread_t t;
    depth++;
    pthread_create(&t, 0, third, 0);
#ifndef BUG
    pthread_join(t, 0); /* third */
#endif
    return arg;
}

void *first(void *arg) {
    pthread_t t;
    depth++;
    pthread_create(&t, 0, second, 0);
    pthread_join(t, 0); /* second */
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, first, 0);
    pthread_join(t, 0); /* first */
    assert(depth == 3);
    return 0;
}
