// Attributes of threads, a barrier with main, who of them is told to be the last, a spin lock.
// Holds.
#include <assert.h>
#include <pthread.h>
#include <limits.h>
#include <unistd.h>
static pthread_barrier_t b;
static int serial;
static pthread_spinlock_t s;
static void *run(void *a)
{
    char big[20000];
    big[0] = 1; big[19999] = 2;
    int r = pthread_barrier_wait(&b);
    pthread_spin_lock(&s);
    if (r == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
    else assert(r == 0);
    pthread_spin_unlock(&s);
    return big[0] + big[19999] == 3 ? a : 0;
}
int main(void)
{
    pthread_attr_t at;
    pthread_t t[2];
    size_t size;
    pthread_attr_init(&at);
    pthread_attr_setstacksize(&at, 256 * 1024);
    pthread_attr_getstacksize(&at, &size);
    assert(size == 256 * 1024);
    pthread_attr_setdetachstate(&at, PTHREAD_CREATE_JOINABLE);
    pthread_barrier_init(&b, 0, 3);
    pthread_spin_init(&s, 0);
    for (int i = 0; i < 2; i++) assert(pthread_create(&t[i], &at, run, &b) == 0);
    pthread_attr_destroy(&at);
    run(0);
    for (int i = 0; i < 2; i++) { void *r; pthread_join(t[i], &r); assert(r == &b); }
    assert(serial == 1);
    pthread_barrier_destroy(&b);
    return 0;
}
