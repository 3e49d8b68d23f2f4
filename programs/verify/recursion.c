// recursion: a recursive function adds up what two threads have written. The depth is that of the array.
// Holds: it is the sum. With -DBUG main does not wait for the second.
#include <assert.h>
#include <pthread.h>

#define N 4

int cell[N];

int sum(int from) {
    return from == N ? 0 : cell[from] + sum(from + 1);
}

void *half(void *arg) {
    long from = (long)arg;
    for (long i = from; i < from + N / 2; i++)
        cell[i] = (int)i;
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, half, (void *)0);
    pthread_create(&b, 0, half, (void *)(N / 2));
    pthread_join(a, 0); /* first */
#ifndef BUG
    pthread_join(b, 0); /* second */
#endif
    assert(sum(0) == 6);
    return 0;
}
