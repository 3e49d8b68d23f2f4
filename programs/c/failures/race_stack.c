// A variable on main's stack, given to a thread by its address, is incremented by both.
// Fails: `data-race`. With `--races sync` the assertion fails instead. With -DFIXED main joins before it goes on, and all is well.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static void *increment(void *arg) {
    int *place = arg;
    *place += 1;
    return NULL;
}

int main(void) {
    int local = 0;
    pthread_t t;
    pthread_create(&t, NULL, increment, &local);
#ifdef FIXED
    pthread_join(t, NULL);
    local += 1;
#else
    local += 1;
    pthread_join(t, NULL);
#endif
    assert(local == 2);
    return 0;
}
