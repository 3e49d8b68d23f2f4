// alarm: one thread waits for a signal with a time limit, another sets the alarm. A wait may end because the time is over.
// Holds: whoever is woken looks again. With -DBUG the wait's result is not looked at.
#include <assert.h>
#include <pthread.h>
#include <time.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
_Bool set;
int value;

void *setter(void *arg) {
    pthread_mutex_lock(&m);
    value = 1;
    set = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return arg;
}

void *waiter(void *arg) {
    struct timespec limit = {1, 0};
    pthread_mutex_lock(&m);
    int over = 0;
    while (!set && !over)
        over = pthread_cond_timedwait(&c, &m, &limit) != 0;
#ifndef BUG
    if (!over || set) /* guard */
#endif
        assert(value == 1);
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, setter, 0);
    pthread_create(&b, 0, waiter, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
