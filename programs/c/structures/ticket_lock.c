// A ticket lock.
// From: Mellor-Crummey and Scott 1991.
// Holds: mutual exclusion. With -DBUG a ticket is taken in two steps, and two threads may have the same.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef THREADS
#define THREADS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif

static int inside;
static atomic_uint next_ticket, serving;

static void lock(void) {
#ifdef BUG
    unsigned mine = atomic_load(&next_ticket);
    atomic_store(&next_ticket, mine + 1);
#else
    unsigned mine = atomic_fetch_add(&next_ticket, 1);
#endif
    while (atomic_load(&serving) != mine)
        sched_yield();
}

static void unlock(void) {
    unsigned now = atomic_load(&serving);
    atomic_store(&serving, now + 1);
}

static void *enter_and_leave(void *arg) {
    (void)arg;
    for (int k = 0; k < ROUNDS; k++) {
        lock();
        // Two threads in here at once are a data race; with `--races sync` they lose an update.
        inside++;
        unlock();
    }
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, enter_and_leave, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert(inside == THREADS * ROUNDS);
    return 0;
}
