// A sequence lock: the writer makes the sequence odd, writes a pair, makes it even again; a reader tries until it read the pair
// between two equal, even numbers.
// From: the Linux kernel's seqlock, as a description. The pair is atomic, so that reading it in vain is no data race.
// Holds: a reader sees both halves of one write. With -DBUG it does not look at the sequence again after reading.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef WRITES
#define WRITES 1
#endif
#ifndef READERS
#define READERS 1
#endif

static atomic_uint sequence;
static atomic_int a, b;

static void *writer(void *arg) {
    (void)arg;
    for (int i = 1; i <= WRITES; i++) {
        atomic_fetch_add(&sequence, 1);
        atomic_store(&a, i);
        atomic_store(&b, i);
        atomic_fetch_add(&sequence, 1);
    }
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    for (;;) {
        unsigned before = atomic_load(&sequence);
        if (before % 2 == 0) {
            int x = atomic_load(&a);
            int y = atomic_load(&b);
#ifndef BUG
            if (atomic_load(&sequence) == before)
#endif
            {
                assert(x == y);
                return NULL;
            }
        }
        sched_yield();
    }
}

int main(void) {
    pthread_t t[READERS + 1];
    pthread_create(&t[0], NULL, writer, NULL);
    for (int i = 1; i <= READERS; i++)
        pthread_create(&t[i], NULL, reader, NULL);
    for (int i = 0; i <= READERS; i++)
        pthread_join(t[i], NULL);
    return 0;
}
