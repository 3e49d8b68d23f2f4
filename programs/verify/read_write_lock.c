// read_write_lock: a lock for readers and writers of two variables and atomic blocks. Idea: SV-COMP's pthread-atomic/read_write_lock;
// the FMCAD 2013 paper on Impact for threads has both forms as read_write_s and read_write_u.
// Holds: what a reader sees does not change while it reads. With -DBUG a reader does not ask for the writer.
#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_assume(int);

int w, r, x, y;

void __VERIFIER_atomic_take_write(void) {
    __VERIFIER_assume(w == 0 && r == 0); /* write */
    w = 1;
}

void __VERIFIER_atomic_take_read(void) {
#ifndef BUG
    __VERIFIER_assume(w == 0); /* read */
#endif
    r = r + 1;
}

void __VERIFIER_atomic_release_read(void) {
    r = r - 1;
}

void *writer(void *arg) {
    __VERIFIER_atomic_take_write();
    x = 3;
    w = 0;
    return arg;
}

void *reader(void *arg) {
    __VERIFIER_atomic_take_read();
    int l = x;
    y = l;
    int a = y;
    int b = x;
    assert(a == b);
    __VERIFIER_atomic_release_read();
    return arg;
}

int main(void) {
    pthread_t a, b, c, d;
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_create(&c, 0, writer, 0);
    pthread_create(&d, 0, reader, 0);
    return 0;
}
