// verify: race, check: fails
#include <pthread.h>
#include <stdlib.h>
int x, y;
void __VERIFIER_atomic_set(void) { y = 1; x = 1; if (y) exit(0); }
void *f(void *p) { __VERIFIER_atomic_set(); return 0; }
int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); int z = x; (void)z; pthread_join(a, 0); return 0; }
