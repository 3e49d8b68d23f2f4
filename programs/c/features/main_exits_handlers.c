// main ends with pthread_exit, and the process when its last thread has ended: then the handlers of atexit run, the last one first,
// also one that a thread has registered.
// Holds: both threads are done by then, and the thread's handler comes first. With -DBUG a handler counts on being run before.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static atomic_int done;
static int handlers;

static void of_main(void) {
#ifdef BUG
    assert(atomic_load(&done) < 2);
#else
    assert(atomic_load(&done) == 2);
#endif
    assert(handlers == 1);
}

static void of_thread(void) {
    handlers++;
}

static void *registers(void *arg) {
    atexit(of_thread);
    atomic_fetch_add(&done, 1);
    return arg;
}

static void *works(void *arg) {
    atomic_fetch_add(&done, 1);
    return arg;
}

int main(void) {
    pthread_t t[2];
    atexit(of_main);
    pthread_create(&t[0], NULL, registers, NULL);
    pthread_create(&t[1], NULL, works, NULL);
    pthread_exit(NULL);
}
