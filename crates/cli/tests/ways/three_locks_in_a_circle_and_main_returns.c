// verify: unsafe, check: fails
#include <pthread.h>
pthread_mutex_t m[3] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static void both(pthread_mutex_t *x, pthread_mutex_t *y) {
  pthread_mutex_lock(x);
  pthread_mutex_lock(y);
  pthread_mutex_unlock(y);
  pthread_mutex_unlock(x);
}
void *f(void *p) { both(&m[0], &m[1]); return 0; }
void *g(void *p) { both(&m[1], &m[2]); return 0; }
void *h(void *p) { both(&m[2], &m[0]); return 0; }
int main(void) {
  pthread_t a, b, c;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, g, 0);
  pthread_create(&c, 0, h, 0);
  return 0;
}
