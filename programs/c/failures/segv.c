// A pointer is used before another thread has set it.
// Fails: `signal` (SIGSEGV), when the user comes first.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int target;
static _Atomic(int *) pointer;

static void *setter(void *arg) {
    (void)arg;
    atomic_store(&pointer, &target);
    return NULL;
}

static void *user(void *arg) {
    (void)arg;
    int *p = atomic_load(&pointer);
    *p = 1;
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, setter, NULL);
    pthread_create(&t[1], NULL, user, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
