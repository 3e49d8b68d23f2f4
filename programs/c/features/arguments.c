// What stands on the command line and in the environment is passed on. Run with the arguments `one two`.
// Holds: it finds `one` and `two`, in every execution. With -DBUG a thread that comes late changes its copy.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static char *first;
static atomic_int changed;

static void *changer(void *arg) {
    (void)arg;
    atomic_store(&changed, 1);
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    int late = atomic_load(&changed);
#ifdef BUG
    if (late)
        first[0] = 'O';
#else
    (void)late;
#endif
    assert(strcmp(first, "one") == 0);
    return NULL;
}

int main(int argc, char **argv) {
    assert(argc == 3);
    assert(strcmp(argv[1], "one") == 0 && strcmp(argv[2], "two") == 0);
    assert(getenv("PATH"));
    first = strdup(argv[1]);
    assert(first);
    pthread_t t[2];
    pthread_create(&t[0], NULL, changer, NULL);
    pthread_create(&t[1], NULL, reader, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    free(first);
    return 0;
}
