// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
extern void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void);
#include <stdlib.h>
int x = 1;
void *f(void *p) { __VERIFIER_atomic_begin(); x = 0; exit(0); __VERIFIER_atomic_end(); return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); __VERIFIER_atomic_begin(); int v = x; __VERIFIER_atomic_end(); assert(v == 1); return 0; }
