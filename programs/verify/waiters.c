// waiters: two threads wait until something is ready, and whoever makes it so wakes both.
// Holds: nobody is left waiting. With -DBUG one of them is woken; that the other one might wake up for no reason helps nobody.
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int ready;

void *waiter(void *arg) {
    pthread_mutex_lock(&m);
    while (!ready)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, waiter, 0);
    pthread_create(&b, 0, waiter, 0);
    pthread_mutex_lock(&m);
    ready = 1;
#ifdef BUG
    pthread_cond_signal(&c);
#else
    pthread_cond_broadcast(&c); /* wake */
#endif
    pthread_mutex_unlock(&m);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
