// Read, copy, update: a reader follows a pointer, the updater publishes a new version, waits until no reader of the old one is
// left, and frees it.
// From: the idea of RCU, with one flag for each reader instead of quiescent states (../rcu.c has those).
// Holds: the reader never touches freed memory. With -DBUG=1 the updater frees without waiting: a use after free. With -DBUG=2 the
// version is published before it is filled in: a data race.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef READERS
#define READERS 1
#endif
#ifndef BUG
#define BUG 0
#endif

struct version {
    int value;
};

static _Atomic(struct version *) current;
static atomic_int reading[READERS];

static struct version *version(int value) {
    struct version *v = malloc(sizeof *v);
    assert(v);
    v->value = value;
    return v;
}

static void *reader(void *arg) {
    atomic_int *flag = arg;
    atomic_store(flag, 1);
    struct version *v = atomic_load(&current);
    int value = v->value;
    assert(value == 1 || value == 2);
    atomic_store(flag, 0);
    return NULL;
}

static void *updater(void *arg) {
    (void)arg;
    struct version *new = version(2);
#if BUG == 2
    struct version *old = atomic_exchange(&current, new);
    new->value = 2;
#else
    struct version *old = atomic_exchange(&current, new);
#endif
#if BUG != 1
    for (int i = 0; i < READERS; i++)
        while (atomic_load(&reading[i]))
            sched_yield();
#endif
    free(old);
    return NULL;
}

int main(void) {
    pthread_t t[READERS + 1];
    atomic_store(&current, version(1));
    for (int i = 0; i < READERS; i++)
        pthread_create(&t[i], NULL, reader, &reading[i]);
    pthread_create(&t[READERS], NULL, updater, NULL);
    for (int i = 0; i <= READERS; i++)
        pthread_join(t[i], NULL);
    free(atomic_load(&current));
    return 0;
}
