// A Treiber stack on the heap. What was popped is put on a list and freed at the end.
// From: Treiber 1986.
// Holds: each value comes out once. With -DBUG=1 pop sets the head without looking whether it is still the same. With -DBUG=2 pop
// frees the node at once, while another thread may still read its link: a use after free.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef BUG
#define BUG 0
#endif

struct node {
    int value;
    _Atomic(struct node *) next;
    struct node *retired;
};

static _Atomic(struct node *) head;

static void push(int value) {
    struct node *node = malloc(sizeof *node);
    assert(node);
    node->value = value;
    struct node *old = atomic_load(&head);
    do
        atomic_store(&node->next, old);
    while (!atomic_compare_exchange_strong(&head, &old, node));
}

// Nodes that this thread took are kept in its own list.
static int pop(struct node **retired) {
    struct node *old = atomic_load(&head);
    for (;;) {
        if (!old)
            return 0;
        struct node *below = atomic_load(&old->next);
#if BUG == 1
        atomic_store(&head, below);
        break;
#else
        if (atomic_compare_exchange_strong(&head, &old, below))
            break;
#endif
    }
    int value = old->value;
#if BUG == 2
    (void)retired;
    free(old);
#else
    old->retired = *retired;
    *retired = old;
#endif
    return value;
}

static struct node *by_first, *by_second;
static int got[3];

static void *first(void *arg) {
    (void)arg;
    got[0] = pop(&by_first);
    return NULL;
}

static void *second(void *arg) {
    (void)arg;
    push(2);
    got[1] = pop(&by_second);
    return NULL;
}

static void free_all(struct node *list) {
    while (list) {
        struct node *next = list->retired;
        free(list);
        list = next;
    }
}

int main(void) {
    pthread_t t[2];
    push(1);
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    struct node *by_main = NULL;
    got[2] = pop(&by_main);
    int seen[3] = {0};
    for (int i = 0; i < 3; i++)
        seen[got[i]]++;
    assert(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
    free_all(by_first);
    free_all(by_second);
    free_all(by_main);
    return 0;
}
