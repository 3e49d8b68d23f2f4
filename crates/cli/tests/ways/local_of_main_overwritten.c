// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
void *f(void *p) { assert(atomic_load((atomic_int *)p) == 1); return 0; }
int main(void) { atomic_int x = 1; pthread_t a; pthread_create(&a, 0, f, &x); x = 2; return 0; }
