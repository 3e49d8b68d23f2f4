// What is printed depends on the schedule.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int turn;

static void *says(void *p) {
    int mine = atomic_fetch_add(&turn, 1);
    puts(p ? "second" : "first");
    if (mine == 1)
        fputs("to standard error\n", stderr);
    return (void *)(long)(p && mine == 0);
}

int main(void) {
    pthread_t t[2];
    void *wrong;
    pthread_create(&t[0], 0, says, 0);
    pthread_create(&t[1], 0, says, &turn);
    pthread_join(t[0], 0);
    pthread_join(t[1], &wrong);
    int order = wrong == 0;
    assert(order);
    return 0;
}
