// verify: safe, check: -
#include <pthread.h>
#include <assert.h>
extern void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void), __VERIFIER_assume(int);
int l, x;
void lock(void) { __VERIFIER_atomic_begin(); __VERIFIER_assume(l == 0); l = 1; __VERIFIER_atomic_end(); }
void *f(void *p) { lock(); x = 1; return 0; }
void *g(void *p) { lock(); x = 2; return 0; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, g, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
