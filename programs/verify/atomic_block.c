// atomic_block: threads move amounts between two accounts in atomic blocks, for ever; another adds both up.
// Holds: the sum stays. With -DBUG the one who adds up looks at them one after the other.
#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern unsigned char __VERIFIER_nondet_uchar(void);

unsigned char left = 100, right;

void *there(void *arg) {
    while (1) {
        unsigned char amount = __VERIFIER_nondet_uchar();
        __VERIFIER_atomic_begin(); /* there */
        left -= amount; /* out */
        right += amount;
        __VERIFIER_atomic_end(); /* there */
    }
    return arg;
}

void *add(void *arg) {
    while (1) {
#ifndef BUG
        __VERIFIER_atomic_begin(); /* add */
#endif
        unsigned char sum = left;
        sum += right;
#ifndef BUG
        __VERIFIER_atomic_end(); /* add */
#endif
        assert(sum == 100);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, there, 0);
    pthread_create(&b, 0, add, 0);
    return 0;
}
