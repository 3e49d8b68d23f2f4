// emptied: two threads take nodes from a list under a lock and give them back.
// Holds: each node is taken once. With -DBUG the next one is read after the node was given back.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
struct node *head;
int sum;

void take(void) {
    pthread_mutex_lock(&m); /* take */
    struct node *n = head;
    if (n) {
        sum += n->value;
#ifdef BUG
        free(n);
        head = n->next;
#else
        head = n->next;
        free(n);
#endif
    }
    pthread_mutex_unlock(&m); /* take */
}

void *taker(void *arg) {
    take();
    return 0;
}

int main(void) {
    pthread_t t;
    for (int i = 1; i <= 2; i++) {
        struct node *n = calloc(1, sizeof(struct node));
        n->value = i;
        n->next = head;
        head = n;
    }
    pthread_create(&t, 0, taker, 0);
    take();
    pthread_join(t, 0); /* end */
    assert(sum == 3 && !head);
    return 0;
}
