// A Treiber stack whose nodes are entries of an array, taken and given back. The head counts its changes in its upper half.
// From: Treiber 1986; the count is IBM's remedy for ABA.
// Holds: every node is in one place. With -DBUG changes are not counted: the head comes back to what it was while another thread is
// about to take it, and a node is in two places or in none.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { NODES = 3, NOTHING = 0xffff };

static atomic_uint head = 2;
static atomic_uint next[NODES] = {NOTHING, 0, 1};

static unsigned changed(unsigned from, unsigned to) {
#ifdef BUG
    (void)from;
    return to;
#else
    return ((from | 0xffffu) + 1) | to;
#endif
}

static void push(unsigned node) {
    unsigned old = atomic_load(&head);
    do
        atomic_store(&next[node], old & 0xffffu);
    while (!atomic_compare_exchange_strong(&head, &old, changed(old, node)));
}

static unsigned pop(void) {
    unsigned old = atomic_load(&head);
    for (;;) {
        unsigned node = old & 0xffffu;
        if (node == NOTHING)
            return NOTHING;
        unsigned below = atomic_load(&next[node]);
        if (atomic_compare_exchange_strong(&head, &old, changed(old, below)))
            return node;
    }
}

static unsigned taken, kept;

static void *take(void *arg) {
    (void)arg;
    taken = pop();
    return NULL;
}

static void *take_two_and_give_one_back(void *arg) {
    (void)arg;
    unsigned first = pop();
    kept = pop();
    if (first != NOTHING)
        push(first);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, take, NULL);
    pthread_create(&t[1], NULL, take_two_and_give_one_back, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);

    int places[NODES] = {0};
    assert(taken != NOTHING && kept != NOTHING);
    places[taken]++;
    places[kept]++;
    for (int left = 0; left < 2 * NODES; left++) {
        unsigned node = pop();
        if (node == NOTHING)
            break;
        places[node]++;
    }
    for (int i = 0; i < NODES; i++)
        assert(places[i] == 1);
    return 0;
}
