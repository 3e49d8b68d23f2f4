// A thread locks a normal mutex that it holds.
// Fails: `deadlock`, a cycle of one, in every execution.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *twice(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, twice, NULL);
    pthread_join(t, NULL);
    return 0;
}
