// condition: a buffer of N cells with two conditions; producers and consumers hand over a few items each.
// Holds: nothing is lost and nobody waits for ever. With -DBUG there is one condition only and one waiter is woken: it may be the wrong
// one, and all wait for ever.
#include <assert.h>
#include <pthread.h>

#ifndef ITEMS
#define ITEMS 2
#endif

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
int full, made, taken;

#ifdef BUG
#define NOT_FULL not_empty
#else
#define NOT_FULL not_full
#endif

void *produce(void *arg) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (full) /* producer */
            pthread_cond_wait(&NOT_FULL, &m);
        full = 1;
        made++;
        pthread_cond_signal(&not_empty); /* made */
        pthread_mutex_unlock(&m);
    }
    return arg;
}

void *consume(void *arg) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (!full) /* consumer */
            pthread_cond_wait(&not_empty, &m);
        full = 0;
        taken++;
        assert(taken == made);
        pthread_cond_signal(&NOT_FULL); /* taken */
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int main(void) {
    pthread_t a, b, c, d;
    pthread_create(&a, 0, produce, 0);
    pthread_create(&b, 0, consume, 0);
#ifdef BUG
    pthread_create(&c, 0, produce, 0);
    pthread_create(&d, 0, consume, 0);
    pthread_join(c, 0);
    pthread_join(d, 0);
#else
    (void)c;
    (void)d;
#endif
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(taken == made);
    return 0;
}
