// Two threads write one block of the heap, one of them through memset.
// Fails: `data-race`. With -DFIXED each has its own half.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char *block;

static void *fill(void *arg) {
    (void)arg;
#ifdef FIXED
    memset(block, 1, 8);
#else
    memset(block, 1, 9);
#endif
    return NULL;
}

static void *poke(void *arg) {
    (void)arg;
    block[8] = 2;
    return NULL;
}

int main(void) {
    pthread_t t[2];
    block = calloc(16, 1);
    if (!block)
        return 1;
    pthread_create(&t[0], NULL, fill, NULL);
    pthread_create(&t[1], NULL, poke, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    free(block);
    return 0;
}
