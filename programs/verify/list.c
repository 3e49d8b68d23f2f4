// list: two threads put a node each at the head of a list under a lock; main walks it. The nodes come from malloc.
// Holds: both are there. With -DBUG the head is read before the lock is taken.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
struct node *head;

void *insert(void *arg) {
    struct node *n = malloc(sizeof(struct node));
    if (!n)
        abort();
    n->value = (int)(long)arg;
#ifdef BUG
    n->next = head;
    pthread_mutex_lock(&m);
#else
    pthread_mutex_lock(&m); /* insert */
    n->next = head;
#endif
    head = n;
    pthread_mutex_unlock(&m); /* insert */
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, insert, (void *)1);
    pthread_create(&b, 0, insert, (void *)2);
    pthread_join(a, 0); /* first */
    pthread_join(b, 0); /* second */
    int sum = 0;
    for (struct node *n = head; n; n = n->next)
        sum += n->value;
    assert(sum == 3);
    return 0;
}
