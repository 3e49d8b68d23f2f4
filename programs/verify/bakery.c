// bakery: Lamport's bakery (1974) of two threads; with -DROUNDS=0 for ever. Numbers are at most 7.
// Holds in one round: one thread at a time. For ever it does not: the numbers wrap around, and a thread with 0 is not waited for.
// With -DBUG the flag that a number is being chosen is not waited for.
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

#define LIMIT 7

_Bool choosing[2];
unsigned char number[2];
int x;

void *enter(void *arg) {
    int me = (int)(long)arg, other = 1 - me;
    REPEAT {
        choosing[me] = 1; /* choosing */
        number[me] = (number[other] + 1) & LIMIT;
        choosing[me] = 0; /* chosen */
#ifndef BUG
        while (choosing[other]) /* wait for the choice */
            ;
#endif
        while (1) {
            unsigned char n = number[other];
            if (n == 0)
                break;
            unsigned char mine = number[me];
            if (mine < n || (mine == n && me < other)) /* my turn */
                break;
        }
        x = me;
        assert(x == me);
        number[me] = 0;
    }
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, enter, (void *)0);
    pthread_create(&b, 0, enter, (void *)1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
