// indexer: threads put messages into a table by compare-and-swap, each at its own hash or the next free cell. Idea: Flanagan,
// Godefroid 2005.
// Holds: every message is in the table once. With -DBUG the cell is looked at and written in two steps.
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 3
#endif
#define SIZE 8

int table[SIZE];

int cas(int h, int w) {
#ifdef BUG
    if (table[h] != 0)
        return 0;
    table[h] = w;
    return 1;
#else
    return __sync_bool_compare_and_swap(&table[h], 0, w);
#endif
}

void *thread(void *arg) {
    int me = (int)(long)arg;
    int w = me + 1;
    int h = (w * 7) % 2; /* hash */
    while (!cas(h, w)) /* retry */
        h = (h + 1) % SIZE;
    return 0;
}

int main(void) {
    pthread_t t[N];
    for (long i = 0; i < N; i++)
        pthread_create(&t[i], 0, thread, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    int found = 0;
    for (int h = 0; h < SIZE; h++)
        found += table[h] != 0;
    assert(found == N);
    return 0;
}
