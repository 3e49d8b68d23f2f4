// state_machine: a connection is opened, used and closed by inputs, under a lock; a second thread sends only if it is open. For ever.
// Holds: nothing is sent on a closed connection. With -DBUG closing forgets to say so.
#include <assert.h>
#include <pthread.h>

extern unsigned char __VERIFIER_nondet_uchar(void);

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

enum state { CLOSED, OPENING, OPEN };

struct connection {
    enum state state;
    short socket;
} c = {CLOSED, -1};

void *control(void *arg) {
    while (1) {
        unsigned char command = __VERIFIER_nondet_uchar();
        pthread_mutex_lock(&m); /* control */
        switch (command) {
        case 0:
            if (c.state == CLOSED)
                c.state = OPENING;
            break;
        case 1:
            if (c.state == OPENING) {
                c.socket = 7; /* socket */
                c.state = OPEN;
            }
            break;
        case 2:
            c.socket = -1;
#ifndef BUG
            c.state = CLOSED; /* closed */
#endif
            /* fall through */
        default:
            break;
        }
        pthread_mutex_unlock(&m); /* control */
    }
    return arg;
}

void *send(void *arg) {
    while (1) {
        pthread_mutex_lock(&m);
        if (c.state == OPEN) /* guard */
            assert(c.socket == 7);
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, control, 0);
    pthread_create(&b, 0, send, 0);
    return 0;
}
