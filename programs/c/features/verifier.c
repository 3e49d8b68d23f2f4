// The intrinsics of SV-COMP: input, assumptions, atomic sections, an error to be reached.
// Holds: input is any value in the range assumed, and the atomic section is not cut. With -DBUG the increment is not atomic.
// Plain ints: check with `--races sync`.
#include <pthread.h>
#include <stddef.h>

extern int __VERIFIER_nondet_int(void);
extern _Bool __VERIFIER_nondet_bool(void);
extern void __VERIFIER_assume(int);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void reach_error(void);

static int x;

static void *add(void *arg) {
    int *amount = arg;
#ifndef BUG
    __VERIFIER_atomic_begin();
#endif
    x = x + *amount;
#ifndef BUG
    __VERIFIER_atomic_end();
#endif
    return NULL;
}

int main(void) {
    int amount = __VERIFIER_nondet_int();
    __VERIFIER_assume(amount >= 1 && amount <= 2);
    if (__VERIFIER_nondet_bool())
        amount = 3;
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, add, &amount);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    if (x != 2 * amount)
        reach_error();
    return 0;
}
