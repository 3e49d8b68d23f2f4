// Unnamed semaphores: a bounded buffer of one place with two semaphores.
// Holds: what comes out went in, without a data race. With -DBUG the one for free places starts at 2, and a value is
// overwritten; -DCHECK looks at the values then, too.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static sem_t places, items;
static int buffer;

static void *putter(void *arg) {
    (void)arg;
    for (int i = 1; i <= N; i++) {
        sem_wait(&places);
        buffer = i;
        sem_post(&items);
    }
    return NULL;
}

static void *taker(void *arg) {
    (void)arg;
    for (int i = 1; i <= N; i++) {
        sem_wait(&items);
        int value = buffer;
#if !defined BUG || defined CHECK
        assert(value == i);
#else
        (void)value;
#endif
        sem_post(&places);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
#ifdef BUG
    sem_init(&places, 0, 2);
#else
    sem_init(&places, 0, 1);
#endif
    sem_init(&items, 0, 0);
    pthread_create(&t[0], NULL, putter, NULL);
    pthread_create(&t[1], NULL, taker, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    int value;
    sem_getvalue(&items, &value);
    assert(value == 0);
    int code = sem_trywait(&items);
    assert(code == -1 && errno == EAGAIN);
    sem_destroy(&places);
    sem_destroy(&items);
    return 0;
}
