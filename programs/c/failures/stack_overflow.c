// Recursion without end, if the other thread came first.
// Fails: `signal` (SIGSEGV on the guard page of the thread's stack).
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
static volatile int depth_seen;

static int deeper(int depth) {
    volatile char frame[1024];
    frame[0] = (char)depth;
    depth_seen = depth;
    if (depth_seen < 0)
        return 0;
    return deeper(depth + 1) + frame[0];
}

static void *runner(void *arg) {
    (void)arg;
    if (atomic_load(&x))
        depth_seen = deeper(1);
    return NULL;
}

static void *setter(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, runner, NULL);
    pthread_create(&t[1], NULL, setter, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
