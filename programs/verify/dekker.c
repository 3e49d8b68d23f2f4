// dekker: Dekker's mutual exclusion of two threads; with -DROUNDS=0 for ever.
// Holds: one thread at a time. With -DBUG the second thread looks at the first one's flag before it raises its own.
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

int flag1, flag2, turn, x;

void *first(void *arg) {
    REPEAT {
        flag1 = 1; /* raise */
        while (flag2) {
            if (turn != 0) {
                flag1 = 0;
                while (turn != 0)
                    ;
                flag1 = 1;
            }
        }
        x = 1;
        assert(x == 1);
        turn = 1;
        flag1 = 0;
    }
    return arg;
}

void *second(void *arg) {
    REPEAT {
#ifdef BUG
        while (flag1)
            ;
        flag2 = 1;
#else
        flag2 = 1;
        while (flag1) { /* wait */
            if (turn != 1) {
                flag2 = 0;
                while (turn != 1)
                    ;
                flag2 = 1;
            }
        }
#endif
        x = 2;
        assert(x == 2);
        turn = 0;
        flag2 = 0;
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
