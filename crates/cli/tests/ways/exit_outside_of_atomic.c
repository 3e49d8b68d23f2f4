// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
#include <stdlib.h>
#include <stdatomic.h>
atomic_int x = 1;
void *f(void *p) { x = 0; exit(0); }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); assert(x == 1); return 0; }
