// pthread_once: whoever comes first makes it, the others wait until it is made.
// Holds: it is made once, and whole for everybody. With -DBUG a flag of our own stands for once.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int made, value;

static void make(void) {
    atomic_fetch_add(&made, 1);
    atomic_store(&value, 7);
}

#ifdef BUG
static atomic_int begun;
#else
static pthread_once_t once = PTHREAD_ONCE_INIT;
#endif

static void *user(void *arg) {
    (void)arg;
#ifdef BUG
    if (!atomic_exchange(&begun, 1))
        make();
#else
    pthread_once(&once, make);
#endif
    int seen = atomic_load(&value);
    assert(seen == 7);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, user, NULL);
    pthread_create(&t[1], NULL, user, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(atomic_load(&made) == 1);
    return 0;
}
