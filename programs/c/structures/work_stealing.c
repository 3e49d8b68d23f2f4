// An owner takes from one end of a deque, a thief from the other.
// Holds: each task is done once. With -DBUG the owner does not compete for the last one.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
static atomic_int top, bottom;
static atomic_int tasks[4];
static atomic_int done[3];
static void push(int t)
{
    int b = atomic_load(&bottom);
    atomic_store(&tasks[b % 4], t);
    atomic_store(&bottom, b + 1);
}
static int take(void)
{
    int b = atomic_load(&bottom) - 1;
    atomic_store(&bottom, b);
    int t = atomic_load(&top);
    if (t > b) {
        atomic_store(&bottom, b + 1);
        return -1;
    }
    int x = atomic_load(&tasks[b % 4]);
    if (t == b) {
#ifndef BUG
        if (!atomic_compare_exchange_strong(&top, &t, t + 1))
            x = -1;
#endif
        atomic_store(&bottom, b + 1);
    }
    return x;
}
static int steal(void)
{
    int t = atomic_load(&top);
    int b = atomic_load(&bottom);
    if (t >= b)
        return -1;
    int x = atomic_load(&tasks[t % 4]);
    if (!atomic_compare_exchange_strong(&top, &t, t + 1))
        return -1;
    return x;
}
static void *thief(void *arg)
{
    int x = steal();
    if (x >= 0)
        assert(atomic_fetch_add(&done[x], 1) == 0);
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, thief, NULL);
    push(0);
    push(1);
    for (int i = 0; i < 2; i++) {
        int x = take();
        if (x >= 0)
            assert(atomic_fetch_add(&done[x], 1) == 0);
    }
    pthread_join(t, NULL);
    return 0;
}
