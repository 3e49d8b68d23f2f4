// own_counter: each thread counts for itself, and adds what it has to the sum in the end.
// Holds: nothing is lost although only that is done under a lock. With -DBUG the counter is one for all.
#include <assert.h>
#include <pthread.h>

#ifdef BUG
int mine;
#else
_Thread_local int mine;
#endif
int sum;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void count(void) {
    mine++;
}

void *work(void *arg) {
    for (int i = 0; i < 2; i++)
        count();
    pthread_mutex_lock(&m);
    sum += mine; /* add */
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0); /* first */
    pthread_join(b, 0);
    assert(sum == 4);
    return 0;
}
