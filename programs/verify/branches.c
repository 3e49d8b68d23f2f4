// branches: a lock made of an atomic block that ends in each branch, or is left by `return`.
// Holds: one thread at a time. With -DBUG the block ends before the flag is set.
#include <pthread.h>

extern void abort(void);
extern void reach_error(void);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);

void __VERIFIER_assert(int condition) {
    if (!condition) {
    ERROR: {
        reach_error();
        abort();
    }
    }
}

int taken, inside;

int try_(void) {
    __VERIFIER_atomic_begin();
    if (taken) { /* taken */
        __VERIFIER_atomic_end();
        return 0;
    } else {
#ifdef BUG
        __VERIFIER_atomic_end();
        taken = 1;
#else
        taken = 1; /* flag */
        __VERIFIER_atomic_end();
#endif
    }
    return 1;
}

void *work(void *arg) {
    while (1) {
        if (!try_())
            continue;
        inside++;
        __VERIFIER_assert(inside == 1);
        inside--;
        taken = 0;
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    return 0;
}
