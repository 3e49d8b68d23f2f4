// main returns while its threads run: the process ends with it, and they never finish.
// Holds: nothing is wrong with that. With -DBUG a thread that gets far enough fails before main returns.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;

static void *runner(void *arg) {
    (void)arg;
    atomic_fetch_add(&x, 1);
    int now = atomic_load(&x);
#ifdef BUG
    assert(now == 1);
#else
    assert(now >= 1);
#endif
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, runner, NULL);
    atomic_fetch_add(&x, 1);
    return 0;
}
