// N threads write x, each its own value; one more reads it.
// From: by construction (N+1)!: the reader stands somewhere among N ordered writes.
// Holds: nothing is asserted. 3: 24, 5: 720.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static atomic_int x;

static void *writer(void *arg) {
    atomic_store(&x, (int)(intptr_t)arg);
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    (void)atomic_load(&x);
    return NULL;
}

int main(void) {
    pthread_t t[N + 1];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, writer, (void *)(intptr_t)(i + 1));
    pthread_create(&t[N], NULL, reader, NULL);
    for (int i = 0; i <= N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
