// main ends with pthread_exit: the process lives until its last thread has ended, and its exit code is then 0.
// Holds: both threads get to their end; the last one sees that. With -DBUG it is asserted that the first started is not the last.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static atomic_int ended;

static void *runner(void *arg) {
    int me = (int)(intptr_t)arg;
    int before = atomic_fetch_add(&ended, 1);
#ifdef BUG
    assert(!(me == 0 && before == 1));
#else
    (void)me;
    assert(before <= 1);
#endif
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, runner, (void *)(intptr_t)i);
    pthread_exit(NULL);
}
