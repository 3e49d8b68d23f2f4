// A ticket lock whose waiters look at an array of their own.
// Holds: one at a time. With -DBUG two may have the same ticket.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifndef N
#define N 2
#endif
#define SLOTS 4
struct lock { atomic_uint ticket, grant; atomic_uint waiters[SLOTS]; };
static struct lock the_lock;
static int inside, total;
static void lock(struct lock *l)
{
#ifdef BUG
    unsigned me = atomic_load(&l->ticket);
    atomic_store(&l->ticket, me + 1);
#else
    unsigned me = atomic_fetch_add(&l->ticket, 1);
#endif
    unsigned dx = me - atomic_load_explicit(&l->grant, memory_order_acquire);
    if (dx == 0)
        return;
    if (dx > 1) {
        unsigned at = me % SLOTS;
        unsigned u = atomic_load(&l->waiters[at]);
        dx = me - atomic_load(&l->grant);
        while (dx > 1) {
            while (u == atomic_load(&l->waiters[at]))
                ;
            u = atomic_load(&l->waiters[at]);
            dx = me - atomic_load(&l->grant);
        }
    }
    while (atomic_load(&l->grant) != me)
        ;
}
static void unlock(struct lock *l)
{
    unsigned k = atomic_load(&l->grant) + 1;
    atomic_store_explicit(&l->grant, k, memory_order_release);
    atomic_fetch_add(&l->waiters[(k + 1) % SLOTS], 1);
}
static void *worker(void *arg)
{
    lock(&the_lock);
    assert(inside == 0);
    inside = 1;
    total++;
    inside = 0;
    unlock(&the_lock);
    return arg;
}
int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    assert(total == N);
    return 0;
}
