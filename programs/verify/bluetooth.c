// bluetooth: a driver is stopped while requests come in. Idea: Qadeer, Wu 2004 (KISS).
// Wrong: a request that has asked whether the driver stops is not counted yet. With -DFIXED it is counted first.
#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_assume(int);

#ifndef REQUESTS
#define REQUESTS 2
#endif

int pending = 1;
_Bool stopping, event, stopped;

int enter(void) {
#ifdef FIXED
    __sync_fetch_and_add(&pending, 1); /* count */
    return stopping ? -1 : 0;
#else
    if (stopping)
        return -1;
    __sync_fetch_and_add(&pending, 1);
    return 0;
#endif
}

void leave(void) {
    if (__sync_sub_and_fetch(&pending, 1) == 0)
        event = 1;
}

void *request(void *arg) {
    int status = enter();
    if (status == 0) { /* accepted */
        assert(!stopped);
        leave();
    }
#ifdef FIXED
    else
        leave();
#endif
    return arg;
}

void *stop(void *arg) {
    stopping = 1; /* stop */
    leave();
    __VERIFIER_assume(event); /* wait */
    stopped = 1;
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, stop, 0);
    for (int i = 0; i < REQUESTS; i++)
        pthread_create(&t, 0, request, 0);
    return 0;
}
