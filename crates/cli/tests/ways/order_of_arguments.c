// verify: open, check: fails or caveats
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
atomic_int x, y;
void *f(void *p) { x = 1; y = 1; return 0; }
static int le(int a, int b) { return a <= b; }
void *g(void *p) { assert(le(y, x)); return 0; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, g, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
