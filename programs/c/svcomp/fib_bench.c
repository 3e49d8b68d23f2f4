// fib_bench: i += j in one thread, j += i in the other, N times each, from 1 and 1; main looks while they run.
// From: SV-COMP's pthread/fib_bench; written from the description. Run it with plain ints and `--races sync`, or -DATOMIC.
// Holds: neither exceeds the Fibonacci number 2N+2. With -DBUG it is asserted that neither reaches it; strict alternation does.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

#ifdef ATOMIC
static atomic_int i = 1, j = 1;
#else
static int i = 1, j = 1;
#endif

static void *first(void *arg) {
    (void)arg;
    for (int k = 0; k < N; k++) {
        int a = i;
        int b = j;
        i = a + b;
    }
    return NULL;
}

static void *second(void *arg) {
    (void)arg;
    for (int k = 0; k < N; k++) {
        int a = j;
        int b = i;
        j = a + b;
    }
    return NULL;
}

static int fibonacci(int n) {
    int a = 1, b = 1;
    for (int k = 2; k < n; k++) {
        int sum = a + b;
        a = b;
        b = sum;
    }
    return b;
}

int main(void) {
    pthread_t t[2];
    int limit = fibonacci(2 * N + 2);
#ifdef BUG
    limit--;
#endif
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    int a = i;
    int b = j;
    assert(a <= limit);
    assert(b <= limit);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
