// A reader-writer lock with N readers and a writer of a pair.
// Holds: a reader sees both halves of the pair alike; readers may be in together. With -DBUG the writer takes it for reading only.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int a, b;

static void *reader(void *arg) {
    (void)arg;
    pthread_rwlock_rdlock(&lock);
    assert(a == b);
    pthread_rwlock_unlock(&lock);
    return NULL;
}

static void *writer(void *arg) {
    (void)arg;
#ifdef BUG
    pthread_rwlock_rdlock(&lock);
#else
    pthread_rwlock_wrlock(&lock);
#endif
    a++;
    b++;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t t[N + 1];
    pthread_create(&t[0], NULL, writer, NULL);
    for (int i = 1; i <= N; i++)
        pthread_create(&t[i], NULL, reader, NULL);
    for (int i = 0; i <= N; i++)
        pthread_join(t[i], NULL);
    assert(a == 1 && b == 1);
    return 0;
}
