// verify: unsafe, check: fails
#include <pthread.h>
#include <stdlib.h>
extern void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void);
int n;
void *f(void *p) { __VERIFIER_atomic_begin(); if (++n == 2) abort(); __VERIFIER_atomic_end(); return 0; }
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, f, 0);
  f(0);
  pthread_join(a, 0);
  return 0;
}
