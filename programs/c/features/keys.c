// Keys with destructors: each thread has its own value, and its destructor runs when the thread ends, again if it sets a new one.
// Holds: every value is destroyed before the join returns. With -DBUG the destructor counts in two steps.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_key_t key;
static atomic_int destroyed;

static void destroy(void *arg) {
    int *value = arg;
    if (*value == 2) {
        // The first round puts another value in its place, for a second round.
        *value = 1;
        pthread_setspecific(key, value);
        return;
    }
    free(value);
#ifdef BUG
    int n = atomic_load(&destroyed);
    atomic_store(&destroyed, n + 1);
#else
    atomic_fetch_add(&destroyed, 1);
#endif
}

static void *user(void *arg) {
    (void)arg;
    assert(pthread_getspecific(key) == NULL);
    int *value = malloc(sizeof *value);
    assert(value);
    *value = 2;
    pthread_setspecific(key, value);
    assert(pthread_getspecific(key) == value);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_key_create(&key, destroy);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, user, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(atomic_load(&destroyed) == 2);
    pthread_key_delete(key);
    return 0;
}
