// lock(N): N threads lock one mutex once, and count in it.
// From: by construction N! orders of the critical sections.
// Holds: the count of the threads. 2: 2, 3: 6, 4: 24, 5: 120.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;

static void *count(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    n++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, count, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    assert(n == N);
    return 0;
}
