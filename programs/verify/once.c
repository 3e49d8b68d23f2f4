// once: two threads and main need a table that one of them makes.
// Holds: it is made once, and nobody goes on before it is there. With -DBUG a flag of their own is asked in its place.
#include <assert.h>
#include <pthread.h>

pthread_once_t once = PTHREAD_ONCE_INIT;
int made, table[2], begun;

void make(void) {
    made++;
    table[0] = 3;
    table[1] = 4; /* second */
}

void need(void) {
#ifdef BUG
    if (!begun) {
        begun = 1;
        make();
    }
#else
    pthread_once(&once, make); /* once */
#endif
    assert(table[0] + table[1] == 7);
}

void *use(void *arg) {
    need();
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, use, 0);
    pthread_create(&b, 0, use, 0);
    need();
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(made == 1);
    return 0;
}
