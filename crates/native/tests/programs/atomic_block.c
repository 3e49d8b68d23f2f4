// Blocks that nobody may interrupt; to be run with RADDLE_RACES=sync.
#include <assert.h>
#include <pthread.h>
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
static int x, y;
void __VERIFIER_atomic_add(void) {
  x = x + 1;
  y = y + 1;
}
static void *adder(void *p) {
#if defined FUNCTION
  __VERIFIER_atomic_add();
#elif defined BROKEN
  x = x + 1;
  y = y + 1;
#else
  __VERIFIER_atomic_begin();
  x = x + 1;
  y = y + 1;
  __VERIFIER_atomic_end();
#endif
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, adder, 0);
  // Without a block of its own it sees both old, or y newer than x was.
  int a = y, b = x;
  assert(a <= b);
  __VERIFIER_atomic_begin();
  a = x;
  b = y;
  __VERIFIER_atomic_end();
  assert(a == b);
  pthread_join(t, 0);
  assert(x == 1 && y == 1);
  return 0;
}
