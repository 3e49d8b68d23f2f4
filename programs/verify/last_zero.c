// last_zero: writers count up cells from their neighbours, a reader looks for the last cell that is zero. Idea: Abdulla et al. 2014.
// Holds: it finds one, for the first cell stays zero. With -DBUG that one is written too.
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 3
#endif

int cell[N + 1];

void *reader(void *arg) {
    int i = N;
    while (cell[i] != 0)
        i--;
    return arg;
}

void *writer(void *arg) {
    int j = (int)(long)arg;
#ifdef BUG
    cell[j] = 1;
#else
    int before = cell[j - 1];
    cell[j] = before + 1;
#endif
    return 0;
}

int main(void) {
    pthread_t t;
#ifdef BUG
    for (long j = 0; j <= N; j++)
#else
    for (long j = 1; j <= N; j++)
#endif
        pthread_create(&t, 0, writer, (void *)j);
    pthread_create(&t, 0, reader, 0);
    return 0;
}
