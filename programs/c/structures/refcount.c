// An object with a count of its owners; the last one to go frees it.
// From: common knowledge.
// Holds: it is freed once, after all uses. With -DBUG=1 an owner looks at the count after it has lowered it: two may
// find zero (a double free), or the object gone (a use after free). With -DBUG=2 the count goes down before the owner is done
// with the object: a use after free.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef N
#define N 2
#endif
#ifndef BUG
#define BUG 0
#endif

struct object {
    atomic_int owners;
    atomic_int uses;
};

static void put(struct object *o) {
#if BUG == 1
    atomic_fetch_sub(&o->owners, 1);
    if (atomic_load(&o->owners) == 0)
        free(o);
#else
    if (atomic_fetch_sub(&o->owners, 1) == 1)
        free(o);
#endif
}

static void *use(void *arg) {
    struct object *o = arg;
#if BUG == 2
    put(o);
    atomic_fetch_add(&o->uses, 1);
#else
    atomic_fetch_add(&o->uses, 1);
    put(o);
#endif
    return NULL;
}

int main(void) {
    pthread_t t[N];
    struct object *o = malloc(sizeof *o);
    assert(o);
    atomic_init(&o->owners, N);
    atomic_init(&o->uses, 0);
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, use, o);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
