// one_condition: two threads put something into a place for one, two take it out, and all wait at one condition variable.
// Holds: everybody is done in the end. With -DBUG one is woken at a time, and it may be the wrong one.
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int full;

static void wake(void) {
#ifdef BUG
    pthread_cond_signal(&c);
#else
    pthread_cond_broadcast(&c); /* all */
#endif
}

void *put(void *arg) {
    pthread_mutex_lock(&m);
    while (full)
        pthread_cond_wait(&c, &m);
    full = 1;
    wake();
    pthread_mutex_unlock(&m);
    return arg;
}

void *take(void *arg) {
    pthread_mutex_lock(&m);
    while (!full)
        pthread_cond_wait(&c, &m);
    full = 0;
    wake();
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void) {
    pthread_t a, b, d;
    pthread_create(&a, 0, put, 0);
    pthread_create(&b, 0, put, 0);
    pthread_create(&d, 0, take, 0);
    take(0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(d, 0);
    return 0;
}
