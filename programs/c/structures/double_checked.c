// Double-checked locking: an object made by the first who needs it.
// From: common knowledge, and its common mistake.
// Holds: everybody sees it whole, with release and acquire on the pointer. With -DBUG the pointer is relaxed, so that nothing orders
// the making and the use: a data race.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef N
#define N 2
#endif

#ifdef BUG
#define ACQUIRE memory_order_relaxed
#define RELEASE memory_order_relaxed
#else
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#endif

struct object {
    int value;
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct object *) object;

static struct object *get(void) {
    struct object *o = atomic_load_explicit(&object, ACQUIRE);
    if (!o) {
        pthread_mutex_lock(&making);
        o = atomic_load_explicit(&object, memory_order_relaxed);
        if (!o) {
            o = malloc(sizeof *o);
            assert(o);
            o->value = 7;
            atomic_store_explicit(&object, o, RELEASE);
        }
        pthread_mutex_unlock(&making);
    }
    return o;
}

static void *use(void *arg) {
    (void)arg;
    assert(get()->value == 7);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, use, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    free(atomic_load(&object));
    return 0;
}
