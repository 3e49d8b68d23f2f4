// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
void *f(void *x) { *(int *)x = 1; return 0; }
void g(void) { pthread_t a; int v = 3; pthread_create(&a, 0, f, &v); pthread_join(a, 0); assert(v == 1); }
int main(void) { g(); g(); return 0; }
