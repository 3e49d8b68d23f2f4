// double_lock: two threads take two locks, for ever. The question is for deadlocks. Idea: Metzler 2020, figure 4.10.
// Holds: in one order. With -DBUG in two.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
int x;

void *one(void *arg) {
    while (1) {
        pthread_mutex_lock(&m1);
        pthread_mutex_lock(&m2); /* one */
        x = 1;
        assert(x == 1);
        pthread_mutex_unlock(&m2); /* one */
        pthread_mutex_unlock(&m1);
    }
    return arg;
}

void *two(void *arg) {
    while (1) {
#ifdef BUG
        pthread_mutex_lock(&m2);
        pthread_mutex_lock(&m1);
#else
        pthread_mutex_lock(&m1); /* two */
        pthread_mutex_lock(&m2);
#endif
        x = 2;
        assert(x == 2);
        pthread_mutex_unlock(&m2);
        pthread_mutex_unlock(&m1); /* two */
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    return 0;
}
