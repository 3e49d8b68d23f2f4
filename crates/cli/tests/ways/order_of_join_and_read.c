// verify: open, check: fails or caveats
#include <pthread.h>
#include <assert.h>
int x;
pthread_t t;
void *f(void *p) { x = 1; return 0; }
static int done(void) { pthread_join(t, 0); return 1; }
int main(void) {
  pthread_create(&t, 0, f, 0);
  int v = done() + x;
  assert(v == 2);
  return 0;
}
