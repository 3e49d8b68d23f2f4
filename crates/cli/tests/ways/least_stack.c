// verify: safe, check: holds
#include <pthread.h>
#include <errno.h>
#include <assert.h>
int main(void) {
  pthread_attr_t a;
  pthread_mutexattr_t m;
  pthread_attr_init(&a);
  assert(pthread_attr_setstacksize(&a, 16383) == EINVAL);
  assert(pthread_attr_setstacksize(&a, 16384) == 0);
  pthread_mutexattr_init(&m);
  assert(pthread_mutexattr_settype(&m, 77) == EINVAL);
  assert(pthread_mutexattr_settype(&m, PTHREAD_MUTEX_ERRORCHECK) == 0);
  assert(pthread_mutexattr_setpshared(&m, 7) == EINVAL);
  return 0;
}
