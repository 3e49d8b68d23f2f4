// qrcu: readers count themselves in one of two counters; an updater moves new readers to the other one and waits until the old
// counter is empty.
// From: the QRCU algorithm as told in "Using Promela and Spin to verify parallel algorithms" (McKenney 2007), and SV-COMP's
// pthread-atomic/qrcu, which is of the same kind; written from the description.
// Holds: a reader never sees what the updater has destroyed after waiting. With -DBUG the updater moves the readers on but does
// not wait for those of the old counter.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef READERS
#define READERS 1
#endif

// The counter that is in use is one too high, so that it can only be emptied by the updater that takes it out of use.
static atomic_int ctr[2] = {1, 0};
static atomic_int completed;
static pthread_mutex_t updating = PTHREAD_MUTEX_INITIALIZER;

static atomic_int current;
static atomic_int alive[2] = {1, 1};

static int read_lock(void) {
    for (;;) {
        int i = completed & 1;
        int n = ctr[i];
        while (n > 0)
            if (atomic_compare_exchange_strong(&ctr[i], &n, n + 1))
                return i;
        sched_yield();
    }
}

static void read_unlock(int i) {
    atomic_fetch_sub(&ctr[i], 1);
}

static void synchronize(void) {
    // Nobody reads if both counters together are twice found to hold only the updater's one.
    for (int k = 0;; k++) {
        int sum = ctr[0];
        sum += ctr[1];
        if (sum > 1)
            break;
        if (k == 1)
            return;
    }
    pthread_mutex_lock(&updating);
    int old = completed & 1;
    if (ctr[old] > 1) {
        atomic_fetch_add(&ctr[1 - old], 1);
        atomic_fetch_add(&completed, 1);
        atomic_fetch_sub(&ctr[old], 1);
#ifndef BUG
        while (ctr[old] != 0)
            sched_yield();
#endif
    }
    pthread_mutex_unlock(&updating);
}

static void *reader(void *arg) {
    (void)arg;
    int i = read_lock();
    int mine = current;
    int is_alive = alive[mine];
    assert(is_alive);
    read_unlock(i);
    return NULL;
}

static void *updater(void *arg) {
    (void)arg;
    int old = current;
    current = 1 - old;
    synchronize();
    alive[old] = 0;
    return NULL;
}

int main(void) {
    pthread_t t[READERS + 1];
    for (int i = 0; i < READERS; i++)
        pthread_create(&t[i], NULL, reader, NULL);
    pthread_create(&t[READERS], NULL, updater, NULL);
    for (int i = 0; i <= READERS; i++)
        pthread_join(t[i], NULL);
    return 0;
}
