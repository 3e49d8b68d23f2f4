// permits: a semaphore has so many permits as nobody holds; who asks sees how many.
// Holds: never more than there are. With -DBUG one gives back what it never took.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

sem_t permits;

void *work(void *arg) {
#ifndef BUG
    sem_wait(&permits); /* take */
#endif
    sem_post(&permits);
    return arg;
}

int main(void) {
    pthread_t a, b;
    int left;
    sem_init(&permits, 0, 2);
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    sem_getvalue(&permits, &left);
    assert(left >= 0 && left <= 2);
    pthread_join(a, 0); /* first */
    pthread_join(b, 0);
    sem_getvalue(&permits, &left);
    assert(left == 2);
    return 0;
}
