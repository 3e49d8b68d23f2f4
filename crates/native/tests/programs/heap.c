// What can be done to the heap, wrongly under one of two schedules.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int turn;
static int *block;
static int global;

static void *run(void *p) {
    int mine = atomic_fetch_add(&turn, 1);
    if (mine == 1 && p) {
#if CASE == 1
        free(block);
        block[0] = 1;
#elif CASE == 2
        free(block);
        free(block);
#elif CASE == 3
        free(&global);
#elif CASE == 4
        block[4] = 1;
#elif CASE == 5
        block = 0;
#elif CASE == 6
        block = realloc(block, 32);
        block[7] = 1;
        int *other = calloc(4, 4);
        global = other[3];
        free(other);
#endif
    }
    return 0;
}

int main(void) {
    block = malloc(4 * sizeof *block);
    pthread_t t[2];
    pthread_create(&t[0], 0, run, 0);
    pthread_create(&t[1], 0, run, &turn);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
