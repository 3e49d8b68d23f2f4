// Joins that cannot be.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static void *nothing(void *p) { return p; }
int main(void) {
  pthread_t t, u;
  pthread_attr_t a;
  pthread_attr_init(&a);
  pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
  pthread_create(&t, &a, nothing, 0);
  assert(pthread_join(t, 0) == EINVAL);
  pthread_create(&u, 0, nothing, (void *)5);
  void *r;
  assert(pthread_join(u, &r) == 0 && r == (void *)5);
  assert(pthread_join(u, &r) == EINVAL);
  assert(pthread_detach(u) == EINVAL);
  assert(pthread_join(pthread_self(), 0) == EDEADLK);
  assert(pthread_equal(t, t) && !pthread_equal(t, u));
  return 0;
}
