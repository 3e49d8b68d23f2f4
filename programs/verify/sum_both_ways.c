// sum_both_ways: two threads add up the same numbers, one from the first to the last, one from the last to the first.
// Holds: both come to the same sum, whatever the numbers are. With -DBUG one of them leaves the last number out.
#include <pthread.h>
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);

#define N 3
#ifdef BUG
#define LAST (N - 2)
#else
#define LAST (N - 1)
#endif

int *numbers;
int up, down;

static void *forwards(void *unused) {
    for (int i = 0; i < N; i++)
        up += numbers[i];
    return unused;
}

static void *backwards(void *unused) {
    for (int i = LAST; i >= 0; i--)
        down += numbers[i];
    return unused;
}

int main(void) {
    pthread_t a, b;
    numbers = malloc(N * sizeof(int));
    for (int i = 0; i < N; i++)
        numbers[i] = __VERIFIER_nondet_int();
    pthread_create(&a, 0, forwards, 0);
    pthread_create(&b, 0, backwards, 0);
    pthread_join(a, 0);
    pthread_join(b, 0); /* wait */
    if (up != down)
        reach_error();
    free(numbers);
    return 0;
}
