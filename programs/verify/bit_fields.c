// bit_fields: two threads set two flags that are neighbours in one word.
// Holds: with a lock both are set. With -DBUG there is none, and one update may undo the other. With -DAPART they are different words.
#include <assert.h>
#include <pthread.h>

struct flags {
    unsigned ready : 1;
#ifdef APART
    unsigned : 0;
#endif
    unsigned level : 3;
} flags;

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

#if defined(BUG) || defined(APART)
#define GUARDED(s) s
#else
#define GUARDED(s) pthread_mutex_lock(&m); s pthread_mutex_unlock(&m);
#endif

void *ready(void *arg) {
    GUARDED(flags.ready = 1;)
    return arg;
}

void *level(void *arg) {
    GUARDED(flags.level = 13;)
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, ready, 0);
    pthread_create(&b, 0, level, 0);
    pthread_join(a, 0); /* ready */
    pthread_join(b, 0);
    assert(flags.ready == 1);
    assert(flags.level == 5);
    return 0;
}
