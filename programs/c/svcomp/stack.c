// stack: one thread pushes N times, the other tries to pop N times, each time under a lock.
// From: SV-COMP's pthread/stack; written from the description.
// Holds: no overflow, no underflow. With -DBUG the popper asks whether anything was ever pushed, not whether something is there:
// its second pop may come too early.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int items[N];
static int top;
#ifdef BUG
static int seen;
#endif

static void push(int value) {
    assert(top < N);
    items[top++] = value;
}

static int pop(void) {
    assert(top > 0);
    return items[--top];
}

static void *pusher(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&m);
        push(i);
#ifdef BUG
        seen = 1;
#endif
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *popper(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&m);
#ifdef BUG
        int some = seen;
#else
        int some = top > 0;
#endif
        if (some) {
            int value = pop();
            assert(value >= 0 && value < N);
        }
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, pusher, NULL);
    pthread_create(&t[1], NULL, popper, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
