// sigma(N): main starts N threads; each marks its own entry of an array, and main counts the marks.
// From: SV-COMP's pthread/sigma; written from the description.
// Holds: N marks, if each thread is told its entry. With -DBUG it reads it from a shared index that main moves on meanwhile.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static atomic_int at;
static atomic_int marks[N + 1];

static void *mark(void *arg) {
#ifdef BUG
    (void)arg;
    int here = at;
#else
    int here = (int)(intptr_t)arg;
#endif
    marks[here] = 1;
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++) {
        int here = at + 1;
        at = here;
        pthread_create(&t[i], NULL, mark, (void *)(intptr_t)here);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    int sum = 0;
    for (int i = 0; i <= N; i++)
        sum += marks[i];
    assert(sum == N);
    return 0;
}
