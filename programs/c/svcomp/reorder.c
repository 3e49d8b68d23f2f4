// reorder(N): N threads set a = 1 and then b = -1; N others check that both or neither are set.
// From: SV-COMP's pthread/reorder; written from the description.
// Holds: with the pair set and checked under a lock. With -DBUG (no lock; atomics) a checker sees one without the other.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int a, b;

static void enter(void) {
#ifndef BUG
    pthread_mutex_lock(&m);
#endif
}

static void leave(void) {
#ifndef BUG
    pthread_mutex_unlock(&m);
#else
    (void)m;
#endif
}

static void *set(void *arg) {
    (void)arg;
    enter();
    a = 1;
    b = -1;
    leave();
    return NULL;
}

static void *check(void *arg) {
    (void)arg;
    enter();
    int x = a;
    int y = b;
    leave();
    assert((x == 0 && y == 0) || (x == 1 && y == -1));
    return NULL;
}

int main(void) {
    pthread_t t[2 * N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, set, NULL);
    for (int i = N; i < 2 * N; i++)
        pthread_create(&t[i], NULL, check, NULL);
    for (int i = 0; i < 2 * N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
