// Two threads free the same block, one after the other by a lock.
// Fails: `double-free`, in both orders.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *block;

static void *release(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    free(block);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    block = malloc(16);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, release, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
