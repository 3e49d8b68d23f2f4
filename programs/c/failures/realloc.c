// A pointer into an array is kept while another thread lets it grow.
// Fails: `use-after-free`, or the race between the two. With -DFIXED it is only used under the lock.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int *items, n, cap;
static void add(int x)
{
    pthread_mutex_lock(&m);
    if (n == cap) {
        cap = cap ? 2 * cap : 1;
        items = realloc(items, cap * sizeof *items);
    }
    items[n++] = x;
    pthread_mutex_unlock(&m);
}
static void *adder(void *a) { add(2); return a; }
static void *looker(void *a)
{
    pthread_mutex_lock(&m);
    int *p = items;
#ifdef FIXED
    assert(*p == 1);
#endif
    pthread_mutex_unlock(&m);
#ifndef FIXED
    assert(*p == 1);
#endif
    return a;
}
int main(void)
{
    pthread_t s, t;
    add(1);
    pthread_create(&s, 0, adder, 0);
    pthread_create(&t, 0, looker, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(n == 2 && items[1] == 2);
    free(items);
    return 0;
}
