// verify: safe, check: verified
#include <assert.h>
#include <pthread.h>
pthread_mutex_t m;
int x;
void *f(void *p) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); x++; pthread_mutex_unlock(&m); return 0; }
int main(void) {
  pthread_t a, b;
  pthread_mutexattr_t t;
  pthread_mutexattr_init(&t);
  pthread_mutexattr_settype(&t, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&m, &t);
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(x == 4);
  return 0;
}
