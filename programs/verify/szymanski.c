// szymanski: Szymanski's mutual exclusion (1988) of two threads; with -DROUNDS=0 for ever.
// Holds: one thread at a time. With -DBUG the second does not wait until the first, which has the lower number, is out.
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

int flag1, flag2, x;

void *first(void *arg) {
    REPEAT {
        flag1 = 1;
        while (flag2 >= 3)
            ;
        flag1 = 3;
        if (flag2 == 1) {
            flag1 = 2;
            while (flag2 != 4)
                ;
        }
        flag1 = 4;
        x = 1;
        assert(x == 1);
        int seen;
        do {
            seen = flag2;
        } while (seen == 2 || seen == 3);
        flag1 = 0;
    }
    return arg;
}

void *second(void *arg) {
    REPEAT {
        flag2 = 1;
        while (flag1 >= 3)
            ;
        flag2 = 3;
        if (flag1 == 1) {
            flag2 = 2;
            while (flag1 != 4)
                ;
        }
        flag2 = 4;
#ifndef BUG
        while (flag1 >= 2) /* wait */
            ;
#endif
        x = 2;
        assert(x == 2);
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
