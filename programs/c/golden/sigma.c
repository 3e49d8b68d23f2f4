// sigma(N): main moves an index (load, store) and starts a thread, N times; a thread writes where the index points.
// From: the SV-COMP family of that name, here for its count: (2N-1)!! classes. svcomp/sigma.c has the property.
// Holds: nothing is asserted. 2: 3, 3: 15, 4: 105.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_int at;
static atomic_int a[N + 1];

static void *mark(void *arg) {
    (void)arg;
    int here = atomic_load(&at);
    atomic_store(&a[here], 1);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++) {
        int here = atomic_load(&at);
        atomic_store(&at, here + 1);
        pthread_create(&t[i], NULL, mark, NULL);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
