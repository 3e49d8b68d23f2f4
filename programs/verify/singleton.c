// singleton: one thread makes the object, others write into it, one reads. Idea: SV-COMP's pthread/singleton.
// Holds: main waits for the maker before it starts the writers, and for them before it reads. With -DBUG it does not wait for the
// last writer, which may come after the read.
#include <assert.h>
#include <pthread.h>

char memory;
char *v;

void *make(void *arg) {
    v = &memory;
    return arg;
}

void *write_x(void *arg) {
    *v = 'X';
    return arg;
}

void *write_y(void *arg) {
    *v = 'Y';
    return arg;
}

int main(void) {
    pthread_t a, b, c, d;
    pthread_create(&a, 0, make, 0);
    pthread_join(a, 0); /* made */
    pthread_create(&b, 0, write_x, 0);
    pthread_create(&c, 0, write_x, 0);
    pthread_join(b, 0); /* first */
    pthread_join(c, 0); /* second */
    pthread_create(&d, 0, write_y, 0);
#ifndef BUG
    pthread_join(d, 0); /* last */
#endif
    assert(*v == 'Y');
    return 0;
}
