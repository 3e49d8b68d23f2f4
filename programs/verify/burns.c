// burns: Burns' mutual exclusion of two threads, for ever: the second gives way to the first.
// Holds: one thread at a time. With -DBUG the second does not look again after it has raised its flag.
#include <assert.h>
#include <pthread.h>

int flag1, flag2, x;

void *first(void *arg) {
    while (1) {
        flag1 = 1; /* raise */
        while (flag2) /* wait */
            ;
        x = 1;
        assert(x == 1);
        flag1 = 0;
    }
    return arg;
}

void *second(void *arg) {
    while (1) {
#ifdef BUG
        while (flag1)
            ;
        flag2 = 1;
#else
    again:
        flag2 = 0;
        while (flag1)
            ;
        flag2 = 1;
        if (flag1)
            goto again;
#endif
        x = 2;
        assert(x == 2);
        flag2 = 0;
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    return 0;
}
