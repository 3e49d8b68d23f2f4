// A thread publishes a pointer to a value, another follows it if it is there.
// From: the pattern behind every publication through a pointer.
// Holds: the value behind the pointer is the one written before. With -DBUG the pointer is published before the value is written.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int value;
static _Atomic(atomic_int *) shared;

static void *publish(void *arg) {
    (void)arg;
#ifdef BUG
    shared = &value;
    value = 42;
#else
    value = 42;
    shared = &value;
#endif
    return NULL;
}

static void *follow(void *arg) {
    (void)arg;
    atomic_int *p = shared;
    if (p) {
        int v = *p;
        assert(v == 42);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, publish, NULL);
    pthread_create(&t[1], NULL, follow, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
