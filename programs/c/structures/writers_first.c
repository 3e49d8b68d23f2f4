// A reader-writer lock of a mutex and two condition variables; writers go first.
// Holds. With -DBUG a writer does not look again when it wakes.
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t readers_ok = PTHREAD_COND_INITIALIZER, writers_ok = PTHREAD_COND_INITIALIZER;
static int readers, writers, waiting_writers;
static int x, y;
static void read_lock(void)
{
    pthread_mutex_lock(&m);
    while (writers > 0 || waiting_writers > 0)
        pthread_cond_wait(&readers_ok, &m);
    readers++;
    pthread_mutex_unlock(&m);
}
static void read_unlock(void)
{
    pthread_mutex_lock(&m);
    if (--readers == 0)
        pthread_cond_signal(&writers_ok);
    pthread_mutex_unlock(&m);
}
static void write_lock(void)
{
    pthread_mutex_lock(&m);
    waiting_writers++;
#ifdef BUG
    if (readers > 0 || writers > 0)
#else
    while (readers > 0 || writers > 0)
#endif
        pthread_cond_wait(&writers_ok, &m);
    waiting_writers--;
    writers++;
    pthread_mutex_unlock(&m);
}
static void write_unlock(void)
{
    pthread_mutex_lock(&m);
    writers--;
    if (waiting_writers > 0)
        pthread_cond_signal(&writers_ok);
    else
        pthread_cond_broadcast(&readers_ok);
    pthread_mutex_unlock(&m);
}
static void *reader(void *arg)
{
    read_lock();
    assert(x == y);
    read_unlock();
    return arg;
}
static void *writer(void *arg)
{
    write_lock();
    x++;
    y++;
    write_unlock();
    return arg;
}
int main()
{
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, writer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
