// moved: an array grows, and whoever has its address asks whether it still is where it was.
// Holds: what is in it stays, and the number of moves is that of the changes of the address. With -DBUG it is taken for granted that it
// moves.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
char *items;
int moves;

void *reader(void *arg) {
    pthread_mutex_lock(&m); /* reader */
    assert(items[0] == 7);
    pthread_mutex_unlock(&m); /* reader */
    return 0;
}

int main(void) {
    pthread_t t;
    items = malloc(1);
    items[0] = 7;
    pthread_create(&t, 0, reader, 0);
    pthread_mutex_lock(&m);
    char *old = items;
    items = realloc(old, 2);
    if (items != old)
        moves++;
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
#ifdef BUG
    assert(moves == 1);
#else
    assert(moves <= 1);
#endif
    free(items);
    return 0;
}
