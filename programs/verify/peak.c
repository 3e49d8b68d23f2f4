// peak: threads keep the largest of what they measure, with the macro that kernels have for it.
// Holds: the peak is the largest. With -DBUG nothing keeps them apart.
#include <assert.h>
#include <pthread.h>

#define MAX(a, b) ({ __typeof__(a) left = (a); __typeof__(b) right = (b); left > right ? left : right; })

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
unsigned char peak;

static void measured(unsigned char a, unsigned char b) {
#ifndef BUG
    pthread_mutex_lock(&m); /* keep */
#endif
    peak = MAX(MAX(a, b), peak);
#ifndef BUG
    pthread_mutex_unlock(&m); /* keep */
#endif
}

void *first(void *arg) {
    measured(200, 3);
    return arg;
}

void *second(void *arg) {
    measured(7, 90);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(peak == 200);
    return 0;
}
