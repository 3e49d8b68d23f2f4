// The exit code depends on the schedule.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *run(void *p) {
    return (void *)(long)(p && atomic_fetch_add(&x, 1) == 0 ? 3 : (atomic_fetch_add(&x, 1), 0));
}

int main(void) {
    pthread_t t[2];
    void *code;
    pthread_create(&t[0], 0, run, 0);
    pthread_create(&t[1], 0, run, &x);
    pthread_join(t[0], 0);
    pthread_join(t[1], &code);
    return (int)(long)code;
}
