// Two threads that want to pass step back for each other for ever, if they keep step.
// Other fair schedules end it, so it is the caveat `may-not-end`, and with `--livelocks all` the failure `livelock`.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static atomic_int wants[2];

static void *pass(void *arg) {
    int me = (int)(intptr_t)arg, other = 1 - me;
    for (;;) {
        atomic_store(&wants[me], 1);
        if (!atomic_load(&wants[other]))
            break;
        // After you.
        atomic_store(&wants[me], 0);
        sched_yield();
    }
    atomic_store(&wants[me], 0);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, pass, (void *)(intptr_t)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
