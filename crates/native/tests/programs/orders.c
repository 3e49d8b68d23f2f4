// A message with a flag: whether the accesses race depends on the memory order, and on the flag being atomic at both ends.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready;
static int data;

static void *gives(void *p) {
    data = 1;
    atomic_store_explicit(&ready, 1, ORDER);
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, gives, 0);
#ifdef PLAIN
    if (*(volatile int *)&ready)
#else
    if (atomic_load_explicit(&ready, ORDER))
#endif
        data = 2;
    pthread_join(t, 0);
    return 0;
}
