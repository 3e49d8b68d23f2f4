// verify: safe, check: verified
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER;
void *f(void *p) { pthread_rwlock_rdlock(&r); pthread_rwlock_unlock(&r); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
void *g(void *p) { pthread_mutex_lock(&n); pthread_rwlock_wrlock(&r); pthread_rwlock_unlock(&r); pthread_mutex_unlock(&n); return 0; }
int main(void) {
  pthread_t a, b;
  pthread_mutex_lock(&m);
  pthread_rwlock_rdlock(&r);
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, g, 0);
  return 0;
}
