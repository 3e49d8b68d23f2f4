// handler: a thread replaces the handler that main calls.
// Holds: the handler that runs is one of the two. With -DBUG it may be taken away between the test and the call.
#include <assert.h>
#include <pthread.h>

int last;

void first(void) {
    last = 1;
}

void second(void) {
    last = 2;
}

void (*handler)(void) = first;

void *replace(void *arg) {
#ifdef BUG
    handler = 0;
#endif
    handler = second;
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, replace, 0);
    if (handler)
        handler();
    assert(last == 1 || last == 2);
    pthread_join(a, 0);
    handler();
    assert(last == 2);
    return 0;
}
