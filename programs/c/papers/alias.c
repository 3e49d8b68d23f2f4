// Two threads write through pointers that may point to the same cell; which, is input.
// From: Metzler's thesis, figure 5.1.
// Holds: without an alias the first thread finds what it wrote. With -DBUG the input may make the pointers equal, and then an
// increment of the second thread may come in between.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_assert(int);
extern void __VERIFIER_assume(int);

static atomic_int cells[2];
static atomic_int *x, *y;

static void *set(void *arg) {
    (void)arg;
    atomic_store(x, 5);
    int a = atomic_load(x);
    __VERIFIER_assert(a == 5);
    return NULL;
}

static void *increment(void *arg) {
    (void)arg;
    int b = atomic_load(y);
    atomic_store(y, b + 1);
    return NULL;
}

int main(void) {
    int choice = __VERIFIER_nondet_int();
    __VERIFIER_assume(choice == 0 || choice == 1);
#ifndef BUG
    __VERIFIER_assume(choice == 1);
#endif
    x = &cells[0];
    y = &cells[choice];
    pthread_t t[2];
    pthread_create(&t[0], NULL, set, NULL);
    pthread_create(&t[1], NULL, increment, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
