// verify: safe, check: -
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
int x;
void *f(void *p) { for (;;) { pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); } }
void *g(void *p) { for (;;) { pthread_mutex_lock(&m); x = 0; pthread_mutex_unlock(&m); } }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, g, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
