// The second of two threads calls abort, whichever that is.
// Fails: `abort`.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int x;

static void *last_aborts(void *arg) {
    (void)arg;
    if (atomic_fetch_add(&x, 1) == 1)
        abort();
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, last_aborts, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
