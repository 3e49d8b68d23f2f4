// lamport: Lamport's fast mutual exclusion (1987) of two threads; with -DROUNDS=0 for ever.
// Holds: one thread at a time. With -DBUG a thread that lost the race for y does not wait for the other one's b.
#include <assert.h>
#include <pthread.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif
#if ROUNDS
#define REPEAT for (int round = 0; round < ROUNDS; round++)
#else
#define REPEAT while (1)
#endif

int x, y, b1, b2, in;

void *first(void *arg) {
    REPEAT {
        while (1) {
            b1 = 1; /* raise */
            x = 1;
            if (y != 0) { /* taken */
                b1 = 0;
                while (y != 0)
                    ;
                continue;
            }
            y = 1;
            if (x != 1) { /* contended */
                b1 = 0;
                while (b2 >= 1)
                    ;
                if (y != 1) {
                    while (y != 0)
                        ;
                    continue;
                }
            }
            break;
        }
        in = 1;
        assert(in == 1);
        y = 0;
        b1 = 0;
    }
    return arg;
}

void *second(void *arg) {
    REPEAT {
        while (1) {
            b2 = 1;
            x = 2;
            if (y != 0) {
                b2 = 0;
                while (y != 0)
                    ;
                continue;
            }
            y = 2;
            if (x != 2) {
                b2 = 0;
#ifndef BUG
                while (b1 >= 1)
                    ;
#endif
                if (y != 2) {
                    while (y != 0)
                        ;
                    continue;
                }
            }
            break;
        }
        in = 2;
        assert(in == 2);
        y = 0;
        b2 = 0;
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
