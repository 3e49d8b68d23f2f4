// circular_buffer: one producer and one consumer with an index each and no lock, for ever.
// Holds: what comes out is what went in, and in order. With -DBUG the producer does not see that the buffer is full.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef SIZE
#define SIZE 2
#endif

unsigned char cell[SIZE];
atomic_uint in, out;

void *produce(void *arg) {
    unsigned char n = 0;
    while (1) {
        unsigned i = in;
#ifndef BUG
        if ((i + 1) % SIZE == out) /* full */
            continue;
#endif
        cell[i] = n & 3;
        in = (i + 1) % SIZE;
        n++;
        n &= 3;
    }
    return arg;
}

void *consume(void *arg) {
    unsigned char n = 0;
    while (1) {
        unsigned o = out;
        if (in == o) /* empty */
            continue;
        unsigned char got = cell[o];
        assert(got == n);
        out = (o + 1) % SIZE;
        n = (n + 1) & 3;
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, produce, 0);
    pthread_create(&b, 0, consume, 0);
    return 0;
}
