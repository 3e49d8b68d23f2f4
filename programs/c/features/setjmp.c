// setjmp and longjmp inside a thread, with scheduling points between the two.
// Holds: the jump comes back to its own thread and its locals are as they were. With -DBUG the jump leaves a mutex locked.
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int x;

static void fail(jmp_buf where, int code) {
    atomic_fetch_add(&x, 1);
    longjmp(where, code);
}

static void *jumper(void *arg) {
    volatile int me = (int)(intptr_t)arg;
    jmp_buf where;
    int code = setjmp(where);
    if (code == 0) {
        pthread_mutex_lock(&m);
        atomic_fetch_add(&x, 1);
#ifndef BUG
        pthread_mutex_unlock(&m);
#endif
        fail(where, me + 10);
    }
    assert(code == me + 10);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, jumper, (void *)(intptr_t)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(atomic_load(&x) == 4);
    return 0;
}
