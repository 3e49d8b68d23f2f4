// clh_lock: the queue lock of Craig, Landin and Hagersten with cells of an array; each thread enters twice.
// Holds: one thread at a time. With -DBUG the tail is read and written in two steps.
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
#ifdef BUG
        int before = tail;
        tail = mine;
#else
        int before = atomic_exchange(&tail, mine);
#endif
        while (locked[before]) /* wait */
            ;
        x = me;
        assert(x == me);
        locked[mine] = 0;
        mine = before;
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
