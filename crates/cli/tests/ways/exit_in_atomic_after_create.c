// verify: safe, check: verified
#include <pthread.h>
#include <stdlib.h>
extern void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void);
int x;
void *f(void *p) { __VERIFIER_atomic_begin(); x = 1; exit(0); __VERIFIER_atomic_end(); return 0; }
int main(void) { x = 2; pthread_t a; pthread_create(&a, 0, f, 0); return 0; }
