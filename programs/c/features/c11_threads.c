// C11 threads.h: threads, a mutex, a condition, call_once, thread-specific storage.
// Holds: the second hears the news, and what is made once is made once. With -DBUG it waits without looking: the signal may be gone
// (a deadlock).
#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <threads.h>

static mtx_t m;
static cnd_t ready;
static int news;
static once_flag once = ONCE_FLAG_INIT;
static atomic_int made;
static tss_t own;
static atomic_int destroyed;

static void make(void) {
    atomic_fetch_add(&made, 1);
}

static void destroy(void *arg) {
    (void)arg;
    atomic_fetch_add(&destroyed, 1);
}

static int teller(void *arg) {
    call_once(&once, make);
    tss_set(own, arg);
    mtx_lock(&m);
    news = 42;
    cnd_signal(&ready);
    mtx_unlock(&m);
    return 1;
}

static int listener(void *arg) {
    (void)arg;
    call_once(&once, make);
    mtx_lock(&m);
#ifdef BUG
    cnd_wait(&ready, &m);
#else
    while (!news)
        cnd_wait(&ready, &m);
#endif
    int heard = news;
    mtx_unlock(&m);
    return heard;
}

int main(void) {
    thrd_t t[2];
    int left[2];
    mtx_init(&m, mtx_plain);
    cnd_init(&ready);
    tss_create(&own, destroy);
    thrd_create(&t[0], teller, &left[0]);
    thrd_create(&t[1], listener, NULL);
    thrd_join(t[0], &left[0]);
    thrd_join(t[1], &left[1]);
    assert(left[0] == 1 && left[1] == 42);
    assert(atomic_load(&made) == 1 && atomic_load(&destroyed) == 1);
    tss_delete(own);
    cnd_destroy(&ready);
    mtx_destroy(&m);
    return 0;
}
