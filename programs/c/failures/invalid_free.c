// A pointer that another thread has moved on is freed: it no longer points to the start of its block.
// Fails: `invalid-free`, when the mover comes first.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(char *) cursor;

static void *mover(void *arg) {
    (void)arg;
    atomic_store(&cursor, atomic_load(&cursor) + 4);
    return NULL;
}

static void *releaser(void *arg) {
    (void)arg;
    free(atomic_load(&cursor));
    return NULL;
}

int main(void) {
    pthread_t t[2];
    atomic_store(&cursor, malloc(16));
    pthread_create(&t[0], NULL, releaser, NULL);
    pthread_create(&t[1], NULL, mover, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
