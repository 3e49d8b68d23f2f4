// A thread that waits for a signal: it would stand still for ever, with all others, if it were let.
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static void *handler(void *arg) {
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigwait(&set, &signal);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, handler, NULL);
    pthread_join(t, NULL);
    return 0;
}
