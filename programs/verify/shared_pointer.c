// shared_pointer: each thread adds to what its own pointer points to and then turns the other's pointer round. Idea: Gueta et al. 2007.
// Holds: both counters together never exceed all steps. With -DBUG the limit is one lower.
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 2
#endif

int c0, c1;
int *p0 = &c0, *p1 = &c1;

void *zero(void *arg) {
    for (int i = 0; i < N; i++)
        *p0 += 1;
    p1 = &c0;
    return arg;
}

void *one(void *arg) {
    for (int i = 0; i < N; i++)
        *p1 += 1;
    p0 = &c1;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, zero, 0);
    pthread_create(&b, 0, one, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
#ifdef BUG
    assert(c0 + c1 <= 2 * N - 1);
#else
    assert(c0 + c1 <= 2 * N);
#endif
    return 0;
}
