// A thread parks until it is given a permit: a flag, a mutex and a condition variable.
// Holds. With -DBUG the permit is not looked for, and can be missed.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
typedef struct { pthread_mutex_t mutex; pthread_cond_t cond; atomic_int counter; } parker_t;
static parker_t p;
static atomic_int flag;
static void park(parker_t *p)
{
#ifndef BUG
    if (atomic_exchange(&p->counter, 0) > 0)
        return;
#endif
    if (pthread_mutex_trylock(&p->mutex) != 0)
        return;
#ifndef BUG
    if (p->counter > 0) {
        p->counter = 0;
        pthread_mutex_unlock(&p->mutex);
        return;
    }
#endif
    pthread_cond_wait(&p->cond, &p->mutex);
    p->counter = 0;
    pthread_mutex_unlock(&p->mutex);
}
static void unpark(parker_t *p)
{
    pthread_mutex_lock(&p->mutex);
    int s = p->counter;
    p->counter = 1;
    pthread_mutex_unlock(&p->mutex);
    if (s < 1)
        pthread_cond_signal(&p->cond);
}
static void *waiter(void *arg)
{
    while (!flag)
        park(&p);
    return arg;
}
static void *waker(void *arg)
{
    flag = 1;
    unpark(&p);
    return arg;
}
int main(void)
{
    pthread_t a, b;
    pthread_mutex_init(&p.mutex, NULL);
    pthread_cond_init(&p.cond, NULL);
    pthread_create(&a, NULL, waiter, NULL);
    pthread_create(&b, NULL, waker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
