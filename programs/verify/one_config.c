// one_config: an object from malloc that is made when it is first asked for, by whoever asks first.
// Holds: it is made once, and whoever gets it sees it filled. With -DBUG it is handed out before it is filled.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct config {
    int width, height;
};

static struct config *_Atomic only;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int made;

static struct config *get(void) {
    struct config *c = only;
    if (c)
        return c;
    pthread_mutex_lock(&m); /* make */
    c = only;
    if (!c) {
        c = malloc(sizeof *c);
        if (!c)
            abort();
#ifdef BUG
        only = c;
#endif
        c->width = 3;
        c->height = 4; /* fill */
        made++;
#ifndef BUG
        only = c;
#endif
    }
    pthread_mutex_unlock(&m); /* make */
    return c;
}

static void *user(void *unused) {
    struct config *c = get();
    assert(c->width * c->height == 12);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, user, 0);
    pthread_create(&b, 0, user, 0);
    user(0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(made == 1);
    free(only);
    return 0;
}
