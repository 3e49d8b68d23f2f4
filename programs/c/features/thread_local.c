// Thread-local variables, errno among them: each thread has its own, fresh in every execution.
// Holds: nobody sees another one's. With -DBUG the variable is shared.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef BUG
static atomic_int own = 5;
#else
static _Thread_local int own = 5;
#endif
static atomic_int meeting;

static void *user(void *arg) {
    (void)arg;
    int mine = own;
    assert(mine == 5);
    own = mine + 1;
    errno = 100 + mine;
    atomic_fetch_add(&meeting, 1);
    assert(own == 6);
    assert(errno == 105);
    own = own + 1;
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, user, NULL);
    pthread_create(&t[1], NULL, user, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
#ifndef BUG
    assert(own == 5);
#endif
    return 0;
}
