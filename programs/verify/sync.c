// sync: one cell, filled and emptied under a lock with two conditions, for ever. Idea: SV-COMP's pthread/sync01.
// Holds: it is empty or full, and what is taken was put. With -DBUG the producer asks once instead of as long as it is full.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t empty = PTHREAD_COND_INITIALIZER, full = PTHREAD_COND_INITIALIZER;
int num;

void *put(void *arg) {
    while (1) {
        pthread_mutex_lock(&m);
#ifdef BUG
        if (num > 0)
#else
        while (num > 0) /* guard */
#endif
            pthread_cond_wait(&empty, &m);
        num++;
        assert(num == 1);
        pthread_mutex_unlock(&m);
        pthread_cond_signal(&full);
    }
    return arg;
}

void *take(void *arg) {
    while (1) {
        pthread_mutex_lock(&m); /* take */
        while (num == 0) /* guard of take */
            pthread_cond_wait(&full, &m);
        num--;
        assert(num == 0);
        pthread_mutex_unlock(&m); /* take */
        pthread_cond_signal(&empty);
    }
    return arg;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, 0, put, 0);
    pthread_create(&b, 0, put, 0);
    pthread_create(&c, 0, take, 0);
    pthread_join(a, 0);
    return 0;
}
