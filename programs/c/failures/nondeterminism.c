// What a thread does depends on something that is not the schedule: random numbers of the kernel, read from a file.
// A replay then meets other operations than were recorded.
// Fails: `nondeterminism`, or at least it is never said to be verified.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int x, y;

static int random_bit(void) {
    FILE *f = fopen("/dev/urandom", "rb");
    if (!f)
        return 0;
    int c = fgetc(f);
    fclose(f);
    return c & 1;
}

static void *thrower(void *arg) {
    (void)arg;
    for (int i = 0; i < 8; i++) {
        if (random_bit())
            atomic_fetch_add(&x, 1);
        else
            atomic_fetch_add(&y, 1);
    }
    return NULL;
}

static void *other(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        atomic_fetch_add(&x, 1);
        atomic_fetch_add(&y, 1);
    }
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
