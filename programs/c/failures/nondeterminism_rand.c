// As nondeterminism.c, with rand seeded by the clock. Where clocks are virtual and libc's state is put back, it is deterministic
// instead; then every execution is the same and nothing is wrong.
// Fails: `nondeterminism`, or is verified, but never something else.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static atomic_int x, y;

static void *thrower(void *arg) {
    (void)arg;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    srand((unsigned)now.tv_nsec);
    for (int i = 0; i < 4; i++) {
        if (rand() & 64)
            atomic_fetch_add(&x, 1);
        else
            atomic_fetch_add(&y, 1);
    }
    return NULL;
}

static void *other(void *arg) {
    (void)arg;
    atomic_fetch_add(&x, 1);
    atomic_fetch_add(&y, 1);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, thrower, NULL);
    pthread_create(&t[1], NULL, other, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
