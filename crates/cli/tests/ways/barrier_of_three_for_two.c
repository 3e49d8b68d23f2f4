// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
pthread_barrier_t b;
void *f(void *p) { pthread_barrier_wait(&b); return 0; }
int main(void) { pthread_t a; pthread_barrier_init(&b, 0, 3); pthread_create(&a, 0, f, 0); pthread_barrier_wait(&b); pthread_join(a, 0); return 0; }
