// verify: race, check: fails
#include <pthread.h>
#include <assert.h>
#include <stdlib.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
int x = 1;
void *f(void *p) { __VERIFIER_atomic_begin(); x = 0; quick_exit(0); __VERIFIER_atomic_end(); return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); assert(x != 0); return 0; }
