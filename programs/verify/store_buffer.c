// store_buffer: two threads write and then read what the other one writes; writes go through buffers, as a tool would write them out.
// Holds: one of them sees the other, because each empties its buffer before it reads. With -DBUG they do not.
extern void abort(void);
extern void reach_error(void);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern _Bool __VERIFIER_nondet_bool(void);
#include <pthread.h>

void assume_abort_if_not(int cond) {
    if (!cond)
        abort();
}

int x, y, x$buff0, y$buff0;
_Bool x$used, y$used, weak$$choice0;
int P0$seen = 7, P1$seen = 7, unbuffered$cnt;

void *P0(void *arg) {
    __VERIFIER_atomic_begin();
    x$buff0 = 1;
    x$used = 1;
    __VERIFIER_atomic_end();
#ifndef BUG
    __VERIFIER_atomic_begin();
    x = x$used ? x$buff0 : x; /* fence */
    x$used = 0;
    __VERIFIER_atomic_end();
#endif
    __VERIFIER_atomic_begin();
    P0$seen = y;
    __VERIFIER_atomic_end();
    __VERIFIER_atomic_begin();
    x = x$used ? x$buff0 : x;
    unbuffered$cnt = unbuffered$cnt + 1;
    __VERIFIER_atomic_end();
    return 0;
}

void *P1(void *arg) {
    __VERIFIER_atomic_begin();
    y$buff0 = 1;
    y$used = 1;
    weak$$choice0 = __VERIFIER_nondet_bool();
    y = weak$$choice0 ? y$buff0 : y;
    __VERIFIER_atomic_end();
#ifndef BUG
    __VERIFIER_atomic_begin();
    y = y$used ? y$buff0 : y;
    y$used = 0;
    __VERIFIER_atomic_end();
#endif
    __VERIFIER_atomic_begin();
    P1$seen = x;
    __VERIFIER_atomic_end();
    __VERIFIER_atomic_begin();
    y = y$used ? y$buff0 : y;
    unbuffered$cnt = unbuffered$cnt + 1;
    __VERIFIER_atomic_end();
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, P0, 0);
    pthread_create(&b, 0, P1, 0);
    __VERIFIER_atomic_begin();
    _Bool main$guard = unbuffered$cnt == 2;
    __VERIFIER_atomic_end();
    assume_abort_if_not(main$guard);
    if (P0$seen == 0 && P1$seen == 0)
        reach_error();
    return 0;
}
