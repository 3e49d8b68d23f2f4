// The MCS lock: those who wait form a list, and each spins on its own node.
// From: Mellor-Crummey and Scott 1991.
// Holds: mutual exclusion, and everybody gets in. With -DBUG the one who leaves thinks itself the last when nobody is linked behind
// it yet: one who has already taken the tail is not woken, and spins for ever, or links itself to a node whose function has returned.
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
struct node {
    _Atomic(struct node *) next;
    atomic_int waits;
};

static _Atomic(struct node *) tail;

static void lock(struct node *me) {
    atomic_store(&me->next, NULL);
    atomic_store(&me->waits, 1);
    struct node *before = atomic_exchange(&tail, me);
    if (before) {
        atomic_store(&before->next, me);
        while (atomic_load(&me->waits))
            sched_yield();
    }
}

static void unlock(struct node *me) {
    struct node *next = atomic_load(&me->next);
    if (!next) {
        struct node *last = me;
#ifdef BUG
        atomic_compare_exchange_strong(&tail, &last, NULL);
        return;
#else
        if (atomic_compare_exchange_strong(&tail, &last, NULL))
            return;
        while (!(next = atomic_load(&me->next)))
            sched_yield();
#endif
    }
    atomic_store(&next->waits, 0);
}

static void *enter_and_leave(void *arg) {
    (void)arg;
    struct node node;
    for (int k = 0; k < ROUNDS; k++) {
        lock(&node);
        // Two threads in here at once are a data race; with `--races sync` they lose an update.
        inside++;
        unlock(&node);
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
