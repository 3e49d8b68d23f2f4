// Lamport's bakery: take a number above all others', wait for those who have a smaller one.
// From: Lamport 1974; written from the description.
// Holds: mutual exclusion. With -DBUG nobody waits for those who are still choosing: two may find the same largest number, and
// the smaller thread may show it late.
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
static atomic_int choosing[THREADS];
static atomic_int number[THREADS];

static void lock(int me) {
    choosing[me] = 1;
    int most = 0;
    for (int i = 0; i < THREADS; i++) {
        if (i != me) {
            int theirs = number[i];
            if (theirs > most)
                most = theirs;
        }
    }
    number[me] = most + 1;
    choosing[me] = 0;
    for (int i = 0; i < THREADS; i++) {
        if (i == me)
            continue;
#ifndef BUG
        while (choosing[i])
            sched_yield();
#endif
        for (;;) {
            int theirs = number[i];
            if (theirs == 0 || theirs > most + 1 || (theirs == most + 1 && i > me))
                break;
            sched_yield();
        }
    }
}

static void unlock(int me) {
    number[me] = 0;
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
