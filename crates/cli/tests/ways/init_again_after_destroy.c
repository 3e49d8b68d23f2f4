// verify: safe, check: verified
#include <pthread.h>
#include <assert.h>
pthread_mutex_t m; int x;
void *f(void *p) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return 0; }
int main(void) {
  pthread_t a;
  pthread_mutex_init(&m, 0); pthread_create(&a, 0, f, 0); pthread_join(a, 0); pthread_mutex_destroy(&m);
  pthread_mutex_init(&m, 0); pthread_create(&a, 0, f, 0); pthread_join(a, 0); pthread_mutex_destroy(&m);
  assert(x == 2); return 0;
}
