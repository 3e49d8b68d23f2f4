// Threads that end by return and by pthread_exit from a nested call; join gives what they left.
// Holds: the values. With -DBUG the threads tell their order, and main takes one order for granted.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static atomic_int turn;

static void leave(intptr_t value) {
    pthread_exit((void *)value);
}

static void *by_return(void *arg) {
    (void)arg;
    return (void *)(intptr_t)atomic_fetch_add(&turn, 1);
}

static void *by_exit(void *arg) {
    (void)arg;
    leave(atomic_fetch_add(&turn, 1));
    assert(0);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    void *left[2];
    pthread_create(&t[0], NULL, by_return, NULL);
    pthread_create(&t[1], NULL, by_exit, NULL);
    pthread_join(t[0], &left[0]);
    pthread_join(t[1], &left[1]);
    assert((intptr_t)left[0] + (intptr_t)left[1] == 1);
#ifdef BUG
    assert((intptr_t)left[0] == 0);
#endif
    return 0;
}
