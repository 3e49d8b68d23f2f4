// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
pthread_barrier_t b;
int k;
int main(void) { pthread_barrier_init(&b, (k++, (void *)0), 1); pthread_barrier_wait(&b); assert(k == 1); return 0; }
