// twostage(N): N threads write data1 under one lock and then data2 = data1 + 1 under another; a reader compares the two.
// From: SV-COMP's pthread/twostage; written from the description.
// Holds: data2 follows data1, if the first lock is held over both stages. With -DBUG it is let go between them, and the reader
// can come in between.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 1
#endif

static pthread_mutex_t lock1 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock2 = PTHREAD_MUTEX_INITIALIZER;
static int data1, data2;

static void *writer(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock1);
    data1 = 1;
    int mine = data1;
#ifdef BUG
    pthread_mutex_unlock(&lock1);
#endif
    pthread_mutex_lock(&lock2);
    data2 = mine + 1;
    pthread_mutex_unlock(&lock2);
#ifndef BUG
    pthread_mutex_unlock(&lock1);
#endif
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock1);
    int one = data1;
    pthread_mutex_unlock(&lock1);
    if (one == 0)
        return NULL;
    pthread_mutex_lock(&lock2);
    int two = data2;
    pthread_mutex_unlock(&lock2);
    assert(two == one + 1);
    return NULL;
}

int main(void) {
    pthread_t t[N + 1];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, writer, NULL);
    pthread_create(&t[N], NULL, reader, NULL);
    for (int i = 0; i <= N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
