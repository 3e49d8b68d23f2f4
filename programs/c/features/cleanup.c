// Handlers that were pushed run when a thread leaves by pthread_exit from a function it called.
// Holds.
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int cleaned;
static void cleanup(void *p) { cleaned += 1; pthread_mutex_unlock(p); }
static void leave(int x) { if (x) pthread_exit((void *)7); }
static void *run(void *a)
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(cleanup, &m);
    leave(a != 0);
    pthread_cleanup_pop(1);
    return (void *)7;
}
int main(void)
{
    pthread_t s, t;
    void *x, *y;
    pthread_create(&s, 0, run, 0);
    pthread_create(&t, 0, run, &s);
    pthread_join(s, &x);
    pthread_join(t, &y);
    assert(x == y && cleaned == 2);
    return 0;
}
