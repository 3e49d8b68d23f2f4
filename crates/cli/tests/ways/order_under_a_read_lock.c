// verify: safe, check: verified
#include <assert.h>
#include <pthread.h>
pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER;
int x, y;
void *f(void *p) { pthread_rwlock_wrlock(&r); x++; y++; pthread_rwlock_unlock(&r); return 0; }
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, f, 0);
  pthread_rwlock_rdlock(&r);
  assert(x == y);
  pthread_rwlock_unlock(&r);
  pthread_join(a, 0);
  return 0;
}
