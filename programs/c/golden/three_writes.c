// x = 1; x = 2 next to y = 1; x = 3.
// From: Flanagan and Godefroid 2005, section 3.
// Holds: x ends as 2 or 3. 3 classes: the write of 3 falls before, between or after the two others.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;

static void *p(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    atomic_store(&x, 2);
    return NULL;
}

static void *q(void *arg) {
    (void)arg;
    atomic_store(&y, 1);
    atomic_store(&x, 3);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, p, NULL);
    pthread_create(&t[1], NULL, q, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(atomic_load(&x) >= 2);
    return 0;
}
