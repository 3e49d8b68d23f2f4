// verify: unsafe, check: -
#include <pthread.h>
#include <assert.h>
int *p;
void *f(void *x) { int v = 3; p = &v; return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_join(a, 0); return *p == 3 ? 0 : 0; }
