// Input alone decides: no schedule is wrong, but one value of the input is.
// Holds: the sum follows the input. With -DBUG the input 1 is not thought of.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

extern _Bool __VERIFIER_nondet_bool(void);
extern void __VERIFIER_assert(int);

static atomic_int x;

static void *add(void *arg) {
    (void)arg;
    atomic_fetch_add(&x, 1);
    return NULL;
}

int main(void) {
    int more = __VERIFIER_nondet_bool();
    pthread_t t[2];
    pthread_create(&t[0], NULL, add, NULL);
    if (more)
        pthread_create(&t[1], NULL, add, NULL);
    pthread_join(t[0], NULL);
    if (more)
        pthread_join(t[1], NULL);
    int sum = atomic_load(&x);
#ifdef BUG
    __VERIFIER_assert(sum == 1);
#else
    __VERIFIER_assert(sum == 1 + more);
#endif
    return 0;
}
