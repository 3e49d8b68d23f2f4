// queue: one thread puts N values into a queue, the other takes as many out; a lock around both, and a flag says whose turn it is.
// From: SV-COMP's pthread/queue; written from the description.
// Holds: what comes out is what went in, in its order. With -DBUG the taker ignores the flag and meets an empty queue.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int items[N];
static int head, tail, length;

static void put(int value) {
    assert(length < N);
    items[tail] = value;
    tail = (tail + 1) % N;
    length++;
}

static int take(void) {
    assert(length > 0);
    int value = items[head];
    head = (head + 1) % N;
    length--;
    return value;
}

static void *putter(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&m);
        put(i + 10);
        pthread_cond_signal(&turn);
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *taker(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&m);
#ifndef BUG
        while (length == 0)
            pthread_cond_wait(&turn, &m);
#endif
        int value = take();
        assert(value == i + 10);
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, putter, NULL);
    pthread_create(&t[1], NULL, taker, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(length == 0);
    return 0;
}
