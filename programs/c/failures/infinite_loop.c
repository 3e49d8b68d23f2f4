// A loop without any shared access, entered if the other thread came first. Only a watchdog can see it.
// Fails: `livelock` (a loop without a scheduling point).
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;

static void *runner(void *arg) {
    (void)arg;
    if (atomic_load(&x)) {
        for (unsigned i = 1; i != 0; i += 2) // never even
            ;
    }
    return NULL;
}

static void *setter(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, runner, NULL);
    pthread_create(&t[1], NULL, setter, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
