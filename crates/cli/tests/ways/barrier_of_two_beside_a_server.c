// verify: unsafe, check: -
#include <pthread.h>
#include <assert.h>
pthread_barrier_t b;
int x;
void *f(void *p) { pthread_barrier_wait(&b); return 0; }
void *g(void *p) { for (;;) x = 1 - x; }
int main(void) { pthread_t a, c; pthread_barrier_init(&b, 0, 2); pthread_create(&a, 0, f, 0); pthread_create(&c, 0, g, 0); pthread_join(a, 0); return 0; }
