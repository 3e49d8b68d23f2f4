// ping_pong: two threads hand a token over and back, for ever; each works only while it has the token.
// Holds: they never work at once. With -DBUG one hands it over before it has finished.
#include <assert.h>
#include <pthread.h>

enum player { PING, PONG };
enum player token = PING;
int working;

void *ping(void *arg) {
    while (1) {
        while (token != PING) /* wait */
            ;
#ifdef BUG
        token = PONG;
#endif
        working++;
        assert(working == 1);
        working--;
#ifndef BUG
        token = PONG;
#endif
    }
    return arg;
}

void *pong(void *arg) {
    while (1) {
        while (token != PONG) /* wait for ping */
            ;
        working++;
        assert(working == 1);
        working--;
        token = PING;
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, ping, 0);
    pthread_create(&b, 0, pong, 0);
    return 0;
}
