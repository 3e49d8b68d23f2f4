// clh_lock: the queue lock of Craig, Landin and Hagersten with cells of an array; each thread enters twice.
// Holds: one thread at a time. With -DBUG a thread keeps its own cell instead of its predecessor's, and is not waited for.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define N 2

atomic_int locked[N + 1];
atomic_int tail = N;
int x;

void *enter(void *arg) {
    int me = (int)(long)arg;
    int mine = me;
    for (int round = 0; round < 2; round++) {
        locked[mine] = 1; /* announce */
        int before = atomic_exchange(&tail, mine);
        while (locked[before]) /* wait */
            ;
        x = me;
        assert(x == me);
        locked[mine] = 0;
#ifndef BUG
        mine = before; /* take over */
#endif
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
