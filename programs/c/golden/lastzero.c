// lastzero(N): thread 0 looks for the last zero of an array from its end; thread j reads a[j-1] and writes a[j] = that + 1.
// From: Abdulla et al., POPL 2014; (N+3) * 2^(N-2) classes. Which cells thread 0 reads depends on what it saw.
// Holds: thread 0 stops, since a[0] stays zero. 2: 5, 3: 12, 4: 28, 5: 64, 10: 3328.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static atomic_int a[N + 1];

static void *look(void *arg) {
    (void)arg;
    int i = N;
    while (atomic_load(&a[i]) != 0)
        i--;
    return NULL;
}

static void *update(void *arg) {
    int j = (int)(intptr_t)arg;
    int before = atomic_load(&a[j - 1]);
    atomic_store(&a[j], before + 1);
    return NULL;
}

int main(void) {
    pthread_t t[N + 1];
    pthread_create(&t[0], NULL, look, NULL);
    for (int j = 1; j <= N; j++)
        pthread_create(&t[j], NULL, update, (void *)(intptr_t)j);
    for (int j = 0; j <= N; j++)
        pthread_join(t[j], NULL);
    return 0;
}
