// indexer(N): threads 1 to N put 4 messages each into a shared hash table of 128 entries, with compare-exchange.
// From: Flanagan and Godefroid 2005, figure 1. Nobody meets anybody up to 11 threads; from 12 on each further thread has 3
// messages that meet those of an earlier one.
// Holds: nothing is asserted. up to 11: 1, 12: 8, 13: 64, 15: 4096.
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
    for (int m = 1; m <= MESSAGES; m++) {
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
        pthread_create(&t[i], NULL, insert, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
