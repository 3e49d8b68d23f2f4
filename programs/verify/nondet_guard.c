// nondet_guard: an input is checked before it is published; readers use it as an index, for ever.
// Holds: no reader is out of bounds. With -DBUG the check lets the length itself through.
#include <assert.h>
#include <pthread.h>

extern unsigned __VERIFIER_nondet_uint(void);

#define SIZE 16
int cell[SIZE];
unsigned at;

void *publish(void *arg) {
    while (1) {
        unsigned n = __VERIFIER_nondet_uint();
#ifdef BUG
        if (n <= SIZE)
#else
        if (n < SIZE) /* guard */
#endif
            at = n;
    }
    return arg;
}

void *use(void *arg) {
    while (1) {
        unsigned i = at;
        cell[i] = 1;
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, publish, 0);
    pthread_create(&b, 0, use, 0);
    return 0;
}
