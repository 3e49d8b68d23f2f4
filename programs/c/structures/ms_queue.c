// Michael and Scott's queue, with nodes that are never given back.
// From: Michael and Scott 1996.
// Holds: what was put in before can be taken out, and nothing is lost. With -DBUG=1 a node is linked without looking whether
// another one is there. With -DBUG=2 the end moves first and the link comes after: in between the queue is cut in two.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef BUG
#define BUG 0
#endif

struct node {
    int value;
    _Atomic(struct node *) next;
};

static struct node nodes[3]; // the dummy, and one for each thread
static _Atomic(struct node *) head = &nodes[0];
static _Atomic(struct node *) tail = &nodes[0];

static void enqueue(struct node *node, int value) {
    node->value = value;
#if BUG == 2
    struct node *last = atomic_exchange(&tail, node);
    atomic_store(&last->next, node);
#else
    for (;;) {
        struct node *last = atomic_load(&tail);
        struct node *next = atomic_load(&last->next);
        if (next) {
            atomic_compare_exchange_strong(&tail, &last, next);
            continue;
        }
#if BUG == 1
        atomic_store(&last->next, node);
#else
        if (!atomic_compare_exchange_strong(&last->next, &next, node))
            continue;
#endif
        atomic_compare_exchange_strong(&tail, &last, node);
        return;
    }
#endif
}

// 0 if there is nothing.
static int dequeue(void) {
    for (;;) {
        struct node *first = atomic_load(&head);
        struct node *last = atomic_load(&tail);
        struct node *next = atomic_load(&first->next);
        if (!next)
            return 0;
        if (first == last)
            atomic_compare_exchange_strong(&tail, &last, next);
        if (atomic_compare_exchange_strong(&head, &first, next))
            return next->value;
    }
}

static void *put(void *arg) {
    (void)arg;
    enqueue(&nodes[1], 1);
    return NULL;
}

static void *put_and_take(void *arg) {
    (void)arg;
    enqueue(&nodes[2], 2);
    int value = dequeue();
    assert(value != 0);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, put, NULL);
    pthread_create(&t[1], NULL, put_and_take, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    int left = dequeue();
    assert(left != 0);
    left = dequeue();
    assert(left == 0);
    return 0;
}
