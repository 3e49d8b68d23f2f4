// readers(N): one thread writes x, N threads read it.
// From: Flanagan and Godefroid 2005, and every paper on partial orders since. Each reader comes before or after the write: 2^N.
// Holds: nothing is asserted. 2: 4, 4: 16, 8: 256.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static atomic_int x;

static void *writer(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    (void)atomic_load(&x);
    return NULL;
}

int main(void) {
    pthread_t t[N + 1];
    pthread_create(&t[0], NULL, writer, NULL);
    for (int i = 1; i <= N; i++)
        pthread_create(&t[i], NULL, reader, NULL);
    for (int i = 0; i <= N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
