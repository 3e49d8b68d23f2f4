// Two threads, each writes its own variable and reads the other's.
// From: the litmus test of store buffers; both reading zero is not sequentially consistent, the other three outcomes are a class
// each.
// Holds: not both read zero, under sequential consistency. With -DBUG it is asserted that neither does, which fails. 3 classes.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;
static int saw[2];

static void *first(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    saw[0] = atomic_load(&y);
    return NULL;
}

static void *second(void *arg) {
    (void)arg;
    atomic_store(&y, 1);
    saw[1] = atomic_load(&x);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(saw[0] || saw[1]);
#ifdef BUG
    assert(saw[0] && saw[1]);
#endif
    return 0;
}
