// verify: race, check: -
#include <pthread.h>
#include <stdlib.h>
extern void reach_error(void);
extern void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void);
int x = 1;
void *t(void *a) { __VERIFIER_atomic_begin(); x = 0; abort(); __VERIFIER_atomic_end(); return 0; }
int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); if (x == 0) reach_error(); return 0; }
