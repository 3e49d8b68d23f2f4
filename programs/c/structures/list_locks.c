// A sorted list with a lock in each node, taken hand over hand.
// Holds: what two threads insert is there. With -DBUG the first of the two locks is given back too early.
#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
typedef struct node { int key; struct node *next; pthread_mutex_t lock; } node_t;
static node_t tail = { INT_MAX, NULL, PTHREAD_MUTEX_INITIALIZER };
static node_t head = { INT_MIN, &tail, PTHREAD_MUTEX_INITIALIZER };
static bool insert(int key)
{
    node_t *pred = &head, *curr;
    pthread_mutex_lock(&pred->lock);
    curr = pred->next;
    pthread_mutex_lock(&curr->lock);
    while (curr->key < key) {
        pthread_mutex_unlock(&pred->lock);
        pred = curr;
        curr = curr->next;
        pthread_mutex_lock(&curr->lock);
    }
    bool fresh = curr->key != key;
#ifdef BUG
    pthread_mutex_unlock(&pred->lock);
#endif
    if (fresh) {
        node_t *n = malloc(sizeof(node_t));
        n->key = key;
        n->next = curr;
        pthread_mutex_init(&n->lock, NULL);
        pred->next = n;
    }
    pthread_mutex_unlock(&curr->lock);
#ifndef BUG
    pthread_mutex_unlock(&pred->lock);
#endif
    return fresh;
}
static void *one(void *arg) { insert(1); return arg; }
static void *two(void *arg) { insert(2); return arg; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    int seen = 0, last = INT_MIN;
    for (node_t *n = head.next; n != &tail; n = n->next) {
        assert(n->key > last);
        last = n->key;
        seen++;
    }
    assert(seen == 2);
    return 0;
}
