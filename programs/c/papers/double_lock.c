// Two threads that need two locks, ROUNDS times.
// From: Metzler's thesis, the benchmark "double lock".
// Holds: no deadlock if both take the locks in one order. With -DBUG they take them in opposite orders.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static int transfers;

static void *one_way(void *arg) {
    (void)arg;
    for (int k = 0; k < ROUNDS; k++) {
        pthread_mutex_lock(&a);
        pthread_mutex_lock(&b);
        transfers++;
        pthread_mutex_unlock(&b);
        pthread_mutex_unlock(&a);
    }
    return NULL;
}

static void *other_way(void *arg) {
    (void)arg;
    for (int k = 0; k < ROUNDS; k++) {
#ifdef BUG
        pthread_mutex_lock(&b);
        pthread_mutex_lock(&a);
#else
        pthread_mutex_lock(&a);
        pthread_mutex_lock(&b);
#endif
        transfers++;
        pthread_mutex_unlock(&a);
        pthread_mutex_unlock(&b);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, one_way, NULL);
    pthread_create(&t[1], NULL, other_way, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(transfers == 2 * ROUNDS);
    return 0;
}
