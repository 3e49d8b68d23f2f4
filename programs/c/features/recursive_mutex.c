// A recursive mutex, locked again by a recursive function; another thread gets in only when it is unlocked as often.
// Holds: the sum is seen whole. With -DBUG the adder lets go once in between, and the sum is seen half done.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t m;
static atomic_int sum;

static void add(int depth) {
    pthread_mutex_lock(&m);
    atomic_fetch_add(&sum, 1);
    if (depth > 1)
        add(depth - 1);
    pthread_mutex_unlock(&m);
}

static void *adder(void *arg) {
    (void)arg;
#ifdef BUG
    add(1);
    add(2);
#else
    add(3);
#endif
    return NULL;
}

static void *looker(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    int seen = atomic_load(&sum);
    assert(seen == 0 || seen == 3);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&m, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_create(&t[0], NULL, adder, NULL);
    pthread_create(&t[1], NULL, looker, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    pthread_mutex_destroy(&m);
    return 0;
}
