// Globals, thread-local variables and what was there before main are as in a new process, in each execution.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef LARGE
static char large[1 << 20];
#else
static char large[64];
#endif
static int initialised = 7, zero;
static __thread int mine = 5;
static char *before;
static atomic_int x;

__attribute__((constructor)) static void set_up(void) {
    before = malloc(16);
    strcpy(before, "before");
}

static void *run(void *p) {
    assert(mine == 5 && errno == 0);
    mine = 6;
    errno = EINVAL;
    atomic_fetch_add(&x, 1);
    assert(mine == 6 && errno == EINVAL);
    return p;
}

int main(void) {
    assert(initialised == 7 && zero == 0 && x == 0 && mine == 5);
    assert(strcmp(before, "before") == 0 && large[sizeof large - 1] == 0);
    initialised = zero = mine = 1;
    before[0] = large[sizeof large - 1] = 'x';
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    assert(mine == 1);
    return 0;
}
