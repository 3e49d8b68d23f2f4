// A thread calls exit while the others run; what was registered with atexit runs.
// Holds: exit(0) in a thread ends the program, and that is no failure. With -DBUG the code is 4 if the other one had come first.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int x;

static void at_the_end(void) {
    atomic_store(&x, 2);
}

static void *leaver(void *arg) {
    (void)arg;
    int seen = atomic_load(&x);
#ifdef BUG
    exit(seen ? 4 : 0);
#else
    (void)seen;
    exit(0);
#endif
}

static void *other(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    atexit(at_the_end);
    pthread_create(&t[0], NULL, leaver, NULL);
    pthread_create(&t[1], NULL, other, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
