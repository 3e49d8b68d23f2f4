// Lamport's fast mutex: two writes and two reads when nobody else comes.
// From: Lamport 1987; SV-COMP's pthread-atomic/lamport is of the same kind. Written from the description.
// Holds: mutual exclusion. With -DBUG a thread that lost the race for x does not wait until the others have given up.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef THREADS
#define THREADS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif

static int inside;
static atomic_int x, y;
static atomic_int b[THREADS];

static void lock(int me) {
    int name = me + 1;
    for (;;) {
        b[me] = 1;
        x = name;
        if (y != 0) {
            b[me] = 0;
            while (y != 0)
                sched_yield();
            continue;
        }
        y = name;
        if (x == name)
            return;
        b[me] = 0;
#ifndef BUG
        for (int i = 0; i < THREADS; i++)
            while (b[i])
                sched_yield();
#endif
        if (y == name)
            return;
        while (y != 0)
            sched_yield();
    }
}

static void unlock(int me) {
    y = 0;
    b[me] = 0;
}

static void *enter_and_leave(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int k = 0; k < ROUNDS; k++) {
        lock(me);
        // Two threads in here at once are a data race; with `--races sync` they lose an update.
        inside++;
        unlock(me);
    }
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, enter_and_leave, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert(inside == THREADS * ROUNDS);
    return 0;
}
