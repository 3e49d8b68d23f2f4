// reorder: threads set two variables one after the other, others look at both. Idea: SV-COMP's pthread/reorder.
// Wrong: somebody may look in between. With -DFIXED a lock is around both.
#include <assert.h>
#include <pthread.h>

#ifndef SETTERS
#define SETTERS 2
#endif

int a, b;
#ifdef FIXED
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#define LOCK pthread_mutex_lock(&m)
#define UNLOCK pthread_mutex_unlock(&m)
#else
#define LOCK
#define UNLOCK
#endif

void *set(void *arg) {
    LOCK; /* set */
    a = 1;
    b = -1;
    UNLOCK; /* set */
    return arg;
}

void *look(void *arg) {
    LOCK; /* look */
    int both = (a == 0 && b == 0) || (a == 1 && b == -1);
    UNLOCK; /* look */
    assert(both);
    return arg;
}

int main(void) {
    pthread_t t[SETTERS + 1];
    for (int i = 0; i < SETTERS; i++)
        pthread_create(&t[i], 0, set, 0);
    pthread_create(&t[SETTERS], 0, look, 0);
    for (int i = 0; i <= SETTERS; i++)
        pthread_join(t[i], 0);
    return 0;
}
