// Two threads draw from the one generator: who is first decides what the other gets.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int drawn[2];

static void *draws(void *p) {
    *(int *)p = rand();
    return 0;
}

int main(void) {
    srand(7);
    int first = rand();
    srand(7);
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, draws, &drawn[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(drawn[0] != drawn[1]);
#ifdef BUG
    assert(drawn[0] == first);
#else
    assert(drawn[0] == first || drawn[1] == first);
#endif
    return 0;
}
