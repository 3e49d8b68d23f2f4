// by_value: a pair is read and written as a whole, by functions that take and return it.
// Holds: with a lock its halves agree, for ever. With -DBUG reading takes no lock, and a structure is not copied at once.
#include <assert.h>
#include <pthread.h>

struct pair {
    unsigned char left, right;
} shared;

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

struct pair get(void) {
#ifdef BUG
    return shared;
#else
    pthread_mutex_lock(&m); /* get */
    struct pair now = shared;
    pthread_mutex_unlock(&m); /* get */
    return now;
#endif
}

void set(struct pair p) {
    pthread_mutex_lock(&m);
    shared = p;
    pthread_mutex_unlock(&m);
}

struct pair next(struct pair p) {
    p.left++;
    p.right++; /* right */
    return p;
}

void *count(void *arg) {
    for (;;)
        set(next(get()));
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, count, 0);
    for (;;) {
        struct pair p = get();
        assert(p.left == p.right);
    }
    return 0;
}
