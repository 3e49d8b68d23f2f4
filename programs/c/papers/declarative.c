// The file system with time-varying protection, without locks: what must hold is assumed in atomic sections.
// From: Metzler's thesis, figure 4.15a, one round of each thread. An assumption that does not hold ends the execution as if it
// had never been. Plain ints: check with `--races sync`.
// Holds: the block is written only while it is allocated. With -DBUG the second thread does not assume that it is not busy.
#include <pthread.h>
#include <stddef.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void __VERIFIER_assume(int);
extern void __VERIFIER_assert(int);

static int inode, busy, block;

static void *allocate(void *arg) {
    (void)arg;
    if (!inode) {
        busy = 1;
        inode = 1;
        __VERIFIER_atomic_begin();
        __VERIFIER_assume(inode && busy);
        block = 1;
        __VERIFIER_atomic_end();
    }
    return NULL;
}

static void *reset(void *arg) {
    (void)arg;
    if (!busy) {
        __VERIFIER_atomic_begin();
#ifndef BUG
        __VERIFIER_assume(!busy);
#endif
        __VERIFIER_assert(!(busy && block));
        block = 0;
        __VERIFIER_atomic_end();
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, allocate, NULL);
    pthread_create(&t[1], NULL, reset, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
