// peterson: Peterson's mutual exclusion of two threads; with -DROUNDS=0 for ever.
// Holds: one thread at a time. With -DBUG each writes its own number instead of the other's.
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

#ifdef BUG
#define OTHER(me) (me)
#else
#define OTHER(me) (1 - (me))
#endif

int flag[2], turn, x;

void *enter(void *arg) {
    int me = (int)(long)arg;
    REPEAT {
        flag[me] = 1; /* raise */
        turn = OTHER(me); /* after you */
        while (flag[1 - me] && turn == 1 - me) /* wait */
            ;
        x = me;
        assert(x == me);
        flag[me] = 0;
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
