// verify: safe, check: holds
#include <pthread.h>
#include <errno.h>
#include <assert.h>
void *f(void *p) { int r = pthread_join(pthread_self(), 0); assert(r == EDEADLK); return 0; }
int main(void) {
  pthread_t t, self = pthread_self();
  int r = pthread_join(self, 0);
  assert(r == EDEADLK);
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
  return 0;
}
