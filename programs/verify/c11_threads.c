// c11_threads: a message is handed over with the threads of C11.
// Holds: it is there when it is said to be. With -DBUG the flag is set before the message.
#include <assert.h>
#include <threads.h>

mtx_t m;
cnd_t c;
int ready, message;

int send(void *arg) {
    (void)arg;
#ifdef BUG
    ready = 1;
#endif
    mtx_lock(&m); /* send */
    message = 42; /* message */
    ready = 1;
    cnd_signal(&c);
    mtx_unlock(&m); /* send */
    return 7;
}

int main(void) {
    thrd_t t;
    int result;
    mtx_init(&m, mtx_plain);
    cnd_init(&c);
    if (thrd_create(&t, send, 0) != thrd_success)
        return 1;
    mtx_lock(&m);
    while (!ready) /* wait */
        cnd_wait(&c, &m);
    assert(message == 42);
    mtx_unlock(&m);
    thrd_join(t, &result);
    assert(result == 7);
    mtx_destroy(&m);
    cnd_destroy(&c);
    return 0;
}
