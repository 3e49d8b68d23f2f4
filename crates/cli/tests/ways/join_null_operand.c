// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
int n;
void *f(void *p) { return 0; }
int main(void) { pthread_t a; pthread_create(&a, (n++, (void *)0), f, 0); pthread_join(a, (n++, (void *)0)); assert(n == 2); return 0; }
