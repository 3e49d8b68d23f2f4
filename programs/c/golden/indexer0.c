// indexer0(N): the indexer with threads and messages numbered from 0, so that one message is 0 and fills nothing.
// From: Sachinoglou's thesis, appendix. With 12 threads three messages of the first thread meet three of the twelfth.
// Holds: nothing is asserted. 12: 8.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 12
#endif

enum { SIZE = 128, MESSAGES = 4 };

static atomic_int table[SIZE];

static void *insert(void *arg) {
    int tid = (int)(intptr_t)arg;
    for (int m = 0; m < MESSAGES; m++) {
        int w = m * 11 + tid;
        int h = w * 7 % SIZE;
        int zero = 0;
        while (!atomic_compare_exchange_strong(&table[h], &zero, w)) {
            h = (h + 1) % SIZE;
            zero = 0;
        }
    }
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, insert, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
