// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
void *r[2];
int n;
void *f(void *p) { return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_join(a, &r[n++]); assert(n == 1); return 0; }
