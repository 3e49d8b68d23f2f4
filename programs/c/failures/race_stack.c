// A variable on main's stack, given to a thread by its address, is used by both.
// Fails: `data-race`. With `--races sync` the assertion fails: main reads 0 before the thread has written. With -DFIXED main joins
// before it looks, and all is well.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static void *fill(void *arg) {
    int *place = arg;
    *place = 1;
    return NULL;
}

int main(void) {
    int local = 0;
    pthread_t t;
    pthread_create(&t, NULL, fill, &local);
#ifdef FIXED
    pthread_join(t, NULL);
    assert(local == 1);
#else
    assert(local == 1);
    pthread_join(t, NULL);
#endif
    return 0;
}
