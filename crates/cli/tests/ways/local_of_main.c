// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
void *f(void *p) { assert(*(int *)p == 1); return 0; }
int main(void) { int x = 1; pthread_t a; pthread_create(&a, 0, f, &x); return 0; }
