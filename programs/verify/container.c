// container: items with a link in them are put into a list; who goes through the list gets back from the link to the item.
// Holds: the sum is that of what is in the list. With -DBUG the way back is that of another field.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define container_of(p, type, member)                                                                      \
    ({                                                                                                     \
        const __typeof__(((type *)0)->member) *link = (p);                                                 \
        (type *)((char *)link - offsetof(type, member));                                                   \
    })

struct link {
    struct link *next;
};

struct item {
    int value;
    int other;
    struct link link;
};

struct item items[2] = {{.value = 3}, {.value = 4}};
struct link *head;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *put(void *arg) {
    struct item *i = arg;
    pthread_mutex_lock(&m); /* put */
    i->link.next = head; /* link */
    head = &i->link;
    pthread_mutex_unlock(&m); /* put */
    return 0;
}

int main(void) {
    pthread_t a, b;
    int sum = 0;
    pthread_create(&a, 0, put, &items[0]);
    pthread_create(&b, 0, put, &items[1]);
    pthread_join(a, 0);
    pthread_join(b, 0);
    for (struct link *l = head; l; l = l->next)
#ifdef BUG
        sum += ((struct item *)((char *)l - offsetof(struct item, other)))->value;
#else
        sum += container_of(l, struct item, link)->value;
#endif
    assert(sum == 7);
    return 0;
}
