// ticket_lock: threads draw numbers and wait until theirs is served, for ever. The numbers are of eight bits and wrap around.
// Holds: one thread at a time. With -DBUG a number is drawn in two steps.
#include <assert.h>
#include <pthread.h>

#ifndef THREADS
#define THREADS 2
#endif

unsigned char next, serving;
int x;

void *enter(void *arg) {
    int me = (int)(long)arg;
    while (1) {
#ifdef BUG
        unsigned char mine = next;
        next = mine + 1;
#else
        unsigned char mine = __sync_fetch_and_add(&next, 1);
#endif
        while (serving != mine) /* wait */
            ;
        x = me;
        assert(x == me);
        serving++;
    }
    return 0;
}

int main(void) {
    pthread_t t;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t, 0, enter, (void *)i);
    return 0;
}
