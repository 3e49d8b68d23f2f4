// semaphores: a buffer of SIZE cells with a semaphore for the free and one for the full ones, for ever.
// Holds: no more than SIZE and no less than none. With -DBUG there is one free cell too many.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

#ifndef SIZE
#define SIZE 3
#endif

sem_t free_, full, mutex;
int count;

void *produce(void *arg) {
    while (1) {
        sem_wait(&free_); /* producer */
        sem_wait(&mutex);
        count++;
        assert(count <= SIZE);
        sem_post(&mutex);
        sem_post(&full);
    }
    return arg;
}

void *consume(void *arg) {
    while (1) {
        sem_wait(&full); /* consumer */
        sem_wait(&mutex);
        count--;
        assert(count >= 0);
        sem_post(&mutex);
        sem_post(&free_);
    }
    return arg;
}

int main(void) {
    pthread_t t;
#ifdef BUG
    sem_init(&free_, 0, SIZE + 1);
#else
    sem_init(&free_, 0, SIZE);
#endif
    sem_init(&full, 0, 0);
    sem_init(&mutex, 0, 1);
    pthread_create(&t, 0, produce, 0);
    pthread_create(&t, 0, consume, 0);
    return 0;
}
