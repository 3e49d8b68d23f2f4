// A ring buffer for one who puts in and one who takes out; three values through a ring of two.
// From: Lamport's bounded queue, with release and acquire.
// Holds: what comes out is what went in, and no slot is written while it is read. With -DBUG the putter does not look whether
// there is room; -DCHECK looks at the values then, too.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef VALUES
#define VALUES 3
#endif
#ifndef SIZE
#define SIZE 2
#endif

static int slots[SIZE];
static atomic_uint put_count, taken_count;

static void put(int value) {
    unsigned at = atomic_load_explicit(&put_count, memory_order_relaxed);
#ifndef BUG
    while (at - atomic_load_explicit(&taken_count, memory_order_acquire) == SIZE)
        sched_yield();
#endif
    slots[at % SIZE] = value;
    atomic_store_explicit(&put_count, at + 1, memory_order_release);
}

static int take(void) {
    unsigned at = atomic_load_explicit(&taken_count, memory_order_relaxed);
    while (atomic_load_explicit(&put_count, memory_order_acquire) == at)
        sched_yield();
    int value = slots[at % SIZE];
    atomic_store_explicit(&taken_count, at + 1, memory_order_release);
    return value;
}

static void *putter(void *arg) {
    (void)arg;
    for (int i = 1; i <= VALUES; i++)
        put(i);
    return NULL;
}

static void *taker(void *arg) {
    (void)arg;
    for (int i = 1; i <= VALUES; i++) {
        int value = take();
#if !defined BUG || defined CHECK
        assert(value == i);
#else
        (void)value;
#endif
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, putter, NULL);
    pthread_create(&t[1], NULL, taker, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
