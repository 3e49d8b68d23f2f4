// treiber: a stack of cells linked by numbers, pushed and popped by compare-and-exchange. Idea: Treiber 1986.
// Holds: pushes and pops by different threads, no cell used again: nothing is lost. With -DBUG push links the cell to a head that it
// read before, and stores it without comparing.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define N 2

int next_[N + 1];
atomic_int head;
int popped[N + 1];

void push(int cell) {
    int seen = atomic_load(&head);
#ifdef BUG
    next_[cell] = seen;
    atomic_store(&head, cell);
#else
    do {
        next_[cell] = seen; /* link */
    } while (!atomic_compare_exchange_strong(&head, &seen, cell)); /* publish */
#endif
}

int pop(void) {
    int seen = atomic_load(&head);
    while (seen && !atomic_compare_exchange_strong(&head, &seen, next_[seen])) /* take */
        ;
    return seen;
}

void *pusher(void *arg) {
    push((int)(long)arg);
    return 0;
}

void *popper(void *arg) {
    int got = pop();
    if (got)
        popped[got]++;
    return arg;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, 0, pusher, (void *)1);
    pthread_create(&b, 0, pusher, (void *)2);
    pthread_create(&c, 0, popper, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    int cell;
    while ((cell = pop()))
        popped[cell]++;
    assert(popped[1] == 1 && popped[2] == 1);
    return 0;
}
