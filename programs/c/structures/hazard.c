// A reader protects what it reads by a hazard pointer; the writer replaces it and frees the old one.
// Holds: nothing is used after it was freed. With -DBUG the reader does not look again whether the node is still there.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct node { int value; };
static _Atomic(struct node *) head;
static _Atomic(struct node *) hazard;
static void *reader(void *arg)
{
    struct node *n;
    (void)arg;
#ifdef BUG
    n = atomic_load(&head);
    atomic_store(&hazard, n);
#else
    do {
        n = atomic_load(&head);
        atomic_store(&hazard, n);
    } while (n != atomic_load(&head));
#endif
    assert(n->value == 1 || n->value == 2);
    atomic_store(&hazard, NULL);
    return NULL;
}
static void *writer(void *arg)
{
    struct node *fresh = malloc(sizeof *fresh);
    fresh->value = 2;
    struct node *old = atomic_exchange(&head, fresh);
    if (atomic_load(&hazard) != old)
        free(old);
    return arg;
}
int main(void)
{
    pthread_t r, w;
    struct node *first = malloc(sizeof(struct node));
    first->value = 1;
    atomic_init(&head, first);
    pthread_create(&r, NULL, reader, NULL);
    pthread_create(&w, NULL, writer, NULL);
    pthread_join(r, NULL);
    pthread_join(w, NULL);
    return 0;
}
