// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
atomic_int n;
void *f(void *p) { n++; while (n < 2) ; return 0; }
void *g(void *p) { return f(p); }
int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }
