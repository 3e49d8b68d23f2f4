// indexermod(N): all threads take the same way through a table and fill the first free entry they find.
// From: Sachinoglou's thesis, appendix. The entries go to the threads in any order, N!; those who fail only read.
// Holds: nothing is asserted. 3: 6, 5: 120.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 5
#endif

static atomic_int table[128];

static void *insert(void *arg) {
    (void)arg;
    int h = 0, zero = 0;
    while (!atomic_compare_exchange_strong(&table[h], &zero, 1)) {
        h = (h + 1) % 128;
        zero = 0;
    }
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, insert, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
