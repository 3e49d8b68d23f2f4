// A loop in which nothing happens that others could see.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *sets(void *p) {
    atomic_store(&x, 1);
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, sets, 0);
    if (atomic_load(&x))
        for (;;)
            ;
    pthread_join(t, 0);
    return 0;
}
