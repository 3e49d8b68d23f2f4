// read_write_lock: N readers and N writers on a lock made of two counters that change in atomic sections.
// From: SV-COMP's pthread-atomic/read_write_lock; written from the description, with its intrinsics. The data are plain ints, and
// so are the counters: check it with `--races sync`.
// Holds: what a reader reads does not change while it reads. With -DBUG readers do not look whether a writer is in.
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 1
#endif

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void __VERIFIER_assume(int);
extern void __VERIFIER_assert(int);

static int w, r, x, y;

static void *writer(void *arg) {
    (void)arg;
    __VERIFIER_atomic_begin();
    __VERIFIER_assume(w == 0 && r == 0);
    w = 1;
    __VERIFIER_atomic_end();
    x = 3;
    __VERIFIER_atomic_begin();
    w = 0;
    __VERIFIER_atomic_end();
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    __VERIFIER_atomic_begin();
#ifndef BUG
    __VERIFIER_assume(w == 0);
#endif
    r++;
    __VERIFIER_atomic_end();
    int first = x;
    y = first;
    int second = x;
    __VERIFIER_assert(first == second);
    __VERIFIER_atomic_begin();
    r--;
    __VERIFIER_atomic_end();
    return NULL;
}

int main(void) {
    pthread_t t[2 * N];
    for (int i = 0; i < N; i++) {
        pthread_create(&t[2 * i], NULL, writer, NULL);
        pthread_create(&t[2 * i + 1], NULL, reader, NULL);
    }
    for (int i = 0; i < 2 * N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
