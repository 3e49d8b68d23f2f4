// Szymanski's lock: a waiting room whose door is closed while those inside go through in the order of their numbers.
// From: Szymanski 1988; SV-COMP's pthread-atomic/szymanski is of the same kind. Written from the description.
// Holds: mutual exclusion. With -DBUG a thread goes in without waiting for those with smaller numbers, who may then be in, too, or
// miss that the door was open and wait for ever.
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
// 0: elsewhere, 1: wants to come in, 2: waits for others at the door, 3: stands in the door, 4: is in, and the door is closed.
static atomic_int flag[THREADS];

static void lock(int me) {
    flag[me] = 1;
    for (int i = 0; i < THREADS; i++)
        while (flag[i] >= 3)
            sched_yield();
    flag[me] = 3;
    int others = 0;
    for (int i = 0; i < THREADS; i++)
        if (i != me && flag[i] == 1)
            others = 1;
    if (others) {
        flag[me] = 2;
        for (int in = 0; !in;) {
            for (int i = 0; i < THREADS && !in; i++)
                in = i != me && flag[i] == 4;
            if (!in)
                sched_yield();
        }
    }
    flag[me] = 4;
#ifndef BUG
    for (int i = 0; i < me; i++)
        while (flag[i] >= 2)
            sched_yield();
#endif
}

static void unlock(int me) {
    for (int i = me + 1; i < THREADS; i++) {
        for (;;) {
            int theirs = flag[i];
            if (theirs != 2 && theirs != 3)
                break;
            sched_yield();
        }
    }
    flag[me] = 0;
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
