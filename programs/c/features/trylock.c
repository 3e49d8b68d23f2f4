// Two threads try a lock, and do their work only if they get it.
// Holds: at least one gets it. With -DBUG it is asserted that both do.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int work;

static void *trier(void *arg) {
    (void)arg;
    int code = pthread_mutex_trylock(&m);
    assert(code == 0 || code == EBUSY);
    if (code == 0) {
        work++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, trier, NULL);
    pthread_create(&t[1], NULL, trier, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(work >= 1);
#ifdef BUG
    assert(work == 2);
#endif
    return 0;
}
