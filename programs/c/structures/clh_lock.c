// A CLH lock whose nodes are on the heap and change hands.
// Holds. With -DBUG nobody waits for the one before.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#ifndef N
#define N 2
#endif
typedef struct clh_node { atomic_int busy; } clh_node;
typedef struct { _Atomic(clh_node *) tail; } clh_lock;
static clh_lock L;
static int shared;
static clh_node *clh_acquire(clh_lock *l, clh_node *me)
{
    atomic_store(&me->busy, 1);
    clh_node *prev = atomic_exchange(&l->tail, me);
#ifndef BUG
    while (atomic_load(&prev->busy))
        ;
#endif
    return prev;
}
static void *run(void *a)
{
    clh_node *me = malloc(sizeof *me);
    for (int i = 0; i < (N < 3 ? 2 : 1); i++) {
        clh_node *prev = clh_acquire(&L, me);
        shared++;
        atomic_store(&me->busy, 0);
        me = prev;
    }
    free(me);
    return a;
}
int main(void)
{
    pthread_t t[N];
    clh_node *first = calloc(1, sizeof(clh_node));
    atomic_init(&L.tail, first);
    for (int i = 0; i < N; i++) pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < N; i++) pthread_join(t[i], 0);
    assert(shared == (N < 3 ? 2 : 1) * N);
    free(atomic_load(&L.tail));
    return 0;
}
