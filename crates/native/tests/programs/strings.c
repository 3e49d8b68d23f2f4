// One thread fills a text with memset, another one compares its two halves.
#include <assert.h>
#include <pthread.h>
#include <string.h>

static char text[16];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) {
#ifdef LOCKED
    pthread_mutex_lock(&m);
#endif
}

static void unlock(void) {
#ifdef LOCKED
    pthread_mutex_unlock(&m);
#endif
}

static void *fills(void *p) {
    lock();
    memset(text, 'x', sizeof text);
    unlock();
    return p;
}

int main(void) {
    (void)m;
    pthread_t t;
    pthread_create(&t, 0, fills, 0);
    lock();
    int torn = memcmp(text, text + 8, 8) != 0;
    unlock();
    pthread_join(t, 0);
    assert(!torn);
    return 0;
}
