// Peterson's lock for two threads, 1981.
// From: Peterson 1981; SV-COMP's pthread-atomic/peterson is of the same kind. Written from the description.
// Holds: mutual exclusion under sequential consistency. With -DBUG the turn is given before the wish is shown.
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
static atomic_int wants[2];
static atomic_int turn;

static void lock(int me) {
    int other = 1 - me;
#ifdef BUG
    turn = other;
    wants[me] = 1;
#else
    wants[me] = 1;
    turn = other;
#endif
    while (wants[other] && turn == other)
        sched_yield();
}

static void unlock(int me) {
    wants[me] = 0;
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
