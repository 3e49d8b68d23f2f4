// A division by what another thread has not yet set.
// Fails: `signal` (SIGFPE), when the divider comes first.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int divisor;
static int result;

static void *setter(void *arg) {
    (void)arg;
    atomic_store(&divisor, 4);
    return NULL;
}

static void *divider(void *arg) {
    (void)arg;
    result = 100 / atomic_load(&divisor);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, setter, NULL);
    pthread_create(&t[1], NULL, divider, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return result == 25 ? 0 : 1;
}
