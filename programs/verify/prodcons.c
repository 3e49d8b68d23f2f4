// prodcons: producers and consumers of a buffer of SIZE cells under one lock, for ever. Idea: Metzler 2020, figures 4.2 and 4.3.
// Holds: the buffer neither overflows nor underflows. With -DBUG the check is outside the lock (figure 4.12).
#include <assert.h>
#include <pthread.h>

#ifndef SIZE
#define SIZE 1000
#endif
#ifndef PAIRS
#define PAIRS 1
#endif

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int buffer[SIZE];
int count;

void *produce(void *arg) {
    int item = 0;
    while (1) {
#ifdef BUG
        if (count < SIZE) {
            pthread_mutex_lock(&m);
#else
        pthread_mutex_lock(&m); /* producer */
        if (count < SIZE) { /* not full */
#endif
            assert(count < SIZE);
            buffer[count] = item++;
            count++;
#ifdef BUG
            pthread_mutex_unlock(&m);
        }
#else
        }
        pthread_mutex_unlock(&m); /* producer */
#endif
    }
    return arg;
}

void *consume(void *arg) {
    while (1) {
#ifdef BUG
        if (count > 0) {
            pthread_mutex_lock(&m);
#else
        pthread_mutex_lock(&m);
        if (count > 0) { /* not empty */
#endif
            assert(count > 0);
            count--;
            int item = buffer[count];
            (void)item;
#ifdef BUG
            pthread_mutex_unlock(&m);
        }
#else
        }
        pthread_mutex_unlock(&m);
#endif
    }
    return arg;
}

int main(void) {
    pthread_t t;
    for (int i = 0; i < PAIRS; i++)
        pthread_create(&t, 0, produce, 0);
    for (int i = 0; i < PAIRS; i++)
        pthread_create(&t, 0, consume, 0);
    return 0;
}
