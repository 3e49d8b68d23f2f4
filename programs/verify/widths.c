// widths: counters of different widths and signs, counted up under a lock for ever, wrap around.
// Holds: the narrow one is the wide one modulo 256. With -DBUG the wide one is counted outside the lock.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
unsigned char narrow;
unsigned short wide;

void *up(void *arg) {
    while (1) {
        pthread_mutex_lock(&m); /* up */
        narrow++;
#ifdef BUG
        pthread_mutex_unlock(&m);
        wide++;
#else
        wide++; /* wide */
        pthread_mutex_unlock(&m); /* up */
#endif
    }
    return arg;
}

void *look(void *arg) {
    while (1) {
        pthread_mutex_lock(&m);
        assert(narrow == (unsigned char)wide);
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, up, 0);
    pthread_create(&b, 0, look, 0);
    return 0;
}
