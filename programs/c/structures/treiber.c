// A Treiber stack on the heap. What was popped is freed at the end, by main.
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

static struct node *pop(void) {
    struct node *old = atomic_load(&head);
    while (old) {
        struct node *below = atomic_load(&old->next);
#if BUG == 1
        atomic_store(&head, below);
        break;
#else
        if (atomic_compare_exchange_strong(&head, &old, below))
            break;
#endif
    }
    return old;
}

static struct node *popped[3];
static int values[3];

static void pop_into(int i) {
    popped[i] = pop();
    if (popped[i]) {
        values[i] = popped[i]->value;
#if BUG == 2
        free(popped[i]);
        popped[i] = NULL;
#endif
    }
}

static void *first(void *arg) {
    (void)arg;
    pop_into(0);
    return NULL;
}

static void *second(void *arg) {
    (void)arg;
    push(2);
    pop_into(1);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    push(1);
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    pop_into(2);
    int seen[3] = {0};
    for (int i = 0; i < 3; i++)
        seen[values[i]]++;
    assert(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
    for (int i = 0; i < 3; i++)
        free(popped[i]);
    return 0;
}
