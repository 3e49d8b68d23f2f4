// verify: unsafe, check: fails
#include <pthread.h>
#include <assert.h>
_Thread_local int v; int *p;
void *f(void *x) { v = 3; p = &v; return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_join(a, 0); assert(*p == 3); return 0; }
