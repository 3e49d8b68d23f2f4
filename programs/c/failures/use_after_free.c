// A thread reads an object that the other has freed, as the flag says it did. The flag orders the two, so that it is no data race.
// Fails: `use-after-free`, when the reader comes after the flag.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int *object;
static atomic_int freed;
static int value;

static void *owner(void *arg) {
    (void)arg;
    free(object);
    atomic_store(&freed, 1);
    return NULL;
}

static void *user(void *arg) {
    (void)arg;
    if (atomic_load(&freed))
        value = *object;
    return NULL;
}

int main(void) {
    pthread_t t[2];
    object = malloc(sizeof *object);
    if (!object)
        return 1;
    *object = 1;
    pthread_create(&t[0], NULL, owner, NULL);
    pthread_create(&t[1], NULL, user, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
