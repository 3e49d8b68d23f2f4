// Chase and Lev's work-stealing deque, bounded: the owner pushes and takes at the bottom, thieves steal at the top.
// From: Chase and Lev 2005, without the growing array.
// Holds: every task is done once. With -DBUG the owner takes the last task without a compare-exchange on the top.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef TASKS
#define TASKS 2
#endif
#ifndef THIEVES
#define THIEVES 1
#endif

static atomic_int top, bottom;
static atomic_int tasks[TASKS];
static atomic_int done[TASKS + 1];

static void push(int task) {
    int b = atomic_load(&bottom);
    atomic_store(&tasks[b % TASKS], task);
    atomic_store(&bottom, b + 1);
}

// 0 if there is nothing.
static int take(void) {
    int b = atomic_load(&bottom) - 1;
    atomic_store(&bottom, b);
    int t = atomic_load(&top);
    if (t > b) {
        atomic_store(&bottom, b + 1);
        return 0;
    }
    int task = atomic_load(&tasks[b % TASKS]);
    if (t == b) {
#ifdef BUG
        atomic_store(&top, t + 1);
#else
        if (!atomic_compare_exchange_strong(&top, &t, t + 1))
            task = 0;
#endif
        atomic_store(&bottom, b + 1);
    }
    return task;
}

static int steal(void) {
    int t = atomic_load(&top);
    int b = atomic_load(&bottom);
    if (t >= b)
        return 0;
    int task = atomic_load(&tasks[t % TASKS]);
    return atomic_compare_exchange_strong(&top, &t, t + 1) ? task : 0;
}

static void *owner(void *arg) {
    (void)arg;
    for (int i = 1; i <= TASKS; i++)
        push(i);
    for (int i = 1; i <= TASKS; i++)
        atomic_fetch_add(&done[take()], 1);
    return NULL;
}

static void *thief(void *arg) {
    (void)arg;
    atomic_fetch_add(&done[steal()], 1);
    return NULL;
}

int main(void) {
    pthread_t t[THIEVES + 1];
    pthread_create(&t[0], NULL, owner, NULL);
    for (int i = 1; i <= THIEVES; i++)
        pthread_create(&t[i], NULL, thief, NULL);
    for (int i = 0; i <= THIEVES; i++)
        pthread_join(t[i], NULL);
    for (int i = 1; i <= TASKS; i++)
        assert(atomic_load(&done[i]) == 1);
    return 0;
}
