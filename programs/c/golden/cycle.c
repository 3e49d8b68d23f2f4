// Three threads in a cycle: each reads one variable and, if it found zero, writes the next one's.
// From: Abdulla et al., POPL 2014: a search with source sets is blocked once here, an optimal one never.
// Holds: nothing is asserted. 4 classes.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y, z;

static void *p(void *arg) {
    (void)arg;
    if (!atomic_load(&x))
        atomic_store(&z, 1);
    return NULL;
}

static void *q(void *arg) {
    (void)arg;
    if (!atomic_load(&y))
        atomic_store(&x, 1);
    return NULL;
}

static void *r(void *arg) {
    (void)arg;
    if (!atomic_load(&z))
        atomic_store(&y, 1);
    return NULL;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], NULL, p, NULL);
    pthread_create(&t[1], NULL, q, NULL);
    pthread_create(&t[2], NULL, r, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
