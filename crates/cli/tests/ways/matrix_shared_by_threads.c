// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
int a[2][2];
void *f(void *p) { int *q = &a[0][0]; q[1] = 1; return 0; }
void *g(void *p) { int *q = &a[0][0]; q[2] = 2; return 0; }
int main(void) { pthread_t x, y; pthread_create(&x, 0, f, 0); pthread_create(&y, 0, g, 0); pthread_join(x, 0); pthread_join(y, 0); assert(a[0][1] == 1 && a[1][0] == 2); return 0; }
