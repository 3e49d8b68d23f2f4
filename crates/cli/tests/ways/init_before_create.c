// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m; pthread_rwlock_t l; pthread_barrier_t b; int x;
void *f(void *p) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); pthread_barrier_wait(&b); return 0; }
int main(void) {
  pthread_t a;
  pthread_mutex_init(&m, 0); pthread_rwlock_init(&l, 0); pthread_barrier_init(&b, 0, 2);
  pthread_create(&a, 0, f, 0);
  pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); pthread_barrier_wait(&b);
  pthread_join(a, 0); assert(x == 2);
  return 0;
}
