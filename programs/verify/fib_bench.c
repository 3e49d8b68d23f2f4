// fib_bench: two threads add two numbers to each other. Idea: SV-COMP's pthread/fib_bench.
// Holds: neither gets beyond the Fibonacci number 2N+2. With -DBUG the limit is one lower, and can be reached.
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 3
#endif

int i = 1, j = 1;

void *left(void *arg) {
    for (int k = 0; k < N; k++)
        i += j;
    return arg;
}

void *right(void *arg) {
    for (int k = 0; k < N; k++)
        j += i;
    return arg;
}

/* The Fibonacci numbers, counted from 1. */
int fib(int n) {
    int a = 1, b = 1;
    while (n > 2) {
        int c = a + b;
        a = b;
        b = c;
        n--;
    }
    return b;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, left, 0);
    pthread_create(&b, 0, right, 0);
    int limit = fib(2 * N + 2);
#ifdef BUG
    limit--;
#endif
    int x = i;
    assert(x <= limit);
    int y = j;
    assert(y <= limit);
    return 0;
}
