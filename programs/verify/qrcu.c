// qrcu: Quick RCU, one reader that takes one of two counters, one updater that switches them and waits. Idea: SV-COMP's
// pthread-atomic/qrcu after McKenney.
// Holds: the updater does not free while a reader reads. With -DBUG it does not wait.
#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_assume(int);
extern _Bool __VERIFIER_nondet_bool(void);

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int idx, ctr1 = 1, ctr2;
int progress1, progress2;

void __VERIFIER_atomic_use1(int i) {
    __VERIFIER_assume(i <= 0 && ctr1 > 0);
    ctr1++;
}

void __VERIFIER_atomic_use2(int i) {
    __VERIFIER_assume(i >= 1 && ctr2 > 0);
    ctr2++;
}

void __VERIFIER_atomic_done(int i) {
    if (i <= 0)
        ctr1--;
    else
        ctr2--;
}

void __VERIFIER_atomic_take_snapshot(int *before1, int *before2) {
    *before1 = progress1;
    *before2 = progress2;
}

void __VERIFIER_atomic_check(int *before1, int *before2) {
    assert(!(*before1 == 1 && progress1 == 1));
    assert(!(*before2 == 1 && progress2 == 1));
}

int sum_unordered(void) {
    int s;
    if (__VERIFIER_nondet_bool()) {
        s = ctr1;
        s += ctr2;
    } else {
        s = ctr2;
        s += ctr1;
    }
    return s;
}

void reader(int *progress) {
    int i = idx;
    if (__VERIFIER_nondet_bool()) {
        __VERIFIER_atomic_use1(i);
    } else if (__VERIFIER_nondet_bool()) {
        __VERIFIER_atomic_use2(i);
    } else {
        /* Another try: with one reader there is none. */
        __VERIFIER_assume(0);
    }
    *progress = 1;
    *progress = 2;
    __VERIFIER_atomic_done(i);
}

void *reader1(void *arg) {
    reader(&progress1);
    return arg;
}

void *reader2(void *arg) {
    reader(&progress2);
    return arg;
}

void *updater(void *arg) {
    int before1, before2;
    __VERIFIER_atomic_take_snapshot(&before1, &before2);
    int s = sum_unordered();
    if (s <= 1)
        s = sum_unordered();
    if (s > 1) {
        pthread_mutex_lock(&m);
        if (idx <= 0) {
            __sync_fetch_and_add(&ctr2, 1);
            idx = 1;
            __sync_fetch_and_sub(&ctr1, 1);
        } else {
            __sync_fetch_and_add(&ctr1, 1);
            idx = 0;
            __sync_fetch_and_sub(&ctr2, 1);
        }
#ifndef BUG
        if (idx <= 0)
            while (ctr2 > 0)
                ;
        else
            while (ctr1 > 0) /* wait */
                ;
#endif
        pthread_mutex_unlock(&m);
    }
    __VERIFIER_atomic_check(&before1, &before2);
    return arg;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, 0, reader1, 0);
    pthread_create(&b, 0, reader2, 0);
    pthread_create(&c, 0, updater, 0);
    return 0;
}
