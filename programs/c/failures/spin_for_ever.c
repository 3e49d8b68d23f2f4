// A thread spins on a flag that nobody sets.
// Fails: `livelock`, in every execution.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int flag;

static void *waiter(void *arg) {
    (void)arg;
    while (!atomic_load(&flag))
        ;
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, waiter, NULL);
    pthread_join(t, NULL);
    return 0;
}
