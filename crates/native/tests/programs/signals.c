// Three threads: who comes last divides by zero, who comes second uses a null pointer, depending on the schedule.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int turn;
static int *volatile nothing;
static volatile int zero;

static void *run(void *p) {
    int mine = atomic_fetch_add(&turn, 1);
    if (p && mine == 1)
        *nothing = 1;
    if (p && mine == 2)
        return (void *)(long)(7 / zero);
    return 0;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, run, i == 2 ? &turn : 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
